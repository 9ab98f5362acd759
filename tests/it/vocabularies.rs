//! Vocabularies without a `tokenizer.json`, and settings that change one, against what Python makes
//! of the same files.

use std::{fs, path::PathBuf};

use attnscope::model::{
    Model, ModelFiles, Preparation, TextInput,
    input::{InputError, TextEncoder},
};
use serde_json::Value;

fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/tokenizers").join(name)
}

fn encoder(name: &str) -> TextEncoder {
    Model::tokenizer(&ModelFiles::folder(fixture(name))).unwrap()
}

fn text(text: &str) -> TextInput {
    TextInput { text: text.to_owned(), ..TextInput::default() }
}

fn cases(name: &str, file: &str) -> Vec<Value> {
    serde_json::from_str(&fs::read_to_string(fixture(name).join(file)).unwrap()).unwrap()
}

fn ids(case: &Value) -> Vec<u32> {
    serde_json::from_value(case["ids"].clone()).unwrap()
}

/// Every text of `tokenization.json`: ids, and offsets in bytes where Python has some.
#[track_caller]
fn check_reference(name: &str, source: &str) {
    let encoder = encoder(name);
    assert_eq!(encoder.source(), source, "{name}");
    let cases = cases(name, "tokenization.json");
    assert!(cases.len() >= 28, "{name}");
    let mut failures = Vec::new();
    for case in &cases {
        let mut input = text(case["text"].as_str().unwrap());
        input.text_b = case.get("pair").map(|pair| pair.as_str().unwrap().to_owned());
        let encoded = match encoder.encode(&input, 10_000) {
            // Python gives the special tokens alone.
            Err(InputError::EmptyText) if input.text.trim().is_empty() => continue,
            encoded => encoded.unwrap(),
        };
        if encoded.ids != ids(case) {
            failures.push(format!("{:?}\n  here   {:?}\n  python {:?}", input.text, encoded.ids, ids(case)));
            continue;
        }
        if let Some(decoded) = case.get("decoded") {
            assert_eq!(encoder.decode(&encoded.ids).unwrap(), *decoded, "{name}");
        }
        for (i, span) in case.get("offsets").and_then(Value::as_array).into_iter().flatten().enumerate() {
            let here = &encoded.tokens[i].span;
            assert!(input.text.get(here.clone()).is_some(), "{name}: {here:?} of {:?}", input.text);
            if !span.is_null() && *span != serde_json::json!([here.start, here.end]) {
                failures.push(format!("{:?}: token {i} at {here:?}, in Python at {span}", input.text));
            }
        }
    }
    assert!(failures.is_empty(), "{name}\n{}", failures.join("\n"));
}

#[test]
fn unigram_models_give_the_reference_ids() {
    for (name, file) in [
        ("t5", "spiece.model"),
        ("albert", "spiece.model"),
        ("albert-cased", "spiece.model"),
        ("xlm-roberta", "sentencepiece.bpe.model"),
        ("camembert", "sentencepiece.bpe.model"),
        ("mbart", "sentencepiece.bpe.model"),
        ("mbart50", "sentencepiece.bpe.model"),
        ("deberta-v2", "spm.model"),
        ("m2m_100", "sentencepiece.bpe.model and vocab.json"),
        ("pegasus", "spiece.model"),
        ("plain", "tokenizer.model"),
        ("marian", "source.spm and vocab.json"),
    ] {
        check_reference(name, file);
    }
}

#[test]
fn bpe_models_with_bytes_give_the_reference_ids() {
    for name in ["llama", "llama-repaired", "gemma"] {
        check_reference(name, "tokenizer.model");
    }
    check_reference("nllb", "sentencepiece.bpe.model");
}

#[test]
fn old_byte_level_vocabularies_give_the_reference_ids() {
    for name in ["roberta", "bart-prefix", "opt", "qwen2", "clip"] {
        check_reference(name, "vocab.json and merges.txt");
    }
    check_reference("mpnet", "vocab.txt");
    check_reference("esm", "vocab.txt");
}

#[test]
fn settings_beside_a_tokenizer_json_count() {
    check_reference("json-prefix", "tokenizer.json");
    check_reference("json-cased", "tokenizer.json");
}

