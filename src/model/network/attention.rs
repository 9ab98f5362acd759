//! Multi-head attention of every family, instrumented at every site.

use candle_core::{Result as CandleResult, Tensor};

use super::{pass::Pass, relative::RelativeBias};
use crate::{
    model::{
        ModelError,
        kernels::{self, Linear, Norm},
        run::{At, Run, Site},
    },
    spec::{LayerSpec, Mask},
};

/// Where queries, keys and values come from.
#[derive(Debug)]
pub(crate) enum Projections {
    /// All from one stream: `[d_model, (heads + 2 · kv_heads) · d_head]`, queries, keys, values.
    Fused(Linear),
    /// Queries from the decoder's stream, keys and values from the encoder's: `[d_model, heads · d_head]`
    /// and `[d_encoder, 2 · kv_heads · d_head]`.
    Cross { q: Linear, kv: Linear },
}

/// Norms of queries and keys, before rotary.
#[derive(Debug)]
pub(crate) struct QkNorm {
    pub q: HeadNorm,
    pub k: HeadNorm,
}

/// A norm of each head's vector.
#[derive(Debug)]
pub(crate) struct HeadNorm {
    /// `[d_head]`, for all heads.
    pub norm: Norm,
    /// `[heads, d_head]`, where every head has weights of its own.
    pub by_head: Option<Tensor>,
}

/// Multi-head attention.
#[derive(Debug)]
pub(crate) struct Attention {
    pub projections: Projections,
    /// `[heads · d_head, d_model]`.
    pub out: Linear,
    pub spec: LayerSpec,
    pub causal: bool,
    pub qk_norm: Option<QkNorm>,
    /// Which of the stack's rotary embeddings turns queries and keys.
    pub rotary: Option<usize>,
    /// A bias of this layer alone; a `spec.biased` layer without one uses the stack's.
    pub bias: Option<RelativeBias>,
}

impl Attention {
    /// Self-attention as in the first transformers: no rotary embedding, bias or extra norm.
    pub const fn plain(qkv: Linear, out: Linear, spec: LayerSpec, causal: bool) -> Self {
        let projections = Projections::Fused(qkv);
        Self { projections, out, spec, causal, qk_norm: None, rotary: None, bias: None }
    }

    /// Attention of a decoder to its encoder's stream.
    pub const fn cross(q: Linear, kv: Linear, out: Linear, spec: LayerSpec) -> Self {
        let projections = Projections::Cross { q, kv };
        Self { projections, out, spec, causal: false, qk_norm: None, rotary: None, bias: None }
    }

    /// Whether it attends to a stream of this width that is not its own.
    pub fn reads(&self, d_encoder: usize) -> bool {
        matches!(&self.projections, Projections::Cross { kv, .. } if kv.dims().is_ok_and(|(d_in, _)| d_in == d_encoder))
    }

    /// `z` of all heads side by side; `out` maps it back to the stream.
    ///
    /// # Shapes
    /// - `x`: `[n, d_model]`
    /// - result: `[n, heads · d_head]`
    pub fn forward(&self, at: At, x: &Tensor, pass: &mut Pass<'_>, run: &mut Run<'_>) -> Result<Tensor, ModelError> {
        let n_heads = self.spec.n_heads;
        // Heads are strided views of one product: the kernels read them in place.
        let (q, k, v) = match &self.projections {
            Projections::Fused(_) => {
                let (q, k, v) = self.project(x, pass)?;
                let (k, v) = pass.extend(at, k, v)?;
                (q, k, v)
            }
            Projections::Cross { q, kv } => {
                let q = self.split(&q.forward(x)?, n_heads)?;
                let (k, v) = pass.remember(at, |memory| {
                    let kv = self.split(&kv.forward(memory)?, 2 * self.spec.n_kv_heads)?;
                    let n = self.spec.n_kv_heads;
                    Ok((kv.narrow(1, 0, n)?, kv.narrow(1, n, n)?))
                })?;
                (q, k, v)
            }
        };
        let q = run.at(Site::Q, at, q.transpose(0, 1)?)?;
        let k = run.at(Site::K, at, k.transpose(0, 1)?)?;
        let v = run.at(Site::V, at, v.transpose(0, 1)?)?;
        if pass.parts.is_empty() {
            return self.attend(at, (&q, &k, &v), pass, run);
        }
        // Packed inputs attend each for itself.
        let mut joined = Vec::with_capacity(pass.parts.len());
        for part in 0..pass.parts.len() {
            pass.enter(part);
            run.enter(Some(part));
            let rows = pass.parts[part].rows.clone();
            let is_cross = matches!(self.projections, Projections::Cross { .. });
            let keys = if is_cross { pass.parts[part].memory.clone() } else { rows.clone() };
            let q = q.narrow(1, rows.start, rows.len())?;
            let (k, v) = (k.narrow(1, keys.start, keys.len())?, v.narrow(1, keys.start, keys.len())?);
            joined.push(self.attend(at, (&q, &k, &v), pass, run)?);
        }
        run.enter(None);
        Ok(Tensor::cat(&joined, 0)?)
    }

    /// Queries and keys, and nothing further: the last thing a run wants to know.
    pub fn only_project(&self, at: At, x: &Tensor, pass: &Pass<'_>, run: &mut Run<'_>) -> Result<(), ModelError> {
        let (q, k, v) = self.project(x, pass)?;
        run.at(Site::Q, at, q.transpose(0, 1)?)?;
        run.at(Site::K, at, k.transpose(0, 1)?)?;
        run.at(Site::V, at, v.transpose(0, 1)?)?;
        Ok(())
    }

