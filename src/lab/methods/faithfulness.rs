//! Faithfulness: whether the weights of the row that is read say what the output depends on (Jain and Wallace 2019,
//! Serrano and Smith 2019, Wiegreffe and Pinter 2019).

use std::borrow::Cow;

use serde_json::json;

use super::leave_one_out::{LeaveOut, leave_one_out};
use crate::{
    analysis::explain::{
        adversary::AdversaryOptions,
        divergence::tvd,
        erasure::{Order, random_orders},
        gradients as sums,
        permutation::median,
        rank::{descending, kendall},
        report::{Axis, Form, LabQuestion, MethodSpec, Report, Value, ValueSpec},
    },
    capture::{Capture, Matrix, head_name},
    glossary,
    ids::{HeadId, Side, StackKind},
    lab::{
        LabError, LabRun, Method, MethodPreset, Target,
        aim::one_number,
        method::Parameters,
        options::{FieldValue, OptionField, Scope, Visit, read_position, read_stack, seed, whole},
        read_row::{ReadRow, RowPlace},
    },
    model::{Logits, Objective, Site, Sites, Taps},
};

/// Random orders of erasure beside the four others.
const N_RANDOM: usize = 5;

const TVD: &str = glossary::TOTAL_VARIATION.meaning;
const TAU: &str = glossary::TAU.meaning;
const P: &str = glossary::P_VALUE.meaning;
const SIZE: &str = "Size of the difference";

/// An order in which weights are erased.
const fn erased_by(name: &'static str, title: &'static str) -> ValueSpec {
    let meaning = "Share of the keys whose weights are set to 0 in this order until the most probable outcome changes";
    ValueSpec { absent: "the decision never flips", ..ValueSpec::new(name, title, meaning).form(Form::Share) }
}

/// The method.
const SPEC: MethodSpec = MethodSpec {
    name: "faithfulness",
    title: "Faithfulness",
    question: LabQuestion::Believe,
    about: "Whether the weights show what the output depends on: correlations, permutation, erasure, adversary",
    example: "--model demo:bilstm --text \"a fine film\"",
    caveat: "Other attention with the same output shows that these weights are not the only possible \
        explanation, not that they are a wrong one.",
    formula: "τ_b = (C - D) / √((T - T_x)(T - T_y))\n\
        permutation: median of ½ Σ_o |p̃_o - p_o|, of a label |p̃ - p|, of a score |s̃ - s|\n\
        adversarial: maximise JSD(α̃, α) with the output kept\n\
        erasure: fraction of weights set to 0, the rest renormalised, until the decision flips",
    source: "Jain and Wallace 2019; Serrano and Smith 2019; Wiegreffe and Pinter 2019",
    values: &[
        ValueSpec::new(
            "attention",
            "Weights in the row that is read",
            "The head’s weights in the row that the output is read from",
        ),
        ValueSpec::new("kendall_gradient", "Agreement with gradient × input (τ)", TAU).form(Form::Decimal),
        ValueSpec::new("p_gradient", "p-value", P).form(Form::Weight),
        ValueSpec::new("kendall_loo", "Agreement with leave-one-out (τ)", TAU).form(Form::Decimal),
        ValueSpec::new("p_loo", "p-value", P).form(Form::Weight),
        ValueSpec::new("permutation", "Change under shuffled weights, each shuffle", TVD),
        ValueSpec::new("permutation_median", "Change under shuffled weights, median", TVD).form(Form::Weight),
        ValueSpec::new("uniform", "Change under equal weights", TVD).form(Form::Weight),
        ValueSpec::new("score_permutation", "Change of the score under shuffled weights, each shuffle", SIZE),
        ValueSpec::new("score_permutation_median", "Change of the score under shuffled weights, median", SIZE)
            .form(Form::Weight),
        ValueSpec::new("score_uniform", "Change of the score under equal weights", SIZE).form(Form::Weight),
        erased_by("erasure.attention", "Erased until the outcome flips, largest weights first"),
        erased_by("erasure.gradient", "… largest gradients first"),
        erased_by("erasure.attention_gradient", "… largest weight × gradient first"),
        erased_by("erasure.product", "… largest weight × gradient first"),
        erased_by("erasure.ascending", "… smallest weights first"),
        erased_by("erasure.random", "Erased until the outcome flips, random orders"),
        ValueSpec::new(
            "adversarial",
            "Other weights, same output",
            "Weights as far from these as possible that leave the output unchanged",
        ),
        ValueSpec::new(
            "adversarial.jsd",
            "Farthest weights with the same output",
            "Jensen–Shannon divergence in nats: 0 is the same weights, 0.69 none in common",
        ),
        ValueSpec::new("adversarial.tvd", "Change under the farthest weights", TVD).form(Form::Weight),
        ValueSpec::new("adversarial.pattern", "The farthest weights", "The same output with other attention"),
    ],
    ..MethodSpec::EMPTY
};

