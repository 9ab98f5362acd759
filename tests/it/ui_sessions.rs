//! Sessions in the window: saving, opening, recovering, models that have moved, bookmarks and notes.

use attnscope::{
    protocol::{Event, EventKind, LeftBehind, ModelSource, Request, SessionAnswer, SessionRequest},
    session::{Command, HeadStep, SelectionCommand, SessionCommand, ViewKind},
};
use eframe::egui::{Key, Modifiers, accesskit::Role};
use egui_kittest::kittest::Queryable as _;
use serde_json::{Value, json};

use crate::support::{
    scripted::failure,
    window::{Window, with_text},
};

fn a_session(text: &str) -> Value {
    json!({
        "format": "attnscope-session", "version": 1,
        "documents": [{ "model": { "bundled": "demo:gpt" }, "text": text }],
        "panes": [{ "view": "heatmap", "layer": 2, "head": 1 }, { "layer": 0, "head": 3, "row": 1 }],
    })
}

/// How often what is shown was kept.
fn n_kept(window: &Window) -> usize {
    let script = window.jobs.0.borrow();
    script.sessions.iter().filter(|request| matches!(request, SessionRequest::Keep(..))).count()
}

fn shown_text(window: &Window) -> String {
    window.app().session().document().latest_capture().unwrap().input().text.clone().unwrap()
}

#[test]
fn work_is_kept_seconds_after_it_was_done_and_once() {
    let mut window = Window::open(with_text("one two three"));
    window.settle();
    assert_eq!(n_kept(&window), 0, "looking is no work");
    window.press(Modifiers::NONE, Key::ArrowRight);
    window.settle();
    window.settle();
    assert_eq!(n_kept(&window), 1);
    for _ in 0..4 {
        window.settle();
    }
    assert_eq!(n_kept(&window), 1, "what has not changed is not written again");
    let kept = window.jobs.0.borrow().sessions.iter().rev().find_map(|request| match request {
        SessionRequest::Keep(json, _) => Some(json.clone()),
        _ => None,
    });
    assert_eq!(kept.unwrap()["panes"][0]["head"], 1);
}

#[test]
fn a_session_is_saved_changed_and_opened_again() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("work.attnscope");
    let mut window = Window::open(with_text("one two three"));
    window.press(Modifiers::NONE, Key::ArrowRight);
    window.desktop.0.borrow_mut().save = Some(folder.path().join("work"));
    window.press(Modifiers::COMMAND, Key::S);
    window.until("the file", |window| window.app().session().keeping.name().is_some());
    assert_eq!(window.desktop.0.borrow().proposed, ["session.attnscope"]);
    assert!(file.is_file(), "the ending is added");
    window.press(Modifiers::NONE, Key::ArrowRight);
    for _ in 0..2 {
        window.settle();
    }
    assert!(window.app().session().keeping.is_changed);
    window.press(Modifiers::COMMAND, Key::S);
    assert!(!window.app().session().keeping.is_changed, "it has a name now, so nobody is asked");
    assert_eq!(window.desktop.0.borrow().proposed.len(), 1);

    // By the menu, in another window.
    let mut other = Window::open(with_text("something else"));
    other.desktop.0.borrow_mut().pick = vec![file.clone()];
    other.click_in_more("Session");
    other.click("Open session…");
    other.until("the session", |window| window.head().head == 2);
    other.settle();
    assert_eq!(shown_text(&other), "one two three");
    // And dropped, among the recent ones.
    other.app().request(Command::OpenPaths(vec![folder.path().join("missing.attnscope")]));
    other.settle();
    assert_eq!(shown_text(&other), "one two three", "a file that cannot be read changes nothing");
    other.click_in_more("Session");
    other.click("Recent sessions");
    assert!(other.shows("work.attnscope"));
}

#[test]
fn what_a_killed_window_left_is_offered_and_taken_up() {
    let mut window = Window::open(with_text("one two three"));
    let left = LeftBehind { number: 7, age_secs: 200, json: a_session("what was typed before the crash") };
    window.app().request(Command::Session(SessionCommand::Begin));
    window.harness.step();
    {
        let mut script = window.jobs.0.borrow_mut();
        let event = script.events.last_mut().unwrap();
        event.kind = EventKind::Session(Box::new(SessionAnswer::Begun(vec![left], None)));
    }
    window.settle();
    assert!(window.shows("AttnScope was closed unexpectedly 3 minutes ago: 2 panes · what was typed before the crash"));
    window.click("Restore");
    assert_eq!(
        (shown_text(&window).as_str(), window.app().session().panes.len()),
        ("what was typed before the crash", 2)
    );
    assert_eq!(window.app().session().pane().view, ViewKind::Heatmap);
    let script = window.jobs.0.borrow();
    let taken = |request: &SessionRequest| matches!(request, SessionRequest::Keep(_, Some(7)));
    assert!(script.sessions.iter().any(taken), "it is let go of when it is kept here");
    drop(script);
    assert!(!window.shows("Restore"));
}

