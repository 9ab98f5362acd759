//! Scores of a head, one for each known kind.
//!
//! A detector looks at patterns alone. It says what a head attends to, not what the model uses it for.

mod definition;
mod frequency;
mod image;
mod kinds;
mod sentences;
mod text;

use std::fmt;

use crate::{
    analysis::attention,
    analysis::explain::report::{LabQuestion, MethodSpec},
    capture::{Capture, ImageInfo, Matrix},
    ids::{HeadId, StackKind},
};

pub use definition::{Definition, Detector};
pub use frequency::{KeyCounts, TokenCounts, on_rarest};
pub use kinds::{HeadKinds, KindRanking, kinds};

use image::Patches;
pub use text::{KnownToken, TokenFacts, known_token, largest_offset};

/// What `attnscope analyze heads` says of itself: it scores heads instead of explaining an output.
pub const METHOD: MethodSpec = MethodSpec {
    name: "heads",
    title: "Kinds of heads",
    question: LabQuestion::Moves,
    about: "Score every head for known kinds: previous token, induction, distance between patches, …",
    example: "--model demo:gpt",
    caveat: "The scores show what a head attends to, not what the model uses it for.",
    formula: "mean over queries of the weight on the keys that the detector looks for",
    source: "Clark et al. 2019; Voita et al. 2019; Olsson et al. 2022",
    values: &[],
    ..MethodSpec::EMPTY
};

/// Why a detector has no score for a head: there is nothing that it could have attended to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Undefined {
    /// There is no pattern.
    NotRecorded,
    /// Queries and keys are tokens of different sequences.
    OtherSequence,
    /// Patches of a picture do not follow each other.
    NoOrder,
    /// The tokens are no patches, or the picture is not there.
    NoPatches,
    /// A causal head sees no token after its query.
    Causal,
    /// The text is shorter than the detector needs.
    TooShort,
    /// No token comes twice.
    NoRepetition,
    /// There is no full stop or comma.
    NoPunctuation,
    /// There is no special token.
    NoSpecial,
    /// The picture has no colour, or the same everywhere.
    NoVariation,
    /// Rows are incomplete, or no distribution.
    NoShares,
    /// There is no softmax.
    NoDistribution,
    /// The rows of some queries alone were kept.
    SomeQueries,
    /// The head has no learned sink.
    NoSink,
    /// Queries and keys are tokens of the same sequence.
    OneSequence,
    /// The tokens are patches of a picture.
    NoVocabulary,
    /// A query sees tokens after itself.
    NotCausal,
    /// The text has fewer sentences than the detector needs.
    FewSentences,
    /// The tokens of the corpus were not counted.
    NotCounted,
    /// All tokens that are seen are equally frequent.
    EquallyFrequent,
}

impl fmt::Display for Undefined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotRecorded => "the attention was not recorded",
            Self::SomeQueries => "it is not defined for some queries",
            Self::OtherSequence => "queries and keys are tokens of different sequences",
            Self::NoOrder => "patches of a picture have no order",
            Self::NoPatches => "there is no picture",
            Self::Causal => "a causal head sees no token after its query",
            Self::TooShort => "the text is too short",
            Self::NoRepetition => "no token comes twice",
            Self::NoPunctuation => "there is no full stop or comma",
            Self::NoSpecial => "there is no special token",
            Self::NoVariation => "the picture does not vary in it",
            Self::NoShares => "rows of weights do not sum to 1",
            Self::NoDistribution => "its pattern is effective, signed and not a distribution",
            Self::NoSink => "there is no learned sink",
            Self::OneSequence => "queries and keys are tokens of the same sequence",
            Self::NotCounted => "how often tokens are was not counted over a corpus",
            Self::EquallyFrequent => "its tokens are equally frequent in the corpus",
            Self::NoVocabulary => "patches of a picture are no tokens of a vocabulary",
            Self::NotCausal => "queries see tokens after themselves",
            Self::FewSentences => "the text has fewer than eight sentences",
        })
    }
}

/// Mean distance in pixels of the model's picture between the patches of a pattern of `stack` (see
/// [`Detector::Distance`]); `None` where its tokens are no patches.
pub fn patch_distance(capture: &Capture, stack: StackKind, pattern: &Matrix) -> Option<f32> {
    Patches::without_colours(picture_of(capture, stack)?).distance(pattern)
}

/// The picture whose patches a stack attends between.
fn picture_of(capture: &Capture, stack: StackKind) -> Option<&ImageInfo> {
    capture.image().filter(|_| capture.picture_side() == Some(stack.query_side()))
}

/// One stack of a capture, with what the scores of all its heads share worked out once.
pub struct Probe<'a> {
    capture: &'a Capture,
    facts: StackFacts,
}

/// What the scores of all heads of a stack share of one input.
pub struct StackFacts {
    stack: StackKind,
    tokens: TokenFacts,
    /// Whether a query sees no token after itself.
    causal: bool,
    /// `None` when the tokens are no patches.
    patches: Option<Patches>,
}

impl<'a> Probe<'a> {
    /// Looks at a stack of a capture.
    pub fn new(capture: &'a Capture, stack: StackKind) -> Self {
        let causal = !stack.is_between() && capture.model().stack(stack).is_some_and(|spec| spec.causal);
        let tokens = TokenFacts::new(capture.query_tokens(stack), capture.key_tokens(stack), causal);
        Self { capture, facts: StackFacts::new(stack, tokens, causal, picture_of(capture, stack)) }
    }

