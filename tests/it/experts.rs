//! Models with experts: what routers choose, and changes of it.

use std::{fs, sync::Arc};

use attnscope::{
    analysis::routing::LayerRouting,
    capture::{AblateExpert, Capture, ExpertAblation, Matrix, Patch, Site},
    figure::{
        Scene as _, ViewKind,
        views::{
            experts::{ExpertsFacts, ExpertsOptions, ExpertsScene},
            parts::OfParts as _,
        },
    },
    ids::{ExpertId, StackKind},
    model::{Edit, Input, Logits, RunPlan, Sites, uninterrupted},
    raster::ColorMap,
};
use safetensors::SafeTensors;
use serde_json::{Value, json};

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

#[test]
fn every_checkpoint_with_experts_has_a_reference_of_its_routers() {
    // The values themselves are compared with those of the others, in `families`.
    for name in ["gpt_oss", "gpt_oss-mxfp4", "mixtral", "olmoe", "olmoe-clipped", "qwen2_moe", "qwen3_5_moe"]
        .into_iter()
        .chain(["qwen3_moe", "qwen3_next"])
    {
        let (model, reference) = open(name);
        for stack in &model.spec().stacks {
            for (layer, spec) in stack.layers.iter().enumerate() {
                let has_experts = spec.mlp.is_some_and(|mlp| mlp.experts.is_some());
                for site in [Site::RouterLogits, Site::Router] {
                    let tensor = format!("{}.{layer}.{}", stack.kind, site.name());
                    let is_there = reference.tensors().any(|(known, ..)| known == tensor);
                    assert_eq!(is_there, has_experts, "{name}: {tensor}");
                }
            }
        }
    }
}

#[test]
fn an_expert_that_is_out_of_action_is_what_pytorch_makes_of_it() {
    let folder = crate::parity::fixture("experts");
    let cases: Value = serde_json::from_slice(&fs::read(folder.join("cases.json")).unwrap()).unwrap();
    let bytes = fs::read(folder.join("expected.safetensors")).unwrap();
    let expected = SafeTensors::deserialize(&bytes).unwrap();
    let step = cases["step"].as_u64().unwrap() as usize;
    let checkpoints = cases["checkpoints"].as_object().unwrap();
    assert_eq!(checkpoints.len(), 7);
    for (name, edits) in checkpoints {
        let edits = edits.as_array().unwrap().iter().map(|edit| vec![Edit::from_json(edit).unwrap()]);
        let edits: Vec<Vec<Edit>> = std::iter::once(Vec::new()).chain(edits).collect();
        let numbers = expected.tensor(name).unwrap();
        let numbers: Vec<f32> =
            numbers.data().chunks_exact(4).map(|four| f32::from_le_bytes(four.try_into().unwrap())).collect();
        let (each, largest) = (numbers.len() / edits.len(), numbers.iter().fold(1.0f32, |most, x| most.max(x.abs())));
        for (edits, expected) in edits.into_iter().zip(numbers.chunks_exact(each)) {
            let capture = run(name, edits.clone());
            let logits = capture.logits().unwrap();
            let found = logits.rows().flat_map(|row| row.iter().step_by(step));
            let worst = found.zip(expected).map(|(a, b)| (a - b).abs()).fold(0.0f32, f32::max);
            assert!(worst <= 1e-5 * largest, "{name}, {edits:?}: {worst:e} of {largest}");
        }
    }
}

