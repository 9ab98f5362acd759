//! Attention rollout (Abnar and Zuidema 2020).

use std::borrow::Cow;

use serde_json::json;

use super::{MAP, SCORES};
use crate::{
    analysis::explain::{
        ExplainError,
        report::{LabQuestion, MethodSpec, Report, Scores, Value},
        rollout::{Fuse, RolloutOptions, rollout as rollouts},
    },
    capture::{Capture, Matrix},
    ids::StackKind,
    lab::{
        LabError, LabFocus, LabRun, Method, MethodPreset, MethodRefusal, Target,
        aim::predicted_side,
        method::Parameters,
        options::{Scope, Visit, choose, first_layer, real},
        patterns::{NO_CHAIN, NOTHING_TO_MULTIPLY, by_stack, check_chain, shares, square_stacks},
    },
    spec::{HeadKind, StackSpec},
};

/// The method.
const SPEC: MethodSpec = MethodSpec {
    name: "rollout",
    title: "Attention rollout",
    question: LabQuestion::Depends,
    about: "Attention of all layers multiplied together (Abnar and Zuidema 2020)",
    example: "--model demo:bert --text \"the cat sat\" --residual 0.5",
    caveat: "Rollout uses attention weights only: it ignores values, feed-forward layers and signs, and the \
        share of the residual stream is an assumption.",
    formula: "F_l = fuse over heads of A_l\nÂ_l = rownorm(w·I + (1-w)·F_l)\nR = Â_L · … · Â_2 · Â_1",
    source: "Abnar and Zuidema 2020",
    values: &[MAP, SCORES],
    scores: |_| Scores::unsigned("share"),
    ..MethodSpec::EMPTY
};

impl Method for RolloutOptions {
    const SPEC: &'static MethodSpec = &SPEC;
    const COLUMNS: &'static [MethodPreset] = &[MethodPreset {
        name: "rollout",
        title: "Rollout",
        method: &SPEC,
        starts: true,
        ask: |focus| needs_layers(focus).map(|()| Self::default().into()),
    }];

    fn begin() -> Self {
        Self::default()
    }

    fn options(&mut self, scope: &Scope<'_>, visit: &mut Visit<'_>) {
        let about = ("fuse", "Heads", "How the heads of a layer are combined into one matrix");
        choose(visit, about, &mut self.fuse, &Fuse::CHOICES);
        let meaning = "Assumed share of a layer's output that bypasses attention; 0.5 as published";
        visit(real("residual", "Residual stream", meaning, &mut self.residual, 0.0..=1.0));
        let meaning = "Share of each layer's weights set to 0, smallest first";
        visit(real("discard", "Discard", meaning, &mut self.discard, 0.0..=0.999));
        visit(first_layer(&mut self.start_layer, scope));
    }

    fn parameters(&self) -> Parameters {
        vec![
            ("fuse", json!(self.fuse.name())),
            ("discard", json!(self.discard)),
            ("residual", json!(self.residual)),
            ("start_layer", json!(self.start_layer)),
        ]
    }

    fn run(&self, lab: &LabRun<'_>, target: Target) -> Result<Report, LabError> {
        rollout(lab, *self, target)
    }
}

/// Refuses what has no layers that follow each other on the side that is predicted.
pub(super) fn needs_layers(focus: &LabFocus<'_>) -> Result<(), MethodRefusal> {
    if focus.capture.model().has_two_streams() {
        return Err(MethodRefusal::unsuited(NO_CHAIN));
    }
    let side = predicted_side(focus.capture);
    let own = |kind: StackKind| kind.query_side() == kind.key_side() && kind.query_side() == side;
    if focus.capture.model().stacks.iter().any(|stack| own(stack.kind)) {
        return Ok(());
    }
    Err(MethodRefusal::unsuited(NOTHING_TO_MULTIPLY))
}

fn rollout(lab: &LabRun<'_>, options: RolloutOptions, target: Target) -> Result<Report, LabError> {
    let capture = lab.plain()?;
    check_chain(capture)?;
    // Of a model without a prediction there is the map alone.
    let aim = target.aim(lab).ok();
    let mut found = Vec::new();
    let mut scores = Vec::new();
    for stack in square_stacks(capture) {
        let side = stack.kind.query_side();
        let last = rollouts(&shares(capture, stack)?, options)?.pop();
        let last = last.ok_or(ExplainError::Nothing("layers"))?;
        // What an encoder's token gathers says nothing yet about what a decoder reads of it.
        let compares = capture.model().head == Some(HeadKind::Similarity);
        if let Some(aim) = aim.as_ref().filter(|aim| side == aim.side || compares) {
            let reads = if side == aim.side { aim.reads } else { lab.model.tower_reads() };
            scores.push((Cow::Borrowed(side.name()), Value::tokens(side, reads.row_of(&last))));
        }
        found.push((Cow::Borrowed(stack.kind.name()), Value::matrix(side, side, last)));
    }
    if found.is_empty() {
        let stack = capture.model().stacks.last().filter(|_| options.residual == 0.0);
        let only = stack.map(|stack| last_layer(capture, stack, options)).transpose()?;
        let (stack, map) = stack.zip(only).ok_or_else(|| LabError::unsuited(NOTHING_TO_MULTIPLY))?;
        let (query, key) = (stack.kind.query_side(), stack.kind.key_side());
        if let Some(aim) = &aim {
            scores.push((Cow::Borrowed(key.name()), Value::tokens(key, aim.reads.row_of(&map))));
        }
        found.push((Cow::Borrowed(stack.kind.name()), Value::matrix(query, key, map)));
    }
    let mut report = Report::new(&SPEC);
    report.values = by_stack("matrix", found);
    if !scores.is_empty() {
        report.values.extend(by_stack("scores", scores));
    }
    Ok(report)
}

/// The heads of the last layer as one: all that is left of a rollout of one layer without the residual stream.
fn last_layer(capture: &Capture, stack: &StackSpec, options: RolloutOptions) -> Result<Matrix, LabError> {
    let mut layers = shares(capture, stack)?;
    if options.start_layer + 1 != layers.len() {
        return Err(LabError::unsuited(NOTHING_TO_MULTIPLY));
    }
    let layer = layers.pop().ok_or(ExplainError::Nothing("layers"))?;
    layer.mean().ok_or_else(|| LabError::unsuited("the last layer has no heads"))
}
