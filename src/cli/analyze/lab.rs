//! Methods of the laboratory on the command line.

use std::path::{Path, PathBuf};

use clap::Args;

use super::write;
use crate::{
    analysis::explain::{
        report::{Document, Report},
        rollout::{Fuse, RolloutOptions},
    },
    cli::{CliError, edits::EditOptions, inputs::OneInput, open_model, show_progress, target::TargetOptions},
    lab::{self, Answer, Ask, Bench, LabError, LeaveOut, Of, Patience, Rule, defaults},
    model::{Engine, Input, Logits, Model, RunPlan},
};

/// What every method takes: a model, an input, changes, and which output is explained.
#[derive(Debug, Args)]
pub struct LabOptions {
    /// A model folder, a bundled model such as demo:gpt, or a hub id that is in the local cache
    #[arg(long)]
    model: String,
    #[command(flatten)]
    input: OneInput,
    #[command(flatten)]
    edits: EditOptions,
    #[command(flatten)]
    target: TargetOptions,
    /// Rank special tokens such as [CLS] among the words, too
    #[arg(long)]
    special: bool,
    /// Where to write the result; - is stdout
    #[arg(long, value_name = "FILE.json", default_value = "-")]
    out: PathBuf,
    /// Compute threads
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
}

/// How layers are multiplied up.
#[derive(Clone, Copy, Debug, Args)]
pub struct RolloutArgs {
    /// How heads are combined: mean, max or min
    #[arg(long, default_value = RolloutOptions::default().fuse.name(), value_parser = parse_fuse)]
    fuse: Fuse,
    /// Share of each layer's weights set to 0, smallest first
    #[arg(long, value_name = "R", default_value_t = RolloutOptions::default().discard)]
    discard: f64,
    /// Assumed share of the residual stream
    #[arg(long, value_name = "W", default_value_t = RolloutOptions::default().residual)]
    residual: f64,
    /// The first layer that counts
    #[arg(long, value_name = "L", default_value_t = RolloutOptions::default().start_layer)]
    start: usize,
}

impl RolloutArgs {
    fn options(self) -> RolloutOptions {
        let Self { fuse, discard, residual, start } = self;
        RolloutOptions { fuse, discard, residual, start_layer: start }
    }
}

#[derive(Debug, Args)]
pub struct Rollout {
    #[command(flatten)]
    lab: LabOptions,
    #[command(flatten)]
    rollout: RolloutArgs,
}

#[derive(Debug, Args)]
pub struct Flow {
    #[command(flatten)]
    lab: LabOptions,
    #[command(flatten)]
    rollout: RolloutArgs,
    /// Row to write [default: all]
    #[arg(long, value_name = "N")]
    query: Option<usize>,
}

#[derive(Debug, Args)]
pub struct Relevance {
    #[command(flatten)]
    lab: LabOptions,
    /// What gradients are multiplied by: gradient (the attention itself) or lrp (its share by propagation)
    #[arg(long, default_value = "gradient", value_parser = parse_rule)]
    rule: Rule,
    /// The first layer that counts
    #[arg(long, value_name = "L", default_value_t = 0)]
    start: usize,
}

#[derive(Debug, Args)]
pub struct Gradients {
    #[command(flatten)]
    lab: LabOptions,
    /// Variable to differentiate by: input or pattern
    #[arg(long, default_value = "input", value_parser = parse_of)]
    of: Of,
    /// Multiply gradients by their variable: true (what a token adds) or false (how steep the output is)
    #[arg(long, value_name = "YES", default_value_t = defaults::TIMES_INPUT, num_args = 0..=1,
        default_missing_value = "true", action = clap::ArgAction::Set)]
    times_input: bool,
    /// Average gradients over so many steps from the baseline to this input
    #[arg(long, value_name = "STEPS", value_parser = clap::value_parser!(u16).range(1..=1000))]
    integrated: Option<u16>,
}

#[derive(Debug, Args)]
pub struct LeaveOneOut {
    #[command(flatten)]
    lab: LabOptions,
    /// How tokens are left out: hide, mask or delete
    #[arg(long, default_value = "hide", value_parser = parse_leave_out)]
    by: LeaveOut,
}

