//! Vision models beyond single sites: large grids, the names that files use, prefix tokens, two towers,
//! and what is refused.

use std::{fs, path::Path};

use attnscope::{
    capture::{Capture, HideToken},
    ids::{Side, StackKind},
    model::{Edit, Engine, Input, LoadError, Logits, Model, ModelFiles, Objective, RunPlan, uninterrupted},
    spec::{HeadKind, Modality},
};
use safetensors::{SafeTensors, tensor::TensorView};
use serde_json::{Value, json};

use crate::parity::{Reference, fixture};

fn load(folder: &Path) -> Result<Model, LoadError> {
    Model::load(&ModelFiles::open(folder)?, "vision", &Engine::cpu(Some(2)).unwrap(), &uninterrupted)
}

fn family(name: &str) -> Model {
    load(&fixture("families").join(name)).unwrap_or_else(|error| panic!("{name}: {error}; {}", error.details()))
}

fn run(model: &Model, input: &Input, plan: &RunPlan) -> Capture {
    model.forward(&model.encode(input).unwrap(), plan, &uninterrupted).unwrap()
}

/// The input of a family's reference.
fn input(name: &str) -> Input {
    Reference::open(&format!("families/{name}"), "reference.safetensors").input()
}

/// Grey, of this height and width.
fn pixels(size_px: (usize, usize)) -> Input {
    Input::Pixels { data: vec![0.25; 3 * size_px.0 * size_px.1].into(), size_px }
}

#[test]
fn a_large_rectangular_grid_matches_pytorch() {
    for name in ["beit", "dinov2"] {
        let reference = Reference::open(&format!("families/{name}"), "reference_17x13.safetensors");
        let size_px = (4 * 17, 4 * 13);
        let data: Vec<f32> = (0..3 * size_px.0 * size_px.1).map(|i| (i * 37 % 101) as f32 / 50.0 - 1.0).collect();
        let plan = RunPlan { logits: Logits::Keep, ..RunPlan::default() };
        let capture = run(&family(name), &Input::Pixels { data: data.into(), size_px }, &plan);
        assert_eq!(capture.image().unwrap().grid, (17, 13));
        assert_eq!(capture.tokens(Side::Only).len(), 1 + 17 * 13);
        let mut n_patterns = 0;
        for (tensor, shape, expected) in reference.tensors() {
            let values = match tensor.strip_prefix("self.").and_then(|rest| rest.strip_suffix(".pattern_rows")) {
                None => capture.logits().unwrap().as_slice().to_vec(),
                Some(layer) => {
                    n_patterns += 1;
                    let layer: usize = layer.parse().unwrap();
                    let pattern = capture.stack(StackKind::SelfAttention).unwrap().layers[layer].pattern();
                    let pattern = pattern.unwrap();
                    let [n_heads, n, _] = pattern.shape();
                    assert_eq!(shape, [n_heads, 3, n]);
                    let rows = (0..n_heads).flat_map(|head| [0, 5, 110].map(|row| (head * n + row) * n));
                    rows.flat_map(|start| pattern.as_slice()[start..start + n].to_vec()).collect()
                }
            };
            assert_eq!(values.len(), expected.len(), "{name} {tensor}");
            let worst = values.iter().zip(expected).map(|(a, b)| (a - b).abs()).fold(0.0f32, f32::max);
            assert!(worst <= 1e-5, "{name}: {tensor} differs by {worst:e}");
        }
        assert_eq!(n_patterns, 2, "{name}");
    }
}

/// A copy of a family's fixture with other tensor names, and tensors that old files have besides.
fn renamed(name: &str, rename: impl Fn(&str) -> String, extra: &[&str]) -> tempfile::TempDir {
    let source = fixture("families").join(name);
    let folder = tempfile::tempdir().unwrap();
    fs::copy(source.join("config.json"), folder.path().join("config.json")).unwrap();
    let bytes = fs::read(source.join("model.safetensors")).unwrap();
    let tensors = SafeTensors::deserialize(&bytes).unwrap();
    let buffer = 7i64.to_le_bytes();
    let renamed = tensors.iter().map(|(name, view)| (rename(name), view));
    let extra = extra
        .iter()
        .map(|name| ((*name).to_owned(), TensorView::new(safetensors::Dtype::I64, vec![1], &buffer).unwrap()));
    let bytes = safetensors::serialize(renamed.chain(extra), None).unwrap();
    fs::write(folder.path().join("model.safetensors"), bytes).unwrap();
    folder
}

