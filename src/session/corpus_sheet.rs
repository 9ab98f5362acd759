//! What is asked before a corpus from a file is run: which column, sentences or not, which layers.

use std::{path::PathBuf, sync::Arc};

use super::{Document, Effect, Loadable, Session};
use crate::{
    corpus::list::ListOptions,
    ids::{DocumentId, JobId, ModelId},
    protocol::{CorpusLook, CorpusOptions, CorpusOrder, CorpusSource, EventKind, Lane, ModelSource, Request},
};

/// A corpus about to be opened.
#[derive(Clone, Debug)]
pub struct CorpusSheet {
    pub document: DocumentId,
    pub path: PathBuf,
    pub list: ListOptions,
    pub options: CorpusOptions,
    pub look: Loadable<Arc<CorpusLook>>,
}

impl CorpusSheet {
    /// What there is to choose; `None` before that is known.
    pub fn shown(&self) -> Option<&Arc<CorpusLook>> {
        self.look.latest().filter(|look| look.has_choice)
    }

    fn source(&self) -> CorpusSource {
        CorpusSource::Path { path: self.path.clone(), list: self.list.clone() }
    }
}

impl Session {
    /// Looks at a file before it is run, with a bundled model if there is none; where there is nothing to choose it is
    /// run at once.
    pub(super) fn choose_corpus(&mut self, document: DocumentId, path: PathBuf) -> Vec<Effect> {
        self.corpus_dialog = None;
        let (list, options) = (ListOptions::default(), CorpusOptions::default());
        self.corpus_sheet = Some(CorpusSheet { document, path, list, options, look: Loadable::Empty });
        let mut effects = self.look_at_corpus();
        if !self.find_document(document).is_some_and(has_model) && self.document().id == document {
            effects.extend(self.load(ModelSource::Bundled("demo:bert".to_owned())));
        }
        effects
    }

    /// A document has another model now: what it takes of a corpus that is about to be opened is something else.
    pub(super) fn look_again(&mut self, document: DocumentId) -> Vec<Effect> {
        let is_open = self.corpus_sheet.as_ref().is_some_and(|sheet| sheet.document == document);
        if is_open { self.look_at_corpus() } else { Vec::new() }
    }

    /// Chooses otherwise: what it will take is found out anew.
    pub(super) fn set_corpus_sheet(&mut self, list: ListOptions, options: CorpusOptions) -> Vec<Effect> {
        let Some(sheet) = &mut self.corpus_sheet else { return Vec::new() };
        if (&sheet.list, &sheet.options) == (&list, &options) {
            return Vec::new();
        }
        (sheet.list, sheet.options) = (list, options);
        self.look_at_corpus()
    }

    pub(super) fn close_corpus_sheet(&mut self) -> Vec<Effect> {
        let looks = self.corpus_sheet.take().is_some_and(|sheet| sheet.look.is_pending());
        if looks { vec![Effect::Cancel(Lane::Look)] } else { Vec::new() }
    }

    /// Runs what was chosen.
    pub(super) fn run_corpus_sheet(&mut self) -> Vec<Effect> {
        let Some(sheet) = self.corpus_sheet.clone() else { return Vec::new() };
        let mut effects = self.close_corpus_sheet();
        effects.extend(self.open_corpus(sheet.document, sheet.source(), sheet.options));
        effects
    }

    fn look_at_corpus(&mut self) -> Vec<Effect> {
        let job = self.new_job();
        let Some(sheet) = &mut self.corpus_sheet else { return Vec::new() };
        sheet.look.start(job);
        let (document, source, options) = (sheet.document, sheet.source(), sheet.options.clone());
        let model = self.find_document(document).and_then(|document| document.model.latest()).map(|model| model.id);
        let order = CorpusOrder::new(document, model.unwrap_or(ModelId(0)), source, options);
        vec![Effect::Submit(job, Request::LookAtCorpus(Box::new(order)))]
    }

    pub(super) fn is_look_job(&self, job: JobId) -> bool {
        self.corpus_sheet.as_ref().is_some_and(|sheet| sheet.look.job() == Some(job))
    }

    pub(super) fn on_look_event(&mut self, kind: EventKind) -> Vec<Effect> {
        let Some(sheet) = &mut self.corpus_sheet else { return Vec::new() };
        match kind {
            EventKind::CorpusLooked(look) => {
                let is_first = sheet.look.latest().is_none();
                if is_first && !look.has_choice {
                    return self.run_corpus_sheet();
                }
                // Without a model, or without room, there is nothing to wait for.
                if look.secs.is_some() || look.plan.as_ref().is_none_or(|plan| plan.n_fit.is_some()) {
                    sheet.look = Loadable::Ready(look);
                } else {
                    sheet.look.improve(look);
                }
            }
            // Where the corpus stands it is said again, with what to do about it.
            EventKind::Failed(_) if sheet.look.latest().is_none() => return self.run_corpus_sheet(),
            EventKind::Failed(failure) => sheet.look.fail(failure),
            EventKind::Cancelled => sheet.look.cancel(),
            _ => {}
        }
        Vec::new()
    }
}

fn has_model(document: &Document) -> bool {
    document.model.latest().is_some() || document.model.is_pending()
}
