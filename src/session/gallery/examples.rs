//! Examples of what heads attend to, by model.

use super::{Example, ExampleInput, Topic};
use crate::{ids::StackKind, session::ViewKind};

// What most examples of a model have in common.
pub(super) const GPT: Example = Example {
    title: "",
    hint: "",
    topic: Topic::Language,
    model: "demo:gpt",
    input: ExampleInput::Text(""),
    target: None,
    view: ViewKind::Heads,
    stack: None,
    head: None,
    query: None,
    changes: &[],
    asks: None,
    in_strip: false,
};
pub(super) const BERT: Example = Example { model: "demo:bert", ..GPT };
/// What the classifier reads is the stream of `[CLS]`, its first token.
pub(super) const SENTIMENT: Example =
    Example { topic: Topic::Prediction, model: "demo:sentiment", query: Some(0), ..GPT };
/// One query reads all words, so there is one row.
pub(super) const BILSTM: Example =
    Example { model: "demo:bilstm", view: ViewKind::Heatmap, head: Some((0, 0)), ..SENTIMENT };
pub(super) const TRANSLATE: Example = Example {
    topic: Topic::Translation,
    model: "demo:translate",
    stack: Some(StackKind::Cross),
    head: Some((2, 2)),
    ..GPT
};
const CLASSIC: Example = Example { model: "demo:classic", head: Some((0, 0)), ..TRANSLATE };
const VIT: Example = Example { topic: Topic::Pictures, model: "demo:vit", view: ViewKind::Image, ..GPT };
pub(super) const CAPTIONS: Example = Example { model: "demo:captions", stack: Some(StackKind::Cross), ..VIT };

