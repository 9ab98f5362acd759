//! The lecture: its list, the way through it, and what the window says of it. What its examples claim is measured in
//! `gallery` and `gallery_tried`.

use std::{collections::BTreeSet, path::Path};

use attnscope::{
    cli::open::OpenOptions,
    session::{
        Command, Focus, LectureCommand, SelectionCommand, ViewKind,
        gallery::{EXAMPLES, LECTURE, stops},
        saved::Saved,
    },
};
use eframe::egui::{Key, Modifiers};
use egui_kittest::kittest::{NodeT as _, Queryable as _};
use serde_json::json;

use crate::support::{
    play::Play,
    window::{Window, with_text},
};

const LONGEST: usize = 230;

fn title(place: usize) -> &'static str {
    stops().nth(place).unwrap().1.example().title
}

#[test]
fn every_stop_is_another_example_and_says_so_in_two_sentences() {
    assert!(LECTURE.iter().all(|part| !part.stops.is_empty() && !part.title.is_empty()));
    let examples: BTreeSet<usize> = stops().map(|(_, stop)| stop.example).collect();
    assert_eq!(examples.len(), stops().count());
    assert!(stops().count() >= 40, "{}", stops().count());
    let texts: BTreeSet<String> = stops().map(|(_, stop)| stop.text()).collect();
    assert_eq!(texts.len(), stops().count());
    for (_, stop) in stops() {
        let (text, hint) = (stop.text(), stop.example().hint);
        let idea = text.strip_suffix(&format!(" {hint}.")).unwrap();
        assert!(idea.ends_with(['.', '?']) && !idea.ends_with("?."), "{idea}");
        assert!(text.chars().count() <= LONGEST, "{}: {} letters", stop.example().title, text.chars().count());
        // What is measured stands in the hint alone, whose numbers are tested; years are no numbers.
        let numbers = idea.split(|c: char| !c.is_ascii_digit()).filter(|part| !part.is_empty());
        assert!(numbers.clone().all(|number| number.len() == 4), "{idea}");
    }
}

fn place(play: &Play) -> Option<usize> {
    play.session.keeping.lecture.place()
}

fn shown(play: &Play) -> &'static str {
    EXAMPLES[play.session.document().example.unwrap()].title
}

#[test]
fn a_lecture_goes_on_stop_by_stop_and_is_left_where_it_was() {
    let mut play = Play::showing("one two three");
    play.does(Command::NextExample);
    assert_eq!(place(&play), None, "that is the gallery");
    let does = |play: &mut Play, command: Command| {
        play.does(command);
        play.answers();
    };
    does(&mut play, Command::Lecture(LectureCommand::Resume));
    assert_eq!((place(&play), shown(&play)), (Some(0), title(0)));
    does(&mut play, Command::PreviousExample);
    assert_eq!((place(&play), shown(&play)), (Some(0), title(0)), "the first");
    does(&mut play, Command::NextExample);
    does(&mut play, Command::NextExample);
    assert_eq!((place(&play), shown(&play)), (Some(2), title(2)));

    let before = play.session.document().experiment.clone();
    does(&mut play, Command::Lecture(LectureCommand::Leave));
    assert_eq!((place(&play), shown(&play)), (None, title(2)), "what is shown stays");
    assert_eq!(play.session.document().experiment, before);
    does(&mut play, Command::Lecture(LectureCommand::Resume));
    assert_eq!((place(&play), shown(&play)), (Some(2), title(2)));

    let last = stops().count() - 1;
    does(&mut play, Command::Lecture(LectureCommand::Show(last)));
    does(&mut play, Command::NextExample);
    assert_eq!((place(&play), shown(&play)), (Some(last), title(last)), "the last");
    does(&mut play, Command::OpenExample(0));
    assert_eq!((place(&play), shown(&play)), (None, EXAMPLES[0].title), "another example is no stop");
}

#[test]
fn every_stop_opens() {
    let mut play = Play::showing("one two three");
    for (place, (_, stop)) in stops().enumerate() {
        play.does(Command::Lecture(LectureCommand::Show(place)));
        play.answers();
        let example = stop.example();
        // No scripted model has states.
        let view = if example.view == ViewKind::States { play.session.pane().view } else { example.view };
        assert_eq!((shown(&play), play.session.pane().view), (example.title, view));
        let n_panes = 1 + usize::from(!example.changes.is_empty()) + example.beside.len();
        assert_eq!(play.session.panes.len(), n_panes, "{}", example.title);
    }
}

#[test]
fn a_session_keeps_the_place() {
    let mut play = Play::showing("one two three");
    assert_eq!(play.session.saved().to_json().get("lecture"), None);
    for left in [false, true] {
        play.does(Command::Lecture(LectureCommand::Show(4)));
        play.answers();
        if left {
            play.does(Command::Lecture(LectureCommand::Leave));
        }
        let written = play.session.saved().to_json();
        assert_eq!(written["lecture"], json!({ "stop": title(4), "left": left }));
        let mut again = Play::new();
        let effects = again.session.reopen(Saved::from_json(written, Path::new("/sessions")).unwrap());
        again.sort(effects);
        again.answers();
        assert_eq!(again.session.keeping.lecture, play.session.keeping.lecture);
        assert_eq!(place(&again), (!left).then_some(4));
    }
    // A stop that this version does not have.
    let mut written = play.session.saved().to_json();
    written["lecture"] = json!({ "stop": "of a later version", "left": false });
    let read = Saved::from_json(written, Path::new("/sessions")).unwrap();
    assert_eq!(read.lecture, Play::new().session.keeping.lecture);
}

