//! Rank correlation of two orders of the same tokens.

use super::ExplainError;
use crate::projection::{Moments, ranks};

/// A rank correlation with the probability of one at least as far from 0 if both orders were independent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Kendall {
    /// τ-b, `-1..=1`.
    pub tau: f64,
    pub p: f64,
}

/// Up to so many values the distribution is counted out; above, only its far ends are.
const MAX_EXACT: usize = 33;

/// Kendall's τ-b (1945): `(C - D) / √((T - T_x)(T - T_y))` over all pairs, `T = n(n-1)/2`.
///
/// `p` is exact (Kendall 1970) without ties and for few values or nearly equal orders, and by the normal
/// distribution with the variance for ties otherwise: the rule of `SciPy`. None for fewer than three values,
/// where a side is constant, and where there is a value that is no number.
pub fn kendall(x: &[f64], y: &[f64]) -> Option<Kendall> {
    let n = x.len();
    if n < 3 || n != y.len() || x.iter().chain(y).any(|value| value.is_nan()) {
        return None;
    }
    let (n_concordant, n_discordant) = pairs(x, y);
    let (x, y) = (Ties::of(x), Ties::of(y));
    let total = (n * (n - 1) / 2) as f64;
    if x.pairs >= total || y.pairs >= total {
        return None;
    }
    let difference = n_concordant as f64 - n_discordant as f64;
    let tau = (difference / ((total - x.pairs) * (total - y.pairs)).sqrt()).clamp(-1.0, 1.0);
    let few = n_discordant.min(n_concordant);
    let p = if x.pairs == 0.0 && y.pairs == 0.0 && (n <= MAX_EXACT || few <= 1) {
        exact(n, few as usize)
    } else {
        let (n, m) = (n as f64, (n * (n - 1)) as f64);
        let variance = (m * (2.0 * n + 5.0) - x.second - y.second) / 18.0
            + 2.0 * x.pairs * y.pairs / m
            + x.first * y.first / (9.0 * m * (n - 2.0));
        erfc(difference.abs() / variance.sqrt() * std::f64::consts::FRAC_1_SQRT_2)
    };
    Some(Kendall { tau, p })
}

/// Spearman's ρ: Pearson's correlation of the ranks, equal values sharing the mean of theirs. None where
/// [`kendall`] has none.
///
/// The short formula with squared differences of ranks, which a published code uses, is wrong under ties.
pub fn spearman(x: &[f64], y: &[f64]) -> Option<f64> {
    if x.len() < 3 || x.len() != y.len() || x.iter().chain(y).any(|value| value.is_nan()) {
        return None;
    }
    let (mut order, mut of_x, mut of_y) = (Vec::new(), Vec::new(), Vec::new());
    ranks(x, &mut order, &mut of_x);
    ranks(y, &mut order, &mut of_y);
    Moments::of(&of_x, &of_y).correlation()
}

/// How far the first `k` of two orders are from each other, `0..=1` (Fagin et al. 2003, with p = ½).
///
/// Pairs of tokens that are in one of the lists count 1 where the lists contradict each other, ½ where both
/// are in one list alone, so that the other says nothing about them. The sum is divided by what two lists
/// without a common token have. Equal values stand in the order of the tokens.
pub fn top_k_distance(x: &[f64], y: &[f64], k: usize) -> Result<f64, ExplainError> {
    ExplainError::check_shape("the second order", &[x.len()], &[y.len()])?;
    let k = k.min(x.len());
    if k == 0 {
        return Err(ExplainError::Nothing("tokens to compare"));
    }
    let places = |values: &[f64]| {
        let mut place = vec![None; values.len()];
        for (rank, &token) in descending(values).iter().take(k).enumerate() {
            place[token] = Some(rank);
        }
        place
    };
    let (a, b) = (places(x), places(y));
    let listed: Vec<usize> = (0..x.len()).filter(|&token| a[token].is_some() || b[token].is_some()).collect();
    let mut distance = 0.0;
    for (nth, &i) in listed.iter().enumerate() {
        for &j in &listed[..nth] {
            distance += match (a[i], a[j], b[i], b[j]) {
                // Both are in one list alone.
                (Some(_), Some(_), None, None) | (None, None, Some(_), Some(_)) => 0.5,
                // A token outside a list stands behind all that are in it.
                (a_i, a_j, b_i, b_j) => {
                    let before = |i: Option<usize>, j: Option<usize>| i.unwrap_or(k) < j.unwrap_or(k);
                    f64::from(u8::from(before(a_i, a_j) != before(b_i, b_j)))
                }
            };
        }
    }
    let k = k as f64;
    // Two lists cannot be disjoint where there are fewer than 2k tokens, but the scale stays the same.
    Ok(distance / (k * k + 0.5 * k * (k - 1.0)))
}

