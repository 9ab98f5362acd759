//! Downloads, and the sheet to open anything, which they are asked for in.

use std::{sync::Arc, time::Instant};

use attnscope::{
    cli::open::OpenOptions,
    hub::{Plan, Retry, Transfer},
    ids::JobId,
    model::locate::KnownModel,
    protocol::{DownloadAnswer, Event, EventKind, Lane, ModelSource, Request},
    session::{Command, DownloadCommand, DownloadStep, Effect, Session},
    ui::{App, app::Startup},
};
use eframe::egui::{Key, Modifiers, accesskit::Role};
use egui_kittest::{
    Harness,
    kittest::{NodeT as _, Queryable as _},
};

use crate::support::{
    desktop::ScriptedDesktop,
    hub_bench::{Bench, ID},
    scripted::{ScriptedJobs, failure},
};

const FIELD: &str = "Folder, file or hub id";

/// A plan as the hub's thread makes it.
fn plan() -> Arc<Plan> {
    Arc::new(Bench::new(5_000_000).plan(ID).unwrap())
}

fn transfer(done_bytes: u64) -> Transfer {
    Transfer { file: "model.safetensors".to_owned(), done_bytes, total_bytes: 5_000_024, ..Transfer::default() }
}

fn does(session: &mut Session, command: DownloadCommand) -> Vec<Effect> {
    session.apply(Command::Download(command))
}

/// The one job that was asked for, in words.
fn asked(effects: &[Effect]) -> (JobId, &'static str) {
    let [Effect::Submit(job, request)] = effects else { panic!("{effects:?}") };
    let what = match request {
        Request::ListModels(_) => "list",
        Request::PlanDownload(_) => "plan",
        Request::Download(_) => "download",
        other => panic!("unexpected {other:?}"),
    };
    (*job, what)
}

fn hears(session: &mut Session, job: JobId, kind: EventKind) -> Vec<Effect> {
    session.on_event(Event { job, lane: Lane::Download, kind })
}

/// A session that is downloading, and the job.
fn downloading(plan: &Arc<Plan>) -> (Session, JobId) {
    let mut session = Session::default();
    asked(&does(&mut session, DownloadCommand::Open));
    does(&mut session, DownloadCommand::SetName(ID.to_owned()));
    let (job, _) = asked(&does(&mut session, DownloadCommand::LookUp));
    hears(&mut session, job, EventKind::Download(DownloadAnswer::Planned { plan: Arc::clone(plan), problem: None }));
    assert!(matches!(session.download.step, DownloadStep::Ready { .. }));
    let (job, what) = asked(&does(&mut session, DownloadCommand::Start));
    assert_eq!(what, "download");
    (session, job)
}

#[test]
fn a_download_goes_from_an_id_to_a_model_in_the_cache() {
    let (mut session, job) = downloading(&plan());
    hears(&mut session, job, EventKind::Download(DownloadAnswer::Transfer(transfer(1_000_000))));
    let (_, now) = session.download.running().unwrap();
    assert_eq!(now.unwrap().done_bytes, 1_000_000);
    let effects = hears(&mut session, job, EventKind::Download(DownloadAnswer::Downloaded(plan())));
    assert_eq!(asked(&effects).1, "list", "the new model belongs into the list");
    assert!(matches!(session.download.step, DownloadStep::Done(_)));
    assert!(session.notices.is_empty(), "the dialog says it");
}

#[test]
fn what_is_no_id_is_refused_without_asking_anybody() {
    let mut session = Session::default();
    for name in ["../etc", "a b", "a/b/c"] {
        does(&mut session, DownloadCommand::SetName(name.to_owned()));
        assert!(does(&mut session, DownloadCommand::LookUp).is_empty());
        let DownloadStep::Failed { failure, plan: None } = &session.download.step else { panic!("{name}") };
        assert_eq!(failure.summary, format!("“{name}” is not a model id"));
    }
    does(&mut session, DownloadCommand::SetName("gpt2".to_owned()));
    assert_eq!(session.download.step, DownloadStep::Choosing, "typing clears the message");
    does(&mut session, DownloadCommand::SetName("  ".to_owned()));
    assert!(does(&mut session, DownloadCommand::LookUp).is_empty());
    assert_eq!(session.download.step, DownloadStep::Choosing);
}

