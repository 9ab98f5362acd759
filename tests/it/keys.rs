//! What becomes of the keys of `config.json`, held against transformers' own configuration classes.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    sync::atomic::{AtomicUsize, Ordering},
};

use attnscope::{
    model::{
        Engine, Generation, LoadError, Logits, Model, ModelFiles, RunPlan, Sites, audit::Audit, locate, uninterrupted,
    },
    spec::HeadKind,
};
use serde_json::{Map, Value, json};
use tempfile::TempDir;

use crate::parity::{Reference, fixture};

/// Where the keys of a class are put: a checkpoint that has it, and the section that it describes.
fn place_of(model_type: &str) -> (&str, Option<&str>) {
    match model_type {
        "camembert" => ("families/camembert-tokens", None),
        "bert" | "gpt2" | "vit" => (model_type, None),
        "bridgetower_text_model" => ("families/bridgetower", Some("text_config")),
        "bridgetower_vision_model" => ("families/bridgetower", Some("vision_config")),
        "clip_text_model" => ("families/clip", Some("text_config")),
        "clip_vision_model" => ("families/clip-vision", None),
        "dinov2_with_registers" => ("families/dinov2-registers", None),
        "encoder-decoder" => ("families/bert-bert", None),
        "electra" => ("families/electra-generator", None),
        "gemma3_text" => ("families/gemma3", None),
        "qwen3_5_moe_text" => ("families/qwen3_5_moe", Some("text_config")),
        "rope" => ("families/llama-yarn", Some("rope_parameters")),
        "siglip_text_model" => ("families/siglip", Some("text_config")),
        "siglip_vision_model" => ("families/siglip-vision", None),
        "siglip2_text_model" => ("families/siglip2", Some("text_config")),
        "siglip2_vision_model" => ("families/siglip2-vision", None),
        "timm_wrapper" => ("families/timm", None),
        "trocr" => ("families/trocr", Some("decoder")),
        "vision-encoder-decoder" => ("families/vit-gpt2", None),
        "xlm-roberta" => ("families/xlm-roberta-classifier", None),
        _ => ("families", None),
    }
}

/// A copy of a checkpoint whose configuration a test changes.
pub struct Changed(TempDir);

impl Changed {
    /// The folder.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    pub fn new(name: &str, change: impl FnOnce(&mut Map<String, Value>)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for file in ["model.safetensors", "tokenizer.json", "preprocessor_config.json", "generation_config.json"] {
            let path = fixture(name).join(file);
            if path.is_file() {
                fs::copy(path, folder.path().join(file)).unwrap();
            }
        }
        let mut config = config_of(&fixture(name));
        change(&mut config);
        fs::write(folder.path().join("config.json"), Value::Object(config).to_string()).unwrap();
        Self(folder)
    }

    pub fn model(&self) -> Result<Model, LoadError> {
        let files = ModelFiles::open(self.0.path())?;
        Model::load(&files, "changed", &Engine::cpu(Some(1)).unwrap(), &uninterrupted)
    }

    pub fn open(&self) -> Result<Audit, LoadError> {
        self.model().map(|model| model.audit().clone())
    }

    pub fn refusal(&self) -> LoadError {
        self.open().err().unwrap_or_else(|| panic!("it was accepted"))
    }
}

/// A checkpoint as it is.
fn open(name: &str) -> Audit {
    Changed::new(name, |_| {}).open().unwrap()
}

fn config_of(folder: &Path) -> Map<String, Value> {
    serde_json::from_slice(&fs::read(folder.join("config.json")).unwrap()).unwrap()
}

fn section<'a>(config: &'a mut Map<String, Value>, name: Option<&str>) -> &'a mut Map<String, Value> {
    match name {
        Some(name) => config.get_mut(name).and_then(Value::as_object_mut).unwrap(),
        None => config,
    }
}

