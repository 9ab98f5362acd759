//! Approximations of one head's pattern, and how far they are from it: of low rank, by hashing, by random features.
//!
//! Every one is of the pattern that was computed in full: nothing is told of a model that was trained with it.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::{
    attention,
    explain::{
        dense::{Dense, dot},
        svd::Svd,
    },
};
use crate::{
    capture::{Capture, Matrix, Normalizer},
    ids::HeadId,
    random::SplitMix,
};

/// Queries and keys that are looked at, of a longer text: the first ones.
pub const MOST: usize = 128;
/// Random draws over which errors are averaged.
pub const N_DRAWS: usize = 3;
/// Ranks that errors are told of: these and twice, four times… as many.
const ROUND: [usize; 2] = [2, 3];
/// How many of them there are below the most queries.
const N_ROUND: usize = 2 * MOST.ilog2() as usize;
/// Weights no further apart are the same.
const SAME: f64 = 1e-3;

/// A way to approximate a pattern.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Approximation {
    /// The nearest matrix of a rank (Eckart and Young 1936).
    #[default]
    Rank,
    /// Keys that share a bucket with the query (Reformer).
    Hashing,
    /// Positive random features (Performer).
    Features,
}

vocabulary! {
    Approximation: name, title;
    Rank("lowrank", "Low rank"),
    Hashing("lsh", "Hashing"),
    Features("features", "Random features"),
}

/// How random directions are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Directions {
    /// Each by itself.
    Plain,
    /// Orthogonal to each other, as many as a head is wide.
    Orthogonal,
}

vocabulary! {
    Directions:
    /// In charts and tables.
    name;
    Plain("plain"),
    Orthogonal("orthogonal"),
}

/// How far an approximation is from a pattern.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Errors {
    /// Frobenius norm of the difference, as a part of that of the pattern.
    pub frobenius: f64,
    /// Half the sum of the differences of a row, on average.
    pub variation: f64,
    /// Norm of the difference of what the head takes from the values, as a part of that; `None` without values.
    pub mix: Option<f64>,
    /// Share of the queries whose strongest key is the same.
    pub same_top: f64,
}

impl Errors {
    /// Of an approximation `[query, key]` of a pattern, with values `[key, d]`.
    pub fn of(weights: &Dense, approximation: &Dense, values: Option<&Dense>) -> Self {
        let mut difference = approximation.clone();
        difference.as_mut_slice().iter_mut().zip(weights.as_slice()).for_each(|(a, b)| *a -= b);
        let relative = |of: &Dense, to: &Dense| {
            let [of, to] = [of, to].map(|matrix| dot(matrix.as_slice(), matrix.as_slice()).sqrt());
            if to > 0.0 { of / to } else { 0.0 }
        };
        let n = weights.n_rows().max(1) as f64;
        let of_row = |row: &[f64]| row.iter().map(|value| value.abs()).sum::<f64>() / 2.0;
        let agree = weights.rows().zip(approximation.rows()).filter(|(a, b)| top(a) == top(b)).count();
        let mix =
            values.and_then(|values| Some(relative(&difference.product(values).ok()?, &weights.product(values).ok()?)));
        Self {
            frobenius: relative(&difference, weights),
            variation: difference.rows().map(of_row).sum::<f64>() / n,
            mix,
            same_top: agree as f64 / n,
        }
    }

    /// The mean of several.
    fn mean(all: &[Self]) -> Self {
        let of = |value: fn(&Self) -> f64| all.iter().map(value).sum::<f64>() / all.len().max(1) as f64;
        let mix: Option<f64> = all.iter().map(|errors| errors.mix).sum();
        Self {
            frobenius: of(|errors| errors.frobenius),
            variation: of(|errors| errors.variation),
            mix: mix.map(|sum| sum / all.len().max(1) as f64),
            same_top: of(|errors| errors.same_top),
        }
    }
}

/// The first of the largest values.
fn top(row: &[f64]) -> Option<usize> {
    row.iter().enumerate().reduce(|best, other| if other.1 > best.1 { other } else { best }).map(|(at, _)| at)
}

