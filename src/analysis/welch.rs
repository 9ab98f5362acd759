//! Two samples held against each other: effect size, Welch's test, and p-values corrected for how many there are.

use serde::{Deserialize, Serialize};

/// What is known of a sample: its size, mean and variance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    pub n: u64,
    pub mean: f64,
    /// Divided by `n - 1`.
    pub variance: f64,
}

/// Two samples held against each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contrast {
    /// Mean of the second less that of the first.
    pub difference: f64,
    /// Cohen's d: the difference in standard deviations of both together.
    pub d: f64,
    /// Welch's t, which takes no equal variances for granted, with the degrees of freedom after Welch and Satterthwaite.
    pub t: f64,
    pub freedom: f64,
    /// Two-sided.
    pub p: f64,
}

/// How p-values are corrected for how many there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Correction {
    /// No single false one among them, but for the level that they are held against (Holm 1979).
    #[default]
    Holm,
    /// A share of false ones among those below the level (Benjamini and Hochberg 1995).
    BenjaminiHochberg,
}

vocabulary! {
    Correction: name, title;
    Holm("holm", "Holm"),
    BenjaminiHochberg("benjamini-hochberg", "Benjamini–Hochberg"),
}

impl Contrast {
    /// The second sample less the first; none where one of them has fewer than two values, or none of them varies.
    pub fn of(a: Sample, b: Sample) -> Option<Self> {
        if a.n < 2 || b.n < 2 {
            return None;
        }
        let [n_a, n_b] = [a.n as f64, b.n as f64];
        let difference = b.mean - a.mean;
        let pooled = ((n_a - 1.0) * a.variance + (n_b - 1.0) * b.variance) / (n_a + n_b - 2.0);
        let [of_a, of_b] = [a.variance / n_a, b.variance / n_b];
        let error = of_a + of_b;
        if pooled <= 0.0 || error <= 0.0 {
            return None;
        }
        let t = difference / error.sqrt();
        let freedom = error * error / (of_a * of_a / (n_a - 1.0) + of_b * of_b / (n_b - 1.0));
        Some(Self { difference, d: difference / pooled.sqrt(), t, freedom, p: two_sided(t, freedom) })
    }
}

impl Correction {
    /// Corrected p-values, at most 1, in the order in which they were given.
    pub fn correct(self, p: &[f64]) -> Vec<f64> {
        let n = p.len();
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by(|a, b| p[*a].total_cmp(&p[*b]).then(a.cmp(b)));
        let mut corrected = vec![1.0; n];
        match self {
            Self::Holm => {
                let mut least = 0.0f64;
                for (rank, at) in order.into_iter().enumerate() {
                    least = least.max((n - rank) as f64 * p[at]).min(1.0);
                    corrected[at] = least;
                }
            }
            Self::BenjaminiHochberg => {
                let mut most = 1.0f64;
                for (rank, at) in order.into_iter().enumerate().rev() {
                    most = most.min(n as f64 / (rank + 1) as f64 * p[at]);
                    corrected[at] = most;
                }
            }
        }
        corrected
    }
}

/// The probability that a t of so many degrees of freedom is at least as far from 0.
fn two_sided(t: f64, freedom: f64) -> f64 {
    incomplete_beta(freedom / 2.0, 0.5, freedom / (freedom + t * t), t * t / (freedom + t * t))
}

/// The regularised incomplete beta function of `x`, with `y = 1 - x` as exact as it is known (Press et al. 2007, 6.4).
fn incomplete_beta(a: f64, b: f64, x: f64, y: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if y <= 0.0 {
        return 1.0;
    }
    let front = (log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * x.ln() + b * y.ln()).exp();
    if x < (a + 1.0) / (a + b + 2.0) {
        front * continued_fraction(a, b, x) / a
    } else {
        1.0 - front * continued_fraction(b, a, y) / b
    }
}

/// The continued fraction of the incomplete beta function, by Lentz's method.
fn continued_fraction(a: f64, b: f64, x: f64) -> f64 {
    const MOST_STEPS: usize = 10_000;
    const TINY: f64 = 1e-300;
    let kept = |value: f64| if value.abs() < TINY { TINY } else { value };
    let (mut c, mut d) = (1.0, 1.0 / kept(1.0 - (a + b) * x / (a + 1.0)));
    let mut fraction = d;
    for step in 1..MOST_STEPS {
        let m = step as f64;
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let before = fraction;
        for term in [even, odd] {
            d = 1.0 / kept(1.0 + term * d);
            c = kept(1.0 + term / c);
            fraction *= c * d;
        }
        if (fraction - before).abs() <= 1e-16 * fraction.abs() {
            break;
        }
    }
    fraction
}

