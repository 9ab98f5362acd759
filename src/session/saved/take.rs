//! From a running session to one that can be written down.

use std::path::Path;

use super::{ImageRef, ModelRef, Saved, SavedCorpus, SavedDocument, SavedHead, SavedPane, changes};
use crate::{
    corpus::list::{ListOptions, Split},
    ids::DocumentId,
    protocol::CorpusSource,
    session::{Document, HeadSet, OpenCorpus, Pane, Session, gallery::EXAMPLES},
};

/// Heads of a layer that a selection can tell apart.
const MAX_HEADS: usize = 128;

impl Session {
    /// What is shown, as it can be written down.
    pub fn saved(&self) -> Saved {
        let (mut corpora, mut pictures) = (Vec::new(), Vec::new());
        let documents = self.documents.iter().map(|document| {
            let image = document.experiment.image.as_ref().and_then(|image| ImageRef::new(image, &mut pictures));
            SavedDocument { image, ..self.saved_document(document, &mut corpora) }
        });
        let documents = documents.collect();
        let rows = self.panes.rows().enumerate();
        let panes = rows.flat_map(|(row, panes)| panes.iter().map(move |pane| self.saved_pane(row, pane))).collect();
        Saved {
            documents,
            panes,
            corpora,
            pictures,
            bookmarks: self.keeping.bookmarks.clone(),
            notes: self.keeping.notes.clone(),
            saved_as: None,
            unknown: self.keeping.unknown.clone(),
        }
    }

    /// What of the session cannot be written down, in words.
    pub(in crate::session) fn unwritten(&self) -> Vec<&'static str> {
        let experiments = || self.documents.iter().map(|document| &document.experiment);
        let mut sentences = Vec::new();
        let mut pictures = Vec::new();
        if experiments().filter_map(|it| it.image.as_ref()).any(|image| ImageRef::new(image, &mut pictures).is_none()) {
            sentences.push(
                "The session leaves out pasted pictures, because they take more than 5 MB together: save them as \
                files and open those",
            );
        }
        if self.panes.iter().any(|pane| pane.overlay.is_some()) {
            sentences.push(
                "The session does not keep results of Explain that are shown in place of attention; it \
                opens with attention",
            );
        }
        if experiments().flat_map(|it| &it.changes).any(|change| !changes::is_written(&change.edit)) {
            sentences.push(
                "The session leaves out changes that take their values from your own corpus or from a \
                pasted picture",
            );
        }
        sentences
    }

    fn place_of(&self, id: DocumentId) -> Option<usize> {
        self.documents.iter().position(|document| document.id == id)
    }

    fn saved_document(&self, document: &Document, corpora: &mut Vec<SavedCorpus>) -> SavedDocument {
        let experiment = &document.experiment;
        // One whose model is not found keeps the reference to it.
        let expected = document.expected.as_ref().map(|expected| &expected.model);
        let model = experiment.model.as_ref().and_then(|source| {
            let loaded = document.model.latest().filter(|model| model.source == *source);
            let known = expected.filter(|model| model.source() == *source);
            let config = known.and_then(|model| model.config.clone());
            ModelRef::new(source, config.or_else(|| loaded.and_then(|model| model.config.clone())))
        });
        let corpus = document.corpus.as_deref().and_then(saved_corpus).map(|corpus| {
            corpora.push(corpus);
            corpora.len() - 1
        });
        SavedDocument {
            model: model.or_else(|| expected.cloned()),
            text: experiment.text.clone(),
            excerpt: experiment.excerpt,
            text_b: experiment.text_b.clone(),
            target: experiment.target.clone(),
            writing: experiment.writing,
            continued: experiment.continued,
            changes: experiment.changes.clone(),
            capture: document.opened.as_ref().and_then(|file| text_of(&file.path)),
            input: document.shown_input().unwrap_or(0),
            corpus,
            corpus_input: document.corpus_input,
            plain: document.plain.and_then(|plain| self.place_of(plain)),
            example: document.example.and_then(|idx| EXAMPLES.get(idx)).map(|example| example.title.to_owned()),
            unknown: document.unknown.clone(),
            ..SavedDocument::default()
        }
    }

    fn saved_pane(&self, row: usize, pane: &Pane) -> SavedPane {
        let selection = &pane.selection;
        let head = selection.head;
        let on = selection.heads_on();
        let mut options = pane.options.clone();
        let mut target = options.lab.target;
        // What waits for its input is as it was written down.
        if let Some(returning) = &pane.returning {
            (options.reading, target) = (returning.reading.clone(), returning.target);
        }
        SavedPane {
            row,
            active: pane.id == self.panes.active_id(),
            document: self.place_of(pane.document).unwrap_or(0),
            view: pane.view,
            stack: head.stack,
            layer: head.layer,
            head: head.head,
            heads_on: (on != HeadSet::ALL).then(|| on.iter(MAX_HEADS).collect()),
            query: selection.pinned.query,
            key: selection.pinned.key,
            is_final: selection.is_final,
            minus: pane.minus.and_then(|minus| {
                let document = self.place_of(minus.document)?;
                Some(SavedHead { document, stack: minus.head.stack, layer: minus.head.layer, head: minus.head.head })
            }),
            linked: pane.linked,
            search: pane.search.clone(),
            target: target.into(),
            options,
            unknown: pane.unknown.clone(),
        }
    }
}

fn saved_corpus(corpus: &OpenCorpus) -> Option<SavedCorpus> {
    let (path, lines, list) = match &corpus.source {
        CorpusSource::Path { path, list } => (Some(text_of(path)?), None, list.clone()),
        CorpusSource::Lines(lines) => (None, Some(lines.to_string()), ListOptions::default()),
        CorpusSource::Captures(file) => (Some(text_of(&file.path)?), None, ListOptions::default()),
    };
    let options = &corpus.options;
    Some(SavedCorpus {
        path,
        lines,
        text_column: list.text_column,
        sentences: list.split == Split::Sentences,
        first: options.first,
        layers: options.layers.clone(),
        values: options.kept.values,
        residual: options.kept.residual,
        filter: corpus.filter.clone(),
        removed: corpus.removed().collect(),
        unknown: corpus.unknown.clone(),
    })
}

fn text_of(path: &Path) -> Option<String> {
    path.to_str().map(str::to_owned)
}
