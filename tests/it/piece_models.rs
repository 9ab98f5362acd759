//! `SentencePiece` files that are damaged or made to do harm: refused in a sentence that names the
//! file, and never a panic.

use std::{fs, path::Path};

use attnscope::model::{
    Model, ModelFiles, TextInput,
    input::{SpecialIds, TextEncoder},
};

/// A field with bytes: a message or a text.
fn bytes(field: u8, content: &[u8]) -> Vec<u8> {
    let mut out = vec![field << 3 | 2];
    let mut len = content.len();
    while len > 0x7F {
        out.push(len as u8 | 0x80);
        len >>= 7;
    }
    out.push(len as u8);
    out.extend(content);
    out
}

/// A vocabulary entry; kinds as in `sentencepiece_model.proto`.
fn piece(text: &str, score: f32, kind: u8) -> Vec<u8> {
    let mut message = bytes(1, text.as_bytes());
    message.push(2 << 3 | 5);
    message.extend(score.to_le_bytes());
    message.extend([3 << 3, kind]);
    bytes(1, &message)
}

const NORMAL: u8 = 1;
const UNKNOWN: u8 = 2;

fn model(parts: &[Vec<u8>]) -> Vec<u8> {
    parts.concat()
}

fn good() -> Vec<Vec<u8>> {
    vec![piece("<unk>", 0.0, UNKNOWN), piece("▁", -1.0, NORMAL), piece("a", -2.0, NORMAL)]
}

fn open(folder: &Path, spm: &[u8]) -> Result<TextEncoder, String> {
    fs::write(folder.join("tokenizer.model"), spm).unwrap();
    Model::tokenizer(&ModelFiles::folder(folder)).map_err(|error| error.to_string())
}

fn text(text: &str) -> TextInput {
    TextInput { text: text.to_owned(), ..TextInput::default() }
}

fn fixture(path: &str) -> Vec<u8> {
    fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/tokenizers").join(path)).unwrap()
}

#[test]
fn what_is_wrong_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let refusal = |parts: &[Vec<u8>]| open(folder.path(), &model(parts)).map(drop).unwrap_err();
    let with = |more: &[Vec<u8>]| refusal(&[good(), more.to_vec()].concat());
    assert!(open(folder.path(), &model(&good())).is_ok());

    let cases = [
        (refusal(&[]), "it has no pieces, so it is not a SentencePiece model"),
        (refusal(&[b"IQ== 0\nIg== 1\nIw== 2\n".to_vec()]), "it ends in the middle of a value"),
        (refusal(&[b"{\"model\": 3}".to_vec()]), "it is not a SentencePiece model"),
        (with(&[vec![0x0A, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F, 1]]), "it ends in the middle of a value"),
        (
            with(&[vec![0x0A, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1]]),
            "it ends in the middle of a value",
        ),
        (with(&[vec![0xFF; 11]]), "it is not a SentencePiece model"),
        // A million pieces in two megabytes.
        (refusal(&vec![vec![0x0A, 0]; 1_000_000]), "piece 0 is empty"),
        (with(&[bytes(1, &bytes(1, &[0xC3]))]), "piece 3 is not valid UTF-8"),
        (with(&[piece("a", -3.0, NORMAL)]), "it contains the piece “a” twice"),
        (with(&[piece("b", f32::NAN, NORMAL)]), "the score of piece 3, “b”, is not a number"),
        (with(&[piece("b", f32::NEG_INFINITY, NORMAL)]), "the score of piece 3, “b”, is not a number"),
        (with(&[piece("b", 0.0, 9)]), "piece 3 is of the unknown kind 9"),
        (refusal(&good()[1..]), "it does not have exactly one piece for unknown characters"),
        (with(&[piece("?", 0.0, UNKNOWN)]), "it does not have exactly one piece for unknown characters"),
        (
            with(&[bytes(2, &[3 << 3, 4])]),
            "it cuts text into words or characters; only unigram and BPE models are read",
        ),
        (with(&[bytes(2, &[0x98, 2, 1])]), "it should have a piece for every byte, and <0x00> is missing"),
        (with(&[bytes(3, &bytes(2, &[8, 0, 0, 0, 1]))]), "its normalisation rules are damaged"),
        (with(&[bytes(3, &bytes(2, &[2, 0, 0, 0, 1, 1]))]), "its normalisation rules are damaged"),
    ];
    for (refusal, reason) in cases {
        assert_eq!(refusal, format!("tokenizer.model cannot be used: {reason}"));
    }
}

#[test]
fn tokens_that_the_family_needs_must_be_there() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("config.json"), r#"{"model_type": "t5"}"#).unwrap();
    let refusal = open(folder.path(), &model(&good())).map(drop).unwrap_err();
    assert_eq!(refusal, "tokenizer.model cannot be used: it does not contain </s>");
    fs::write(folder.path().join("tokenizer_config.json"), "{").unwrap();
    assert!(open(folder.path(), &model(&good())).unwrap_err().starts_with("tokenizer_config.json cannot be used"));
}

/// Reading Japanese with another family's rules would give ids, but not the model's.
#[test]
fn an_unknown_kind_of_tokenizer_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("tokenizer_config.json"), r#"{"tokenizer_class": "BertJapaneseTokenizer"}"#).unwrap();
    let refusal = open(folder.path(), &model(&good())).map(drop).unwrap_err();
    assert!(refusal.starts_with("this model needs a BertJapaneseTokenizer"), "{refusal}");
    fs::write(folder.path().join("tokenizer_config.json"), r#"{"tokenizer_class": "PreTrainedTokenizerFast"}"#)
        .unwrap();
    assert!(open(folder.path(), &model(&good())).is_ok());
}

