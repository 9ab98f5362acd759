//! Attribution patching (Nanda 2023; Kramár et al. 2024): what the output of every head at every position does for an
//! answer, from one backward pass, and what exact patching says of the largest.
//!
//! The run that is explained is the clean one. A second text is the corrupted one; where an activation of the clean run
//! takes the place of its own, the answer changes by `(clean − corrupted) · ∂y/∂corrupted` to first order.

use std::borrow::Cow;

use serde_json::json;

use crate::{
    analysis::explain::{
        rank::{descending, spearman},
        report::{Axis, ColumnValues, Form, LabQuestion, MethodSpec, Report, TableColumn, Value, ValueSpec},
    },
    capture::{Matrix, Patch, PerHead, head_name, words},
    ids::{HeadId, StackKind},
    lab::{
        Aim, LabError, LabRun, Method, MethodPreset, MethodRefusal, Target,
        aim::one_number,
        method::Parameters,
        options::{FieldValue, OptionField, Scope, Visit, whole},
        patterns::by_stack,
    },
    model::{Edit, Encoded, Logits, Site, Sites, Taps, Variant},
    text::counted,
};

/// The method.
const SPEC: MethodSpec = MethodSpec {
    name: "attribution-patching",
    title: "Attribution patching",
    question: LabQuestion::Fact,
    about: "Effect of every head and position on an answer, from one backward pass between two texts",
    example: "--model demo:gpt --text \"The little dog ran to the\" --other \"The little cat ran to the\"",
    caveat: "The effect is a first-order estimate: where the two texts lead to distant activations, or a softmax or \
        norm is saturated, it can have the wrong size or sign, so the exact effect stands beside the largest.",
    formula: "y = logit, or difference of two logits\nestimate of (head, position) = (z_clean - z_corr) · ∂y/∂z_corr\n\
        exact = y(corrupted run with z_clean there) - y(corrupted run)",
    source: "Nanda 2023; Kramár et al. 2024",
    values: &[
        ValueSpec::new(
            "effect",
            "Estimated effect of each head (logits)",
            "Change of the answer’s score in the other text if the head has its output of this one, at all positions",
        ),
        ValueSpec::new(
            "by_position",
            "Estimated effect by position (logits)",
            "Change of the answer’s score in the other text if the head has its output of this one, at one position",
        ),
        ValueSpec::new(
            "largest",
            "Largest effects, estimated and exact (logits)",
            "Exact: the other text was run again with this output of the head",
        ),
        ValueSpec::new("clean", "Score of the answer", "In the text that is explained").form(Form::Decimal),
        ValueSpec::new("corrupted", "… in the other text", "Nothing patched").form(Form::Decimal),
        ValueSpec::new(
            "rank_correlation",
            "Agreement of estimated and exact (Spearman’s ρ)",
            "Over the effects that were computed exactly: 1 is the same order",
        )
        .form(Form::Decimal),
        ValueSpec::new(
            "largest_error",
            "Largest error of an estimate (logits)",
            "Over the effects that were computed exactly",
        )
        .form(Form::Decimal),
    ],
    ..MethodSpec::EMPTY
};

/// Why there is no other text for a picture.
const ONE_TEXT: &str = "another text needs a model that reads texts alone";

/// The corrupted text, and how much is computed exactly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatchingOptions {
    /// The text that is patched into, read as the one that is explained; as many tokens.
    pub other: Option<String>,
    /// Number of effects that are computed exactly, the largest estimates first.
    pub n_exact: usize,
}

impl Method for PatchingOptions {
    const SPEC: &'static MethodSpec = &SPEC;
    const COLUMNS: &'static [MethodPreset] = &[MethodPreset {
        name: "attribution-patching",
        title: "Attribution patching",
        method: &SPEC,
        starts: false,
        ask: |focus| {
            if focus.capture.image().is_some() {
                return Err(MethodRefusal::unsuited(ONE_TEXT));
            }
            Ok(Self::begin().into())
        },
    }];

    fn begin() -> Self {
        Self { other: None, n_exact: 10 }
    }

    fn options(&mut self, _scope: &Scope<'_>, visit: &mut Visit<'_>) {
        let meaning = "Text to patch into: the same with something exchanged, with as many tokens";
        let other = FieldValue::Words(&mut self.other, "the same text with another word");
        visit(OptionField::new("other", "Other text", meaning, other).required());
        let meaning = "Number of the largest effects that are also computed exactly, each in a run of its own";
        visit(whole("exact", "Exact", meaning, &mut self.n_exact, 0..=10_000));
    }

    fn parameters(&self) -> Parameters {
        vec![("other", json!(self.other)), ("exact", json!(self.n_exact))]
    }

    fn run(&self, lab: &LabRun<'_>, target: Target) -> Result<Report, LabError> {
        patching(lab, self, target)
    }
}

