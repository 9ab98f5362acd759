//! The workers, as the window sees them.

use crate::{
    ids::JobId,
    protocol::{Event, Lane, Request},
    worker::Workers,
};

/// The side of the worker that the window sees; tests answer from a script instead of a thread.
pub trait Jobs {
    /// Starts a job; never blocks. Whatever runs or waits in the same lane is cancelled.
    fn submit(&mut self, job: JobId, request: Request);
    /// Stops what runs or waits in a lane.
    fn cancel(&mut self, lane: Lane);
    /// Everything that was said since the last call.
    fn drain(&mut self) -> Vec<Event>;
    /// Says that nobody does anything, and that memory was freed.
    fn rest(&self);
}

impl Jobs for Workers {
    fn submit(&mut self, job: JobId, request: Request) {
        Self::submit(self, job, request);
    }

    fn cancel(&mut self, lane: Lane) {
        Self::cancel(self, lane);
    }

    fn drain(&mut self) -> Vec<Event> {
        Self::drain(self)
    }

    fn rest(&self) {
        Self::rest(self);
    }
}