#[test]
fn one_download_runs_at_a_time() {
    let (mut session, job) = downloading(&plan());
    for command in [DownloadCommand::SetName("other/model".to_owned()), DownloadCommand::LookUp, DownloadCommand::Start]
    {
        assert!(does(&mut session, command).is_empty());
    }
    assert_eq!(session.download.running().unwrap().0.id.to_string(), ID, "whatever is typed meanwhile");
    hears(&mut session, job, EventKind::Download(DownloadAnswer::Transfer(transfer(7))));
    assert_eq!(session.download.running().unwrap().1.unwrap().done_bytes, 7);
}

#[test]
fn a_stopped_download_can_be_resumed_and_ignores_the_past() {
    let (mut session, first) = downloading(&plan());
    let effects = does(&mut session, DownloadCommand::Stop);
    assert!(matches!(effects[..], [Effect::Cancel(Lane::Download)]), "{effects:?}");
    assert!(matches!(session.download.step, DownloadStep::Stopped(_)));
    let (second, what) = asked(&does(&mut session, DownloadCommand::Start));
    assert_eq!(what, "download");
    for late in [
        EventKind::Cancelled,
        EventKind::Download(DownloadAnswer::Transfer(transfer(1))),
        EventKind::Failed(failure("Too late")),
    ] {
        hears(&mut session, first, late);
    }
    assert_eq!(session.download.running().unwrap().1, None, "nothing of the first job counts");
    hears(&mut session, second, EventKind::Download(DownloadAnswer::Downloaded(plan())));
    assert!(matches!(session.download.step, DownloadStep::Done(_)));
}

#[test]
fn a_failed_download_goes_on_from_where_it_was() {
    let (mut session, job) = downloading(&plan());
    hears(&mut session, job, EventKind::Failed(failure("The connection broke")));
    assert!(matches!(session.download.step, DownloadStep::Failed { plan: Some(_), .. }));
    assert_eq!(asked(&does(&mut session, DownloadCommand::Start)).1, "download");
}

#[test]
fn while_the_dialog_is_closed_messages_tell_how_it_ended() {
    let (mut session, job) = downloading(&plan());
    does(&mut session, DownloadCommand::Close);
    assert!(session.download.running().is_some(), "closing does not stop it");
    hears(&mut session, job, EventKind::Failed(failure("The disk is full")));
    assert_eq!(session.notices.last().unwrap().text.summary, "The disk is full");
    let (job, _) = asked(&does(&mut session, DownloadCommand::Start));
    hears(&mut session, job, EventKind::Download(DownloadAnswer::Downloaded(plan())));
    assert_eq!(session.notices.last().unwrap().text.summary, "owner/tiny is downloaded");
}

#[test]
fn a_model_that_is_all_there_is_not_offered_for_download() {
    let bench = Bench::new(10);
    bench.pull(ID).unwrap();
    let mut session = Session::default();
    does(&mut session, DownloadCommand::SetName(ID.to_owned()));
    let (job, _) = asked(&does(&mut session, DownloadCommand::LookUp));
    let whole = Arc::new(bench.plan(ID).unwrap());
    let effects = hears(&mut session, job, EventKind::Download(DownloadAnswer::Planned { plan: whole, problem: None }));
    assert_eq!(asked(&effects).1, "download", "which needs no network and puts the links right");
}

struct Window {
    harness: Harness<'static, App>,
    jobs: ScriptedJobs,
}

