//! Pointer networks: what they attend to is what they write.

use attnscope::{
    capture::{Capture, Edit, Matrix, SetPattern, Site},
    ids::{HeadId, Side, StackKind},
    model::{Encoded, Engine, Input, Logits, Model, Objective, RunPlan, Sites, Taps, locate, uninterrupted},
};

use crate::parity::{Reference, load};

const HEAD: HeadId = HeadId { stack: StackKind::Cross, layer: 0, head: 0 };

fn setup() -> (Model, Encoded) {
    let name = "families/pointer";
    let model = load(name);
    let encoded = model.encode(&Reference::open(name, "reference.safetensors").input()).unwrap();
    (model, encoded)
}

fn plan(edits: Vec<Edit>) -> RunPlan {
    RunPlan { sites: Sites::all(), logits: Logits::Keep, edits, ..RunPlan::default() }
}

fn run(model: &Model, encoded: &Encoded, edits: Vec<Edit>) -> Capture {
    model.forward(encoded, &plan(edits), &uninterrupted).unwrap()
}

/// The probability of a token is the sum of the attention to the places that hold it.
#[test]
fn probabilities_are_attention() {
    let (model, encoded) = setup();
    let capture = run(&model, &encoded, vec![]);
    let pattern = capture.stored_pattern(HEAD).unwrap();
    let keys = capture.key_tokens(StackKind::Cross);
    assert!(keys.iter().filter(|key| key.id == Some(17)).count() == 2, "two places hold one token");
    for row in &capture.prediction().unwrap().rows {
        let weights = pattern.row(row.position.unwrap()).unwrap();
        for item in &row.top {
            let sum: f32 = weights.iter().zip(keys).filter(|(_, key)| key.id == Some(item.id)).map(|(w, _)| w).sum();
            assert!((item.value - sum).abs() < 1e-5, "{} {sum}", item.value);
        }
    }
}

/// A pattern that is set is what is written.
#[test]
fn an_edited_pattern_writes_other_tokens() {
    let (model, encoded) = setup();
    let plain = run(&model, &encoded, vec![]);
    let mut pattern = plain.stored_pattern(HEAD).unwrap().as_slice().to_vec();
    let (n_query, n_key) = (plain.query_tokens(StackKind::Cross).len(), plain.key_tokens(StackKind::Cross).len());
    pattern[2 * n_key..3 * n_key].fill(0.0);
    pattern[2 * n_key + 5] = 1.0;
    let pattern = Matrix::new(pattern, [n_query, n_key]).unwrap();
    let changed = run(&model, &encoded, vec![Edit::SetPattern(SetPattern { head: HEAD, pattern })]);
    let best = |capture: &Capture, row: usize| capture.prediction().unwrap().rows[row].top[0].clone();
    assert_eq!(Some(best(&changed, 2).id), plain.key_tokens(StackKind::Cross)[5].id);
    assert!(best(&changed, 2).value > 0.9999);
    assert_eq!(best(&changed, 3), best(&plain, 3), "what is read stays as it was given");
}

/// The logarithm of a probability grows with the weight of a place by the reciprocal of that probability.
#[test]
fn gradients_reach_the_pattern() {
    let (model, encoded) = setup();
    let taps = Taps { sites: Sites::of(&[Site::Pattern]), ..Taps::NONE };
    let objective = Objective::Logit { row: 4, id: 17 };
    let (capture, gradients) = model.gradients(&encoded, &plan(vec![]), objective, taps, &uninterrupted).unwrap();
    let pattern = capture.stored_pattern(HEAD).unwrap();
    let keys = capture.key_tokens(StackKind::Cross);
    let holds: Vec<bool> = keys.iter().map(|key| key.id == Some(17)).collect();
    let sum: f32 = pattern.row(4).unwrap().iter().zip(&holds).filter(|(_, holds)| **holds).map(|(w, _)| w).sum();
    let found = gradients.layer(HEAD).unwrap().pattern().unwrap().head(0).unwrap();
    for (gradient, holds) in found.row(4).unwrap().iter().zip(holds) {
        let expected = if holds { 1.0 / sum } else { 0.0 };
        assert!((gradient - expected).abs() < 1e-3 * (1.0 / sum), "{gradient} {expected}");
    }
}

#[test]
fn numbers_come_back_in_their_order() {
    let (files, name) = locate::model("demo:pointer").unwrap();
    let model = Model::load(&files, &name, &Engine::cpu(Some(1)).unwrap(), &uninterrupted).unwrap();
    for (given, sorted) in [("30, 10, 20", "10 20 30"), ("27 81 4 56 63 12 99 38", "4 12 27 38 56 63 81 99")] {
        let encoded = model.encode(&Input::text(given)).unwrap();
        let capture = model.forward(&encoded, &RunPlan::default(), &uninterrupted).unwrap();
        let written: Vec<&str> = capture.tokens(Side::Decoder)[1..].iter().map(|token| token.text.as_str()).collect();
        assert_eq!(written.join(" "), sorted, "{given}");
    }
}
