//! Effective attention (Brunner et al. 2020).

use std::borrow::Cow;

use crate::{
    analysis::explain::{
        effective::effective as effective_of,
        report::{LabQuestion, MethodSpec, Report, Value, ValueSpec},
    },
    capture::PerHead,
    lab::{
        LabError, LabRun, Method, MethodPreset, Target,
        method::Parameters,
        options::{Scope, Visit},
        patterns::{by_stack, patterns},
    },
};

/// The method.
const SPEC: MethodSpec = MethodSpec {
    name: "effective",
    title: "Effective attention",
    question: LabQuestion::Moves,
    about: "Part of each head's weights that can change its output (Brunner et al. 2020)",
    example: "--model demo:bert --text \"the cat sat\"",
    caveat: "Effective attention is the weights without the part that cannot change this head's output; it can \
        be negative, and its rows need not sum to 1.",
    formula: "T = X W_V W_O^h = U S W^T\nA_eff = A · U U^T, with the columns of U whose s > 0",
    source: "Brunner et al. 2020",
    values: &[
        ValueSpec::new(
            "effective",
            "Effective attention",
            "The part of the weights that can change the head’s output; it can be negative",
        ),
        ValueSpec::new(
            "identifiable",
            "Weights are identifiable",
            "Yes: no other weights give the same output of the head",
        ),
    ],
    ..MethodSpec::EMPTY
};

/// It has no options.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effective;

impl Method for Effective {
    const SPEC: &'static MethodSpec = &SPEC;
    const COLUMNS: &'static [MethodPreset] = &[MethodPreset {
        name: "effective",
        title: "Effective attention",
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
        effective(lab)
    }
}

/// That of every head.
fn effective(lab: &LabRun<'_>) -> Result<Report, LabError> {
    let plain = lab.plain()?;
    let stacks = &plain.model().stacks;
    let total = stacks.iter().map(|stack| stack.layers.len()).sum();
    let mut done = 0;
    let mut report = Report::new(&SPEC);
    let (mut weights, mut told) = (Vec::new(), Vec::new());
    for stack in stacks {
        let Some(recorded) = plain.stack(stack.kind) else { continue };
        if stack.layers.iter().any(|layer| layer.window.is_some()) {
            let what = "some layers have a sliding window, for which effective attention is not implemented";
            return Err(LabError::unsuited(what));
        }
        let (mut layers, mut shares) = (Vec::new(), Vec::new());
        for (layer, pattern) in patterns(plain, stack)?.iter().enumerate() {
            lab.step(done, total)?;
            done += 1;
            let values = recorded.layers[layer].v();
            let values = values.ok_or_else(|| LabError::unsuited("values were not recorded"))?;
            let bare = without_bias(values, lab.model.value_bias(stack.kind, layer)?.as_deref())?;
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
pub(in crate::lab) fn without_bias(values: &PerHead, bias: Option<&[f32]>) -> Result<PerHead, LabError> {
    let Some(bias) = bias else { return Ok(values.clone()) };
    let [n_heads, n, d_head] = values.shape();
    let bare = values.as_slice().iter().enumerate().map(|(at, value)| {
        let head = at / (n * d_head).max(1);
        value - bias.get(head * d_head + at % d_head.max(1)).copied().unwrap_or(0.0)
    });
    let bare: Vec<f32> = bare.collect();
    PerHead::new(bare, [n_heads, n, d_head]).map_err(|_| LabError::unsuited("there are no values"))
}
