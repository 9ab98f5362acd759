//! Models in GGUF files against `PyTorch` on the same numbers, and blocks of every type against the reference.

use std::{fs, path::PathBuf};

use attnscope::model::{
    Engine, LoadError, Model, ModelFiles,
    kernels::{BlockType, KernelPath},
    locate, uninterrupted,
};
use safetensors::SafeTensors;

use crate::{families::differences_from, parity::Reference};

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
    assert!(audit.dtypes.iter().any(|(name, _)| name == "IQ4_XS"), "{:?}", audit.dtypes);
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

/// A fixture, texts of its file with others in their place, and words of the refusal.
type Refused<'a> = (&'a str, &'a [(&'a str, &'a str)], &'a str);

#[test]
fn what_would_be_computed_otherwise_is_refused_by_name() {
    let cases: [Refused<'_>; 8] = [
        ("llama", &[("llama.rope.freq_base", "llama.rope.freq_bass")], "its key llama.rope.freq_bass is not known"),
        ("llama", &[("blk.0.attn_q", "blk.0.attn_x")], "a tensor blk.0.attn_x.weight, which is not known"),
        ("llama", &[("output_norm.weight", "output_norm.scales")], "a tensor output_norm.scales, which is not known"),
        ("qwen3", &[("qwen3", "qwen9")], "llama.cpp’s architecture “qwen9” is not supported in this format, only"),
        ("llama", &[("llama.block_count", "llama.block_nount")], "it does not say llama.block_count"),
        ("llama-blocks", &[("rope.scaling.factor", "rope.scaling.fuctor")], "is not known in this architecture"),
        ("qwen3moe", &[("expert_used_count", "expert_used_kount")], "it does not say qwen3moe.expert_used_count"),
        ("gpt2", &[("blk.1.ffn_down.bias", "blk.2.ffn_down.bias")], "the weights lack the tensor"),
    ];
    for (name, changes, expected) in cases {
        let said = said_of(name, changes);
        assert!(said.contains(expected), "{name} {changes:?}: {said}");
    }
}