    /// `z` of one input's queries, keys and values.
    ///
    /// # Shapes
    /// - `q`: `[heads, n, d_head]`; `k`, `v`: `[kv_heads, n_key, d_head]`
    /// - result: `[n, heads · d_head]`
    fn attend(
        &self,
        at: At,
        (q, k, v): (&Tensor, &Tensor, &Tensor),
        pass: &Pass<'_>,
        run: &mut Run<'_>,
    ) -> Result<Tensor, ModelError> {
        let (n_heads, n) = (self.spec.n_heads, q.dim(1)?);
        let (scores, mask) = self.scores(at, q, k, pass, run)?;
        // An edit may have opened keys that the mask hides.
        let causal = mask.causal && !run.edits(Site::Scores, at);
        let scores = run.at(Site::Scores, at, scores)?;
        let pattern = match run.normalizers(at, n_heads) {
            Some(by_head) => kernels::normalize(&scores, &by_head)?,
            None if run.is_differentiated() => kernels::softmax(&scores, causal)?,
            None => kernels::softmax_in_place(scores, causal)?,
        };
        let pattern = if run.fixes_patterns() { pattern.detach() } else { pattern };
        let given = pattern.id();
        let pattern = run.at(Site::Pattern, at, pattern)?;
        // Only an untouched pattern is sure to be zero beyond the diagonal.
        let causal = causal && pattern.id() == given;
        let mut z = kernels::attend(&pattern, v, causal)?;
        if run.needs(Site::Z, at) {
            let by_head = z.reshape((n, n_heads, self.spec.d_head))?.transpose(0, 1)?;
            let by_head = run.at(Site::Z, at, by_head)?;
            z = by_head.transpose(0, 1)?.contiguous()?.reshape((n, n_heads * self.spec.d_head))?;
        }
        Ok(z)
    }

    /// `[n, n_heads · d_head]` as `[n, n_heads, d_head]`.
    fn split(&self, x: &Tensor, n_heads: usize) -> CandleResult<Tensor> {
        x.reshape((x.dim(0)?, n_heads, self.spec.d_head))
    }

    /// Queries, keys and values `[n, heads, d_head]` of one stream, normed and turned.
    fn project(&self, x: &Tensor, pass: &Pass<'_>) -> CandleResult<(Tensor, Tensor, Tensor)> {
        let Projections::Fused(qkv) = &self.projections else {
            candle_core::bail!("cross-attention has no single projection")
        };
        let LayerSpec { n_heads, n_kv_heads, .. } = self.spec;
        let qkv = self.split(&qkv.forward(x)?, n_heads + 2 * n_kv_heads)?;
        let mut q = qkv.narrow(1, 0, n_heads)?;
        let mut k = qkv.narrow(1, n_heads, n_kv_heads)?;
        let v = qkv.narrow(1, n_heads + n_kv_heads, n_kv_heads)?;
        if let Some(norm) = &self.qk_norm {
            q = norm_heads(&norm.q, &q)?;
            k = norm_heads(&norm.k, &k)?;
        }
        if let Some(turns) = self.rotary.and_then(|idx| pass.turns.get(idx)) {
            q = kernels::rotate(&q, turns)?;
            k = kernels::rotate(&k, turns)?;
        }
        Ok((q, k, v))
    }

    /// Scores with everything but edits, and the mask that they carry.
    fn scores(
        &self,
        at: At,
        q: &Tensor,
        k: &Tensor,
        pass: &Pass<'_>,
        run: &mut Run<'_>,
    ) -> Result<(Tensor, Mask), ModelError> {
        let LayerSpec { scale, softcap, window, biased, .. } = self.spec;
        let n_key = k.dim(1)?;
        // A window that reaches everywhere is none.
        let mask = Mask { causal: self.causal, window: window.filter(|reach| *reach < n_key) };
        if softcap.is_none() && mask.window.is_none() && !biased {
            return Ok((kernels::scores(q, k, scale, self.causal)?, mask));
        }
        let mut scores = kernels::scores(q, k, scale, false)?;
        if let Some(cap) = softcap {
            scores = kernels::softcap(&scores, cap)?;
        }
        if biased {
            let own = match &self.bias {
                Some(RelativeBias::Disentangled(term)) => Some(term.scores(q, k, scale)?),
                Some(bias) => Some(pass.bias_of(bias, q.dim(1)?, n_key, q.device())?),
                None => None,
            };
            if let Some(bias) = own.as_ref().or(pass.bias.as_ref()) {
                scores = scores.broadcast_add(bias)?;
                run.keep_bias(at, bias, own.is_none())?;
            }
        }
        Ok((kernels::mask(&scores, mask)?, mask))
    }
}

/// Norms each head's vector.
///
/// # Shapes
/// - `x`: `[n, heads, d_head]`, any strides
/// - result: the same, contiguous
fn norm_heads(norm: &HeadNorm, x: &Tensor) -> CandleResult<Tensor> {
    let (n, n_heads, d_head) = x.dims3()?;
    let rows = x.contiguous()?.reshape((n * n_heads, d_head))?;
    let normed = norm.norm.forward(&rows)?.reshape((n, n_heads, d_head))?;
    match &norm.by_head {
        Some(weights) => normed.broadcast_mul(weights),
        None => Ok(normed),
    }
}
