//! Maps from scores to weights, in double precision: the reference of the model's own kernels.
//!
//! Keys that are hidden have a score of -∞; they are taken out first and get exactly 0. A row of which every
//! key is hidden is 0, and one with a score that is no number or +∞ is NaN. The smaller α of α-entmax, the
//! more keys get something: softmax is α = 1, sparsemax α = 2.

use super::linear_chain;
use crate::{
    capture::{Normalizer, SigmoidBias},
    ids::{HeadId, StackKind},
    random::SplitMix,
};

/// Weights below this count as 0 where the number of keys with weight is told: an entry that lies exactly at
/// the edge comes out as rounding.
const SUPPORT: f64 = 1e-9;

/// Halvings of α-entmax's interval.
const N_STEPS: usize = 50;

/// What a normaliser makes of a row of scores, that of a query of a head.
pub fn weights(normalizer: Normalizer, row: (HeadId, usize), z: &[f64]) -> Vec<f64> {
    match normalizer {
        Normalizer::Softmax => softmax(z),
        Normalizer::Sparsemax => sparsemax(z),
        Normalizer::Entmax(alpha) => entmax(z, alpha.into()),
        Normalizer::Fusedmax(lambda) => fusedmax(z, lambda.into()),
        Normalizer::ChainSimplex(w) => of_visible(z, |z| linear_chain::shares(z, w.into())),
        Normalizer::Chain(w) => of_visible(z, |z| linear_chain::marginals(z, w.into())),
        Normalizer::SparsemapChain(w) => of_visible(z, |z| linear_chain::sparse_marginals(z, w.into())),
        Normalizer::Sigmoid(bias) => sigmoid(z, bias),
        Normalizer::Argmax => argmax(z),
        Normalizer::Sample { seed, draw } => sample(z, [seed, draw as u64], row),
    }
}

/// The gradient of [`weights`] by the scores from that by the weights.
pub fn gradient(normalizer: Normalizer, z: &[f64], gradient: &[f64]) -> Vec<f64> {
    match normalizer {
        Normalizer::Softmax => entmax_gradient(&softmax(z), 1.0, gradient),
        Normalizer::Sparsemax => entmax_gradient(&sparsemax(z), 2.0, gradient),
        Normalizer::Entmax(alpha) => {
            let alpha = f64::from(alpha).max(1.0);
            entmax_gradient(&entmax(z, alpha), alpha, gradient)
        }
        Normalizer::Fusedmax(lambda) => fusedmax_gradient(z, lambda.into(), gradient),
        Normalizer::ChainSimplex(w) => {
            by_visible(z, gradient, |z, gradient| linear_chain::shares_gradient(z, w.into(), gradient))
        }
        Normalizer::Chain(w) => {
            by_visible(z, gradient, |z, gradient| linear_chain::marginals_gradient(z, w.into(), gradient))
        }
        Normalizer::SparsemapChain(w) => {
            by_visible(z, gradient, |z, gradient| linear_chain::sparse_marginals_gradient(z, w.into(), gradient))
        }
        Normalizer::Sigmoid(bias) => sigmoid(z, bias).iter().zip(gradient).map(|(p, g)| p * (1.0 - p) * g).collect(),
        Normalizer::Argmax | Normalizer::Sample { .. } => vec![0.0; z.len()],
    }
}

/// `exp(z) / Σ exp(z)`.
pub fn softmax(z: &[f64]) -> Vec<f64> {
    of_visible(z, |z| {
        let max = largest(z);
        let powers: Vec<f64> = z.iter().map(|z| (z - max).exp()).collect();
        let sum: f64 = powers.iter().sum();
        powers.iter().map(|power| power / sum).collect()
    })
}

/// The nearest point of the simplex (Martins and Astudillo 2016): `relu(z - τ)`, with `τ` such that the sum
/// is 1.
pub fn sparsemax(z: &[f64]) -> Vec<f64> {
    of_visible(z, |z| {
        let (mut sum, mut threshold) = (0.0, 0.0);
        for (nth, z) in sorted(z).into_iter().enumerate() {
            sum += z;
            let k = (nth + 1) as f64;
            if 1.0 + k * z > sum {
                threshold = (sum - 1.0) / k;
            }
        }
        z.iter().map(|z| (z - threshold).max(0.0)).collect()
    })
}

