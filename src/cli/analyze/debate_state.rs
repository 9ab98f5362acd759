//! What `analyze debate` and `analyze identifiability` have measured so far, in memory and in a file that a later run goes on from.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{
    analysis::debate::Instance,
    cli::{CliError, inputs::PreparationOptions},
    corpus::list::InputList,
    export,
    model::Model,
    text::{bytes_text, counted, unreadable},
    worker::{
        corpus::{inputs_key, model_key},
        debate::MOST_IN_VAIN,
        disk_cache::Fingerprint,
    },
};

const VERSION: u32 = 2;
/// Larger files are refused.
const MAX_BYTES: u64 = 1 << 28;
/// Between two writings of the file.
const EVERY: Duration = Duration::from_secs(5);

/// What is measured of one input.
pub trait OfInput: Serialize + DeserializeOwned {
    /// What the file calls itself.
    const FORMAT: &'static str;

    /// Its place in the corpus, from 0.
    fn input(&self) -> usize;
}

impl OfInput for Instance {
    const FORMAT: &'static str = "attnscope-debate";

    fn input(&self) -> usize {
        self.input
    }
}

/// The file.
#[derive(Debug, Serialize, Deserialize)]
struct KeptTests<I> {
    format: String,
    version: u32,
    /// What was asked: model, inputs, tests and options.
    asked: Value,
    /// How many of the first inputs are done.
    n_done: usize,
    instances: Vec<I>,
    /// Inputs that cannot be measured, and why.
    left_out: Vec<(usize, String)>,
}

/// What is measured, and where it is kept.
pub struct DebateState<I> {
    kept: KeptTests<I>,
    path: Option<PathBuf>,
    written: Instant,
}

/// What was measured of the first inputs.
pub struct Measured<I> {
    pub instances: Vec<I>,
    pub left_out: Vec<(usize, String)>,
}

impl<I: OfInput> DebateState<I> {
    /// Goes on from a file where it is there.
    pub fn begin(
        path: Option<&Path>,
        (model, identity): (&Model, &Fingerprint),
        list: &InputList,
        (options, how): (&impl Serialize, PreparationOptions),
    ) -> Result<Self, CliError> {
        let asked = serde_json::json!({
            "model": model_key(identity, model),
            "inputs": inputs_key(list, how.chosen()),
            "options": options,
        });
        let empty = || KeptTests {
            format: I::FORMAT.to_owned(),
            version: VERSION,
            asked: asked.clone(),
            n_done: 0,
            instances: Vec::new(),
            left_out: Vec::new(),
        };
        let kept = match path.map(read).transpose()?.flatten() {
            Some((kept, path)) if kept.asked != asked => return Err(differs(&kept.asked, &asked, path)),
            Some((kept, _)) => kept,
            None => empty(),
        };
        Ok(Self { kept, path: path.map(Path::to_owned), written: Instant::now() })
    }

    /// How many of the first inputs are done.
    pub const fn n_done(&self) -> usize {
        self.kept.n_done
    }

    pub fn add(&mut self, instance: I) {
        self.kept.n_done = instance.input() + 1;
        self.kept.instances.push(instance);
    }

    pub fn leave_out(&mut self, nth: usize, why: String) {
        self.kept.n_done = nth + 1;
        self.kept.left_out.push((nth, why));
    }

    /// Refuses to go on behind input `nth` of `n` where none of many could be measured.
    pub fn check_vain(&self, nth: usize, n: usize) -> Result<(), CliError> {
        let first = self.kept.left_out.first().filter(|_| self.kept.instances.is_empty());
        match first.filter(|_| nth + 1 >= MOST_IN_VAIN.min(n)) {
            Some((_, why)) => Err(CliError::Failed(format!("none of the inputs can be measured: {why}"))),
            None => Ok(()),
        }
    }

    /// Writes the file where the last time was long ago.
    pub fn keep_now_and_then(&mut self) -> Result<(), CliError> {
        if self.written.elapsed() < EVERY {
            return Ok(());
        }
        self.written = Instant::now();
        self.keep()
    }

    /// Writes the file.
    pub fn keep(&self) -> Result<(), CliError> {
        let Some(path) = &self.path else { return Ok(()) };
        export::atomic_write(path, |out| Ok(serde_json::to_writer(out, &self.kept)?))
            .map_err(|error| CliError::Failed(error.to_string()))
    }

    /// Of the first `n` inputs; inputs that were left out are told.
    pub fn measured(self, n: usize) -> Result<Measured<I>, CliError> {
        let KeptTests { mut instances, mut left_out, .. } = self.kept;
        instances.retain(|of| of.input() < n);
        left_out.retain(|(input, _)| *input < n);
        if let Some((input, why)) = left_out.first() {
            log::warn!("{} left out, such as number {}: {why}", counted(left_out.len(), "input"), input + 1);
        }
        if instances.is_empty() {
            return Err(CliError::Failed("there is no input to measure".to_owned()));
        }
        Ok(Measured { instances, left_out })
    }
}

/// The file, where there is one.
fn read<I: OfInput>(path: &Path) -> Result<Option<(KeptTests<I>, &Path)>, CliError> {
    let failed = |why: String| CliError::Failed(format!("the state cannot be read: {why}: {}", path.display()));
    match fs::metadata(path) {
        Ok(file) if file.len() > MAX_BYTES => {
            return Err(failed(format!("it is larger than {}", bytes_text(MAX_BYTES))));
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        _ => {}
    }
    let bytes = fs::read(path).map_err(|error| failed(unreadable(&error)))?;
    let kept: KeptTests<I> =
        serde_json::from_slice(&bytes).map_err(|_| failed("it is no state of this command".to_owned()))?;
    if kept.format != I::FORMAT || kept.version != VERSION {
        return Err(failed("it is of another program or version".to_owned()));
    }
    Ok(Some((kept, path)))
}

/// What differs between what a file was begun with and what is asked now.
fn differs(kept: &Value, asked: &Value, path: &Path) -> CliError {
    let parts = [
        ("model", "weights (another model, or the same name after it was trained or copied anew)"),
        ("inputs", "inputs"),
        ("options", "options"),
    ];
    let other = parts.into_iter().filter(|(part, _)| kept.get(part) != asked.get(part)).map(|(_, name)| name);
    let other: Vec<&str> = other.collect();
    CliError::Usage(format!(
        "the state was begun with other {}: give the same, or another file to --resume: {}",
        other.join(" and "),
        path.display()
    ))
}
