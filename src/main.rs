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

/// Leaves memory that was freed with the process until the system wants it for something else: the next pass needs as
/// much, and new pages would have to be cleared first, which takes a tenth of a pass.
fn keep_freed_memory() {
    /// `mi_option_purge_decommits`.
    const PURGE_DECOMMITS: c_int = 5;
    #[expect(unsafe_code, reason = "the crate has no name for the option")]
    unsafe extern "C" {
        fn mi_option_set_default(option: c_int, value: c_long);
    }
    // SAFETY: it is a function of the allocator that is linked, as `mimalloc.h` declares it.
    #[expect(unsafe_code, reason = "the crate has no name for the option")]
    unsafe {
        mi_option_set_default(PURGE_DECOMMITS, 0);
    }
}

#[expect(
    unsafe_code,
    reason = "the allocator's own function, which its crate has behind an interface that is not stable"
)]
// SAFETY: as in mimalloc.h, `void mi_collect(bool force)`: it may be called by any thread at any time.
unsafe extern "C" {
    safe fn mi_collect(force: bool);
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
