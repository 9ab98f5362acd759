//! Waiting jobs, and signals to stop. Pure bookkeeping; the lock is held for moments only.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
};

use super::{corpus::Begun, idle::IDLE};
use crate::{
    ids::JobId,
    protocol::{Lane, Request},
};

/// A request with the number that tells whether it is still wanted.
#[derive(Debug)]
pub(super) struct Job {
    pub id: JobId,
    pub request: Request,
    pub lane: Lane,
    pub generation: u64,
    /// Where a corpus was when it gave way.
    pub begun: Option<Box<Begun>>,
}

/// Job priorities, highest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Urgency {
    /// Its answer is visible in the window.
    Waited,
    /// Takes a while, and can begin again.
    Explaining,
    Corpus,
}

impl Urgency {
    const fn of(lane: Lane) -> Self {
        match lane {
            Lane::Corpus(_) | Lane::Debate(_) | Lane::Study(..) | Lane::Judge(_) => Self::Corpus,
            Lane::Explain(..) | Lane::Measure(_) => Self::Explaining,
            Lane::Load(_)
            | Lane::Run(_)
            | Lane::Look
            | Lane::Project(_)
            | Lane::Survey(..)
            | Lane::SecondOpinion(_)
            | Lane::Outcomes(_)
            | Lane::Analysis
            | Lane::Export
            | Lane::Draw
            | Lane::Thumbnail
            | Lane::Card
            | Lane::Session
            | Lane::Forget
            | Lane::Catalog
            | Lane::Download => Self::Waited,
        }
    }
}

/// The jobs that wait, in the order they were asked for; at most one per lane that does not queue.
#[derive(Debug, Default)]
pub(super) struct Queue {
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Waiting {
    jobs: VecDeque<Job>,
    /// A job whose lane has moved on is to stop. As many entries as there were documents and panes.
    generations: HashMap<Lane, u64>,
    closed: bool,
    /// The idle hook, which returns freed memory, runs now even if it already ran.
    rest: bool,
}

impl Queue {
    /// Adds a job and gives back the one that it replaces before that was started.
    pub fn push(&self, id: JobId, request: Request) -> Option<JobId> {
        let lane = request.lane();
        let mut waiting = self.lock();
        let replaced = if lane.queues() { None } else { waiting.clear(lane).pop() };
        let generation = waiting.generation(lane);
        waiting.jobs.push_back(Job { id, request, lane, generation, begun: None });
        drop(waiting);
        self.changed.notify_one();
        replaced
    }

    /// Puts a job that gave way behind everything that waits; whether it is still wanted.
    pub fn put_back(&self, job: Job) -> bool {
        let mut waiting = self.lock();
        let wanted = !waiting.closed && waiting.generation(job.lane) == job.generation;
        if wanted {
            waiting.jobs.push_back(job);
        }
        wanted
    }

    /// Whether anything waits that goes before a job of this kind.
    pub fn is_awaited(&self, by: Urgency) -> bool {
        self.lock().jobs.iter().any(|job| Urgency::of(job.lane) < by)
    }

    /// Tells what runs in `lane` to stop, and gives back what waited there.
    pub fn cancel(&self, lane: Lane) -> Vec<JobId> {
        self.lock().clear(lane)
    }

    /// Tells everything but files that are written to stop. [`Self::pop`] gives those that still wait, and then
    /// nothing any more.
    pub fn close(&self) {
        let mut waiting = self.lock();
        waiting.closed = true;
        waiting.jobs.retain(|job| job.lane.outlives_window());
        drop(waiting);
        self.changed.notify_one();
    }

    /// Has whoever waits for a job rest, unless there is one.
    pub fn rest(&self) {
        self.lock().rest = true;
        self.changed.notify_one();
    }

    /// Waits for the next job; `None` when the queue was closed and is empty. Calls `rest` when there is none for a
    /// while, and when it is told to.
    pub fn pop(&self, mut rest: impl FnMut()) -> Option<Job> {
        let mut waiting = self.lock();
        let mut rested = false;
        loop {
            if let Some(job) = waiting.jobs.pop_front() {
                waiting.rest = false;
                return Some(job);
            }
            if waiting.closed {
                return None;
            }
            let idle = if rested {
                waiting = self.changed.wait(waiting).unwrap_or_else(PoisonError::into_inner);
                false
            } else {
                let (woken, timeout) = self.changed.wait_timeout(waiting, IDLE).unwrap_or_else(PoisonError::into_inner);
                waiting = woken;
                timeout.timed_out()
            };
            let told = std::mem::take(&mut waiting.rest);
            if (idle || told) && waiting.jobs.is_empty() {
                rested = true;
                // Nobody who asks for something is to wait for this.
                drop(waiting);
                rest();
                waiting = self.lock();
            }
        }
    }

    /// Whether a job of this generation is to stop.
    pub fn is_superseded(&self, lane: Lane, generation: u64) -> bool {
        let waiting = self.lock();
        waiting.closed && !lane.outlives_window() || waiting.generation(lane) != generation
    }

    /// Nothing panics while the lock is held, so a poisoned lock still guards a sound queue.
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    fn clear(&mut self, lane: Lane) -> Vec<JobId> {
        *self.generations.entry(lane).or_default() += 1;
        let cleared = self.jobs.iter().filter(|job| job.lane == lane).map(|job| job.id).collect();
        self.jobs.retain(|job| job.lane != lane);
        cleared
    }

    fn generation(&self, lane: Lane) -> u64 {
        self.generations.get(&lane).copied().unwrap_or(0)
    }
}
