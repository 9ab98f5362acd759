//! Examples of what patches of a picture attend to, and words to patches.

use super::{Example, ExampleInput, Topic, examples::GPT};
use crate::{
    ids::StackKind,
    session::{PatchColors, ViewKind},
};

const VIT: Example = Example { topic: Topic::Pictures, model: "demo:vit", view: ViewKind::Image, ..GPT };
pub(super) const CAPTIONS: Example = Example { model: "demo:captions", stack: Some(StackKind::Cross), ..VIT };

/// These examples, in the order they are shown.
pub(super) const EXAMPLES: &[Example] = &[
    Example {
        title: "A cat",
        hint: "It says “cat”. In this head of the last layer [CLS] attends to the eye; click a patch to see its own",
        input: ExampleInput::Sample("cat-face"),
        head: Some((5, 1)),
        query: Some(0),
        ..VIT
    },
    Example {
        title: "A cat, called a dog",
        hint: "The model is wrong: it says “dog”. In this head [CLS] attends to the nose; click a patch to see its own",
        input: ExampleInput::Sample("chelsea"),
        head: Some((3, 2)),
        query: Some(0),
        ..VIT
    },
    Example {
        title: "A rocket",
        hint: "[CLS] attends to the lit foot of the rocket, yet the class is wrong: attending is not knowing",
        input: ExampleInput::Sample("rocket"),
        head: Some((3, 2)),
        query: Some(0),
        ..VIT
    },
    Example {
        title: "A face",
        hint: "The same head of [CLS] on another picture: trained on animals and vehicles, it finds the face",
        input: ExampleInput::Sample("astronaut"),
        head: Some((3, 2)),
        query: Some(0),
        ..VIT
    },
    Example {
        title: "Light with light",
        hint: "In this early head bright patches attend to bright ones, dark to dark: click in the cup, then beside \
            it",
        input: ExampleInput::Sample("coffee"),
        head: Some((1, 5)),
        query: Some(21),
        ..VIT
    },
    Example {
        title: "Like colours",
        hint: "Patches attend to patches of a similar hue: blue sky to sky, the orange lights to each other",
        input: ExampleInput::Sample("rocket"),
        head: Some((1, 4)),
        query: Some(12),
        ..VIT
    },
    Example {
        title: "Sky and ground",
        hint: "No attention: the first direction of the patches (red, 51 % of their variance) parts sky from ground",
        input: ExampleInput::Sample("rocket"),
        head: Some((5, 0)),
        patch_colors: PatchColors::Components,
        ..VIT
    },
    Example {
        title: "No patch stands out",
        hint: "The longest vector of a patch is 1.4 times the median: large transformers without registers have outliers",
        input: ExampleInput::Sample("cat-face"),
        head: Some((5, 1)),
        patch_colors: PatchColors::Norms,
        ..VIT
    },
    Example {
        title: "Named and seen",
        hint: "Writing “triangle”, this head attends to the triangle; click other words above the picture",
        input: ExampleInput::Sample("scene-1"),
        head: Some((0, 2)),
        query: Some(2),
        ..CAPTIONS
    },
    Example {
        title: "Seen more than by the others",
        hint: "Less the mean of all words, “triangle” keeps the triangle alone: the circle is what “yellow” looks at",
        input: ExampleInput::Sample("scene-1"),
        head: Some((0, 2)),
        query: Some(2),
        patch_colors: PatchColors::LessMean,
        ..CAPTIONS
    },
    Example {
        title: "Left or right",
        hint: "Writing “left” of the triangle, this head attends to the square: a relation needs both shapes",
        input: ExampleInput::Sample("scene-2"),
        head: Some((0, 3)),
        query: Some(3),
        ..CAPTIONS
    },
    Example {
        title: "A head for yellow",
        hint: "Attending is not naming: this head attends to the yellow square while “green” is written",
        input: ExampleInput::Sample("scene-2"),
        head: Some((0, 1)),
        query: Some(1),
        ..CAPTIONS
    },
];