/// α-entmax with α = 1.5, exactly (Peters et al. 2019): `relu(z/2 - τ)²`.
pub fn entmax15(z: &[f64]) -> Vec<f64> {
    of_visible(z, |z| {
        let max = largest(z);
        let half: Vec<f64> = z.iter().map(|z| (z - max) / 2.0).collect();
        let (mut sum, mut squares, mut threshold) = (0.0, 0.0, 0.0);
        for (nth, x) in sorted(&half).into_iter().enumerate() {
            sum += x;
            squares += x * x;
            let k = (nth + 1) as f64;
            let mean = sum / k;
            let spread = k * (squares / k - mean * mean);
            let candidate = mean - ((1.0 - spread) / k).max(0.0).sqrt();
            if candidate <= x {
                threshold = candidate;
            }
        }
        half.iter().map(|x| (x - threshold).max(0.0).powi(2)).collect()
    })
}

/// α-entmax by halving (Blondel et al. 2019): `relu((α-1) z - τ)^(1/(α-1))`. α = 1 is [`softmax`], and so is
/// what is smaller.
pub fn entmax(z: &[f64], alpha: f64) -> Vec<f64> {
    if alpha <= 1.0 {
        return softmax(z);
    }
    of_visible(z, |z| {
        // Relative to the largest, so that large scores do not swallow the interval.
        let max = largest(z);
        let x: Vec<f64> = z.iter().map(|z| (z - max) * (alpha - 1.0)).collect();
        let weights = |threshold: f64| {
            x.iter().map(move |x| (x - threshold).max(0.0).powf(1.0 / (alpha - 1.0))).collect::<Vec<f64>>()
        };
        let (mut low, mut high) = (-1.0, -(x.len() as f64).powf(1.0 - alpha));
        for _ in 0..N_STEPS {
            let middle = f64::midpoint(low, high);
            let sum: f64 = weights(middle).iter().sum();
            if sum >= 1.0 {
                low = middle;
            } else {
                high = middle;
            }
        }
        let mut found = weights(low);
        let sum: f64 = found.iter().sum();
        for weight in &mut found {
            *weight /= sum;
        }
        found
    })
}

/// `argmin_y ½‖y - z‖² + λ Σ |y_(i+1) - y_i|`: neighbours are drawn to each other.
///
/// The sums of `y` are the tightest string from 0 to the sum of `z` that stays within `λ` of the sums of `z`
/// (Davies and Kovac 2001). Every value has to be finite.
pub fn prox_tv(z: &[f64], lambda: f64) -> Vec<f64> {
    let n = z.len();
    let mut sums = vec![0.0];
    sums.extend(z.iter().scan(0.0, |sum, z| {
        *sum += z;
        Some(*sum)
    }));
    // The string is held at both ends.
    let room = |at: usize| if at == 0 || at == n { 0.0 } else { lambda };
    let mut y = Vec::with_capacity(n);
    let (mut from, mut height) = (0, 0.0);
    while from < n {
        // The flattest and the steepest way on that stay inside, and where they touch.
        let (mut flattest, mut steepest) = ((f64::NEG_INFINITY, n), (f64::INFINITY, n));
        let mut bend = None;
        for (at, sum) in sums.iter().enumerate().skip(from + 1) {
            let slope = |to: f64| (to - height) / (at - from) as f64;
            let (low, high) = (slope(sum - room(at)), slope(sum + room(at)));
            if low > steepest.0 {
                bend = Some((steepest.1, steepest.0));
                break;
            }
            if high < flattest.0 {
                bend = Some((flattest.1, flattest.0));
                break;
            }
            if low >= flattest.0 {
                flattest = (low, at);
            }
            if high <= steepest.0 {
                steepest = (high, at);
            }
        }
        let (to, slope) = bend.unwrap_or((n, (sums[n] - height) / (n - from) as f64));
        y.extend(std::iter::repeat_n(slope, to - from));
        height += slope * (to - from) as f64;
        from = to;
    }
    y
}

