//! Notices attention that carries no information, the mark of weights that were never trained.

use crate::{
    capture::StackCapture,
    spec::{StackSpec, Visibility},
};

/// Mean entropy, as a fraction of the largest possible, from which attention counts as uniform.
const UNIFORM_FROM: f64 = 0.98;
/// Rows looked at in each head: enough for a mean over all heads, cheap at any length.
const ROWS_PER_HEAD: usize = 4;
/// Keys a row must see for its entropy to say something.
const MIN_KEYS: usize = 4;

/// Whether the recorded patterns of all heads of all stacks are nearly uniform.
pub(crate) fn is_nearly_uniform(stacks: &[StackCapture], specs: &[StackSpec]) -> bool {
    let (mut sum, mut n, mut n_seen) = (0.0, 0usize, 0usize);
    let n_layers: usize = stacks.iter().map(|stack| stack.layers.len()).sum();
    let spec_of = |stack: &StackCapture| specs.iter().find(|spec| spec.kind == stack.kind);
    for (stack, spec) in stacks.iter().filter_map(|stack| Some((stack, spec_of(stack)?))) {
        for (layer, shape) in stack.layers.iter().zip(&spec.layers) {
            let Some(pattern) = layer.pattern() else { continue };
            let [_, n_query, n_key] = pattern.shape();
            if n_query == 0 || n_key < MIN_KEYS {
                return false;
            }
            for head in pattern.as_slice().chunks_exact(n_query * n_key) {
                for sample in 1..=ROWS_PER_HEAD {
                    let Some(query) = (n_query * sample / ROWS_PER_HEAD).checked_sub(1) else { continue };
                    let global = if shape.global { stack.global.as_slice() } else { &[] };
                    let visibility = Visibility { mask: shape.mask(spec.causal), global };
                    let n_visible = visibility.keys(query, n_query, n_key).count();
                    if n_visible < MIN_KEYS {
                        continue;
                    }
                    let most = (n_visible as f64).ln();
                    let row = &head[query * n_key..(query + 1) * n_key];
                    let entropy: f32 = row.iter().filter(|p| **p > 0.0).map(|p| -p * p.ln()).sum();
                    sum += f64::from(entropy) / most;
                    n += 1;
                }
            }
            // What is missing to uniformity only grows: a structured layer may settle it for all.
            n_seen += 1;
            let n_in_all = (n * n_layers) as f64 / n_seen as f64;
            if n as f64 - sum > (1.0 - UNIFORM_FROM) * n_in_all {
                return false;
            }
        }
    }
    n > 0 && sum >= UNIFORM_FROM * n as f64
}
