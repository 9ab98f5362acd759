//! Recurrences whose state is linear in the values, many tokens at once, and the pattern that they amount to.
//!
//! Each head has a state `S` `[d_key, d_value]`. At every token it decays, `S ← e^g S`; a value is written under the key,
//! `S ← S + k uᵀ` with `u = w v`, or by the delta rule `u = w (v − Sᵀ k)` (the difference from what is stored there); and
//! the query reads `o = Sᵀ q`. Once q, k, w and g are known, `o` is linear in the values: `o_t = Σ_s M[t, s] v_s`.
//!
//! A chunk of tokens is computed at once (Yang et al. 2024): what they write follows from a triangular system, and with
//! decays `D[t, s] = e^(g_{s+1} + … + g_t)`
//!
//! ```text
//! (1 + L) U = diag(w) (V − diag(D[·, 0]) K S₀),  L = diag(w) (K Kᵀ ⊙ D) below the diagonal
//! O = diag(D[·, 0]) Q S₀ + (Q Kᵀ ⊙ D) U
//! ```
//!
//! Without the delta rule `U = diag(w) V` (Mamba-2, Dao and Gu 2024).

use std::{ops::Range, sync::Arc};

use candle_core::{Result as CandleResult, Tensor};

use crate::model::{
    ModelError,
    kernels::{self, to_host},
    run::Run,
};

/// Tokens of a chunk.
const CHUNK: usize = 64;

/// What a recurrence is made of, but for the values.
pub(crate) struct Recurrence {
    /// `[heads, n, d_key]`, scaled.
    pub q: Tensor,
    /// `[heads, n, d_key]`.
    pub k: Tensor,
    /// `[heads, n, 1]`: how much is written.
    pub written: Tensor,
    /// `[heads, n]`: logarithm of what is left of the state at each token.
    pub decay: Tensor,
    /// Whether a key's old value is taken away where a new one is written: the delta rule.
    pub erases: bool,
}

/// Some tokens, with what they see of the state before them and leave in the state behind them.
struct Chunk {
    rows: Range<usize>,
    /// `[heads, c, d_key]`: queries as they read the state before the chunk.
    reads: Tensor,
    /// `[heads, c, c]`: what queries read of what the chunk writes.
    inner: Tensor,
    /// `[heads, c, c]`: what each token writes of the values.
    own: Tensor,
    /// `[heads, c, d_key]`: what each token takes away of the state before the chunk, by the delta rule.
    erases: Option<Tensor>,
    /// `[heads, d_key, c]`: keys as they reach the state behind the chunk.
    leaves: Tensor,
    /// `[heads, 1, 1]`: what is left of the state before it.
    left: Tensor,
}

impl Recurrence {
    fn n(&self) -> CandleResult<usize> {
        self.q.dim(1)
    }

    fn chunk(&self, rows: Range<usize>) -> CandleResult<Chunk> {
        let of = |x: &Tensor| x.narrow(1, rows.start, rows.len())?.contiguous();
        let (q, k, written) = (of(&self.q)?, of(&self.k)?, of(&self.written)?);
        // From the beginning of the chunk, itself included.
        let decay = of(&self.decay)?.cumsum(1)?;
        let c = rows.len();
        let later = (0..c * c).map(|at| if at % c > at / c { f32::NEG_INFINITY } else { 0.0 });
        let later = Tensor::from_iter(later, q.device())?.reshape((c, c))?;
        let between = decay.unsqueeze(2)?.broadcast_sub(&decay.unsqueeze(1)?)?.broadcast_add(&later)?.exp()?;
        let since = decay.exp()?.unsqueeze(2)?;
        let until = decay.narrow(1, c - 1, 1)?.broadcast_sub(&decay)?.exp()?.unsqueeze(2)?;
        let turned = k.t()?.contiguous()?;
        let (own, erases) = if self.erases {
            let system = (k.matmul(&turned)? * &between)?.broadcast_mul(&written)?;
            let own = kernels::unit_lower_inverse(&system)?.broadcast_mul(&written.t()?)?;
            let erases = own.matmul(&k.broadcast_mul(&since)?)?;
            (own, Some(erases))
        } else {
            (Tensor::eye(c, q.dtype(), q.device())?.broadcast_mul(&written)?, None)
        };
        Ok(Chunk {
            rows,
            reads: q.broadcast_mul(&since)?,
            inner: (q.matmul(&turned)? * between)?,
            own,
            erases,
            leaves: k.broadcast_mul(&until)?.t()?.contiguous()?,
            left: since.narrow(1, c - 1, 1)?,
        })
    }