    /// What all heads share.
    pub fn into_facts(self) -> StackFacts {
        self.facts
    }

    /// Whether the stack has what a detector looks at.
    ///
    /// # Errors
    /// What is missing.
    pub fn check(&self, detector: Detector) -> Result<(), Undefined> {
        self.facts.check(detector)
    }

    /// The score of a pattern `[query, key]` of the stack.
    ///
    /// # Errors
    /// As [`Self::score`].
    pub fn score_of(&self, detector: Detector, pattern: &Matrix) -> Result<f32, Undefined> {
        self.facts.score_of(detector, pattern)
    }

    /// The score of one head.
    ///
    /// # Errors
    /// Why the detector has nothing to say about such a head or input.
    pub fn score(&self, detector: Detector, layer: usize, head: usize) -> Result<f32, Undefined> {
        let id = HeadId { stack: self.facts.stack, layer, head };
        if self.capture.model().is_effective(id) {
            return Err(Undefined::NoDistribution);
        }
        self.score_of(detector, &attention::pattern(self.capture, id).ok_or(Undefined::NotRecorded)?)
    }
}

impl StackFacts {
    /// Of a stack whose queries are patches of `image`, where one is given.
    pub fn new(stack: StackKind, tokens: TokenFacts, causal: bool, image: Option<&ImageInfo>) -> Self {
        Self { stack, tokens, causal, patches: image.map(Patches::of) }
    }

    /// The stack.
    pub const fn stack(&self) -> StackKind {
        self.stack
    }

    /// Whether its queries are patches of a picture.
    pub const fn is_of_patches(&self) -> bool {
        self.patches.is_some()
    }

    /// The tokens as detectors see them.
    pub const fn tokens(&self) -> &TokenFacts {
        &self.tokens
    }

    /// Whether the stack has what a detector looks at: an order of tokens, patches, tokens of the kind.
    ///
    /// # Errors
    /// What is missing.
    pub fn check(&self, detector: Detector) -> Result<(), Undefined> {
        let there = |is_there: bool, nothing: Undefined| if is_there { Ok(()) } else { Err(nothing) };
        match detector {
            _ if self.stack == StackKind::Chosen => Err(Undefined::SomeQueries),
            Detector::First | Detector::Content | Detector::Confidence => Ok(()),
            Detector::Special => there(self.tokens.has_special(), Undefined::NoSpecial),
            _ if self.stack.is_between() => Err(Undefined::OtherSequence),
            Detector::Distance | Detector::Hue | Detector::Brightness => {
                there(self.patches.is_some(), Undefined::NoPatches)
            }
            _ if self.patches.is_some() => Err(Undefined::NoOrder),
            Detector::Next => there(!self.causal, Undefined::Causal),
            Detector::Receiver if !self.causal => Err(Undefined::NotCausal),
            Detector::Receiver => there(self.tokens.sentences().are_enough(), Undefined::FewSentences),
            Detector::Punctuation => there(!self.tokens.punctuation().is_empty(), Undefined::NoPunctuation),
            Detector::Previous
            | Detector::Itself
            | Detector::Positional
            | Detector::Duplicate
            | Detector::Induction => Ok(()),
        }
    }

    /// The score of a pattern `[query, key]` of the stack.
    ///
    /// # Errors
    /// As [`Probe::score`].
    pub fn score_of(&self, detector: Detector, pattern: &Matrix) -> Result<f32, Undefined> {
        self.check(detector)?;
        match detector {
            Detector::Distance | Detector::Hue | Detector::Brightness => self.of_patches(detector, pattern),
            Detector::Positional => self.tokens.positional(pattern).map(|share| share as f32),
            Detector::Receiver => self.tokens.sentences().kurtosis(pattern).map(|kurtosis| kurtosis as f32),
            _ => self.tokens.mean(detector, pattern).map(|mean| mean as f32),
        }
        .ok_or(detector.nothing())
    }

    /// The score of a pattern by a detector of patches; `None` of any other, and where there is nothing to tell.
    pub fn of_patches(&self, detector: Detector, pattern: &Matrix) -> Option<f32> {
        let patches = self.patches.as_ref()?;
        match detector {
            Detector::Distance => patches.distance(pattern),
            Detector::Hue => patches.hue(pattern),
            Detector::Brightness => patches.brightness(pattern),
            _ => None,
        }
    }
}

/// The scores of every head of a stack by every detector, by layer then head: means over the captures
/// that have one.
pub fn stack_scores(captures: &[Capture], stack: StackKind) -> Vec<(Detector, Vec<Vec<Option<f32>>>)> {
    let Some(spec) = captures.first().and_then(|capture| capture.model().stack(stack)) else { return Vec::new() };
    let probes: Vec<_> = captures.iter().map(|capture| Probe::new(capture, stack)).collect();
    let mean = |detector, layer, head| {
        let scores: Vec<f32> = probes.iter().filter_map(|probe| probe.score(detector, layer, head).ok()).collect();
        (!scores.is_empty()).then(|| scores.iter().sum::<f32>() / scores.len() as f32)
    };
    let by = |detector: Detector| {
        let layers = spec.layers.iter().enumerate();
        layers.map(|(layer, shape)| (0..shape.n_heads).map(|head| mean(detector, layer, head)).collect()).collect()
    };
    Detector::ALL.into_iter().map(|detector| (detector, by(detector))).collect()
}
