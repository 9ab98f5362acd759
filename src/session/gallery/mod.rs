//! The examples: what each shows, and the state that shows it. `tests/it/gallery.rs` runs every one on
//! its bundled model and measures what its hint claims.

mod examples;
mod lecture;
mod pictures;
mod put_to_the_test;
mod reading;
mod step_by_step;
mod what_if;

pub use lecture::{LECTURE, Part, Stop, stops};
pub use what_if::WhatIf;

use std::collections::BTreeMap;

use super::{LabOptions, PatchColors, ViewKind};
use crate::{
    analysis::explain::report::LabQuestion,
    capture::Edit,
    figure::views::heads::layout::Placing,
    ids::StackKind,
    lab::{FieldValues, MethodPreset, Target},
};

/// The examples; the first one is open when the window opens.
pub const EXAMPLES: &[Example] = &JOINED;

/// These lists, one after the other.
const LISTS: [&[Example]; 5] =
    [examples::EXAMPLES, reading::EXAMPLES, pictures::EXAMPLES, step_by_step::EXAMPLES, put_to_the_test::EXAMPLES];

static JOINED: [Example; n_examples(&LISTS)] = joined(&LISTS);

/// How many there are in several lists.
const fn n_examples(lists: &[&[Example]]) -> usize {
    let (mut n, mut list) = (0, 0);
    while list < lists.len() {
        n += lists[list].len();
        list += 1;
    }
    n
}

/// Several lists in one.
const fn joined<const N: usize>(lists: &[&[Example]]) -> [Example; N] {
    let mut all = [examples::GPT; N];
    let (mut list, mut nth, mut idx) = (0, 0, 0);
    while idx < N {
        if nth < lists[list].len() {
            all[idx] = lists[list][nth];
            (nth, idx) = (nth + 1, idx + 1);
        } else {
            (list, nth) = (list + 1, 0);
        }
    }
    all
}

/// One example.
#[derive(Clone, Copy, Debug)]
pub struct Example {
    pub title: &'static str,
    pub hint: &'static str,
    /// Under which heading the gallery has it.
    pub topic: Topic,
    pub model: &'static str,
    /// Other models that read the same, each in a pane beside; as many as there is room for.
    pub beside: &'static [&'static str],
    pub input: ExampleInput,
    /// What an encoder–decoder is made to write; without it the model writes its own.
    pub target: Option<&'static str>,
    pub view: ViewKind,
    /// The stack of [`Self::head`]; `None` for models with one.
    pub stack: Option<StackKind>,
    /// Layer and head to show, where one is known to be worth it.
    pub head: Option<(usize, usize)>,
    /// Query token to pin, if any.
    pub query: Option<usize>,
    /// Whether pieces of words are joined.
    pub words: bool,
    /// Where lines have their queries and keys.
    pub placing: Placing,
    /// Which part of a view of several charts is in sight at first, where it scrolls.
    pub part: usize,
    /// What the colours of a picture stand for.
    pub patch_colors: PatchColors,
    /// What the run is changed by; the plain run opens beside it.
    pub changes: &'static [WhatIf],
    /// What the laboratory is asked, where the view is that.
    pub asks: Option<ExampleQuestion>,
    /// What is said of it below its question.
    pub told: Told,
}

impl Example {
    /// Whether each word that was typed is in its title, hint, texts, models or heading, or in what the lecture says of
    /// it.
    pub fn mentions(&self, typed: &str) -> bool {
        let input = match self.input {
            ExampleInput::Text(text) => text,
            ExampleInput::Sample(name) => {
                SAMPLES.iter().find(|(known, _)| *known == name).map_or(name, |(_, what)| what)
            }
        };
        let ideas = stops().map(|(_, stop)| stop).filter(|stop| stop.example().title == self.title);
        let parts = [self.title, self.hint, input, self.target.unwrap_or_default(), self.model, self.topic.title()];
        let parts = parts.into_iter().chain(self.beside.iter().copied()).chain(ideas.map(Stop::idea));
        let parts: Vec<String> = parts.map(str::to_lowercase).collect();
        typed.split_whitespace().all(|word| {
            let word = word.to_lowercase();
            parts.iter().any(|part| part.contains(&word))
        })
    }

    /// The changes of its run.
    pub fn edits(&self) -> Vec<Edit> {
        self.changes.iter().map(|change| change.edit()).collect()
    }
}

/// What an example asks the laboratory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExampleQuestion {
    pub question: LabQuestion,
    /// The column that stands alone, by its name; all that answer the question where there is none.
    pub alone: Option<&'static str>,
    /// The output that it is about.
    pub target: Target,
    /// Options of columns, as `render explain --set` takes them: `trace.restore` and `all`.
    pub set: &'static [(&'static str, &'static str)],
}

impl ExampleQuestion {
    /// The same as options of a pane.
    pub fn options(self) -> LabOptions {
        let Self { question, alone, set, target: _ } = self;
        let others = MethodPreset::all().filter(|column| alone.is_some_and(|name| name != column.name));
        let shown = others.map(|column| (column.name.to_owned(), false)).collect();
        let mut turned: BTreeMap<String, FieldValues> = BTreeMap::new();
        for (option, value) in set {
            let Some((column, name)) = option.split_once('.') else { continue };
            let value = serde_json::from_str(value).unwrap_or_else(|_| (*value).into());
            turned.entry(column.to_owned()).or_default().insert(name.to_owned(), value);
        }
        LabOptions { question, shown, turned, ..LabOptions::default() }
    }
}

/// What an example feeds the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExampleInput {
    Text(&'static str),
    /// A bundled sample picture.
    Sample(&'static str),
}

/// What is said of an example while it stands as it opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// Its hint.
    Hint,
    /// The largest weight of its query, read from the run, under a question in the largest text.
    Measured,
}

/// A heading of the gallery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topic {
    /// What words have to do with each other.
    Language,
    /// Heads that look at a position, whatever is there.
    Position,
    /// Heads that look for what was there before.
    Repetition,
    /// What a model makes of what it attended to.
    Prediction,
    /// From one language to another.
    Translation,
    Pictures,
    /// From a query to its weights and on.
    Steps,
    /// What a change of the run does to the output.
    WhatIf,
    /// Whether attention explains.
    Lab,
}

vocabulary! {
    Topic:
    /// Its heading.
    title;
    Language("Words and sentences"),
    Position("By position"),
    Repetition("By repetition"),
    Prediction("Predictions"),
    Translation("Translation"),
    Pictures("Pictures"),
    Steps("How it works"),
    WhatIf("What if"),
    Lab("Explanations tested"),
}

impl Topic {
    /// The examples under this heading, each with its index in [`EXAMPLES`].
    pub fn examples(self) -> impl Iterator<Item = (usize, &'static Example)> {
        EXAMPLES.iter().enumerate().filter(move |(_, example)| example.topic == self)
    }
}

/// Every example with its index in [`EXAMPLES`], in the order of the gallery.
pub fn by_topic() -> impl Iterator<Item = (usize, &'static Example)> {
    Topic::ALL.into_iter().flat_map(Topic::examples)
}

/// Bundled sample pictures: their names and what they show.
pub const SAMPLES: &[(&str, &str)] = &[
    ("cat-face", "A cat's face"),
    ("chelsea", "A cat"),
    ("coffee", "A cup of coffee"),
    ("astronaut", "An astronaut"),
    ("rocket", "A rocket"),
    ("scene-1", "Two shapes"),
    ("scene-2", "Two more shapes"),
];
