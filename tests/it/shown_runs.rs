//! What is shown is of one head of one run, and says of which, whatever was asked for since.

use std::sync::Arc;

use attnscope::{
    ids::HeadId,
    lab::{LeaveOneOutOptions, LeaveOut, MethodCall, Target},
    protocol::{EventKind, Lane, LoadAnswer, LoadedModel, Request},
    session::{Command, Focus, PaneCommand, SelectionCommand, Stale},
};

use crate::support::{
    play::{Play, bundled},
    scripted::{self, N_HEADS},
};

/// The head that titles, readouts and files speak of is always one of those that are drawn.
#[test]
fn the_chosen_head_is_drawn_wherever_it_was_chosen() {
    let mut play = Play::showing("one two three");
    let on = |play: &Play| play.session.pane().selection.heads_on().iter(N_HEADS).collect::<Vec<_>>();
    play.does(Command::Select(SelectionCommand::SoloHead(0)));
    play.does(Command::Select(SelectionCommand::Head(HeadId::single(1, 2))));
    assert_eq!(on(&play), [2], "one that is drawn alone gives way");
    play.does(Command::Select(SelectionCommand::ToggleHead(0)));
    play.does(Command::Select(SelectionCommand::Head(HeadId::single(1, 3))));
    assert_eq!(on(&play), [0, 2, 3], "several that were ticked stay");
    play.does(Command::Select(SelectionCommand::ToggleHead(3)));
    assert_eq!((on(&play), play.session.pane().selection.head.head), (vec![0, 2], 2));
    for head in [2, 0] {
        play.does(Command::Select(SelectionCommand::ToggleHead(head)));
        assert_eq!((on(&play), play.session.pane().selection.head.head), (vec![0], 0), "the last one stays");
    }
    play.does(Command::Back);
    assert_eq!((on(&play), play.session.pane().selection.head.head), (vec![0, 2], 2));
}

#[test]
fn a_pin_follows_its_word_or_is_let_go() {
    let mut play = Play::showing("the cat sat on the mat");
    let reads = |play: &mut Play, text: &str| {
        play.does(Command::SetText(text.to_owned()));
        play.does(Command::Run);
        play.answers();
        play.session.pane().selection.pinned
    };
    play.does(Command::Select(SelectionCommand::Pin(Focus::cell(5, 1))));
    assert_eq!(reads(&mut play, "look the cat sat on the red mat"), Focus::cell(7, 2), "mat and cat");
    assert_eq!(reads(&mut play, "mat on sat cat"), Focus::cell(0, 3), "words that moved");
    assert_eq!(reads(&mut play, "the cat ran away"), Focus::key(1), "there is no mat");
    assert_eq!(reads(&mut play, "a dog"), Focus::NONE);
    // So do the places before.
    play.does(Command::Select(SelectionCommand::Pin(Focus::query(1))));
    play.does(Command::Select(SelectionCommand::Pin(Focus::query(0))));
    reads(&mut play, "see a dog");
    assert_eq!(play.session.pane().selection.pinned, Focus::query(1));
    play.does(Command::Back);
    assert_eq!(play.session.pane().selection.pinned, Focus::query(2), "a dog is where it was held before");
    play.does(Command::OpenModel(bundled("demo:other")));
    play.answers();
    assert_eq!(play.session.pane().selection.pinned, Focus::query(2), "another model reads the same words");
}

/// What is shown is of the run it came from, whatever was asked for since.
#[test]
fn what_is_not_of_what_is_asked_for_says_so() {
    let mut play = Play::showing("one two three");
    let stale = |play: &Play| play.session.document().stale();
    let title = |play: &Play| play.session.document().title();
    assert_eq!((stale(&play), title(&play).as_str()), (None, "demo:gpt · one two three"));
    play.does(Command::SetText("four five".to_owned()));
    assert_eq!(stale(&play), Some(Stale::Changed), "typed and not run yet");
    play.does(Command::Run);
    assert_eq!(stale(&play), Some(Stale::Waits));
    play.does(Command::CancelAll);
    assert_eq!((stale(&play), title(&play).as_str()), (Some(Stale::Changed), "demo:gpt · one two three"));
    play.does(Command::SetText("one two three".to_owned()));
    assert_eq!(stale(&play), None, "as it was");
    play.asked.clear();
    play.does(Command::OpenModel(bundled("demo:other")));
    let (job, request) = play.asked.pop().unwrap();
    let Request::Load { id, source, .. } = request else { panic!("no load") };
    let model = LoadedModel { id, ..LoadedModel::clone(&scripted::model(&source)) };
    play.hears(job, EventKind::Load(LoadAnswer::Loaded(Arc::new(model))));
    play.hears(play.last_job(), EventKind::Failed(scripted::failure("The run failed")));
    assert_eq!((stale(&play), title(&play).as_str()), (Some(Stale::Failed), "demo:gpt · one two three"));
    let figure = play.session.figure().unwrap();
    assert_eq!(figure.capture.model().name, "demo:gpt");
    let (address, _) = play.session.address(play.session.pane()).unwrap();
    assert_eq!(address.experiment.model, Some(bundled("demo:gpt")), "a link leads to what is shown");
    // What is shown cannot be explained by another model.
    play.does(Command::InPane(PaneCommand::Explain(
        "rollout",
        MethodCall::LeaveOneOut(LeaveOneOutOptions { by: LeaveOut::Hide }),
        Target::default(),
    )));
    let shown = play.session.document().latest_capture().unwrap().id();
    let ask = MethodCall::LeaveOneOut(LeaveOneOutOptions { by: LeaveOut::Hide });
    let answer = play.session.pane().explanations.find(shown, "rollout", &ask, Target::default()).unwrap();
    assert_eq!(answer.failure().unwrap().summary, "demo:gpt is not open any more: open it again");
}

#[test]
fn an_empty_text_is_refused_and_nothing_else_is_read_in_its_place() {
    let mut play = Play::new();
    play.does(Command::OpenModel(bundled("demo:vit")));
    play.answers();
    play.does(Command::OpenTextFile { path: "/a/empty.txt".into(), text: " \n".to_owned() });
    assert_eq!(play.last_notice(), "empty.txt is empty, so there is nothing to read");
    play.does(Command::OpenText(String::new()));
    assert_eq!(play.last_notice(), "The text is empty, so there is nothing to read");
    assert!(play.asked.is_empty());
    assert_eq!(play.session.document().open_model().unwrap().name, "demo:vit");
}

#[test]
fn cancelling_one_method_cancels_all_that_were_asked() {
    let mut play = Play::showing("one two three");
    for by in [LeaveOut::Hide, LeaveOut::Mask] {
        let column = if by == LeaveOut::Hide { "hidden" } else { "masked" };
        let mut options = play.session.pane().options.clone();
        options.lab.shown.insert(column.to_owned(), true);
        play.does(Command::SetViewOptions(options));
        play.does(Command::InPane(PaneCommand::Explain(
            column,
            MethodCall::LeaveOneOut(LeaveOneOutOptions { by }),
            Target::default(),
        )));
    }
    let pane = play.session.pane().id;
    let cancelled = play.does(Command::Cancel(Lane::Explain(pane, "hidden")));
    assert_eq!(cancelled.len(), 2, "{cancelled:?}");
    assert!(!play.session.pane().explanations.is_pending());
}
