//! The laboratory: its laws on every kind of model, and its numbers against PyTorch
//! (`tests/fixtures/generate_lab.py`).

use std::fs;

use attnscope::{
    analysis::explain::{
        report::{ColumnValues, Report, Value},
        rollout::RolloutOptions,
    },
    capture::HideToken,
    ids::Side,
    lab::{
        DirectLogits, Effective, GradientOptions, LabAnswer, LabError, LabRun, LeaveOneOutOptions, LeaveOut,
        LensOptions, MemoryOptions, MethodCall, Norms, Of, RelevanceQuestion, Rule, Target, answer,
    },
    model::{Edit, Encoded, Engine, Input, Logits, Model, RunPlan, Sites, locate, uninterrupted},
};
use serde_json::Value as Json;

use crate::{families, parity};

pub const NO_EDITS: &[Edit] = &[];

/// Families, but for the classifier of pictures, which lies beside them.
fn family(name: &str) -> (Model, Encoded) {
    if name == "vit" { fixture(name) } else { fixture(&format!("families/{name}")) }
}

pub fn fixture(name: &str) -> (Model, Encoded) {
    let (model, reference) = match name.strip_prefix("families/") {
        Some(name) => families::open(name),
        None => (parity::load(name), parity::Reference::open(name, "reference.safetensors")),
    };
    let encoded = model.encode(&reference.input()).unwrap();
    (model, encoded)
}

pub fn demo(name: &str, text: &str) -> (Model, Encoded) {
    let (files, name) = locate::model(name).unwrap();
    let model = Model::load(&files, &name, &Engine::cpu(Some(2)).unwrap(), &uninterrupted).unwrap();
    let encoded = model.encode(&Input::text(text)).unwrap();
    let encoded = model.completed(&encoded, &RunPlan::silent(), &uninterrupted).unwrap();
    (model, encoded)
}

pub fn try_ask(
    model: &Model,
    input: &Encoded,
    edits: &[Edit],
    ask: &MethodCall,
    target: Target,
) -> Result<LabAnswer, LabError> {
    answer(LabRun::new(model, input, edits, &uninterrupted, &|_| {}), ask, target)
}

pub fn ask(model: &Model, input: &Encoded, ask: &MethodCall, target: Target) -> Report {
    try_ask(model, input, NO_EDITS, ask, target).unwrap_or_else(|error| panic!("{ask:?}: {error}")).report
}

pub fn refused(model: &Model, input: &Encoded, ask: &MethodCall, target: Target) -> String {
    try_ask(model, input, NO_EDITS, ask, target).unwrap_err().to_string()
}

/// Every number of a value, in order.
fn numbers(value: &Value) -> Vec<f64> {
    let wide = |values: &[f32]| values.iter().map(|value| f64::from(*value)).collect();
    match value {
        Value::Matrix { values, .. } | Value::Grid { values, .. } => wide(values.as_slice()),
        Value::Heads { values, .. } => wide(values.as_slice()),
        Value::Tokens { values, .. } => wide(values),
        Value::List(values) => values.clone(),
        Value::Number(value) => vec![*value],
        Value::Count(count) => vec![*count as f64],
        Value::Layers(layers) => layers.iter().flat_map(numbers).collect(),
        Value::Group(values) => values.iter().flat_map(|(_, value)| numbers(value)).collect(),
        other => panic!("{other:?} holds no numbers"),
    }
}

pub fn of(report: &Report, name: &str) -> Vec<f64> {
    numbers(report.value(name).unwrap_or_else(|| panic!("{name} is not in {:?}", report.values)))
}

pub fn number(report: &Report, name: &str) -> f64 {
    of(report, name)[0]
}

pub fn column<'a>(value: &'a Value, name: &str) -> &'a ColumnValues {
    let Value::Table(columns) = value else { panic!("{value:?} is no table") };
    &columns.iter().find(|column| column.name == name).unwrap().cells
}

