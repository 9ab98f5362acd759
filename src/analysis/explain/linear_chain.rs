//! Keys that are chosen together, as a linear chain: each is chosen or not, and neighbours that are both chosen count
//! for `w` more, or less.
//!
//! ```text
//! p(c) ∝ exp(Σ s_i c_i + w Σ c_i c_(i+1)),  c_i ∈ {0, 1}
//! ```
//!
//! Every score has to be finite.

use super::normalizers::{prox_tv, softmax};

/// Drawn scores that are nearer than this are of one group.
const SAME: f64 = 1e-9;

/// `μ_i = p(c_i = 1)` (Kim et al. 2017), by messages from both ends.
pub fn marginals(s: &[f64], w: f64) -> Vec<f64> {
    let [left, right] = messages(s, w);
    left.iter().zip(right).map(|(left, right)| sigmoid(left + right)).collect()
}

/// The gradient of [`marginals`] by the scores: the covariances of the choices times `gradient`.
pub fn marginals_gradient(s: &[f64], w: f64, gradient: &[f64]) -> Vec<f64> {
    let mu = marginals(s, w);
    gains(s, w, gradient).iter().zip(mu).map(|(gain, mu)| gain * mu * (1.0 - mu)).collect()
}

/// [`marginals`] divided by their sum.
pub fn shares(s: &[f64], w: f64) -> Vec<f64> {
    let [left, right] = messages(s, w);
    // Marginals may be too small for numbers; their quotients are not.
    softmax(&left.iter().zip(right).map(|(left, right)| -softplus(-(left + right))).collect::<Vec<f64>>())
}

/// The gradient of [`shares`] by the scores.
pub fn shares_gradient(s: &[f64], w: f64, gradient: &[f64]) -> Vec<f64> {
    let (mu, p) = (marginals(s, w), shares(s, w));
    let mean: f64 = p.iter().zip(gradient).map(|(p, g)| p * g).sum();
    let less: Vec<f64> = gradient.iter().map(|g| g - mean).collect();
    gains(s, w, &less).iter().zip(mu).zip(p).map(|((gain, mu), p)| gain * p * (1.0 - mu)).collect()
}

/// The logarithms of the odds of each choice: from it and what is before it, and from what is behind it.
fn messages(s: &[f64], w: f64) -> [Vec<f64>; 2] {
    // What odds of a neighbour are worth to a choice.
    let passed = |odds: f64| softplus(odds + w) - softplus(odds);
    let (mut left, mut right) = (s.to_vec(), vec![0.0; s.len()]);
    for at in 1..s.len() {
        left[at] += passed(left[at - 1]);
        let behind = s.len() - at;
        right[behind - 1] = passed(s[behind] + right[behind]);
    }
    [left, right]
}

/// How much larger `Σ g_j c_j` is expected to be where a key is chosen than where it is not.
fn gains(s: &[f64], w: f64, g: &[f64]) -> Vec<f64> {
    let [left, right] = messages(s, w);
    let n = s.len();
    let mut gains = g.to_vec();
    // Of one side: what is expected of it where the key next to it is not chosen, and where it is.
    let further = |odds: f64, at: usize, [without, with]: [f64; 2]| {
        [odds, odds + w].map(|odds| without + sigmoid(odds) * (g[at] + with - without))
    };
    let (mut before, mut behind) = ([0.0; 2], [0.0; 2]);
    for at in 1..n {
        before = further(left[at - 1], at - 1, before);
        gains[at] += before[1] - before[0];
        let from = n - at;
        behind = further(s[from] + right[from], from, behind);
        gains[from - 1] += behind[1] - behind[0];
    }
    gains
}

/// The choices nearest to the scores (Niculae et al. 2018): `argmax s·μ + w Σ ν_i - ½‖μ‖²` over the probabilities `μ_i`
/// that keys, and `ν_i` that neighbours, are chosen by some distribution.
pub fn sparse_marginals(s: &[f64], w: f64) -> Vec<f64> {
    let drawn = drawn(s, w);
    (0..s.len()).map(|at| turned(w, at, drawn[at].clamp(0.0, 1.0))).collect()
}

/// The gradient of [`sparse_marginals`] by the scores: what is drawn together shares it, what is 0 or 1 has none.
pub fn sparse_marginals_gradient(s: &[f64], w: f64, gradient: &[f64]) -> Vec<f64> {
    let sign = |at: usize| if is_turned(w, at) { -1.0 } else { 1.0 };
    let mut by_scores = Vec::with_capacity(s.len());
    for group in drawn(s, w).chunk_by(|a, b| (a - b).abs() < SAME) {
        let keys = by_scores.len()..by_scores.len() + group.len();
        let inside = group[0] > 0.0 && group[0] < 1.0;
        let sum: f64 = keys.clone().map(|at| sign(at) * gradient[at]).sum();
        let mean = if inside { sum / group.len() as f64 } else { 0.0 };
        by_scores.extend(keys.map(|at| sign(at) * mean));
    }
    by_scores
}

