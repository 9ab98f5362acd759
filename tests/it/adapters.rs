//! Adapters of PEFT: merged into the model that they name, as it opens.

use std::{fs, path::Path};

use attnscope::{
    capture::Capture,
    ids::{HeadId, StackKind},
    model::{Edit, Input, LoadError, Logits, Model, ModelFiles, RunPlan, Sites, Variant, locate, uninterrupted},
    session::gallery::{EXAMPLES, Example},
};

use safetensors::{Dtype, SafeTensors, tensor::TensorView};
use serde_json::json;

use crate::{
    gallery::{all_heads, capture},
    parity::{Reference, fixture},
    weights::engine,
};

const CASES: [(&str, &str); 5] = [
    ("embeddings", "gpt2"),
    ("gpt2", "gpt2"),
    ("stabilised", "llama"),
    ("lengths", "llama"),
    ("head", "bert-classifier"),
];

fn open(path: &Path) -> Result<Model, LoadError> {
    let (files, name) = locate::open(path)?;
    Model::load(&files, &name, &engine(), &uninterrupted)
}

fn run(model: &Model, reference: &Reference) -> Capture {
    let plan = RunPlan { sites: Sites::all(), logits: Logits::Keep, ..RunPlan::default() };
    model.forward(&model.encode(&reference.input()).unwrap(), &plan, &uninterrupted).unwrap()
}

