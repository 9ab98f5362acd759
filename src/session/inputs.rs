//! Capture files and the inputs in them: which one is shown, and how to get to the others.

use std::collections::BTreeSet;

use super::{Effect, Session};
use crate::{
    ids::{DocumentId, PaneId},
    protocol::{CaptureFile, Lane},
};

impl Session {
    /// Shows the first input of a file. The model stays for the next run.
    pub(super) fn open_file(&mut self, id: DocumentId, file: CaptureFile) -> Vec<Effect> {
        let owed = self.find_document_mut(id).and_then(|document| document.input_owed.take());
        let owed = owed.and_then(|idx| file.captures.get(idx));
        let Some(first) = owed.or_else(|| file.captures.first()).cloned() else { return Vec::new() };
        let stop = self.stop_run(id);
        // Inputs of one file have much the same to say about themselves.
        let notes: BTreeSet<_> = file.captures.iter().flat_map(|capture| capture.notes()).collect();
        for note in notes {
            self.inform(note.clone(), String::new());
        }
        if let Some(document) = self.find_document_mut(id) {
            (document.opened, document.made) = (Some(file), None);
        }
        self.show(id, first);
        if let Some(document) = self.find_document(id).filter(|document| !document.experiment.edits().is_empty()) {
            let reason = document.unchangeable().unwrap_or_default().to_owned();
            self.inform(reason, String::new());
        }
        stop
    }

    /// Shows another input of the file that is opened in a pane.
    pub(super) fn select_input(&mut self, pane: PaneId, idx: usize) -> Vec<Effect> {
        let Some(document) = self.panes.get(pane).map(|pane| self.document_of(pane)) else { return Vec::new() };
        let Some(capture) = document.opened.as_ref().and_then(|file| file.captures.get(idx)).cloned() else {
            return Vec::new();
        };
        let id = document.id;
        let of_corpus = document.corpus.as_ref().and_then(|corpus| corpus.data.latest()?.file.as_ref());
        let corpus_input = (of_corpus.is_some() && of_corpus == document.opened.as_ref()).then_some(idx);
        if let Some(document) = self.find_document_mut(id) {
            document.corpus_input = corpus_input;
        }
        let stop = self.stop_run(id);
        self.show(id, capture);
        stop
    }

    /// Shows the next input of the opened file or the one before; after the last comes the first.
    pub(super) fn step_input(&mut self, backwards: bool) -> Vec<Effect> {
        let document = self.document();
        let Some((idx, n)) = document.shown_input().zip(document.opened.as_ref().map(|file| file.captures.len()))
        else {
            return Vec::new();
        };
        self.select_input(self.panes.active_id(), if backwards { (idx + n - 1) % n } else { (idx + 1) % n })
    }

    /// A run on its way would replace what was chosen just now.
    fn stop_run(&self, id: DocumentId) -> Vec<Effect> {
        let runs = self.find_document(id).is_some_and(|document| document.capture.is_pending());
        if runs { vec![Effect::Cancel(Lane::Run(id))] } else { Vec::new() }
    }
}
