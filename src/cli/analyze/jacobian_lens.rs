//! `attnscope analyze jacobian-lens`: fits a Jacobian lens over many texts.

use std::{
    fmt::Write as _,
    fs::{self, File},
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use clap::Args;
use serde_json::{Map, Value, json};

use super::over_corpus::ReadInputs;
use crate::{
    analysis::explain::jacobian::{JACOBIAN_LENS, JacobianSums, LensFit, MAX_TOKENS, SKIP_FIRST},
    capture::{Excerpt, Keep},
    cli::{CliError, open_identified, show_progress},
    export,
    model::{Model, Preparation, Progress, Stage, write_lens},
    tensor_file::{self, Written},
    text::{counted, decimal_text, unreadable},
    worker::{
        corpus::{inputs_key, model_key},
        lens_fit::{add_text, notes, too_short},
    },
};

const FORMAT: &str = "attnscope-jacobian-fit";
/// Between two writings of the state.
const EVERY: Duration = Duration::from_secs(10);
/// Bytes of the header of a state, and more than that.
const MAX_HEADER: u64 = 1 << 24;

/// The model, its texts, and where the lens goes.
#[derive(Debug, Args)]
pub struct FitArguments {
    /// A text model of one stack: a folder, a bundled model such as demo:gpt, or a hub id that is in the local cache
    #[arg(long)]
    model: String,
    #[command(flatten)]
    inputs: ReadInputs,
    /// Read only the first texts
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Positions at the beginning of each text that are left out; so is its last
    #[arg(long, default_value_t = SKIP_FIRST, value_name = "N")]
    skip_first: usize,
    /// Keep the sums in this file, and go on from it where it is there
    #[arg(long, value_name = "FILE.safetensors")]
    resume: Option<PathBuf>,
    /// Where to write the lens, for `analyze lens --jacobian-lens FILE` and for the window
    #[arg(long, value_name = "FILE.safetensors")]
    out: PathBuf,
}

pub fn run(asked: &FitArguments) -> Result<(), CliError> {
    let failed = |error: String| CliError::Failed(error);
    if !asked.out.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("safetensors")) {
        return Err(CliError::Usage("the lens is written as .safetensors: give such a name to --out".to_owned()));
    }
    let list = asked.inputs.list()?;
    let (model, identity) = open_identified(&asked.model, &asked.inputs.engine()?)?;
    let n_layers = model.n_stream_layers()?;
    let chosen = asked.inputs.how.chosen();
    let excerpt = chosen.excerpt.unwrap_or_else(|| Excerpt::of(Keep::First, MAX_TOKENS));
    let how = Preparation { excerpt: Some(excerpt), ..chosen };
    let key = json!({
        "model": model_key(&identity, &model), "inputs": inputs_key(&list, how), "skip_first": asked.skip_first,
    });
    let width = model.spec().d_model;
    let empty = LensFit { sums: JacobianSums::new(width, n_layers), ..LensFit::default() };
    let mut fit = match &asked.resume {
        Some(path) => read_state(path, &key, empty)?,
        None => empty,
    };
    let n = list.items.len().min(asked.limit.unwrap_or(usize::MAX));
    if fit.n_done > n {
        return Err(CliError::Usage(format!(
            "the state is of {} already, more than --limit: give another file to --resume",
            counted(fit.n_done, "text")
        )));
    }
    let mut written = Instant::now();
    for nth in fit.n_done..n {
        add_text(&mut fit, &model, (nth, n), (&list.items[nth].content, how, asked.skip_first), &show_progress)?;
        if let Some(path) = asked.resume.as_ref().filter(|_| written.elapsed() > EVERY) {
            keep(&fit, path, &key)?;
            written = Instant::now();
        }
    }
    show_progress(Progress { stage: Stage::Inputs, done: n, total: n }).ok();
    if let Some(path) = &asked.resume {
        keep(&fit, path, &key)?;
    }
    if let Some((input, why)) = fit.left_out.first() {
        log::warn!("{} left out, such as number {}: {why}", counted(fit.left_out.len(), "text"), input + 1);
    }
    if fit.sums.n == 0 {
        return Err(failed(format!("none of the texts can be used: {}", too_short(asked.skip_first))));
    }
    let of = asked.inputs.corpus.file_name().unwrap_or_default().to_string_lossy();
    let notes = notes(&model, &of, (asked.skip_first, excerpt.n_tokens));
    export::atomic_write(&asked.out, |out| write_lens(&fit.sums, &notes, out))
        .map_err(|error| failed(error.to_string()))?;
    // A closed pipe is not an error.
    io::stdout().lock().write_all(table(&model, &fit).as_bytes()).ok();
    Ok(())
}

