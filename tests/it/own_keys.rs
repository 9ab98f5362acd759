//! What a class reads itself, against transformers: keys of other classes, other names for the same, and tables that the
//! configuration ties and the file does not. Every value here was tried there.

use std::{collections::BTreeMap, fs};

use attnscope::{
    ids::StackKind,
    model::{Logits, Model, RunPlan, uninterrupted},
};
use safetensors::{SafeTensors, tensor::TensorView};
use serde_json::{Value, json};

use crate::{
    keys::{Changed, behaviour},
    parity::{Reference, fixture},
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

/// An encoder that has its decoder's configuration, and so weights of attention to another encoder, runs without it as in
/// transformers, and that is said.
#[test]
fn an_encoder_that_is_configured_like_its_decoder_attends_to_no_encoder() {
    let name = "families/bert-bert";
    let encoder = |keys: &[(&str, bool)]| {
        Changed::new(name, |config| {
            let encoder = config["encoder"].as_object_mut().unwrap();
            encoder.extend(keys.iter().map(|(key, value)| ((*key).to_owned(), json!(value))));
        })
    };
    let shared = encoder(&[("is_decoder", true), ("add_cross_attention", true)]);
    let layer = "encoder.encoder.layer.0.";
    for map in ["self.query", "self.key", "self.value", "output.dense", "output.LayerNorm"] {
        for part in ["weight", "bias"] {
            let tensor = |attention: &str| format!("{layer}{attention}.{map}.{part}");
            add(&shared, &tensor("crossattention"), &tensor("attention"), 1.0);
        }
    }
    let shared = shared.model().unwrap();
    let kinds: Vec<StackKind> = shared.spec().stacks.iter().map(|stack| stack.kind).collect();
    assert_eq!(kinds, [StackKind::Encoder, StackKind::Decoder, StackKind::Cross]);
    let alone = encoder(&[("is_decoder", true)]).model().unwrap();
    assert_eq!(logits(&shared, name), logits(&alone, name), "a causal encoder");
    let said = |model: &Model| model.audit().warnings.concat().contains("add_cross_attention");
    assert!(said(&shared) && !said(&alone), "{:?}", shared.audit().warnings);
}

/// A checkpoint whose tensors have other names, without those that get none.
fn named(name: &str, tied: bool, rename: impl Fn(&str) -> Option<String>) -> Changed {
    let changed = with(name, &[("tie_word_embeddings", json!(tied))]);
    let path = changed.path().join("model.safetensors");
    let bytes = fs::read(&path).unwrap();
    let tensors = SafeTensors::deserialize(&bytes).unwrap();
    let renamed = tensors.iter().filter_map(|(name, view)| Some((rename(name)?, view)));
    fs::write(path, safetensors::serialize(renamed, None).unwrap()).unwrap();
    changed
}

/// Fixtures, their table of token embeddings, and the output map that may be tied to it.
const TABLES: [(&str, &str, &str); 18] = [
    ("bert", "bert.embeddings.word_embeddings.weight", "cls.predictions.decoder.weight"),
    ("gpt2", "transformer.wte.weight", "lm_head.weight"),
    ("families/albert", "albert.embeddings.word_embeddings.weight", "predictions.decoder.weight"),
    ("families/bloom", "transformer.word_embeddings.weight", "lm_head.weight"),
    ("families/deberta-older-head", "deberta.embeddings.word_embeddings.weight", "cls.predictions.decoder.weight"),
    ("families/distilbert", "distilbert.embeddings.word_embeddings.weight", "vocab_projector.weight"),
    ("families/electra-generator", "electra.embeddings.word_embeddings.weight", "generator_lm_head.weight"),
    ("families/gemma", "model.embed_tokens.weight", "lm_head.weight"),
    ("families/gpt_neo", "transformer.wte.weight", "lm_head.weight"),
    ("families/gpt_neox", "gpt_neox.embed_in.weight", "embed_out.weight"),
    ("families/llama", "model.embed_tokens.weight", "lm_head.weight"),
    ("families/longformer", "longformer.embeddings.word_embeddings.weight", "lm_head.decoder.weight"),
    ("families/modernbert", "model.embeddings.tok_embeddings.weight", "decoder.weight"),
    ("families/mpnet", "mpnet.embeddings.word_embeddings.weight", "lm_head.decoder.weight"),
    ("families/opt", "model.decoder.embed_tokens.weight", "lm_head.weight"),
    ("families/phi", "model.embed_tokens.weight", "lm_head.weight"),
    ("families/qwen3", "model.embed_tokens.weight", "lm_head.weight"),
    ("families/roberta", "roberta.embeddings.word_embeddings.weight", "lm_head.decoder.weight"),
];

/// Of a tied table programs keep one name, whichever comes first: it is found under each, wrapped or not.
#[test]
fn a_tied_table_is_found_under_either_of_its_names() {
    for (name, table, output) in TABLES {
        let of_table = of(&named(name, true, |name| (name != output).then(|| name.to_owned())), name);
        let under_output = |wrapper: &str| {
            named(name, true, |name| match name {
                name if name == output => None,
                name if name == table => Some(format!("{wrapper}{output}")),
                other => Some(format!("{wrapper}{other}")),
            })
        };
        for wrapper in ["", "module."] {
            let changed = under_output(wrapper);
            assert_eq!(of(&changed, name), of_table, "{name}: {wrapper}");
            let audit = changed.open().unwrap();
            assert!(audit.renamed.contains(&(table.to_owned(), output.to_owned())), "{name}: {:?}", audit.renamed);
            let ties = audit.warnings.concat().contains("ties");
            assert!(audit.unexpected.is_empty() && !ties, "{name}: {:?}", audit.warnings);
        }
        // What is not tied is not there.
        let error = named(name, false, |name| (name != table).then(|| name.to_owned())).refusal().to_string();
        assert!(error.contains("the weights lack the tensor"), "{name}: {error}");
    }
    for (name, table) in [("families/t5", "shared.weight"), ("families/bart", "model.shared.weight")] {
        let prefix = table.trim_end_matches("shared.weight");
        let expected = of(&with(name, &[]), name);
        for other in ["encoder.embed_tokens.weight", "decoder.embed_tokens.weight", "lm_head.weight"] {
            let place = if other == "lm_head.weight" { other.to_owned() } else { format!("{prefix}{other}") };
            let changed = named(name, true, |name| Some(if name == table { place.clone() } else { name.to_owned() }));
            assert_eq!(of(&changed, name), expected, "{name}: {place}");
        }
    }
}

/// Where the configuration unties the output and the file has none, there is none: nobody predicts from the embeddings.
#[test]
fn an_output_map_that_is_missing_is_missing() {
    for (name, _, output) in TABLES {
        let model = named(name, false, |name| (name != output).then(|| name.to_owned())).model().unwrap();
        let warnings = model.audit().warnings.concat();
        assert_eq!(model.spec().head, None, "{name}");
        assert!(warnings.contains("is not shown") && warnings.contains(output), "{name}: {warnings}");
    }
    // T5 is tied whatever its configuration says, and newer DeBERTas have no other output.
    for name in ["families/t5", "families/deberta-v3"] {
        assert!(named(name, false, |name| Some(name.to_owned())).model().unwrap().spec().head.is_some(), "{name}");
    }
}

/// Older and newer names of GPT-NeoX' output.
#[test]
fn an_output_map_has_the_names_of_every_version() {
    let name = "families/gpt_neox";
    let newer = named(name, false, |name| Some(name.replace("embed_out", "lm_head")));
    assert_eq!(of(&newer, name), of(&with(name, &[]), name));
}

/// No key of `generation_config.json` is forgotten: each is read, known to change no token, or told as not followed.
#[test]
fn every_key_about_writing_is_accounted_for() {
    let classes: Value = serde_json::from_slice(&fs::read(fixture("configurations/keys.json")).unwrap()).unwrap();
    let keys: Vec<_> = classes["generation"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    let audit = |content: Value| {
        let changed = with("gpt2", &[]);
        fs::write(changed.path().join("generation_config.json"), content.to_string()).unwrap();
        changed.open().unwrap()
    };
    let (mut n_read, mut n_harmless, mut told) = (0, 0, Vec::new());
    for key in &keys {
        let (name, audit) = (format!("generation.{key}"), audit(json!({ *key: 7 })));
        assert!(audit.unknown_keys.is_empty(), "{:?}", audit.unknown_keys);
        if audit.warnings.concat().contains(key) {
            told.push(*key);
        } else if audit.config.iter().any(|(read, _)| *read == name) {
            n_read += 1;
        } else {
            assert!(audit.harmless_keys.iter().any(|(known, _)| *known == name), "{name} is forgotten");
            n_harmless += 1;
        }
    }
    println!("{} keys: {n_read} read, {n_harmless} harmless, {} told: {told:?}", keys.len(), told.len());
    assert!(n_read >= 12 && told.len() >= 15 && told.contains(&"num_beams") && told.contains(&"do_sample"), "{told:?}");
    let usual = audit(json!({"num_beams": 1, "do_sample": false, "guidance_scale": 1.0, "sequence_bias": null}));
    assert!(usual.warnings.is_empty(), "{:?}", usual.warnings);
    let unknown = audit(json!({"my_notes": 1})).unknown_keys;
    assert_eq!(unknown, [("generation.my_notes".to_owned(), "1".to_owned())]);
}
