//! The examples: what each shows, and the state that shows it. `tests/it/gallery.rs` runs every one on
//! its bundled model and measures what its hint claims.

mod examples;

pub use examples::EXAMPLES;

use super::ViewKind;
use crate::ids::StackKind;

/// One example.
#[derive(Clone, Copy, Debug)]
pub struct Example {
    /// What the card says.
    pub title: &'static str,
    /// What to look at.
    pub hint: &'static str,
    /// Under which heading the gallery has it.
    pub topic: Topic,
    /// Bundled model.
    pub model: &'static str,
    /// What it reads.
    pub input: ExampleInput,
    /// What an encoder–decoder is made to write; without it the model writes its own.
    pub target: Option<&'static str>,
    /// Which view shows it.
    pub view: ViewKind,
    /// The stack of [`Self::head`]; `None` for models with one.
    pub stack: Option<StackKind>,
    /// Layer and head to show, where one is known to be worth it.
    pub head: Option<(usize, usize)>,
    /// Query token to pin, if any.
    pub query: Option<usize>,
    /// Whether it has a card in the strip, too.
    pub in_strip: bool,
}

/// What an example feeds the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExampleInput {
    /// A text.
    Text(&'static str),
    /// A bundled sample picture.
    Sample(&'static str),
}

/// A heading of the gallery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topic {
    /// Heads that look at a position, whatever is there.
    Position,
    /// Heads that look for what was there before.
    Repetition,
    /// What words have to do with each other.
    Language,
    /// What a model makes of what it attended to.
    Prediction,
    /// From one language to another.
    Translation,
    /// Pictures.
    Pictures,
}

impl Topic {
    /// Every topic, in the order of the gallery.
    pub const ALL: [Self; 6] =
        [Self::Position, Self::Repetition, Self::Language, Self::Prediction, Self::Translation, Self::Pictures];

    /// The examples under this heading, each with its index in [`EXAMPLES`].
    pub fn examples(self) -> impl Iterator<Item = (usize, &'static Example)> {
        EXAMPLES.iter().enumerate().filter(move |(_, example)| example.topic == self)
    }

    /// The heading.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Position => "By position",
            Self::Repetition => "By repetition",
            Self::Language => "Words and sentences",
            Self::Prediction => "What it predicts",
            Self::Translation => "Translation",
            Self::Pictures => "Pictures",
        }
    }
}

/// Every example with its index in [`EXAMPLES`], in the order of the gallery.
pub fn by_topic() -> impl Iterator<Item = (usize, &'static Example)> {
    Topic::ALL.into_iter().flat_map(Topic::examples)
}

/// Bundled sample pictures: their names and what they show.
pub const SAMPLES: &[(&str, &str)] = &[
    ("chelsea", "A cat"),
    ("coffee", "A cup of coffee"),
    ("astronaut", "An astronaut"),
    ("rocket", "A rocket"),
    ("scene-1", "Two shapes"),
    ("scene-2", "Two shapes more"),
];
