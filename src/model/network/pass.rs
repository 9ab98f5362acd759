//! State that the layers of one stack share during one pass: positions, turns, biases, the encoder's output,
//! and the keys and values of earlier passes while a text is generated.

use std::{collections::BTreeMap, ops::Range, sync::Arc};

use candle_core::{Device, Result, Tensor};

use super::{disentangled::Disentangled, relative::RelativeBias, rotary::Rotary};
use crate::model::{
    kernels::{Bias, Turns},
    run::{At, Run},
};

/// What the positions so far have left.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cache {
    /// By stack and layer: keys and values `[n, kv_heads, d_head]`, or what a layer with a state goes on from.
    layers: BTreeMap<At, (Tensor, Tensor)>,
    /// A recurrent writer's state after them.
    pub state: Option<Tensor>,
    pub n: usize,
}

/// One of the inputs that are packed into a pass: its rows among those of all.
#[derive(Debug, Default)]
pub(crate) struct PackedInput {
    /// In the stack's own sequence.
    pub rows: Range<usize>,
    /// In the encoder's, for cross-attention.
    pub memory: Range<usize>,
    /// Rows and columns of its patches.
    pub grid: Option<(usize, usize)>,
    /// The position of each token, where they are not in order.
    positions: Option<Arc<[usize]>>,
    bias: Option<Bias>,
}

impl PackedInput {
    pub const fn new(rows: Range<usize>, memory: Range<usize>, grid: Option<(usize, usize)>) -> Self {
        Self { rows, memory, grid, positions: None, bias: None }
    }

    /// With tokens at these positions, where they are not in order.
    pub fn at(self, positions: Option<&Arc<[usize]>>) -> Self {
        Self { positions: positions.cloned(), ..self }
    }
}

/// One pass of a stack.
#[derive(Default)]
pub(crate) struct Pass<'a> {
    /// The encoder's final stream `[n_key, d_encoder]`, for cross-attention.
    pub memory: Option<&'a Tensor>,
    /// Present while a text is generated.
    pub cache: Option<&'a mut Cache>,
    /// Rows and columns of patches, for biases between them.
    pub grid: Option<(usize, usize)>,
    /// One per rotary embedding of the stack.
    pub turns: Vec<Turns>,
    pub bias: Option<Bias>,
    /// The inputs, where several are packed into one pass; they attend each for itself.
    pub parts: Vec<PackedInput>,
    /// Whether all parts are the same so far, so that one stands for them all: it ends when they attend.
    pub alike: bool,
    /// The rows that are read of what a layer gives, the stack's last in the end; `None` where all are.
    pub read: Option<Tensor>,
    /// Positions, in order, of tokens that see all others.
    pub global: Arc<[usize]>,
    /// The position of each token, from 0 once each, where they are not in order.
    pub order: Option<Arc<[usize]>>,
    /// What every layer has of its own for each token, side by side: `[n, layers · d_own]`.
    pub own_inputs: Option<Tensor>,
    /// Keys and values `[kv_heads, n, width]` of layers whose later ones read them too.
    lent: BTreeMap<usize, (Tensor, Tensor)>,
    /// The stream before the first layer and behind each, where somebody else reads them.
    pub kept: Option<Vec<Tensor>>,
    positions: Range<usize>,
}

impl<'a> Pass<'a> {
    /// A decoder's pass.
    pub fn decoding(memory: Option<&'a Tensor>, cache: Option<&'a mut Cache>) -> Self {
        Self { memory, cache, ..Self::default() }
    }

    /// A pass whose streams somebody else reads, layer by layer.
    pub fn keeping() -> Self {
        Self { kept: Some(Vec::new()), ..Self::default() }
    }

    /// The pass of several packed inputs.
    pub fn of_parts(memory: Option<&'a Tensor>, parts: Vec<PackedInput>) -> Self {
        Self { memory, parts, ..Self::default() }
    }

