//! Multi-head attention of every family, instrumented at every site.

use std::{fmt::Debug, sync::Arc};

use candle_core::{Result as CandleResult, Tensor};

use super::{latent::LatentMaps, pass::Pass, relative::RelativeBias};
use crate::{
    capture::PerHead,
    model::{
        ModelError,
        kernels::{self, Bias, Linear, Norm, Turns},
        run::{At, Run, Site},
    },
    spec::{AttentionParams, LayerSpec, Mask},
};

/// The branch of a block in which positions see each other.
///
/// Blocks run it, and estimates and explanations ask for its heads where it has some that compare queries with keys;
/// what is added around them, such as tokens with maps of their own, is another type here, and so is what a layer has in
/// place of them.
pub(crate) trait Attention: Debug + Send + Sync {
    /// What [`Self::out`] maps back to the stream: `z` of all heads side by side, behind its gate where it has one.
    ///
    /// # Shapes
    /// - `x`: `[n, d_model]`
    /// - result: `[n, heads · d_value]`
    fn forward(&self, at: At, x: &Tensor, pass: &mut Pass<'_>, run: &mut Run<'_>) -> Result<Tensor, ModelError>;

    /// Its sizes, and how it moves values.
    fn spec(&self) -> LayerSpec;

    /// `[heads · d_value, d_model]`.
    fn out(&self) -> &Linear;

    /// Whether a token sees only those before it.
    fn is_causal(&self) -> bool;

    /// Its heads; `None` where no query is compared with a key.
    fn heads(&self) -> Option<&MultiHead> {
        None
    }

    fn heads_mut(&mut self) -> Option<&mut MultiHead> {
        None
    }

    /// The heads alone, to put something else around them.
    fn into_heads(self: Box<Self>) -> Option<MultiHead> {
        None
    }

    /// Values of each row that exist at once where it has no such heads, and how many are kept until the run is
    /// differentiated, beside those of the streams.
    fn values_of_row(&self) -> [u64; 2] {
        [0; 2]
    }

    /// Maps that only tokens that see all others have: of their queries, and of the keys and values that they see.
    fn global_maps(&self) -> Option<[&Linear; 2]> {
        None
    }
}

/// Where queries, keys and values come from.
#[derive(Debug)]
pub(crate) enum Projections {
    /// All from one stream: `[d_model, (heads + kv_heads) · d_head + kv_heads · d_value]`, queries, keys, values.
    Fused(Linear),
    /// Queries from the decoder's stream, keys and values from the encoder's: `[d_model, heads · d_head]`
    /// and `[d_encoder, kv_heads · (d_head + d_value)]`.
    Cross { q: Linear, kv: Linear },
    /// All from one stream, through vectors of a lower rank.
    Latent(Box<LatentMaps>),
    /// Queries of its own, `[d_model, heads · d_head]`; keys and values are those of an earlier layer of the stack.
    Borrowed { q: Linear, of: usize },
}

/// Norms of queries and keys, before rotary, and of values.
#[derive(Debug)]
pub(crate) struct QkNorm {
    pub q: HeadNorm,
    /// `None` where keys are those of another layer.
    pub k: Option<HeadNorm>,
    pub v: Option<HeadNorm>,
}

