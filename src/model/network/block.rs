//! The one transformer block that serves every family, and the stack of them.

use std::sync::Arc;

use candle_core::{D, Tensor};

use super::{
    attention::{Attention, MultiHead},
    branch::Added,
    convolution::Convolution,
    global::GlobalTokens,
    mlp::Mlp,
    own_input::OwnInput,
    pass::Pass,
    relative::RelativeBias,
    rotary::Rotary,
};
use crate::{
    analysis::explain::contacts::ContactMap,
    ids::StackKind,
    model::{
        ModelError,
        kernels::{self, Norm},
        run::{At, Run, Site},
    },
    spec::{LayerSpec, MlpSpec, StackSpec},
};

/// Rows whose hidden layers exist at a time where nobody looks at them: whole tasks of a linear map, so that the bits
/// are those of all rows at once.
pub(crate) const MLP_ROWS: usize = 25 * kernels::TOKENS_PER_TASK;

/// The norms around one branch of the residual stream.
#[derive(Clone, Debug, Default)]
pub(crate) struct Norms {
    /// Of what the branch reads (GPT-2, vision transformers, LLaMA).
    pub before: Option<Norm>,
    /// Of what the branch adds (Gemma 2 and 3).
    pub branch: Option<Norm>,
    /// Of the stream after the addition (BERT).
    pub after: Option<Norm>,
    /// Whether the branch adds to what it reads, the normed stream, instead of the stream (a choice of BLOOM).
    pub carries: bool,
}

impl Norms {
    pub fn pre(norm: Norm) -> Self {
        Self { before: Some(norm), ..Self::default() }
    }

    pub fn post(norm: Norm) -> Self {
        Self { after: Some(norm), ..Self::default() }
    }

    /// What the branch reads.
    fn enter(&self, resid: &Tensor) -> candle_core::Result<Tensor> {
        self.before.as_ref().map_or_else(|| Ok(resid.clone()), |norm| norm.forward(resid))
    }

    /// The stream with what a branch adds, in one pass unless somebody changes that.
    fn join(
        &self,
        added: &Added<'_>,
        resid: &Tensor,
        site: Site,
        at: At,
        run: &mut Run<'_>,
    ) -> Result<Tensor, ModelError> {
        let resid = if self.branch.is_none() && added.is_one_map() && !run.changes(site, at) {
            if run.records(site, at) {
                // Beside the sum, which must not depend on whether somebody looks at its parts.
                run.record(site, at, &added.alone()?)?;
            }
            added.onto(resid)?
        } else {
            let mut added = added.alone()?;
            if let Some(norm) = &self.branch {
                added = norm.forward(&added)?;
            }
            (resid + run.at(site, at, added)?)?
        };
        Ok(match &self.after {
            Some(norm) => norm.forward(&resid)?,
            None => resid,
        })
    }
}

/// Where the cross-attention of a layer is.
fn crossing(at: At) -> At {
    At { stack: at.stack.cross().unwrap_or(StackKind::Cross), ..at }
}

/// Where what stands beside the attention of a layer is.
fn beside(at: At) -> At {
    At { stack: at.stack.beside().unwrap_or(StackKind::Beside), ..at }
}

/// Attention, what stands beside it, cross-attention in a decoder, and MLP around a residual stream.
#[derive(Debug)]
pub(crate) struct Block {
    pub attention: Box<dyn Attention>,
    /// What reads the same normed stream as attention, and adds to the same stream.
    pub beside: Option<Box<dyn Attention>>,
    pub attention_norms: Norms,
    pub cross: Option<(MultiHead, Norms)>,
    pub mlp: Box<dyn Mlp>,
    pub mlp_norms: Norms,
    /// Whether attention and MLP read the same stream (GPT-NeoX, Phi-2).
    pub parallel: bool,
    /// What the layer takes in behind the MLP.
    pub own_input: Option<OwnInput>,
    /// Factor on the stream that leaves it; 1 for nearly all.
    pub scale: f32,
}

