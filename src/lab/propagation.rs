//! Layer-wise relevance propagation through a whole model, back to every attention (Chefer et al. 2021, first paper).

use super::{Aim, Bench, LabError};
use crate::{
    analysis::explain::{dense::Dense, relevance::lrp},
    capture::{LayerCapture, Matrix, PerHead},
    ids::StackKind,
    model::{BranchNorms, FinalNorm, HeadReads, Logits, Projection, Site, Sites},
};

const SITES: [Site; 10] = [
    Site::ResidPre,
    Site::Q,
    Site::K,
    Site::V,
    Site::Pattern,
    Site::Z,
    Site::AttnOut,
    Site::ResidMid,
    Site::MlpHidden,
    Site::MlpOut,
];

fn refused(what: &str) -> LabError {
    LabError::unsuited(format!("relevance cannot be propagated through this model: {what}; take the rule gradient"))
}

/// The share of every weight of every pattern in the output that is explained, layer by layer.
pub fn propagated(bench: &Bench<'_>, aim: &Aim) -> Result<Vec<PerHead>, LabError> {
    let plain = bench.plain()?;
    let kind = StackKind::SelfAttention;
    let stack = match &plain.model().stacks[..] {
        [stack] if stack.kind == kind => stack,
        _ => return Err(refused("the rules are for a single sequence that attends to itself")),
    };
    let HeadReads::At(position) = aim.reads else { return Err(refused("its head reads the mean of all tokens")) };
    let mut blocks = Vec::with_capacity(stack.layers.len());
    for (layer, spec) in stack.layers.iter().enumerate() {
        let block = Block::of(bench, layer)?;
        let grouped = spec.n_kv_heads != spec.n_heads;
        if grouped || spec.biased || spec.softcap.is_some() || spec.window.is_some() {
            return Err(refused("its heads share keys, or scores get a bias, a cap or a window"));
        }
        blocks.push(block);
    }
    let mut plan = bench.plan(Sites::of(&[&SITES[..], &[Site::ResidFinal]].concat()), Logits::Skip);
    plan.layers = None;
    let capture = bench.model.forward(bench.input, &plan, bench.control)?;
    let missing = || refused("its activations cannot be recorded");
    let recorded = capture.stack(kind).ok_or_else(missing)?;
    let last = recorded.resid_final.as_ref().ok_or_else(missing)?;
    let row = last.row(position).ok_or_else(missing)?;
    let mut share = Dense::from_fn(1, 1, |_, _| 1.0);
    let path = bench.model.head_path(row, aim.id);
    for (input, map) in path.map_err(|error| refused(&error.to_string()))?.iter().rev() {
        let input = Dense::from_fn(1, input.len(), |_, col| f64::from(input[col]));
        share = lrp::linear(&input, &transposed(map), &share)?;
    }
    let mut relevance = Dense::zeros(last.n_rows(), last.n_cols());
    relevance.row_mut(position).copy_from_slice(share.row(0));
    let mut found = Vec::with_capacity(blocks.len());
    for (nth, (block, layer)) in blocks.iter().zip(&recorded.layers).enumerate().rev() {
        bench.step(blocks.len() - nth - 1, blocks.len())?;
        let (before, shares) = block.back(layer, &relevance)?;
        found.push(shares);
        relevance = before;
    }
    found.reverse();
    Ok(found)
}

/// The maps of one block.
struct Block {
    attention: BranchNorms,
    mlp: BranchNorms,
    qkv: Projection,
    out: Projection,
    up: Projection,
    down: Projection,
}

impl Block {
    fn of(bench: &Bench<'_>, layer: usize) -> Result<Self, LabError> {
        let (model, kind) = (bench.model, StackKind::SelfAttention);
        let shape = model.block_shape(kind, layer)?.ok_or_else(|| refused("it is not made of plain blocks"))?;
        let odd = |norms: &BranchNorms| norms.is_normed || norms.carries;
        if shape.gated || shape.parallel || odd(&shape.attention) || odd(&shape.mlp) {
            return Err(refused("its blocks have gates, norms of what they add, or two branches side by side"));
        }
        let qkv = model.joint_projection(kind, layer)?;
        let qkv = qkv.ok_or_else(|| refused("queries and keys are turned or normed after their linear map"))?;
        let maps =
            (model.attention_output(kind, layer)?, model.mlp_input(kind, layer)?, model.mlp_output(kind, layer)?);
        let (Some(out), Some(up), Some(down)) = maps else { return Err(refused("it is not made of plain blocks")) };
        Ok(Self { attention: shape.attention, mlp: shape.mlp, qkv, out, up, down })
    }