impl QkNorm {
    /// Of queries and keys alone.
    pub const fn new(q: HeadNorm, k: HeadNorm) -> Self {
        Self { q, k: Some(k), v: None }
    }
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
pub(crate) struct MultiHead {
    pub projections: Projections,
    /// `[heads · d_value, d_model]`.
    pub out: Linear,
    pub spec: LayerSpec,
    pub causal: bool,
    pub qk_norm: Option<QkNorm>,
    /// Limit of queries, keys and values on both sides of zero, before rotary.
    pub clip: Option<f64>,
    /// Which of the stack's rotary embeddings turns queries and keys.
    pub rotary: Option<usize>,
    /// A bias of this layer alone; a `spec.biased` layer without one uses the stack's.
    pub bias: Option<RelativeBias>,
    /// Of `z` of all heads side by side, in a layer whose `spec.gated` says so (EVA-02's CLIP).
    pub norm: Option<Norm>,
    /// From `d_model` to the gates of `z`, `[heads · d_value]`, in a layer whose `spec.gated` says so: `σ` of them scales it.
    pub gate: Option<Linear>,
    /// Whether later layers read its keys and values too.
    pub lends: bool,
    /// `[heads]`: scores of learned sinks, in a layer whose `spec.sink` says so. Not of one with global tokens.
    pub sink: Option<Arc<[f32]>>,
}

impl MultiHead {
    /// Self-attention as in the first transformers: no rotary embedding, bias or extra norm.
    pub const fn plain(qkv: Linear, out: Linear, spec: LayerSpec, causal: bool) -> Self {
        Self::with(Projections::Fused(qkv), out, spec, causal)
    }

    /// Attention of a decoder to its encoder's stream.
    pub const fn cross(q: Linear, kv: Linear, out: Linear, spec: LayerSpec) -> Self {
        Self::with(Projections::Cross { q, kv }, out, spec, false)
    }

    /// Causal attention whose queries, keys and values are read from latents.
    pub fn latent(maps: LatentMaps, out: Linear, spec: LayerSpec) -> Self {
        Self::with(Projections::Latent(Box::new(maps)), out, spec, true)
    }

    /// Causal attention whose queries, keys and values come from such maps.
    pub const fn reading(projections: Projections, out: Linear, spec: LayerSpec) -> Self {
        Self::with(projections, out, spec, true)
    }

    const fn with(projections: Projections, out: Linear, spec: LayerSpec, causal: bool) -> Self {
        Self {
            projections,
            out,
            spec,
            causal,
            qk_norm: None,
            clip: None,
            rotary: None,
            bias: None,
            norm: None,
            gate: None,
            lends: false,
            sink: None,
        }
    }

    /// The layer whose keys and values it reads, where that is another.
    pub const fn borrows(&self) -> Option<usize> {
        match &self.projections {
            Projections::Borrowed { of, .. } => Some(*of),
            Projections::Fused(_) | Projections::Cross { .. } | Projections::Latent(_) => None,
        }
    }

    /// Whether it attends to a stream of this width that is not its own.
    pub fn reads(&self, d_encoder: usize) -> bool {
        matches!(&self.projections, Projections::Cross { kv, .. } if kv.dims().is_ok_and(|(d_in, _)| d_in == d_encoder))
    }

    /// Queries and keys, and nothing further: the last thing a run wants to know.
    pub fn only_project(&self, at: At, x: &Tensor, pass: &Pass<'_>, run: &mut Run<'_>) -> Result<(), ModelError> {
        offer(at, self.project(x, pass)?, run).map(drop)
    }

