//! What a class reads itself, against transformers: keys of other classes, other names for the same, and tables that the
//! configuration ties and the file does not. Every value here was tried there.

use std::{collections::BTreeMap, fs};

use attnscope::model::{Logits, Model, RunPlan, uninterrupted};
use safetensors::{SafeTensors, tensor::TensorView};
use serde_json::{Value, json};

use crate::{
    keys::{Changed, behaviour},
    parity::Reference,
};

/// A checkpoint with other values under some keys.
fn with(name: &str, keys: &[(&str, Value)]) -> Changed {
    Changed::new(name, |config| config.extend(keys.iter().map(|(key, value)| ((*key).to_owned(), value.clone()))))
}

fn of(changed: &Changed, name: &str) -> String {
    behaviour(&changed.model().unwrap_or_else(|error| panic!("{name}: {error}")), name)
}

#[test]
fn keys_of_other_classes_change_nothing() {
    for (name, key, value) in [
        ("gpt2", "layer_norm_eps", json!(0.5)),
        ("gpt2", "hidden_act", json!("relu")),
        ("families/gpt_neo", "hidden_act", json!("relu")),
        ("families/bloom", "layer_norm_eps", json!(0.5)),
        ("families/t5", "layer_norm_eps", json!(0.5)),
        ("families/mt5", "scale_decoder_outputs", json!(true)),
        ("families/opt", "layer_norm_eps", json!(0.5)),
        ("families/opt", "hidden_act", json!("gelu")),
        ("families/bart", "hidden_act", json!("relu")),
        ("families/led", "scale_embedding", json!(true)),
        ("families/distilbert", "layer_norm_eps", json!(0.5)),
        ("families/distilbert", "hidden_act", json!("relu")),
        ("families/modernbert", "layer_norm_eps", json!(0.5)),
        ("families/modernbert", "hidden_act", json!("relu")),
        ("families/gpt_neox", "rope_theta", json!(100)),
        ("families/gpt_neox", "partial_rotary_factor", json!(1.0)),
        ("families/llama", "rotary_emb_base", json!(100)),
        ("families/phi", "rotary_pct", json!(1.0)),
        // Encoders that cannot be made decoders.
        ("families/albert", "is_decoder", json!(true)),
        ("families/distilbert", "is_decoder", json!(true)),
        ("families/mpnet", "is_decoder", json!(true)),
        ("families/deberta-v2", "is_decoder", json!(true)),
    ] {
        assert_eq!(of(&with(name, &[(key, value)]), name), of(&with(name, &[]), name), "{name}: {key}");
    }
}

#[test]
fn another_name_for_the_same_means_the_same() {
    let name = "families/modernbert";
    let half = with(name, &[("sliding_window", json!(2)), ("local_attention", json!(128))]);
    let whole = with(name, &[("local_attention", json!(4))]);
    assert_eq!(of(&half, name), of(&whole, name), "half of the window goes first");
    assert_ne!(of(&half, name), of(&with(name, &[("local_attention", json!(128))]), name));

    let name = "families/phi3";
    let kind = |kind: &str| {
        Changed::new(name, |config| {
            let mut section = config.remove("rope_parameters").or_else(|| config.remove("rope_scaling")).unwrap();
            section["rope_type"] = json!(kind);
            config.insert("rope_scaling".to_owned(), section);
        })
    };
    assert_eq!(of(&kind("yarn"), name), of(&kind("longrope"), name), "Phi-3 has one way to stretch, by three names");
    assert!(kind("linear").refusal().to_string().contains("linear"));
}

#[test]
fn what_the_reference_cannot_compute_either_is_refused_by_name() {
    for (name, keys, named) in [
        ("families/llama", vec![("per_layer_config", json!({ "0": { "rms_norm_eps": 0.5 } }))], "per_layer_config"),
        ("families/mistral", vec![("sliding_window", json!(0))], "sliding_window"),
        ("families/gemma2", vec![("sliding_window", json!(null))], "sliding_window"),
    ] {
        let error = with(name, &keys).refusal().to_string();
        assert!(error.contains(named), "{error}");
    }
}

/// Adds a tensor to a checkpoint, `factor` times another one of it.
fn add(changed: &Changed, name: &str, table: &str, factor: f32) {
    let path = changed.path().join("model.safetensors");
    let bytes = fs::read(&path).unwrap();
    let tensors = SafeTensors::deserialize(&bytes).unwrap();
    let source = tensors.tensor(table).unwrap();
    let floats = source.data().chunks_exact(4).map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap()) * factor);
    let data: Vec<u8> = floats.flat_map(f32::to_le_bytes).collect();
    let mut all: BTreeMap<String, TensorView<'_>> = tensors.tensors().into_iter().collect();
    all.insert(name.to_owned(), TensorView::new(source.dtype(), source.shape().to_vec(), &data).unwrap());
    let bytes = safetensors::serialize(all, None).unwrap();
    fs::write(path, bytes).unwrap();
}

fn logits(model: &Model, name: &str) -> Vec<f32> {
    let input = model.encode(&Reference::open(name, "reference.safetensors").input()).unwrap();
    let plan = RunPlan { logits: Logits::Keep, ..RunPlan::silent() };
    model.forward(&input, &plan, &uninterrupted).unwrap().logits().unwrap().as_slice().to_vec()
}

/// Since version 5 transformers ties what the configuration ties only where the file does not hold two tables.
#[test]
fn a_tied_output_that_differs_in_the_file_is_its_own() {
    for (name, output, table) in [
        ("gpt2", "lm_head.weight", "transformer.wte.weight"),
        ("families/bart", "lm_head.weight", "model.shared.weight"),
        ("families/gemma", "lm_head.weight", "model.embed_tokens.weight"),
        ("bert", "cls.predictions.decoder.weight", "bert.embeddings.word_embeddings.weight"),
    ] {
        let outcome = |factor: f32| {
            let changed = with(name, &[("tie_word_embeddings", json!(true))]);
            add(&changed, output, table, factor);
            let model = changed.model().unwrap();
            (logits(&model, name), model.audit().warnings.concat())
        };
        let ((tied, silence), (own, warning)) = (outcome(1.0), outcome(2.0));
        assert!(!silence.contains(output) && warning.contains(output), "{name}: {silence:?} and {warning:?}");
        let plain = with(name, &[("tie_word_embeddings", json!(true))]).model().unwrap();
        assert_eq!(tied, logits(&plain, name), "{name}: the same numbers again");
        assert_ne!(tied, own, "{name}: an output of its own");
        if name == "gpt2" {
            assert!(own.iter().zip(&tied).all(|(own, tied)| (own - 2.0 * tied).abs() < 1e-4), "twice the table");
        }
    }
}

/// The embeddings of one side that differ in the file are those of that side alone.
#[test]
fn a_side_with_embeddings_of_its_own_reads_them() {
    let (name, side) = ("families/t5", "decoder.embed_tokens.weight");
    let changed = with(name, &[]);
    add(&changed, side, "shared.weight", 3.0);
    let model = changed.model().unwrap();
    assert!(model.audit().warnings.concat().contains(side), "{:?}", model.audit().warnings);
    assert_ne!(logits(&model, name), logits(&with(name, &[]).model().unwrap(), name));
}