impl Block {
    /// A block without cross-attention whose MLP follows its attention.
    pub fn new(
        attention: impl Into<Box<dyn Attention>>,
        attention_norms: Norms,
        mlp: impl Into<Box<dyn Mlp>>,
        mlp_norms: Norms,
    ) -> Self {
        let (attention, mlp) = (attention.into(), mlp.into());
        Self {
            attention,
            beside: None,
            attention_norms,
            cross: None,
            mlp,
            mlp_norms,
            parallel: false,
            own_input: None,
            scale: 1.0,
        }
    }

    /// What moves values in the layer for a stack: its own attention, or what is a guest there.
    pub fn mixer(&self, stack: StackKind) -> Option<&dyn Attention> {
        if stack.is_cross() {
            return self.cross.as_ref().map(|(attention, _)| attention as &dyn Attention);
        }
        if stack.is_guest() { self.beside.as_deref() } else { Some(&*self.attention) }
    }

    /// The norms around that.
    pub fn norms(&self, stack: StackKind) -> Option<&Norms> {
        if stack.is_cross() { self.cross.as_ref().map(|(_, norms)| norms) } else { Some(&self.attention_norms) }
    }

    /// As far as the queries and keys of these heads, which are its own.
    fn only_project(
        &self,
        (at, heads): (At, &MultiHead),
        x: &Tensor,
        pass: &Pass<'_>,
        run: &mut Run<'_>,
    ) -> Result<(), ModelError> {
        let entering = run.at(Site::ResidPre, at, x.clone())?;
        heads.only_project(at, &self.attention_norms.enter(&entering)?, pass, run)
    }

    /// What the mixer beside attention adds to the stream `[n, d_model]`; `None` where there is none.
    fn add_beside(
        &self,
        at: At,
        normed: &Tensor,
        pass: &mut Pass<'_>,
        run: &mut Run<'_>,
    ) -> Result<Option<Tensor>, ModelError> {
        let Some(mixer) = &self.beside else { return Ok(None) };
        run.checkpoint()?;
        let z = mixer.forward(at, normed, pass, run)?;
        run.at(Site::AttnOut, at, mixer.out().forward(&z)?).map(Some)
    }

    /// What comes out has the rows that the pass says are read; the run has seen what is entering.
    fn forward(&self, at: At, entering: Tensor, pass: &mut Pass<'_>, run: &mut Run<'_>) -> Result<Tensor, ModelError> {
        let mut stream = self.through(at, entering, pass, run)?;
        if let Some(own) = &self.own_input {
            stream = own.onto(&stream, &pass.own_input(at.layer, own.width())?)?;
        }
        Ok(if self.scale == 1.0 { stream } else { (stream * f64::from(self.scale))? })
    }

    /// Whether the stream that leaves it is that which enters with what attention and MLP add, but for norms.
    pub const fn only_adds_branches(&self) -> bool {
        self.own_input.is_none() && self.scale == 1.0
    }

