//! Panes and documents: what is shared, what is not, and how to get back.

use attnscope::{
    capture::{Ablate, Ablation, Edit, Merging},
    ids::{DocumentId, HeadId, PaneId},
    protocol::Request,
    session::{
        ChangeCommand, Command, Focus, HeadRef, HeadStep, PaneCommand, Panes, SelectionCommand, Split, ViewKind,
        ViewOptions, gallery::EXAMPLES,
    },
};

use crate::support::play::{DOCUMENT, Play, bundled, state};

/// The pane that a session starts with, and the first that is opened beside it.
const LEFT: PaneId = PaneId(1);
const RIGHT: PaneId = PaneId(2);

/// Two panes side by side that show the same text; the right one is active.
fn side_by_side() -> Play {
    let mut play = Play::showing("one two three four");
    play.does(Command::SplitPane(Split::Right));
    play
}

/// Two panes side by side, the right one with a text of its own.
fn two_texts(right: &str) -> Play {
    let mut play = side_by_side();
    play.does(Command::Detach);
    play.does(Command::SetText(right.to_owned()));
    play.does(Command::Run);
    play.answers();
    play
}

fn does_in(play: &mut Play, pane: PaneId, command: Command) {
    let effects = play.session.apply_in(pane, command);
    play.sort(effects);
}

fn pinned(play: &Play, pane: PaneId) -> Focus {
    play.session.panes.get(pane).unwrap().selection.pinned
}

fn words(play: &Play, pane: PaneId) -> usize {
    let pane = play.session.panes.get(pane).unwrap();
    play.session.document_of(pane).latest_capture().unwrap().query_tokens(pane.selection.stack()).len()
}

#[test]
fn a_new_pane_shows_the_same_and_then_goes_its_own_way() {
    let mut play = side_by_side();
    assert_eq!((play.session.panes.len(), play.session.pane().id), (2, RIGHT));
    assert!(play.asked.is_empty(), "the same needs no other run");
    play.does(Command::Select(SelectionCommand::Head(HeadId::single(2, 3))));
    play.does(Command::Select(SelectionCommand::ShowView(ViewKind::Heatmap)));
    let left = play.session.panes.get(LEFT).unwrap();
    assert_eq!((left.selection.head, left.view), (HeadId::single(0, 0), ViewKind::Heads));
    for _ in 0..5 {
        play.does(Command::SplitPane(Split::Below));
    }
    assert_eq!(play.session.panes.len(), Panes::MAX);
}

#[test]
fn linked_panes_share_what_is_held_and_step_together() {
    let mut play = side_by_side();
    play.does(Command::Select(SelectionCommand::Head(HeadId::single(1, 2))));
    does_in(&mut play, LEFT, Command::Select(SelectionCommand::Pin(Focus::cell(3, 1))));
    assert_eq!(pinned(&play, RIGHT), Focus::cell(3, 1));
    play.does(Command::Select(SelectionCommand::Step(HeadStep::NextHead)));
    let heads = |play: &Play| [LEFT, RIGHT].map(|pane| play.session.panes.get(pane).unwrap().selection.head);
    assert_eq!(heads(&play), [HeadId::single(0, 1), HeadId::single(1, 3)], "each from where it was");

    does_in(&mut play, RIGHT, Command::ToggleLink);
    does_in(&mut play, LEFT, Command::Select(SelectionCommand::Pin(Focus::query(0))));
    does_in(&mut play, LEFT, Command::InPane(PaneCommand::Hover(Focus::query(2))));
    play.does(Command::Select(SelectionCommand::Step(HeadStep::NextLayer)));
    assert_eq!(pinned(&play, RIGHT), Focus::cell(3, 1));
    assert!(play.session.panes.get(RIGHT).unwrap().selection.hover.is_empty());
    assert_eq!(heads(&play), [HeadId::single(1, 1), HeadId::single(1, 3)]);
}

