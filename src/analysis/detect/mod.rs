//! Scores of a head, one for each known kind.
//!
//! A detector looks at patterns alone. It says what a head attends to, not what the model uses it for.

mod cross;
mod definition;
mod frequency;
mod image;
mod kinds;
mod sentences;
mod text;

use std::{collections::BTreeMap, fmt};

use crate::{
    analysis::attention,
    analysis::explain::report::{LabQuestion, MethodSpec},
    capture::{Capture, ImageInfo, Matrix, Token},
    ids::{HeadId, StackKind},
};

pub use definition::{Definition, Detector};
pub use frequency::{KeyCounts, TokenCounts, on_rarest};
pub use kinds::{HeadKinds, KindRanking, kinds};

use cross::LinkedTokens;
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
    /// It is no attention of a decoder to what was read.
    NotCross,
    /// No token of one text stands in the other one.
    NoCopy,
    /// No token of one text goes with one of the other over the corpus.
    NoPartner,
    /// Regions of a picture lie anywhere.
    NoRows,
    /// There is no token between the class token and the patches.
    NoRegisters,
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
            Self::NotCross => "it is no attention of a decoder to what was read",
            Self::NoCopy => "no token stands in both texts",
            Self::NoPartner => "no tokens of the two texts go together over the corpus",
            Self::NoRows => "regions of a picture have no rows and columns",
            Self::NoRegisters => "there is no register before the patches",
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

