//! What a head does, as one number for each thing that heads are known to do.
//!
//! A detector looks at patterns alone. It says what a head attends to, not what the model uses it for.

mod image;
mod text;

use crate::{
    analysis::attention,
    capture::{Capture, Matrix, Token},
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

    /// The score of one head, `None` where the detector has nothing to say about such a head or input.
    pub fn score(self, capture: &Capture, head: HeadId) -> Option<f32> {
        let pattern = attention::pattern(capture, head)?;
        let causal = capture.model().stack(head.stack)?.causal;
        let (queries, keys) = (capture.query_tokens(head.stack), capture.key_tokens(head.stack));
        let own = head.stack.query_side() == head.stack.key_side();
        match self {
            Self::First => text::on(&pattern, usize::from(causal && own).., |key| key == 0),
            Self::Special if keys.iter().any(|key| key.special) => text::on(&pattern, 0.., |key| keys[key].special),
            Self::Special => None,
            Self::Confidence => text::confidence(&pattern, queries, keys),
            _ if !own => None,
            Self::Distance | Self::Hue | Self::Brightness => {
                let patches = Patches::of(capture, head.stack)?;
                self.of_patches(&patches, &pattern)
            }
            _ if Patches::of(capture, head.stack).is_some() => None,
            _ => self.of_text(&pattern, queries, causal),
        }
    }

    fn of_text(self, pattern: &Matrix, tokens: &[Token], causal: bool) -> Option<f32> {
        match self {
            Self::Previous => text::diagonal(pattern, -1),
            Self::Next if causal => None,
            Self::Next => text::diagonal(pattern, 1),
            Self::Itself => text::itself(pattern, usize::from(causal)),
            Self::Duplicate => text::copies(pattern, tokens, 0),
            Self::Induction => text::copies(pattern, tokens, 1),
            Self::Punctuation => {
                let is_mark = |key: usize| matches!(tokens[key].text.trim_start_matches(['␣', '▁', '#']), "." | ",");
                (0..tokens.len()).any(is_mark).then(|| text::on(pattern, 0.., is_mark))?
            }
            _ => None,
        }
    }

    fn of_patches(self, patches: &Patches, pattern: &Matrix) -> Option<f32> {
        match self {
            Self::Distance => patches.distance(pattern),
            Self::Hue => patches.hue(pattern),
            Self::Brightness => patches.brightness(pattern),
            _ => None,
        }
    }
}

/// The scores of every head of a stack, by layer then head: means over the captures that have one.
pub fn stack_scores(captures: &[Capture], stack: StackKind, detector: Detector) -> Vec<Vec<Option<f32>>> {
    let Some(spec) = captures.first().and_then(|capture| capture.model().stack(stack)) else { return Vec::new() };
    let mean = |head: HeadId| {
        let scores: Vec<f32> = captures.iter().filter_map(|capture| detector.score(capture, head)).collect();
        (!scores.is_empty()).then(|| scores.iter().sum::<f32>() / scores.len() as f32)
    };
    let layers = spec.layers.iter().enumerate();
    layers.map(|(layer, shape)| (0..shape.n_heads).map(|head| mean(HeadId { stack, layer, head })).collect()).collect()
}
