//! One input of a corpus, and what it is known by.

use std::{collections::BTreeMap, ops::Range};

use super::patches::small_bytes;
use crate::{
    capture::{ImageInfo, InputInfo},
    ids::Side,
};

/// What an input is known by.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Label {
    /// Its place in the list that it came from.
    pub source: usize,
    /// A name, for inputs that have one: a picture's file.
    pub name: Option<String>,
    pub annotations: Vec<(String, String)>,
}

/// One input of a corpus.
#[derive(Clone, Debug)]
pub struct InputRow {
    /// Its place in the list that it came from.
    pub source: usize,
    /// What to call it: its name, or its text.
    pub name: String,
    /// What was fed in, to run it again.
    pub info: InputInfo,
    /// How patches lie on a small copy of the picture.
    pub image: Option<ImageInfo>,
    /// Sentences the user must see, such as truncation.
    pub notes: Vec<String>,
    /// Rows of the token tables, by side.
    pub(super) tokens: BTreeMap<Side, Range<usize>>,
    /// Numbers of the values, by annotation; may be shorter than the list of names.
    pub(super) annotations: Vec<u32>,
}

impl InputRow {
    pub(super) fn size_bytes(&self) -> u64 {
        let texts = [&self.info.text, &self.info.text_b, &self.info.image, &self.info.target];
        let texts: usize = texts.into_iter().flatten().map(String::len).sum();
        let besides = size_of::<Self>() + self.name.len() + texts + 4 * self.annotations.len();
        besides as u64 + small_bytes(self.image.as_ref())
    }

    /// Whose tokens are the patches of its picture, with the tokens before them.
    pub fn picture_side(&self) -> Option<Side> {
        let image = self.image.as_ref()?;
        let n = image.n_prefix + image.grid.0 * image.grid.1;
        [Side::Vision, Side::Encoder, Side::Only].into_iter().find(|&side| self.tokens(side).len() == n)
    }

    /// Its rows in the token table of a side, which are those of its queries and keys.
    pub fn tokens(&self, side: Side) -> Range<usize> {
        self.tokens.get(&side).cloned().unwrap_or_default()
    }
}
