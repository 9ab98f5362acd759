//! Opening things in the window: examples, files, pictures, captures.

use std::path::PathBuf;

use attnscope::{
    cli::open::OpenOptions,
    model::{Input, TextInput},
    protocol::{CaptureFile, EventKind, LoadAnswer, ModelSource, Request},
    session::{
        Command, FilePurpose, ViewKind,
        gallery::{EXAMPLES, by_topic},
    },
};
use eframe::egui::{self, Key, Modifiers};
use egui_kittest::kittest::{NodeT as _, Queryable as _};

use crate::support::{
    scripted::{capture, model},
    window::{Window, with_text},
};

#[test]
fn an_example_card_changes_model_input_and_view() {
    let mut window = Window::open(OpenOptions::default());
    let shown = |window: &Window| {
        let session = window.app().session();
        (session.document().model.latest().unwrap().spec.name.clone(), session.pane().view)
    };
    window.opens_example("Queries and keys");
    assert_eq!(shown(&window), ("demo:gpt".to_owned(), ViewKind::Matrix));
    window.opens_example("Mary's keys");
    assert_eq!(shown(&window), ("demo:bert".to_owned(), ViewKind::Heads));
    assert_eq!(window.app().session().document().experiment.text, "Mary lost [MASK] keys.");
}

#[test]
fn an_example_of_a_picture_shows_the_picture() {
    let mut window = Window::open(OpenOptions::default());
    window.opens_example("A cat, called a dog");
    assert_eq!(window.app().session().pane().view, ViewKind::Image);
    assert!(window.shows("4 × 4 patches"));
    assert!(window.shows("Choose picture…"));
}

#[test]
fn the_gallery_lists_every_example_and_opens_one() {
    let mut window = Window::open(OpenOptions::default());
    let cards =
        |window: &Window, of: &str| window.harness.query_all_by_label_contains(&format!("Example: {of}")).count();
    assert_eq!(cards(&window, ""), 0);
    window.click_in_more("Examples…");
    assert_eq!(cards(&window, ""), EXAMPLES.len());
    window.harness.get_by_label("Example: Pieces find their word").click_accesskit();
    window.settle();
    assert_eq!(window.app().session().document().model.latest().unwrap().spec.name, "demo:bert");
    assert_eq!(cards(&window, ""), 0, "the gallery closes when something was chosen");
    let hint = "layer 0 joins the pieces of a word";
    assert!(window.shows(hint), "what to look at stays in sight");
    window.press(Modifiers::NONE, Key::PageDown);
    window.settle();
    assert!(!window.shows(hint), "the next one is open");
}

#[test]
fn the_gallery_is_searched_by_titles_texts_and_explanations() {
    let mut window = Window::open(OpenOptions::default());
    window.press(Modifiers::NONE, Key::E);
    window.settle();
    let cards = |window: &Window| window.harness.query_all_by_label_contains("Example: ").count();
    window.harness.get_by_label("Search examples").type_text("induc");
    window.settle();
    let n = EXAMPLES.iter().filter(|example| example.mentions("induc")).count();
    assert_eq!(cards(&window), n);
    assert!(window.shows(&format!("{n} of {}", EXAMPLES.len())));
    assert!(window.harness.query_all_by_label("Example: A red car").count() >= 1, "its explanation says so");
    let mentioned =
        |words: &str, title: &str| EXAMPLES.iter().any(|example| example.title == title && example.mentions(words));
    assert!(mentioned("bottleneck", "With attention"), "the model beside");
    assert!(mentioned("2014", "One vector"), "what the lecture says of it");
    window.harness.get_by_label("Search examples").type_text(" qqqq");
    window.settle();
    assert!(window.shows("No example mentions “induc qqqq”"));
    window.press(Modifiers::NONE, Key::Escape);
    window.press(Modifiers::NONE, Key::E);
    window.settle();
    assert_eq!(cards(&window), EXAMPLES.len(), "another time it begins anew");
}

