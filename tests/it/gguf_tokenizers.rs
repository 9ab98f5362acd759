//! Tokenizers inside GGUF files, against the ids of the tokenizers that they were made from.

use std::{fs, path::Path};

use attnscope::model::{
    Model, ModelFiles, TextInput, gguf_tokenizer,
    input::{InputError, TextEncoder},
};
use serde_json::Value;

use crate::parity::fixture;

/// The key of the rule by which words are cut, as files write it, and the kind of its value.
const PRE: &[u8] = b"tokenizer.ggml.pre\x08\0\0\0";

/// A fixture; after a colon the rule that stands in place of its own.
fn file(kind: &str) -> Vec<u8> {
    let (name, pre) = kind.split_once(':').map_or((kind, None), |(name, pre)| (name, Some(pre)));
    let bytes = fs::read(fixture("gguf_tokenizers").join(format!("{name}.gguf"))).unwrap();
    pre.map_or(bytes.clone(), |pre| with_pre(&bytes, pre))
}

fn with_pre(bytes: &[u8], pre: &str) -> Vec<u8> {
    let at = bytes.windows(PRE.len()).position(|part| part == PRE).unwrap() + PRE.len();
    let (before, value) = bytes.split_at(at);
    let (len, rest) = value.split_first_chunk().unwrap();
    let rest = &rest[usize::try_from(u64::from_le_bytes(*len)).unwrap()..];
    [before, &(pre.len() as u64).to_le_bytes(), pre.as_bytes(), rest].concat()
}

fn encoder(folder: &Path, bytes: &[u8]) -> Result<TextEncoder, InputError> {
    let files = gguf_tokenizer(bytes).map_err(|reason| InputError::BadFile { file: "the GGUF file", reason })?;
    for (name, bytes) in files {
        fs::write(folder.join(name), bytes).unwrap();
    }
    Model::tokenizer(&ModelFiles::folder(folder))
}

/// FNV-1a of 32 bits.
fn checksum(ids: &[u32]) -> u32 {
    let bytes = ids.iter().flat_map(|id| id.to_le_bytes());
    bytes.fold(0x811c_9dc5, |value, byte| (value ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[test]
fn every_kind_gives_the_ids_of_the_original_tokenizer() {
    let read = fs::read(fixture("gguf_tokenizers/ids.json")).unwrap();
    let expected: Value = serde_json::from_slice(&read).unwrap();
    let lines: Vec<&str> = expected["lines"].as_array().unwrap().iter().map(|line| line.as_str().unwrap()).collect();
    let folder = tempfile::tempdir().unwrap();
    for (kind, sums) in expected["ids"].as_object().unwrap() {
        let encoder = encoder(folder.path(), &file(kind)).unwrap();
        let sums = sums.as_str().unwrap();
        for (place, line) in lines.iter().enumerate() {
            let input = TextInput { text: (*line).to_owned(), ..TextInput::default() };
            let ids = match encoder.encode(&input, 100_000) {
                Err(InputError::EmptyText) => continue,
                encoded => encoded.unwrap().ids,
            };
            let sum = format!("{:08x}", checksum(&ids));
            assert_eq!(sum, sums[place * 8..][..8], "{kind}: {line:?} gives {ids:?}");
        }
    }
}

#[test]
fn a_kind_that_is_not_known_is_refused_by_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let said = |bytes: &[u8]| encoder(folder.path(), bytes).unwrap_err().to_string();
    let unknown = said(&file("bytes:kimi-k2"));
    assert!(unknown.contains("“kimi-k2” (tokenizer.ggml.pre), which is not known"), "{unknown}");
    let unnamed = said(&file("bytes:default"));
    assert!(unnamed.contains("“llama” said how words are cut"), "{unnamed}");
}

#[test]
fn what_ends_a_text_and_a_turn_comes_along() {
    let folder = tempfile::tempdir().unwrap();
    let eos = |kind: &str| {
        let encoder = encoder(folder.path(), &file(kind)).unwrap();
        encoder.special_ids().eos.iter().map(|&id| encoder.decode_label(id)).collect::<Vec<_>>()
    };
    assert_eq!(eos("bytes"), ["<|endoftext|>", "<|im_end|>"]);
    assert_eq!(eos("gemma"), ["<eos>", "<end_of_turn>"]);
    assert_eq!(eos("llama"), ["</s>"]);
}
