//! Inputs of a model, before they are tokenised or cut into patches.

use std::{path::PathBuf, sync::Arc};

use super::{InputError, chat::Chat};
use crate::capture::{Excerpt, groups::GroupedText};

/// What to run a model on.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    Text(TextInput),
    /// Raw token ids; skips the tokenizer.
    Ids(Vec<u32>),
    /// A picture for the image processor.
    Image(ImageSource),
    /// Preprocessed pixels `[3, height, width]`; skips the image processor.
    Pixels {
        data: Arc<[f32]>,
        size_px: (usize, usize),
    },
    /// Two inputs: what an encoder reads and what its decoder is made to write, or a picture and the
    /// text it is compared with.
    Pair {
        /// For the encoder or the vision tower.
        source: Box<Self>,
        /// For the decoder or the text tower.
        target: Box<Self>,
    },
}

impl Input {
    /// A single text, special tokens added.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(TextInput { text: text.into(), ..TextInput::default() })
    }

    /// This input for the encoder or the vision tower, `target` for the decoder or the text tower.
    #[must_use]
    pub fn with_target(self, target: Self) -> Self {
        Self::Pair { source: Box::new(self), target: Box::new(target) }
    }

    /// `target` in its place, prepared as it is itself, with this input to be written.
    #[must_use]
    pub fn exchanged(&self, target: &Self) -> Self {
        match target {
            Self::Text(text) => {
                let how = self.preparation();
                let system = self.system().map(str::to_owned);
                Self::Text(TextInput { system, how, ..text.clone() }).with_target(self.clone())
            }
            target => target.clone().with_target(self.clone()),
        }
    }

    /// How its text is prepared.
    pub fn preparation(&self) -> Preparation {
        match self {
            Self::Text(text) => text.how,
            Self::Pair { source, target } => match &**source {
                Self::Image(_) | Self::Pixels { .. } => target.preparation(),
                source => source.preparation(),
            },
            Self::Ids(_) | Self::Image(_) | Self::Pixels { .. } => Preparation::default(),
        }
    }

    /// What the system says before its text.
    pub fn system(&self) -> Option<&str> {
        match self {
            Self::Text(text) => text.system.as_deref(),
            Self::Pair { source, .. } => source.system(),
            Self::Ids(_) | Self::Image(_) | Self::Pixels { .. } => None,
        }
    }

    /// The same with another text in place of its first or only one, prepared in the same way; in place of token ids
    /// other ids, separated by commas.
    ///
    /// # Errors
    /// When it has no text, or `text` is no list of ids.
    pub fn with_text(&self, text: &str) -> Result<Self, InputError> {
        match self {
            Self::Text(own) => Ok(Self::Text(TextInput { text: text.to_owned(), ..own.clone() })),
            Self::Ids(_) => {
                let ids: Result<Vec<u32>, _> = text.split(',').map(|id| id.trim().parse()).collect();
                ids.map(Self::Ids).map_err(|_| InputError::NoIdsToo(text.to_owned()))
            }
            Self::Pair { source, target } => match &**source {
                Self::Image(_) | Self::Pixels { .. } => {
                    Ok(source.as_ref().clone().with_target(target.with_text(text)?))
                }
                source => Ok(source.with_text(text)?.with_target(target.as_ref().clone())),
            },
            Self::Image(_) | Self::Pixels { .. } => Err(InputError::NoText),
        }
    }
}

/// How a text is prepared for a model, whatever it says. Every text that is read beside another one is prepared by the
/// same: the other text of a method, the source of a patch, the inputs of a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct Preparation {
    /// Leave out the special tokens the tokenizer would add.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub no_special: bool,
    /// Prepare the text as sentence-transformers does, where the checkpoint says how.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub sentence_transformers: bool,
    /// What to read when there are more tokens than the model takes; nothing is read then where nobody chose.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub excerpt: Option<Excerpt>,
    /// Brackets in the text group the tokens between them, and are not read.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub brackets: bool,
    /// Write the chat template of the checkpoint around the text, as a turn of the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chat: Option<Chat>,
}

impl Preparation {
    /// With this part read of a text that is too long.
    pub fn reading(excerpt: Option<Excerpt>) -> Self {
        Self { excerpt, ..Self::default() }
    }

    /// The same for one of many texts, about which nobody is asked one by one: as much is read as the model takes.
    #[must_use]
    pub fn of_many(self) -> Self {
        Self { excerpt: self.excerpt.or(Some(Excerpt::FITTING)), ..self }
    }
}

/// Text and how it is prepared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextInput {
    /// First or only segment.
    pub text: String,
    /// Second segment of a pair.
    pub text_b: Option<String>,
    /// What the system says before it in a chat template.
    pub system: Option<String>,
    pub how: Preparation,
}

impl TextInput {
    /// The text as a model reads it, without the brackets of groups, and the groups of both segments.
    ///
    /// # Errors
    /// When brackets do not pair.
    pub fn ungrouped(&self) -> Result<(Self, Option<[GroupedText; 2]>), InputError> {
        if !self.how.brackets {
            return Ok((self.clone(), None));
        }
        if self.how.sentence_transformers {
            return Err(InputError::GroupsOfSentences);
        }
        if self.how.chat.is_some() {
            return Err(InputError::GroupsOfChat);
        }
        let first = GroupedText::parse(&self.text)?;
        let second = self.text_b.as_deref().map(GroupedText::parse).transpose()?;
        let text_b = second.as_ref().map(|second| second.text.clone());
        let how = Preparation { brackets: false, ..self.how };
        let plain = Self { text: first.text.clone(), text_b, how, system: self.system.clone() };
        Ok((plain, Some([first, second.unwrap_or_default()])))
    }
}

/// Where a picture comes from.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub enum ImageSource {
    Path(PathBuf),
    /// What a file would hold, of a picture that is in none, such as one from the clipboard, with a name to show. It
    /// has no place to be found at again, so it is not serialised as one.
    #[serde(skip)]
    Embedded {
        name: String,
        /// PNG, or another kind of picture file.
        bytes: Arc<[u8]>,
    },
    /// A sample picture inside the program, by name.
    Bundled(String),
}
