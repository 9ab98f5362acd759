//! Options of methods of the laboratory that ask about heads, components and facts.

use clap::Args;

use super::lab::{LabOptions, Method};
use crate::{
    capture::Cut,
    ids::{HeadId, StackKind},
    lab::{
        Ask, Baseline, Depth, EdgeOptions, KnockoutOptions, MaskingOptions, Patience, Restore, Subject, Than,
        TraceOptions, defaults,
    },
};

/// A method that has no options of its own.
macro_rules! plain_method {
    ($(#[$doc:meta])* $name:ident, $ask:expr) => {
        $(#[$doc])*
        #[derive(Debug, Args)]
        pub struct $name {
            #[command(flatten)]
            lab: LabOptions,
        }

        impl Method for $name {
            fn lab(&self) -> &LabOptions {
                &self.lab
            }
            fn ask(&self) -> Ask {
                $ask
            }
        }
    };
}

plain_method!(Norms, Ask::Norms);
plain_method!(Effective, Ask::Effective);
plain_method!(DirectLogits, Ask::DirectLogits);

#[derive(Debug, Args)]
pub struct Attention {
    #[command(flatten)]
    lab: LabOptions,
    /// Layer [default: the last]
    #[arg(long, value_name = "L")]
    layer: Option<usize>,
    /// One head [default: the mean of all]
    #[arg(long, value_name = "H")]
    head: Option<usize>,
}

impl Method for Attention {
    fn lab(&self) -> &LabOptions {
        &self.lab
    }
    fn ask(&self) -> Ask {
        Ask::Attention { layer: self.layer, head: self.head }
    }
}

const MASKS: MaskingOptions = MaskingOptions::new(Depth::Embeddings);

#[derive(Debug, Args)]
pub struct Masks {
    #[command(flatten)]
    lab: LabOptions,
    /// Replacement of a masked state: mean (of this input's states) or zero
    #[arg(long, default_value = MASKS.baseline.name(), value_parser = parse_baseline)]
    baseline: Baseline,
    /// States to mask: embeddings, or layers (also the states before and after every layer)
    #[arg(long, value_name = "WHERE", default_value = MASKS.depth.name(), value_parser = parse_depth)]
    depth: Depth,
    /// The same as --depth layers
    #[arg(long, hide = true, conflicts_with = "depth")]
    layers: bool,
    /// Largest allowed change of the output probabilities, in nats
    #[arg(long, value_name = "NATS", default_value_t = MASKS.margin)]
    margin: f64,
    /// Steps of the search in each layer
    #[arg(long, value_name = "N", default_value_t = MASKS.n_steps as u16, value_parser = clap::value_parser!(u16).range(1..=10_000))]
    steps: u16,
    /// Seed of the noise
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
}

impl Method for Masks {
    fn lab(&self) -> &LabOptions {
        &self.lab
    }
    fn ask(&self) -> Ask {
        Ask::Masks(MaskingOptions {
            baseline: self.baseline,
            depth: if self.layers { Depth::Layers } else { self.depth },
            margin: self.margin,
            n_steps: usize::from(self.steps),
            seed: self.seed,
        })
    }
}

fn parse_depth(name: &str) -> Result<Depth, String> {
    Depth::from_name(name).ok_or_else(|| "choose embeddings or layers".to_owned())
}

fn parse_baseline(name: &str) -> Result<Baseline, String> {
    Baseline::from_name(name).ok_or_else(|| "choose mean or zero".to_owned())
}

#[derive(Debug, Args)]
pub struct Edges {
    #[command(flatten)]
    lab: LabOptions,
    /// Attention stack, where there are several
    #[arg(long, value_parser = parse_stack)]
    stack: Option<StackKind>,
    /// The layer
    #[arg(long, value_name = "L")]
    layer: usize,
    /// The head of the layer
    #[arg(long, value_name = "H")]
    head: usize,
    /// The position of the query
    #[arg(long, value_name = "N")]
    query: usize,
    /// The position of the key
    #[arg(long, value_name = "N")]
    key: usize,
    /// Key to compare the score with: mean (of all visible keys), none, or the position of another key
    #[arg(long, value_name = "WHAT", default_value = "mean", value_parser = parse_than)]
    than: Than,
    /// Number of pairs of parts to list, the largest first
    #[arg(long, value_name = "K", default_value_t = defaults::EDGE_PAIRS as u32, value_parser = clap::value_parser!(u32).range(1..))]
    top: u32,
}

impl Method for Edges {
    fn lab(&self) -> &LabOptions {
        &self.lab
    }
    fn ask(&self) -> Ask {
        let stack = self.stack.unwrap_or(StackKind::SelfAttention);
        let head = HeadId { stack, layer: self.layer, head: self.head };
        Ask::Edges(EdgeOptions { head, query: self.query, key: self.key, than: self.than, n_top: self.top as usize })
    }
}

fn parse_than(name: &str) -> Result<Than, String> {
    Than::from_name(name).ok_or_else(|| "choose mean, none or the position of a key".to_owned())
}

#[derive(Debug, Args)]
pub struct Lens {
    #[command(flatten)]
    lab: LabOptions,
    /// Number of tokens or classes to list per layer
    #[arg(long, value_name = "K", default_value_t = defaults::TOP as u16, value_parser = clap::value_parser!(u16).range(1..=1000))]
    top: u16,
}

impl Method for Lens {
    fn lab(&self) -> &LabOptions {
        &self.lab
    }
    fn ask(&self) -> Ask {
        Ask::Lens { n_top: usize::from(self.top) }
    }
}

#[derive(Debug, Args)]
pub struct Memories {
    #[command(flatten)]
    lab: LabOptions,
    /// Layer [default: the last]
    #[arg(long, value_name = "L")]
    layer: Option<usize>,
    /// Number of memories to list, and of tokens of each
    #[arg(long, value_name = "K", default_value_t = defaults::TOP as u16, value_parser = clap::value_parser!(u16).range(1..=1000))]
    top: u16,
}

impl Method for Memories {
    fn lab(&self) -> &LabOptions {
        &self.lab
    }
    fn ask(&self) -> Ask {
        Ask::Memories { layer: self.layer, n_top: usize::from(self.top) }
    }
}

#[derive(Debug, Args)]
pub struct Trace {
    #[command(flatten)]
    lab: LabOptions,
    /// Tokens to corrupt by noise: positions such as 2..5, the last not included, or words of the text
    #[arg(long, value_name = "A..B|WORDS")]
    subject: String,
    /// Noise, in standard deviations of the input embeddings
    #[arg(long, value_name = "S", default_value_t = TraceOptions::DEFAULT.noise)]
    noise: f64,
    /// Number of noise samples
    #[arg(long, value_name = "N", default_value_t = TraceOptions::DEFAULT.n_samples as u16, value_parser = clap::value_parser!(u16).range(1..=1000))]
    samples: u16,
    /// Activation to restore: resid, mlp or attention
    #[arg(long, default_value = TraceOptions::DEFAULT.restore.name(), value_parser = parse_restore)]
    restore: Restore,
    /// Number of layers restored together, for mlp and attention
    #[arg(long, value_name = "W", default_value_t = TraceOptions::DEFAULT.window as u16, value_parser = clap::value_parser!(u16).range(1..))]
    window: u16,
    /// Seed of the noise
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    #[command(flatten)]
    long: LongArgs,
}

/// What is said about a method that may take long.
#[derive(Clone, Copy, Debug, Args)]
pub struct LongArgs {
    /// Only every N-th position
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    every: u16,
    /// Start without asking, however long it takes
    #[arg(long)]
    yes: bool,
}

impl LongArgs {
    const fn patience(self) -> Patience {
        if self.yes { Patience::Endless } else { Patience::DEFAULT }
    }
}

impl Method for Trace {
    fn lab(&self) -> &LabOptions {
        &self.lab
    }
    fn ask(&self) -> Ask {
        Ask::Trace(TraceOptions {
            subject: Subject::parse(&self.subject),
            noise: self.noise,
            n_samples: usize::from(self.samples),
            restore: self.restore,
            window: usize::from(self.window),
            seed: self.seed,
            every: usize::from(self.long.every),
        })
    }
    fn patience(&self) -> Patience {
        self.long.patience()
    }
}

#[derive(Debug, Args)]
pub struct Knockout {
    #[command(flatten)]
    lab: LabOptions,
    /// Attention stack [default: that of the predicted tokens]
    #[arg(long, value_parser = parse_stack)]
    stack: Option<StackKind>,
    /// Number of layers at once
    #[arg(long, value_name = "W", default_value_t = defaults::KNOCKOUT.window as u16, value_parser = clap::value_parser!(u16).range(1..))]
    window: u16,
    /// Where edges are cut: scores (the other keys share the weight) or pattern (the weight is lost)
    #[arg(long, default_value = "scores", value_parser = parse_cut)]
    cut: Cut,
    #[command(flatten)]
    long: LongArgs,
}

impl Method for Knockout {
    fn lab(&self) -> &LabOptions {
        &self.lab
    }
    fn ask(&self) -> Ask {
        Ask::Knockout(KnockoutOptions {
            stack: self.stack,
            window: usize::from(self.window),
            cut: self.cut,
            every: usize::from(self.long.every),
        })
    }
    fn patience(&self) -> Patience {
        self.long.patience()
    }
}

fn parse_restore(name: &str) -> Result<Restore, String> {
    Restore::from_name(name).ok_or_else(|| "choose resid, mlp or attention".to_owned())
}

pub fn parse_stack(name: &str) -> Result<StackKind, String> {
    StackKind::from_name(name).ok_or_else(|| format!("choose from {}", StackKind::ALL.map(StackKind::name).join(", ")))
}

fn parse_cut(name: &str) -> Result<Cut, String> {
    match name {
        "scores" => Ok(Cut::Scores),
        "pattern" => Ok(Cut::Pattern),
        _ => Err("choose scores or pattern".to_owned()),
    }
}
