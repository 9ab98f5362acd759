//! What a run may change.

mod computation;
mod direction;
mod effect;

use std::fmt;

use super::{Matrix, Site};
use crate::ids::{HeadId, Side, StackKind};

pub use computation::{AppliedEdit, Computation, Normalizer, RowMass};
pub use direction::{DirectionOf, MeanOf};
pub(crate) use effect::{even_out, shuffled};

/// A change of the forward pass. Everything downstream follows, gradients included.
#[derive(Clone, Debug, PartialEq)]
pub enum Edit {
    /// One head is put out of action.
    Ablate { head: HeadId, with: Ablation },
    /// One head attends as given.
    SetPattern {
        head: HeadId,
        /// `[n_query, n_key]`; taken as it is, so rows should sum to one.
        pattern: Matrix,
    },
    /// The scores of one head are multiplied: above 1 it attends more sharply, below 1 more evenly.
    Sharpen {
        head: HeadId,
        /// The factor, above 0: one over the temperature.
        by: f32,
    },
    /// No query of any layer can attend to this token.
    HideToken {
        side: Side,
        /// Position, from 0.
        position: usize,
    },
    /// These tokens, and no others, see all and are seen by all, in the layers that have keys and values for that
    /// (Longformer).
    SeeAll {
        /// Positions, from 0, in the one sequence of which the model knows such tokens.
        positions: Vec<usize>,
    },
    /// Another token is read in place of one.
    ReplaceToken {
        side: Side,
        /// Position, from 0.
        position: usize,
        id: u32,
    },
    /// The model's mask token is read in place of one.
    MaskToken {
        side: Side,
        /// Position, from 0.
        position: usize,
    },
    /// Some queries cannot attend to some keys.
    Knockout {
        stack: StackKind,
        scope: Scope,
        edges: Vec<[usize; 2]>,
        /// Before or after the normaliser.
        cut: Cut,
    },
    /// Queries can attend only as a sparse form of attention allows.
    Restrict { stack: StackKind, scope: Scope, to: Sparsity },
    /// Something else than softmax makes patterns of scores.
    Normalize {
        /// In which heads, of all stacks.
        scope: Scope,
        with: Normalizer,
    },
    /// The second matrix of a layer's MLP has a change of rank one, `left · rightᵀ`, as editing an association
    /// makes it (Meng et al. 2022).
    RankOne {
        stack: StackKind,
        /// In which layer, from 0.
        layer: usize,
        /// By what comes out, `[d_model]`.
        left: Vec<f32>,
        /// By what goes in, `[d_mlp]`.
        right: Vec<f32>,
    },
    /// Rows of a site are moved along a direction, such as the difference of the means of two sets of inputs.
    Direction {
        /// Where; a site without heads.
        site: Site,
        /// Which stack; of [`Site::Embed`], the one that its sequence enters.
        stack: StackKind,
        /// Layer, from 0; not used by `Embed` and `ResidFinal`.
        layer: usize,
        /// Which rows; all where none are named.
        positions: Vec<usize>,
        /// The direction, as wide as the site.
        vector: Vec<f32>,
        along: Along,
        /// What it is the difference of, where that is known.
        of: Option<DirectionOf>,
    },
    /// Rows of a site take values from elsewhere, such as another run.
    Patch {
        site: Site,
        /// Which stack; of [`Site::Embed`], the one that its sequence enters.
        stack: StackKind,
        /// Layer, from 0; not used by `Embed` and `ResidFinal`.
        layer: usize,
        /// Which head of a per-head site; `None` for the others.
        head: Option<usize>,
        positions: Vec<usize>,
        value: Matrix,
    },
}

/// What is done with a direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Along {
    /// It is added so many times: `x + factor · d`.
    Add(f32),
    /// What lies along it is taken away: `x − (x · d / ‖d‖²) d`.
    Remove,
}

/// What takes the place of a head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ablation {
    /// Nothing: its `z` is zero.
    Zero,
    /// The mean of its `z` over the positions of this input, everywhere.
    Mean,
    /// It attends evenly to all keys that it can see.
    Uniform,
    /// Each of its rows has its weights in another order.
    Shuffle {
        /// The same seed, the same order.
        seed: u64,
    },
}