/// Panes are opened and closed as steps of undo, and come back as they were.
#[test]
fn splitting_and_closing_panes_is_undone_and_done_again() {
    let mut play = two_texts("a b");
    play.does(Command::Select(SelectionCommand::ShowView(ViewKind::Heatmap)));
    play.does(Command::Select(SelectionCommand::Head(HeadId::single(2, 1))));
    let shown = |play: &Play| -> Vec<(PaneId, String, ViewKind, HeadId)> {
        let panes = play.session.panes.iter();
        panes.map(|pane| (pane.id, play.session.document_of(pane).title(), pane.view, pane.selection.head)).collect()
    };
    let both = shown(&play);
    play.does(Command::InPane(PaneCommand::Close));
    assert_eq!(shown(&play), both[..1]);
    for _ in 0..2 {
        play.does(Command::Undo);
        assert_eq!(shown(&play), both, "it comes back with its run, its view and its head");
        assert_eq!(play.session.pane().id, RIGHT);
        play.does(Command::Redo);
        assert_eq!(shown(&play), both[..1]);
    }
    play.does(Command::Undo);
    // Back over the text that was run there, and over opening it.
    for n_panes in [2, 2, 1] {
        play.does(Command::Undo);
        play.answers();
        assert_eq!(play.session.panes.len(), n_panes);
    }
    assert!(!play.session.can_undo());
    for n_panes in [2, 2, 2, 1] {
        play.does(Command::Redo);
        play.answers();
        assert_eq!(play.session.panes.len(), n_panes);
    }
    assert!(!play.session.can_redo());
    play.does(Command::SplitPane(Split::Below));
    play.does(Command::Undo);
    assert!(play.session.can_redo());
    play.does(Command::OpenText("three".to_owned()));
    play.answers();
    assert!(!play.session.can_redo(), "something else was done");
}

/// The badge of a pane says what it shares, whichever way a head is chosen.
#[test]
fn what_linked_panes_are_said_to_share_is_what_they_share() {
    let ways = [
        Command::Select(SelectionCommand::Head(HeadId::single(1, 3))),
        Command::Select(SelectionCommand::ShowHead(HeadId::single(2, 1))),
        Command::Select(SelectionCommand::Layer(2)),
        Command::Select(SelectionCommand::Step(HeadStep::NextLayer)),
        Command::Select(SelectionCommand::ToggleHead(2)),
        Command::Select(SelectionCommand::SoloHead(3)),
        Command::Back,
        Command::Forward,
        Command::Flip,
        Command::SplitPane(Split::Below),
        Command::Undo,
        Command::Redo,
        Command::InPane(PaneCommand::Close),
        Command::Detach,
    ];
    let edit = Edit::Ablate(Ablate { head: HeadId::single(0, 2), with: Ablation::Zero });
    for is_changed in [false, true] {
        let mut play = side_by_side();
        if is_changed {
            play.does(Command::InPane(PaneCommand::Close));
            play.does(Command::Change(ChangeCommand::Add(vec![edit.clone().into()])));
            play.answers();
        }
        let expected = if is_changed { "Linked: tokens, steps, head" } else { "Linked: tokens, steps" };
        for way in &ways {
            let panes: Vec<PaneId> = play.session.panes.iter().map(|pane| pane.id).collect();
            for pane in panes {
                if play.session.panes.len() != 2 {
                    break;
                }
                does_in(&mut play, pane, way.clone());
                play.answers();
                let session = &play.session;
                let said: Vec<&str> =
                    session.panes.iter().map(|it| session.panes.shared(it, &session.documents)).collect();
                let heads: Vec<HeadId> = session.panes.iter().map(|it| it.selection.head).collect();
                if said.len() == 2 && *way != Command::Detach {
                    assert_eq!(said, [expected; 2], "{way:?}");
                }
                let is_one = heads.iter().all(|head| *head == heads[0]);
                assert!(is_one || !said.iter().any(|said| said.contains("head")), "{way:?}: {heads:?}");
                assert!(!is_changed || *way == Command::Detach || is_one, "{way:?}: {heads:?}");
            }
        }
    }
    // What is linked anew is looked at in one head again.
    let mut play = Play::showing("one two three");
    play.does(Command::Change(ChangeCommand::Add(vec![edit.into()])));
    play.answers();
    play.does(Command::ToggleLink);
    let said = |play: &Play| {
        let panes = &play.session.panes;
        panes.iter().map(|it| panes.shared(it, &play.session.documents)).collect::<Vec<_>>()
    };
    assert_eq!(said(&play), ["Linked: no other pane", "Not linked"]);
    play.does(Command::Select(SelectionCommand::Head(HeadId::single(2, 2))));
    play.does(Command::ToggleLink);
    assert_eq!(said(&play), ["Linked: tokens, steps, head"; 2]);
    assert!(play.session.panes.iter().all(|pane| pane.selection.head == HeadId::single(2, 2)));
}

