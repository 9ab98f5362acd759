//! What a direction is the difference of.

use std::fmt;

/// What a mean over several inputs is over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MeanOf {
    /// All tokens of all inputs, each as much as any other, so that a long text weighs more.
    #[default]
    All,
    /// The same without special tokens.
    Words,
    /// The means of the tokens of each input, without special ones, so that every input weighs the same.
    Texts,
    /// The last token of each input, special or not: where a decoder says how it goes on.
    Last,
}

vocabulary! {
    MeanOf: name,
    /// What it is, in words.
    words;
    Words("words", "all tokens but special ones"),
    All("all", "all tokens"),
    Texts("texts", "mean of each text"),
    Last("last", "last token"),
}

/// The two sets of inputs between which a direction leads, and over what their means are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectionOf {
    pub plus: String,
    /// What it leads away from.
    pub minus: String,
    pub mean: MeanOf,
}

impl fmt::Display for DirectionOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { plus, minus, mean } = self;
        write!(f, "the direction from {minus} to {plus} ({})", mean.words())
    }
}
