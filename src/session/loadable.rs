//! A value that arrives later and remembers the last good one, so that a view never flashes to empty.

use crate::{
    ids::JobId,
    model::Progress,
    protocol::{Failure, Update},
};

/// A value produced by the worker.
#[derive(Clone, Debug, Default)]
pub enum Loadable<T> {
    /// Nothing was asked for yet.
    #[default]
    Empty,
    /// Asked for; the previous value, if any, stays on screen.
    Pending {
        job: JobId,
        /// The last sign of life.
        progress: Option<Progress>,
        previous: Option<T>,
    },
    Ready(T),
    /// It did not work out; the previous value, if any, stays on screen.
    Failed {
        failure: Failure,
        previous: Option<T>,
    },
}

impl<T> Loadable<T> {
    /// The newest value there is, even while another is on its way.
    pub const fn latest(&self) -> Option<&T> {
        match self {
            Self::Empty => None,
            Self::Ready(value) => Some(value),
            Self::Pending { previous, .. } | Self::Failed { previous, .. } => previous.as_ref(),
        }
    }

    /// The job that is being waited for.
    pub const fn job(&self) -> Option<JobId> {
        match self {
            Self::Pending { job, .. } => Some(*job),
            Self::Empty | Self::Ready(_) | Self::Failed { .. } => None,
        }
    }

    /// Progress of the job that is being waited for.
    pub const fn progress(&self) -> Option<Progress> {
        match self {
            Self::Pending { progress, .. } => *progress,
            Self::Empty | Self::Ready(_) | Self::Failed { .. } => None,
        }
    }

    /// What went wrong, if the last attempt failed.
    pub const fn failure(&self) -> Option<&Failure> {
        match self {
            Self::Failed { failure, .. } => Some(failure),
            Self::Empty | Self::Ready(_) | Self::Pending { .. } => None,
        }
    }

    /// Whether an answer is on its way.
    pub const fn is_pending(&self) -> bool {
        matches!(self, Self::Pending { .. })
    }

    pub(super) fn start(&mut self, job: JobId) {
        let previous = std::mem::take(self).into_latest();
        *self = Self::Pending { job, progress: None, previous };
    }

    /// Takes in what its job tells; other jobs are ignored.
    pub(super) fn hear(&mut self, job: JobId, update: Update<T>) {
        if self.job() != Some(job) {
            return;
        }
        match update {
            Update::Progress(progress) => self.report(progress),
            Update::Answer(value) => *self = Self::Ready(value),
            Update::Cancelled => self.cancel(),
            Update::Failed(failure) => self.fail(failure),
        }
    }

    pub(super) fn report(&mut self, new: Progress) {
        if let Self::Pending { progress, .. } = self {
            *progress = Some(new);
        }
    }

    /// A better value has arrived, and the best is on its way.
    pub(super) fn improve(&mut self, better: T) {
        if let Self::Pending { previous, .. } = self {
            *previous = Some(better);
        }
    }

    pub(super) fn fail(&mut self, failure: Failure) {
        let previous = std::mem::take(self).into_latest();
        *self = Self::Failed { failure, previous };
    }

    /// Back to the value before; an interrupted job leaves no trace.
    pub(super) fn cancel(&mut self) {
        *self = std::mem::take(self).into_latest().map_or(Self::Empty, Self::Ready);
    }

    /// What did not work out is no longer wanted; the value before it is.
    pub(super) fn settle(&mut self) {
        if self.failure().is_some() && self.latest().is_some() {
            self.cancel();
        }
    }

    /// Lets go of the value, also of the one before, unless it is to be kept.
    pub(super) fn retain(&mut self, keep: impl Fn(&T) -> bool) {
        match self {
            Self::Ready(value) if !keep(value) => *self = Self::Empty,
            Self::Pending { previous, .. } | Self::Failed { previous, .. } => {
                *previous = previous.take().filter(|value| keep(value));
            }
            Self::Empty | Self::Ready(_) => {}
        }
    }

    fn into_latest(self) -> Option<T> {
        match self {
            Self::Empty => None,
            Self::Ready(value) => Some(value),
            Self::Pending { previous, .. } | Self::Failed { previous, .. } => previous,
        }
    }
}
