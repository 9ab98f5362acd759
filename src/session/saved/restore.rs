//! From what was written down to a running session: models are opened, inputs run and corpora gone through again.

use std::{path::PathBuf, sync::Arc};

use super::{ModelRef, Saved, SavedCorpus, SavedDocument, SavedPane};
use crate::{
    analysis::{by_hand::Numbers, timing::Timing},
    ids::{DocumentId, HeadId, PaneId},
    protocol::ModelSource,
    session::{
        Document, Documents, Effect, Experiment, Focus, HeadRef, Loadable, Only, OpenCorpus, Pane, Panes,
        PendingSelection, Question,
        document::{Behind, Expected},
        gallery::EXAMPLES,
        pane::Returning,
    },
};

impl Documents {
    /// Shows what was written down instead of what is open; gives the numbers, in order.
    pub(in crate::session) fn restore(&mut self, saved: &Saved) -> Vec<DocumentId> {
        self.replace(saved.documents.len(), |nth, id_of| {
            let written = &saved.documents[nth];
            let corpus = written.corpus.and_then(|nth| saved.corpora.get(nth)).map(corpus);
            let mut document = document(written, id_of(nth));
            document.experiment.image = written.image.as_ref().and_then(|image| image.source(&saved.pictures));
            Document { plain: written.plain.map(id_of), corpus, ..document }
        });
        self.iter().map(|document| document.id).collect()
    }
}

impl Panes {
    /// Shows what was written down, of these documents.
    pub(in crate::session) fn restore(&mut self, saved: Vec<SavedPane>, documents: &[DocumentId]) {
        // A document that is not there is none that a pane can show.
        let id_of = |nth: usize| documents.get(nth).copied().unwrap_or_default();
        let next_pane = self.next_id() + 1;
        let saved = if saved.is_empty() { vec![SavedPane::default()] } else { saved };
        let rows = saved.into_iter().zip(next_pane..).map(|(saved, id)| {
            let minus = saved.minus.map(|minus| HeadRef {
                document: id_of(minus.document),
                head: HeadId { stack: minus.stack, layer: minus.layer, head: minus.head },
            });
            let against = saved.against.map(id_of);
            let (row, is_active) = (saved.row, saved.active);
            (row, is_active, Pane { minus, against, ..pane(saved, PaneId(id), id_of) })
        });
        *self = Self::of_rows(rows.collect());
    }

    /// Stops all that panes wait for.
    pub(in crate::session) fn stop_all(&mut self) -> Vec<Effect> {
        let panes: Vec<PaneId> = self.iter().map(|pane| pane.id).collect();
        let mut effects: Vec<Effect> = panes.iter().filter_map(|pane| self.leave_projection(*pane)).collect();
        effects.extend(self.iter().flat_map(Pane::asked_lanes).map(Effect::Cancel));
        effects
    }
}

impl Document {
    /// Whether the model that it had beside the capture file that it shows now is to be read, and which.
    pub(in crate::session) fn model_behind(&mut self) -> Option<ModelSource> {
        if self.behind != Behind::Owed {
            return None;
        }
        let source = self.expected.as_ref().map(|expected| expected.model.source());
        self.behind = if source.is_some() { Behind::Coming } else { Behind::Nothing };
        source
    }
}

impl SavedDocument {
    /// What has to be opened for it: its capture file, or its model, which other documents may have as well.
    pub(in crate::session) fn opens(&self) -> Option<Opens> {
        if let Some(numbers) = &self.numbers {
            return Some(Opens::Numbers(numbers.clone()));
        }
        match &self.capture {
            Some(capture) => Some(Opens::Capture(ModelSource::Path(PathBuf::from(capture)))),
            None => self.model.as_ref().map(|model| Opens::Model(model.source())),
        }
    }
}

/// What is opened for a document of a session.
#[derive(Debug)]
pub(in crate::session) enum Opens {
    Capture(ModelSource),
    Numbers(Box<Numbers>),
    Model(ModelSource),
}

/// Times that were measured, where they can be times.
fn timing(saved: &SavedDocument) -> Loadable<Arc<Timing>> {
    let timing = saved.timing.clone().filter(Timing::is_sound);
    timing.map_or(Loadable::Empty, |timing| Loadable::Ready(Arc::new(timing)))
}

/// A document before anything of it was opened; what it has of others is for the caller to say.
fn document(saved: &SavedDocument, id: DocumentId) -> Document {
    let experiment = Experiment {
        model: saved.model.as_ref().map(ModelRef::source),
        text: saved.text.clone(),
        excerpt: saved.excerpt,
        brackets: saved.brackets,
        chat: saved.chat,
        system: saved.system.clone(),
        text_b: saved.text_b.clone(),
        target: saved.target.clone(),
        image: None,
        writing: saved.writing,
        continued: saved.continued,
        begun: saved.begun.clone(),
        changes: saved.changes.clone(),
    };
    let example = saved.example.as_ref().and_then(|title| EXAMPLES.iter().position(|it| it.title == title));
    Document {
        checkpoint_then: saved.checkpoint.clone(),
        timing: timing(saved),
        expected: saved.model.clone().map(|model| Expected { model, found_at: None }),
        input_owed: saved.capture.is_some().then_some(saved.input),
        behind: if saved.capture.is_some() || saved.numbers.is_some() { Behind::Owed } else { Behind::Nothing },
        corpus_input: saved.corpus_input,
        example,
        unknown: saved.unknown.clone(),
        ..Document::new(id, experiment)
    }
}

fn corpus(saved: &SavedCorpus) -> Box<OpenCorpus> {
    let mut corpus = OpenCorpus::new(saved.source(), saved.options());
    corpus.is_owed = true;
    corpus.filter.clone_from(&saved.filter);
    if saved.asked {
        corpus.question = Question::Asked(saved.label_column.clone());
    }
    corpus.only = if saved.wrong_only { Only::Wrong } else { Only::All };
    corpus.take_out_again(saved.removed.iter().copied());
    corpus.unknown.clone_from(&saved.unknown);
    Box::new(corpus)
}

fn pane(saved: SavedPane, id: PaneId, id_of: impl Fn(usize) -> DocumentId) -> Pane {
    let mut pane = Pane::new(id, id_of(saved.document), saved.options.clone());
    pane.view = saved.view;
    pane.selection.head = saved.head();
    pane.selection.draw(saved.heads_on());
    pane.selection.pinned = Focus { query: saved.query, key: saved.key };
    pane.selection.is_final = saved.is_final;
    pane.linked = saved.linked;
    pane.search = saved.search;
    // The selection stands; only what the first capture of a document would decide anew has to wait for it.
    pane.pending =
        Some(PendingSelection { view: Some(saved.view), layer: Some(saved.layer), ..PendingSelection::default() });
    let reading = saved.options.reading;
    pane.returning = Some(Box::new(Returning { reading, target: saved.target.into() }));
    pane.projection = Loadable::Empty;
    pane.unknown = saved.unknown;
    pane
}