#[test]
fn the_gallery_is_used_by_keys_alone() {
    let open = |typed: &str| {
        let mut window = Window::open(OpenOptions::default());
        window.press(Modifiers::NONE, Key::E);
        window.harness.get_by_label("Search examples").type_text(typed);
        window.settle();
        window
    };
    let example = |window: &Window| window.app().session().document().example.map(|idx| EXAMPLES[idx].title);
    let mut window = open("induc");
    window.press(Modifiers::NONE, Key::Enter);
    let first = by_topic().find(|(_, example)| example.mentions("induc")).map(|(_, example)| example.title);
    assert_eq!(example(&window), first, "Enter opens the first that is found");
    let mut window = open("house");
    window.press(Modifiers::NONE, Key::ArrowDown);
    let focused = window.harness.query_all_by_label_contains("Example: ").find(egui_kittest::Node::is_focused);
    let title = focused.and_then(|node| node.accesskit_node().label()).unwrap();
    window.press(Modifiers::NONE, Key::Enter);
    assert_eq!(example(&window), title.strip_prefix("Example: "));
    assert!(!window.shows("Search examples"));
}

#[test]
fn dropped_files_say_what_will_happen_and_then_open() {
    let mut window = Window::open(with_text("one two three"));
    let hovered = |path: &str| egui::HoveredFile { path: Some(path.into()), ..egui::HoveredFile::default() };
    window.harness.input_mut().hovered_files = vec![hovered("/pictures/cat.png"), hovered("/models/bert")];
    window.harness.step();
    window.harness.input_mut().hovered_files.clear();
    window.harness.step();
    let runs = window.jobs.n_runs();
    window.harness.input_mut().dropped_files.push(std::sync::Arc::new(Dropped("/models/vit-mine".into())));
    let name = |window: &Window| window.app().session().document().model.latest().unwrap().spec.name.clone();
    window.until("the model", |window| name(window) == "vit-mine");
    window.settle();
    assert_eq!(window.jobs.n_runs(), runs + 1);
}

/// A folder with neither a model nor pictures is looked through in the sheet.
#[test]
fn a_dropped_folder_without_a_model_shows_what_is_in_it() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("notes.txt"), "red green").unwrap();
    let mut window = Window::open(with_text("one two three"));
    window.harness.input_mut().dropped_files.push(std::sync::Arc::new(Dropped(folder.path().to_owned())));
    window.until("its files", |window| window.shows("notes.txt: "));
    window.press(Modifiers::NONE, Key::Tab);
    window.until("the text", |window| window.shows("notes.txt: Text. Let demo:gpt read notes.txt"));
    window.press(Modifiers::NONE, Key::Enter);
    window.until("the text", |window| window.app().session().document().experiment.text == "red green");
}

/// What is dropped while it is found out what was dropped before comes after that.
#[test]
fn paths_that_are_dropped_one_by_one_open_one_by_one() {
    let folder = tempfile::tempdir().unwrap();
    let (notes, inner) = (folder.path().join("notes.txt"), folder.path().join("inner"));
    std::fs::create_dir(&inner).unwrap();
    std::fs::write(inner.join("deep.txt"), "blue").unwrap();
    std::fs::write(&notes, "red green").unwrap();
    let mut window = Window::open(with_text("one two three"));
    for path in [inner, notes] {
        window.harness.input_mut().dropped_files.push(std::sync::Arc::new(Dropped(path)));
        window.harness.step();
    }
    window.until("the text", |window| window.app().session().document().experiment.text == "red green");
    window.until("the files of the folder", |window| window.shows("deep.txt: "));
}

#[derive(Debug)]
struct Dropped(PathBuf);

impl egui::DroppedFile for Dropped {
    fn path(&self) -> &std::path::Path {
        &self.0
    }

    fn bytes(&self) -> Result<Vec<u8>, String> {
        Err("not read by the window".to_owned())
    }
}

#[test]
fn a_pair_stays_a_pair_however_its_model_is_named() {
    let pair =
        || OpenOptions { text: Some("one".to_owned()), text_b: Some("two".to_owned()), ..OpenOptions::default() };
    for options in [
        OpenOptions { paths: vec!["demo:bert".into()], ..pair() },
        OpenOptions { model: Some("demo:bert".to_owned()), ..pair() },
        pair(),
    ] {
        let mut window = Window::open(options);
        window.settle();
        let experiment = &window.app().session().document().experiment;
        assert_eq!((experiment.text.as_str(), experiment.text_b.as_deref()), ("one", Some("two")));
    }
}

