//! What makes scores weights: the rules side by side, of three keys, of two, of a whole row, and their Jacobians.
//!
//! Three weights that sum to 1 are a point of a triangle with the corners (0, 0), (1, 0) and (½, √3/2). A sigmoid weighs
//! every key by itself: its weights are no such point.

use serde::{Deserialize, Serialize};

use super::{
    attention::{self, ScoreStep},
    explain::normalizers,
};
use crate::{
    capture::{Capture, Edit, Normalize, Normalizer, Scope, SigmoidBias, changes::TopK},
    ids::HeadId,
};

/// λ of fusedmax.
const LAMBDA: f32 = 0.1;
/// Keys that keep a weight in top-k.
const TOP: usize = 2;
/// Pairs over which a spread is told; of longer texts evenly spaced queries.
const MOST_PAIRS: usize = 1 << 18;
/// The least weight of a corner that is read from a point: its logarithm is a score.
const LEAST: f64 = 1e-3;
/// Height of the triangle.
pub const HEIGHT: f64 = 0.866_025_403_784_438_6;

/// From a row of scores to a row of weights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    #[default]
    Softmax,
    Sparsemax,
    Entmax,
    Fusedmax,
    Argmax,
    Top,
    /// Each score by itself.
    Sigmoid,
}

vocabulary! {
    Rule: name, title;
    Softmax("softmax", "Softmax"),
    Sparsemax("sparsemax", "Sparsemax"),
    Entmax("entmax", "α-entmax"),
    Fusedmax("fusedmax", "Fusedmax, λ = 0.1"),
    Argmax("argmax", "Argmax"),
    Top("top", "Top-2"),
    Sigmoid("sigmoid", "Sigmoid"),
}

impl Rule {
    /// The normaliser; `None` where the rule is softmax of fewer keys. `alpha` is that of α-entmax.
    fn normalizer(self, alpha: f64) -> Option<Normalizer> {
        match self {
            Self::Softmax => Some(Normalizer::Softmax),
            Self::Sparsemax => Some(Normalizer::Sparsemax),
            Self::Entmax => Some(Normalizer::Entmax(alpha as f32)),
            Self::Fusedmax => Some(Normalizer::Fusedmax(LAMBDA)),
            Self::Argmax => Some(Normalizer::Argmax),
            Self::Top => None,
            Self::Sigmoid => Some(Normalizer::Sigmoid(SigmoidBias::Zero)),
        }
    }

    /// The run with this rule in a head.
    pub fn edit(self, alpha: f64, head: HeadId) -> Edit {
        let scope = Scope::Heads(vec![head]);
        match self.normalizer(alpha) {
            Some(with) => Normalize { with, scope }.into(),
            None => TopK { k: TOP, renormalize: true, stack: head.stack, scope }.into(),
        }
    }

    /// The weights of scores; hidden keys have the score -∞ and the weight 0.
    pub fn weights(self, scores: &[f64], alpha: f64) -> Vec<f64> {
        match self.normalizer(alpha) {
            // None of them draws, so that the place of the row does not matter.
            Some(normalizer) => normalizers::weights(normalizer, (HeadId::default(), 0), scores),
            None => normalizers::softmax(&largest(scores)),
        }
    }

    /// `[key]`: how much the weight of the key `at` changes with each score, a row of the Jacobian.
    pub fn jacobian(self, scores: &[f64], alpha: f64, at: usize) -> Vec<f64> {
        let unit: Vec<f64> = (0..scores.len()).map(|key| f64::from(u8::from(key == at))).collect();
        match self.normalizer(alpha) {
            Some(normalizer) => normalizers::gradient(normalizer, scores, &unit),
            None => normalizers::gradient(Normalizer::Softmax, &largest(scores), &unit),
        }
    }

