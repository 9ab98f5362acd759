//! Quality by the length of the source: the share of a target's tokens that a translator gets right, in bins of
//! lengths, with intervals by bootstrap of whole sentences.

use std::{mem, ops::Range};

use crate::{
    analysis::explain::report::{LabQuestion, MethodSpec},
    random::SplitMix,
};

pub const METHOD: MethodSpec = MethodSpec {
    name: "lengths",
    title: "Quality by length",
    question: LabQuestion::Believe,
    about: "Share of right tokens by the length of the source, of one or two translators over a list of pairs",
    example: "--model demo:classic --model demo:translate --corpus demo:pairs --out lengths.svg",
    caveat: "Tokens count as right where they are the model's first guess given the target so far (teacher forcing), so a \
             translator that words a sentence otherwise loses; lengths that it was not trained on are another matter.",
    formula: "right / tokens in each bin; 95 % of resampled sentences",
    source: "Bahdanau et al. 2015; Efron 1979; Wilson 1927",
    values: &[],
    ..MethodSpec::EMPTY
};

/// First lengths of all bins but the first, in words.
pub const EDGES: [usize; 5] = [5, 8, 11, 15, 20];
/// Bins of fewer sentences are joined with the next one.
pub const LEAST_SENTENCES: usize = 30;
/// Of so many resampled sets of sentences, the share that an interval leaves out at either end.
const TAIL: f64 = 0.025;
/// The number of standard errors of a 95 % interval.
const Z: f64 = 1.959_963_984_540_054;

/// One sentence: its length, the tokens of its target, and how many each model got right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graded {
    pub length: usize,
    pub n_tokens: usize,
    pub right: Vec<usize>,
}

/// What can be chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LengthOptions {
    /// First lengths of all bins but the first, rising.
    pub edges: Vec<usize>,
    /// How often the sentences are drawn anew.
    pub samples: usize,
    pub seed: u64,
}

impl Default for LengthOptions {
    fn default() -> Self {
        Self { edges: EDGES.to_vec(), samples: 1000, seed: 0 }
    }
}

/// A number with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    pub value: f64,
    pub low: f64,
    pub high: f64,
}

/// Sentences of similar length.
#[derive(Clone, Debug, PartialEq)]
pub struct LengthBin {
    /// Least, mean and largest length of its sentences.
    pub least: usize,
    pub mean: f64,
    pub most: usize,
    pub n_sentences: usize,
    pub n_tokens: usize,
    /// Share of right tokens, of each model.
    pub accuracy: Vec<Estimate>,
    /// The first model's share less the second's; none of one model.
    pub difference: Option<Estimate>,
}

/// Shares of right tokens by length.
#[derive(Clone, Debug, PartialEq)]
pub struct LengthCurve {
    pub bins: Vec<LengthBin>,
    /// How much the difference of two models grows with each unit of length: least squares over the bins.
    pub slope: Option<Estimate>,
}

/// The curve of one or two models. Sentences are drawn anew within each bin, the same ones for both models.
pub fn curve(graded: &[Graded], n_models: usize, options: &LengthOptions) -> LengthCurve {
    let lengths: Vec<usize> = graded.iter().map(|sentence| sentence.length).collect();
    let members = bins(&lengths, &options.edges);
    let means: Vec<f64> =
        members.iter().map(|bin| bin.iter().map(|idx| lengths[*idx] as f64).sum::<f64>() / bin.len() as f64).collect();
    let has_difference = n_models == 2;
    let mut random = SplitMix::new(options.seed);
    // Of every drawing: by bin, the share of each model.
    let drawings: Vec<Vec<Vec<f64>>> = (0..options.samples)
        .map(|_| {
            let drawn = |bin: &Vec<usize>| {
                let chosen: Vec<usize> = bin.iter().map(|_| bin[random.below(bin.len())]).collect();
                shares(graded, &chosen, n_models)
            };
            members.iter().map(drawn).collect()
        })
        .collect();
    let gap = |shares: &[f64]| shares[0] - shares[1];
    let slope_of = |by_bin: &[Vec<f64>]| slope(&means, &by_bin.iter().map(|shares| gap(shares)).collect::<Vec<_>>());
    let found: Vec<Vec<f64>> = members.iter().map(|bin| shares(graded, bin, n_models)).collect();
    let bin = |nth: usize| {
        let of = &members[nth];
        let n_tokens = of.iter().map(|idx| graded[*idx].n_tokens).sum();
        let is_single = of.iter().all(|idx| graded[*idx].n_tokens == 1);
        let accuracy = |model: usize| {
            let value = found[nth][model];
            if is_single {
                let right = of.iter().map(|idx| graded[*idx].right[model]).sum();
                return wilson(right, of.len());
            }
            Estimate::of(value, drawings.iter().map(|drawing| drawing[nth][model]))
        };
        let difference =
            has_difference.then(|| Estimate::of(gap(&found[nth]), drawings.iter().map(|drawing| gap(&drawing[nth]))));
        let of_lengths = || of.iter().map(|idx| lengths[*idx]);
        LengthBin {
            least: of_lengths().min().unwrap_or(0),
            mean: means[nth],
            most: of_lengths().max().unwrap_or(0),
            n_sentences: of.len(),
            n_tokens,
            accuracy: (0..n_models).map(accuracy).collect(),
            difference,
        }
    };
    let slope = (has_difference && members.len() > 1)
        .then(|| Estimate::of(slope_of(&found), drawings.iter().map(|drawing| slope_of(drawing))));
    LengthCurve { bins: (0..members.len()).map(bin).collect(), slope }
}

