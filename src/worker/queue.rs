//! What waits to be done, and who is told to stop. Pure bookkeeping; the lock is held for moments only.

use std::{
    collections::VecDeque,
    sync::{
        Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use super::{Lane, Request};
use crate::ids::JobId;

/// A request with the number that tells whether it is still wanted.
#[derive(Debug)]
pub(super) struct Job {
    pub id: JobId,
    pub request: Request,
    pub lane: Lane,
    pub generation: u64,
}

/// The jobs that wait, in the order they were asked for; at most one per lane, but any number of exports.
#[derive(Debug, Default)]
pub(super) struct Queue {
    waiting: Mutex<Waiting>,
    changed: Condvar,
    /// One counter per lane; a job whose lane has moved on is to stop.
    generations: [AtomicU64; Lane::ALL.len()],
}

#[derive(Debug, Default)]
struct Waiting {
    jobs: VecDeque<Job>,
    closed: bool,
}

impl Queue {
    /// Adds a job and gives back the one that it replaces before that was started.
    pub fn push(&self, id: JobId, request: Request) -> Option<JobId> {
        let lane = request.lane();
        let mut waiting = self.lock();
        // Files that were asked for are all written.
        let replaced = if lane == Lane::Export { None } else { self.clear(&mut waiting, lane).pop() };
        let generation = self.generation(lane).load(Ordering::Relaxed);
        waiting.jobs.push_back(Job { id, request, lane, generation });
        drop(waiting);
        self.changed.notify_one();
        replaced
    }

    /// Tells what runs in `lane` to stop, and gives back what waited there.
    pub fn cancel(&self, lane: Lane) -> Vec<JobId> {
        self.clear(&mut self.lock(), lane)
    }

    /// Tells everything but exports to stop. [`Self::pop`] gives the exports that still wait, and then
    /// nothing any more.
    pub fn close(&self) {
        let mut waiting = self.lock();
        waiting.closed = true;
        for lane in Lane::ALL.into_iter().filter(|&lane| lane != Lane::Export) {
            self.clear(&mut waiting, lane);
        }
        drop(waiting);
        self.changed.notify_one();
    }

    /// Waits for the next job; `None` when the queue was closed and is empty.
    pub fn pop(&self) -> Option<Job> {
        let mut waiting = self.lock();
        loop {
            if let Some(job) = waiting.jobs.pop_front() {
                return Some(job);
            }
            if waiting.closed {
                return None;
            }
            waiting = self.changed.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Whether a job of this generation is to stop.
    pub fn is_superseded(&self, lane: Lane, generation: u64) -> bool {
        self.generation(lane).load(Ordering::Relaxed) != generation
    }

    fn clear(&self, waiting: &mut Waiting, lane: Lane) -> Vec<JobId> {
        self.generation(lane).fetch_add(1, Ordering::Relaxed);
        let cleared = waiting.jobs.iter().filter(|job| job.lane == lane).map(|job| job.id).collect();
        waiting.jobs.retain(|job| job.lane != lane);
        cleared
    }

    fn generation(&self, lane: Lane) -> &AtomicU64 {
        &self.generations[lane as usize]
    }

    /// Nothing panics while the lock is held, so a poisoned lock still guards a sound queue.
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
