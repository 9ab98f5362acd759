//! Parts of a kind of change: fields, checks, and how it is applied.

use std::{borrow::Cow, fmt, ops::Range};

use super::{Along, Edit, Normalizer, Order, Positions, Scope, check::EditContext};
use crate::{
    capture::{Capture, Matrix, Site},
    ids::{ExpertId, HeadId, Side, StackKind},
    options::Visit,
};

/// What a kind of change says of itself.
#[derive(Debug)]
pub struct EditSpec {
    /// Its fields in files and on the command line, with what they take. The first tells it from other kinds.
    pub fields: &'static [(&'static str, &'static str)],
    pub meaning: &'static str,
}

impl EditSpec {
    /// The field that every change of this kind has.
    pub const fn name(&self) -> &'static str {
        self.fields[0].0
    }
}

/// A kind of change; a value is one change with its options, and displays as a clause: `head L3H5: output set to 0`.
pub trait EditKind: fmt::Display {
    /// What the kind says of itself.
    fn spec() -> &'static EditSpec
    where
        Self: Sized;

    /// What Changes offers where something is pointed at.
    fn offers(_aim: &EditAim<'_>) -> Vec<EditOffer>
    where
        Self: Sized,
    {
        Vec::new()
    }

    /// It in a few words, for where there is little room: `L3H5 off`.
    fn short(&self) -> String;

    /// How it is applied.
    fn intervention(&self) -> Intervention<'_>;

    /// Whether it fits a model and an input.
    ///
    /// # Errors
    /// Says in words why it does not.
    fn check(&self, there: &EditContext<'_>) -> Result<(), String>;

    /// Whether it fits sequences of these lengths, as far as a file alone says.
    fn fits(&self, len: &dyn Fn(Side) -> usize) -> bool {
        self.mentions().into_iter().all(|(_, side, position)| position < len(side))
    }

    /// Whether it speaks of tokens of one input, so that it means nothing in another one.
    fn is_of_tokens(&self) -> bool {
        !self.mentions().is_empty()
    }

    /// Tokens that its clause mentions by number, with the word before the number.
    fn mentions(&self) -> Vec<(&'static str, Side, usize)> {
        self.intervention().read().map(|(side, position)| ("token", side, position)).into_iter().collect()
    }

    /// What a run can have only one change of.
    fn exclusive(&self) -> Option<Exclusive> {
        self.intervention().read().map(|(side, position)| Exclusive::Token(side, position))
    }

    /// What it does to a head that it puts out of action, and whether that is seen in its weights.
    fn puts_out(&self) -> Option<(HeadId, &'static str)> {
        None
    }

    /// Shows every number that is dragged to `visit`, which may change it.
    fn options(&mut self, _visit: &mut Visit<'_>) {}

    /// Whether it is the other change after cells were drawn on.
    fn is_redrawn(&self, _other: &Edit) -> bool {
        false
    }

    /// Numbers that were drawn or recorded.
    fn n_values(&self) -> usize {
        0
    }
}

/// What a run can have only one change of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exclusive {
    /// Which tokens see all.
    Global,
    /// What takes the place of a head.
    Head(HeadId),
    /// What becomes of an expert.
    Expert(ExpertId),
    /// The order of a sequence.
    Order(Side),
    /// What tells where tokens stand.
    Positions,
    /// Whether the model has its adapter.
    Adapter,
    /// What is read in place of a token.
    Token(Side, usize),
}

/// How a change is applied.
pub enum Intervention<'a> {
    /// Another token is read: the one with this id, or the mask token.
    Read { side: Side, position: usize, id: Option<u32> },
    /// These tokens, and no others, see all.
    SeeAll(&'a [usize]),
    /// Tokens are read in another order.
    Reorder { side: Side, order: &'a Order, positions: Positions },
    /// Nothing but masks tells where tokens stand.
    LeaveOutPositions,
    /// The adapter of this name is not merged into the weights.
    LeaveOutAdapter(&'a str),
    /// Something else than softmax makes the patterns of these heads, of all stacks.
    Normalize(&'a Scope, Normalizer),
    /// `left · rightᵀ` is added to the second matrix of an MLP.
    AddToMlp { stack: StackKind, layer: usize, left: &'a [f32], right: &'a [f32] },
    /// Rows of a site are changed.
    Rows { site: Site, extent: Extent<'a>, change: RowChange<'a> },
}

impl Intervention<'_> {
    /// The token in place of which another one is read.
    pub const fn read(&self) -> Option<(Side, usize)> {
        match self {
            Self::Read { side, position, .. } => Some((*side, *position)),
            Self::SeeAll(_)
            | Self::Reorder { .. }
            | Self::LeaveOutPositions
            | Self::LeaveOutAdapter(_)
            | Self::Normalize(..)
            | Self::AddToMlp { .. }
            | Self::Rows { .. } => None,
        }
    }
}

/// Where rows are changed.
pub enum Extent<'a> {
    /// In every head whose keys are tokens of a side.
    KeysOf(Side),
    /// In these heads of a stack.
    Stack(StackKind, &'a Scope),
    /// In one head, or in a site without heads.
    Layer(StackKind, usize, Option<usize>),
}

impl Extent<'_> {
    pub fn of_head(head: HeadId) -> Self {
        Self::Layer(head.stack, head.layer, Some(head.head))
    }

    /// Whether it has something of a stack.
    pub fn has_stack(&self, of: StackKind) -> bool {
        match self {
            Self::KeysOf(side) => of.key_side() == *side,
            Self::Stack(stack, _) | Self::Layer(stack, ..) => *stack == of,
        }
    }

    /// Whether it has something of a layer.
    pub fn touches(&self, stack: StackKind, layer: usize) -> bool {
        self.has_stack(stack)
            && match self {
                Self::KeysOf(_) => true,
                Self::Stack(_, scope) => scope.touches(stack, layer),
                Self::Layer(_, of, _) => *of == layer,
            }
    }

    /// Whether it has this head.
    pub fn contains(&self, at: HeadId) -> bool {
        self.has_stack(at.stack)
            && match self {
                Self::KeysOf(_) => true,
                Self::Stack(_, scope) => scope.contains(at),
                Self::Layer(_, layer, head) => (*layer, *head) == (at.layer, Some(at.head)),
            }
    }

    /// The one head that it has, where it is one.
    pub const fn head(&self) -> Option<usize> {
        match self {
            Self::Layer(_, _, head) => *head,
            Self::KeysOf(_) | Self::Stack(..) => None,
        }
    }
}

/// Which keys a query loses.
pub type Hides<'a> = dyn Fn(usize, usize) -> bool + 'a;
/// Which weights of a row stay.
pub type Keeps<'a> = dyn Fn(&[f32]) -> Vec<bool> + 'a;
/// Factors of the weights of a query's row, from 0 to 1.
pub type Fades<'a> = dyn Fn(usize, &[f32]) -> Vec<f32> + 'a;

/// What is added to the score of a query and a key; −∞ hides the key.
pub type Adds<'a> = dyn Fn(usize, usize) -> f32 + 'a;

/// What is done to rows. A run follows it with gradients; `Edit::apply_to_row` follows it where a single row of scores
/// or of a pattern is computed again.
pub enum RowChange<'a> {
    /// Keys are taken from queries: −∞ among scores, 0 in a pattern.
    Hide(Box<Hides<'a>>),
    /// Something is added to scores.
    Add(Box<Adds<'a>>),
    /// Weights are taken from rows, by what the rows are; what stays may be scaled up to what the row was.
    Keep(Box<Keeps<'a>>, Rest),
    /// Weights with a factor above 0 are scaled up to what the row was, then all are multiplied by their factors.
    Fade(Box<Fades<'a>>),
    /// The same score for every key that is not hidden.
    Even,
    /// Values of the keys that are not hidden change places.
    Shuffle(u64),
    Scale(f32),
    Zero,
    /// The same number in one column of every row, of a site without heads.
    Column(usize, f32),
    /// Every row is the mean of all rows.
    Mean,
    /// Rows, from the first, are given.
    SetAll(&'a Matrix),
    /// Rows at these positions are given.
    Set(&'a [usize], &'a Matrix),
    /// Rows at these positions, or all where none is named, move along a direction.
    Move(&'a [usize], &'a [f32], Along),
}

/// What becomes of weight that was taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rest {
    /// What stays is scaled up, so that the row sums to what it did.
    #[default]
    Shared,
    /// It is lost.
    Lost,
}

impl RowChange<'_> {
    /// Whether rows of a site need not be what a pass makes of what comes before them.
    pub fn is_free(&self, site: Site) -> bool {
        match self {
            Self::Hide(_) => site == Site::Pattern,
            Self::Keep(_, rest) => *rest == Rest::Lost,
            Self::Fade(_)
            | Self::Zero
            | Self::Column(..)
            | Self::Mean
            | Self::SetAll(_)
            | Self::Set(..)
            | Self::Move(..) => true,
            Self::Add(_) | Self::Even | Self::Shuffle(_) | Self::Scale(_) => false,
        }
    }
}

/// What is pointed at, to change it.
pub enum EditAim<'a> {
    Tokens {
        side: Side,
        positions: Range<usize>,
        capture: &'a Capture,
        /// Whether the model has a mask token.
        has_mask: bool,
    },
    Head {
        head: HeadId,
        /// Changes that are there.
        made: &'a [&'a Edit],
    },
    /// Edges from queries to keys, in a head that is looked at.
    Edges { head: HeadId, edges: Vec<[usize; 2]> },
    /// An expert of a layer.
    Expert(ExpertId),
    /// All heads of a stack.
    Stack(StackKind),
    /// The adapter of the model, by its name.
    Adapter(&'a str),
}

/// An entry of a menu.
#[derive(Debug)]
pub struct EditOffer {
    pub name: Cow<'static, str>,
    pub meaning: &'static str,
    /// What people also call it.
    pub synonyms: &'static [&'static str],
    /// Why it cannot be chosen.
    pub obstacle: Option<&'static str>,
    pub edits: Vec<Edit>,
}

impl EditOffer {
    pub fn new(name: impl Into<Cow<'static, str>>, meaning: &'static str, edit: impl Into<Edit>) -> Self {
        Self { name: name.into(), meaning, synonyms: &[], obstacle: None, edits: vec![edit.into()] }
    }

    #[must_use]
    pub fn synonyms(self, synonyms: &'static [&'static str]) -> Self {
        Self { synonyms, ..self }
    }
}