    /// The score above which a key has a weight, `τ / (α - 1)`; `None` where there is no such line.
    pub fn threshold(self, scores: &[f64], alpha: f64) -> Option<f64> {
        let power = match self {
            Self::Sparsemax => 1.0,
            Self::Entmax if alpha > 1.0 => alpha - 1.0,
            Self::Softmax | Self::Entmax | Self::Fusedmax | Self::Argmax | Self::Top | Self::Sigmoid => return None,
        };
        let weights = self.weights(scores, alpha);
        let (score, weight) = scores.iter().zip(weights).max_by(|a, b| a.0.total_cmp(b.0))?;
        score.is_finite().then(|| score - weight.powf(power) / power)
    }
}

/// The scores of the [`TOP`] largest, the first of equals; all others are hidden.
fn largest(scores: &[f64]) -> Vec<f64> {
    let kept = ranked(scores, TOP);
    (0..scores.len()).map(|key| if kept.contains(&key) { scores[key] } else { f64::NEG_INFINITY }).collect()
}

/// The places of the `n` largest values, the largest first.
fn ranked(values: &[f64], n: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*b].total_cmp(&values[*a]).then(a.cmp(b)));
    order.truncate(n);
    order
}

/// The point of the triangle, of weights that need not sum to 1.
pub fn point([_, b, c]: [f64; 3]) -> [f64; 2] {
    [b + c / 2.0, c * HEIGHT]
}

/// The scores whose softmax is a point: the logarithms of its weights, inside the triangle.
pub fn scores_at([x, y]: [f64; 2]) -> [f64; 3] {
    let c = y / HEIGHT;
    let b = x - c / 2.0;
    let weights = [1.0 - b - c, b, c].map(|weight| weight.max(LEAST));
    let sum: f64 = weights.iter().sum();
    weights.map(|weight| (weight / sum).ln())
}

/// The scores of a query, and three of its keys.
#[derive(Clone, Debug, PartialEq)]
pub struct ScoreRow {
    pub head: HeadId,
    pub query: usize,
    /// The strongest three, one that is held first; fewer where the query sees fewer.
    pub keys: Vec<usize>,
    /// `[key]`, hidden keys with -∞.
    pub scores: Vec<f64>,
    /// `[key]`: the row of the pattern.
    pub weights: Vec<f64>,
}

impl ScoreRow {
    /// The row of a query; `None` where neither its scores nor what they are made of was recorded.
    pub fn of(capture: &Capture, head: HeadId, query: usize, held: Option<usize>) -> Option<Self> {
        let wide = |row: &[f32]| -> Vec<f64> { row.iter().copied().map(f64::from).collect() };
        let scores = wide(&attention::row_of_scores(capture, head, query)?);
        let weights = wide(attention::pattern_rows(capture, head, query..query + 1)?.row(0)?);
        let seen = |key: &usize| scores.get(*key).is_some_and(|score| score.is_finite());
        let held = held.filter(seen);
        let others = ranked(&weights, weights.len()).into_iter().filter(|key| seen(key) && held != Some(*key));
        let keys = held.into_iter().chain(others).take(3).collect();
        Some(Self { head, query, keys, scores, weights })
    }

    /// The scores of the three keys; `None` where there are fewer.
    pub fn three(&self) -> Option<[f64; 3]> {
        let scores: Vec<f64> = self.keys.iter().map(|key| self.scores[*key]).collect();
        scores.try_into().ok()
    }

    /// The weight that the three keys have together.
    pub fn mass(&self) -> f64 {
        self.keys.iter().map(|key| self.weights[*key]).sum()
    }

    /// The `n` keys of the largest scores that are seen, the largest first.
    pub fn strongest(&self, n: usize) -> Vec<usize> {
        ranked(&self.scores, n).into_iter().filter(|key| self.scores[*key].is_finite()).collect()
    }
}

/// How far scores of a head are apart, over the pairs that see each other.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Spread {
    pub values: Vec<f64>,
    /// How many queries they are of.
    pub n_queries: usize,
    pub mean: f64,
    /// Variance of all scores.
    pub pooled: f64,
    /// Mean variance of the scores of a query, which softmax sees.
    pub within: f64,
    /// Mean of the largest weight of a query, by softmax.
    pub largest: f64,
    /// Mean entropy of the weights of a query, by softmax.
    pub entropy: f64,
}

