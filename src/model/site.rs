//! What a run may record, and what it may change. Plain data: shapes are checked when it is run.

use super::Generation;
use crate::{
    capture::Matrix,
    ids::{Side, StackKind},
};

/// A point in the forward pass where a value exists.
///
/// | site | shape |
/// |---|---|
/// | `ResidPre`, `AttnOut`, `ResidMid`, `MlpOut`, `ResidFinal` | `[n, d_model]` |
/// | `Q`, `Z` | `[heads, n, d_head]` |
/// | `K`, `V` | `[kv_heads, n, d_head]` |
/// | `Scores`, `Pattern` | `[heads, n_query, n_key]` |
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Site {
    /// The residual stream entering a layer.
    ResidPre,
    /// Queries, after rotary where the model has it.
    Q,
    /// Keys, after rotary where the model has it.
    K,
    /// Values.
    V,
    /// Scaled and masked, before softmax.
    Scores,
    /// Softmax of the scores.
    Pattern,
    /// `pattern · v`.
    Z,
    /// What attention adds to the residual stream.
    AttnOut,
    /// The residual stream between attention and MLP.
    ResidMid,
    /// What the MLP adds to the residual stream.
    MlpOut,
    /// The stream after the last layer and the final norm.
    ResidFinal,
}

impl Site {
    /// Whether there is one value per head.
    pub const fn is_per_head(self) -> bool {
        matches!(self, Self::Q | Self::K | Self::V | Self::Scores | Self::Pattern | Self::Z)
    }
}

/// A set of sites.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sites(u16);

impl Sites {
    /// No site: recording nothing costs nothing.
    pub const NONE: Self = Self(0);

    /// The set of these sites.
    pub const fn of(sites: &[Site]) -> Self {
        let (mut bits, mut i) = (0, 0);
        while i < sites.len() {
            bits |= 1 << sites[i] as u16;
            i += 1;
        }
        Self(bits)
    }

    /// What every view needs: queries, keys, values and patterns.
    pub const fn standard() -> Self {
        Self::of(&[Site::Q, Site::K, Site::V, Site::Pattern])
    }

    /// Everything a capture can hold.
    pub const fn all() -> Self {
        use Site::{K, Pattern, Q, ResidFinal, ResidPre, Scores, V, Z};
        Self::of(&[Q, K, V, Scores, Pattern, Z, ResidPre, ResidFinal])
    }

    /// Whether the set has this site.
    pub const fn contains(self, site: Site) -> bool {
        self.0 & (1 << site as u16) != 0
    }

    /// The set with one more site.
    #[must_use]
    pub const fn with(self, site: Site) -> Self {
        Self(self.0 | 1 << site as u16)
    }
}

/// What becomes of the model's head.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Logits {
    /// It does not run: no prediction.
    Skip,
    /// The most probable outcomes are kept.
    #[default]
    Predict,
    /// All logits are kept too.
    Keep,
}

/// What one run records and changes.
#[derive(Clone, Debug)]
pub struct RunPlan {
    /// What to record. Sites a capture has no place for are ignored.
    pub sites: Sites,
    /// Layers to record; `None` is all of them.
    pub layers: Option<Vec<usize>>,
    /// Bytes that recorded patterns and scores may take together. Layers that would exceed it are
    /// left out; they can be recomputed from q and k.
    pub pattern_budget_bytes: u64,
    /// What becomes of the model's head.
    pub logits: Logits,
    /// Changes, in order.
    pub edits: Vec<Edit>,
    /// How a decoder writes when it is given no target; a text model continues its input only when this
    /// is present.
    pub generate: Option<Generation>,
}

impl Default for RunPlan {
    fn default() -> Self {
        Self {
            sites: Sites::standard(),
            layers: None,
            pattern_budget_bytes: 768 << 20,
            logits: Logits::default(),
            edits: Vec::new(),
            generate: None,
        }
    }
}

/// A change of the forward pass. Everything downstream follows, gradients included.
#[derive(Clone, Debug, PartialEq)]
pub enum Edit {
    /// One head adds nothing: its `z` is zero.
    AblateHead {
        /// Which stack.
        stack: StackKind,
        /// Layer, from 0.
        layer: usize,
        /// Query head, from 0.
        head: usize,
    },
    /// One head attends as given.
    SetPattern {
        /// Which stack.
        stack: StackKind,
        /// Layer, from 0.
        layer: usize,
        /// Query head, from 0.
        head: usize,
        /// `[n_query, n_key]`; taken as it is, so rows should sum to one.
        pattern: Matrix,
    },
    /// No query of any layer can attend to this token.
    HideToken {
        /// Whose token.
        side: Side,
        /// Position, from 0.
        position: usize,
    },
    /// Rows of a site take values from elsewhere, such as another run.
    Patch {
        /// Where.
        site: Site,
        /// Which stack.
        stack: StackKind,
        /// Layer, from 0; not used by `ResidFinal`.
        layer: usize,
        /// Which head of a per-head site; `None` for the others.
        head: Option<usize>,
        /// Rows to replace.
        positions: Vec<usize>,
        /// One row per position.
        value: Matrix,
    },
}