    /// `z` of one input's queries, keys and values.
    ///
    /// # Shapes
    /// - `q`: `[heads, n, d_head]`; `k`: `[kv_heads, n_key, d_head]`; `v`: `[kv_heads, n_key, d_value]`
    /// - result: `[n, heads · d_value]`
    fn attend(
        &self,
        at: At,
        (q, k, v): (&Tensor, &Tensor, &Tensor),
        pass: &Pass<'_>,
        run: &mut Run<'_>,
    ) -> Result<Tensor, ModelError> {
        let n_heads = self.spec.n_heads;
        let bias = self.bias(at, (q, k), pass, run)?;
        let params = self.params(k.dim(1)?);
        let normalizers = run.normalizers(at, n_heads);
        let z = if normalizers.is_none() && self.is_one_step(at, run) {
            self.in_one_step((at, &params), (q, k, v), bias.as_ref(), run)?
        } else {
            let scores = kernels::attention_scores(q, k, bias.as_ref(), &params)?;
            // An edit may have opened keys that the mask hides.
            let mask = if run.edits(Site::Scores, at) { Mask::NONE } else { params.mask };
            let scores = run.at(Site::Scores, at, scores)?;
            let sink = params.sink.as_ref();
            let pattern = match normalizers {
                Some(by_head) => kernels::normalize(&scores, &by_head, (at.first_head(), 0))?,
                None if run.is_differentiated() => kernels::softmax_with_sink(&scores, mask, sink)?,
                None => kernels::softmax_in_place(scores, mask, sink)?,
            };
            if self.keeps_sink(at, run) {
                run.keep_sink(at, kernels::sink_shares(&kernels::to_host(&pattern)?, k.dim(1)?), q.dim(1)?)?;
            }
            let pattern = if run.fixes_patterns() { pattern.detach() } else { pattern };
            let given = pattern.id();
            let pattern = run.at(Site::Pattern, at, pattern)?;
            // Only an untouched pattern is sure to be zero where the mask hides the key.
            let mask = if pattern.id() == given { mask } else { Mask::NONE };
            kernels::attend(&pattern, v, mask)?
        };
        self.with_z(at, z, run)
    }

    /// `z` `[n, heads · d_value]`, offered to the run head by head.
    pub fn with_z(&self, at: At, z: Tensor, run: &mut Run<'_>) -> Result<Tensor, ModelError> {
        if !run.needs(Site::Z, at) {
            return Ok(z);
        }
        let LayerSpec { n_heads, d_value, .. } = self.spec;
        let by_head = run.at(Site::Z, at, kernels::heads_at(&z, 0, (n_heads, d_value))?.transpose(0, 1)?)?;
        Ok(by_head.transpose(0, 1)?.contiguous()?.reshape(z.shape())?)
    }

    /// Queries, keys and values `[n, heads, width]` of one stream, normed and turned.
    pub fn project(&self, x: &Tensor, pass: &Pass<'_>) -> CandleResult<(Tensor, Tensor, Tensor)> {
        let turns = self.rotary.and_then(|idx| pass.turns_of(idx));
        let LayerSpec { n_heads, n_kv_heads, d_head, d_value, .. } = self.spec;
        let qkv = match &self.projections {
            Projections::Fused(qkv) => qkv,
            Projections::Borrowed { q, of } => {
                let q = self.queries(&q.forward(x)?, turns.as_ref())?;
                let (k, v) = pass.lent(*of)?;
                return Ok((q, k.transpose(0, 1)?, v.transpose(0, 1)?));
            }
            Projections::Latent(maps) => return maps.project(x, &self.spec, turns.as_ref()),
            Projections::Cross { .. } => candle_core::bail!("cross-attention has no single projection"),
        };
        let qkv = qkv.forward(x)?;
        let q = self.queries(&qkv, turns.as_ref())?;
        let mut k = kernels::heads_at(&qkv, n_heads * d_head, (n_kv_heads, d_head))?;
        let mut v = kernels::heads_at(&qkv, (n_heads + n_kv_heads) * d_head, (n_kv_heads, d_value))?;
        if let Some(QkNorm { k: of_keys, v: of_values, .. }) = &self.qk_norm {
            for (norm, x) in [(of_keys, &mut k), (of_values, &mut v)] {
                if let Some(norm) = norm {
                    *x = norm_heads(norm, x)?;
                }
            }
        }
        if let Some(limit) = self.clip {
            for x in [&mut k, &mut v] {
                *x = x.minimum(limit)?.maximum(-limit)?;
            }
        }
        if let Some(turns) = turns {
            k = kernels::rotate(&k, &turns)?;
        }
        Ok((q, k, v))
    }

