//! The lecture: examples in the order in which one would teach attention, each after a sentence that says what it is
//! an example of. A new stop is a line in the list.

use super::{EXAMPLES, Example};

/// A part of the lecture.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    pub title: &'static str,
    pub stops: &'static [Stop],
}

/// A stop of the lecture.
#[derive(Clone, Copy, Debug)]
pub struct Stop {
    /// Its example, by the index in [`EXAMPLES`].
    pub example: usize,
    /// A definition or a piece of history; what is measured stands in the hint of the example.
    idea: &'static str,
}

impl Stop {
    /// What is shown.
    pub fn example(self) -> &'static Example {
        &EXAMPLES[self.example]
    }

    /// What it is an example of.
    pub const fn idea(self) -> &'static str {
        self.idea
    }

    /// What is said of it.
    pub fn text(self) -> String {
        let ended = if self.idea.ends_with('?') { "" } else { "." };
        format!("{}{ended} {}.", self.idea, self.example().hint)
    }
}

/// Every stop with its part, in order.
pub fn stops() -> impl Iterator<Item = (&'static Part, Stop)> {
    LECTURE.iter().flat_map(|part| part.stops.iter().map(move |stop| (part, *stop)))
}

/// The example with this title, as a stop.
const fn stop(title: &str, idea: &'static str) -> Stop {
    let mut example = 0;
    while example < EXAMPLES.len() {
        if is_same(EXAMPLES[example].title, title) {
            return Stop { example, idea };
        }
        example += 1;
    }
    panic!("no example has this title");
}

const fn is_same(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let mut at = 0;
    while at < one.len() && at < other.len() && one[at] == other[at] {
        at += 1;
    }
    at == one.len() && at == other.len()
}