#[test]
fn an_expert_that_is_off_keeps_the_choices_and_one_that_is_never_chosen_changes_them() {
    for name in ["mixtral", "olmoe"] {
        let own = rows(&run(name, Vec::new()), 0, Site::Router).unwrap();
        let expert = (0..own.n_cols()).max_by_key(|at| own.rows().filter(|row| row[*at] > 0.0).count()).unwrap();
        let edit = |with| {
            let expert = ExpertId { stack: StackKind::SelfAttention, layer: 0, expert };
            vec![Edit::from(AblateExpert { expert, with })]
        };
        let off = rows(&run(name, edit(ExpertAblation::Zero)), 0, Site::Router).unwrap();
        let unchosen = run(name, edit(ExpertAblation::Unchosen));
        let never = rows(&unchosen, 0, Site::Router).unwrap();
        let scores = rows(&unchosen, 0, Site::RouterLogits).unwrap();
        for ((own, off), (never, scores)) in own.rows().zip(off.rows()).zip(never.rows().zip(scores.rows())) {
            let weight = |at: usize| if at == expert { 0.0 } else { own[at] };
            assert_eq!(off, (0..own.len()).map(weight).collect::<Vec<_>>(), "{name}: the weights of the others stay");
            assert_eq!((never[expert], scores[expert]), (0.0, f32::NEG_INFINITY), "{name}");
            assert_eq!(never.iter().filter(|weight| **weight > 0.0).count(), 2, "{name}: another one is chosen");
        }
    }
}

#[test]
fn an_expert_that_is_not_there_is_refused_in_a_sentence() {
    let refused = |name: &str, json: Value| {
        let (model, reference) = open(name);
        let plan = RunPlan { edits: vec![Edit::from_json(&json).unwrap()], ..RunPlan::default() };
        let input = model.encode(&reference.input()).unwrap();
        model.forward(&input, &plan, &uninterrupted).unwrap_err().to_string()
    };
    let zero = |expert: &str| json!({ "expert": expert, "with": "zero" });
    for (name, json, part) in [
        ("mixtral", zero("L0E4"), "there is no expert L0E4: the layer has 4"),
        ("mixtral", zero("L9E0"), "there is no layer L9"),
        ("qwen3_moe", zero("L1E0"), "layer L1 has no experts"),
        ("llama", json!({ "expert": "L0E0", "with": "unchosen" }), "layer L0 has no experts"),
    ] {
        let said = refused(name, json);
        assert!(said.contains(part), "{name}: {said}");
    }
    let unread = Edit::from_json(&json!({ "expert": "L0H1", "with": "zero" })).unwrap_err();
    assert!(unread.contains("no expert such as L3E5"), "{unread}");
    let both = [ExpertAblation::Zero, ExpertAblation::Unchosen].map(|with| {
        let expert = ExpertId { stack: StackKind::SelfAttention, layer: 0, expert: 0 };
        Edit::from(AblateExpert { expert, with })
    });
    assert!(both[0].contradicts(&both[1]));
}

/// A checkpoint with experts that reads words, and a list of texts of them.
fn with_words(name: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for file in ["config.json", "model.safetensors"] {
        fs::copy(crate::families::folder().join(name).join(file), folder.path().join(file)).unwrap();
    }
    let vocab: serde_json::Map<String, Value> = (0..99).map(|id| (format!("w{id}"), json!(id))).collect();
    let tokenizer = json!({
        "version": "1.0",
        "added_tokens": [],
        "pre_tokenizer": { "type": "Whitespace" },
        "model": { "type": "WordLevel", "vocab": vocab, "unk_token": "w0" },
    });
    fs::write(folder.path().join("tokenizer.json"), tokenizer.to_string()).unwrap();
    fs::write(folder.path().join("texts.txt"), "w5 w9 w14 w3\nw22 w31 w7 w2 w40 w41\n").unwrap();
    folder
}

