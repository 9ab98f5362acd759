//! Windows with tokens that see all others and are seen by all of them, through maps of their own (Longformer,
//! Beltagy et al. 2020).
//!
//! A global token's query stands with the other queries, but meets keys, and moves values, that nobody else sees.
//! Its own keys and values among all others are those that ordinary queries meet.

use std::sync::Arc;

use candle_core::{Result as CandleResult, Tensor};

use super::{
    attention::{Attention, MultiHead, offer},
    pass::Pass,
};
use crate::{
    model::{
        ModelError,
        kernels::{self, Attended, KeptCopies, Linear, Windows},
        run::{At, Run, Site},
    },
    spec::{AttentionParams, LayerSpec, Mask},
    text::counted,
};

/// Which tokens of an input see all others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum GlobalTokens {
    #[default]
    None,
    /// The first: CLS.
    First,
    /// Those before the first of three separators: the question.
    Question { separator: u32 },
    /// Those behind the second of three separators, the third included: the choice.
    Choice { separator: u32 },
}

impl GlobalTokens {
    /// Whether no token does in any input.
    pub const fn is_none(self) -> bool {
        matches!(self, Self::None)
    }

    /// What an input must have three of.
    pub const fn separator(self) -> Option<u32> {
        match self {
            Self::None | Self::First => None,
            Self::Question { separator } | Self::Choice { separator } => Some(separator),
        }
    }

    /// Their positions, in order.
    ///
    /// # Errors
    /// When the input is not made of two texts with three separators, where the model's class wants them.
    pub fn of(self, ids: &[u32]) -> Result<Arc<[usize]>, ModelError> {
        let (separator, is_question) = match self {
            Self::None => return Ok(Arc::new([])),
            Self::First => return Ok((0..ids.len().min(1)).collect()),
            Self::Question { separator } => (separator, true),
            Self::Choice { separator } => (separator, false),
        };
        let found: Vec<usize> = (0..ids.len()).filter(|position| ids[*position] == separator).collect();
        let &[first, _, _] = found.as_slice() else {
            return Err(ModelError::Input {
                summary: format!(
                    "the input has {} where this model wants three: they tell which tokens see all others",
                    counted(found.len(), "separator")
                ),
                details: "Give two texts, such as a question and the text that answers it".to_owned(),
            });
        };
        Ok(if is_question { (0..first).collect() } else { (first + 2..ids.len()).collect() })
    }
}

/// What is said of an input with `n` global tokens.
pub(crate) fn note(n: usize) -> String {
    let (see, are, whose) = if n == 1 { ("sees", "is", "its") } else { ("see", "are", "their") };
    let who = counted(n, "token");
    format!("{who} {see} all others and {are} seen by all; {whose} queries meet keys and values that no others do")
}

/// What global tokens make of the stream.
#[derive(Debug)]
pub(crate) struct GlobalMaps {
    /// `[d_model, heads · d_head]`.
    pub q: Linear,
    /// `[d_model, 2 · heads · d_head]`: the keys and values that only they see.
    pub kv: Linear,
}

/// The global tokens of an input, and what they see in a layer.
pub(crate) struct Global {
    /// Positions, in order.
    pub tokens: Arc<[usize]>,
    /// `[heads, n, d_head]`.
    pub k: Tensor,
    /// `[heads, n, d_head]`.
    pub v: Tensor,
}

impl Global {
    /// What the global tokens of an input see of the stream, and queries with theirs among them.
    ///
    /// # Shapes
    /// - `x`: `[n, d_model]`; `q`, result: `[n, heads, d_head]`
    pub fn of(maps: &GlobalMaps, tokens: &Arc<[usize]>, x: &Tensor, q: &Tensor) -> CandleResult<(Tensor, Self)> {
        let (n, n_heads, d_head) = q.dims3()?;
        let kv = maps.kv.forward(x)?.reshape((n, 2 * n_heads, d_head))?.transpose(0, 1)?;
        let (k, v) = (kv.narrow(0, 0, n_heads)?, kv.narrow(0, n_heads, n_heads)?);
        let global = Self { tokens: Arc::clone(tokens), k, v };
        let own = maps.q.forward(&global.rows(x, 0)?)?.reshape((tokens.len(), n_heads, d_head))?;
        Ok((global.with_rows(q, &own, 0)?, global))
    }

    /// The rows of global tokens along an axis.
    pub fn rows(&self, x: &Tensor, dim: usize) -> CandleResult<Tensor> {
        let tokens: Vec<u32> = self.tokens.iter().map(|token| *token as u32).collect();
        x.contiguous()?.index_select(&Tensor::new(tokens, x.device())?, dim)
    }

    /// `x` with other rows for the global tokens along an axis.
    pub fn with_rows(&self, x: &Tensor, rows: &Tensor, dim: usize) -> CandleResult<Tensor> {
        let n = x.dim(dim)?;
        let mut order: Vec<u32> = (0..n as u32).collect();
        for (nth, token) in self.tokens.iter().enumerate() {
            order[*token] = (n + nth) as u32;
        }
        Tensor::cat(&[x, rows], dim)?.contiguous()?.index_select(&Tensor::new(order, x.device())?, dim)
    }
}