/// [`sparsemax`] of [`prox_tv`] (Niculae and Blondel 2017): neighbours share a weight. It means something
/// only where keys have an order; hidden keys are taken out before, so that those around them are neighbours.
pub fn fusedmax(z: &[f64], lambda: f64) -> Vec<f64> {
    of_visible(z, |z| sparsemax(&prox_tv(z, lambda)))
}

/// `1 / (1 + exp(-z - b))` of each score.
pub fn sigmoid(z: &[f64], bias: SigmoidBias) -> Vec<f64> {
    of_visible(z, |z| {
        let b = match bias {
            SigmoidBias::Zero => 0.0,
            SigmoidBias::MinusLogKeys => -(z.len() as f64).ln(),
        };
        z.iter().map(|z| linear_chain::sigmoid(z + b)).collect()
    })
}

/// 1 at the largest score, the first of equals.
pub fn argmax(z: &[f64]) -> Vec<f64> {
    of_visible(z, |z| {
        let largest = (1..z.len()).fold(0, |largest, key| if z[key] > z[largest] { key } else { largest });
        (0..z.len()).map(|key| f64::from(u8::from(key == largest))).collect()
    })
}

/// 1 at a key that is drawn with the probabilities of [`softmax`]: the largest score after noise of Gumbel. The noise of
/// a key follows from the seed, the number of the draw, and its place alone.
pub fn sample(z: &[f64], [seed, draw]: [u64; 2], (head, query): (HeadId, usize)) -> Vec<f64> {
    let stack = (head.stack != StackKind::SelfAttention).then_some(head.stack as u64);
    let place = [head.layer, head.head, query].map(|number| number as u64);
    let noisy = z.iter().zip(0..).map(|(z, key)| {
        let words = [seed, draw].into_iter().chain(stack).chain(place).chain([key]);
        let uniform = ((SplitMix::of_words(words) >> 11) as f64 + 0.5) / 9_007_199_254_740_992.0;
        // As near to 1 as there are numbers below it: the noise is finite.
        z - (-uniform.min(1.0 - f64::EPSILON / 2.0).ln()).ln()
    });
    argmax(&noisy.collect::<Vec<f64>>())
}

/// Number of keys with weight.
pub fn support(weights: &[f64]) -> usize {
    weights.iter().filter(|weight| **weight > SUPPORT).count()
}

/// The gradient by the scores from that by the weights: `s ⊙ g - s (s·g) / Σs` with `s = p^(2-α)` where
/// `p > 0`. Softmax for α = 1, sparsemax for α = 2.
pub fn entmax_gradient(p: &[f64], alpha: f64, gradient: &[f64]) -> Vec<f64> {
    let s: Vec<f64> = p.iter().map(|p| if *p > SUPPORT { p.powf(2.0 - alpha) } else { 0.0 }).collect();
    let dot: f64 = s.iter().zip(gradient).map(|(s, g)| s * g).sum();
    let mean = dot / s.iter().sum::<f64>().max(f64::MIN_POSITIVE);
    s.iter().zip(gradient).map(|(s, g)| s * (g - mean)).collect()
}

/// The gradient of [`fusedmax`] by the scores: that of sparsemax, shared out among neighbours that are fused.
pub fn fusedmax_gradient(z: &[f64], lambda: f64, gradient: &[f64]) -> Vec<f64> {
    by_visible(z, gradient, |z, gradient| {
        let fused = prox_tv(z, lambda);
        let by_fused = entmax_gradient(&sparsemax(&fused), 2.0, gradient);
        let mut by_scores = Vec::with_capacity(z.len());
        for group in fused.chunk_by(|a, b| (a - b).abs() < SUPPORT) {
            let keys = by_scores.len()..by_scores.len() + group.len();
            let mean = by_fused[keys].iter().sum::<f64>() / group.len() as f64;
            by_scores.extend(std::iter::repeat_n(mean, group.len()));
        }
        by_scores
    })
}

