//! Attention knockout (Geva et al. 2023).

use std::borrow::Cow;

use serde_json::json;

use super::trace::told_of;
use crate::{
    analysis::explain::{
        dense::Dense,
        report::{Form, LabQuestion, MethodSpec, Report, Value, ValueSpec},
        trace::{relative_change, window},
    },
    capture::{Cut, HideToken, Knockout, Matrix, Scope as EditScope},
    ids::{HeadId, StackKind},
    lab::{
        LabError, LabRun, Method, MethodPreset, Target,
        aim::one_number,
        cost_estimate::Work,
        method::Parameters,
        options::{Scope, Visit, choose, every, layers_together, read_stack},
    },
    model::{Edit, HeadReads, Logits, Site, Sites, Start, Variant},
    spec::Visibility,
};

/// The method.
const SPEC: MethodSpec = MethodSpec {
    name: "knockout",
    title: "Attention knockout",
    question: LabQuestion::Fact,
    about: "Change of an answer when the position that is read cannot see a key (Geva et al. 2023)",
    example: "--model demo:gpt --text \"Once upon a time\" --window 2",
    caveat: "The model was never trained to run without these edges; a small effect can also mean that the \
        information takes another path.",
    formula: "score(q, k) = -∞ for the cut edges in a window of layers\neffect = 100 · (p' - p) / p, of a score p' - p",
    source: "Geva et al. 2023",
    values: &[
        ValueSpec::new(
            "effect",
            "Relative change of the answer’s probability (%)",
            "If the position that is read cannot see the token in these layers",
        ),
        ValueSpec::new("clean", "Probability of the answer", "With all edges").form(Form::Share),
        ValueSpec::new(
            "score_effect",
            "Change of the score",
            "If the position that is read cannot see the token in these layers",
        ),
        ValueSpec::new("score_clean", "Score", "With all edges").form(Form::Decimal),
    ],
    is_long: true,
    ..MethodSpec::EMPTY
};

/// Which edges are cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnockoutOptions {
    /// In which stack; that of the predicted tokens where there is none.
    pub stack: Option<StackKind>,
    /// In how many layers at once.
    pub window: usize,
    /// Before the normaliser or after it.
    pub cut: Cut,
    /// Every how manieth key is cut off.
    pub every: usize,
}

impl Method for KnockoutOptions {
    const SPEC: &'static MethodSpec = &SPEC;
    const COLUMNS: &'static [MethodPreset] = &[MethodPreset {
        name: "knockout",
        title: "Attention knockout",
        method: &SPEC,
        starts: true,
        ask: |_| Ok(Self::begin().into()),
    }];

    /// Of every key, in the stack of the predicted tokens.
    fn begin() -> Self {
        Self { stack: None, window: 3, cut: Cut::Scores, every: 1 }
    }

    fn options(&mut self, scope: &Scope<'_>, visit: &mut Visit<'_>) {
        if scope.command_line {
            read_stack(visit, "Attention stack [default: that of the predicted tokens]", &mut self.stack);
        }
        visit(layers_together("Number of layers in which edges are cut together", &mut self.window, scope));
        let all = [(Cut::Scores, "scores", "Before the softmax"), (Cut::Pattern, "pattern", "After the softmax")];
        let meaning = "Before the softmax: the other keys share the weight. After it: the weight is lost";
        choose(visit, ("cut", "Cut", meaning), &mut self.cut, &all);
        visit(every(&mut self.every));
    }

    // The stack is told with the answer.
    fn parameters(&self) -> Parameters {
        let cut = if self.cut == Cut::Scores { "scores" } else { "pattern" };
        vec![("window", json!(self.window)), ("cut", json!(cut)), ("every", json!(self.every))]
    }

    fn run(&self, lab: &LabRun<'_>, target: Target) -> Result<Report, LabError> {
        knockout(lab, *self, target)
    }
}

