//! Direct logit attribution (Elhage et al. 2021): a logit as the sum of what every component adds to it.

use std::borrow::Cow;

use crate::{
    analysis::explain::{
        attribution::{FinalNorm, LogitParts, direct_logits},
        dense::Dense,
        report::{ColumnValues, Form, LabQuestion, MethodSpec, Report, Sorted, TableColumn, Value, ValueSpec},
    },
    capture::head_name,
    ids::{HeadId, StackKind},
    lab::{
        LabError, LabRun, Method, MethodPreset, Target,
        aim::one_number,
        method::Parameters,
        options::{Scope, Visit},
        patterns::by_stack,
        stream::{LastHeads, NO_STREAM, StreamPoint, Walk},
    },
    model::{HeadReads, Site},
};

/// The method.
const SPEC: MethodSpec = MethodSpec {
    name: "dla",
    title: "Direct logit attribution",
    question: LabQuestion::Fact,
    about: "A logit as the sum of what embedding, heads and MLPs add to it (Elhage et al. 2021)",
    example: "--model demo:gpt --text \"Once upon a\"",
    caveat: "Only the direct path to the logits counts, with the final norm held fixed: the effect of a \
        component through later layers is counted there.",
    formula: "s = √(var(x_L) + ε), held fixed\nattribution of c = ((c - mean c) / s ⊙ γ) · (W_U[t] - W_U[t'])",
    source: "Elhage et al. 2021",
    values: &[
        ValueSpec::new("components", "Contribution of each component (logits)", "Largest first; they sum to the logit")
            .sorted(&[("contribution", Sorted::BySize)])
            // Parts of a logit are compared with each other: as many decimals in each.
            .form(Form::Decimal),
        ValueSpec::new(
            "heads",
            "Contribution of each head (logits)",
            "Direct contribution to the output, not through later layers",
        ),
        ValueSpec::new("constant", "Contribution of the output biases (logits)", "").form(Form::Decimal),
        ValueSpec::new("sum", "Sum of all (logits)", "").form(Form::Decimal),
        ValueSpec::new("logit", "Logit of the model", "The sum must equal it").form(Form::Decimal),
    ],
    ..MethodSpec::EMPTY
};

/// It has no options.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DirectLogits;

impl Method for DirectLogits {
    const SPEC: &'static MethodSpec = &SPEC;
    const COLUMNS: &'static [MethodPreset] = &[MethodPreset {
        name: "dla",
        title: "Direct logit attribution",
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

    fn run(&self, lab: &LabRun<'_>, target: Target) -> Result<Report, LabError> {
        direct(lab, target, None).map(|(report, _)| report)
    }
}

/// What one head adds to the logit that is explained.
#[derive(Clone, Debug, PartialEq)]
pub struct HeadShare {
    /// All of it.
    pub whole: f64,
    /// From each token that it reads from, `[key]`; they sum to all of it.
    pub by_token: Vec<f64>,
}

/// A logit by where it comes from, and what of it `asked` brings from each token.
///
/// # Errors
/// When a logit of the model is no sum of parts, or the part of that head is none of them.
pub fn direct(
    lab: &LabRun<'_>,
    target: Target,
    asked: Option<HeadId>,
) -> Result<(Report, Option<HeadShare>), LabError> {
    let aim = target.aim(lab)?;
    let own = aim.stack;
    let sum_of_parts = |what: &str| LabError::unsuited(format!("a logit of this model is not a sum of parts: {what}"));
    one_number(lab.plain()?)?;
    let HeadReads::At(position) = aim.reads else {
        return Err(sum_of_parts("its head reads the mean of all tokens, each normalised separately"));
    };
    if !lab.model.is_additive(own) {
        return Err(sum_of_parts(
            "its layers normalise the stream after each addition (as BERT does), scale it, add inputs of \
             their own, or carry a state",
        ));
    }
    let (mut direction, mut bias) = lab.model.unembedding(aim.id)?;
    if let Some(against) = aim.against {
        let (other, other_bias) = lab.model.unembedding(against)?;
        direction.iter_mut().zip(other).for_each(|(value, other)| *value -= other);
        bias -= other_bias;
    }
    let mut walk = Walk::new(lab, if asked.is_some() { LastHeads::ByToken } else { LastHeads::Whole })?;
    walk.heads = LastHeads::Whole;
    let mut report = Report::new(&SPEC);
    report.parameters = aim.parameters(lab);
    let components = walk.parts(own, position, StreamPoint::Leaving)?;
    report.notes.extend(walk.notes());
    let capture = walk.capture();
    let last = capture.stack(own).and_then(|stack| stack.layers.last()?.rows(Site::ResidPost)?.row(position));
    let last = last.ok_or_else(|| LabError::unsuited(NO_STREAM))?;
    if direction.len() != last.len() {
        return Err(sum_of_parts("its head reads several positions side by side"));
    }
    let width = last.len();
    let norm = lab.model.final_norm(own)?;
    let parts_of = |rows: &[&[f64]]| -> Result<LogitParts, LabError> {
        let matrix = Dense::from_fn(rows.len(), width, |row, col| rows[row][col]);
        if let Some(norm) = &norm {
            let norm = FinalNorm {
                weight: &norm.weight,
                bias: norm.bias.as_deref(),
                epsilon: f64::from(norm.eps),
                centred: norm.centred,
            };
            return Ok(direct_logits(&matrix, norm, &direction, f64::from(bias))?);
        }
        let along = |row: &[f64]| row.iter().zip(&direction).map(|(a, b)| a * f64::from(*b)).sum::<f64>();
        let parts: Vec<f64> = matrix.rows().map(along).collect();
        Ok(LogitParts { sum: parts.iter().sum::<f64>() + f64::from(bias), parts, constant: f64::from(bias) })
    };
    let rows: Vec<&[f64]> = components.vectors.iter().map(Vec::as_slice).collect();
    let found = parts_of(&rows)?;
    let share = match asked {
        None => None,
        Some(head) => {
            let missing = || sum_of_parts(&format!("{} is no part of the stream that it reads", head_name(head)));
            let at = components.names.iter().position(|name| *name == head_name(head)).ok_or_else(missing)?;
            let (read, brought) = walk.brought_by(head, position, rows[at]).ok_or_else(missing)?;
            // The same stream, with the head's part in its place by token.
            let others = rows.iter().enumerate().filter(|(nth, _)| *nth != at).map(|(_, row)| *row);
            let split: Vec<&[f64]> = brought.rows().chain(others).collect();
            let parts = parts_of(&split)?.parts;
            let mut by_token = vec![0.0; walk.capture().key_tokens(head.stack).len()];
            read.iter().zip(&parts).for_each(|(key, part)| by_token[*key] = *part);
            Some(HeadShare { whole: found.parts[at], by_token })
        }
    };
    let logit = aim.value(&lab.logits(aim.row)?);
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
    let kinds = [Some(own), own.cross()].into_iter().flatten();
    let heads = kinds.filter_map(|kind| Some((Cow::Borrowed(kind.name()), heads(kind)?))).collect();
    let table = Value::Table(vec![
        TableColumn::new("component", ColumnValues::Text(components.names.clone())),
        TableColumn::new("contribution", ColumnValues::Number(found.parts.clone())),
    ]);
    report.values = vec![(Cow::Borrowed("components"), table)];
    report.values.extend(by_stack("heads", heads));
    let report = report.with_value("constant", found.constant).with_value("sum", found.sum).with_value("logit", logit);
    Ok((report, share))
}
