//! What does this output depend on?

use std::borrow::Cow;

use super::{Aim, Bench, LabError, LeaveOut, Rule, Target, propagation::propagated};
use crate::{
    analysis::{
        attention,
        explain::{
            ExplainError,
            dense::wide,
            divergence::tvd,
            flow as flows,
            normalizers::softmax,
            relevance::{DecoderLayer, RelevanceOptions, encoder_decoder, relevance as relevances, weighted},
            report::{Axis, Method, Report, Value},
            rollout::{RolloutOptions, rollout as rollouts},
        },
    },
    capture::{Capture, Matrix, PerHead},
    ids::{HeadId, Side, StackKind},
    model::{Edit, Encoded, Gradients, Logits, Site, Sites, Taps, Variant},
    spec::{HeadKind, StackSpec},
};

/// Every pattern of a stack, layer by layer.
pub(super) fn patterns(capture: &Capture, stack: &StackSpec) -> Result<Vec<PerHead>, LabError> {
    let missing = || LabError::unsuited("a pattern is missing: the input is too long to keep all of them");
    let layer = |(layer, spec): (usize, &crate::spec::LayerSpec)| -> Result<PerHead, LabError> {
        if let Some(kept) = capture.layer(HeadId { stack: stack.kind, layer, head: 0 }).and_then(|it| it.pattern()) {
            return Ok(kept.clone());
        }
        let mut values = Vec::new();
        let mut shape = [spec.n_heads, 0, 0];
        for head in 0..spec.n_heads {
            let head = attention::pattern(capture, HeadId { stack: stack.kind, layer, head }).ok_or_else(missing)?;
            (shape[1], shape[2]) = (head.n_rows(), head.n_cols());
            values.extend_from_slice(head.as_slice());
        }
        PerHead::new(values, shape).map_err(|_| missing())
    };
    stack.layers.iter().enumerate().map(layer).collect()
}

/// Stacks whose queries and keys are the same tokens, so that layers can be multiplied.
fn square_stacks(capture: &Capture) -> impl Iterator<Item = &StackSpec> {
    capture.model().stacks.iter().filter(|stack| stack.kind.query_side() == stack.kind.key_side())
}

const NOTHING_TO_MULTIPLY: &str =
    "its only attention goes from one sequence to another, so layers cannot be multiplied";