/// Where a change applies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    /// Everywhere.
    #[default]
    All,
    /// In all heads of these layers.
    Layers(Vec<usize>),
    Heads(Vec<HeadId>),
}

/// When weights are taken away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cut {
    /// Before the normaliser: what is left takes over (Geva et al. 2023).
    #[default]
    Scores,
    /// After it: the weight is lost.
    Pattern,
}

impl Edit {
    /// Whether each would undo the other, so that a run can be made with one of them alone.
    pub fn contradicts(&self, other: &Self) -> bool {
        let head = |edit: &Self| match edit {
            Self::Ablate { head, .. } | Self::SetPattern { head, .. } => Some(*head),
            _ => None,
        };
        let read = |edit: &Self| match edit {
            Self::ReplaceToken { side, position, .. } | Self::MaskToken { side, position } => Some((*side, *position)),
            _ => None,
        };
        let both_choose = matches!((self, other), (Self::SeeAll { .. }, Self::SeeAll { .. }));
        let same_head = head(self).is_some() && head(self) == head(other);
        both_choose || same_head || (read(self).is_some() && read(self) == read(other))
    }
}

/// A form of sparse attention. A key that a mask hides stays hidden.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sparsity {
    /// Keys at most `reach` steps of `dilation` positions away (Beltagy et al. 2020); the first `n_global`
    /// tokens see all and are seen by all.
    Window {
        reach: usize,
        /// Positions in a step, at least 1.
        dilation: usize,
        /// Tokens at the beginning that take part in everything.
        n_global: usize,
    },
    /// Keys in the same block of so many positions (Child et al. 2019).
    Blocks {
        /// Positions in a block, at least 1.
        size: usize,
    },
}

/// A stack's name in front of a layer or site, where it is not the model's only one.
pub(crate) fn stack_prefix(stack: StackKind) -> String {
    if stack == StackKind::SelfAttention { String::new() } else { format!("{stack}.") }
}

/// A head with its stack, where it is not the model's only one: `cross.L2H1`.
pub(crate) fn head_name(head: HeadId) -> String {
    format!("{}{head}", stack_prefix(head.stack))
}

impl Scope {
    /// Whether it has this head.
    pub fn contains(&self, head: HeadId) -> bool {
        match self {
            Self::All => true,
            Self::Layers(layers) => layers.contains(&head.layer),
            Self::Heads(heads) => heads.contains(&head),
        }
    }

    /// Whether it has a head of this layer.
    pub fn touches(&self, stack: StackKind, layer: usize) -> bool {
        match self {
            Self::All => true,
            Self::Layers(layers) => layers.contains(&layer),
            Self::Heads(heads) => heads.iter().any(|head| head.stack == stack && head.layer == layer),
        }
    }
}

impl fmt::Display for Scope {
    /// `everywhere`, `in layers 2, 3`, `in heads L0H1`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |items: Vec<String>| items.join(", ");
        match self {
            Self::All => f.write_str("everywhere"),
            Self::Layers(layers) => {
                let s = if layers.len() == 1 { "" } else { "s" };
                write!(f, "in layer{s} {}", list(layers.iter().map(usize::to_string).collect()))
            }
            Self::Heads(heads) => {
                let s = if heads.len() == 1 { "" } else { "s" };
                write!(f, "in head{s} {}", list(heads.iter().map(|head| head_name(*head)).collect()))
            }
        }
    }
}

impl fmt::Display for Sparsity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Window { reach, dilation, n_global } => write!(f, "window:{reach}:{dilation}:{n_global}"),
            Self::Blocks { size } => write!(f, "blocks:{size}"),
        }
    }
}

