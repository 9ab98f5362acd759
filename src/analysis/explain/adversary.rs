//! Adversarial attention (Jain and Wallace 2019): weights as far from the original as possible while the
//! output stays.
//!
//! ```text
//! L = Σ_k [ -JSD(α̃_k, α) + 500·relu(Σ_o |p̃_ko - p_o| - 0.01) ] - mean over k, k' of JSD(α̃_k, α̃_k')
//! α̃_k = softmax(z_k), z_k = ln(1/n) + 3·N(0, 1) to begin with
//! ```
//!
//! `z` is moved by Adam with amsgrad. The tolerance is on the sum of changes, not on half of it.

use super::{
    ExplainError,
    adam::Adam,
    divergence::{jsd, jsd_gradient},
    normalizers::softmax,
    permutation::mean_change,
};
use crate::{projection::Progress, random::SplitMix};

/// How hard outputs that change are punished.
const PENALTY: f64 = 500.0;

/// How the search is made; the defaults are the published ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdversaryOptions {
    /// Candidates that are moved at once, and away from each other.
    pub n_candidates: usize,
    pub n_steps: usize,
    pub learning_rate: f64,
    /// How much the outputs may change, summed up, before it costs something.
    pub tolerance: f64,
    /// How much the outputs may change on average, for a candidate to count in the end.
    pub epsilon: f64,
    pub seed: u64,
}

impl Default for AdversaryOptions {
    fn default() -> Self {
        Self { n_candidates: 5, n_steps: 500, learning_rate: 0.01, tolerance: 0.01, epsilon: 0.05, seed: 0 }
    }
}

/// What the model above answers for one candidate.
#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    /// The probabilities of its outputs.
    pub p: Vec<f64>,
    /// Where [`Pull`] asked for it: the gradient of `Σ_o c_o p_o` by the weights.
    pub gradient: Option<Vec<f64>>,
}

/// Given a candidate's number and its outputs, the factors `c` of the sum whose gradient is wanted; none
/// where the outputs need not be moved, so that no backward pass has to be made.
pub type Pull<'a> = &'a dyn Fn(usize, &[f64]) -> Option<Vec<f64>>;

/// The model above the weights: one output for each candidate.
pub type Above<'a, E> = &'a mut dyn FnMut(&[Vec<f64>], Pull<'_>) -> Result<Vec<Output>, E>;

/// One candidate at the end.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    pub weights: Vec<f64>,
    /// The probabilities of the outputs under it.
    pub p: Vec<f64>,
    /// How far the weights are from the original, in nats, at most `ln 2`.
    pub jsd: f64,
    /// How far the outputs are: the mean over outputs.
    pub change: f64,
}

/// What was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Adversary {
    pub candidates: Vec<Candidate>,
    /// The candidate that is furthest among those whose output stayed within `epsilon`; none where no output
    /// stayed, and the original itself is the best.
    pub best: Option<usize>,
    /// The objective before each step.
    pub loss: Vec<f64>,
}

impl Adversary {
    /// The largest divergence at an output that stayed: 0 where none did, because the original does.
    pub fn max_jsd(&self) -> f64 {
        self.best.map_or(0.0, |best| self.candidates[best].jsd)
    }
}

/// Looks for adversarial weights from random beginnings.
///
/// `weights` are those of one query over the keys that it can see, `p` the model's outputs under them.
/// `progress` hears of each step.
pub fn adversary<E: From<ExplainError>>(
    weights: &[f64],
    p: &[f64],
    options: AdversaryOptions,
    above: Above<'_, E>,
    progress: Progress<'_>,
) -> Result<Adversary, E> {
    let mut random = SplitMix::new(options.seed);
    let uniform = -(weights.len() as f64).ln();
    let mut start = || (0..weights.len()).map(|_| uniform + 3.0 * random.normal()).collect();
    let starts = (0..options.n_candidates).map(|_| start()).collect();
    adversary_from(starts, weights, p, options, above, progress)
}

