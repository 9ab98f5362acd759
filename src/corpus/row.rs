//! One input of a corpus, and what it is known by.

use std::{collections::BTreeMap, ops::Range};

use super::patches::small_bytes;
use crate::{
    capture::{Capture, ImageInfo, InputInfo},
    ids::Side,
    outputs::OutputKind,
    spec::HeadKind,
};

/// How names of annotations begin that are the model's own words about an input.
pub const PREDICTED: &str = "predicted ";

/// The annotation that has the name of the most probable class.
pub const PREDICTED_CLASS: &str = "predicted class";

/// What the model says about an input as a whole, as annotations: each score, the probability of each label, or the most
/// probable class with its probability; nothing where it was not asked, or says something of each token.
pub(super) fn predictions(capture: &Capture) -> Vec<(String, String)> {
    let prediction = capture.prediction().filter(|prediction| prediction.kind != HeadKind::Similarity);
    let Some((prediction, row)) = prediction.and_then(|it| Some((it, it.rows.first()?))) else { return Vec::new() };
    if row.position.is_some() {
        return Vec::new();
    }
    let named = |what: &str, value: String| (format!("{PREDICTED}{what}"), value);
    // Values are kept once each: more digits than anybody compares would make all of them different.
    let number = |value: f32| format!("{value:.6}");
    let outputs = prediction.outputs;
    match (outputs, row.top.first()) {
        (OutputKind::Labels | OutputKind::Scores, _) => {
            // In one order for all inputs, whatever is most probable in each.
            let mut items: Vec<_> = row.top.iter().collect();
            items.sort_by_key(|item| item.id);
            items.into_iter().map(|item| named(&item.label, number(item.value))).collect()
        }
        (OutputKind::Tokens | OutputKind::Classes, Some(best)) => {
            vec![(PREDICTED_CLASS.to_owned(), best.label.clone()), named(outputs.measure(), number(best.value))]
        }
        (OutputKind::Tokens | OutputKind::Classes, None) => Vec::new(),
    }
}

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