#[test]
fn looking_with_the_pointer_is_no_reason_to_become_active() {
    let mut play = side_by_side();
    does_in(&mut play, LEFT, Command::InPane(PaneCommand::Hover(Focus::query(1))));
    assert_eq!(play.session.pane().id, RIGHT);
    assert_eq!(play.session.pane().selection.hover, Focus::query(1));
    does_in(&mut play, LEFT, Command::Activate);
    assert_eq!(play.session.pane().id, LEFT);
}

#[test]
fn focus_follows_the_words_of_another_text() {
    let mut play = two_texts("one two and three four");
    assert_eq!((words(&play, LEFT), words(&play, RIGHT)), (4, 5));
    does_in(&mut play, LEFT, Command::Select(SelectionCommand::Pin(Focus::cell(3, 2))));
    assert_eq!(pinned(&play, RIGHT), Focus::cell(4, 3), "four and three stand one further");
    does_in(&mut play, RIGHT, Command::Select(SelectionCommand::Pin(Focus::query(2))));
    assert_eq!(pinned(&play, LEFT), Focus::NONE, "the left text has no “and”");
}

#[test]
fn a_model_that_two_documents_show_is_read_once_and_kept_for_the_other() {
    let mut play = two_texts("a b");
    assert_eq!(play.held.len(), 1);
    play.does(Command::OpenModel(bundled("demo:other")));
    assert!(matches!(play.asked[0].1, Request::Load { replaces: None, .. }), "the left document needs the first");
    play.answers();
    assert_eq!(play.held.len(), 2);
    let names = |play: &Play| -> Vec<String> {
        play.session.documents.iter().map(|it| it.model.latest().unwrap().spec.name.clone()).collect()
    };
    assert_eq!(names(&play), ["demo:gpt", "demo:other"]);
    play.does(Command::CloseDocument(DocumentId(2)));
    play.answers();
    assert_eq!((play.held.len(), names(&play)), (1, vec!["demo:gpt".to_owned()]));
    assert_eq!((words(&play, RIGHT), play.session.panes.len()), (4, 2), "the pane shows what is left");
}

#[test]
fn work_for_one_document_does_not_stop_work_for_another() {
    let mut play = two_texts("a b");
    play.does(Command::Run);
    does_in(&mut play, LEFT, Command::Run);
    assert!(play.session.documents.iter().all(|document| state(&document.capture) == "pending over previous"));
    let lanes: Vec<_> = play.asked.iter().map(|(_, request)| request.lane()).collect();
    assert_ne!(lanes[0], lanes[1]);
    play.answers();
    assert!(play.session.documents.iter().all(|document| state(&document.capture) == "ready"));
}

#[test]
fn undo_brings_back_text_and_model_and_redo_goes_forward() {
    let mut play = Play::showing("one two three");
    play.does(Command::SetText("a b".to_owned()));
    play.does(Command::Run);
    play.answers();
    play.does(Command::OpenModel(bundled("demo:other")));
    play.answers();
    let now = |play: &Play| {
        let document = play.session.document();
        (document.model.latest().unwrap().spec.name.clone(), document.experiment.text.clone())
    };
    assert_eq!(now(&play), ("demo:other".to_owned(), "a b".to_owned()));
    for (command, model, text) in [
        (Command::Undo, "demo:gpt", "a b"),
        (Command::Undo, "demo:gpt", "one two three"),
        (Command::Redo, "demo:gpt", "a b"),
        (Command::Redo, "demo:other", "a b"),
    ] {
        play.does(command.clone());
        play.answers();
        assert_eq!(now(&play), (model.to_owned(), text.to_owned()), "{command:?}");
        assert_eq!(words(&play, LEFT), text.split(' ').count());
    }
    assert!(play.session.document().can_undo() && !play.session.document().can_redo());
}

