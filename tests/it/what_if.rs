//! What-if: changes of a run, the unchanged one beside it, and the ways back.

use attnscope::{
    capture::{Ablate, Ablation, Edit, HideToken, Matrix, Normalize, Normalizer, Scope, SetPattern},
    ids::{HeadId, JobId, PaneId, Side},
    protocol::{CorpusSource, EditRequest, EventKind, Failure, Request, RunAnswer},
    session::{
        Change, ChangeCommand, Command, CorpusCommand, Document, Drag, PaneCommand, SelectionCommand, Split, ViewKind,
        gallery::EXAMPLES,
    },
};

use crate::support::play::{Play, bundled, state};

/// The pane of the unchanged run, and of the changed one.
const LEFT: PaneId = PaneId(1);
const RIGHT: PaneId = PaneId(2);

fn ablate() -> EditRequest {
    Edit::Ablate(Ablate { head: HeadId::single(1, 2), with: Ablation::Zero }).into()
}

fn hide(position: usize) -> EditRequest {
    Edit::HideToken(HideToken { side: Side::Only, position }).into()
}

fn entmax(alpha: f32) -> EditRequest {
    Edit::Normalize(Normalize { scope: Scope::All, with: Normalizer::Entmax(alpha) }).into()
}

fn add(play: &mut Play, edit: EditRequest) {
    play.does(Command::Change(ChangeCommand::Add(vec![edit])));
}

fn shown(play: &Play, pane: PaneId) -> &Document {
    play.session.document_of(play.session.panes.get(pane).unwrap())
}

/// How many changes what a pane shows was made with.
fn n_shown(play: &Play, pane: PaneId) -> usize {
    shown(play, pane).latest_capture().unwrap().computation().edits.len()
}

/// The changes that the newest run was asked for with.
fn asked(play: &Play) -> Vec<EditRequest> {
    let run = play.asked.iter().rev().find_map(|(_, request)| match request {
        Request::Run { changes, .. } => Some(changes.clone()),
        _ => None,
    });
    run.unwrap()
}

fn last_run(play: &Play) -> JobId {
    play.asked.iter().rev().find(|(_, request)| matches!(request, Request::Run { .. })).unwrap().0
}

#[test]
fn the_first_change_runs_beside_an_unchanged_copy_and_undo_takes_it_back() {
    let mut play = Play::showing("one two three");
    add(&mut play, ablate());
    assert_eq!(asked(&play), [ablate()]);
    assert_eq!(play.asked.len(), 1, "what was there needs no other run");
    play.answers();
    assert_eq!((n_shown(&play, LEFT), n_shown(&play, RIGHT)), (0, 1));
    assert_eq!(play.session.pane().id, RIGHT);
    let changed = shown(&play, RIGHT);
    assert_eq!(changed.title(), "1 change · demo:gpt · one two three");
    let before = play.session.unchanged(changed).unwrap();
    assert_eq!(before.id(), shown(&play, LEFT).latest_capture().unwrap().id());

    add(&mut play, hide(1));
    assert_eq!((asked(&play), play.session.panes.len()), (vec![ablate(), hide(1)], 2), "one copy is enough");
    play.answers();
    play.does(Command::Undo);
    play.answers();
    assert_eq!((n_shown(&play, LEFT), n_shown(&play, RIGHT)), (0, 1));
    play.does(Command::Undo);
    play.answers();
    assert_eq!((n_shown(&play, play.session.pane().id), play.session.panes.len()), (0, 1), "the copy goes with it");
    play.does(Command::Redo);
    play.answers();
    let numbers: Vec<usize> = play.session.panes.iter().map(|pane| n_shown(&play, pane.id)).collect();
    assert_eq!(numbers, [0, 1]);
}

#[test]
fn a_change_asked_for_in_the_unchanged_pane_is_made_in_the_other() {
    let mut play = Play::showing("one two three");
    add(&mut play, ablate());
    play.answers();
    let effects = play.session.apply_in(LEFT, Command::Change(ChangeCommand::Add(vec![hide(0)])));
    play.sort(effects);
    play.answers();
    assert_eq!((n_shown(&play, LEFT), n_shown(&play, RIGHT)), (0, 2));
    assert_eq!(play.session.pane().id, RIGHT, "undo speaks of what was changed");
    assert_eq!(play.session.panes.len(), 2);
}