/// All numbers of nested lists and objects, the objects by name.
pub fn expected(value: &Json, names: &[&str]) -> Vec<f64> {
    match value {
        Json::Array(values) => values.iter().flat_map(|value| expected(value, names)).collect(),
        Json::Object(values) => {
            assert_eq!(values.len(), names.len());
            names.iter().flat_map(|name| expected(&values[*name], names)).collect()
        }
        value => vec![value.as_f64().unwrap()],
    }
}

/// Equal to 1e-5 of the largest value.
pub fn assert_near(actual: &[f64], expected: &[f64], what: &str) {
    assert_near_of(1e-6, actual, expected, what);
}

/// The same for differences of numbers of this size.
pub fn assert_near_of(size: f64, actual: &[f64], expected: &[f64], what: &str) {
    assert_eq!(actual.len(), expected.len(), "{what}");
    let largest = expected.iter().fold(size, |largest, value| largest.max(value.abs()));
    for (nth, (actual, expected)) in actual.iter().zip(expected).enumerate() {
        assert!((actual - expected).abs() <= 1e-5 * largest, "{what} [{nth}]: {actual}, not {expected}");
    }
}

#[test]
fn what_an_output_depends_on_is_pytorchs() {
    let text = fs::read_to_string(parity::fixture("lab/reference.json")).unwrap();
    let reference: Json = serde_json::from_str(&text).unwrap();
    for (name, folder) in [("bert", "bert"), ("gpt2", "gpt2"), ("bart", "families/bart")] {
        let (model, input) = fixture(folder);
        let reference = &reference[name];
        let sides: &[&str] = if name == "bart" { &["encoder", "decoder"] } else { &["self"] };
        let target = Target { position: Some(reference["row"].as_u64().unwrap() as usize), ..Target::default() };
        let check = |asked: &MethodCall, value: &str, json: &Json, names: &[&str]| {
            let report = ask(&model, &input, asked, target);
            assert_near(&of(&report, value), &expected(json, names), &format!("{name}, {asked:?}, {value}"));
        };
        check(&MethodCall::Rollout(RolloutOptions::default()), "matrix", &reference["rollout"], sides);
        let relevance = MethodCall::Relevance(RelevanceQuestion { rule: Rule::Gradient, start_layer: 0 });
        for (value, own) in [("self", "self"), ("encoder", "encoder"), ("decoder", "decoder"), ("cross", "cross")] {
            if let Some(json) = reference["relevance"].get(own) {
                check(&relevance, value, json, &[]);
            }
        }
        let gradients = |of, times_input, steps| MethodCall::Gradients(GradientOptions { of, times_input, steps });
        let stacks: &[&str] = if name == "bart" { &["encoder", "decoder", "cross"] } else { &["self"] };
        check(&gradients(Of::Pattern, false, None), "pattern", &reference["pattern_gradients"], stacks);
        check(&gradients(Of::Input, true, None), "scores", &reference["gradient_times_input"], sides);
        check(&gradients(Of::Input, false, Some(8)), "scores", &reference["integrated"], sides);
        check(&gradients(Of::Input, false, None), "value", &reference["logit"], &[]);
        let loo = MethodCall::LeaveOneOut(LeaveOneOutOptions { by: LeaveOut::Hide });
        check(&loo, "effect", &reference["loo"]["effect"], sides);
        let changes = expected(&reference["loo"]["logit"], sides);
        let size = reference["logit"].as_f64().unwrap().abs();
        assert_near_of(size, &of(&ask(&model, &input, &loo, target), "logit"), &changes, &format!("{name}, {loo:?}"));
        let lens =
            ask(&model, &input, &MethodCall::Lens(LensOptions { n_top: 5, jacobian_lens: None }), Target::default());
        let probability = format!("{name}, lens");
        assert_near(&of(&lens, "probability"), &expected(&reference["lens"]["probability"], &[]), &probability);
        let Some(Value::Layers(layers)) = lens.value("layers") else { panic!("no layers") };
        for (layer, value) in layers.iter().enumerate() {
            let ColumnValues::Numbers(probabilities) = column(value, "probabilities") else { panic!() };
            let json = &reference["lens"]["probabilities"][layer];
            assert_near(&probabilities.concat(), &expected(json, &[]), &probability);
            let ColumnValues::Texts(tokens) = column(value, "tokens") else { panic!() };
            let ids = expected(&reference["lens"]["tokens"][layer], &[]);
            let labels = ids.iter().map(|id| model.outcome_label(*id as u32)).collect::<Vec<_>>();
            assert_eq!(tokens.concat(), labels, "{name}, layer {layer}");
        }
        let Some(layers) = reference.get("norms").and_then(Json::as_array) else { continue };
        let norms = ask(&model, &input, &MethodCall::Norms(Norms), target);
        for value in ["attention_norm", "together", "mixing_ratio", "mixing_ratio_attention"] {
            let json = layers.iter().flat_map(|layer| expected(&layer[value], &[])).collect::<Vec<_>>();
            assert_near(&of(&norms, value), &json, &format!("{name}, {value}"));
        }
        let Some(heads) = reference.get("dla") else { continue };
        let direct = ask(&model, &input, &MethodCall::DirectLogits(DirectLogits), target);
        assert_near(&of(&direct, "heads"), &expected(heads, &[]), "direct logits of heads");
    }
}

