//! Normalisers other than softmax. Those of a threshold (sparsemax, α-entmax, fusedmax) are found here in few steps.
//!
//! Rows are short and few heads are changed, so this is plain code on the CPU, in double precision inside a
//! row; on other devices scores make a detour over the CPU. `analysis::explain::normalizers` is the reference, and
//! computes all others.

use candle_core::{CpuStorage, CustomOp1, CustomOp2, Layout, Result, Shape, Tensor, bail};
use rayon::prelude::*;

use super::{ops::values, softmax};
use crate::{analysis::explain::normalizers, capture::Normalizer, ids::HeadId};

/// How near to 1 the sum of a row has to be before it is divided by: to below what single precision can tell.
const CLOSE: f64 = 1e-10;
/// Steps towards a threshold. Up to α = 2 about five do; above, the interval may have to be halved.
const MOST_STEPS: usize = 60;

/// The pattern that scores have when each head has a normaliser of its own. Entries of `-inf` give exactly
/// zero, and a row of them gives zeros. The first row is that of a query of a head.
///
/// # Shapes
/// - `scores`, result: `[head, query, key]`; `by_head`: one per head
pub fn normalize(scores: &Tensor, by_head: &[Normalizer], first: (HeadId, usize)) -> Result<Tensor> {
    if by_head.iter().all(|normalizer| *normalizer == Normalizer::Softmax) {
        return softmax(scores, crate::spec::Mask::NONE);
    }
    if by_head.len() != scores.dim(0)? {
        bail!("{} normalisers for {} heads", by_head.len(), scores.dim(0)?);
    }
    let device = scores.device();
    let cpu = scores.to_device(&candle_core::Device::Cpu)?.contiguous()?;
    cpu.apply_op1(NormalizeOp { by_head: by_head.to_vec(), first })?.to_device(device)
}

#[derive(Clone)]
struct NormalizeOp {
    by_head: Vec<Normalizer>,
    first: (HeadId, usize),
}

impl NormalizeOp {
    /// Calls `f` for every row, with its normaliser, its head and query, and its place.
    fn for_each_row(
        &self,
        layout: &Layout,
        out: &mut [f32],
        f: impl Fn(Normalizer, (HeadId, usize), usize, &mut [f32]) + Sync,
    ) {
        let (n_query, n_key) = match layout.dims() {
            &[_, n_query, n_key] => (n_query.max(1), n_key.max(1)),
            _ => return,
        };
        let (first, query) = self.first;
        out.par_chunks_exact_mut(n_key).enumerate().for_each(|(idx, row)| {
            let head = HeadId { head: first.head + idx / n_query, ..first };
            f(self.by_head[idx / n_query], (head, query + idx % n_query), idx, row);
        });
    }
}

impl CustomOp1 for NormalizeOp {
    fn name(&self) -> &'static str {
        "normalize"
    }

    fn cpu_fwd(&self, storage: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let mut out = values(storage, layout)?.to_vec();
        self.for_each_row(layout, &mut out, |normalizer, at, _, row| weights(normalizer, at, row));
        Ok((CpuStorage::F32(out), layout.shape().clone()))
    }

    fn bwd(&self, scores: &Tensor, pattern: &Tensor, grad: &Tensor) -> Result<Option<Tensor>> {
        let op = NormalizeGrad { of: self.clone(), scores: scores.clone() };
        Ok(Some(pattern.contiguous()?.apply_op2_no_bwd(&grad.contiguous()?, &op)?))
    }
}

struct NormalizeGrad {
    of: NormalizeOp,
    scores: Tensor,
}

impl CustomOp2 for NormalizeGrad {
    fn name(&self) -> &'static str {
        "normalize-grad"
    }

    fn cpu_fwd(&self, s1: &CpuStorage, l1: &Layout, s2: &CpuStorage, l2: &Layout) -> Result<(CpuStorage, Shape)> {
        let (pattern, grad) = (values(s1, l1)?, values(s2, l2)?);
        let scores = self.scores.flatten_all()?.to_vec1::<f32>()?;
        let mut out = vec![0.0; pattern.len()];
        let n = l1.dims().last().copied().unwrap_or(1).max(1);
        self.of.for_each_row(l1, &mut out, |normalizer, _, idx, out| {
            let range = idx * n..(idx + 1) * n;
            gradient(normalizer, &scores[range.clone()], &pattern[range.clone()], &grad[range], out);
        });
        Ok((CpuStorage::F32(out), l1.shape().clone()))
    }
}

/// The α of a normaliser of the family of α-entmax.
fn alpha(normalizer: Normalizer) -> Option<f64> {
    match normalizer {
        Normalizer::Softmax => Some(1.0),
        Normalizer::Sparsemax | Normalizer::Fusedmax(_) => Some(2.0),
        Normalizer::Entmax(alpha) => Some(f64::from(alpha).max(1.0)),
        Normalizer::ChainSimplex(_)
        | Normalizer::Chain(_)
        | Normalizer::SparsemapChain(_)
        | Normalizer::Sigmoid(_)
        | Normalizer::Argmax
        | Normalizer::Sample { .. } => None,
    }
}

