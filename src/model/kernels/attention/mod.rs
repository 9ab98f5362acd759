//! Attention in blocks of query rows: scores, cap, bias, softmax and the product with the values while a block
//! is in the cache, so that without a recording `[heads, n_query, n_key]` exists nowhere.
//!
//! Blocks, rows and the order of every sum are those of `matmul` and `softmax`, so results have the same bits
//! however much of what lies between is recorded (after Rabe and Staats 2021; whole rows need no running
//! maximum).

mod backward;
mod bias;
mod block;
mod scratch;
mod windows;

use std::{ops::Range, sync::Arc};

use candle_core::{CpuStorage, CustomOp3, Layout, Result, Shape, Storage, Tensor, bail};

use self::block::{BlockInput, Kept};
pub use self::{
    bias::Bias,
    scratch::scratch_values,
    windows::{Attended, KeptCopies, Windows},
};
use super::{
    attend,
    backend::is_fused,
    heads::{Views, heads_first},
    ops::filled_shared,
    product::OutputBuffer,
    scores,
    simd::Level,
    softcap, softmax_with_sink,
    to_host::to_host,
};
use crate::spec::AttentionParams;

/// Scaled, capped, biased and masked scores.
///
/// # Shapes
/// - `q`: `[heads, n_query, d_head]`; `k`: `[kv_heads, n_key, d_head]`, any strides
/// - result: `[heads, n_query, n_key]`
pub fn attention_scores(q: &Tensor, k: &Tensor, bias: Option<&Bias>, params: &AttentionParams) -> Result<Tensor> {
    let AttentionParams { scale, softcap: cap, mask, .. } = *params;
    let bias = bias.map(|bias| bias.spread(q.dim(1)?, k.dim(1)?)).transpose()?;
    let bias = bias.as_ref();
    let Some(cap) = cap else {
        let scores = scores(q, k, scale, mask)?;
        return if let Some(bias) = bias { scores.broadcast_add(bias) } else { Ok(scores) };
    };
    // The same products as without a cap, which then covers up what is hidden.
    let mut scores = softcap(&scores(q, k, scale, mask)?, cap)?;
    if let Some(bias) = bias {
        scores = scores.broadcast_add(bias)?;
    }
    super::mask(&scores, mask)
}

/// `softmax(scores) · v` for every head, heads side by side.
///
/// # Shapes
/// - as [`attention_scores`]; `v`: `[kv_heads, n_key, d_head]`, any strides
/// - result: `[n_query, heads · d_head]`
pub fn attention(q: &Tensor, k: &Tensor, v: &Tensor, bias: Option<&Bias>, params: &AttentionParams) -> Result<Tensor> {
    if is_fused(q) {
        return q.apply_op3(k, v, AttentionOp { params: params.clone(), bias: bias.cloned() });
    }
    Ok(by_operations(q, k, v, bias, params)?.0)
}

/// [`attention`] of several inputs that lie one after the other, each for itself: of some rows of the queries to some
/// of the keys and values. Without a gradient.
///
/// # Shapes
/// - as [`attention`]; result: the parts' results, one after the other
pub fn attention_by_parts(
    [q, k, v]: [&Tensor; 3],
    parts: &[(Range<usize>, Range<usize>)],
    params: &AttentionParams,
) -> Result<Tensor> {
    if !is_fused(q) {
        let of = |(rows, keys): &(Range<usize>, Range<usize>)| {
            let [k, v] = [k, v].map(|x| x.narrow(1, keys.start, keys.len()));
            attention(&q.narrow(1, rows.start, rows.len())?, &k?, &v?, None, params)
        };
        return Tensor::cat(&parts.iter().map(of).collect::<Result<Vec<_>>>()?, 0);
    }
    let op = AttentionOp { params: params.clone(), bias: None };
    let [(s1, l1), (s2, l2), (s3, l3)] = [q, k, v].map(Tensor::storage_and_layout);
    let (Storage::Cpu(s1), Storage::Cpu(s2), Storage::Cpu(s3)) = (&*s1, &*s2, &*s3) else {
        bail!("the kernels take tensors on the CPU only")
    };
    op.with_input([(s1, l1), (s2, l2), (s3, l3)], |input| {
        let z = input.run_parts(parts);
        let width = input.q.n_heads * input.v.d;
        Tensor::from_vec(z, (parts.iter().map(|(rows, _)| rows.len()).sum::<usize>(), width), q.device())
    })
}

