//! Options of the view of the text.

use serde::{Deserialize, Serialize};

use crate::options::{Visit, choose, whole};

/// More lines would hide the text.
const MOST_ARCS: usize = 12;

/// What a token under the pointer is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Direction {
    /// What it looks at: it is a query.
    #[default]
    Given,
    /// What looks at it: it is a key.
    Received,
}

/// What has a colour of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum TextUnit {
    #[default]
    Token,
    /// All tokens of a sentence together: the sum of their weights.
    Sentence,
    /// All tokens between two line ends.
    Paragraph,
    /// All tokens of the text.
    Document,
    /// A token by its weight in its sentence times the weight of that sentence, of models that attend to sentences.
    Mass,
}

impl TextUnit {
    /// What one is called in a sentence.
    pub const fn noun(self) -> &'static str {
        match self {
            Self::Token => "token",
            Self::Sentence => "sentence",
            Self::Paragraph => "paragraph",
            Self::Document => "document",
            Self::Mass => "word",
        }
    }
}

/// Options of the view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TextOptions {
    pub direction: Direction,
    pub unit: TextUnit,
    /// To how many of its strongest keys lines lead from a query.
    pub arcs: usize,
}

impl Default for TextOptions {
    fn default() -> Self {
        Self { direction: Direction::default(), unit: TextUnit::default(), arcs: 3 }
    }
}

impl TextOptions {
    /// Shows the options.
    pub fn visit(&mut self, visit: &mut Visit<'_>) {
        let meaning = "Of text: what has a colour of its own, a token, or a sentence, a paragraph or the whole document with the \
            sum of its weights; or a word by its weight in its sentence times that of the sentence, which is 1 over all words";
        let units = [
            (TextUnit::Token, "token", "Token"),
            (TextUnit::Sentence, "sentence", "Sentence"),
            (TextUnit::Paragraph, "paragraph", "Paragraph"),
            (TextUnit::Document, "document", "Document"),
            (TextUnit::Mass, "mass", "Word × sentence"),
        ];
        choose(visit, ("tint", "Colour by", meaning), &mut self.unit, &units);
        let meaning = "Of text: lines from the query that is held to so many of its strongest keys";
        visit(whole("arcs", "Lines to the strongest", meaning, &mut self.arcs, 0..=MOST_ARCS));
    }
}
