//! Methods of the laboratory on the command line.

use std::{path::PathBuf, sync::Arc};

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches as _, value_parser};

use super::{fields, write};
use crate::{
    analysis::explain::{
        alignment::Symmetrize,
        report::{Document, Report},
    },
    cli::{
        CliError, compute::ComputeOptions, edits::EditOptions, inputs::OneInput, open_model, show_progress,
        target::TargetOptions,
    },
    export,
    lab::{self, LabAnswer, LabError, LabRun, MethodCall, Registered, Reverse, TimeLimit, edit_of},
    model::{Input, Logits, Model, RunPlan},
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
    #[command(flatten)]
    compute: ComputeOptions,
}

/// What an alignment takes beside its options: a second model, which no option can hold.
#[derive(Debug, Args)]
struct OtherDirection {
    /// A model that translates the other way: the links of both are combined; needs --target
    #[arg(long, value_name = "MODEL")]
    reverse_model: Option<String>,
    /// How two directions are combined: intersection, union, grow-diag or grow-diag-final-and
    #[arg(long, value_name = "WAY", requires = "reverse_model", default_value = "grow-diag-final-and")]
    symmetrize: Symmetrize,
}

/// A question to the laboratory with what it is asked about.
#[derive(Debug)]
pub struct LabArguments {
    lab: LabOptions,
    call: MethodCall,
    files: fields::Files,
    time_limit: TimeLimit,
    other: Option<OtherDirection>,
    edit_out: Option<PathBuf>,
}

const YES: &str = "yes";
const EDIT_OUT: &str = "edit_out";

impl LabArguments {
    /// A command with the flags of a method.
    pub fn augment(command: Command, method: &Registered) -> Command {
        let (command, call) = (LabOptions::augment_args(command), (method.begin)());
        let command = match &call {
            MethodCall::Alignment(_) => OtherDirection::augment_args(command),
            MethodCall::RankOne(_) => command.arg(
                Arg::new(EDIT_OUT)
                    .long("edit-out")
                    .value_name("FILE.json")
                    .value_parser(value_parser!(PathBuf))
                    .help("Write the change itself, for --edit @FILE"),
            ),
            _ => command,
        };
        let command = fields::augment(command, call);
        let yes =
            Arg::new(YES).long(YES).action(ArgAction::SetTrue).help("Start without asking, however long it takes");
        if method.spec.is_long { command.arg(yes) } else { command }
    }

    /// What was asked.
    pub fn read(method: &Registered, matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut call = (method.begin)();
        let files = fields::read(&mut call, matches)?;
        let begins = method.spec.is_long && matches.get_flag(YES);
        let other = matches!(call, MethodCall::Alignment(_)).then(|| OtherDirection::from_arg_matches(matches));
        Ok(Self {
            lab: LabOptions::from_arg_matches(matches)?,
            time_limit: if begins { TimeLimit::Endless } else { TimeLimit::DEFAULT },
            other: other.transpose()?,
            edit_out: matches.try_get_one(EDIT_OUT).ok().flatten().cloned(),
            call,
            files,
        })
    }

    /// Runs the method on the input and writes its answer.
    pub fn run(&self) -> Result<(), CliError> {
        let LabOptions { model, edits, target, special, out, .. } = &self.lab;
        let mut call = self.call.clone();
        fields::read_files(&mut call, &self.files).map_err(CliError::Failed)?;
        if let MethodCall::Alignment(options) = &mut call {
            options.reverse = self.reverse()?;
        }
        let input = match &call {
            // Words that are given need no text around them.
            MethodCall::Embeddings(options) if self.lab.input.is_empty() && options.is_given() => {
                Input::text(options.in_a_row())
            }
            _ => self.lab.input.read()?,
        };
        let model = self.lab.open(model)?;
        let encoded = model.encode(&input)?;
        let encoded =
            model.completed(&encoded, &RunPlan { logits: Logits::Skip, ..RunPlan::silent() }, &show_progress)?;
        let edits = edits.edits();
        let quiet = |_: &Report| {};
        let lab = LabRun::new(&model, &encoded, &edits, &show_progress, &quiet).with_time_limit(self.time_limit);
        let LabAnswer { capture, report } = lab::answer(lab, &call, target.target(&model)?).map_err(failed)?;
        let document = Document { report: &report, captures: &[capture], with_special: *special };
        let document = serde_json::to_value(document).map_err(|error| CliError::Failed(error.to_string()))?;
        write(&document, out)?;
        let (Some(path), Some(edit)) = (&self.edit_out, edit_of(&report)) else { return Ok(()) };
        export::atomic_write(path, |writer| Ok(serde_json::to_writer(writer, &edit)?))
            .map_err(|error| CliError::Failed(error.to_string()))
    }

    /// The run of the other direction, where a model for it was named.
    fn reverse(&self) -> Result<Option<Reverse>, CliError> {
        let Some((name, way)) = self.other.as_ref().and_then(|it| Some((it.reverse_model.as_ref()?, it.symmetrize)))
        else {
            return Ok(None);
        };
        let Input::Pair { source, target } = self.lab.input.read()? else {
            let what = "two directions need two texts: give the translation as --target";
            return Err(CliError::Usage(what.to_owned()));
        };
        let model = self.lab.open(name)?;
        let encoded = model.encode(&source.exchanged(&target))?;
        let lab = LabRun::new(&model, &encoded, &[], &show_progress, &|_| {});
        let run = Arc::new(lab.into_plain().map_err(failed)?);
        Ok(Some(Reverse { run, way }))
    }
}

impl LabOptions {
    /// Opens a model.
    fn open(&self, name: &str) -> Result<Model, CliError> {
        open_model(name, &self.compute.engine()?)
    }
}

/// What a method could not do, as the command line says it.
fn failed(error: LabError) -> CliError {
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