/// One value of a stack alone goes by its usual name, those of several by the names of their stacks.
pub(super) fn by_stack(
    name: &'static str,
    mut values: Vec<(Cow<'static, str>, Value)>,
) -> Vec<(Cow<'static, str>, Value)> {
    if values.len() == 1 {
        return values.pop().map(|(_, value)| (Cow::Borrowed(name), value)).into_iter().collect();
    }
    vec![(Cow::Borrowed(name), Value::Group(values))]
}

/// Attention rollout (Abnar and Zuidema 2020).
pub fn rollout(bench: &Bench<'_>, options: RolloutOptions, target: Target) -> Result<Report, LabError> {
    let capture = bench.plain()?;
    // Of a model without a prediction there is the map alone.
    let aim = target.aim(bench).ok();
    let mut found = Vec::new();
    let mut scores = Vec::new();
    for stack in square_stacks(capture) {
        let side = stack.kind.query_side();
        let last = rollouts(&patterns(capture, stack)?, options)?.pop();
        let last = last.ok_or(ExplainError::Nothing("layers"))?;
        // What an encoder's token gathers says nothing yet about what a decoder reads of it.
        let compares = capture.model().head == Some(HeadKind::Similarity);
        if let Some(aim) = aim.as_ref().filter(|aim| side == aim.side || compares) {
            let reads = if side == aim.side { aim.reads } else { bench.model.tower_reads() };
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
    let mut report = Report::new(Method::Rollout);
    report.values = by_stack("matrix", found);
    if !scores.is_empty() {
        report.values.extend(by_stack("scores", scores));
    }
    Ok(report)
}

/// The heads of the last layer as one: all that is left of a rollout of one layer without the residual stream.
fn last_layer(capture: &Capture, stack: &StackSpec, options: RolloutOptions) -> Result<Matrix, LabError> {
    let mut layers = patterns(capture, stack)?;
    if options.start_layer + 1 != layers.len() {
        return Err(LabError::unsuited(NOTHING_TO_MULTIPLY));
    }
    let layer = layers.pop().ok_or(ExplainError::Nothing("layers"))?;
    layer.mean().ok_or_else(|| LabError::unsuited("the last layer has no heads"))
}

/// Attention flow (Abnar and Zuidema 2020), of one query or of all.
pub fn flow(
    bench: &Bench<'_>,
    query: Option<usize>,
    options: RolloutOptions,
    target: Target,
) -> Result<Report, LabError> {
    let capture = bench.plain()?;
    let side = super::aim::predicted_side(capture);
    let stack = square_stacks(capture).find(|stack| stack.kind.query_side() == side);
    let stack = stack.ok_or_else(|| LabError::unsuited(NOTHING_TO_MULTIPLY))?;
    let n = capture.tokens(side).len();
    let query = query.or(target.position);
    let queries: Vec<usize> = query.map_or_else(|| (0..n).collect(), |query| vec![query]);
    let go_on = |done: usize, total: usize| bench.step(done, total).is_ok();
    let found = flows::flow(&patterns(capture, stack)?, &queries, options, &go_on)?;
    let rows = if query.is_some() { Axis::only(side, queries) } else { Axis::all(side) };
    let mut report = Report::new(Method::Flow).with_value("raw", Value::matrix(rows.clone(), side, found.raw));
    // Of a model without a prediction there is the map alone.
    if let (None, Ok(aim)) = (query, target.aim(bench)) {
        report = report.with_value("scores", Value::tokens(side, aim.reads.row_of(&found.normalised)));
    }
    Ok(report.with_value("matrix", Value::matrix(rows, side, found.normalised)))
}

/// Gradients of every pattern, in the run that is explained.
pub(super) fn pattern_gradients(bench: &Bench<'_>, aim: &Aim) -> Result<Gradients, LabError> {
    let plan = bench.plan(Sites::NONE, Logits::Skip);
    let taps = Taps::of(&[Site::Pattern]);
    Ok(bench.model.gradients(bench.input, &plan, aim.objective(), taps, bench.control)?.1)
}

pub(super) fn of_stack(gradients: &Gradients, kind: StackKind) -> Vec<PerHead> {
    let stack = gradients.stacks.iter().find(|stack| stack.kind == kind);
    stack.map_or_else(Vec::new, |stack| stack.layers.iter().filter_map(|layer| layer.pattern().cloned()).collect())
}

/// Gradient × attention (Chefer et al. 2021), of self-attention, encoder–decoders and two towers.
pub fn relevance(bench: &Bench<'_>, rule: Rule, start_layer: usize, target: Target) -> Result<Report, LabError> {
    let aim = target.aim(bench)?;
    let capture = bench.plain()?;
    // What cannot be propagated is refused before anything is differentiated.
    let shares = if rule == Rule::Lrp { Some(propagated(bench, &aim)?) } else { None };
    let gradients = pattern_gradients(bench, &aim)?;
    let spec = capture.model();
    let mut report = Report::new(Method::Relevance);
    report.parameters = aim.parameters(bench);
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
        let reads = if side == aim.side { aim.reads } else { bench.model.tower_reads() };
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

/// What changes when each token is left out in turn.
pub fn leave_one_out(bench: &Bench<'_>, by: LeaveOut, target: Target) -> Result<Report, LabError> {
    let aim = target.aim(bench)?;
    let capture = bench.plain()?;
    let mut report = Report::new(Method::LeaveOneOut);
    report.parameters = aim.parameters(bench);
    let sides: Vec<Side> =
        bench.input.tokens.iter().filter(|(_, tokens)| !tokens.is_empty()).map(|(side, _)| *side).collect();
    let read: Vec<Side> = sides.into_iter().filter(|side| by != LeaveOut::Hide || is_read(capture, *side)).collect();
    let mut places = Vec::new();
    let mut changed = Vec::new();
    for side in read {
        for position in 0..capture.tokens(side).len() {
            if let Some(change) = without(bench, &aim, by, side, position) {
                places.push((side, position));
                changed.push(change);
            }
        }
    }
    if places.is_empty() {
        return Err(LabError::unsuited(match by {
            LeaveOut::Mask => "the model has no mask token, or no text: hide tokens instead",
            LeaveOut::Delete if !bench.edits.is_empty() => {
                "the changes of this run name positions, which move when a token is deleted: hide tokens instead"
            }
            LeaveOut::Delete => "no token can be deleted: hide tokens instead",
            LeaveOut::Hide => "no attention reads the input, so nothing can be hidden from it",
        }));
    }
    let variants: Vec<Variant<'_>> =
        changed.iter().map(|(input, edits, row)| Variant::of(input, edits, *row)).collect();
    let plain = bench.logits(aim.row)?;
    let (before, logit_before) = (softmax(&wide(&plain)), aim.value(&plain));
    let mut found: Vec<(f32, f32)> = Vec::with_capacity(places.len());
    bench.model.logits_of(&variants, bench.control, &mut |_, logits| {
        found.push((tvd(&before, &softmax(&wide(logits))) as f32, (logit_before - aim.value(logits)) as f32));
        if found.len().is_multiple_of(16) {
            (bench.partial)(&told(report.clone(), capture, &places, &found));
        }
    })?;
    if by == LeaveOut::Delete {
        report.notes.push("tokens after a deleted one move up by one position".to_owned());
    }
    Ok(told(report, capture, &places, &found))
}

/// Effects by side, on all tokens; those that could not be left out are NaN.
fn told(report: Report, capture: &Capture, places: &[(Side, usize)], found: &[(f32, f32)]) -> Report {
    let mut sides: Vec<Side> = places.iter().map(|(side, _)| *side).collect();
    sides.dedup();
    let of = |pick: &dyn Fn(&(f32, f32)) -> f32| {
        let side = |side: &Side| {
            let mut values = vec![f32::NAN; capture.tokens(*side).len()];
            for ((_, position), found) in places.iter().zip(found).filter(|((of, _), _)| of == side) {
                values[*position] = pick(found);
            }
            (Cow::Borrowed(side.name()), Value::tokens(*side, values))
        };
        sides.iter().map(side).collect::<Vec<_>>()
    };
    let mut report = report;
    report.values = by_stack("effect", of(&|found| found.0));
    report.values.extend(by_stack("logit", of(&|found| found.1)));
    // A single outcome has all the probability whatever happens.
    if capture.model().head == Some(HeadKind::Similarity) {
        report.values.remove(0);
    }
    report
}

/// Whether some attention has these tokens as keys.
fn is_read(capture: &Capture, side: Side) -> bool {
    capture.model().stacks.iter().any(|stack| stack.kind.key_side() == side)
}

type Change<'a> = (Cow<'a, Encoded>, Vec<Edit>, usize);

/// The input without one token; `None` where it cannot be left out in this way.
fn without<'a>(bench: &Bench<'a>, aim: &Aim, by: LeaveOut, side: Side, position: usize) -> Option<Change<'a>> {
    let edits = match by {
        LeaveOut::Hide => bench.with(Edit::HideToken { side, position }),
        LeaveOut::Mask => {
            bench.model.mask_id()?;
            bench.input.tokens.get(&side)?.get(position)?.id?;
            bench.with(Edit::MaskToken { side, position })
        }
        LeaveOut::Delete => {
            // What is read there cannot be asked about once it is gone.
            let is_read = side == aim.side && aim.row == position && !bench.model.reads_whole();
            let input = bench.input.without(side, position).filter(|_| !is_read && bench.edits.is_empty())?;
            let row = if side == aim.side && position < aim.row { aim.row - 1 } else { aim.row };
            return Some((Cow::Owned(input), bench.edits.to_vec(), row));
        }
    };
    Some((Cow::Borrowed(bench.input), edits, aim.row))
}
