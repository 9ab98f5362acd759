//! What makes scores weights: the normalisers side by side for one query of a head.

use std::sync::Arc;

use emath::{Pos2, Rect};

use super::{joined, parts::OfParts};
use crate::{
    analysis::simplex::{Rule, ScoreRow, Spread},
    capture::{Capture, words},
    figure::{page::Captions, pen::Pen},
};

mod draw;
pub mod layout;
mod options;
mod spec;

pub use options::SimplexOptions;
pub use spec::SPEC;

use layout::{Part, Triangle};

/// Scores before and after the scale, and the scale.
pub type Spreads = ([Spread; 2], f32);

/// One query with the weights that each normaliser gives its keys.
#[derive(Clone, Debug)]
pub struct SimplexScene {
    pub row: Arc<ScoreRow>,
    pub spreads: Option<Arc<Spreads>>,
    pub query: String,
    /// How many queries the head has.
    pub n_queries: usize,
    /// Text of each key.
    pub keys: Vec<String>,
    pub options: SimplexOptions,
    /// Scores of the three keys in place of their own.
    pub moved: Option<[f64; 3]>,
    pub jacobian: Block,
}

/// A part of a Jacobian: `[weight, score]` of some keys.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Block {
    pub keys: Vec<usize>,
    pub values: Vec<Vec<f64>>,
}

impl SimplexScene {
    /// The weights of a row, with the names of its tokens.
    pub fn new(
        capture: &Capture,
        row: Arc<ScoreRow>,
        spreads: Option<Arc<Spreads>>,
        options: SimplexOptions,
        moved: Option<[f64; 3]>,
    ) -> Self {
        let stack = row.head.stack;
        let tokens = capture.key_tokens(stack);
        let keys = row.strongest(draw::N_KEYS);
        let of_row = |weight: &usize| {
            let changes = options.jacobian.jacobian(&row.scores, options.alpha, *weight);
            keys.iter().map(|key| changes[*key]).collect()
        };
        let values = keys.iter().map(of_row).collect();
        Self {
            n_queries: capture.query_tokens(stack).len(),
            query: words::token_text(capture.query_tokens(stack), row.query),
            keys: (0..tokens.len()).map(|key| words::token_text(tokens, key)).collect(),
            jacobian: Block { keys, values },
            row,
            spreads,
            options,
            moved,
        }
    }

    /// A key by its text.
    pub fn key_name(&self, key: usize) -> &str {
        self.keys.get(key).map_or("", |name| words::bare(name))
    }

    /// The scores of the three keys.
    pub fn three(&self) -> Option<[f64; 3]> {
        self.moved.or_else(|| self.row.three())
    }

    fn weights(&self, rule: Rule, scores: &[f64]) -> Vec<f64> {
        rule.weights(scores, self.options.alpha)
    }

    /// The weights of three keys among themselves.
    pub fn of_three(&self, rule: Rule, scores: [f64; 3]) -> [f64; 3] {
        let weights = self.weights(rule, &scores);
        [0, 1, 2].map(|key| weights[key])
    }

    /// Where a rule puts the three keys in the area of the scene; `None` where there is no such point.
    pub fn mark(&self, area: Rect, rule: Rule) -> Option<Pos2> {
        let triangle = Triangle::of(layout::part(area, Part::Simplex));
        let weights = self.of_three(rule, self.three()?);
        (rule != Rule::Sigmoid).then(|| triangle.at(weights))
    }
}

impl OfParts for SimplexScene {
    type Part = Part;

    fn parts(&self) -> Vec<Part> {
        Part::ALL.to_vec()
    }

    fn draw_part(&self, part: Part, rect: Rect, pen: &mut Pen<'_>) {
        self.draw_one(part, rect, pen);
    }

    fn said(&self) -> Captions {
        let what = format!(
            "Scores of “{}” in {}, and the weights of {} normalisers",
            words::bare(&self.query),
            self.row.head,
            Rule::ALL.len()
        );
        let how = "The lines are τ / (α − 1): keys above have a weight. Sigmoid weighs every key by itself";
        Captions { short: what.clone(), full: joined([what.as_str(), how]) }
    }
}
