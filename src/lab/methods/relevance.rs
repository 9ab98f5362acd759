//! Attention weighted by its gradient, summed up over layers (Chefer et al. 2021).

use std::borrow::Cow;

use serde_json::json;

use super::SCORES;
use crate::{
    analysis::explain::{
        ExplainError,
        relevance::{DecoderLayer, RelevanceOptions, encoder_decoder, relevance as relevances, weighted},
        report::{LabQuestion, MethodSpec, Report, Scores, Value, ValueSpec},
    },
    capture::{Capture, Matrix},
    ids::{Side, StackKind},
    lab::{
        LabError, LabRun, Method, MethodPreset, Target,
        method::Parameters,
        options::{Scope, Visit, choose, first_layer},
        patterns::{NOTHING_TO_MULTIPLY, by_stack, check_chain, of_stack, pattern_gradients, patterns, square_stacks},
        propagation::propagated,
    },
    model::Gradients,
};

/// The method.
const SPEC: MethodSpec = MethodSpec {
    name: "relevance",
    title: "Gradient-weighted relevance",
    question: LabQuestion::Depends,
    about: "Attention weighted by its gradient, accumulated over layers (Chefer et al. 2021)",
    example: "--model demo:vit --image cat.png --class 3",
    caveat: "Relevance keeps only what raises the target: evidence against it is cut off in every layer, and \
        gradients describe the output only near this input.",
    formula: "Ā_l = mean over heads of relu(∂y/∂A_l ⊙ A_l)\nR = I; for each layer: R ← R + Ā_l · R\n\
        across stacks: R_qs ← R_qs + N(R_qq)^T · Ā · N(R_ss), N(R) = rownorm(R - I) + I",
    source: "Chefer et al. 2021a, 2021b",
    values: &[
        SCORES,
        ValueSpec::new("gained", "Gained", ""),
        ValueSpec::new("prefix", "Prefix", ""),
        ValueSpec::new("self", "From every token (across) to every other (down)", ""),
        ValueSpec::new("encoder", "Encoder", ""),
        ValueSpec::new("decoder", "Decoder", ""),
        ValueSpec::new("cross", "Cross", ""),
    ],
    scores: |_| Scores::unsigned("relevance"),
    ..MethodSpec::EMPTY
};

/// What is propagated, and from where.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RelevanceQuestion {
    pub rule: Rule,
    /// Layers before this one are left out.
    pub start_layer: usize,
}

/// What gradients of attention are weighted with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Rule {
    /// The attention itself (Chefer et al. 2021, second paper).
    #[default]
    Gradient,
    /// The attention's share of the output by layer-wise propagation (Chefer et al. 2021, first paper).
    Lrp,
}

vocabulary! {
    Rule: name, title;
    Gradient("gradient", "The attention"),
    Lrp("lrp", "Its share by propagation"),
}

impl Method for RelevanceQuestion {
    const SPEC: &'static MethodSpec = &SPEC;
    const COLUMNS: &'static [MethodPreset] = &[MethodPreset {
        name: "relevance",
        title: "Relevance",
        method: &SPEC,
        starts: true,
        ask: |_| Ok(Self { rule: Rule::Gradient, start_layer: 0 }.into()),
    }];

    fn begin() -> Self {
        Self::default()
    }

    fn options(&mut self, scope: &Scope<'_>, visit: &mut Visit<'_>) {
        choose(visit, ("rule", "Gradients times", "What gradients are multiplied by"), &mut self.rule, &Rule::CHOICES);
        visit(first_layer(&mut self.start_layer, scope));
    }

    fn parameters(&self) -> Parameters {
        vec![("rule", json!(self.rule.name())), ("start_layer", json!(self.start_layer))]
    }

    fn run(&self, lab: &LabRun<'_>, target: Target) -> Result<Report, LabError> {
        relevance(lab, *self, target)
    }
}