fn at(window: &Window) -> Option<usize> {
    window.app().session().keeping.lecture.place()
}

#[test]
fn keys_and_buttons_go_through_the_lecture() {
    let mut window = Window::open(OpenOptions { lecture: Some(0), ..OpenOptions::default() });
    let n = stops().count();
    let said = |window: &Window, place: usize| {
        let (_, stop) = stops().nth(place).unwrap();
        window.shows(&format!("{} of {n}", place + 1)) && window.shows(title(place)) && window.shows(&stop.text())
    };
    assert!(at(&window) == Some(0) && said(&window, 0));
    let first = window.harness.get_by_label("Previous example");
    assert!(first.accesskit_node().is_disabled(), "there is none before the first");
    let next = window.harness.get_by_label("Next example").rect();
    window.press(Modifiers::NONE, Key::PageDown);
    assert!(at(&window) == Some(1) && said(&window, 1));
    window.click("Next example");
    assert!(at(&window) == Some(2) && said(&window, 2));
    assert_eq!(window.harness.get_by_label("Next example").rect(), next, "it stays under the pointer");
    window.press(Modifiers::NONE, Key::PageUp);
    window.click("Previous example");
    assert_eq!(at(&window), Some(0));

    assert!(!window.shows("As told"));
    window.app().request(Command::SetText("something of my own".to_owned()));
    window.app().request(Command::Run);
    window.settle();
    assert!(said(&window, 0), "the lecture goes on");
    window.click("As told");
    assert!(window.app().session().stop_stands());

    window.click("Contents");
    window.harness.get_by_label(&format!("Stop: 4 {}", title(3))).click_accesskit();
    window.settle();
    assert!(at(&window) == Some(3) && said(&window, 3));
    window.click("Leave the lecture");
    assert_eq!(at(&window), None);
    assert!(!window.shows(&format!("4 of {n}")));
}

#[test]
fn escape_leaves_the_lecture_but_first_what_was_pinned() {
    let mut window = Window::open(OpenOptions { lecture: Some(0), ..OpenOptions::default() });
    window.app().request(Command::Select(SelectionCommand::Pin(Focus { query: Some(0), key: Some(1) })));
    window.settle();
    window.press(Modifiers::NONE, Key::Escape);
    assert!(at(&window).is_some() && window.app().session().pane().selection.pinned.is_empty());
    window.press(Modifiers::NONE, Key::Escape);
    assert_eq!(at(&window), None);
    // A stop comes with a word pinned, which nobody has to let go of.
    window.app().request(Command::Lecture(LectureCommand::Resume));
    window.settle();
    assert!(!window.app().session().pane().selection.pinned.is_empty());
    window.press(Modifiers::NONE, Key::Escape);
    assert_eq!(at(&window), None);
}

#[test]
fn the_lecture_is_found_by_its_name_and_in_the_gallery() {
    let mut window = Window::open(with_text("one two three"));
    window.press(Modifiers::COMMAND, Key::K);
    window.harness.get_by_label("Go to anything").type_text("lecture");
    window.settle();
    window.press(Modifiers::NONE, Key::Enter);
    assert_eq!(at(&window), Some(0));
    window.press(Modifiers::NONE, Key::Escape);
    window.press(Modifiers::NONE, Key::E);
    window.click("Lecture");
    for part in LECTURE {
        assert!(window.shows(part.title), "{}", part.title);
    }
    window.harness.get_by_label("Search examples").type_text("causal tracing");
    window.settle();
    window.press(Modifiers::NONE, Key::Enter);
    assert_eq!(stops().nth(at(&window).unwrap()).unwrap().1.example().title, "Come here, Ben");
}

/// Of a view that scrolls the chart is in sight that the stop speaks of; the next stop begins at its own.
#[test]
fn a_stop_begins_at_the_chart_that_it_speaks_of() {
    let place = stops().position(|(_, stop)| stop.example().title == "The root of d").unwrap();
    let mut window = Window::open(OpenOptions { lecture: Some(place), ..OpenOptions::default() });
    let charts = |window: &Window| window.harness.get_by_label_contains("Normalisers of L").rect();
    let frame = window.harness.get_by_label("Next example").rect().bottom();
    let last = charts(&window);
    assert!(last.top() < frame, "{last:?} is scrolled");
    window.press(Modifiers::NONE, Key::PageDown);
    window.settle();
    assert_eq!(title(place + 1), "From scores to weights");
    assert!(charts(&window).top() > frame, "{:?} is not", charts(&window));
    window.press(Modifiers::NONE, Key::PageUp);
    window.settle();
    assert_eq!(charts(&window), last);
}
