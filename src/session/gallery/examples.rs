//! Examples of what heads attend to, by model.

use super::{Example, ExampleInput, Told, Topic};
use crate::{
    figure::views::heads::layout::Placing,
    ids::StackKind,
    session::{PatchColors, ViewKind},
};

// What most examples of a model have in common.
pub(super) const GPT: Example = Example {
    title: "",
    hint: "",
    topic: Topic::Language,
    model: "demo:gpt",
    beside: &[],
    input: ExampleInput::Text(""),
    target: None,
    view: ViewKind::Heads,
    stack: None,
    head: None,
    query: None,
    words: false,
    placing: Placing::Columns,
    part: 0,
    patch_colors: PatchColors::Weights,
    changes: &[],
    asks: None,
    told: Told::Hint,
};
/// A recurrent model that looks back at its own states.
const READER: Example = Example { model: "demo:reader", head: Some((0, 0)), ..GPT };
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
/// Two columns that no run changes: the last state of each reader.
const BOTTLENECK: Example = Example { model: "demo:bottleneck", ..CLASSIC };
/// One of four that differ in their scorer alone.
const SCORER: Example = Example {
    model: "demo:scorer-additive",
    beside: &["demo:scorer-mlp", "demo:scorer-bilinear", "demo:scorer-dot"],
    view: ViewKind::Heatmap,
    ..CLASSIC
};
/// What it attends to is what it writes.
const POINTER: Example =
    Example { topic: Topic::Prediction, model: "demo:pointer", view: ViewKind::Heatmap, ..CLASSIC };
/// Of the two levels that of sentences, under one query.
const DOCUMENTS: Example =
    Example { model: "demo:documents", stack: Some(StackKind::Sentences), view: ViewKind::Heads, ..BILSTM };
/// A hop is a layer, under one query.
const MEMORY: Example = Example {
    model: "demo:memory",
    input: ExampleInput::Text(
        "Mary moved to the kitchen. John went to the office. Mary took the football. Daniel moved to the hallway. Mary \
         went to the garden. Where is the football?",
    ),
    stack: None,
    ..DOCUMENTS
};

