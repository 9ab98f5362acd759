//! `attnscope analyze METHOD`: what the window computes, without a window.
//!
//! Every result is JSON with `method`, `parameters` (defaults included), `model`, `tokens`, `caveat` and `result`.

mod believe;
mod heads;
mod lab;
mod methods;
mod rewrite;

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
    /// Score every head for known kinds: previous token, induction, distance between patches, …
    #[command(after_help = "Without an input, text models read random tokens that repeat and vision models the \
                            bundled pictures.\n\nExample: attnscope analyze heads --model demo:gpt")]
    Heads(heads::HeadsOptions),
    /// The row of attention that is read for the output, of one layer
    #[command(
        after_help = "Example: attnscope analyze attention --model demo:sentiment --text \"a fine film\" --layer 2"
    )]
    Attention(methods::Attention),
    /// Attention of all layers multiplied together (Abnar and Zuidema 2020)
    #[command(
        after_help = "Example: attnscope analyze rollout --model demo:bert --text \"the cat sat\" --residual 0.5"
    )]
    Rollout(lab::Rollout),
    /// Maximum flow from each input to an output through all layers (Abnar and Zuidema 2020)
    #[command(after_help = "Example: attnscope analyze flow --model demo:bert --text \"the cat sat\" --query 0")]
    Flow(lab::Flow),
    /// Attention weighted by its gradient, accumulated over layers (Chefer et al. 2021)
    #[command(after_help = "Example: attnscope analyze relevance --model demo:vit --image cat.png --class 3")]
    Relevance(lab::Relevance),
    /// Gradients of an output by input embeddings or patterns, also along a path
    #[command(after_help = "Example: attnscope analyze gradients --model demo:sentiment --text \"a fine film\" \
                            --integrated 50")]
    Gradients(lab::Gradients),
    /// Change of the output when each token is hidden, masked or deleted
    #[command(after_help = "Example: attnscope analyze loo --model demo:sentiment --text \"a fine film\" --by hide")]
    Loo(lab::LeaveOneOut),
    /// Smallest set of tokens that keeps the output, of the embeddings or in every layer (De Cao et al. 2020)
    #[command(after_help = "Example: attnscope analyze masks --model demo:sentiment --text \"a fine film\" --layers")]
    Masks(methods::Masks),
    /// Attention times the norm of what it moves, and the mixing ratio (Kobayashi et al. 2020, 2021)
    #[command(after_help = "Example: attnscope analyze norms --model demo:bert --text \"the cat sat\"")]
    Norms(methods::Norms),
    /// Part of each head's weights that can change its output (Brunner et al. 2020)
    #[command(after_help = "Example: attnscope analyze effective --model demo:bert --text \"the cat sat\"")]
    Effective(methods::Effective),
    /// Why a query attends to a key: one score as a sum over pairs of parts of the two residual streams
    #[command(
        after_help = "Example: attnscope analyze edges --model demo:gpt --text \"Once upon a time\" --layer 1 --head 0 \
                      --query 3 --key 1"
    )]
    Edges(methods::Edges),
    /// Prediction read from the residual stream after each layer (logit lens)
    #[command(after_help = "Example: attnscope analyze lens --model demo:gpt --text \"Once upon a\" --top 5")]
    Lens(methods::Lens),
    /// A logit as the sum of what embedding, heads and MLPs add to it (Elhage et al. 2021)
    #[command(after_help = "Example: attnscope analyze dla --model demo:gpt --text \"Once upon a\"")]
    Dla(methods::DirectLogits),
    /// Change of the output when each head is switched off in turn
    #[command(
        after_help = "Example: attnscope analyze ablation --model demo:sentiment --text \"a fine film\" --with mean"
    )]
    Ablation(believe::Ablate),
    /// Whether the weights show what the output depends on: correlations, permutation, erasure, adversary
    #[command(after_help = "Example: attnscope analyze faithfulness --model demo:bilstm --text \"a fine film\"")]
    Faithfulness(believe::Faithfulness),
    /// Every head under α-entmax: pattern, keys with weight, and how far the output drifts
    #[command(
        after_help = "Example: attnscope analyze normalizers --model demo:bert --text \"the cat sat\" --alpha 1.5"
    )]
    Normalizers(believe::Normalizers),
    /// Which words cross-attention links, and how well against a gold alignment (Kobayashi et al. 2020)
    #[command(after_help = "Example: attnscope analyze alignment --model demo:translate --text \"the cat sleeps\"")]
    Alignment(believe::Alignment),
    /// Where a fact corrupted by noise can be restored: causal tracing (Meng et al. 2022)
    #[command(
        after_help = "Example: attnscope analyze trace --model demo:gpt --text \"Once upon a time\" --subject 1..3"
    )]
    Trace(methods::Trace),
    /// Change of an answer when the position that is read cannot see a key (Geva et al. 2023)
    #[command(
        after_help = "Example: attnscope analyze knockout --model demo:gpt --text \"Once upon a time\" --window 2"
    )]
    Knockout(methods::Knockout),
    /// Overwrite an association by a rank-one change of an MLP (Meng et al. 2022)
    #[command(
        name = "rank-one",
        after_help = "Example: attnscope analyze rank-one --model demo:gpt --text \"The cat sat on the\" --subject cat \
                      --object bed --layer 1 --neighbour \"The dog sat on the\" --edit-out edit.json\n\n\
                      What was written goes into any other run with --edit @edit.json."
    )]
    RankOne(rewrite::RankOne),
    /// Which memories of a feed-forward layer fire, and which tokens their values promote (Geva et al. 2021)
    #[command(after_help = "Example: attnscope analyze ff --model demo:gpt --text \"Once upon a\" --layer 2")]
    Ff(methods::Memories),
}

impl Method {
    /// A method of the laboratory that needs nothing but its options.
    fn of_the_lab(&self) -> Option<&dyn lab::Method> {
        Some(match self {
            Self::Heads(_) | Self::Alignment(_) | Self::RankOne(_) => return None,
            Self::Attention(options) => options,
            Self::Rollout(options) => options,
            Self::Flow(options) => options,
            Self::Relevance(options) => options,
            Self::Gradients(options) => options,
            Self::Loo(options) => options,
            Self::Masks(options) => options,
            Self::Norms(options) => options,
            Self::Effective(options) => options,
            Self::Edges(options) => options,
            Self::Lens(options) => options,
            Self::Dla(options) => options,
            Self::Ablation(options) => options,
            Self::Faithfulness(options) => options,
            Self::Normalizers(options) => options,
            Self::Trace(options) => options,
            Self::Knockout(options) => options,
            Self::Ff(options) => options,
        })
    }
}

pub fn run(method: &Method) -> Result<(), CliError> {
    match (method, method.of_the_lab()) {
        (Method::Heads(options), _) => heads::run(options),
        (Method::Alignment(options), _) => lab::run(&options.read()?),
        (Method::RankOne(options), _) => options.run(),
        (_, Some(method)) => lab::run(method),
        (_, None) => Ok(()),
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