#[test]
fn a_target_is_what_the_decoder_reads() {
    for name in ["t5", "bart-prefix", "mbart", "mbart50", "marian", "m2m_100", "nllb", "pegasus"] {
        let encoder = encoder(name);
        for case in cases(name, "targets.json") {
            let target = case["text"].as_str().unwrap();
            let encoded = encoder.encode_target(target, 512).unwrap();
            assert_eq!(encoded.ids, ids(&case), "{target:?} in {name}");
            assert!(encoded.tokens[0].special, "{name}");
            assert_eq!(
                encoded.tokens.iter().filter(|token| !token.special).map(|token| token.span.start).min(),
                Some(0)
            );
            assert_eq!(encoded.tokens.len(), encoded.ids.len());
            assert!(encoded.type_ids.iter().all(|&id| id == 0) && encoded.type_ids.len() == encoded.ids.len());
        }
    }
    let long = encoder("t5").encode_target(&"the sea ".repeat(400), 20).unwrap_err().to_string();
    assert!(long.starts_with("the target has ") && long.ends_with("the decoder reads at most 19"), "{long}");
    assert!(matches!(encoder("t5").encode_target(" ", 20), Err(InputError::EmptyText)));
}

#[test]
fn marian_decodes_with_the_pieces_of_its_target() {
    let encoder = encoder("marian");
    let sentence = "Le train arrive le long de la mer.";
    let mut written = encoder.encode_target(sentence, 64).unwrap().ids;
    written.push(encoder.special_ids().eos[0]);
    assert_eq!(encoder.decode(&written).unwrap(), sentence);
    let tokens = encoder.target_tokens(&written);
    let special: Vec<bool> = tokens.iter().map(|token| token.special).collect();
    assert!(special[0] && special[special.len() - 1] && !special[1..special.len() - 1].contains(&true));
    assert_eq!(tokens[1].text, "␣Le");
    assert_eq!(encoder.target_label(written[1]), "␣Le");
}

#[test]
fn pieces_are_shown_as_text() {
    let shown = |name: &str, input: &str| -> Vec<String> {
        let encoded = encoder(name)
            .encode(&TextInput { how: Preparation { no_special: true, ..Preparation::default() }, ..text(input) }, 100)
            .unwrap();
        encoded.tokens.into_iter().map(|token| token.text).collect()
    };
    assert_eq!(shown("t5", "the sea"), ["␣the", "␣se", "a"]);
    assert_eq!(shown("llama", "the 🙂"), ["␣the", "␣", "🙂¹", "🙂²", "🙂³", "🙂⁴"]);
    assert_eq!(shown("clip", "The keeper"), ["the", "ke", "ep", "er"]);
    assert_eq!(shown("mpnet", "the keeper")[0], "the");
}

/// SigLIP and Marian cut with their own files, and a `tokenizer.json` beside them adds its tokens alone. By
/// `AutoTokenizer` of transformers 5.
#[test]
fn a_tokenizer_json_beside_own_pieces_adds_its_tokens() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, contents: &[u8]| fs::write(folder.path().join(name), contents).unwrap();
    write("spiece.model", &fs::read(fixture("t5").join("spiece.model")).unwrap());
    write("config.json", br#"{"model_type": "siglip"}"#);
    write("tokenizer_config.json", br#"{"tokenizer_class": "SiglipTokenizer"}"#);
    let ids = |input: &str| {
        let encoder = Model::tokenizer(&ModelFiles::folder(folder.path())).unwrap();
        encoder.encode(&text(input), 100).unwrap().ids
    };
    let the = ids("the");
    assert!(!ids("the [X] sea").contains(&40), "X without brackets");
    write(
        "tokenizer.json",
        br#"{"model": {"type": "WordLevel", "vocab": {}, "unk_token": "?"},
             "added_tokens": [{"id": 40, "content": "[X]", "special": true, "lstrip": true, "rstrip": true}]}"#,
    );
    let (_, without_end) = the.split_last().unwrap();
    assert!(ids("the [X] sea").starts_with(&[without_end, &[40]].concat()));
    write("tokenizer.json", b"{");
    assert!(matches!(
        Model::tokenizer(&ModelFiles::folder(folder.path())),
        Err(InputError::BadFile { file: "tokenizer.json", .. })
    ));
}

