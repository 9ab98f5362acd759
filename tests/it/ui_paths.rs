//! Opening and saving by path: typed, completed, pasted, and where the desktop has no dialog.

use std::{fs, path::Path};

use attnscope::{
    export::ExportRequest,
    protocol::{ModelSource, Request},
    session::FilePurpose,
};
use eframe::egui::{Event, Key, Modifiers, accesskit::Role};
use egui_kittest::kittest::{NodeT as _, Queryable as _};

use crate::support::window::{Window, with_text};

/// A folder with a checkpoint that has no weights, a text and a table.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("my bert")).unwrap();
    let files = [("my bert/config.json", "{\"model_type\": \"bert\"}"), ("notes.txt", "red green"), ("rows.csv", "a")];
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

fn rows(window: &Window) -> Vec<String> {
    window.harness.query_all_by_role(Role::ListBoxOption).filter_map(|node| node.accesskit_node().label()).collect()
}

fn first_row(window: &Window) -> String {
    rows(window).into_iter().next().unwrap_or_default()
}

fn type_path(window: &mut Window, path: &str) {
    window.press(Modifiers::COMMAND, Key::K);
    window.harness.get_by_label("Go to anything").type_text(path);
    window.harness.step();
}

fn is_open(window: &Window) -> bool {
    window.harness.query_by_label("Go to anything").is_some()
}

const FIELD: &str = "Folder, file or hub id";

/// Whether the sheet to open anything is there.
fn is_asked(window: &Window) -> bool {
    window.harness.query_by_label(FIELD).is_some()
}

fn last_load(window: &Window) -> Option<ModelSource> {
    window.jobs.0.borrow().submitted.iter().rev().find_map(|(_, request)| match request {
        Request::Load { source, .. } => Some(source.clone()),
        _ => None,
    })
}

#[test]
fn a_typed_path_is_completed_says_what_is_there_and_opens() {
    let folder = folder();
    let root = folder.path().display().to_string();
    let mut window = Window::open(with_text("one two three"));
    type_path(&mut window, &format!("{root}/no"));
    window.until("the names", |window| rows(window).iter().any(|row| row.starts_with("notes.txt: ")));
    window.press(Modifiers::NONE, Key::Tab);
    window.until("what it is", |window| first_row(window).ends_with("notes.txt: Text. Let demo:gpt read notes.txt"));
    window.press(Modifiers::NONE, Key::Enter);
    window.until("the text", |window| window.app().session().document().experiment.text == "red green");
    assert!(!is_open(&window));

    // Into the folder first, then it is opened; a name with a space needs no quotes.
    type_path(&mut window, &format!("{root}/my b"));
    window.until("the folder", |window| rows(window).iter().any(|row| row.starts_with("my bert: ")));
    window.press(Modifiers::NONE, Key::ArrowDown);
    window.press(Modifiers::NONE, Key::Enter);
    window.until("what it is", |window| {
        first_row(window).contains("Model that does not open: this model folder has no weights")
    });
    window.press(Modifiers::NONE, Key::Enter);
    window.settle();
    assert_eq!(last_load(&window), Some(ModelSource::Path(folder.path().join("my bert/"))));
}

/// The disk is looked at beside the window, which may take longer than the next key.
#[test]
fn enter_is_kept_until_it_is_known_where_a_path_leads() {
    let folder = folder();
    let mut window = Window::open(with_text("one two three"));
    type_path(&mut window, &folder.path().join("notes.txt").display().to_string());
    // The frame that takes the key is among the first that look.
    window.press(Modifiers::NONE, Key::Enter);
    window.until("the text", |window| window.app().session().document().experiment.text == "red green");
    window.settle();
    assert!(!is_open(&window));
}

#[test]
fn what_cannot_be_opened_is_said_and_stays_typed() {
    let folder = folder();
    let mut window = Window::open(with_text("one two three"));
    let missing = format!("{}/notes/a/b", folder.path().display());
    type_path(&mut window, &missing);
    window.until("the answer", |window| first_row(window).contains("is the last that exists"));
    window.press(Modifiers::NONE, Key::Enter);
    assert!(is_open(&window), "there is nothing to open");
    window.press(Modifiers::NONE, Key::Escape);
    type_path(&mut window, &format!("/{}", "a".repeat(5000)));
    window.until("the answer", |window| first_row(window).contains("systems take at most 4096"));
    window.press(Modifiers::NONE, Key::Escape);
    type_path(&mut window, "owner/model");
    window.until("the hub", |window| first_row(window).contains("it is not in the local cache"));
    window.press(Modifiers::NONE, Key::Enter);
    window.settle();
    assert!(window.app().session().download.is_open);
    assert!(matches!(window.jobs.0.borrow().submitted.last(), Some((_, Request::PlanDownload(_)))));
}

