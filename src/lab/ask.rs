//! Questions, with their options.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::{EdgeOptions, FaithfulnessOptions, KnockoutOptions, MaskingOptions, Reverse, RewriteOptions, TraceOptions};
use crate::{
    analysis::explain::{alignment::Setting, report::Method, rollout::RolloutOptions},
    capture::{Ablation, Cut},
};

/// A method with its options.
#[derive(Clone, Debug, PartialEq)]
pub enum Ask {
    /// Attention itself, the row that is read.
    Attention {
        /// Of which layer; the last where there is none.
        layer: Option<usize>,
        /// Of which head; the mean of all where there is none.
        head: Option<usize>,
    },
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
        /// What is weighted.
        rule: Rule,
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
    /// The smallest set of states with which the output stays.
    Masks(MaskingOptions),
    /// Attention times the length of what it moves.
    Norms,
    /// The part of attention that has an effect.
    Effective,
    /// One score taken apart.
    Edges(EdgeOptions),
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
    /// What changes when each head is switched off.
    Ablation(Ablation),
    /// Another association written over one that is there.
    RankOne(RewriteOptions),
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
        /// What a model of the other direction links.
        reverse: Option<Reverse>,
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

/// What gradients of attention are weighted with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Rule {
    /// The attention itself (Chefer et al. 2021, second paper).
    #[default]
    Gradient,
    /// The attention's share of the output by layer-wise propagation (Chefer et al. 2021, first paper).
    Lrp,
}

impl Rule {
    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gradient => "gradient",
            Self::Lrp => "lrp",
        }
    }

    /// The rule with this [`name`](Self::name).
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Gradient, Self::Lrp].into_iter().find(|rule| rule.name() == name)
    }
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

/// The name of a way of switching off on the command line.
pub const fn off_name(with: Ablation) -> &'static str {
    match with {
        Ablation::Zero => "zero",
        Ablation::Mean => "mean",
        Ablation::Uniform => "uniform",
        Ablation::Shuffle { .. } => "shuffle",
    }
}

impl Ask {
    /// Which method it is.
    pub const fn method(&self) -> Method {
        match self {
            Self::Attention { .. } => Method::Attention,
            Self::Rollout(_) => Method::Rollout,
            Self::Flow { .. } => Method::Flow,
            Self::Relevance { .. } => Method::Relevance,
            Self::Gradients { .. } => Method::Gradients,
            Self::LeaveOneOut { .. } => Method::LeaveOneOut,
            Self::Masks(_) => Method::Masks,
            Self::Norms => Method::Norms,
            Self::Effective => Method::Effective,
            Self::Edges(_) => Method::Edges,
            Self::Lens { .. } => Method::Lens,
            Self::DirectLogits => Method::DirectLogits,
            Self::Trace(_) => Method::Trace,
            Self::Knockout(_) => Method::Knockout,
            Self::Ablation(_) => Method::Ablation,
            Self::RankOne(_) => Method::RankOne,
            Self::Faithfulness(_) => Method::Faithfulness,
            Self::Normalizers { .. } => Method::Normalizers,
            Self::Alignment { .. } => Method::Alignment,
            Self::Memories { .. } => Method::Memories,
        }
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
            // Which layer it was is told with the answer.
            Self::Attention { head, .. } => vec![("head", json!(head))],
            Self::Rollout(options) => of_rollout(options),
            Self::Flow { query, options } => {
                let mut all = of_rollout(options);
                all.push(("query", json!(query)));
                all
            }
            Self::Relevance { rule, start_layer } => {
                vec![("rule", json!(rule.name())), ("start_layer", json!(start_layer))]
            }
            Self::Gradients { of, times_input, steps } => {
                vec![("of", json!(of.name())), ("times_input", json!(times_input)), ("integrated", json!(steps))]
            }
            Self::LeaveOneOut { by } => vec![("by", json!(by.name()))],
            Self::Masks(MaskingOptions { baseline, depth, margin, n_steps, seed }) => vec![
                ("baseline", json!(baseline.name())),
                ("depth", json!(depth.name())),
                ("margin", json!(margin)),
                ("steps", json!(n_steps)),
                ("seed", json!(seed)),
            ],
            // Where it was written is told with the answer.
            Self::RankOne(RewriteOptions { object, n_steps, ridge, corpus, .. }) => vec![
                ("object", json!(object)),
                ("corpus", if corpus.is_empty() { json!("demo:sentences") } else { json!(corpus.len()) }),
                ("steps", json!(n_steps)),
                ("ridge", json!(ridge)),
            ],
            // Which layer or edge it was is told with the answer.
            Self::Lens { n_top } | Self::Memories { n_top, .. } | Self::Edges(EdgeOptions { n_top, .. }) => {
                vec![("top", json!(n_top))]
            }
            Self::Trace(TraceOptions { noise, n_samples, restore, window, seed, every, .. }) => vec![
                ("noise", json!(noise)),
                ("samples", json!(n_samples)),
                ("restore", json!(restore.name())),
                ("window", json!(window)),
                ("seed", json!(seed)),
                ("every", json!(every)),
            ],
            Self::Ablation(with) => vec![("with", json!(off_name(*with)))],
            // In which stack it was is told with the answer.
            Self::Knockout(KnockoutOptions { window, cut, every, .. }) => {
                let cut = if *cut == Cut::Scores { "scores" } else { "pattern" };
                vec![("window", json!(window)), ("cut", json!(cut)), ("every", json!(every))]
            }
            Self::Faithfulness(FaithfulnessOptions { n_permutations, n_steps, seed, .. }) => {
                vec![("permutations", json!(n_permutations)), ("steps", json!(n_steps)), ("seed", json!(seed))]
            }
            Self::Normalizers { alpha } => vec![("alpha", json!(alpha))],
            Self::Alignment { setting, gold, reverse } => vec![
                ("setting", json!(setting.name())),
                ("gold", json!(gold)),
                ("symmetrize", json!(reverse.as_ref().map(|reverse| reverse.way.name()))),
            ],
            Self::Norms | Self::Effective | Self::DirectLogits => Vec::new(),
        };
        all.into_iter().map(|(name, value)| (Cow::Borrowed(name), value)).collect()
    }
}