/// The parts, in order.
pub const LECTURE: &[Part] = &[
    Part {
        title: "From one vector to attention",
        stops: &[
            stop(
                "Life is really tough",
                "A recurrent network leaves a text in its last state; attention looks back at the states of all words",
            ),
            stop(
                "Life, step by step",
                "Unrolled in time, a recurrent network is a deep one, through which gradients go back step by step",
            ),
            stop(
                "One vector",
                "A translator of 2014 is given the last state of its reader, whatever it writes (Cho and others, 2014)",
            ),
            stop(
                "One vector, step by step",
                "A recurrent path is as long as the distance of two words; by attention every path is one step",
            ),
            stop("With attention", "The same translator with a look back at every word that was read"),
            stop(
                "A white house, in 2015",
                "Bahdanau, Cho and Bengio let a translator look at the source anew for each word that it writes",
            ),
            stop("Home, in 2015", "The weights as a matrix: a row per written word, a column per word of the source"),
            stop(
                "Four scorers, one sentence",
                "A score is a small network, a product of two states, or one with a matrix between (Luong and others, 2015)",
            ),
            stop("My father's green hat", "The same in a transformer, in two languages that order their words unlike"),
            stop("Towards a red car", "Row by row, attention is a spotlight: pin a written word to see its own"),
            stop("Not, twice", "An alignment need not be one to one"),
            stop(
                "Named and seen",
                "The source may be a picture, with patches in the place of words (Xu and others, 2015)",
            ),
        ],
    },
    Part {
        title: "Attention of other kinds",
        stops: &[
            stop("Sorted by pointing", "In a pointer network attention is the output (Vinyals and others, 2015)"),
            stop(
                "Who has the football",
                "A memory network asks its sentences several times (Sukhbaatar and others, 2015)",
            ),
            stop("Where she went", "Each hop asks with what the one before has found"),
            stop(
                "Which sentence says so",
                "Attention over sentences, above attention over words (Yang and others, 2016)",
            ),
            stop("Terrible value", "The lower of the two levels: a row for each sentence"),
        ],
    },
    Part {
        title: "How a weight comes about",
        stops: &[
            stop(
                "Went is to go",
                "Attention begins with vectors of words, whose differences can mean something (Mikolov and others, 2013)",
            ),
            stop(
                "How 0.61 comes about",
                "A query times a key is a score, softmax turns scores into weights, weights average values",
            ),
            stop(
                "The root of d",
                "The product of two vectors of d independent numbers has d times the variance of one",
            ),
            stop(
                "From scores to weights",
                "Softmax leaves no visible key without weight; other rules have exact zeros",
            ),
            stop("Exact zeros", "Sparsemax is the point of the simplex that is nearest to the scores"),
            stop(
                "A translated word, step by step",
                "In cross-attention the query is of the written text, keys and values are of the source",
            ),
            stop("Once upon a time", "A head can look for a place instead of a meaning"),
            stop(
                "Without positions",
                "What order is left without them? In an encoder none at all, here that of the mask",
            ),
            stop(
                "Positions beside each other",
                "A position is a vector that is added to its word: sinusoids in 2017, often learnt since",
            ),
            stop("Two words back", "Several heads ask at once, each with its own queries, keys and values"),
            stop("Forty-eight heads", "All heads of all layers, each a small map of who attends to whom"),
            stop("No looking ahead", "A mask: the scores of keys to come are −∞ before softmax"),
        ],
    },
    Part {
        title: "Encoders and decoders",
        stops: &[
            stop("The blocks of 2017", "A transformer is blocks along a stream to which every one of them adds"),
            stop("The word after", "Encoder alone: nothing is masked"),
            stop("Mary's keys", "An encoder learns by filling in blanks"),
            stop("Who it is about", "Decoder alone: each word sees what is before it, and the last writes the next"),
            stop("The fifth word", "A decoder writes one token after the other, each from what it has written"),
            stop(
                "A friend, not a dog",
                "Teacher forcing: the text is given, and the model says what it would have written",
            ),
            stop(
                "Home before going",
                "Encoder and decoder: the decoder sees itself and, by cross-attention, the source",
            ),
            stop("Not good", "A classifier reads one token, [CLS]"),
            stop("A cat, called a dog", "A vision transformer is an encoder of patches"),
        ],
    },
    Part {
        title: "What a head does",
        stops: &[
            stop("Too tired", "The sentence of the Illustrated Transformer: which noun is “it”?"),
            stop("An article and its noun", "Some heads link words by syntax"),
            stop("Since the last “and”", "Some follow one word"),
            stop("Another person, another paragraph", "Some follow who or what is spoken of; a text is read as a text"),
            stop("Full stops and commas", "Some have a place to rest"),
            stop("Repeated words", "Induction: find what was here before, and look at what came next"),
        ],
    },
    Part {
        title: "Is attention an explanation?",
        stops: &[
            stop("Fine, but dull", "A large weight is not a reason"),
            stop("The princess and his hat", "Nor is the word that is looked at the one that decides"),
            stop("One verdict, one row", "Sometimes weights and verdict agree"),
            stop("A map that lies", "A model can be trained to show other weights (Pruthi and others, 2020)"),
            stop("A map that lies, tested", "What attention hides, other methods find"),
            stop("Other weights, same verdict", "Jain and Wallace, 2019: how far can weights go without the output?"),
            stop("Nothing else was read", "A rationale is different: what is left out was never read"),
        ],
    },
    Part {
        title: "Flow, gradients, interventions",
        stops: &[
            stop("Easy to love", "Gradients, relevance and leaving out ask what the output depends on"),
            stop(
                "Down to “slow”",
                "Attention of all layers is a graph, and what is read of an input are paths through it",
            ),
            stop("All paths lead to the first word", "Sums over paths inherit where weights rest"),
            stop("What rollout misses", "Rollout multiplies the weights of all layers (Abnar and Zuidema, 2020)"),
            stop("Come here, Ben", "Causal tracing restores one state after the other (Meng and others, 2022)"),
            stop("Without Mary's head", "A head is tested by switching it off"),
            stop("A head that is not needed", "The same of a head that looks as much at the right word"),
            stop("Induction takes two", "Heads of one layer can need those of another"),
            stop("A red boat", "A single edge can be cut"),
            stop("Not a bad film, sparsely", "Another normaliser is another model"),
        ],
    },
    Part {
        title: "Pictures",
        stops: &[
            stop("Light with light", "Patches look at patches, in early layers by how they look"),
            stop("Sky and ground", "Patches alike in the residual stream, without any attention"),
            stop("Left or right", "A written relation needs more than one thing"),
            stop("Why “green”", "Relevance instead of weights: which patches does a word depend on?"),
        ],
    },
    Part {
        title: "Queries and keys in one space",
        stops: &[
            stop("Queries and keys", "A score is a product of two vectors, which can be drawn as two points"),
            stop("Near, in some heads", "A picture of points is as good as distance is in place of the product"),
        ],
    },
];