impl Estimate {
    /// A value and the middle 95 % of what resampling gave.
    fn of(value: f64, resampled: impl Iterator<Item = f64>) -> Self {
        let mut sorted: Vec<f64> = resampled.collect();
        sorted.sort_by(f64::total_cmp);
        Self { value, low: quantile(&sorted, TAIL), high: quantile(&sorted, 1.0 - TAIL) }
    }

    /// Whether the interval has zero outside.
    pub fn differs(self) -> bool {
        self.low > 0.0 || self.high < 0.0
    }
}

/// Indices of sentences by the bin of their length; a bin of too few is joined with the next, the last with the one
/// before.
fn bins(lengths: &[usize], edges: &[usize]) -> Vec<Vec<usize>> {
    let mut parts = vec![Vec::new(); edges.len() + 1];
    for (idx, length) in lengths.iter().enumerate() {
        parts[edges.partition_point(|edge| edge <= length)].push(idx);
    }
    let (mut bins, mut open): (Vec<Vec<usize>>, Vec<usize>) = (Vec::new(), Vec::new());
    for part in parts {
        open.extend(part);
        if open.len() >= LEAST_SENTENCES {
            bins.push(mem::take(&mut open));
        }
    }
    match bins.last_mut() {
        Some(last) => last.extend(open),
        None if open.is_empty() => {}
        None => bins.push(open),
    }
    bins
}

/// Share of right tokens in some sentences, of each model.
fn shares(graded: &[Graded], chosen: &[usize], n_models: usize) -> Vec<f64> {
    let n: usize = chosen.iter().map(|idx| graded[*idx].n_tokens).sum();
    let right = |model: usize| chosen.iter().map(|idx| graded[*idx].right[model]).sum::<usize>();
    (0..n_models).map(|model| right(model) as f64 / n.max(1) as f64).collect()
}

/// Slope of the line through points that is nearest to them along y.
fn slope(x: &[f64], y: &[f64]) -> f64 {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let (x_mean, y_mean) = (mean(x), mean(y));
    let covariance: f64 = x.iter().zip(y).map(|(x, y)| (x - x_mean) * (y - y_mean)).sum();
    covariance / x.iter().map(|x| (x - x_mean).powi(2)).sum::<f64>()
}

/// The value below which a part of sorted values lies, between two of them where it has to be.
fn quantile(sorted: &[f64], part: f64) -> f64 {
    let place = part * sorted.len().saturating_sub(1) as f64;
    let Range { start, end } = place.floor() as usize..place.ceil() as usize;
    let [Some(below), Some(above)] = [start, end].map(|idx| sorted.get(idx)) else { return f64::NAN };
    below + (above - below) * place.fract()
}