/// Writes the sums.
fn keep(fit: &LensFit, path: &Path, key: &Value) -> Result<(), CliError> {
    let shape = vec![fit.sums.d_model, fit.sums.d_model];
    let of = |group: &str, all: &[Vec<f64>]| -> Vec<Written> {
        let all = all.iter().enumerate();
        all.map(|(layer, sums)| Written::double(format!("{group}.{layer}"), shape.clone(), sums.iter().copied()))
            .collect()
    };
    let mut tensors = of("sum", &fit.sums.streams);
    tensors.extend(of("sum_attn", &fit.sums.attention));
    let texts = [
        ("format", FORMAT.to_owned()),
        ("asked", key.to_string()),
        ("n", fit.sums.n.to_string()),
        ("n_done", fit.n_done.to_string()),
        ("left_out", json!(fit.left_out).to_string()),
    ];
    let metadata: Map<String, Value> =
        texts.into_iter().map(|(name, text)| (name.to_owned(), Value::String(text))).collect();
    export::atomic_write(path, |out| tensor_file::write(&tensors, metadata, out))
        .map_err(|error| CliError::Failed(error.to_string()))
}

/// The state of a file, where there is one; `empty` has its shapes.
fn read_state(path: &Path, key: &Value, empty: LensFit) -> Result<LensFit, CliError> {
    let failed = |why: &str| CliError::Failed(format!("the state cannot be read: {why}: {}", path.display()));
    let mut file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(empty),
        Err(error) => return Err(failed(&unreadable(&error))),
        Ok(file) => file,
    };
    let other = || failed("it is no state of this command: give another file to --resume");
    let len = fs::metadata(path).map_err(|error| failed(&unreadable(&error)))?.len();
    let header = tensor_file::Header::read(&mut file, len, MAX_HEADER).map_err(|_| other())?;
    let text = |name: &str| header.metadata.get(name).and_then(Value::as_str);
    if text("format") != Some(FORMAT) {
        return Err(other());
    }
    if text("asked") != Some(&*key.to_string()) {
        let what = "the state was begun with another model, other texts or other options";
        return Err(CliError::Usage(format!("{what}: give the same, or another file to --resume: {}", path.display())));
    }
    let count = |name: &str| text(name).and_then(|text| text.parse::<usize>().ok()).ok_or_else(other);
    let mut fit = LensFit { n_done: count("n_done")?, ..empty };
    fit.sums.n = count("n")?;
    fit.left_out = text("left_out").and_then(|text| serde_json::from_str(text).ok()).ok_or_else(other)?;
    let all = fit.sums.streams.iter_mut().chain(&mut fit.sums.attention);
    let mut tensors = header.tensors.iter();
    for sums in all {
        let tensor = tensors.next().filter(|it| it.dtype == "F64" && it.n_bytes() == 8 * sums.len() as u64);
        if tensor.is_none() {
            return Err(other());
        }
        let mut bytes = vec![0u8; 8 * sums.len()];
        file.read_exact(&mut bytes).map_err(|error| failed(&unreadable(&error)))?;
        let (numbers, _) = bytes.as_chunks::<8>();
        sums.iter_mut().zip(numbers).for_each(|(sum, bytes)| *sum = f64::from_le_bytes(*bytes));
    }
    Ok(fit)
}

fn table(model: &Model, fit: &LensFit) -> String {
    let mut out = String::new();
    let mut line = |text: String| writeln!(out, "{text}").unwrap_or_default();
    line(format!("{}: a Jacobian lens of {}", model.spec().name, counted(fit.sums.n, "text")));
    for (layer, of) in fit.sums.layers().iter().enumerate() {
        line(format!(
            "layer {layer}: size {}, distance from the identity {} (both as parts of the identity’s)",
            decimal_text(of.norm),
            decimal_text(of.from_identity)
        ));
    }
    line(JACOBIAN_LENS.caveat.to_owned());
    out
}
