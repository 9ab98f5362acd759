//! Examples of how a weight comes about.

use super::{
    Example, ExampleInput, Topic,
    examples::{GPT, TRANSLATE},
};
use crate::session::ViewKind;

const STEPS: Example = Example { topic: Topic::Steps, view: ViewKind::Why, ..GPT };

/// These examples, in the order they are shown.
pub(super) const EXAMPLES: &[Example] = &[
    Example {
        title: "How 0.61 comes about",
        hint: "Of fifteen scores that of “animal” is the largest; softmax makes it 0.61: walk the steps above",
        input: ExampleInput::Text("The animal didn't cross the street because it was too tired"),
        head: Some((3, 2)),
        query: Some(11),
        ..STEPS
    },
    Example {
        title: "From scores to weights",
        hint: "Of the same scores softmax makes 0.61 for “animal”; 1.5-entmax keeps three words, sparsemax that one",
        input: ExampleInput::Text("The animal didn't cross the street because it was too tired"),
        view: ViewKind::Simplex,
        head: Some((3, 2)),
        query: Some(11),
        ..STEPS
    },
    Example {
        title: "The root of d",
        hint: "Last chart: within a row products have a variance of 25.9 here; divided by √28, the scores have 0.93",
        input: ExampleInput::Text("The animal didn't cross the street because it was too tired"),
        view: ViewKind::Simplex,
        part: 5,
        head: Some((3, 2)),
        query: Some(14),
        ..STEPS
    },
    Example {
        title: "Positions beside each other",
        hint: "Sines and cosines here: neighbours are alike (mean cosine 0.99), 8 apart half as much (0.51), 32 apart not",
        input: ExampleInput::Text("Once upon a time, there was a little girl named Lily."),
        view: ViewKind::Positions,
        head: Some((0, 0)),
        ..STEPS
    },
    Example {
        title: "The word before, in numbers",
        hint: "The product of query and key is largest for the word before, so that nearly all of the weight goes there",
        input: ExampleInput::Text("Once upon a time, there was a little girl named Lily."),
        head: Some((0, 0)),
        query: Some(8),
        ..STEPS
    },
    Example {
        title: "A translated word, step by step",
        hint: "“Le” asks the source for the next word: the key of “hat” fits best, and its value is handed on",
        topic: Topic::Steps,
        view: ViewKind::Why,
        input: ExampleInput::Text(">>fra<< My father's green hat"),
        target: Some("Le chapeau vert de mon père"),
        query: Some(1),
        ..TRANSLATE
    },
];
