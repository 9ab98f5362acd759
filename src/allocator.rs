//! How the program uses its allocator: memory that was freed waits for the next pass, and goes back when nobody works.
//!
//! It is built with small areas, and so that a block of more than 16 kB is an area of its own (`.cargo/config.toml`): in
//! one that blocks share, a single one that stays holds all of it.

use std::ffi::{c_int, c_long};

use attnscope::worker::GiveBack;

/// How memory goes back to the system.
pub const GIVE_BACK: GiveBack = GiveBack { of_thread: || mi_collect(true), of_libraries };

#[expect(
    unsafe_code,
    reason = "the allocator's own functions, which its crate has behind an interface that is not stable"
)]
// SAFETY: as in mimalloc.h, `void mi_collect(bool force)` and `void mi_option_set_default(mi_option_t option, long
// value)`: they may be called by any thread at any time.
unsafe extern "C" {
    safe fn mi_collect(force: bool);
    safe fn mi_option_set_default(option: c_int, value: c_long);
}

/// Before anything large is asked for.
///
/// What is freed stays for a minute: the next pass needs as much, and new pages would have to be cleared first. Whoever
/// has nothing to do gives back what is left long before.
///
/// Pages stay small. With huge ones a pass takes longer, not shorter, because what is asked for in pieces is cleared two
/// megabytes at a time; and the system would fill again, unasked, what was given back.
pub fn set_up() {
    /// `mi_option_purge_delay`, in milliseconds.
    const PURGE_DELAY: c_int = 15;
    mi_option_set_default(PURGE_DELAY, 60_000);
    #[cfg(target_os = "linux")]
    #[expect(unsafe_code, reason = "the system's own function, which no safe crate in use offers")]
    // SAFETY: this option takes one number, and zeros for what it does not use; it changes no memory of the program.
    unsafe {
        libc::prctl(libc::PR_SET_THP_DISABLE, 1, 0, 0, 0);
    }
}

/// What C libraries have freed with the system's own allocator. A driver that paints in memory holds tens of megabytes
/// there, between blocks that are in use, after a day of pictures.
fn of_libraries() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    #[expect(unsafe_code, reason = "the system's own function, which no safe crate in use offers")]
    // SAFETY: it may be called by any thread at any time, and changes no memory that is in use.
    unsafe {
        libc::malloc_trim(0);
    }
}