#[test]
fn a_model_that_has_moved_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.attnscope");
    let mut json = a_session("one two three");
    json["documents"][0]["model"] = json!({ "path": "/models/mine", "config": "configuration of mine" });
    std::fs::write(&file, json.to_string()).unwrap();
    let mut window = Window::open(with_text("before"));
    window.jobs.answer(false);
    window.app().request(Command::OpenPaths(vec![file]));
    window.until("the load", |window| {
        let script = window.jobs.0.borrow();
        script.submitted.iter().any(|(_, request)| format!("{request:?}").contains("/models/mine"))
    });
    {
        let mut script = window.jobs.0.borrow_mut();
        let load = script.submitted.iter().rev().find(|(_, request)| matches!(request, Request::Load { .. }));
        let (job, lane) = load.map(|(job, request)| (*job, request.lane())).unwrap();
        script.events.push(Event { job, lane, kind: EventKind::Failed(failure("There is no such folder")) });
    }
    window.jobs.answer(true);
    window.settle();
    assert!(window.shows("Where is the model of this session?") && window.shows("There is no such folder"));
    window.desktop.0.borrow_mut().pick = vec!["/elsewhere/mine".into()];
    window.click("Choose its folder…");
    window.until("the model", |window| window.app().session().document().latest_capture().is_some());
    window.settle();
    assert!(!window.shows("Where is the model of this session?"));
    let session = window.app().session();
    let model = session.document().model.latest().unwrap();
    assert_eq!(model.source, ModelSource::Path("/elsewhere/mine".into()));
    assert_eq!(session.settings.moved_models[0].to, model.source);
}

#[test]
fn bookmarks_and_notes_are_kept_with_the_session() {
    let mut window = Window::open(with_text("one two three"));
    window.app().request(Command::Select(SelectionCommand::Step(HeadStep::NextLayer)));
    window.settle();
    window.press(Modifiers::COMMAND, Key::B);
    assert!(window.shows("Bookmark added: L1H0 Lines · demo:gpt · one two three"));
    window.click("Undo: Bookmark added: L1H0 Lines · demo:gpt · one two three");
    assert!(window.app().session().keeping.bookmarks.is_empty());
    window.press(Modifiers::COMMAND, Key::B);
    window.app().request(Command::Select(SelectionCommand::Step(HeadStep::NextLayer)));
    window.settle();
    window.press(Modifiers::NONE, Key::B);
    assert!(window.shows("Bookmarks and notes"));
    let notes = window.harness.get_by_label("Notes").rect().center();
    window.harness.get_all_by_role(eframe::egui::Role::MultilineTextInput).last().unwrap().focus();
    assert!(notes.y > 0.0);
    window.settle();
    let notes = window.harness.get_all_by_role(eframe::egui::Role::MultilineTextInput).last().unwrap();
    notes.type_text("seen");
    window.settle();
    assert_eq!(window.app().session().keeping.notes, "seen");
    assert!(!window.app().session().keeping.bookmarks[0].thumbnail.is_empty());
    window.click("Go to L1H0 Lines · demo:gpt · one two three");
    assert_eq!(window.head().layer, 1);
    assert!(!window.shows("Bookmarks and notes"), "whoever goes there wants to see it");
}

#[test]
fn an_address_is_copied_and_opened() {
    let mut window = Window::open(with_text("one two three"));
    window.press(Modifiers::NONE, Key::ArrowRight);
    window.press(Modifiers::COMMAND | Modifiers::SHIFT, Key::L);
    assert!(window.shows("Link copied"));
    let (address, _) = window.app().session().address(window.app().session().pane()).unwrap();
    let options = attnscope::cli::open::OpenOptions { paths: vec![address.to_string().into()], ..Default::default() };
    let other = Window::open(options);
    assert_eq!((shown_text(&other).as_str(), other.head().head), ("one two three", 1));
}

#[test]
fn a_new_session_closes_what_is_shown_after_a_question() {
    let mut window = Window::open(with_text("one two three"));
    window.press(Modifiers::NONE, Key::ArrowRight);
    for _ in 0..3 {
        window.settle();
    }
    assert_eq!(n_kept(&window), 1);
    window.click_in_more("Session");
    window.click("New session");
    assert!(window.shows("Save this session first?") && window.shows("It is not saved yet."));
    window.press(Modifiers::NONE, Key::Escape);
    assert!(!window.shows("Save this session first?"));
    assert_eq!(shown_text(&window), "one two three");

    window.click_in_more("Session");
    window.click("New session");
    window.click("Don’t save");
    let document = window.app().session().document();
    assert!(document.latest_capture().is_none() && document.model.latest().is_none());
    assert!(window.shows("The session was closed") && window.shows("It is under Session › Recent sessions"));
    assert!(window.shows("Nothing is open") && window.shows("Last closed session"));
    for way in ["Open…", "Open file…", "Open session…"] {
        assert!(window.harness.query_all_by_role_and_label(Role::Button, way).next().is_some(), "{way}");
    }
    window.click_in_more("Session");
    window.click("Recent sessions");
    assert!(window.shows("Last closed session"));
    window.press(Modifiers::NONE, Key::Escape);
    window.harness.get_by_label("Example: Queries and keys").click_accesskit();
    window.settle();
    assert!(!window.shows("Nothing is open"), "an example is open");
}

/// A second window is the program a second time; what keeps it from starting is said.
#[test]
fn another_window_is_started_from_key_menu_and_palette() {
    let mut window = Window::open(with_text("one two three"));
    let n_started = |window: &Window| window.desktop.0.borrow().windows;
    window.press(Modifiers::COMMAND | Modifiers::SHIFT, Key::N);
    assert_eq!(n_started(&window), 1);
    window.click("More");
    window.click("New window");
    assert_eq!(n_started(&window), 2);
    window.press(Modifiers::COMMAND, Key::K);
    window.harness.get_by_label("Go to anything").type_text("new window");
    window.settle();
    window.press(Modifiers::NONE, Key::Enter);
    assert_eq!(n_started(&window), 3);
    assert_eq!(shown_text(&window), "one two three", "this one stays as it is");

    window.desktop.0.borrow_mut().no_window = Some("no such file".to_owned());
    window.press(Modifiers::COMMAND | Modifiers::SHIFT, Key::N);
    assert!(window.shows("No second window can be started") && window.shows("No such file"));
}
