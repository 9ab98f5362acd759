//! Steps of undo that open or close panes, with the runs that come and go with them.
//!
//! A step is what one command changed of the arrangement, however it did. What it closed is kept with it.

use super::{Document, Documents, Effect, HeadRef, Loadable, Pane, Panes};
use crate::{
    ids::{DocumentId, HeadId, JobId, PaneId},
    protocol::Lane,
};

/// Steps that are kept, and the runs that they may hold.
const MAX_STEPS: usize = 100;
const MAX_RUNS: usize = Documents::MAX;

/// The panes row by row, with the runs that they show, and all runs.
#[derive(Clone, Debug)]
pub(super) struct Arrangement {
    rows: Vec<Vec<PlacedPane>>,
    active: PaneId,
    runs: Vec<OpenRun>,
}

/// A pane with the run that it shows.
#[derive(Clone, Copy, Debug)]
struct PlacedPane {
    pane: PaneId,
    document: DocumentId,
    minus: Option<HeadRef>,
    linked: bool,
    head: HeadId,
}

/// A run, and what belongs to it as long as others are open.
#[derive(Clone, Copy, Debug)]
struct OpenRun {
    id: DocumentId,
    plain: Option<DocumentId>,
    has_corpus: bool,
    /// Steps of its own behind it.
    n_steps: usize,
    loading: Option<JobId>,
}

impl Arrangement {
    pub fn of(panes: &Panes, documents: &Documents) -> Self {
        let place = |pane: &Pane| {
            let Pane { id, document, minus, linked, .. } = *pane;
            PlacedPane { pane: id, document, minus, linked, head: pane.selection.head }
        };
        let run = |document: &Document| OpenRun {
            id: document.id,
            plain: document.plain,
            has_corpus: document.corpus.is_some(),
            n_steps: document.n_steps(),
            loading: document.model.job(),
        };
        Self {
            rows: panes.rows().map(|row| row.iter().map(place).collect()).collect(),
            active: panes.active_id(),
            runs: documents.iter().map(run).collect(),
        }
    }

    fn places(&self) -> impl Iterator<Item = &PlacedPane> {
        self.rows.iter().flatten()
    }

    fn place(&self, pane: PaneId) -> Option<&PlacedPane> {
        self.places().find(|place| place.pane == pane)
    }

    fn run(&self, id: DocumentId) -> Option<&OpenRun> {
        self.runs.iter().find(|run| run.id == id)
    }

    /// Whether the same panes stand in the same rows, and the same runs are open.
    fn is_as(&self, other: &Self) -> bool {
        let panes = |it: &Self| -> Vec<Vec<PaneId>> {
            it.rows.iter().map(|row| row.iter().map(|place| place.pane).collect()).collect()
        };
        panes(self) == panes(other) && self.runs.iter().map(|run| run.id).eq(other.runs.iter().map(|run| run.id))
    }
}

/// What one command opened and closed.
#[derive(Debug)]
struct ArrangementStep {
    before: Arrangement,
    after: Arrangement,
    /// The run of which it is part of a step, as with the first change.
    with: Option<DocumentId>,
    /// The panes and runs that are there on its other side alone; runs with their places.
    panes: Vec<Pane>,
    runs: Vec<(usize, Document)>,
}

impl ArrangementStep {
    /// Steps that lay behind a run before this one.
    fn steps_before(&self, document: &Document) -> usize {
        self.before.run(document.id).or_else(|| self.after.run(document.id)).map_or(0, |run| run.n_steps)
    }
}

/// The next step of undo or redo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// Of a run alone.
    Run(DocumentId),
    /// Of panes alone.
    Panes,
    /// Of a run and of the panes that come and go with it.
    Both(DocumentId),
}

/// The steps around the current arrangement.
#[derive(Debug, Default)]
pub(super) struct Arrangements {
    past: Vec<ArrangementStep>,
    future: Vec<ArrangementStep>,
}

