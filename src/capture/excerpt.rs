//! Part of a text that is read when it has more tokens than a model can take.

use serde::{Deserialize, Serialize};

use crate::text::grouped;

/// The end of a text that is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Keep {
    /// Its beginning.
    #[default]
    First,
    Last,
}

vocabulary! {
    Keep: name;
    First("first"),
    Last("last"),
}

/// What is read of a text that is too long, as somebody chose it. A text that is short enough is read whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Excerpt {
    pub keep: Keep,
    /// At most so many tokens, special ones included; as many as the model reads where nothing is said.
    pub n_tokens: Option<usize>,
}

impl Excerpt {
    /// As much from the beginning as the model reads.
    pub const FITTING: Self = Self { keep: Keep::First, n_tokens: None };

    /// So many tokens of one end.
    pub const fn of(keep: Keep, n_tokens: usize) -> Self {
        Self { keep, n_tokens: Some(n_tokens) }
    }
}

/// How many tokens a text has; estimated where it is far too long to be read whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenCount {
    /// How many, special ones included.
    pub n: usize,
    /// Whether they were counted.
    pub is_exact: bool,
}

impl std::fmt::Display for TokenCount {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{}", if self.is_exact { "" } else { "about " }, grouped(self.n))
    }
}

/// What was read of a text that was too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextPart {
    pub keep: Keep,
    /// Tokens that were read, special ones included.
    pub n_read: usize,
    /// Tokens of the whole text.
    pub of: TokenCount,
    /// Whether it was a pair of texts, whose longer one is cut first.
    pub is_pair: bool,
}

impl std::fmt::Display for TextPart {
    /// A sentence without a period.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { keep, n_read, of, is_pair } = self;
        let n_read = grouped(*n_read);
        match (is_pair, keep) {
            (false, _) => write!(f, "The text has {of} tokens; only the {} {n_read} were read", keep.name()),
            (true, Keep::First) => write!(f, "The two texts have {of} tokens; their ends were cut to {n_read}"),
            (true, Keep::Last) => write!(f, "The two texts have {of} tokens; their beginnings were cut to {n_read}"),
        }
    }
}