/// What a folder says of its class beside a `SentencePiece` model and no `tokenizer.json`. By `AutoTokenizer` of
/// transformers 5.
#[test]
fn every_flag_of_the_class_counts_without_a_tokenizer_json() {
    for name in ["deberta-v2", "m2m_100", "nllb", "pegasus"] {
        let flags: Value = serde_json::from_slice(&fs::read(fixture(name).join("flags.json")).unwrap()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        for file in ["config.json", "spm.model", "spiece.model", "sentencepiece.bpe.model", "vocab.json"] {
            let path = fixture(name).join(file);
            if path.is_file() {
                fs::copy(path, folder.path().join(file)).unwrap();
            }
        }
        let mut failures = Vec::new();
        for flag in flags.as_array().unwrap() {
            let settings = flag["settings"].to_string();
            fs::write(folder.path().join("tokenizer_config.json"), &settings).unwrap();
            let encoder = Model::tokenizer(&ModelFiles::folder(folder.path())).unwrap();
            for case in flag["cases"].as_array().unwrap() {
                let input = case["text"].as_str().unwrap();
                match encoder.encode(&text(input), 10_000) {
                    Err(InputError::EmptyText) if input.trim().is_empty() => {}
                    encoded => {
                        let (here, python) = (encoded.unwrap().ids, ids(case));
                        if here != python {
                            failures.push(format!("{input:?} {settings:.300}\n  here   {here:?}\n  python {python:?}"));
                        }
                    }
                }
            }
        }
        assert!(failures.is_empty(), "{name}\n{}", failures.join("\n"));
    }
}

/// What is said of an NLLB whose files do not tell the ids of its languages.
#[test]
fn languages_that_have_another_id_or_none_are_told() {
    let folder = tempfile::tempdir().unwrap();
    for file in ["config.json", "sentencepiece.bpe.model"] {
        fs::copy(fixture("nllb").join(file), folder.path().join(file)).unwrap();
    }
    let said = |settings: Value| {
        fs::write(folder.path().join("tokenizer_config.json"), settings.to_string()).unwrap();
        let encoder = Model::tokenizer(&ModelFiles::folder(folder.path())).unwrap();
        (encoder.id_of("eng_Latn"), encoder.warnings().join("; "))
    };
    let (none, unknown) = said(serde_json::json!({"tokenizer_class": "NllbTokenizer"}));
    assert!(none.is_none() && unknown.contains("no token for the language eng_Latn"), "{unknown}");
    let listed = ["ace_Arab", "eng_Latn"];
    let (id, moved) = said(serde_json::json!({"tokenizer_class": "NllbTokenizer", "extra_special_tokens": listed}));
    let id = id.unwrap();
    assert!(moved.contains(&format!("eng_Latn has the id {id} instead of ")), "{moved}");
    let settings = fs::read(fixture("nllb").join("tokenizer_config.json")).unwrap();
    let mut settings: Value = serde_json::from_slice(&settings).unwrap();
    settings["src_lang"] = "eng_Latn".into();
    assert_eq!(said(settings).1, "");
}

/// Flags of other classes than the model's change nothing, and are told; ALBERT's class gives up its own ends for those
/// that are said. By `AutoTokenizer` of transformers 5.
#[test]
fn a_flag_counts_in_the_classes_that_have_it() {
    let folder = tempfile::tempdir().unwrap();
    let with = |name: &str, flags: Value| {
        for file in fs::read_dir(fixture(name)).unwrap() {
            let file = file.unwrap();
            fs::copy(file.path(), folder.path().join(file.file_name())).unwrap();
        }
        let path = folder.path().join("tokenizer_config.json");
        let mut settings: Value = fs::read(&path).map_or(Value::Null, |it| serde_json::from_slice(&it).unwrap());
        for (flag, value) in flags.as_object().unwrap() {
            settings[flag] = value.clone();
        }
        fs::write(&path, settings.to_string()).unwrap();
        let encoder = Model::tokenizer(&ModelFiles::folder(folder.path())).unwrap();
        let ids = encoder.encode(&text("the cat and the sea"), 100).unwrap().ids;
        for file in fs::read_dir(folder.path()).unwrap() {
            fs::remove_file(file.unwrap().path()).unwrap();
        }
        ids
    };
    let none = || serde_json::json!({});
    for name in ["t5", "mbart", "mbart50", "marian", "gemma"] {
        for add in [true, false] {
            let flag = serde_json::json!({"add_prefix_space": add});
            assert_eq!(with(name, flag), with(name, none()), "{name}, {add}");
        }
    }
    for name in ["albert", "xlm-roberta", "camembert", "deberta-v2", "llama"] {
        let flags = [true, false].map(|add| with(name, serde_json::json!({"add_prefix_space": add})));
        assert!(name == "deberta-v2" || flags[0] != flags[1], "{name}");
    }
    let plain = with("albert", none());
    let (begin, end) = (&plain[..plain.len() - 1], &plain[1..]);
    assert_eq!(with("albert", serde_json::json!({"add_bos_token": true})), begin);
    assert_eq!(with("albert", serde_json::json!({"add_eos_token": true})), end);
    assert_eq!(with("albert", serde_json::json!({"add_bos_token": false})), &begin[1..]);
}

/// Far more text than the model reads: only its beginning is cut.
#[test]
fn a_huge_text_is_not_read_to_its_end() {
    for name in ["t5", "llama"] {
        let encoder = encoder(name);
        let first = |n: usize| TextInput { how: Preparation::default().of_many(), ..text(&"the sea ".repeat(n)) };
        let encoded = encoder.encode(&first(1_000_000), 64).unwrap();
        let start = encoder.encode(&first(100), 64).unwrap();
        assert_eq!(encoded.ids, start.ids, "{name}");
        assert!(!encoded.part.unwrap().of.is_exact, "{:?}", encoded.part);
    }
}
