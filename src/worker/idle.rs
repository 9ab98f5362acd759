//! When nothing is asked for: memory that was freed goes back to the system.
//!
//! An allocator keeps what is freed for whoever asks next, which is right between two runs. A thread that sleeps never
//! asks again, so what it kept after the largest of its jobs would stay for as long as the window is open.

use std::{sync::OnceLock, time::Duration};

use rayon::ThreadPool;

/// From the last job to a thread's being idle: somebody who types has another one sooner.
pub(super) const IDLE: Duration = Duration::from_secs(2);

/// How memory that was freed goes back to the system.
#[derive(Clone, Copy, Debug)]
pub struct GiveBack {
    /// What this thread has freed.
    pub of_thread: fn(),
    /// What libraries with an allocator of their own have freed, among them the driver that paints the window.
    pub of_libraries: fn(),
}

/// Only the program knows its allocator.
static GIVE_BACK: OnceLock<GiveBack> = OnceLock::new();

/// Says how memory goes back. The first time counts.
pub fn give_back_by(how: GiveBack) {
    GIVE_BACK.get_or_init(|| how);
}

/// Has each thread of a pool give back what it has freed, when it has nothing else to do; nobody waits for it.
pub(super) fn give_back_in(pool: &ThreadPool) {
    pool.spawn_broadcast(|_| give_back());
}

/// Gives back what this thread has freed.
pub fn give_back() {
    if let Some(how) = GIVE_BACK.get() {
        (how.of_thread)();
    }
}

/// Gives back what libraries have freed. They wait for it where they need memory, so only while nobody does anything.
pub fn give_back_of_libraries() {
    if let Some(how) = GIVE_BACK.get() {
        (how.of_libraries)();
    }
}
