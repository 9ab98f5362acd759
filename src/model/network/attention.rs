//! Multi-head attention of every family, instrumented at every site.

use std::sync::Arc;

use candle_core::{Result as CandleResult, Tensor};

use super::{
    global::{Global, GlobalMaps},
    pass::Pass,
    relative::RelativeBias,
};
use crate::{
    capture::PerHead,
    model::{
        ModelError,
        kernels::{self, Attended, Bias, Form, Linear, Norm, Wanted, Windows},
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

/// A norm of heads' vectors.
#[derive(Debug)]
pub(crate) struct HeadNorm {
    /// `[d_head]`, of each head's vector; or `[heads · d_head]`, of all of them side by side.
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
    /// Maps of tokens that see all others.
    pub global: Option<GlobalMaps>,
}

impl Attention {
    /// Self-attention as in the first transformers: no rotary embedding, bias or extra norm.
    pub const fn plain(qkv: Linear, out: Linear, spec: LayerSpec, causal: bool) -> Self {
        let projections = Projections::Fused(qkv);
        Self { projections, out, spec, causal, qk_norm: None, rotary: None, bias: None, global: None }
    }

    /// Attention of a decoder to its encoder's stream.
    pub const fn cross(q: Linear, kv: Linear, out: Linear, spec: LayerSpec) -> Self {
        let projections = Projections::Cross { q, kv };
        Self { projections, out, spec, causal: false, qk_norm: None, rotary: None, bias: None, global: None }
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
        let mut global = None;
        // Heads are strided views of one product: the kernels read them in place.
        let (q, k, v) = match &self.projections {
            Projections::Fused(_) => {
                let (q, k, v) = self.project(x, pass)?;
                let q = match self.global.as_ref().filter(|_| !pass.global.is_empty()) {
                    Some(maps) => {
                        let (q, seen) = Global::of(maps, &pass.global, x, &q)?;
                        global = Some(seen);
                        q
                    }
                    None => q,
                };
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
        if let Some(global) = &global {
            run.keep_global(at, &global.tokens, [&global.k, &global.v])?;
            let z = self.attend_with_global(at, global, (&q, &k, &v), run)?;
            return self.with_z(at, z, run);
        }
        if pass.parts.is_empty() {
            return self.attend(at, (&q, &k, &v), pass, run);
        }
        // Packed inputs attend each for itself.
        let is_cross = matches!(self.projections, Projections::Cross { .. });
        let rows = |part: usize, pass: &Pass<'_>| {
            let rows = pass.rows_of(part);
            let keys = if is_cross { pass.parts[part].memory.clone() } else { rows.clone() };
            (rows, keys)
        };
        if self.is_one_product(at, run) {
            let parts: Vec<_> = (0..pass.parts.len()).map(|part| rows(part, pass)).collect();
            let z = kernels::attention_by_parts([&q, &k, &v], &parts, self.form(k.dim(1)?))?;
            return self.with_z(at, z, run);
        }
        let mut joined = Vec::with_capacity(pass.parts.len());
        for part in 0..pass.parts.len() {
            pass.enter(part);
            run.enter(Some(part));
            let (rows, keys) = rows(part, pass);
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
        let n_heads = self.spec.n_heads;
        let bias = self.bias(at, (q, k), pass, run)?;
        let form = self.form(k.dim(1)?);
        let normalizers = run.normalizers(at, n_heads);
        let z = if normalizers.is_none() && self.is_one_step(at, run) {
            self.in_one_step((at, form), (q, k, v), bias.as_ref(), run)?
        } else {
            let scores = form.scores(q, k, bias.as_ref())?;
            // An edit may have opened keys that the mask hides.
            let mask = if run.edits(Site::Scores, at) { Mask::NONE } else { form.mask };
            let scores = run.at(Site::Scores, at, scores)?;
            let pattern = match normalizers {
                Some(by_head) => kernels::normalize(&scores, &by_head)?,
                None if run.is_differentiated() => kernels::softmax(&scores, mask)?,
                None => kernels::softmax_in_place(scores, mask)?,
            };
            let pattern = if run.fixes_patterns() { pattern.detach() } else { pattern };
            let given = pattern.id();
            let pattern = run.at(Site::Pattern, at, pattern)?;
            // Only an untouched pattern is sure to be zero where the mask hides the key.
            let mask = if pattern.id() == given { mask } else { Mask::NONE };
            kernels::attend(&pattern, v, mask)?
        };
        self.with_z(at, z, run)
    }

    /// `z` where some tokens see all and are seen by all.
    ///
    /// # Shapes
    /// - as `attend`
    fn attend_with_global(
        &self,
        at: At,
        global: &Global,
        (q, k, v): (&Tensor, &Tensor, &Tensor),
        run: &mut Run<'_>,
    ) -> Result<Tensor, ModelError> {
        let (n_heads, n) = (self.spec.n_heads, q.dim(1)?);
        let Form { scale, mask, .. } = self.form(n);
        let windows = Windows { scale, mask, global: Arc::clone(&global.tokens) };
        let own_form = Form { scale, softcap: None, mask: Mask::NONE };
        let own_q = global.rows(q, 1)?;
        let normalizers = run.normalizers(at, n_heads);
        let is_changed = run.changes(Site::Scores, at) || run.changes(Site::Pattern, at) || normalizers.is_some();
        let is_recorded = run.records(Site::Scores, at) || run.records(Site::Pattern, at);
        if !is_changed && !(run.is_differentiated() && (run.fixes_patterns() || is_recorded)) {
            let has_room = |site: Site, run: &mut Run<'_>| run.has_room(site, at, n_heads * n * n);
            let wanted = Wanted { scores: has_room(Site::Scores, run), pattern: has_room(Site::Pattern, run) };
            let Attended { z, scores, pattern } = windows.attend(q, k, v, wanted)?;
            if let Some(scores) = scores {
                let own = own_form.scores(&own_q, &global.k, None)?;
                run.record(Site::Scores, at, &global.with_rows(&scores, &own, 1)?)?;
            }
            let own_z = if let Some(pattern) = pattern {
                let (z, own) = kernels::attention_with_pattern(&own_q, &global.k, &global.v, None, own_form)?;
                let own = Tensor::from_slice(&own, (n_heads, own_q.dim(1)?, n), own_q.device())?;
                run.record(Site::Pattern, at, &global.with_rows(&pattern, &own, 1)?)?;
                z
            } else {
                kernels::attention(&own_q, &global.k, &global.v, None, own_form)?
            };
            return Ok(global.with_rows(&z, &own_z, 0)?);
        }
        let own = own_form.scores(&own_q, &global.k, None)?;
        let scores = run.at(Site::Scores, at, global.with_rows(&windows.scores(q, k)?, &own, 1)?)?;
        let pattern = match normalizers {
            Some(by_head) => kernels::normalize(&scores, &by_head)?,
            None => kernels::softmax(&scores, Mask::NONE)?,
        };
        let pattern = if run.fixes_patterns() { pattern.detach() } else { pattern };
        let pattern = run.at(Site::Pattern, at, pattern)?;
        let z = kernels::attend(&pattern, v, Mask::NONE)?;
        let own_z = kernels::attend(&global.rows(&pattern, 1)?, &global.v, Mask::NONE)?;
        Ok(global.with_rows(&z, &own_z, 0)?)
    }

    /// `z` `[n, heads · d_head]`, offered to the run head by head.
    fn with_z(&self, at: At, z: Tensor, run: &mut Run<'_>) -> Result<Tensor, ModelError> {
        if !run.needs(Site::Z, at) {
            return Ok(z);
        }
        let by_head = run.at(Site::Z, at, self.split(&z, self.spec.n_heads)?.transpose(0, 1)?)?;
        Ok(by_head.transpose(0, 1)?.contiguous()?.reshape(z.shape())?)
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
        if let Some(turns) = self.rotary.and_then(|idx| pass.turns_of(idx)) {
            q = kernels::rotate(&q, &turns)?;
            k = kernels::rotate(&k, &turns)?;
        }
        Ok((q, k, v))
    }

    /// Whether nobody wants anything between queries and `z` but perhaps a copy of the pattern.
    fn is_one_step(&self, at: At, run: &Run<'_>) -> bool {
        let differentiated = run.is_differentiated()
            && (run.fixes_patterns()
                || run.records(Site::Pattern, at)
                || matches!(self.bias, Some(RelativeBias::Disentangled(_))));
        !run.needs(Site::Scores, at) && !run.changes(Site::Pattern, at) && !differentiated
    }

    /// Whether nothing between queries and `z` depends on which of the packed inputs they are of, or is wanted.
    fn is_one_product(&self, at: At, run: &Run<'_>) -> bool {
        self.is_one_step(at, run)
            && !self.spec.biased
            && !run.is_differentiated()
            && !run.needs(Site::Pattern, at)
            && !run.changes(Site::Z, at)
            && !run.normalizes(at, self.spec.n_heads)
    }

    /// `z` without a stop between queries and it.
    fn in_one_step(
        &self,
        (at, form): (At, Form),
        (q, k, v): (&Tensor, &Tensor, &Tensor),
        bias: Option<&Bias>,
        run: &mut Run<'_>,
    ) -> Result<Tensor, ModelError> {
        let n_weights = self.spec.n_heads * q.dim(1)? * k.dim(1)?;
        if !run.has_room(Site::Pattern, at, n_weights) {
            return Ok(kernels::attention(q, k, v, bias, form)?);
        }
        let (z, pattern) = kernels::attention_with_pattern(q, k, v, bias, form)?;
        run.keep_pattern(at, PerHead::new(pattern, [self.spec.n_heads, q.dim(1)?, k.dim(1)?])?);
        Ok(z)
    }

    /// What becomes of the products of queries with `n_key` keys.
    fn form(&self, n_key: usize) -> Form {
        let LayerSpec { scale, softcap, window, .. } = self.spec;
        // A window that reaches everywhere is none.
        let mask = Mask { causal: self.causal, window: window.filter(|reach| *reach < n_key) };
        Form { scale, softcap, mask }
    }

    /// What is added to the scores.
    fn bias(
        &self,
        at: At,
        (q, k): (&Tensor, &Tensor),
        pass: &Pass<'_>,
        run: &mut Run<'_>,
    ) -> Result<Option<Bias>, ModelError> {
        if !self.spec.biased {
            return Ok(None);
        }
        let own = match &self.bias {
            Some(RelativeBias::Disentangled(term)) => Some(Bias(term.scores(q, k, self.spec.scale)?)),
            Some(bias) => Some(pass.bias_of(bias, q.dim(1)?, k.dim(1)?, q.device())?),
            None => None,
        };
        let bias = own.as_ref().or(pass.bias.as_ref());
        if let Some(bias) = bias {
            run.keep_bias(at, &bias.0, own.is_none())?;
        }
        Ok(bias.cloned())
    }
}

/// Norms each head's vector, or all of them side by side.
///
/// # Shapes
/// - `x`: `[n, heads, d_head]`, any strides
/// - result: the same, contiguous
fn norm_heads(norm: &HeadNorm, x: &Tensor) -> CandleResult<Tensor> {
    let (n, n_heads, d_head) = x.dims3()?;
    let width = norm.norm.weight.dim(0)?;
    let rows = x.contiguous()?.reshape((n * n_heads * d_head / width, width))?;
    let normed = norm.norm.forward(&rows)?.reshape((n, n_heads, d_head))?;
    match &norm.by_head {
        Some(weights) => normed.broadcast_mul(weights),
        None => Ok(normed),
    }
}
