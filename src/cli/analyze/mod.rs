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
mod diverse_states;
mod experts;
mod features;
mod fields;
mod head;
mod heads;
mod identifiability;
mod jacobian_lens;
mod lab;
mod lengths;
mod likeness;
mod over_corpus;
mod probe;
mod rationales;
mod syntax;
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
        debate::{self as over_inputs, diversity, identifiability as identity, twins as of_twins},
        detect,
        explain::{
            jacobian,
            report::{MethodSpec, model_json, tokens_json},
        },
        head_page, lengths as by_length, likeness as of_states, probe as of_sites, rationale, routing, sae, timing,
        word_links,
    },
    capture::Capture,
    export,
    figure::{self, About, Scene, Typesetter, spec::Paper, write::FigureFormat},
    lab::{ALL, Registered},
};

/// Help of the command that has two ways.
const HEADS_HELP: &str = "Without an input, text models read random tokens that repeat and vision models the bundled \
    pictures. With --corpus every number has its standard error, rank and count.\n\nExamples:\n  attnscope analyze heads \
    --model demo:gpt\n  attnscope analyze heads --model demo:bert --corpus demo:sentences --out heads.csv";

/// Makes [`Method`] of the commands that are no methods of the laboratory: the module of each, its arguments, and its
/// words.
macro_rules! commands {
    ($($(#[$doc:meta])* $variant:ident = $module:ident::$arguments:ident, $spec:expr;)*) => {
        /// What to compute.
        #[derive(Debug)]
        pub enum Method {
            $($(#[$doc])* $variant(Box<$module::$arguments>),)*
            /// A method of the laboratory.
            Lab(Box<lab::LabArguments>),
        }

        impl Method {
            /// The commands with their words, which come last: options bring those of their own struct.
            fn commands() -> Vec<Command> {
                vec![$(titled($module::$arguments::augment_args(Command::new($spec.name)), &$spec),)*]
            }

            fn names() -> Vec<&'static str> {
                vec![$($spec.name,)*]
            }

            fn read(name: &str, matches: &ArgMatches) -> Option<Result<Self, clap::Error>> {
                $(if name == $spec.name {
                    let read = $module::$arguments::from_arg_matches(matches);
                    return Some(read.map(|arguments| Self::$variant(Box::new(arguments))));
                })*
                None
            }
        }

        pub fn run(method: &Method) -> Result<(), CliError> {
            match method {
                $(Method::$variant(arguments) => $module::run(arguments),)*
                Method::Lab(asked) => asked.run(),
            }
        }
    };
}

commands! {
    /// Scores of heads.
    Heads = heads::HeadsOptions, detect::METHOD;
    /// Class, probability and loss of every input.
    Accuracy = accuracy::AccuracyOptions, over_labels::METHOD;
    /// One head over many inputs.
    Head = head::HeadOptions, head_page::METHOD;
    /// Quality by the length of the source.
    Lengths = lengths::LengthsOptions, by_length::METHOD;
    /// The published tests of attention as explanation.
    Debate = debate::DebateArguments, over_inputs::METHOD;
    /// Twins that say the same and attend otherwise.
    Twins = twins::TwinArguments, of_twins::TWINS;
    /// Twins whose states are kept apart.
    Diverse = diverse_states::DiverseArguments, diversity::DIVERSE_STATES;
    /// Whether weights follow from outputs.
    Identifiability = identifiability::IdentityArguments, identity::IDENTIFIABILITY;
    /// The fit of a Jacobian lens.
    JacobianLens = jacobian_lens::FitArguments, jacobian::JACOBIAN_LENS;
    /// Agreement of methods with the words that people marked.
    Rationales = rationales::RationaleArguments, rationale::RATIONALES;
    /// Relations of a treebank that heads find.
    Syntax = syntax::SyntaxArguments, word_links::SYNTAX;
    /// Linear probes of a site.
    Probe = probe::ProbeArguments, of_sites::PROBE;
    /// Features of a sparse autoencoder over many texts.
    Features = features::FeatureArguments, sae::FEATURES;
    /// Likeness of states by layer.
    Likeness = likeness::LikenessArguments, of_states::LIKENESS;
    /// Tokens that experts get.
    Experts = experts::ExpertArguments, routing::EXPERTS;
    /// Times by the length of the input.
    Cost = cost::CostArguments, timing::METHOD;
}

impl Subcommand for Method {
    fn augment_subcommands(command: Command) -> Command {
        let of = |method: &Registered| {
            titled(lab::LabArguments::augment(Command::new(method.spec.name), method), method.spec)
        };
        command
            .subcommands(Self::commands())
            .mut_subcommand(detect::METHOD.name, |heads| heads.after_help(HEADS_HELP))
            .subcommands(ALL.iter().map(of))
            .subcommand_required(true)
            .arg_required_else_help(true)
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        Self::names().contains(&name) || ALL.iter().any(|method| method.spec.name == name)
    }
}

impl FromArgMatches for Method {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let missing = || clap::Error::new(clap::error::ErrorKind::MissingSubcommand);
        let (name, matches) = matches.subcommand().ok_or_else(missing)?;
        match ALL.iter().find(|method| method.spec.name == name) {
            Some(method) => Ok(Self::Lab(Box::new(lab::LabArguments::read(method, matches)?))),
            None => Self::read(name, matches).unwrap_or_else(|| Err(missing())),
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