fn parse_fuse(name: &str) -> Result<Fuse, String> {
    Fuse::from_name(name).ok_or_else(|| "choose from mean, max, min".to_owned())
}

fn parse_of(name: &str) -> Result<Of, String> {
    [Of::Input, Of::Pattern]
        .into_iter()
        .find(|of| of.name() == name)
        .ok_or_else(|| "choose input or pattern".to_owned())
}

fn parse_rule(name: &str) -> Result<Rule, String> {
    Rule::from_name(name).ok_or_else(|| "choose gradient or lrp".to_owned())
}

fn parse_leave_out(name: &str) -> Result<LeaveOut, String> {
    LeaveOut::from_name(name).ok_or_else(|| "choose from hide, mask, delete".to_owned())
}

/// A method with what it is to be run on.
pub trait Method {
    /// What it runs on.
    fn lab(&self) -> &LabOptions;
    /// The question.
    fn ask(&self) -> Ask;
    /// How long it may take unasked.
    fn patience(&self) -> Patience {
        Patience::DEFAULT
    }
}

impl Method for Rollout {
    fn lab(&self) -> &LabOptions {
        &self.lab
    }
    fn ask(&self) -> Ask {
        Ask::Rollout(self.rollout.options())
    }
}

impl Method for Flow {
    fn lab(&self) -> &LabOptions {
        &self.lab
    }
    fn ask(&self) -> Ask {
        Ask::Flow { query: self.query, options: self.rollout.options() }
    }
}

impl Method for Relevance {
    fn lab(&self) -> &LabOptions {
        &self.lab
    }
    fn ask(&self) -> Ask {
        Ask::Relevance { rule: self.rule, start_layer: self.start }
    }
}

impl Method for Gradients {
    fn lab(&self) -> &LabOptions {
        &self.lab
    }
    fn ask(&self) -> Ask {
        Ask::Gradients { of: self.of, times_input: self.times_input, steps: self.integrated.map(usize::from) }
    }
}

impl Method for LeaveOneOut {
    fn lab(&self) -> &LabOptions {
        &self.lab
    }
    fn ask(&self) -> Ask {
        Ask::LeaveOneOut { by: self.by }
    }
}

impl LabOptions {
    /// The one input that is explained.
    pub fn only_input(&self) -> Result<Input, CliError> {
        self.input.read()
    }

    /// Opens a model.
    pub fn open(&self, name: &str) -> Result<Model, CliError> {
        let engine = Engine::cpu(self.threads.map(usize::from)).map_err(|error| CliError::Failed(error.to_string()))?;
        open_model(name, &engine)
    }
}

/// Runs a method on an input and writes what it answers.
pub fn run(method: &dyn Method) -> Result<(), CliError> {
    answered(method).map(|_| ())
}

/// The same, for whoever has more to do with the answer.
pub fn answered(method: &dyn Method) -> Result<Report, CliError> {
    let LabOptions { model, edits, target, special, out, .. } = method.lab();
    let input = method.lab().only_input()?;
    let model = method.lab().open(model)?;
    let encoded = model.encode(&input)?;
    let encoded = model.completed(&encoded, &RunPlan { logits: Logits::Skip, ..RunPlan::silent() }, &show_progress)?;
    let edits = edits.edits();
    let quiet = |_: &Report| {};
    let bench = Bench::new(&model, &encoded, &edits, &show_progress, &quiet).with_patience(method.patience());
    let Answer { capture, report } = lab::answer(bench, &method.ask(), target.target(&model)?).map_err(failed)?;
    let captures = [capture];
    write_report(Document { report: &report, captures: &captures, with_special: *special }, out)?;
    Ok(report)
}

fn write_report(document: Document<'_>, out: &Path) -> Result<(), CliError> {
    let document = serde_json::to_value(document);
    write(&document.map_err(|error| CliError::Failed(error.to_string()))?, out)
}

/// What a method could not do, as the command line says it.
pub fn failed(error: LabError) -> CliError {
    match error {
        LabError::Model(error) => error.into(),
        LabError::TakesLong(estimate) => {
            let fewer =
                estimate.every.map_or_else(String::new, |every| format!(", or fewer of it with --every {every}"));
            CliError::Failed(format!("{estimate}: begin it with --yes{fewer}"))
        }
        error => CliError::Failed(error.to_string()),
    }
}
