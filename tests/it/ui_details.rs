//! The details beside a view: what they say of a head, a method, an input.

use attnscope::session::{Command, SelectionCommand, ViewKind};
use eframe::egui::{Key, Modifiers, accesskit::Role};
use egui_kittest::kittest::{NodeT as _, Queryable as _};

use crate::support::window::{Window, with_text};

/// Kinds that this input does not define take no line.
#[test]
fn undefined_kinds_of_heads_are_not_drawn() {
    let window = Window::open(with_text("one two three"));
    assert!(window.shows("Heads by kind, in this input") && !window.shows("Not defined here"));
}

/// The numbers of a head stand with their places among all heads of the model, where they differ.
#[test]
fn numbers_of_a_head_have_their_ranks() {
    let mut window = Window::open(with_text("one two three four five six"));
    window.until("the ranks", |window| window.shows(" of 4"));
    let all = window.harness.query_all_by_label_contains(" · 1st of ").count();
    assert!(all <= 7, "{all} numbers");
    let app = window.app();
    let capture = app.session().document().latest_capture().unwrap();
    let stack = capture.model().stack(window.head().stack).unwrap();
    let n: usize = stack.layers.iter().map(|layer| layer.n_heads).sum();
    assert!(window.shows(&format!(" of {n}")));
}

/// The first heading of the details begins where the panel does, whichever it is.
#[test]
fn details_begin_at_their_upper_edge() {
    let mut window = Window::open(with_text("one two three four five six"));
    let head = window.harness.get_by_label("L0H0").rect().top();
    window.show(ViewKind::Lab);
    let selection = window.harness.get_by_label("Selection").rect().top();
    assert!((selection - head).abs() < 8.0, "{selection} and {head}");
}

/// What the methods that are shown compute, with formula and source.
#[test]
fn explain_says_how_its_methods_compute() {
    let mut window = Window::open(with_text("one two three four five six"));
    window.show(ViewKind::Lab);
    let page = attnscope::lab::MethodPreset::from_name("norms").unwrap();
    assert!(!window.shows("Norm-based attention times"));
    window.app().request(Command::ShowMethod(page.name));
    window.settle();
    assert!(window.shows("mixing ratio = ") && window.shows("Kobayashi et al. 2020, 2021"));
}

/// An option is found by its name, and is ready to be changed where it stands.
#[test]
fn options_are_found_by_their_names() {
    let mut window = Window::open(with_text("one two three four five six"));
    window.app().request(Command::UnfoldOptions(false));
    window.app().request(Command::Select(SelectionCommand::ShowView(ViewKind::Heads)));
    window.settle();
    window.press(Modifiers::COMMAND, Key::K);
    window.harness.get_by_label("Go to anything").type_text("same scale in every pane");
    window.settle();
    let row = window.harness.query_all_by_role(Role::ListBoxOption).next().unwrap();
    assert!(row.accesskit_node().label().unwrap().starts_with("Same scale in every pane: "));
    window.press(Modifiers::NONE, Key::Enter);
    window.settle();
    assert_ne!(window.app().session().pane().view, ViewKind::Heads);
    assert!(window.app().session().settings.options_unfolded);
    assert!(window.harness.get_by_label("Same scale in every pane").is_focused());
}