    /// Works out what depends on the positions of `n` new tokens: turns of a stack's rotary embeddings, and
    /// the bias that its layers share.
    pub fn prepare(
        &mut self,
        rotary: &[Rotary],
        bias: Option<&RelativeBias>,
        (n, device): (usize, &Device),
        run: &mut Run<'_>,
    ) -> Result<()> {
        if !self.parts.is_empty() {
            return self.prepare_parts(rotary, bias, device, run);
        }
        let first = self.cache.as_ref().map_or(0, |cache| cache.n);
        self.positions = first..first + n;
        self.turns = rotary
            .iter()
            .map(|rotary| turns(rotary, self.positions.clone(), self.order.as_deref(), self.grid, run))
            .collect();
        self.bias = bias.map(|bias| self.bias_of(bias, n, first + n, device)).transpose()?;
        Ok(())
    }

    /// The same where positions begin anew with every packed input.
    fn prepare_parts(
        &mut self,
        rotary: &[Rotary],
        bias: Option<&RelativeBias>,
        device: &Device,
        run: &mut Run<'_>,
    ) -> Result<()> {
        let mut of_part = |rotary: &Rotary| {
            let parts = self.parts.iter().enumerate().map(|(idx, part)| {
                run.enter(Some(idx));
                turns(rotary, 0..part.rows.len(), part.positions.as_deref(), part.grid, run)
            });
            Turns::joined(&parts.collect::<Vec<_>>())
        };
        self.turns = rotary.iter().map(&mut of_part).collect();
        run.enter(None);
        if let Some(bias) = bias {
            for part in &mut self.parts {
                let n = part.rows.len();
                part.bias = Some(in_order(bias.rows(0..n, n, part.grid, device)?, n, part.positions.as_deref())?);
            }
        }
        Ok(())
    }

    /// Keeps the stream at a layer's end, where somebody else reads it.
    pub fn keep(&mut self, x: &Tensor) {
        if let Some(kept) = &mut self.kept {
            kept.push(x.clone());
        }
    }

    /// Whether positions of tokens are not in order.
    pub fn is_reordered(&self) -> bool {
        self.order.is_some() || self.parts.iter().any(|part| part.positions.is_some())
    }

    /// Where a part's rows are.
    pub fn rows_of(&self, part: usize) -> Range<usize> {
        let rows = self.parts.get(part).map_or(0..0, |part| part.rows.clone());
        if self.alike { 0..rows.len() } else { rows }
    }

    /// A value of parts that have been alike so far, once for each of them.
    pub fn spread(&self, x: Tensor) -> Result<Tensor> {
        if self.alike { x.repeat((self.parts.len(), 1)) } else { Ok(x) }
    }

    /// The turns of one of the stack's rotary embeddings.
    pub fn turns_of(&self, rotary: usize) -> Option<Turns> {
        let turns = self.turns.get(rotary)?;
        let shared = self.parts.first().filter(|_| self.alike);
        Some(shared.map_or_else(|| turns.clone(), |part| turns.first(part.rows.len())))
    }

    /// Those rows of a value that are read.
    pub fn only_read(&self, x: Tensor) -> Result<Tensor> {
        match &self.read {
            Some(rows) => x.index_select(rows, 0),
            None => Ok(x),
        }
    }

    /// Turns to one of the packed inputs: what depends on positions is its own from now on.
    pub fn enter(&mut self, part: usize) {
        if let Some(part) = self.parts.get(part) {
            self.grid = part.grid;
            self.bias.clone_from(&part.bias);
            self.order.clone_from(&part.positions);
        }
    }

    /// A bias for queries at the last `n_query` of `n_key` positions.
    pub fn bias_of(&self, bias: &RelativeBias, n_query: usize, n_key: usize, device: &Device) -> Result<Bias> {
        in_order(bias.rows(n_key - n_query..n_key, n_key, self.grid, device)?, n_key, self.order.as_deref())
    }

    /// What a comparison of contents with positions adds to the scores `[heads, n, n]` of all tokens.
    pub fn disentangled(&self, term: &Disentangled, q: &Tensor, k: &Tensor, scale: f32) -> Result<Bias> {
        let Some(order) = self.order.as_deref() else { return term.scores(q, k, scale).map(Bias) };
        let mut tokens = vec![0u32; order.len()];
        for (token, position) in (0..).zip(order) {
            tokens[*position] = token;
        }
        let tokens = Tensor::new(&tokens[..], q.device())?;
        let [q, k] = [q, k].map(|x| x.contiguous()?.index_select(&tokens, 1));
        in_order(Bias(term.scores(&q?, &k?, scale)?), order.len(), Some(order))
    }

