//! What is opened, closed, linked and undone never contradicts itself: after every ordered pair of actions, and after
//! undoing and redoing each that is a step.

use attnscope::{
    capture::{Ablate, Ablation, Edit},
    ids::{DocumentId, HeadId, PaneId},
    protocol::{CorpusSource, EditRequest},
    session::{
        ChangeCommand, Command, CorpusCommand, Experiment, HeadStep, PaneCommand, SelectionCommand, Session, Split,
        gallery::EXAMPLES,
    },
};

use crate::support::play::{Play, bundled};

/// What a person does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    Text,
    Model,
    Ablate,
    AblateAnother,
    RemoveFirst,
    SwitchOff,
    Clear,
    Example,
    ChangedExample,
    SplitRight,
    SplitBelow,
    CompareInput,
    Detach,
    ClosePane,
    NextPane,
    ShowRun,
    CloseRun,
    Link,
    SelectHead,
    NameHead,
    StepHead,
    SoloHead,
    Back,
    Flip,
    OpenCorpus,
    CloseCorpus,
    Undo,
    Redo,
}

const ACTS: [Act; 28] = [
    Act::Text,
    Act::Model,
    Act::Ablate,
    Act::AblateAnother,
    Act::RemoveFirst,
    Act::SwitchOff,
    Act::Clear,
    Act::Example,
    Act::ChangedExample,
    Act::SplitRight,
    Act::SplitBelow,
    Act::CompareInput,
    Act::Detach,
    Act::ClosePane,
    Act::NextPane,
    Act::ShowRun,
    Act::CloseRun,
    Act::Link,
    Act::SelectHead,
    Act::NameHead,
    Act::StepHead,
    Act::SoloHead,
    Act::Back,
    Act::Flip,
    Act::OpenCorpus,
    Act::CloseCorpus,
    Act::Undo,
    Act::Redo,
];

/// What is looked at, as far as undo brings it back: panes row by row, and runs.
#[derive(Clone, Debug, PartialEq)]
struct State {
    active: PaneId,
    rows: Vec<Vec<(PaneId, DocumentId, String, HeadId)>>,
    runs: Vec<(DocumentId, Experiment, Option<CorpusSource>)>,
}

impl State {
    fn of(session: &Session) -> Self {
        let runs = session.documents.iter().map(|document| {
            let corpus = document.corpus.as_ref().map(|corpus| corpus.source.clone());
            (document.id, document.experiment.clone(), corpus)
        });
        let rows = session.panes.rows().map(|row| {
            let pane =
                row.iter().map(|pane| (pane.id, pane.document, session.document_of(pane).title(), pane.selection.head));
            pane.collect()
        });
        Self { active: session.panes.active_id(), rows: rows.collect(), runs: runs.collect() }
    }

    /// What is a step when it changes: panes and what is run, not what is looked at in them.
    fn made(&self) -> (Vec<Vec<PaneId>>, Vec<(DocumentId, Experiment)>) {
        let rows = self.rows.iter().map(|row| row.iter().map(|(pane, ..)| *pane).collect()).collect();
        (rows, self.runs.iter().map(|(id, experiment, _)| (*id, experiment.clone())).collect())
    }

    fn corpora(&self) -> Vec<&CorpusSource> {
        self.runs.iter().filter_map(|(.., corpus)| corpus.as_ref()).collect()
    }
}

struct Walk {
    play: Play,
    n: usize,
    n_undone: usize,
}

impl Walk {
    fn new() -> Self {
        Self { play: Play::showing("one two three"), n: 0, n_undone: 0 }
    }

