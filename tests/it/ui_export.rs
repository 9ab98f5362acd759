//! The export dialog: what it previews, what it saves, and its menus.

use std::path::PathBuf;

use attnscope::{
    cli::open::OpenOptions,
    export::{ExportRequest, Preview},
    figure::CaptionKind,
    protocol::Request,
    session::{ViewKind, gallery::EXAMPLES},
};
use eframe::egui::{Event, Key, Modifiers, PointerButton, Pos2, accesskit::Role};
use egui_kittest::kittest::Queryable as _;

use crate::support::window::{Window, with_text};

#[test]
fn a_figure_is_previewed_and_saved_under_the_name_that_was_typed() {
    let mut window = Window::open(with_text("one two three"));
    window.press(Modifiers::COMMAND, Key::E);
    window.settle();
    window.harness.get_by_label("Preview of the figure");
    let preview = window.app().session().figures.preview.latest().cloned().unwrap();
    let Preview::Figure(figure) = &*preview else { panic!("{preview:?}") };
    assert!(figure.pixels.width > 200 && figure.missing.is_empty());
    window.harness.get_by_label("PDF").click();
    window.settle();
    window.desktop.0.borrow_mut().save = Some(PathBuf::from("figure.svg"));
    window.harness.get_by_label("Save…").click();
    window.until("the export", |window| {
        window.jobs.0.borrow().submitted.iter().any(|(_, request)| matches!(request, Request::Export(_)))
    });
    assert_eq!(window.desktop.0.borrow().proposed, ["demo-gpt_one-two-three_L0_lines.pdf"]);
    let script = window.jobs.0.borrow();
    let Some((_, Request::Export(ExportRequest::Figures { figure, path }))) = script.submitted.last() else {
        panic!("no export")
    };
    assert_eq!(path, &PathBuf::from("figure.svg"), "the ending that was typed is obeyed");
    let svg = figure.svg().unwrap();
    assert!(["one", "two", "three", "L0"].iter().all(|text| svg.contains(text)), "{}", &svg[..400]);
}

#[test]
fn a_figure_that_is_higher_than_a_page_is_said_before_it_is_saved() {
    let mut window = Window::open(with_text(&["one two three four"; 20].join(" ")));
    window.press(Modifiers::COMMAND, Key::E);
    window.settle();
    let too_high = |window: &Window| {
        let preview = window.app().session().figures.preview.latest().cloned().unwrap();
        let Preview::Figure(figure) = &*preview else { panic!("{preview:?}") };
        assert_eq!(figure.too_high.is_some(), figure.too_high.iter().any(|sentence| window.shows(sentence)));
        (figure.too_high.is_some(), figure.n_pages)
    };
    assert_eq!(too_high(&window), (true, 1));
    window.click("PDF");
    window.click("Cut into pages of A4");
    let (is_said, n_pages) = too_high(&window);
    assert!(!is_said && n_pages > 1 && window.shows(&format!("{n_pages} pages")), "{n_pages}");
    window.click("SVG");
    assert_eq!(too_high(&window), (true, 1), "an SVG has no pages");
}

/// The picture once for each word, where words look at a picture.
#[test]
fn a_strip_of_words_is_offered_where_words_look_at_a_picture() {
    let choice = "The picture for each word, one sheet";
    let mut window = Window::open(with_text("one two three"));
    window.press(Modifiers::COMMAND, Key::E);
    assert!(window.shows("All heads of the layer, one sheet") && !window.shows(choice));
    let idx = EXAMPLES.iter().position(|example| example.title == "Named and seen").unwrap();
    let mut window = Window::open(OpenOptions { example: Some(idx), ..OpenOptions::default() });
    window.press(Modifiers::COMMAND, Key::E);
    window.click(choice);
    let figure = window.app().session().figure().unwrap();
    assert!(figure.spec.each.query && figure.spec.query.is_none());
    // What was chosen means nothing in lines.
    window.press(Modifiers::NONE, Key::Escape);
    window.show(ViewKind::Heads);
    assert!(!window.app().session().figure().unwrap().spec.each.query);
}

/// The numbers are seen before they are written, with what the file will hold.
#[test]
fn numbers_are_previewed_as_a_table_with_the_size_of_the_file() {
    let mut window = Window::open(with_text("one two three"));
    window.press(Modifiers::COMMAND, Key::E);
    for kind in ["CSV", "JSON", "NPZ"] {
        window.click(kind);
        let preview = window.app().session().figures.preview.latest().cloned().unwrap();
        let Preview::Numbers(numbers) = &*preview else { panic!("{kind}: {preview:?}") };
        let figure = window.app().session().figure().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(format!("numbers.{}", kind.to_lowercase()));
        figure.write(&path).unwrap();
        assert_eq!(numbers.n_bytes, std::fs::metadata(&path).unwrap().len(), "{kind}");
        assert!(numbers.n_rows > 3 && numbers.rows.len() == numbers.n_rows, "{kind}: one row for each line");
        assert!(numbers.columns.iter().any(|name| name == "weight") && numbers.rows[0].len() == numbers.columns.len());
        let size = format!("{} rows × {} columns", numbers.n_rows, numbers.columns.len());
        assert!(window.shows(&size) && window.shows("weight"), "{size}");
        assert!(!window.shows(" pt · ") && window.harness.query_by_label("Preview of the figure").is_none());
    }
}

/// A click as a touchpad gives it: pressed and let go of between two frames.
fn tap(window: &mut Window, at: Pos2) {
    window.harness.hover_at(at);
    window.settle();
    let button = |pressed| Event::PointerButton {
        pos: at,
        button: PointerButton::Primary,
        pressed,
        modifiers: Modifiers::default(),
    };
    window.harness.input_mut().events.extend([true, false].map(button));
    window.harness.step();
    window.settle();
}

fn tap_on(window: &mut Window, role: Role, label: &str) {
    let at = window.harness.get_by_role_and_label(role, label).rect().center();
    tap(window, at);
}

/// Menus of a dialog open above it whatever was clicked before, and Esc closes what is on top.
#[test]
fn a_menu_of_the_dialog_opens_above_it_and_is_closed_first() {
    let mut window = Window::open(with_text("one two three"));
    let is_open = |window: &Window| window.app().session().figures.is_open;
    let full = "Full: also the input and how to read it";
    window.press(Modifiers::COMMAND, Key::E);
    tap_on(&mut window, Role::ComboBox, "Caption");
    assert!(window.shows(full));
    window.press(Modifiers::NONE, Key::Escape);
    assert!(!window.shows(full) && is_open(&window), "the menu alone is closed");
    tap_on(&mut window, Role::RadioButton, "Dark");
    // With both touched in one frame the dialog was moved to the top together with its menu.
    tap_on(&mut window, Role::ComboBox, "Caption");
    tap_on(&mut window, Role::Button, full);
    assert_eq!(window.app().session().settings.figures.paper.caption, CaptionKind::Full, "what is seen can be chosen");
    assert!(!window.shows("None"), "and that closes the menu");
    window.press(Modifiers::NONE, Key::Escape);
    assert!(!is_open(&window));
}
