//! Questions, with their options.

use std::{
    borrow::Cow,
    hash::{DefaultHasher, Hash as _, Hasher as _},
};

use serde_json::{Value, json};

use super::{FaithfulnessOptions, KnockoutOptions, TraceOptions};
use crate::{
    analysis::explain::{alignment::Setting, report::Method, rollout::RolloutOptions},
    capture::Cut,
};

/// A method with its options.
#[derive(Clone, Debug, PartialEq)]
pub enum Ask {
    /// Attention of all layers multiplied up.
    Rollout(RolloutOptions),
    /// What can flow from each input to an output.
    Flow {
        /// The output; all where there is none.
        query: Option<usize>,
        /// As for the rollout.
        options: RolloutOptions,
    },
    /// Attention weighted by its gradient, summed up over layers (Chefer et al. 2021).
    Relevance {
        /// Layers before this one are left out.
        start_layer: usize,
    },
    /// Gradients of the target.
    Gradients {
        /// By what.
        of: Of,
        /// Whether they are multiplied by what they are of.
        times_input: bool,
        /// Steps of a path from nothing to the input, whose gradients are averaged (Sundararajan et al. 2017).
        steps: Option<usize>,
    },
    /// What changes when a token is left out.
    LeaveOneOut {
        /// How it is left out.
        by: LeaveOut,
    },
    /// Attention times the length of what it moves.
    Norms,
    /// The part of attention that has an effect.
    Effective,
    /// What each layer would say.
    Lens {
        /// How many tokens or classes are told.
        n_top: usize,
    },
    /// What each component adds to a logit.
    DirectLogits,
    /// Where a fact that was destroyed can be restored.
    Trace(TraceOptions),
    /// What is lost when queries may not see keys.
    Knockout(KnockoutOptions),
    /// Whether a head's weights say what the output depends on.
    Faithfulness(FaithfulnessOptions),
    /// Attention under α-entmax.
    Normalizers {
        /// 1 is softmax, 2 sparsemax.
        alpha: f64,
    },
    /// Words that translate each other.
    Alignment {
        /// Which row a target piece is read from.
        setting: Setting,
        /// One sentence's gold links.
        gold: Option<String>,
    },
    /// Which memories of a feed-forward layer fire.
    Memories {
        /// The layer; the last where there is none.
        layer: Option<usize>,
        /// How many memories, and tokens of each, are told.
        n_top: usize,
    },
}

/// What gradients are of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Of {
    /// Input embeddings.
    #[default]
    Input,
    /// Every weight of every pattern.
    Pattern,
}

/// How a token is left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum LeaveOut {
    /// No query can attend to it: positions stay.
    #[default]
    Hide,
    /// The mask token stands in its place.
    Mask,
    /// It is taken out of the text: positions after it move.
    Delete,
}

impl LeaveOut {
    /// Every way.
    pub const ALL: [Self; 3] = [Self::Hide, Self::Mask, Self::Delete];

    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hide => "hide",
            Self::Mask => "mask",
            Self::Delete => "delete",
        }
    }

    /// The way with this [`name`](Self::name).
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|by| by.name() == name)
    }
}

impl Of {
    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::Pattern => "pattern",
        }
    }
}

impl Ask {
    /// Which method it is.
    pub const fn method(&self) -> Method {
        match self {
            Self::Rollout(_) => Method::Rollout,
            Self::Flow { .. } => Method::Flow,
            Self::Relevance { .. } => Method::Relevance,
            Self::Gradients { .. } => Method::Gradients,
            Self::LeaveOneOut { .. } => Method::LeaveOneOut,
            Self::Norms => Method::Norms,
            Self::Effective => Method::Effective,
            Self::Lens { .. } => Method::Lens,
            Self::DirectLogits => Method::DirectLogits,
            Self::Trace(_) => Method::Trace,
            Self::Knockout(_) => Method::Knockout,
            Self::Faithfulness(_) => Method::Faithfulness,
            Self::Normalizers { .. } => Method::Normalizers,
            Self::Alignment { .. } => Method::Alignment,
            Self::Memories { .. } => Method::Memories,
        }
    }

    /// A number that questions with the same options share: two of them take each other's place.
    pub fn number(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        // Options hold numbers that have no hash of their own.
        format!("{self:?}").hash(&mut hasher);
        hasher.finish()
    }

    /// Every option with its value, defaults included.
    pub fn parameters(&self) -> Vec<(Cow<'static, str>, Value)> {
        let of_rollout = |options: &RolloutOptions| {
            vec![
                ("fuse", json!(options.fuse.name())),
                ("discard", json!(options.discard)),
                ("residual", json!(options.residual)),
                ("start_layer", json!(options.start_layer)),
            ]
        };
        let all = match self {
            Self::Rollout(options) => of_rollout(options),
            Self::Flow { query, options } => {
                let mut all = of_rollout(options);
                all.push(("query", json!(query)));
                all
            }
            Self::Relevance { start_layer } => vec![("rule", json!("gradient")), ("start_layer", json!(start_layer))],
            Self::Gradients { of, times_input, steps } => {
                vec![("of", json!(of.name())), ("times_input", json!(times_input)), ("integrated", json!(steps))]
            }
            Self::LeaveOneOut { by } => vec![("by", json!(by.name()))],
            // Which layer it was is told with the answer.
            Self::Lens { n_top } | Self::Memories { n_top, .. } => vec![("top", json!(n_top))],
            Self::Trace(TraceOptions { noise, n_samples, restore, window, seed, .. }) => vec![
                ("noise", json!(noise)),
                ("samples", json!(n_samples)),
                ("restore", json!(restore.name())),
                ("window", json!(window)),
                ("seed", json!(seed)),
            ],
            // In which stack it was is told with the answer.
            Self::Knockout(KnockoutOptions { window, cut, .. }) => {
                let cut = if *cut == Cut::Scores { "scores" } else { "pattern" };
                vec![("window", json!(window)), ("cut", json!(cut))]
            }
            Self::Faithfulness(FaithfulnessOptions { n_permutations, n_steps, seed, .. }) => {
                vec![("permutations", json!(n_permutations)), ("steps", json!(n_steps)), ("seed", json!(seed))]
            }
            Self::Normalizers { alpha } => vec![("alpha", json!(alpha))],
            Self::Alignment { setting, gold } => vec![("setting", json!(setting.name())), ("gold", json!(gold))],
            Self::Norms | Self::Effective | Self::DirectLogits => Vec::new(),
        };
        all.into_iter().map(|(name, value)| (Cow::Borrowed(name), value)).collect()
    }
}
