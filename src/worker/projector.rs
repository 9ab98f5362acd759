//! The thread that projects queries and keys, so that a projection waits for no run.

use std::io;

use rayon::{ThreadPool, ThreadPoolBuilder};

use super::{EventKind, Failure, JobControl, Progress, Request, Stage, Stop, thread::Engine};
use crate::{
    analysis::projection::{self, ProjectionOptions},
    capture::Capture,
    ids::StackKind,
};

/// Projects captures on compute threads of its own.
#[derive(Debug)]
pub struct ProjectionEngine {
    pool: ThreadPool,
}

impl ProjectionEngine {
    /// As many threads as the model has: one core is left to the window.
    ///
    /// # Errors
    /// When the system refuses to start the threads.
    pub fn new() -> io::Result<Self> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let pool = ThreadPoolBuilder::new()
            .num_threads(cores.saturating_sub(1).max(1))
            .thread_name(|idx| format!("project-{idx}"))
            .build()
            .map_err(io::Error::other)?;
        Ok(Self { pool })
    }
}

impl Engine for ProjectionEngine {
    const THREAD: &'static str = "projection-worker";

    fn answer(&mut self, request: Request, control: &JobControl) -> Result<EventKind, Stop> {
        let Request::Project { capture, stack, options, .. } = request else {
            let details = format!("Please report this: {:?}", request.lane());
            return Err(Stop::Failed(Failure { summary: "This is nothing to project".to_owned(), details }));
        };
        self.pool.install(|| project(&capture, stack, options, control))
    }
}

/// Projects on the compute threads of the caller.
pub(super) fn project(
    capture: &Capture,
    stack: StackKind,
    options: ProjectionOptions,
    control: &JobControl,
) -> Result<EventKind, Stop> {
    let mut go_on = |done, total| control.report(Progress { stage: Stage::Project, done, total }).is_ok();
    let projection = projection::project(capture, stack, options, &mut go_on);
    control.check()?;
    match projection {
        Some(projection) => Ok(EventKind::Projected(projection.into())),
        None => Err(Stop::Failed(Failure {
            summary: "This capture holds no queries and keys to project".to_owned(),
            details: String::new(),
        })),
    }
}