/// Every pattern of a capture.
fn patterns(model: &Model, input: &Input) -> Vec<f32> {
    let capture = run(model, input, &RunPlan::default());
    let layers = capture.stacks().iter().flat_map(|stack| &stack.layers);
    layers.flat_map(|layer| layer.pattern().unwrap().as_slice().to_vec()).collect()
}

#[test]
fn names_of_every_version_of_the_libraries_are_understood() {
    type Rename = fn(&str) -> String;
    const INDEX: &str = "attention.attention.relative_position_bias.relative_position_index";
    let same: Rename = str::to_owned;
    let wrapped: Rename = |name| format!("model.{name}");
    let half: Rename = |name| format!("vision_model.{name}");
    let indices = [0, 1].map(|layer| format!("beit.encoder.layer.{layer}.{INDEX}"));
    let ids = ["text_model.embeddings.position_ids", "vision_model.embeddings.position_ids"];
    let cases: [(&str, Rename, &[&str]); 8] = [
        ("vit-interpolated", |name| format!("vit.{name}"), &["vit.embeddings.mask_token", "vit.pooler.dense.bias"]),
        ("deit-distilled", wrapped, &["model.deit.embeddings.mask_token"]),
        ("beit", same, &["beit.embeddings.mask_token", &indices[0], &indices[1]]),
        ("dinov2-gated", |name| format!("dinov2.{name}"), &[]),
        ("clip", wrapped, &["model.text_model.embeddings.position_ids"]),
        ("clip-vision", half, &[ids[1], "visual_projection.weight"]),
        ("siglip", same, &ids),
        ("siglip-vision", half, &[ids[1]]),
    ];
    for (name, rename, extra) in cases {
        let folder = renamed(name, rename, extra);
        let model = load(folder.path()).unwrap_or_else(|error| panic!("{name}: {error}; {}", error.details()));
        assert_eq!(model.audit().unexpected, Vec::<String>::new(), "{name}");
        assert_eq!(patterns(&model, &input(name)), patterns(&family(name), &input(name)), "{name}");
    }
    for name in ["vit", "deit", "beit-shared", "beit-new", "dinov2-registers", "dinov2-gated-new", "clip-classifier"] {
        assert_eq!(family(name).audit().unexpected, Vec::<String>::new(), "{name}");
    }
}

#[test]
fn tokens_before_the_patches_are_called_what_they_are() {
    let cases: [(&str, &[&str]); 6] = [
        ("vit", &["[CLS]"]),
        ("deit", &["[CLS]", "[DIST]"]),
        ("beit", &["[CLS]"]),
        ("dinov2-registers", &["[CLS]", "[REG1]", "[REG2]", "[REG3]", "[REG4]"]),
        ("clip-vision", &["[CLS]"]),
        ("siglip-vision", &[]),
    ];
    for (name, expected) in cases {
        let model = family(name);
        let Modality::Image(spec) = model.spec().modality else { panic!("{name} reads pictures") };
        assert_eq!(spec.n_prefix, expected.len(), "{name}");
        let capture = run(&model, &pixels(spec.size_px), &RunPlan::default());
        let tokens = capture.tokens(Side::Only);
        let (prefix, patches) = tokens.split_at(expected.len());
        assert_eq!(prefix.iter().map(|token| token.text.as_str()).collect::<Vec<_>>(), expected, "{name}");
        assert!(prefix.iter().all(|token| token.special) && patches.iter().all(|token| !token.special), "{name}");
        assert_eq!(patches[0].text, "r0 c0", "{name}");
        let image = capture.image().unwrap();
        assert_eq!((image.n_prefix, image.grid.0 * image.grid.1), (expected.len(), patches.len()), "{name}");
    }
}

