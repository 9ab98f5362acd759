//! `attnscope analyze METHOD`: what the window computes, without a window.
//!
//! Every result is JSON with `method`, `parameters` (defaults included), `model`, `tokens`, `caveat` and `result`.
//! Commands, flags, defaults and help of the laboratory's methods are read off their specs.

mod accuracy;
mod contrast_heads;
mod corpus_heads;
mod cost;
mod debate;
mod debate_state;
mod fields;
mod head;
mod heads;
mod identifiability;
mod lab;
mod lengths;
mod twins;

use std::{
    io::{self, Write as _},
    path::Path,
};

use clap::{ArgMatches, Args as _, Command, FromArgMatches, Subcommand};
use serde_json::{Value, json};

use super::CliError;
use crate::{
    analysis::{
        accuracy as over_labels,
        debate::{self as over_inputs, identifiability as identity, twins as of_twins},
        detect,
        explain::report::{MethodSpec, model_json, tokens_json},
        head_page, lengths as by_length, timing,
    },
    capture::Capture,
    export,
    figure::{self, About, Scene, Typesetter, spec::Paper, write::FigureFormat},
    lab::{ALL, Registered},
};

/// What to compute.
#[derive(Debug)]
pub enum Method {
    /// Scores of heads.
    Heads(Box<heads::HeadsOptions>),
    /// Class, probability and loss of every input.
    Accuracy(Box<accuracy::AccuracyOptions>),
    /// Quality by the length of the source.
    Lengths(Box<lengths::LengthsOptions>),
    /// One head over many inputs.
    Head(Box<head::HeadOptions>),
    /// The published tests of attention as explanation.
    Debate(Box<debate::DebateArguments>),
    /// Whether weights follow from outputs.
    Identifiability(Box<identifiability::IdentityArguments>),
    /// Twins that say the same and attend otherwise.
    Twins(Box<twins::TwinArguments>),
    /// Times by the length of the input.
    Cost(Box<cost::CostArguments>),
    /// A method of the laboratory.
    Lab(Box<lab::LabArguments>),
}

impl Subcommand for Method {
    fn augment_subcommands(command: Command) -> Command {
        // The words come last: options bring those of their own struct.
        let heads = heads::HeadsOptions::augment_args(Command::new(detect::METHOD.name));
        let heads = titled(heads, &detect::METHOD).after_help(
            "Without an input, text models read random tokens that repeat and vision models the bundled \
             pictures. With --corpus every number has its standard error, rank and count.\n\nExamples:\n  attnscope \
             analyze heads --model demo:gpt\n  attnscope analyze heads --model demo:bert --corpus demo:sentences --out \
             heads.csv",
        );
        let accuracy = accuracy::AccuracyOptions::augment_args(Command::new(over_labels::METHOD.name));
        let accuracy = titled(accuracy, &over_labels::METHOD);
        let head = head::HeadOptions::augment_args(Command::new(head_page::METHOD.name));
        let head = titled(head, &head_page::METHOD);
        let lengths = lengths::LengthsOptions::augment_args(Command::new(by_length::METHOD.name));
        let lengths = titled(lengths, &by_length::METHOD);
        let cost = cost::CostArguments::augment_args(Command::new(timing::METHOD.name));
        let cost = titled(cost, &timing::METHOD);
        let debate = debate::DebateArguments::augment_args(Command::new(over_inputs::METHOD.name));
        let debate = titled(debate, &over_inputs::METHOD);
        let identifiable =
            identifiability::IdentityArguments::augment_args(Command::new(identity::IDENTIFIABILITY.name));
        let identifiable = titled(identifiable, &identity::IDENTIFIABILITY);
        let twins = twins::TwinArguments::augment_args(Command::new(of_twins::TWINS.name));
        let twins = titled(twins, &of_twins::TWINS);
        let of = |method: &Registered| {
            titled(lab::LabArguments::augment(Command::new(method.spec.name), method), method.spec)
        };
        command
            .subcommand(heads)
            .subcommand(accuracy)
            .subcommand(head)
            .subcommand(lengths)
            .subcommand(debate)
            .subcommand(twins)
            .subcommand(identifiable)
            .subcommand(cost)
            .subcommands(ALL.iter().map(of))
            .subcommand_required(true)
            .arg_required_else_help(true)
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        let of_debate = [over_inputs::METHOD, of_twins::TWINS, identity::IDENTIFIABILITY];
        let own = [detect::METHOD, head_page::METHOD, over_labels::METHOD, by_length::METHOD, timing::METHOD];
        of_debate.iter().chain(&own).any(|method| method.name == name)
            || ALL.iter().any(|method| method.spec.name == name)
    }
}

