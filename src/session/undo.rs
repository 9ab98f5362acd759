//! Undo and redo: what was run before is run again, and what was taken out of a corpus comes back.

use super::{Document, Effect, Session, arrangement::Turn};
use crate::protocol::ModelSource;

/// What has to be done for the experiment that a document went back or forward to.
#[derive(Debug)]
pub(super) struct UndoStep {
    /// It has none, where there were some.
    pub loses_changes: bool,
    /// The model that has to be opened for it; where there is none, it is run.
    pub opens: Option<ModelSource>,
}

impl Document {
    /// Goes to the experiment that was run before the current one, or after it; `None` where nothing is left to do.
    pub(super) fn step_back(&mut self, backwards: bool) -> Option<UndoStep> {
        let depth = self.undo.depth();
        // What was taken out of a corpus since the last run comes back first.
        if self.corpus.as_deref_mut().is_some_and(|corpus| corpus.undo(backwards, depth)) {
            return None;
        }
        let experiment = self.undo.travel(backwards)?;
        let loaded = self.model.latest().map(|model| model.source.clone());
        self.example = None;
        self.corpus_input = None;
        let (had_changes, has_changes) = (!self.experiment.changes.is_empty(), !experiment.changes.is_empty());
        let (source, is_loading) = (experiment.model.clone(), self.model.is_pending());
        self.experiment = experiment;
        self.drag = None;
        let opens = source.filter(|source| loaded.as_ref() != Some(source) || is_loading);
        Some(UndoStep { loses_changes: had_changes && !has_changes, opens })
    }
}

impl Session {
    /// Takes back what was done last, or does it again: a run, what was taken out of a corpus, or what was opened and closed.
    pub(super) fn undo(&mut self, backwards: bool) -> Vec<Effect> {
        if self.document().can_step_numbers(backwards) {
            let id = self.document().id;
            let Self { documents, panes, notices, .. } = self;
            return panes.step_numbers(id, backwards, documents, notices);
        }
        let Some(turn) = self.next_turn(backwards) else { return Vec::new() };
        let run = match turn {
            Turn::Run(id) | Turn::Both(id) => Some(id),
            Turn::Panes => None,
        };
        let step = run.and_then(|id| Some((id, self.documents.find_mut(id)?.step_back(backwards)?)));
        let mut effects = match (turn, &step) {
            (Turn::Panes | Turn::Both(_), _) => self.arrange(backwards),
            // Steps so far back that their panes are forgotten.
            (Turn::Run(id), Some((_, step))) if step.loses_changes => {
                let effects = self.panes.close_plain(id, &mut self.documents);
                (self.panes.closed, self.documents.closed) = (Vec::new(), Vec::new());
                effects
            }
            (Turn::Run(_), _) => Vec::new(),
        };
        if let Some((id, step)) = step {
            effects.extend(match step.opens {
                Some(source) => self.load_wanted(id, source),
                None => self.run_document(id),
            });
        }
        effects
    }

    /// Opens what was closed and closes what was opened, as a step of undo or redo.
    fn arrange(&mut self, backwards: bool) -> Vec<Effect> {
        let looked_at = self.panes.active_id();
        let (mut effects, opened) = self.arrangements.travel(backwards, &mut self.panes, &mut self.documents);
        // What comes back beside the pane that was looked at follows that.
        let active = self.panes.active_id();
        self.panes.activate(looked_at);
        self.panes.share_head(&self.documents);
        self.alignments.share(&mut self.panes, &self.documents);
        self.panes.activate(active);
        for id in opened {
            let Some(document) = self.documents.find_mut(id) else { continue };
            let model = document.experiment.model.clone().filter(|_| document.opened.is_none());
            effects.extend(match model.filter(|_| document.model.latest().is_none()) {
                Some(model) => self.load_in(id, model),
                None if document.stale().is_some() || document.latest_capture().is_none() => self.run_document(id),
                None => Vec::new(),
            });
            if let Some(document) = self.documents.find_mut(id) {
                let goes_on = document.corpus.as_ref().is_some_and(|corpus| corpus.is_waiting());
                effects.extend(if goes_on { document.start_corpus(self.jobs.next()) } else { None });
            }
        }
        effects
    }
}
