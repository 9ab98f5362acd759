//! Texts of more tokens than the model takes: refused with both numbers, read in part by choice, and that said.

use attnscope::{
    capture::{Excerpt, Keep},
    model::{self, Preparation, TextInput},
    protocol::{EventKind, LoadAnswer, ModelSource, RunAnswer},
    session::{Command, SessionCommand},
    worker::ModelEngine,
};
use eframe::egui::{Event, Key, Modifiers, accesskit::Role};
use egui_kittest::kittest::Queryable as _;

use crate::{
    support::window::{Window, with_text},
    worker::{load_from, run_on},
    worker_models::Session,
};

const REFUSAL: &str = "The text has 6 tokens, but the model reads at most 4";
const READ: &str = "The text has 6 tokens; only the last 4 were read";

fn tokens(window: &Window) -> Vec<String> {
    let capture = window.app().session().document().latest_capture().unwrap();
    capture.tokens(attnscope::ids::Side::Only).iter().map(|token| token.text.clone()).collect()
}

fn focus_text(window: &mut Window) {
    window.harness.get_by_role_and_label(Role::MultilineTextInput, "Text").focus();
    window.harness.step();
}

#[test]
fn a_text_that_is_too_long_waits_for_a_choice_that_can_be_taken_back() {
    let mut window = Window::open(with_text("one two three"));
    window.jobs.0.borrow_mut().most_words = Some(4);
    focus_text(&mut window);
    window.harness.get_by_role_and_label(Role::MultilineTextInput, "Text").type_text(" four five six");
    window.settle();
    assert!(window.shows(REFUSAL) && window.shows("Shows “demo:gpt · one two three”: the run after it failed"));
    assert_eq!(tokens(&window), ["one", "two", "three"], "nothing was cut");
    assert!(window.app().session().notices.iter().all(|notice| notice.text.summary != REFUSAL), "it is said once");

    window.click("Use the last 4 tokens");
    assert_eq!(tokens(&window), ["three", "four", "five", "six"]);
    assert!(!window.shows(REFUSAL));
    assert!(window.harness.query_all_by_label(READ).count() >= 2, "beside the text and above the view");
    let session = window.app().session();
    let excerpt = Some(Excerpt::of(Keep::Last, 4));
    assert_eq!(session.saved().documents[0].excerpt, excerpt, "sessions keep it");
    let (address, left_out) = session.address(session.pane()).unwrap();
    assert!(address.to_string().contains("&max_tokens=4&keep=last&"), "{address}");
    assert_eq!(left_out, None);

    window.click("Use the first 4");
    assert_eq!(tokens(&window), ["one", "two", "three", "four"]);
    for _ in 0..2 {
        window.press(Modifiers::COMMAND, Key::Z);
    }
    assert!(window.shows(REFUSAL), "before the choice");
    window.press(Modifiers::COMMAND | Modifiers::SHIFT, Key::Z);
    assert_eq!(tokens(&window), ["three", "four", "five", "six"]);
    window.click("Undo the cut");
    assert!(window.shows(REFUSAL));

    // Going to the address does the same elsewhere.
    let mut other = Window::open(with_text("something else"));
    other.jobs.0.borrow_mut().most_words = Some(4);
    other.app().request(Command::Session(SessionCommand::GoTo(Box::new(address))));
    other.settle();
    assert_eq!(tokens(&other), ["three", "four", "five", "six"]);
    assert!(other.shows(READ));
}

#[test]
fn a_choice_for_a_longer_model_is_asked_for_again() {
    let mut window = Window::open(with_text("one two three four five six"));
    window.jobs.0.borrow_mut().most_words = Some(4);
    window.app().request(Command::SetExcerpt(Some(Excerpt::of(Keep::First, 5))));
    window.settle();
    assert!(window.shows(REFUSAL), "five were chosen, four would be something else");
    window.click("Use the first 4 tokens");
    window.app().request(Command::OpenText("seven eight nine ten eleven twelve".to_owned()));
    window.settle();
    assert!(window.shows(REFUSAL), "the choice was made for another text");
}

