//! From what was written down to a running session: models are opened, inputs run and corpora gone through again.

use std::path::PathBuf;

use super::{ModelRef, Saved, SavedCorpus, SavedDocument, SavedPane};
use crate::{
    ids::{DocumentId, HeadId, PaneId},
    protocol::{Lane, ModelSource},
    session::{
        Document, Effect, Experiment, Focus, HeadRef, Loadable, OpenCorpus, Pane, Panes, PendingSelection, Session,
        document::{Behind, Expected},
        gallery::EXAMPLES,
        pane::Returning,
    },
};

impl Session {
    /// Shows what was written down instead of what is open.
    pub(in crate::session) fn open_saved(&mut self, saved: Saved) -> Vec<Effect> {
        let mut effects = self.leave_everything();
        let Saved { documents, panes, corpora, pictures, bookmarks, notes, unknown, .. } = saved;
        let first = self.next_document + 1;
        self.next_document += documents.len() as u64;
        let id_of = |nth: usize| DocumentId(first + nth as u64);
        self.documents = documents
            .iter()
            .enumerate()
            .map(|(nth, saved)| {
                let corpus = saved.corpus.and_then(|nth| corpora.get(nth)).map(corpus);
                let mut document = document(saved, id_of(nth));
                document.experiment.image = saved.image.as_ref().and_then(|image| image.source(&pictures));
                Document { plain: saved.plain.map(id_of), corpus, ..document }
            })
            .collect();
        let next_pane = self.panes.next_id() + 1;
        let panes = if panes.is_empty() { vec![SavedPane::default()] } else { panes };
        let rows = panes.into_iter().zip(next_pane..).map(|(saved, id)| {
            let minus = saved.minus.map(|minus| HeadRef {
                document: id_of(minus.document),
                head: HeadId { stack: minus.stack, layer: minus.layer, head: minus.head },
            });
            let (row, is_active) = (saved.row, saved.active);
            (row, is_active, Pane { minus, ..pane(saved, PaneId(id), id_of) })
        });
        self.panes = Panes::of_rows(rows.collect());
        (self.keeping.bookmarks, self.keeping.notes, self.keeping.unknown) = (bookmarks, notes, unknown);
        for (nth, saved) in documents.iter().enumerate() {
            effects.extend(self.begin(id_of(nth), saved));
        }
        effects
    }

    /// Shows what was written down, for whoever has no window.
    #[must_use]
    pub fn reopen(&mut self, saved: Saved) -> Vec<Effect> {
        self.open_saved(saved)
    }

    /// Stops all that runs for what is open.
    fn leave_everything(&mut self) -> Vec<Effect> {
        let panes: Vec<PaneId> = self.panes.iter().map(|pane| pane.id).collect();
        let mut effects: Vec<Effect> = panes.iter().filter_map(|pane| self.leave_projection(*pane)).collect();
        effects.extend(self.panes.iter().flat_map(Pane::asked_lanes).map(Effect::Cancel));
        let lanes = |document: &Document| [Lane::Load(document.id), Lane::Run(document.id), Lane::Corpus(document.id)];
        effects.extend(self.documents.iter().flat_map(lanes).map(Effect::Cancel));
        if let Some(sheet) = self.corpus_sheet.take().filter(|sheet| sheet.look.is_pending()) {
            effects.push(Effect::Cancel(Lane::Look));
            drop(sheet);
        }
        (self.corpus_dialog, self.figures.is_open) = (None, false);
        self.keeping.lost_models.clear();
        effects
    }

    /// Opens what a document shows.
    fn begin(&mut self, id: DocumentId, saved: &SavedDocument) -> Vec<Effect> {
        if let Some(capture) = &saved.capture {
            return self.load_in(id, ModelSource::Path(PathBuf::from(capture)));
        }
        saved.model.as_ref().map(|model| self.open_model(id, model.source())).unwrap_or_default()
    }

    /// Reads the model that a document had beside the capture file that it shows now.
    pub(in crate::session) fn load_behind(&mut self, id: DocumentId) -> Vec<Effect> {
        let Some(document) = self.find_document_mut(id).filter(|it| it.behind == Behind::Owed) else {
            return Vec::new();
        };
        let source = document.expected.as_ref().map(|expected| expected.model.source());
        document.behind = if source.is_some() { Behind::Coming } else { Behind::Nothing };
        source.map(|source| self.open_model(id, source)).unwrap_or_default()
    }

    /// Opens a model of the session; one that is on its way for another document is read once for all.
    fn open_model(&mut self, id: DocumentId, source: ModelSource) -> Vec<Effect> {
        let on_its_way = |other: &Document| {
            other.id != id && other.model.is_pending() && other.experiment.model.as_ref() == Some(&source)
        };
        if self.documents.iter().any(on_its_way) {
            if let Some(document) = self.find_document_mut(id) {
                (document.model_owed, document.experiment.model) = (true, Some(source));
            }
            return Vec::new();
        }
        self.load_in(id, source)
    }
}

/// A document before anything of it was opened; what it has of others is for the caller to say.
fn document(saved: &SavedDocument, id: DocumentId) -> Document {
    let experiment = Experiment {
        model: saved.model.as_ref().map(ModelRef::source),
        text: saved.text.clone(),
        excerpt: saved.excerpt,
        text_b: saved.text_b.clone(),
        target: saved.target.clone(),
        image: None,
        writing: saved.writing,
        continued: saved.continued,
        changes: saved.changes.clone(),
    };
    let example = saved.example.as_ref().and_then(|title| EXAMPLES.iter().position(|it| it.title == title));
    Document {
        expected: saved.model.clone().map(|model| Expected { model, found_at: None }),
        input_owed: saved.capture.is_some().then_some(saved.input),
        behind: if saved.capture.is_some() { Behind::Owed } else { Behind::Nothing },
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