/// Applies a gradient to the visible scores alone; hidden ones have none.
fn by_visible(z: &[f64], gradient: &[f64], slopes: impl FnOnce(&[f64], &[f64]) -> Vec<f64>) -> Vec<f64> {
    let visible: Vec<usize> = (0..z.len()).filter(|&key| z[key] > f64::NEG_INFINITY).collect();
    let of = |values: &[f64]| visible.iter().map(|&key| values[key]).collect::<Vec<f64>>();
    let mut by_scores = vec![0.0; z.len()];
    for (key, slope) in visible.iter().zip(slopes(&of(z), &of(gradient))) {
        by_scores[*key] = slope;
    }
    by_scores
}

/// Applies `normalise` to the visible scores alone.
fn of_visible(z: &[f64], normalise: impl FnOnce(&[f64]) -> Vec<f64>) -> Vec<f64> {
    let visible: Vec<f64> = z.iter().copied().filter(|z| *z != f64::NEG_INFINITY).collect();
    if visible.is_empty() {
        return vec![0.0; z.len()];
    }
    // A cut at 0 would make a weight of 0 of what is no number.
    if !visible.iter().all(|z| z.is_finite()) {
        return vec![f64::NAN; z.len()];
    }
    let mut weights = normalise(&visible).into_iter();
    z.iter().map(|z| if *z == f64::NEG_INFINITY { 0.0 } else { weights.next().unwrap_or(0.0) }).collect()
}

