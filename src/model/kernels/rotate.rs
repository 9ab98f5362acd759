//! Rotary position embedding of queries or keys (Su et al. 2021): dimension `i` turns together with dimension
//! `i + n/2`, as in most of the Hugging Face libraries, or with its neighbour, as in the paper.

use std::sync::Arc;

use candle_core::{CpuStorage, CustomOp1, D, Layout, Result, Shape, Tensor, bail};
use rayon::prelude::*;

use super::backend::is_fused;

/// Cosines and sines of some positions, one row of `n_rotated / 2` each.
#[derive(Clone, Debug)]
pub struct Turns {
    cos: Arc<[f32]>,
    sin: Arc<[f32]>,
    /// Rotated dimensions of a head; the rest passes.
    n_rotated: usize,
    /// Whether neighbouring dimensions turn together.
    neighbours: bool,
    /// What queries are multiplied by at each position; `None` for 1 everywhere.
    query_factors: Option<Arc<[f32]>>,
}

impl Turns {
    /// The turns at `positions`, for frequencies `[n_rotated / 2]` in radians per position; both are
    /// multiplied by `scale`.
    pub fn new(frequencies: &[f32], positions: std::ops::Range<usize>, scale: f32) -> Self {
        // The product is rounded to single precision like the reference's; only then does a far
        // position turn by the same angle.
        let angles = || positions.clone().flat_map(|p| frequencies.iter().map(move |f| f64::from(f * p as f32)));
        Self {
            cos: angles().map(|angle| angle.cos() as f32 * scale).collect(),
            sin: angles().map(|angle| angle.sin() as f32 * scale).collect(),
            n_rotated: 2 * frequencies.len(),
            neighbours: false,
            query_factors: None,
        }
    }

    /// The turns by these angles, `half` of each position.
    pub fn of_angles(angles: &[f32], half: usize) -> Self {
        Self {
            cos: angles.iter().map(|angle| f64::from(*angle).cos() as f32).collect(),
            sin: angles.iter().map(|angle| f64::from(*angle).sin() as f32).collect(),
            n_rotated: 2 * half,
            neighbours: false,
            query_factors: None,
        }
    }

    /// The same turns, with a factor of queries for each position.
    #[must_use]
    pub fn with_query_factors(self, factors: Option<Arc<[f32]>>) -> Self {
        Self { query_factors: factors, ..self }
    }

    /// The same turns of dimensions that stand side by side, or half of them apart.
    #[must_use]
    pub fn of_neighbours(self, neighbours: bool) -> Self {
        Self { neighbours, ..self }
    }

    /// The turns of several sequences, one after the other; all rotate as many dimensions.
    pub fn joined(parts: &[Self]) -> Self {
        let join = |of: fn(&Self) -> &[f32]| parts.iter().flat_map(|part| of(part).iter().copied()).collect();
        let grows = parts.iter().any(|part| part.query_factors.is_some());
        let factors = || {
            let of_part = |part: &Self| {
                let ones = || vec![1.0; part.cos.len() / (part.n_rotated / 2).max(1)];
                part.query_factors.as_ref().map_or_else(ones, |factors| factors.to_vec())
            };
            parts.iter().flat_map(of_part).collect()
        };
        Self {
            cos: join(|part| &part.cos),
            sin: join(|part| &part.sin),
            n_rotated: parts.first().map_or(0, |part| part.n_rotated),
            neighbours: parts.first().is_some_and(|part| part.neighbours),
            query_factors: grows.then(factors),
        }
    }

    /// The turns of the first `n` positions.
    #[must_use]
    pub fn first(&self, n: usize) -> Self {
        let query_factors = self.query_factors.as_ref().map(|factors| factors[..n].into());
        let n = n * self.n_rotated / 2;
        Self { cos: self.cos[..n].into(), sin: self.sin[..n].into(), query_factors, ..self.clone() }
    }

    /// The turns of some of the positions, one after the other.
    #[must_use]
    pub fn rows(&self, positions: &[usize]) -> Self {
        let half = self.n_rotated / 2;
        let rows = |values: &[f32]| positions.iter().flat_map(|row| values[row * half..][..half].to_vec()).collect();
        let factors = |factors: &Arc<[f32]>| positions.iter().map(|row| factors[*row]).collect();
        let query_factors = self.query_factors.as_ref().map(factors);
        Self { cos: rows(&self.cos), sin: rows(&self.sin), query_factors, ..self.clone() }
    }

    fn reversed(&self) -> Self {
        Self { sin: self.sin.iter().map(|sin| -sin).collect(), ..self.clone() }
    }
}

