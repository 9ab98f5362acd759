//! Undo and redo: what was run before is run again, and what was taken out of a corpus comes back.

use super::Document;
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
