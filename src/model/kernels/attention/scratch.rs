//! Rows of a block that nobody wants to keep.

use std::cell::RefCell;

use super::super::heads::rows_per_task;

/// Values of a thread's scratch that stay allocated between runs.
const KEPT: usize = 2 * 1024 * 1024;

thread_local! {
    static SCRATCH: RefCell<Vec<f32>> = const { RefCell::new(Vec::new()) };
}

/// Hands `f` this thread's scratch. `f` must not let the pool run other tasks, which would want it, too.
pub(super) fn with_scratch(len: usize, f: impl FnOnce(&mut [f32])) {
    SCRATCH.with_borrow_mut(|scratch| {
        if scratch.len() < len {
            *scratch = vec![0.0; len];
        }
        f(&mut scratch[..len]);
    });
}

/// After long inputs the threads give their scratch back.
pub(super) fn give_back(used: usize) {
    if used > KEPT {
        rayon::broadcast(|_| SCRATCH.take());
        SCRATCH.take();
    }
}

/// Values that all threads together hold while so many rows are computed, and on the way back.
pub fn scratch_values(n_query: usize, n_key: usize, differentiated: bool) -> usize {
    let copies = if differentiated { 3 } else { 1 };
    rayon::current_num_threads() * copies * rows_per_task(n_query).min(n_query) * n_key
}
