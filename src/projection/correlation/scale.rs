//! Dependence of correlations on the scale: from the pairs of some queries, cheap enough for a slider.

use super::{
    InputSegment, Moments, count,
    pairs::{Dots, Pairs},
};
use crate::projection::{Points, ProjectionError, dispatch::dispatch};

/// Most pairs that are kept.
const MOST_PAIRS: usize = 1 << 18;

/// Pairs of evenly spaced queries, with what their distance is made of at any scale:
/// `‖q − m‖²/c² + c²‖k − m'‖² − 2 (q − m)·(k − m')`, with the means of queries and keys where keys are translated and
/// 0 where they are not.
#[derive(Clone, Debug)]
pub struct ScaleProbe {
    /// Where the pairs of each query end.
    ends: Vec<usize>,
    dots: Vec<f64>,
    /// `[‖q − m‖², ‖k − m'‖², (q − m)·(k − m')]`.
    parts: Vec<[f64; 3]>,
}

/// Correlations of dot product and distance at one scale.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScaleStep {
    pub c: f64,
    /// Pearson's over all pairs: lowest where the norms balance.
    pub pooled: Option<f64>,
    /// Pearson's over the keys of one query, the mean of all. It falls to −1 for c → 0, whatever the data:
    /// `‖q/c − ck‖ ≈ ‖q‖/c − c q·k/‖q‖` is a straight line in `q·k`.
    pub per_query: Option<f64>,
}

impl ScaleProbe {
    /// Of the queries and keys that meet; of evenly spaced queries where there are many pairs.
    ///
    /// # Errors
    /// [`ProjectionError::Widths`], or a segment beyond the rows.
    pub fn new(
        queries: Points<'_>,
        keys: Points<'_>,
        segments: &[InputSegment],
        translate_keys: bool,
    ) -> Result<Self, ProjectionError> {
        let pairs = Pairs::new(queries, keys, segments)?;
        let stride = pairs.stride(MOST_PAIRS);
        let means = translate_keys.then(|| [queries.mean(), keys.mean()]);
        let along = |row: &[f32], mean: &[f64]| row.iter().zip(mean).map(|(&x, m)| f64::from(x) * m).sum::<f64>();
        let of = |points: Points<'_>, mean: usize| -> Vec<f64> {
            means.as_ref().map_or_else(Vec::new, |means| points.rows().map(|row| along(row, &means[mean])).collect())
        };
        // q·m, q·m', k·m, k·m'; empty without a translation.
        let [q_own, q_other, k_other, k_own] = [of(queries, 0), of(queries, 1), of(keys, 0), of(keys, 1)];
        let inner = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
        let of_means = means.as_ref().map(|[q, k]| [inner(q, q), inner(k, k), inner(q, k)]);
        let mut probe = Self { ends: Vec::new(), dots: Vec::new(), parts: Vec::new() };
        for segment in segments {
            for i in segment.queries.clone().filter(|i| i % stride == 0) {
                let dots = dispatch(Dots { pairs: &pairs, queries: i..i + 1, keys: segment.keys.clone() });
                for (j, dot) in segment.keys.clone().zip(&dots) {
                    let mut parts = [pairs.query_squares[i], pairs.key_squares[j], *dot];
                    if let Some([qq, kk, qk]) = of_means {
                        parts[0] += qq - 2.0 * q_own[i];
                        parts[1] += kk - 2.0 * k_own[j];
                        parts[2] += qk - q_other[i] - k_other[j];
                    }
                    probe.parts.push(parts);
                }
                probe.dots.extend_from_slice(&dots);
                probe.ends.push(probe.dots.len());
            }
        }
        Ok(probe)
    }

    /// Pairs that are looked at.
    pub const fn n_pairs(&self) -> usize {
        self.dots.len()
    }

    /// Both correlations at one scale, which must be above 0.
    pub fn at(&self, c: f64) -> ScaleStep {
        let distances = self.distances(c);
        let mut start = 0;
        let mut sum = (0.0, 0);
        for &end in &self.ends {
            count(&mut sum, Moments::of(&self.dots[start..end], &distances[start..end]).correlation());
            start = end;
        }
        let per_query = (sum.1 > 0).then(|| sum.0 / sum.1 as f64);
        ScaleStep { c, pooled: Moments::of(&self.dots, &distances).correlation(), per_query }
    }

    /// The scale above 0 where the pooled correlation is lowest, searched on a grid around `near` and refined by
    /// golden section; `near` where there is no correlation.
    pub fn best(&self, near: f64) -> f64 {
        /// Quarters of powers of two on both sides of `near`.
        const STEPS: i32 = 20;
        const STEP: f64 = 0.25;
        let pooled = |step: f64| {
            Moments::of(&self.dots, &self.distances(near * step.exp2())).correlation().unwrap_or(f64::INFINITY)
        };
        let mut best = (0.0, f64::INFINITY);
        for step in -STEPS..=STEPS {
            let step = f64::from(step) * STEP;
            let value = pooled(step);
            if value < best.1 {
                best = (step, value);
            }
        }
        if best.1.is_infinite() {
            return near;
        }
        // The minimum lies between the neighbours on the grid.
        let golden = (5.0f64.sqrt() - 1.0) / 2.0;
        let (mut low, mut high) = (best.0 - STEP, best.0 + STEP);
        for _ in 0..25 {
            let (left, right) = (high - golden * (high - low), low + golden * (high - low));
            if pooled(left) < pooled(right) {
                high = right;
            } else {
                low = left;
            }
        }
        let refined = f64::midpoint(low, high);
        // Where there are several minima, the refined one may be the shallower.
        near * if pooled(refined) <= best.1 { refined } else { best.0 }.exp2()
    }

    fn distances(&self, c: f64) -> Vec<f64> {
        let square = c * c;
        let distance = |[q, k, dot]: &[f64; 3]| (q / square + k * square - 2.0 * dot).max(0.0).sqrt();
        self.parts.iter().map(distance).collect()
    }
}