#[test]
fn changes_are_switched_off_removed_and_cleared() {
    let mut play = Play::showing("one two three");
    for edit in [ablate(), hide(1), hide(2)] {
        add(&mut play, edit);
    }
    play.does(Command::Change(ChangeCommand::Switch(0, false)));
    assert_eq!(asked(&play), [hide(1), hide(2)]);
    add(&mut play, ablate());
    assert_eq!(asked(&play), [ablate(), hide(1), hide(2)], "one that is there is switched on");
    play.does(Command::Change(ChangeCommand::Remove(vec![1])));
    assert_eq!(asked(&play), [ablate(), hide(2)]);
    play.answers();
    // Of the two panes the one that is looked at stays, as it is.
    play.does(Command::Select(SelectionCommand::ShowView(ViewKind::Heatmap)));
    play.does(Command::Change(ChangeCommand::Clear));
    assert_eq!((n_shown(&play, RIGHT), play.session.panes.len()), (0, 1));
    assert_eq!(play.session.pane().view, ViewKind::Heatmap);
}

/// However the last change is taken away, the pane that the first one opened goes with it.
#[test]
fn the_last_change_takes_its_pane_with_it_however_it_goes_and_users_panes_stay() {
    let ways: [&[Command]; 3] = [
        &[Command::Undo],
        &[Command::Change(ChangeCommand::Remove(vec![0]))],
        &[Command::Change(ChangeCommand::Clear)],
    ];
    for way in ways {
        for n_split in 0..2 {
            let mut play = Play::showing("one two three");
            for _ in 0..n_split {
                play.does(Command::SplitPane(Split::Below));
            }
            add(&mut play, ablate());
            play.answers();
            assert_eq!(play.session.panes.len(), 2 + n_split, "{way:?}");
            for command in way {
                drop(play.does(command.clone()));
            }
            play.answers();
            assert_eq!((play.session.panes.len(), play.session.documents.len()), (1 + n_split, 1), "{way:?}");
            let [back, again] =
                if way[0] == Command::Undo { [Command::Redo, Command::Undo] } else { [Command::Undo, Command::Redo] };
            for (command, n) in [(back, 2), (again, 1)] {
                play.does(command);
                play.answers();
                assert_eq!(play.session.panes.len(), n + n_split, "{way:?}");
            }
        }
    }
}

/// Without its changes it would be the pane beside it once more.
#[test]
fn clearing_the_changes_closes_the_pane_that_they_opened_and_undo_brings_it_back() {
    let mut play = Play::showing("one two three");
    add(&mut play, ablate());
    add(&mut play, hide(1));
    play.answers();
    // Whose effect is told is chosen in one pane alone, and is no other view.
    let mut options = play.session.pane().options.clone();
    options.target.class = Some(21);
    play.does(Command::SetViewOptions(options));
    play.does(Command::Change(ChangeCommand::Clear));
    assert!(play.asked.is_empty(), "what stays was run before");
    assert_eq!((play.session.panes.len(), play.session.documents.len()), (1, 1));
    assert_eq!((n_shown(&play, RIGHT), play.session.document().title().as_str()), (0, "demo:gpt · one two three"));
    assert_eq!(play.session.pane().options.target.class, Some(21));
    play.does(Command::Undo);
    play.answers();
    assert_eq!(play.session.panes.len(), 2);
    let changed = play.session.changing();
    assert_eq!(changed.experiment.edits(), [ablate(), hide(1)]);
    assert_eq!(changed.title(), "2 changes · demo:gpt · one two three");
    assert!(play.session.unchanged(changed).is_some());
}

#[test]
fn a_contradiction_is_told_and_loses_nothing() {
    let mut play = Play::showing("one two three");
    add(&mut play, ablate());
    play.answers();
    add(&mut play, hide(0));
    let failure = Failure { summary: "These contradict each other".to_owned(), details: String::new() };
    let job = last_run(&play);
    play.asked.clear();
    play.hears(job, EventKind::Failed(failure));
    assert_eq!(play.last_notice(), "These contradict each other");
    let changed = shown(&play, RIGHT);
    assert_eq!(state(&changed.capture), "failed over previous");
    assert_eq!(changed.experiment.edits(), [ablate(), hide(0)]);
    play.does(Command::Change(ChangeCommand::Remove(vec![1])));
    play.answers();
    assert_eq!((state(&shown(&play, RIGHT).capture), n_shown(&play, RIGHT)), ("ready", 1));
}

