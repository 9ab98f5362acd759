//! Where is the fact? What each layer would say, what each component adds, which memories fire.

use std::borrow::Cow;

use super::{
    Aim, Bench, LabError, Target,
    aim::one_number,
    depends::by_stack,
    stream::{NO_STREAM, Place, Walk},
};
use crate::{
    analysis::explain::{
        attribution::{self, DirectLogits, direct_logits, read_lens},
        dense::{Dense, wide},
        memories::{n_active, norms, ranked},
        normalizers::softmax,
        rank::descending,
        report::{Axis, Cells, Column, Method, Report, Value},
    },
    capture::{Matrix, head_name},
    ids::{HeadId, StackKind},
    model::{HeadReads, Logits, Site, Sites},
};

/// About how many logits are held at once.
const LOGITS_AT_ONCE: usize = 4_000_000;

/// The rows of a stream that the head needs for what it says, and in which of them a head of the whole looks.
fn read_rows(bench: &Bench<'_>, aim: &Aim, stream: &Matrix) -> Option<(Matrix, usize)> {
    match aim.reads {
        HeadReads::At(position) if bench.model.reads_whole() => Some((stream.clone(), position)),
        HeadReads::At(position) => Some((stream.window(position..position + 1)?, 0)),
        HeadReads::MeanFrom(_) => Some((stream.clone(), 0)),
    }
}

/// The logit lens (nostalgebraist 2020): what the head reads from the stream that leaves each layer.
pub fn lens(bench: &Bench<'_>, n_top: usize, target: Target) -> Result<Report, LabError> {
    let aim = target.aim(bench)?;
    one_number(bench.plain()?)?;
    let stack = aim.side.stack();
    let capture = bench.run(Sites::of(&[Site::ResidPost]), Logits::Skip)?;
    let layers = capture.stack(stack).map_or(&[][..], |stack| &stack.layers);
    let streams: Vec<&Matrix> = layers.iter().filter_map(|layer| layer.rows(Site::ResidPost)).collect();
    let n_layers = streams.len();
    let Some(last) = streams.last().filter(|_| n_layers == layers.len()) else {
        return Err(LabError::unsuited(NO_STREAM));
    };
    let n_outcomes = bench.model.n_outcomes();
    // One statement, one position, or all.
    let only = bench.model.reads_whole() || target.position.is_some();
    let (positions, axis) = match (only, aim.reads) {
        (true, HeadReads::At(position)) => (vec![position], Axis::only(aim.side, vec![position])),
        (true, HeadReads::MeanFrom(first)) => (vec![first], Axis::only(aim.side, vec![first])),
        (false, _) => ((0..last.n_rows()).collect(), Axis::all(aim.side)),
    };
    let at_once = (LOGITS_AT_ONCE / n_outcomes.max(1)).max(1);
    let n = positions.len();
    let mut readings = vec![Vec::with_capacity(n); n_layers];
    let mut asked = Vec::with_capacity(n);
    for (part, rows) in positions.chunks(at_once).enumerate() {
        let logits_of = |stream: &Matrix| -> Result<Matrix, LabError> {
            let each = || Some((stream.window(rows[0]..rows[0] + rows.len())?, 0));
            let read = if only { read_rows(bench, &aim, stream) } else { each() };
            let (rows, place) = read.ok_or_else(|| LabError::unsuited(NO_STREAM))?;
            Ok(bench.model.unembed(stack, &rows, false, place)?)
        };
        let final_logits: Vec<Vec<f64>> = logits_of(last)?.rows().map(wide).collect();
        let most = |logits: &Vec<f64>| target.class.map_or_else(|| descending(logits)[0], |id| id as usize);
        let targets: Vec<usize> = final_logits.iter().map(most).collect();
        for (layer, stream) in streams.iter().enumerate() {
            bench.step(part * n_layers + layer, n.div_ceil(at_once) * n_layers)?;
            for ((logits, last), target) in logits_of(stream)?.rows().zip(&final_logits).zip(&targets) {
                readings[layer].push(read_lens(&wide(logits), last, *target, n_top)?);
            }
        }
        asked.extend(targets);
    }
    let label = |id: usize| bench.model.outcome_label(id as u32);
    let table = |layer: &Vec<attribution::LensReading>| {
        let tops = || layer.iter().map(|reading| &reading.top);
        Value::Table(vec![
            Column::new("position", Cells::Index(positions.clone())),
            Column::new(
                "tokens",
                Cells::Texts(tops().map(|top| top.iter().map(|(id, _)| label(*id)).collect()).collect()),
            ),
            Column::new(
                "probabilities",
                Cells::Numbers(tops().map(|top| top.iter().map(|(_, p)| *p).collect()).collect()),
            ),
        ])
    };
    let grid = |of: &dyn Fn(&attribution::LensReading) -> f64| -> Result<Value, LabError> {
        let values = Dense::from_fn(n, n_layers, |row, layer| of(&readings[layer][row])).to_matrix();
        Ok(Value::grid(axis.clone(), values))
    };
    let mut report = Report::new(Method::Lens);
    report.parameters = vec![
        (Cow::Borrowed("position"), target.position.map_or(serde_json::Value::Null, Into::into)),
        (Cow::Borrowed("class"), target.class.map_or(serde_json::Value::Null, Into::into)),
    ];
    report.values = vec![(Cow::Borrowed("layers"), Value::Layers(readings.iter().map(table).collect()))];
    if let HeadReads::MeanFrom(first) = aim.reads {
        report.notes.push(format!("the head reads the mean of all tokens from position {first} on"));
    }
    Ok(report
        .with_value(
            "target",
            Value::Table(vec![
                Column::new("position", Cells::Index(positions.clone())),
                Column::new("id", Cells::Index(asked.clone())),
                Column::new("token", Cells::Text(asked.into_iter().map(label).collect())),
            ]),
        )
        .with_value("probability", grid(&|reading| reading.p)?)
        .with_value("rank", grid(&|reading| reading.rank as f64)?)
        .with_value("divergence", grid(&|reading| reading.kl)?))
}