/// The share of `right` among `n` that are independent of each other (Wilson 1927).
fn wilson(right: usize, n: usize) -> Estimate {
    let (n, value) = (n as f64, right as f64 / n as f64);
    let middle = (value + Z * Z / (2.0 * n)) / (1.0 + Z * Z / n);
    let half = Z * (value * (1.0 - value) / n + Z * Z / (4.0 * n * n)).sqrt() / (1.0 + Z * Z / n);
    Estimate { value, low: (middle - half).max(0.0), high: (middle + half).min(1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sentence(length: usize, n_tokens: usize, right: &[usize]) -> Graded {
        Graded { length, n_tokens, right: right.to_vec() }
    }

    #[test]
    fn one_token_a_sentence_has_the_interval_of_wilson() {
        let graded: Vec<Graded> = (0..50).map(|nth| sentence(3, 1, &[usize::from(nth < 42)])).collect();
        let bin = &curve(&graded, 1, &LengthOptions::default()).bins[0];
        let Estimate { value, low, high } = bin.accuracy[0];
        assert!((value - 0.84).abs() < 1e-12 && (low - 0.714_858).abs() < 1e-6 && (high - 0.916_626).abs() < 1e-6);
        let none = wilson(0, 10);
        assert!(none.low == 0.0 && (none.high - 0.277_533).abs() < 1e-6, "{none:?}");
    }

    #[test]
    fn bins_of_too_few_sentences_are_joined() {
        let lengths: Vec<usize> =
            [(3, 40), (6, 10), (9, 25), (30, 29)].into_iter().flat_map(|(l, n)| vec![l; n]).collect();
        let sizes = |edges: &[usize]| bins(&lengths, edges).iter().map(Vec::len).collect::<Vec<_>>();
        assert_eq!(sizes(&EDGES), [40, 64]);
        assert_eq!(sizes(&[5, 8]), [40, 64]);
        assert_eq!(sizes(&[6, 9]), [40, 64]);
        assert_eq!(sizes(&[9]), [50, 54]);
        assert_eq!(sizes(&[]), [104]);
        assert!(bins(&[], &EDGES).is_empty());
        // An edge is the first length of its bin.
        assert_eq!(bins(&[4, 5].repeat(30), &[5])[1].len(), 30);
    }

    #[test]
    fn whole_sentences_are_drawn_so_tokens_of_one_are_not_independent() {
        // Half of the sentences are right in all tokens, half in none: as uncertain as coins, not as tokens.
        let graded: Vec<Graded> = (0..100).map(|nth| sentence(4, 25, &[25 * (nth % 2)])).collect();
        let found = curve(&graded, 1, &LengthOptions::default());
        let Estimate { value, low, high } = found.bins[0].accuracy[0];
        assert!((value - 0.5).abs() < 1e-12);
        // ±1.96 √(0.25 / 100) = ±0.098; of 2,500 independent tokens it would be ±0.0196.
        assert!((0.085..0.115).contains(&(high - value)) && (0.085..0.115).contains(&(value - low)), "{low} {high}");
        assert_eq!(found, curve(&graded, 1, &LengthOptions::default()), "equal seeds give equal intervals");
        assert_eq!(found.slope, None);
    }

    #[test]
    fn a_gap_that_grows_with_length_has_a_slope() {
        // The second model loses a token more for every word; both lose in the same hard sentences.
        let graded: Vec<Graded> = (0..400)
            .map(|nth| {
                let (length, hard) = (4 + 4 * (nth % 5), nth % 3);
                sentence(length, 40, &[36 - hard, 36 - hard - length])
            })
            .collect();
        let found = curve(&graded, 2, &LengthOptions::default());
        assert_eq!(
            found.bins.iter().map(|bin| (bin.least, bin.most)).collect::<Vec<_>>(),
            [(4, 4), (8, 8), (12, 12), (16, 16), (20, 20)]
        );
        let slope = found.slope.unwrap();
        assert!((slope.value - 1.0 / 40.0).abs() < 1e-12 && slope.differs(), "{slope:?}");
        // Paired: what both lose is no uncertainty of their difference.
        assert!((slope.high - slope.low).abs() < 1e-12);
        let gaps: Vec<f64> = found.bins.iter().map(|bin| bin.difference.unwrap().value).collect();
        assert!(gaps.iter().zip([4.0, 8.0, 12.0, 16.0, 20.0]).all(|(gap, length)| (gap - length / 40.0).abs() < 1e-12));
    }

    #[test]
    fn quantiles_lie_between_values() {
        let sorted = [1.0, 2.0, 4.0, 8.0];
        assert_eq!([0.0, 0.5, 1.0].map(|part| quantile(&sorted, part)), [1.0, 3.0, 8.0]);
        assert!((quantile(&sorted, 0.025) - 1.075).abs() < 1e-12);
        assert!(quantile(&[], 0.5).is_nan());
    }
}
