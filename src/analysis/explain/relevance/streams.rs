//! Relevance where two sequences attend to each other: encoder and decoder, or two streams side by side.
//!
//! ```text
//! x attends within itself:   R_xx ← R_xx + Ā·R_xx     R_xy ← R_xy + Ā·R_xy
//! x attends to y:            R_xy ← R_xy + N(R_xx)ᵀ·Ā·N(R_yy)     R_xx ← R_xx + Ā·R_yx
//! N(R) = rownorm(R - I) + I
//! ```
//!
//! What one layer adds is computed from the state before it. A row of `R - I` that is 0 leaves a row of the
//! identity: a published code divides 0 by 0 there, and the transpose carries that into the whole product.

use super::{super::ExplainError, weighted};
use crate::{
    analysis::explain::dense::Dense,
    capture::{Matrix, PerHead},
};

/// Relevance within and between two sequences.
#[derive(Clone, Debug, PartialEq)]
pub struct Streams {
    /// Within each, `[n, n]`.
    pub within: [Dense; 2],
    /// `across[0]` is of the second sequence's tokens for the first, `[n_0, n_1]`, `across[1]` the other way.
    pub across: [Dense; 2],
}

impl Streams {
    /// Before any layer: every token is relevant for itself.
    pub fn new([first, second]: [usize; 2]) -> Self {
        Self {
            within: [Dense::identity(first), Dense::identity(second)],
            across: [Dense::zeros(first, second), Dense::zeros(second, first)],
        }
    }

    /// A layer in which sequence `own` (0 or 1) attends to itself; `layer` is its `Ā`, see [`weighted`].
    pub fn attend_within(&mut self, own: usize, layer: &Dense) -> Result<(), ExplainError> {
        let own = own.min(1);
        let within = self.within[own].clone().plus(&layer.product(&self.within[own])?)?;
        self.across[own] = self.across[own].clone().plus(&layer.product(&self.across[own])?)?;
        self.within[own] = within;
        Ok(())
    }

    /// A layer in which one sequence attends to the other, or both do at once.
    ///
    /// `layers[0]` is the `Ā` of the first with queries `[n_0, n_1]`, `layers[1]` of the second; none where
    /// that one does not attend, as in the last layer of models that go on with one sequence.
    pub fn attend_across(&mut self, layers: [Option<&Dense>; 2]) -> Result<(), ExplainError> {
        let before = self.clone();
        for (own, layer) in layers.into_iter().enumerate() {
            let (Some(layer), other) = (layer, 1 - own) else { continue };
            let [from, to] = [own, other].map(|side| normalised(&before.within[side]));
            self.across[own] = before.across[own].clone().plus(&from.transposed().product(layer)?.product(&to)?)?;
            self.within[own] = before.within[own].clone().plus(&layer.product(&before.across[other])?)?;
        }
        Ok(())
    }
}

/// `N(R)`.
fn normalised(relevance: &Dense) -> Dense {
    let n = relevance.n_rows();
    let mut rest = relevance.clone();
    let own = |rest: &mut Dense, value: f64| (0..n).for_each(|token| rest.row_mut(token)[token] += value);
    own(&mut rest, -1.0);
    let mut rest = rest.with_normalised_rows();
    own(&mut rest, 1.0);
    rest
}