#[test]
fn a_file_cut_anywhere_is_refused_or_read() {
    let folder = tempfile::tempdir().unwrap();
    let whole = fixture("llama/tokenizer.model");
    for end in (0..whole.len()).step_by(97) {
        if let Err(refusal) = open(folder.path(), &whole[..end]) {
            assert!(refusal.starts_with("tokenizer.model cannot be used: "), "{refusal}");
        }
    }
}

/// Rules that point anywhere, pieces that are not what they were: text still gets ids.
#[test]
fn flipped_bits_never_panic() {
    let folder = tempfile::tempdir().unwrap();
    let input = text("ﬁne ① e\u{301} 100,000  the gardener 🙂\t\u{200b}北京 don't");
    let mut seed = 12_345_u32;
    let mut random = move |below: usize| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (seed >> 8) as usize % below
    };
    let mut n_read = 0;
    for file in ["xlm-roberta/sentencepiece.bpe.model", "llama/tokenizer.model", "plain/tokenizer.model"] {
        let whole = fixture(file);
        for _ in 0..150 {
            let mut damaged = whole.clone();
            for _ in 0..3 {
                let at = random(damaged.len());
                damaged[at] ^= 1 << random(8);
            }
            if let Ok(encoder) = open(folder.path(), &damaged) {
                n_read += 1;
                let encoded = encoder.encode(&input, 500).unwrap();
                assert!(encoded.tokens.iter().all(|token| input.text.get(token.span.clone()).is_some()));
                encoder.decode(&encoded.ids).unwrap();
            }
        }
    }
    assert!(n_read > 50, "most damage hits scores and rules, {n_read} files were read");
}

#[test]
fn marian_needs_its_own_ids() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("source.spm"), fixture("marian/source.spm")).unwrap();
    let refusal = |vocab: &str| {
        fs::write(folder.path().join("vocab.json"), vocab).unwrap();
        Model::tokenizer(&ModelFiles::folder(folder.path())).unwrap_err().to_string()
    };
    assert!(refusal("[1]").starts_with("vocab.json cannot be used"));
    assert_eq!(refusal(r#"{"a": -1}"#), "vocab.json cannot be used: the id of “a” is not a number");
    fs::write(folder.path().join("config.json"), r#"{"model_type": "marian"}"#).unwrap();
    assert!(refusal(r#"{"a": 0, "</s>": 1}"#).contains("vocab.json does not contain <unk>"));
}

#[test]
fn m2m_needs_its_own_ids_and_a_language_that_it_knows() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).unwrap();
    let refusal = || Model::tokenizer(&ModelFiles::folder(folder.path())).unwrap_err();
    write("config.json", br#"{"model_type": "m2m_100"}"#);
    assert!(refusal().details().contains("Looked for"), "nothing is there");
    write("sentencepiece.bpe.model", &fixture("m2m_100/sentencepiece.bpe.model"));
    let error = refusal().to_string();
    assert!(
        error.starts_with("vocab.json cannot be used: it is missing") && error.contains("NllbTokenizer"),
        "{error}"
    );
    write("vocab.json", &fixture("m2m_100/vocab.json"));
    assert!(Model::tokenizer(&ModelFiles::folder(folder.path())).is_ok());
    for (key, value) in [("src_lang", "eng_Latn"), ("language_codes", "wmt22")] {
        write("tokenizer_config.json", format!(r#"{{"{key}": "{value}"}}"#).as_bytes());
        let error = refusal().to_string();
        assert!(error.starts_with("tokenizer_config.json cannot be used") && error.contains(value), "{error}");
    }
}

#[test]
fn special_ids_come_from_the_files_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let special = |files: &[(&str, &str)]| {
        for (name, content) in files {
            fs::write(folder.path().join(name), content).unwrap();
        }
        let parts = [good(), vec![piece("<s>", 0.0, 3), piece("</s>", 0.0, 3)]].concat();
        let special = open(folder.path(), &model(&parts)).unwrap().special_ids().clone();
        for (name, _) in files {
            fs::remove_file(folder.path().join(name)).unwrap();
        }
        special
    };
    // Nothing but the names of the tokens.
    let named = special(&[("config.json", r#"{"model_type": "llama"}"#)]);
    assert_eq!(named, SpecialIds { bos: Some(3), eos: vec![4], ..SpecialIds::default() });
    let map = r#"{"eos_token": {"content": "a", "lstrip": false}}"#;
    let mapped = special(&[("config.json", r#"{"model_type": "llama"}"#), ("special_tokens_map.json", map)]);
    assert_eq!(mapped.eos, [2]);
    // What generation was set up with comes before the model's own settings.
    let both = special(&[
        ("config.json", r#"{"model_type": "llama", "eos_token_id": 7, "pad_token_id": 2, "is_encoder_decoder": true}"#),
        ("generation_config.json", r#"{"eos_token_id": [1, 106], "pad_token_id": null, "forced_bos_token_id": 9}"#),
    ]);
    let expected =
        SpecialIds { bos: Some(3), eos: vec![1, 106], pad: Some(2), decoder_start: Some(3), forced_bos: Some(9) };
    assert_eq!(both, expected);
    // The decoder of a vision model has its own settings.
    let vision = special(&[(
        "config.json",
        r#"{"model_type": "vision-encoder-decoder", "decoder": {"model_type": "llama", "decoder_start_token_id": 2}}"#,
    )]);
    assert_eq!((vision.decoder_start, vision.bos), (Some(2), Some(3)));
}
