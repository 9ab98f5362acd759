//! Layer-wise relevance propagation through a whole model, back to every attention (Chefer et al. 2021, first paper).

use super::{
    Aim, LabError, LabRun,
    block_f64::{HeadPass, Maps, Pass, Record},
};
use crate::{
    analysis::explain::{dense::Dense, relevance::lrp},
    capture::{Matrix, PerHead},
    ids::StackKind,
    model::{BranchNorms, HeadReads, Logits, Projection, Site, Sites},
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
    LabError::unsuited(format!("relevance cannot be propagated through this model: {what}; use the rule “gradient”"))
}

/// The share of every weight of every pattern in the output that is explained, layer by layer.
pub fn propagated(lab: &LabRun<'_>, aim: &Aim) -> Result<Vec<PerHead>, LabError> {
    let plain = lab.plain()?;
    let kind = StackKind::SelfAttention;
    let stack = match &plain.model().stacks[..] {
        [stack] if stack.kind == kind => stack,
        _ => return Err(refused("the rules are for a single sequence that attends to itself")),
    };
    let HeadReads::At(position) = aim.reads else { return Err(refused("its head reads the mean of all tokens")) };
    let mut blocks = Vec::with_capacity(stack.layers.len());
    for (layer, spec) in stack.layers.iter().enumerate() {
        let maps = maps_of(lab, layer)?;
        let grouped = spec.n_kv_heads != spec.n_heads;
        if grouped || spec.biased || spec.softcap.is_some() || spec.window.is_some() {
            return Err(refused("its heads share keys, or scores get a bias, a cap or a window"));
        }
        if spec.sink {
            return Err(refused("its heads have learned sinks, which take a share of every row"));
        }
        blocks.push((maps, spec.scale));
    }
    let mut plan = lab.plan(Sites::of(&[&SITES[..], &[Site::ResidFinal]].concat()), Logits::Skip);
    plan.layers = None;
    let capture = lab.model.forward(lab.input, &plan, lab.control)?;
    let missing = || refused("its activations cannot be recorded");
    let recorded = capture.stack(kind).ok_or_else(missing)?;
    let last = recorded.resid_final().ok_or_else(missing)?;
    let row = last.row(position).ok_or_else(missing)?;
    let mut share = Dense::from_fn(1, 1, |_, _| 1.0);
    let path = lab.model.head_path(row, aim.id);
    for (input, map) in path.map_err(|error| refused(&error.to_string()))?.iter().rev() {
        let input = Dense::from_fn(1, input.len(), |_, col| f64::from(input[col]));
        share = lrp::linear(&input, &transposed(map), &share)?;
    }
    let mut relevance = Dense::zeros(last.n_rows(), last.n_cols());
    relevance.row_mut(position).copy_from_slice(share.row(0));
    let first = recorded.rows(Site::ResidPre, 0).ok_or_else(missing)?;
    let (mut passes, mut stream) = (Vec::with_capacity(blocks.len()), Dense::from(first));
    for ((maps, scale), layer) in blocks.iter().zip(&recorded.layers) {
        let record = Record { layer, changed: !lab.edits.is_empty() };
        let pass = Pass::of(maps, &stream, *scale, &record)?;
        stream = pass.leaving.clone();
        passes.push(pass);
    }
    let mut found = Vec::with_capacity(blocks.len());
    for (nth, ((maps, _), pass)) in blocks.iter().zip(&passes).enumerate().rev() {
        lab.step(blocks.len() - nth - 1, blocks.len())?;
        let (before, shares) = back(maps, pass, &relevance)?;
        found.push(shares);
        relevance = before;
    }
    found.reverse();
    Ok(found)
}

/// The maps of one block, where there are rules for all of it.
fn maps_of(lab: &LabRun<'_>, layer: usize) -> Result<Maps, LabError> {
    let (model, kind) = (lab.model, StackKind::SelfAttention);
    let shape = model.block_shape(kind, layer)?.ok_or_else(|| refused("it is not made of plain blocks"))?;
    let odd = |norms: &BranchNorms| norms.is_normed || norms.carries;
    if shape.gated || shape.parallel || odd(&shape.attention) || odd(&shape.mlp) {
        return Err(refused("its blocks have gates, normalise what they add, or have two parallel branches"));
    }
    let qkv = model.joint_projection(kind, layer)?;
    let qkv = qkv.ok_or_else(|| refused("queries and keys are rotated or normalised after their linear map"))?;
    let others = (model.attention_output(kind, layer)?, model.mlp_input(kind, layer)?, model.mlp_output(kind, layer)?);
    let (Some(out), Some(up), Some(down)) = others else { return Err(refused("it is not made of plain blocks")) };
    Ok(Maps { shape, qkv, out, up, down })
}

/// From what leaves the block to what enters it, and to its patterns.
fn back(maps: &Maps, pass: &Pass, relevance: &Dense) -> Result<(Dense, PerHead), LabError> {
    let [kept, added] = lrp::add([&pass.middle, &pass.mlp_out], relevance)?;
    let inside = lrp::linear(&pass.hidden, &transposed(&maps.down), &added)?;
    let read = lrp::linear(&pass.read_middle, &transposed(&maps.up), &inside)?;
    let relevance = lrp::copied(&pass.middle, &[&kept, &read])?;
    let [kept, added] = lrp::add([&pass.entering, &pass.attn_out], &relevance)?;
    let of_heads = lrp::linear(&pass.z, &transposed(&maps.out), &added)?;
    let (n, n_heads) = (pass.z.n_rows(), pass.heads.len());
    let d_head = pass.z.n_cols() / n_heads.max(1);
    let mut joint = Dense::zeros(n, 3 * n_heads * d_head);
    let mut shares = Vec::with_capacity(n_heads * n * n);
    for (head, HeadPass { q, k, v, pattern }) in pass.heads.iter().enumerate() {
        let own = Dense::from_fn(n, d_head, |row, col| of_heads.at(row, head * d_head + col));
        let [of_pattern, of_values] = lrp::matmul(pattern, v, &own)?;
        // Softmax and scale pass on what they get.
        let [of_queries, of_keys] = lrp::matmul(q, &k.transposed(), &of_pattern)?;
        for (part, values) in [of_queries, of_keys.transposed(), of_values].iter().enumerate() {
            let first = (part * n_heads + head) * d_head;
            for (to, from) in joint.rows_mut().zip(values.rows()) {
                to[first..first + d_head].copy_from_slice(from);
            }
        }
        shares.extend(of_pattern.as_slice().iter().map(|share| *share as f32));
    }
    let read = lrp::linear(&pass.read, &transposed(&maps.qkv), &joint)?;
    let shares = PerHead::new(shares, [n_heads, n, n]).map_err(|error| refused(&error.to_string()))?;
    Ok((lrp::copied(&pass.entering, &[&kept, &read])?, shares))
}

/// A map as `[out, in]`.
fn transposed(map: &Projection) -> Dense {
    let weight: &Matrix = &map.weight;
    Dense::from(weight).transposed()
}
