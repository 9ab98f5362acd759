//! Tokenizers held against transformers' own classes: which class reads a checkpoint, what becomes of every attribute
//! that a class reads, and who is right where the file and the class do not agree.

use std::{collections::BTreeSet, fmt::Write as _, fs, path::PathBuf};

use attnscope::model::{
    Input, Model, ModelFiles, Preparation, TextInput,
    input::{InputError, TextEncoder},
};
use serde_json::{Value, json};

use crate::{keys::Changed, parity::fixture};

/// What `tests/fixtures/configurations/generate_tokenizers.py` wrote from the classes.
fn classes() -> Value {
    serde_json::from_slice(&fs::read(fixture("configurations/tokenizers.json")).unwrap()).unwrap()
}

/// The folder of a checkpoint with a tokenizer only.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new(files: &[(&str, Vec<u8>)], settings: &Value, model: &Value) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let small = [("tokenizer_config.json", settings), ("config.json", model)];
        for (name, value) in small {
            fs::write(folder.path().join(name), value.to_string()).unwrap();
        }
        for (name, bytes) in files {
            fs::write(folder.path().join(name), bytes).unwrap();
        }
        Self(folder)
    }

    fn open(&self) -> Result<TextEncoder, InputError> {
        Model::tokenizer(&ModelFiles::folder(self.0.path()))
    }
}

fn file(name: &str) -> Vec<u8> {
    fs::read(fixture(name)).unwrap()
}

/// A `tokenizer.json` with pieces that have scores.
fn unigram() -> Vec<u8> {
    let special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"];
    let mut vocab: Vec<Value> = special.iter().map(|name| json!([name, 0.0])).collect();
    vocab.extend(
        ["▁", "a", "b", "c", "▁ab", "en_XX"].iter().enumerate().map(|(i, name)| json!([name, -1.0 - i as f64])),
    );
    let model = json!({ "type": "Unigram", "unk_id": 3, "vocab": vocab, "byte_fallback": false });
    json!({ "version": "1.0", "model": model, "added_tokens": [] }).to_string().into_bytes()
}

/// A vocabulary of the kind that a class reads.
fn vocabulary(class: &str) -> Vec<(&'static str, Vec<u8>)> {
    match class {
        "BertTokenizer" | "MPNetTokenizer" => vec![("tokenizer.json", file("bert/tokenizer.json"))],
        "EsmTokenizer" => vec![("vocab.txt", file("tokenizers/esm/vocab.txt"))],
        "SiglipTokenizer" => vec![("spiece.model", file("tokenizers/t5/spiece.model"))],
        "MarianTokenizer" => ["source.spm", "target.spm", "vocab.json"]
            .map(|name| (name, file(&PathBuf::from("tokenizers/marian").join(name).display().to_string())))
            .into(),
        "M2M100Tokenizer" => ["sentencepiece.bpe.model", "vocab.json"]
            .map(|name| (name, file(&format!("tokenizers/m2m_100/{name}"))))
            .into(),
        "NllbTokenizer" => vec![("sentencepiece.bpe.model", file("tokenizers/nllb/sentencepiece.bpe.model"))],
        "PegasusTokenizer" => vec![("spiece.model", file("tokenizers/pegasus/spiece.model"))],
        "AlbertTokenizer"
        | "CamembertTokenizer"
        | "DebertaV2Tokenizer"
        | "MBartTokenizer"
        | "MBart50Tokenizer"
        | "T5Tokenizer"
        | "XLMRobertaTokenizer" => vec![("tokenizer.json", unigram())],
        _ => vec![("tokenizer.json", file("gpt2/tokenizer.json"))],
    }
}