#[test]
fn another_text_is_run_in_both_panes_and_switches_off_what_spoke_of_its_tokens() {
    let mut play = Play::showing("one two three");
    add(&mut play, ablate());
    add(&mut play, hide(2));
    play.answers();
    play.does(Command::SetText("four five".to_owned()));
    play.does(Command::Run);
    assert_eq!(play.last_notice(), "1 change was switched off");
    play.answers();
    let on: Vec<bool> = shown(&play, RIGHT).experiment.changes.iter().map(|change: &Change| change.on).collect();
    assert_eq!(on, [true, false]);
    for pane in [LEFT, RIGHT] {
        assert_eq!(shown(&play, pane).latest_capture().unwrap().input().text.as_deref(), Some("four five"));
    }
    assert_eq!((n_shown(&play, LEFT), n_shown(&play, RIGHT)), (0, 1));
    play.does(Command::OpenModel(bundled("demo:other")));
    play.answers();
    assert_eq!((n_shown(&play, LEFT), n_shown(&play, RIGHT)), (0, 0), "heads of another model are other heads");
    let models = |play: &Play| [LEFT, RIGHT].map(|pane| shown(play, pane).model.latest().unwrap().id);
    assert_eq!(models(&play)[0], models(&play)[1]);
    assert_eq!(play.held.len(), 1, "the model before is dropped");
}

#[test]
fn an_unchanged_run_that_goes_its_own_way_is_no_longer_compared() {
    let mut play = Play::showing("one two three");
    add(&mut play, ablate());
    play.answers();
    let effects = play.session.apply_in(LEFT, Command::SetText("a b".to_owned()));
    play.sort(effects);
    play.does(Command::Run);
    play.answers();
    assert!(play.session.unchanged(shown(&play, RIGHT)).is_none());
    assert_eq!(n_shown(&play, RIGHT), 1);
}

#[test]
fn while_a_slider_is_dragged_runs_finish_and_the_newest_comes_last() {
    let mut play = Play::showing("one two three");
    add(&mut play, entmax(1.5));
    play.answers();
    let depth = |play: &mut Play| {
        let mut n = 0;
        while play.session.can_undo() {
            play.does(Command::Undo);
            play.answers();
            n += 1;
        }
        n
    };
    for alpha in [1.6, 1.7, 1.8] {
        play.does(Command::Change(ChangeCommand::Replace(0, entmax(alpha), Drag(1.0))));
    }
    assert_eq!((play.asked.len(), asked(&play)), (1, vec![entmax(1.6)]), "a run that has begun is not thrown away");
    let (job, request) = play.asked.remove(0);
    let Request::Run { model, input, changes, .. } = request else { panic!("no run") };
    let capture = crate::support::scripted::changed_capture(&play.held[&model], &input, &changes);
    play.hears(job, EventKind::Run(RunAnswer::Captured(capture)));
    assert_eq!((play.asked.len(), asked(&play)), (1, vec![entmax(1.8)]));
    play.answers();
    assert_eq!(depth(&mut play), 2, "a drag is one step, and the change before it another");
}

/// Each stroke is a step, and so is the pattern that they were drawn on.
#[test]
fn strokes_are_undone_one_by_one() {
    let mut play = Play::showing("one two three");
    let drawn = |weight: f32| -> EditRequest {
        let pattern = Matrix::new(vec![weight; 9], [3, 3]).unwrap();
        Edit::SetPattern(SetPattern { head: HeadId::single(0, 0), pattern }).into()
    };
    add(&mut play, drawn(0.0));
    play.answers();
    for (weight, drag) in [(0.1, 1.0), (0.2, 1.0), (0.3, 2.0), (0.4, 3.0), (0.5, 3.0)] {
        play.does(Command::Change(ChangeCommand::Replace(0, drawn(weight), Drag(drag))));
        if drag < 2.0 {
            play.answers();
        }
    }
    play.answers();
    for weight in [0.3, 0.2, 0.0] {
        play.does(Command::Undo);
        play.answers();
        assert_eq!(shown(&play, RIGHT).experiment.edits(), [drawn(weight)]);
    }
    play.does(Command::Undo);
    assert!(play.session.document().experiment.changes.is_empty());
}

