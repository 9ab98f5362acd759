//! Changes of a run, as the session asks for them: without a model, tokens are texts and means are named inputs.

use std::fmt;

use crate::{
    capture::{Along, DirectionOf, Edit, MeanOf, Site, changes::Exclusive},
    ids::{HeadId, Side, StackKind},
    model::{Generation, Input},
    options::Visit,
};

use super::MeanInputs;

/// A change of a run that the worker resolves against a model.
#[derive(Clone, Debug, PartialEq)]
pub enum EditRequest {
    Edit(Edit),
    /// Another token is read in place of one, by its text.
    Word {
        side: Side,
        /// Position, from 0.
        position: usize,
        /// What it is replaced by; has to be one token.
        text: String,
    },
    /// Rows of a site are those of another run of the model.
    Taken {
        rows: PatchedRows,
        from: Box<PatchSource>,
    },
    /// A head adds the mean of what it adds over many inputs, everywhere.
    MeanOver {
        head: HeadId,
        over: MeanInputs,
    },
    /// The run is moved along the difference of the means of two sets of inputs.
    Between(Box<Between>),
}

impl From<Edit> for EditRequest {
    fn from(edit: Edit) -> Self {
        Self::Edit(edit)
    }
}

impl fmt::Display for EditRequest {
    /// What is different, as a clause.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Edit(edit) => edit.fmt(f),
            Self::Word { side: Side::Only, position, text } => write!(f, "token {position} is replaced by “{text}”"),
            Self::Word { side, position, text } => {
                write!(f, "token {position} of the side {} is replaced by “{text}”", side.name())
            }
            Self::Taken { rows, from } => {
                let named = |positions: &[usize]| {
                    let numbers: Vec<String> = positions.iter().map(usize::to_string).collect();
                    format!("token{} {}", if positions.len() == 1 { "" } else { "s" }, numbers.join(", "))
                };
                write!(f, "{}: {} patched from ", named(&rows.positions), rows.what())?;
                if let Some(there) = from.positions.as_ref().filter(|there| **there != rows.positions) {
                    write!(f, "{} of ", named(there))?;
                }
                write!(f, "“{}”", from.name)
            }
            Self::MeanOver { head, over } => write!(f, "head {head}: output set to its mean over {}", over.name()),
            Self::Between(between) => {
                let (place, of) = (between.rows.what(), between.of());
                match between.along {
                    Along::Add(factor) => write!(f, "{place}: {factor} × {of} added"),
                    Along::Remove => write!(f, "{place}: {of} projected out"),
                }
            }
        }
    }
}

impl EditRequest {
    /// The change, where nothing of it has to be found out.
    pub const fn edit(&self) -> Option<&Edit> {
        match self {
            Self::Edit(edit) => Some(edit),
            Self::Word { .. } | Self::Taken { .. } | Self::MeanOver { .. } | Self::Between(_) => None,
        }
    }

    /// Whether there can be only one of both, such as two things that take the place of one head.
    pub fn is_same_choice(&self, other: &Self) -> bool {
        let exclusive = self.exclusive();
        exclusive.is_some() && exclusive == other.exclusive()
    }

    /// What a run can have only one change of: a word is some token, and a mean some ablation.
    fn exclusive(&self) -> Option<Exclusive> {
        match self {
            Self::Edit(edit) => edit.kind().exclusive(),
            Self::Word { side, position, .. } => Some(Exclusive::Token(*side, *position)),
            Self::MeanOver { head, .. } => Some(Exclusive::Head(*head)),
            Self::Taken { .. } | Self::Between(_) => None,
        }
    }

    /// Whether it speaks of tokens of one input, so that it means nothing in another one.
    pub fn is_of_tokens(&self) -> bool {
        match self {
            Self::Edit(edit) => edit.kind().is_of_tokens(),
            Self::Word { .. } | Self::Taken { .. } => true,
            Self::MeanOver { .. } => false,
            Self::Between(between) => !between.rows.positions.is_empty(),
        }
    }

    /// Tokens that its clause mentions by number, with the word before the number.
    pub fn mentions(&self) -> Vec<(&'static str, Side, usize)> {
        match self {
            Self::Edit(edit) => edit.kind().mentions(),
            Self::Word { side, position, .. } => vec![("token", *side, *position)],
            Self::Taken { rows, .. } => match rows.positions[..] {
                [position] => vec![("token", rows.stack.query_side(), position)],
                _ => Vec::new(),
            },
            Self::MeanOver { .. } | Self::Between(_) => Vec::new(),
        }
    }

    /// Shows every number that is dragged to `visit`, which may change it.
    pub fn options(&mut self, visit: &mut Visit<'_>) {
        match self {
            Self::Edit(edit) => edit.kind_mut().options(visit),
            Self::Between(between) => between.along.options(visit),
            Self::Word { .. } | Self::Taken { .. } | Self::MeanOver { .. } => {}
        }
    }

    /// Whether it is the other change after a number was dragged, or cells were drawn on.
    pub fn is_turned(&self, other: &Self) -> bool {
        self.edit().zip(other.edit()).is_some_and(|(edit, other)| edit.is_turned(other))
    }

    /// Numbers that were drawn or recorded.
    pub fn n_values(&self) -> usize {
        self.edit().map_or(0, |edit| edit.kind().n_values())
    }
}

/// Rows of a site.
#[derive(Clone, Debug, PartialEq)]
pub struct PatchedRows {
    pub site: Site,
    pub stack: StackKind,
    /// Layer, from 0.
    pub layer: usize,
    /// Which head of a site that has heads.
    pub head: Option<usize>,
    pub positions: Vec<usize>,
}

impl PatchedRows {
    /// What they are, in words: `the residual stream before layer 2`.
    pub fn what(&self) -> String {
        self.site.in_words(self.layer, self.head)
    }
}

/// Another run of the same model, from which rows are taken.
#[derive(Clone, Debug, PartialEq)]
pub struct PatchSource {
    pub name: String,
    pub input: Input,
    /// How it writes, where it does.
    pub generation: Option<Generation>,
    /// What it is changed by itself.
    pub edits: Vec<Edit>,
    /// Which of its rows are taken, one for each that is replaced; those at the same positions where none are named.
    pub positions: Option<Vec<usize>>,
}

/// A direction between two sets of inputs, and what is done with it.
#[derive(Clone, Debug, PartialEq)]
pub struct Between {
    /// Where: a site without heads, and the rows that are changed, all where none are named.
    pub rows: PatchedRows,
    pub plus: MeanInputs,
    /// Inputs that it leads away from.
    pub minus: MeanInputs,
    pub mean: MeanOf,
    pub along: Along,
}

impl Between {
    /// What the direction is the difference of, by name.
    pub fn of(&self) -> DirectionOf {
        DirectionOf { plus: self.plus.name().to_owned(), minus: self.minus.name().to_owned(), mean: self.mean }
    }
}
