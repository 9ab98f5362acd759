//! The laboratory on runs that are changed already, and on models that say something at every token.

use attnscope::{
    analysis::explain::report::{Report, Value},
    capture::{Ablate, Ablation, Edit, Matrix, ReplaceToken, SetPattern},
    ids::{HeadId, Side},
    lab::{LeaveOneOutOptions, LeaveOut, MethodCall, Target},
    model::{Logits, RunPlan, uninterrupted},
};

use crate::lab::{ask, demo, try_ask};

const TEXT: &str = "Mary lost her red keys";
const OFF: HeadId = HeadId::single(0, 0);

/// The numbers of a value by layer and head.
fn by_head(report: &Report, name: &str) -> Vec<Vec<f64>> {
    let Some(Value::Layers(layers)) = report.value(name) else { panic!("{name} has no layers") };
    let list = |value: &Value| match value {
        Value::List(values) => values.clone(),
        other => panic!("{other:?}"),
    };
    layers.iter().map(list).collect()
}

/// Who takes over once a head is off: the others are tried, and what is off already is skipped, and that is said.
#[test]
fn heads_are_switched_off_one_by_one_where_one_is_off_already() {
    let (model, input) = demo("demo:gpt", TEXT);
    for with in [Ablation::Zero, Ablation::Mean, Ablation::Uniform] {
        let edits = [Edit::Ablate(Ablate { head: OFF, with: Ablation::Zero })];
        let report = try_ask(&model, &input, &edits, &MethodCall::Ablation(with), Target::default()).unwrap().report;
        let found = by_head(&report, "logit");
        assert!(found[0][0].is_nan() && report.notes == ["L0H0 is switched off already, so it was skipped"]);
        // Another head, against two runs by hand.
        let logit = |edits: Vec<Edit>| {
            let plan = RunPlan { logits: Logits::Keep, edits, ..RunPlan::default() };
            let capture = model.forward(&input, &plan, &uninterrupted).unwrap();
            let row = capture.tokens(Side::Only).len() - 1;
            let best = capture.prediction().unwrap().rows.last().unwrap().top[0].id;
            (best, capture.logits().unwrap().row(row).unwrap().to_vec())
        };
        let (best, before) = logit(edits.to_vec());
        let other = Edit::Ablate(Ablate { head: HeadId::single(1, 2), with });
        let (_, after) = logit(vec![edits[0].clone(), other]);
        let expected = f64::from(before[best as usize] - after[best as usize]);
        assert!((found[1][2] - expected).abs() < 1e-4, "{with:?}: {} is {expected}", found[1][2]);
    }
}

/// A head whose weights were set by hand is switched off instead, and a token that was replaced is masked instead.
#[test]
fn what_is_tried_takes_the_place_of_what_it_contradicts() {
    let (model, input) = demo("demo:gpt", TEXT);
    let n = input.tokens[&Side::Only].len();
    let pattern = Matrix::new(vec![1.0 / n as f32; n * n], [n, n]).unwrap();
    let edits = [Edit::SetPattern(SetPattern { head: OFF, pattern })];
    let report =
        try_ask(&model, &input, &edits, &MethodCall::Ablation(Ablation::Zero), Target::default()).unwrap().report;
    assert!(by_head(&report, "logit").iter().flatten().all(|value| value.is_finite()) && report.notes.is_empty());

    let (model, input) = demo("demo:bert", "Mary lost [MASK] keys.");
    let edits = [Edit::ReplaceToken(ReplaceToken { side: Side::Only, position: 1, id: 7 })];
    let masked = MethodCall::LeaveOneOut(LeaveOneOutOptions { by: LeaveOut::Mask });
    try_ask(&model, &input, &edits, &masked, Target::default()).unwrap();
}

#[test]
fn the_weights_of_a_head_that_is_off_are_not_put_to_the_test() {
    let (model, input) = demo("demo:gpt", TEXT);
    let edits = [Edit::Ablate(Ablate { head: OFF, with: Ablation::Zero })];
    let options = attnscope::lab::FaithfulnessOptions {
        stack: None,
        layer: Some(0),
        head: Some(0),
        n_permutations: 4,
        n_steps: 0,
        seed: 1,
    };
    let refusal = try_ask(&model, &input, &edits, &MethodCall::Faithfulness(options), Target::default()).unwrap_err();
    assert_eq!(refusal.to_string(), "L0H0 is switched off already, so its weights change nothing");
}

/// Without a choice it is the mask that is explained, or else the first word, and never a token that was added.
#[test]
fn a_model_that_fills_in_is_explained_where_it_says_something() {
    for (text, position) in [("Mary lost [MASK] keys.", 3), ("Mary lost her keys.", 1)] {
        let (model, input) = demo("demo:bert", text);
        let report =
            ask(&model, &input, &MethodCall::LeaveOneOut(LeaveOneOutOptions { by: LeaveOut::Hide }), Target::default());
        let found = report.parameters.iter().find(|(name, _)| name == "position").unwrap().1.as_u64().unwrap();
        assert_eq!(found, position, "{text}");
        assert!(!input.tokens[&Side::Only][found as usize].special || text.contains("[MASK]"));
    }
}
