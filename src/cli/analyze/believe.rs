//! Options of methods of the laboratory that put attention to the test.

use std::{fs, path::PathBuf};

use clap::Args;

use super::{
    lab::{LabOptions, Method},
    methods::parse_stack,
};
use crate::{
    analysis::explain::alignment::Setting,
    cli::CliError,
    ids::StackKind,
    lab::{Ask, FaithfulnessOptions},
};

#[derive(Debug, Args)]
pub struct Faithfulness {
    #[command(flatten)]
    lab: LabOptions,
    /// Which stack; without it cross-attention where there is some
    #[arg(long, value_parser = parse_stack)]
    stack: Option<StackKind>,
    /// All heads of this layer together; without it the last layer
    #[arg(long, value_name = "L", conflicts_with = "head")]
    layer: Option<usize>,
    /// One head, such as L3H5
    #[arg(long, value_name = "HEAD", value_parser = parse_head)]
    head: Option<(usize, usize)>,
    /// How many permutations of the weights
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u16).range(1..=10_000))]
    permutations: u16,
    /// Steps of the search for adversarial attention; 0 leaves it out
    #[arg(long, value_name = "N", default_value_t = 500, value_parser = clap::value_parser!(u16).range(0..=10_000))]
    steps: u16,
    /// What permutations, random orders and adversaries begin with
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
}

impl Method for Faithfulness {
    fn lab(&self) -> &LabOptions {
        &self.lab
    }
    fn ask(&self) -> Ask {
        Ask::Faithfulness(FaithfulnessOptions {
            stack: self.stack,
            layer: self.head.map(|(layer, _)| layer).or(self.layer),
            head: self.head.map(|(_, head)| head),
            n_permutations: usize::from(self.permutations),
            n_steps: usize::from(self.steps),
            seed: self.seed,
        })
    }
}

#[derive(Debug, Args)]
pub struct Normalizers {
    #[command(flatten)]
    lab: LabOptions,
    /// α of entmax: 1 is softmax, 2 sparsemax
    #[arg(long, value_name = "A", default_value_t = 1.5)]
    alpha: f64,
}

impl Method for Normalizers {
    fn lab(&self) -> &LabOptions {
        &self.lab
    }
    fn ask(&self) -> Ask {
        Ask::Normalizers { alpha: self.alpha }
    }
}

#[derive(Debug, Args)]
pub struct Alignment {
    #[command(flatten)]
    lab: LabOptions,
    /// The step that a target word is read from: awo (the one that outputs it) or awi (the one that reads it)
    #[arg(long, default_value = "awo", value_parser = parse_setting)]
    setting: Setting,
    /// A file with this sentence's gold links: 3-5 is a sure one of source word 3 and target word 5, 3p5 a possible one
    #[arg(long, value_name = "FILE")]
    gold: Option<PathBuf>,
}

/// An alignment with its gold file read.
pub struct ReadAlignment<'a> {
    options: &'a Alignment,
    gold: Option<String>,
}

impl Alignment {
    /// Reads the gold file, where there is one.
    pub fn read(&self) -> Result<ReadAlignment<'_>, CliError> {
        let read = |path: &PathBuf| {
            fs::read_to_string(path)
                .map_err(|error| CliError::Failed(format!("{} cannot be read: {error}", path.display())))
        };
        Ok(ReadAlignment { options: self, gold: self.gold.as_ref().map(read).transpose()? })
    }
}

impl Method for ReadAlignment<'_> {
    fn lab(&self) -> &LabOptions {
        &self.options.lab
    }
    fn ask(&self) -> Ask {
        Ask::Alignment { setting: self.options.setting, gold: self.gold.clone() }
    }
}

fn parse_setting(name: &str) -> Result<Setting, String> {
    Setting::from_name(name).ok_or_else(|| "choose awo or awi".to_owned())
}

fn parse_head(text: &str) -> Result<(usize, usize), String> {
    let numbers = text.strip_prefix(['L', 'l']).and_then(|rest| rest.split_once(['H', 'h']));
    let head = numbers.and_then(|(layer, head)| Some((layer.parse().ok()?, head.parse().ok()?)));
    head.ok_or_else(|| format!("`{text}` is not a head such as L3H5"))
}
