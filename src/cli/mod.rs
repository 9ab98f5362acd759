//! The command line: what was typed, and the subcommands that need no window.
//!
//! Results go to stdout or to the file that was asked for; everything else is one line on stderr.

mod analyze;
mod capture;
mod check;
mod compute;
mod direction;
mod edits;
mod inputs;
mod layout;
mod models;
pub mod open;
mod panics;
mod passes;
mod project;
mod pull;
mod render;
mod spaces;
mod target;

use std::{
    io::{self, IsTerminal as _, Write as _},
    process::ExitCode,
};

use clap::{Parser, Subcommand};

use self::open::OpenOptions;
use crate::{
    figure::spec::FigureError,
    model::{Cancelled, Engine, LoadError, Model, ModelError, Progress, input::NO_TOKENIZER, locate},
    worker::disk_cache::Fingerprint,
};

/// What was typed.
#[derive(Debug, Parser)]
#[command(
    name = "attnscope",
    version,
    about = "A native desktop explorer of transformer attention",
    after_help = "Without a subcommand the window opens with a bundled model.\n\n\
                  Example: attnscope open path/to/model --view heatmap --layer 3 --head 1"
)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Subcommands>,
}

#[derive(Debug, Subcommand)]
enum Subcommands {
    /// Open the window with models, captures, pictures, texts, sessions or links
    #[command(after_help = "Examples:\n  attnscope open path/to/vit photo.jpg --view picture --query 40\n  \
                      attnscope open work.attnscope\n  \
                      attnscope open \"attnscope://open?model=demo:gpt&text=Once%20upon%20a%20time&layer=2&head=3\"")]
    Open(OpenOptions),
    /// Run a model and write the activations of every head to a safetensors file
    #[command(
        after_help = "Example: attnscope capture --model demo:gpt --text \"Once upon a time\" --out story.safetensors"
    )]
    Capture(capture::CaptureOptions),
    /// Compute attributions and head scores of an input, and write them as JSON
    #[command(subcommand)]
    Analyze(analyze::Method),
    /// Take the difference of the means of two sets of inputs as a direction, for --edit
    #[command(
        after_help = "Example: attnscope direction --model demo:sentiment --plus good.txt --minus bad.txt --layer 2 --add 2 --out good.json\n\n\
                      Any run can be changed along it with --edit @good.json."
    )]
    Direction(direction::DirectionOptions),
    /// Draw a view into an SVG, PDF or PNG file, or write the numbers behind it
    #[command(
        after_help = "Examples:\n  attnscope render lines --model demo:gpt --text \"Once upon a time\" --layer 2 --out lines.svg\n  \
                      attnscope render heatmap --model demo:translate --text \"Good morning\" --sheet 4x2 --out sheet.pdf\n  \
                      attnscope render heatmap --capture story.safetensors --layer 2 --head 3 --data head.csv\n  \
                      attnscope render --session work.attnscope --pane 1 --out pane.pdf\n  \
                      attnscope render qk-maps --model demo:bert --text \"The bank of the river\" --space residual --color-by kind --out stream.svg"
    )]
    Render(Box<render::RenderOptions>),
    /// Lay out queries and keys of heads, or other vectors, in two or three dimensions, and write the coordinates
    #[command(
        after_help = "Examples:\n  attnscope project --model demo:gpt --text \"Once upon a time\" --method tsne --out space.json\n  \
                      attnscope project --capture story.safetensors --method umap --dims 3 --heads L2H3,L3H0 --out space.csv\n  \
                      attnscope project --model demo:bert --corpus demo:sentences --search \"cat,dog\" --search-as word --shared position,text --out space.json\n  \
                      attnscope project --model demo:gpt --space positions --method umap --out positions.csv"
    )]
    Project(Box<project::ProjectOptions>),
    /// Open a model, show how it was understood, and test that its numbers obey the laws of attention
    #[command(
        after_help = "Examples:\n  attnscope check path/to/model\n  attnscope check path/to/model --against candle --text \"Once upon a time\""
    )]
    Check(check::CheckOptions),
    /// Download a model from the Hugging Face hub into the cache that Python shares
    #[command(after_help = "Example: attnscope pull openai-community/gpt2")]
    Pull(pull::PullOptions),
    /// List the bundled models and those in the local Hugging Face cache
    #[command(after_help = "Example: attnscope models")]
    Models,
}

