//! Examples that change a run, or ask the laboratory.

use super::{
    Asked, Example, ExampleInput, Topic, WhatIf,
    examples::{BERT, BILSTM, CAPTIONS, GPT, SENTIMENT, TRANSLATE},
};
use crate::{analysis::explain::report::Question, session::ViewKind, worker::Target};

/// About the output that the model itself would tell.
const ASKED: Asked = Asked {
    question: Question::Depends,
    alone: None,
    target: Target { position: None, class: None, against: None },
    gold: None,
};

/// These examples, in the order they are shown.
pub(super) const EXAMPLES: &[Example] = &[
    Example {
        title: "Without Mary's head",
        hint: "At the right the head that looks at “Mary” adds nothing: “her” falls from 85 % to 11 %. It decides here",
        topic: Topic::WhatIf,
        input: ExampleInput::Text("Mary lost [MASK] keys."),
        head: Some((5, 5)),
        query: Some(3),
        changes: &[WhatIf::Without(5, 5)],
        in_strip: true,
        ..BERT
    },
    Example {
        title: "A head nobody misses",
        hint: "This head looks at “children” as it should. Without it, at the right, “are” is as sure as before",
        topic: Topic::WhatIf,
        input: ExampleInput::Text("The children [MASK] playing in the garden."),
        head: Some((1, 2)),
        query: Some(3),
        changes: &[WhatIf::Without(1, 2)],
        ..BERT
    },
    Example {
        title: "The dogs near the tree",
        hint: "They are old. Cut one line, from the blank to “dogs” in layer 4, and the model writes “is”",
        topic: Topic::WhatIf,
        input: ExampleInput::Text("The dogs near the tree [MASK] very old."),
        head: Some((4, 4)),
        query: Some(6),
        changes: &[WhatIf::Cut { query: 6, key: 2, layer: Some(4) }],
        ..BERT
    },
    Example {
        title: "A red boat",
        hint: "At the right the last “red” cannot look at “car”: it looks at “boat”, and that is what the model writes",
        topic: Topic::WhatIf,
        input: ExampleInput::Text("Tom had a red car. Mia had a blue boat. Tom loved his red"),
        head: Some((1, 0)),
        query: Some(15),
        changes: &[WhatIf::Cut { query: 15, key: 4, layer: None }],
        ..GPT
    },
    Example {
        title: "Induction takes two",
        hint: "Without the head that looks one back, at the right, the induction head finds nothing, nor the model “tree”",
        topic: Topic::WhatIf,
        input: ExampleInput::Text("tree blue door fish happy moon cake dog tree blue door fish happy moon cake dog"),
        view: ViewKind::Heatmap,
        head: Some((1, 0)),
        changes: &[WhatIf::Without(0, 0)],
        ..GPT
    },
    Example {
        title: "One of several",
        hint: "Without this induction head itself the model still writes “tree”: others of its layer do the same",
        topic: Topic::WhatIf,
        input: ExampleInput::Text("tree blue door fish happy moon cake dog tree blue door fish happy moon cake dog"),
        view: ViewKind::Heatmap,
        head: Some((1, 0)),
        changes: &[WhatIf::Without(1, 0)],
        ..GPT
    },
    Example {
        title: "The verdict of one head",
        hint: "[CLS] looks at “dull”: negative, 92 %. Without this one head of 36, at the right, it is praise",
        topic: Topic::WhatIf,
        input: ExampleInput::Text("The actors are good, but the story is dull."),
        head: Some((5, 1)),
        changes: &[WhatIf::Without(5, 1)],
        ..SENTIMENT
    },
    Example {
        title: "Not a bad film, sparsely",
        hint: "Sparsemax in every head, at the right: most weights are exactly zero, and blame turns to praise",
        topic: Topic::WhatIf,
        input: ExampleInput::Text("Not a bad film at all."),
        view: ViewKind::Heatmap,
        head: Some((5, 5)),
        changes: &[WhatIf::Sparsemax],
        ..SENTIMENT
    },
    Example {
        title: "Easy to love",
        hint: "Attention of the last layer says “easy”; relevance, integrated gradients and leaving words out say “love”",
        topic: Topic::Lab,
        input: ExampleInput::Text("A film that is easy to love."),
        view: ViewKind::Lab,
        asks: Some(ASKED),
        in_strip: true,
        ..SENTIMENT
    },
    Example {
        title: "What rollout misses",
        hint: "Without “no” it would be praise; here attention of the last layer shows that, and rollout buries it",
        topic: Topic::Lab,
        input: ExampleInput::Text("The plot makes no sense, but it is fun."),
        view: ViewKind::Lab,
        asks: Some(ASKED),
        ..SENTIMENT
    },
    Example {
        title: "The liar, found out",
        hint: "Attention has nothing on “dull”; gradients and deleting words agree that the verdict is about nothing else",
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
        asks: Some(Asked { question: Question::Believe, alone: Some("faithfulness"), ..ASKED }),
        ..BILSTM
    },
    Example {
        title: "Come here, Ben",
        hint: "“Ben” made unrecognisable, then restored state by state: first where it stands, late where it is written",
        topic: Topic::Lab,
        input: ExampleInput::Text("There was a boy named Ben. His mom said, \"Come here,"),
        view: ViewKind::Lab,
        query: Some(5),
        asks: Some(Asked { question: Question::Fact, alone: Some("trace"), ..ASKED }),
        ..GPT
    },
    Example {
        title: "How well it aligns",
        hint: "Against links made by hand heads 2 and 3 of the last layer err by 8 % (AER); the mean of layer 0 finds none",
        topic: Topic::Lab,
        input: ExampleInput::Text(">>fra<< He bought a white house."),
        target: Some("Il a acheté une maison blanche."),
        view: ViewKind::Lab,
        asks: Some(Asked { question: Question::Aligns, gold: Some("0-0 1-1 1-2 2-3 4-4 3-5 5-6"), ..ASKED }),
        ..TRANSLATE
    },
    Example {
        title: "Why “green”",
        hint: "What writing “green” depends on: relevance has the patches of the triangle, and few of the yellow circle",
        topic: Topic::Lab,
        input: ExampleInput::Sample("scene-1"),
        view: ViewKind::Lab,
        head: Some((0, 2)),
        asks: Some(Asked { target: Target { position: Some(1), class: None, against: None }, ..ASKED }),
        ..CAPTIONS
    },
];
