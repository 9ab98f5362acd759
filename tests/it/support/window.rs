//! The real window without a screen, driven by role and label.

use std::time::Instant;

use attnscope::{
    cli::open::OpenOptions,
    ids::HeadId,
    session::{Command, SelectionCommand, ViewKind},
    ui::{App, app::Startup},
};
use eframe::egui::{Key, Modifiers, accesskit::Role};
use egui_kittest::{
    Harness,
    kittest::{NodeT as _, Queryable as _},
};

use super::{desktop::ScriptedDesktop, scripted::ScriptedJobs};

/// The window on scripted jobs and a scripted desktop.
pub struct Window {
    pub harness: Harness<'static, App>,
    pub jobs: ScriptedJobs,
    pub desktop: ScriptedDesktop,
}

impl Window {
    pub fn open(options: OpenOptions) -> Self {
        Self::with_size(options, [1280.0, 800.0])
    }

    pub fn with_size(options: OpenOptions, size: [f32; 2]) -> Self {
        let (jobs, desktop) = (ScriptedJobs::answering(), ScriptedDesktop::default());
        let (for_app, desktop_of_app) = (jobs.clone(), desktop.clone());
        let harness = Harness::builder().with_size(size).with_max_steps(40).build_eframe(move |cc| {
            let startup = Startup::new(|_| Ok(for_app), Box::new(desktop_of_app), options, Instant::now()).unwrap();
            startup.attach(cc).unwrap()
        });
        let mut window = Self { harness, jobs, desktop };
        window.app().request(Command::UnfoldOptions(true));
        window.settle();
        window
    }

    /// Frames until nothing moves. The clock advances a quarter of a second each, and messages go
    /// away after some seconds, so a fixed number it is.
    pub fn settle(&mut self) {
        self.harness.run_steps(6);
        self.harness.check_accessibility();
    }

    /// Clicks on this label, once it is there: files are looked at and read on threads of their own.
    pub fn click(&mut self, label: &str) {
        self.until(label, |window| window.harness.query_all_by_label(label).next().is_some());
        self.harness.get_by_label(label).click();
        self.settle();
    }

    /// Opens a menu of the bar that is behind "More", and clicks in it.
    pub fn click_in_more(&mut self, entry: &str) {
        self.click("More");
        self.click(entry);
    }

    /// Opens an example from the gallery, by its title.
    pub fn opens_example(&mut self, title: &str) {
        self.press(Modifiers::NONE, Key::E);
        self.harness.get_by_label(&format!("Example: {title}")).click_accesskit();
        self.settle();
    }

    pub fn show(&mut self, view: ViewKind) {
        self.app().request(Command::Select(SelectionCommand::ShowView(view)));
        self.settle();
    }

    pub fn press(&mut self, modifiers: Modifiers, key: Key) {
        self.harness.key_press_modifiers(modifiers, key);
        self.settle();
    }

    pub fn shows(&self, text: &str) -> bool {
        self.harness.query_all_by_label_contains(text).next().is_some()
    }

    /// The questions above the panes.
    pub fn questions(&self) -> Vec<String> {
        let headings = self.harness.query_all_by_role(Role::Heading);
        headings.map(|node| node.accesskit_node().label().unwrap_or_default()).collect()
    }

    pub fn app(&self) -> &App {
        self.harness.state()
    }

    pub fn head(&self) -> HeadId {
        self.app().session().pane().selection.head
    }

    /// Waits for a thread that answers the window; on a busy machine that takes a while.
    pub fn until(&mut self, what: &str, mut done: impl FnMut(&Self) -> bool) {
        let started = Instant::now();
        while !done(self) {
            assert!(started.elapsed().as_secs() < 60, "waiting for {what}: {:?}", self.harness);
            std::thread::yield_now();
            self.harness.step();
        }
    }
}

/// Opens with this text.
pub fn with_text(text: &str) -> OpenOptions {
    OpenOptions { text: Some(text.to_owned()), ..OpenOptions::default() }
}
