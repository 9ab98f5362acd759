//! Text to ids and tokens, against what the Python tokenizers produce.

use std::{fs, path::PathBuf};

use attnscope::spec::TextSpec;
use attnscope::{
    capture::{Excerpt, Keep},
    model::{
        Model, ModelFiles, Preparation, TextInput, bundled,
        input::{EncodedText, InputError, TextEncoder, check_ids},
    },
};
use serde_json::Value;

fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

fn encoder(name: &str) -> TextEncoder {
    Model::tokenizer(&ModelFiles::folder(fixture(name))).unwrap()
}

fn text(text: &str) -> TextInput {
    TextInput { text: text.to_owned(), ..TextInput::default() }
}

fn part(text: &str, excerpt: Excerpt) -> TextInput {
    TextInput { text: text.to_owned(), how: Preparation::reading(Some(excerpt)), ..TextInput::default() }
}

/// What is said about a text that was too long.
fn said(encoded: &EncodedText) -> String {
    encoded.part.unwrap().to_string()
}

fn shown(encoder: &TextEncoder, input: &TextInput) -> Vec<String> {
    encoder.encode(input, 10_000).unwrap().tokens.into_iter().map(|token| token.text).collect()
}

/// Every text of `tokenization.json`: ids, type ids where given, and offsets in bytes.
fn check_reference(name: &str, source: &str) {
    let encoder = encoder(name);
    assert_eq!(encoder.source(), source);
    let cases = fs::read_to_string(fixture(name).join("tokenization.json")).unwrap();
    let cases: Vec<Value> = serde_json::from_str(&cases).unwrap();
    assert!(cases.len() > 15);
    for case in &cases {
        let numbers = |key: &str| -> Option<Vec<u32>> {
            Some(case.get(key)?.as_array()?.iter().map(|id| id.as_u64().unwrap() as u32).collect())
        };
        let mut input = text(case["text"].as_str().unwrap());
        input.text_b = case.get("pair").map(|pair| pair.as_str().unwrap().to_owned());
        let encoded = match encoder.encode(&input, 10_000) {
            Err(InputError::EmptyText) if input.text.trim().is_empty() => continue,
            encoded => encoded.unwrap(),
        };
        assert_eq!(Some(&encoded.ids), numbers("ids").as_ref(), "ids of {:?} in {name}", input.text);
        if let Some(mut type_ids) = numbers("type_ids") {
            // GPT-2's class does not give them to a model.
            if name.starts_with("gpt2") {
                type_ids.fill(0);
            }
            assert_eq!(encoded.type_ids, type_ids, "type ids of {:?} in {name}", input.text);
        }
        if let Some(offsets) = case.get("offsets") {
            let offsets: Vec<[usize; 2]> = serde_json::from_value(offsets.clone()).unwrap();
            let spans: Vec<[usize; 2]> =
                encoded.tokens.iter().map(|token| [token.span.start, token.span.end]).collect();
            assert_eq!(spans, offsets, "offsets of {:?} in {name}", input.text);
        }
    }
}

#[test]
fn tokenizer_json_gives_the_reference_ids() {
    check_reference("bert", "tokenizer.json");
    check_reference("gpt2", "tokenizer.json");
}

#[test]
fn old_vocabularies_give_the_reference_ids() {
    check_reference("bert-old", "vocab.txt");
    check_reference("bert-classifier", "vocab.txt");
    check_reference("gpt2-bare", "vocab.json and merges.txt");
}

