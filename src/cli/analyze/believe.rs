//! Options of methods of the laboratory that put attention to the test.

use std::{fs, path::PathBuf, sync::Arc};

use clap::Args;

use super::{
    lab::{LabOptions, Method, failed},
    methods::parse_stack,
};
use crate::{
    analysis::explain::alignment::{Setting, Symmetrize},
    capture::Ablation,
    cli::{CliError, show_progress},
    ids::StackKind,
    lab::{Ask, Bench, FaithfulnessOptions, Reverse, defaults},
    model::Input,
};

#[derive(Debug, Args)]
pub struct Ablate {
    #[command(flatten)]
    lab: LabOptions,
    /// Replacement of a head's output: zero, mean, uniform or shuffle
    #[arg(long = "with", value_name = "HOW", default_value = "zero", value_parser = parse_ablation)]
    with: Ablation,
}

impl Method for Ablate {
    fn lab(&self) -> &LabOptions {
        &self.lab
    }
    fn ask(&self) -> Ask {
        Ask::Ablation(self.with)
    }
}

fn parse_ablation(name: &str) -> Result<Ablation, String> {
    match name {
        "zero" => Ok(Ablation::Zero),
        "mean" => Ok(Ablation::Mean),
        "uniform" => Ok(Ablation::Uniform),
        "shuffle" => Ok(Ablation::Shuffle { seed: 0 }),
        _ => Err("choose zero, mean, uniform or shuffle".to_owned()),
    }
}

#[derive(Debug, Args)]
pub struct Faithfulness {
    #[command(flatten)]
    lab: LabOptions,
    /// Attention stack [default: cross-attention where there is some]
    #[arg(long, value_parser = parse_stack)]
    stack: Option<StackKind>,
    /// All heads of this layer together [default: the last layer]
    #[arg(long, value_name = "L", conflicts_with = "head")]
    layer: Option<usize>,
    /// One head, such as L3H5
    #[arg(long, value_name = "HEAD", value_parser = parse_head)]
    head: Option<(usize, usize)>,
    /// Number of permutations of the weights
    #[arg(long, value_name = "N", default_value_t = defaults::FAITHFULNESS.n_permutations as u16, value_parser = clap::value_parser!(u16).range(1..=10_000))]
    permutations: u16,
    /// Steps of the search for adversarial attention; 0 leaves it out
    #[arg(long, value_name = "N", default_value_t = defaults::FAITHFULNESS.n_steps as u16, value_parser = clap::value_parser!(u16).range(0..=10_000))]
    steps: u16,
    /// Seed of permutations, random orders and adversaries
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
    #[arg(long, value_name = "A", default_value_t = defaults::ALPHA)]
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
    /// File of hand-made links of this sentence: 3-5 is a sure link of source word 3 and target word 5, 3p5 a
    /// possible one
    #[arg(long, value_name = "FILE")]
    gold: Option<PathBuf>,
    /// A model that translates the other way: the links of both are combined; needs --target
    #[arg(long, value_name = "MODEL")]
    reverse_model: Option<String>,
    /// How two directions are combined: intersection, union, grow-diag or grow-diag-final-and
    #[arg(
        long,
        value_name = "WAY",
        requires = "reverse_model",
        default_value = "grow-diag-final-and",
        value_parser = parse_symmetrize
    )]
    symmetrize: Symmetrize,
}

/// An alignment with its gold file read, and the other direction run.
pub struct ReadAlignment<'a> {
    options: &'a Alignment,
    gold: Option<String>,
    reverse: Option<Reverse>,
}

impl Alignment {
    /// Reads the gold file and runs the other direction, where there are any.
    pub fn read(&self) -> Result<ReadAlignment<'_>, CliError> {
        let read = |path: &PathBuf| {
            fs::read_to_string(path)
                .map_err(|error| CliError::Failed(format!("{} cannot be read: {error}", path.display())))
        };
        let gold = self.gold.as_ref().map(read).transpose()?;
        Ok(ReadAlignment { options: self, gold, reverse: self.reverse()? })
    }

    fn reverse(&self) -> Result<Option<Reverse>, CliError> {
        let Some(name) = &self.reverse_model else { return Ok(None) };
        let Input::Pair { source, target } = self.lab.only_input()? else {
            let what = "two directions need two texts: give the translation as --target";
            return Err(CliError::Usage(what.to_owned()));
        };
        let model = self.lab.open(name)?;
        let encoded = model.encode(&Input::Pair { source: target, target: source })?;
        let bench = Bench::new(&model, &encoded, &[], &show_progress, &|_| {});
        let run = Arc::new(bench.into_plain().map_err(failed)?);
        Ok(Some(Reverse { run, way: self.symmetrize }))
    }
}

impl Method for ReadAlignment<'_> {
    fn lab(&self) -> &LabOptions {
        &self.options.lab
    }
    fn ask(&self) -> Ask {
        Ask::Alignment { setting: self.options.setting, gold: self.gold.clone(), reverse: self.reverse.clone() }
    }
}

fn parse_symmetrize(name: &str) -> Result<Symmetrize, String> {
    Symmetrize::from_name(name)
        .ok_or_else(|| format!("choose from {}", Symmetrize::ALL.map(Symmetrize::name).join(", ")))
}

fn parse_setting(name: &str) -> Result<Setting, String> {
    Setting::from_name(name).ok_or_else(|| "choose awo or awi".to_owned())
}

fn parse_head(text: &str) -> Result<(usize, usize), String> {
    let numbers = text.strip_prefix(['L', 'l']).and_then(|rest| rest.split_once(['H', 'h']));
    let head = numbers.and_then(|(layer, head)| Some((layer.parse().ok()?, head.parse().ok()?)));
    head.ok_or_else(|| format!("`{text}` is not a head such as L3H5"))
}