#[test]
fn a_dropped_text_file_is_read_and_one_that_is_no_text_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (good, bad) = (folder.path().join("good.txt"), folder.path().join("bad.txt"));
    std::fs::write(&good, "red green blue yellow").unwrap();
    std::fs::write(&bad, [0xff, 0xfe, 0x41]).unwrap();
    let mut window = Window::open(with_text("one two three"));
    window.harness.input_mut().dropped_files.push(std::sync::Arc::new(Dropped(good)));
    window.until("the text", |window| window.app().session().document().experiment.text == "red green blue yellow");
    window.settle();
    assert!(window.shows("4 tokens"));
    window.harness.input_mut().dropped_files.push(std::sync::Arc::new(Dropped(bad)));
    window.until("the refusal", |window| window.shows("This file is not UTF-8 text"));
    assert_eq!(window.app().session().document().experiment.text, "red green blue yellow");
}

#[test]
fn a_pasted_picture_is_shown_to_a_model_that_sees() {
    let mut window = Window::open(with_text("one two three"));
    let image = egui::ColorImage::filled([5, 4], egui::Color32::RED);
    window.harness.event(egui::Event::PasteImage(std::sync::Arc::new(image)));
    let sees = |window: &Window| window.app().session().document().model.latest().unwrap().spec.name == "demo:vit";
    window.until("the picture", sees);
    window.settle();
    assert!(window.shows("so demo:vit is opened for the picture"));
}

#[test]
fn the_open_dialogs_open_what_was_chosen() {
    let mut window = Window::open(with_text("one two three"));
    window.desktop.0.borrow_mut().pick = vec!["/models/vit-mine".into()];
    window.click("Open…");
    window.click("Browse… ⏷");
    window.click("Open folder…");
    assert!(!window.shows("Browse… ⏷"), "the dialog takes its place");
    window
        .until("the model", |window| window.app().session().document().model.latest().unwrap().spec.name == "vit-mine");
    assert_eq!(window.desktop.0.borrow().purposes, [FilePurpose::ModelFolder]);
    window.desktop.0.borrow_mut().pick = vec!["cat.png".into()];
    window.click("Open…");
    window.click("Browse… ⏷");
    window.click("Open file…");
    window.until("the picture", |window| {
        matches!(window.jobs.0.borrow().submitted.last(), Some((_, Request::Run { input: Input::Image(_), .. })))
    });
}

#[test]
fn inputs_of_a_capture_file_are_chosen_by_button_and_key() {
    let mut window = Window::open(with_text("one two three"));
    window.jobs.answer(false);
    let gpt = model(&ModelSource::Bundled("demo:gpt".to_owned()));
    let read = |text: &str| capture(&gpt, &Input::Text(TextInput { text: text.to_owned(), ..TextInput::default() }));
    let captures = vec![read("a first input"), read("the second one of them")];
    window.app().request(Command::OpenPaths(vec!["flies.npz".into()]));
    window.harness.step();
    window.jobs.say(EventKind::Load(LoadAnswer::Opened(CaptureFile {
        path: "flies.npz".into(),
        captures,
        numbers: None,
        folder: None,
    })));
    window.settle();
    assert!(window.shows("From flies.npz") && window.shows("a first input"));
    assert!(!window.shows("Add second sentence"), "a file's text is not edited");
    window.press(Modifiers::COMMAND, Key::PageDown);
    assert!(window.shows("the second one of them") && window.shows("Query 4 them"));
    window.click("Next input");
    assert_eq!(window.app().session().document().shown_input(), Some(0));
    window.press(Modifiers::COMMAND, Key::PageUp);
    assert_eq!(window.app().session().document().shown_input(), Some(1));
    window.jobs.answer(true);
    window.click("Back to demo:gpt");
    assert_eq!(window.app().session().document().shown_input(), None);
    assert!(window.shows("Add second sentence") && window.shows("Query 2 three"));
}
