//! A model of two streams, in whose layers text and picture attend to each other.

use attnscope::{
    analysis::{
        explain::{edges::PartsBy, rollout::RolloutOptions},
        paths,
    },
    capture::{Capture, HideToken, Matrix, Patch, Site},
    figure::ViewKind,
    ids::{HeadId, Side, StackKind},
    lab::{EdgeOptions, FlowOptions, LensOptions, MethodCall, Target, Than},
    model::{Edit, Input, Logits, Model, Objective, RunPlan, Sites, Taps, uninterrupted},
    outputs::OutputKind,
    spec::HeadKind,
};

use crate::{
    families::open,
    lab::{fixture, refused},
    parity::Reference,
};

const CROSS_MODAL: [StackKind; 4] =
    [StackKind::CrossModalText, StackKind::TextToVision, StackKind::CrossModalVision, StackKind::VisionToText];

fn run(model: &Model, reference: &Reference, edits: Vec<Edit>) -> Capture {
    let plan = RunPlan { sites: Sites::all(), logits: Logits::Keep, edits, ..RunPlan::default() };
    model.forward(&model.encode(&reference.input()).unwrap(), &plan, &uninterrupted).unwrap()
}

fn weights(capture: &Capture, stack: StackKind, layer: usize) -> Matrix {
    capture.stored_pattern(HeadId { stack, layer, head: 0 }).unwrap()
}

#[test]
fn words_and_patches_are_the_two_sides_of_six_stacks() {
    let (model, reference) = open("bridgetower");
    let capture = run(&model, &reference, Vec::new());
    let kinds: Vec<_> = model.spec().stacks.iter().map(|stack| stack.kind).collect();
    assert_eq!(kinds, [&[StackKind::Vision, StackKind::Text], &CROSS_MODAL[..]].concat());
    let (n_words, n_patches) = (capture.tokens(Side::Text).len(), capture.tokens(Side::Vision).len());
    let shape = |stack| weights(&capture, stack, 0).shape();
    assert_eq!(shape(StackKind::TextToVision), [n_words, n_patches]);
    assert_eq!(shape(StackKind::VisionToText), [n_patches, n_words]);
    assert_eq!(shape(StackKind::CrossModalText), [n_words, n_words]);
    // The tower's own stream is not the one that the head reads.
    assert_eq!(model.spec().last_stack(Side::Text), StackKind::CrossModalText);
    assert_eq!(capture.architecture().unwrap().towers.len(), 4);
}

#[test]
fn a_hidden_word_is_hidden_from_words_and_from_patches() {
    let (model, reference) = open("bridgetower");
    let hidden = 3;
    let edit = Edit::HideToken(HideToken { side: Side::Text, position: hidden });
    let capture = run(&model, &reference, vec![edit]);
    for stack in [StackKind::Text, StackKind::CrossModalText, StackKind::VisionToText] {
        for layer in 0..2 {
            let pattern = weights(&capture, stack, layer);
            assert!(pattern.rows().all(|row| row[hidden] == 0.0), "{stack}.{layer}");
        }
    }
    let whole = weights(&capture, StackKind::TextToVision, 0);
    assert!(whole.rows().all(|row| (row.iter().sum::<f32>() - 1.0).abs() < 1e-5));
}

/// Both streams attend to each other as they enter a layer: what is changed there is changed for both.
#[test]
fn a_change_of_what_enters_a_layer_reaches_the_keys_of_the_other_stream() {
    let (model, reference) = open("bridgetower");
    let plain = run(&model, &reference, Vec::new());
    let stack = StackKind::CrossModalVision;
    let entering = plain.stack(stack).unwrap().layers[1].resid_pre().unwrap();
    let row = vec![0.0; entering.n_cols()];
    let value = Matrix::new(row, [1, entering.n_cols()]).unwrap();
    let patch = Patch { site: Site::ResidPre, stack, layer: 1, head: None, positions: vec![5], value };
    let changed = run(&model, &reference, vec![Edit::Patch(patch)]);
    let keys = |capture: &Capture, layer| capture.k(HeadId { stack: StackKind::TextToVision, layer, head: 0 }).unwrap();
    assert_eq!(keys(&plain, 0).as_slice(), keys(&changed, 0).as_slice());
    let (before, after) = (keys(&plain, 1), keys(&changed, 1));
    let differs: Vec<bool> = before.rows().zip(after.rows()).map(|(before, after)| before != after).collect();
    assert_eq!(differs.iter().filter(|differs| **differs).count(), 1);
    assert!(differs[5]);
}

/// What stands at the end of a tower is what the last layer takes in.
#[test]
fn a_change_of_the_end_of_a_tower_reaches_the_last_layer_alone() {
    let (model, reference) = open("bridgetower");
    let plain = run(&model, &reference, Vec::new());
    for stack in [StackKind::Vision, StackKind::Text] {
        let width = plain.stack(stack).unwrap().resid_final().unwrap().n_cols();
        let value = Matrix::new(vec![0.5; width], [1, width]).unwrap();
        let patch = Patch { site: Site::ResidFinal, stack, layer: 0, head: None, positions: vec![2], value };
        let changed = run(&model, &reference, vec![Edit::Patch(patch)]);
        let queries = |capture: &Capture, layer| {
            let behind =
                if stack == StackKind::Vision { StackKind::CrossModalVision } else { StackKind::CrossModalText };
            capture.q(HeadId { stack: behind, layer, head: 0 }).unwrap().as_slice().to_vec()
        };
        assert_eq!(queries(&plain, 0), queries(&changed, 0), "{stack}");
        assert_ne!(queries(&plain, 1), queries(&changed, 1), "{stack}");
    }
}