/// Gradient × attention (Chefer et al. 2021), of self-attention, encoder–decoders and two towers.
fn relevance(
    lab: &LabRun<'_>,
    RelevanceQuestion { rule, start_layer }: RelevanceQuestion,
    target: Target,
) -> Result<Report, LabError> {
    let aim = target.aim(lab)?;
    let capture = lab.plain()?;
    check_chain(capture)?;
    // What cannot be propagated is refused before anything is differentiated.
    let shares = if rule == Rule::Lrp { Some(propagated(lab, &aim)?) } else { None };
    let gradients = pattern_gradients(lab, &aim)?;
    let spec = capture.model();
    let mut report = Report::new(&SPEC);
    report.parameters = aim.parameters(lab);
    let layers = |kind| -> Result<_, LabError> {
        match spec.stack(kind) {
            Some(stack) => Ok(Some((patterns(capture, stack)?, of_stack(&gradients, kind)))),
            None => Ok(None),
        }
    };
    if let (Some((encoder, encoder_grads)), Some((own, own_grads)), Some((cross, cross_grads))) =
        (layers(StackKind::Encoder)?, layers(StackKind::Decoder)?, layers(StackKind::Cross)?)
    {
        if start_layer > 0 {
            return Err(LabError::unsuited(
                "an encoder–decoder is explained from its first layer: leave out the start layer",
            ));
        }
        let encoder: Vec<_> = encoder.iter().zip(&encoder_grads).map(|(a, g)| [a, g]).collect();
        let decoder: Vec<_> = own
            .iter()
            .zip(&own_grads)
            .zip(cross.iter().zip(&cross_grads))
            .map(|((own, own_grad), (cross, cross_grad))| DecoderLayer {
                own: [own, own_grad],
                cross: [cross, cross_grad],
            })
            .collect();
        let found = encoder_decoder(&encoder, &decoder)?;
        let (source, decoder) = (aim.reads.row_of(&found.cross), aim.reads.row_of(&found.decoder));
        return Ok(report
            .with_value("scores", Value::tokens(Side::Encoder, source))
            .with_value("prefix", Value::tokens(Side::Decoder, decoder))
            .with_value("encoder", Value::matrix(Side::Encoder, Side::Encoder, found.encoder))
            .with_value("decoder", Value::matrix(Side::Decoder, Side::Decoder, found.decoder))
            .with_value("cross", Value::matrix(Side::Decoder, Side::Encoder, found.cross)));
    }
    let options = RelevanceOptions { start_layer, ..RelevanceOptions::default() };
    let mut maps = Vec::new();
    let (mut scores, mut gained) = (Vec::new(), Vec::new());
    for stack in square_stacks(capture) {
        let side = stack.kind.query_side();
        let weighed = if let Some(shares) = &shares { shares.clone() } else { patterns(capture, stack)? };
        let map = relevances(&weighed, &of_stack(&gradients, stack.kind), options)?;
        // Each token begins with a relevance of 1 for itself, which says nothing.
        let mut beyond = map.as_slice().to_vec();
        beyond.iter_mut().step_by(map.n_cols() + 1).for_each(|own| *own -= 1.0);
        let beyond = Matrix::new(beyond, map.shape()).map_err(|_| LabError::unsuited("a map has no rows"))?;
        let reads = if side == aim.side { aim.reads } else { lab.model.tower_reads() };
        let beyond = reads.row_of(&beyond);
        if beyond.iter().all(|value| *value == 0.0) {
            report.notes.push(format!("no {} token has relevance: no gradient reaches the attention", side.name()));
        }
        gained.push((Cow::Borrowed(side.name()), Value::tokens(side, beyond)));
        scores.push((Cow::Borrowed(side.name()), Value::tokens(side, reads.row_of(&map))));
        maps.push((Cow::Borrowed(stack.kind.name()), Value::matrix(side, side, map)));
    }
    if maps.is_empty() {
        return only_cross(report, capture, &gradients, start_layer);
    }
    report.values = by_stack("scores", scores);
    report.values.extend(by_stack("gained", gained));
    report.values.extend(by_stack("self", maps));
    Ok(report)
}

/// Relevance where one layer of attention from one sequence to another is all there is: nothing is multiplied, so each
/// row is `Ā`. A recurrent writer carries what earlier rows attended to in its state, so they count for a later output
/// as much as its gradient says, and are added to its own.
fn only_cross(
    mut report: Report,
    capture: &Capture,
    gradients: &Gradients,
    start_layer: usize,
) -> Result<Report, LabError> {
    let stack = capture.model().stacks.first().filter(|stack| stack.layers.len() == 1 && start_layer == 0);
    let stack = stack.ok_or_else(|| LabError::unsuited(NOTHING_TO_MULTIPLY))?;
    let found = patterns(capture, stack)?.pop().zip(of_stack(gradients, stack.kind).pop());
    let (pattern, gradient) = found.ok_or(ExplainError::Nothing("layers"))?;
    let map = weighted(&pattern, &gradient)?;
    let mut sums = vec![0.0; map.n_cols()];
    for row in map.rows() {
        sums.iter_mut().zip(row).for_each(|(sum, value)| *sum += *value as f32);
    }
    let (query, key) = (stack.kind.query_side(), stack.kind.key_side());
    if map.n_rows() > 1 {
        report.notes.push("a token's score is the sum of its column: earlier steps act through the state".to_owned());
    }
    if sums.iter().all(|value| *value == 0.0) {
        report.notes.push(format!("no {} token has relevance: no gradient reaches the attention", key.name()));
    }
    Ok(report
        .with_value("scores", Value::tokens(key, sums))
        .with_value("cross", Value::matrix(query, key, map.to_matrix())))
}
