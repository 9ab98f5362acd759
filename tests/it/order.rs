//! Runs without positions, against PyTorch with tables and frequencies of zeros
//! (`tests/fixtures/generate_order.py`).

use std::fs;

use attnscope::{
    capture::{Capture, NoPositions},
    ids::{HeadId, StackKind},
    model::{Edit, Encoded, Logits, Model, ModelError, RunPlan, Site, Sites, Variant, uninterrupted},
};
use safetensors::SafeTensors;
use serde_json::json;

use crate::{
    families::{self, families},
    lab::fixture,
    parity,
};

/// Largest difference of logits and weights.
const TOLERANCE: f32 = 2e-5;

fn without_positions() -> Edit {
    NoPositions { all: () }.into()
}

fn run(model: &Model, encoded: &Encoded, edits: Vec<Edit>) -> Result<Capture, ModelError> {
    let sites = Sites::of(&[Site::Q, Site::K, Site::Scores, Site::Pattern]);
    model.forward(encoded, &RunPlan { sites, logits: Logits::Keep, edits, ..RunPlan::default() }, &uninterrupted)
}

fn furthest(a: &[f32], b: &[f32]) -> f32 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

#[test]
fn a_run_without_positions_is_pytorchs_with_tables_of_zeros() {
    let bytes = fs::read(parity::fixture("order/expected.safetensors")).unwrap();
    let expected = SafeTensors::deserialize(&bytes).unwrap();
    for (name, tensor) in expected.tensors() {
        let (family, rest) = name.split_once('.').unwrap();
        let folder = if ["llama", "t5"].contains(&family) { format!("families/{family}") } else { family.to_owned() };
        let (model, encoded) = fixture(&folder);
        let capture = run(&model, &encoded, vec![without_positions()]).unwrap();
        let numbers: Vec<f32> =
            tensor.data().chunks_exact(4).map(|four| f32::from_le_bytes(four.try_into().unwrap())).collect();
        let found = match rest.split_once('.') {
            None => capture.logits().unwrap().as_slice().to_vec(),
            Some((stack, layer)) => {
                let stack = capture.stack(StackKind::from_name(stack).unwrap()).unwrap();
                stack.layers[layer.parse::<usize>().unwrap()].pattern().unwrap().as_slice().to_vec()
            }
        };
        assert!(furthest(&found, &numbers) < TOLERANCE, "{name}: {}", furthest(&found, &numbers));
        assert!(capture.notes().iter().any(|note| note.contains("off distribution")), "{:?}", capture.notes());
    }
}

/// Of every family, with what scores are made of beside them.
#[test]
fn every_family_runs_without_positions_or_says_that_it_has_none() {
    let mut refused = Vec::new();
    for name in families() {
        let (model, reference) = families::open(&name);
        let encoded = model.encode(&reference.input()).unwrap();
        match run(&model, &encoded, vec![without_positions()]) {
            Ok(capture) => {
                let plain = run(&model, &encoded, Vec::new()).unwrap();
                let head = HeadId { stack: model.spec().stacks[0].kind, ..HeadId::default() };
                let [changed, plain] = [&capture, &plain].map(|capture| capture.stored_pattern(head).unwrap());
                assert!(changed.as_slice().iter().all(|weight| weight.is_finite()), "{name}");
                assert_eq!(changed.shape(), plain.shape(), "{name}");
            }
            Err(error) => {
                assert!(error.to_string().contains("touches nothing"), "{name}: {error}");
                refused.push(name);
            }
        }
    }
    let has_none = |name: &String| name.starts_with("rnnsearch") || name.starts_with("bilstm");
    assert!(refused.iter().all(has_none), "{refused:?}");
    assert!(!refused.is_empty());
}

#[test]
fn runs_with_and_without_positions_go_into_one_pass() {
    for folder in ["gpt2", "families/llama", "families/t5", "bert"] {
        let (model, encoded) = fixture(folder);
        let changes = [Vec::new(), vec![without_positions()]];
        let variants: Vec<Variant<'_>> = changes.iter().map(|edits| Variant::of(&encoded, edits, 2)).collect();
        let mut packed = vec![Vec::new(); 2];
        model.logits_of(&variants, &uninterrupted, &mut |idx, row| packed[idx] = row.to_vec()).unwrap();
        for (nth, edits) in changes.iter().enumerate() {
            let alone = run(&model, &encoded, edits.clone()).unwrap();
            let apart = furthest(&packed[nth], alone.logits().unwrap().row(2).unwrap());
            assert!(apart < TOLERANCE, "{folder}, {edits:?}: {apart}");
        }
    }
}

#[test]
fn the_change_is_read_as_it_is_written() {
    let json = json!({ "no_positions": true });
    let edit = Edit::from_json(&json).unwrap();
    assert_eq!((edit.to_string().as_str(), serde_json::to_value(&edit).unwrap()), ("positions are left out", json));
    let refusal = Edit::from_json(&json!({ "no_positions": false })).unwrap_err();
    assert!(refusal.contains("it is true, or left out"), "{refusal}");
}
