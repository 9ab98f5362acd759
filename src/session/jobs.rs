//! Numbers of jobs and of models: whoever asks the worker for something takes the next one.

use crate::ids::{JobId, ModelId};

/// The numbers given out last.
#[derive(Debug, Default)]
pub(super) struct Jobs {
    job: u64,
    model: u64,
}

impl Jobs {
    /// The number of a new job.
    pub const fn next(&mut self) -> JobId {
        self.job += 1;
        JobId(self.job)
    }

    /// The number of a model that is about to be loaded.
    pub const fn next_model(&mut self) -> ModelId {
        self.model += 1;
        ModelId(self.model)
    }
}