impl Spread {
    /// Of rows of scores; those that are not finite are left out, and rows without any.
    pub fn of(rows: &[Vec<f64>]) -> Self {
        let finite = |row: &Vec<f64>| row.iter().copied().filter(|score| score.is_finite()).collect::<Vec<f64>>();
        let rows: Vec<Vec<f64>> = rows.iter().map(finite).filter(|row| !row.is_empty()).collect();
        let over = |of: &dyn Fn(&[f64]) -> f64| mean(&rows.iter().map(|row| of(row)).collect::<Vec<f64>>());
        let weights = |row: &[f64]| normalizers::softmax(row);
        let entropy = |row: &[f64]| {
            -weights(row).iter().filter(|weight| **weight > 0.0).map(|weight| weight * weight.ln()).sum::<f64>()
        };
        let values = rows.concat();
        Self {
            mean: mean(&values),
            pooled: variance(&values),
            within: over(&variance),
            largest: over(&|row| weights(row).into_iter().fold(0.0, f64::max)),
            entropy: over(&entropy),
            n_queries: rows.len(),
            values,
        }
    }

    /// Of the products of a head before and after its scale, and that scale, over evenly spaced queries of a long text;
    /// `None` where it has none or they cannot be computed.
    pub fn around_scale(capture: &Capture, head: HeadId) -> Option<([Self; 2], f32)> {
        let n = capture.query_tokens(head.stack).len();
        let step = (n * capture.key_tokens(head.stack).len()).div_ceil(MOST_PAIRS).max(1);
        let (mut before, mut after, mut factor) = (Vec::new(), Vec::new(), None);
        for query in (0..n).step_by(step) {
            let row = attention::row_by_steps(capture, head, query)?;
            let (scale, scaled) = row.steps.iter().find_map(|(step, row)| match step {
                ScoreStep::Scale(scale) => Some((*scale, row)),
                ScoreStep::Cap(_) | ScoreStep::Bias | ScoreStep::Mask | ScoreStep::Change => None,
            })?;
            let visible = |of: &[f32]| -> Vec<f64> {
                let seen = of.iter().zip(row.scores()).filter(|(_, seen)| seen.is_finite());
                seen.map(|(score, _)| f64::from(*score)).collect()
            };
            before.push(visible(&row.products));
            after.push(visible(scaled));
            factor = Some(scale);
        }
        Some(([Self::of(&before), Self::of(&after)], factor?))
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

fn variance(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::explain::toy;

    const Z: [f64; 4] = [1.0, 0.5, -0.2, 0.8];

    #[test]
    fn points_of_the_triangle_are_those_of_the_worked_examples() {
        let at = |rule: Rule, z: [f64; 3]| point(rule.weights(&z, 1.5).try_into().unwrap());
        let z = [0.3, 0.1, 1.5];
        toy::assert_near(&at(Rule::Softmax, z), &[0.482_363, 0.559_523]);
        toy::assert_near(&at(Rule::Entmax, z), &[0.472_904, 0.734_531]);
        toy::assert_near(&at(Rule::Sparsemax, z), &[0.5, HEIGHT]);
        let z = [0.6, 0.4, 0.2];
        toy::assert_near(&at(Rule::Softmax, z), &[0.463_587, 0.233_227]);
        toy::assert_near(&at(Rule::Entmax, z), &[0.437_845, 0.192_567]);
        toy::assert_near(&at(Rule::Sparsemax, z), &[0.4, 0.115_470]);
        let back = Rule::Softmax.weights(&scores_at([0.463_587, 0.233_227]), 1.5);
        toy::assert_near(&back, &Rule::Softmax.weights(&z, 1.5));
        let outside = scores_at([2.0, -1.0]);
        assert!(outside.iter().all(|score| score.is_finite()), "a point outside is drawn to the edge: {outside:?}");
    }

    #[test]
    fn rules_that_are_no_member_of_entmax_weigh_as_told() {
        toy::assert_near(&Rule::Top.weights(&Z, 1.5), &[0.549_834, 0.0, 0.0, 0.450_166]);
        toy::assert_near(&Rule::Sigmoid.weights(&Z, 1.5), &[0.731_059, 0.622_459, 0.450_166, 0.689_974]);
        assert_eq!(Rule::Argmax.weights(&[0.5, 1.0, 1.0], 1.5), [0.0, 1.0, 0.0], "the first of equals");
        let hidden = [1.0, f64::NEG_INFINITY, 0.5];
        assert!(Rule::ALL.iter().all(|rule| rule.weights(&hidden, 1.5)[1] == 0.0));
    }

    #[test]
    fn curves_of_two_keys_and_the_line_of_survivors_are_those_of_the_worked_examples() {
        let curve = |rule: Rule, alpha: f64| [0.25, 0.5, 1.0, 1.5].map(|t| rule.weights(&[t, 0.0], alpha)[0]);
        toy::assert_near(&curve(Rule::Softmax, 1.0), &[0.562_177, 0.622_459, 0.731_059, 0.817_574]);
        toy::assert_near(&curve(Rule::Entmax, 1.25), &[0.573_967, 0.645_812, 0.775_430, 0.876_655]);
        toy::assert_near(&curve(Rule::Entmax, 1.5), &[0.588_042, 0.673_993, 0.830_719, 0.949_609]);
        toy::assert_near(&curve(Rule::Sparsemax, 2.0), &[0.625, 0.75, 1.0, 1.0]);
        let line = |rule: Rule, alpha: f64| rule.threshold(&Z, alpha).unwrap();
        let lines = [line(Rule::Sparsemax, 1.0), line(Rule::Entmax, 1.5), line(Rule::Entmax, 1.25)];
        toy::assert_near(&lines, &[0.433_333, -0.365_576, -2.202_850]);
        assert_eq!(Rule::Softmax.threshold(&Z, 1.5), None);
    }

    #[test]
    fn jacobians_are_those_of_the_worked_examples_and_of_finite_differences() {
        toy::assert_near(&Rule::Entmax.jacobian(&Z, 1.5, 0), &[0.421_047, -0.165_905, -0.031_736, -0.223_406]);
        for z in [[0.99, 0.01, 0.0], [0.5, 0.5, 0.0]] {
            let found = Rule::Sparsemax.jacobian(&z, 2.0, 0);
            toy::assert_near(&found[..2], &[0.5, -0.5]);
        }
        for rule in Rule::ALL {
            let jacobian = [0, 1, 2, 3].map(|weight| rule.jacobian(&Z, 1.5, weight));
            for key in 0..Z.len() {
                let moved = |by: f64| {
                    let mut z = Z;
                    z[key] += by;
                    rule.weights(&z, 1.5)
                };
                let (up, down) = (moved(1e-5), moved(-1e-5));
                for weight in 0..Z.len() {
                    let expected = (up[weight] - down[weight]) / 2e-5;
                    let found = jacobian[weight][key];
                    assert!((found - expected).abs() < 1e-5, "{rule:?} [{weight}, {key}]: {found} for {expected}");
                }
            }
        }
    }

    #[test]
    fn the_variance_that_softmax_sees_is_that_within_rows() {
        let rows = [vec![2.0, 1.0, 3.0], vec![5.0, 5.0, 5.0], vec![-1.0, 0.0, 1.0, f64::NEG_INFINITY]];
        let spread = Spread::of(&rows);
        toy::assert_near(&[spread.pooled, spread.within], &[4.666_667, 0.444_444]);
        assert_eq!(spread.values.len(), 9);
        assert!(spread.entropy < 3.0f64.ln() && spread.largest > 1.0 / 3.0);
        assert_eq!(Spread::of(&[]).values, Vec::<f64>::new());
    }
}