/// Positions from the largest value to the smallest; equal ones in their order, NaN last.
pub fn descending(values: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    let key = |value: f64| if value.is_nan() { f64::NEG_INFINITY } else { value };
    // `partial_cmp` and not `total_cmp`, for which the two zeros differ.
    order.sort_by(|&a, &b| key(values[b]).partial_cmp(&key(values[a])).unwrap_or(std::cmp::Ordering::Equal));
    order
}

/// Pairs in which both sides rise together, and pairs in which one falls, in `n log n` (Knight 1966): in the
/// order of `x`, equal ones in that of `y`, what falls is what merge sort has to swap.
fn pairs(x: &[f64], y: &[f64]) -> (u64, u64) {
    // Adding 0 makes -0 the same as 0.
    let mut both: Vec<(f64, f64)> = x.iter().zip(y).map(|(x, y)| (x + 0.0, y + 0.0)).collect();
    both.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let within = |n: usize| (n * n.saturating_sub(1) / 2) as u64;
    let equal_x: u64 = both.chunk_by(|a, b| a.0 == b.0).map(|group| within(group.len())).sum();
    let equal_both: u64 = both.chunk_by(|a, b| a == b).map(|group| within(group.len())).sum();
    let mut values: Vec<f64> = both.into_iter().map(|(_, y)| y).collect();
    let n_discordant = sort_counting(&mut values, &mut Vec::new());
    let equal_y: u64 = values.chunk_by(|a, b| a == b).map(|group| within(group.len())).sum();
    (within(x.len()) + equal_both - equal_x - equal_y - n_discordant, n_discordant)
}

/// Sorts, and counts the pairs that stood the wrong way round.
fn sort_counting(values: &mut [f64], merged: &mut Vec<f64>) -> u64 {
    if values.len() < 2 {
        return 0;
    }
    let (left, right) = values.split_at_mut(values.len() / 2);
    let mut n_swaps = sort_counting(left, merged) + sort_counting(right, merged);
    merged.clear();
    let (mut i, mut j) = (0, 0);
    while i < left.len() && j < right.len() {
        if right[j] < left[i] {
            merged.push(right[j]);
            n_swaps += (left.len() - i) as u64;
            j += 1;
        } else {
            merged.push(left[i]);
            i += 1;
        }
    }
    merged.extend_from_slice(&left[i..]);
    merged.extend_from_slice(&right[j..]);
    values.copy_from_slice(merged);
    n_swaps
}

/// Sums over groups of `c` equal values.
struct Ties {
    /// Σ c(c-1)/2.
    pairs: f64,
    /// Σ c(c-1)(c-2).
    first: f64,
    /// Σ c(c-1)(2c+5).
    second: f64,
}

impl Ties {
    fn of(values: &[f64]) -> Self {
        let mut sorted = values.to_vec();
        sorted.sort_by(|a, b| (a + 0.0).total_cmp(&(b + 0.0)));
        let mut ties = Self { pairs: 0.0, first: 0.0, second: 0.0 };
        for group in sorted.chunk_by(|a, b| a == b) {
            let c = group.len() as f64;
            ties.pairs += c * (c - 1.0) / 2.0;
            ties.first += c * (c - 1.0) * (c - 2.0);
            ties.second += c * (c - 1.0) * (2.0 * c + 5.0);
        }
        ties
    }
}