/// What the Python classes make of `tokenizer_config.json` beside a `tokenizer.json` that says otherwise.
#[test]
fn the_class_decides_what_flags_mean() {
    let folder = tempfile::tempdir().unwrap();
    let ids = |model: &str, old: [&str; 2], config: Value| {
        let json = fs::read_to_string(fixture(model).join("tokenizer.json")).unwrap();
        assert!(json.contains(old[0]) || old[0] == old[1], "{model} has no {}", old[0]);
        fs::write(folder.path().join("tokenizer.json"), json.replace(old[0], old[1])).unwrap();
        fs::write(folder.path().join("tokenizer_config.json"), config.to_string()).unwrap();
        let encoder = Model::tokenizer(&ModelFiles::folder(folder.path())).unwrap();
        let pair = TextInput { text_b: Some("The cat".to_owned()), ..text("The cat") };
        encoder.encode(&pair, 100).unwrap()
    };
    let cased = ["\"lowercase\": true", "\"lowercase\": false"];
    let bert = |old, config| ids("bert", old, config);
    let of = |class: &str| serde_json::json!({"tokenizer_class": class});
    let lower = bert(["", ""], of("BertTokenizer"));
    assert_eq!(bert(cased, of("BertTokenizer")).ids, lower.ids, "lower case is what the class means by silence");
    let generic = bert(cased, of("PreTrainedTokenizerFast")).ids;
    assert_ne!(generic, lower.ids, "the generic class means the file");
    for unknown in ["KoBertTokenizer", "ConvBertTokenizer"] {
        assert_eq!(bert(cased, of(unknown)).ids, generic, "{unknown} is read as the generic one");
    }
    let flag = serde_json::json!({"tokenizer_class": "PreTrainedTokenizerFast", "do_lower_case": true});
    assert_eq!(bert(cased, flag).ids, generic, "and heeds no flag");

    let spaced = ["\"add_prefix_space\": false", "\"add_prefix_space\": true"];
    let gpt = |old, class| ids("gpt2", old, of(class)).ids;
    assert_eq!(gpt(spaced, "GPT2Tokenizer"), gpt(["", ""], "GPT2Tokenizer"), "no space before the text");
    assert_ne!(gpt(spaced, "PreTrainedTokenizerFast"), gpt(["", ""], "GPT2Tokenizer"));

    assert!(lower.type_ids.contains(&1));
    for silent in ["PreTrainedTokenizerFast", "KoBertTokenizer", "DistilBertTokenizer"] {
        assert!(!bert(["", ""], of(silent)).type_ids.contains(&1), "{silent} tells no second text");
    }
    let silent = serde_json::json!({"tokenizer_class": "BertTokenizer", "model_input_names": ["input_ids"]});
    let silent = bert(["", ""], silent);
    assert_eq!((silent.ids, silent.type_ids), (lower.ids, vec![0; lower.type_ids.len()]), "nobody tells them apart");
}

#[test]
fn special_tokens_are_marked_and_can_be_left_out() {
    let encoder = encoder("bert");
    let encoded = encoder.encode(&text("the street"), 64).unwrap();
    let special: Vec<bool> = encoded.tokens.iter().map(|token| token.special).collect();
    assert_eq!(special, [true, false, false, true]);
    assert_eq!(
        shown(
            &encoder,
            &TextInput { how: Preparation { no_special: true, ..Preparation::default() }, ..text("the street") }
        ),
        ["the", "street"]
    );
    // Typed by the user, it is part of the input.
    let typed = encoder.encode(&text("the [MASK]"), 64).unwrap();
    assert_eq!((typed.tokens[2].text.as_str(), typed.tokens[2].special), ("[MASK]", false));
}

#[test]
fn byte_level_pieces_are_shown_as_text() {
    let encoder = encoder("gpt2");
    assert_eq!(shown(&encoder, &text("The doctor\n"))[0], "The");
    assert!(shown(&encoder, &text("to the cat")).contains(&"␣the".to_owned()));
    assert_eq!(shown(&encoder, &text("\n\t")), ["⏎", "⇥"]);
    let split = shown(&encoder, &text("x 🙂"));
    assert_eq!(split, ["x", "␣", "🙂¹", "🙂²", "🙂³", "🙂⁴"]);
    let the = encoder.encode(&text(" the"), 64).unwrap().ids[0];
    assert_eq!(encoder.decode_label(the), "␣the");
    assert_eq!(encoder.decode_label(999_999), "#999999");
}

#[test]
fn ids_are_named_by_the_tokenizer() {
    let encoder = encoder("gpt2");
    let ids = encoder.encode(&text("The café"), 64).unwrap().ids;
    let tokens = encoder.tokens_of_ids(&ids);
    assert_eq!(tokens.iter().map(|token| token.text.clone()).collect::<Vec<_>>(), shown(&encoder, &text("The café")));
}

#[test]
fn a_long_text_is_cut_and_the_note_says_so() {
    let encoder = encoder("bert");
    let long = "the street ".repeat(700);
    let refusal = encoder.encode(&text(&long), 512).unwrap_err();
    assert_eq!(refusal.to_string(), "the text has 1,402 tokens, but the model reads at most 512");
    assert!(refusal.details().contains("--max-tokens 512 --keep last"), "{}", refusal.details());
    let encoded = encoder.encode(&part(&long, Excerpt::FITTING), 512).unwrap();
    assert_eq!(encoded.ids.len(), 512);
    assert!(encoded.tokens[0].special && encoded.tokens[511].special, "special tokens stay");
    assert_eq!(said(&encoded), "The text has 1,402 tokens; only the first 512 were read");
    let shorter = encoder.encode(&part(&long, Excerpt::of(Keep::First, 8)), 512).unwrap();
    assert_eq!((shorter.ids.len(), &shorter.ids[..7]), (8, &encoded.ids[..7]));
    let short = encoder.encode(&part("the street", Excerpt::of(Keep::Last, 8)), 512).unwrap();
    assert!(short.part.is_none());
    let more = encoder.encode(&part(&long, Excerpt::of(Keep::First, 1000)), 512).unwrap_err();
    assert!(more.to_string().ends_with("reads at most 512"), "more than the model reads was not asked for: {more}");
}

