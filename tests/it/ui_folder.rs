//! A folder of heads in the window: its numbers by their names, the page of a head, what it does not have.

use std::fs;

use attnscope::{
    analysis::head_folder::name,
    cli::open::OpenOptions,
    ids::{HeadId, StackKind},
    session::{Command, SelectionCommand, ViewKind},
};
use eframe::egui::accesskit::Role;
use egui_kittest::kittest::{NodeT as _, Queryable as _};

use crate::{
    head_folder_read::{folder, with_more},
    support::window::Window,
};

fn opened(folder: &tempfile::TempDir) -> Window {
    let options = OpenOptions { paths: vec![folder.path().to_owned()], ..OpenOptions::default() };
    let mut window = Window::with_size(options, [1280.0, 900.0]);
    window.until("the folder", |window| window.app().session().document().folder().is_some());
    window.settle();
    window
}

fn select(window: &mut Window, head: HeadId) {
    window.app().request(Command::Select(SelectionCommand::Head(head)));
    window.settle();
}

#[test]
fn a_folder_opens_with_its_numbers_by_their_names() {
    let folder = folder();
    let mut window = opened(&folder);
    assert_eq!(window.app().session().pane().view, ViewKind::Atlas);
    assert!(window.shows("Numbers of the heads of a folder"));
    assert!(window.shows("3 heads of a model over some texts, 1 without a file, with the numbers of the folder"));
    assert!(window.shows("Which numbers does the folder") && window.shows("Numbers of the folder"));
    // Across is what the folder begins with; cells have its first number.
    let boxes: Vec<String> =
        window.harness.query_all_by_role(Role::ComboBox).filter_map(|node| node.accesskit_node().value()).collect();
    assert!(
        boxes.contains(&"induction_score".to_owned()) && boxes.contains(&"previous_token_score".to_owned()),
        "{boxes:?}"
    );
    window.harness.get_by_label_contains("Details: ").click();
    window.settle();
    assert!(window.shows("bfloat16") && window.shows("some texts"), "how it was made");
}

#[test]
fn the_page_of_a_head_shows_its_file_and_what_is_not_there_says_so() {
    let folder = folder();
    let mut window = opened(&folder);
    window.show(ViewKind::HeadPage);
    let name = folder.path().file_name().unwrap().to_string_lossy().into_owned();
    let page = format!("Page of L0H0 from {name}");
    window.until(&page, |window| window.shows(&page));
    assert!(window.shows("do not sum to 1"), "below it");
    let area = window.harness.get_by_label(&page).rect();
    // The first token of the first text: below the line of the head, the title and the heading of the sequence.
    window.harness.hover_at(area.min + eframe::egui::vec2(4.0, 48.0 + 24.0 + 18.0 + 8.0));
    window.settle();
    assert!(window.shows("as a query: ") && window.shows("of its row is missing"), "{:?}", window.harness);
    select(&mut window, HeadId::single(0, 1));
    assert!(window.shows("names L0H1 and has no file heads/L0H1.json of it"));
    fs::write(folder.path().join(name::HEADS).join("L5H2.json"), "{").unwrap();
    select(&mut window, HeadId::single(5, 2));
    window.until("the reason", |window| window.shows("heads/L5H2.json cannot be shown: it ends in the middle"));
}

#[test]
fn a_pair_of_the_cloud_is_read_with_its_sequence_and_what_is_broken_is_named() {
    let folder = folder();
    with_more(&folder);
    let options = OpenOptions { paths: vec![folder.path().to_owned()], ..OpenOptions::default() };
    let mut window = Window::with_size(options, [1280.0, 1500.0]);
    window.until("the folder", |window| window.app().session().document().folder().is_some());
    window.show(ViewKind::HeadPage);
    let name = folder.path().file_name().unwrap().to_string_lossy().into_owned();
    let page = format!("Page of L0H0 from {name}");
    window.until(&page, |window| window.shows(&page));
    assert!(window.shows("the part K has 1 and 2 numbers") && window.shows("L0H0S../.. is no name of a sequence"));
    // The only panel lies in the lower left corner; its two pairs at two of its corners.
    let area = window.harness.get_by_label(&page).rect();
    let corner = area.left_bottom() + eframe::egui::vec2(9.0, -9.0);
    window.harness.hover_at(corner);
    window.settle();
    assert!(
        window.shows("sequence 3: query 2 sat, key 1 cat") && window.shows("Lengths: queries 2"),
        "{:?}",
        window.harness
    );
    window.harness.hover_at(area.left_bottom() + eframe::egui::vec2(129.0, -129.0));
    window.settle();
    assert!(!window.shows("sequence 3: query"), "between them is none");
}

#[test]
fn what_needs_whole_rows_or_the_model_says_so() {
    let folder = folder();
    let window = opened(&folder);
    let document = window.app().session().document();
    let reason = |view: ViewKind| document.view_unavailable(view, StackKind::SelfAttention);
    assert!(reason(ViewKind::Heatmap).unwrap().contains("strongest weights"));
    assert!(reason(ViewKind::OF_ANSWERS).unwrap().contains("do not sum to 1"));
    assert!(reason(ViewKind::Why).unwrap().contains("needs a run of the model"));
    for view in [ViewKind::Atlas, ViewKind::HeadPage] {
        assert_eq!(reason(view), None);
    }
    let figure = window.app().session().figure().unwrap();
    let refused = figure.preview([300.0, 200.0]).unwrap_err().to_string();
    assert!(refused.contains("a folder of heads is neither"), "{refused}");
}

#[test]
fn a_folder_that_cannot_be_shown_leaves_what_is_there() {
    let folder = folder();
    fs::write(folder.path().join(name::UNFINISHED), "").unwrap();
    let options = OpenOptions {
        model: Some("demo:gpt".to_owned()),
        text: Some("once upon a time".to_owned()),
        ..OpenOptions::default()
    };
    let mut window = Window::open(options);
    window.app().request(Command::OpenPaths(vec![folder.path().to_owned()]));
    window.until("the reason", |window| window.shows("it is not whole"));
    let session = window.app().session();
    assert!(session.document().folder().is_none() && session.document().latest_capture().is_some());
}
