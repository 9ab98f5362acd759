//! Adapters of PEFT: merged into the model that they name, as it opens.

use std::{fs, path::Path};

use attnscope::{
    capture::Capture,
    ids::{HeadId, StackKind},
    model::{LoadError, Logits, Model, RunPlan, Sites, locate, uninterrupted},
    session::gallery::{EXAMPLES, Example},
};

use safetensors::{Dtype, SafeTensors, tensor::TensorView};

use crate::{
    gallery::{all_heads, capture},
    parity::{Reference, fixture},
    weights::engine,
};

const CASES: [(&str, &str); 4] =
    [("gpt2", "gpt2"), ("stabilised", "llama"), ("lengths", "llama"), ("head", "bert-classifier")];

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
    let refused: [(&str, &str, serde_json::Value, &str); 9] = [
        ("gpt2", "peft_type", "IA3".into(), "of the kind IA3"),
        ("gpt2", "init_lora_weights", "pissa".into(), "init_lora_weights"),
        ("gpt2", "r", 8.into(), "of rank 3, and says 8"),
        ("gpt2", "lora_alpha", serde_json::Value::Null, "no lora_alpha"),
        ("gpt2", "layer_replication", serde_json::json!([[0, 2]]), "layer_replication"),
        ("gpt2", "use_dora", true.into(), "without their lengths"),
        ("lengths", "use_dora", false.into(), "without use_dora"),
        ("gpt2", "rank_pattern", serde_json::json!({"(": 3}), "cannot be read"),
        ("gpt2", "kasa_config", serde_json::json!({"beta": 1}), "kasa_config"),
    ];
    for (name, key, value, says) in refused {
        let base = if name == "gpt2" { "gpt2" } else { "families/llama" };
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