/// Attention knockout: what the answer loses when the position that is read cannot see a key.
fn knockout(lab: &LabRun<'_>, options: KnockoutOptions, target: Target) -> Result<Report, LabError> {
    let aim = target.aim(lab)?;
    let plain = lab.plain()?;
    one_number(plain)?;
    let model = plain.model();
    let own = Some(aim.stack).filter(|kind| model.stack(*kind).is_some());
    let reads = || model.stacks.iter().map(|stack| stack.kind).find(|kind| kind.query_side() == aim.side);
    let stack = options.stack.or(own).or_else(reads).unwrap_or_default();
    let spec = model.stack(stack).ok_or_else(|| LabError::unsuited(format!("there is no stack {stack}")))?;
    let (n_query, n_key) = (plain.query_tokens(stack).len(), plain.key_tokens(stack).len());
    let n_layers = spec.layers.len();
    // Layers may see windows of different widths.
    let visibilities: Vec<Visibility<'_>> =
        (0..n_layers).filter_map(|layer| plain.visibility_of(HeadId { stack, layer, head: 0 })).collect();
    let queries = match aim.reads {
        HeadReads::At(position) if stack.query_side() == aim.side => position..position + 1,
        HeadReads::MeanFrom(first) if stack.query_side() == aim.side => first..n_query,
        _ => 0..n_query,
    };
    let hidden = |key: usize| {
        let side = stack.key_side();
        lab.edits.iter().any(
            |edit| matches!(edit, Edit::HideToken(HideToken { side: of, position }) if *of == side && *position == key),
        )
    };
    let sees = |query: usize, key: usize| {
        !hidden(key) && visibilities.iter().any(|visibility| visibility.sees(query, key, n_query, n_key))
    };
    if options.cut == Cut::Scores && queries.clone().all(|query| (0..n_key).filter(|key| sees(query, *key)).count() < 2)
    {
        let what = "the position that is read sees a single key, and without it nothing is left to attend to: \
            choose another position, or cut after the softmax";
        return Err(LabError::unsuited(what));
    }
    let keys_cut: Vec<usize> = (0..n_key).step_by(options.every.max(1)).collect();
    let of_layer = |layer: usize| n_layers - window(layer, n_layers, options.window).start;
    let layers_run = if lab.model.goes_on() { (0..n_layers).map(of_layer).sum() } else { n_layers * n_layers };
    let share = layers_run as f64 / (n_layers * n_layers).max(1) as f64;
    let n_positions = keys_cut.len();
    lab.ask_first(aim.row, &Work { n_positions, runs_each: n_layers, share, n_tokens: n_key, n_always: 0 })?;
    let entering = lab.run(Sites::of(&[Site::ResidPre]), Logits::Skip)?;
    let streams: Option<Vec<&Matrix>> = entering
        .stack(stack)
        .filter(|_| lab.model.goes_on())
        .and_then(|stack| stack.layers.iter().map(|layer| layer.resid_pre()).collect());
    let before = aim.told(&lab.logits(aim.row)?);
    let has_probabilities = aim.outputs.has_probabilities();
    let [effect, clean] = if has_probabilities { ["effect", "clean"] } else { ["score_effect", "score_clean"] };
    let mut report = Report::new(&SPEC);
    report.parameters = aim.parameters(lab);
    report.parameters.push((Cow::Borrowed("stack"), stack.name().into()));
    let told = |effects: &Dense| {
        let report = report.clone().with_value(effect, Value::grid(stack.key_side(), effects.to_matrix()));
        report.with_value(clean, before)
    };
    let mut effects = Dense::from_fn(n_key, n_layers, |_, _| f64::NAN);
    for (nth, layer) in (0..n_layers).rev().enumerate() {
        let layers = window(layer, n_layers, options.window);
        let (mut keys, mut variants) = (Vec::new(), Vec::new());
        for &key in &keys_cut {
            let edges: Vec<[usize; 2]> =
                queries.clone().filter(|query| sees(*query, key)).map(|query| [query, key]).collect();
            if edges.is_empty() {
                continue;
            }
            let mut edits = lab.edits.to_vec();
            let scope = EditScope::Layers(layers.clone().collect());
            edits.push(Edit::Knockout(Knockout { stack, scope, edges, cut: options.cut }));
            let start =
                streams.as_ref().map(|streams| Start { layer: layers.start, stream: streams[layers.start].clone() });
            keys.push(key);
            variants.push(Variant { input: Cow::Borrowed(lab.input), edits: Cow::Owned(edits), start, row: aim.row });
        }
        told_of(lab, &aim, &variants, (nth * keys_cut.len(), keys_cut.len() * n_layers), &mut |idx, p| {
            effects.row_mut(keys[idx])[layer] = if has_probabilities { relative_change(before, p) } else { p - before };
        })?;
        (lab.partial)(&told(&effects));
    }
    Ok(told(&effects))
}
