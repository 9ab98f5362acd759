//! Attention weighted by its gradient, summed up over layers (Chefer et al. 2021).
//!
//! ```text
//! Ā_l = mean over heads of relu(∂y/∂A_l ⊙ A_l)        [n, n]
//! R = I; for each layer from the first on: R ← R + Ā_l · R
//! ```
//!
//! `y` is the logit of a class or token before the softmax, and `R[t, j]` is the relevance of token `j` for
//! output position `t`. The cut at 0 comes for each head before the mean. Rows are not normalised unless
//! asked for: the published codes disagree, vision models are not and BERT is. Every layer counts unless
//! asked for otherwise: published defaults for BERT and CLIP take the last layer alone.
//!
//! Joint stacks are in [`Streams`], relevance by layer-wise propagation in [`lrp`].

pub mod lrp;
mod streams;

pub use streams::{DecoderLayer, EncoderDecoder, Streams, encoder_decoder};

use super::{
    ExplainError,
    dense::{Dense, check_layers, check_square, mean_over_heads},
};
use crate::capture::{Matrix, PerHead};

/// How layers are put together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RelevanceOptions {
    /// Layers before this one are left out.
    pub start_layer: usize,
    /// Whether rows of `I + Ā_l` are divided by their sums.
    pub normalise: bool,
}

/// `R`, `[n, n]`, of one stack whose queries and keys are the same tokens.
///
/// `patterns` and `gradients` are `[heads, n, n]` for each layer. For relevance by propagation (Chefer et
/// al. 2021, first variant), `patterns` are the propagated relevances of the attention instead. A row
/// without gradient keeps to itself.
pub fn relevance(
    patterns: &[PerHead],
    gradients: &[PerHead],
    options: RelevanceOptions,
) -> Result<Matrix, ExplainError> {
    let n = check_square("attention patterns", patterns)?;
    ExplainError::check_shape("the gradients of the layers", &[patterns.len()], &[gradients.len()])?;
    if options.start_layer >= patterns.len() {
        return Err(ExplainError::option("the first layer", options.start_layer, "a layer of the stack"));
    }
    let mut relevance = Dense::identity(n);
    for (pattern, gradient) in patterns.iter().zip(gradients).skip(options.start_layer) {
        let mut layer = Dense::identity(n).plus(&weighted(pattern, gradient)?)?;
        if options.normalise {
            layer = layer.with_normalised_rows();
        }
        relevance = layer.product(&relevance)?;
    }
    Ok(relevance.to_matrix())
}

/// `Ā`, `[queries, keys]`: one layer's attention weighted by its gradient, cut at 0, the mean over heads.
pub fn weighted(pattern: &PerHead, gradient: &PerHead) -> Result<Dense, ExplainError> {
    check_layers("attention patterns", std::slice::from_ref(pattern))?;
    check_layers("gradients", std::slice::from_ref(gradient))?;
    mean_over_heads(pattern, gradient, |a, g| (a * g).max(0.0))
}

#[cfg(test)]
mod tests {
    use super::{super::toy, *};

    #[test]
    fn the_worked_example() {
        let (patterns, gradients) = (toy::patterns(), toy::gradients());
        let first = weighted(&patterns[0], &gradients[0]).unwrap();
        toy::assert_near(first.as_slice(), &[0.15, 0.1, 0.1, 0.16, 0.125, 0.025, 0.0, 0.0, 0.0]);
        let second = weighted(&patterns[1], &gradients[1]).unwrap();
        toy::assert_near(second.as_slice(), &[0.05, 0.85, 0.1, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
        let all = relevance(&patterns, &gradients, RelevanceOptions::default()).unwrap();
        toy::assert_near(all.as_slice(), &[1.3435, 1.061_25, 0.226_25, 0.16, 1.125, 0.025, 0.0, 0.0, 1.0]);
    }

    #[test]
    fn later_starts_and_normalised_rows_are_choices() {
        let of = |start_layer, normalise| {
            relevance(&toy::patterns(), &toy::gradients(), RelevanceOptions { start_layer, normalise })
        };
        toy::assert_near(of(1, false).unwrap().row(0).unwrap(), &[1.05, 0.85, 0.1]);
        toy::assert_near(of(1, true).unwrap().row(0).unwrap(), &[0.525, 0.425, 0.05]);
        for row in of(0, true).unwrap().rows() {
            assert!((row.iter().sum::<f32>() - 1.0).abs() < 1e-6);
        }
        assert!(of(2, false).unwrap_err().to_string().starts_with("the first layer is 2"));
    }

    #[test]
    fn gradients_that_are_no_numbers_are_refused() {
        let broken = PerHead::new(vec![f32::NAN; 18], [2, 3, 3]).unwrap();
        let refused = relevance(&toy::patterns()[..1], &[broken], RelevanceOptions::default()).unwrap_err();
        assert_eq!(refused, ExplainError::NotFinite("gradients"));
        let few = PerHead::new(vec![0.0; 9], [1, 3, 3]).unwrap();
        assert!(relevance(&toy::patterns()[..1], &[few], RelevanceOptions::default()).is_err());
    }
}
