//! Explanations on matrices: against numpy, scipy and torch (`tests/fixtures/generate_explain.py`).

use std::{fs, path::Path};

use attnscope::{
    analysis::explain::{
        dense::Dense,
        divergence,
        effective::effective,
        flow::flow,
        normalizers,
        norms::{Moved, NormAfter},
        rank,
        relevance::{DecoderLayer, RelevanceOptions, encoder_decoder, relevance},
        rollout::{Fuse, RolloutOptions, rollout},
    },
    capture::{Matrix, PerHead},
    projection::to_the_end,
};
use serde_json::Value;

fn reference() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/explain/reference.json");
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// All numbers of nested lists, in order.
fn numbers(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(values) => values.iter().flat_map(numbers).collect(),
        value => vec![value.as_f64().unwrap()],
    }
}

fn shape(value: &Value) -> Vec<usize> {
    let Value::Array(values) = value else { return Vec::new() };
    [vec![values.len()], values.first().map(shape).unwrap_or_default()].concat()
}

fn singles(value: &Value) -> Vec<f32> {
    numbers(value).into_iter().map(|value| value as f32).collect()
}

fn matrix(value: &Value) -> Matrix {
    Matrix::new(singles(value), shape(value).try_into().unwrap()).unwrap()
}

fn per_head(value: &Value) -> PerHead {
    PerHead::new(singles(value), shape(value).try_into().unwrap()).unwrap()
}

fn layers(value: &Value) -> Vec<PerHead> {
    value.as_array().unwrap().iter().map(per_head).collect()
}

/// Equal to 1e-6 of the largest value.
fn assert_near<T: Copy + Into<f64>>(actual: &[T], expected: &Value, what: &str) {
    let expected = numbers(expected);
    assert_eq!(actual.len(), expected.len(), "{what}");
    let largest = expected.iter().fold(1e-3f64, |largest, value| largest.max(value.abs()));
    for (nth, (actual, expected)) in actual.iter().zip(&expected).enumerate() {
        let actual: f64 = (*actual).into();
        assert!((actual - expected).abs() <= 1e-6 * largest, "{what} [{nth}]: {actual}, not {expected}");
    }
}

#[test]
fn rollout_with_every_choice_is_numpys() {
    let reference = reference();
    let patterns = layers(&reference["patterns"]);
    for case in reference["rollout"].as_array().unwrap() {
        let options = RolloutOptions {
            fuse: Fuse::from_name(case["fuse"].as_str().unwrap()).unwrap(),
            discard: case["discard"].as_f64().unwrap(),
            residual: case["residual"].as_f64().unwrap(),
            start_layer: case["start"].as_u64().unwrap() as usize,
        };
        let found = rollout(&patterns, options).unwrap().pop().unwrap();
        assert_near(found.as_slice(), &case["matrix"], &format!("{options:?}"));
    }
}

/// Largest flows as linear programs.
#[test]
fn flow_is_that_of_a_linear_program() {
    let reference = reference();
    for (nth, (patterns, query)) in [("patterns", 2), ("causal", 6)].into_iter().enumerate() {
        let found = flow(&layers(&reference[patterns]), &[query], RolloutOptions::default(), &to_the_end).unwrap();
        assert_near(found.raw.as_slice(), &reference["flow"][nth], patterns);
    }
}

#[test]
fn relevance_of_one_stack_and_of_joined_ones_is_numpys() {
    let reference = reference();
    let (patterns, gradients) = (layers(&reference["patterns"]), layers(&reference["gradients"]));
    let found = relevance(&patterns, &gradients, RelevanceOptions::default()).unwrap();
    assert_near(found.as_slice(), &reference["relevance"], "one stack");
    let joint = &reference["joint"];
    let stack = |name: &str| (layers(&joint[name]["patterns"]), layers(&joint[name]["gradients"]));
    let ((encoder, by_encoder), (decoder, by_decoder), (cross, by_cross)) =
        (stack("encoder"), stack("decoder"), stack("cross"));
    let encoder: Vec<[&PerHead; 2]> = encoder.iter().zip(&by_encoder).map(|(a, g)| [a, g]).collect();
    let decoder: Vec<DecoderLayer<'_>> = (0..decoder.len())
        .map(|layer| DecoderLayer {
            own: [&decoder[layer], &by_decoder[layer]],
            cross: [&cross[layer], &by_cross[layer]],
        })
        .collect();
    let found = encoder_decoder(&encoder, &decoder).unwrap();
    for (nth, found) in [&found.encoder, &found.decoder, &found.cross].into_iter().enumerate() {
        assert_near(found.as_slice(), &joint["expected"][nth], ["encoder", "decoder", "cross"][nth]);
    }
}