    fn chunks(&self) -> CandleResult<impl Iterator<Item = CandleResult<Chunk>> + '_> {
        let n = self.n()?;
        Ok((0..n).step_by(CHUNK).map(move |first| self.chunk(first..(first + CHUNK).min(n))))
    }

    /// What queries read, and the state behind the last token.
    ///
    /// # Shapes
    /// - `v`, result: `[heads, n, d_value]`
    /// - state: `[heads, d_key, d_value]`; zeros where nothing came before
    pub fn outputs(
        &self,
        v: &Tensor,
        mut state: Option<Tensor>,
        run: &Run<'_>,
    ) -> Result<(Tensor, Option<Tensor>), ModelError> {
        let mut outputs = Vec::new();
        for chunk in self.chunks()? {
            run.checkpoint()?;
            let chunk = chunk?;
            let mut written = chunk.own.matmul(&v.narrow(1, chunk.rows.start, chunk.rows.len())?.contiguous()?)?;
            let mut read = None;
            if let Some(state) = &state {
                if let Some(erases) = &chunk.erases {
                    written = (written - erases.matmul(state)?)?;
                }
                read = Some(chunk.reads.matmul(state)?);
            }
            let inner = chunk.inner.matmul(&written)?;
            outputs.push(match read {
                Some(read) => (read + inner)?,
                None => inner,
            });
            let added = chunk.leaves.matmul(&written)?;
            state = Some(match state {
                Some(state) => (state.broadcast_mul(&chunk.left)? + added)?,
                None => added,
            });
        }
        Ok((Tensor::cat(&outputs, 1)?, state))
    }

    /// `M` of a text that begins here, `[heads, n, n]`: what queries would read if each value were a unit vector of its
    /// own.
    pub fn pattern(&self, run: &Run<'_>) -> Result<Arc<[f32]>, ModelError> {
        let (n_heads, n) = (self.q.dim(0)?, self.n()?);
        let mut pattern = vec![0.0f32; n_heads * n * n];
        // What unit values of the tokens so far have left, `[heads, d_key, tokens]`.
        let mut state: Option<Tensor> = None;
        for chunk in self.chunks()? {
            run.checkpoint()?;
            let Chunk { rows, reads, inner, own, erases, leaves, left } = chunk?;
            let (mut read, mut next) = (inner.matmul(&own)?, leaves.matmul(&own)?);
            if let Some(state) = &state {
                let (mut before, mut kept) = (reads.matmul(state)?, state.broadcast_mul(&left)?);
                if let Some(erases) = &erases {
                    let erased = erases.matmul(state)?;
                    before = (before - inner.matmul(&erased)?)?;
                    kept = (kept - leaves.matmul(&erased)?)?;
                }
                read = Tensor::cat(&[&before, &read], 2)?;
                next = Tensor::cat(&[&kept, &next], 2)?;
            }
            state = Some(next.contiguous()?);
            let values = to_host(&read.contiguous()?)?;
            let known = rows.end;
            for (head, lines) in values.chunks_exact(rows.len() * known).enumerate() {
                for (row, line) in rows.clone().zip(lines.chunks_exact(known)) {
                    let first = (head * n + row) * n;
                    pattern[first..first + known].copy_from_slice(line);
                }
            }
        }
        Ok(pattern.into())
    }
}

#[cfg(test)]
mod tests {
    use candle_core::Device;

    use super::*;
    use crate::model::run::{RunPlan, Taps, uninterrupted};

    fn tensor(values: &[f32], shape: (usize, usize, usize)) -> Tensor {
        Tensor::from_slice(values, shape, &Device::Cpu).unwrap()
    }