/// Positions in the text belong to the whole, whether it was tokenised whole or not.
#[test]
fn the_end_of_a_long_text_is_read_when_that_was_chosen() {
    for (name, n_words) in [("bert", 700), ("bert", 300_000), ("gpt2", 300_000)] {
        let long = format!("the street{} the café", " the street".repeat(n_words));
        let encoder = encoder(name);
        let encoded = encoder.encode(&part(&long, Excerpt::of(Keep::Last, 20)), 512).unwrap();
        assert_eq!(encoded.ids.len(), 20);
        assert!(said(&encoded).ends_with("tokens; only the last 20 were read"), "{}", said(&encoded));
        let spans: String =
            encoded.tokens.iter().filter(|token| !token.special).map(|token| &long[token.span.clone()]).collect();
        assert!(long.replace(' ', "").ends_with(&spans.replace(' ', "")), "{spans}");
        assert!(spans.ends_with("café"), "{spans}");
        let short = encoder.encode(&text(&long[long.len() - 400..]), 512).unwrap();
        assert!(short.ids.ends_with(&encoded.ids[1..]), "the same ids as of a short text that ends alike");
    }
}

#[test]
fn the_longer_text_of_a_pair_is_cut_first() {
    let encoder = encoder("bert");
    let pair = TextInput { text_b: Some("the street".to_owned()), ..text(&"the ".repeat(100)) };
    assert!(encoder.encode(&pair, 20).unwrap_err().to_string().starts_with("the two texts have 105 tokens"));
    let first = TextInput { how: Preparation::default().of_many(), ..pair.clone() };
    let encoded = encoder.encode(&first, 20).unwrap();
    assert_eq!(encoded.ids.len(), 20);
    assert_eq!(encoded.type_ids.iter().filter(|&&id| id == 1).count(), 3, "the second text and its [SEP] are whole");
    assert_eq!(said(&encoded), "The two texts have 105 tokens; their ends were cut to 20");
}

/// A hundred thousand words, with and without spaces between them.
#[test]
fn a_huge_text_is_not_read_to_its_end() {
    for (name, huge) in [
        ("bert", "the street ".repeat(500_000)),
        ("gpt2", "the street ".repeat(500_000)),
        ("bert", "x".repeat(3_000_000)),
        ("gpt2", "é".repeat(1_500_000)),
    ] {
        let encoded = encoder(name).encode(&part(&huge, Excerpt::FITTING), 64).unwrap();
        assert!(encoded.ids.len() <= 64);
        let start = encoder(name).encode(&part(&huge[..2000], Excerpt::FITTING), 64).unwrap();
        assert_eq!(encoded.ids, start.ids, "the start of the text decides");
    }
    let refusal = encoder("bert").encode(&text(&"the street ".repeat(500_000)), 64).unwrap_err().to_string();
    assert!(refusal.starts_with("the text has about 1,000,0"), "{refusal}");
}

#[test]
fn what_cannot_be_read_is_refused_with_a_sentence() {
    let error = |result: Result<_, InputError>| result.map(drop).unwrap_err().to_string();
    assert_eq!(error(encoder("bert").encode(&text(""), 64)), "the text is empty");
    assert_eq!(error(encoder("bert").encode(&text(" \n\t"), 64)), "the text is empty");
    let tight = part("the", Excerpt::of(Keep::First, 2));
    assert_eq!(error(encoder("bert").encode(&tight, 64)), "a limit of 2 tokens leaves no room for the text");
    let missing = Model::tokenizer(&ModelFiles::folder(fixture("bert-bare"))).unwrap_err();
    assert!(missing.to_string().contains("no tokenizer"));
    assert!(missing.details().contains("vocab.txt"), "says which files were looked for");
    assert!(check_ids(&[], &TextSpec::new(64, 10)).is_err());
    assert!(check_ids(&[1; 65], &TextSpec::new(64, 10)).is_err());
    assert_eq!(
        check_ids(&[1, 12], &TextSpec::new(64, 10)).unwrap_err().to_string(),
        "the token id 12 at position 1 is outside the vocabulary, which ends at 9"
    );
}