#[test]
fn loads_over_a_corpus_are_those_of_its_inputs_added_up() {
    let folder = with_words("mixtral");
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let out = path("load.json");
    let csv = path("load.csv");
    let svg = path("load.svg");
    let of = ["analyze", "experts", "--model", folder.path().to_str().unwrap(), "--corpus", &path("texts.txt")];
    let ran = crate::render::attnscope(&[&of[..], &["--out", &out, "--out", &csv, "--out", &svg]].concat());
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let result = serde_json::from_slice::<Value>(&fs::read(&out).unwrap()).unwrap()["result"].clone();
    assert_eq!((result["n"].as_u64(), result["n_tokens"].as_u64()), (Some(2), Some(10)));
    let (model, _) = open("mixtral");
    let loads = [vec![5, 9, 14, 3], vec![22, 31, 7, 2, 40, 41]].map(|ids| {
        let plan = RunPlan { sites: Sites::of(&[Site::Router]), ..RunPlan::default() };
        let input = model.encode(&Input::Ids(ids)).unwrap();
        let capture = model.forward(&input, &plan, &uninterrupted).unwrap();
        LayerRouting::all(&capture, StackKind::SelfAttention).iter().map(LayerRouting::load).collect::<Vec<_>>()
    });
    for (layer, load) in result["layers"].as_array().unwrap().iter().enumerate() {
        let mut expected = loads[0][layer].clone();
        expected.add(&loads[1][layer]);
        assert_eq!(load["tokens"], json!(expected.tokens), "layer {layer}");
        assert_eq!(load["even"].as_f64().unwrap(), 0.5, "two of four experts");
        let sum: f64 = load["share"].as_array().unwrap().iter().map(|share| share.as_f64().unwrap()).sum();
        assert!((sum - 2.0).abs() < 1e-9, "each token goes to two");
    }
    assert_eq!(fs::read_to_string(&csv).unwrap().lines().filter(|line| !line.starts_with('#')).count(), 1 + 2 * 4);
    assert!(fs::read_to_string(&svg).unwrap().starts_with("<svg"));
    let none = crate::render::attnscope(&["analyze", "experts", "--model", "demo:gpt", "--corpus", "demo:sentences"]);
    assert!(String::from_utf8_lossy(&none.stderr).contains("no layer of demo:gpt has experts"));
}

#[test]
fn the_view_shows_choices_weights_and_loads_of_a_layer() {
    let (model, reference) = open("qwen3_moe");
    let stack = StackKind::SelfAttention;
    let capture = run("qwen3_moe", Vec::new());
    assert!(ViewKind::Experts.unavailable(&capture, stack).is_none());
    let dense = {
        let plan = RunPlan { sites: Sites::all(), ..RunPlan::default() };
        let (llama, reference) = open("llama");
        llama.forward(&llama.encode(&reference.input()).unwrap(), &plan, &uninterrupted).unwrap()
    };
    let why = ViewKind::Experts.unavailable(&dense, stack).unwrap();
    assert!(why.contains("No layer here has experts"), "{why}");
    let without = {
        let plan = RunPlan { sites: Sites::of(&[Site::Pattern]), ..RunPlan::default() };
        model.forward(&model.encode(&reference.input()).unwrap(), &plan, &uninterrupted).unwrap()
    };
    assert!(ViewKind::Experts.unavailable(&without, stack).unwrap().contains("not recorded"));
    let facts = Arc::new(ExpertsFacts::of(&capture, stack).unwrap());
    let looks = (ExpertsOptions::default(), ColorMap::default());
    // Layer 1 has one MLP, so that the first layer with experts stands in its place, and that is said.
    let scene = ExpertsScene::new(Arc::clone(&facts), 1, Some(3), looks);
    assert_eq!((scene.routing().layer, scene.parts().len()), (0, 4));
    let said = scene.captions().short;
    assert!(
        said.starts_with("Layer 0: each token to 3 of 6 experts (layer 1 has a single MLP); most to expert"),
        "{said}"
    );
    let weights = rows(&capture, 2, Site::Router).unwrap();
    let scene = ExpertsScene::new(facts, 2, None, looks);
    assert_eq!((scene.routing().weights.as_slice(), scene.parts().len()), (weights.as_slice(), 3));
    for token in 0..weights.n_rows() {
        let chosen = scene.routing().chosen(token);
        assert!(chosen.len() == 3 && chosen.windows(2).all(|pair| pair[0].1 >= pair[1].1), "{chosen:?}");
    }
    assert_eq!(scene.load().tokens.iter().sum::<usize>(), 3 * weights.n_rows());
}