#[test]
fn a_model_that_does_not_open_is_no_step_to_undo() {
    let mut play = Play::showing("one two three");
    play.does(Command::OpenModel(bundled("demo:broken")));
    play.hears(
        play.last_job(),
        attnscope::protocol::EventKind::Failed(crate::support::scripted::failure("No weights")),
    );
    play.asked.clear();
    assert_eq!(play.session.document().experiment.model, Some(bundled("demo:gpt")));
    assert!(!play.session.document().can_undo());
}

#[test]
fn flipping_goes_between_the_last_two_places_of_a_pane() {
    let mut play = side_by_side();
    play.does(Command::Select(SelectionCommand::Head(HeadId::single(1, 1))));
    play.does(Command::Select(SelectionCommand::Head(HeadId::single(2, 2))));
    let head = |play: &Play| play.session.pane().selection.head;
    for wanted in [(1, 1), (2, 2), (1, 1)] {
        play.does(Command::Flip);
        assert_eq!(head(&play), HeadId::single(wanted.0, wanted.1));
    }
    does_in(&mut play, LEFT, Command::Flip);
    assert_eq!(head(&play), HeadId::single(0, 0), "the left pane was nowhere else");
}

#[test]
fn what_is_subtracted_goes_when_its_document_is_closed() {
    let mut play = two_texts("a b c d");
    let other = HeadRef { document: DOCUMENT, head: HeadId::single(1, 1) };
    play.does(Command::Select(SelectionCommand::Subtract(Some(other))));
    assert_eq!(play.session.pane().minus, Some(other));
    play.does(Command::CloseDocument(DOCUMENT));
    assert_eq!(play.session.pane().minus, None);
    play.does(Command::Select(SelectionCommand::Subtract(Some(other))));
    assert_eq!(play.session.pane().minus, None, "a closed document cannot be subtracted");
}

#[test]
fn an_example_of_several_models_opens_a_pane_for_each_and_another_one_closes_them() {
    let several: Vec<usize> = (0..EXAMPLES.len()).filter(|idx| !EXAMPLES[*idx].beside.is_empty()).collect();
    let mut play = Play::showing("one two three");
    for idx in several {
        let example = &EXAMPLES[idx];
        // Opened again it is as it was.
        for _ in 0..2 {
            play.does(Command::OpenExample(idx));
            play.answers();
            let shown: Vec<_> = play.session.panes.iter().map(|pane| (pane, play.session.documents.of(pane))).collect();
            let models: Vec<_> = shown.iter().map(|(_, it)| it.model.latest().unwrap().spec.name.as_str()).collect();
            assert_eq!(models, [&[example.model], example.beside].concat(), "{}", example.title);
            assert_eq!(play.session.documents.len(), shown.len());
            for (pane, document) in &shown {
                assert_eq!(document.experiment.text, shown[0].1.experiment.text);
                assert_eq!((pane.view, pane.linked), (example.view, true));
                assert!(document.latest_capture().is_some());
            }
            let is_told = shown[1..].iter().any(|(pane, document)| pane.standing_example(document).is_some());
            assert!(!is_told, "it is told once");
        }
    }
    play.does(Command::OpenExample(0));
    play.answers();
    assert_eq!((play.session.panes.len(), play.session.documents.len()), (1, 1));
}

#[test]
fn an_example_is_seen_as_it_was_meant_and_gives_the_options_back() {
    let mut play = Play::showing("one two three");
    let mut mine = ViewOptions::default();
    mine.reading.leave_out.first = true;
    play.does(Command::SetViewOptions(mine.clone()));
    let idx = EXAMPLES.iter().position(|example| example.view == ViewKind::Heads).unwrap();
    play.does(Command::OpenExample(idx));
    play.answers();
    let mut meant = ViewOptions::default();
    meant.reading.merging = Merging::words_if(EXAMPLES[idx].words);
    assert_eq!(play.session.pane().options, meant);
    play.does(Command::SetText("mine again".to_owned()));
    assert_eq!(play.session.pane().options, mine);
}