/// A pattern with what it was made of.
#[derive(Clone, Debug)]
pub struct ExactPattern {
    /// `[query, key]`.
    pub weights: Dense,
    svd: Svd,
    /// `[key, d]`.
    values: Option<Dense>,
    /// Queries and keys, `[n, d]`, times the root of the scale; `None` where scores are not their products.
    vectors: Option<[Dense; 2]>,
    /// Keys that each query may see.
    seen: Vec<Range<usize>>,
    /// The key of each query's own token, where it has one.
    own: Vec<Option<usize>>,
    /// Why random features are not for this head, as a clause.
    refused: Option<&'static str>,
    /// How many queries and keys the text has.
    pub n: [usize; 2],
}

impl ExactPattern {
    /// The pattern of a head, of a long text the first queries and keys; `None` where there is none.
    pub fn of(capture: &Capture, head: HeadId) -> Option<Self> {
        let n = [capture.query_tokens(head.stack).len(), capture.key_tokens(head.stack).len()];
        let [n_query, n_key] = n;
        let (rows, cols) = (n_query.min(MOST), n_key.min(MOST));
        let pattern = attention::pattern_rows(capture, head, 0..rows)?;
        let weights = Dense::from_fn(rows, cols, |row, col| pattern.row(row).map_or(0.0, |row| f64::from(row[col])));
        // Rows that lose keys are made distributions over the rest.
        let weights = if cols < n_key { weights.with_normalised_rows() } else { weights };
        let svd = Svd::of(&weights).ok()?;
        let (layer, mask) = (capture.model().layer_of(head)?, capture.model().mask_of(head)?);
        let has_global = !capture.global_tokens(head).is_empty();
        let seen = (0..rows).map(|query| {
            let keys = if has_global { 0..n_key } else { mask.visible(query, n_query, n_key) };
            keys.start.min(cols)..keys.end.min(cols)
        });
        let own = (0..rows).map(|query| {
            let key = (query + n_key).checked_sub(n_query).filter(|key| *key < cols);
            key.filter(|_| !head.stack.is_cross())
        });
        let first = |matrix: Matrix, n: usize, factor: f64| {
            Dense::from_fn(n.min(matrix.n_rows()), matrix.n_cols(), |row, col| {
                factor * matrix.row(row).map_or(0.0, |row| f64::from(row[col]))
            })
        };
        let factor = f64::from(layer.scale.max(0.0)).sqrt();
        let vectors = || Some([first(capture.q(head)?, rows, factor), first(capture.k(head)?, cols, factor)]);
        let (computation, biased) = (capture.computation(), layer.biased || capture.layer(head)?.bias.is_some());
        let mut exact = Self {
            svd,
            values: capture.v(head).map(|values| first(values, cols, 1.0)),
            vectors: if has_global { None } else { vectors() },
            seen: seen.collect(),
            own: own.collect(),
            refused: None,
            n,
            weights,
        };
        exact.refused = match () {
            () if has_global => Some("some tokens see all others"),
            () if biased => Some("a bias is added to the scores"),
            () if layer.softcap.is_some() => Some("the scores are capped"),
            () if layer.window.is_some() => Some("the mask is more than causal"),
            () if layer.sink => Some("a sink takes a part of each row"),
            () if computation.normalizer_of(head) != Normalizer::Softmax => Some("the weights are no softmax"),
            () if exact.vectors.is_none() => Some("queries and keys are not recorded"),
            () if !exact.is_softmax_of_products() => Some("the weights are not the softmax of q·k in this run"),
            () => None,
        };
        Some(exact)
    }

    /// How many queries and keys are looked at.
    pub const fn shape(&self) -> [usize; 2] {
        self.weights.shape()
    }

    /// Whether a mask hides keys.
    pub fn is_masked(&self) -> bool {
        let [_, n_key] = self.shape();
        self.seen.iter().any(|keys| keys.len() < n_key)
    }

    /// How far an approximation is.
    pub fn errors(&self, approximation: &Dense) -> Errors {
        Errors::of(&self.weights, approximation, self.values.as_ref())
    }