#[test]
fn damaged_vocabularies_are_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let refusal = |files: &[(&str, &str)]| {
        for (name, content) in files {
            fs::write(folder.path().join(name), content).unwrap();
        }
        let error = Model::tokenizer(&ModelFiles::folder(folder.path())).unwrap_err().to_string();
        for (name, _) in files {
            fs::remove_file(folder.path().join(name)).unwrap();
        }
        error
    };
    assert!(refusal(&[("tokenizer.json", "{\"model\": 3}")]).starts_with("tokenizer.json cannot be used"));
    assert!(refusal(&[("vocab.txt", "the\nstreet\n")]).contains("it does not contain"));
    assert!(refusal(&[("vocab.json", "[]"), ("merges.txt", "")]).starts_with("vocab.json cannot be used"));
    assert!(
        refusal(&[("vocab.json", "{\"a\": 0}"), ("merges.txt", "a b c\n")]).starts_with("merges.txt cannot be used")
    );
    assert!(refusal(&[("vocab.json", "{\"a\": 0}")]).contains("no tokenizer"), "half a vocabulary is none");
}

#[test]
fn the_bundled_model_has_a_tokenizer() {
    let encoder = Model::tokenizer(&bundled::model("demo:gpt").unwrap()).unwrap();
    assert!(encoder.encode(&text("Once upon a time"), 64).unwrap().ids.len() >= 4);
    assert!(bundled::model("demo:none").is_none());
}

/// The encoder of a tokenizer.json, or why there is none; both are sentences.
fn of_json(json: &str) -> Result<TextEncoder, InputError> {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("tokenizer.json"), json).unwrap();
    Model::tokenizer(&ModelFiles::folder(folder.path()))
}

/// What opening a damaged file, or using it, says; `None` when it works all the same.
fn complaint(json: &str) -> Option<String> {
    let used = of_json(json).and_then(|encoder| {
        let encoded = encoder.encode(&text("The cat, 7 times."), 64)?;
        let pair = TextInput { text_b: Some("why".to_owned()), ..text("The cat") };
        encoder.encode(&pair, 64)?;
        encoder.decode(&encoded.ids)?;
        encoder.target_tokens(&[0, 1, u32::MAX]);
        Ok(())
    });
    let error = used.err()?;
    let message = error.to_string();
    assert!(!message.contains('\n') || message.len() < 2000, "{message}");
    Some(message)
}

/// Files on which the tokenizers library panics when it reads them, or only when it uses them.
#[test]
fn damaged_tokenizers_are_refused_in_words() {
    let good: Value =
        serde_json::from_str(&fs::read_to_string(fixture("bert").join("tokenizer.json")).unwrap()).unwrap();
    let with = |part: &str, value: Value| {
        let mut json = good.clone();
        json[part] = value;
        complaint(&json.to_string())
    };
    assert_eq!(complaint(&good.to_string()), None);
    let no_decoder = complaint(&good.to_string().replacen("\"decoder\":{", "\"decoder\":{]", 1)).unwrap();
    assert!(no_decoder.contains("tokenizer.json cannot be used: key must be"), "{no_decoder}");
    let second = serde_json::json!({ "Sequence": { "id": "B", "type_id": 0 } });
    let template = serde_json::json!({
        "type": "TemplateProcessing", "single": [second], "pair": [second], "special_tokens": {}
    });
    let no_second = with("post_processor", template).unwrap();
    assert!(no_second.contains("damaged"), "{no_second}");
}

/// No mutation of a file gets past the guard; the process would be gone.
#[test]
fn mutated_tokenizers_never_panic() {
    let mut random = crate::support::synthetic::Random(3);
    let mut pick = |n: usize| (random.next() % n as u64) as usize;
    let mut n_refused = 0;
    for name in ["bert", "gpt2"] {
        let good = fs::read_to_string(fixture(name).join("tokenizer.json")).unwrap();
        let json: Value = serde_json::from_str(&good).unwrap();
        // The vocabulary is most of the file, and the least of its structure.
        let mut small = json.clone();
        small["model"] = Value::Null;
        let small = small.to_string();
        for _ in 0..120 {
            let mut bytes = small.clone().into_bytes();
            for _ in 0..=pick(3) {
                let at = pick(bytes.len());
                match pick(3) {
                    0 => bytes[at] ^= 1 << pick(8),
                    1 => drop(bytes.remove(at)),
                    _ => bytes.insert(at, b"0,]}\"{[:"[pick(8)]),
                }
            }
            let mutated =
                String::from_utf8_lossy(&bytes).replace("\"model\":null", &format!("\"model\":{}", json["model"]));
            n_refused += usize::from(complaint(&mutated).is_some());
        }
    }
    assert!(n_refused > 20, "{n_refused}");
}