/// As [`adversary`], from given scores of each candidate.
pub fn adversary_from<E: From<ExplainError>>(
    mut scores: Vec<Vec<f64>>,
    weights: &[f64],
    p: &[f64],
    options: AdversaryOptions,
    above: Above<'_, E>,
    progress: Progress<'_>,
) -> Result<Adversary, E> {
    if weights.len() < 2 {
        return Err(ExplainError::Nothing("two keys between which weight could move").into());
    }
    if scores.is_empty() {
        return Err(ExplainError::Nothing("candidates").into());
    }
    let pull = |_: usize, now: &[f64]| {
        let change: f64 = now.iter().zip(p).map(|(a, b)| (a - b).abs()).sum();
        let sign = |a: f64, b: f64| f64::from(i8::from(a > b) - i8::from(a < b));
        (change > options.tolerance).then(|| now.iter().zip(p).map(|(a, b)| PENALTY * sign(*a, *b)).collect())
    };
    let mut adam: Vec<Adam> = scores.iter().map(|z| Adam::amsgrad(z.len(), options.learning_rate)).collect();
    let mut loss = Vec::with_capacity(options.n_steps);
    for step in 0..options.n_steps {
        let candidates: Vec<Vec<f64>> = scores.iter().map(|z| softmax(z)).collect();
        let outputs = above(&candidates, &pull)?;
        ExplainError::check_shape("the outputs of the candidates", &[candidates.len()], &[outputs.len()])?;
        loss.push(objective(&candidates, weights, &outputs, p, options.tolerance));
        let gradients = (0..candidates.len()).map(|k| {
            let by_weights = by_weights(&candidates, k, weights, outputs[k].gradient.as_deref());
            softmax_gradient(&candidates[k], &by_weights)
        });
        let gradients: Vec<Vec<f64>> = gradients.collect();
        for ((z, adam), gradient) in scores.iter_mut().zip(&mut adam).zip(&gradients) {
            adam.step(z, gradient);
        }
        if !progress(step + 1, options.n_steps) {
            return Err(ExplainError::Cancelled.into());
        }
    }
    let found: Vec<Vec<f64>> = scores.iter().map(|z| softmax(z)).collect();
    let outputs = above(&found, &|_, _| None)?;
    let candidates: Vec<Candidate> = found
        .into_iter()
        .zip(outputs)
        .map(|(found, output)| Candidate {
            jsd: jsd(&found, weights),
            change: mean_change(&output.p, p),
            weights: found,
            p: output.p,
        })
        .collect();
    let kept = (0..candidates.len()).filter(|&k| candidates[k].change <= options.epsilon && candidates[k].jsd > 0.0);
    let best = kept.max_by(|&a, &b| candidates[a].jsd.total_cmp(&candidates[b].jsd));
    Ok(Adversary { candidates, best, loss })
}

/// The gradient by the scores from that by the weights, however small they are.
fn softmax_gradient(weights: &[f64], gradient: &[f64]) -> Vec<f64> {
    let mean: f64 = weights.iter().zip(gradient).map(|(w, g)| w * g).sum();
    weights.iter().zip(gradient).map(|(w, g)| w * (g - mean)).collect()
}

/// The loss of all candidates.
fn objective(candidates: &[Vec<f64>], weights: &[f64], outputs: &[Output], p: &[f64], tolerance: f64) -> f64 {
    let n = candidates.len() as f64;
    let apart: f64 = candidates.iter().map(|a| candidates.iter().map(|b| jsd(a, b)).sum::<f64>()).sum();
    let of_candidate = |(candidate, output): (&Vec<f64>, &Output)| {
        let change: f64 = output.p.iter().zip(p).map(|(a, b)| (a - b).abs()).sum();
        PENALTY * (change - tolerance).max(0.0) - jsd(candidate, weights)
    };
    candidates.iter().zip(outputs).map(of_candidate).sum::<f64>() - apart / (n * n)
}

/// The gradient of the loss by the weights of candidate `k`; `pulled` is that of the penalty.
fn by_weights(candidates: &[Vec<f64>], k: usize, weights: &[f64], pulled: Option<&[f64]>) -> Vec<f64> {
    let pairs = (candidates.len() * candidates.len()) as f64;
    let own = &candidates[k];
    let mut gradient: Vec<f64> = jsd_gradient(own, weights).iter().map(|slope| -slope).collect();
    for other in candidates {
        // Each pair counts twice, once from either side.
        for (gradient, slope) in gradient.iter_mut().zip(jsd_gradient(own, other)) {
            *gradient -= 2.0 * slope / pairs;
        }
    }
    for (gradient, slope) in gradient.iter_mut().zip(pulled.unwrap_or(&[])) {
        *gradient += slope;
    }
    gradient
}

