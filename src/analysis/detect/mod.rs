//! What a head does, as one number for each thing that heads are known to do.
//!
//! A detector looks at patterns alone. It says what a head attends to, not what the model uses it for.

mod image;
mod text;

use crate::{
    analysis::attention,
    capture::{Capture, Matrix, words},
    ids::{HeadId, StackKind},
};

use image::Patches;

/// Something that heads are known to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Detector {
    /// Weight on the token before, the mean over all queries that have one.
    Previous,
    /// Weight on the token after, the mean over all queries that see one.
    Next,
    /// Weight on the query's own position; the first query of a causal head has no choice and is left out.
    Itself,
    /// Weight on the first key; the first query of a causal head is left out.
    First,
    /// Weight on earlier copies of the query's token, the mean over the queries that have one.
    Duplicate,
    /// Weight on the tokens that followed earlier copies of the query's token, the mean over the queries
    /// that have one: prefix matching (Olsson et al. 2022).
    Induction,
    /// Weight on full stops and commas (Clark et al. 2019).
    Punctuation,
    /// Weight on special tokens.
    Special,
    /// The largest weight of each query, special tokens left out on both sides: confidence (Voita et al. 2019).
    Confidence,
    /// Mean distance between patches in pixels of the model's picture, weights on other tokens left out
    /// (Dosovitskiy et al. 2021).
    Distance,
    /// How much nearer in hue than chance are patches that attend to each other, weighted by saturation.
    Hue,
    /// How the brightness of patches that attend to each other goes together: a weighted correlation.
    Brightness,
}

impl Detector {
    /// Every detector.
    pub const ALL: [Self; 12] = [
        Self::Previous,
        Self::Next,
        Self::Itself,
        Self::First,
        Self::Duplicate,
        Self::Induction,
        Self::Punctuation,
        Self::Special,
        Self::Confidence,
        Self::Distance,
        Self::Hue,
        Self::Brightness,
    ];

    /// The name used in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Previous => "previous",
            Self::Next => "next",
            Self::Itself => "itself",
            Self::First => "first",
            Self::Duplicate => "duplicate",
            Self::Induction => "induction",
            Self::Punctuation => "punctuation",
            Self::Special => "special",
            Self::Confidence => "confidence",
            Self::Distance => "distance",
            Self::Hue => "hue",
            Self::Brightness => "brightness",
        }
    }
}

/// Mean distance in pixels of the model's picture between the patches of a pattern of `stack` (see
/// [`Detector::Distance`]); `None` where its tokens are no patches.
pub fn patch_distance(capture: &Capture, stack: StackKind, pattern: &Matrix) -> Option<f32> {
    Patches::without_colours(capture, stack)?.distance(pattern)
}

/// One stack of a capture, with what the scores of all its heads share worked out once.
pub struct Probe<'a> {
    capture: &'a Capture,
    stack: StackKind,
    /// `None` when the tokens are no patches.
    patches: Option<Patches>,
}

impl<'a> Probe<'a> {
    /// Looks at a stack of a capture.
    pub fn new(capture: &'a Capture, stack: StackKind) -> Self {
        Self { capture, stack, patches: Patches::of(capture, stack) }
    }

    /// The score of one head, `None` where the detector has nothing to say about such a head or input.
    pub fn score(&self, detector: Detector, layer: usize, head: usize) -> Option<f32> {
        let stack = self.stack;
        let pattern = attention::pattern(self.capture, HeadId { stack, layer, head })?;
        let (queries, keys) = (self.capture.query_tokens(stack), self.capture.key_tokens(stack));
        let own = stack.query_side() == stack.key_side();
        let causal = own && self.capture.model().stack(stack)?.causal;
        match (detector, &self.patches) {
            (Detector::First, _) => text::on(&pattern, usize::from(causal).., |key| key == 0),
            (Detector::Special, _) => {
                let special = |key: usize| keys[key].special;
                (0..keys.len()).any(special).then(|| text::on(&pattern, 0.., special))?
            }
            (Detector::Confidence, _) => text::confidence(&pattern, queries, keys),
            _ if !own => None,
            (Detector::Distance, Some(patches)) => patches.distance(&pattern),
            (Detector::Hue, Some(patches)) => patches.hue(&pattern),
            (Detector::Brightness, Some(patches)) => patches.brightness(&pattern),
            // What follows is about an order that patches do not have.
            (_, Some(_)) | (Detector::Distance | Detector::Hue | Detector::Brightness, None) => None,
            (Detector::Previous, None) => text::diagonal(&pattern, -1),
            (Detector::Next, None) if causal => None,
            (Detector::Next, None) => text::diagonal(&pattern, 1),
            (Detector::Itself, None) => text::itself(&pattern, usize::from(causal)),
            (Detector::Duplicate, None) => text::copies(&pattern, queries, 0),
            (Detector::Induction, None) => text::copies(&pattern, queries, 1),
            (Detector::Punctuation, None) => {
                let is_mark = |key: usize| matches!(words::bare(&keys[key].text), "." | ",");
                (0..keys.len()).any(is_mark).then(|| text::on(&pattern, 0.., is_mark))?
            }
        }
    }
}

/// The scores of every head of a stack by every detector, by layer then head: means over the captures
/// that have one.
pub fn stack_scores(captures: &[Capture], stack: StackKind) -> Vec<(Detector, Vec<Vec<Option<f32>>>)> {
    let Some(spec) = captures.first().and_then(|capture| capture.model().stack(stack)) else { return Vec::new() };
    let probes: Vec<_> = captures.iter().map(|capture| Probe::new(capture, stack)).collect();
    let mean = |detector, layer, head| {
        let scores: Vec<f32> = probes.iter().filter_map(|probe| probe.score(detector, layer, head)).collect();
        (!scores.is_empty()).then(|| scores.iter().sum::<f32>() / scores.len() as f32)
    };
    let by = |detector: Detector| {
        let layers = spec.layers.iter().enumerate();
        layers.map(|(layer, shape)| (0..shape.n_heads).map(|head| mean(detector, layer, head)).collect()).collect()
    };
    Detector::ALL.into_iter().map(|detector| (detector, by(detector))).collect()
}