    /// The nearest matrices of these ranks, in order, each cropped to what queries may see.
    pub fn of_ranks(&self, ranks: &[usize]) -> Vec<Dense> {
        let [n_query, n_key] = self.shape();
        let mut sum = Dense::zeros(n_query, n_key);
        let mut done = 0;
        let mut to_rank = |rank: usize| {
            let upto = rank.min(self.svd.left.n_rows());
            for vector in self.svd.left.rows().take(upto).skip(done) {
                let mut along = vec![0.0; n_key];
                for (factor, row) in vector.iter().zip(self.weights.rows()) {
                    along.iter_mut().zip(row).for_each(|(along, value)| *along += factor * value);
                }
                for (factor, row) in vector.iter().zip(sum.rows_mut()) {
                    row.iter_mut().zip(&along).for_each(|(value, along)| *value += factor * along);
                }
            }
            done = done.max(upto);
            self.cropped(&sum)
        };
        ranks.iter().map(|rank| to_rank(*rank)).collect()
    }

    /// What queries may see.
    fn cropped(&self, matrix: &Dense) -> Dense {
        let mut cropped = matrix.clone();
        for (row, seen) in cropped.rows_mut().zip(&self.seen) {
            row.iter_mut().enumerate().filter(|(key, _)| !seen.contains(key)).for_each(|(_, value)| *value = 0.0);
        }
        cropped
    }

    /// The pattern on keys that share a bucket with their query in one of the rounds; `None` without queries and keys.
    pub fn hashed(&self, n_buckets: usize, n_rounds: usize, seed: u64) -> Option<Recalled> {
        let [queries, keys] = augmented(self.vectors.as_ref()?);
        let mut random = SplitMix::new(seed);
        let mut rounds = Vec::with_capacity(n_rounds);
        for _ in 0..n_rounds {
            let directions = plain(n_buckets / 2, queries.n_cols(), &mut random);
            rounds.push([&queries, &keys].map(|vectors| buckets(vectors, &directions)));
        }
        let is_kept = |query: usize, key: usize| {
            self.seen[query].contains(&key) && rounds.iter().any(|[queries, keys]| queries[query] == keys[key])
        };
        Some(Recalled::of(&self.weights, is_kept, &self.own))
    }

    /// The pattern of random features; or why not, as a clause.
    pub fn of_features(&self, n: usize, directions: Directions, seed: u64) -> Result<Dense, &'static str> {
        let vectors = self.vectors.as_ref().ok_or("queries and keys are not recorded")?;
        if let Some(why) = self.refused {
            return Err(why);
        }
        let mut random = SplitMix::new(seed);
        let d = vectors[0].n_cols();
        let drawn = match directions {
            Directions::Plain => plain(n, d, &mut random),
            Directions::Orthogonal => orthogonal(n, d, &mut random),
        };
        let [mut queries, mut keys] = vectors.each_ref().map(|vectors| log_features(vectors, &drawn));
        // What all features of a query, or of all keys, have in common divides out.
        let most = |values: &[f64]| values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        for row in queries.rows_mut() {
            let most = most(row);
            for value in row {
                *value = (*value - most).exp();
            }
        }
        let most = most(keys.as_slice());
        for value in keys.as_mut_slice() {
            *value = (*value - most).exp();
        }
        let products = queries.product(&keys.transposed()).map_err(|_| "queries and keys are of unequal width")?;
        Ok(self.cropped(&products).with_normalised_rows())
    }

    /// Errors by rank, from 1 on.
    pub fn by_rank(&self) -> Vec<(usize, Errors)> {
        let n = self.svd.values.len();
        let ranks: Vec<usize> =
            (0..N_ROUND).map(|nth| ROUND[nth % 2] << (nth / 2)).take_while(|rank| *rank < n).collect();
        let mut ranks = [&[1][..], &ranks, &[n]].concat();
        ranks.dedup();
        self.of_ranks(&ranks).iter().zip(&ranks).map(|(found, rank)| (*rank, self.errors(found))).collect()
    }

    /// Recalled mass and errors of hashing, the mean of several draws; `None` without queries and keys.
    pub fn mean_hashed(&self, n_buckets: usize, n_rounds: usize) -> Option<(f64, Errors)> {
        let draws = (0..N_DRAWS).map(|seed| self.hashed(n_buckets, n_rounds, seed as u64));
        let draws = draws.collect::<Option<Vec<_>>>()?;
        let mass = draws.iter().map(Recalled::mean).sum::<f64>() / N_DRAWS as f64;
        Some((mass, Errors::mean(&draws.iter().map(|drawn| self.errors(&drawn.weights)).collect::<Vec<_>>())))
    }

    /// Errors of random features, the mean of several draws; or why there are none, as a clause.
    pub fn mean_features(&self, n: usize, directions: Directions) -> Result<Errors, &'static str> {
        let draws = (0..N_DRAWS).map(|seed| Ok(self.errors(&self.of_features(n, directions, seed as u64)?)));
        Ok(Errors::mean(&draws.collect::<Result<Vec<_>, &'static str>>()?))
    }

    /// Whether the weights are what softmax makes of the products of queries and keys.
    fn is_softmax_of_products(&self) -> bool {
        let Some([queries, keys]) = &self.vectors else { return false };
        let Ok(scores) = queries.product(&keys.transposed()) else { return false };
        let rows = scores.rows().zip(self.weights.rows()).zip(&self.seen);
        let mut agree = rows.map(|((scores, weights), seen)| {
            let (scores, weights) = (&scores[seen.clone()], &weights[seen.clone()]);
            let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let sum: f64 = scores.iter().map(|score| (score - most).exp()).sum();
            scores.iter().zip(weights).all(|(score, weight)| ((score - most).exp() / sum - weight).abs() < SAME)
        });
        agree.all(|agrees| agrees)
    }
}