/// No key of any class is forgotten: each one stands in a list, is read, or refused with its name.
#[test]
fn every_key_of_every_class_is_accounted_for() {
    let classes: Value = serde_json::from_slice(&fs::read(fixture("configurations/keys.json")).unwrap()).unwrap();
    let mut forgotten = BTreeMap::<&str, BTreeSet<String>>::new();
    for (model_type, class) in classes["families"].as_object().unwrap() {
        let (place, inside) = place_of(model_type);
        let name = if place == "families" { format!("families/{model_type}") } else { place.to_owned() };
        let scope = inside.map(|name| format!("{name}.")).unwrap_or_default();
        let defaults = class["keys"].as_object().unwrap();
        // Sizes of the checkpoint stay; everything else that the class would write is added.
        let whole = Changed::new(&name, |config| {
            let section = section(config, inside);
            for (key, value) in defaults.iter().filter(|(key, _)| !is_size(key)) {
                section.entry(key).or_insert_with(|| value.clone());
            }
        });
        let audit = whole.open().unwrap_or_else(|error| panic!("{model_type}: {error}"));
        let unknown = |audit: &Audit| -> BTreeSet<String> {
            audit.unknown_keys.iter().filter_map(|(name, _)| name.strip_prefix(&scope).map(str::to_owned)).collect()
        };
        let before = unknown(&audit);
        let known: Vec<_> = before.iter().filter(|key| defaults.contains_key(*key)).cloned().collect();
        forgotten.entry(model_type).or_default().extend(known);
        let have: BTreeSet<String> = {
            let mut config = config_of(&fixture(&name));
            section(&mut config, inside).keys().cloned().collect()
        };
        let asked = class["asked"].as_array().unwrap().iter().filter_map(Value::as_str);
        for key in asked.filter(|key| !have.contains(*key)) {
            // A value of no meaning: whoever reads it complains, and whoever limits it refuses.
            let odd = Changed::new(&name, |config| {
                section(config, inside).insert(key.to_owned(), json!("odd"));
            });
            if odd.open().is_ok_and(|audit| unknown(&audit).contains(key)) {
                forgotten.entry(model_type).or_default().insert(key.to_owned());
            }
        }
        for (alias, key) in class["aliases"].as_object().unwrap() {
            let key = key.as_str().unwrap();
            let mut config = config_of(&fixture(&name));
            let Some(value) = section(&mut config, inside).get(key).cloned() else { continue };
            let same = Changed::new(&name, |config| {
                section(config, inside).insert(alias.clone(), value.clone());
            });
            let audit = same.open().unwrap_or_else(|error| panic!("{model_type}: {alias}: {error}"));
            assert_eq!(unknown(&audit), unknown(&open(&name)), "{model_type}: {alias}");
            // Rates and deviations are of training.
            let Some(size) = value.as_u64() else { continue };
            let other = Changed::new(&name, |config| {
                section(config, inside).insert(alias.clone(), json!(size + 1));
            });
            assert!(other.open().is_err(), "{model_type}: {alias} contradicts {key}");
        }
    }
    forgotten.retain(|_, keys| !keys.is_empty());
    assert!(forgotten.is_empty(), "neither read nor known to be harmless: {forgotten:#?}");
}

/// Each `model_type` that can be opened is one of the classes, or of before transformers.
#[test]
fn every_supported_type_is_held_against_its_class() {
    let classes: Value = serde_json::from_slice(&fs::read(fixture("configurations/keys.json")).unwrap()).unwrap();
    let types: Vec<_> = locate::supported_types()
        .flat_map(|(_, types)| types.split(", ").map(str::to_owned).collect::<Vec<_>>())
        .collect();
    let of_others = ["attentive_lm", "bilstm", "han", "memn2n", "open_clip", "pointer", "rnnsearch"];
    let is_known = |name: &str| classes["families"].get(name).is_some() || of_others.contains(&name);
    let without: Vec<_> = types.iter().filter(|name| !is_known(name)).collect();
    assert!(without.is_empty(), "MODEL_TYPES of tests/fixtures/configurations/generate.py lacks {without:?}");
}