impl Window {
    /// With one model in the cache that opens and one that does not.
    fn open() -> Self {
        let jobs = ScriptedJobs::answering();
        let known = |name: &str, problem: Option<&str>| KnownModel {
            name: name.to_owned(),
            family: "bert".to_owned(),
            shape: Some((12, 8)),
            size_bytes: 12_300_000,
            needs: None,
            problem: problem.map(str::to_owned),
        };
        let cached = [known("here/opens", None), known("here/broken", Some("it has no weights"))];
        let bundled = known("demo:gpt", None);
        let source = ModelSource::Bundled(bundled.name.clone());
        let named = cached.map(|known| (ModelSource::Hub(known.name.clone()), known));
        jobs.0.borrow_mut().known = named.into_iter().chain([(source, bundled)]).collect();
        let for_app = jobs.clone();
        let harness = Harness::builder().with_size([1280.0, 800.0]).with_max_steps(40).build_eframe(move |cc| {
            let desktop = Box::new(ScriptedDesktop::default());
            let startup = Startup::new(|_| Ok(for_app), desktop, OpenOptions::default(), Instant::now()).unwrap();
            startup.attach(cc).unwrap()
        });
        let mut window = Self { harness, jobs };
        window.settle();
        window
    }

    fn settle(&mut self) {
        self.harness.run_steps(6);
        self.harness.check_accessibility();
    }

    fn click(&mut self, label: &str) {
        self.harness.get_by_label(label).click();
        self.settle();
    }

    fn open_sheet(&mut self) {
        self.click("Open…");
    }

    /// Clicks in the list.
    fn click_row(&mut self, name: &str) {
        let is_row =
            |node: &egui_kittest::Node<'_>| node.accesskit_node().label().is_some_and(|it| it.starts_with(name));
        self.harness.query_all_by_role(Role::ListBoxOption).find(is_row).unwrap().click_accesskit();
        self.settle();
    }

    fn press(&mut self, key: Key) {
        self.harness.key_press(key);
        self.settle();
    }

    /// Waits for the thread that looks at what is typed.
    fn until(&mut self, what: &str, done: impl Fn(&Self) -> bool) {
        let started = Instant::now();
        while !done(self) {
            assert!(started.elapsed().as_secs() < 60, "waiting for {what}");
            std::thread::yield_now();
            self.harness.step();
        }
    }

    fn opened(&self, source: &ModelSource) -> bool {
        let jobs = self.jobs.0.borrow();
        jobs.submitted.iter().any(|(_, request)| matches!(request, Request::Load { source: of, .. } if of == source))
    }

    fn says(&mut self, kind: EventKind) {
        self.jobs.say(kind);
        self.settle();
    }

    fn shows(&self, text: &str) -> bool {
        self.harness.query_all_by_label_contains(text).next().is_some()
    }

    fn last_request(&self) -> String {
        format!("{:?}", self.jobs.0.borrow().submitted.last().unwrap().1)
    }
}

#[test]
fn the_sheet_leads_from_the_keyboard_to_a_download() {
    let mut window = Window::open();
    window.harness.key_press_modifiers(Modifiers::COMMAND, Key::O);
    window.settle();
    assert!(window.shows("here/opens: bert · 12 × 8 heads · 12.3 MB"));
    // The cursor is in the field already.
    window.harness.get_by_role_and_label(Role::TextInput, FIELD).type_text(ID);
    window.until("the hub", |window| window.shows("Look for owner/tiny on the Hugging Face hub"));
    window.press(Key::Enter);
    assert!(window.last_request().starts_with("PlanDownload"), "{}", window.last_request());
    assert!(window.shows("Looking up owner/tiny"));
    window.says(EventKind::Download(DownloadAnswer::Planned {
        plan: plan(),
        problem: Some("This model is a whale".to_owned()),
    }));
    for text in ["3 files · 5.0 MB", "model.safetensors", "This model is a whale", "Download 5.0 MB"] {
        assert!(window.shows(text), "{text}");
    }
    window.press(Key::Enter);
    assert!(window.last_request().starts_with("Download("), "{}", window.last_request());
    window.says(EventKind::Download(DownloadAnswer::Transfer(Transfer {
        bytes_per_sec: Some(1_000_000.0),
        ..transfer(2_000_000)
    })));
    assert!(window.shows("2.0 MB of 5.0 MB · 1.0 MB/s · 4 s left"));
    let retry = Retry { why: "the connection broke".to_owned(), pause_secs: 4.0 };
    window.says(EventKind::Download(DownloadAnswer::Transfer(Transfer { retry: Some(retry), ..transfer(2_000_000) })));
    assert!(window.shows("The connection broke; trying again in 4 s"));
    window.click("Continue in background");
    assert!(!window.shows("Browse…"));
    assert!(window.shows("Downloading owner/tiny"), "the status bar tells");
    window.says(EventKind::Download(DownloadAnswer::Downloaded(plan())));
    assert!(window.shows("owner/tiny is downloaded"));
}