#[test]
fn configurations_of_two_towers_may_leave_out_what_is_usual() {
    // As on the hub: everything that is the default of its class is missing.
    let folder = tempfile::tempdir().unwrap();
    fs::write(
        folder.path().join("config.json"),
        json!({"model_type": "siglip", "text_config": {"model_type": "siglip_text_model"}}).to_string(),
    )
    .unwrap();
    let weights = fixture("families/siglip/model.safetensors");
    fs::copy(weights, folder.path().join("model.safetensors")).unwrap();
    let Err(LoadError::WrongShape { expected, .. }) = load(folder.path()) else { panic!("too small for a base model") };
    assert_eq!(expected, [768, 3, 16, 16]);
}

/// The probability and its label that a model with two towers gives.
fn fit(capture: &Capture) -> (f32, String) {
    let prediction = capture.prediction().unwrap();
    assert_eq!(prediction.kind, HeadKind::Similarity);
    let item = &prediction.rows[0].top[0];
    (item.value, item.label.clone())
}

#[test]
fn a_picture_and_a_text_are_compared_by_each_model_s_own_convention() {
    let plan = RunPlan { logits: Logits::Keep, ..RunPlan::default() };
    for name in ["clip", "siglip"] {
        let model = family(name);
        assert_eq!(model.spec().head, Some(HeadKind::Similarity));
        let capture = run(&model, &input(name), &plan);
        let logit = capture.logits().unwrap().as_slice()[0];
        let (probability, label) = fit(&capture);
        assert!(label.contains(&format!("logit {logit:.2}")), "{label}");
        if name == "clip" {
            assert!(probability == 1.0 && label.contains("one text"), "{label}");
        } else {
            assert!((probability - 1.0 / (1.0 + (-logit).exp())).abs() < 1e-6 && label.contains("sigmoid"), "{label}");
        }
        for input in [pixels((16, 16)), Input::Ids(vec![1, 2])] {
            assert!(model.encode(&input).unwrap_err().to_string().contains("compares a picture with a text"));
        }
    }
}

#[test]
fn a_hidden_patch_is_hidden_from_the_query_that_sums_up_the_picture() {
    let model = family("siglip");
    let plan = |edits| RunPlan { logits: Logits::Keep, edits, ..RunPlan::default() };
    let hide = |position| Edit::HideToken(HideToken { side: Side::Vision, position });
    let logit = |edits| run(&model, &input("siglip"), &plan(edits)).logits().unwrap().as_slice()[0];
    assert!((logit(Vec::new()) - logit(vec![hide(3)])).abs() > 1e-6);
    // With all but one patch hidden nothing is left to choose, for any query of any head.
    let only_first: Vec<Edit> = (1..16).map(hide).collect();
    let alone = run(&model, &input("siglip"), &plan(only_first));
    let layer = &alone.stack(StackKind::Vision).unwrap().layers[1];
    assert!(layer.pattern().unwrap().as_slice().chunks(16).all(|row| row[0] == 1.0));
}

#[test]
fn gradients_of_the_similarity_reach_every_layer_of_both_towers() {
    for name in ["clip", "siglip"] {
        let model = family(name);
        let encoded = model.encode(&input(name)).unwrap();
        let logit = Objective::Logit { row: 0, id: 0 };
        let gradients = model.pattern_gradients(&encoded, logit, &[], &uninterrupted).unwrap();
        let capture = run(&model, &input(name), &RunPlan { logits: Logits::Keep, ..RunPlan::default() });
        assert!((gradients.value - capture.logits().unwrap().as_slice()[0]).abs() < 1e-4, "{name}");
        for stack in [StackKind::Vision, StackKind::Text] {
            let layers = &gradients.stacks.iter().find(|of| of.kind == stack).unwrap().layers;
            assert_eq!(layers.len(), 2, "{name} {stack}");
            for (layer, gradient) in layers.iter().map(|layer| layer.pattern().unwrap()).enumerate() {
                let recorded = capture.stack(stack).unwrap().layers[layer].pattern().unwrap();
                assert_eq!(gradient.shape(), recorded.shape(), "{name} {stack}.{layer}");
                assert!(gradient.as_slice().iter().any(|value| *value != 0.0), "{name} {stack}.{layer}");
            }
        }
        assert!(model.pattern_gradients(&encoded, Objective::Logit { row: 0, id: 1 }, &[], &uninterrupted).is_err());
    }
}

