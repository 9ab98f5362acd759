//! What does the head really move?

use std::borrow::Cow;

use super::{
    Bench, LabError,
    depends::{by_stack, patterns},
};
use crate::{
    analysis::explain::{
        effective::effective as effective_of,
        norms::{Moved, NormAfter},
        report::{Method, Report, Value},
    },
    capture::{Matrix, PerHead, StackCapture},
    ids::HeadId,
    ids::StackKind,
    model::{Logits, Projection, Site, Sites},
    spec::StackSpec,
};

/// How far two ways to the same sum may differ, as a part of its largest value.
const SAME: f64 = 1e-3;

const NO_OUTPUT: &str = "its attention is not mapped back to a residual stream, so there are no moved vectors to \
    measure";

/// The rows of an output map that belong to each head, `[heads, d_head, d_model]`.
pub(super) fn by_head(output: &Projection, n_heads: usize) -> Result<PerHead, LabError> {
    let [n_rows, width] = output.weight.shape();
    let d_head = n_rows / n_heads.max(1);
    PerHead::new(output.weight.as_slice(), [n_heads, d_head, width])
        .map_err(|_| LabError::unsuited("the output map does not belong to these heads"))
}

/// What attention adds at one position by its heads, `[heads][d_model]`: `z · W_O`, without the map's bias.
pub(super) fn head_parts(z: &PerHead, output: &PerHead, position: usize) -> Vec<Vec<f64>> {
    let [n_heads, d_head, width] = output.shape();
    let part = |head: usize| {
        let mut sum = vec![0.0; width];
        let (z, map) = (z.head(head), output.head(head));
        let z = z.as_ref().and_then(|z| z.row(position)).unwrap_or(&[]);
        for (value, row) in z.iter().zip(map.iter().flat_map(Matrix::rows)).take(d_head) {
            sum.iter_mut().zip(row).for_each(|(sum, weight)| *sum += f64::from(*value) * f64::from(*weight));
        }
        sum
    };
    (0..n_heads).map(part).collect()
}

/// Whether parts add up to a whole, but for rounding.
pub(super) fn add_up<'a>(parts: impl Iterator<Item = &'a [f64]>, whole: &[f32]) -> bool {
    let mut sum = vec![0.0; whole.len()];
    let mut largest = whole.iter().fold(0.0f64, |most, value| most.max(f64::from(value.abs())));
    for part in parts {
        for (sum, value) in sum.iter_mut().zip(part) {
            *sum += value;
            largest = largest.max(value.abs());
        }
    }
    sum.iter().zip(whole).all(|(sum, value)| (sum - f64::from(*value)).abs() <= SAME * largest)
}

/// Norm-based attention and mixing ratios (Kobayashi et al. 2020, 2021), of every layer.
pub fn norms(bench: &Bench<'_>) -> Result<Report, LabError> {
    let plain = bench.plain()?;
    let recorded = bench.run(Sites::of(&[Site::Z, Site::ResidPre, Site::AttnOut, Site::ResidMid]), Logits::Skip)?;
    let stacks = &plain.model().stacks;
    let total = stacks.iter().map(|stack| stack.layers.len()).sum();
    let mut done = 0;
    let mut report = Report::new(Method::Norms);
    let [mut heads, mut together, mut mixing, mut without] = [const { Vec::new() }; 4];
    for stack in stacks {
        let sides = (stack.kind.query_side(), stack.kind.key_side());
        let [mut of_heads, mut of_all, mut ratios, mut alone] = [const { Vec::new() }; 4];
        let (Some(values), Some(streams)) = (plain.stack(stack.kind), recorded.stack(stack.kind)) else { continue };
        if !plain.global_tokens(HeadId { stack: stack.kind, ..HeadId::default() }).is_empty() {
            let what = "some tokens have global attention with separate values, which these norms do not cover";
            return Err(LabError::unsuited(what));
        }
        for (layer, pattern) in patterns(plain, stack)?.iter().enumerate() {
            bench.step(done, total)?;
            done += 1;
            let Some(output) = bench.model.attention_output(stack.kind, layer)? else {
                return Err(LabError::unsuited(NO_OUTPUT));
            };
            let values = values.layers[layer].v();
            let values = values.ok_or_else(|| LabError::unsuited("values were not recorded"))?;
            let moved = Moved::new(values, &by_head(&output, stack.n_heads(layer))?)?;
            of_heads.push(Value::heads(sides.0, sides.1, moved.by_head(pattern)?));
            of_all.push(Value::matrix(sides.0, sides.1, moved.together(pattern)?));
            if stack.kind != StackKind::Cross {
                alone.push(Value::tokens(sides.0, moved.mixing_ratios(pattern, None, None)?));
                ratios.extend(ratio(bench, &moved, pattern, (stack, layer), (streams, &output))?);
            }
        }
        let name = Cow::Borrowed(stack.kind.name());
        heads.push((name.clone(), Value::Layers(of_heads)));
        together.push((name.clone(), Value::Layers(of_all)));
        if stack.kind == StackKind::Cross {
            continue;
        }
        without.push((name.clone(), Value::Layers(alone)));
        if ratios.len() == stack.layers.len() {
            mixing.push((name, Value::Layers(ratios)));
        } else {
            let note = "attention is normalised before it is added, or was changed, so the mixing ratio cannot be \
                computed from the heads";
            report.notes.push(note.to_owned());
            mixing.push((name, Value::Missing(note.to_owned())));
        }
    }
    report.values = by_stack("attention_norm", heads);
    report.values.extend(by_stack("together", together));
    report.values.extend(by_stack("mixing_ratio", mixing));
    report.values.extend(by_stack("mixing_ratio_attention", without));
    Ok(report)
}

