//! Words that heads write: the output of each head at one position, carried to the last layer by a Jacobian lens.

use super::{
    Aim, LabError, LabRun,
    head_outputs::{add_up, by_head, head_parts},
    stream::NO_STREAM,
};
use crate::{
    analysis::explain::{
        dense::wide,
        jacobian::{HeadJacobians, JacobianLens, carried_part},
        rank::descending,
        report::{ColumnValues, Report, TableColumn, Value},
    },
    capture::{Capture, LayerCapture, Matrix, head_name},
    ids::{HeadId, StackKind},
    model::{FinalNorm, HeadReads, Site},
    outputs::OutputKind,
};

/// A part of a layer's attention, carried to the last layer.
struct CarriedPart {
    name: String,
    vector: Vec<f64>,
}

/// The report with a table of the heads; a note where they cannot be told apart.
pub(super) fn lens_heads(
    lab: &LabRun<'_>,
    lens: &JacobianLens,
    (aim, capture): (&Aim, &Capture),
    n_top: usize,
    mut report: Report,
) -> Result<Report, LabError> {
    let HeadReads::At(position) = aim.reads else {
        report.notes.push("heads are not read one by one: the head reads the mean of all tokens".to_owned());
        return Ok(report);
    };
    let kind = aim.stack;
    let layers = capture.stack(kind).map_or(&[][..], |stack| &stack.layers);
    let (mut parts, mut undivided) = (Vec::new(), 0);
    for (layer, recorded) in layers.iter().enumerate() {
        lab.step(layer, layers.len())?;
        match parts_of(lab, lens, (kind, layer), recorded, position)? {
            Some(of_layer) => parts.extend(of_layer),
            None => undivided += 1,
        }
    }
    if undivided > 0 {
        report.notes.push(format!(
            "the heads of {undivided} layers are not read: their attention is normalised before it is added, was changed, or \
             has no matrix in the lens"
        ));
    }
    if matches!(lens.heads(), HeadJacobians::None) {
        report.notes.push(
            "the lens has no matrices of what attention adds: heads are read through the matrix of the stream behind their \
             layer, so that what its feed-forward network makes of them is left out"
                .to_owned(),
        );
    }
    if parts.is_empty() {
        return Ok(report);
    }
    Ok(report.with_value("jacobian_heads", table(lab, (aim, kind, position), layers, &parts, n_top)?))
}

/// The heads of a layer, the bias behind them where there is one, and all of its attention.
fn parts_of(
    lab: &LabRun<'_>,
    lens: &JacobianLens,
    (kind, layer): (StackKind, usize),
    recorded: &LayerCapture,
    position: usize,
) -> Result<Option<Vec<CarriedPart>>, LabError> {
    let missing = || LabError::unsuited(NO_STREAM);
    let (Some(z), Some(out)) = (recorded.z(), recorded.rows(Site::AttnOut).and_then(|rows| rows.row(position))) else {
        return Err(missing());
    };
    let Some(map) = lab.model.attention_output(kind, layer)? else { return Ok(None) };
    let bias = map.bias.as_deref().map(wide).unwrap_or_default();
    let n_heads = z.shape()[0];
    let own = head_parts(z, &by_head(&map, n_heads)?, position);
    if !add_up(own.iter().map(Vec::as_slice).chain([&bias[..]]), out) {
        return Ok(None);
    }
    let last = layer + 1 == lab.model.n_stream_layers()?;
    // Of what is added to the stream: a map of its own, else that of the stream behind the layer.
    let added: Option<Option<&Matrix>> = match lens.heads() {
        HeadJacobians::Added(of) => of.get(&layer).map(Some),
        HeadJacobians::None if last => Some(None),
        HeadJacobians::None => lens.stream(layer).map(Some),
        HeadJacobians::Z(_) => None,
    };
    let carry = |vector: &[f64], matrix: Option<&Matrix>| match matrix {
        Some(matrix) => carried_part(matrix, 0, vector),
        None => vector.to_vec(),
    };
    let head = |head: usize| head_name(HeadId { stack: kind, layer, head });
    let mut parts: Vec<CarriedPart> = Vec::new();
    match (added, lens.heads()) {
        (Some(matrix), _) => {
            let heads = own.iter().enumerate();
            parts.extend(heads.map(|(nth, vector)| CarriedPart { name: head(nth), vector: carry(vector, matrix) }));
            if !bias.is_empty() {
                parts.push(CarriedPart { name: format!("L{layer} attention bias"), vector: carry(&bias, matrix) });
            }
            parts.push(CarriedPart { name: format!("L{layer} attention"), vector: carry(&wide(out), matrix) });
        }
        (None, HeadJacobians::Z(of)) => {
            let (Some(matrix), width) = (of.get(&layer), z.shape()[2]) else { return Ok(None) };
            if matrix.n_cols() != n_heads * width {
                return Err(LabError::unsuited(format!(
                    "the lens has {} columns for layer {layer}, but its heads have {} numbers: choose the lens of this \
                     model",
                    matrix.n_cols(),
                    n_heads * width
                )));
            }
            let mut sum = vec![0.0; matrix.n_rows()];
            for nth in 0..n_heads {
                let z = z.head(nth).and_then(|z| z.row(position).map(wide)).ok_or_else(missing)?;
                let vector = carried_part(matrix, nth * width, &z);
                sum.iter_mut().zip(&vector).for_each(|(sum, value)| *sum += value);
                parts.push(CarriedPart { name: head(nth), vector });
            }
            parts.push(CarriedPart { name: format!("L{layer} attention"), vector: sum });
        }
        (None, _) => return Ok(None),
    }
    Ok(Some(parts))
}