/// Queries and keys.
type Texts<'a> = (&'a [KnownToken<'a>], &'a [KnownToken<'a>]);

/// What the scores of all heads of a stack share of one input.
pub struct StackFacts {
    stack: StackKind,
    tokens: TokenFacts,
    /// Whether a query sees no token after itself.
    causal: bool,
    /// `None` when the tokens are no patches.
    patches: Option<Patches>,
    links: Links,
    /// By detector of some keys and query: the keys that it looks for.
    targets: BTreeMap<Detector, Vec<Vec<usize>>>,
}

/// What is known of the tokens of two sequences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Links {
    /// There are no two sequences, or one is a picture.
    No,
    /// Which have the same text.
    Copies,
    /// Also which go together over a corpus.
    Counted,
}

impl<'a> Probe<'a> {
    /// Looks at a stack of a capture.
    pub fn new(capture: &'a Capture, stack: StackKind) -> Self {
        Self::over(capture, stack, None)
    }

    /// Looks at a stack of a capture of a corpus in which tokens were counted, where they were.
    pub fn over(capture: &'a Capture, stack: StackKind, counts: Option<&TokenCounts>) -> Self {
        let causal = !stack.is_between() && capture.model().stack(stack).is_some_and(|spec| spec.causal);
        let known = |tokens: &'a [Token]| tokens.iter().map(known_token).collect::<Vec<_>>();
        let texts = (&*known(capture.query_tokens(stack)), &*known(capture.key_tokens(stack)));
        let tokens = TokenFacts::of(texts.0, texts.1, causal);
        let facts = StackFacts::new(stack, tokens, causal, picture_of(capture, stack));
        let sees = capture.picture_side().is_some_and(|side| [stack.query_side(), stack.key_side()].contains(&side));
        Self { capture, facts: if sees { facts } else { facts.linked(texts, counts) } }
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
        let patches = image.map(Patches::of);
        let facts = Self { stack, tokens, causal, patches, links: Links::No, targets: BTreeMap::new() };
        let of_patches = |detector, query| facts.patches.as_ref().and_then(|patches| patches.targets(detector, query));
        let targets = facts.all_targets(&of_patches);
        Self { targets, ..facts }
    }

    /// The same of two texts, where the stack is between two: with what goes together over a corpus, where that was counted.
    #[must_use]
    pub fn linked(self, (queries, keys): Texts<'_>, counts: Option<&TokenCounts>) -> Self {
        if !self.stack.is_cross() {
            return self;
        }
        let translations = counts.map(|counts| counts.translations(queries, keys));
        let links = if counts.is_some() { Links::Counted } else { Links::Copies };
        let of = LinkedTokens::of(queries, keys, translations);
        let targets = self.all_targets(&|detector, query| of.targets(detector, query));
        Self { links, targets, ..self }
    }

    /// What detectors of some keys look for behind every query.
    fn all_targets(&self, of: &dyn Fn(Detector, usize) -> Option<Vec<usize>>) -> BTreeMap<Detector, Vec<Vec<usize>>> {
        let all = |detector: Detector| {
            let of_query = |query| of(detector, query).unwrap_or_default();
            (detector, (0..self.tokens.n_queries()).map(of_query).collect())
        };
        Detector::ALL.into_iter().filter(|detector| detector.is_of_keys()).map(all).collect()
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
            Detector::Last
            | Detector::Monotone
            | Detector::Copied
            | Detector::CopiedNext
            | Detector::Translated
            | Detector::TranslatedNext => self.check_links(detector),
            Detector::Punctuation if self.patches.is_none() => {
                there(!self.tokens.punctuation().is_empty(), Undefined::NoPunctuation)
            }
            _ if self.stack.is_between() => Err(Undefined::OtherSequence),
            Detector::Distance
            | Detector::Hue
            | Detector::Brightness
            | Detector::Neighbours
            | Detector::Step
            | Detector::Row
            | Detector::Column
            | Detector::Alike
            | Detector::Common
            | Detector::Registers => self.check_patches(detector),
            Detector::Itself => Ok(()),
            _ if self.patches.is_some() => Err(Undefined::NoOrder),
            Detector::Next => there(!self.causal, Undefined::Causal),
            Detector::Receiver if !self.causal => Err(Undefined::NotCausal),
            Detector::Receiver => there(self.tokens.sentences().are_enough(), Undefined::FewSentences),
            Detector::Previous
            | Detector::Positional
            | Detector::Duplicate
            | Detector::Induction
            | Detector::Punctuation => Ok(()),
        }
    }

    /// [`Self::check`] of what looks from one sequence to another.
    fn check_links(&self, detector: Detector) -> Result<(), Undefined> {
        if !self.stack.is_between() {
            return Err(Undefined::OneSequence);
        }
        if !self.stack.is_cross() {
            return Err(Undefined::NotCross);
        }
        match (self.links, detector) {
            (Links::No, Detector::Last | Detector::Monotone) => Err(Undefined::NoOrder),
            (Links::No, _) => Err(Undefined::NoVocabulary),
            (Links::Copies, Detector::Translated | Detector::TranslatedNext) => Err(Undefined::NotCounted),
            (Links::Copies | Links::Counted, _) => Ok(()),
        }
    }

    /// [`Self::check`] of what looks between patches.
    fn check_patches(&self, detector: Detector) -> Result<(), Undefined> {
        let patches = self.patches.as_ref().ok_or(Undefined::NoPatches)?;
        match detector {
            Detector::Distance | Detector::Hue | Detector::Brightness | Detector::Common => Ok(()),
            Detector::Registers if patches.has_registers() => Ok(()),
            Detector::Registers => Err(Undefined::NoRegisters),
            _ if patches.are_in_rows() => Ok(()),
            _ => Err(Undefined::NoRows),
        }
    }

    /// The score of a pattern `[query, key]` of the stack.
    ///
    /// # Errors
    /// As [`Probe::score`].
    pub fn score_of(&self, detector: Detector, pattern: &Matrix) -> Result<f32, Undefined> {
        self.check(detector)?;
        if detector.is_of_whole() {
            return self.of_whole(detector, pattern).map(|score| score as f32).ok_or(detector.nothing());
        }
        let rows = pattern.rows().enumerate().filter_map(|(query, row)| self.of_row(detector, query, row));
        let (sum, n) = rows.fold((0.0, 0usize), |(sum, n), score| (sum + score, n + 1));
        if n > 0 { Ok((sum / n as f64) as f32) } else { Err(detector.nothing()) }
    }

    /// The score of one row of a pattern, `[key]`; `None` where the row does not qualify, and of detectors that look at
    /// whole patterns.
    pub fn of_row(&self, detector: Detector, query: usize, row: &[f32]) -> Option<f64> {
        if !detector.is_of_keys() {
            return self.tokens.of_row(detector, query, row);
        }
        let targets = self.targets(detector, query)?;
        Some(targets.iter().filter_map(|key| row.get(*key)).map(|weight| f64::from(*weight)).sum())
    }

    /// The keys that a detector of some keys looks for behind a query; `None` of any other, and where there is no such key.
    pub fn targets(&self, detector: Detector, query: usize) -> Option<&[usize]> {
        self.targets.get(&detector)?.get(query).map(Vec::as_slice).filter(|keys| !keys.is_empty())
    }

    /// The score of a detector that looks at whole patterns `[query, key]`; `None` of any other, and where there is nothing
    /// to tell.
    pub fn of_whole(&self, detector: Detector, pattern: &Matrix) -> Option<f64> {
        match detector {
            Detector::Positional => self.tokens.positional(pattern),
            Detector::Receiver => self.tokens.sentences().kurtosis(pattern),
            Detector::Monotone => cross::monotone(pattern),
            _ => self.of_patches(detector, pattern).map(f64::from),
        }
    }

    fn of_patches(&self, detector: Detector, pattern: &Matrix) -> Option<f32> {
        let patches = self.patches.as_ref()?;
        match detector {
            Detector::Distance => patches.distance(pattern),
            Detector::Hue => patches.hue(pattern),
            Detector::Brightness => patches.brightness(pattern),
            Detector::Step => patches.step(pattern),
            Detector::Alike => patches.alike(pattern),
            Detector::Common => patches.common(pattern).map(|(weight, _)| weight),
            _ => None,
        }
    }

    /// The weight on patches that all queries look at, and the share of the keys that they are.
    pub fn common(&self, pattern: &Matrix) -> Option<(f32, f32)> {
        self.patches.as_ref()?.common(pattern)
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