fn worst(values: &[f32], expected: &[f32]) -> f32 {
    assert_eq!(values.len(), expected.len());
    values.iter().zip(expected).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

#[test]
fn merged_adapters_give_what_peft_gives() {
    for (name, base) in CASES {
        let folder = fixture("adapters").join(name);
        let model = open(&folder).unwrap_or_else(|error| panic!("{name}: {error}; {}", error.details()));
        assert_eq!(model.spec().name, format!("{base} + {name}"));
        let reference = Reference::open(&format!("adapters/{name}"), "reference.safetensors");
        let capture = run(&model, &reference);
        for (tensor, _, expected) in reference.tensors().filter(|(tensor, ..)| !Reference::is_input(tensor)) {
            let layer = tensor.split('.').nth(1).and_then(|layer| layer.parse::<usize>().ok());
            let (off, bound) = if let Some(layer) = layer {
                (worst(capture.stacks()[0].layers[layer].pattern().unwrap().as_slice(), expected), 1e-6)
            } else {
                let largest = expected.iter().fold(1.0f32, |most, value| most.max(value.abs()));
                (worst(capture.logits().unwrap().as_slice(), expected), 2e-5 * largest)
            };
            assert!(off <= bound, "{name}: {tensor} differs by {off:e}");
        }
        let told = model.audit().warnings.iter().find(|warning| warning.contains("is merged"));
        assert!(told.is_some_and(|told| told.contains("low-rank maps")), "{:?}", model.audit().warnings);
        let files = &model.spec().checkpoint.as_ref().unwrap().files;
        assert!(
            files.contains_key("adapter/adapter_model.safetensors") && files.contains_key("config.json"),
            "{files:?}"
        );
        // The file itself is one way to it.
        let by_file = open(&folder.join("adapter_model.safetensors")).unwrap();
        assert_eq!(run(&by_file, &reference).logits().unwrap().as_slice(), capture.logits().unwrap().as_slice());
    }
}

#[test]
fn a_run_without_the_adapter_is_one_of_the_base_model() {
    for (name, base) in CASES {
        let folder = fixture("adapters").join(name);
        let (files, _) = locate::open(&folder).unwrap();
        let model = open(&folder).unwrap();
        assert_eq!(model.audit().adapter.as_deref(), Some(name));
        let edits = vec![Edit::from_json(&json!({ "adapter": name, "on": false })).unwrap()];
        let plan = RunPlan { sites: Sites::all(), logits: Logits::Keep, edits, ..RunPlan::default() };
        let reference = Reference::open(&format!("adapters/{name}"), "bare.safetensors");
        let encoded = model.encode(&reference.input()).unwrap();
        let with = run(&model, &reference);
        let without = model.forward(&encoded, &plan, &uninterrupted).unwrap();
        assert_eq!((without.model(), without.computation().edits.len()), (with.model(), 1));
        for (tensor, _, expected) in reference.tensors().filter(|(tensor, ..)| !Reference::is_input(tensor)) {
            let layer = tensor.split('.').nth(1).and_then(|layer| layer.parse::<usize>().ok());
            let off = if let Some(layer) = layer {
                let pattern = |capture: &Capture| capture.stacks()[0].layers[layer].pattern().unwrap().clone();
                assert!(worst(pattern(&with).as_slice(), expected) > 1e-3, "{name}: {tensor} is changed by nothing");
                worst(pattern(&without).as_slice(), expected)
            } else {
                let largest = expected.iter().fold(1.0f32, |most, value| most.max(value.abs()));
                worst(without.logits().unwrap().as_slice(), expected) / (20.0 * largest)
            };
            assert!(off <= 1e-6, "{name}: {tensor} differs by {off:e}");
        }
        // The same numbers as those of the base model itself, and the adapter is there again.
        let plain = ModelFiles::open(&fixture(if base == "llama" { "families/llama" } else { base })).unwrap();
        let plain = Model::load(&plain, base, &engine(), &uninterrupted).unwrap();
        assert_eq!(
            run(&plain, &reference).logits().unwrap().as_slice(),
            without.logits().unwrap().as_slice(),
            "{name}"
        );
        assert_eq!(run(&model, &reference).logits().unwrap().as_slice(), with.logits().unwrap().as_slice(), "{name}");
        assert!(files.merged().is_some());
        // Many changed runs at once, some of them without it.
        let row = encoded.tokens.values().next().unwrap().len() - 1;
        if name == "gpt2" {
            let variants = [&plan.edits[..], &[], &plan.edits[..]].map(|edits| Variant::of(&encoded, edits, row));
            let mut found = vec![Vec::new(); 3];
            let each = &mut |nth: usize, logits: &[f32]| found[nth] = logits.to_vec();
            model.logits_of(&variants, &uninterrupted, each).unwrap();
            for (found, capture) in found.iter().zip([&without, &with, &without]) {
                assert!(worst(found, capture.logits().unwrap().row(row).unwrap()) < 1e-4);
            }
        }
    }
}

#[test]
fn an_adapter_that_is_not_there_cannot_be_left_out() {
    let said = |path: &Path, edit: serde_json::Value| {
        let model = open(path).unwrap();
        let plan = RunPlan { edits: vec![Edit::from_json(&edit).unwrap()], ..RunPlan::default() };
        let encoded = model.encode(&Input::Ids(vec![1, 2, 3])).unwrap();
        model.forward(&encoded, &plan, &uninterrupted).unwrap_err().to_string()
    };
    let off = json!({ "adapter": "gpt2", "on": false });
    let none = said(&fixture("gpt2"), off.clone());
    assert!(none.contains("has no adapter"), "{none}");
    let other = said(&fixture("adapters/stabilised"), off);
    assert!(other.contains("another adapter than that of this model, stabilised"), "{other}");
    let on = Edit::from_json(&json!({ "adapter": "gpt2", "on": true })).unwrap_err();
    assert!(on.contains("on without a change"), "{on}");
}

#[test]
fn one_of_several_adapters_in_a_folder_is_chosen_by_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let put = |name: &str| {
        let own = changed(name, "gpt2", |_, _| {});
        fs::create_dir(folder.path().join(name)).unwrap();
        for file in ["adapter_config.json", "adapter_model.safetensors"] {
            fs::copy(own.path().join(file), folder.path().join(name).join(file)).unwrap();
        }
    };
    put("gpt2");
    assert_eq!(open(folder.path()).unwrap().audit().adapter.as_deref(), Some("gpt2"), "there is one alone");
    put("embeddings");
    assert_says(&folder, &["has 2 adapters: embeddings, gpt2", "Open one of them"]);
    assert_eq!(open(&folder.path().join("embeddings")).unwrap().audit().adapter.as_deref(), Some("embeddings"));
}

/// A copy of an adapter with its model named by its whole path, and something changed.
fn changed(name: &str, base: &str, change: impl FnOnce(&mut serde_json::Value, &Path)) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for file in ["adapter_config.json", "adapter_model.safetensors"] {
        fs::copy(fixture("adapters").join(name).join(file), folder.path().join(file)).unwrap();
    }
    let path = folder.path().join("adapter_config.json");
    let mut config: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    config["base_model_name_or_path"] = fixture(base).to_str().unwrap().into();
    change(&mut config, folder.path());
    fs::write(path, config.to_string()).unwrap();
    folder
}

fn assert_says(folder: &tempfile::TempDir, parts: &[&str]) {
    let Err(error) = open(folder.path()) else { panic!("it opens") };
    let said = format!("{error}; {}", error.details());
    assert!(parts.iter().all(|part| said.contains(part)), "{said}");
}

