//! Numbers that are typed in the window: what they come to at every change, steps back, sessions, heads taken in.

use std::path::Path;

use attnscope::{
    analysis::by_hand::Numbers,
    capture::Capture,
    ids::{CaptureId, HeadId},
    session::{Command, NumbersCommand, ViewKind, saved::Saved},
    ui::commands::UiCommand,
};
use eframe::egui::{Key, Modifiers, accesskit::Role};
use egui_kittest::kittest::Queryable as _;

use crate::{
    lab::fixture,
    support::{
        play::Play,
        window::{Window, with_text},
    },
};

const HEAD: HeadId = HeadId::single(0, 0);

fn weights(capture: &Capture) -> Vec<f32> {
    capture.stored_pattern(HEAD).unwrap().as_slice().to_vec()
}

fn shown(window: &Window) -> Vec<f32> {
    weights(window.harness.state().session().document().latest_capture().unwrap())
}

fn types(window: &mut Window, name: &str, text: &str) {
    let role = if name == "Normaliser" { Role::TextInput } else { Role::MultilineTextInput };
    window.harness.get_by_role_and_label(role, name).focus();
    window.settle();
    window.press(Modifiers::COMMAND, Key::A);
    window.harness.get_by_role_and_label(role, name).type_text(text);
    window.settle();
}

#[test]
fn what_is_typed_is_computed_at_once_and_what_cannot_be_is_said() {
    let mut window = Window::open(with_text("one two three"));
    window.app().request(UiCommand::Numbers.command().unwrap());
    window.settle();
    let first = shown(&window);
    assert!((first[1] - 0.4683).abs() < 1e-3, "the slide's example: {first:?}");
    types(&mut window, "x", "1 0 1 0\n0 2 0 2\n0 0 0 0");
    let typed = shown(&window);
    assert!((typed[8] - 1.0 / 3.0).abs() < 1e-5, "a query of zeros weighs all keys alike: {typed:?}");
    types(&mut window, "x", "1 0 1 0\n0 2 oops 2\n0 0 0 0");
    assert!(window.shows("“oops” is no number"));
    assert_eq!(shown(&window), typed, "what was shown stays");
    types(&mut window, "x", "1 0 1 0\n0 2 0\n0 0 0 0");
    assert!(window.shows("Row 2 of x has 3 numbers and the first has 4"));
    window.app().request(Command::Undo);
    window.settle();
    assert_eq!(shown(&window), first);
    assert!(!window.shows("Row 2 of x"), "the fields hold the numbers that are shown");
    window.app().request(Command::Redo);
    window.settle();
    assert_eq!(shown(&window), typed);
    window.click("Back to demo:gpt");
    assert!(window.harness.state().session().document().numbers().is_none());
}

#[test]
fn scorer_and_normaliser_are_chosen_and_inputs_become_queries_keys_and_values() {
    let mut window = Window::open(with_text("one two three"));
    window.app().request(UiCommand::Numbers.command().unwrap());
    window.settle();
    let first = shown(&window);
    window.click("As q, k, v");
    assert_eq!(shown(&window), first, "the same attention by other numbers");
    assert!(window.harness.query_by_label("x").is_none() && window.harness.query_by_label("q").is_some());
    types(&mut window, "Normaliser", "sparsemax");
    assert!(shown(&window).contains(&0.0), "{:?}", shown(&window));
    window.click("Causal mask");
    assert_eq!(shown(&window)[1..3], [0.0, 0.0]);
}

#[test]
fn numbers_are_kept_in_sessions_with_the_view_that_shows_them() {
    let mut play = Play::showing("one two three");
    let mut numbers = Numbers::example(0).unwrap();
    numbers.causal = true;
    play.does(Command::Numbers(NumbersCommand::Change(Box::new(numbers.clone()))));
    let expected = weights(play.session.document().latest_capture().unwrap());
    let mut anew = Play::new();
    let saved = Saved::from_json(play.session.saved().to_json(), Path::new("/")).unwrap();
    let effects = anew.session.reopen(saved);
    anew.sort(effects);
    assert_eq!(**anew.session.document().numbers().unwrap(), numbers);
    assert_eq!(weights(anew.session.document().latest_capture().unwrap()), expected);
    anew.does(Command::Numbers(NumbersCommand::Example(1)));
    assert_ne!(**anew.session.document().numbers().unwrap(), numbers);
    anew.does(Command::Undo);
    assert_eq!(**anew.session.document().numbers().unwrap(), numbers);
    assert!(anew.session.pane().view_unavailable(anew.session.document(), ViewKind::Why).is_none());
}

#[test]
fn a_head_taken_in_has_its_own_weights_and_one_that_is_more_than_numbers_says_why() {
    for folder in ["gpt2", "bert", "families/llama"] {
        let (model, encoded) = fixture(folder);
        let plan =
            attnscope::model::RunPlan { sites: attnscope::model::Sites::all(), ..attnscope::model::RunPlan::default() };
        let capture = model.forward(&encoded, &plan, &attnscope::model::uninterrupted).unwrap();
        let head = HeadId::single(1, 1);
        let by_hand = Numbers::of_head(&capture, head).unwrap().capture("head", CaptureId(1)).unwrap();
        let (own, found) = (capture.stored_pattern(head).unwrap(), by_hand.stored_pattern(HEAD).unwrap());
        let n = found.n_rows();
        if n < own.n_rows() && !capture.model().stacks[0].causal {
            continue;
        }
        for (query, row) in found.rows().enumerate() {
            let expected = &own.row(query).unwrap()[..n];
            assert!(row.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6), "{folder}: {row:?} {expected:?}");
        }
    }
    let (model, encoded) = fixture("families/bloom");
    let plan = attnscope::model::RunPlan::default();
    let capture = model.forward(&encoded, &plan, &attnscope::model::uninterrupted).unwrap();
    let why = Numbers::of_head(&capture, HEAD).unwrap_err().to_string();
    assert!(why.contains("a bias by position is added to its scores"), "{why}");
}