    fn command(&self, act: Act) -> Command {
        let session = &self.play.session;
        let next = |id: DocumentId| {
            let place = session.documents.iter().position(|document| document.id == id).unwrap();
            session.documents[(place + 1) % session.documents.len()].id
        };
        let ablate = |head| Edit::Ablate(Ablate { head: HeadId::single(1, head), with: Ablation::Zero });
        let add = |head| ChangeCommand::Add(vec![EditRequest::Edit(ablate(head))]);
        let texts = ["one two", "four five six", "one three"];
        let head = HeadId::single(self.n % 2, self.n % 3);
        let example = |changed: bool| EXAMPLES.iter().position(|it| it.changes.is_empty() != changed).unwrap();
        match act {
            Act::Text => Command::OpenText(texts[self.n % texts.len()].to_owned()),
            Act::Model => {
                let here = session.document().model.latest().map(|model| model.source.clone());
                let other = ["demo:gpt", "demo:other"].map(bundled).into_iter().find(|it| Some(it) != here.as_ref());
                Command::OpenModel(other.unwrap())
            }
            Act::Ablate => Command::Change(add(0)),
            Act::AblateAnother => Command::Change(add(2)),
            Act::RemoveFirst => Command::Change(ChangeCommand::Remove(vec![0])),
            Act::SwitchOff => Command::Change(ChangeCommand::Switch(0, false)),
            Act::Clear => Command::Change(ChangeCommand::Clear),
            Act::Example => Command::OpenExample(example(false)),
            Act::ChangedExample => Command::OpenExample(example(true)),
            Act::SplitRight => Command::SplitPane(Split::Right),
            Act::SplitBelow => Command::SplitPane(Split::Below),
            Act::CompareInput => Command::CompareInput,
            Act::Detach => Command::Detach,
            Act::ClosePane => Command::InPane(PaneCommand::Close),
            Act::NextPane => Command::NextPane,
            Act::ShowRun => Command::ShowDocument(next(session.document().id)),
            Act::CloseRun => Command::CloseDocument(next(session.document().id)),
            Act::Link => Command::ToggleLink,
            Act::SelectHead => Command::Select(SelectionCommand::Head(head)),
            Act::NameHead => Command::Select(SelectionCommand::ShowHead(head)),
            Act::StepHead => Command::Select(SelectionCommand::Step(HeadStep::NextHead)),
            Act::SoloHead => Command::Select(SelectionCommand::SoloHead(1)),
            Act::Back => Command::Back,
            Act::Flip => Command::Flip,
            Act::OpenCorpus => {
                Command::Corpus(CorpusCommand::Open(CorpusSource::Lines(format!("one {}\ntwo", self.n).into())))
            }
            Act::CloseCorpus => Command::Corpus(CorpusCommand::Close),
            Act::Undo => Command::Undo,
            Act::Redo => Command::Redo,
        }
    }

    fn does(&mut self, command: Command) {
        self.play.does(command);
        self.play.answers();
    }

    fn state(&self) -> State {
        State::of(&self.play.session)
    }

    fn acts(&mut self, act: Act, what: &str) {
        self.n += 1;
        let before = self.state();
        let could = (self.play.session.can_undo(), self.play.session.can_redo());
        self.does(self.command(act));
        let after = self.state();
        self.check(what);
        match act {
            Act::Undo => assert!(could.0 || before == after, "{what}: nothing was offered"),
            Act::Redo => assert!(could.1 || before == after, "{what}: nothing was offered"),
            // What was undone is done again, and the other way round.
            // An example is looked at in a head of its own; where one was before is another matter.
            Act::Example | Act::ChangedExample => {}
            _ if before.made() != after.made() => self.goes_back_and_forth(&before, &after, what),
            _ => {}
        }
        if act == Act::ClosePane {
            for corpus in before.corpora() {
                assert!(after.corpora().contains(&corpus), "{what}: a corpus was closed with a pane");
            }
        }
    }

