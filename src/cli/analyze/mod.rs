//! `attnscope analyze METHOD`: what the window computes, without a window.
//!
//! Every result is JSON with `method`, `parameters` (defaults included), `model`, `tokens`, `caveat` and `result`.

mod heads;

use std::{
    io::{self, Write as _},
    path::Path,
};

use clap::Subcommand;
use serde_json::{Value, json};

use super::CliError;
use crate::{
    analysis::explain::{
        self,
        report::{model_json, tokens_json},
    },
    capture::Capture,
    export,
};

/// What to compute.
#[derive(Debug, Subcommand)]
pub enum Method {
    /// Score every head for what heads are known to do: previous token, induction, distance between patches, …
    #[command(after_help = "Without an input, text models read random tokens that repeat and vision models the \
                            bundled pictures.\n\nExample: attnscope analyze heads --model demo:gpt")]
    Heads(heads::HeadsOptions),
}

pub fn run(method: &Method) -> Result<(), CliError> {
    match method {
        Method::Heads(options) => heads::run(options),
    }
}

/// A result in the form that all methods share.
fn document(method: &str, parameters: &Value, captures: &[Capture], result: &Value) -> Value {
    let model = captures.first().map(model_json);
    let tokens: Vec<Value> = captures.iter().map(tokens_json).collect();
    let caveat = explain::report::Method::from_name(method).map(explain::report::Method::caveat);
    json!({
        "method": method,
        "parameters": parameters,
        "model": model,
        "tokens": tokens,
        "caveat": caveat,
        "result": result,
    })
}

/// Writes a result to a file, or to stdout where the file is `-`.
fn write(document: &Value, out: &Path) -> Result<(), CliError> {
    if out == Path::new("-") {
        // A closed pipe is not an error.
        writeln!(io::stdout().lock(), "{document:#}").ok();
        return Ok(());
    }
    export::atomic_write(out, |writer| Ok(serde_json::to_writer_pretty(writer, document)?))
        .map_err(|error| CliError::Failed(error.to_string()))
}