/// Which attention is put to the test, and how.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FaithfulnessOptions {
    /// In which stack; the one that is read for the prediction where there is none.
    pub stack: Option<StackKind>,
    /// In which layer; the last where there is none.
    pub layer: Option<usize>,
    /// Which head; all of the layer together where there is none.
    pub head: Option<usize>,
    pub n_permutations: usize,
    /// Steps of the search for adversarial attention; none at all with 0.
    pub n_steps: usize,
    /// What permutations, random orders and adversaries begin with.
    pub seed: u64,
}

impl FaithfulnessOptions {
    const fn place(self) -> RowPlace {
        RowPlace { stack: self.stack, layer: self.layer, head: self.head }
    }
}

impl Method for FaithfulnessOptions {
    const SPEC: &'static MethodSpec = &SPEC;
    const COLUMNS: &'static [MethodPreset] = &[MethodPreset {
        name: "faithfulness",
        title: "Faithfulness of this head",
        method: &SPEC,
        starts: true,
        ask: |focus| {
            let HeadId { stack, layer, head } = focus.head;
            Ok(Self { stack: Some(stack), layer: Some(layer), head: Some(head), ..Self::begin() }.into())
        },
    }];

    /// Of all heads of the last layer.
    fn begin() -> Self {
        Self { stack: None, layer: None, head: None, n_permutations: 100, n_steps: 100, seed: 0 }
    }

    // In the window the head is the selected one.
    fn options(&mut self, scope: &Scope<'_>, visit: &mut Visit<'_>) {
        if scope.command_line {
            let meaning = "Attention stack [default: cross-attention where there is some]";
            read_stack(visit, meaning, &mut self.stack);
            let meaning = "All heads of this layer together [default: the last layer]";
            read_position(visit, ("layer", "Layer", meaning), &mut self.layer);
            let mut read = |text: &str| {
                let numbers = text.strip_prefix(['L', 'l']).and_then(|rest| rest.split_once(['H', 'h']));
                let head = numbers.and_then(|(layer, head)| Some((layer.parse().ok()?, head.parse().ok()?)));
                let (layer, head) = head.ok_or_else(|| format!("`{text}` is not a head such as L3H5"))?;
                (self.layer, self.head) = (Some(layer), Some(head));
                Ok(())
            };
            let value = FieldValue::Read(&mut read, "HEAD");
            let field = OptionField::new("head", "Head", "One head, such as L3H5", value);
            visit(field.conflicts(&["layer"]));
        }
        let meaning = "Number of random orders of the weights for which the output is computed";
        visit(whole("permutations", "Permutations", meaning, &mut self.n_permutations, 1..=10_000));
        let meaning = "Steps of the search for other weights with the same output; 0 leaves it out";
        visit(whole("steps", "Search steps", meaning, &mut self.n_steps, 0..=10_000));
        visit(seed(&mut self.seed));
    }

    fn parameters(&self) -> Parameters {
        vec![("permutations", json!(self.n_permutations)), ("steps", json!(self.n_steps)), ("seed", json!(self.seed))]
    }

    fn run(&self, lab: &LabRun<'_>, target: Target) -> Result<Report, LabError> {
        faithfulness(lab, *self, target)
    }
}