impl FromArgMatches for Method {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let missing = || clap::Error::new(clap::error::ErrorKind::MissingSubcommand);
        let (name, matches) = matches.subcommand().ok_or_else(missing)?;
        match ALL.iter().find(|method| method.spec.name == name) {
            Some(method) => Ok(Self::Lab(Box::new(lab::LabArguments::read(method, matches)?))),
            None if name == over_labels::METHOD.name => {
                Ok(Self::Accuracy(Box::new(accuracy::AccuracyOptions::from_arg_matches(matches)?)))
            }
            None if name == head_page::METHOD.name => {
                Ok(Self::Head(Box::new(head::HeadOptions::from_arg_matches(matches)?)))
            }
            None if name == by_length::METHOD.name => {
                Ok(Self::Lengths(Box::new(lengths::LengthsOptions::from_arg_matches(matches)?)))
            }
            None if name == over_inputs::METHOD.name => {
                Ok(Self::Debate(Box::new(debate::DebateArguments::from_arg_matches(matches)?)))
            }
            None if name == identity::IDENTIFIABILITY.name => {
                Ok(Self::Identifiability(Box::new(identifiability::IdentityArguments::from_arg_matches(matches)?)))
            }
            None if name == of_twins::TWINS.name => {
                Ok(Self::Twins(Box::new(twins::TwinArguments::from_arg_matches(matches)?)))
            }
            None if name == timing::METHOD.name => {
                Ok(Self::Cost(Box::new(cost::CostArguments::from_arg_matches(matches)?)))
            }
            None => Ok(Self::Heads(Box::new(heads::HeadsOptions::from_arg_matches(matches)?))),
        }
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// A command with the words of a method.
fn titled(command: Command, spec: &MethodSpec) -> Command {
    let example = format!("Example: attnscope analyze {} {}", spec.name, spec.example);
    command.about(spec.about).long_about(None).after_help(example)
}

pub fn run(method: &Method) -> Result<(), CliError> {
    match method {
        Method::Heads(options) => heads::run(options),
        Method::Accuracy(options) => accuracy::run(options),
        Method::Head(options) => head::run(options),
        Method::Lengths(options) => lengths::run(options),
        Method::Debate(asked) => debate::run(asked),
        Method::Identifiability(asked) => identifiability::run(asked),
        Method::Twins(asked) => twins::run(asked),
        Method::Cost(options) => cost::run(options),
        Method::Lab(asked) => asked.run(),
    }
}

/// A result in the form that all methods share.
fn document(spec: &MethodSpec, parameters: &Value, captures: &[Capture], result: &Value) -> Value {
    let model = captures.first().map(model_json);
    let tokens: Vec<Value> = captures.iter().map(tokens_json).collect();
    json!({
        "method": spec.name,
        "parameters": parameters,
        "model": model,
        "tokens": tokens,
        "caveat": spec.caveat,
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

/// Writes a result to a file whose ending says whether it is a figure; any other is JSON.
fn write_scene(
    out: &Path,
    scene: &dyn Scene,
    (method, question): (&MethodSpec, &str),
    document: &Value,
) -> Result<(), CliError> {
    let ending = out.extension().unwrap_or_default().to_string_lossy();
    let Some(format) = FigureFormat::from_extension(&ending) else { return write(document, out) };
    let failed = |error: String| CliError::Failed(error);
    let paper = Paper::default();
    let mut page = paper.page().map_err(|error| failed(error.to_string()))?;
    method.title.clone_into(&mut page.title);
    page.about = About { question: question.to_owned(), caveat: method.caveat.to_owned(), ..About::default() };
    page.provenance = document.to_string();
    let figure = figure::figure(&page, scene, &mut Typesetter::new(paper.fonts));
    let bytes = format.bytes(&figure, paper.svg_text, paper.scale).map_err(|error| failed(error.to_string()))?;
    export::atomic_write(out, |out| out.write_all(&bytes)).map_err(|error| failed(error.to_string()))
}