/// What a head writes from, in both runs, and the slope of the answer there.
struct Outputs {
    stack: StackKind,
    layer: usize,
    clean: PerHead,
    /// `[heads, positions]`.
    estimates: Matrix,
}

impl Outputs {
    /// `(clean − corrupted) · slope`, summed over the width of a head.
    fn new(at: (StackKind, usize), clean: &PerHead, corrupted: &PerHead, slope: &PerHead) -> Result<Self, LabError> {
        let [n_heads, n, width] = clean.shape();
        if corrupted.shape() != clean.shape() || slope.shape() != clean.shape() {
            return Err(LabError::unsuited("the two texts have outputs of different sizes"));
        }
        let values = clean.as_slice().iter().zip(corrupted.as_slice()).zip(slope.as_slice());
        let products: Vec<f64> = values.map(|((a, b), g)| (f64::from(*a) - f64::from(*b)) * f64::from(*g)).collect();
        let sums =
            products.chunks_exact(width.max(1)).map(|chunk| chunk.iter().sum::<f64>() as f32).collect::<Vec<_>>();
        let estimates = Matrix::new(sums, [n_heads, n]).map_err(|_| LabError::unsuited("a layer has no heads"))?;
        Ok(Self { stack: at.0, layer: at.1, clean: clean.clone(), estimates })
    }

    /// The head's output of the clean run at a position, as a change of another run.
    fn patch(&self, head: usize, position: usize) -> Option<Edit> {
        let value = self.clean.head(head)?.window(position..position + 1)?;
        let (stack, layer) = (self.stack, self.layer);
        Some(Edit::Patch(Patch { site: Site::Z, stack, layer, head: Some(head), positions: vec![position], value }))
    }
}

fn patching(lab: &LabRun<'_>, options: &PatchingOptions, target: Target) -> Result<Report, LabError> {
    let aim = target.aim(lab)?;
    let plain = lab.plain()?;
    one_number(plain)?;
    let other = other_input(lab, options.other.as_deref())?;
    let sites = Sites::of(&[Site::Z]);
    let clean = lab.run(sites, Logits::Skip)?;
    let plan = lab.plan(sites, Logits::Skip);
    let (corrupted, slopes) = lab.model.gradients(&other, &plan, aim.objective(), Taps::of(&[Site::Z]), lab.control)?;
    let before = f64::from(slopes.value);
    let mut outputs = Vec::new();
    for stack in &plain.model().stacks {
        for layer in 0..stack.layers.len() {
            let head = HeadId { stack: stack.kind, layer, head: 0 };
            let z = |run: &crate::capture::Capture| run.layer(head).and_then(|layer| layer.z().cloned());
            let slope = slopes.layer(head).and_then(|layer| layer.z().cloned());
            if let (Some(clean), Some(corrupted), Some(slope)) = (z(&clean), z(&corrupted), slope) {
                outputs.push(Outputs::new((stack.kind, layer), &clean, &corrupted, &slope)?);
            }
        }
    }
    if outputs.is_empty() {
        return Err(LabError::unsuited("the outputs of its heads cannot be recorded and differentiated"));
    }
    let mut report = Report::new(&SPEC);
    report.parameters = aim.parameters(lab);
    let stacks = || plain.model().stacks.iter().map(|stack| stack.kind);
    let of_stack = |kind: StackKind, value: &dyn Fn(&Outputs) -> Value| {
        let layers = outputs.iter().filter(|outputs| outputs.stack == kind).map(value).collect();
        (Cow::Borrowed(kind.name()), Value::Layers(layers))
    };
    let total = |outputs: &Outputs| {
        Value::List(outputs.estimates.rows().map(|row| row.iter().map(|value| f64::from(*value)).sum()).collect())
    };
    let each = |outputs: &Outputs| {
        let [n_heads, n] = outputs.estimates.shape();
        let values = PerHead::new(outputs.estimates.as_slice(), [n_heads, 1, n]);
        let rows = Axis::only(aim.side, vec![aim.row]);
        values.map_or(Value::Missing(String::new()), |values| Value::heads(rows, outputs.stack.query_side(), values))
    };
    report.values = by_stack("effect", stacks().map(|kind| of_stack(kind, &total)).collect());
    report.values.extend(by_stack("by_position", stacks().map(|kind| of_stack(kind, &each)).collect()));
    report.notes.extend(other.notes.iter().map(|note| format!("other text: {note}")));
    let report = report.with_value("clean", aim.value(&lab.logits(aim.row)?)).with_value("corrupted", before);
    exact(lab, (&aim, &other, before), &outputs, (report, options.n_exact))
}