/// These examples, in the order they are shown.
pub(super) const EXAMPLES: &[Example] = &[
    Example {
        title: "Too tired",
        hint: "In this head “it” attends to “animal”, which was too tired; other heads look elsewhere",
        input: ExampleInput::Text("The animal didn't cross the street because it was too tired"),
        head: Some((3, 2)),
        query: Some(11),
        words: true,
        told: Told::Measured,
        ..GPT
    },
    Example {
        title: "Once upon a time",
        hint: "This head attends to the previous token, whatever it is: hover a word to see its lines",
        topic: Topic::Position,
        input: ExampleInput::Text(
            "Once upon a time, there was a little girl named Lily. She loved to play with her red ball. One day, Lily",
        ),
        head: Some((0, 0)),
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
        hint: "Another head of the same layer: most of its attention goes two words back",
        topic: Topic::Position,
        input: ExampleInput::Text("The old dog and the young cat sat by the fire."),
        head: Some((0, 1)),
        ..GPT
    },
    Example {
        title: "Full stops and commas",
        hint: "From everywhere this head attends mostly to punctuation: an attention sink, not an explanation",
        topic: Topic::Position,
        input: ExampleInput::Text(
            "Tom went to the park. He saw a bird. The bird was blue, and it sang. Tom sat down, and he was happy.",
        ),
        head: Some((3, 3)),
        ..GPT
    },
    Example {
        title: "Since the last “and”",
        hint: "Every word after “and” looks back at it: this head marks where the clause began",
        topic: Topic::Position,
        input: ExampleInput::Text("The little dog ran to the big tree and barked at the cat."),
        head: Some((4, 5)),
        ..GPT
    },
    Example {
        title: "Repeated words",
        hint: "The second time round, this induction head attends to what followed the first time",
        topic: Topic::Repetition,
        input: ExampleInput::Text("tree blue door fish happy moon cake dog tree blue door fish happy moon cake dog"),
        view: ViewKind::Heatmap,
        head: Some((1, 0)),
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
        hint: "The last “red” attends to “car”, which followed the first one, and the model writes “car”: induction",
        topic: Topic::Repetition,
        input: ExampleInput::Text("Tom had a red car. Mia had a blue boat. Tom loved his red"),
        head: Some((1, 0)),
        query: Some(15),
        ..GPT
    },
    Example {
        title: "Who it is about",
        hint: "Each word attends to the person it is about: to “Lily”, and from the second sentence on to “She”",
        input: ExampleInput::Text("Lily had a red ball. She liked to play with it."),
        head: Some((4, 3)),
        ..GPT
    },
    Example {
        title: "What “it” is",
        hint: "“it” attends to “cat”, not to Lily or Ben. One head, one sentence: try others before believing it",
        input: ExampleInput::Text("Lily saw a big cat, and Ben fed it."),
        head: Some((4, 7)),
        query: Some(10),
        ..GPT
    },
    Example {
        title: "Mom and her flower",
        hint: "“her” attends to “Mom” rather than to “she”: of two that fit, to the name",
        input: ExampleInput::Text("Mom said she was sad because her flower was broken."),
        head: Some((3, 2)),
        query: Some(6),
        ..GPT
    },
    Example {
        title: "Back to her name",
        hint: "The states of “loved”, “play” and “with” look back at that of “Lily”; after “with” the guess is still “his”",
        input: ExampleInput::Text(
            "Once upon a time there was a little girl named Lily. She loved to play with her red ball in the park.",
        ),
        query: Some(16),
        ..READER
    },
    Example {
        title: "Forty-eight heads",
        hint: "The row below each map is that of “it”: in four of these heads it attends most to “animal”",
        input: ExampleInput::Text("The animal didn't cross the street because it was too tired"),
        view: ViewKind::Grid,
        head: Some((3, 2)),
        query: Some(11),
        ..GPT
    },
    Example {
        title: "No looking ahead",
        hint: "Above the diagonal every weight of this model is exactly 0: no word attends to a later one",
        topic: Topic::Position,
        input: ExampleInput::Text("The little dog ran to the big tree and barked at the cat."),
        view: ViewKind::Heatmap,
        head: Some((4, 5)),
        ..GPT
    },
    Example {
        title: "Near, in some heads",
        hint: "In L0H0 a high score means a small distance (correlation −0.95); in L4H5 distance says nothing (−0.02)",
        input: ExampleInput::Text("The animal didn't cross the street because it was too tired"),
        view: ViewKind::Distance,
        head: Some((0, 0)),
        ..GPT
    },
    Example {
        title: "Queries and keys",
        hint: "The queries and keys of every head as points: near means a high score",
        input: ExampleInput::Text(
            "The doctor asked the nurse a question. She said the doctor was kind and the nurse was happy.",
        ),
        view: ViewKind::Matrix,
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
        hint: "“##er” looks at “photograph”, “##ians” at “politic”: layer 0 joins the pieces of a word",
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
        hint: "The blank attends to “Mary”, and the model writes “her”. Type “Tom” in her place and see",
        topic: Topic::Prediction,
        input: ExampleInput::Text("Mary lost [MASK] keys."),
        head: Some((5, 5)),
        query: Some(3),
        ..BERT
    },
    Example {
        title: "Tom's keys",
        hint: "The same head attends to “Tom”, and the model writes “his”: the name decides",
        topic: Topic::Prediction,
        input: ExampleInput::Text("Tom lost [MASK] keys."),
        head: Some((5, 5)),
        query: Some(3),
        ..BERT
    },
    Example {
        title: "The princess and his hat",
        hint: "The blank attends to “princess”, and yet “his” comes first: a bias of the data, not missing attention",
        topic: Topic::Prediction,
        input: ExampleInput::Text("The princess lost [MASK] hat."),
        head: Some((1, 2)),
        query: Some(4),
        ..BERT
    },
    Example {
        title: "The children are",
        hint: "“are” or “is”? The blank attends to “children”, and the model writes “are”",
        topic: Topic::Prediction,
        input: ExampleInput::Text("The children [MASK] playing in the garden."),
        head: Some((2, 4)),
        query: Some(3),
        ..BERT
    },
    Example {
        title: "Not good",
        hint: "In the last layer [CLS] attends to “not”. Without that word the class is positive, 99 %: try it",
        input: ExampleInput::Text("The film is not good."),
        head: Some((5, 1)),
        ..SENTIMENT
    },
    Example {
        title: "Fine, but dull",
        hint: "In this head [CLS] attends to “fine”, yet the class is negative: attention alone explains no verdict",
        input: ExampleInput::Text("The acting is fine, but the story is dull."),
        head: Some((4, 5)),
        ..SENTIMENT
    },
    Example {
        title: "Not a bad film",
        hint: "Praise, classified as negative: in the last layer [CLS] attends to “bad” in this head",
        input: ExampleInput::Text("Not a bad film at all."),
        head: Some((5, 5)),
        ..SENTIMENT
    },
    Example {
        title: "One verdict, one row",
        hint: "Before transformers: one query weighs the states of an LSTM. Most weight is on “dull”: negative",
        input: ExampleInput::Text("The actors are good, but the story is dull."),
        ..BILSTM
    },
    Example {
        title: "Life is really tough",
        hint: "“tough” and “really” get most of the weight, 0.63 together, and the verdict is negative",
        input: ExampleInput::Text("Life is really tough."),
        ..BILSTM
    },
    Example {
        title: "Life, step by step",
        hint: "Read forward, the verdict’s gradient at “life” is 4.7 times that at the last step: it does not vanish",
        input: ExampleInput::Text("Life is really tough."),
        view: ViewKind::States,
        part: 5,
        ..BILSTM
    },
    Example {
        title: "A map that lies",
        hint: "Trained to attend elsewhere: nothing is on “dull”, yet without that word the verdict changes",
        input: ExampleInput::Text("The actors are good, but the story is dull."),
        model: "demo:bilstm-deceiving",
        ..BILSTM
    },
    Example {
        title: "Exact zeros",
        hint: "Sparsemax in place of softmax: two words share all the weight. The LSTM has read the others all the \
            same",
        input: ExampleInput::Text("The plot is thin and the jokes fall flat."),
        model: "demo:bilstm-sparsemax",
        ..BILSTM
    },
    Example {
        title: "Nothing else was read",
        hint: "A gate lets four words through before the model reads them: only here does no weight mean no \
            influence",
        input: ExampleInput::Text("The plot is thin and the jokes fall flat."),
        model: "demo:bilstm-rationale",
        ..BILSTM
    },
    Example {
        title: "Towards a red car",
        hint: "Each row writes the next word: after “die” comes “Straße”, and that row attends to “road”",
        input: ExampleInput::Text(">>deu<< A woman was walking down the road towards a red car"),
        target: Some("Eine Frau ging die Straße entlang auf ein rotes Auto zu"),
        head: Some((2, 3)),
        ..TRANSLATE
    },
    Example {
        title: "A white house",
        hint: "Each row writes the next word: “une” attends to “house” for “maison”, “maison” to “white”: lines \
            cross",
        input: ExampleInput::Text(">>fra<< He bought a white house."),
        target: Some("Il a acheté une maison blanche."),
        ..TRANSLATE
    },
    Example {
        title: "My father's green hat",
        hint: "“Le” attends to “hat” to write “chapeau”, that to “green” to write “vert”, “mon” to “father”: all in \
            reverse",
        input: ExampleInput::Text(">>fra<< My father's green hat"),
        target: Some("Le chapeau vert de mon père"),
        view: ViewKind::Heatmap,
        ..TRANSLATE
    },
    Example {
        title: "A green hat in two rows",
        hint: "The same alignment with words above words: where French turns the order of English round, lines cross",
        input: ExampleInput::Text(">>fra<< My father's green hat"),
        target: Some("Le chapeau vert de mon père"),
        placing: Placing::Rows,
        ..TRANSLATE
    },
    Example {
        title: "Through both stacks",
        hint: "After “Der” paths through both stacks lead to “dog” more than to any other source word: “Hund” is next",
        input: ExampleInput::Text(">>deu<< The dog sleeps."),
        target: Some("Der Hund schläft."),
        view: ViewKind::Paths,
        query: Some(1),
        ..TRANSLATE
    },
    Example {
        title: "Not, twice",
        hint: "French says “not” twice: head 3 attends to it to write “ne”, head 0 to write “pas”",
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
        hint: "Each row writes the next word: after “Buch” comes “gekauft”, and that row attends to “bought”",
        input: ExampleInput::Text(">>deu<< I have bought a new book."),
        target: Some("Ich habe ein neues Buch gekauft."),
        view: ViewKind::Heatmap,
        ..TRANSLATE
    },
    Example {
        title: "The fifth word",
        hint: "“im” had 50 % and “in” 38 %: click “in” below it, and the text goes on from there; Ctrl+Z leads back",
        input: ExampleInput::Text(">>deu<< I saw a friend in the park."),
        view: ViewKind::Writing,
        query: Some(4),
        ..TRANSLATE
    },
    Example {
        title: "The blocks of 2017",
        hint: "Three layers on each side with four heads each, and three of cross-attention between: click a layer or head",
        input: ExampleInput::Text(">>deu<< I have bought a new book."),
        view: ViewKind::Diagram,
        ..TRANSLATE
    },
    Example {
        title: "One vector",
        hint: "Each step gets one vector for the whole sentence: the mother is lost, and “mon père” is written twice",
        input: ExampleInput::Text(">>fra<< My father is a doctor and my mother is a teacher."),
        view: ViewKind::Heatmap,
        ..BOTTLENECK
    },
    Example {
        title: "One vector, step by step",
        hint: "Read forward, 13 steps lie between the first token and the last, whose gradient is 6.1 times as large",
        input: ExampleInput::Text(">>fra<< My father is a doctor and my mother is a teacher."),
        view: ViewKind::States,
        part: 5,
        ..BOTTLENECK
    },
    Example {
        title: "A film in a fairy tale",
        hint: "Beside it the same model with an adapter for reviews: its film goes on, the storyteller’s sentence ends",
        beside: &["demo:gpt-reviews"],
        input: ExampleInput::Text("Once upon a time there was a film"),
        head: Some((2, 1)),
        query: Some(9),
        ..GPT
    },
    Example {
        title: "With attention",
        hint: "Same data, same size, but each step chooses its words: doctor, mother and teacher are all there",
        beside: &["demo:bottleneck"],
        input: ExampleInput::Text(">>fra<< My father is a doctor and my mother is a teacher."),
        view: ViewKind::Heatmap,
        ..CLASSIC
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
        title: "Four scorers, one sentence",
        hint: "All four find father, hat and green; rows of the additive one have 0.66 nats of entropy, bilinear ones 0.02",
        input: ExampleInput::Text("My sister always forgets my father's green hat."),
        target: Some("Ma sœur oublie toujours le chapeau vert de mon père."),
        ..SCORER
    },
    Example {
        title: "My father's hat, in 2015",
        hint: "Given the French, “chapeau” comes from “hat” and “père” from “father”; alone the model loses its way",
        input: ExampleInput::Text(">>fra<< I lost my father's hat."),
        target: Some("J'ai perdu le chapeau de mon père."),
        view: ViewKind::Heatmap,
        ..CLASSIC
    },
    Example {
        title: "Towards a red car, in 2015",
        hint: "Given the German it finds every word in the long sentence; alone it goes wrong after “Frau”",
        input: ExampleInput::Text(">>deu<< A woman was walking down the road towards a red car"),
        target: Some("Eine Frau ging die Straße entlang auf ein rotes Auto zu"),
        view: ViewKind::Heatmap,
        ..CLASSIC
    },
    Example {
        title: "Sorted by pointing",
        hint: "Its attention is its answer: each number of the sorted list points at its place in the input, at least 0.99",
        input: ExampleInput::Text("42 7 93 15 68 3"),
        ..POINTER
    },
    Example {
        title: "Which sentence says so",
        hint: "Praise, 94 %: of six sentences “highly recommend.” has most weight. The stack Words has the words of each",
        input: ExampleInput::Text(
            "pork belly = delicious. scallops? I don't even like scallops, and these were a-m-a-z-i-n-g. fun and tasty \
             cocktails. next time I'm in Phoenix, I will go back here. highly recommend.",
        ),
        ..DOCUMENTS
    },
    Example {
        title: "Terrible value",
        hint: "Blame: each sentence weighs its own words, “value” most in the first and “ordered” in the second",
        input: ExampleInput::Text(
            "terrible value. ordered pasta entree. $16.95 good taste but size was an appetizer size. no salad, no \
             bread, no vegetable.",
        ),
        view: ViewKind::Heatmap,
        stack: Some(StackKind::Words),
        query: None,
        ..DOCUMENTS
    },
    Example {
        title: "Who has the football",
        hint: "“Where is the football?” looks first for who took it; the hops that follow look for where she went",
        ..MEMORY
    },
    Example {
        title: "Where she went",
        hint: "Second hop: with Mary found, the question looks for where she went last, and the answer is “garden”",
        head: Some((1, 0)),
        ..MEMORY
    },
];
