//! Parts of the input that can be masked while the prediction stays: gates learnt for one input (after
//! De Cao et al. 2020).
//!
//! ```text
//! minimise Σ_t P(g_t > 0)   while   D(g) ≤ margin
//! D = divergence of the output with every part t replaced by g_t · x_t + (1 - g_t) · b from the plain one
//! ```
//!
//! Each gate is a [`Gate`] of its own; the constraint has a multiplier that grows while it is broken. The
//! published method trains a network on many inputs to predict the gates. For a single input they are
//! optimised directly, which the authors warn of: with enough freedom gates can exploit the model, so that a
//! mask is what is *enough* for the prediction and not what it is made of.

use super::{ExplainError, adam::Adam, gates::Gate};
use crate::{projection::Progress, random::SplitMix};

/// How the search is made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MaskOptions {
    pub gate: Gate,
    pub n_steps: usize,
    /// The size of a step of the logits.
    pub learning_rate: f64,
    /// The size of a step of the multiplier.
    pub multiplier_rate: f64,
    /// How far the output may move, in the unit of the divergence.
    pub margin: f64,
    /// Logits at the beginning: 5 is nearly always open.
    pub start: f64,
    pub seed: u64,
}

impl Default for MaskOptions {
    fn default() -> Self {
        let (learning_rate, multiplier_rate) = (0.1, 0.1);
        Self { gate: Gate::INPUTS, n_steps: 300, learning_rate, multiplier_rate, margin: 0.1, start: 5.0, seed: 0 }
    }
}

/// The model with parts masked: for gates `0..=1` the divergence of its output from the plain one, and its
/// gradient by the gates.
pub type Masked<'a, E> = &'a mut dyn FnMut(&[f64]) -> Result<(f64, Vec<f64>), E>;

/// One step of the search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MaskStep {
    /// Gates that are expected to be open.
    pub n_open: f64,
    /// The divergence with this step's noise.
    pub divergence: f64,
    /// What a unit of divergence costs.
    pub multiplier: f64,
}

/// Gates that were found.
#[derive(Clone, Debug, PartialEq)]
pub struct Mask {
    /// The gate of each part without noise, `0..=1`.
    pub gates: Vec<f64>,
    /// The parts whose gate is at least half open.
    pub kept: Vec<bool>,
    /// The probability of each that it is not closed.
    pub p_open: Vec<f64>,
    /// The divergence with all of `kept` and nothing else.
    pub divergence: f64,
    /// Whether that is within the margin. Where it is not, more steps or a wider margin are needed.
    pub within_margin: bool,
    pub steps: Vec<MaskStep>,
}

/// Looks for the smallest set of `n` parts with which the output stays. `progress` hears of each step.
pub fn smallest_mask<E: From<ExplainError>>(
    n: usize,
    options: MaskOptions,
    masked: Masked<'_, E>,
    progress: Progress<'_>,
) -> Result<Mask, E> {
    if n == 0 {
        return Err(ExplainError::Nothing("parts to mask").into());
    }
    if !(options.margin > 0.0 && options.margin.is_finite()) {
        return Err(ExplainError::option("the margin", options.margin, "above 0").into());
    }
    let MaskOptions { gate, n_steps, .. } = options;
    let mut random = SplitMix::new(options.seed);
    let mut logits = vec![options.start; n];
    let (mut adam, mut multiplier) = (Adam::new(n, options.learning_rate), 0.0);
    let mut steps = Vec::with_capacity(n_steps);
    for step in 0..n_steps {
        let samples: Vec<(f64, f64)> =
            logits.iter().map(|&logit| gate.sample(logit, random.unit().clamp(1e-6, 1.0 - 1e-6))).collect();
        let gates: Vec<f64> = samples.iter().map(|(gate, _)| *gate).collect();
        let (divergence, by_gates) = masked(&gates)?;
        ExplainError::check_shape("the gradient by the gates", &[n], &[by_gates.len()])?;
        if !divergence.is_finite() || !by_gates.iter().all(|slope| slope.is_finite()) {
            return Err(ExplainError::NotFinite("the outputs of the masked model").into());
        }
        let n_open = logits.iter().map(|&logit| gate.p_open(logit)).sum();
        steps.push(MaskStep { n_open, divergence, multiplier });
        let gradient: Vec<f64> = (0..n)
            .map(|part| gate.p_open_slope(logits[part]) + multiplier * by_gates[part] * samples[part].1)
            .collect();
        adam.step(&mut logits, &gradient);
        // In units of the margin, so that the pace does not depend on the divergence's scale, and held back,
        // so that a constraint that was broken badly once does not rule over all that follows.
        let broken = (divergence / options.margin - 1.0).clamp(-1.0, 1.0);
        multiplier = (multiplier + options.multiplier_rate * broken / options.margin).max(0.0);
        if !progress(step + 1, n_steps) {
            return Err(ExplainError::Cancelled.into());
        }
    }
    let gates: Vec<f64> = logits.iter().map(|&logit| gate.value(logit)).collect();
    let kept: Vec<bool> = gates.iter().map(|gate| *gate >= 0.5).collect();
    let (divergence, _) = masked(&kept.iter().map(|&kept| f64::from(u8::from(kept))).collect::<Vec<f64>>())?;
    let p_open = logits.iter().map(|&logit| gate.p_open(logit)).collect();
    Ok(Mask { gates, kept, p_open, divergence, within_margin: divergence <= options.margin, steps })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::projection::to_the_end;

    /// An output that moves by this for each part that is missing.
    const WEIGHTS: [f64; 6] = [0.01, 2.0, 0.02, 0.0, 3.0, 0.015];

    #[expect(clippy::unnecessary_wraps, reason = "what models answer with")]
    fn masked(gates: &[f64]) -> Result<(f64, Vec<f64>), ExplainError> {
        let missing = || gates.iter().zip(WEIGHTS).map(|(gate, weight)| (1.0 - gate, weight));
        let divergence = missing().map(|(missing, weight)| weight * missing * missing).sum();
        Ok((divergence, missing().map(|(missing, weight)| -2.0 * weight * missing).collect()))
    }

    #[test]
    fn what_the_output_needs_stays_and_the_rest_is_masked() {
        for seed in 0..5 {
            let found = smallest_mask(6, MaskOptions { seed, ..Default::default() }, &mut masked, &to_the_end).unwrap();
            assert_eq!(found.kept, [false, true, false, false, true, false], "{:?}", found.gates);
            assert!(found.within_margin, "{}", found.divergence);
            assert!(found.steps[0].n_open > 5.9 && found.steps[299].n_open < 4.0);
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_gates_and_it_can_be_stopped() {
        let run =
            |seed| smallest_mask(6, MaskOptions { seed, n_steps: 30, ..Default::default() }, &mut masked, &to_the_end);
        assert_eq!(run(1), run(1));
        assert_ne!(run(1), run(2));
        let stopped = smallest_mask(6, MaskOptions::default(), &mut masked, &|done, _| done < 2);
        assert_eq!(stopped, Err(ExplainError::Cancelled));
        let narrow = MaskOptions { margin: 0.0, ..Default::default() };
        assert!(smallest_mask(6, narrow, &mut masked, &to_the_end).is_err());
        let mut broken = |_: &[f64]| Ok::<_, ExplainError>((f64::NAN, vec![0.0; 6]));
        assert!(smallest_mask(6, MaskOptions::default(), &mut broken, &to_the_end).is_err());
    }
}
