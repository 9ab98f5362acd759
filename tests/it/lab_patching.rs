//! Attribution patching against PyTorch (`tests/fixtures/generate_lab_patching.py`), finite differences and exact
//! patching.

use std::fs;

use attnscope::{
    analysis::explain::report::{Cells, Report, Value},
    capture::Matrix,
    ids::StackKind,
    lab::{MethodCall, PatchingOptions, Target},
    model::{Edit, Input, RunPlan, Site, Sites, Variant, uninterrupted},
};
use serde_json::Value as Json;

use crate::{
    lab::{ask, assert_near_of, column, demo, number, refused},
    parity,
};

/// Estimates by layer, head and position.
fn estimates(report: &Report) -> Vec<f64> {
    let Some(Value::Layers(layers)) = report.value("by_position") else { panic!("no estimates") };
    let of = |layer: &Value| match layer {
        Value::Heads { values, .. } => values.as_slice().iter().map(|value| f64::from(*value)).collect::<Vec<_>>(),
        other => panic!("{other:?}"),
    };
    layers.iter().flat_map(of).collect()
}

/// An effect that was computed exactly, too.
struct Pair {
    /// Layer, head, position.
    at: [usize; 3],
    estimate: f64,
    exact: f64,
}

fn pairs(report: &Report) -> Vec<Pair> {
    let column = |name| column(report.value("largest").unwrap(), name);
    let (Cells::Text(heads), Cells::Index(positions)) = (column("head"), column("position")) else {
        panic!("no pairs")
    };
    let (Cells::Number(estimates), Cells::Number(exact)) = (column("estimate"), column("exact")) else {
        panic!("no effects")
    };
    let pair = |nth: usize| {
        let (layer, head) = heads[nth].trim_start_matches('L').split_once('H').unwrap();
        let at = [layer.parse().unwrap(), head.parse().unwrap(), positions[nth]];
        Pair { at, estimate: estimates[nth], exact: exact[nth] }
    };
    (0..heads.len()).map(pair).collect()
}

fn flat(json: &Json) -> Vec<f64> {
    match json {
        Json::Array(values) => values.iter().flat_map(flat).collect(),
        value => vec![value.as_f64().unwrap()],
    }
}

#[test]
fn estimates_and_exact_effects_are_pytorchs() {
    let cases: Json = serde_json::from_slice(&fs::read(parity::fixture("lab/patching.json")).unwrap()).unwrap();
    for case in cases.as_array().unwrap() {
        let text = |name: &str| case[name].as_str().unwrap();
        let id = |name: &str| case[name].as_u64().unwrap();
        let model = parity::load(text("model"));
        let input = model.encode(&Input::text(text("text"))).unwrap();
        let expected = flat(&case["estimate"]);
        let call = PatchingOptions { other: Some(text("other").to_owned()), n_exact: expected.len() };
        let target = Target {
            position: Some(id("row") as usize),
            class: Some(id("target") as u32),
            against: Some(id("against") as u32),
        };
        let found = ask(&model, &input, &MethodCall::AttributionPatching(call), target);
        let size = expected.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
        assert_near_of(size, &estimates(&found), &expected, text("model"));
        assert_near_of(1.0, &[number(&found, "clean")], &flat(&case["clean"]), "clean");
        assert_near_of(1.0, &[number(&found, "corrupted")], &flat(&case["corrupted"]), "corrupted");
        // Every pair was tried: the table has them by the size of the estimate.
        for Pair { at: [layer, head, position], exact, .. } in pairs(&found) {
            let expected = &case["exact"][layer][head][position];
            assert_near_of(1.0, &[exact], &flat(expected), "exact");
        }
    }
}

/// A small part of the way from the corrupted output to the clean one moves the score by that part of the estimate.
#[test]
fn an_estimate_is_the_slope_of_the_patched_score() {
    let (model, input) = demo("demo:gpt", "The little dog ran to the");
    let other = model.encode(&Input::text("The little cat ran to the")).unwrap();
    let call = PatchingOptions { other: Some("The little cat ran to the".to_owned()), n_exact: 3 };
    let found = ask(&model, &input, &MethodCall::AttributionPatching(call), Target::default());
    let id = found.parameters.iter().find(|(name, _)| name == "class").unwrap().1["id"].as_u64().unwrap() as usize;
    let z = |input| {
        let plan = RunPlan { sites: Sites::of(&[Site::Z]), ..RunPlan::default() };
        model.forward(input, &plan, &uninterrupted).unwrap()
    };
    let (clean, corrupted) = (z(&input), z(&other));
    for Pair { at: [layer, head, position], estimate: expected, .. } in pairs(&found) {
        let row = |run: &attnscope::capture::Capture| {
            let layer = &run.stack(StackKind::SelfAttention).unwrap().layers[layer];
            layer.z().unwrap().head(head).unwrap().row(position).unwrap().to_vec()
        };
        let (from, to) = (row(&corrupted), row(&clean));
        let score = |share: f32| {
            let value: Vec<f32> = from.iter().zip(&to).map(|(from, to)| from + share * (to - from)).collect();
            let value = Matrix::new(value, [1, from.len()]).unwrap();
            let stack = StackKind::SelfAttention;
            let edit = Edit::Patch { site: Site::Z, stack, layer, head: Some(head), positions: vec![position], value };
            let edits = [edit];
            let variant = Variant::of(&other, &edits, other.tokens.values().next().unwrap().len() - 1);
            let mut found = 0.0;
            model.logits_of(&[variant], &uninterrupted, &mut |_, logits| found = f64::from(logits[id])).unwrap();
            found
        };
        let step = 0.05;
        let slope = (score(step) - score(-step)) / f64::from(2.0 * step);
        let size = expected.abs().max(0.1);
        assert!((slope - expected).abs() < 1e-3 * size.max(1.0), "L{layer}H{head} at {position}: {slope}, {expected}");
    }
}

#[test]
fn equal_texts_have_no_effect_and_other_lengths_are_refused() {
    let (model, input) = demo("demo:gpt", "The little dog ran to the");
    let of = |other: Option<&str>| {
        MethodCall::AttributionPatching(PatchingOptions { other: other.map(str::to_owned), n_exact: 5 })
    };
    let same = ask(&model, &input, &of(Some("The little dog ran to the")), Target::default());
    assert!(estimates(&same).iter().all(|value| *value == 0.0));
    assert!(number(&same, "largest_error") < 1e-4);
    let said = refused(&model, &input, &of(Some("The dog ran")), Target::default());
    assert!(said.contains("tokens and this one") && said.contains("exchange words"), "{said}");
    assert!(refused(&model, &input, &of(None), Target::default()).contains("give the other text"));
}
