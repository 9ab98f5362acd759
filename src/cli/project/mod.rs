//! `attnscope project`: the joint query–key space of heads, or another space, laid out in the plane or in space.

mod clouds;
mod files;
mod lay_out;
mod measured;
mod options;

use std::{path::Path, sync::Arc, time::Instant};

pub use options::ProjectOptions;
use rayon::prelude::*;
use serde_json::json;

use self::{
    clouds::Clouds,
    files::Results,
    lay_out::{HeadLayout, lay_out},
    measured::Measured,
};
use super::{CliError, inputs::read_captures, open_model, passes, show_progress, spaces};
use crate::{
    analysis::{PointCloud, Space},
    cli::layout::Method,
    corpus::CorpusView,
    export,
    ids::HeadId,
    model::{Engine, Progress, RunPlan, Stage},
};

pub fn run(options: &ProjectOptions) -> Result<(), CliError> {
    let format = options.format()?;
    options.check_space()?;
    let method = options.layout.method(usize::from(options.dims))?;
    let engine = options.compute.engine_of_all_cores()?;
    let threads = engine.n_threads();
    let clouds = Clouds::new(cloud(options, &engine)?, options)?;
    let start = Instant::now();
    let heads = engine.install(|| all(&clouds, options, &method, threads))?;
    let total_ms = milliseconds(start);
    let measured = engine.install(|| Measured::of(&clouds, options))?;
    for note in notes(&heads) {
        super::note(&note);
    }
    let results = Results { options, method: &method, clouds: &clouds, heads: &heads, measured: &measured };
    export::atomic_write(&options.out, |writer| results.write(format, writer))
        .map_err(|error| CliError::Failed(error.to_string()))?;
    match &options.timings {
        Some(path) => write_timings(path, &clouds, &heads, (total_ms, threads)),
        None => Ok(()),
    }
}

/// What is projected: all inputs of a capture file, of one run each, or of a corpus.
fn cloud(options: &ProjectOptions, engine: &Engine) -> Result<PointCloud, CliError> {
    match (&options.capture, &options.model) {
        (Some(_), _) if !options.input.is_empty() => {
            Err(CliError::Usage("a capture has its input already: leave out --text and --image".to_owned()))
        }
        (Some(path), _) => passes::of_captures(read_captures(path)?, spaces::kept(options.space)),
        (None, Some(name)) => {
            let list = if options.input.only_corpus() { options.input.corpus()? } else { None };
            let runs = list.is_none() && options.space != Space::Positions;
            let inputs = if runs { options.input.read()? } else { Vec::new() };
            let model = open_model(name, engine)?;
            if options.space == Space::Positions {
                return Ok(spaces::positions(&model)?.0);
            }
            if let Some(list) = list {
                let corpus = passes::corpus(&model, &list, spaces::kept(options.space))?;
                return Ok(PointCloud::Inputs(Arc::new(CorpusView::all(Arc::new(corpus)))));
            }
            let is_corpus = options.input.is_corpus();
            let sites = spaces::sites(options.space);
            let plan =
                RunPlan { sites, logits: model.answers_of_inputs(), pattern_budget_bytes: 0, ..RunPlan::default() };
            passes::of_captures(
                passes::run(&model, &inputs, is_corpus, &plan, 1)?.captures,
                spaces::kept(options.space),
            )
        }
        (None, None) => Err(CliError::Usage("name a --model or a --capture".to_owned())),
    }
}

/// Many heads side by side, few with all threads inside: the same bytes either way.
fn all(
    clouds: &Clouds,
    options: &ProjectOptions,
    method: &Method,
    threads: usize,
) -> Result<Vec<HeadLayout>, CliError> {
    let total = clouds.heads().len();
    let tell = |done: usize| {
        // Nobody stops this but by ending the program.
        show_progress(Progress { stage: Stage::Project, done, total }).ok();
    };
    let work = |head: HeadId| lay_out(clouds, head, options, method).map_err(|error| failed(clouds, head, &error));
    let mut done = Vec::with_capacity(total);
    tell(0);
    for some in clouds.heads().chunks(if total >= threads { threads } else { 1 }) {
        let heads: Result<Vec<HeadLayout>, CliError> = if some.len() > 1 {
            some.par_iter().map(|&head| work(head)).collect()
        } else {
            some.iter().map(|&head| work(head)).collect()
        };
        done.extend(heads?);
        tell(done.len());
    }
    Ok(done)
}

fn failed(clouds: &Clouds, cell: HeadId, error: &crate::projection::ProjectionError) -> CliError {
    CliError::Failed(format!("{} cannot be projected: {error}", clouds.name(cell)))
}

/// What was done otherwise than asked, each once.
fn notes(heads: &[HeadLayout]) -> Vec<String> {
    let mut notes: Vec<String> = heads.iter().filter_map(|head| head.note.clone()).collect();
    notes.dedup();
    notes
}

fn write_timings(
    path: &Path,
    clouds: &Clouds,
    heads: &[HeadLayout],
    (total_ms, threads): (f64, usize),
) -> Result<(), CliError> {
    let rows: Vec<_> = heads
        .iter()
        .map(|head| {
            json!({
                "head": clouds.key(head.head),
                "n_points": head.n_points,
                "neighbors_ms": head.neighbors_ms,
                "embed_ms": head.embed_ms,
            })
        })
        .collect();
    let timings = json!({ "heads": rows, "total_ms": total_ms, "threads": threads });
    export::atomic_write(path, |writer| Ok(serde_json::to_writer_pretty(writer, &timings)?))
        .map_err(|error| CliError::Failed(error.to_string()))
}

fn milliseconds(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1000.0
}
