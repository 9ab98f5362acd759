//! Gradients of an output, by its input or by patterns (Simonyan et al. 2014; Sundararajan et al. 2017).

use std::borrow::Cow;

use serde_json::{Value as Json, json};

use super::SCORES;
use crate::{
    analysis::explain::{
        gradients as sums,
        report::{Form, LabQuestion, MethodSpec, Report, Scores, Value, ValueSpec},
    },
    capture::{Matrix, Patch, PerHead},
    ids::Side,
    lab::{
        LabError, LabRun, Method, MethodPreset, Target,
        method::Parameters,
        options::{FieldValue, OptionField, Scope, Visit, choose, whole},
        patterns::{by_stack, of_stack, pattern_gradients, patterns},
    },
    model::{Edit, Logits, Site, Sites, Taps},
};

/// Steps of the path of integrated gradients: enough for a gap of a percent on short texts.
pub const PATH_STEPS: usize = 20;

/// The method.
const SPEC: MethodSpec = MethodSpec {
    name: "gradients",
    title: "Gradients",
    question: LabQuestion::Depends,
    about: "Gradients of an output by input embeddings or patterns, also along a path",
    example: "--model demo:sentiment --text \"a fine film\" --integrated 50",
    caveat: "A gradient is the slope at this input: if the output saturates it is small although the token \
        matters, and it says nothing about larger changes.",
    formula: "g = ∂y/∂A, or ∂y/∂x of the input embeddings\ngradient × input: Σ_d g_d · x_d\n\
        integrated: (x - x₀) ⊙ mean over t of ∂y/∂x at x₀ + t·(x - x₀)",
    source: "Simonyan et al. 2014; Sundararajan et al. 2017",
    values: &[
        SCORES,
        ValueSpec::new("pattern", "Pattern", ""),
        ValueSpec::new("value", "Explained logit", "").form(Form::Decimal),
        ValueSpec::new("baseline", "Baseline", ""),
        ValueSpec::new("gap", "Gap to completeness", "How far the sum over tokens misses the difference of the logits")
            .form(Form::Decimal),
    ],
    scores: counted,
    ..MethodSpec::EMPTY
};

/// A slope is a length, and speaks neither for the output nor against it.
fn counted(report: &Report) -> Scores {
    let is = |name: &str, value: Json| report.parameters.iter().any(|(known, it)| known == name && *it == value);
    match (is("of", json!("pattern")), is("times_input", json!(true))) {
        (_, true) => Scores::signed(if report.is_of_score() { "of the score" } else { "logits" }),
        (true, false) if report.is_of_score() => Scores::signed("of the score per weight"),
        (true, false) => Scores::signed("logits per weight"),
        (false, false) => Scores::unsigned("slope"),
    }
}

/// What is differentiated, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GradientOptions {
    pub of: Of,
    /// Whether gradients are multiplied by what they are of: the contribution of a token, and not the slope there.
    pub times_input: bool,
    /// Steps of a path from nothing to the input, whose gradients are averaged (Sundararajan et al. 2017).
    pub steps: Option<usize>,
}

/// What gradients are of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Of {
    /// Input embeddings.
    #[default]
    Input,
    /// Every weight of every pattern.
    Pattern,
}

vocabulary! {
    Of: name, title;
    Input("input", "Input embeddings"),
    Pattern("pattern", "Attention weights"),
}

impl Method for GradientOptions {
    const SPEC: &'static MethodSpec = &SPEC;
    const COLUMNS: &'static [MethodPreset] = &[
        MethodPreset {
            name: "gradients",
            title: "Gradient",
            method: &SPEC,
            starts: true,
            ask: |_| Ok(Self::begin().into()),
        },
        MethodPreset {
            name: "integrated",
            title: "Integrated gradients",
            method: &SPEC,
            starts: true,
            ask: |_| Ok(Self { steps: Some(PATH_STEPS), ..Self::begin() }.into()),
        },
    ];

    fn begin() -> Self {
        Self { of: Of::Input, times_input: true, steps: None }
    }

    // In the window the path is a column of its own.
    fn options(&mut self, scope: &Scope<'_>, visit: &mut Visit<'_>) {
        let meaning = "Number of inputs on the path from the baseline to this one whose gradients are averaged";
        let range = 1..=1000;
        if scope.command_line {
            let mut steps = PATH_STEPS;
            let mut read = |text: &str| {
                let mut field = whole("integrated", "Steps", meaning, &mut steps, range.clone());
                field.set(&text.parse::<u64>().map_or_else(|_| json!(text), |steps| json!(steps)))?;
                self.steps = Some(steps);
                Ok(())
            };
            visit(OptionField::new("integrated", "Steps", meaning, FieldValue::Read(&mut read, "STEPS")));
        } else if let Some(steps) = &mut self.steps {
            return visit(whole("steps", "Steps", meaning, steps, range));
        }
        choose(visit, ("of", "By", "Variable that the output is differentiated by"), &mut self.of, &Of::CHOICES);
        let meaning = "On: contribution of the token if the output were linear. Off: slope only";
        let value = FieldValue::Flag(&mut self.times_input);
        visit(OptionField::new("times_input", "Times their value", meaning, value));
    }

    fn parameters(&self) -> Parameters {
        vec![("of", json!(self.of.name())), ("times_input", json!(self.times_input)), ("integrated", json!(self.steps))]
    }

    fn run(&self, lab: &LabRun<'_>, target: Target) -> Result<Report, LabError> {
        gradients(lab, *self, target)
    }
}

