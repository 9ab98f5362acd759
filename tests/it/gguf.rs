//! Models in GGUF files against `PyTorch` on the same numbers, and blocks of every type against the reference.

use std::{fs, path::PathBuf};

use attnscope::model::{
    Engine, Input, LoadError, Model, ModelFiles,
    kernels::{BlockType, KernelPath},
    locate, uninterrupted,
};
use safetensors::SafeTensors;

use crate::{families::differences_from, parity::Reference, weights};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/gguf")
}

/// Names of all models, in order.
fn names() -> Vec<String> {
    let paths = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let models = paths.filter(|path| path.extension().is_some_and(|extension| extension == "gguf"));
    let mut names: Vec<_> = models.map(|path| path.file_stem().unwrap().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn open(name: &str) -> Result<Model, LoadError> {
    let files = ModelFiles::open(&folder().join(format!("{name}.gguf")))?;
    Model::load(&files, name, &Engine::cpu(Some(2)).unwrap(), &uninterrupted)
}

#[test]
fn every_architecture_matches_pytorch_at_every_site() {
    let names = names();
    assert!(names.len() > 20, "{names:?}");
    let mut wrong = Vec::new();
    for name in names {
        let reference = Reference::open("gguf", &format!("{name}.safetensors"));
        match open(&name) {
            Ok(model) => {
                wrong.extend(differences_from(&name, &model, &reference, KernelPath::supported().pop().unwrap()));
            }
            Err(error) => wrong.push(format!("{name}: {error}; {}", error.details())),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn blocks_hold_the_numbers_of_the_reference_bit_by_bit() {
    let bytes = fs::read(folder().join("blocks.safetensors")).unwrap();
    let tensors = SafeTensors::deserialize(&bytes).unwrap();
    for kind in BlockType::ALL {
        let blocks = tensors.tensor(&format!("{}.blocks", kind.name())).unwrap();
        let values = tensors.tensor(&format!("{}.values", kind.name())).unwrap();
        let n = values.data().len() / 4;
        assert!(
            n >= 8 * kind.n_values() && blocks.data().len() == n / kind.n_values() * kind.size_bytes(),
            "{}",
            kind.name()
        );
        let mut widened = vec![0.0f32; n];
        kind.widen(blocks.data(), &mut widened);
        let differs = widened.iter().zip(values.data().chunks_exact(4)).position(|(a, b)| a.to_le_bytes() != *b);
        assert_eq!(differs, None, "{}", kind.name());
        assert_eq!(kind.is_finite(blocks.data()), widened.iter().all(|value| value.is_finite()), "{}", kind.name());
    }
}

#[test]
fn a_folder_with_one_file_is_its_model_and_of_several_none() {
    let folder = tempfile::tempdir().unwrap();
    let copy = |from: &str, to: &str| {
        fs::copy(self::folder().join(format!("{from}.gguf")), folder.path().join(to)).unwrap();
    };
    copy("gpt2", "Some-Model-Q8_0.gguf");
    fs::write(folder.path().join("config.json"), "{}").unwrap();
    fs::write(folder.path().join("mmproj-f16.gguf"), "").unwrap();
    let (files, name) = locate::open(folder.path()).unwrap();
    assert!(files.has_weights() && name == "Some-Model-Q8_0", "{name}");
    let known = locate::known_at(folder.path());
    assert_eq!((known.family.as_str(), known.shape, known.problem), ("gpt2", Some((2, 4)), None));
    // Blocks take no more memory than in the file; embeddings and norms do.
    let size = known.size_bytes;
    assert!(known.needs.is_some_and(|needs| needs.bytes < 2 * size), "{:?} for {size} bytes", known.needs);
    copy("bert", "b.gguf");
    fs::remove_file(folder.path().join("config.json")).unwrap();
    let problem = locate::known_at(folder.path()).problem.unwrap();
    assert!(problem.contains("2 models in GGUF files, Some-Model-Q8_0.gguf, b.gguf"), "{problem}");
}

#[test]
fn matrices_of_blocks_multiply_as_matrices_of_their_numbers_do() {
    // Both ways back and forth are those of the families; here the audit says how much memory was saved.
    let model = open("llama-wide").unwrap();
    let audit = model.audit();
    let single = 4 * audit.n_params;
    assert!(audit.n_bytes * 2 < single, "{} of {single} bytes", audit.n_bytes);
    // Embeddings, and the output, are kept so, too.
    let stored: usize = fs::metadata(folder().join("llama-wide.gguf")).unwrap().len() as usize;
    assert!(audit.n_bytes < stored as u64 + 4 * 1024, "{} for a file of {stored} bytes", audit.n_bytes);
    assert!(audit.dtypes.iter().any(|(name, _)| name == "IQ4_XS"), "{:?}", audit.dtypes);
    // A factor of the configuration is no reason to widen a map.
    let audit = open("granite").unwrap().audit().clone();
    let stored = fs::metadata(folder().join("granite.gguf")).unwrap().len();
    assert!(audit.n_bytes < stored + 1024, "{} for a file of {stored} bytes", audit.n_bytes);
}

/// What opening a fixture says after each of some bytes was replaced by as many others, wherever it stands.
fn said_of(name: &str, changes: &[(&str, &str)]) -> String {
    let mut bytes = fs::read(folder().join(format!("{name}.gguf"))).unwrap();
    for (from, to) in changes {
        assert_eq!(from.len(), to.len());
        let mut at = 0;
        while let Some(found) = bytes[at..].windows(from.len()).position(|part| part == from.as_bytes()) {
            at += found;
            bytes[at..at + to.len()].copy_from_slice(to.as_bytes());
        }
        assert!(at > 0, "{from} is not in {name}");
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.gguf");
    fs::write(&path, bytes).unwrap();
    match ModelFiles::open(&path) {
        Ok(files) => match Model::load(&files, name, &Engine::cpu(Some(1)).unwrap(), &uninterrupted) {
            Ok(_) => "it opens".to_owned(),
            Err(error) => error.to_string(),
        },
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_model_in_parts_is_that_of_one_file() {
    let part = |nth: usize| format!("llama-{nth:05}-of-00003.gguf");
    let whole = open("llama").unwrap();
    let input = Input::Ids(vec![5, 17, 42, 8]);
    // Any of them stands for all.
    for nth in 1..=3 {
        let files = ModelFiles::open(&folder().join("parts").join(part(nth))).unwrap();
        let model = Model::load(&files, "parts", &Engine::cpu(Some(2)).unwrap(), &uninterrupted).unwrap();
        assert_eq!(weights::bits(&model, &input), weights::bits(&whole, &input), "{nth}");
        assert_eq!(model.audit().n_bytes, whole.audit().n_bytes);
    }
    // So does their folder.
    let (files, name) = locate::open(&folder().join("parts")).unwrap();
    assert!(files.has_weights() && name == "llama", "{name}");
}

/// What opening a model of which these parts are there says, some of them under other names.
fn said_of_parts(parts: &[(usize, &str)]) -> String {
    let copies = tempfile::tempdir().unwrap();
    for (nth, name) in parts {
        let part = folder().join("parts").join(format!("llama-{nth:05}-of-00003.gguf"));
        fs::copy(part, copies.path().join(name)).unwrap();
    }
    let error = ModelFiles::open(&copies.path().join(parts[0].1)).unwrap_err();
    format!("{error}; {}", error.details())
}

#[test]
fn parts_that_are_missing_or_mixed_up_are_named() {
    const NAMES: [&str; 3] = ["m-00001-of-00003.gguf", "m-00002-of-00003.gguf", "m-00003-of-00003.gguf"];
    let said = said_of_parts(&[(1, NAMES[0]), (3, NAMES[2])]);
    assert!(said.contains("its part m-00002-of-00003.gguf is missing"), "{said}");
    let said = said_of_parts(&[(2, NAMES[1]), (3, NAMES[2])]);
    assert!(said.contains("its part m-00001-of-00003.gguf is missing"), "{said}");
    let said = said_of_parts(&[(1, NAMES[0]), (3, NAMES[1]), (2, NAMES[2])]);
    assert!(said.contains("its part m-00002-of-00003.gguf is not the 2. of 3: its split.no is 2"), "{said}");
    let said = said_of_parts(&[(2, "other.gguf")]);
    assert!(said.contains("call it NAME-00002-of-00003.gguf again"), "{said}");
}

/// What opening a fixture says after the number of a key of its metadata became another.
fn said_of_number(name: &str, key: &str, number: u32) -> String {
    let mut bytes = fs::read(folder().join(format!("{name}.gguf"))).unwrap();
    let at = bytes.windows(key.len()).position(|part| part == key.as_bytes()).unwrap() + key.len();
    // Behind the key stands the kind of its value.
    assert_eq!(bytes[at..at + 4], 4u32.to_le_bytes(), "{key}");
    bytes[at + 4..at + 8].copy_from_slice(&number.to_le_bytes());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.gguf");
    fs::write(&path, bytes).unwrap();
    let files = match ModelFiles::open(&path) {
        Ok(files) => files,
        Err(error) => return error.to_string(),
    };
    Model::load(&files, name, &Engine::cpu(Some(1)).unwrap(), &uninterrupted).unwrap_err().to_string()
}

#[test]
fn errors_name_the_keys_of_the_file() {
    for (name, key, number) in [
        ("starcoder2", "starcoder2.attention.head_count_kv", 3),
        ("llama", "llama.context_length", 0),
        ("llama", "llama.embedding_length", 0),
        ("gpt2", "gpt2.attention.head_count", 5),
        ("mixtral", "llama.expert_used_count", 9),
    ] {
        let said = said_of_number(name, key, number);
        assert!(said.contains(key) && !said.contains("config.json"), "{name} {key} {number}: {said}");
    }
}

#[test]
fn scales_that_are_no_numbers_are_told() {
    for (name, scale) in [("llama-blocks", 0x7e00u16), ("llama-blocks", 0xfc00), ("llama-wide", 0x7e01)] {
        let mut bytes = fs::read(folder().join(format!("{name}.gguf"))).unwrap();
        // The last tensor of the directory, its two dimensions, kind and place; then the embeddings.
        let last = b"output.weight";
        let at = bytes.windows(last.len()).rposition(|part| part == last).unwrap() + last.len();
        let start = (at + 4 + 2 * 8 + 4 + 8).next_multiple_of(32);
        bytes[start..start + 2].copy_from_slice(&scale.to_le_bytes());
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.gguf");
        fs::write(&path, bytes).unwrap();
        let files = ModelFiles::open(&path).unwrap();
        let said = Model::load(&files, name, &Engine::cpu(Some(1)).unwrap(), &uninterrupted).unwrap_err().to_string();
        assert!(said.contains("model.embed_tokens.weight") && said.contains("not finite"), "{name}: {said}");
    }
}

/// A fixture, texts of its file with others in their place, and words of the refusal.
type Refused<'a> = (&'a str, &'a [(&'a str, &'a str)], &'a str);

#[test]
fn what_would_be_computed_otherwise_is_refused_by_name() {
    let cases: [Refused<'_>; 8] = [
        ("llama", &[("llama.rope.freq_base", "llama.rope.freq_bass")], "its key llama.rope.freq_bass is not known"),
        ("llama", &[("blk.0.attn_q", "blk.0.attn_x")], "a tensor blk.0.attn_x.weight, which is not known"),
        ("llama", &[("output_norm.weight", "output_norm.scales")], "a tensor output_norm.scales, which is not known"),
        ("qwen3", &[("qwen3", "qwen9")], "llama.cpp’s architecture “qwen9” is not supported in this format, only"),
        ("llama", &[("llama.block_count", "llama.block_nount")], "its metadata have no llama.block_count"),
        ("llama-blocks", &[("rope.scaling.factor", "rope.scaling.fuctor")], "is not known in this architecture"),
        ("qwen3moe", &[("expert_used_count", "expert_used_kount")], "its metadata have no qwen3moe.expert_used_count"),
        ("gpt2", &[("blk.1.ffn_down.bias", "blk.2.ffn_down.bias")], "the weights lack the tensor"),
    ];
    for (name, changes, expected) in cases {
        let said = said_of(name, changes);
        assert!(said.contains(expected), "{name} {changes:?}: {said}");
    }
}
