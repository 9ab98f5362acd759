//! Logistic regression with a squared penalty, as scikit-learn has it: the smallest `½‖W‖² + C · Σ loss`, without a
//! penalty of the bias.

use std::collections::VecDeque;

/// Steps whose curvature is kept.
const MEMORY: usize = 20;
const MOST_STEPS: usize = 2000;
/// Steps of half the length that are tried.
const MOST_HALVINGS: usize = 60;
/// Largest part of the gradient at which a fit is one, where C is 1.
const SMALL: f64 = 1e-6;

/// Numbers of some items, and the class of each.
#[derive(Clone, Copy, Debug)]
pub struct Labelled<'a> {
    /// `[n, width]`, row by row.
    pub rows: &'a [f32],
    pub width: usize,
    /// `[n]`.
    pub classes: &'a [usize],
    pub n_classes: usize,
}

/// A fitted classifier. Of two classes it has one row, which speaks for the second.
#[derive(Clone, Debug, PartialEq)]
pub struct Logistic {
    /// `[rows, width]`, row by row.
    pub weights: Vec<f64>,
    /// `[rows]`.
    pub bias: Vec<f64>,
    pub width: usize,
    /// Whether the gradient has become small.
    pub is_converged: bool,
}

impl Logistic {
    /// Fits the items; the same items give the same bits.
    ///
    /// Quasi-Newton steps (L-BFGS) from zero. The problem is convex, so that there is one solution.
    pub fn fit(items: Labelled<'_>, c: f64) -> Self {
        let n_rows = if items.n_classes <= 2 { 1 } else { items.n_classes };
        let width = items.width;
        let problem = Problem { items, c, n_rows };
        let mut at = vec![0.0; n_rows * (width + 1)];
        let (mut value, mut gradient) = problem.value(&at);
        let mut steps: VecDeque<(Vec<f64>, Vec<f64>, f64)> = VecDeque::new();
        let small = SMALL * c.max(1.0);
        let mut is_converged = largest(&gradient) <= small;
        for _ in 0..MOST_STEPS {
            if is_converged {
                break;
            }
            let mut direction = downhill(&gradient, &steps);
            let mut slope = dot(&direction, &gradient);
            if slope >= 0.0 {
                steps.clear();
                direction = gradient.iter().map(|value| -value).collect();
                slope = -dot(&gradient, &gradient);
            }
            let mut length = if steps.is_empty() { (1.0 / dot(&gradient, &gradient).sqrt()).min(1.0) } else { 1.0 };
            let mut found = None;
            for _ in 0..MOST_HALVINGS {
                let next: Vec<f64> = at.iter().zip(&direction).map(|(at, step)| at + length * step).collect();
                let (next_value, next_gradient) = problem.value(&next);
                if next_value <= value + 1e-4 * length * slope {
                    found = Some((next, next_value, next_gradient));
                    break;
                }
                length *= 0.5;
            }
            // Nothing lower can be told from rounding.
            let Some((next, next_value, next_gradient)) = found else { break };
            let moved: Vec<f64> = next.iter().zip(&at).map(|(next, at)| next - at).collect();
            let bent: Vec<f64> = next_gradient.iter().zip(&gradient).map(|(next, old)| next - old).collect();
            let curvature = dot(&moved, &bent);
            if curvature > 1e-12 * dot(&bent, &bent) {
                if steps.len() == MEMORY {
                    steps.pop_front();
                }
                steps.push_back((moved, bent, 1.0 / curvature));
            }
            (at, value, gradient) = (next, next_value, next_gradient);
            is_converged = largest(&gradient) <= small;
        }
        let (mut weights, mut bias) = (Vec::with_capacity(n_rows * width), Vec::with_capacity(n_rows));
        for row in at.chunks_exact(width + 1) {
            weights.extend(&row[..width]);
            bias.push(row[width]);
        }
        Self { weights, bias, width, is_converged }
    }

    /// Scores of an item, one for each row.
    pub fn scores(&self, item: &[f32]) -> Vec<f64> {
        let rows = self.weights.chunks_exact(self.width.max(1)).zip(&self.bias);
        rows.map(|(row, bias)| bias + row.iter().zip(item).map(|(w, x)| w * f64::from(*x)).sum::<f64>()).collect()
    }

    /// The class of an item; of equally probable ones the first.
    pub fn class(&self, item: &[f32]) -> usize {
        match self.scores(item)[..] {
            [score] => usize::from(score > 0.0),
            ref scores => (0..scores.len()).fold(0, |best, at| if scores[at] > scores[best] { at } else { best }),
        }
    }
}

struct Problem<'a> {
    items: Labelled<'a>,
    c: f64,
    n_rows: usize,
}