/// Gradient × input of each token, patterns held fixed, as sizes: of several objectives the sum of their sizes, each
/// times its factor.
pub(in crate::lab) fn importance(
    lab: &LabRun<'_>,
    side: Side,
    objectives: Vec<(Objective, f64)>,
) -> Result<Option<Vec<f64>>, LabError> {
    let plan = lab.plan(Sites::of(&[Site::Embed]), Logits::Skip);
    let taps = Taps { sites: Sites::of(&[Site::Embed]), fixed_patterns: true };
    let mut gradients: Vec<Matrix> = Vec::with_capacity(objectives.len());
    let mut input: Option<Matrix> = None;
    for (objective, factor) in objectives {
        let (capture, found) = lab.model.gradients(lab.input, &plan, objective, taps, lab.control)?;
        let Some(gradient) = found.embed(side) else { return Ok(None) };
        let scaled: Vec<f32> = gradient.as_slice().iter().map(|slope| (f64::from(*slope) * factor) as f32).collect();
        gradients.push(Matrix::new(scaled, gradient.shape()).map_err(|_| LabError::unsuited("an embedding is empty"))?);
        input = capture.embed(side).cloned();
    }
    let Some(input) = input else { return Ok(None) };
    Ok(Some(sums::importance(&gradients, &input)?))
}

/// What each token's absence changes, of one side.
pub(in crate::lab) fn absence(
    lab: &LabRun<'_>,
    capture: &Capture,
    side: Side,
    target: Target,
) -> Result<(LeaveOut, Vec<f64>), LabError> {
    let mixes =
        capture.model().stacks.iter().any(|stack| stack.kind.key_side() == side && stack.kind.query_side() == side);
    // Where words do not attend to words, hiding one from the query would be what erasing its weight is.
    let by = if mixes || !lab.edits.is_empty() { LeaveOut::Hide } else { LeaveOut::Delete };
    let report = leave_one_out(lab, by, target)?;
    let leaves = report.leaves();
    // Of a score there is no change of probabilities, but that of the score.
    let of = |name: &str| {
        leaves.iter().filter(|leaf| leaf.name.starts_with(name)).find_map(|leaf| match leaf.value {
            Value::Tokens { axis, values } if axis.side == side => {
                Some(values.iter().map(|value| f64::from(value.abs())).collect::<Vec<f64>>())
            }
            _ => None,
        })
    };
    let own = of("effect").or_else(|| of("logit"));
    let missing = || LabError::unsuited("no token of the attended text could be left out");
    Ok((by, own.ok_or_else(missing)?))
}

/// The weights that are as far from the row as possible with the same output; why none are looked for otherwise.
fn adversarial(row: &ReadRow<'_>, p: &[f64], options: FaithfulnessOptions) -> Result<Value, LabError> {
    let search = AdversaryOptions { n_steps: options.n_steps, seed: options.seed, ..AdversaryOptions::default() };
    let found = match row.adversary(p, search)? {
        Ok(found) => found,
        Err(why) => return Ok(Value::Missing(why)),
    };
    let best = found.best.map(|best| &found.candidates[best]);
    let own = row.mean(&row.weights());
    let pattern = best.map_or(&own, |best| &best.weights);
    Ok(Value::Group(vec![
        (Cow::Borrowed("jsd"), found.max_jsd().into()),
        (Cow::Borrowed("tvd"), best.map_or(0.0, |best| tvd(&best.p, p)).into()),
        (Cow::Borrowed("pattern"), by_key(row, pattern)),
    ]))
}

/// Values by key that is seen.
fn by_key(row: &ReadRow<'_>, values: &[f64]) -> Value {
    let side = row.heads[0].stack.key_side();
    Value::tokens(Axis::only(side, row.keys.clone()), values.iter().map(|value| *value as f32).collect())
}

