//! The models that the worker holds, and those that are on their way to it.

use std::collections::{BTreeMap, BTreeSet};

use super::{Effect, jobs::Jobs};
use crate::{
    ids::{JobId, ModelId},
    protocol::Request,
};

/// What the worker was told to load, and what it has.
#[derive(Debug, Default)]
pub(super) struct Models {
    /// Loads that were asked for and not answered yet, superseded ones included, with the model that each replaces.
    loads: BTreeMap<JobId, Option<ModelId>>,
    held: BTreeSet<ModelId>,
}

impl Models {
    /// Takes note of a load that is asked for.
    pub fn ask(&mut self, job: JobId, replaces: Option<ModelId>) {
        self.loads.insert(job, replaces);
    }

    /// A load ended without a model.
    pub fn end(&mut self, job: JobId) {
        self.loads.remove(&job);
    }

    /// The worker holds a model now, and no longer what it replaces.
    pub fn arrived(&mut self, job: JobId, model: ModelId) {
        if let Some(replaced) = self.loads.remove(&job).flatten() {
            self.held.remove(&replaced);
        }
        self.held.insert(model);
    }

    /// Tells the worker which models nobody needs any more.
    pub fn forget_all_but(&mut self, needed: &[ModelId], jobs: &mut Jobs) -> Vec<Effect> {
        let unneeded: Vec<ModelId> = self.held.iter().copied().filter(|id| !needed.contains(id)).collect();
        self.held.retain(|id| needed.contains(id));
        unneeded.into_iter().map(|id| Effect::Submit(jobs.next(), Request::Forget(id))).collect()
    }
}
