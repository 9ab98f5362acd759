//! Comparing in the window: panes and differences, by role and label.

use attnscope::{
    cli::open::OpenOptions,
    ids::HeadId,
    protocol::ModelSource,
    session::{Command, ViewKind},
};
use eframe::egui::{Key, Modifiers, accesskit::Role};
use egui_kittest::kittest::{NodeT as _, Queryable as _};

use crate::support::window::{Window, with_text};

#[test]
fn a_difference_is_chosen_in_the_inspector_and_named_where_it_is_drawn() {
    let mut window = Window::open(OpenOptions { view: Some(ViewKind::Heatmap), ..with_text("one two three") });
    window.harness.get_by_label("Subtract").click();
    window.settle();
    window.harness.get_by_label("L0H2").click();
    window.settle();
    let minus = window.app().session().pane().minus.unwrap();
    assert_eq!(minus.head, HeadId::single(0, 2));
    window.harness.get_by_label_contains("L0H0 − L0H2");
    window.harness.get_by_label("Next head to subtract").click();
    window.settle();
    window.harness.get_by_label_contains("L0H0 − L0H3");
}

#[test]
fn two_panes_stand_side_by_side_and_the_clicked_one_is_active() {
    let mut window = Window::open(with_text("one two three"));
    window.press(Modifiers::COMMAND, Key::Backslash);
    window.settle();
    assert_eq!(window.harness.query_all_by_label("Close pane").count(), 2);
    window.show(ViewKind::Heatmap);
    let views = |window: &Window| -> Vec<_> { window.app().session().panes.iter().map(|pane| pane.view).collect() };
    assert_eq!(views(&window), [ViewKind::Heads, ViewKind::Heatmap]);
    window.harness.query_all_by_label("Close pane").next().unwrap().click();
    window.settle();
    assert_eq!(views(&window).len(), 1);
}

#[test]
fn panes_share_one_scale_of_colours_when_asked_to() {
    let options = OpenOptions { view: Some(ViewKind::Heatmap), ..with_text("one two three four five") };
    let mut window = Window::with_size(options, [1280.0, 1200.0]);
    window.press(Modifiers::COMMAND, Key::Backslash);
    window.harness.query_all_by_label("Linked: tokens, steps").nth(1).unwrap().click();
    window.settle();
    // The weakest head beside the strongest would do; these two have different largest weights off the first row.
    window.harness.get_by_label("Subtract").click();
    window.settle();
    window.harness.get_by_label("L0H2").click();
    window.settle();
    let bars = |window: &Window| -> Vec<String> {
        let bars = window.harness.query_all_by_label_contains("Colours from");
        bars.filter_map(|bar| bar.accesskit_node().label()).collect()
    };
    let high = |bar: &String| bar.rsplit(' ').next().unwrap().parse::<f32>().unwrap();
    let before = bars(&window);
    assert_eq!((before.len(), high(&before[0])), (2, 1.0), "{before:?}");
    assert!(high(&before[1]) < 1.0 && before[1].starts_with("Colours from -"), "{before:?}");
    window.harness.get_by_label("Same scale in every pane").click();
    window.settle();
    assert_eq!(bars(&window), before, "one pane alone shares with nobody");
    let patterns = window.harness.query_all_by_label_contains("Attention pattern");
    patterns.min_by(|a, b| a.rect().left().total_cmp(&b.rect().left())).unwrap().click();
    window.settle();
    window.settle();
    window.harness.get_by_label("Same scale in every pane").click();
    window.settle();
    assert_eq!(bars(&window), ["Colours from 0 to 1", "Colours from -1 to 1"]);
}

/// Opens another document beside the first; its pane is active.
fn another(window: &mut Window) {
    window.click("Split ⏷");
    window.harness.get_by_label_contains("Split with another input or model").click();
    window.settle();
    assert_eq!(window.app().session().documents.len(), 2);
}

/// Types over the text of the active document.
fn write(window: &mut Window, text: &str) {
    window.harness.get_by_role_and_label(Role::MultilineTextInput, "Text").focus();
    window.harness.step();
    window.press(Modifiers::COMMAND, Key::A);
    window.harness.get_by_role_and_label(Role::MultilineTextInput, "Text").type_text(text);
    window.settle();
    assert_eq!(window.app().session().document().experiment.text, text);
}

/// Subtracts what the other pane shows.
fn subtract_the_other(window: &mut Window) {
    window.harness.get_by_label("Subtract").click();
    window.settle();
    window.harness.get_by_label_contains("as in the other pane").click();
    window.settle();
}

#[test]
fn the_difference_of_two_inputs_is_drawn_where_their_words_meet() {
    let mut window = Window::open(OpenOptions { view: Some(ViewKind::Heatmap), ..with_text("one two three") });
    another(&mut window);
    write(&mut window, "zero two three");
    subtract_the_other(&mut window);
    let session = window.app().session();
    assert_eq!(session.pane().minus.unwrap().document, session.documents[0].id);
    assert!(window.shows("L0H0 − L0H0 of demo:gpt · one two three"));
    assert!(window.shows("Tokens of the two inputs are matched by their text"));
    // The same text again: nothing is left of the difference, and it is still one.
    write(&mut window, "one two three");
    assert!(window.shows("L0H0 − L0H0 of demo:gpt · one two three"));
}

#[test]
fn what_cannot_be_subtracted_says_why() {
    let mut window = Window::open(OpenOptions { view: Some(ViewKind::Heatmap), ..with_text("one two three") });
    another(&mut window);
    write(&mut window, "four five");
    subtract_the_other(&mut window);
    assert!(window.shows("The two texts have no queries in common, so there is nothing to subtract"));
    write(&mut window, "one five");
    assert!(!window.shows("there is nothing to subtract"), "they have a word in common");

    // A picture, which has no words.
    window.app().request(Command::OpenModel(ModelSource::Bundled("demo:vit".to_owned())));
    window.settle();
    assert!(window.shows("A text and a picture cannot be subtracted: the queries are words in one"));
    // Without its document there is nothing to subtract, and nothing is refused any more.
    let first = window.app().session().documents[0].id;
    assert_eq!(window.app().session().pane().minus.unwrap().document, first);
    window.harness.query_all_by_label("Close pane").next().unwrap().click();
    window.settle();
    assert_eq!(window.app().session().panes.len(), 1);
}