/// The probability of at most `few` discordant pairs, or as few concordant ones, in a random order of `n`.
fn exact(n: usize, few: usize) -> f64 {
    if 4 * few == n * (n - 1) {
        return 1.0;
    }
    // Each further value adds 0..=j inversions, all equally probable.
    let mut inversions = vec![0.0; few + 1];
    inversions[0] = 1.0;
    for j in 2..=n {
        let mut window = 0.0;
        let before = inversions.clone();
        for (count, probability) in inversions.iter_mut().enumerate() {
            window += before[count];
            if let Some(left) = count.checked_sub(j) {
                window -= before[left];
            }
            *probability = window / j as f64;
        }
    }
    (2.0 * inversions.iter().sum::<f64>()).clamp(0.0, 1.0)
}

/// The complementary error function of `x ≥ 0`, to 1e-14.
fn erfc(x: f64) -> f64 {
    if !x.is_finite() {
        return 0.0;
    }
    let tail = (-x * x).exp() / std::f64::consts::PI.sqrt();
    if x < 2.5 {
        // erf as a series of positive terms.
        let (mut term, mut sum, mut n) = (x, x, 0.0);
        while term > sum * 1e-17 {
            n += 1.0;
            term *= 2.0 * x * x / (2.0 * n + 1.0);
            sum += term;
        }
        1.0 - 2.0 * tail * sum
    } else {
        // Continued fraction, from the far end.
        let fraction = (1..=60).rev().fold(x, |below, n| x + f64::from(n) * 0.5 / below);
        tail / fraction
    }
}

#[cfg(test)]
mod tests {
    use super::{super::toy, *};
    use crate::random::SplitMix;

    #[test]
    fn values_of_a_worked_example_and_of_scipy() {
        let of = |x: &[f64], y: &[f64]| kendall(x, y).unwrap();
        let alpha = [0.192_978, 0.429_481, 0.117_047, 0.260_493];
        let gradient = [0.039_516, 0.134_503, 0.026_505, 0.137_431];
        let left_out = [0.032_850, 0.233_876, 0.021_040, 0.165_996];
        let found = of(&alpha, &gradient);
        toy::assert_near(&[found.tau, found.p], &[0.666_667, 0.333_333]);
        let found = of(&alpha, &left_out);
        toy::assert_near(&[found.tau, found.p], &[1.0, 0.083_333]);
        toy::assert_near(&[of(&gradient, &left_out).tau], &[0.666_667]);
        let tied = of(&[0.1, 0.4, 0.2, 0.2, 0.1], &[1.0, 3.0, 2.0, 2.0, 4.0]);
        toy::assert_near(&[tied.tau, tied.p], &[0.235_702, 0.591_208]);
        // scipy.stats.kendalltau and spearmanr: exact, normal with 40 values, with ties.
        let wave = |n: usize, of: fn(f64) -> f64| (0..n).map(|i| of(i as f64)).collect::<Vec<f64>>();
        for (n, divisor, tau, p, rho) in SCIPY {
            let x = wave(n, |i| (i * 0.7).sin());
            let y: Vec<f64> = wave(n, |i| (i * 1.3).cos() + i * 0.02);
            let round = |v: &f64| if divisor > 0.0 { (v * divisor).round() } else { *v };
            let (x, y): (Vec<f64>, Vec<f64>) = (x.iter().map(round).collect(), y.iter().map(round).collect());
            let found = of(&x, &y);
            assert!((found.tau - tau).abs() < 1e-12 && (found.p - p).abs() < 1e-12, "{n}: {found:?}");
            assert!((spearman(&x, &y).unwrap() - rho).abs() < 1e-12);
        }
    }

    #[test]
    fn correlations_do_not_change_with_scale_and_turn_with_the_sign() {
        let mut random = SplitMix::new(9);
        let mut values = || (0..17).map(|_| (random.unit() * 8.0).floor()).collect::<Vec<f64>>();
        for _ in 0..20 {
            let (x, y) = (values(), values());
            let squares: Vec<f64> = x.iter().map(|v| v * v * 3.0 - 1.0).collect();
            let turned: Vec<f64> = y.iter().map(|v| -v).collect();
            let (plain, scaled, flipped) = (kendall(&x, &y), kendall(&squares, &y), kendall(&x, &turned));
            assert_eq!(plain, scaled);
            assert_eq!(plain, kendall(&y, &x));
            assert!((plain.unwrap().tau + flipped.unwrap().tau).abs() < 1e-15);
            assert!((spearman(&x, &y).unwrap() + spearman(&x, &turned).unwrap()).abs() < 1e-12);
        }
    }