    /// As far as the MLP.
    fn through(&self, at: At, entering: Tensor, pass: &mut Pass<'_>, run: &mut Run<'_>) -> Result<Tensor, ModelError> {
        let normed = self.attention_norms.enter(&entering)?;
        let mut z = self.attention.forward(at, &normed, pass, run)?;
        let more = self.add_beside(beside(at), &normed, pass, run)?;
        // Packed inputs that were alike until they attended go on each for itself.
        let entering = pass.spread(entering)?;
        let mut stream = if self.attention_norms.carries { pass.spread(normed)? } else { entering.clone() };
        pass.alike = false;
        if let Some(more) = more {
            stream = (stream + more)?;
        }
        let (mut out, mut norms, mut here) = (self.attention.out(), &self.attention_norms, at);
        if let Some((cross, around)) = &self.cross {
            stream = norms.join(&Added::of(out, z), &stream, Site::AttnOut, at, run)?;
            run.checkpoint()?;
            (out, norms, here) = (&cross.out, around, crossing(at));
            z = cross.forward(here, &norms.enter(&stream)?, pass, run)?;
        }
        // From here on every row goes for itself.
        let (z, stream) = (pass.only_read(z)?, pass.only_read(stream)?);
        let resid = norms.join(&Added::of(out, z), &stream, Site::AttnOut, here, run)?;
        run.checkpoint()?;
        let resid = run.at(Site::ResidMid, at, resid)?;
        let source = if self.parallel { pass.only_read(entering)? } else { resid.clone() };
        let normed = self.mlp_norms.enter(&source)?;
        let stream = if self.mlp_norms.carries { &normed } else { &resid };
        let n = normed.dim(0)?;
        let has = |site: Site| self.mlp.width_of(site).is_some_and(|width| width > 0);
        if n > MLP_ROWS && self.mlp.by_pieces() && !run.sees_mlp(at, has) {
            let mut pieces = Vec::with_capacity(n.div_ceil(MLP_ROWS));
            for first in (0..n).step_by(MLP_ROWS) {
                run.checkpoint()?;
                let rows = MLP_ROWS.min(n - first);
                let added = self.mlp.forward(at, &normed.narrow(0, first, rows)?, run)?;
                let stream = stream.narrow(0, first, rows)?;
                pieces.push(self.mlp_norms.join(&added, &stream, Site::MlpOut, at, run)?);
            }
            return Ok(Tensor::cat(&pieces, 0)?);
        }
        let added = self.mlp.forward(at, &normed, run)?;
        self.mlp_norms.join(&added, stream, Site::MlpOut, at, run)
    }
}

/// Blocks, what they share, and what follows the last of them.
#[derive(Debug)]
pub(crate) struct Stack {
    pub kind: StackKind,
    /// One per layer; layers may share one (ALBERT).
    pub blocks: Vec<Arc<Block>>,
    pub final_norm: Option<Norm>,
    /// Rotary embeddings that attention layers refer to by index.
    pub rotary: Vec<Rotary>,
    /// The bias that all layers share.
    pub bias: Option<RelativeBias>,
    /// What the first block's output is joined with (DeBERTa's largest).
    pub convolution: Option<Convolution>,
    /// Which tokens see all others, in layers that have maps for them.
    pub global: GlobalTokens,
    /// What makes a map of contacts of all its patterns (ESM).
    pub contacts: Option<ContactMap>,
}

impl Stack {
    /// Blocks with nothing shared.
    pub fn new(kind: StackKind, blocks: Vec<Block>, final_norm: Option<Norm>) -> Self {
        let blocks = blocks.into_iter().map(Arc::new).collect();
        let (rotary, bias, convolution, global) = (Vec::new(), None, None, GlobalTokens::None);
        Self { kind, blocks, final_norm, rotary, bias, convolution, global, contacts: None }
    }

    /// Whether it supports global attention tokens.
    pub fn has_global_maps(&self) -> bool {
        self.blocks.iter().any(|block| block.attention.global_maps().is_some())
    }

    /// Forgets how to attend to an encoder; whether it could.
    pub fn detach(&mut self) -> bool {
        let blocks = self.blocks.iter_mut().filter_map(Arc::get_mut);
        blocks.filter_map(|block| block.cross.take()).count() > 0
    }

    /// What the stack is, and what its guests are.
    pub fn specs(&self) -> Vec<StackSpec> {
        let spec = |kind, layers: Vec<(&dyn Attention, Option<MlpSpec>)>| StackSpec {
            kind,
            causal: layers.first().is_some_and(|(attention, _)| attention.is_causal()),
            layers: layers.iter().map(|(attention, mlp)| LayerSpec { mlp: *mlp, ..attention.spec() }).collect(),
        };
        let own = self.blocks.iter().map(|block| (&*block.attention, Some(block.mlp.spec())));
        let own = spec(self.kind, own.collect());
        let guests = [self.kind.beside(), self.kind.cross()].into_iter().flatten().map(|kind| {
            let of_layers = self.blocks.iter().filter_map(|block| Some((block.mixer(kind)?, None)));
            spec(kind, of_layers.collect())
        });
        std::iter::once(own).chain(guests.filter(|guest| !guest.layers.is_empty())).collect()
    }

