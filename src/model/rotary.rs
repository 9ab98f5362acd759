//! Rotary position embeddings as configured: base, width and scaling.

use std::ops::Range;

use super::kernels::Turns;

/// One rotary embedding: how fast each pair of dimensions turns.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rotary {
    /// Radians per position, `[n_rotated / 2]`.
    pub frequencies: Vec<f32>,
    /// Factor on cosine and sine (YaRN, LongRoPE); 1 otherwise.
    pub scale: f32,
}

impl Rotary {
    /// The original form: `theta^(−2i/n_rotated)`.
    pub fn new(theta: f64, n_rotated: usize) -> Self {
        let frequency = |i: usize| {
            // Rounded where the reference rounds: it raises to the power in single precision.
            let exponent = (2 * i) as f32 / n_rotated as f32;
            1.0 / (theta as f32).powf(exponent)
        };
        Self { frequencies: (0..n_rotated / 2).map(frequency).collect(), scale: 1.0 }
    }

    /// Cosines and sines at some positions.
    pub fn turns(&self, positions: Range<usize>) -> Turns {
        Turns::new(&self.frequencies, positions, self.scale)
    }
}