impl Arrangements {
    /// Takes note of what a command has opened and closed, if it has.
    pub fn record(&mut self, before: Arrangement, panes: &mut Panes, documents: &mut Documents) {
        let after = Arrangement::of(panes, documents);
        let closed = (std::mem::take(&mut panes.closed), std::mem::take(&mut documents.closed));
        if before.is_as(&after) {
            return;
        }
        // Of another session.
        if !before.runs.iter().any(|run| documents.find(run.id).is_some()) {
            return *self = Self::default();
        }
        self.end_redo();
        let steps = |run: &&OpenRun| {
            let loads = |now: &Document| now.model.is_pending() && now.model.job() != run.loading;
            documents.find(run.id).is_some_and(|now| now.n_steps() > run.n_steps || loads(now))
        };
        let with = before.runs.iter().find(steps).map(|run| run.id);
        self.past.push(ArrangementStep { before, after, with, panes: closed.0, runs: closed.1 });
        let n_runs = |past: &[ArrangementStep]| past.iter().map(|step| step.runs.len()).sum::<usize>();
        while self.past.len() > MAX_STEPS || n_runs(&self.past) > MAX_RUNS {
            self.past.remove(0);
        }
    }

    /// Something else was done than what was undone.
    pub fn end_redo(&mut self) {
        self.future.clear();
    }

    /// What is undone, or done again, next where the steps of `document` are; `None` where nothing is.
    pub fn next(&self, backwards: bool, document: &Document, documents: &Documents) -> Option<Turn> {
        let steps = |document: &Document| if backwards { document.can_undo() } else { document.can_redo() };
        let own = steps(document).then_some(Turn::Run(document.id));
        let Some(step) = (if backwards { self.past.last() } else { self.future.last() }) else { return own };
        // Whether the document has been taken no further than to this step.
        let then = step.steps_before(document);
        let is_next = if backwards { document.n_steps() <= then } else { document.n_steps() >= then };
        let Some(with) = step.with.and_then(|with| documents.find(with)) else {
            return if is_next || own.is_none() { Some(Turn::Panes) } else { own };
        };
        let is_own = with.id == document.id;
        let is_at = with.n_steps() == step.steps_before(with) + usize::from(backwards);
        if is_at && steps(with) && (is_own || is_next || own.is_none()) {
            return Some(Turn::Both(with.id));
        }
        // A run that was asked for, and failed, is no step.
        let is_alone = backwards && with.n_steps() <= step.steps_before(with) && is_next;
        if is_alone { Some(Turn::Panes) } else { own }
    }

    /// Opens what was closed and closes what was opened; gives the runs that are open again.
    pub fn travel(
        &mut self,
        backwards: bool,
        panes: &mut Panes,
        documents: &mut Documents,
    ) -> (Vec<Effect>, Vec<DocumentId>) {
        let (from, to) =
            if backwards { (&mut self.past, &mut self.future) } else { (&mut self.future, &mut self.past) };
        let Some(mut step) = from.pop() else { return (Vec::new(), Vec::new()) };
        let (here, there) = if backwards { (&step.after, &step.before) } else { (&step.before, &step.after) };
        let opened: Vec<DocumentId> = step.runs.iter().map(|(_, document)| document.id).collect();
        documents.reopen(std::mem::take(&mut step.runs));
        let mut effects = panes.arrange((here, there), std::mem::take(&mut step.panes), documents);
        for run in here.runs.iter().filter(|run| there.run(run.id).is_none()) {
            effects.extend(panes.close_document(run.id, None, documents));
        }
        for run in &there.runs {
            effects.extend(documents.put_back(*run, &opened));
        }
        (step.panes, step.runs) = (std::mem::take(&mut panes.closed), std::mem::take(&mut documents.closed));
        to.push(step);
        (effects, opened)
    }
}

impl Document {
    /// How many steps of its own lie behind it.
    pub(super) fn n_steps(&self) -> usize {
        self.undo.depth() + self.corpus.as_deref().map_or(0, |corpus| corpus.n_removed().1)
    }

