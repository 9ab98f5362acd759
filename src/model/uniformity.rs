//! Notices attention that carries no information, the mark of weights that were never trained.

use crate::capture::LayerCapture;

/// Mean entropy, as a fraction of the largest possible, from which attention counts as uniform.
const UNIFORM_FROM: f64 = 0.98;
/// Rows looked at in each head: enough for a mean over all heads, cheap at any length.
const ROWS_PER_HEAD: usize = 4;
/// Keys a row must see for its entropy to say something.
const MIN_KEYS: usize = 4;

/// Whether the recorded patterns of all heads are nearly uniform.
pub(super) fn is_nearly_uniform(layers: &[LayerCapture], causal: bool) -> bool {
    let (mut sum, mut n) = (0.0, 0usize);
    let n_layers = layers.len();
    for (idx, pattern) in layers.iter().filter_map(|layer| layer.pattern.as_ref()).enumerate() {
        let [_, n_query, n_key] = pattern.shape();
        if n_query == 0 || n_key < MIN_KEYS {
            return false;
        }
        for head in pattern.as_slice().chunks_exact(n_query * n_key) {
            for sample in 1..=ROWS_PER_HEAD {
                let query = n_query * sample / ROWS_PER_HEAD;
                let Some(query) = query.checked_sub(1) else { continue };
                let n_visible = if causal { (query + 1 + n_key).saturating_sub(n_query) } else { n_key };
                if n_visible < MIN_KEYS {
                    continue;
                }
                let row = &head[query * n_key..query * n_key + n_visible];
                let entropy: f32 = row.iter().filter(|p| **p > 0.0).map(|p| -p * p.ln()).sum();
                sum += f64::from(entropy) / (n_visible as f64).ln();
                n += 1;
            }
        }
        // What is missing to uniformity only grows: a structured layer may settle it for all.
        let n_in_all = (n * n_layers) as f64 / (idx + 1) as f64;
        if n as f64 - sum > (1.0 - UNIFORM_FROM) * n_in_all {
            return false;
        }
    }
    n > 0 && sum >= UNIFORM_FROM * n as f64
}
