//! From asking for a layout to seeing it move: the thread of the window, 72 heads of 2,000 points, t-SNE and UMAP;
//! and how long it takes to stop.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark")]

#[path = "../tests/it/support/synthetic.rs"]
#[allow(dead_code, clippy::expect_used, reason = "shared with the tests, which use all of it")]
mod synthetic;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use attnscope::{
    analysis::{
        PointCloud,
        projection::{LayoutMethod, LayoutOptions, Projection, ProjectionOptions},
    },
    ids::{HeadId, JobId, PaneId, StackKind},
    protocol::{EventKind, Lane, ProjectionAnswer, Request},
    worker::{ProjectionEngine, Worker},
};

const N_TOKENS: usize = 1000;
const ROUNDS: u64 = 15;
const FIRST: HeadId = HeadId::single(3, 5);

fn main() {
    let cloud = PointCloud::Input(Arc::new(synthetic::text_capture(N_TOKENS, 6, 12)));
    for (name, method) in [("t-SNE", LayoutMethod::Tsne), ("UMAP", LayoutMethod::Umap)] {
        let (mut components, mut refined, mut stopped) = (Vec::new(), Vec::new(), Vec::new());
        let mut worker = Worker::spawn(ProjectionEngine::new(None).unwrap(), Arc::new(|| ())).unwrap();
        for round in 1..=ROUNDS {
            let layout = LayoutOptions { method, seed: round, ..LayoutOptions::default() };
            let request = Request::Project {
                pane: PaneId(1),
                cloud: cloud.clone(),
                stack: StackKind::SelfAttention,
                options: ProjectionOptions { layout, ..ProjectionOptions::default() },
                known: None,
                first: FIRST,
            };
            let start = Instant::now();
            worker.submit(JobId(round), request);
            components.push(wait(&mut worker, start, |planes| plane_of(planes).is_some()));
            refined.push(wait(&mut worker, start, |planes| plane_of(planes).is_some_and(|iteration| iteration > 0)));
            // In the middle of it.
            wait(&mut worker, start, |planes| plane_of(planes).is_some_and(|iteration| iteration > 60));
            let start = Instant::now();
            worker.cancel(Lane::Project(PaneId(1)));
            while !matches!(worker.wait().unwrap().kind, EventKind::Cancelled) {}
            stopped.push(start.elapsed());
        }
        for (what, times) in [
            ("principal components of the head looked at", components),
            ("first refinement", refined),
            ("stopped after", stopped),
        ] {
            println!("{name}: {what}: {}", median_and_slowest(times));
        }
    }
}

/// Iterations that the head which is looked at has had.
fn plane_of(planes: &Projection) -> Option<usize> {
    let plane = planes.heads.iter().find(|plane| plane.head == FIRST)?;
    Some(plane.refined.map_or(0, |refined| refined.iteration))
}

fn wait(worker: &mut Worker, start: Instant, wanted: impl Fn(&Projection) -> bool) -> Duration {
    loop {
        match worker.wait().unwrap().kind {
            EventKind::Project(ProjectionAnswer::Refined(planes) | ProjectionAnswer::Projected(planes))
                if wanted(&planes) =>
            {
                return start.elapsed();
            }
            EventKind::Failed(failure) => panic!("{failure:?}"),
            _ => {}
        }
    }
}

fn median_and_slowest(mut times: Vec<Duration>) -> String {
    times.sort();
    let of = |time: Duration| 1000.0 * time.as_secs_f64();
    format!("median {:.1} ms, slowest {:.1} ms", of(times[times.len() / 2]), of(times[times.len() - 1]))
}