/// Direct logit attribution (Elhage et al. 2021): a logit as the sum of what every component adds to it.
pub fn direct(bench: &Bench<'_>, target: Target) -> Result<Report, LabError> {
    let aim = target.aim(bench)?;
    let own = aim.side.stack();
    let sum_of_parts = |what: &str| LabError::unsuited(format!("a logit of this model is not a sum of parts: {what}"));
    one_number(bench.plain()?)?;
    let HeadReads::At(position) = aim.reads else {
        return Err(sum_of_parts("its head reads the mean of all tokens, each normalised separately"));
    };
    if !bench.model.is_additive(own) {
        return Err(sum_of_parts(
            "its layers normalise the stream after each addition (as BERT does), or carry a state",
        ));
    }
    let (mut direction, mut bias) = bench.model.unembedding(aim.id)?;
    if let Some(against) = aim.against {
        let (other, other_bias) = bench.model.unembedding(against)?;
        direction.iter_mut().zip(other).for_each(|(value, other)| *value -= other);
        bias -= other_bias;
    }
    let mut walk = Walk::new(bench)?;
    let mut report = Report::new(Method::DirectLogits);
    report.parameters = aim.parameters(bench);
    let components = walk.parts(own, position, Place::Leaving)?;
    report.notes.extend(walk.notes());
    let capture = walk.capture();
    let last = capture.stack(own).and_then(|stack| stack.layers.last()?.rows(Site::ResidPost)?.row(position));
    let last = last.ok_or_else(|| LabError::unsuited(NO_STREAM))?;
    if direction.len() != last.len() {
        return Err(sum_of_parts("its head reads several positions side by side"));
    }
    let width = last.len();
    let matrix = Dense::from_fn(components.names.len(), width, |row, col| components.vectors[row][col]);
    let found = if let Some(norm) = bench.model.final_norm(own)? {
        let norm = attribution::FinalNorm {
            weight: &norm.weight,
            bias: norm.bias.as_deref(),
            epsilon: f64::from(norm.eps),
            centred: norm.centred,
        };
        direct_logits(&matrix, norm, &direction, f64::from(bias))?
    } else {
        let along = |row: &[f64]| row.iter().zip(&direction).map(|(a, b)| a * f64::from(*b)).sum::<f64>();
        let parts: Vec<f64> = matrix.rows().map(along).collect();
        DirectLogits { sum: parts.iter().sum::<f64>() + f64::from(bias), parts, constant: f64::from(bias) }
    };
    let logit = aim.value(&bench.logits(aim.row)?);
    let heads = |kind: StackKind| -> Option<Value> {
        let spec = capture.model().stack(kind)?;
        let (n_layers, n_heads) = (spec.layers.len(), |layer| spec.n_heads(layer));
        let of_layer = |layer: usize| {
            let name = |head: usize| head_name(HeadId { stack: kind, layer, head });
            let of_head = |head: usize| components.names.iter().position(|known| *known == name(head));
            Value::List((0..n_heads(layer)).map_while(of_head).map(|at| found.parts[at]).collect())
        };
        Some(Value::Layers((0..n_layers).map(of_layer).collect()))
    };
    let kinds = [own, StackKind::Cross].into_iter().filter(|kind| *kind == own || own == StackKind::Decoder);
    let heads = kinds.filter_map(|kind| Some((Cow::Borrowed(kind.name()), heads(kind)?))).collect();
    let table = Value::Table(vec![
        Column::new("component", Cells::Text(components.names.clone())),
        Column::new("contribution", Cells::Number(found.parts.clone())),
    ]);
    report.values = vec![(Cow::Borrowed("components"), table)];
    report.values.extend(by_stack("heads", heads));
    Ok(report.with_value("constant", found.constant).with_value("sum", found.sum).with_value("logit", logit))
}

