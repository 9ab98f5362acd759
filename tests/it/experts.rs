//! Models with experts: what routers choose, and changes of it.

use attnscope::{
    capture::{Capture, Matrix, Patch, Site},
    ids::StackKind,
    model::{Edit, Logits, RunPlan, Sites, uninterrupted},
};

use crate::families::open;

/// Checkpoints with experts: how many a token goes to, whether their weights sum to 1, and their layers.
const CHECKPOINTS: [(&str, usize, bool, &[usize]); 5] = [
    ("gpt_oss", 2, true, &[0, 1]),
    ("mixtral", 2, true, &[0, 1]),
    ("olmoe", 2, false, &[0, 1]),
    ("qwen2_moe", 2, false, &[0, 1]),
    ("qwen3_moe", 3, true, &[0, 2]),
];

fn run(name: &str, edits: Vec<Edit>) -> Capture {
    let (model, reference) = open(name);
    let plan = RunPlan { sites: Sites::all(), logits: Logits::Keep, edits, ..RunPlan::default() };
    model.forward(&model.encode(&reference.input()).unwrap(), &plan, &uninterrupted).unwrap()
}

fn rows(capture: &Capture, layer: usize, site: Site) -> Option<Matrix> {
    capture.stack(StackKind::SelfAttention)?.layers[layer].rows(site).cloned()
}

#[test]
fn each_token_goes_to_the_experts_with_the_highest_scores() {
    for (name, n_chosen, sums_to_one, layers) in CHECKPOINTS {
        let capture = run(name, Vec::new());
        let n_layers = capture.stack(StackKind::SelfAttention).unwrap().layers.len();
        for layer in 0..n_layers {
            let weights = rows(&capture, layer, Site::Router);
            assert_eq!(weights.is_some(), layers.contains(&layer), "{name}, layer {layer}");
            let (Some(weights), Some(scores)) = (weights, rows(&capture, layer, Site::RouterLogits)) else { continue };
            assert!(rows(&capture, layer, Site::MlpHidden).is_none(), "each expert has a hidden layer of its own");
            for (weights, scores) in weights.rows().zip(scores.rows()) {
                let chosen = |expert: &usize| weights[*expert] > 0.0;
                let (inside, outside): (Vec<usize>, Vec<usize>) = (0..weights.len()).partition(chosen);
                assert_eq!(inside.len(), n_chosen, "{name}");
                let lowest = inside.iter().map(|expert| scores[*expert]).fold(f32::INFINITY, f32::min);
                assert!(outside.iter().all(|expert| scores[*expert] <= lowest), "{name}");
                let sum: f32 = weights.iter().sum();
                assert!(if sums_to_one { (sum - 1.0).abs() < 1e-6 } else { sum < 1.0 }, "{name}: {sum}");
            }
        }
    }
}

#[test]
fn another_choice_of_experts_changes_what_follows_and_its_own_changes_nothing() {
    for (name, _, _, layers) in CHECKPOINTS {
        let plain = run(name, Vec::new());
        let own = rows(&plain, layers[0], Site::Router).unwrap();
        let patch = |value: Matrix| {
            let (site, stack, layer) = (Site::Router, StackKind::SelfAttention, layers[0]);
            let positions = (0..value.n_rows()).collect();
            Edit::Patch(Patch { site, stack, layer, head: None, positions, value })
        };
        let same = run(name, vec![patch(own.clone())]);
        assert_eq!(same.logits().unwrap().as_slice(), plain.logits().unwrap().as_slice(), "{name}");
        // Every token to the expert after its own.
        let turned: Vec<f32> = own
            .rows()
            .flat_map(|row| (0..row.len()).map(|expert| row[(expert + 1) % row.len()]).collect::<Vec<_>>())
            .collect();
        let turned = Matrix::new(turned, own.shape()).unwrap();
        let changed = run(name, vec![patch(turned.clone())]);
        assert_eq!(rows(&changed, layers[0], Site::Router).unwrap(), turned, "{name}");
        let [before, after] = [&plain, &changed].map(|capture| rows(capture, layers[0], Site::MlpOut).unwrap());
        assert!(before.as_slice().iter().zip(after.as_slice()).any(|(a, b)| (a - b).abs() > 1e-4), "{name}");
    }
}