/// The logarithm of the gamma function of a positive number (Lanczos, with nine terms).
fn log_gamma(x: f64) -> f64 {
    const TERMS: [f64; 8] = [
        676.520_368_121_885_1,
        -1_259.139_216_722_402_8,
        771.323_428_777_653_1,
        -176.615_029_162_140_6,
        12.507_343_278_686_905,
        -0.138_571_095_265_720_12,
        9.984_369_578_019_572e-6,
        1.505_632_735_149_311_6e-7,
    ];
    if x < 0.5 {
        // The reflection of the function.
        return (std::f64::consts::PI / (std::f64::consts::PI * x).sin()).ln() - log_gamma(1.0 - x);
    }
    let x = x - 1.0;
    let terms = TERMS.iter().enumerate().map(|(nth, term)| term / (x + nth as f64 + 1.0));
    let sum = 0.999_999_999_999_809_9 + terms.sum::<f64>();
    let t = x + 7.5;
    0.5 * (2.0 * std::f64::consts::PI).ln() + (x + 0.5) * t.ln() - t + sum.ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(values: &[f64]) -> Sample {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
        Sample { n: values.len() as u64, mean, variance }
    }

    #[test]
    fn contrasts_are_those_of_scipy() {
        // Of scipy 1.17.1: t and p of its independent test without equal variances; d by its definition, with numpy.
        let line = |n: usize, from: f64| (0..n).map(|at| from + at as f64 / (n - 1) as f64).collect::<Vec<f64>>();
        let a = vec![0.12, 0.31, 0.22, 0.41, 0.19, 0.27];
        let cases = [
            (
                (a.clone(), vec![0.52, 0.61, 0.38, 0.72, 0.49]),
                [4.117_332_075_288_713, 7.581_961_042_106_15, 0.003_767_258_116_482_249, 2.553_100_486_458_297],
            ),
            (
                (a, vec![0.13, 0.30, 0.25, 0.40]),
                [0.239_374_231_946_567_6, 6.050_723_644_942_177, 0.818_717_973_214_459_4, 0.158_252_414_505_179_82],
            ),
            (
                (vec![1.0, 2.0], vec![30.0, 31.0, 33.0]),
                [29.427_418_727_658_956, 2.894_291_754_756_871, 0.000_112_091_635_798_468_7, 22.733_022_733_034_1],
            ),
            (
                (line(60, 0.0), line(45, 0.5)),
                [8.524_513_077_983_505, 94.500_891_054_842_2, 2.418_424_919_693_130_7e-13, 1.683_092_417_175_818_6],
            ),
        ];
        for ((a, b), expected) in cases {
            let Contrast { d, t, freedom, p, .. } = Contrast::of(sample(&a), sample(&b)).unwrap();
            for (found, expected) in [t, freedom, p, d].into_iter().zip(expected) {
                assert!((found - expected).abs() < 1e-9 * f64::abs(expected).max(1e-3), "{found} {expected}");
            }
        }
    }

    #[test]
    fn corrected_values_are_those_of_scipy_and_r() {
        let p = [0.01, 0.04, 0.03, 0.005, 0.5, 0.03];
        // R's p.adjust(p, "holm"), and scipy.stats.false_discovery_control(p).
        let holm = [0.05, 0.12, 0.12, 0.03, 0.5, 0.12];
        let hochberg = [0.03, 0.048, 0.045, 0.03, 0.5, 0.045];
        for (found, expected) in Correction::Holm.correct(&p).iter().zip(holm) {
            assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        }
        for (found, expected) in Correction::BenjaminiHochberg.correct(&p).iter().zip(hochberg) {
            assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        }
        assert!(Correction::Holm.correct(&[]).is_empty());
    }

    #[test]
    fn samples_that_do_not_vary_or_are_single_have_no_contrast() {
        let still = sample(&[1.0, 1.0, 1.0]);
        assert_eq!(Contrast::of(still, still), None);
        assert_eq!(Contrast::of(Sample { n: 1, mean: 1.0, variance: 0.0 }, sample(&[1.0, 2.0])), None);
        let same = Contrast::of(sample(&[1.0, 2.0]), sample(&[1.0, 2.0])).unwrap();
        assert!(same.p == 1.0 && same.d == 0.0);
    }
}