/// Whether the attention that is read for an output says what the output depends on.
fn faithfulness(lab: &LabRun<'_>, options: FaithfulnessOptions, target: Target) -> Result<Report, LabError> {
    let aim = target.aim(lab)?;
    let plain = lab.plain()?;
    one_number(plain)?;
    let row = ReadRow::of(lab, aim, options.place())?;
    let side = row.heads[0].stack.key_side();
    let weights = row.weights();
    let mut report = Report::new(&SPEC);
    report.parameters = aim.parameters(lab);
    let heads: Vec<String> = row.heads.iter().map(|head| head_name(*head)).collect();
    report.parameters.push((Cow::Borrowed("heads"), json!(heads)));
    report.parameters.push((Cow::Borrowed("query"), json!(row.query)));
    report = report.with_value("attention", by_key(&row, &row.mean(&weights)));
    let (by, absent) = absence(lab, plain, side, target)?;
    report.parameters.push((Cow::Borrowed("left_out_by"), json!(by.name())));
    let of_real = |values: &[f64]| row.real.iter().map(|key| values[*key]).collect::<Vec<f64>>();
    let attention: Vec<f64> =
        row.real.iter().map(|key| weights.iter().map(|row| row[*key]).sum::<f64>() / weights.len() as f64).collect();
    let correlate = |values: Option<Vec<f64>>| {
        let found = values.and_then(|values| kendall(&attention, &values));
        let why = || Value::Missing("fewer than three tokens, or all of them equal".to_owned());
        found.map_or_else(|| [why(), why()], |found| [found.tau.into(), found.p.into()])
    };
    let slopes = importance(lab, side, vec![(aim.objective(), 1.0)])?;
    let [tau, p] = correlate(slopes.as_deref().map(of_real));
    report = report.with_value("kendall_gradient", tau).with_value("p_gradient", p);
    let [tau, p] = correlate(Some(of_real(&absent)));
    report = report.with_value("kendall_loo", tau).with_value("p_loo", p);
    (lab.partial)(&report);

    let changed =
        [vec![weights], vec![row.uniform()], row.permutations(options.n_permutations, options.seed)?].concat();
    if !aim.outputs.has_probabilities() {
        let scores = row.run(&changed, |logits| aim.value(logits))?;
        let changes: Vec<f64> = scores[2..].iter().map(|changed| (changed - scores[0]).abs()).collect();
        report.notes.push(
            "a score decides nothing and has no probabilities: weights are not erased until a decision flips, and no \
             others are looked for that leave the probabilities as they are"
                .to_owned(),
        );
        return Ok(report
            .with_value("score_permutation", changes.clone())
            .with_value("score_permutation_median", median(&changes).unwrap_or(f64::NAN))
            .with_value("score_uniform", (scores[1] - scores[0]).abs()));
    }
    let outputs = row.probabilities(&changed)?;
    let p = &outputs[0];
    let changes: Vec<f64> = outputs[2..].iter().map(|changed| tvd(p, changed)).collect();
    report = report
        .with_value("permutation", changes.clone())
        .with_value("permutation_median", median(&changes).unwrap_or(f64::NAN))
        .with_value("uniform", tvd(p, &outputs[1]));
    (lab.partial)(&report);

    let decision = descending(p)[0];
    let gradient = row.decision_gradient(decision)?;
    let mean = row.mean(&row.weights());
    let share = |fraction: Option<f64>| {
        fraction.map_or_else(|| Value::Missing("the decision never flips".to_owned()), Into::into)
    };
    let mut erasure: Vec<(Cow<'static, str>, Value)> = Vec::new();
    for order in Order::ALL {
        let fraction = row.flips_at(&order.of(&mean, &gradient), decision)?;
        erasure.push((Cow::Borrowed(order.name()), share(fraction)));
    }
    let mut random = Vec::new();
    for order in random_orders(row.keys.len(), N_RANDOM, options.seed) {
        random.push(row.flips_at(&order, decision)?.unwrap_or(f64::NAN));
    }
    erasure.push((Cow::Borrowed("random"), random.into()));
    report = report.with_value("erasure", Value::Group(erasure));
    report.notes.push("gradients of the erasure are those of the decision's probability".to_owned());
    (lab.partial)(&report);

    let adversarial = adversarial(&row, p, options)?;
    if row.heads.len() > 1 && !matches!(adversarial, Value::Missing(_)) {
        report.notes.push("adversarial weights are the same in all heads of the layer".to_owned());
    }
    Ok(report.with_value("adversarial", adversarial))
}
