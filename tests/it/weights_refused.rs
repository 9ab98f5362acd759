//! Weights that are not loaded: other kinds of files, damage, lies, and what does not fit.

use std::{
    fs,
    io::{Cursor, Write as _},
    path::Path,
};

use attnscope::model::{Control, LoadError, Model, ModelFiles, uninterrupted};
use zip::{CompressionMethod, ZipWriter, write::SimpleFileOptions};

use crate::{
    parity::fixture,
    weights::{SINGLE, assert_same, assert_says, bin, engine, model_with, open},
};

#[test]
fn files_of_other_kinds_are_told_apart() {
    let cases: [(&str, &[&str]); 8] = [
        ("legacy", &["saved by PyTorch before 1.6", "torch.save(torch.load("]),
        ("protocol4", &["pickle protocol 4", "torch.save(torch.load("]),
        ("object", &["object of the class torch.nn.modules.linear.Linear", "state_dict()"]),
        ("class", &["contains an object of the class __main__.Settings", "state_dict()"]),
        ("several", &["several sets of weights: student, teacher"]),
        ("empty", &["holds no tensors"]),
        ("script", &["TorchScript", "state_dict()"]),
        ("compressed", &["compressed"]),
    ];
    for (name, parts) in cases {
        let folder = model_with("bert", &[(SINGLE, bin(&format!("refused/{name}.bin")))]);
        assert_says(open(folder.path()), parts);
    }
    let pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n".to_vec();
    for name in [SINGLE, "model.safetensors"] {
        assert_says(open(model_with("bert", &[(name, pointer.clone())]).path()), &[name, "git lfs pull"]);
    }
    let foreign = archive("readme.txt", b"hello", &[]);
    assert_says(open(model_with("bert", &[(SINGLE, foreign)]).path()), &["an archive, but not one that PyTorch wrote"]);
}

#[test]
fn damaged_archives_are_refused_and_never_panic() {
    let good = bin("bert-wrapped.bin");
    let folder = model_with("bert", &[]);
    let path = folder.path().join(SINGLE);
    for len in [0, 1, 4, 30, 1000, good.len() / 2, good.len() - 100, good.len() - 1] {
        fs::write(&path, &good[..len]).unwrap();
        assert_says(open(folder.path()), &["pytorch_model.bin"]);
    }
    // The archive's own records and the description are at both ends.
    let ends = (0..7000).step_by(13).chain((good.len() - 7000..good.len()).step_by(13));
    for at in ends {
        let mut bytes = good.clone();
        bytes[at] ^= 0x55;
        fs::write(&path, bytes).unwrap();
        // Time stamps and the like may change without harm.
        if let Err(error) = open(folder.path()) {
            assert!(!error.details().is_empty(), "{error}");
        }
    }
}

/// An archive with a description and parts.
fn archive(name: &str, description: &[u8], parts: &[(&str, &[u8])]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let mut add = |name: &str, bytes: &[u8]| {
        zip.start_file(name, SimpleFileOptions::default().compression_method(CompressionMethod::Stored)).unwrap();
        zip.write_all(bytes).unwrap();
    };
    add(name, description);
    for (name, bytes) in parts {
        add(&format!("archive/data/{name}"), bytes);
    }
    zip.finish().unwrap().into_inner()
}

/// The pickle of `{"a": tensor}`; the sizes are those of a view of the part `0`.
fn tensor(offset: u64, shape: &[u64], strides: &[u64]) -> Vec<u8> {
    fn text(pickle: &mut Vec<u8>, text: &str) {
        pickle.push(b'X');
        pickle.extend_from_slice(&(text.len() as u32).to_le_bytes());
        pickle.extend_from_slice(text.as_bytes());
    }
    fn number(pickle: &mut Vec<u8>, number: u64) {
        pickle.extend_from_slice(b"\x8a\x08");
        pickle.extend_from_slice(&number.to_le_bytes());
    }
    let mut pickle = b"\x80\x02}".to_vec();
    text(&mut pickle, "a");
    pickle.extend_from_slice(b"ctorch._utils\n_rebuild_tensor_v2\n((");
    text(&mut pickle, "storage");
    pickle.extend_from_slice(b"ctorch\nFloatStorage\n");
    text(&mut pickle, "0");
    text(&mut pickle, "cpu");
    number(&mut pickle, u64::MAX >> 1);
    pickle.extend_from_slice(b"tQ");
    number(&mut pickle, offset);
    for sizes in [shape, strides] {
        pickle.push(b'(');
        for size in sizes {
            number(&mut pickle, *size);
        }
        pickle.push(b't');
    }
    pickle.extend_from_slice(b"\x89NtRs.");
    pickle
}