/// Feed-forward layers as memories (Geva et al. 2021, 2022): which fire, and what their values promote.
pub fn memories(bench: &Bench<'_>, layer: Option<usize>, n_top: usize, target: Target) -> Result<Report, LabError> {
    let aim = target.aim(bench)?;
    one_number(bench.plain()?)?;
    let stack = aim.side.stack();
    let capture = bench.run(Sites::of(&[Site::MlpHidden]), Logits::Skip)?;
    let layers = capture.stack(stack).map_or(&[][..], |stack| &stack.layers);
    let n_layers = layers.len();
    let layer = layer.unwrap_or_else(|| n_layers.saturating_sub(1));
    if layer >= n_layers && n_layers > 0 {
        return Err(LabError::unsuited(format!("there is no layer {layer} among {n_layers}")));
    }
    let position = match (target.position, aim.reads) {
        (Some(position), _) if !bench.model.reads_whole() => position,
        (_, HeadReads::At(position) | HeadReads::MeanFrom(position)) => position,
    };
    let hidden = layers.get(layer).and_then(|layer| layer.rows(Site::MlpHidden)?.row(position));
    let (Some(hidden), Some(output)) = (hidden, bench.model.mlp_output(stack, layer)?) else {
        return Err(LabError::unsuited("it has no feed-forward layers, so there are no memories"));
    };
    let coefficients = wide(hidden);
    let lengths = norms(&Dense::from(&output.weight));
    let all = ranked(&coefficients, &lengths)?;
    let width = output.weight.n_cols();
    // The norm's weight is folded into what is read; its bias and the head's say nothing about the value.
    let gain = bench.model.final_norm(stack)?.map_or_else(|| vec![1.0; width], |norm| norm.weight);
    let shown = &all[..all.len().min(n_top)];
    let mut vectors = vec![0.0; width];
    for memory in shown {
        let value = output.weight.row(memory.index).unwrap_or(&[]);
        // A memory that takes away is shown by what it takes away.
        vectors.extend(value.iter().zip(&gain).map(|(value, gain)| value * gain));
    }
    let vectors = Matrix::new(vectors, [shown.len() + 1, width]).map_err(|_| LabError::unsuited(NO_STREAM))?;
    let mut report = Report::new(Method::Memories).with_parameter("position", position).with_parameter("layer", layer);
    let mut columns = vec![
        Column::new("index", Cells::Index(shown.iter().map(|memory| memory.index).collect())),
        Column::new("coefficient", Cells::Number(shown.iter().map(|memory| memory.coefficient).collect())),
        Column::new("contribution", Cells::Number(shown.iter().map(|memory| memory.contribution).collect())),
    ];
    if let (Ok(_), false) = (bench.model.unembedding(0), bench.model.reads_whole()) {
        let logits = bench.model.unembed(stack, &vectors, true, 0)?;
        let nothing = logits.row(0).map(wide).unwrap_or_default();
        let (mut tokens, mut probabilities) = (Vec::new(), Vec::new());
        for row in logits.rows().skip(1) {
            let p = softmax(&row.iter().zip(&nothing).map(|(a, b)| f64::from(*a) - b).collect::<Vec<f64>>());
            let top = descending(&p).into_iter().take(n_top);
            let (labels, values) = top.map(|id| (bench.model.outcome_label(id as u32), p[id])).unzip();
            tokens.push(labels);
            probabilities.push(values);
        }
        columns.push(Column::new("tokens", Cells::Texts(tokens)));
        columns.push(Column::new("probabilities", Cells::Numbers(probabilities)));
        let note = "the weight of the final norm is included in the values, its mean and scale are not";
        report.notes.push(note.to_owned());
    } else {
        let note = "more than one linear map lies between the stream and the outcomes, so no value promotes tokens \
            by itself";
        report.notes.push(note.to_owned());
    }
    Ok(report
        .with_value("memories", Value::Table(columns))
        .with_value("n_active", n_active(&coefficients, &lengths))
        .with_value("n_memories", coefficients.len()))
}
