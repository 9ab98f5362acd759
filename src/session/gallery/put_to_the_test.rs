//! Examples that change a run, or ask the laboratory.

use super::{
    Example, ExampleInput, ExampleQuestion, Topic, WhatIf,
    examples::{BERT, BILSTM, GPT, SENTIMENT, TRANSLATE},
    pictures::CAPTIONS,
};
use crate::{analysis::explain::report::LabQuestion, lab::Target, session::ViewKind};

/// About the output that the model itself would tell.
const ASKED: ExampleQuestion = ExampleQuestion {
    question: LabQuestion::Depends,
    alone: None,
    target: Target { position: None, class: None, against: None },
    set: &[],
};

/// These examples, in the order they are shown.
pub(super) const EXAMPLES: &[Example] = &[
    Example {
        title: "Without Mary's head",
        hint: "Right: without the head that attends to “Mary”, “her” falls from 85 % to 11 %. Here this head decides",
        topic: Topic::WhatIf,
        input: ExampleInput::Text("Mary lost [MASK] keys."),
        head: Some((5, 5)),
        query: Some(3),
        changes: &[WhatIf::Without(5, 5)],
        ..BERT
    },
    Example {
        title: "A head that is not needed",
        hint: "This head attends to “children”, as expected. Without it (right), “are” is as probable as before",
        topic: Topic::WhatIf,
        input: ExampleInput::Text("The children [MASK] playing in the garden."),
        head: Some((1, 2)),
        query: Some(3),
        changes: &[WhatIf::Without(1, 2)],
        ..BERT
    },
    Example {
        title: "The dogs near the tree",
        hint: "They are old. With one edge cut, from the blank to “dogs” in layer 4, the model writes “is”",
        topic: Topic::WhatIf,
        input: ExampleInput::Text("The dogs near the tree [MASK] very old."),
        head: Some((4, 4)),
        query: Some(6),
        changes: &[WhatIf::Cut { query: 6, key: 2, layer: Some(4) }],
        ..BERT
    },
    Example {
        title: "A red boat",
        hint: "Right: the last “red” cannot attend to “car”. It attends to “boat”, and the model writes “boat”",
        topic: Topic::WhatIf,
        input: ExampleInput::Text("Tom had a red car. Mia had a blue boat. Tom loved his red"),
        head: Some((1, 0)),
        query: Some(15),
        changes: &[WhatIf::Cut { query: 15, key: 4, layer: None }],
        ..GPT
    },
    Example {
        title: "Without positions",
        hint: "Right: without position embeddings the head of the word before does not find it: 0.99 falls to 0.25",
        topic: Topic::WhatIf,
        input: ExampleInput::Text(
            "Once upon a time, there was a little girl named Lily. She loved to play with her red ball. One day, Lily",
        ),
        head: Some((0, 0)),
        changes: &[WhatIf::NoPositions],
        ..GPT
    },
    Example {
        title: "Induction takes two",
        hint: "Right: without the previous-token head the induction head finds nothing, and the model misses “tree”",
        topic: Topic::WhatIf,
        input: ExampleInput::Text("tree blue door fish happy moon cake dog tree blue door fish happy moon cake dog"),
        view: ViewKind::Heatmap,
        head: Some((1, 0)),
        changes: &[WhatIf::Without(0, 0)],
        ..GPT
    },
    Example {
        title: "One of several",
        hint: "Without this induction head the model still writes “tree”: other heads of its layer do the same",
        topic: Topic::WhatIf,
        input: ExampleInput::Text("tree blue door fish happy moon cake dog tree blue door fish happy moon cake dog"),
        view: ViewKind::Heatmap,
        head: Some((1, 0)),
        changes: &[WhatIf::Without(1, 0)],
        ..GPT
    },
    Example {
        title: "The verdict of one head",
        hint: "[CLS] attends to “dull”: negative, 92 %. Without this one head of 36 (right) the class is positive",
        topic: Topic::WhatIf,
        input: ExampleInput::Text("The actors are good, but the story is dull."),
        head: Some((5, 1)),
        changes: &[WhatIf::Without(5, 1)],
        ..SENTIMENT
    },
    Example {
        title: "Not a bad film, sparsely",
        hint: "Right: with sparsemax in every head most weights are exactly zero, and negative turns to positive",
        topic: Topic::WhatIf,
        input: ExampleInput::Text("Not a bad film at all."),
        view: ViewKind::Heatmap,
        head: Some((5, 5)),
        changes: &[WhatIf::Sparsemax],
        ..SENTIMENT
    },
    Example {
        title: "Went is to go",
        hint: "In the embedding table went − go + see is nearest to “saw”, and father − man + woman to “mother”",
        topic: Topic::Language,
        input: ExampleInput::Text("Once upon a time, there was a little girl named Lily."),
        view: ViewKind::Lab,
        asks: Some(ExampleQuestion {
            question: LabQuestion::Words,
            alone: Some("embeddings"),
            set: &[
                ("embeddings.arithmetic", "went - go + see"),
                ("embeddings.pairs", "play played | look looked | say said"),
            ],
            ..ASKED
        }),
        ..GPT
    },
    Example {
        title: "Easy to love",
        hint: "Attention of the last layer says “easy”; relevance, integrated gradients and leaving words out say “love”",
        topic: Topic::Lab,
        input: ExampleInput::Text("A film that is easy to love."),
        view: ViewKind::Lab,
        asks: Some(ASKED),
        ..SENTIMENT
    },
    Example {
        title: "What rollout misses",
        hint: "Without “no” it would be positive; attention of the last layer shows that, and rollout hides it",
        topic: Topic::Lab,
        input: ExampleInput::Text("The plot makes no sense, but it is fun."),
        view: ViewKind::Lab,
        asks: Some(ASKED),
        ..SENTIMENT
    },
    Example {
        title: "A map that lies, tested",
        hint: "Attention has nothing on “dull”; gradients and deleting words agree that the verdict rests on it",
        topic: Topic::Lab,
        input: ExampleInput::Text("The actors are good, but the story is dull."),
        model: "demo:bilstm-deceiving",
        view: ViewKind::Lab,
        asks: Some(ASKED),
        ..BILSTM
    },
    Example {
        title: "Other weights, same verdict",
        hint: "Weights far from these, 0.49 nats of at most 0.69, give the same output: one explanation among many",
        topic: Topic::Lab,
        input: ExampleInput::Text("A warm and funny film with a great cast."),
        view: ViewKind::Lab,
        asks: Some(ExampleQuestion { question: LabQuestion::Believe, alone: Some("faithfulness"), ..ASKED }),
        ..BILSTM
    },
    Example {
        title: "Come here, Ben",
        hint: "Noise hides “Ben”. Early states and MLPs at its place restore it, late states and attention at the end",
        topic: Topic::Lab,
        input: ExampleInput::Text("There was a boy named Ben. His mom said, \"Come here,"),
        view: ViewKind::Lab,
        query: Some(5),
        asks: Some(ExampleQuestion {
            question: LabQuestion::Fact,
            alone: Some("trace"),
            set: &[("trace.restore", "all"), ("trace.window", "2"), ("trace.samples", "3")],
            ..ASKED
        }),
        ..GPT
    },
    Example {
        title: "How well it aligns",
        hint: "Against hand-made links heads 2 and 3 of the last layer err by 8 % (AER); the mean of layer 0 finds \
            none",
        topic: Topic::Lab,
        input: ExampleInput::Text(">>fra<< He bought a white house."),
        target: Some("Il a acheté une maison blanche."),
        view: ViewKind::Lab,
        asks: Some(ExampleQuestion {
            question: LabQuestion::Aligns,
            set: &[("alignment.gold", "0-0 1-1 1-2 2-3 4-4 3-5 5-6")],
            ..ASKED
        }),
        ..TRANSLATE
    },
    Example {
        title: "Why “green”",
        hint: "What writing “green” depends on: relevance marks the patches of the triangle, few of the yellow \
            circle",
        topic: Topic::Lab,
        input: ExampleInput::Sample("scene-1"),
        view: ViewKind::Lab,
        head: Some((0, 2)),
        asks: Some(ExampleQuestion { target: Target { position: Some(1), class: None, against: None }, ..ASKED }),
        ..CAPTIONS
    },
];