    fn goes_back_and_forth(&mut self, before: &State, after: &State, what: &str) {
        // Which pane is looked at is a matter of panes that come and go.
        let before = &State {
            active: if before.made().0 == after.made().0 { after.active } else { before.active },
            ..before.clone()
        };
        for _ in 0..2 {
            assert!(self.play.session.can_undo(), "{what}: cannot be undone");
            self.does(Command::Undo);
            let now = self.state();
            assert_eq!(&now, before, "{what}: undone");
            self.check(&format!("{what}, undone"));
            assert!(self.play.session.can_redo(), "{what}: cannot be done again");
            self.does(Command::Redo);
            let now = self.state();
            assert_eq!(&now, after, "{what}: done again");
            self.check(&format!("{what}, done again"));
            self.n_undone += 1;
        }
    }

    fn check(&self, what: &str) {
        let Session { panes, documents, notices, .. } = &self.play.session;
        for pane in panes.iter() {
            let document = documents.find(pane.document).unwrap_or_else(|| panic!("{what}: a pane without a run"));
            let capture = document.latest_capture().unwrap();
            assert_eq!(document.stale(), None, "{what}: {}", document.title());
            let edits = document.experiment.edits();
            assert_eq!(capture.computation().edits.len(), edits.len(), "{what}: {}", document.title());
            assert_eq!(capture.input().text.as_deref(), Some(document.experiment.text.as_str()), "{what}");
            assert!(pane.minus.is_none_or(|minus| documents.find(minus.document).is_some()), "{what}");
            // The badge.
            let shared = panes.shared(pane, documents);
            let others = || panes.iter().filter(|other| other.linked && other.id != pane.id);
            let is_one_head = others().all(|other| other.selection.head == pane.selection.head);
            assert_eq!(pane.linked, shared.starts_with("Linked"), "{what}: {shared}");
            assert!(!shared.contains("head") || is_one_head, "{what}: {shared}");
            assert_eq!(shared.contains("tokens"), pane.linked && others().next().is_some(), "{what}: {shared}");
            // A run and the same with changes, linked, are looked at in one head.
            for other in others().filter(|other| pane.linked && document.plain == Some(other.document)) {
                assert_eq!(other.selection.head, pane.selection.head, "{what}");
                assert_eq!(other.selection.heads_on(), pane.selection.heads_on(), "{what}");
            }
        }
        for document in documents {
            assert!(document.plain.is_none_or(|plain| documents.find(plain).is_some()), "{what}");
        }
        for notice in notices.iter().filter(|notice| notice.text.details == "Undo brings them back") {
            assert!(self.play.session.can_undo(), "{what}: {notice:?}");
        }
    }
}

#[test]
fn every_pair_of_actions_on_panes_is_undone_and_done_again_exactly() {
    let (mut n_pairs, mut n_undone) = (0, 0);
    // With one pane, and with a run before and after a change.
    for changed in [false, true] {
        for first in ACTS {
            for second in ACTS {
                let mut walk = Walk::new();
                let what = format!("{first:?}, {second:?}, changed {changed}");
                if changed {
                    walk.acts(Act::Ablate, &what);
                }
                walk.acts(first, &what);
                walk.acts(second, &what);
                (n_pairs, n_undone) = (n_pairs + 1, n_undone + walk.n_undone);
            }
        }
    }
    assert_eq!(n_pairs, 2 * ACTS.len().pow(2));
    assert!(n_undone > n_pairs, "{n_undone} steps were undone");
}

/// All pairs in one session, each after all that came before it.
#[test]
fn a_long_walk_over_panes_leads_all_the_way_back() {
    let mut walk = Walk::new();
    for (nth, first) in ACTS.iter().enumerate() {
        for second in &ACTS[nth..] {
            walk.acts(*first, &format!("{} {first:?} before {second:?}", walk.n));
            walk.acts(*second, &format!("{} {second:?} after {first:?}", walk.n));
        }
    }
    let mut n_back = 0;
    while walk.play.session.can_undo() {
        walk.does(Command::Undo);
        n_back += 1;
        walk.check(&format!("{n_back} steps back"));
        assert!(n_back < 500);
    }
    assert!(n_back > 5, "{n_back}");
}
