//! Undo and redo: what was run before is run again, and what was taken out of a corpus comes back.

use super::{Effect, Session};

impl Session {
    /// Goes to the experiment that was run before the current one, or after it.
    pub(super) fn undo(&mut self, backwards: bool) -> Vec<Effect> {
        let id = self.changing().id;
        let Some(document) = self.find_document_mut(id) else { return Vec::new() };
        let depth = document.undo.depth();
        // What was taken out of a corpus since the last run comes back first.
        if document.corpus.as_deref_mut().is_some_and(|corpus| corpus.undo(backwards, depth)) {
            return Vec::new();
        }
        let Some(experiment) = document.undo.travel(backwards) else { return Vec::new() };
        let loaded = document.model.latest().map(|model| model.source.clone());
        document.example = None;
        document.corpus_input = None;
        let (had_changes, has_changes) = (!document.experiment.changes.is_empty(), !experiment.changes.is_empty());
        let (source, is_loading) = (experiment.model.clone(), document.model.is_pending());
        document.experiment = experiment;
        document.drag = None;
        if has_changes && !had_changes {
            self.put_plain_beside(id);
        }
        match source {
            Some(source) if loaded.as_ref() != Some(&source) || is_loading => self.load_wanted(id, source),
            _ => self.run_document(id),
        }
    }
}
