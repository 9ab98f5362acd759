//! Examples of attention that is read along a text: on its words, while it is written, and through all layers.

use super::{
    Example, ExampleInput, Topic,
    examples::{BERT, BILSTM, GPT, SENTIMENT, TRANSLATE},
};
use crate::session::ViewKind;

/// These examples, in the order they are shown.
pub(super) const EXAMPLES: &[Example] = &[
    Example {
        title: "Another person, another paragraph",
        hint: "“came”, “park” and its full stop look at “Ben”, no longer at “Lily”: point at other words",
        input: ExampleInput::Text(
            "Lily had a red ball. She liked to play with it.\n\nOne day Ben came to the park. He saw the ball and he \
             wanted it.",
        ),
        view: ViewKind::Text,
        head: Some((4, 3)),
        query: Some(22),
        ..GPT
    },
    Example {
        title: "Two texts, word by word",
        hint: "Writing “chapeau”, this head reads “hat”; point at a word of either text to ask it",
        input: ExampleInput::Text(">>fra<< My father's green hat"),
        target: Some("Le chapeau vert de mon père"),
        view: ViewKind::Text,
        query: Some(1),
        ..TRANSLATE
    },
    Example {
        title: "A verdict on its words",
        hint: "The one query of this classifier lies on “tough” and “really”, and it says: negative",
        input: ExampleInput::Text("Life is really tough"),
        view: ViewKind::Text,
        ..BILSTM
    },
    Example {
        title: "One blank, five heads",
        hint: "The row below each map is that of [MASK]: in five of 36 heads it attends most to “mary”",
        topic: Topic::Language,
        input: ExampleInput::Text("Mary has lost [MASK] keys."),
        view: ViewKind::Grid,
        head: Some((4, 1)),
        query: Some(4),
        ..BERT
    },
    Example {
        title: "A friend, not a dog",
        hint: "A target with a slip: “Hund” has less than 0.1 %, the model would have written “Freund” (95 %)",
        input: ExampleInput::Text(">>deu<< I saw a friend in the park."),
        target: Some("Ich sah einen Hund im Park."),
        view: ViewKind::Writing,
        query: Some(3),
        ..TRANSLATE
    },
    Example {
        title: "Down to “slow”",
        hint: "Through all six layers paths from [CLS] lead to “slow”, more than twice as much as to any other token",
        input: ExampleInput::Text("The film is slow."),
        view: ViewKind::Paths,
        ..SENTIMENT
    },
    Example {
        title: "All paths lead to the first word",
        hint: "From “with” they lead to “Lily” 20 times as much as elsewhere: weights of a decoder rest there",
        input: ExampleInput::Text("Lily had a red ball. She liked to play with it."),
        view: ViewKind::Paths,
        query: Some(10),
        ..GPT
    },
];