/// Turns each head's vector by the angles of its position.
///
/// # Shapes
/// - `x`: `[n, heads, d_head]`, the last dimension without gaps
/// - result: the same, contiguous
pub fn rotate(x: &Tensor, turns: &Turns) -> Result<Tensor> {
    if is_fused(x) {
        return x.apply_op1(RotateOp(turns.clone()));
    }
    let (n, n_heads, d_head) = x.dims3()?;
    let half = turns.n_rotated / 2;
    let table = |values: &Arc<[f32]>| Tensor::from_slice(values, (n, 1, half), x.device());
    let (cos, sin) = (table(&turns.cos)?, table(&turns.sin)?);
    let turning = x.narrow(2, 0, turns.n_rotated)?;
    let (a, b) = if turns.neighbours {
        let pairs = turning.reshape((n, n_heads, half, 2))?;
        (pairs.narrow(3, 0, 1)?.squeeze(3)?, pairs.narrow(3, 1, 1)?.squeeze(3)?)
    } else {
        (turning.narrow(2, 0, half)?, turning.narrow(2, half, half)?)
    };
    let first = (a.broadcast_mul(&cos)? - b.broadcast_mul(&sin)?)?;
    let second = (b.broadcast_mul(&cos)? + a.broadcast_mul(&sin)?)?;
    let turned = if turns.neighbours {
        Tensor::stack(&[first, second], 3)?.reshape((n, n_heads, turns.n_rotated))?
    } else {
        Tensor::cat(&[first, second], D::Minus1)?
    };
    if turns.n_rotated == d_head {
        return Ok(turned);
    }
    let rest = x.narrow(2, turns.n_rotated, d_head - turns.n_rotated)?;
    Tensor::cat(&[turned, rest], D::Minus1)
}

/// As [`rotate`], of queries, which some models multiply by a factor of their position.
///
/// # Shapes
/// - as [`rotate`]
pub fn rotate_queries(x: &Tensor, turns: &Turns) -> Result<Tensor> {
    let turned = rotate(x, turns)?;
    match &turns.query_factors {
        Some(factors) => turned.broadcast_mul(&Tensor::from_slice(factors, (factors.len(), 1, 1), x.device())?),
        None => Ok(turned),
    }
}

struct RotateOp(Turns);

impl CustomOp1 for RotateOp {
    fn name(&self) -> &'static str {
        "rotate"
    }

    fn cpu_fwd(&self, storage: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let CpuStorage::F32(data) = storage else { bail!("rotary embedding takes f32 tensors only") };
        let (&[n, n_heads, d_head], &[row_stride, head_stride, 1]) = (layout.dims(), layout.stride()) else {
            bail!("rotary embedding takes [n, heads, d_head], not {:?}", layout.dims())
        };
        let Turns { cos, sin, n_rotated, neighbours, .. } = &self.0;
        let half = n_rotated / 2;
        if *n_rotated > d_head || cos.len() != n * half {
            bail!("turns of {} positions do not fit {:?}", cos.len() / half.max(1), layout.dims());
        }
        let mut out = vec![0.0; n * n_heads * d_head];
        out.par_chunks_exact_mut((n_heads * d_head).max(1)).enumerate().for_each(|(row, out)| {
            let (cos, sin) = (&cos[row * half..(row + 1) * half], &sin[row * half..(row + 1) * half]);
            for (head, out) in out.chunks_exact_mut(d_head).enumerate() {
                let start = layout.start_offset() + row * row_stride + head * head_stride;
                let x = &data[start..start + d_head];
                if *neighbours {
                    let pairs = x[..*n_rotated].chunks_exact(2).zip(out.chunks_exact_mut(2));
                    for ((x, out), (cos, sin)) in pairs.zip(cos.iter().zip(sin)) {
                        out[0] = x[0] * cos - x[1] * sin;
                        out[1] = x[1] * cos + x[0] * sin;
                    }
                } else {
                    let (a, b) = x[..*n_rotated].split_at(half);
                    for i in 0..half {
                        out[i] = a[i] * cos[i] - b[i] * sin[i];
                        out[half + i] = b[i] * cos[i] + a[i] * sin[i];
                    }
                }
                out[*n_rotated..].copy_from_slice(&x[*n_rotated..]);
            }
        });
        Ok((CpuStorage::F32(out), Shape::from((n, n_heads, d_head))))
    }

    /// A rotation's transpose turns the other way.
    fn bwd(&self, _x: &Tensor, _res: &Tensor, grad: &Tensor) -> Result<Option<Tensor>> {
        Ok(Some(grad.contiguous()?.apply_op1_no_bwd(&Self(self.0.reversed()))?))
    }
}