/// A pattern on a part of its keys.
#[derive(Clone, Debug, PartialEq)]
pub struct Recalled {
    /// What each row has on the keys that were kept.
    pub mass: Vec<f64>,
    /// Rows normalised again, `[query, key]`.
    pub weights: Dense,
}

impl Recalled {
    /// Of a pattern, and the keys that are kept. A row that would keep none keeps the key of its own token.
    fn of(weights: &Dense, is_kept: impl Fn(usize, usize) -> bool, own: &[Option<usize>]) -> Self {
        let [n_query, n_key] = weights.shape();
        let mut kept = Dense::zeros(n_query, n_key);
        let mut mass = vec![0.0; n_query];
        for (query, (row, out)) in weights.rows().zip(kept.rows_mut()).enumerate() {
            let own = own.get(query).copied().flatten();
            let is_empty = (0..n_key).all(|key| !is_kept(query, key));
            for (key, (value, out)) in row.iter().zip(out).enumerate() {
                if is_kept(query, key) || is_empty && own == Some(key) {
                    *out = *value;
                    mass[query] += value;
                }
            }
        }
        Self { mass, weights: kept.with_normalised_rows() }
    }

    /// The mean of the rows.
    pub fn mean(&self) -> f64 {
        self.mass.iter().sum::<f64>() / self.mass.len().max(1) as f64
    }
}

/// Queries and keys of one more dimension, so that keys are as long as each other: `[q; 0] / ‖q‖` and
/// `[k; √(M² - ‖k‖²)] / M`, with the longest key `M`. The nearest key is then that with the largest product.
fn augmented([queries, keys]: &[Dense; 2]) -> [Dense; 2] {
    let norms = |vectors: &Dense| vectors.rows().map(|row| dot(row, row).sqrt()).collect::<Vec<_>>();
    let [of_queries, of_keys] = [queries, keys].map(norms);
    let most = of_keys.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    let d = queries.n_cols();
    let query = |row: usize, col: usize| {
        if col < d { queries.at(row, col) / of_queries[row].max(f64::MIN_POSITIVE) } else { 0.0 }
    };
    let key = |row: usize, col: usize| {
        let value =
            if col < d { keys.at(row, col) } else { (most * most - of_keys[row] * of_keys[row]).max(0.0).sqrt() };
        value / most
    };
    [Dense::from_fn(queries.n_rows(), d + 1, query), Dense::from_fn(keys.n_rows(), d + 1, key)]
}

/// The bucket of each row of `vectors`: the direction, or the one against it, along which it is longest.
fn buckets(vectors: &Dense, directions: &Dense) -> Vec<Option<usize>> {
    let bucket = |row: &[f64]| {
        let along = directions.rows().map(|direction| dot(row, direction)).collect::<Vec<_>>();
        top(&along.iter().copied().chain(along.iter().map(|along| -along)).collect::<Vec<_>>())
    };
    vectors.rows().map(bucket).collect()
}