/// The other text, made ready as the one that is explained; its positions are those of that text.
fn other_input(lab: &LabRun<'_>, text: Option<&str>) -> Result<Encoded, LabError> {
    let text = text.ok_or_else(|| {
        LabError::unsuited("give the other text: the same with something exchanged, with as many tokens")
    })?;
    let own = lab.input;
    if own.image.is_some() {
        return Err(LabError::unsuited(ONE_TEXT));
    }
    let other = lab.model.encode_beside(own, text, lab.control)?;
    for (side, tokens) in &own.tokens {
        let n = other.tokens.get(side).map_or(0, Vec::len);
        if n != tokens.len() {
            return Err(LabError::unsuited(format!(
                "the other text has {} and this one {}: exchange words so that both have as many, as positions are \
                 compared one by one",
                counted(n, "token"),
                counted(tokens.len(), "token")
            )));
        }
    }
    Ok(other)
}

/// The report with the exact effects of the largest estimates, each from a run of its own.
fn exact(
    lab: &LabRun<'_>,
    (aim, other, before): (&Aim, &Encoded, f64),
    outputs: &[Outputs],
    (report, n_exact): (Report, usize),
) -> Result<Report, LabError> {
    let all = outputs.iter().enumerate().flat_map(|(nth, outputs)| {
        let [n_heads, n] = outputs.estimates.shape();
        (0..n_heads).flat_map(move |head| (0..n).map(move |position| (nth, head, position)))
    });
    let all: Vec<(usize, usize, usize)> = all.collect();
    let estimate = |(nth, head, position): (usize, usize, usize)| {
        outputs[nth].estimates.get(head, position).map_or(0.0, f64::from)
    };
    let sizes: Vec<f64> = all.iter().map(|at| estimate(*at).abs()).collect();
    let tried: Vec<_> = descending(&sizes).into_iter().take(n_exact).map(|nth| all[nth]).collect();
    let run = |&(nth, head, position): &(usize, usize, usize)| {
        let edits = lab.edits.iter().cloned().chain(outputs[nth].patch(head, position)).collect();
        Variant { input: Cow::Borrowed(other), edits: Cow::Owned(edits), start: None, row: aim.row }
    };
    let variants: Vec<Variant<'_>> = tried.iter().map(run).collect();
    let mut exact = Vec::with_capacity(tried.len());
    lab.model.logits_of(&variants, lab.control, &mut |_, logits| exact.push(aim.value(logits) - before))?;
    let estimates: Vec<f64> = tried.iter().map(|at| estimate(*at)).collect();
    let errors: Vec<f64> = estimates.iter().zip(&exact).map(|(a, b)| a - b).collect();
    let head = |nth: usize, head: usize| HeadId { stack: outputs[nth].stack, layer: outputs[nth].layer, head };
    let token = |nth: usize, position: usize| {
        let tokens = other.tokens.get(&outputs[nth].stack.query_side());
        tokens.and_then(|tokens| tokens.get(position)).map_or_else(String::new, |it| words::shown(&it.text, position))
    };
    let table = Value::Table(vec![
        TableColumn::new(
            "head",
            ColumnValues::Text(tried.iter().map(|(nth, at, _)| head_name(head(*nth, *at))).collect()),
        ),
        TableColumn::new("position", ColumnValues::Index(tried.iter().map(|(_, _, position)| *position).collect())),
        TableColumn::new("token", ColumnValues::Text(tried.iter().map(|(nth, _, at)| token(*nth, *at)).collect())),
        TableColumn::new("estimate", ColumnValues::Number(estimates.clone())),
        TableColumn::new("exact", ColumnValues::Number(exact.clone())),
        TableColumn::new("error", ColumnValues::Number(errors.clone())),
    ]);
    if tried.is_empty() {
        return Ok(report);
    }
    let worst = errors.iter().fold(0.0_f64, |most, error| most.max(error.abs()));
    let report = report.with_value("largest", table).with_value("largest_error", worst);
    Ok(match spearman(&estimates, &exact) {
        Some(correlation) => report.with_value("rank_correlation", correlation),
        None => report,
    })
}
