//! The thread that projects queries and keys, or other points, so that a projection waits for no run.

use std::{
    io,
    sync::Arc,
    time::{Duration, Instant},
};

use rayon::{ThreadPool, ThreadPoolBuilder};

use super::{JobControl, Stop, disk_cache::DiskCache, idle::give_back_in, thread::Engine};
use crate::{
    analysis::{
        PointCloud,
        projection::{Aside, LayoutCache, NoShelf, Projection, ProjectionOptions, Refiner, project_heads},
    },
    ids::{HeadId, StackKind},
    model::{Progress, Stage, lower_priority},
    projection::{Progress as GoOn, ProjectionError},
    protocol::{EventKind, Failure, ProjectionAnswer, Request},
    text::{capitalised, sentence},
};

/// How often a layout that is being refined is shown.
const SHOW_EVERY: Duration = Duration::from_millis(40);

/// Projects queries and keys on compute threads of its own.
#[derive(Debug)]
pub struct ProjectionEngine {
    pool: ThreadPool,
    scratch: Option<DiskCache>,
    /// Heads that were left for another one.
    aside: Aside,
}

impl ProjectionEngine {
    /// As many threads as the model has: one core is left to the window. Finished layouts are kept in `scratch`.
    ///
    /// # Errors
    /// When the system refuses to start the threads.
    pub fn new(scratch: Option<DiskCache>) -> io::Result<Self> {
        Ok(Self { pool: pool("project")?, scratch, aside: Aside::default() })
    }
}

/// Threads that compute behind the window, called `name-0` and so on.
pub(super) fn pool(name: &'static str) -> io::Result<ThreadPool> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    ThreadPoolBuilder::new()
        .num_threads(cores.saturating_sub(1).max(1))
        .thread_name(move |idx| format!("{name}-{idx}"))
        .start_handler(|_| lower_priority())
        .build()
        .map_err(io::Error::other)
}

impl Engine for ProjectionEngine {
    const THREAD: &'static str = "projection-worker";

    fn rest(&mut self) {
        give_back_in(&self.pool);
    }

    fn answer(&mut self, request: Request, control: &JobControl) -> Result<EventKind, Stop> {
        let Request::Project { cloud, stack, options, known, first, .. } = request else {
            let details = format!("Please report this: {:?}", request.lane());
            return Err(Stop::Failed(Failure { summary: "This cannot be projected".to_owned(), details }));
        };
        let wanted = ProjectionRequest { cloud, stack, options, known, first };
        let shelf: &(dyn LayoutCache + Sync) = self.scratch.as_ref().map_or(&NoShelf, |scratch| scratch);
        let answer = self.pool.install(|| project(&wanted, (shelf, &self.aside), control));
        if let Some(trouble) = self.scratch.as_ref().and_then(DiskCache::trouble) {
            control.tell(EventKind::NotKept(trouble));
        }
        answer
    }
}

/// A projection as it was asked for.
pub(super) struct ProjectionRequest {
    pub cloud: PointCloud,
    pub stack: StackKind,
    pub options: ProjectionOptions,
    pub known: Option<Arc<Projection>>,
    pub first: HeadId,
}

/// Projects on the compute threads of the caller: principal components at once, then what was asked for, head by
/// head, shown while it is refined.
pub(super) fn project(
    wanted: &ProjectionRequest,
    (shelf, aside): (&dyn LayoutCache, &Aside),
    control: &JobControl,
) -> Result<EventKind, Stop> {
    let ProjectionRequest { cloud, stack, options, known, first } = wanted;
    let nothing = || Failure {
        summary: cloud.lacks(*stack, options.space).map_or_else(
            || "There are no points to project, or they are not finite".to_owned(),
            |reason| capitalised(&reason),
        ),
        details: String::new(),
    };
    let all = cloud.cells(*stack, options.space);
    let Some(first) = all.iter().find(|head| *head == first).or(all.first()).copied() else {
        return Err(nothing().into());
    };
    let mut go_on = |done, total| control.report(Progress { stage: Stage::Project, done, total }).is_ok();
    let planes = if let Some(known) = known {
        Projection::clone(known)
    } else {
        let heads = project_heads(cloud, &[first], *options, &mut go_on);
        control.check()?;
        Projection { cloud: cloud.clone(), stack: *stack, options: *options, heads: heads.unwrap_or_default() }
    };
    let is_missing = |head: &HeadId| planes.heads.iter().all(|plane| plane.head != *head);
    let missing: Vec<HeadId> = all.into_iter().filter(is_missing).collect();
    if known.is_none() {
        control.tell(EventKind::Project(ProjectionAnswer::Refined(Arc::new(planes.clone()))));
    }
    let mut refiner = Refiner::new(planes, first, shelf).with_aside(aside);
    if !missing.is_empty() {
        // Who looks at one head sees it move before the others are there.
        refine(&mut refiner, Some(SHOW_EVERY / 2), control)?;
        let heads = project_heads(cloud, &missing, *options, &mut go_on);
        control.check()?;
        refiner.add(heads.unwrap_or_default());
        if refiner.planes().heads.is_empty() {
            return Err(nothing().into());
        }
        control.tell(EventKind::Project(ProjectionAnswer::Refined(Arc::new(refiner.planes()))));
    }
    refine(&mut refiner, None, control)?;
    Ok(EventKind::Project(ProjectionAnswer::Projected(Arc::new(refiner.planes()))))
}

/// Goes on to the end, or for some time; shows the state every now and then.
fn refine(refiner: &mut Refiner<'_>, time: Option<Duration>, control: &JobControl) -> Result<(), Stop> {
    // From the first step on, which finds the neighbours and moves nothing yet.
    let (mut started, mut shown) = (None::<Instant>, None::<Instant>);
    let go_on = |_, _| control.check().is_ok();
    while step(refiner, &go_on)? {
        control.check()?;
        if shown.is_none_or(|shown| shown.elapsed() >= SHOW_EVERY) {
            shown = Some(Instant::now());
            let (done, total) = refiner.progress();
            control.send_sign_of_life(EventKind::Project(ProjectionAnswer::Refined(Arc::new(refiner.planes()))));
            control.send_sign_of_life(EventKind::Progress(Progress { stage: Stage::Project, done, total }));
        }
        if let Some(time) = time
            && started.get_or_insert_with(Instant::now).elapsed() >= time
        {
            control.tell(EventKind::Project(ProjectionAnswer::Refined(Arc::new(refiner.planes()))));
            break;
        }
    }
    Ok(())
}

fn step(refiner: &mut Refiner<'_>, go_on: GoOn<'_>) -> Result<bool, Stop> {
    refiner.step(go_on).map_err(|error| match error {
        ProjectionError::Stopped => Stop::Cancelled,
        error => Stop::Failed(Failure { summary: sentence(&error.to_string()), details: String::new() }),
    })
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}