    /// Waits for nothing any more, to be kept until it is opened again.
    pub(super) fn rest(&mut self) {
        self.model.cancel();
        self.capture.cancel();
        self.second_opinion.cancel();
        self.timing.cancel();
        self.outcomes.cancel();
        if let Some(corpus) = self.corpus.as_deref_mut() {
            corpus.is_owed |= corpus.data.is_pending();
            corpus.data.cancel();
            corpus.debate.cancel();
            corpus.studies = corpus.studies.settled();
        }
    }
}

impl Documents {
    /// Opens runs again where they were. A model that was let go of since is no longer theirs.
    fn reopen(&mut self, closed: Vec<(usize, Document)>) {
        let held = self.models();
        for (place, mut document) in closed.into_iter().rev() {
            if document.models().any(|model| !held.contains(&model)) {
                document.model = Loadable::Empty;
            }
            self.insert(place, document);
        }
    }

    /// Gives a run what belongs to it beside the others that are open now: a corpus is with the run that had it.
    fn put_back(&mut self, run: OpenRun, opened: &[DocumentId]) -> Vec<Effect> {
        let source = |it: &Document| it.corpus.as_ref().map(|corpus| corpus.source.clone());
        let returned: Vec<_> = opened.iter().filter_map(|id| self.find(*id).and_then(source)).collect();
        let closed = self.closed.iter().find_map(|(_, closed)| closed.corpus.as_ref()).map(|corpus| corpus.copy());
        let Some(document) = self.find_mut(run.id) else { return Vec::new() };
        document.plain = run.plain;
        match source(document) {
            None if run.has_corpus => document.corpus = closed.map(Box::new),
            Some(source) if !run.has_corpus && returned.contains(&source) => return document.close_corpus(),
            None | Some(_) => {}
        }
        Vec::new()
    }
}

impl Panes {
    /// Puts the panes where they stand `there`, from where they stand `here`.
    fn arrange(
        &mut self,
        (here, there): (&Arrangement, &Arrangement),
        closed: Vec<Pane>,
        documents: &Documents,
    ) -> Vec<Effect> {
        let gone = here.places().filter(|place| there.place(place.pane).is_none());
        let effects: Vec<Effect> = gone.flat_map(|place| self.stop(place.pane)).collect();
        let mut all: Vec<Pane> = std::mem::take(&mut self.rows).into_iter().flatten().chain(closed).collect();
        let mut take = |place: &PlacedPane| {
            let at = all.iter().position(|pane| pane.id == place.pane)?;
            Some(all.swap_remove(at))
        };
        let rows = there.rows.iter().map(|row| row.iter().filter_map(&mut take).collect::<Vec<Pane>>());
        self.rows = rows.filter(|row| !row.is_empty()).collect();
        self.closed = all;
        self.activate(there.active);
        for place in there.places() {
            let was = here.place(place.pane);
            let moved = was.is_some_and(|was| was.document != place.document);
            // A head that the step has led elsewhere, and nobody since.
            if let Some(pane) =
                self.get(place.pane).filter(|pane| was.is_some_and(|was| was.head == pane.selection.head))
            {
                self.change(pane.id, documents, |pane, document| pane.select(document, place.head));
            }
            let is_lost = |pane: &Pane| documents.find(pane.document).is_none();
            let Some(pane) = self.get_mut(place.pane).filter(|pane| moved || is_lost(pane)) else { continue };
            let before = documents.find(pane.document).and_then(Document::latest_capture).cloned();
            (pane.document, pane.minus, pane.linked) = (place.document, place.minus, place.linked);
            self.change(place.pane, documents, |pane, document| pane.adopt(document, before.as_deref()));
        }
        effects
    }

    /// Stops what a pane that is about to be closed waits for.
    pub(super) fn stop(&mut self, id: PaneId) -> Vec<Effect> {
        let asked: Vec<Lane> = self.get(id).map(Pane::asked_lanes).unwrap_or_default();
        let left = self.leave_projection(id);
        if let Some(pane) = self.get_mut(id) {
            pane.explanations.let_go();
            pane.surveys.let_go();
        }
        asked.into_iter().map(Effect::Cancel).chain(left).collect()
    }
}
