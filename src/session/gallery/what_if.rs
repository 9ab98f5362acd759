//! Changes of a run, as far as examples make them.

use crate::{
    capture::{Ablate, Ablation, Cut, Edit, Knockout, NoPositions, Normalize, Normalizer, Scope},
    ids::{HeadId, StackKind},
};

/// A change that the run of an example is made with; of a model with one stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhatIf {
    /// A head, by layer and number, adds nothing.
    Without(usize, usize),
    /// A query cannot attend to a key, in one layer or in all.
    Cut {
        query: usize,
        key: usize,
        /// The only layer; all where there is none.
        layer: Option<usize>,
    },
    /// Sparsemax instead of softmax, in every head.
    Sparsemax,
    /// Nothing tells where a token stands.
    NoPositions,
}

impl WhatIf {
    /// The change itself.
    pub fn edit(self) -> Edit {
        match self {
            Self::Without(layer, head) => {
                Edit::Ablate(Ablate { head: HeadId::single(layer, head), with: Ablation::Zero })
            }
            Self::Cut { query, key, layer } => Edit::Knockout(Knockout {
                stack: StackKind::SelfAttention,
                scope: layer.map_or(Scope::All, |layer| Scope::Layers(vec![layer])),
                edges: vec![[query, key]],
                cut: Cut::Scores,
            }),
            Self::Sparsemax => Edit::Normalize(Normalize { scope: Scope::All, with: Normalizer::Sparsemax }),
            Self::NoPositions => Edit::NoPositions(NoPositions { all: () }),
        }
    }
}
