//! Changes of a run as the window asks for them.

use std::fmt;

use crate::{
    capture::Edit,
    ids::Side,
    model::{Encoded, Input, Model, ModelError},
};

/// A change of a run, as far as whoever knows no tokenizer can name it.
#[derive(Clone, Debug, PartialEq)]
pub enum WantedEdit {
    /// This one.
    Edit(Edit),
    /// Another token is read in place of one, by its text.
    Word {
        /// Whose token.
        side: Side,
        /// Position, from 0.
        position: usize,
        /// What it is replaced by; has to be one token.
        text: String,
    },
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
        }
    }
}

impl WantedEdit {
    /// Whether it speaks of tokens of one input, so that it means nothing in another one.
    pub const fn is_of_tokens(&self) -> bool {
        match self {
            Self::Word { .. } => true,
            Self::Edit(edit) => match edit {
                Edit::SetPattern { .. }
                | Edit::HideToken { .. }
                | Edit::ReplaceToken { .. }
                | Edit::MaskToken { .. }
                | Edit::Knockout { .. }
                | Edit::Patch { .. } => true,
                Edit::Ablate { .. } | Edit::Sharpen { .. } | Edit::Restrict { .. } | Edit::Normalize { .. } => false,
            },
        }
    }

    /// What it means to a model that reads this input.
    ///
    /// # Errors
    /// When a text is not one token.
    pub(super) fn resolve(self, model: &Model, input: &Encoded) -> Result<Edit, ModelError> {
        match self {
            Self::Edit(edit) => Ok(edit),
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

/// The token that a text is, if it is one.
fn only_token(model: &Model, text: &str) -> Option<u32> {
    let read = model.encode(&Input::text(text)).ok()?;
    let mut tokens = read.tokens.into_values().flatten().filter(|token| !token.special);
    let only = tokens.next()?.id?;
    tokens.next().is_none().then_some(only)
}