#[test]
fn escape_closes_the_sheet_wherever_the_cursor_is() {
    let mut window = Window::open();
    for step in ["", "google/vit-base-patch16-224"] {
        window.open_sheet();
        if !step.is_empty() {
            window.click_row(step);
        }
        assert!(window.shows("Browse…"));
        window.press(Key::Escape);
        assert!(!window.shows("Browse…"), "after {step:?}");
    }
}

#[test]
fn cancel_resume_and_open_are_one_click_each() {
    let mut window = Window::open();
    window.open_sheet();
    window.click_row("openai-community/gpt2");
    window.says(EventKind::Download(DownloadAnswer::Planned { plan: plan(), problem: None }));
    window.click("Download 5.0 MB");
    // The status bar behind the sheet has one, too.
    window.harness.get_all_by_label("Cancel").last().unwrap().click();
    window.settle();
    assert_eq!(window.jobs.0.borrow().cancelled, [Lane::Download]);
    assert!(window.shows("Stopped"));
    window.click("Resume");
    window.says(EventKind::Failed(failure("The disk is full")));
    assert!(window.shows("The disk is full") && window.shows("Try something else"));
    window.click("Resume");
    window.says(EventKind::Download(DownloadAnswer::Downloaded(plan())));
    window.click("Open it");
    assert!(window.opened(&ModelSource::Hub(ID.to_owned())) && !window.shows("Browse…"));

    window.open_sheet();
    window.click_row("here/broken");
    assert!(window.shows("Browse…") && window.shows("It has no weights"), "what does not open says why");
    window.click_row("here/opens");
    assert!(window.opened(&ModelSource::Hub("here/opens".to_owned())) && !window.shows("Browse…"));
    assert!(!window.opened(&ModelSource::Hub("here/broken".to_owned())));
}

#[test]
fn the_list_is_narrowed_by_what_is_typed_and_chosen_from_by_keys() {
    let mut window = Window::open();
    window.open_sheet();
    for heading in ["In the cache", "Inside", "On the Hugging Face hub"] {
        assert!(window.shows(heading), "{heading}");
    }
    let type_text = |window: &mut Window, text: &str| {
        window.harness.get_by_role_and_label(Role::TextInput, FIELD).type_text(text);
        window.settle();
    };
    type_text(&mut window, "here");
    assert!(window.shows("here/opens: ") && !window.shows("demo:gpt: "));
    window.press(Key::ArrowDown);
    window.press(Key::Enter);
    assert!(window.shows("Browse…"), "the second of them has no weights");
    window.press(Key::ArrowUp);
    window.press(Key::Enter);
    assert!(window.opened(&ModelSource::Hub("here/opens".to_owned())) && !window.shows("Browse…"));
    window.open_sheet();
    assert!(window.shows("Recent") && window.shows("demo:gpt: "), "the field is empty again");
    type_text(&mut window, "a b, c");
    assert!(window.shows("Nothing is called “a b, c”"));
    window.press(Key::Enter);
    assert!(window.shows("Browse…"), "there is nothing to open");
}

/// A short id has no owner by which to tell it from a word.
#[test]
fn a_word_is_looked_up_on_the_hub_where_nothing_else_is_called_so() {
    let mut window = Window::open();
    window.open_sheet();
    window.harness.get_by_role_and_label(Role::TextInput, FIELD).type_text("gpt2");
    window.settle();
    window.press(Key::ArrowUp);
    window.press(Key::Enter);
    assert_eq!(window.last_request(), "PlanDownload(RepoId { name: \"gpt2\", revision: \"main\" })");
}
