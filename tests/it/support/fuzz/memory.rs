//! Counts what is allocated while an input is read.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
};

/// The system's allocator with a count that is on only while somebody reads it.
pub struct Counting;

static ON: AtomicBool = AtomicBool::new(false);
/// Bytes since [`start`]; wraps below 0 while what was there before is freed.
static HELD: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

/// Begins to count, in all threads of the process.
pub fn start() {
    HELD.store(0, Relaxed);
    PEAK.store(0, Relaxed);
    ON.store(true, Relaxed);
}

/// The most bytes that were held at once since [`start`].
pub fn stop() -> usize {
    ON.store(false, Relaxed);
    PEAK.load(Relaxed)
}

fn add(n: usize) {
    if ON.load(Relaxed) {
        let held = HELD.fetch_add(n, Relaxed).wrapping_add(n);
        if isize::try_from(held).is_ok() {
            PEAK.fetch_max(held, Relaxed);
        }
    }
}

fn remove(n: usize) {
    if ON.load(Relaxed) {
        HELD.fetch_sub(n, Relaxed);
    }
}

#[expect(unsafe_code, reason = "an allocator cannot be written otherwise; every call goes to the system's as it came")]
// SAFETY: memory comes from and goes back to `System` with the layouts that were asked for.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        add(layout.size());
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        add(layout.size());
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        remove(layout.size());
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, n_bytes: usize) -> *mut u8 {
        // Both may be held for a moment.
        add(n_bytes);
        remove(layout.size());
        // SAFETY: the caller's promise is passed on.
        unsafe { System.realloc(at, layout, n_bytes) }
    }
}