/// Logarithms of the features of each row `x`: `ω·x - ‖x‖² / 2`, and a part that all have in common;
/// `[rows, features]`.
fn log_features(vectors: &Dense, directions: &Dense) -> Dense {
    let common = (directions.n_rows() as f64).ln() / 2.0;
    let halves: Vec<f64> = vectors.rows().map(|row| dot(row, row) / 2.0).collect();
    Dense::from_fn(vectors.n_rows(), directions.n_rows(), |row, col| {
        dot(vectors.row(row), directions.row(col)) - halves[row] - common
    })
}

/// Normal directions, `[n, d]`.
fn plain(n: usize, d: usize, random: &mut SplitMix) -> Dense {
    let mut directions = Dense::zeros(n, d);
    directions.as_mut_slice().fill_with(|| random.normal());
    directions
}

/// Normal directions of which `d` at a time are orthogonal to each other, `[n, d]`: their lengths are those of others.
fn orthogonal(n: usize, d: usize, random: &mut SplitMix) -> Dense {
    let mut directions = plain(n, d, random);
    let lengths: Vec<f64> = plain(n, d, random).rows().map(|row| dot(row, row).sqrt()).collect();
    for (at, length) in lengths.into_iter().enumerate() {
        let mut row = directions.row(at).to_vec();
        for before in at - at % d.max(1)..at {
            let other = directions.row(before);
            let along = dot(&row, other) / dot(other, other).max(f64::MIN_POSITIVE);
            row.iter_mut().zip(other).for_each(|(value, other)| *value -= along * other);
        }
        let factor = length / dot(&row, &row).sqrt().max(f64::MIN_POSITIVE);
        directions.row_mut(at).iter_mut().zip(row).for_each(|(out, value)| *out = factor * value);
    }
    directions
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::explain::toy::{assert_near, dense};

    /// A pattern with its values, whose queries see all keys.
    fn exact(weights: Dense) -> ExactPattern {
        let [n_query, n_key] = weights.shape();
        ExactPattern {
            svd: Svd::of(&weights).unwrap(),
            values: Some(dense(&[[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]])),
            vectors: None,
            seen: vec![0..n_key; n_query],
            own: (0..n_query).map(Some).collect(),
            refused: None,
            n: [n_query, n_key],
            weights,
        }
    }

    fn pattern() -> Dense {
        dense(&[[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.1, 0.8]])
    }

    fn assert_errors(found: Errors, expected: [f64; 4]) {
        let found = [found.frobenius, found.variation, found.mix.unwrap(), found.same_top];
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-6, "{found} is not {expected}");
        }
    }

    fn queries_and_keys() -> [Dense; 2] {
        [dense(&[[0.6, -0.3]]), dense(&[[0.5, 0.2], [-0.4, 0.7], [0.1, -0.9]])]
    }

    #[test]
    fn ranks_are_those_of_the_singular_values() {
        let exact = exact(pattern());
        assert!(exact.svd.values.iter().zip([1.016_016, 0.621_696, 0.284_967]).all(|(a, b)| (a - b).abs() < 1e-6));
        let found = exact.of_ranks(&[1, 2, 3]);
        assert_errors(exact.errors(&found[0]), [0.558_398, 0.307_188, 0.215_777, 1.0 / 3.0]);
        assert_errors(exact.errors(&found[1]), [0.232_674, 0.115_626, 0.211_675, 2.0 / 3.0]);
        assert_errors(exact.errors(&found[2]), [0.0, 0.0, 0.0, 1.0]);
        assert!((found[0].row(2).iter().sum::<f64>() - 1.165_100).abs() < 1e-6, "rows need not sum to 1");
        assert_eq!(exact.by_rank().iter().map(|(rank, _)| *rank).collect::<Vec<_>>(), [1, 2, 3]);
    }

    #[test]
    fn what_a_rank_leaks_behind_a_causal_mask_is_cropped() {
        let mut exact = exact(dense(&[[1.0, 0.0, 0.0], [0.4, 0.6, 0.0], [0.3, 0.3, 0.4]]));
        let leaks = exact.of_ranks(&[1])[0].at(0, 2);
        exact.seen = vec![0..1, 0..2, 0..3];
        assert!(leaks.abs() > 0.01 && exact.is_masked());
        let cropped = &exact.of_ranks(&[1])[0];
        assert!([(0, 1), (0, 2), (1, 2)].into_iter().all(|(row, col)| cropped.at(row, col) == 0.0));
    }

    #[test]
    fn hashing_recalls_the_mass_of_the_keys_that_it_keeps() {
        let keep = [[true, true, false], [false, true, true], [false, false, true]];
        let recalled = Recalled::of(&pattern(), |query, key| keep[query][key], &[]);
        assert_near(&recalled.mass, &[0.9, 0.8, 0.8]);
        assert_errors(exact(pattern()).errors(&recalled.weights), [0.301_999, 0.166_667, 0.167_983, 1.0]);
        let own = Recalled::of(&pattern(), |_, _| false, &[Some(0), None, Some(2)]);
        assert_near(&own.mass, &[0.6, 0.0, 0.8]);
        assert_near(own.weights.row(0), &[1.0, 0.0, 0.0]);
    }

    #[test]
    fn buckets_are_the_longest_of_directions_and_those_against_them() {
        let [queries, keys] = queries_and_keys();
        // Directions are columns of [[1, 0.3], [-0.2, 1]].
        let directions = dense(&[[1.0, -0.2], [0.3, 1.0]]);
        assert_eq!(buckets(&queries, &directions), [Some(0)]);
        assert_eq!(buckets(&keys, &directions), [Some(0), Some(1), Some(3)]);
        let [queries, keys] = augmented(&[queries, keys]);
        for row in queries.rows().chain(keys.rows()) {
            assert!((dot(row, row) - 1.0).abs() < 1e-12, "all are of one length");
        }
    }

    #[test]
    fn random_features_are_those_of_their_directions() {
        let directions = dense(&[[1.0, 0.5], [-0.3, 1.2], [0.8, -0.7], [-1.1, -0.4]]);
        let factor = 2f64.powf(-0.25);
        let [queries, keys] = queries_and_keys().map(|vectors| {
            log_features(&Dense::from_fn(vectors.n_rows(), 2, |row, col| factor * vectors.at(row, col)), &directions)
        });
        let sum = |key: usize| queries.row(0).iter().zip(keys.row(key)).map(|(a, b)| (a + b).exp()).sum::<f64>();
        let estimates: Vec<f64> = (0..3).map(sum).collect();
        let all: f64 = estimates.iter().sum();
        for (key, (estimate, weight)) in
            [(1.096_923, 0.405_077), (0.754_713, 0.278_704), (0.856_300, 0.316_219)].into_iter().enumerate()
        {
            assert!((estimates[key] - estimate).abs() < 1e-6 && (estimates[key] / all - weight).abs() < 1e-6, "{key}");
        }
    }

    #[test]
    fn orthogonal_directions_are_orthogonal_in_blocks_and_as_long_as_others() {
        let found = orthogonal(7, 3, &mut SplitMix::new(1));
        let product = |a: usize, b: usize| dot(found.row(a), found.row(b));
        assert!(product(0, 1).abs() < 1e-9 && product(3, 5).abs() < 1e-9 && product(2, 3).abs() > 1e-6);
        let squares = |found: &Dense| found.rows().map(|row| dot(row, row)).sum::<f64>() / found.n_rows() as f64;
        let many = orthogonal(6000, 3, &mut SplitMix::new(2));
        assert!((squares(&many) - 3.0).abs() < 0.15, "{}", squares(&many));
    }

    #[test]
    fn more_features_come_nearer_to_the_softmax() {
        let mut exact = exact(dense(&[[0.373_187, 0.229_104, 0.397_709]]));
        exact.vectors = Some(queries_and_keys().map(|vectors| {
            let factor = 2f64.powf(-0.25);
            Dense::from_fn(vectors.n_rows(), 2, |row, col| factor * vectors.at(row, col))
        }));
        assert!(exact.is_softmax_of_products());
        let error = |n: usize, directions| exact.mean_features(n, directions).unwrap().frobenius;
        for directions in Directions::ALL {
            assert!(error(4096, directions) < 0.05 && error(4096, directions) < error(4, directions));
        }
        exact.refused = Some("a bias is added to the scores");
        assert_eq!(exact.of_features(4, Directions::Plain, 0), Err("a bias is added to the scores"));
        let all = exact.hashed(2, 64, 0).unwrap();
        assert!((all.mean() - 1.0).abs() < 1e-6, "many rounds keep every key");
    }
}
