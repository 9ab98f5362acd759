//! Layers that read the keys and values of an earlier one, and inputs of layers' own, in runs of every kind.

use std::borrow::Cow;

use attnscope::{
    capture::{Ablate, Ablation, Capture, Matrix, Patch, Site},
    ids::{HeadId, StackKind},
    lab::{DirectLogits, MethodCall, Target},
    model::{Edit, Encoded, Input, Logits, Model, RunPlan, Sites, Variant, uninterrupted},
};

use crate::{families::open, lab};

const SELF: StackKind = StackKind::SelfAttention;
/// In the fixture: full layers, the later of which reads the keys and values of the earlier.
const LENDER: usize = 1;
const BORROWER: usize = 4;

fn input(model: &Model, n: usize) -> Encoded {
    let ids: Vec<u32> = (0..n).map(|at| (17 * at as u32 + 5) % 99).collect();
    model.encode(&Input::Ids(ids.as_slice().into())).unwrap()
}

fn run(model: &Model, input: &Encoded, edits: &[Edit]) -> Capture {
    let plan = RunPlan { sites: Sites::all(), logits: Logits::Keep, edits: edits.to_vec(), ..RunPlan::default() };
    model.forward(input, &plan, &uninterrupted).unwrap()
}

fn keys(capture: &Capture, layer: usize) -> &[f32] {
    capture.layer(HeadId { stack: SELF, layer, head: 0 }).unwrap().k().unwrap().as_slice()
}

fn patterns(capture: &Capture, layer: usize) -> &[f32] {
    capture.layer(HeadId { stack: SELF, layer, head: 0 }).unwrap().pattern().unwrap().as_slice()
}

/// A key of the first key head of a layer at position 2, put at zero.
fn without_key(layer: usize) -> Edit {
    let value = Matrix::new(vec![0.0; 12], [1, 12]).unwrap();
    Edit::Patch(Patch { site: Site::K, stack: SELF, layer, head: Some(0), positions: vec![2], value })
}

#[test]
fn keys_are_those_of_the_lender_and_a_change_of_them_reaches_the_borrower() {
    let (model, _) = open("gemma4_text");
    let input = input(&model, 14);
    let plain = run(&model, &input, &[]);
    assert_eq!(keys(&plain, LENDER), keys(&plain, BORROWER));
    assert_ne!(keys(&plain, LENDER), keys(&plain, BORROWER - 1));
    let lent = run(&model, &input, &[without_key(LENDER)]);
    assert_eq!(keys(&lent, LENDER), keys(&lent, BORROWER));
    assert_ne!(keys(&lent, LENDER), keys(&plain, LENDER));
    let own = run(&model, &input, &[without_key(BORROWER)]);
    assert_eq!(keys(&own, LENDER), keys(&plain, LENDER));
    assert_eq!(patterns(&own, LENDER), patterns(&plain, LENDER));
    assert_ne!(patterns(&own, BORROWER), patterns(&plain, BORROWER));
}

#[test]
fn inputs_in_one_pass_are_as_each_alone() {
    for name in ["gemma4_text", "gemma4"] {
        let (model, _) = open(name);
        assert!(!model.goes_on(), "{name}: its layers need more than the stream");
        let inputs = [19, 7, 12].map(|n| input(&model, n));
        let plan = RunPlan { sites: Sites::all(), logits: Logits::Keep, ..RunPlan::default() };
        for (input, packed) in inputs.iter().zip(model.forward_packed(&inputs, &plan, &uninterrupted).unwrap()) {
            let alone = run(&model, input, &[]);
            near(packed.logits().unwrap().as_slice(), alone.logits().unwrap().as_slice(), name);
        }
    }
}

/// Runs that are alike until they attend in the first layer, which is a lender in one of these.
#[test]
fn changed_runs_in_one_pass_are_as_each_alone() {
    for (name, n_layers) in [("gemma4_text", 5), ("gemma4", 2)] {
        let (model, _) = open(name);
        let input = input(&model, 9);
        let heads = (0..n_layers).flat_map(|layer| (0..2).map(move |head| HeadId { stack: SELF, layer, head }));
        let edits: Vec<[Edit; 1]> = heads.map(|head| [Ablate { head, with: Ablation::Zero }.into()]).collect();
        let variants: Vec<Variant<'_>> = edits.iter().map(|edits| Variant::of(&input, edits, 8)).collect();
        let mut found = Vec::new();
        model.logits_of(&variants, &uninterrupted, &mut |_, logits| found.push(logits.to_vec())).unwrap();
        for (variant, logits) in variants.iter().zip(&found) {
            let Cow::Borrowed(edits) = &variant.edits else { unreachable!("they were borrowed") };
            let alone = run(&model, &input, edits);
            near(logits, alone.logits().unwrap().row(8).unwrap(), &format!("{name}, {edits:?}"));
        }
        assert!(found.windows(2).any(|pair| pair[0] != pair[1]));
    }
}

fn near(found: &[f32], expected: &[f32], what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let worst = found.iter().zip(expected).map(|(a, b)| (a - b).abs()).fold(0.0f32, f32::max);
    assert!(worst < 1e-5, "{what}: {worst}");
}

#[test]
fn a_stream_that_more_is_added_to_is_not_divided() {
    let (model, input) = lab::fixture("families/gemma4_text");
    let said = lab::refused(&model, &input, &MethodCall::DirectLogits(DirectLogits), Target::default());
    assert!(said.contains("not a sum of parts"), "{said}");
}