    fn with_run<R>(work: impl FnOnce(&Run<'_>) -> R) -> R {
        let plan = RunPlan::silent();
        work(&Run::new(&plan, &[], Taps::NONE, &uninterrupted))
    }

    #[test]
    fn three_tokens_by_hand() {
        // d_key = 2; S is decayed, then corrected, then read.
        let scale = 0.5f32.sqrt();
        let q: Vec<f32> = [1.0, 0.5, 0.2, 1.0, 1.0, -1.0].map(|q: f32| q * scale).to_vec();
        let recurrence = Recurrence {
            q: tensor(&q, (1, 3, 2)),
            k: tensor(&[1.0, 0.0, 0.6, 0.8, 0.0, 1.0], (1, 3, 2)),
            written: tensor(&[0.5, 0.9, 0.4], (1, 3, 1)),
            decay: tensor(&[0.0, 0.8f32.ln(), 0.5f32.ln()], (1, 1, 3)).squeeze(0).unwrap(),
            erases: true,
        };
        let near = |recurrence: &Recurrence, expected: [[f32; 3]; 3]| {
            let pattern = with_run(|run| recurrence.pattern(run)).unwrap();
            for (found, expected) in pattern.iter().zip(expected.as_flattened()) {
                assert!((found - expected).abs() < 1e-6, "{pattern:?}");
            }
        };
        let erased =
            [[0.353_553_39, 0.0, 0.0], [-0.083_947_72, 0.585_484_4, 0.0], [0.132_257_25, 0.038_183_77, -0.282_842_7]];
        near(&recurrence, erased);
        // The last row as it is without the delta rule.
        let kept = Recurrence { erases: false, ..recurrence };
        let [row, other, _] = erased;
        let second = 0.5 * 0.2 * 0.8 * scale;
        near(&kept, [row, [second, other[1], 0.0], [0.141_421_36, -0.063_639_61, -0.282_842_7]]);
    }

    #[test]
    fn the_pattern_times_the_values_is_what_is_read_over_several_chunks() {
        [true, false].into_iter().for_each(holds_over_chunks);
    }

    fn holds_over_chunks(erases: bool) {
        const N: usize = 2 * CHUNK + 9;
        let values = |n: usize, step: f32| (0..n).map(|at| (at as f32 * step).sin()).collect::<Vec<f32>>();
        let positive = |n: usize, step: f32| values(n, step).iter().map(|x| 0.5 + 0.5 * x).collect::<Vec<f32>>();
        let recurrence = Recurrence {
            q: tensor(&values(2 * N * 4, 0.37), (2, N, 4)),
            k: tensor(&values(2 * N * 4, 0.83), (2, N, 4)).affine(0.5, 0.0).unwrap(),
            written: tensor(&positive(2 * N, 1.3), (2, N, 1)),
            decay: tensor(&positive(2 * N, 0.7), (1, 2, N)).squeeze(0).unwrap().affine(-0.2, 0.0).unwrap(),
            erases,
        };
        let v = tensor(&values(2 * N * 3, 0.59), (2, N, 3));
        let (read, _) = with_run(|run| recurrence.outputs(&v, None, run)).unwrap();
        let pattern = with_run(|run| recurrence.pattern(run)).unwrap();
        let product = tensor(&pattern, (2, N, N)).matmul(&v).unwrap();
        let worst = (&read - product).unwrap().abs().unwrap().max_all().unwrap().to_scalar::<f32>().unwrap();
        assert!(worst < 1e-5, "{worst}");
        // One token after the other, with the state carried, reads the same.
        let mut state = None;
        for at in 0..N {
            let of = |x: &Tensor| x.narrow(1, at, 1).unwrap();
            let one = Recurrence {
                q: of(&recurrence.q),
                k: of(&recurrence.k),
                written: of(&recurrence.written),
                decay: of(&recurrence.decay),
                erases,
            };
            let (row, next) = with_run(|run| one.outputs(&of(&v), state.take(), run)).unwrap();
            state = next;
            let worst = (row - of(&read)).unwrap().abs().unwrap().max_all().unwrap().to_scalar::<f32>().unwrap();
            assert!(worst < 1e-5, "token {at}: {worst}");
        }
    }
}