impl Sparsity {
    /// The one that displays as `name`; dilation and global tokens may be left out.
    pub fn from_name(name: &str) -> Option<Self> {
        let mut parts = name.split(':');
        let kind = parts.next()?;
        let numbers: Vec<usize> = parts.map(|part| part.parse().ok()).collect::<Option<_>>()?;
        match (kind, &numbers[..]) {
            ("window", &[reach]) => Some(Self::Window { reach, dilation: 1, n_global: 0 }),
            ("window", &[reach, dilation]) => Some(Self::Window { reach, dilation, n_global: 0 }),
            ("window", &[reach, dilation, n_global]) => Some(Self::Window { reach, dilation, n_global }),
            ("blocks", &[size]) => Some(Self::Blocks { size }),
            _ => None,
        }
    }
}

impl fmt::Display for Edit {
    /// What is different, as a clause: `head L3H5: output set to 0`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let token = |side: Side, position: usize| match side {
            Side::Only => format!("token {position}"),
            _ => format!("token {position} of the side {}", side.name()),
        };
        match self {
            Self::Ablate { head, with } => {
                let head = head_name(*head);
                match with {
                    Ablation::Zero => write!(f, "head {head}: output set to 0"),
                    Ablation::Mean => write!(f, "head {head}: output set to its mean"),
                    Ablation::Uniform => write!(f, "head {head}: uniform weights"),
                    Ablation::Shuffle { seed } => write!(f, "head {head}: weights shuffled (seed {seed})"),
                }
            }
            Self::SetPattern { head, .. } => write!(f, "head {}: weights set", head_name(*head)),
            Self::Sharpen { head, by } => write!(f, "head {}: scores × {by}", head_name(*head)),
            Self::HideToken { side, position } => write!(f, "{} is hidden", token(*side, *position)),
            Self::SeeAll { positions } => match &positions[..] {
                [] => f.write_str("no token has global attention"),
                [position] => write!(f, "only token {position} has global attention"),
                _ => {
                    let list: Vec<String> = positions.iter().map(usize::to_string).collect();
                    write!(f, "only tokens {} have global attention", list.join(", "))
                }
            },
            Self::ReplaceToken { side, position, id } => {
                write!(f, "{} is replaced by the token with the id {id}", token(*side, *position))
            }
            Self::MaskToken { side, position } => write!(f, "{} is masked", token(*side, *position)),
            Self::Knockout { stack, scope, edges, cut } => {
                let lost = if *cut == Cut::Pattern { ", and its weight is lost" } else { "" };
                match &edges[..] {
                    [[query, key]] => {
                        write!(f, "{}query {query} cannot attend to key {key} {scope}{lost}", stack_prefix(*stack))
                    }
                    _ => write!(f, "{}{} edges are cut {scope}{lost}", stack_prefix(*stack), edges.len()),
                }
            }
            Self::Restrict { stack, scope, to } => {
                write!(f, "{}attention is restricted to {to} {scope}", stack_prefix(*stack))
            }
            Self::Normalize { scope, with } => write!(f, "scores are normalised by {} {scope}", with.title()),
            Self::RankOne { stack, layer, .. } => {
                write!(f, "MLP of {}L{layer}: rank-one edit", stack_prefix(*stack))
            }
            Self::Direction { site, stack, layer, positions, along, of, .. } => {
                let rows = if positions.is_empty() {
                    String::new()
                } else {
                    let list: Vec<String> = positions.iter().map(usize::to_string).collect();
                    format!(" at {}", list.join(", "))
                };
                let place = format!("{}{}", stack_prefix(*stack), site.in_words(*layer, None));
                let what = of.as_ref().map_or_else(|| "a direction".to_owned(), ToString::to_string);
                match along {
                    Along::Add(factor) => write!(f, "{place}: {factor} × {what} added{rows}"),
                    Along::Remove => write!(f, "{place}: {what} projected out{rows}"),
                }
            }
            Self::Patch { site, stack, layer, head, positions, .. } => {
                let (n, s) = (positions.len(), if positions.len() == 1 { "" } else { "s" });
                let head = head.map_or_else(String::new, |head| format!("H{head}"));
                let layer = if site.is_of_layer() { format!(".L{layer}{head}") } else { String::new() };
                write!(f, "{n} row{s} of {}{}{layer} replaced", stack_prefix(*stack), site.name())
            }
        }
    }
}
