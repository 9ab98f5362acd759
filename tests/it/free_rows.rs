//! Rows of weights that stand by themselves: no sum is expected of them, and nothing is told that needs one.

use std::io::Cursor;

use attnscope::{
    analysis::{
        explain::rollout::RolloutOptions,
        laws::{self, LawOutcome},
        reading::strongest,
        stats,
    },
    capture::{
        Capture, Normalize, Normalizer, RowMass, Scope, SigmoidBias,
        file::{self, Contents, Format},
    },
    ids::{CaptureId, HeadId, StackKind},
    lab::{FaithfulnessOptions, MethodCall, Target},
    model::{Edit, Logits, RunPlan, Sites, uninterrupted},
    session::ViewKind,
};
use eframe::egui::vec2;
use egui_kittest::kittest::Queryable as _;

use crate::{
    lab::{demo, fixture, try_ask},
    views::Stage,
};

const FREE: [Normalizer; 4] = [
    Normalizer::Sigmoid(SigmoidBias::Zero),
    Normalizer::Sigmoid(SigmoidBias::MinusLogKeys),
    Normalizer::Chain(0.7),
    Normalizer::SparsemapChain(1.0),
];

fn everywhere(with: Normalizer) -> Edit {
    Normalize { with, scope: Scope::All }.into()
}

fn run(with: Normalizer) -> Capture {
    let (model, input) = fixture("bert");
    let edits = vec![everywhere(with)];
    let plan = RunPlan { sites: Sites::all(), logits: Logits::Keep, edits, ..RunPlan::default() };
    model.forward(&input, &plan, &uninterrupted).unwrap()
}

fn sums(capture: &Capture, head: HeadId) -> Vec<f32> {
    capture.stored_pattern(head).unwrap().rows().map(|row| row.iter().sum()).collect()
}

#[test]
fn rows_that_need_not_sum_to_one_are_kept_as_they_are() {
    for with in FREE {
        let capture = run(with);
        let head = HeadId::single(1, 0);
        assert!(sums(&capture, head).iter().any(|sum| (sum - 1.0).abs() > 0.1), "{with}");
        let mut bytes = Vec::new();
        file::write(&[&capture], Contents::ALL, &mut bytes).unwrap();
        let again = file::read(&mut Cursor::new(bytes), Format::Safetensors, "file", &mut || CaptureId(99)).unwrap();
        assert_eq!(sums(&again[0], head), sums(&capture, head), "{with}");
        for capture in [&capture, &again[0]] {
            assert_eq!(capture.row_mass(head), RowMass::Free, "{with}");
            let stats = stats::stack_stats(capture, StackKind::SelfAttention)[1][0].unwrap();
            assert_eq!(stats.rows, RowMass::Free);
            let laws = laws::check(capture);
            assert_eq!(laws[0].outcome(), LawOutcome::NotTested, "{with}");
            assert!(laws.iter().all(|law| !law.is_broken()), "{with}: {laws:?}");
        }
    }
}

#[test]
fn only_the_heads_that_are_changed_are_free() {
    let (model, input) = fixture("bert");
    let [changed, other] = [HeadId::single(0, 1), HeadId::single(0, 0)];
    let with = Normalizer::Sigmoid(SigmoidBias::Zero);
    let edits = vec![Normalize { with, scope: Scope::Heads(vec![changed]) }.into()];
    let plan = RunPlan { sites: Sites::all(), edits, ..RunPlan::default() };
    let capture = model.forward(&input, &plan, &uninterrupted).unwrap();
    assert_eq!([changed, other].map(|head| capture.row_mass(head)), [RowMass::Free, RowMass::Full]);
    assert!(sums(&capture, other).iter().all(|sum| (sum - 1.0).abs() < 1e-5));
    let said = [changed, other].map(|head| strongest(&capture, head, 1).unwrap());
    assert!(said[0].contains("weights need not sum to 1") && said[1].contains("of its attention"), "{said:?}");
}

#[test]
fn what_needs_a_distribution_says_that_it_is_not_defined() {
    let (model, input) = demo("demo:gpt", "The animal was too tired");
    let edits = [everywhere(Normalizer::Sigmoid(SigmoidBias::Zero))];
    let faithfulness =
        FaithfulnessOptions { stack: None, layer: None, head: None, n_permutations: 4, n_steps: 0, seed: 1 };
    for ask in [MethodCall::Rollout(RolloutOptions::default()), MethodCall::Faithfulness(faithfulness)] {
        let refusal = try_ask(&model, &input, &edits, &ask, Target::default()).unwrap_err().to_string();
        assert!(refusal.contains("not defined") && refusal.contains("by sigmoid"), "{refusal}");
    }
}

#[test]
fn the_heatmap_says_what_rows_sum_to_and_details_that_they_have_no_entropy() {
    let mut stage = Stage::new(run(Normalizer::Sigmoid(SigmoidBias::Zero)), ViewKind::Heatmap).show(vec2(900.0, 700.0));
    stage.run();
    assert!(stage.query_by_label_contains("; rows sum to ").is_some());
    assert!(stage.query_by_label_contains("each row sums to 1").is_none());
}
