//! From a running session to one that can be written down.

use std::path::Path;

use super::{ImageRef, ModelRef, Saved, SavedCorpus, SavedDocument, SavedHead, SavedPane, changes};
use crate::{
    analysis::{by_hand::Numbers, timing::Timing},
    corpus::list::{ListOptions, Split},
    protocol::CorpusSource,
    session::{Document, Documents, HeadSet, Keeping, Only, OpenCorpus, Pane, Panes, Question, gallery::EXAMPLES},
};

/// Heads of a layer that a selection can tell apart.
const MAX_HEADS: usize = 128;

impl Saved {
    /// What is shown, as it can be written down.
    pub(in crate::session) fn of(documents: &Documents, panes: &Panes, keeping: &Keeping) -> Self {
        let (mut corpora, mut pictures) = (Vec::new(), Vec::new());
        let saved = documents.iter().map(|document| {
            let image = document.experiment.image.as_ref().and_then(|image| ImageRef::new(image, &mut pictures));
            SavedDocument { image, ..saved_document(document, documents, &mut corpora) }
        });
        let saved = saved.collect();
        let active = panes.active_id();
        let rows = panes.rows().enumerate();
        let pane = |row, pane: &Pane| SavedPane { active: pane.id == active, ..saved_pane(row, pane, documents) };
        let panes = rows.flat_map(|(row, panes)| panes.iter().map(move |it| pane(row, it))).collect();
        Self {
            documents: saved,
            panes,
            corpora,
            pictures,
            bookmarks: keeping.bookmarks.clone(),
            notes: keeping.notes.clone(),
            head_notes: keeping.head_notes.clone(),
            lecture: keeping.lecture,
            saved_as: None,
            unknown: keeping.unknown.clone(),
        }
    }

    /// What of a session cannot be written down, in words.
    pub(in crate::session) fn left_out(documents: &Documents, panes: &Panes) -> Vec<&'static str> {
        let experiments = || documents.iter().map(|document| &document.experiment);
        let mut sentences = Vec::new();
        let mut pictures = Vec::new();
        if experiments().filter_map(|it| it.image.as_ref()).any(|image| ImageRef::new(image, &mut pictures).is_none()) {
            sentences.push(
                "The session leaves out pasted pictures, because they take more than 5 MB together: save them as \
                files and open those",
            );
        }
        if panes.iter().any(|pane| pane.overlay.is_some()) {
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
}

fn saved_document(document: &Document, documents: &Documents, corpora: &mut Vec<SavedCorpus>) -> SavedDocument {
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
        checkpoint: document.checkpoint(),
        text: experiment.text.clone(),
        excerpt: experiment.excerpt,
        brackets: experiment.brackets,
        chat: experiment.chat,
        system: experiment.system.clone(),
        text_b: experiment.text_b.clone(),
        target: experiment.target.clone(),
        writing: experiment.writing,
        continued: experiment.continued,
        begun: experiment.begun.clone(),
        changes: experiment.changes.clone(),
        capture: document.opened.as_ref().filter(|file| file.numbers.is_none()).and_then(|file| text_of(&file.path)),
        numbers: document.numbers().map(|numbers| Box::new(Numbers::clone(numbers))),
        timing: document.timing.latest().map(|timing| Timing::clone(timing)),
        input: document.shown_input().unwrap_or(0),
        corpus,
        corpus_input: document.corpus_input,
        plain: document.plain.and_then(|plain| documents.place(plain)),
        example: document.example.and_then(|idx| EXAMPLES.get(idx)).map(|example| example.title.to_owned()),
        unknown: document.unknown.clone(),
        ..SavedDocument::default()
    }
}

fn saved_pane(row: usize, pane: &Pane, documents: &Documents) -> SavedPane {
    let selection = &pane.selection;
    let head = selection.head;
    let on = selection.heads_on();
    let mut options = pane.options.clone();
    let mut target = options.target;
    // What waits for its input is as it was written down.
    if let Some(returning) = &pane.returning {
        (options.reading, target) = (returning.reading.clone(), returning.target);
    }
    SavedPane {
        row,
        document: documents.place(pane.document).unwrap_or(0),
        view: pane.view,
        stack: head.stack,
        layer: head.layer,
        head: head.head,
        heads_on: (on != HeadSet::ALL).then(|| on.iter(MAX_HEADS).collect()),
        query: selection.pinned.query,
        key: selection.pinned.key,
        is_final: selection.is_final,
        minus: pane.minus.and_then(|minus| {
            let document = documents.place(minus.document)?;
            Some(SavedHead { document, stack: minus.head.stack, layer: minus.head.layer, head: minus.head.head })
        }),
        against: pane.against.and_then(|other| documents.place(other)),
        linked: pane.linked,
        search: pane.search.clone(),
        target: target.into(),
        options,
        unknown: pane.unknown.clone(),
        ..SavedPane::default()
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
        groups_column: list.groups_column,
        sentences: list.split == Split::Sentences,
        first: options.first,
        layers: options.layers.clone(),
        values: options.kept.values,
        residual: options.kept.residual,
        filter: corpus.filter.clone(),
        removed: corpus.removed().collect(),
        asked: corpus.question != Question::Nothing,
        label_column: corpus.label_column().map(ToOwned::to_owned),
        wrong_only: corpus.only == Only::Wrong,
        unknown: corpus.unknown.clone(),
    })
}

fn text_of(path: &Path) -> Option<String> {
    path.to_str().map(str::to_owned)
}