#[test]
fn a_logit_is_the_sum_of_its_parts_or_a_sentence_says_why_not() {
    for name in ["gpt2", "llama", "gpt_neox", "t5", "vit", "bloom", "phi3", "opt", "falcon_h1"] {
        let (model, input) = family(name);
        let target = Target { against: Some(1), class: Some(2), ..Target::default() };
        for target in [Target::default(), target] {
            let found = ask(&model, &input, &MethodCall::DirectLogits(DirectLogits), target);
            let (sum, logit) = (number(&found, "sum"), number(&found, "logit"));
            assert!((sum - logit).abs() <= 2e-5 * logit.abs().max(1.0), "{name}: {sum} is not {logit}");
            let ColumnValues::Number(parts) = column(found.value("components").unwrap(), "contribution") else {
                panic!()
            };
            let added = parts.iter().sum::<f64>() + number(&found, "constant");
            assert!((added - sum).abs() < 1e-9 * sum.abs().max(1.0), "{name}");
        }
    }
    for (name, why) in
        [("families/bart", "normalise the stream"), ("bert", "normalise the stream"), ("families/gemma2", "not a sum")]
    {
        let (model, input) = fixture(name);
        let said = refused(&model, &input, &MethodCall::DirectLogits(DirectLogits), Target::default());
        assert!(said.contains(why), "{name}: {said}");
    }
}

#[test]
fn the_lens_of_the_last_layer_is_the_prediction() {
    for name in
        ["bert", "llama", "t5", "vit", "bart-classifier", "llama-classifier", "beit", "deit-distilled", "bridgetower"]
    {
        let (model, input) = family(name);
        let found = try_ask(
            &model,
            &input,
            NO_EDITS,
            &MethodCall::Lens(LensOptions { n_top: 3, jacobian_lens: None }),
            Target::default(),
        )
        .unwrap();
        let Some(Value::Layers(layers)) = found.report.value("layers") else { panic!("{name}") };
        let ColumnValues::Numbers(told) = column(layers.last().unwrap(), "probabilities") else { panic!() };
        let predicted = &found.capture.prediction().unwrap().rows;
        assert_eq!(told.len(), predicted.len(), "{name}");
        for (told, predicted) in told.iter().zip(predicted) {
            for (p, item) in told.iter().zip(&predicted.top) {
                assert!((p - f64::from(item.value)).abs() < 1e-5, "{name}");
            }
        }
        let last = of(&found.report, "divergence");
        assert!(last.chunks(layers.len()).all(|row| row[layers.len() - 1].abs() < 1e-6), "{name}");
    }
}

