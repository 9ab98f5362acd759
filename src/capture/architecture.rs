//! What a transformer is made of, as far as a diagram shows it.

use crate::{ids::StackKind, spec::MixerKind};

/// The towers of a model, an encoder before its decoder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Architecture {
    pub towers: Vec<TowerFacts>,
}

/// A sequence's way through a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TowerFacts {
    /// The stack of its self-attention.
    pub stack: StackKind,
    pub reads: Reads,
    /// Whether position embeddings are added to what it reads.
    pub adds_positions: bool,
    pub blocks: Vec<BlockFacts>,
    pub has_final_norm: bool,
}

/// What stands at the beginning of a tower.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reads {
    Tokens {
        n_vocab: usize,
    },
    Patches {
        height_px: usize,
        width_px: usize,
    },
    /// The streams behind layers of another tower, one for each of its own layers.
    Streams {
        of: StackKind,
    },
}

/// One block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockFacts {
    /// How values move between tokens in the branch that `attention` is around.
    pub mixer: MixerKind,
    pub attention: BranchNorms,
    /// How values move in what stands beside that branch, within the same norms.
    pub beside: Option<MixerKind>,
    /// Around the attention to the encoder, where there is one.
    pub cross: Option<BranchNorms>,
    pub mlp: BranchNorms,
    /// Whether attention and MLP read the same stream.
    pub is_parallel: bool,
    /// Whether queries and keys are turned by their positions.
    pub is_rotary: bool,
}

/// The norms around a branch of the residual stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BranchNorms {
    /// Of what the branch reads.
    pub before: bool,
    /// Of what the branch adds.
    pub branch: bool,
    /// Of the stream after the addition.
    pub after: bool,
}