/// Scores drawn to each other, before they are cut to probabilities.
///
/// `ν_i` lies between `max(0, μ_i + μ_(i+1) - 1)` and `min(μ_i, μ_(i+1))`. For `w > 0` it is the upper end, which is
/// `(μ_i + μ_(i+1) - |μ_i - μ_(i+1)|) / 2`: half of `w` is added for each neighbour, and the rest is the penalty of
/// [`prox_tv`]. For `w < 0` it is the lower end, which is the same of every other `1 - μ_i`.
fn drawn(s: &[f64], w: f64) -> Vec<f64> {
    let n = s.len();
    let neighbours = |at: usize| f64::from(u8::from(at > 0)) + f64::from(u8::from(at + 1 < n));
    let z: Vec<f64> = (0..n).map(|at| turned(w, at, s[at] + 0.5 * w * neighbours(at))).collect();
    prox_tv(&z, 0.5 * w.abs())
}

/// Whether the probability that a key is not chosen stands for it.
const fn is_turned(w: f64, at: usize) -> bool {
    w < 0.0 && at % 2 == 1
}

fn turned(w: f64, at: usize, value: f64) -> f64 {
    if is_turned(w, at) { 1.0 - value } else { value }
}

/// `1 / (1 + exp(-x))`.
pub fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// `ln(1 + exp(x))`.
fn softplus(x: f64) -> f64 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}

#[cfg(test)]
mod tests {
    use super::{super::toy, *};
    use crate::random::SplitMix;

    const S: [f64; 4] = [1.2, 0.3, -0.5, 0.8];
    const W: f64 = 0.7;

    /// Every choice of `n` keys.
    fn choices(n: usize) -> impl Iterator<Item = Vec<f64>> {
        (0..1u32 << n).map(move |bits| (0..n).map(|at| f64::from((bits >> at) & 1)).collect())
    }

    fn pairs(choice: &[f64]) -> f64 {
        choice.windows(2).map(|pair| pair[0] * pair[1]).sum()
    }

    fn dot(a: &[f64], b: &[f64]) -> f64 {
        a.iter().zip(b).map(|(a, b)| a * b).sum()
    }

    fn numbers(random: &mut SplitMix, n: usize, size: f64) -> Vec<f64> {
        (0..n).map(|_| size * random.normal()).collect()
    }

    fn unit(n: usize, at: usize) -> Vec<f64> {
        (0..n).map(|key| f64::from(u8::from(key == at))).collect()
    }

    #[test]
    fn marginals_of_the_worked_example() {
        let mu = marginals(&S, W);
        toy::assert_near(&mu, &[0.848_032_29, 0.784_354_97, 0.638_797_26, 0.771_485_01]);
        toy::assert_near(&[mu.iter().sum::<f64>()], &[3.042_669_53]);
        toy::assert_near(&shares(&S, W), &[0.278_713_24, 0.257_785_13, 0.209_946_31, 0.253_555_31]);
        toy::assert_near(&marginals(&S, 0.0), &S.map(sigmoid));
        toy::assert_near(&marginals(&S, 0.0), &[0.768_524_78, 0.574_442_52, 0.377_540_67, 0.689_974_48]);
        let row = |at: usize| marginals_gradient(&S, W, &unit(4, at));
        toy::assert_near(&row(0), &[0.128_873_52, 0.017_145_40, 0.002_868_36, 0.000_366_00]);
        toy::assert_near(&row(1), &[0.017_145_40, 0.169_142_25, 0.028_296_87, 0.003_610_68]);
        let by_weight: Vec<f64> =
            marginals(&S, W + 1e-5).iter().zip(marginals(&S, W - 1e-5)).map(|(a, b)| (a - b) / 2e-5).collect();
        toy::assert_near(&by_weight, &[0.117_604_22, 0.284_419_89, 0.404_457_82, 0.146_883_16]);
        let log_sum = choices(4).map(|c| (dot(&S, &c) + W * pairs(&c)).exp()).sum::<f64>().ln();
        toy::assert_near(&[log_sum], &[4.876_923_09]);
    }

