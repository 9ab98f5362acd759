//! Arguments of commands that go over many inputs, and the files that they write.

use std::{
    io::{self, Write as _},
    path::PathBuf,
};

use clap::Args;
use serde_json::{Map, Value, json};

use super::write_scene;
use crate::{
    analysis::explain::report::MethodSpec,
    cli::{CliError, compute::ComputeOptions, inputs::PreparationOptions},
    corpus::list::{InputList, ListOptions},
    export,
    figure::{
        Scene,
        data::{self, DataFormat, Table},
    },
    model::Engine,
    worker::corpus,
};

/// Many inputs, and how they are read.
#[derive(Debug, Args)]
pub struct ReadInputs {
    /// Many inputs: a text file, a table, JSON, a folder of pictures, or what is bundled, such as demo:reviews
    #[arg(long, value_name = "PATH")]
    pub corpus: PathBuf,
    /// Column with the text [default: the likeliest]
    #[arg(long, value_name = "NAME")]
    pub text_column: Option<String>,
    #[command(flatten)]
    pub how: PreparationOptions,
    #[command(flatten)]
    compute: ComputeOptions,
}

/// Many inputs that are measured one by one, and summed up with intervals.
#[derive(Debug, Args)]
pub struct MeasuredInputs {
    #[command(flatten)]
    pub read: ReadInputs,
    /// Measure only the first inputs
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// How often the inputs are drawn anew for the intervals
    #[arg(long, default_value_t = 1000, value_name = "N", value_parser = clap::value_parser!(u32).range(100..=100_000))]
    samples: u32,
    /// The same seed gives the same numbers
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub seed: u64,
    /// Write JSON (.json), a row for each measurement (.csv), or a figure (.svg, .pdf, .png), instead of a table; - is
    /// JSON on stdout
    #[arg(long, value_name = "FILE")]
    out: Vec<PathBuf>,
}

/// A file of what was measured before.
#[derive(Debug, Args)]
pub struct KeptMeasures {
    /// Keep what is measured in this file, and go on from it where it is there
    #[arg(long, value_name = "FILE.json")]
    pub resume: Option<PathBuf>,
}

impl ReadInputs {
    /// The inputs; what is to be known about them is a warning.
    pub fn list(&self) -> Result<InputList, CliError> {
        let options = ListOptions { text_column: self.text_column.clone(), ..ListOptions::default() };
        let list = corpus::read(&self.corpus, &options).map_err(|error| CliError::Failed(error.to_string()))?;
        for note in &list.notes {
            log::warn!("{note}: {}", self.corpus.display());
        }
        Ok(list)
    }

    /// What computes.
    pub fn engine(&self) -> Result<Engine, CliError> {
        self.compute.engine()
    }

    /// What the inputs are called.
    pub fn name(&self) -> String {
        self.corpus.display().to_string()
    }
}

impl MeasuredInputs {
    /// How many of `n` inputs are measured.
    pub fn n_of(&self, n: usize) -> usize {
        n.min(self.limit.unwrap_or(usize::MAX))
    }

    /// How often the inputs are drawn anew.
    pub const fn samples(&self) -> usize {
        self.samples as usize
    }

    /// What a result says of its inputs, with what else was asked.
    pub fn parameters(&self, more: Value) -> Value {
        let mut said = Map::from_iter([
            ("corpus".to_owned(), json!(self.read.corpus)),
            ("text_column".to_owned(), json!(self.read.text_column)),
            ("limit".to_owned(), json!(self.limit)),
            ("samples".to_owned(), json!(self.samples)),
        ]);
        if let Value::Object(more) = more {
            said.extend(more);
        }
        Value::Object(said)
    }

    /// Writes the files that were asked for, as the ending of each says; without any, `table` to stdout.
    pub fn tell(
        &self,
        (scene, document): (&dyn Scene, &Value),
        about: (&MethodSpec, &str),
        rows: impl Fn() -> Table,
        table: impl FnOnce() -> String,
    ) -> Result<(), CliError> {
        if self.out.is_empty() {
            // A closed pipe is not an error.
            io::stdout().lock().write_all(table().as_bytes()).ok();
        }
        write_each(&self.out, (scene, document), about, rows)
    }
}

/// Writes files as the ending of each says: rows, JSON or a figure.
pub fn write_each(
    files: &[PathBuf],
    (scene, document): (&dyn Scene, &Value),
    about: (&MethodSpec, &str),
    rows: impl Fn() -> Table,
) -> Result<(), CliError> {
    files.iter().try_for_each(|out| {
        if out.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("csv")) {
            return export::atomic_write(out, |out| data::write(&rows(), DataFormat::Csv, out))
                .map_err(|error| CliError::Failed(error.to_string()));
        }
        write_scene(out, scene, about, document)
    })
}