/// What one decoder layer attended to, with the target's gradients: `[heads, queries, keys]` each.
#[derive(Clone, Copy, Debug)]
pub struct DecoderLayer<'a> {
    /// Of the decoder to itself.
    pub own: [&'a PerHead; 2],
    /// Of the decoder to the encoder.
    pub cross: [&'a PerHead; 2],
}

/// Relevance of an encoder–decoder.
#[derive(Clone, Debug, PartialEq)]
pub struct EncoderDecoder {
    /// Of source tokens for source tokens, `[n_source, n_source]`.
    pub encoder: Matrix,
    /// Of target tokens for target tokens, `[n_target, n_target]`.
    pub decoder: Matrix,
    /// Of source tokens for target tokens, `[n_target, n_source]`: row `t` explains output `t`.
    pub cross: Matrix,
}

/// Relevance of an encoder–decoder: all encoder layers, then each decoder layer within and across.
///
/// `encoder` holds attention and gradient of each layer, `[heads, n_source, n_source]`.
pub fn encoder_decoder(
    encoder: &[[&PerHead; 2]],
    decoder: &[DecoderLayer<'_>],
) -> Result<EncoderDecoder, ExplainError> {
    let Some(first) = decoder.first() else { return Err(ExplainError::Nothing("decoder layers")) };
    let [_, n_target, n_source] = first.cross[0].shape();
    let mut streams = Streams::new([n_target, n_source]);
    for [pattern, gradient] in encoder {
        streams.attend_within(1, &weighted(pattern, gradient)?)?;
    }
    for DecoderLayer { own, cross } in decoder {
        streams.attend_within(0, &weighted(own[0], own[1])?)?;
        streams.attend_across([Some(&weighted(cross[0], cross[1])?), None])?;
    }
    let Streams { within: [decoder, encoder], across: [cross, _] } = &streams;
    Ok(EncoderDecoder { encoder: encoder.to_matrix(), decoder: decoder.to_matrix(), cross: cross.to_matrix() })
}

#[cfg(test)]
mod tests {
    use super::{
        super::super::{
            relevance::{RelevanceOptions, relevance},
            toy,
        },
        *,
    };

    #[test]
    fn rows_are_normalised_without_their_own_share() {
        let all = relevance(&toy::patterns(), &toy::gradients(), RelevanceOptions::default()).unwrap();
        let expected = [1.210_607, 0.650_674, 0.138_719, 0.516_129, 1.403_226, 0.080_645, 0.0, 0.0, 1.0];
        toy::assert_near(normalised(&Dense::from(&all)).as_slice(), &expected);
    }

    fn cross() -> [PerHead; 2] {
        [toy::head(&[[0.2, 0.5, 0.3], [0.1, 0.1, 0.8]]), toy::head(&[[1.0, 0.5, -1.0], [0.5, 1.0, 0.25]])]
    }

    #[test]
    fn encoder_and_decoder_of_the_worked_example() {
        let (pattern, gradient) = (&toy::patterns()[0], &toy::gradients()[0]);
        let (own, own_gradient) = (toy::head(&[[1.0, 0.0], [0.4, 0.6]]), toy::head(&[[0.5, 0.3], [1.0, -1.0]]));
        let [cross, cross_gradient] = &cross();
        let layer = DecoderLayer { own: [&own, &own_gradient], cross: [cross, cross_gradient] };
        let found = encoder_decoder(&[[pattern, gradient]], &[layer]).unwrap();
        toy::assert_near(found.decoder.as_slice(), &[1.5, 0.0, 0.4, 1.0]);
        let expected = [0.952_535, 0.970_507, 0.376_959, 0.123_041, 0.154_608, 0.222_35];
        toy::assert_near(found.cross.as_slice(), &expected);
        assert!(encoder_decoder(&[], &[]).is_err());
        let swapped = DecoderLayer { own: [cross, cross], ..layer };
        assert!(encoder_decoder(&[[pattern, gradient]], &[swapped]).is_err());
    }

    #[test]
    fn two_streams_of_the_worked_example() {
        let mut streams = Streams {
            within: [
                toy::dense(&[[1.3, 0.2], [0.1, 1.4]]),
                toy::dense(&[[1.2, 0.1, 0.0], [0.0, 1.5, 0.5], [0.2, 0.2, 1.0]]),
            ],
            across: [Dense::zeros(2, 3), toy::dense(&[[0.1, 0.2], [0.3, 0.1], [0.0, 0.2]])],
        };
        let [pattern, gradient] = &cross();
        let layer = weighted(pattern, gradient).unwrap();
        let before = streams.clone();
        streams.attend_across([Some(&layer), None]).unwrap();
        toy::assert_near(streams.across[0].as_slice(), &[0.57, 0.76, 0.25, 0.463_333, 0.656_667, 0.5]);
        let added = streams.within[0].as_slice().iter().zip(before.within[0].as_slice()).map(|(a, b)| a - b);
        toy::assert_near(&added.collect::<Vec<f64>>(), &[0.095, 0.065, 0.035, 0.06]);
        assert_eq!((&streams.within[1], &streams.across[1]), (&before.within[1], &before.across[1]));
    }

    /// Both directions see the state before the layer, in whatever order they are computed.
    #[test]
    fn both_directions_start_from_the_state_before() {
        let mut both = Streams::new([2, 3]);
        let own = toy::dense(&[[0.3, 0.1], [0.2, 0.4]]);
        both.attend_within(0, &own).unwrap();
        let (mut first, mut second) = (both.clone(), both.clone());
        let down = toy::dense(&[[0.2, 0.1, 0.0], [0.0, 0.3, 0.1]]);
        let up = down.transposed();
        both.attend_across([Some(&down), Some(&up)]).unwrap();
        first.attend_across([Some(&down), None]).unwrap();
        second.attend_across([None, Some(&up)]).unwrap();
        assert_eq!((&both.within[0], &both.across[0]), (&first.within[0], &first.across[0]));
        assert_eq!((&both.within[1], &both.across[1]), (&second.within[1], &second.across[1]));
    }

    /// A token without positive relevance must not wipe out the others.
    #[test]
    fn a_dead_row_does_not_spread() {
        let dead = normalised(&toy::dense(&[[1.0, 0.0], [0.5, 1.5]]));
        toy::assert_near(dead.as_slice(), &[1.0, 0.0, 0.5, 1.5]);
    }
}
