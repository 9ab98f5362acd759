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

impl MeanOf {
    /// Every choice, in the order in which they are offered.
    pub const ALL: [Self; 4] = [Self::Words, Self::All, Self::Texts, Self::Last];

    /// The name in files and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Words => "words",
            Self::Texts => "texts",
            Self::Last => "last",
        }
    }

    /// The one with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mean| mean.name() == name)
    }

    /// What it is, in words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::All => "all tokens",
            Self::Words => "all tokens but special ones",
            Self::Texts => "mean of each text",
            Self::Last => "last token",
        }
    }
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
