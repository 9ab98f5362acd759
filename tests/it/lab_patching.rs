//! Attribution patching against PyTorch (`tests/fixtures/generate_lab_patching.py`), finite differences and exact
//! patching.

use std::fs;

use attnscope::{
    analysis::explain::report::{ColumnValues, Report, Value},
    capture::{Excerpt, Keep, Matrix, Patch},
    ids::{Side, StackKind},
    lab::{MethodCall, PatchingOptions, Target},
    model::{Edit, Input, Model, Preparation, RunPlan, Site, Sites, TextInput, Variant, uninterrupted},
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
    let (ColumnValues::Text(heads), ColumnValues::Index(positions)) = (column("head"), column("position")) else {
        panic!("no pairs")
    };
    let (ColumnValues::Number(estimates), ColumnValues::Number(exact)) = (column("estimate"), column("exact")) else {
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
            let edit =
                Edit::Patch(Patch { site: Site::Z, stack, layer, head: Some(head), positions: vec![position], value });
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

/// The score of the answer in the other text, and what is said about it.
fn beside(model: &Model, input: &Input, other: &str, class: u32) -> (f64, Vec<String>) {
    let input = model.encode(input).unwrap();
    let input = model.completed(&input, &RunPlan::silent(), &uninterrupted).unwrap();
    let call = PatchingOptions { other: Some(other.to_owned()), n_exact: 1 };
    let target = Target { class: Some(class), ..Target::default() };
    let found = ask(model, &input, &MethodCall::AttributionPatching(call), target);
    (number(&found, "corrupted"), found.notes)
}

/// The score of a class in the last row of what reads or writes.
fn score(model: &Model, input: &Input, class: u32) -> f64 {
    let input = model.encode(input).unwrap();
    let row = input.tokens.last_key_value().unwrap().1.len() - 1;
    let mut found = 0.0;
    let read = &mut |_, logits: &[f32]| found = f64::from(logits[class as usize]);
    model.logits_of(&[Variant::of(&input, &[], row)], &uninterrupted, read).unwrap();
    found
}

#[test]
fn another_text_is_prepared_as_the_first() {
    const CLASS: u32 = 40;
    let (model, _) = demo("demo:gpt", "The");
    let near = |(found, _): (f64, Vec<String>), expected: f64, what: &str| {
        assert!((found - expected).abs() < 1e-4, "{what}: {found}, {expected}");
    };
    for (first, other) in
        [(" The dog ran", " The cat ran"), ("The dog ran ", "The cat ran "), ("\nThe dog", "\nThe cat")]
    {
        near(beside(&model, &Input::text(first), other, CLASS), score(&model, &Input::text(other), CLASS), other);
    }
    let ids = |text: &str| -> Vec<u32> {
        model.encode(&Input::text(text)).unwrap().tokens.values().flatten().filter_map(|token| token.id).collect()
    };
    let (first, other) = (ids("The dog ran"), ids("The cat ran"));
    let list = other.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
    near(beside(&model, &Input::Ids(first.clone()), &list, CLASS), score(&model, &Input::Ids(other), CLASS), "ids");
    let wrong = model.encode(&Input::Ids(first)).unwrap();
    let call = PatchingOptions { other: Some("The cat ran".to_owned()), n_exact: 1 };
    let said = refused(&model, &wrong, &MethodCall::AttributionPatching(call), Target::default());
    assert!(said.contains("is no list of ids"), "{said}");

    // What is left out of the first text, or cut off it, is so of the other one, and said.
    let cut = Preparation::reading(Some(Excerpt::of(Keep::First, 3)));
    let text = |text: &str, how| Input::Text(TextInput { text: text.to_owned(), how, ..TextInput::default() });
    let (first, other) = ("The dog ran to the house", "The cat ran away");
    let found = beside(&model, &text(first, cut), other, CLASS);
    assert!(found.1.iter().any(|note| note.contains("only the first 3 were read")), "{:?}", found.1);
    near(found, score(&model, &text(other, cut), CLASS), "cut");
    let bert = parity::load("bert");
    let bare = Preparation { no_special: true, ..Preparation::default() };
    let n = |how| bert.encode(&text("the cat", how)).unwrap().tokens.values().flatten().count();
    assert!(n(bare) < n(Preparation::default()), "it adds special tokens");
    let (first, pair) = (text("the street", bare), |text_b: &str, text: &str| {
        Input::Text(TextInput {
            text: text.to_owned(),
            text_b: Some(text_b.to_owned()),
            how: bare,
            ..TextInput::default()
        })
    });
    let at = |input: &Input, other: &str, expected: &Input| {
        let (input, expected) = (bert.encode(input).unwrap(), bert.encode(expected).unwrap());
        let call = PatchingOptions { other: Some(other.to_owned()), n_exact: 1 };
        let target = Target { class: Some(CLASS), position: Some(1), ..Target::default() };
        let found = ask(&bert, &input, &MethodCall::AttributionPatching(call), target);
        let mut right = 0.0;
        let read = &mut |_, logits: &[f32]| right = f64::from(logits[CLASS as usize]);
        bert.logits_of(&[Variant::of(&expected, &[], 1)], &uninterrupted, read).unwrap();
        near((number(&found, "corrupted"), Vec::new()), right, other);
    };
    at(&first, "the cat", &text("the cat", bare));
    at(&pair("the cat", "the street"), "the cat", &pair("the cat", "the cat"));
}

/// What the decoder writes, or is given as ids, is the same in both runs, as a target text is.
#[test]
fn an_encoder_decoder_without_a_target_text_has_effects() {
    let (model, whole) = demo("demo:translate", "Good morning my friend");
    let written: Vec<u32> = whole.tokens[&Side::Decoder].iter().filter_map(|token| token.id).collect();
    let last = *written.last().unwrap();
    let forced = Input::text("Good evening my friend").with_target(Input::Ids(written.clone()));
    let right = score(&model, &forced, last);
    for input in
        [Input::text("Good morning my friend"), Input::text("Good morning my friend").with_target(Input::Ids(written))]
    {
        let (found, _) = beside(&model, &input, "Good evening my friend", last);
        assert!((found - right).abs() < 1e-4, "{input:?}: {found}, {right}");
    }
}