/// The pane that stays is of the run that it says it is of, and the steps before are within reach.
#[test]
fn closing_the_changed_pane_takes_its_changes_and_keeps_its_past() {
    let mut play = Play::showing("one two three");
    play.does(Command::SetText("four five".to_owned()));
    play.does(Command::Run);
    play.answers();
    add(&mut play, ablate());
    play.answers();
    play.does(Command::InPane(PaneCommand::Close));
    play.answers();
    assert_eq!((play.session.panes.len(), play.session.documents.len()), (1, 1));
    assert_eq!(play.last_notice(), "The changes were closed with their pane");
    let here = play.session.document();
    assert_eq!((here.title().as_str(), here.stale()), ("demo:gpt · four five", None));
    assert!(play.session.changing().experiment.changes.is_empty(), "nothing is ticked that is not done");
    play.does(Command::Undo);
    play.answers();
    assert_eq!(play.session.panes.len(), 2);
    assert_eq!(play.session.changing().title(), "1 change · demo:gpt · four five");
    for title in ["demo:gpt · four five", "demo:gpt · one two three"] {
        play.does(Command::Undo);
        play.answers();
        assert_eq!(play.session.changing().title(), title);
    }
    assert!(!play.session.can_undo() && play.session.can_redo());
}

#[test]
fn what_was_changed_is_undone_from_the_unchanged_pane_too() {
    let mut play = Play::showing("one two three");
    add(&mut play, ablate());
    play.answers();
    let effects = play.session.apply_in(LEFT, Command::Undo);
    play.sort(effects);
    play.answers();
    assert_eq!((n_shown(&play, LEFT), play.session.panes.len()), (0, 1));
}

/// The pane that the first change opened goes with it and comes back with it, however the changed one was closed.
#[test]
fn the_pane_of_a_change_goes_and_comes_back_with_it() {
    let mut play = Play::showing("one two three");
    add(&mut play, ablate());
    play.answers();
    let state = |play: &Play| {
        let session = &play.session;
        let titles: Vec<String> = session.panes.iter().map(|pane| session.document_of(pane).title()).collect();
        (titles, session.documents.len(), session.unchanged(session.changing()).is_some())
    };
    let alone = (vec!["demo:gpt · one two three".to_owned()], 1, false);
    let beside =
        (vec!["demo:gpt · one two three".to_owned(), "1 change · demo:gpt · one two three".to_owned()], 2, true);
    assert_eq!(state(&play), beside);
    for closes in [false, true] {
        if closes {
            play.does(Command::InPane(PaneCommand::Close));
            play.answers();
            assert_eq!(state(&play), alone);
            play.does(Command::Undo);
            play.answers();
            assert_eq!(state(&play), beside, "a change that was closed with its pane");
        }
        for _ in 0..2 {
            let [back, forth] = if closes { [Command::Redo, Command::Undo] } else { [Command::Undo, Command::Redo] };
            play.does(back);
            play.answers();
            assert_eq!(state(&play), alone);
            play.does(forth);
            play.answers();
            assert_eq!(state(&play), beside);
        }
    }
}

/// What is promised of undo is what it does, and what was opened in a pane outlives it.
#[test]
fn closing_a_pane_without_changes_promises_nothing_and_keeps_its_corpus() {
    let mut play = Play::showing("one two three");
    add(&mut play, ablate());
    play.answers();
    play.does(Command::Change(ChangeCommand::Switch(0, false)));
    play.answers();
    play.does(Command::Corpus(CorpusCommand::Open(CorpusSource::Lines("one\ntwo\nthree".into()))));
    assert!(shown(&play, RIGHT).corpus.is_some());
    let n_notices = play.session.notices.len();
    play.does(Command::InPane(PaneCommand::Close));
    assert!(play.session.document().corpus.is_some(), "the corpus was closed with a pane");
    assert_eq!(play.session.panes.len(), 1);
    assert_eq!(play.session.notices.len(), n_notices, "{}", play.last_notice());
    play.does(Command::Undo);
    assert_eq!(play.session.panes.len(), 2);
    assert!(shown(&play, LEFT).corpus.is_none() && shown(&play, RIGHT).corpus.is_some(), "it is back where it was");
    assert_eq!(shown(&play, RIGHT).experiment.changes.len(), 1);
    play.does(Command::Redo);
    assert!(play.session.panes.len() == 1 && play.session.document().corpus.is_some());
}