/// [`attention`] and its pattern `[heads, n_query, n_key]`, computed where it stays. Without a gradient.
pub fn attention_with_pattern(
    q: &Tensor,
    k: &Tensor,
    v: &Tensor,
    bias: Option<&Bias>,
    params: &AttentionParams,
) -> Result<(Tensor, Arc<[f32]>)> {
    if !is_fused(q) {
        let (z, pattern) = by_operations(q, k, v, bias, params)?;
        return Ok((z, to_host(&pattern)?));
    }
    let op = AttentionOp { params: params.clone(), bias: bias.cloned() };
    let ((s1, l1), (s2, l2), (s3, l3)) = (q.storage_and_layout(), k.storage_and_layout(), v.storage_and_layout());
    let (Storage::Cpu(s1), Storage::Cpu(s2), Storage::Cpu(s3)) = (&*s1, &*s2, &*s3) else {
        bail!("the kernels take tensors on the CPU only")
    };
    op.with_input([(s1, l1), (s2, l2), (s3, l3)], |input| {
        let (n_heads, n_query, n_key) = (input.q.n_heads, input.q.n, input.k.n);
        let mut z = Vec::new();
        // SAFETY: every block writes its rows of the pattern, beside what it sees too.
        #[expect(unsafe_code, reason = "large results would otherwise be written twice")]
        let pattern = unsafe {
            filled_shared(n_heads * n_query * n_key, |pattern| z = input.run(Kept::Pattern(OutputBuffer::new(pattern))))
        };
        Ok((Tensor::from_vec(z, (n_query, n_heads * input.v.d), q.device())?, pattern))
    })
}

/// [`attention`] and what of each row went to a sink, `[heads, n_query]`; no pattern is kept. Without a gradient.
pub fn attention_with_sink(
    q: &Tensor,
    k: &Tensor,
    v: &Tensor,
    bias: Option<&Bias>,
    params: &AttentionParams,
) -> Result<(Tensor, Arc<[f32]>)> {
    if !is_fused(q) {
        let (z, pattern) = by_operations(q, k, v, bias, params)?;
        return Ok((z, sink_shares(&to_host(&pattern)?, k.dim(1)?)));
    }
    let op = AttentionOp { params: params.clone(), bias: bias.cloned() };
    let ((s1, l1), (s2, l2), (s3, l3)) = (q.storage_and_layout(), k.storage_and_layout(), v.storage_and_layout());
    let (Storage::Cpu(s1), Storage::Cpu(s2), Storage::Cpu(s3)) = (&*s1, &*s2, &*s3) else {
        bail!("the kernels take tensors on the CPU only")
    };
    op.with_input([(s1, l1), (s2, l2), (s3, l3)], |input| {
        let (n_heads, n_query) = (input.q.n_heads, input.q.n);
        let mut shares = vec![0.0; n_heads * n_query];
        let z = input.run(Kept::Sink(OutputBuffer::new(&mut shares)));
        Ok((Tensor::from_vec(z, (n_query, n_heads * input.v.d), q.device())?, shares.into()))
    })
}

/// What rows of `n_key` weights that sum to less than one leave to a sink, one share a row.
pub fn sink_shares(pattern: &[f32], n_key: usize) -> Arc<[f32]> {
    pattern.chunks_exact(n_key.max(1)).map(sink_share).collect()
}

fn sink_share(row: &[f32]) -> f32 {
    let sum: f64 = row.iter().map(|weight| f64::from(*weight)).sum();
    (1.0 - sum).clamp(0.0, 1.0) as f32
}

