//! The strip of examples: each changes model, input and view with one click.

use super::{Effect, Focus, HeadSet, PendingSelection, Session, ViewKind};
use crate::worker::{ImageSource, ModelSource};

/// One card of the strip.
#[derive(Clone, Copy, Debug)]
pub struct Example {
    /// What the card says.
    pub title: &'static str,
    /// What to look at.
    pub hint: &'static str,
    /// Bundled model.
    pub model: &'static str,
    /// What it reads.
    pub input: ExampleInput,
    /// Which view shows it.
    pub view: ViewKind,
    /// Layer and head to show, where one is known to be worth it.
    pub head: Option<(usize, usize)>,
    /// Query token to pin, if any.
    pub query: Option<usize>,
}

/// What an example feeds the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExampleInput {
    /// A text.
    Text(&'static str),
    /// A bundled sample picture.
    Sample(&'static str),
}

/// Bundled sample pictures: their names and what they show.
pub const SAMPLES: &[(&str, &str)] =
    &[("chelsea", "A cat"), ("coffee", "A cup of coffee"), ("astronaut", "An astronaut"), ("rocket", "A rocket")];

/// The examples, in the order they are shown. The first one is open when the window opens.
pub const EXAMPLES: &[Example] = &[
    Example {
        title: "Once upon a time",
        hint: "Much of this head looks at the word before: hover a word to see its lines",
        model: "demo:gpt",
        input: ExampleInput::Text(
            "Once upon a time, there was a little girl named Lily. She loved to play with her red ball. One day, Lily",
        ),
        view: ViewKind::Heads,
        head: Some((2, 1)),
        query: None,
    },
    Example {
        title: "Coreference",
        hint: "What does “it” look back at?",
        model: "demo:gpt",
        input: ExampleInput::Text("The animal didn't cross the street because it was too tired"),
        view: ViewKind::Heads,
        head: None,
        query: None,
    },
    Example {
        title: "Repeated words",
        hint: "The second time round, this induction head looks at what followed the first time",
        model: "demo:gpt",
        input: ExampleInput::Text("tree blue door fish happy moon cake dog tree blue door fish happy moon cake dog"),
        view: ViewKind::Heatmap,
        head: Some((3, 2)),
        query: None,
    },
    Example {
        title: "A cat",
        hint: "Click a patch to see what it attends to",
        model: "demo:vit",
        input: ExampleInput::Sample("chelsea"),
        view: ViewKind::Image,
        head: None,
        query: None,
    },
    Example {
        title: "Queries and keys",
        hint: "Every head's queries and keys in one plane: near means attention",
        model: "demo:gpt",
        input: ExampleInput::Text(
            "The doctor asked the nurse a question. She said the doctor was kind and the nurse was happy.",
        ),
        view: ViewKind::Matrix,
        head: None,
        query: None,
    },
    Example {
        title: "A rocket",
        hint: "Each head as a thumbnail: which ones follow the rocket?",
        model: "demo:vit",
        input: ExampleInput::Sample("rocket"),
        view: ViewKind::Image,
        head: None,
        query: None,
    },
];

impl Session {
    pub(super) fn open_example(&mut self, idx: usize) -> Vec<Effect> {
        let Some(example) = EXAMPLES.get(idx) else { return Vec::new() };
        self.example = Some(idx);
        // What was held in another input means nothing in this one.
        self.selection.pinned = Focus::NONE;
        self.selection.heads_on = HeadSet::ALL;
        self.pending_selection = Some(PendingSelection {
            view: Some(example.view),
            stack: None,
            layer: example.head.map(|(layer, _)| layer),
            head: example.head.map(|(_, head)| head),
            query: example.query,
        });
        self.target.clear();
        match example.input {
            ExampleInput::Text(text) => {
                text.clone_into(&mut self.text);
                self.text_b = None;
            }
            ExampleInput::Sample(name) => self.image = Some(ImageSource::Bundled(name.to_owned())),
        }
        let source = ModelSource::Bundled(example.model.to_owned());
        if !self.model.is_pending() && self.model.latest().is_some_and(|model| model.source == source) {
            self.run()
        } else {
            self.load(source)
        }
    }
}
