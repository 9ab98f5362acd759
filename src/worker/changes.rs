//! Changes of a run as the window asks for them.

use std::{borrow::Cow, fmt};

use super::{
    Between, Donor, JobControl, Many, Rows, Stop, TokensMeant,
    donors::{self, Means},
};
use crate::{
    capture::{Ablation, Along, Edit, Site},
    ids::{HeadId, ModelId, Side},
    model::{Encoded, Input, Model, ModelError},
};

/// What it takes to find out what a change means.
pub(super) struct Aids<'a> {
    pub id: ModelId,
    pub model: &'a Model,
    /// Whether tokens follow that are not known yet.
    pub writes: bool,
    pub means: &'a mut Means,
    pub control: &'a JobControl,
}

/// A change of a run, as far as whoever has no model can name it.
#[derive(Clone, Debug, PartialEq)]
pub enum WantedEdit {
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
        rows: Rows,
        from: Box<Donor>,
    },
    /// A head adds the mean of what it adds over many inputs, everywhere.
    MeanOver {
        head: HeadId,
        over: Many,
    },
    /// The run is moved along the difference of the means of two sets of inputs.
    Between(Box<Between>),
}

impl From<Edit> for WantedEdit {
    fn from(edit: Edit) -> Self {
        Self::Edit(edit)
    }
}

impl fmt::Display for WantedEdit {
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
                let Between { rows, plus, minus, along, .. } = &**between;
                let (plus, minus) = (plus.name(), minus.name());
                match along {
                    Along::Add(factor) => {
                        write!(f, "{}: {factor} × the direction from {minus} to {plus} added", rows.what())
                    }
                    Along::Remove => write!(f, "{}: the direction from {minus} to {plus} projected out", rows.what()),
                }
            }
        }
    }
}

impl WantedEdit {
    /// Whether there can be only one of both, such as two things that take the place of one head.
    pub fn is_same_choice(&self, other: &Self) -> bool {
        self.as_edit().zip(other.as_edit()).is_some_and(|(one, another)| one.contradicts(&another))
    }

    /// What it is as far as contradictions go: a word is some token, and a mean some ablation.
    fn as_edit(&self) -> Option<Cow<'_, Edit>> {
        match self {
            Self::Edit(edit) => Some(Cow::Borrowed(edit)),
            Self::Word { side, position, .. } => {
                Some(Cow::Owned(Edit::ReplaceToken { side: *side, position: *position, id: 0 }))
            }
            Self::MeanOver { head, .. } => Some(Cow::Owned(Edit::Ablate { head: *head, with: Ablation::Zero })),
            Self::Taken { .. } | Self::Between(_) => None,
        }
    }

    /// Whether it speaks of tokens of one input, so that it means nothing in another one.
    pub const fn is_of_tokens(&self) -> bool {
        match self {
            Self::Word { .. } | Self::Taken { .. } => true,
            Self::MeanOver { .. } => false,
            Self::Between(between) => !between.rows.positions.is_empty(),
            Self::Edit(edit) => match edit {
                Edit::SetPattern { .. }
                | Edit::HideToken { .. }
                | Edit::SeeAll { .. }
                | Edit::ReplaceToken { .. }
                | Edit::MaskToken { .. }
                | Edit::Knockout { .. }
                | Edit::Patch { .. } => true,
                Edit::Direction { positions, .. } => !positions.is_empty(),
                Edit::Ablate { .. }
                | Edit::Sharpen { .. }
                | Edit::Restrict { .. }
                | Edit::Normalize { .. }
                | Edit::RankOne { .. } => false,
            },
        }
    }

    /// What it means to a model that reads this input.
    ///
    /// # Errors
    /// When a text is not one token, or another run cannot be made or does not fit.
    pub(super) fn resolve(self, input: &Encoded, aids: &mut Aids<'_>) -> Result<Edit, Stop> {
        let model = aids.model;
        match self {
            Self::Edit(edit) => Ok(edit),
            Self::Taken { rows, from } => donors::taken(model, rows, &from, aids.control),
            Self::MeanOver { head, over } => {
                let n = input.tokens.get(&head.stack.query_side()).map_or(0, Vec::len);
                if aids.writes || n == 0 {
                    let why = "the mean of a head needs all tokens in advance: let the model read a text instead of \
                        writing one";
                    return Err(ModelError::Edit(why.to_owned()).into());
                }
                let HeadId { stack, layer, head: of } = head;
                let rows = Rows { site: Site::Z, stack, layer, head: Some(of), positions: Vec::new() };
                let mean = aids.means.of((aids.id, model), &rows, (&over, TokensMeant::All), aids.control)?;
                donors::everywhere(head, &mean, n)
            }
            Self::Between(between) => aids.means.direction((aids.id, model), &between, aids.control),
            Self::Word { side, position, text } => {
                let replaced = input.tokens.get(&side).and_then(|tokens| tokens.get(position));
                // Words of a byte-level vocabulary have their space with them.
                let follows_space = replaced.is_some_and(|token| token.text.starts_with('␣'));
                let spaced = format!(" {text}");
                let ways = if follows_space { [spaced.as_str(), &text] } else { [text.as_str(); 2] };
                let found = ways.into_iter().find_map(|text| only_token(model, text));
                let id = found.ok_or_else(|| {
                    ModelError::Edit(format!("“{text}” is not one token of this model; try another word, or an id"))
                })?;
                Ok(Edit::ReplaceToken { side, position, id })
            }
        }
    }
}

impl Rows {
    /// What they are, in words: `the residual stream before layer 2`.
    pub fn what(&self) -> String {
        self.site.in_words(self.layer, self.head)
    }
}

/// The token that a text is, if it is one.
fn only_token(model: &Model, text: &str) -> Option<u32> {
    let read = model.encode(&Input::text(text)).ok()?;
    let mut tokens = read.tokens.into_values().flatten().filter(|token| !token.special);
    let only = tokens.next()?.id?;
    tokens.next().is_none().then_some(only)
}