#[test]
fn hostile_descriptions_are_refused_before_anything_is_allocated() {
    let bomb = [b")q\0".as_slice(), &b"h\0h\0\x86q\0".repeat(60), b"."].concat();
    let long_text = [b"X\0\0\x01\0".as_slice(), &b"a".repeat(1 << 16), &b"q\0".repeat(1 << 16), b"."].concat();
    // A line end in a name would break the message that quotes it.
    let renamed_tensor = [b"\x80\x02}X\x03\0\0\0a\nb".as_slice(), &tensor(0, &[4], &[1])[9..]].concat();
    let large = 1 << 40;
    let cases: Vec<(Vec<u8>, &str)> = vec![
        (b"".to_vec(), "cut off"),
        (b"\x80".to_vec(), "cannot be read"),
        (b"\x80\x02X\xff\xff\xff\xff".to_vec(), "cut off"),
        (b"\x80\x02X\xff\xff".to_vec(), "cut off"),
        ([b"\x8a\xff".as_slice(), &[0; 255], b"."].concat(), "more than 64 bits"),
        ([b")".as_slice(), &b"\x85".repeat(1 << 20), b"."].concat(), "nested too deeply"),
        ([b"]".repeat(1 << 16), b"a".repeat(1 << 16), b".".to_vec()].concat(), "nested too deeply"),
        (bomb, "repeats itself"),
        (long_text, "repeats itself"),
        (vec![b'N'; 9 << 20], "more than 8 MiB"),
        (b"h\x07.".to_vec(), "cannot be read"),
        (b"(tttt.".to_vec(), "cannot be read"),
        (b"cos\nsystem\nX\x04\0\0\0trueq\0\x85R.".to_vec(), "object of the class os.system"),
        (b"}X\x01\0\0\0actorch._utils\n_rebuild_tensor_v2\n)Rs.".to_vec(), "tensor a is not described well"),
        (tensor(0, &[large, large], &[0, 0]), "repeats"),
        (tensor(0, &[large], &[0]), "repeats 4 stored values"),
        (tensor(0, &[large, large, large], &[1, large, large]), "larger than its part"),
        (tensor(0, &[5], &[1]), "larger than its part"),
        (tensor(1, &[4], &[1]), "larger than its part"),
        (tensor(u64::MAX >> 1, &[1], &[1]), "larger than its part"),
        (tensor(u64::MAX, &[1], &[1]), "not described well"),
        (tensor(0, &[2, 2], &[1]), "not described well"),
        (tensor(0, &[1; 17], &[1; 17]), "not described well"),
        (renamed_tensor, "a name in it has 3 bytes or is not text"),
    ];
    for (pickle, expected) in cases {
        let bytes = archive("archive/data.pkl", &pickle, &[("0", &[0; 16])]);
        assert_says(open(model_with("bert", &[(SINGLE, bytes)]).path()), &[expected]);
    }
    let bytes = archive("archive/data.pkl", &tensor(0, &[4], &[1]), &[("1", &[0; 16])]);
    assert_says(open(model_with("bert", &[(SINGLE, bytes)]).path()), &["part 0, which is missing"]);
}

#[test]
fn values_that_are_not_finite_are_named_in_views_too() {
    let mut bytes = bin("bert-tied.bin");
    let safetensors = fs::read(fixture("bert").join("model.safetensors")).unwrap();
    let tensors = safetensors::SafeTensors::deserialize(&safetensors).unwrap();
    let name = "bert.encoder.layer.1.output.dense.weight";
    let needle = &tensors.tensor(name).unwrap().data()[..64];
    let at = bytes.windows(64).position(|window| window == needle).unwrap();
    bytes[at..at + 4].copy_from_slice(&f32::NAN.to_le_bytes());
    assert_says(open(model_with("bert", &[(SINGLE, bytes)]).path()), &[name, "not finite"]);
}

#[test]
fn a_model_that_does_not_fit_is_refused_with_the_numbers_before_it_is_read() {
    let folders =
        [fixture("bert"), fixture("bert-sharded"), model_with("bert", &[(SINGLE, bin("bert-tied.bin"))]).keep()];
    for folder in &folders {
        // 30,790 parameters, and the 294 × 32 of the embedding again; tied weights count once.
        let needed = 4 * (n_params(&fixture("bert")) + 294 * 32);
        let load = |limit: u64, control: &Control<'_>| {
            let engine = engine().with_memory_limit(limit);
            Model::load(&ModelFiles::open(folder).unwrap(), "large", &engine, control)
        };
        assert!(load(needed, &uninterrupted).is_ok());
        let error = load(needed - 1, &|progress| panic!("{progress:?}")).map(drop).unwrap_err();
        assert!(
            matches!(error, LoadError::TooLarge { needed: n, available, .. } if (n, available) == (needed, needed - 1))
        );
    }
    fs::remove_dir_all(&folders[2]).unwrap();
    let error = LoadError::TooLarge { needed: 2_810_000_000, available: 950_000_000, path: String::new() };
    assert_eq!(error.to_string(), "the model needs 2.8 GB of memory, but only 950.0 MB are free");
}