#[test]
fn a_pasted_path_opens_the_sheet_unless_a_field_has_the_focus() {
    let folder = folder();
    let pasted = format!("file://{}/my%20bert\n", folder.path().display());
    let mut window = Window::open(with_text("one two three"));
    window.harness.event(Event::Paste("just some words".to_owned()));
    window.settle();
    assert!(!is_asked(&window), "words are no path");
    window.harness.event(Event::Paste(pasted.clone()));
    window.until("what it is", |window| first_row(window).contains("Model that does not open"));
    window.press(Modifiers::NONE, Key::Escape);
    window.harness.event(Event::Paste("/a\nand a text".to_owned()));
    window.settle();
    assert!(first_row(&window).contains("A path is one line, and these are 2"), "{:?}", rows(&window));
    window.press(Modifiers::NONE, Key::Escape);
    window.harness.get_by_role_and_label(Role::MultilineTextInput, "Text").focus();
    window.harness.step();
    window.harness.event(Event::Paste(pasted.trim().to_owned()));
    window.settle();
    assert!(!is_asked(&window));
    assert!(window.app().session().document().experiment.text.contains("my%20bert"), "it is in the field");
}

#[test]
fn the_sheet_opens_what_a_path_leads_to() {
    let folder = folder();
    let mut window = Window::open(with_text("one two three"));
    window.press(Modifiers::COMMAND, Key::O);
    let path = format!("{}/my b", folder.path().display());
    window.harness.get_by_label(FIELD).type_text(&path);
    window.until("the names", |window| rows(window).iter().any(|row| row.starts_with("my bert: ")));
    window.press(Modifiers::NONE, Key::Tab);
    window.until("what it is", |window| first_row(window).contains("Model that does not open"));
    window.press(Modifiers::NONE, Key::Enter);
    window.settle();
    assert_eq!(last_load(&window), Some(ModelSource::Path(folder.path().join("my bert/"))));
    assert!(!is_asked(&window));
}

/// Types into the sheet that asks for a path, in place of what it proposes.
fn retype(window: &mut Window, path: &Path) {
    window.press(Modifiers::COMMAND, Key::A);
    window.harness.get_by_label("Path").type_text(&path.display().to_string());
    window.harness.step();
}

fn is_enabled(window: &Window, button: &str) -> bool {
    window.harness.query_by_role_and_label(Role::Button, button).is_some_and(|it| !it.accesskit_node().is_disabled())
}

#[test]
fn without_a_dialog_a_sheet_asks_where_to_save_and_confirms_what_it_replaces() {
    let folder = folder();
    let mut window = Window::open(with_text("one two three"));
    window.desktop.0.borrow_mut().lacks_dialogs = true;
    let written = |window: &Window| {
        let script = window.jobs.0.borrow();
        let paths = script.submitted.iter().filter_map(|(_, request)| match request {
            Request::Export(ExportRequest::Figures { path, .. }) => Some(path.clone()),
            _ => None,
        });
        paths.collect::<Vec<_>>()
    };
    let ask = |window: &mut Window| {
        window.press(Modifiers::COMMAND, Key::E);
        window.settle();
        window.harness.get_by_label("Save…").click();
        window.until("the sheet", |window| window.shows("This desktop has no file dialog"));
    };
    ask(&mut window);
    let path = |window: &Window| window.harness.get_by_label("Path").accesskit_node().value().unwrap();
    assert!(path(&window).starts_with("~/demo-gpt_"));
    window.harness.event(Event::Text("mine".to_owned()));
    window.settle();
    assert_eq!(path(&window), "~/mine", "what is typed takes the place of the name, in the same folder");
    retype(&mut window, &folder.path().join("figure"));
    // Also before it is known whether there is something.
    window.press(Modifiers::NONE, Key::Enter);
    window.until("the end", |window| !window.shows("This desktop has no file dialog"));
    window.settle();
    let figure = folder.path().join("figure.svg");
    assert_eq!(written(&window), std::slice::from_ref(&figure), "the ending is added");

    fs::write(&figure, "there already").unwrap();
    ask(&mut window);
    retype(&mut window, &folder.path().join("figure"));
    window.until("the warning", |window| window.shows("exists already: it would be replaced"));
    window.press(Modifiers::NONE, Key::Enter);
    assert_eq!(written(&window).len(), 1, "a key alone replaces nothing");
    window.click("Replace");
    assert_eq!(written(&window).len(), 2);

    ask(&mut window);
    retype(&mut window, &folder.path().join("none/such/figure"));
    window.until("the refusal", |window| window.shows("is the last that exists") && !is_enabled(window, "Save"));
    window.press(Modifiers::NONE, Key::Escape);
    window.settle();
    assert!(!window.shows("This desktop has no file dialog") && written(&window).len() == 2);
}

#[test]
fn without_a_dialog_a_sheet_asks_what_to_open() {
    let folder = folder();
    let mut window = Window::open(with_text("one two three"));
    window.desktop.0.borrow_mut().lacks_dialogs = true;
    window.press(Modifiers::COMMAND.plus(Modifiers::SHIFT), Key::O);
    window.until("the sheet", |window| window.shows("Open a picture, a text, a checkpoint or a capture"));
    assert_eq!(window.desktop.0.borrow().purposes, [FilePurpose::InputFile]);
    retype(&mut window, &folder.path().join("my"));
    window.until("the names", |window| window.shows("my bert"));
    window.press(Modifiers::NONE, Key::Tab);
    window.until("what it is", |window| window.shows("Model that does not open") && is_enabled(window, "Open"));
    window.press(Modifiers::NONE, Key::Enter);
    window.settle();
    assert_eq!(last_load(&window), Some(ModelSource::Path(folder.path().join("my bert/"))));
}
