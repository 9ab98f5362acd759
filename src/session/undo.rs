//! Undo and redo: what was run before is run again, and what was taken out of a corpus comes back.

use super::{Effect, Session};

impl Session {
    /// Goes to the experiment that was run before the current one, or after it.
    pub(super) fn undo(&mut self, backwards: bool) -> Vec<Effect> {
        let document = self.document_mut();
        let depth = document.undo.depth();
        // What was taken out of a corpus since the last run comes back first.
        if document.corpus.as_deref_mut().is_some_and(|corpus| corpus.undo(backwards, depth)) {
            return Vec::new();
        }
        let Some(experiment) = document.undo.travel(backwards) else { return Vec::new() };
        let loaded = document.model.latest().map(|model| model.source.clone());
        document.example = None;
        document.corpus_input = None;
        let (had_changes, id) = (!document.experiment.changes.is_empty(), document.id);
        document.experiment = experiment;
        if !had_changes && !self.document().experiment.changes.is_empty() {
            self.put_plain_beside(id);
        }
        let document = self.document();
        match document.experiment.model.clone() {
            Some(source) if loaded.as_ref() != Some(&source) || document.model.is_pending() => self.load(source),
            _ => self.run(),
        }
    }
}