/// The published way writes down every vector that is moved; ours does not.
#[test]
fn norms_and_mixing_ratios_are_those_of_the_vectors() {
    let reference = reference();
    let norms = &reference["norms"];
    let pattern = per_head(&reference["patterns"][0]);
    let moved = Moved::new(&per_head(&norms["values"]), &per_head(&norms["output"])).unwrap();
    assert_near(moved.lengths().as_slice(), &norms["lengths"], "lengths");
    assert_near(moved.by_head(&pattern).unwrap().as_slice(), &norms["by_head"], "by head");
    assert_near(moved.together(&pattern).unwrap().as_slice(), &norms["together"], "together");
    let (x, input, weight) = (matrix(&norms["x"]), matrix(&norms["input"]), singles(&norms["gamma"]));
    let norm = NormAfter { input: &input, weight: &weight, epsilon: 1e-5 };
    let choices = [(None, None), (Some(&x), None), (Some(&x), Some(norm))];
    for (nth, (residual, norm)) in choices.into_iter().enumerate() {
        let ratios = moved.mixing_ratios(&pattern, residual, norm).unwrap();
        assert_near(&ratios, &norms["ratios"][nth], &format!("ratio {nth}"));
    }
}

#[test]
fn effective_attention_is_that_of_the_pseudo_inverse() {
    let reference = reference();
    let values = per_head(&reference["norms"]["values"]).head(0).unwrap();
    for (name, patterns, causal) in [("plain", "patterns", false), ("causal", "causal", true)] {
        let pattern = per_head(&reference[patterns][0]).head(0).unwrap();
        let found = effective(&pattern, &values, causal).unwrap();
        assert_near(found.pattern.as_slice(), &reference["effective"][name], name);
        let visible = (0..7).map(|query| if causal { query + 1 } else { 7 });
        assert!(found.identifiable.iter().zip(visible).all(|(identifiable, n)| *identifiable == (n <= 3)));
    }
}

#[test]
fn normalisers_and_their_gradients_are_those_of_root_finding_and_torch() {
    let reference = &reference()["normalizers"];
    let (scores, upstream) = (numbers(&reference["scores"]), numbers(&reference["upstream"]));
    for case in reference["entmax"].as_array().unwrap() {
        let alpha = case["alpha"].as_f64().unwrap();
        let weights = normalizers::entmax(&scores, alpha);
        assert_near(&weights, &case["weights"], &format!("{alpha}-entmax"));
        let slope = normalizers::entmax_gradient(&weights, alpha, &upstream);
        assert_near(&slope, &case["slope"], &format!("slope of {alpha}-entmax"));
    }
    for case in reference["fused"].as_array().unwrap() {
        let strength = case["lambda"].as_f64().unwrap();
        assert_near(&normalizers::prox_tv(&scores, strength), &case["values"], "fused scores");
        assert_near(&normalizers::fusedmax(&scores, strength), &case["weights"], "fusedmax");
    }
}

#[test]
fn measures_of_agreement_are_scipys() {
    let reference = reference();
    for case in reference["ranks"].as_array().unwrap() {
        let (x, y) = (numbers(&case["x"]), numbers(&case["y"]));
        let found = rank::kendall(&x, &y).unwrap();
        assert_near(&[found.tau], &case["tau"], "τ");
        assert_near(&[found.p], &case["p"], "p");
        assert_near(&[rank::spearman(&x, &y).unwrap()], &case["rho"], "ρ");
    }
    let pattern = per_head(&reference["patterns"][0]);
    let row = |head: usize| Dense::from(&pattern.head(head).unwrap()).row(0).to_vec();
    assert_near(&[divergence::jsd(&row(0), &row(1))], &reference["divergence"]["jsd"], "divergence");
}