/// A terabyte of weights, which takes no room on disk where files may have holes.
#[cfg(target_os = "linux")]
#[test]
fn the_system_is_asked_how_much_memory_is_free() {
    let folder = model_with("bert", &[]);
    let len = 1u64 << 40;
    let shape = len / 4 / 32;
    let header = format!(r#"{{"bert.a.weight":{{"dtype":"F32","shape":[{shape},32],"data_offsets":[0,{len}]}}}}"#);
    let mut file = fs::File::create(folder.path().join("model.safetensors")).unwrap();
    file.write_all(&(header.len() as u64).to_le_bytes()).unwrap();
    file.write_all(header.as_bytes()).unwrap();
    file.set_len(8 + header.len() as u64 + len).unwrap();
    assert_says(open(folder.path()), &["needs 2199.0 GB of memory"]);
}

/// Values of all tensors of a safetensors file.
fn n_params(folder: &Path) -> u64 {
    let bytes = fs::read(folder.join("model.safetensors")).unwrap();
    let tensors = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    tensors.iter().map(|(_, view)| view.shape().iter().product::<usize>() as u64).sum()
}

/// A safetensors file of small tensors of these names and types.
fn typed(tensors: &[(&str, safetensors::Dtype)]) -> Vec<u8> {
    let tensors = tensors.iter().map(|(name, dtype)| {
        let data: &[u8] = &[0; 32][..dtype.bitsize() / 2];
        ((*name).to_owned(), safetensors::tensor::TensorView::new(*dtype, vec![4], data).unwrap())
    });
    safetensors::serialize(tensors, None).unwrap()
}

#[test]
fn quantised_weights_are_recognised() {
    use safetensors::Dtype::{F8_E4M3, F16, F32, I8, I32, U8, U32};
    let cases = [
        (typed(&[("bert.a.qweight", I32), ("bert.a.scales", F16)]), "GPTQ or AWQ"),
        (typed(&[("bert.a.weight", U8), ("bert.a.weight.absmax", F32)]), "bitsandbytes"),
        (typed(&[("bert.a.weight", I8), ("bert.a.SCB", F32)]), "bitsandbytes"),
        (typed(&[("bert.a.weight", F8_E4M3)]), "8-bit floating point"),
        (typed(&[("bert.a.weight", I8)]), "8-bit integers"),
        (typed(&[("bert.a.weight", U32)]), "packed integers"),
        (typed(&[("bert.a.weight", U32), ("bert.a.scales", F16), ("bert.a.biases", F16)]), "MLX"),
    ];
    for (bytes, how) in cases {
        let folder = model_with("bert", &[("model.safetensors", bytes)]);
        assert_says(open(folder.path()), &["quantised", how, "dequantize"]);
    }
    let settings = [
        (r#"{"quant_method": "gptq", "bits": 4}"#, "(gptq, 4 bits by its configuration, while no tensor is stored so)"),
        (
            r#"{"quant_method": "bitsandbytes", "load_in_8bit": true, "bits": null}"#,
            "(bitsandbytes, 8 bits by its configuration",
        ),
        (r#"{"load_in_4bit": true}"#, "4 bits"),
        (r#"{"quant_method": "fp8", "fmt": "e5m2"}"#, "(fp8)"),
        (
            r#"{"quant_method": "compressed-tensors", "format": "pack-quantized"}"#,
            "(compressed-tensors, pack-quantized)",
        ),
        (r#"{"quant_method": "hqq"}"#, "(hqq)"),
    ];
    for (settings, how) in settings {
        let folder = model_with("bert", &[(SINGLE, bin("bert-tied.bin"))]);
        let path = folder.path().join("config.json");
        let config = fs::read_to_string(&path).unwrap();
        fs::write(path, config.replacen('{', &format!("{{\"quantization_config\": {settings},"), 1)).unwrap();
        assert_says(open(folder.path()), &["quantised", how, "dequantize"]);
    }
    // MLX has a section of its own.
    let folder = model_with("bert", &[(SINGLE, bin("bert-tied.bin"))]);
    let path = folder.path().join("config.json");
    let config = fs::read_to_string(&path).unwrap();
    fs::write(path, config.replacen('{', r#"{"quantization": {"group_size": 32, "bits": 4},"#, 1)).unwrap();
    assert_says(open(folder.path()), &["quantised (MLX, 4 bits by its configuration"]);
}

#[test]
fn adapters_are_told_from_models() {
    let config = br#"{"peft_type": "LORA", "base_model_name_or_path": "acme/bert"}"#.to_vec();
    let adapter = typed(&[("base_model.model.bert.a.lora_A.weight", safetensors::Dtype::F32)]);
    let alone = tempfile::tempdir().unwrap();
    fs::write(alone.path().join("adapter_config.json"), &config).unwrap();
    fs::write(alone.path().join("adapter_model.safetensors"), &adapter).unwrap();
    let advice = ["this is an adapter for “acme/bert”, not a model", "merge_and_unload()"];
    assert_says(open(alone.path()), &advice);
    let beside =
        model_with("bert", &[("adapter_config.json", config.clone()), ("adapter_model.safetensors", adapter.clone())]);
    assert_says(open(beside.path()), &advice);
    let chosen = open(&beside.path().join("adapter_model.safetensors"));
    assert_says(chosen, &["hold an adapter (LoRA) for “acme/bert”", "merge_and_unload()"]);
}

/// Vectors in front of a text have nothing that they could be merged into.
#[test]
fn soft_prompts_are_not_to_be_merged() {
    for kind in ["PROMPT_TUNING", "P_TUNING", "PREFIX_TUNING", "ADAPTION_PROMPT"] {
        let config = format!(r#"{{"peft_type": "{kind}", "base_model_name_or_path": "gpt2"}}"#).into_bytes();
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("adapter_config.json"), config).unwrap();
        let error = open(folder.path()).map(drop).unwrap_err();
        let said = format!("{error}. {}", error.details());
        assert!(said.contains("an adapter for “gpt2”") && said.contains("cannot be merged"), "{said}");
        assert!(!said.contains("merge_and_unload"), "{said}");
    }
}

/// One that lies beside the whole model is not applied, and that is told.
#[test]
fn an_adapter_beside_whole_weights_is_told() {
    let config = br#"{"peft_type": "LORA", "base_model_name_or_path": "acme/bert"}"#.to_vec();
    let whole = bin("bert-tied.bin");
    let warned = |files: &[(&str, Vec<u8>)]| assert_same("bert", model_with("bert", files).path()).warnings.concat();
    assert_eq!(warned(&[(SINGLE, whole.clone())]), "");
    for name in ["adapter_config.json", "adapter_model.bin", "adapters.safetensors", "pytorch_lora_weights.safetensors"]
    {
        let warning = warned(&[(name, config.clone()), (SINGLE, whole.clone())]);
        assert!(warning.contains(name) && warning.contains("is not applied"), "{name}: {warning}");
        assert_eq!(warning.contains("“acme/bert”"), name == "adapter_config.json", "{warning}");
        assert!(warning.contains("merge_and_unload()"), "{warning}");
    }
}

/// Whatever the method is called, and whoever wrote it: PEFT, MLX or the adapters hub.
#[test]
fn no_adapter_among_the_weights_is_passed_over() {
    let layer = "bert.encoder.layer.0.attention.self";
    for (name, kind) in [
        (format!("{layer}.query.lora_A.default.weight"), "LoRA"),
        (format!("{layer}.query.lora_b"), "LoRA"),
        (format!("{layer}.query.lora_magnitude_vector.default.weight"), "LoRA"),
        ("bert.embeddings.word_embeddings.lora_embedding_A.default".to_owned(), "LoRA"),
        (format!("{layer}.loras.news.lora_A"), "LoRA"),
        (format!("{layer}.key.ia3_l.default"), "IA³"),
        (format!("{layer}.key.hada_w1_a.default"), "LoHa"),
        (format!("{layer}.key.oft_R.default.weight"), "OFT"),
        (format!("{layer}.key.vera_lambda_b.default"), "VeRA"),
        ("bert.encoder.layer.0.output.adapters.news.adapter_down.0.weight".to_owned(), "bottleneck"),
        ("prompt_encoder.default.embedding.weight".to_owned(), "soft prompt"),
        ("prompt_embeddings".to_owned(), "soft prompt"),
        ("classifier.modules_to_save.default.weight".to_owned(), "PEFT"),
        (format!("base_model.model.{layer}.query.base_layer.weight"), "PEFT"),
    ] {
        let bytes = fs::read(fixture("bert").join("model.safetensors")).unwrap();
        let tensors = safetensors::SafeTensors::deserialize(&bytes).unwrap();
        let zeros = [0; 16];
        let more = safetensors::tensor::TensorView::new(safetensors::Dtype::F32, vec![4], &zeros).unwrap();
        let all = tensors.iter().map(|(name, view)| (name.to_owned(), view)).chain([(name.clone(), more)]);
        let bytes = safetensors::serialize(all, None).unwrap();
        let error = open(model_with("bert", &[("model.safetensors", bytes)]).path());
        let way = if kind == "soft prompt" { "cannot be merged" } else { "merge_and_unload()" };
        assert_says(error, &["not merged", kind, name.as_str(), way]);
    }
}
