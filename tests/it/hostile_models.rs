//! Checkpoints that are broken, lying or absurd: each is refused with a sentence that names what is
//! wrong, and nothing panics or allocates what a file merely claims.

use std::{fs, path::Path};

use attnscope::model::{Engine, Input, LoadError, Model, ModelError, ModelFiles, RunPlan, uninterrupted};
use tempfile::TempDir;

use crate::parity::{fixture, load};

/// A copy of a fixture that a test can break.
fn copy(name: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(fixture(name)).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, folder.path().join(path.file_name().unwrap())).unwrap();
    }
    folder
}

/// The error that opening `path` gives; both of its sentences must be usable.
pub fn refused(path: &Path) -> LoadError {
    let engine = Engine::cpu(Some(1)).unwrap();
    let result = ModelFiles::open(path).and_then(|files| Model::load(&files, "hostile", &engine, &uninterrupted));
    let error = result.err().unwrap_or_else(|| panic!("{} was accepted", path.display()));
    let summary = error.to_string();
    assert!(!summary.ends_with('.') && !summary.contains('\n'), "not a sentence for a user: {summary}");
    assert!(!error.details().is_empty(), "no advice for: {summary}");
    error
}

fn assert_says(error: &LoadError, parts: &[&str]) {
    let text = error.to_string();
    for part in parts {
        assert!(text.contains(part), "“{text}” does not say “{part}”");
    }
}

/// Changes the text of one file.
fn edit(folder: &TempDir, file: &str, change: impl FnOnce(String) -> String) {
    let path = folder.path().join(file);
    fs::write(&path, change(fs::read_to_string(&path).unwrap())).unwrap();
}

/// A safetensors file of this header and so many bytes of data.
fn write_weights(folder: &TempDir, header: &str, n_data: usize) {
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend_from_slice(header.as_bytes());
    bytes.resize(bytes.len() + n_data, 0);
    fs::write(folder.path().join("model.safetensors"), bytes).unwrap();
}

/// Overwrites the first value of a tensor.
fn poison(folder: &TempDir, tensor: &str, value: f32) {
    let path = folder.path().join("model.safetensors");
    let mut bytes = fs::read(&path).unwrap();
    let header_len = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let header: serde_json::Value = serde_json::from_slice(&bytes[8..8 + header_len]).unwrap();
    let start = 8 + header_len + header[tensor]["data_offsets"][0].as_u64().unwrap() as usize;
    bytes[start..start + 4].copy_from_slice(&value.to_le_bytes());
    fs::write(path, bytes).unwrap();
}

#[test]
fn paths_that_are_no_models() {
    let folder = tempfile::tempdir().unwrap();
    assert!(matches!(refused(&folder.path().join("nowhere")), LoadError::NotFound { .. }));
    assert_says(&refused(folder.path()), &["this folder is empty"]);
    let weights = folder.path().join("junk.safetensors");
    fs::write(&weights, [7; 100]).unwrap();
    assert_says(&refused(&weights), &["junk.safetensors", "no config.json beside it"]);
    let text = folder.path().join("notes.txt");
    fs::write(&text, "hello").unwrap();
    assert_says(&refused(&text), &["not a model"]);
}

#[test]
fn weights_that_are_missing_or_in_another_format() {
    let folder = copy("bert");
    for file in fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()) {
        if file.extension().is_some_and(|extension| extension == "safetensors") {
            fs::remove_file(file).unwrap();
        }
    }
    assert_says(&refused(folder.path()), &["no weights", "model.safetensors", "pytorch_model.bin"]);
    fs::write(folder.path().join("tf_model.h5"), [0; 16]).unwrap();
    let error = refused(folder.path());
    assert_says(&error, &["weights for TensorFlow (tf_model.h5)"]);
    assert!(error.details().contains("from_tf=True"), "{}", error.details());
}

#[test]
fn truncated_weights() {
    let folder = copy("bert");
    let path = folder.path().join("model.safetensors");
    let bytes = fs::read(&path).unwrap();
    for len in [0, 7, 8, 100, bytes.len() / 2, bytes.len() - 1] {
        fs::write(&path, &bytes[..len]).unwrap();
        assert_says(&refused(folder.path()), &["model.safetensors is damaged"]);
    }
}