/// The mixing ratio with the residual stream, behind the norm where it follows the attention; `None` where what
/// heads move is not what the stream gets.
fn ratio(
    bench: &Bench<'_>,
    moved: &Moved,
    pattern: &PerHead,
    (stack, layer): (&StackSpec, usize),
    (streams, output): (&StackCapture, &Projection),
) -> Result<Option<Value>, LabError> {
    let recorded = &streams.layers[layer];
    let (Some(pre), Some(out), Some(z)) = (recorded.resid_pre(), recorded.rows(Site::AttnOut), recorded.z()) else {
        return Ok(None);
    };
    let map = by_head(output, stack.n_heads(layer))?;
    let bias: Vec<f64> = output.bias.iter().flatten().map(|value| f64::from(*value)).collect();
    let is_sum = (0..out.n_rows()).all(|row| {
        let parts = head_parts(z, &map, row);
        add_up(parts.iter().map(Vec::as_slice).chain([&bias[..]]), out.row(row).unwrap_or(&[]))
    });
    if !is_sum {
        return Ok(None);
    }
    let combined = |sign: f32, a: &Matrix, b: &Matrix| {
        let values: Vec<f32> = a.as_slice().iter().zip(b.as_slice()).map(|(a, b)| a + sign * b).collect();
        Matrix::new(values, a.shape()).map_err(|_| LabError::unsuited("the stream is empty"))
    };
    let side = stack.kind.query_side();
    let Some(norm) = bench.model.norm_after_attention(stack.kind, layer)? else {
        // Some blocks add to the normed stream, which is what is left without the attention.
        let residual = match recorded.rows(Site::ResidMid) {
            Some(mid) if stack.kind == StackKind::SelfAttention => combined(-1.0, mid, out)?,
            _ => pre.clone(),
        };
        return Ok(Some(Value::tokens(side, moved.mixing_ratios(pattern, Some(&residual), None)?)));
    };
    if !norm.centred {
        return Ok(None);
    }
    let input = combined(1.0, pre, out)?;
    let norm = NormAfter { input: &input, weight: &norm.weight, epsilon: f64::from(norm.eps) };
    Ok(Some(Value::tokens(side, moved.mixing_ratios(pattern, Some(pre), Some(norm))?)))
}

/// Effective attention (Brunner et al. 2020), of every head.
pub fn effective(bench: &Bench<'_>) -> Result<Report, LabError> {
    let plain = bench.plain()?;
    let stacks = &plain.model().stacks;
    let total = stacks.iter().map(|stack| stack.layers.len()).sum();
    let mut done = 0;
    let mut report = Report::new(Method::Effective);
    let (mut weights, mut told) = (Vec::new(), Vec::new());
    for stack in stacks {
        let Some(recorded) = plain.stack(stack.kind) else { continue };
        if stack.layers.iter().any(|layer| layer.window.is_some()) {
            let what = "some layers have a sliding window, for which effective attention is not implemented";
            return Err(LabError::unsuited(what));
        }
        let (mut layers, mut shares) = (Vec::new(), Vec::new());
        for (layer, pattern) in patterns(plain, stack)?.iter().enumerate() {
            bench.step(done, total)?;
            done += 1;
            let values = recorded.layers[layer].v();
            let values = values.ok_or_else(|| LabError::unsuited("values were not recorded"))?;
            let bare = without_bias(values, bench.model.value_bias(stack.kind, layer)?.as_deref())?;
            let [n_heads, ..] = pattern.shape();
            let group = (n_heads / bare.shape()[0].max(1)).max(1);
            let (mut all, mut of_heads) = (Vec::with_capacity(pattern.as_slice().len()), Vec::new());
            for head in 0..n_heads {
                let (Some(pattern), Some(values)) = (pattern.head(head), bare.head(head / group)) else { continue };
                let found = effective_of(&pattern, &values, stack.causal)?;
                all.extend_from_slice(found.pattern.as_slice());
                let n = found.identifiable.iter().filter(|told| **told).count();
                of_heads.push(n as f64 / found.identifiable.len().max(1) as f64);
            }
            let all = PerHead::new(all, pattern.shape()).map_err(|_| LabError::unsuited("a head has no values"))?;
            layers.push(Value::heads(stack.kind.query_side(), stack.kind.key_side(), all));
            shares.push(Value::List(of_heads));
        }
        weights.push((Cow::Borrowed(stack.kind.name()), Value::Layers(layers)));
        told.push((Cow::Borrowed(stack.kind.name()), Value::Layers(shares)));
    }
    report.values = by_stack("effective", weights);
    report.values.extend(by_stack("identifiable", told));
    let note = "identifiable: share of a head's queries whose weights follow from its output";
    report.notes.push(note.to_owned());
    Ok(report)
}

/// Values without the bias that all of them have, `[kv_heads · d_head]`.
fn without_bias(values: &PerHead, bias: Option<&[f32]>) -> Result<PerHead, LabError> {
    let Some(bias) = bias else { return Ok(values.clone()) };
    let [n_heads, n, d_head] = values.shape();
    let bare = values.as_slice().iter().enumerate().map(|(at, value)| {
        let head = at / (n * d_head).max(1);
        value - bias.get(head * d_head + at % d_head.max(1)).copied().unwrap_or(0.0)
    });
    let bare: Vec<f32> = bare.collect();
    PerHead::new(bare, [n_heads, n, d_head]).map_err(|_| LabError::unsuited("there are no values"))
}
