//! What a model reads and writes, in the window: pairs, targets, continuations, pictures with texts.

use attnscope::{
    analysis::search::SearchKind,
    cli::open::OpenOptions,
    ids::StackKind,
    model::{Input, TokenChoice},
    protocol::{EventKind, Request, RunAnswer},
    session::ViewKind,
};
use eframe::egui::{Event, Key, Modifiers, accesskit::Role};
use egui_kittest::kittest::Queryable as _;

use crate::support::{
    stacks,
    window::{Window, with_text},
};

#[test]
fn a_second_sentence_makes_a_pair() {
    let mut window = Window::open(with_text("one two three"));
    window.click("Add second sentence");
    // Whoever asks for the field goes on to type.
    window.harness.event(Event::Text("four".to_owned()));
    window.settle();
    let script = window.jobs.0.borrow();
    let Some((_, Request::Run { input: Input::Text(input), .. })) = script.submitted.last() else { panic!("no run") };
    assert_eq!(input.text_b.as_deref(), Some("four"));
}

fn with_model(name: &str) -> OpenOptions {
    OpenOptions { model: Some(name.to_owned()), ..with_text("one two three") }
}

#[test]
fn a_translator_of_several_languages_asks_for_one() {
    let mut window = Window::open(with_model("demo:translate"));
    let text = |window: &Window| window.app().session().document().experiment.text.clone();
    assert!(window.shows("The text must begin with the target language"));
    window.click(">>fra<<");
    assert_eq!(text(&window), ">>fra<< one two three");
    assert!(!window.shows("The text must begin with the target language"));
    window.click(">>deu<<");
    assert_eq!(text(&window), ">>deu<< one two three");
}

#[test]
fn a_target_is_typed_and_taken_back() {
    let mut window = Window::open(with_model("demo:t5"));
    let last_run = |window: &Window| {
        let script = window.jobs.0.borrow();
        let run = script.submitted.iter().rev().find_map(|(_, request)| match request {
            Request::Run { input, generation, .. } => Some((input.clone(), generation.clone())),
            _ => None,
        });
        run.unwrap()
    };
    let (_, generation) = last_run(&window);
    assert!(generation.is_some(), "without a target the model writes");
    let target = || (Role::MultilineTextInput, "Target");
    window.harness.get_by_role_and_label(target().0, target().1).focus();
    window.harness.step();
    window.harness.get_by_role_and_label(target().0, target().1).type_text("eins zwei");
    window.settle();
    let (Input::Pair { target: forced, .. }, None) = last_run(&window) else { panic!("no target") };
    assert!(matches!(*forced, Input::Text(ref text) if text.text == "eins zwei"));
    assert!(window.harness.query_by_label("Most tokens to write").is_none(), "nothing is left to write");
    for _ in 0..3 {
        window.press(Modifiers::COMMAND, Key::Z);
    }
    assert_eq!(window.app().session().document().experiment.target, "");
    assert!(matches!(last_run(&window), (Input::Text(_), Some(_))));
    assert!(window.harness.query_by_label("Most tokens to write").is_some());
}

#[test]
fn what_the_model_wrote_is_shown_with_its_probabilities_and_picked() {
    let mut window = Window::open(with_model("demo:t5"));
    assert!(window.shows("Written by the model, 6 tokens"));
    window.press(Modifiers::NONE, Key::S);
    assert_eq!(window.head().stack, StackKind::Encoder);
    window.click("Written 3 Katze, probability 88 %");
    assert_eq!(window.head().stack, StackKind::Cross, "the encoder has no such token");
    assert_eq!(window.app().session().pane().selection.pinned.query, Some(3));
    window.press(Modifiers::SHIFT, Key::ArrowRight);
    assert_eq!(window.app().session().pane().selection.pinned.query, Some(4));
    assert_eq!(window.head().head, 0, "Shift and an arrow steps tokens, not heads");
}

#[test]
fn a_text_model_continues_and_says_how() {
    let mut window = Window::open(with_text("one two three"));
    window.harness.get_by_label("How tokens are chosen").click();
    window.settle();
    window.click("sampled");
    assert!(window.harness.query_by_role_and_label(Role::SpinButton, "Temperature").is_some());
    window.click("Continue");
    {
        let script = window.jobs.0.borrow();
        let Some((_, Request::Run { input: Input::Text(_), generation: Some(generation), .. })) =
            script.submitted.last()
        else {
            panic!("no run")
        };
        assert!(matches!(generation.choice, TokenChoice::Sample { .. }));
    }
    assert!(window.app().session().settings.writing.sampled, "remembered");
}

#[test]
fn two_towers_take_a_picture_and_a_text() {
    let window = Window::open(with_model("demo:clip"));
    assert!(window.shows("Choose picture…"));
    assert!(window.harness.query_by_role_and_label(Role::MultilineTextInput, "Text").is_some());
    assert!(window.harness.query_by_role_and_label(Role::MultilineTextInput, "Target").is_none());
    let script = window.jobs.0.borrow();
    let both = script
        .submitted
        .iter()
        .any(|(_, request)| matches!(request, Request::Run { input: Input::Pair { .. }, generation: None, .. }));
    assert!(both, "both are run");
}

#[test]
fn the_inspector_explains_windows_shared_keys_and_caps() {
    let mut window = Window::open(with_text("one two three"));
    for (capture, sentences) in [
        (stacks::window_capture(9, 4), ["Window 4: sees at most itself and the 3 tokens before", "soft-capped at ±50"]),
        (stacks::translation_capture(), ["A position bias is added to the scores", "Stack Cross"]),
    ] {
        window.jobs.answer(false);
        window.press(Modifiers::COMMAND, Key::Enter);
        window.jobs.say(EventKind::Run(RunAnswer::Captured(std::sync::Arc::new(capture))));
        window.settle();
        let mut seen = [false; 2];
        for _ in 0..3 {
            for (seen, sentence) in seen.iter_mut().zip(sentences) {
                *seen |= window.shows(sentence);
            }
            window.press(Modifiers::NONE, Key::ArrowDown);
            window.press(Modifiers::NONE, Key::S);
        }
        assert_eq!(seen, [true; 2], "{sentences:?}");
    }
}

/// In the views of joint spaces the key for a search goes to theirs.
#[test]
fn a_search_in_joint_spaces_counts_hits_and_leads_to_heads() {
    let mut window = Window::open(with_text("one two three two one"));
    window.show(ViewKind::Scatter);
    window.press(Modifiers::NONE, Key::Slash);
    let field = || (Role::TextInput, "Search in query–key maps");
    assert!(window.harness.get_by_role_and_label(field().0, field().1).is_focused());
    window.harness.get_by_role_and_label(field().0, field().1).type_text("two");
    window.settle();
    assert!(window.shows("2 tokens") && window.shows("Heads where these tokens cluster"));
    let search = window.app().session().pane().search.clone();
    assert_eq!((search.text.as_str(), search.kind), ("two", SearchKind::Text));
    let session = window.app().session();
    let ranked = &session.pane().found(session.document()).unwrap().ranked;
    let other = ranked.iter().map(|ranked| ranked.head).find(|head| *head != window.head()).unwrap();
    window.click(&format!("{other}: hits cluster"));
    assert_eq!(window.head(), other);
    window.harness.get_by_label("Kind of search").click();
    window.settle();
    window.click("Whole word");
    assert_eq!(window.app().session().pane().search.kind, SearchKind::Word);
    assert!(window.shows("2 tokens"));
    window.click("Upper and lower case differ");
    assert!(window.app().session().pane().search.case);
}