/// Attention within windows in which some tokens see all others.
#[derive(Debug)]
pub(crate) struct WithGlobal {
    /// What all other tokens do, and all where none is global.
    pub own: MultiHead,
    pub maps: GlobalMaps,
}

impl Attention for WithGlobal {
    fn forward(&self, at: At, x: &Tensor, pass: &mut Pass<'_>, run: &mut Run<'_>) -> Result<Tensor, ModelError> {
        if pass.global.is_empty() {
            return self.own.forward(at, x, pass, run);
        }
        let (q, k, v) = self.own.project(x, pass)?;
        let (q, global) = Global::of(&self.maps, &pass.global, x, &q)?;
        let (k, v) = pass.extend(at, k, v)?;
        let (q, k, v) = offer(at, (q, k, v), run)?;
        run.keep_global(at, &global.tokens, [&global.k, &global.v])?;
        let z = self.attend(at, &global, (&q, &k, &v), run)?;
        self.own.with_z(at, z, run)
    }

    fn spec(&self) -> LayerSpec {
        self.own.spec
    }

    fn out(&self) -> &Linear {
        &self.own.out
    }

    fn is_causal(&self) -> bool {
        self.own.causal
    }

    fn heads(&self) -> Option<&MultiHead> {
        Some(&self.own)
    }

    fn heads_mut(&mut self) -> Option<&mut MultiHead> {
        Some(&mut self.own)
    }

    fn into_heads(self: Box<Self>) -> Option<MultiHead> {
        Some(self.own)
    }

    fn global_maps(&self) -> Option<[&Linear; 2]> {
        Some([&self.maps.q, &self.maps.kv])
    }
}

impl WithGlobal {
    /// `z` where some tokens see all and are seen by all.
    ///
    /// # Shapes
    /// - `q`: `[heads, n, d_head]`; `k`, `v`: `[kv_heads, n, d_head]`
    /// - result: `[n, heads · d_head]`
    fn attend(
        &self,
        at: At,
        global: &Global,
        (q, k, v): (&Tensor, &Tensor, &Tensor),
        run: &mut Run<'_>,
    ) -> Result<Tensor, ModelError> {
        let (n_heads, n) = (self.own.spec.n_heads, q.dim(1)?);
        let AttentionParams { scale, mask, .. } = self.own.params(n);
        let windows = Windows { scale, mask, global: Arc::clone(&global.tokens) };
        let own_params = AttentionParams::new(scale, Mask::NONE);
        let own_q = global.rows(q, 1)?;
        let normalizers = run.normalizers(at, n_heads);
        let is_changed = run.changes(Site::Scores, at) || run.changes(Site::Pattern, at) || normalizers.is_some();
        let is_recorded = run.records(Site::Scores, at) || run.records(Site::Pattern, at);
        if !is_changed && !(run.is_differentiated() && (run.fixes_patterns() || is_recorded)) {
            let has_room = |site: Site, run: &mut Run<'_>| run.has_room(site, at, n_heads * n * n);
            let wanted = KeptCopies { scores: has_room(Site::Scores, run), pattern: has_room(Site::Pattern, run) };
            let Attended { z, scores, pattern } = windows.attend(q, k, v, wanted)?;
            if let Some(scores) = scores {
                let own = kernels::attention_scores(&own_q, &global.k, None, &own_params)?;
                run.record(Site::Scores, at, &global.with_rows(&scores, &own, 1)?)?;
            }
            let own_z = if let Some(pattern) = pattern {
                let (z, own) = kernels::attention_with_pattern(&own_q, &global.k, &global.v, None, &own_params)?;
                let own = Tensor::from_slice(&own, (n_heads, own_q.dim(1)?, n), own_q.device())?;
                run.record(Site::Pattern, at, &global.with_rows(&pattern, &own, 1)?)?;
                z
            } else {
                kernels::attention(&own_q, &global.k, &global.v, None, &own_params)?
            };
            return Ok(global.with_rows(&z, &own_z, 0)?);
        }
        let own = kernels::attention_scores(&own_q, &global.k, None, &own_params)?;
        let scores = run.at(Site::Scores, at, global.with_rows(&windows.scores(q, k)?, &own, 1)?)?;
        let pattern = match normalizers {
            Some(by_head) => kernels::normalize(&scores, &by_head, (at.first_head(), 0))?,
            None => kernels::softmax(&scores, Mask::NONE)?,
        };
        let pattern = if run.fixes_patterns() { pattern.detach() } else { pattern };
        let pattern = run.at(Site::Pattern, at, pattern)?;
        let z = kernels::attend(&pattern, v, Mask::NONE)?;
        let own_z = kernels::attend(&global.rows(&pattern, 1)?, &global.v, Mask::NONE)?;
        Ok(global.with_rows(&z, &own_z, 0)?)
    }
}
