//! Choices before a corpus from a file is run: its column, sentences or not, its layers.

use std::{path::PathBuf, sync::Arc};

use super::{Documents, Effect, Loadable, jobs::Jobs};
use crate::{
    corpus::list::ListOptions,
    ids::{DocumentId, JobId, ModelId},
    protocol::{CorpusLook, CorpusOptions, CorpusOrder, CorpusSource, Lane, Request, Update},
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

    /// One where nothing was chosen yet.
    pub(super) fn new(document: DocumentId, path: PathBuf) -> Self {
        let (list, options) = (ListOptions::default(), CorpusOptions::default());
        Self { document, path, list, options, look: Loadable::Empty }
    }

    pub(super) fn source(&self) -> CorpusSource {
        CorpusSource::Path { path: self.path.clone(), list: self.list.clone() }
    }

    /// Chooses otherwise: what it will take is found out anew.
    pub(super) fn set(
        &mut self,
        list: ListOptions,
        options: CorpusOptions,
        documents: &Documents,
        jobs: &mut Jobs,
    ) -> Vec<Effect> {
        if (&self.list, &self.options) == (&list, &options) {
            return Vec::new();
        }
        (self.list, self.options) = (list, options);
        self.find_out(documents, jobs)
    }

    /// Looks at what there is to choose, and what it will take with the model that its document has.
    pub(super) fn find_out(&mut self, documents: &Documents, jobs: &mut Jobs) -> Vec<Effect> {
        let job = jobs.next();
        self.look.start(job);
        let model = documents.find(self.document).and_then(|document| document.model.latest()).map(|model| model.id);
        let model = model.unwrap_or(ModelId(0));
        let order = CorpusOrder::new(self.document, model, self.source(), self.options.clone());
        vec![Effect::Submit(job, Request::LookAtCorpus(Box::new(order)))]
    }

    /// Stops looking.
    pub(super) fn close(self) -> Vec<Effect> {
        if self.look.is_pending() { vec![Effect::Cancel(Lane::Look)] } else { Vec::new() }
    }

    /// Takes in what was found out; whether there is nothing to choose, so that the corpus is run at once.
    pub(super) fn on_event(&mut self, job: JobId, update: Update<Arc<CorpusLook>>) -> bool {
        let is_first = self.look.latest().is_none();
        if self.look.job() != Some(job) {
            return false;
        }
        match update {
            Update::Answer(look) => {
                if is_first && !look.has_choice {
                    return true;
                }
                // Without a model, or without room, there is nothing to wait for.
                if look.secs.is_some() || look.plan.as_ref().is_none_or(|plan| plan.n_fit.is_some()) {
                    self.look = Loadable::Ready(look);
                } else {
                    self.look.improve(look);
                }
            }
            // Where the corpus stands it is said again, with what to do about it.
            Update::Failed(_) if is_first => return true,
            update => self.look.hear(job, update),
        }
        false
    }
}
