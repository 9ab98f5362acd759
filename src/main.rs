//! The `attnscope` program: the command line, and the window behind it.

mod allocator;

use std::{process::ExitCode, time::Instant};

use attnscope::{
    cli,
    ui::app::{APP_ID, open_window},
    worker::{ModelEngine, SessionEngine, Workers, disk_cache::DiskCache, give_back_by},
};

/// The forward pass allocates and frees large buffers in every layer; the system allocator would
/// return them to the kernel each time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let started = Instant::now();
    allocator::set_up();
    give_back_by(allocator::GIVE_BACK);
    env_logger::Builder::new()
        .filter_level(log::LevelFilter::Warn)
        // A locale such as C names no language, and that is no news.
        .filter_module("egui_system_font_provider", log::LevelFilter::Error)
        .parse_default_env()
        .init();
    cli::run(|options| {
        let start_worker = |wake| {
            let scratch = DiskCache::of_user();
            let engine = ModelEngine::new(options.compute.device)?.with_scratch(scratch.clone());
            let sessions = SessionEngine::new(eframe::storage_dir(APP_ID).map(|folder| folder.join("sessions")));
            Workers::spawn(engine, scratch, sessions, wake)
        };
        open_window(start_worker, &options, started).map_err(|error| error.to_string())
    })
}