#[test]
fn gradients_of_a_match_reach_every_layer_of_every_stack() {
    let (model, reference) = open("bridgetower-match");
    let encoded = model.encode(&reference.input()).unwrap();
    let logit = Objective::Logit { row: 0, id: 1 };
    let gradients = model.pattern_gradients(&encoded, logit, &[], &uninterrupted).unwrap();
    let capture = run(&model, &reference, Vec::new());
    assert!((gradients.value - capture.logits().unwrap().as_slice()[1]).abs() < 1e-4);
    for stack in &model.spec().stacks {
        for layer in 0..stack.layers.len() {
            let gradient = gradients.layer(HeadId { stack: stack.kind, layer, head: 0 }).unwrap().pattern().unwrap();
            assert!(gradient.as_slice().iter().any(|value| *value != 0.0), "{}.{layer}", stack.kind);
        }
    }
}

/// The derivative of the logit with the stream that enters a layer, against a quotient of differences.
#[test]
fn gradients_follow_both_ways_on_which_a_stream_is_read() {
    let (model, reference) = open("bridgetower-match");
    let encoded = model.encode(&reference.input()).unwrap();
    let plain = run(&model, &reference, Vec::new());
    let (stack, layer, position, column) = (StackKind::CrossModalVision, 1, 4, 2);
    let plan = RunPlan { sites: Sites::NONE, logits: Logits::Skip, ..RunPlan::default() };
    let taps = Taps::of(&[Site::ResidPre]);
    let logit = Objective::Logit { row: 0, id: 1 };
    let (_, gradients) = model.gradients(&encoded, &plan, logit, taps, &uninterrupted).unwrap();
    let found = gradients.layer(HeadId { stack, layer, head: 0 }).unwrap().resid_pre().unwrap();
    let found = found.get(position, column).unwrap();
    let row = plain.stack(stack).unwrap().layers[layer].resid_pre().unwrap().row(position).unwrap().to_vec();
    let logit_at = |step: f32| {
        let mut row = row.clone();
        row[column] += step;
        let value = Matrix::new(row.clone(), [1, row.len()]).unwrap();
        let patch = Patch { site: Site::ResidPre, stack, layer, head: None, positions: vec![position], value };
        run(&model, &reference, vec![Edit::Patch(patch)]).logits().unwrap().as_slice()[1]
    };
    let quotient = (logit_at(0.02) - logit_at(-0.02)) / 0.04;
    assert!((found - quotient).abs() < 2e-3 * found.abs().max(1.0), "{found} and {quotient}");
}

#[test]
fn each_class_says_what_it_is_for() {
    let (model, reference) = open("bridgetower-match");
    assert_eq!((model.spec().head, model.outputs()), (Some(HeadKind::PairClass), Some(OutputKind::Classes)));
    let capture = run(&model, &reference, Vec::new());
    let mut labels: Vec<_> = capture.prediction().unwrap().rows[0].top.iter().map(|item| &*item.label).collect();
    labels.sort_unstable();
    assert_eq!(labels, ["match", "no match"]);
    let (model, reference) = open("bridgetower-contrast");
    assert_eq!((model.spec().head, model.outputs()), (Some(HeadKind::PairClass), Some(OutputKind::Scores)));
    let capture = run(&model, &reference, Vec::new());
    let top = &capture.prediction().unwrap().rows[0].top;
    let labels: Vec<_> = top.iter().map(|item| &*item.label).collect();
    assert_eq!(labels, ["text and picture", "text and both", "picture and both"]);
    let told: Vec<f32> = top.iter().map(|item| item.value).collect();
    assert_eq!(told, capture.logits().unwrap().as_slice());
    let (model, _) = open("bridgetower");
    assert_eq!(model.spec().head, Some(HeadKind::MaskedLm));
    assert!(model.encode(&Input::Ids(vec![0, 17, 2])).unwrap_err().to_string().contains("picture"));
}

/// Of two streams no token of one has a share in the other by a product of layers, and no logit is read from one alone.
#[test]
fn methods_that_need_one_chain_of_layers_say_why_not() {
    let head = HeadId { stack: StackKind::TextToVision, layer: 1, head: 0 };
    let lens = MethodCall::Lens(LensOptions { n_top: 5, jacobian_lens: None });
    for name in ["bridgetower", "bridgetower-match"] {
        let (model, input) = fixture(&format!("families/{name}"));
        let why = |call: &MethodCall| refused(&model, &input, call, Target::default());
        for call in [MethodCall::Rollout(RolloutOptions::default()), MethodCall::Flow(FlowOptions::default())] {
            assert!(why(&call).contains("takes in one more layer of both towers"), "{name}");
        }
        let edges = EdgeOptions { head, query: 2, key: 5, than: Than::Mean, by: PartsBy::Source, n_top: 5 };
        assert!(why(&MethodCall::Edges(edges)).contains("parts cannot be followed"), "{name}");
    }
    let (model, input) = fixture("families/bridgetower-match");
    assert!(refused(&model, &input, &lens, Target::default()).contains("both streams"));
}

/// Layers that take in their towers one by one are no chain.
#[test]
fn views_of_chains_of_layers_say_why_there_are_none() {
    let (model, reference) = open("bridgetower");
    let capture = run(&model, &reference, Vec::new());
    for stack in CROSS_MODAL {
        assert!(paths::unavailable(&capture, stack).unwrap().contains("cross-modal"), "{stack}");
        assert!(ViewKind::Heatmap.unavailable(&capture, stack).is_none(), "{stack}");
        // Raw pixels come without a picture to draw, but with its patches, as keys or as queries.
        let on_picture = stack != StackKind::CrossModalText;
        assert_eq!(ViewKind::Image.unavailable(&capture, stack).is_none(), on_picture, "{stack}");
    }
}