#[test]
fn siglip_s_texts_are_filled_up_to_the_length_it_was_trained_on() {
    let source = fixture("families/siglip");
    let folder = tempfile::tempdir().unwrap();
    for file in ["config.json", "model.safetensors"] {
        fs::copy(source.join(file), folder.path().join(file)).unwrap();
    }
    let tokenizer = json!({
        "version": "1.0", "added_tokens": [], "normalizer": null, "pre_tokenizer": {"type": "Whitespace"},
        "post_processor": null, "decoder": null,
        "model": {"type": "WordLevel", "vocab": {"?": 0, "</s>": 1, "two": 2, "cats": 3}, "unk_token": "?"},
    });
    fs::write(folder.path().join("tokenizer.json"), tokenizer.to_string()).unwrap();
    let model = load(folder.path()).unwrap();
    let ids = [vec![2, 3], vec![1; 10]].concat();
    let picture = || pixels((16, 16));
    let typed = run(&model, &picture().with_target(Input::text("two cats")), &RunPlan::default());
    let tokens = typed.tokens(Side::Text);
    assert_eq!(
        tokens.iter().map(|token| token.id).collect::<Vec<_>>(),
        ids.iter().copied().map(Some).collect::<Vec<_>>()
    );
    assert!(tokens[2..].iter().all(|token| token.special && token.text == "</s>"));
    let exact = run(&model, &picture().with_target(Input::Ids(ids)), &RunPlan::default());
    assert_eq!(fit(&typed), fit(&exact));
    let short = run(&model, &picture().with_target(Input::Ids(vec![2, 3])), &RunPlan::default());
    assert_eq!(short.tokens(Side::Text).len(), 2, "raw ids are read as they are");
}

#[test]
fn architectures_without_one_map_of_attention_are_refused_with_the_reason() {
    let cases = [
        ("swin", "within windows"),
        ("swinv2", "within windows"),
        ("segformer", "coarser grids"),
        ("pvt_v2", "coarser grids"),
        ("convnext", "no attention"),
    ];
    for (model_type, reason) in cases {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("config.json"), json!({"model_type": model_type}).to_string()).unwrap();
        let error = load(folder.path()).unwrap_err();
        let sentence = error.to_string();
        assert!(sentence.contains(model_type) && sentence.contains(reason), "{sentence}");
        let details = error.details();
        assert!(details.contains("DINOv2") && details.contains("docs/captures.md"), "{details}");
    }
}

#[test]
fn damaged_vision_checkpoints_are_refused() {
    let change = |name: &str, key: &str, value: Value| {
        let source = fixture("families").join(name);
        let folder = tempfile::tempdir().unwrap();
        let mut config: Value = serde_json::from_slice(&fs::read(source.join("config.json")).unwrap()).unwrap();
        config[key] = value;
        fs::write(folder.path().join("config.json"), config.to_string()).unwrap();
        fs::copy(source.join("model.safetensors"), folder.path().join("model.safetensors")).unwrap();
        load(folder.path()).unwrap_err().to_string()
    };
    assert!(change("beit", "image_size", json!(20)).contains("relative_position_bias_table"));
    assert!(change("beit", "use_shared_relative_position_bias", json!(true)).contains("relative_position_bias_table"));
    assert!(change("dinov2", "patch_size", json!(64)).contains("larger than its pictures"));
    assert!(change("deit", "num_channels", json!(1)).contains("1 channels"));
    assert!(change("clip", "vision_config", json!(null)).contains("config.json implies"));
}