    /// By the definition, pair by pair, with many ties and both zeros.
    #[test]
    fn pairs_are_counted_as_if_each_were_looked_at() {
        let mut random = SplitMix::new(4);
        for n in [2, 3, 7, 64, 301] {
            let mut values = || (0..n).map(|_| (random.unit() * 9.0).floor() - 4.0).map(|v| -v).collect::<Vec<_>>();
            let (x, y) = (values(), values());
            let (mut n_concordant, mut n_discordant) = (0, 0);
            for (i, j) in (0..n).flat_map(|i| (0..i).map(move |j| (i, j))) {
                let product = (x[i] - x[j]) * (y[i] - y[j]);
                n_concordant += u64::from(product > 0.0);
                n_discordant += u64::from(product < 0.0);
            }
            assert_eq!(pairs(&x, &y), (n_concordant, n_discordant));
        }
    }

    #[test]
    fn no_correlation_where_there_is_none_to_measure() {
        assert_eq!(kendall(&[1.0, 2.0], &[1.0, 2.0]), None);
        assert_eq!(kendall(&[1.0; 4], &[1.0, 2.0, 3.0, 4.0]), None);
        assert_eq!(kendall(&[1.0, f64::NAN, 2.0], &[1.0, 2.0, 3.0]), None);
        assert_eq!(spearman(&[1.0; 4], &[1.0, 2.0, 3.0, 4.0]), None);
    }

    #[test]
    fn top_lists_agree_not_at_all_or_in_part() {
        let x = [4.0, 3.0, 2.0, 1.0];
        assert_eq!(top_k_distance(&x, &x, 3).unwrap(), 0.0);
        assert_eq!(top_k_distance(&x, &[1.0, 2.0, 3.0, 4.0], 2).unwrap(), 1.0);
        // 0 1 2 against 0 2 3: 1 and 2 contradict each other, and so do 1 and 3.
        assert_eq!(top_k_distance(&x, &[4.0, 1.0, 3.0, 2.0], 3).unwrap(), 2.0 / 12.0);
        assert!(top_k_distance(&x, &[1.0], 2).is_err());
    }

    #[test]
    fn equal_values_keep_their_order() {
        assert_eq!(descending(&[0.0, 1.0, -0.0, f64::NAN, 1.0]), [1, 4, 0, 2, 3]);
    }

    #[test]
    fn the_normal_tail_is_exact() {
        // math.erfc of Python.
        for (x, expected) in [(0.1, ERFC[0]), (1.0, ERFC[1]), (2.6, ERFC[2]), (5.0, ERFC[3])] {
            assert!((erfc(x) / expected - 1.0).abs() < 1e-12, "{x}: {}", erfc(x));
        }
    }

    /// Values, divisor of a grid, τ, p, ρ.
    const SCIPY: [(usize, f64, f64, f64, f64); 4] = [
        (12, 0.0, -0.090_909_090_909_090_9, 0.737_305_524_657_955_2, -0.083_916_083_916_083_92),
        (33, 0.0, 0.015_151_515_151_515_154, 0.914_330_980_951_065_6, 0.013_368_983_957_219_253),
        (40, 0.0, -0.005_128_205_128_205_129, 0.962_828_733_775_305_4, -0.000_375_234_521_575_985),
        (25, 3.0, -0.154_149_735_545_998_56, 0.332_671_252_100_066_1, -0.184_759_932_179_177_72),
    ];
    const ERFC: [f64; 4] =
        [0.887_537_083_981_715_2, 0.157_299_207_050_285_13, 0.000_236_034_416_529_349_08, 1.537_459_794_428_035_1e-12];
}