fn by_operations(
    q: &Tensor,
    k: &Tensor,
    v: &Tensor,
    bias: Option<&Bias>,
    params: &AttentionParams,
) -> Result<(Tensor, Tensor)> {
    let scores = attention_scores(q, k, bias, params)?;
    let pattern = softmax_with_sink(&scores, params.mask, params.sink.as_ref())?;
    Ok((attend(&pattern, v, params.mask)?, pattern))
}

/// Values on the CPU, and how they lie.
type Stored<'a> = (&'a CpuStorage, &'a Layout);

/// The gradients of queries, keys and values, which `of` makes of theirs and of the gradient of `z`, as
/// `[n, heads · d_head]` each.
fn go_back(
    inputs: [&Tensor; 3],
    grad: &Tensor,
    of: impl FnOnce([Stored<'_>; 3], &[f32]) -> Result<[Vec<f32>; 3]>,
) -> Result<(Option<Tensor>, Option<Tensor>, Option<Tensor>)> {
    let [(s1, l1), (s2, l2), (s3, l3)] = inputs.map(Tensor::storage_and_layout);
    let (Storage::Cpu(s1), Storage::Cpu(s2), Storage::Cpu(s3)) = (&*s1, &*s2, &*s3) else {
        bail!("the kernels take tensors on the CPU only")
    };
    let grad = grad.contiguous()?;
    let [dq, dk, dv] = super::with_values(&grad, |grad| of([(s1, l1), (s2, l2), (s3, l3)], grad))??;
    let [q, k, v] = inputs;
    let tensor = |values: Vec<f32>, x: &Tensor| {
        let (n_heads, n, d) = x.dims3()?;
        heads_first(&Tensor::from_vec(values, (n, n_heads * d), x.device())?, n_heads).map(Some)
    };
    Ok((tensor(dq, q)?, tensor(dk, k)?, tensor(dv, v)?))
}

struct AttentionOp {
    params: AttentionParams,
    bias: Option<Bias>,
}

impl AttentionOp {
    fn with_input<R>(
        &self,
        [(s1, l1), (s2, l2), (s3, l3)]: [Stored<'_>; 3],
        f: impl FnOnce(BlockInput<'_>) -> Result<R>,
    ) -> Result<R> {
        let (q, k, v) = (Views::of(s1, l1)?, Views::of(s2, l2)?, Views::of(s3, l3)?);
        let (group, params, level) = (q.group(&k)?, &self.params, Level::current());
        if v.n != k.n || v.n_heads != k.n_heads {
            bail!("keys {:?} and values {:?} do not fit", l2.dims(), l3.dims());
        }
        if params.sink.as_ref().is_some_and(|sink| sink.len() != q.n_heads) {
            bail!("{} sinks for {} heads", params.sink.as_ref().map_or(0, |sink| sink.len()), q.n_heads);
        }
        Bias::with_rows(self.bias.as_ref(), &q, k.n, |bias| f(BlockInput { q, k, v, group, bias, params, level }))
    }
}

impl CustomOp3 for AttentionOp {
    fn name(&self) -> &'static str {
        "attention"
    }

    fn cpu_fwd(
        &self,
        s1: &CpuStorage,
        l1: &Layout,
        s2: &CpuStorage,
        l2: &Layout,
        s3: &CpuStorage,
        l3: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        self.with_input([(s1, l1), (s2, l2), (s3, l3)], |input| {
            let shape = (input.q.n, input.q.n_heads * input.v.d);
            Ok((CpuStorage::F32(input.run(Kept::Nothing)), Shape::from(shape)))
        })
    }

    fn bwd(
        &self,
        q: &Tensor,
        k: &Tensor,
        v: &Tensor,
        _res: &Tensor,
        grad: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>, Option<Tensor>)> {
        go_back([q, k, v], grad, |stored, grad| {
            let found = self.with_input(stored, |input| Ok(input.gradients(grad)))?;
            Ok([found.q, found.k, found.v])
        })
    }
}