#[cfg(test)]
mod tests {
    use super::{super::toy, *};
    use crate::projection::to_the_end;

    /// The logistic model above the weights.
    #[expect(clippy::unnecessary_wraps, reason = "what models answer with")]
    fn above(candidates: &[Vec<f64>], pull: Pull<'_>) -> Result<Vec<Output>, ExplainError> {
        let of_candidate = |(k, weights): (usize, &Vec<f64>)| {
            let p = toy::logistic::p(weights);
            let gradient = pull(k, &[p])
                .map(|factors| (0..4).map(|key| factors[0] * p * (1.0 - p) * toy::logistic::content(key)).collect());
            Output { p: vec![p], gradient }
        };
        Ok(candidates.iter().enumerate().map(of_candidate).collect())
    }

    #[test]
    fn the_worked_example() {
        let weights = toy::logistic::weights();
        let starts = [[3.0, 0.0, -3.0, 1.5], [-3.0, 1.0, 3.0, 0.0]];
        let starts = starts.iter().map(|row| row.iter().map(|z| z + 0.25f64.ln()).collect()).collect();
        let p = [toy::logistic::p(&weights)];
        let options = AdversaryOptions::default();
        let found = adversary_from(starts, &weights, &p, options, &mut above, &to_the_end).unwrap();
        let expected = [[0.643_276, 0.287_985, 0.000_338, 0.068_401], [0.000_896, 0.303_951, 0.663_151, 0.032_002]];
        // The search goes back and forth across the tolerance, which the last digits of `exp` decide about.
        let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-4, "{a} against {b}");
        for ((candidate, weights), (p, jsd)) in
            found.candidates.iter().zip(expected).zip([(0.604_086, 0.140_410), (0.598_465, 0.226_090)])
        {
            candidate.weights.iter().zip(weights).for_each(|(a, b)| near(*a, b));
            near(candidate.p[0], p);
            near(candidate.jsd, jsd);
        }
        near(found.max_jsd(), 0.226_090);
        assert!(found.loss.first() > found.loss.last());
    }

    #[test]
    fn the_gradient_is_that_of_finite_differences() {
        let weights = toy::logistic::weights();
        let p = [toy::logistic::p(&weights)];
        let scores = [vec![0.5, -1.0, 0.3, 1.0], vec![-0.4, 0.2, 1.5, 0.0], vec![2.0, 0.0, 0.1, -1.0]];
        let loss = |scores: &[Vec<f64>]| {
            let candidates: Vec<Vec<f64>> = scores.iter().map(|z| softmax(z)).collect();
            objective(&candidates, &weights, &above(&candidates, &|_, _| None).unwrap(), &p, 0.01)
        };
        let candidates: Vec<Vec<f64>> = scores.iter().map(|z| softmax(z)).collect();
        let pull = |_: usize, now: &[f64]| Some(vec![PENALTY * (now[0] - p[0]).signum()]);
        let outputs = above(&candidates, &pull).unwrap();
        for k in 0..3 {
            let by_weights = by_weights(&candidates, k, &weights, outputs[k].gradient.as_deref());
            for (key, slope) in softmax_gradient(&candidates[k], &by_weights).into_iter().enumerate() {
                let moved = |by: f64| {
                    let mut scores = scores.clone();
                    scores[k][key] += by;
                    loss(&scores)
                };
                let expected = (moved(1e-6) - moved(-1e-6)) / 2e-6;
                assert!((slope - expected).abs() < 1e-5 * expected.abs().max(1.0), "{slope} against {expected}");
            }
        }
    }

    #[test]
    fn random_beginnings_are_the_same_for_the_same_seed_and_it_can_be_stopped() {
        let weights = toy::logistic::weights();
        let p = [toy::logistic::p(&weights)];
        let options = AdversaryOptions { n_steps: 20, ..AdversaryOptions::default() };
        let run =
            |seed| adversary(&weights, &p, AdversaryOptions { seed, ..options }, &mut above, &to_the_end).unwrap();
        assert_eq!(run(1), run(1));
        assert_ne!(run(1), run(2));
        let stopped = adversary(&weights, &p, options, &mut above, &|done, _| done < 3);
        assert_eq!(stopped, Err(ExplainError::Cancelled));
        let one = adversary(&[1.0], &p, options, &mut above, &to_the_end);
        assert!(one.is_err());
    }
}