impl Problem<'_> {
    /// The value and its gradient; each row has its weights and then its bias.
    fn value(&self, at: &[f64]) -> (f64, Vec<f64>) {
        let Labelled { rows, width, classes, .. } = self.items;
        let mut gradient = vec![0.0; at.len()];
        let mut value = 0.0;
        let mut scores = vec![0.0; self.n_rows];
        for (item, class) in rows.chunks_exact(width.max(1)).zip(classes) {
            for (score, row) in scores.iter_mut().zip(at.chunks_exact(width + 1)) {
                *score = row[width] + row.iter().zip(item).map(|(w, x)| w * f64::from(*x)).sum::<f64>();
            }
            // Scores become slopes of the loss.
            if self.n_rows == 1 {
                let (score, is_second) = (scores[0], f64::from(u8::from(*class == 1)));
                value += self.c * (score.max(0.0) - score * is_second + (-score.abs()).exp().ln_1p());
                scores[0] = 1.0 / (1.0 + (-score).exp()) - is_second;
            } else {
                let most = scores.iter().copied().fold(f64::MIN, f64::max);
                let sum: f64 = scores.iter().map(|score| (score - most).exp()).sum();
                value += self.c * (most + sum.ln() - scores[*class]);
                for score in &mut scores {
                    *score = (*score - most).exp() / sum;
                }
                scores[*class] -= 1.0;
            }
            for (slope, row) in scores.iter().zip(gradient.chunks_exact_mut(width + 1)) {
                let slope = self.c * slope;
                row.iter_mut().zip(item).for_each(|(sum, x)| *sum += slope * f64::from(*x));
                row[width] += slope;
            }
        }
        for (row, gradient) in at.chunks_exact(width + 1).zip(gradient.chunks_exact_mut(width + 1)) {
            for (weight, slope) in row[..width].iter().zip(gradient) {
                value += 0.5 * weight * weight;
                *slope += weight;
            }
        }
        (value, gradient)
    }
}

/// The direction of a quasi-Newton step, by two loops over the steps before.
fn downhill(gradient: &[f64], steps: &VecDeque<(Vec<f64>, Vec<f64>, f64)>) -> Vec<f64> {
    let mut direction: Vec<f64> = gradient.iter().map(|value| -value).collect();
    let mut factors = Vec::with_capacity(steps.len());
    for (moved, bent, inverse) in steps.iter().rev() {
        let factor = inverse * dot(moved, &direction);
        direction.iter_mut().zip(bent).for_each(|(value, bent)| *value -= factor * bent);
        factors.push(factor);
    }
    if let Some((_, bent, inverse)) = steps.back() {
        let scale = 1.0 / (inverse * dot(bent, bent));
        for value in &mut direction {
            *value *= scale;
        }
    }
    for ((moved, bent, inverse), factor) in steps.iter().zip(factors.iter().rev()) {
        let back = inverse * dot(bent, &direction);
        direction.iter_mut().zip(moved).for_each(|(value, moved)| *value += (factor - back) * moved);
    }
    direction
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |most, value| most.max(value.abs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Eight points of two classes (scikit-learn 1.9).
    const POINTS: [f32; 16] = [0., 1., 1., 0., 2., 1., 3., 3., 1., 2., 0., 0., 2., 3., 3., 1.];

    #[test]
    fn two_classes_are_scikit_learns() {
        let items = Labelled { rows: &POINTS, width: 2, classes: &[0, 0, 1, 1, 0, 0, 1, 1], n_classes: 2 };
        let found = Logistic::fit(items, 1.0);
        assert!(found.is_converged);
        for (found, expected) in found.weights.iter().chain(&found.bias).zip([1.244_046, 0.445_709, -2.491_009]) {
            assert!((found - expected).abs() < 2e-6, "{found} {expected}");
        }
        let p = 1.0 / (1.0 + (-found.scores(&[1.0, 1.0])[0]).exp());
        assert!((p - 0.309_757).abs() < 1e-6, "{p}");
        assert_eq!([found.class(&[0.0, 0.0]), found.class(&[3.0, 3.0])], [0, 1]);
        let (value, _) =
            Problem { items, c: 1.0, n_rows: 1 }.value(&[found.weights[0], found.weights[1], found.bias[0]]);
        assert!((value - 2.830_898).abs() < 1e-6, "{value}");
    }

    #[test]
    fn gradients_are_the_slopes_of_the_value() {
        let items = Labelled { rows: &POINTS, width: 2, classes: &[0, 2, 1, 1, 0, 2, 1, 0], n_classes: 3 };
        let problem = Problem { items, c: 0.7, n_rows: 3 };
        let at: Vec<f64> = (0..9).map(|nth| 0.1 * f64::from(nth) - 0.3).collect();
        let (_, gradient) = problem.value(&at);
        for nth in 0..9 {
            let moved = |step: f64| {
                let mut at = at.clone();
                at[nth] += step;
                problem.value(&at).0
            };
            let slope = (moved(1e-6) - moved(-1e-6)) / 2e-6;
            assert!((slope - gradient[nth]).abs() < 1e-6, "{nth}: {slope} {}", gradient[nth]);
        }
        // Of three classes the weights of all rows add up to nothing, as the penalty wants it.
        let found = Logistic::fit(items, 0.7);
        let sums = [0, 1].map(|col| (0..3).map(|row| found.weights[2 * row + col]).sum::<f64>());
        assert!(found.is_converged && sums.iter().all(|sum| sum.abs() < 1e-5), "{sums:?}");
    }
}