/// One row of scores becomes one of weights.
fn weights(normalizer: Normalizer, at: (HeadId, usize), row: &mut [f32]) {
    let Some(alpha) = alpha(normalizer) else {
        put(row, normalizers::weights(normalizer, at, &wide(row)));
        return;
    };
    let max = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    if max == f32::NEG_INFINITY {
        row.fill(0.0);
        return;
    }
    // Relative to the largest: nothing changes, and large scores do not swallow small differences.
    let visible: Vec<usize> = (0..row.len()).filter(|key| row[*key] > f32::NEG_INFINITY).collect();
    let mut z: Vec<f64> = visible.iter().map(|key| f64::from(row[*key]) - f64::from(max)).collect();
    if let Normalizer::Fusedmax(lambda) = normalizer {
        fuse(&mut z, f64::from(lambda));
        let max = z.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        for z in &mut z {
            *z -= max;
        }
    }
    if alpha == 1.0 {
        of_softmax(&mut z);
    } else {
        of_entmax(&mut z, alpha);
    }
    row.fill(0.0);
    for (key, weight) in visible.into_iter().zip(z) {
        row[key] = weight as f32;
    }
}

fn wide(row: &[f32]) -> Vec<f64> {
    row.iter().copied().map(f64::from).collect()
}

fn put(row: &mut [f32], values: Vec<f64>) {
    for (at, value) in row.iter_mut().zip(values) {
        *at = value as f32;
    }
}

fn of_softmax(z: &mut [f64]) {
    for z in z.iter_mut() {
        *z = z.exp();
    }
    let sum: f64 = z.iter().sum();
    for z in z.iter_mut() {
        *z /= sum;
    }
}

/// α-entmax, `relu((α-1) z - τ)^(1/(α-1))` with `τ` such that the sum is 1 (Peters et al. 2019); sparsemax is
/// α = 2. The largest `z` is 0.
fn of_entmax(z: &mut [f64], alpha: f64) {
    let power = 1.0 / (alpha - 1.0);
    let raise = |x: f64| {
        if power == 1.0 {
            x
        } else if power == 2.0 {
            x * x
        } else {
            x.powf(power)
        }
    };
    for z in z.iter_mut() {
        *z *= alpha - 1.0;
    }
    // The largest weight is at most 1, so nothing below -1 has any.
    let mut near: Vec<f64> = z.iter().copied().filter(|x| *x > -1.0).collect();
    let (mut low, mut high) = (-1.0, -(near.len() as f64).powf(1.0 - alpha));
    let (mut threshold, mut total) = (low, 1.0);
    for _ in 0..MOST_STEPS {
        let mut slope = 0.0;
        total = 0.0;
        for above in near.iter().map(|x| x - threshold).filter(|above| *above > 0.0) {
            let raised = raise(above);
            total += raised;
            slope += raised / above;
        }
        if (total - 1.0).abs() < CLOSE {
            break;
        }
        if total > 1.0 {
            low = threshold;
            // What is below has no weight wherever the threshold ends.
            near.retain(|x| *x > low);
        } else {
            high = threshold;
        }
        // Newton's step for the norm `(Σ x^p)^(1/p)`, which is convex up to α = 2 and nearly straight: from the left
        // it never goes too far.
        let next = threshold + (total - total.powf(2.0 - alpha)) / slope;
        threshold = if next > low && next < high { next } else { f64::midpoint(low, high) };
    }
    for z in z.iter_mut() {
        *z = if *z > threshold { raise(*z - threshold) / total } else { 0.0 };
    }
}

/// Draws neighbours to each other: `argmin_y ½‖y - z‖² + λ Σ |y_(i+1) - y_i|` (Condat 2013).
fn fuse(z: &mut [f64], lambda: f64) {
    let fused = normalizers::prox_tv(z, lambda);
    z.copy_from_slice(&fused);
}

/// The gradient of the scores from that of the weights.
fn gradient(normalizer: Normalizer, scores: &[f32], pattern: &[f32], grad: &[f32], out: &mut [f32]) {
    let Some(alpha) = alpha(normalizer) else {
        put(out, normalizers::gradient(normalizer, &wide(scores), &wide(grad)));
        return;
    };
    // `s ⊙ g - s (s·g) / Σs` with `s = p^(2-α)` where there is weight.
    let share = |p: f32| if p > 0.0 { f64::from(p).powf(2.0 - alpha) } else { 0.0 };
    let (mut sum, mut product) = (0.0, 0.0);
    for (p, g) in pattern.iter().zip(grad) {
        sum += share(*p);
        product += share(*p) * f64::from(*g);
    }
    let mean = if sum > 0.0 { product / sum } else { 0.0 };
    for ((out, p), g) in out.iter_mut().zip(pattern).zip(grad) {
        *out = (share(*p) * (f64::from(*g) - mean)) as f32;
    }
    if let Normalizer::Fusedmax(_) = normalizer {
        spread(pattern, scores, out);
    }
}

/// Neighbours that share a weight share its gradient.
fn spread(pattern: &[f32], scores: &[f32], out: &mut [f32]) {
    // Which keys are hidden is told by a score, and no longer by a weight.
    let keys: Vec<usize> = (0..pattern.len()).filter(|key| scores[*key] > f32::NEG_INFINITY).collect();
    for group in keys.chunk_by(|a, b| pattern[*a] == pattern[*b]) {
        let mean = group.iter().map(|key| out[*key]).sum::<f32>() / group.len() as f32;
        for key in group {
            out[*key] = mean;
        }
    }
}