/// Length, contribution to the explained logit and most probable words of each part.
fn table(
    lab: &LabRun<'_>,
    (aim, kind, position): (&Aim, StackKind, usize),
    layers: &[LayerCapture],
    parts: &[CarriedPart],
    n_top: usize,
) -> Result<Value, LabError> {
    let length = |part: &CarriedPart| part.vector.iter().map(|value| value * value).sum::<f64>().sqrt();
    let mut columns = vec![
        TableColumn::new("part", ColumnValues::Text(parts.iter().map(|part| part.name.clone()).collect())),
        TableColumn::new("length", ColumnValues::Number(parts.iter().map(length).collect())),
    ];
    let last = layers.last().and_then(|layer| layer.rows(Site::ResidPost)?.row(position));
    if let (Ok((direction, _)), Some(last)) = (lab.model.unembedding(aim.id), last) {
        let norm = lab.model.final_norm(kind)?;
        let along = parts.iter().map(|part| along(&part.vector, &direction, norm.as_ref(), last)).collect();
        columns.push(TableColumn::new("contribution", ColumnValues::Number(along)));
    }
    if matches!(aim.outputs, OutputKind::Tokens | OutputKind::Classes) {
        let (mut tokens, mut probabilities) = (Vec::new(), Vec::new());
        for part in parts {
            let row: Vec<f32> = part.vector.iter().map(|value| *value as f32).collect();
            let shape = [1, row.len()];
            let row = Matrix::new(row, shape).map_err(|_| LabError::unsuited(NO_STREAM))?;
            let logits = lab.model.unembed(kind, &row, false, 0)?;
            let p = aim.outputs.values(logits.row(0).unwrap_or(&[]));
            let top: Vec<usize> = descending(&p).into_iter().take(n_top).collect();
            tokens.push(top.iter().map(|id| lab.model.outcome_label(*id as u32)).collect());
            probabilities.push(top.iter().map(|id| p[*id]).collect());
        }
        columns.push(TableColumn::new("tokens", ColumnValues::Texts(tokens)));
        columns.push(TableColumn::new("probabilities", ColumnValues::Numbers(probabilities)));
    }
    Ok(Value::Table(columns))
}

/// Contribution of a vector to a logit, with the statistics of the final norm those of the stream that it is of.
fn along(vector: &[f64], direction: &[f32], norm: Option<&FinalNorm>, last: &[f32]) -> f64 {
    let n = vector.len().max(1) as f64;
    let Some(norm) = norm else {
        return vector.iter().zip(direction).map(|(value, along)| value * f64::from(*along)).sum();
    };
    let mean_of = |values: &mut dyn Iterator<Item = f64>| if norm.centred { values.sum::<f64>() / n } else { 0.0 };
    let mean = mean_of(&mut last.iter().map(|value| f64::from(*value)));
    let square = last.iter().map(|value| (f64::from(*value) - mean).powi(2)).sum::<f64>() / n;
    let scale = 1.0 / (square + f64::from(norm.eps)).sqrt();
    let own = mean_of(&mut vector.iter().copied());
    let terms = vector.iter().zip(direction).zip(&norm.weight);
    terms.map(|((value, along), weight)| (value - own) * scale * f64::from(*weight) * f64::from(*along)).sum()
}
