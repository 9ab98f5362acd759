//! Attention and a state space side by side in a layer: what stands beside attention is a stack of its own.

use attnscope::{
    analysis::{attention, explain::rollout::RolloutOptions},
    capture::{Ablate, Ablation, Capture, HideToken, Site},
    ids::{HeadId, Side, StackKind},
    lab::{DirectLogits, MethodCall, Target},
    model::{Edit, Logits, Model, RunPlan, Sites, uninterrupted},
    spec::PatternKind,
};

use crate::{families::open, lab};

const SELF: HeadId = HeadId { stack: StackKind::SelfAttention, layer: 1, head: 2 };
const BESIDE: HeadId = HeadId { stack: StackKind::Beside, layer: 1, head: 5 };

fn run(model: &Model, edits: Vec<Edit>) -> Result<Capture, String> {
    let ids: Vec<u32> = (0..20).map(|at| (17 * at + 5) % 99).collect();
    let encoded = model.encode(&attnscope::model::Input::Ids(ids.as_slice().into())).unwrap();
    let plan = RunPlan { sites: Sites::all(), logits: Logits::Keep, edits, ..RunPlan::default() };
    model.forward(&encoded, &plan, &uninterrupted).map_err(|error| error.to_string())
}

#[test]
fn heads_of_both_are_there_and_say_what_their_patterns_are() {
    let (model, _) = open("falcon_h1");
    let stacks: Vec<_> = model.spec().stacks.iter().map(|stack| (stack.kind, stack.n_heads(1))).collect();
    assert_eq!(stacks, [(StackKind::SelfAttention, 4), (StackKind::Beside, 6)]);
    assert_eq!(model.spec().pattern_of(SELF), Some(PatternKind::Distribution));
    assert_eq!(model.spec().pattern_of(BESIDE), Some(PatternKind::Effective));
    let capture = run(&model, Vec::new()).unwrap();
    let (pattern, layer) = (attention::effective(&capture, BESIDE, None).unwrap(), capture.layer(BESIDE).unwrap());
    let (v, z) = (layer.v().unwrap().head(5).unwrap(), layer.z().unwrap().head(5).unwrap());
    for (row, weights) in pattern.as_slice().chunks(20).enumerate() {
        for (column, z) in z.row(row).unwrap().iter().enumerate() {
            let sum: f32 = weights.iter().enumerate().map(|(key, m)| m * v.row(key).unwrap()[column]).sum();
            assert!((sum - z).abs() < 1e-4 * z.abs().max(1.0), "{row} {column}: {sum} is not {z}");
        }
    }
}

#[test]
fn both_add_to_the_stream_between_attention_and_mlp() {
    for name in ["falcon_h1", "falcon_h1-normed"] {
        let (model, _) = open(name);
        let capture = run(&model, Vec::new()).unwrap();
        let of = |stack, site| capture.stack(stack).unwrap().layers[1].rows(site).unwrap().as_slice();
        let own = |site| of(StackKind::SelfAttention, site);
        let added = own(Site::AttnOut).iter().zip(of(StackKind::Beside, Site::AttnOut));
        let mut largest = 0.0f32;
        for ((entering, (attention, beside)), mid) in own(Site::ResidPre).iter().zip(added).zip(own(Site::ResidMid)) {
            assert!((entering + attention + beside - mid).abs() < 1e-5 * mid.abs().max(1.0), "{name}");
            largest = largest.max(beside.abs().min(attention.abs()));
        }
        assert!(largest > 0.01, "{name}: one of them adds nothing");
        assert!(capture.stack(StackKind::Beside).unwrap().layers[1].rows(Site::ResidPre).is_none());
    }
}

#[test]
fn a_head_of_either_is_put_out_alone() {
    let (model, _) = open("falcon_h1");
    let plain = run(&model, Vec::new()).unwrap();
    for (head, other) in [(SELF, BESIDE), (BESIDE, SELF)] {
        let changed = run(&model, vec![Ablate { head, with: Ablation::Zero }.into()]).unwrap();
        let z = |capture: &Capture, head: HeadId| capture.layer(head).unwrap().z().unwrap().head(head.head).unwrap();
        assert!(z(&changed, head).as_slice().iter().all(|value| *value == 0.0));
        assert_eq!(z(&changed, other), z(&plain, other));
        assert_ne!(changed.logits(), plain.logits());
    }
    let hidden = run(&model, vec![HideToken { side: Side::Only, position: 3 }.into()]).unwrap_err();
    assert!(hidden.contains("beside.L0 (Mamba-2)") && hidden.contains("none of its heads has scores"), "{hidden}");
}

#[test]
fn what_both_add_is_told_apart_and_chains_of_patterns_are_refused() {
    let (model, input) = lab::fixture("families/falcon_h1");
    let found = lab::ask(&model, &input, &MethodCall::DirectLogits(DirectLogits), Target::default());
    let names = format!("{:?}", found.value("components").unwrap());
    for name in ["L1H2", "beside.L1 Mamba-2", "L1 MLP"] {
        assert!(names.contains(&format!("{name:?}")), "{name} is not in {names}");
    }
    let said = lab::refused(&model, &input, &MethodCall::Rollout(RolloutOptions::default()), Target::default());
    assert!(said.contains("Mamba-2"), "{said}");
}