    /// Queries `[n, heads, d_head]`, normed and turned, which come first of what is projected.
    fn queries(&self, projected: &Tensor, turns: Option<&Turns>) -> CandleResult<Tensor> {
        let mut q = kernels::heads_at(projected, 0, (self.spec.n_heads, self.spec.d_head))?;
        if let Some(norm) = &self.qk_norm {
            q = norm_heads(&norm.q, &q)?;
        }
        if let Some(limit) = self.clip {
            q = q.minimum(limit)?.maximum(-limit)?;
        }
        if let Some(turns) = turns {
            q = kernels::rotate_queries(&q, turns)?;
        }
        Ok(q)
    }

    /// Whether nobody wants anything between queries and `z` but perhaps a copy of the pattern.
    fn is_one_step(&self, at: At, run: &Run<'_>) -> bool {
        let differentiated = run.is_differentiated()
            && (run.fixes_patterns()
                || run.records(Site::Pattern, at)
                || self.keeps_sink(at, run)
                || matches!(self.bias, Some(RelativeBias::Disentangled(_))));
        !run.needs(Site::Scores, at) && !run.changes(Site::Pattern, at) && !differentiated
    }

    /// Whether nothing between queries and `z` depends on which of the packed inputs they are of, or is wanted.
    fn is_one_product(&self, at: At, run: &Run<'_>) -> bool {
        self.is_one_step(at, run)
            && !self.spec.biased
            && self.sink.is_none()
            && !run.is_differentiated()
            && !run.needs(Site::Pattern, at)
            && !run.changes(Site::Z, at)
            && !run.normalizes(at, self.spec.n_heads)
    }

    /// `z` without a stop between queries and it.
    fn in_one_step(
        &self,
        (at, params): (At, &AttentionParams),
        (q, k, v): (&Tensor, &Tensor, &Tensor),
        bias: Option<&Bias>,
        run: &mut Run<'_>,
    ) -> Result<Tensor, ModelError> {
        let (n_heads, n_query, n_key) = (self.spec.n_heads, q.dim(1)?, k.dim(1)?);
        let keeps_sink = self.keeps_sink(at, run);
        if run.has_room(Site::Pattern, at, n_heads * n_query * n_key) {
            let (z, pattern) = kernels::attention_with_pattern(q, k, v, bias, params)?;
            if keeps_sink {
                run.keep_sink(at, kernels::sink_shares(&pattern, n_key), n_query)?;
            }
            run.keep_pairs(Site::Pattern, at, PerHead::new(pattern, [n_heads, n_query, n_key])?);
            return Ok(z);
        }
        if keeps_sink {
            let (z, shares) = kernels::attention_with_sink(q, k, v, bias, params)?;
            run.keep_sink(at, shares, n_query)?;
            return Ok(z);
        }
        Ok(kernels::attention(q, k, v, bias, params)?)
    }

    /// Whether what went to sinks is kept: with all that patterns are made of, and with patterns.
    fn keeps_sink(&self, at: At, run: &Run<'_>) -> bool {
        self.sink.is_some() && [Site::Q, Site::Scores, Site::Pattern].iter().any(|site| run.records(*site, at))
    }

