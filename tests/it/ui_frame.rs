//! The frame that every pane has: its question above the view, and the row of its scale below.

use attnscope::{
    cli::open::OpenOptions,
    session::{Command, Focus, PaneCommand, SelectionCommand, Split, ViewKind},
};
use eframe::egui::{accesskit::Role, vec2};
use egui_kittest::{
    Harness,
    kittest::{NodeT as _, Queryable as _},
};

use crate::{
    support::{
        synthetic,
        window::{Window, with_text},
    },
    views::{Stage, sentence},
};

fn window(view: ViewKind) -> Window {
    Window::open(OpenOptions { view: Some(view), ..with_text("one two three") })
}

fn does(window: &mut Window, command: Command) {
    window.app().request(command);
    window.settle();
}

#[test]
fn the_question_names_what_is_held_and_not_what_is_under_the_pointer() {
    let mut window = window(ViewKind::Heatmap);
    assert_eq!(window.questions(), ["What does each token look at in L0H0?"]);
    does(&mut window, Command::InPane(PaneCommand::Hover(Focus::query(1))));
    assert_eq!(window.questions(), ["What does each token look at in L0H0?"]);
    for (focus, question) in [
        (Focus::query(1), "What does “two” look at in L0H0?"),
        (Focus::cell(2, 1), "How much does “three” look at “two” in L0H0?"),
        (Focus { query: None, key: Some(0) }, "What looks at “one” in L0H0?"),
    ] {
        does(&mut window, Command::Select(SelectionCommand::Pin(focus)));
        assert_eq!(window.questions(), [question]);
    }
    window.harness.get_by_label("Let go of what is pinned").click();
    window.settle();
    assert_eq!(window.questions(), ["What does each token look at in L0H0?"]);
}

#[test]
fn every_view_has_a_question_and_a_caveat() {
    for view in ViewKind::ALL.into_iter().filter(|view| !view.facts().lies_on_picture) {
        let window = window(view);
        let questions = window.questions();
        assert!(questions.len() == 1 && questions[0].ends_with('?'), "{view:?}: {questions:?}");
        assert_eq!(window.harness.query_all_by_label_contains("⚠ ").count(), 1, "{view:?}");
    }
}

#[test]
fn panes_beside_each_other_have_a_question_each() {
    let mut window = window(ViewKind::Heatmap);
    does(&mut window, Command::SplitPane(Split::Right));
    does(&mut window, Command::Select(SelectionCommand::ShowView(ViewKind::Grid)));
    let questions = window.questions();
    assert!(questions.len() == 2 && questions[1].starts_with("Which of "), "{questions:?}");
}

#[test]
fn colours_have_their_scale_in_the_row_below_the_view() {
    let picture = || synthetic::image_capture((4, 4));
    for (view, capture, scales) in [
        (ViewKind::Heads, sentence(), vec!["Strength of the line"]),
        (ViewKind::Heatmap, sentence(), vec!["Colours from"]),
        (ViewKind::Grid, sentence(), vec!["Colours from"]),
        (ViewKind::Average, sentence(), vec!["Colours from"]),
        (ViewKind::Distance, sentence(), vec!["Scaled: correlation", "Norms"]),
        (ViewKind::Image, picture(), vec!["Colours from"]),
    ] {
        let mut stage = Stage::new(capture, view).show(vec2(900.0, 600.0));
        for _ in 0..4 {
            stage.run();
        }
        for name in scales {
            let scale = stage.get_by_label_contains(name).rect();
            assert!(scale.top() > 592.0 - 28.0 && (60.0..=160.0).contains(&scale.width()), "{view:?}: {scale:?}");
        }
    }
}

/// The heads of a layer are chosen in one way at a time: by a number each, by a picture each, or step by step.
#[test]
fn a_pane_has_one_way_to_choose_a_head() {
    let n_of = |stage: &Harness<'static, Stage>, role, label: &str| {
        stage.query_all_by_role(role).filter(|node| node.accesskit_node().label().as_deref() == Some(label)).count()
    };
    for (size, ways) in [
        (vec2(640.0, 600.0), [0, 1, 0]), // pictures below the row
        (vec2(640.0, 380.0), [1, 0, 0]),
        (vec2(384.0, 380.0), [0, 0, 1]),
    ] {
        let mut stage = Stage::new(sentence(), ViewKind::Heatmap).show(size);
        for _ in 0..6 {
            stage.run();
        }
        let found = [
            n_of(&stage, Role::Button, "Head 1"),
            n_of(&stage, Role::RadioButton, "Head 1"),
            n_of(&stage, Role::Button, "Next head"),
        ];
        assert_eq!(found, ways, "{size:?}");
        assert_eq!(n_of(&stage, Role::Button, "Heads of all layers"), 1, "{size:?}");
    }
}

#[test]
fn choosers_stand_in_one_row_of_a_narrow_pane() {
    for view in [ViewKind::Heads, ViewKind::Heatmap, ViewKind::Scatter, ViewKind::Lab] {
        let options = OpenOptions { view: Some(view), ..with_text("one two three") };
        let window = Window::with_size(options, [384.0, 560.0]);
        let parts =
            [(Role::ComboBox, "Layer"), (Role::Button, "Heads of all layers"), (Role::Button, "Show weights as")];
        let row = parts.map(|(role, label)| window.harness.get_by_role_and_label(role, label).rect());
        for rect in row {
            assert!((rect.center().y - row[0].center().y).abs() < 2.0, "{view:?}: {row:?}");
            assert!(rect.right() <= 384.0 - 12.0, "{view:?}: {row:?}");
        }
    }
}