/// The field would lay all of it out within the frame in which it is pasted.
#[test]
fn a_huge_text_that_is_pasted_never_reaches_the_field() {
    let mut window = Window::open(with_text("one two three"));
    window.jobs.0.borrow_mut().most_words = Some(10);
    focus_text(&mut window);
    window.press(Modifiers::COMMAND, Key::End);
    window.harness.event(Event::Paste(" word".repeat(1_000_000)));
    window.harness.step();
    let text = &window.app().session().document().experiment.text;
    assert_eq!((&text[..23], text.len()), ("one two three word word", 13 + 5_000_000));
    window.settle();
    assert!(window.shows("Text: 5.0 MB, too long to edit here"));
    assert!(window.harness.query_by_role_and_label(Role::MultilineTextInput, "Text").is_none());
    window.click("Clear");
    assert_eq!(window.app().session().document().experiment.text, "");
    assert!(window.harness.query_by_role_and_label(Role::MultilineTextInput, "Text").is_some());
    assert!(!window.shows("Use the first"), "nothing is too long any more");
}

/// The whole way through a real model, for one token too many and for a million.
#[test]
fn a_model_says_how_many_tokens_a_text_has_and_how_many_it_reads() {
    let mut session = Session::new();
    let name = ModelSource::Bundled("demo:gpt".to_owned());
    assert!(matches!(session.ask(load_from(name)).0, EventKind::Load(LoadAnswer::Loaded(_))));
    let n_ctx = 256;
    let run = |session: &mut Session, text: &str, excerpt| {
        let text = TextInput { text: text.to_owned(), how: Preparation::reading(excerpt), ..TextInput::default() };
        session.ask(run_on(attnscope::ids::ModelId(1), attnscope::model::Input::Text(text))).0
    };
    let fits = " the".repeat(n_ctx);
    assert!(matches!(run(&mut session, &fits, None), EventKind::Run(RunAnswer::Captured(_))));
    for (text, said) in [
        (fits + " the", "The text has 257 tokens, but the model reads at most 256"),
        (" the".repeat(1_000_000), "The text has about 1,000,000 tokens, but the model reads at most 256"),
    ] {
        let EventKind::Run(RunAnswer::TooLong(too_long)) = run(&mut session, &text, None) else { panic!("it was run") };
        assert!(too_long.failure.summary.starts_with(said), "{too_long:?}");
        assert_eq!(too_long.n_fit, n_ctx);
        let excerpt = Some(Excerpt::of(Keep::Last, n_ctx));
        let EventKind::Run(RunAnswer::Captured(capture)) = run(&mut session, &text, excerpt) else {
            panic!("it was not run")
        };
        let part = capture.input().part.unwrap();
        assert_eq!((part.n_read, part.keep, part.of.n > n_ctx), (n_ctx, Keep::Last, true));
        let last = capture.tokens(attnscope::ids::Side::Only).last().unwrap();
        assert_eq!(last.span.end, text.len(), "positions are those of the whole text");
    }
}

/// What there is no memory for is an offer like what the model cannot read, and so much of it can then be run.
#[test]
fn a_text_for_which_there_is_no_memory_is_offered_in_part() {
    let little = model::Engine::cpu(Some(1)).unwrap().with_run_memory(2_000_000);
    let mut session = Session::with(ModelEngine::with_engine(little));
    let name = ModelSource::Bundled("demo:gpt".to_owned());
    assert!(matches!(session.ask(load_from(name)).0, EventKind::Load(LoadAnswer::Loaded(_))));
    let mut run = |excerpt| {
        let text = TextInput { text: " the".repeat(256), how: Preparation::reading(excerpt), ..TextInput::default() };
        session.ask(run_on(attnscope::ids::ModelId(1), attnscope::model::Input::Text(text))).0
    };
    let EventKind::Run(RunAnswer::TooLong(too_long)) = run(None) else { panic!("it was run") };
    assert!(too_long.failure.summary.contains("2.0 MB are free"), "{too_long:?}");
    assert!((8..250).contains(&too_long.n_fit), "{too_long:?}");
    let EventKind::Run(RunAnswer::Captured(capture)) = run(Some(Excerpt::of(Keep::First, too_long.n_fit))) else {
        panic!("refused")
    };
    assert_eq!(capture.tokens(attnscope::ids::Side::Only).len(), too_long.n_fit);
    let more = run(Some(Excerpt::of(Keep::First, too_long.n_fit + 1)));
    assert!(matches!(more, EventKind::Run(RunAnswer::TooLong(_))), "one more has no room: {more:?}");
}
