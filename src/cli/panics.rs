//! The last guard of the command line: a panic anywhere becomes one line and an exit code.
//!
//! Panics are bugs, in this program or in a library that meets a damaged file. A person at a terminal
//! gets no backtrace for it, but one sentence; `RUST_LOG=debug` also tells of the panics that were
//! caught on the way, such as those of decoders.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind, set_hook},
    sync::{Mutex, PoisonError},
};

use super::CliError;

/// Where the latest panic was; the payload that arrives at [`guarded`] does not know.
static PLACE: Mutex<Option<String>> = Mutex::new(None);

/// Makes panics remember their place instead of printing; for the whole process.
pub(super) fn install() {
    set_hook(Box::new(|info: &PanicHookInfo<'_>| {
        let place = info.location().map(|at| format!("{}:{}", at.file(), at.line()));
        log::debug!("panic at {}: {}", place.as_deref().unwrap_or("an unknown place"), message(info.payload()));
        *PLACE.lock().unwrap_or_else(PoisonError::into_inner) = place;
    }));
}

/// Runs a subcommand; a panic in it, or in a compute thread that works for it, is its failure.
pub(super) fn guarded(run: impl FnOnce() -> Result<(), CliError>) -> Result<(), CliError> {
    // Nothing of the subcommand is used afterwards: the process ends.
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
        let place = PLACE.lock().unwrap_or_else(PoisonError::into_inner).take();
        let place = place.map_or_else(String::new, |place| format!(" ({place})"));
        let message = message(panic.as_ref()).replace('\n', " ");
        Err(CliError::Failed(format!(
            "something went wrong inside the program; please report this with what you typed: {message}{place}"
        )))
    })
}

fn message(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<&str>().copied().or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("no message")
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::cli::report;

    /// Set in the process that panics on purpose: the hook is the whole process's.
    const INSIDE: &str = "ATTNSCOPE_TEST_PANICS";

    #[test]
    fn a_panic_in_any_thread_becomes_one_line_and_exit_code_one() {
        if std::env::var_os(INSIDE).is_some() {
            install();
            let on_a_compute_thread = || {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build();
                pool.map_err(|error| CliError::Failed(error.to_string()))?
                    .install(|| (0..4).for_each(|idx| assert!(idx < 3, "the third\nof four")));
                Ok(())
            };
            let code = report(guarded(on_a_compute_thread));
            assert_eq!(format!("{code:?}"), format!("{:?}", std::process::ExitCode::from(1)));
            return;
        }
        let name = "cli::panics::tests::a_panic_in_any_thread_becomes_one_line_and_exit_code_one";
        let output = Command::new(std::env::current_exe().unwrap())
            .args([name, "--exact", "--nocapture"])
            .env(INSIDE, "1")
            .env("RUST_BACKTRACE", "full")
            .output()
            .unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{stderr}");
        assert_eq!(stderr.trim().lines().count(), 1, "{stderr}");
        for part in ["attnscope: something went wrong", "the third of four", "panics.rs:"] {
            assert!(stderr.contains(part), "no {part}: {stderr}");
        }
        let quiet = Command::new(std::env::current_exe().unwrap()).args([name, "--exact", "--list"]).output().unwrap();
        assert!(String::from_utf8_lossy(&quiet.stdout).contains("1 test"), "the name above is this test's");
    }
}
