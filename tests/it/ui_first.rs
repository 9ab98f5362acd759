//! The first minute: the picture that a window opens with, and the steps that are offered.

use std::time::Instant;

use attnscope::{
    cli::open::OpenOptions,
    session::{Command, FirstStep, Focus, PaneCommand, Settings, ViewKind, gallery::EXAMPLES},
    ui::{App, app::Startup},
};
use eframe::egui::{Key, Modifiers, accesskit::Role};
use egui_kittest::{
    Harness,
    kittest::{NodeT as _, Queryable as _},
};

use crate::support::{
    desktop::ScriptedDesktop,
    real::RealJobs,
    window::{self, with_text},
};

const SENTENCE: &str = "In this head, one of 48, “it” gives 0.61 of its attention to “animal”.";

/// The window with the bundled models.
struct Window(Harness<'static, App>);

impl Window {
    fn open() -> Self {
        let harness = Harness::builder().with_size([1280.0, 800.0]).with_max_steps(40).build_eframe(|cc| {
            let (jobs, desktop) = (RealJobs::new(), Box::new(ScriptedDesktop::default()));
            let startup = Startup::new(|_| Ok(jobs), desktop, OpenOptions::default(), Instant::now()).unwrap();
            startup.attach(cc).unwrap()
        });
        let mut window = Self(harness);
        window.0.run_steps(6);
        window
    }

    fn shows(&self, text: &str) -> bool {
        self.0.query_all_by_label_contains(text).next().is_some()
    }

    fn press(&mut self, key: Key) {
        self.0.key_press_modifiers(Modifiers::NONE, key);
        self.0.run_steps(6);
    }

    /// The question, how high it stands, and where the choosers below it begin.
    fn header(&self) -> (String, f32, f32) {
        let heading = self.0.get_by_role(Role::Heading);
        let question = heading.accesskit_node().label().unwrap_or_default();
        (question, heading.rect().height(), self.0.get_by_label("Next layer").rect().top())
    }
}

#[test]
fn a_window_opens_with_a_word_that_looks_at_another() {
    let mut window = Window::open();
    let (question, height, top) = window.header();
    assert_eq!(question, "What does “it” look at in L3H2?");
    assert!(window.shows(SENTENCE));
    let panels = ["Query", "demo:gpt"];
    assert!(panels.iter().all(|text| window.shows(text)), "Run and Details are open");
    window.press(Key::ArrowRight);
    let (question, other_height, other_top) = window.header();
    assert_eq!((question.as_str(), other_top), ("What does “it” look at in L3H3?", top));
    assert!(other_height < height && !window.shows(SENTENCE), "it was about another head");
    window.0.get_by_label(&format!("Back to “{}”", EXAMPLES[0].title)).click();
    window.0.run_steps(6);
    assert!(window.shows(SENTENCE) && window.header().1 == height);
}

#[test]
fn pictures_of_an_example_stand_side_by_side() {
    let mut window = Window::open();
    let idx = EXAMPLES.iter().position(|example| example.title == "Without Mary's head").unwrap();
    window.0.state().request(Command::OpenExample(idx));
    window.0.run_steps(8);
    assert!(window.shows(EXAMPLES[idx].hint));
    let tops: Vec<f32> =
        window.0.query_all_by_role_and_label(Role::ComboBox, "Layer").map(|node| node.rect().top()).collect();
    assert!(tops.len() == 2 && tops[0] == tops[1], "{tops:?}");
}

#[test]
fn typing_moves_nothing() {
    let mut window = Window::open();
    let top = window.header().2;
    window.0.state().request(Command::SetText("The animal didn't cross the road because it was wide".to_owned()));
    window.0.step();
    assert_eq!(window.header().2, top);
    window.0.state().request(Command::Run);
    window.0.run_steps(6);
    assert_eq!(window.header().2, top);
    assert!(!window.shows(SENTENCE));
    window.press(Key::PageDown);
    assert!(!window.shows("Back to"), "another example stands now");
}

fn taken(window: &window::Window) -> Vec<FirstStep> {
    let steps = &window.app().session().settings.first_steps;
    FirstStep::ALL.into_iter().filter(|step| steps.has(*step)).collect()
}

#[test]
fn first_steps_are_ticked_by_what_was_done_and_go_after_the_last() {
    let mut window = window::Window::open(OpenOptions::default());
    assert_eq!(taken(&window), []);
    window.app().request(Command::InPane(PaneCommand::Hover(Focus::query(1))));
    window.settle();
    window.press(Modifiers::NONE, Key::ArrowRight);
    assert_eq!(taken(&window), [FirstStep::Hover, FirstStep::NextHead]);
    window.click("First step: See all 12");
    assert_eq!(window.app().session().pane().view, ViewKind::Grid);
    window.click("First step: Type your own");
    assert!(window.harness.get_by_role_and_label(Role::MultilineTextInput, "Text").is_focused());
    assert_eq!(taken(&window), [FirstStep::Hover, FirstStep::NextHead, FirstStep::AllHeads], "nothing was typed");
    let place = |window: &window::Window| window.harness.get_by_label("First step: Open your own model").rect();
    let before = place(&window);
    window.app().request(Command::SetText("something of my own".to_owned()));
    window.app().request(Command::Run);
    window.settle();
    assert_eq!((taken(&window).len(), place(&window)), (4, before));
    window.desktop.0.borrow_mut().pick = vec!["/models/mine".into()];
    window.click("First step: Open your own model");
    window.click("Browse… ⏷");
    window.click("Open folder…");
    window.until("the model", |window| taken(window).len() == 5);
    window.settle();
    assert!(!window.shows("First step"));
    assert_eq!(window.questions(), ["Which of its 12 heads is worth a look?"]);
}

#[test]
fn first_steps_that_were_closed_stay_closed() {
    let mut window = window::Window::open(OpenOptions::default());
    window.click("Close the first steps");
    assert!(!window.shows("First step"));
    let settings = &window.app().session().settings;
    assert!(!settings.first_steps.are_offered() && Settings::read(&settings.write()) == *settings);
    let window = window::Window::open(with_text("one two three"));
    assert!(!window.shows("First step"), "whoever names a text knows them");
}