/// These examples, in the order they are shown.
pub(super) const EXAMPLES: &[Example] = &[
    Example {
        title: "Once upon a time",
        hint: "This head looks at the word before, whatever it is: hover a word to see its lines",
        topic: Topic::Position,
        input: ExampleInput::Text(
            "Once upon a time, there was a little girl named Lily. She loved to play with her red ball. One day, Lily",
        ),
        head: Some((0, 0)),
        in_strip: true,
        ..GPT
    },
    Example {
        title: "Words in pieces",
        hint: "Rare words are cut into pieces, and the same head chains them: each piece looks at the piece before",
        topic: Topic::Position,
        input: ExampleInput::Text("The elephant was magnificent and the rhinoceros was extraordinary."),
        head: Some((0, 0)),
        ..GPT
    },
    Example {
        title: "Two words back",
        hint: "Another head of the same layer: most of its attention is two words back",
        topic: Topic::Position,
        input: ExampleInput::Text("The old dog and the young cat sat by the fire."),
        head: Some((0, 1)),
        ..GPT
    },
    Example {
        title: "Full stops and commas",
        hint: "Wherever it stands, most of what this head looks at is punctuation: a place to rest, not an explanation",
        topic: Topic::Position,
        input: ExampleInput::Text(
            "Tom went to the park. He saw a bird. The bird was blue, and it sang. Tom sat down, and he was happy.",
        ),
        head: Some((3, 3)),
        ..GPT
    },
    Example {
        title: "Since the last “and”",
        hint: "Every word behind “and” looks back at it: this head knows where the clause began",
        topic: Topic::Position,
        input: ExampleInput::Text("The little dog ran to the big tree and barked at the cat."),
        head: Some((4, 5)),
        ..GPT
    },
    Example {
        title: "Repeated words",
        hint: "The second time round, this induction head looks at what followed the first time",
        topic: Topic::Repetition,
        input: ExampleInput::Text("tree blue door fish happy moon cake dog tree blue door fish happy moon cake dog"),
        view: ViewKind::Heatmap,
        head: Some((1, 0)),
        in_strip: true,
        ..GPT
    },
    Example {
        title: "Nothing to repeat",
        hint: "The same head where no word comes twice: with nothing to look up it settles on no word for long",
        topic: Topic::Repetition,
        input: ExampleInput::Text("The little dog ran to a big tree and barked at her cat."),
        head: Some((1, 0)),
        ..GPT
    },
    Example {
        title: "A red car",
        hint: "The last “red” looks at “car”, which followed the first one, and the model writes “car”: induction",
        topic: Topic::Repetition,
        input: ExampleInput::Text("Tom had a red car. Mia had a blue boat. Tom loved his red"),
        head: Some((1, 0)),
        query: Some(15),
        ..GPT
    },
    Example {
        title: "Who it is about",
        hint: "Each word looks at the person it is about: at “Lily”, and from the second sentence on at “She”",
        input: ExampleInput::Text("Lily had a red ball. She liked to play with it."),
        head: Some((4, 3)),
        ..GPT
    },
    Example {
        title: "What “it” is",
        hint: "“it” looks at “cat”, not at Lily or Ben. One head's weights: try other sentences before believing it",
        input: ExampleInput::Text("Lily saw a big cat, and Ben fed it."),
        head: Some((4, 7)),
        query: Some(10),
        ..GPT
    },
    Example {
        title: "Mom and her flower",
        hint: "“her” looks at “Mom” rather than at “she”: of two that fit, the name",
        input: ExampleInput::Text("Mom said she was sad because her flower was broken."),
        head: Some((3, 2)),
        query: Some(6),
        ..GPT
    },
    Example {
        title: "Queries and keys",
        hint: "Every head's queries and keys in one plane: near means attention",
        input: ExampleInput::Text(
            "The doctor asked the nurse a question. She said the doctor was kind and the nurse was happy.",
        ),
        view: ViewKind::Matrix,
        in_strip: true,
        ..GPT
    },
    Example {
        title: "The word after",
        hint: "An encoder sees both ways: this head looks one word ahead, which no GPT can",
        topic: Topic::Position,
        input: ExampleInput::Text("The old man gave the boy a book, but the boy did not want to read it."),
        head: Some((1, 5)),
        ..BERT
    },
    Example {
        title: "Pieces find their word",
        hint: "“##er” looks at “photograph”, “##ians” at “politic”: what was cut apart is put together in layer 0",
        input: ExampleInput::Text("Neither the photographer nor the dishonest politicians disappeared."),
        head: Some((0, 1)),
        ..BERT
    },
    Example {
        title: "An article and its noun",
        hint: "Each “the” looks at its noun, even past an adjective: “man”, “boy”, “garden”",
        input: ExampleInput::Text("The old man gave the boy a big red book in the garden."),
        head: Some((2, 5)),
        ..BERT
    },
    Example {
        title: "Mary's keys",
        hint: "What is missing? The blank looks at “Mary”, and the model writes “her”. Put “Tom” there and run again",
        topic: Topic::Prediction,
        input: ExampleInput::Text("Mary lost [MASK] keys."),
        head: Some((5, 5)),
        query: Some(3),
        in_strip: true,
        ..BERT
    },
    Example {
        title: "Tom's keys",
        hint: "The same head looks at “Tom”, and the model writes “his”: who it is decides",
        topic: Topic::Prediction,
        input: ExampleInput::Text("Tom lost [MASK] keys."),
        head: Some((5, 5)),
        query: Some(3),
        ..BERT
    },
    Example {
        title: "The princess and his hat",
        hint: "The blank does look at “princess”, and yet “his” comes first: a bias of the data, not a lack of attention",
        topic: Topic::Prediction,
        input: ExampleInput::Text("The princess lost [MASK] hat."),
        head: Some((1, 2)),
        query: Some(4),
        ..BERT
    },
    Example {
        title: "The children are",
        hint: "“are” or “is”? The blank looks at “children”, and the model writes “are”",
        topic: Topic::Prediction,
        input: ExampleInput::Text("The children [MASK] playing in the garden."),
        head: Some((2, 4)),
        query: Some(3),
        ..BERT
    },
    Example {
        title: "Not good",
        hint: "In the last layer [CLS] looks at “not”. Without it the verdict is praise, with 0.99; try it",
        input: ExampleInput::Text("The film is not good."),
        head: Some((5, 1)),
        ..SENTIMENT
    },
    Example {
        title: "Fine, but dull",
        hint: "This head of [CLS] looks at “fine”, and the verdict is negative: attention alone explains no verdict",
        input: ExampleInput::Text("The acting is fine, but the story is dull."),
        head: Some((4, 5)),
        ..SENTIMENT
    },
    Example {
        title: "Not a bad film",
        hint: "Praise, judged as blame: in the last layer this head of [CLS] looks at “bad”",
        input: ExampleInput::Text("Not a bad film at all."),
        head: Some((5, 5)),
        ..SENTIMENT
    },
    Example {
        title: "One verdict, one row",
        hint: "Before transformers: one query weighs the states of an LSTM. Most of it is on “dull”: negative",
        input: ExampleInput::Text("The actors are good, but the story is dull."),
        ..BILSTM
    },
    Example {
        title: "A map that lies",
        hint: "Trained to look elsewhere: nothing is on “dull”, yet delete that word and the verdict turns",
        input: ExampleInput::Text("The actors are good, but the story is dull."),
        model: "demo:bilstm-deceiving",
        in_strip: true,
        ..BILSTM
    },
    Example {
        title: "Exact zeros",
        hint: "Sparsemax instead of softmax: two words share all the weight. The LSTM has read the others all the same",
        input: ExampleInput::Text("The plot is thin and the jokes fall flat."),
        model: "demo:bilstm-sparsemax",
        ..BILSTM
    },
    Example {
        title: "Nothing else was read",
        hint: "A gate lets four words through before anything is read: only here does no weight mean no influence",
        input: ExampleInput::Text("The plot is thin and the jokes fall flat."),
        model: "demo:bilstm-rationale",
        ..BILSTM
    },
    Example {
        title: "Towards a red car",
        hint: "Each row writes the next word: behind “die” comes “Straße”, and it looks at “road”",
        input: ExampleInput::Text(">>deu<< A woman was walking down the road towards a red car"),
        target: Some("Eine Frau ging die Straße entlang auf ein rotes Auto zu"),
        head: Some((2, 3)),
        ..TRANSLATE
    },
    Example {
        title: "A white house",
        hint: "Each row writes the next word: “une” looks at “house” for “maison”, “maison” at “white”: the lines cross",
        input: ExampleInput::Text(">>fra<< He bought a white house."),
        target: Some("Il a acheté une maison blanche."),
        in_strip: true,
        ..TRANSLATE
    },
    Example {
        title: "My father's green hat",
        hint: "“Le” looks at “hat” to write “chapeau”, that at “green” to write “vert”, “mon” at “father”: all in reverse",
        input: ExampleInput::Text(">>fra<< My father's green hat"),
        target: Some("Le chapeau vert de mon père"),
        view: ViewKind::Heatmap,
        ..TRANSLATE
    },
    Example {
        title: "Not, twice",
        hint: "French says “not” twice: head 3 looks at it to write “ne”, head 0 to write “pas”",
        input: ExampleInput::Text(">>fra<< She does not speak French."),
        target: Some("Elle ne parle pas français."),
        head: Some((2, 3)),
        ..TRANSLATE
    },
    Example {
        title: "Home before going",
        hint: "One word becomes two, and moves: “nach” and “Hause” are written from “home”, then “gehen” from “go”",
        input: ExampleInput::Text(">>deu<< Tom wants to go home."),
        target: Some("Tom will nach Hause gehen."),
        ..TRANSLATE
    },
    Example {
        title: "The verb comes last",
        hint: "Each row writes the next word: behind “Buch” comes “gekauft”, and it looks back at “bought”",
        input: ExampleInput::Text(">>deu<< I have bought a new book."),
        target: Some("Ich habe ein neues Buch gekauft."),
        view: ViewKind::Heatmap,
        ..TRANSLATE
    },
    Example {
        title: "A white house, in 2015",
        hint: "Attention before transformers: two recurrent networks, one additive head, and the lines cross already",
        input: ExampleInput::Text(">>fra<< He bought a white house."),
        target: Some("Il a acheté une maison blanche."),
        ..CLASSIC
    },
    Example {
        title: "Home, in 2015",
        hint: "The matrix of the first paper on attention: “nach” and “Hause” are both written from “home”",
        input: ExampleInput::Text(">>deu<< Tom wants to go home."),
        target: Some("Tom will nach Hause gehen."),
        view: ViewKind::Heatmap,
        ..CLASSIC
    },
    Example {
        title: "A cat",
        hint: "[CLS] gathers the verdict: this head looks at the nose, and it says “dog”. Click a patch for what that sees",
        input: ExampleInput::Sample("chelsea"),
        head: Some((3, 2)),
        query: Some(0),
        in_strip: true,
        ..VIT
    },
    Example {
        title: "A rocket",
        hint: "[CLS] looks at the lit foot of the rocket, and the verdict is wrong all the same: looking is not knowing",
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
        hint: "In this early head bright patches look at bright ones, dark at dark: click in the cup, then beside it",
        input: ExampleInput::Sample("coffee"),
        head: Some((1, 5)),
        query: Some(21),
        ..VIT
    },
    Example {
        title: "Like colours",
        hint: "Patches look at patches of like hue: the blue sky at the sky, the orange lights at each other",
        input: ExampleInput::Sample("rocket"),
        head: Some((1, 4)),
        query: Some(12),
        ..VIT
    },
    Example {
        title: "Named and seen",
        hint: "Writing “triangle”, this head looks at the triangle; click the words above the picture for the others",
        input: ExampleInput::Sample("scene-1"),
        head: Some((0, 2)),
        query: Some(2),
        in_strip: true,
        ..CAPTIONS
    },
    Example {
        title: "Left or right",
        hint: "Writing “left” of the triangle, this head looks at the square: where a thing is takes the other one",
        input: ExampleInput::Sample("scene-2"),
        head: Some((0, 3)),
        query: Some(3),
        ..CAPTIONS
    },
    Example {
        title: "A head for yellow",
        hint: "Looking is not naming: this head looks at the yellow square while “green” is written",
        input: ExampleInput::Sample("scene-2"),
        head: Some((0, 1)),
        query: Some(1),
        ..CAPTIONS
    },
];