/// A configuration that is silent means what its class means: whatever a family reads is either asked for, or
/// the class's own default where it is left out.
#[test]
fn what_is_left_out_is_what_the_class_has_by_default() {
    let classes: Value = serde_json::from_slice(&fs::read(fixture("configurations/keys.json")).unwrap()).unwrap();
    let (mut wrong, mut n_compared) = (Vec::new(), 0);
    for (model_type, class) in classes["families"].as_object().unwrap() {
        let (place, inside) = place_of(model_type);
        let name = if place == "families" { format!("families/{model_type}") } else { place.to_owned() };
        let scope = inside.map(|name| format!("{name}.")).unwrap_or_default();
        for (key, default) in class["keys"].as_object().unwrap() {
            // Qwen's class saves no window while another key switches it off; Ettin's saves half of another key.
            let derived = model_type.starts_with("qwen") || model_type == "modernbert-decoder";
            if (derived && key == "sliding_window") || DECIDING.contains(&key.as_str()) {
                continue;
            }
            let said = Changed::new(&name, |config| {
                section(config, inside).insert(key.clone(), default.clone());
            });
            let silent = Changed::new(&name, |config| {
                section(config, inside).remove(key);
            });
            // It would speak for the configuration about what is written.
            for changed in [&said, &silent] {
                let _ = fs::remove_file(changed.0.path().join("generation_config.json"));
            }
            let said = said.model();
            // What nobody read is the same either way.
            let reads = |model: &Model| model.audit().config.iter().any(|(asked, _)| *asked == format!("{scope}{key}"));
            if said.as_ref().is_ok_and(|model| !default.is_null() && !reads(model)) {
                continue;
            }
            match (said.map(|model| behaviour(&model, &name)), silent.model().map(|model| behaviour(&model, &name))) {
                // It is asked for, or other sizes are missing with it.
                (_, Err(_)) => {}
                (Ok(said), Ok(silent)) => {
                    n_compared += 1;
                    if said != silent {
                        let at = said.chars().zip(silent.chars()).position(|(a, b)| a != b).unwrap_or(0);
                        let near = |text: &str| text.chars().skip(at.saturating_sub(60)).take(100).collect::<String>();
                        wrong.push(format!("{model_type}: {key}: {} is {} when left out", near(&said), near(&silent)));
                    }
                }
                // Of the class's own number of layers, or what follows from other sizes of its own.
                (Err(_), Ok(_)) if is_size(key) => {}
                (Err(error), Ok(_)) => wrong.push(format!("{model_type}: {key} = {default} is refused: {error}")),
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {n_compared}: {wrong:#?}", wrong.len());
    assert!(n_compared > 200, "{n_compared} keys were compared");
}

/// Keys without which it is another checkpoint.
const DECIDING: [&str; 4] = ["architectures", "model_type", "id2label", "label2id"];

/// Everything that a checkpoint computes and all it was told about how: the network without its numbers, the
/// rules of writing, and all sites of one run on the input of the reference.
pub fn behaviour(model: &Model, name: &str) -> String {
    let described = format!("{model:?}");
    let part = |from: &str, to: &str| {
        let start = described.find(from).unwrap();
        described[start..].split(to).next().unwrap().to_owned()
    };
    let reference = Reference::open(name, "reference.safetensors");
    let plan = RunPlan {
        sites: Sites::all(),
        logits: Logits::Keep,
        generate: Some(Generation { max_new_tokens: 4, ..Generation::default() }),
        ..RunPlan::default()
    };
    let run = model.encode(&reference.input()).and_then(|input| model.forward(&input, &plan, &uninterrupted));
    let run = run.map_or_else(
        |error| error.to_string(),
        |capture| format!("{:?} {:?} {:?}", capture.stacks(), capture.logits(), capture.generated()),
    );
    format!("{} {} {run}", part("network: Network", "reader: Reader"), part("decoding: ", "\u{0}"))
}

/// What the tensors' shapes depend on.
fn is_size(key: &str) -> bool {
    let parts = ["size", "layers", "heads", "dim", "positions", "groups", "channels", "rope", "layer_types", "inner"];
    parts.iter().any(|part| key.contains(part))
        || ["n_layer", "n_head", "n_embd", "d_kv", "d_ff", "d_model", "mamba_d_head", "num_classes"].contains(&key)
}

#[test]
fn keys_that_change_numbers_are_refused_by_name_and_not_called_damage() {
    for (name, key, value) in
        [("gpt2", "pruned_heads", json!({ "0": [1] })), ("families/gpt_neo", "add_cross_attention", json!(true))]
    {
        let error = Changed::new(name, |config| {
            config.insert(key.to_owned(), value);
        })
        .refusal();
        let (summary, details) = (error.to_string(), error.details());
        assert!(matches!(error, LoadError::Unsupported { .. }), "{summary}");
        assert!(summary.contains(key) && !summary.contains("not valid"), "{summary}");
        assert!(details.contains("in order") && details.contains("docs/captures.md"), "{details}");
    }
}

/// Weights that do not fit because heads were cut out are not blamed.
#[test]
fn heads_that_are_gone_are_named() {
    let error = Changed::new("bert", |config| {
        config.insert("pruned_heads".to_owned(), json!({ "0": [1] }));
        config.insert("intermediate_size".to_owned(), json!(7));
    })
    .refusal();
    assert!(error.to_string().contains("pruned_heads"), "{error}");
}

/// Whatever a configuration is refused for, and a tensor that is not there, is found before gigabytes are read.
#[test]
fn refusals_come_before_weights_are_read() {
    for (name, key, value) in [
        ("gpt2", "pruned_heads", json!({ "0": [1] })),
        ("gpt2", "n_layer", json!(7)),
        ("bert", "hidden_act", json!("swoosh")),
        ("bert", "position_embedding_type", json!("relative_key")),
        ("families/bart", "num_hidden_layers", json!(7)),
        ("families/llama", "attention_bias", json!([true])),
        ("families/llama-yarn", "rope_scaling", json!({ "rope_type": "spiral" })),
    ] {
        let changed = Changed::new(name, |config| {
            config.insert(key.to_owned(), value);
        });
        let files = ModelFiles::open(changed.0.path()).unwrap();
        let n_read = AtomicUsize::new(0);
        let counted = |_| {
            n_read.fetch_add(1, Ordering::Relaxed);
            Ok(())
        };
        let engine = Engine::cpu(Some(1)).unwrap();
        assert!(Model::load(&files, "changed", &engine, &counted).is_err(), "{name} with another {key}");
        assert_eq!(n_read.load(Ordering::Relaxed), 0, "{name} with another {key}");
        assert!(Model::load(&ModelFiles::open(&fixture(name)).unwrap(), name, &engine, &counted).is_ok());
        assert_ne!(n_read.load(Ordering::Relaxed), 0, "{name} is read tensor by tensor");
    }
}

#[test]
fn values_of_another_kind_are_an_error_and_not_a_default() {
    for (name, key, value) in [
        ("gpt2", "scale_attn_weights", json!("no")),
        ("families/llama", "attention_bias", json!([true])),
        ("bert", "hidden_act", json!(7)),
    ] {
        let error = Changed::new(name, |config| {
            config.insert(key.to_owned(), value);
        })
        .refusal()
        .to_string();
        assert!(error.contains(key) && error.contains("instead of"), "{error}");
    }
}

#[test]
fn what_no_class_has_stops_nothing_and_is_told() {
    let notes = [("transformers.js_config", json!({ "dtype": "q8" })), ("my_notes", json!("tuned on Mondays"))];
    let audit = Changed::new("bert", |config| {
        config.extend(notes.clone().map(|(key, value)| (key.to_owned(), value)));
        config.insert("gradient_checkpointing".to_owned(), json!(false));
    })
    .open()
    .unwrap();
    let unknown: Vec<_> = audit.unknown_keys.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(unknown, ["transformers.js_config", "my_notes"]);
    assert!(audit.harmless_keys.iter().any(|(name, _)| name == "hidden_dropout_prob"), "{:?}", audit.harmless_keys);
    let both = audit.config.iter().filter(|(name, _)| audit.harmless_keys.iter().any(|(other, _)| other == name));
    assert_eq!(both.count(), 0, "a key is read or it is not");
}

/// The class that a checkpoint names decides about its head, whatever its weights have.
#[test]
fn the_named_class_decides_the_head() {
    let head = |name: &str, class: Option<&str>| {
        let changed = Changed::new(name, |config| match class {
            Some(class) => {
                config.insert("architectures".to_owned(), json!([class]));
            }
            None => {
                config.remove("architectures");
            }
        });
        let files = ModelFiles::open(changed.0.path()).unwrap();
        let model = Model::load(&files, name, &Engine::cpu(Some(1)).unwrap(), &uninterrupted).unwrap();
        (model.spec().head, model.audit().warnings.join("; "))
    };
    for (name, class, expected, said) in [
        ("bert", None, Some(HeadKind::MaskedLm), ""),
        ("bert", Some("BertForMaskedLM"), Some(HeadKind::MaskedLm), ""),
        ("bert", Some("BertForPreTraining"), Some(HeadKind::MaskedLm), ""),
        ("bert", Some("SomebodysOwn"), Some(HeadKind::MaskedLm), ""),
        ("bert", Some("BertModel"), None, ""),
        ("bert", Some("BertForQuestionAnswering"), None, "BertForQuestionAnswering has a head for question answering"),
        ("bert", Some("BertForTokenClassification"), None, "BertForTokenClassification"),
        ("gpt2", Some("GPT2Model"), None, ""),
        ("gpt2", Some("GPT2LMHeadModel"), Some(HeadKind::NextToken), ""),
        ("families/llama-classifier", Some("LlamaForSequenceClassification"), Some(HeadKind::TextClass), ""),
        ("families/llama-classifier", Some("LlamaForCausalLM"), None, "LlamaForCausalLM"),
        ("vit", Some("ViTForMaskedImageModeling"), None, "masked image modeling"),
        ("families/clip", Some("CLIPModel"), Some(HeadKind::Similarity), ""),
        ("families/bridgetower", Some("BridgeTowerForMaskedLM"), Some(HeadKind::MaskedLm), ""),
        ("families/bridgetower", Some("BridgeTowerModel"), None, ""),
        ("families/bridgetower", None, Some(HeadKind::MaskedLm), ""),
        ("families/bridgetower-match", None, Some(HeadKind::PairClass), ""),
        ("families/vit-gpt2", Some("VisionEncoderDecoderModel"), Some(HeadKind::NextToken), ""),
    ] {
        let (found, warnings) = head(name, class);
        assert_eq!(found, expected, "{name} as {class:?}");
        let about_head = warnings.contains("head");
        assert_eq!(about_head, !said.is_empty(), "{name} as {class:?}: {warnings}");
        assert!(warnings.contains(said), "{name} as {class:?}: {warnings}");
    }
}

/// Two names of one thing must say the same, and both directions are either computed or refused.
#[test]
fn contradictions_are_named() {
    let error = Changed::new("families/bart", |config| {
        config.insert("num_hidden_layers".to_owned(), json!(7));
    })
    .refusal()
    .to_string();
    assert!(error.contains("num_hidden_layers = 7") && error.contains("encoder_layers"), "{error}");
}