#[test]
fn an_adapter_that_cannot_be_merged_is_refused_with_the_reason() {
    let set = |key: &'static str, value: serde_json::Value| {
        move |config: &mut serde_json::Value, _: &Path| config[key] = value
    };
    let refused: [(&str, &str, serde_json::Value, &str); 12] = [
        ("gpt2", "peft_type", "IA3".into(), "of the kind IA3"),
        ("gpt2", "init_lora_weights", "pissa".into(), "init_lora_weights"),
        ("gpt2", "r", 8.into(), "of rank 3, and says 8"),
        ("gpt2", "lora_alpha", serde_json::Value::Null, "no lora_alpha"),
        ("gpt2", "layer_replication", json!([[0, 2]]), "layer_replication"),
        ("gpt2", "use_dora", true.into(), "without their lengths"),
        ("lengths", "use_dora", false.into(), "without use_dora"),
        ("gpt2", "rank_pattern", json!({"(": 3}), "cannot be read"),
        ("embeddings", "ensure_weight_tying", true.into(), "ensure_weight_tying"),
        ("gpt2", "trainable_token_indices", json!([3]), "trainable_token_indices"),
        ("gpt2", "lora_bias", true.into(), "lora_bias"),
        ("gpt2", "kasa_config", json!({"beta": 1}), "kasa_config"),
    ];
    for (name, key, value, says) in refused {
        let base = if name == "lengths" { "families/llama" } else { "gpt2" };
        assert_says(&changed(name, base, set(key, value)), &[says, "merge_and_unload()"]);
    }
    // Of another model: other names, or the same with other widths.
    let nothing = |_: &mut serde_json::Value, _: &Path| {};
    assert_says(&changed("gpt2", "bert", nothing), &["does not have", "c_attn"]);
    assert_says(&changed("stabilised", "gpt2", nothing), &["does not have"]);
    assert_says(
        &changed("stabilised", "families/llama", set("fan_in_fan_out", true.into())),
        &["belongs to another model"],
    );
    // An output that is tied to the table would keep the model's own in PEFT.
    let table = changed("gpt2", "gpt2", |_, folder| {
        let path = folder.join("adapter_model.safetensors");
        let bytes = fs::read(&path).unwrap();
        let own = SafeTensors::deserialize(&bytes).unwrap();
        let values = vec![0u8; 4 * 320 * 32];
        let view = TensorView::new(Dtype::F32, vec![320, 32], &values).unwrap();
        let embedding = ("base_model.model.transformer.wte.weight".to_owned(), view);
        let all = own.iter().map(|(name, view)| (name.to_owned(), view)).chain([embedding]);
        fs::write(&path, safetensors::serialize(all, None).unwrap()).unwrap();
    });
    assert_says(&table, &["changes token embeddings", "wte"]);
    let cut = changed("gpt2", "gpt2", |_, folder| {
        let path = folder.join("adapter_model.safetensors");
        let bytes = fs::read(&path).unwrap();
        fs::write(path, &bytes[..bytes.len() - 100]).unwrap();
    });
    assert_says(&cut, &["adapter_model.safetensors"]);
    let none = changed("gpt2", "gpt2", |_, folder| fs::remove_file(folder.join("adapter_model.safetensors")).unwrap());
    assert_says(&none, &["has no adapter_model.safetensors"]);
    let away = changed("gpt2", "gpt2", set("base_model_name_or_path", "acme/none".into()));
    assert_says(&away, &["an adapter for “acme/none”", "attnscope pull", "merge_and_unload()"]);
}

#[test]
fn an_adapter_for_reviews_goes_on_where_the_storyteller_ends_and_reads_the_story_by_other_heads() {
    let example = EXAMPLES.iter().find(|example| example.title == "A film in a fairy tale").unwrap();
    let [story, review] = [example.model, example.beside[0]].map(|model| capture(&Example { model, ..*example }));
    let first = |capture: &Capture| {
        let row = capture.prediction().unwrap().rows.last().unwrap().clone();
        (row.top[0].label.clone(), row.top[0].value)
    };
    assert_eq!(first(&story).0, ".");
    // PEFT gives “ in” 0.136.
    assert!(first(&review).0 == "␣in" && (first(&review).1 - 0.136).abs() < 1e-3, "{:?}", first(&review));
    let moved = |head| {
        let of = |capture: &Capture| capture.stored_pattern(head).unwrap();
        let (a, b) = (of(&story), of(&review));
        a.as_slice().iter().zip(b.as_slice()).map(|(a, b)| (a - b).abs()).sum::<f32>() / (2 * a.n_rows()) as f32
    };
    let mut heads: Vec<HeadId> = all_heads(&story, StackKind::SelfAttention).collect();
    heads.sort_by(|a, b| moved(*b).total_cmp(&moved(*a)));
    assert_eq!((heads[0].layer, heads[0].head), example.head.unwrap(), "{}", moved(heads[0]));
    assert_eq!(heads.last().unwrap().layer, 0, "what looks at the last tokens stays as it was");
}
