//! Norm-based attention and mixing ratios (Kobayashi et al. 2020, 2021).

use std::borrow::Cow;

use crate::{
    analysis::explain::{
        norms::{Moved, NormAfter},
        report::{LabQuestion, MethodSpec, Report, Value, ValueSpec},
    },
    capture::{Matrix, PerHead, StackCapture},
    ids::{HeadId, StackKind},
    lab::{
        LabError, LabRun, Method, MethodPreset, Target,
        head_outputs::{add_up, by_head, head_parts},
        method::Parameters,
        options::{Scope, Visit},
        patterns::{by_stack, patterns},
    },
    model::{Logits, Projection, Site, Sites},
    spec::StackSpec,
};

const NO_OUTPUT: &str = "its attention is not mapped back to a residual stream, so there are no moved vectors to \
    measure";

/// The method.
const SPEC: MethodSpec = MethodSpec {
    name: "norms",
    title: "Norm-based attention",
    question: LabQuestion::Moves,
    about: "Attention times the norm of what it moves, and the mixing ratio (Kobayashi et al. 2020, 2021)",
    example: "--model demo:bert --text \"the cat sat\"",
    caveat: "Norms measure how long the moved vectors are, not whether the output uses them, and long vectors \
        can cancel each other.",
    formula: "f_h(x_j) = (x_j W_V + b_V) W_O^h\nnorm-based attention = ‖Σ_h α^h_ij f_h(x_j)‖\n\
        mixing ratio = ‖Σ_{j≠i} c_ij‖ / (‖Σ_{j≠i} c_ij‖ + ‖c_ii‖)",
    source: "Kobayashi et al. 2020, 2021",
    values: &[
        ValueSpec::new("attention_norm", NORM, FROM_TO),
        ValueSpec::new("together", NORM, FROM_TO),
        ValueSpec::new("mixing_ratio", "Mixing ratio by token", RATIO),
        ValueSpec::new("mixing_ratio_attention", "Mixing ratio by token, without the residual stream", RATIO),
    ],
    ..MethodSpec::EMPTY
};

const NORM: &str = "Norm of the moved vectors, ‖α·f(x)‖";
const FROM_TO: &str = "From the key (across) to the query (down)";
const RATIO: &str = "Share of the other tokens in the output of the layer: 0 only the token itself, 1 only others";

/// It has no options.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Norms;

impl Method for Norms {
    const SPEC: &'static MethodSpec = &SPEC;
    const COLUMNS: &'static [MethodPreset] = &[MethodPreset {
        name: "norms",
        title: "Norm-based attention",
        method: &SPEC,
        starts: true,
        ask: |_| Ok(Self.into()),
    }];

    fn begin() -> Self {
        Self
    }

    fn options(&mut self, _scope: &Scope<'_>, _visit: &mut Visit<'_>) {}

    fn parameters(&self) -> Parameters {
        Vec::new()
    }

    fn run(&self, lab: &LabRun<'_>, _target: Target) -> Result<Report, LabError> {
        norms(lab)
    }
}

/// Those of every layer.
fn norms(lab: &LabRun<'_>) -> Result<Report, LabError> {
    let plain = lab.plain()?;
    let recorded = lab.run(Sites::of(&[Site::Z, Site::ResidPre, Site::AttnOut, Site::ResidMid]), Logits::Skip)?;
    let stacks = &plain.model().stacks;
    let total = stacks.iter().map(|stack| stack.layers.len()).sum();
    let mut done = 0;
    let mut report = Report::new(&SPEC);
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
            lab.step(done, total)?;
            done += 1;
            let Some(output) = lab.model.attention_output(stack.kind, layer)? else {
                return Err(LabError::unsuited(NO_OUTPUT));
            };
            let values = values.layers[layer].v();
            let values = values.ok_or_else(|| LabError::unsuited("values were not recorded"))?;
            let moved = Moved::new(values, &by_head(&output, stack.n_heads(layer))?)?;
            of_heads.push(Value::heads(sides.0, sides.1, moved.by_head(pattern)?));
            of_all.push(Value::matrix(sides.0, sides.1, moved.together(pattern)?));
            if !stack.kind.is_cross() {
                alone.push(Value::tokens(sides.0, moved.mixing_ratios(pattern, None, None)?));
                ratios.extend(ratio(lab, &moved, pattern, (stack, layer), (streams, &output))?);
            }
        }
        let name = Cow::Borrowed(stack.kind.name());
        heads.push((name.clone(), Value::Layers(of_heads)));
        together.push((name.clone(), Value::Layers(of_all)));
        if stack.kind.is_cross() {
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
    lab: &LabRun<'_>,
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
    let Some(norm) = lab.model.norm_after_attention(stack.kind, layer)? else {
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
