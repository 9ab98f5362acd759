//! Models with several stacks in a session, and models that write.

use attnscope::{
    ids::{HeadId, StackKind},
    model::{Input, TokenChoice},
    protocol::{EventKind, LoadAnswer, Request, RunAnswer},
    session::{Command, Focus, QueryStep, SelectionCommand, ViewKind, WritingOptions},
};

use crate::support::{
    play::{Play, bundled},
    scripted::model,
    stacks,
};

/// A session that shows a capture of a model with several stacks.
fn showing_stacks(capture: attnscope::capture::Capture) -> Play {
    let mut play = Play::showing("one two three");
    play.does(Command::Run);
    play.hears(play.last_job(), EventKind::Run(RunAnswer::Captured(std::sync::Arc::new(capture))));
    play.asked.clear();
    play
}

#[test]
fn another_stack_keeps_what_means_the_same_there() {
    let mut play = showing_stacks(stacks::translation_capture());
    assert_eq!(play.session.pane().selection.stack(), StackKind::Cross, "what only such a model has is shown first");
    play.does(Command::Select(SelectionCommand::Head(HeadId { stack: StackKind::Decoder, layer: 2, head: 3 })));
    play.does(Command::Select(SelectionCommand::Pin(Focus::cell(4, 2))));
    play.does(Command::Select(SelectionCommand::Stack(StackKind::Cross)));
    let selection = &play.session.pane().selection;
    assert_eq!(selection.head, HeadId { stack: StackKind::Cross, layer: 1, head: 3 }, "cross has two layers");
    assert_eq!(selection.pinned, Focus::query(4), "the decoder still asks, but other tokens answer");
    play.does(Command::Select(SelectionCommand::Stack(StackKind::Encoder)));
    assert!(play.session.pane().selection.pinned.is_empty(), "neither side is the same");
    for expected in [StackKind::Decoder, StackKind::Cross, StackKind::Encoder] {
        play.does(Command::Select(SelectionCommand::NextStack));
        assert_eq!(play.session.pane().selection.stack(), expected);
    }
    for _ in 0..4 {
        play.does(Command::Back);
    }
    assert_eq!(play.session.pane().selection.stack(), StackKind::Cross);
    assert_eq!(play.session.pane().selection.pinned, Focus::query(4), "back brings the query with the stack");
}

#[test]
fn the_picture_is_shown_for_the_stacks_that_look_at_it() {
    let mut play = showing_stacks(stacks::caption_capture((4, 5)));
    assert_eq!((play.session.pane().view, play.session.pane().selection.stack()), (ViewKind::Image, StackKind::Cross));
    play.does(Command::Select(SelectionCommand::Stack(StackKind::Encoder)));
    assert_eq!(play.session.pane().view, ViewKind::Image);
    play.does(Command::Select(SelectionCommand::Stack(StackKind::Decoder)));
    assert_eq!(play.session.pane().view, ViewKind::Heads);
    assert!(play.session.pane().view_unavailable(play.session.document(), ViewKind::Image).unwrap().contains("cross"));
    let mut play = showing_stacks(stacks::two_tower_capture((4, 4)));
    assert_eq!((play.session.pane().view, play.session.pane().selection.stack()), (ViewKind::Image, StackKind::Vision));
    play.does(Command::Select(SelectionCommand::Stack(StackKind::Text)));
    assert_eq!(play.session.pane().view, ViewKind::Heads);
}

/// Words and patches are the same tokens in the towers and behind them.
#[test]
fn two_streams_open_with_words_that_look_at_the_picture() {
    let mut play = showing_stacks(stacks::two_stream_capture((4, 4)));
    let place = |play: &Play| (play.session.pane().view, play.session.pane().selection.stack());
    assert_eq!(place(&play), (ViewKind::Image, StackKind::TextToVision));
    play.does(Command::Select(SelectionCommand::Pin(Focus::cell(2, 5))));
    for (stack, view, pinned) in [
        (StackKind::CrossModalVision, ViewKind::Image, Focus::key(5)),
        (StackKind::VisionToText, ViewKind::Image, Focus::NONE),
        (StackKind::CrossModalText, ViewKind::Heads, Focus::NONE),
    ] {
        play.does(Command::Select(SelectionCommand::Stack(stack)));
        assert_eq!((place(&play), play.session.pane().selection.pinned), ((view, stack), pinned));
    }
}

#[test]
fn steps_go_through_what_the_model_wrote() {
    let mut play = showing_stacks(stacks::caption_capture((4, 5)));
    for expected in [1, 2, 3] {
        play.does(Command::Select(SelectionCommand::StepQuery(QueryStep::Next)));
        assert_eq!(play.session.pane().selection.pinned, Focus::query(expected));
    }
    play.does(Command::Select(SelectionCommand::StepQuery(QueryStep::Previous)));
    assert_eq!(play.session.pane().selection.pinned, Focus::query(2));
    play.does(Command::Select(SelectionCommand::Release));
    play.does(Command::Select(SelectionCommand::StepQuery(QueryStep::Previous)));
    assert_eq!(play.session.pane().selection.pinned, Focus::query(6), "without one, from the end");
}

#[test]
fn a_text_model_writes_on_only_when_asked() {
    let mut play = Play::showing("one two three");
    play.does(Command::Run);
    assert!(matches!(play.asked[0].1, Request::Run { generation: None, .. }));
    play.asked.clear();
    let writing = WritingOptions { max_tokens: 9, sampled: true, top_p: f64::NAN, ..WritingOptions::default() };
    play.does(Command::SetWriting(writing));
    play.does(Command::Continue);
    let Some((_, Request::Run { input: Input::Text(_), generation: Some(generation), .. })) = play.asked.last() else {
        panic!("no run")
    };
    assert_eq!(generation.max_new_tokens, 9);
    let TokenChoice::Sample { temperature, top_p, seed } = generation.choice else { panic!("greedy") };
    assert_eq!((temperature, top_p, seed), (1.0, 1.0, 0), "nonsense of a settings file is not passed on");
}

#[test]
fn a_target_is_forced_and_a_blank_one_is_written() {
    let mut play = Play::new();
    play.does(Command::SetText("one two".to_owned()));
    play.does(Command::OpenModel(bundled("demo:t5")));
    let loaded = EventKind::Load(LoadAnswer::Loaded(model(&bundled("demo:t5"))));
    play.hears(play.last_job(), loaded);
    let (_, request) = play.asked.last().unwrap();
    assert!(matches!(request, Request::Run { input: Input::Text(_), generation: Some(_), .. }), "{request:?}");
    play.does(Command::SetTarget("eins zwei".to_owned()));
    play.does(Command::Run);
    let (_, request) = play.asked.last().unwrap();
    assert!(matches!(request, Request::Run { input: Input::Pair { .. }, generation: None, .. }), "{request:?}");
}
