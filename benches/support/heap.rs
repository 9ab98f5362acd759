//! The program's allocator with a count of what is held: what a leak adds to, whatever the allocator keeps for itself.

use std::{
    alloc::{GlobalAlloc, Layout},
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

use mimalloc::MiMalloc;

/// The program's allocator, counted.
pub struct Counted;

static HELD: AtomicUsize = AtomicUsize::new(0);

/// Bytes that are held now.
pub fn held() -> usize {
    HELD.load(Relaxed)
}

#[expect(unsafe_code, reason = "an allocator cannot be written otherwise; every call goes to mimalloc as it came")]
// SAFETY: memory comes from and goes back to `MiMalloc` with the layouts that were asked for.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        HELD.fetch_add(layout.size(), Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { MiMalloc.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        HELD.fetch_add(layout.size(), Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { MiMalloc.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { MiMalloc.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, n: usize) -> *mut u8 {
        HELD.fetch_add(n, Relaxed);
        HELD.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { MiMalloc.realloc(at, layout, n) }
    }
}