    #[test]
    fn marginals_are_those_of_all_choices() {
        let mut random = SplitMix::new(3);
        for n in 1..=8 {
            for w in [-2.0, -0.4, 0.0, 0.7, 3.0] {
                let (s, g) = (numbers(&mut random, n, 1.5), numbers(&mut random, n, 1.0));
                let of_all: Vec<(f64, Vec<f64>)> =
                    choices(n).map(|c| ((dot(&s, &c) + w * pairs(&c)).exp(), c)).collect();
                let total: f64 = of_all.iter().map(|(power, _)| power).sum();
                let mean = |of: &dyn Fn(&[f64]) -> f64| of_all.iter().map(|(p, c)| p * of(c)).sum::<f64>() / total;
                let mu: Vec<f64> = (0..n).map(|at| mean(&|c| c[at])).collect();
                toy::assert_near(&marginals(&s, w), &mu);
                let covariances: Vec<f64> =
                    (0..n).map(|at| mean(&|c| c[at] * dot(&g, c)) - mu[at] * mean(&|c| dot(&g, c))).collect();
                toy::assert_near(&marginals_gradient(&s, w, &g), &covariances);
            }
        }
    }

    #[test]
    fn shares_of_marginals_that_are_too_small_for_numbers_still_sum_to_one() {
        let far: Vec<f64> = S.iter().map(|s| s - 2000.0).collect();
        assert!((shares(&far, W).iter().sum::<f64>() - 1.0).abs() < 1e-9);
        assert!(shares_gradient(&far, W, &[0.3, -1.0, 0.5, 2.0]).iter().all(|slope| slope.is_finite()));
    }

    #[test]
    fn sparse_marginals_of_the_worked_examples() {
        toy::assert_near(&sparse_marginals(&S, 0.0), &[1.0, 0.3, 0.0, 0.8]);
        toy::assert_near(&sparse_marginals(&S, W), &[1.0, 1.0, 0.85, 0.85]);
        let s = [0.2, 0.1, -0.3, 0.4];
        toy::assert_near(&sparse_marginals(&s, 0.5), &[0.475; 4]);
        for at in 0..4 {
            toy::assert_near(&sparse_marginals_gradient(&s, 0.5, &unit(4, at)), &[0.25; 4]);
        }
        let moved = [0.5 + 1e-5, 0.5 - 1e-5].map(|w| sparse_marginals(&s, w)[2]);
        toy::assert_near(&[(moved[0] - moved[1]) / 2e-5], &[0.75]);
        // A kink: the slope of the second by w is 1 from below and 0 from above.
        let slope = |w: f64| (sparse_marginals(&S, w + 1e-6)[1] - sparse_marginals(&S, w)[1]) / 1e-6;
        assert!((slope(W - 2e-6) - 1.0).abs() < 1e-6 && slope(W).abs() < 1e-6);
    }

    /// What is best among all distributions over choices: no choice has a slope above that of the mean of them
    /// (Niculae et al. 2018), where pairs of the best distribution are told by the ends of their range.
    #[test]
    fn no_choice_is_better_than_the_sparse_marginals() {
        let mut random = SplitMix::new(8);
        for n in 1..=8 {
            for w in [-1.5, -0.3, 0.0, 0.5, 2.0] {
                let s = numbers(&mut random, n, 0.8);
                let mu = sparse_marginals(&s, w);
                let both = |pair: &[f64]| {
                    if w < 0.0 { (pair[0] + pair[1] - 1.0).max(0.0) } else { pair[0].min(pair[1]) }
                };
                let joint: f64 = mu.windows(2).map(both).sum();
                let slopes: Vec<f64> = s.iter().zip(&mu).map(|(s, mu)| s - mu).collect();
                let here = dot(&slopes, &mu) + w * joint;
                for choice in choices(n) {
                    let there = dot(&slopes, &choice) + w * pairs(&choice);
                    assert!(there <= here + 1e-9, "{choice:?} is better than {mu:?} by {}", there - here);
                }
            }
        }
    }

    #[test]
    fn gradients_are_those_of_finite_differences() {
        type Map = fn(&[f64], f64) -> Vec<f64>;
        type Gradient = fn(&[f64], f64, &[f64]) -> Vec<f64>;
        let maps: [(Map, Gradient); 3] =
            [(marginals, marginals_gradient), (shares, shares_gradient), (sparse_marginals, sparse_marginals_gradient)];
        let mut random = SplitMix::new(5);
        for (nth, w) in [-0.9, -0.35, 0.25, 0.6].into_iter().enumerate() {
            let (s, g) = (numbers(&mut random, 6 + nth, 0.6), numbers(&mut random, 6 + nth, 1.0));
            for (kind, (map, gradient)) in maps.iter().enumerate() {
                let found = gradient(&s, w, &g);
                for at in 0..s.len() {
                    let along = |by: f64| {
                        let mut moved = s.clone();
                        moved[at] += by;
                        dot(&g, &map(&moved, w))
                    };
                    let slope = (along(1e-6) - along(-1e-6)) / 2e-6;
                    assert!((slope - found[at]).abs() < 1e-6, "{kind}, {w}, {at}: {slope} and {}", found[at]);
                }
            }
        }
    }
}