fn gradients(
    lab: &LabRun<'_>,
    GradientOptions { of, times_input, steps }: GradientOptions,
    target: Target,
) -> Result<Report, LabError> {
    let aim = target.aim(lab)?;
    let mut report = Report::new(&SPEC);
    report.parameters = aim.parameters(lab);
    if of == Of::Pattern {
        if steps.is_some() {
            return Err(LabError::unsuited("integrated gradients need input embeddings"));
        }
        let capture = lab.plain()?;
        let gradients = pattern_gradients(lab, &aim)?;
        let mut stacks = Vec::new();
        for stack in &capture.model().stacks {
            let side = (stack.kind.query_side(), stack.kind.key_side());
            let patterns = patterns(capture, stack)?;
            let layer = |(pattern, gradient): (&PerHead, PerHead)| {
                let product =
                    || pattern.as_slice().iter().zip(gradient.as_slice()).map(|(a, g)| a * g).collect::<Vec<_>>();
                let values = if times_input { PerHead::new(product(), gradient.shape()).ok() } else { Some(gradient) };
                values.map(|values| Value::heads(side.0, side.1, values))
            };
            let layers = patterns.iter().zip(of_stack(&gradients, stack.kind)).filter_map(layer).collect();
            stacks.push((Cow::Borrowed(stack.kind.name()), Value::Layers(layers)));
        }
        // What stands beside other methods is the row that is read, of the last layer.
        let mut scores = Vec::new();
        for (stack, (_, layers)) in capture.model().stacks.iter().zip(&stacks) {
            let last = match layers {
                Value::Layers(layers) if stack.kind.query_side() == aim.side => layers.last(),
                _ => None,
            };
            if let Some(mean) =
                last.and_then(|layer| if let Value::Heads { values, .. } = layer { values.mean() } else { None })
            {
                let key = stack.kind.key_side();
                scores.push((Cow::Borrowed(key.name()), Value::tokens(key, aim.reads.row_of(&mean))));
            }
        }
        report.values = by_stack("pattern", stacks);
        if !scores.is_empty() {
            report.values.extend(by_stack("scores", scores));
            report.notes.push("per token: the row that is read, mean over the heads of the last layer".to_owned());
        }
        return Ok(report.with_value("value", f64::from(gradients.value)));
    }
    let taps = Taps::of(&[Site::Embed]);
    let at = |edits: Vec<Edit>| {
        let mut plan = lab.plan(Sites::of(&[Site::Embed]), Logits::Skip);
        plan.edits.extend(edits);
        lab.model.gradients(lab.input, &plan, aim.objective(), taps, lab.control)
    };
    let (capture, gradients) = at(Vec::new())?;
    let value = f64::from(gradients.value);
    let sides: Vec<Side> = gradients.sequences.keys().copied().collect();
    let inputs: Vec<Matrix> = sides.iter().filter_map(|side| capture.embed(*side).cloned()).collect();
    let grads: Vec<Matrix> = sides.iter().filter_map(|side| gradients.embed(*side).cloned()).collect();
    if inputs.is_empty() || grads.len() != inputs.len() {
        return Err(LabError::unsuited("the input embeddings of this model cannot be recorded"));
    }
    let named = |values: Vec<(Side, Vec<f32>)>, name: &'static str| {
        let values = values.into_iter().map(|(side, values)| (Cow::Borrowed(side.name()), Value::tokens(side, values)));
        by_stack(name, values.collect())
    };
    let lengths = sides.iter().zip(&grads).map(|(side, grad)| (*side, sums::lengths(grad))).collect();
    let Some(n_steps) = steps else {
        let of_side = |((side, grad), input): ((&Side, &Matrix), &Matrix)| -> Result<_, LabError> {
            Ok((*side, sums::times_input(grad, input)?))
        };
        let products = sides.iter().zip(&grads).zip(&inputs).map(of_side).collect::<Result<Vec<_>, _>>()?;
        report.values = if times_input { named(products, "scores") } else { named(lengths, "scores") };
        return Ok(report.with_value("value", value));
    };
    // Nothing is the embedding of zeros: all sequences go there at once.
    let zeros = inputs.iter().map(|input| Matrix::new(vec![0.0; input.as_slice().len()], input.shape()));
    let zeros = zeros.collect::<Result<Vec<_>, _>>().map_err(|_| LabError::unsuited("an embedding is empty"))?;
    let on_path = |share: f64| -> Result<Vec<Edit>, LabError> {
        let of_side = |((side, input), zero): ((&Side, &Matrix), &Matrix)| -> Result<Edit, LabError> {
            let value = sums::on_path(input, zero, share)?;
            let positions = (0..value.n_rows()).collect();
            Ok(Edit::Patch(Patch { site: Site::Embed, stack: side.stack(), layer: 0, head: None, positions, value }))
        };
        sides.iter().zip(&inputs).zip(&zeros).map(of_side).collect()
    };
    let mut along: Vec<Vec<Matrix>> = vec![Vec::new(); sides.len()];
    for (step, share) in sums::path(n_steps).enumerate() {
        lab.step(step, n_steps)?;
        let (_, found) = at(on_path(share)?)?;
        for (along, side) in along.iter_mut().zip(&sides) {
            along.extend(found.embed(*side).cloned());
        }
    }
    let nothing = f64::from(at(on_path(0.0)?)?.1.value);
    let (mut found, mut gained) = (Vec::new(), 0.0);
    for ((side, along), (input, zero)) in sides.iter().zip(&along).zip(inputs.iter().zip(&zeros)) {
        let tokens = sums::integrated(along, input, zero, [nothing, value])?.tokens;
        gained += tokens.iter().map(|value| f64::from(*value)).sum::<f64>();
        found.push((*side, tokens));
    }
    report.values = named(found, "scores");
    Ok(report.with_value("value", value).with_value("baseline", nothing).with_value("gap", gained - (value - nothing)))
}