#[test]
fn leaving_one_out_is_a_run_with_that_edit() {
    let (model, input) = demo("demo:sentiment", "a fine and clever film");
    let found = try_ask(
        &model,
        &input,
        NO_EDITS,
        &MethodCall::LeaveOneOut(LeaveOneOutOptions { by: LeaveOut::Hide }),
        Target::default(),
    )
    .unwrap();
    let class = found.capture.prediction().unwrap().rows[0].top[0].id;
    let run = |edits: Vec<Edit>| {
        let plan = RunPlan { sites: Sites::NONE, logits: Logits::Keep, edits, ..RunPlan::default() };
        model.forward(&input, &plan, &uninterrupted).unwrap().logits().unwrap().as_slice().to_vec()
    };
    let (plain, changes) = (run(Vec::new()), of(&found.report, "logit"));
    for (position, change) in changes.iter().enumerate() {
        let without = run(vec![Edit::HideToken(HideToken { side: Side::Only, position })]);
        let expected = f64::from(plain[class as usize] - without[class as usize]);
        assert!((change - expected).abs() < 1e-5, "{position}: {change} is not {expected}");
    }
    let steps = MethodCall::Gradients(GradientOptions { of: Of::Input, times_input: false, steps: Some(200) });
    let integrated = ask(&model, &input, &steps, Target::default());
    let gained = number(&integrated, "value") - number(&integrated, "baseline");
    let sum: f64 = of(&integrated, "scores").iter().sum();
    assert!((sum - gained).abs() < 0.02 * gained.abs(), "{sum} is not {gained}");
    assert!((number(&integrated, "gap") - (sum - gained)).abs() < 1e-4);
    let rollout = ask(&model, &input, &MethodCall::Rollout(RolloutOptions::default()), Target::default());
    let n = changes.len();
    assert!(of(&rollout, "matrix").chunks(n).all(|row| (row.iter().sum::<f64>() - 1.0).abs() < 1e-5));
    // Effective attention moves what attention moves.
    let effective = ask(&model, &input, &MethodCall::Effective(Effective), Target::default());
    assert!(of(&effective, "effective").iter().all(|weight| weight.is_finite()));
    assert!(of(&effective, "identifiable").iter().all(|share| (0.0..=1.0).contains(share)));
}

#[test]
fn questions_that_do_not_suit_get_a_sentence() {
    let (model, input) = demo("demo:sentiment", "a fine film");
    let at = |position| Target { position: Some(position), ..Target::default() };
    let said = refused(&model, &input, &MethodCall::Lens(LensOptions { n_top: 5, jacobian_lens: None }), at(2));
    assert!(said.contains("one thing for the whole input"), "{said}");
    let said = refused(
        &model,
        &input,
        &MethodCall::DirectLogits(DirectLogits),
        Target { class: Some(7), ..Target::default() },
    );
    assert!(said.contains("no class 7"), "{said}");
    let (model, input) = fixture("bert-bare");
    for asked in [
        MethodCall::Lens(LensOptions { n_top: 5, jacobian_lens: None }),
        MethodCall::DirectLogits(DirectLogits),
        MethodCall::Memories(MemoryOptions { layer: None, n_top: 5 }),
    ] {
        let said = refused(&model, &input, &asked, Target::default());
        assert!(said.contains("no head"), "{asked:?}: {said}");
    }
    let (model, input) = demo("demo:bilstm", "a fine film");
    for asked in [
        MethodCall::Lens(LensOptions { n_top: 5, jacobian_lens: None }),
        MethodCall::DirectLogits(DirectLogits),
        MethodCall::Norms(Norms),
        MethodCall::Memories(MemoryOptions { layer: None, n_top: 5 }),
    ] {
        let said = refused(&model, &input, &asked, Target::default());
        assert!(said.len() > 20 && !said.contains('\n'), "{asked:?}: {said}");
    }
    let (model, input) = fixture("families/clip");
    for asked in
        [MethodCall::Lens(LensOptions { n_top: 5, jacobian_lens: None }), MethodCall::DirectLogits(DirectLogits)]
    {
        assert!(refused(&model, &input, &asked, Target::default()).contains("one number for picture and text"));
    }
}