fn largest(z: &[f64]) -> f64 {
    z.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

fn sorted(z: &[f64]) -> Vec<f64> {
    let mut sorted = z.to_vec();
    sorted.sort_by(|a, b| b.total_cmp(a));
    sorted
}

#[cfg(test)]
mod tests {
    use super::{super::toy, *};
    use crate::random::SplitMix;

    type Normalise<'a> = &'a dyn Fn(&[f64]) -> Vec<f64>;

    const Z: [f64; 4] = [1.0, 0.5, -0.2, 0.8];
    const HIDDEN: [f64; 4] = [1.0, f64::NEG_INFINITY, 0.5, 0.8];

    #[test]
    fn the_worked_examples() {
        toy::assert_near(&softmax(&Z), &[0.366_777, 0.222_461, 0.110_471, 0.300_291]);
        toy::assert_near(&entmax(&Z, 1.25), &[0.411_061, 0.208_472, 0.062_857, 0.317_610]);
        let expected = [0.466_199, 0.187_305, 0.006_854, 0.339_642];
        toy::assert_near(&entmax15(&Z), &expected);
        toy::assert_near(&entmax(&Z, 1.5), &expected);
        let expected = [0.566_667, 0.066_667, 0.0, 0.366_667];
        toy::assert_near(&sparsemax(&Z), &expected);
        toy::assert_near(&entmax(&Z, 2.0), &expected);
        toy::assert_near(&sparsemax(&[0.4, 1.4]), &[0.0, 1.0]);
        assert_eq!(support(&sparsemax(&[0.4, 1.4])), 1);
        toy::assert_near(&entmax15(&[0.4, 1.4]), &[0.169_281, 0.830_719]);
        toy::assert_near(&sparsemax(&[0.3, 0.1, 1.5]), &[0.0, 0.0, 1.0]);
        toy::assert_near(&entmax15(&[0.3, 0.1, 1.5]), &[0.103_014, 0.048_822, 0.848_164]);
        toy::assert_near(&sparsemax(&HIDDEN), &[0.566_667, 0.0, 0.066_667, 0.366_667]);
        toy::assert_near(&entmax15(&HIDDEN), &[0.468_954, 0.0, 0.189_053, 0.341_993]);
        toy::assert_near(&prox_tv(&Z, 0.1), &[0.9, 0.5, 0.0, 0.7]);
        toy::assert_near(&fusedmax(&Z, 0.1), &[0.533_333, 0.133_333, 0.0, 0.333_333]);
        toy::assert_near(&fusedmax(&[1.0, 2.1, 1.9], 0.1), &[0.0, 0.5, 0.5]);
        assert_eq!(sparsemax(&[f64::NEG_INFINITY; 3]), [0.0; 3]);
        assert!(sparsemax(&[f64::NAN, 1.0]).iter().all(|weight| weight.is_nan()));
    }

    #[test]
    fn temperatures_saturation_and_slides_of_the_worked_examples() {
        let tempered = |t: f64| softmax(&Z.map(|z| z / t));
        toy::assert_near(&tempered(0.5), &[0.469_722, 0.172_801, 0.042_612, 0.314_864]);
        toy::assert_near(&tempered(2.0), &[0.309_363, 0.240_932, 0.169_782, 0.279_923]);
        toy::assert_near(&[0.25, 0.5, 1.0, 1.5].map(|t| entmax(&[t, 0.0], 4.0)[0]), &[0.908_866, 1.0, 1.0, 1.0]);
        for t in [0.25, 0.5, 1.0, 1.5_f64] {
            toy::assert_near(&entmax(&[t, 0.0], 1.5)[..1], &[0.5 * (1.0 + t / 2.0 * (2.0 - t * t / 4.0).sqrt())]);
        }
        let first = [1.0, 0.0, 0.0];
        toy::assert_near(&entmax_gradient(&[0.99, 0.01, 0.0], 1.0, &first), &[0.0099, -0.0099, 0.0]);
        for p in [[0.99, 0.01, 0.0], [0.5, 0.5, 0.0]] {
            toy::assert_near(&entmax_gradient(&p, 2.0, &first), &[0.5, -0.5, 0.0]);
        }
    }

    #[test]
    fn a_sigmoid_weighs_every_key_by_itself() {
        let weights = sigmoid(&Z, SigmoidBias::Zero);
        toy::assert_near(&weights, &[0.731_059, 0.622_459, 0.450_166, 0.689_974]);
        toy::assert_near(&[weights.iter().sum::<f64>()], &[2.493_658]);
        let weights = sigmoid(&Z, SigmoidBias::MinusLogKeys);
        toy::assert_near(&weights, &[0.404_610, 0.291_875, 0.169_906, 0.357_486]);
        toy::assert_near(&[weights.iter().sum::<f64>()], &[1.223_876]);
        let slopes = gradient(Normalizer::Sigmoid(SigmoidBias::MinusLogKeys), &Z, &[1.0; 4]);
        toy::assert_near(&slopes, &[0.240_901, 0.206_684, 0.141_038, 0.229_690]);
        let three = sigmoid(&HIDDEN, SigmoidBias::MinusLogKeys);
        toy::assert_near(
            &three,
            &[1.0, f64::NEG_INFINITY, 0.5, 0.8].map(|z: f64| linear_chain::sigmoid(z - 3.0f64.ln())),
        );
    }

    #[test]
    fn one_key_is_drawn_as_often_as_softmax_says() {
        assert_eq!(argmax(&[0.5, 1.0, 1.0]), [0.0, 1.0, 0.0], "the first of equals");
        assert_eq!(argmax(&HIDDEN), [1.0, 0.0, 0.0, 0.0]);
        assert_eq!(SplitMix::of_words([0]), 16_294_208_416_658_607_535);
        assert_eq!(SplitMix::of_words([7, 0, 1, 2, 3, 0]), 603_155_829_460_549_369);
        let row = (HeadId { stack: StackKind::SelfAttention, layer: 1, head: 2 }, 3);
        let drawn = |z: &[f64], draw: u64, row: (HeadId, usize)| {
            let weights = sample(z, [7, draw], row);
            assert_eq!((support(&weights), weights.iter().sum::<f64>()), (1, 1.0));
            weights.iter().position(|weight| *weight == 1.0).unwrap()
        };
        assert_eq!([0, 1, 2, 3, 4, 5, 6, 7].map(|draw| drawn(&Z, draw, row)), [1, 0, 1, 3, 1, 3, 0, 3]);
        let mut times = [0; 4];
        (0..4000).for_each(|draw| times[drawn(&Z, draw, row)] += 1);
        assert_eq!(times, [1463, 874, 461, 1202], "softmax: 1467, 890, 442, 1201");
        // A key that is hidden leaves the noise of the others as it is.
        let without = [1.0, f64::NEG_INFINITY, -0.2, 0.8];
        let kept = (0..100).filter(|draw| drawn(&Z, *draw, row) != 1);
        assert!(kept.into_iter().all(|draw| drawn(&Z, draw, row) == drawn(&without, draw, row)));
        let elsewhere = (HeadId { stack: StackKind::Cross, ..row.0 }, row.1);
        assert!((0..100).any(|draw| drawn(&Z, draw, row) != drawn(&Z, draw, elsewhere)), "other stacks draw apart");
        assert_eq!(sample(&[f64::NEG_INFINITY; 2], [7, 0], row), [0.0; 2]);
    }

    #[test]
    fn weights_sum_to_one_and_do_not_change_with_a_constant() {
        let mut random = SplitMix::new(4);
        for _ in 0..50 {
            let z: Vec<f64> = (0..9).map(|_| 6.0 * random.unit() - 3.0).collect();
            let far: Vec<f64> = z.iter().map(|z| z + 1000.0).collect();
            let kinds: [Normalise<'_>; 5] =
                [&softmax, &sparsemax, &entmax15, &|z| entmax(z, 1.3), &|z| fusedmax(z, 0.4)];
            for normalise in kinds {
                let weights = normalise(&z);
                assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-9 && weights.iter().all(|w| *w >= 0.0));
                let moved = normalise(&far);
                assert!(weights.iter().zip(&moved).all(|(a, b)| (a - b).abs() < 1e-9));
            }
            // Between the neighbours α has its exact counterparts.
            let pairs = [(entmax(&z, 1.5), entmax15(&z)), (entmax(&z, 2.0), sparsemax(&z))];
            assert!(pairs.iter().all(|(a, b)| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-9)));
        }
    }

    /// Against all ways of fusing: the cost of what is found is not above that of nearby points.
    #[test]
    fn the_fused_scores_have_the_smallest_cost() {
        let cost = |z: &[f64], y: &[f64], lambda: f64| {
            let near: f64 = z.iter().zip(y).map(|(z, y)| 0.5 * (z - y).powi(2)).sum();
            near + lambda * y.windows(2).map(|pair| (pair[1] - pair[0]).abs()).sum::<f64>()
        };
        let mut random = SplitMix::new(6);
        for n in 1..12 {
            let z: Vec<f64> = (0..n).map(|_| 4.0 * random.unit()).collect();
            for lambda in [0.0, 0.05, 0.3, 5.0] {
                let y = prox_tv(&z, lambda);
                assert!((y.iter().sum::<f64>() - z.iter().sum::<f64>()).abs() < 1e-9, "the mean stays");
                let best = cost(&z, &y, lambda);
                for _ in 0..200 {
                    // Groups are moved as a whole, and single values.
                    let (at, to) = (random.below(n), random.below(n));
                    let step = 1e-3 * random.normal();
                    let mut other = y.clone();
                    other[at.min(to)..=at.max(to)].iter_mut().for_each(|value| *value += step);
                    assert!(cost(&z, &other, lambda) >= best - 1e-12);
                }
            }
        }
        toy::assert_near(&prox_tv(&Z, 0.0), &Z);
    }

    #[test]
    fn gradients_are_those_of_finite_differences() {
        let gradient = [0.3, -1.0, 0.5, 2.0];
        let along = |weights: Vec<f64>| weights.iter().zip(gradient).map(|(w, g)| w * g).sum::<f64>();
        let check = |normalise: Normalise<'_>, found: Vec<f64>| {
            for (key, slope) in found.into_iter().enumerate() {
                let moved = |by: f64| {
                    let mut z = Z;
                    z[key] += by;
                    along(normalise(&z))
                };
                let expected = (moved(1e-5) - moved(-1e-5)) / 2e-5;
                assert!((slope - expected).abs() < 1e-5, "{key}: {slope} against {expected}");
            }
        };
        check(&softmax, entmax_gradient(&softmax(&Z), 1.0, &gradient));
        check(&sparsemax, entmax_gradient(&sparsemax(&Z), 2.0, &gradient));
        check(&entmax15, entmax_gradient(&entmax15(&Z), 1.5, &gradient));
        check(&|z| entmax(z, 1.25), entmax_gradient(&entmax(&Z, 1.25), 1.25, &gradient));
        for lambda in [0.1, 0.45] {
            check(&|z| fusedmax(z, lambda), fusedmax_gradient(&Z, lambda, &gradient));
        }
    }
}