    /// New keys and values after those of earlier passes.
    pub fn extend(&mut self, at: At, k: Tensor, v: Tensor) -> Result<(Tensor, Tensor)> {
        let Some(cache) = &mut self.cache else { return Ok((k, v)) };
        let joined = match cache.layers.get(&at) {
            Some((old_k, old_v)) => (Tensor::cat(&[old_k, &k], 0)?, Tensor::cat(&[old_v, &v], 0)?),
            None => (k, v),
        };
        cache.layers.insert(at, joined.clone());
        Ok(joined)
    }

    /// Keeps keys and values `[kv_heads, n, width]` of a layer for later ones.
    pub fn lend(&mut self, layer: usize, k: &Tensor, v: &Tensor) -> Result<()> {
        // Parts that are alike until they attend are not any more when others read this.
        let spread = |x: &Tensor| if self.alike { x.repeat((1, self.parts.len(), 1)) } else { Ok(x.clone()) };
        let lent = (spread(k)?, spread(v)?);
        self.lent.insert(layer, lent);
        Ok(())
    }

    /// Keys and values `[kv_heads, n, width]` of an earlier layer.
    pub fn lent(&self, layer: usize) -> Result<(Tensor, Tensor)> {
        match self.lent.get(&layer) {
            Some(lent) => Ok(lent.clone()),
            None => candle_core::bail!("keys and values of layer {layer} are not there"),
        }
    }

    /// What a layer has of its own, `[n, width]`, of the rows that are read.
    pub fn own_input(&self, layer: usize, width: usize) -> Result<Tensor> {
        let Some(all) = &self.own_inputs else { candle_core::bail!("the inputs of layers are not there") };
        self.only_read(all.narrow(1, layer * width, width)?.contiguous()?)
    }

    /// What a layer with a state has left after earlier passes.
    pub fn carried(&self, at: At) -> Option<(Tensor, Tensor)> {
        self.cache.as_ref()?.layers.get(&at).cloned()
    }

    /// Keeps what a layer with a state goes on from, where a pass follows.
    pub fn carry(&mut self, at: At, left: (Tensor, Tensor)) {
        if let Some(cache) = &mut self.cache {
            cache.layers.insert(at, left);
        }
    }

    /// Keys and values of the encoder's stream, computed once while a text is generated.
    pub fn remember(
        &mut self,
        at: At,
        compute: impl FnOnce(&Tensor) -> Result<(Tensor, Tensor)>,
    ) -> Result<(Tensor, Tensor)> {
        let Some(memory) = self.memory else { candle_core::bail!("cross-attention needs an encoder") };
        let Some(cache) = &mut self.cache else { return compute(memory) };
        if let Some(known) = cache.layers.get(&at) {
            return Ok(known.clone());
        }
        let computed = compute(memory)?;
        cache.layers.insert(at, computed.clone());
        Ok(computed)
    }
}

/// Cosines and sines at some positions, unless a change leaves them out.
fn turns(
    rotary: &Rotary,
    positions: Range<usize>,
    order: Option<&[usize]>,
    grid: Option<(usize, usize)>,
    run: &mut Run<'_>,
) -> Turns {
    let standing = run.leaves_out_positions().then(|| rotary.standing());
    let rotary = standing.as_ref().unwrap_or(rotary);
    let turns = match (rotary.patches, grid) {
        (Some(patches), Some(grid)) => rotary.turns_on(patches, grid),
        _ => rotary.turns(positions),
    };
    order.map_or_else(|| turns.clone(), |order| turns.rows(order))
}

/// A bias among `n` tokens whose positions are not in order.
fn in_order(bias: Bias, n: usize, order: Option<&[usize]>) -> Result<Bias> {
    let Some(order) = order else { return Ok(bias) };
    let order = Tensor::from_iter(order.iter().map(|position| *position as u32), bias.0.device())?;
    let by_key = bias.spread(n, n)?.index_select(&order, 2)?;
    Ok(Bias(if by_key.dim(1)? == n { by_key.index_select(&order, 1)? } else { by_key }))
}