#[test]
fn the_same_class_as_in_transformers_reads_a_checkpoint() {
    let classes = classes();
    let known = classes["classes"].as_object().unwrap();
    let class = |name: Option<&str>, model_type: &str| {
        let settings = name.map_or_else(|| json!({}), |name| json!({ "tokenizer_class": name }));
        // Without bytes for letters, which would send LLaMA's class away.
        let files = [("tokenizer.json", unigram())];
        Folder::new(&files, &settings, &json!({ "model_type": model_type })).open().unwrap().class()
    };
    let (mut n_here, mut wrong) = (0, Vec::new());
    let mut check = |name: Option<&str>, model_type: &str, expected: &str| {
        // What is not one of the classes here goes by the file, and says so.
        let expected = match expected {
            "DistilBertTokenizer" => "BertTokenizer",
            other if known.contains_key(other) => other,
            _ => "TokenizersBackend",
        };
        n_here += usize::from(expected != "TokenizersBackend");
        let found = class(name, model_type);
        if found != expected {
            wrong.push(format!("{name:?} of {model_type}: {found} instead of {expected}"));
        }
    };
    for (name, expected) in classes["names"].as_object().unwrap() {
        check(Some(name), "llama", expected.as_str().unwrap());
    }
    for (model_type, names) in classes["model_types"].as_object().unwrap() {
        for (name, expected) in names.as_object().unwrap() {
            check((name != "None").then_some(name), model_type, expected.as_str().unwrap());
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(n_here > 100, "{n_here} of the classes are known");
}

/// No attribute of any class is forgotten: each is read, known to change no id, or named.
#[test]
fn every_attribute_of_every_class_is_accounted_for() {
    let classes = classes();
    let (mut forgotten, mut table) = (Vec::new(), String::new());
    for (class, attributes) in classes["classes"].as_object().unwrap() {
        let files = vocabulary(class);
        let (mut n_read, mut n_harmless, mut n_named) = (0, 0, 0);
        for (name, default) in attributes.as_object().unwrap() {
            let mut settings = json!({ "tokenizer_class": class });
            settings[name] = match default {
                _ if name == "tokenizer_class" => json!(class),
                Value::Bool(value) => json!(!value),
                Value::Number(_) => json!(1),
                _ => json!("odd"),
            };
            let folder = Folder::new(&files, &settings, &json!({ "model_type": "llama" }));
            let encoder = match folder.open() {
                Ok(encoder) => encoder,
                Err(error) => {
                    let said = format!("{error}{}", error.details());
                    assert!(said.contains("odd"), "{class}: {name}: {said}");
                    n_named += 1;
                    continue;
                }
            };
            let has = |list: &[(String, String)]| list.iter().any(|(key, _)| key == name);
            let keys = encoder.keys();
            if encoder.warnings().iter().any(|warning| warning.contains(name.as_str())) {
                n_named += 1;
            } else if has(&keys.read) {
                n_read += 1;
            } else if has(&keys.harmless) {
                n_harmless += 1;
            } else {
                forgotten.push(format!("{class}: {name}"));
            }
        }
        writeln!(table, "{class}: {n_read} read, {n_harmless} harmless, {n_named} named").unwrap();
    }
    println!("{table}");
    assert!(forgotten.is_empty(), "{} forgotten: {forgotten:#?}", forgotten.len());
}

fn ids(encoder: &TextEncoder, text: &str) -> Vec<u32> {
    encoder.encode(&TextInput { text: text.to_owned(), ..TextInput::default() }, 100).unwrap().ids
}

/// The class decides where the file says something else, and the sentence says what both say.
#[test]
fn where_file_and_class_do_not_agree_the_class_decides_and_it_is_said() {
    let with = |name: &str, change: &dyn Fn(&mut Value), class: &str| {
        let mut tokenizer: Value = serde_json::from_slice(&file(&format!("{name}/tokenizer.json"))).unwrap();
        change(&mut tokenizer);
        let files = [("tokenizer.json", tokenizer.to_string().into_bytes())];
        let settings = json!({ "tokenizer_class": class });
        Folder::new(&files, &settings, &json!({ "model_type": name })).open().unwrap()
    };
    let nothing = |_: &mut Value| {};
    for (name, class, part, value, told) in [
        ("bert", "BertTokenizer", "post_processor", Value::Null, "special tokens around a text: A, A B in the file"),
        (
            "bert",
            "BertTokenizer",
            "pre_tokenizer",
            json!({ "type": "WhitespaceSplit" }),
            "words: WhitespaceSplit in the",
        ),
        (
            "gpt2",
            "GPT2Tokenizer",
            "normalizer",
            json!({ "type": "Lowercase" }),
            "normaliser: Lowercase in the file, none",
        ),
    ] {
        let text = "The cat,dog";
        let plain = with(name, &nothing, class);
        let odd = with(name, &|tokenizer| tokenizer[part] = value.clone(), class);
        assert_eq!(ids(&odd, text), ids(&plain, text), "{class}: {part}");
        let said = odd.warnings().join("; ");
        assert!(said.contains(told) && said.contains("transformers 4 went by the file"), "{said}");
        assert!(!plain.warnings().join("; ").contains("do not agree"), "{:?}", plain.warnings());
        let generic = with(name, &|tokenizer| tokenizer[part] = value.clone(), "PreTrainedTokenizerFast");
        assert_ne!(ids(&generic, text), ids(&plain, text), "{part}: the generic class goes by the file");
        assert!(!generic.warnings().join("; ").contains("do not agree"), "{:?}", generic.warnings());
    }
}

#[test]
fn flags_that_nobody_follows_are_named() {
    let said = |settings: Value| {
        let files = [("tokenizer.json", file("bert/tokenizer.json"))];
        let encoder = Folder::new(&files, &settings, &json!({ "model_type": "bert" })).open().unwrap();
        let ignored: BTreeSet<String> = encoder.keys().ignored.iter().map(|(key, _)| key.clone()).collect();
        (encoder.warnings().join("; "), ignored)
    };
    let (unknown, ignored) = said(json!({ "tokenizer_class": "KoBertTokenizer", "do_lower_case": false, "notes": 1 }));
    assert!(unknown.contains("KoBertTokenizer") && unknown.contains("do_lower_case = false"), "{unknown}");
    assert!(!unknown.contains("notes"), "{unknown}");
    assert_eq!(ignored, ["do_lower_case", "notes"].map(str::to_owned).into());
    let (older, _) = said(json!({ "tokenizer_class": "BertTokenizer", "do_basic_tokenize": false, "never_split": [] }));
    assert!(older.contains("do_basic_tokenize = false") && !older.contains("never_split"), "{older}");
    let (silent, _) =
        said(json!({ "tokenizer_class": "BertTokenizer", "do_basic_tokenize": true, "do_lower_case": true }));
    assert_eq!(silent, "");
    let (wrong, _) = said(json!({ "tokenizer_class": "BertTokenizer", "do_lower_case": "no" }));
    assert!(wrong.contains("do_lower_case") && wrong.contains("instead of true or false"), "{wrong}");
}

#[test]
fn a_text_that_is_unknown_to_the_tokenizer_is_said() {
    let model = Changed::new("bert", |_| {}).model().unwrap();
    let notes = |text: &str| model.encode(&Input::text(text)).unwrap().notes.join("; ");
    assert_eq!(notes("the street"), "");
    assert_eq!(notes("the 🙂"), "", "half of it is known");
    let one = notes("🙂");
    assert!(one.contains("The only token of the text is unknown to this tokenizer ([UNK])"), "{one}");
    let all = notes("🙂 👍 ☃");
    assert!(all.contains("All 3 tokens are unknown to this tokenizer"), "{all}");
    let most = notes("🙂 👍 the");
    assert!(most.contains("2 of 3 tokens are unknown to this tokenizer"), "{most}");
    // Bytes stand for everything.
    let bytes = Changed::new("gpt2", |_| {}).model().unwrap();
    assert!(bytes.encode(&Input::text("🙂")).unwrap().notes.is_empty());
}

/// `sentence_bert_config.json` is told, and followed when somebody asks for it.
#[test]
fn texts_are_prepared_as_sentence_transformers_does_when_asked() {
    let folder = Changed::new("bert", |_| {});
    let mut tokenizer: Value = serde_json::from_slice(&file("bert/tokenizer.json")).unwrap();
    tokenizer["normalizer"]["lowercase"] = json!(false);
    fs::write(folder.path().join("tokenizer.json"), tokenizer.to_string()).unwrap();
    let settings = json!({ "tokenizer_class": "BertTokenizer", "do_lower_case": false });
    fs::write(folder.path().join("tokenizer_config.json"), settings.to_string()).unwrap();
    let rules = json!({ "max_seq_length": 5, "do_lower_case": true });
    fs::write(folder.path().join("sentence_bert_config.json"), rules.to_string()).unwrap();
    let model = folder.model().unwrap();
    let audit = model.audit().warnings.join("; ");
    assert!(audit.contains("lower case and read its first 5 tokens only"), "{audit}");
    let input = |text: &str, sentence_transformers| TextInput {
        text: text.to_owned(),
        how: Preparation { sentence_transformers, ..Preparation::default() },
        ..TextInput::default()
    };
    let encode = |text: &str, as_sentence| {
        let encoded = model.encode(&Input::Text(input(text, as_sentence))).unwrap();
        let ids: Vec<_> = encoded.tokens.values().flatten().map(|token| token.id.unwrap()).collect();
        (ids, encoded.notes.join("; "), encoded.input.text.unwrap())
    };
    let (lower, _, _) = encode("the street", false);
    assert_ne!(encode("The Street", false).0, lower);
    let (ids, notes, read) = encode(" The Street ", true);
    assert_eq!((ids, read.as_str()), (lower, "the street"));
    assert!(notes.contains("Prepared as sentence_bert_config.json"), "{notes}");
    assert_eq!(encode("the street the street the street", true).0.len(), 5);
}

/// The prompt of `config_sentence_transformers.json`, and the length of the tokenizer where no other is said.
#[test]
fn sentence_transformers_has_a_prompt_and_the_length_of_the_tokenizer() {
    let folder = Changed::new("bert", |_| {});
    let write = |file: &str, value: Value| fs::write(folder.path().join(file), value.to_string()).unwrap();
    write("tokenizer_config.json", json!({ "tokenizer_class": "BertTokenizer", "model_max_length": 6 }));
    let encode = |text: &str, sentence_transformers| {
        let text = TextInput {
            text: text.to_owned(),
            how: Preparation { sentence_transformers, ..Preparation::default() },
            ..TextInput::default()
        };
        let encoded = folder.model().unwrap().encode(&Input::Text(text)).unwrap();
        let ids: Vec<_> = encoded.tokens.values().flatten().map(|token| token.id.unwrap()).collect();
        (ids, encoded.notes.join("; "))
    };
    let (long, prompted) = ("the street the street the street", "the: street");
    let (ids, notes) = encode(long, true);
    assert_eq!((ids.len() > 6, notes.contains("no file of sentence-transformers")), (true, true), "{notes}");
    write("sentence_bert_config.json", json!({ "transformer_task": "feature-extraction" }));
    assert_eq!(encode(long, true).0.len(), 6);
    let prompts = json!({ "prompts": { "query": "the: ", "none": "" }, "default_prompt_name": "query" });
    write("config_sentence_transformers.json", prompts);
    let (ids, notes) = encode(" street ", true);
    assert_eq!(ids, encode(prompted, false).0);
    assert!(notes.contains("put “the: ” before a text"), "{notes}");
    write("config_sentence_transformers.json", json!({ "prompts": { "query": "the: " }, "default_prompt_name": null }));
    assert_eq!(encode(" street ", true).0, encode("street", false).0);
}
