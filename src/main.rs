//! The `attnscope` program: the command line, and the window behind it.

use std::{
    ffi::{c_int, c_long},
    process::ExitCode,
    time::Instant,
};

use attnscope::{
    cli,
    ui::app::{APP_ID, open_window},
    worker::{ModelEngine, SessionEngine, Workers, give_back_by, scratch::Scratch},
};

/// The forward pass allocates and frees large buffers in every layer; the system allocator would
/// return them to the kernel each time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

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

/// Keeps memory that was freed for a while: the next pass needs as much, and new pages would have to be cleared first,
/// which takes a tenth of a pass. A worker that has nothing to do gives back what is left.
fn keep_freed_memory() {
    /// `mi_option_purge_delay`, in milliseconds.
    const PURGE_DELAY: c_int = 15;
    mi_option_set_default(PURGE_DELAY, 10_000);
}

fn main() -> ExitCode {
    let started = Instant::now();
    keep_freed_memory();
    give_back_by(|| mi_collect(true));
    env_logger::Builder::new()
        .filter_level(log::LevelFilter::Warn)
        // A locale such as C names no language, and that is no news.
        .filter_module("egui_system_font_provider", log::LevelFilter::Error)
        .parse_default_env()
        .init();
    cli::run(|options| {
        let start_worker = |wake| {
            let scratch = Scratch::of_user();
            let engine = ModelEngine::new()?.with_scratch(scratch.clone());
            let sessions = SessionEngine::new(eframe::storage_dir(APP_ID).map(|folder| folder.join("sessions")));
            Workers::spawn(engine, scratch, sessions, wake)
        };
        open_window(start_worker, &options, started).map_err(|error| error.to_string())
    })
}