    /// From what leaves the block to what enters it, and to its patterns.
    fn back(&self, layer: &LayerCapture, relevance: &Dense) -> Result<(Dense, PerHead), LabError> {
        let missing = || refused("its activations cannot be recorded");
        let rows = |site: Site| layer.rows(site).map(Dense::from).ok_or_else(missing);
        let (entering, middle) = (rows(Site::ResidPre)?, rows(Site::ResidMid)?);
        let [kept, added] = lrp::add([&middle, &rows(Site::MlpOut)?], relevance)?;
        let inside = lrp::linear(&rows(Site::MlpHidden)?, &transposed(&self.down), &added)?;
        let read = lrp::linear(&normed(&middle, self.mlp.before.as_ref()), &transposed(&self.up), &inside)?;
        let relevance = lrp::copied(&middle, &[&kept, &read])?;
        let [kept, added] = lrp::add([&entering, &rows(Site::AttnOut)?], &relevance)?;
        let heads = |site: Site| layer.per_head(site).ok_or_else(missing);
        let (z, pattern) = (heads(Site::Z)?, heads(Site::Pattern)?);
        let [n_heads, n, d_head] = z.shape();
        let side_by_side =
            Dense::from_fn(n, n_heads * d_head, |row, col| f64::from(value(z, [col / d_head, row, col % d_head])));
        let of_heads = lrp::linear(&side_by_side, &transposed(&self.out), &added)?;
        let mut joint = Dense::zeros(n, 3 * n_heads * d_head);
        let mut shares = Vec::with_capacity(pattern.as_slice().len());
        for head in 0..n_heads {
            let matrix = |site: Site| -> Result<Dense, LabError> {
                Ok(Dense::from(&heads(site)?.head(head).ok_or_else(missing)?))
            };
            let own = Dense::from_fn(n, d_head, |row, col| of_heads.at(row, head * d_head + col));
            let [of_pattern, of_values] = lrp::matmul(&matrix(Site::Pattern)?, &matrix(Site::V)?, &own)?;
            // Softmax and scale pass on what they get.
            let [of_queries, of_keys] = lrp::matmul(&matrix(Site::Q)?, &matrix(Site::K)?.transposed(), &of_pattern)?;
            for (part, values) in [of_queries, of_keys.transposed(), of_values].iter().enumerate() {
                let first = (part * n_heads + head) * d_head;
                for (to, from) in joint.rows_mut().zip(values.rows()) {
                    to[first..first + d_head].copy_from_slice(from);
                }
            }
            shares.extend(of_pattern.as_slice().iter().map(|share| *share as f32));
        }
        let read = lrp::linear(&normed(&entering, self.attention.before.as_ref()), &transposed(&self.qkv), &joint)?;
        let shares = PerHead::new(shares, pattern.shape()).map_err(|_| missing())?;
        Ok((lrp::copied(&entering, &[&kept, &read])?, shares))
    }
}

fn value(heads: &PerHead, [head, row, col]: [usize; 3]) -> f32 {
    let [_, n, width] = heads.shape();
    heads.as_slice()[(head * n + row) * width + col]
}

/// A map as `[out, in]`.
fn transposed(map: &Projection) -> Dense {
    let weight: &Matrix = &map.weight;
    Dense::from(weight).transposed()
}

/// What a branch reads of the stream.
fn normed(stream: &Dense, norm: Option<&FinalNorm>) -> Dense {
    let Some(norm) = norm else { return stream.clone() };
    let mut normed = stream.clone();
    for row in normed.rows_mut() {
        let n = row.len().max(1) as f64;
        let mean = if norm.centred { row.iter().sum::<f64>() / n } else { 0.0 };
        let variance = row.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n;
        let deviation = (variance + f64::from(norm.eps)).sqrt();
        for (nth, (x, weight)) in row.iter_mut().zip(&norm.weight).enumerate() {
            let bias = norm.bias.as_ref().map_or(0.0, |bias| f64::from(bias[nth]));
            *x = (*x - mean) / deviation * f64::from(*weight) + bias;
        }
    }
    normed
}