#[test]
fn a_header_length_that_lies() {
    let folder = copy("bert");
    let path = folder.path().join("model.safetensors");
    let good = fs::read(&path).unwrap();
    for claim in [u64::MAX, good.len() as u64, 1 << 40, 3] {
        let mut bytes = good.clone();
        bytes[..8].copy_from_slice(&claim.to_le_bytes());
        fs::write(&path, bytes).unwrap();
        assert_says(&refused(folder.path()), &["damaged", "header"]);
    }
}

#[test]
fn headers_that_contradict_the_file() {
    let folder = copy("bert");
    let cases = [
        (r#"{"a":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}}"#, 8, "claims the bytes"),
        (r#"{"a":{"dtype":"F32","shape":[4],"data_offsets":[16,0]}}"#, 16, "claims the bytes"),
        (r#"{"a":{"dtype":"F32","shape":[5],"data_offsets":[0,16]}}"#, 16, "has the shape"),
        (
            r#"{"a":{"dtype":"F32","shape":[4294967296,4294967296,4294967296],"data_offsets":[0,16]}}"#,
            16,
            "has the shape",
        ),
        (r#"{"a":{"dtype":"F32","shape":[-4],"data_offsets":[0,16]}}"#, 16, "no valid shape"),
        (r#"{"a":{"shape":[4],"data_offsets":[0,16]}}"#, 16, "no dtype"),
        (
            r#"{"a":{"dtype":"F32","shape":[4],"data_offsets":[0,16]},"b":{"dtype":"F32","shape":[4],"data_offsets":[8,24]}}"#,
            24,
            "overlap",
        ),
        (
            r#"{"a":{"dtype":"F32","shape":[4],"data_offsets":[0,16]},"a":{"dtype":"F32","shape":[4],"data_offsets":[16,32]}}"#,
            32,
            "twice",
        ),
        (r#"{"a\nb":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}}"#, 16, "is not text"),
        (
            r#"{"a":{"dtype":"F32","shape":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,4],"data_offsets":[0,16]}}"#,
            16,
            "no valid shape",
        ),
        ("[1, 2]", 0, "not JSON"),
    ];
    for (header, n_data, expected) in cases {
        write_weights(&folder, header, n_data);
        assert_says(&refused(folder.path()), &["model.safetensors is damaged", expected]);
    }
}

#[test]
fn sizes_that_no_model_has() {
    for (key, value) in [
        ("hidden_size", "1000000000"),
        ("num_hidden_layers", "1e9"),
        ("vocab_size", "-3"),
        ("num_attention_heads", "0"),
    ] {
        let folder = copy("bert");
        let from =
            serde_json::from_str::<serde_json::Value>(&fs::read_to_string(folder.path().join("config.json")).unwrap())
                .unwrap();
        edit(&folder, "config.json", |text| {
            text.replace(&format!("\"{key}\": {}", from[key]), &format!("\"{key}\": {value}"))
        });
        assert_says(&refused(folder.path()), &["config.json is not valid", key]);
    }
}

#[test]
fn sizes_that_the_weights_do_not_have() {
    let folder = copy("bert");
    edit(&folder, "config.json", |text| text.replace("\"hidden_size\": 32", "\"hidden_size\": 1048576"));
    assert_says(&refused(folder.path()), &["[294, 32]", "[294, 1048576]"]);
    let folder = copy("gpt2");
    edit(&folder, "config.json", |text| text.replace("\"n_layer\": 2", "\"n_layer\": 3"));
    assert_says(&refused(folder.path()), &["transformer.h.2."]);
    let folder = copy("vit");
    edit(&folder, "config.json", |text| text.replace("\"patch_size\": 6", "\"patch_size\": 64"));
    assert_says(&refused(folder.path()), &["patches are larger"]);
    let folder = copy("bert");
    edit(&folder, "config.json", |text| text.replace("\"num_attention_heads\": 4", "\"num_attention_heads\": 5"));
    assert_says(&refused(folder.path()), &["5 heads do not divide"]);
}

#[test]
fn configurations_that_are_no_configuration() {
    let folder = copy("bert");
    for text in ["", "{", "[]", "null", "{}"] {
        fs::write(folder.path().join("config.json"), text).unwrap();
        assert_says(&refused(folder.path()), &["config.json is not valid"]);
    }
}

#[test]
fn an_unknown_model_type_is_told_what_is_supported() {
    let folder = copy("bert");
    edit(&folder, "config.json", |text| text.replace("\"model_type\": \"bert\"", "\"model_type\": \"mamba\""));
    // Said before anything about weights, which such a folder may have in another form.
    std::fs::remove_file(folder.path().join("model.safetensors")).unwrap();
    let error = refused(folder.path());
    assert_says(&error, &["mamba"]);
    assert!(error.details().contains("`attnscope models` and docs/families.md"), "{}", error.details());
}

#[test]
fn a_convolution_that_is_not_there_or_has_no_middle_is_refused() {
    let folder = copy("families/deberta-v3");
    edit(&folder, "config.json", |text| text.replacen('{', "{\"conv_kernel_size\": 3,", 1));
    assert_says(&refused(folder.path()), &["lack", "conv.conv.weight"]);
    edit(&folder, "config.json", |text| text.replacen("\"conv_kernel_size\": 3", "\"conv_kernel_size\": 4", 1));
    assert_says(&refused(folder.path()), &["convolution", "conv_kernel_size", "not supported"]);
}

#[test]
fn positions_that_padding_leaves_none_of_are_refused() {
    let folder = copy("families/roberta");
    edit(&folder, "config.json", |text| text.replace("\"pad_token_id\": 1", "\"pad_token_id\": 4000000000"));
    assert_says(&refused(folder.path()), &["24 positions", "padding"]);
}

/// Fuzzing: a millionth entry of a vocabulary of 52 took a table of a million positions to be computed.
#[test]
fn positions_are_not_counted_from_an_id_that_is_none() {
    let folder = copy("families/trocr-sinusoidal");
    edit(&folder, "config.json", |text| text.replacen("    \"pad_token_id\": 1,", "    \"pad_token_id\": 1000000,", 1));
    assert_says(&refused(folder.path()), &["pad_token_id is 1000000", "52 entries"]);
}

#[test]
fn a_recurrent_translator_needs_a_score_that_fits_its_widths() {
    let folder = copy("families/rnnsearch-dot");
    edit(&folder, "config.json", |text| text.replace("\"dot\"", "\"quadratic\""));
    assert_says(&refused(folder.path()), &["quadratic", "bilinear"]);
    let folder = copy("families/rnnsearch-dot");
    edit(&folder, "config.json", |text| text.replace("\"hidden_size\": 16", "\"hidden_size\": 12"));
    assert_says(&refused(folder.path()), &["12", "16", "dot product"]);
    let folder = copy("families/rnnsearch-additive");
    poison(&folder, "attention.energy.weight", f32::NAN);
    assert_says(&refused(folder.path()), &["attention.energy.weight"]);
    let folder = copy("families/rnnsearch-additive");
    edit(&folder, "config.json", |text| text.replace("\"additive\"", "\"mlp\""));
    assert_says(&refused(folder.path()), &["attention.hidden.weight"]);
}

#[test]
fn a_recurrent_classifier_names_what_it_does_not_know() {
    let folder = copy("families/bilstm");
    edit(&folder, "config.json", |text| text.replace("\"softmax\"", "\"hardmax\""));
    assert_says(&refused(folder.path()), &["hardmax", "sparsemax"]);
    edit(&folder, "config.json", |text| text.replace("\"attention_normalizer\": \"hardmax\",", ""));
    assert_says(&refused(folder.path()), &["attention_normalizer", "none"]);
    let folder = copy("families/bilstm-rationale");
    edit(&folder, "config.json", |text| text.replace("\"hardkuma\"", "\"bernoulli\""));
    assert_says(&refused(folder.path()), &["bernoulli", "hardkuma"]);
    let folder = copy("families/bilstm-rationale");
    edit(&folder, "config.json", |text| text.replace("\"gate_hidden_size\": 6", "\"gate_hidden_size\": 5"));
    assert_says(&refused(folder.path()), &["gates.encoder.forward.input.weight"]);
    let folder = copy("families/bilstm");
    edit(&folder, "config.json", |text| {
        text.replace("\"attention_size\"", "\"attention_heads\": 4, \"attention_size\"")
    });
    assert_says(&refused(folder.path()), &["attention_heads"]);
}

#[test]
fn what_ends_a_sentence_has_to_be_said() {
    for name in ["families/han", "families/memn2n"] {
        let folder = copy(name);
        edit(&folder, "config.json", |text| text.replace("\"sentence_end_token_ids\"", "\"sentence_ends\""));
        assert_says(&refused(folder.path()), &["sentence_ends"]);
        edit(&folder, "config.json", |text| {
            text.replace("\"sentence_ends\": [\n    2,", "\"sentence_end_token_ids\": [\n    2.5,")
        });
        assert_says(&refused(folder.path()), &["sentence_end_token_ids"]);
    }
}

#[test]
fn the_vocabulary_of_a_pointer_is_small() {
    let folder = copy("families/pointer");
    edit(&folder, "config.json", |text| text.replace("\"vocab_size\": 24", "\"vocab_size\": 50000"));
    assert_says(&refused(folder.path()), &["vocabulary", "4096"]);
}

#[test]
fn weights_that_are_not_finite_are_named() {
    for value in [f32::NAN, f32::INFINITY] {
        let folder = copy("bert");
        poison(&folder, "bert.encoder.layer.1.output.dense.weight", value);
        assert_says(&refused(folder.path()), &["bert.encoder.layer.1.output.dense.weight", "not finite"]);
    }
}

#[test]
fn integers_instead_of_weights_are_named() {
    let folder = copy("bert");
    let path = folder.path().join("model.safetensors");
    let mut bytes = fs::read(&path).unwrap();
    let at = bytes.windows(5).position(|window| window == b"\"F32\"").unwrap();
    bytes[at..at + 5].copy_from_slice(b"\"I32\"");
    fs::write(path, bytes).unwrap();
    assert_says(&refused(folder.path()), &["number type I32"]);
}

#[test]
fn an_index_cannot_reach_outside_its_folder() {
    for shard in
        ["../model.safetensors", "/etc/passwd", "..\\\\model.safetensors", "C:model.safetensors", "a/../../b", ""]
    {
        let folder = copy("bert-sharded");
        let index = format!(r#"{{"weight_map": {{"bert.embeddings.LayerNorm.bias": "{shard}"}}}}"#);
        fs::write(folder.path().join("model.safetensors.index.json"), index).unwrap();
        let error = refused(folder.path());
        assert!(matches!(error, LoadError::ShardOutside { .. }), "{shard}: {error}");
    }
}

#[test]
fn a_missing_shard_is_named() {
    let folder = copy("bert-sharded");
    fs::remove_file(folder.path().join("model-00002-of-00003.safetensors")).unwrap();
    assert_says(&refused(folder.path()), &["model-00002-of-00003.safetensors cannot be read"]);
}

#[test]
fn ids_outside_the_vocabulary_and_inputs_of_another_kind() {
    let text = load("gpt2");
    let vision = load("vit");
    let pixels = |size_px| Input::Pixels { data: vec![0.0; 12].into(), size_px };
    let cases = [
        (&text, Input::Ids(vec![1, 320]), "320"),
        (&text, Input::Ids(vec![]), "no token ids"),
        (&text, Input::Ids(vec![1; 49]), "49"),
        (&text, pixels((2, 2)), "reads text"),
        (&vision, Input::Ids(vec![1]), "reads pictures"),
        (&vision, pixels((2, 2)), "smaller than one patch"),
        (&vision, pixels((600, 600)), "pixel values"),
        (&vision, pixels((usize::MAX, 2)), "pixel values"),
    ];
    for (model, input, expected) in cases {
        let result =
            model.encode(&input).and_then(|encoded| model.forward(&encoded, &RunPlan::default(), &uninterrupted));
        let error = result.map(drop).unwrap_err();
        assert!(matches!(error, ModelError::Input { .. }), "{error:?}");
        assert!(error.to_string().contains(expected), "“{error}” does not say “{expected}”");
    }
}

#[test]
fn overflow_in_the_forward_pass_is_an_error_not_a_picture() {
    let folder = copy("gpt2");
    poison(&folder, "transformer.ln_f.weight", f32::MAX);
    poison(&folder, "transformer.ln_f.bias", f32::MAX);
    let files = ModelFiles::folder(folder.path());
    let model = Model::load(&files, "overflow", &Engine::cpu(Some(1)).unwrap(), &uninterrupted).unwrap();
    let error =
        model.forward(&model.encode(&Input::Ids(vec![1, 2, 3, 4, 5, 6])).unwrap(), &RunPlan::default(), &uninterrupted);
    assert!(matches!(error, Err(ModelError::NotFinite { .. })), "{:?}", error.map(|_| "accepted"));
}
