//! What a run may change, and what a capture says about how its patterns came about.

use std::fmt;

use super::{Matrix, Site};
use crate::ids::{Side, StackKind};

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

/// A stack's name in front of a layer or site, where it is not the model's only one.
pub(crate) fn stack_prefix(stack: StackKind) -> String {
    if stack == StackKind::SelfAttention { String::new() } else { format!("{stack}.") }
}

impl fmt::Display for Edit {
    /// What is different, as a clause: `head L3H5 adds nothing`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AblateHead { stack, layer, head } => {
                write!(f, "head {}L{layer}H{head} adds nothing", stack_prefix(*stack))
            }
            Self::SetPattern { stack, layer, head, .. } => {
                write!(f, "head {}L{layer}H{head} attends as given", stack_prefix(*stack))
            }
            Self::HideToken { side: Side::Only, position } => write!(f, "token {position} is hidden"),
            Self::HideToken { side, position } => write!(f, "token {position} of the side {} is hidden", side.name()),
            Self::Patch { site, stack, layer, head, positions, .. } => {
                let (n, s) = (positions.len(), if positions.len() == 1 { "" } else { "s" });
                let head = head.map_or_else(String::new, |head| format!("H{head}"));
                write!(f, "{n} row{s} of {}{}.L{layer}{head} replaced", stack_prefix(*stack), site.name())
            }
        }
    }
}

/// A change that a capture was made with.
#[derive(Clone, Debug, PartialEq)]
pub enum AppliedEdit {
    /// One that this version can make, so recomputing can follow it.
    Known(Edit),
    /// One that a file has, and only another version knows: its JSON.
    Foreign(String),
}

impl fmt::Display for AppliedEdit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// Enough of an unknown change to recognise it.
        const SHOWN: usize = 60;
        match self {
            Self::Known(edit) => edit.fmt(f),
            Self::Foreign(json) if json.chars().count() > SHOWN => {
                write!(f, "{}…", json.chars().take(SHOWN).collect::<String>())
            }
            Self::Foreign(json) => f.write_str(json),
        }
    }
}

/// What turns a row of scores into a row of a pattern.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Normalizer {
    /// `exp(s) / Σ exp(s)`.
    #[default]
    Softmax,
    /// The projection onto the simplex (Martins and Astudillo 2016).
    Sparsemax,
    /// Between the two (Peters et al. 2019); the number is its α.
    Entmax(f32),
}

impl fmt::Display for Normalizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Softmax => f.write_str("softmax"),
            Self::Sparsemax => f.write_str("sparsemax"),
            Self::Entmax(alpha) => write!(f, "entmax:{alpha}"),
        }
    }
}

impl Normalizer {
    /// The one that displays as `name`.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "softmax" => Some(Self::Softmax),
            "sparsemax" => Some(Self::Sparsemax),
            _ => {
                let alpha: f32 = name.strip_prefix("entmax:")?.parse().ok()?;
                (alpha.is_finite() && alpha >= 1.0).then_some(Self::Entmax(alpha))
            }
        }
    }
}

/// How much of the attention the rows of a pattern hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RowMass {
    /// All: rows sum to 1.
    #[default]
    Full,
    /// The rest went to a learned sink: pattern and sink sum to 1.
    Sink,
    /// Sparse or truncated: what is missing is not known.
    Partial,
}

/// How the patterns of a capture came about, for whoever recomputes what is not stored.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Computation {
    /// Changes of the forward pass, in order.
    pub edits: Vec<AppliedEdit>,
    /// What made patterns of the scores.
    pub normalizer: Normalizer,
    /// Whether rows were declared to be incomplete, so that they may sum to less than 1.
    pub partial_rows: bool,
}

impl Computation {
    /// The sentence about a run that was changed; `None` for an ordinary one.
    pub fn note(&self) -> Option<String> {
        /// More changes than these are counted, not listed.
        const LISTED: usize = 4;
        let mut changes: Vec<String> = self.edits.iter().take(LISTED).map(AppliedEdit::to_string).collect();
        let n_more = self.edits.len() - changes.len();
        if n_more > 0 {
            changes.push(format!("and {n_more} more"));
        }
        if self.normalizer != Normalizer::Softmax {
            changes.push(format!("scores are normalised by {}", self.normalizer));
        }
        (!changes.is_empty()).then(|| format!("This run was changed: {}", changes.join("; ")))
    }
}