/// A run before and after its changes is looked at in one head.
#[test]
fn a_head_chosen_beside_a_change_is_shown_before_and_after_it() {
    let mut play = Play::showing("one two three");
    add(&mut play, ablate());
    play.answers();
    let heads = |play: &Play| [LEFT, RIGHT].map(|pane| play.session.panes.get(pane).unwrap().selection.head);
    play.does(Command::Select(SelectionCommand::Head(HeadId::single(1, 3))));
    assert_eq!(heads(&play), [HeadId::single(1, 3); 2]);
    play.does(Command::ToggleLink);
    play.does(Command::Select(SelectionCommand::Head(HeadId::single(0, 1))));
    assert_eq!(heads(&play), [HeadId::single(1, 3), HeadId::single(0, 1)], "nothing is shared unless it is linked");
}

#[test]
fn a_head_chosen_by_its_name_is_drawn_alone_where_all_are() {
    let mut play = Play::showing("one two three");
    play.does(Command::Select(SelectionCommand::AllHeads));
    play.does(Command::Select(SelectionCommand::ShowHead(HeadId::single(1, 2))));
    let selection = &play.session.pane().selection;
    assert_eq!((selection.head, selection.heads_on().iter(4).collect::<Vec<_>>()), (HeadId::single(1, 2), vec![2]));
}

/// Two things cannot take the place of one head: the newer one does.
#[test]
fn another_change_of_a_head_takes_the_place_of_the_one_before() {
    let mut play = Play::showing("one two three");
    add(&mut play, ablate());
    let mean: EditRequest = Edit::Ablate(Ablate { head: HeadId::single(1, 2), with: Ablation::Mean }).into();
    add(&mut play, mean.clone());
    assert_eq!(asked(&play), [mean]);
}

#[test]
fn what_comes_from_a_file_cannot_be_changed_and_says_so() {
    let mut play = Play::new();
    add(&mut play, ablate());
    assert_eq!(play.last_notice(), "There is no run to change: open a model");
    assert_eq!(play.session.panes.len(), 1);
}

#[test]
fn an_example_with_changes_opens_beside_its_plain_run_and_one_without_closes_that() {
    let with: Vec<usize> = (0..EXAMPLES.len()).filter(|idx| !EXAMPLES[*idx].changes.is_empty()).collect();
    let mut play = Play::showing("one two three");
    for idx in with {
        // Also from the pane of the plain run.
        let effects = play.session.apply_in(LEFT, Command::OpenExample(idx));
        play.sort(effects);
        play.answers();
        let title = EXAMPLES[idx].title;
        assert_eq!(play.session.panes.len(), 2, "{title}");
        assert_eq!((n_shown(&play, LEFT), n_shown(&play, RIGHT)), (0, 1), "{title}");
        let shown = [LEFT, RIGHT].map(|pane| play.session.panes.get(pane).unwrap());
        assert_eq!(
            shown.map(|pane| (pane.view, pane.selection.head, pane.selection.pinned)),
            [(shown[1].view, shown[1].selection.head, shown[1].selection.pinned); 2]
        );
        assert!(play.session.document().experiment.changes.iter().all(|change| change.on), "{title}");
        assert!(play.session.unchanged(play.session.document()).is_some(), "{title}");
    }
    play.does(Command::OpenExample(0));
    play.answers();
    assert_eq!((play.session.panes.len(), play.session.documents.len()), (1, 1));
    assert!(play.session.document().experiment.changes.is_empty());
    play.does(Command::Undo);
    play.answers();
    assert_eq!(play.session.panes.len(), 2, "what was changed is seen beside the plain run again");
    let changed = play.session.document();
    assert_eq!(changed.latest_capture().unwrap().computation().edits.len(), 1);
    assert!(play.session.unchanged(changed).is_some());
}