    /// # Shapes
    /// - `x`, result: `[n, d_model]`; the result is after the final norm
    pub fn forward(&self, x: Tensor, pass: &mut Pass<'_>, run: &mut Run<'_>) -> Result<Tensor, ModelError> {
        self.forward_from(0, x, pass, run)
    }

    /// As [`Self::forward`], where `x` is the stream that enters layer `first`.
    pub fn forward_from(
        &self,
        first: usize,
        mut x: Tensor,
        pass: &mut Pass<'_>,
        run: &mut Run<'_>,
    ) -> Result<Tensor, ModelError> {
        if self.convolution.is_some() && pass.is_reordered() {
            let why = "positions cannot move with the tokens: a convolution joins the tokens that stand side by side";
            return Err(ModelError::Edit(why.to_owned()));
        }
        if pass.is_reordered()
            && self.blocks.iter().any(|block| block.attention.heads().is_none() || block.beside.is_some())
        {
            let why = "positions cannot move with the tokens: a layer with a state reads them one after the other";
            return Err(ModelError::Edit(why.to_owned()));
        }
        pass.prepare(&self.rotary, self.bias.as_ref(), (x.dim(0)?, x.device()), run)?;
        pass.keep(&x);
        let embedded = self.convolution.is_some().then(|| pass.spread(x.clone())).transpose()?;
        let mut read = pass.read.take();
        for (layer, block) in self.blocks.iter().enumerate().skip(first) {
            run.checkpoint()?;
            let at = At { stack: self.kind, layer };
            // What scores and patterns need besides queries and keys is recorded on the way to them.
            let heads = block.attention.heads().filter(|heads| !(heads.spec.biased || heads.spec.sink));
            let heads = heads.filter(|_| block.beside.is_none());
            if let Some(heads) = heads.filter(|_| run.ends_at(at) && pass.global.is_empty()) {
                block.only_project((at, heads), &x, pass, run)?;
                return check_finite(x);
            }
            if layer + 1 == self.blocks.len() {
                pass.read = read.take();
            }
            let entering = run.at(Site::ResidPre, at, x)?;
            x = block.forward(at, entering, pass, run)?;
            if let (0, Some(convolution), Some(embedded)) = (layer, &self.convolution, &embedded) {
                x = convolution.join_parts(embedded, &x, &pass.parts)?;
            }
            x = run.at(Site::ResidPost, at, x)?;
            pass.keep(&x);
            run.layer_done();
        }
        if let Some(rows) = read {
            // No layer has run.
            x = x.index_select(&rows, 0)?;
        }
        self.end(x, run)
    }

    /// The stream behind a layer that is entered by `entering`, which the run has seen.
    pub fn behind(
        &self,
        layer: usize,
        entering: Tensor,
        pass: &mut Pass<'_>,
        run: &mut Run<'_>,
    ) -> Result<Tensor, ModelError> {
        let at = At { stack: self.kind, layer };
        let x = self.blocks[layer].forward(at, entering, pass, run)?;
        run.layer_done();
        run.at(Site::ResidPost, at, x)
    }

    /// The last stream, after the final norm.
    pub fn end(&self, x: Tensor, run: &mut Run<'_>) -> Result<Tensor, ModelError> {
        run.checkpoint()?;
        let x = self.normed(x)?;
        let x = run.at(Site::ResidFinal, At { stack: self.kind, layer: self.blocks.len() }, x)?;
        check_finite(x)
    }
}

impl Stack {
    /// A stream after the final norm, where there is one.
    pub fn normed(&self, x: Tensor) -> candle_core::Result<Tensor> {
        match &self.final_norm {
            Some(norm) => norm.forward(&x),
            None => Ok(x),
        }
    }
}

/// A stream `[n, width]` that is a number everywhere.
pub(crate) fn check_finite(x: Tensor) -> Result<Tensor, ModelError> {
    // A single infinity reaches the sum, so one number tells.
    let sum = x.sum_keepdim(D::Minus1)?.flatten_all()?.to_vec1::<f32>()?;
    if sum.iter().all(|sum| sum.is_finite()) { Ok(x) } else { Err(ModelError::NotFinite { what: "output".to_owned() }) }
}
