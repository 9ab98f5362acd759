//! The curve `1 / (1 + a d^2b)` that comes nearest to what `min_dist` and `spread` ask for.

use crate::projection::ProjectionError;

/// Similarity in the layout as a function of distance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Curve {
    pub a: f64,
    pub b: f64,
}

/// Distances at which the curve is held against its target, as in umap-learn.
const SAMPLES: usize = 300;

impl Curve {
    /// Least squares against 1 up to `min_dist` and `exp(−(d − min_dist) / spread)` beyond, on 0 … 3 `spread`
    /// (Levenberg, 1944; Marquardt, 1963).
    ///
    /// # Errors
    /// When no curve is found that is finite and falls.
    pub fn fit(min_dist: f64, spread: f64) -> Result<Self, ProjectionError> {
        let samples: Vec<(f64, f64)> = (0..SAMPLES)
            .map(|i| 3.0 * spread * i as f64 / (SAMPLES - 1) as f64)
            .map(|d| (d, if d < min_dist { 1.0 } else { (-(d - min_dist) / spread).exp() }))
            .collect();
        let cost = |curve: Self| samples.iter().map(|&(d, y)| (curve.at(d) - y).powi(2)).sum::<f64>();
        let mut best = Self { a: 1.0, b: 1.0 };
        let (mut least, mut damping) = (cost(best), 1e-3);
        for _ in 0..500 {
            let next = best.improved(&samples, damping);
            let now = cost(next);
            if now < least && next.a > 0.0 && next.b > 0.0 {
                let gain = least - now;
                (best, least, damping) = (next, now, damping * 0.3);
                if gain < 1e-16 {
                    break;
                }
            } else if damping > 1e12 {
                break;
            } else {
                damping *= 4.0;
            }
        }
        let sound = best.a.is_finite() && best.b.is_finite() && least.is_finite() && (best.a as f32) > 0.0;
        if sound && (best.a as f32).is_finite() {
            Ok(best)
        } else {
            let value = format!("{min_dist} with a spread of {spread}");
            Err(ProjectionError::option("min-dist", value, "such that a curve fits; 0.1 with a spread of 1 does"))
        }
    }

    fn at(self, d: f64) -> f64 {
        1.0 / (1.0 + self.a * d.powf(2.0 * self.b))
    }

    /// One damped step of Gauss and Newton.
    fn improved(self, samples: &[(f64, f64)], damping: f64) -> Self {
        let (mut aa, mut ab, mut bb, mut ga, mut gb) = (0.0, 0.0, 0.0, 0.0, 0.0);
        for &(d, y) in samples.iter().filter(|sample| sample.0 > 0.0) {
            let power = d.powf(2.0 * self.b);
            let f = self.at(d);
            let by_a = -power * f * f;
            let by_b = -2.0 * self.a * power * d.ln() * f * f;
            aa += by_a * by_a;
            ab += by_a * by_b;
            bb += by_b * by_b;
            ga += by_a * (f - y);
            gb += by_b * (f - y);
        }
        let (aa, bb) = (aa * (1.0 + damping), bb * (1.0 + damping));
        let determinant = aa * bb - ab * ab;
        Self { a: self.a + (gb * ab - ga * bb) / determinant, b: self.b + (ga * ab - gb * aa) / determinant }
    }
}

#[cfg(test)]
mod tests {
    use super::Curve;

    /// From umap-learn 0.5.
    #[test]
    fn curves_are_those_of_umap_learn() {
        let known = [(0.1, 1.0, 1.576_943_460, 0.895_060_878), (0.5, 1.0, 0.583_030_021, 1.334_166_993)];
        for (min_dist, spread, a, b) in known {
            let curve = Curve::fit(min_dist, spread).unwrap();
            assert!((curve.a - a).abs() < 1e-5 && (curve.b - b).abs() < 1e-5, "{curve:?}");
        }
        assert!(Curve::fit(0.0, 1e-3).is_ok() && Curve::fit(0.99, 1.0).is_ok());
    }
}