    /// What makes weights of the products of queries with `n_key` keys.
    pub fn params(&self, n_key: usize) -> AttentionParams {
        let params = self.spec.attention_params(self.causal);
        // A window that reaches everywhere is none.
        let window = params.mask.window.filter(|reach| *reach < n_key);
        AttentionParams { mask: Mask { window, ..params.mask }, sink: self.sink.clone(), ..params }
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
            _ if run.leaves_out_positions() => {
                let shape = (self.spec.n_heads, 1, k.dim(1)?);
                Some(Bias(Tensor::zeros(shape, q.dtype(), q.device())?))
            }
            Some(RelativeBias::Disentangled(term)) => Some(pass.disentangled(term, q, k, self.spec.scale)?),
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

impl From<MultiHead> for Box<dyn Attention> {
    fn from(heads: MultiHead) -> Self {
        Box::new(heads)
    }
}

impl Attention for MultiHead {
    fn forward(&self, at: At, x: &Tensor, pass: &mut Pass<'_>, run: &mut Run<'_>) -> Result<Tensor, ModelError> {
        let mut z = self.read(at, x, pass, run)?;
        if let Some(norm) = &self.norm {
            z = norm.forward(&z)?;
        }
        match &self.gate {
            Some(gate) => Ok((z * kernels::sigmoid(&pass.spread(gate.forward(x)?)?)?)?),
            None => Ok(z),
        }
    }

    fn spec(&self) -> LayerSpec {
        self.spec
    }

    fn out(&self) -> &Linear {
        &self.out
    }

    fn is_causal(&self) -> bool {
        self.causal
    }

    fn heads(&self) -> Option<&MultiHead> {
        Some(self)
    }

    fn heads_mut(&mut self) -> Option<&mut MultiHead> {
        Some(self)
    }

    fn into_heads(self: Box<Self>) -> Option<MultiHead> {
        Some(*self)
    }

    fn values_of_row(&self) -> [u64; 2] {
        match &self.projections {
            Projections::Latent(maps) => [0, maps.values_of_row(&self.spec)],
            Projections::Fused(_) | Projections::Cross { .. } | Projections::Borrowed { .. } => [0; 2],
        }
    }
}

impl MultiHead {
    /// `z` of all heads side by side.
    ///
    /// # Shapes
    /// - `x`: `[n, d_model]`
    /// - result: `[n, heads · d_value]`
    fn read(&self, at: At, x: &Tensor, pass: &mut Pass<'_>, run: &mut Run<'_>) -> Result<Tensor, ModelError> {
        let LayerSpec { n_heads, n_kv_heads, d_head, d_value, .. } = self.spec;
        // Heads are strided views of one product: the kernels read them in place.
        let (q, k, v) = match &self.projections {
            Projections::Fused(_) | Projections::Latent(_) => {
                let (q, k, v) = self.project(x, pass)?;
                let (k, v) = pass.extend(at, k, v)?;
                (q, k, v)
            }
            Projections::Borrowed { .. } => self.project(x, pass)?,
            Projections::Cross { q, kv } => {
                let q = kernels::heads_at(&q.forward(x)?, 0, (n_heads, d_head))?;
                let (k, v) = pass.remember(at, |memory| {
                    let kv = kv.forward(memory)?;
                    let k = kernels::heads_at(&kv, 0, (n_kv_heads, d_head))?;
                    Ok((k, kernels::heads_at(&kv, n_kv_heads * d_head, (n_kv_heads, d_value))?))
                })?;
                (q, k, v)
            }
        };
        let (q, k, v) = offer(at, (q, k, v), run)?;
        if self.lends {
            pass.lend(at.layer, &k, &v)?;
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
            let z = kernels::attention_by_parts([&q, &k, &v], &parts, &self.params(k.dim(1)?))?;
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
}

/// Of a layer that reads tokens one after the other: what it makes of its rows `[n, width]`, each packed input for itself.
pub(super) fn each_part(
    x: &Tensor,
    pass: &mut Pass<'_>,
    run: &mut Run<'_>,
    mut of: impl FnMut(&Tensor, &mut Pass<'_>, &mut Run<'_>) -> Result<Tensor, ModelError>,
) -> Result<Tensor, ModelError> {
    if pass.parts.is_empty() {
        return of(x, pass, run);
    }
    let mut joined = Vec::with_capacity(pass.parts.len());
    for part in 0..pass.parts.len() {
        run.enter(Some(part));
        let rows = pass.rows_of(part);
        joined.push(of(&x.narrow(0, rows.start, rows.len())?, pass, run)?);
    }
    run.enter(None);
    Ok(Tensor::cat(&joined, 0)?)
}

/// Queries, keys and values `[n, heads, width]`, offered to the run head by head.
pub(super) fn offer(
    at: At,
    (q, k, v): (Tensor, Tensor, Tensor),
    run: &mut Run<'_>,
) -> Result<(Tensor, Tensor, Tensor), ModelError> {
    Ok((
        run.at(Site::Q, at, q.transpose(0, 1)?)?,
        run.at(Site::K, at, k.transpose(0, 1)?)?,
        run.at(Site::V, at, v.transpose(0, 1)?)?,
    ))
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

#[cfg(test)]
mod tests {
    use candle_core::Device;

    use super::*;
    use crate::{
        ids::StackKind,
        model::run::{RunPlan, Sites, Taps, uninterrupted},
        spec::StackSpec,
    };

    const N: usize = 7;

    /// Two heads of width 2 with sinks, over a stream of width 4.
    fn attention() -> MultiHead {
        let values = |n: usize| (0..n).map(|at| ((at * 37 % 23) as f32 - 11.0) / 8.0).collect::<Vec<_>>();
        let map = |d_in: usize, d_out: usize| {
            Linear::new(Tensor::from_vec(values(d_in * d_out), (d_in, d_out), &Device::Cpu).unwrap(), None).unwrap()
        };
        let spec = LayerSpec { sink: true, ..LayerSpec::new(2, 2) };
        MultiHead { sink: Some([0.5, -1.0].into()), ..MultiHead::plain(map(4, 12), map(4, 4), spec, true) }
    }

    /// `z`, and what a run that records these sites keeps of the layer.
    fn run(sites: &[Site], budget: u64, taps: Taps) -> (Tensor, crate::capture::LayerCapture) {
        let attention = attention();
        let kind = StackKind::SelfAttention;
        let stacks = [StackSpec { kind, layers: vec![attention.spec], causal: true }];
        let plan = RunPlan { sites: Sites::of(sites), pattern_budget_bytes: budget, ..RunPlan::silent() };
        let mut run = Run::new(&plan, &stacks, taps, &uninterrupted);
        let x: Vec<f32> = (0..N * 4).map(|at| (at as f32 * 0.7).sin()).collect();
        let x = Tensor::from_vec(x, (N, 4), &Device::Cpu).unwrap();
        let z = attention.forward(At { stack: kind, layer: 0 }, &x, &mut Pass::default(), &mut run).unwrap();
        let mut stacks = run.finish().unwrap().stacks;
        (z, stacks.remove(0).layers.remove(0))
    }

    #[test]
    fn what_went_to_sinks_is_kept_however_a_run_is_recorded() {
        let (z, whole) = run(&[Site::Pattern], u64::MAX, Taps::NONE);
        let sums: Vec<f32> = whole.pattern().unwrap().as_slice().chunks(N).map(|row| row.iter().sum()).collect();
        let shares = whole.sink.unwrap();
        assert_eq!(shares.shape(), [2, N]);
        assert!(sums.iter().zip(shares.as_slice()).all(|(sum, share)| (sum + share - 1.0).abs() < 1e-6));
        assert!(shares.as_slice().iter().all(|share| *share > 0.01), "the sinks of this layer take nothing");
        let ways: [(&[Site], u64, Taps); 4] = [
            (&[Site::Q, Site::K], u64::MAX, Taps::NONE),
            (&[Site::Pattern], 0, Taps::NONE),
            (&[Site::Scores], u64::MAX, Taps::NONE),
            (&[Site::Q], u64::MAX, Taps::of(&[Site::V])),
        ];
        for (sites, budget, taps) in ways {
            let (other, layer) = run(sites, budget, taps);
            assert_eq!(other.to_vec2::<f32>().unwrap(), z.to_vec2::<f32>().unwrap(), "{sites:?}");
            assert_eq!(layer.sink.as_ref(), Some(&shares), "{sites:?}");
        }
        assert_eq!(run(&[Site::V], u64::MAX, Taps::NONE).1.sink, None);
    }
}