/// Why a subcommand failed.
#[derive(Debug, PartialEq, Eq)]
pub enum CliError {
    /// The request was understood but failed: exit code 1.
    Failed(String),
    /// The request made no sense: exit code 2.
    Usage(String),
}

impl From<FigureError> for CliError {
    fn from(error: FigureError) -> Self {
        match error {
            FigureError::Usage(sentence) => Self::Usage(sentence),
            FigureError::Failed(sentence) => Self::Failed(sentence),
        }
    }
}

impl From<LoadError> for CliError {
    fn from(error: LoadError) -> Self {
        Self::Failed(one_line(&error.to_string(), &error.details()))
    }
}

impl From<ModelError> for CliError {
    fn from(error: ModelError) -> Self {
        Self::Failed(one_line(&error.to_string(), &error.details()))
    }
}

/// Parses the command line and does what it says; `open_window` is called for `open` and for no
/// subcommand.
pub fn run(open_window: impl FnOnce(OpenOptions) -> Result<(), String>) -> ExitCode {
    panics::install();
    // clap prints its own message and exits with 2 when it does not understand.
    let subcommand = Arguments::parse().command;
    report(panics::guarded(|| match subcommand {
        None => open_window(OpenOptions::default()).map_err(CliError::Failed),
        Some(Subcommands::Open(options)) => {
            options.check().map_err(CliError::Usage)?;
            open_window(options).map_err(CliError::Failed)
        }
        Some(Subcommands::Capture(options)) => capture::run(&options),
        Some(Subcommands::Analyze(method)) => analyze::run(&method),
        Some(Subcommands::Direction(options)) => direction::run(&options),
        Some(Subcommands::Render(options)) => render::run(&options),
        Some(Subcommands::Project(options)) => project::run(&options),
        Some(Subcommands::Check(options)) => check::run(&options),
        Some(Subcommands::Pull(options)) => pull::run(&options),
        Some(Subcommands::Models) => {
            models::run();
            Ok(())
        }
    }))
}

/// Tells how it went: nothing, or one line on stderr.
fn report(result: Result<(), CliError>) -> ExitCode {
    let (message, code) = match result {
        Ok(()) => return ExitCode::SUCCESS,
        Err(CliError::Failed(message)) => (message, 1),
        Err(CliError::Usage(message)) => (message, 2),
    };
    // Nobody is left to tell when stderr is closed.
    writeln!(io::stderr(), "attnscope: {message}").ok();
    ExitCode::from(code)
}

/// Tells what was done otherwise than asked, on stderr.
fn note(sentence: &str) {
    writeln!(io::stderr(), "attnscope: {sentence}").ok();
}

/// Opens a model, and tells what there is to know about it.
fn open_model(name: &str, engine: &Engine) -> Result<Model, CliError> {
    Ok(open_identified(name, engine)?.0)
}

/// The same, with what its files are known by.
fn open_identified(name: &str, engine: &Engine) -> Result<(Model, Fingerprint), CliError> {
    let (files, name) = locate::model(name)?;
    let identity = Fingerprint::of_model(&files);
    let model = Model::load(&files, &name, engine, &show_progress)?;
    // Whoever gives ids knows.
    let warnings = model.audit().warnings.iter().filter(|warning| *warning != NO_TOKENIZER);
    warnings.for_each(|warning| note(warning));
    Ok((model, identity))
}

fn one_line(summary: &str, details: &str) -> String {
    let joined = if details.is_empty() { summary.to_owned() } else { format!("{summary}. {details}") };
    joined.replace('\n', " ")
}

/// A progress line on stderr, only where somebody watches.
#[expect(clippy::unnecessary_wraps, reason = "a control may stop the work; this one never does")]
fn show_progress(progress: Progress) -> Result<(), Cancelled> {
    if io::stderr().is_terminal() {
        let Progress { stage, done, total } = progress;
        let bar = bar_text(done as f32 / total.max(1) as f32);
        let end = if done >= total { "\r\x1b[K" } else { "" };
        let mut stderr = io::stderr();
        write!(stderr, "\r{bar} {} {done}/{total}{end}", stage.label()).and_then(|()| stderr.flush()).ok();
    }
    Ok(())
}

/// A bar of fixed width, full at 1.
fn bar_text(fraction: f32) -> String {
    const WIDTH: usize = 30;
    let filled = ((WIDTH as f32 * fraction) as usize).min(WIDTH);
    "█".repeat(filled) + &"░".repeat(WIDTH - filled)
}
