//! Divergences between two distributions. Logarithms are natural, so that [`jsd`] is at most `ln 2`.

/// What is added inside logarithms, as in the code of Jain and Wallace (2019).
const SMALL: f64 = 1e-10;

/// Total variation distance `½ Σ |p - q|`, `0..=1`.
pub fn tvd(p: &[f64], q: &[f64]) -> f64 {
    0.5 * p.iter().zip(q).map(|(p, q)| (p - q).abs()).sum::<f64>()
}

/// Total variation distance of a yes or no with probabilities `p` and `q` of yes.
///
/// Both outcomes count: a published code takes half of it, because it looks at the one output there is.
pub fn tvd_of_yes(p: f64, q: f64) -> f64 {
    (p - q).abs()
}

/// Kullback–Leibler divergence `Σ p ln(p / q)` in nats.
pub fn kl(p: &[f64], q: &[f64]) -> f64 {
    p.iter().zip(q).map(|(p, q)| p.clamp(0.0, 1.0) * (log(*p) - log(*q))).sum()
}

/// Jensen–Shannon divergence in nats, `0..=ln 2`: the mean of both [`kl`] to the distribution in the middle.
pub fn jsd(p: &[f64], q: &[f64]) -> f64 {
    let middle: Vec<f64> = p.iter().zip(q).map(|(p, q)| f64::midpoint(*p, *q)).collect();
    0.5 * kl(p, &middle) + 0.5 * kl(q, &middle)
}

/// The gradient of [`jsd`] by `p`.
pub fn jsd_gradient(p: &[f64], q: &[f64]) -> Vec<f64> {
    let of_entry = |(p, q): (&f64, &f64)| {
        let middle = f64::midpoint(*p, *q);
        0.5 * (log(*p) - log(middle) + p / (p + SMALL) - middle / (middle + SMALL))
    };
    p.iter().zip(q).map(of_entry).collect()
}

/// The largest [`jsd`] that any distribution has from `p`: that of one with everything on the least entry of `p`, as
/// [`jsd`] is convex. It comes near `ln 2` only where some entry is near 0.
pub fn reachable_jsd(p: &[f64]) -> f64 {
    let least = p.iter().copied().fold(1.0, f64::min).max(0.0);
    let own = if least > 0.0 { least * (2.0 * least / (1.0 + least)).ln() } else { 0.0 };
    0.5 * (std::f64::consts::LN_2 * (1.0 - least) + own + (2.0 / (1.0 + least)).ln())
}

/// Entropy `-Σ p ln p` in nats.
pub fn entropy(p: &[f64]) -> f64 {
    -p.iter().filter(|p| **p > 0.0).map(|p| p * p.ln()).sum::<f64>()
}

/// [`entropy`] as a fraction of the largest there can be with `n_visible` keys, `ln n_visible`; none where a
/// single key is visible, so that there is no choice.
pub fn entropy_fraction(p: &[f64], n_visible: usize) -> Option<f64> {
    (n_visible > 1).then(|| entropy(p) / (n_visible as f64).ln())
}

fn log(p: f64) -> f64 {
    (p.clamp(0.0, 1.0) + SMALL).ln()
}

#[cfg(test)]
mod tests {
    use super::{super::toy, *};

    const P: [f64; 3] = [0.7, 0.2, 0.1];
    const Q: [f64; 3] = [0.5, 0.3, 0.2];

    #[test]
    fn the_worked_example() {
        toy::assert_near(&[tvd(&P, &Q), jsd(&P, &Q), kl(&P, &Q)], &[0.2, 0.021_901, 0.085_123]);
        assert!((jsd(&[1.0, 0.0], &[0.0, 1.0]) - std::f64::consts::LN_2).abs() < 1e-8);
        // The loss of a published adversary, whose total variation distance is half of ours.
        let loss = 0.5 * tvd_of_yes(0.62, 0.66) - 0.1 * kl(&P, &Q);
        toy::assert_near(&[loss], &[0.011_488]);
    }

    #[test]
    fn numbers_of_scipy_and_numpy() {
        let q = [0.1, 0.3, 0.6];
        toy::assert_near(&[tvd(&P, &q), jsd(&P, &q), kl(&P, &q), kl(&q, &P)], &[0.6, 0.230_645, 1.101_868, 1.002_104]);
    }

    #[test]
    fn nothing_is_farther_than_what_can_be_reached() {
        toy::assert_near(&[reachable_jsd(&P), reachable_jsd(&[1.0, 0.0])], &[0.525_597, std::f64::consts::LN_2]);
        assert!((reachable_jsd(&P) - jsd(&P, &[0.0, 0.0, 1.0])).abs() < 1e-8);
        let mut random = crate::random::SplitMix::new(1);
        for _ in 0..2000 {
            let sizes: [f64; 3] = std::array::from_fn(|_| -(1.0 - random.unit()).ln() + f64::EPSILON);
            let q = sizes.map(|size| size / sizes.iter().sum::<f64>());
            assert!(jsd(&P, &q) < reachable_jsd(&P));
        }
    }

    #[test]
    fn the_gradient_is_that_of_finite_differences() {
        for (nth, slope) in jsd_gradient(&P, &Q).into_iter().enumerate() {
            let moved = |by: f64| {
                let mut p = P;
                p[nth] += by;
                jsd(&p, &Q)
            };
            assert!((slope - (moved(1e-6) - moved(-1e-6)) / 2e-6).abs() < 1e-8);
        }
    }

    #[test]
    fn entropy_knows_its_maximum() {
        assert_eq!(entropy_fraction(&[0.25; 4], 4), Some(1.0));
        assert_eq!(entropy_fraction(&[1.0], 1), None);
        toy::assert_near(&[entropy(&[0.5, 0.2, 0.1, 0.1, 0.1])], &[1.359_237]);
    }
}
