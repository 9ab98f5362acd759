//! Folders, configurations and paths of other kinds: each gets a sentence that says what it is and what to do.

use std::{fs, path::Path};

use attnscope::model::{LoadError, ModelFiles, locate};
use serde_json::json;
use tempfile::TempDir;

use crate::{
    keys::{Changed, behaviour},
    parity::fixture,
    weights::{assert_same, assert_says, model_with, open},
};

fn weights() -> Vec<u8> {
    fs::read(fixture("bert").join("model.safetensors")).unwrap()
}

/// A model folder with files in place of its weights.
fn folder(files: &[&str]) -> TempDir {
    let folder = model_with("bert", &[]);
    for name in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, weights()).unwrap();
    }
    folder
}

#[test]
fn every_folder_that_people_have_says_what_it_is() {
    let cases: &[(&[&str], &[&str])] = &[
        (&["model-q4_K_M.gguf"], &["model-q4_K_M.gguf is damaged", "does not begin as GGUF files do"]),
        (&["a-q4.gguf", "a-q8.gguf"], &["2 models in GGUF files, a-q4.gguf, a-q8.gguf", "Open one of them"]),
        (&["gguf/a-q4.gguf"], &["models in GGUF files (gguf/a-q4.gguf)", "Open one of the files"]),
        (&["ggml-model-f16.ggml"], &["llama.cpp in an older format"]),
        (&["consolidated.00.pth", "params.json"], &["original format", "consolidated.00.pth", "convert_llama"]),
        (&["consolidated.safetensors"], &["original format", "convert_mistral"]),
        (&["onnx/model.onnx"], &["ONNX Runtime (onnx/model.onnx)", "PyTorch"]),
        (&["openvino_model.bin", "openvino_model.xml"], &["OpenVINO", "PyTorch"]),
        (&["Model.mlpackage/Data/weights/weight.bin"], &["Core ML"]),
        (&["model.tflite"], &["another program"]),
        (&["rank0.engine"], &["another program"]),
        (&["tf_model.h5"], &["TensorFlow", "from_tf=True"]),
        (&["bert_model.ckpt.index", "bert_model.ckpt.data-00000-of-00001"], &["TensorFlow"]),
        (&["saved_model/saved_model.pb"], &["TensorFlow"]),
        (&["flax_model.msgpack"], &["Flax", "from_flax=True"]),
        (&["global_step5/mp_rank_00_model_states.pt", "latest"], &["DeepSpeed", "zero_to_fp32.py"]),
        (&["global_step5/bf16_zero_pp_rank_0_mp_rank_00_optim_states.pt"], &["DeepSpeed"]),
        (&["pytorch_model_fsdp_0/__0_0.distcp"], &["FSDP", "accelerate merge-weights"]),
        (&["iter_0000010/mp_rank_00/model_optim_rng.pt"], &["Megatron"]),
        (&["model_state.pdparams"], &["Paddle"]),
        (&["checkpoint/_METADATA"], &["Orbax"]),
        (&["rust_model.ot"], &["Rust"]),
        (&["weights.npz"], &["NumPy or MLX"]),
        (&["epoch=3.ckpt"], &["PyTorch Lightning", "save_pretrained"]),
        (&["bert.zip"], &["an archive (bert.zip)", "Unpack"]),
        (&["model.safetensors.incomplete"], &["broken off", "Download"]),
        (&["model.fp16.safetensors"], &["name of their own (model.fp16.safetensors)", "Open that file"]),
        (&["best.pth"], &["name of their own (best.pth)", "Open that file"]),
        (
            &["model-00001-of-00003.safetensors"],
            &["in parts", "model.safetensors.index.json", "2 of 3 parts are missing"],
        ),
        (&["pytorch_model-00001-of-00001.bin"], &["in parts", "pytorch_model.bin.index.json"]),
        (&["optimizer.pt", "trainer_state.json", "rng_state_0.pth"], &["state of a training run", "save_model"]),
        (&["training_args.bin"], &["state of a training run"]),
        (&["open_clip_config.json", "open_clip_pytorch_model.bin"], &["a model of OpenCLIP", "beside which"]),
        (&["ckpt.pt"], &["a checkpoint of nanoGPT (ckpt.pt)", "GPT2LMHeadModel", "save_pretrained"]),
        (&["model.pt", "dict.en.txt"], &["a checkpoint of fairseq", "Convert"]),
        (&["checkpoint_best.pt"], &["a checkpoint of fairseq"]),
        (&["model_step_5000.pt"], &["a checkpoint of OpenNMT"]),
        (&["model.bin", "shared_vocabulary.json"], &["a model of CTranslate2", "PyTorch"]),
        (&["model.weights.h5", "task.json"], &["a model of Keras", "export_to_transformers"]),
        (&["cnn.keras"], &["a model of Keras"]),
        (&["sae_weights.safetensors"], &["a sparse autoencoder", "activations", "Features of a dictionary"]),
        (&["0_StaticEmbedding/model.safetensors"], &["static vectors", "no attention"]),
        (&["README.md"], &["no weights, neither model.safetensors", "download may be incomplete"]),
        (&["tf_model.h5", "model.onnx", "best.ggml"], &["llama.cpp in an older format or as a program (best.ggml)"]),
    ];
    for &(files, parts) in cases {
        let folder = folder(files);
        assert_says(open(folder.path()), parts);
        // The sentence is as good for who points at the file itself, where it is not a weights file.
        let file = folder.path().join(files[0]);
        if let Err(error @ LoadError::OtherKind { .. }) = ModelFiles::open(&file) {
            let said = error.to_string();
            assert!(said.starts_with("this file does not hold weights that can be read"), "{said}");
        }
    }
}

#[test]
fn a_model_further_down_is_named() {
    let cases: &[(&[&str], &[&str])] = &[
        (&["checkpoint-500"], &["further down, in checkpoint-500"]),
        (&["checkpoint-9", "checkpoint-500"], &["in checkpoint-500, checkpoint-9", "checkpoint-500: "]),
        (&["0_Transformer"], &["further down, in 0_Transformer"]),
        (&["snapshots/abc"], &["further down, in snapshots/abc"]),
        (&["models--a--b/snapshots/abc"], &["further down, in models--a--b/snapshots/abc"]),
        (&["a", "b", "c", "d", "e"], &["in a, b, c and 2 more"]),
    ];
    for &(places, parts) in cases {
        let root = tempfile::tempdir().unwrap();
        for place in places {
            let inner = root.path().join(place);
            fs::create_dir_all(&inner).unwrap();
            fs::copy(fixture("bert").join("config.json"), inner.join("config.json")).unwrap();
            fs::write(inner.join("model.safetensors"), weights()).unwrap();
        }
        assert_says(open(root.path()), parts);
    }
    let alone = tempfile::tempdir().unwrap();
    fs::write(alone.path().join("model.safetensors"), weights()).unwrap();
    assert_says(open(alone.path()), &["model.safetensors is a weights file, but no config.json"]);
}

/// Weights of other programs that lie alone are told by the names of their tensors, in a folder and as a file.
#[test]
fn lone_weights_of_other_programs_say_whose_they_are() {
    let zeros = [0; 4];
    for (tensor, parts) in [
        ("blocks.0.attn.W_Q", ["TransformerLens", "run_with_cache"]),
        ("visual.conv1.weight", ["CLIP", "docs/captures.md"]),
        ("encoder.sentence_encoder.layers.0.fc1.weight", ["fairseq", "docs/captures.md"]),
        ("blocks.0.attn.qkv.weight", ["timm", "docs/captures.md"]),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let view = safetensors::tensor::TensorView::new(safetensors::Dtype::F32, vec![1], &zeros).unwrap();
        let path = folder.path().join("weights.safetensors");
        fs::write(&path, safetensors::serialize([(tensor, view)], None).unwrap()).unwrap();
        for place in [folder.path(), &path] {
            let refusal = refused(&place.display().to_string());
            assert!(parts.iter().all(|part| refusal.contains(part)), "{refusal}");
            assert!(!refusal.contains("config.json"), "{refusal}");
        }
    }
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("ckpt.pt"), weights()).unwrap();
    for place in [folder.path().to_owned(), folder.path().join("ckpt.pt")] {
        let refusal = refused(&place.display().to_string());
        assert!(refusal.contains("nanoGPT") && !refusal.contains("put config.json"), "{refusal}");
    }
}

/// As in transformers the best format is read, whatever lies beside it.
#[test]
fn a_folder_with_three_kinds_of_weights_opens() {
    let folder = folder(&["tf_model.h5", "onnx/model.onnx", "consolidated.safetensors"]);
    fs::write(folder.path().join("model.safetensors"), weights()).unwrap();
    assert_same("bert", folder.path());
}

#[test]
fn an_unknown_family_says_what_to_do_and_names_only_those_like_it() {
    for (model_type, near) in
        [("mamba", None), ("qwen4_exp", Some("qwen3")), ("gemma9_text", Some("gemma")), ("rwkv", None)]
    {
        let error = Changed::new("gpt2", |config| {
            config.insert("model_type".to_owned(), json!(model_type));
        })
        .refusal();
        let (summary, details) = (error.to_string(), error.details());
        assert!(summary.contains(model_type) && !summary.contains("gpt2"), "{summary}");
        assert!(details.contains("docs/captures.md") && details.contains("`attnscope models`"), "{details}");
        assert_eq!(near.is_some(), details.contains("among them"), "{details}");
        assert!(near.is_none_or(|near| details.contains(near)), "{details}");
        assert!(!details.contains("gpt_neox") && details.chars().count() < 400, "{details}");
    }
}

#[test]
fn a_configuration_without_a_type_says_which_one_is_missing() {
    for (name, class, model_type) in [
        ("families/llama", "LlamaForCausalLM", "llama"),
        ("families/deberta-v2", "DebertaV2ForMaskedLM", "deberta-v2"),
        ("families/gpt_neox", "GPTNeoXForCausalLM", "gpt_neox"),
        ("families/gemma3", "Gemma3ForCausalLM", "gemma3_text"),
        ("families/marian", "MarianMTModel", "marian"),
    ] {
        let error = Changed::new(name, |config| {
            config.remove("model_type");
            config.insert("architectures".to_owned(), json!([class]));
        })
        .refusal();
        let said = format!("{error}. {}", error.details());
        assert!(said.contains(class) && said.contains(&format!("\"model_type\": \"{model_type}\"")), "{said}");
    }
    // A configuration of timm has another key for it.
    let timm = Changed::new("vit", |config| {
        config.retain(|key, _| key == "num_labels");
        config.insert("architecture".to_owned(), json!("vit_tiny_patch16_224"));
        config.insert("pretrained_cfg".to_owned(), json!({}));
    })
    .refusal();
    let said = format!("{timm}. {}", timm.details());
    assert!(said.contains("config.json describes a model of timm (vit_tiny_patch16_224)"), "{said}");
    assert!(said.contains("those of a model of transformers: patch_embed.proj.weight"), "{said}");
    assert!(!said.contains("not valid"), "{said}");
}

/// Python writes numbers that JSON does not have; they stop nobody who does not read them.
#[test]
fn numbers_of_python_stop_only_whoever_reads_them() {
    let open = |key: &str| {
        let changed = Changed::new("gpt2", |config| {
            config.insert(key.to_owned(), json!("@"));
        });
        let path = changed.path().join("config.json");
        fs::write(&path, fs::read_to_string(&path).unwrap().replace("\"@\"", "NaN")).unwrap();
        changed.open()
    };
    let audit = open("notes").unwrap();
    assert_eq!(audit.unknown_keys, [("notes".to_owned(), "\"NaN\"".to_owned())]);
    let error = open("layer_norm_epsilon").unwrap_err().to_string();
    assert!(error.contains("layer_norm_epsilon is \"NaN\""), "{error}");
}

/// `rope_scaling` speaks alone where both sections are there, as in transformers, and that is told.
#[test]
fn an_older_section_of_rotary_embeddings_goes_first() {
    let name = "families/llama";
    let with = |both: bool| {
        Changed::new(name, |config| {
            config.remove("rope_parameters");
            config.insert("rope_scaling".to_owned(), json!({ "rope_type": "linear", "factor": 4.0 }));
            if both {
                let newer = json!({ "rope_type": "linear", "factor": 2.0, "rope_theta": 50.0 });
                config.insert("rope_parameters".to_owned(), newer);
            }
        })
    };
    let (alone, both) = (with(false).model().unwrap(), with(true).model().unwrap());
    assert_eq!(behaviour(&alone, name), behaviour(&both, name));
    let warning = both.audit().warnings.concat();
    assert!(warning.contains("rope_parameters is not obeyed"), "{warning}");
    assert!(!alone.audit().warnings.concat().contains("not obeyed"));
}

fn refused(path: &str) -> String {
    match locate::model(path) {
        Ok((files, _)) => open(Path::new(&files.location())).map(drop).map_err(|error| said(&error)).unwrap_err(),
        Err(error) => said(&error),
    }
}

fn said(error: &LoadError) -> String {
    format!("{error}. {}", error.details())
}

#[test]
fn paths_of_every_kind_get_one_sentence() {
    let root = tempfile::tempdir().unwrap();
    let place = |name: &str| root.path().join(name).display().to_string();
    let long = format!("{}/{}", root.path().display(), "x".repeat(4096));
    let said = refused(&long);
    assert!(said.contains("letters is too long") && said.chars().count() < 500, "{said}");
    let said = refused(&"a/".repeat(3000));
    assert!(said.chars().count() < 500 && !said.contains('\n'), "{said}");
    assert!(refused(&place("line\nbreak")).starts_with("there is nothing at this path"));
    assert!(refused("~/no/such/model").starts_with("there is nothing at this path"));
    assert!(refused("").starts_with("there is nothing at this path"));
    assert!(refused("a\0b").starts_with("there is nothing at this path"));
    // A path is nothing that could be downloaded, and a name is.
    let advice = |name: &str| locate::model(name).unwrap_err().details();
    let nowhere = place("nowhere");
    assert!(advice(&nowhere).starts_with("No such folder or file exists; ") && advice(&nowhere).ends_with(&nowhere));
    assert!(!advice(&nowhere).contains("download") && !advice("./nowhere").contains("download"));
    assert!(advice("nobody/nothing").ends_with("or download nobody/nothing"), "{}", advice("nobody/nothing"));
    // A model whose folder has a name that only a shell would mind opens.
    for name in ["with spaces", "tab\tand\nline", "~", "ü – 模型", "-rf", "a:b"] {
        let folder = root.path().join(name);
        fs::create_dir(&folder).unwrap();
        for file in ["config.json", "model.safetensors", "tokenizer.json"] {
            fs::copy(fixture("bert").join(file), folder.join(file)).unwrap();
        }
        let (files, _) = locate::model(&folder.display().to_string()).unwrap();
        assert_same("bert", Path::new(&files.location()));
    }
}

#[cfg(unix)]
#[test]
fn what_is_no_file_is_told_and_never_waited_for() {
    use std::os::unix::fs::symlink;

    let root = tempfile::tempdir().unwrap();
    let pipe = |name: &str| {
        let path = root.path().join(name);
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        path
    };
    let place = |name: &str| root.path().join(name).display().to_string();
    pipe("pipe.safetensors");
    assert!(refused(&place("pipe.safetensors")).starts_with("this is a pipe or a device"));
    assert!(refused("/dev/zero").starts_with("this is a pipe or a device"));
    symlink(place("gone"), place("link")).unwrap();
    assert!(refused(&place("link")).starts_with("this is a link to a place that is gone"));
    for name in ["config.json", "model.safetensors"] {
        let folder = folder(&["model.safetensors"]);
        let path = folder.path().join(name);
        fs::remove_file(&path).unwrap();
        symlink("/no/such/blob", &path).unwrap();
        assert_says(open(folder.path()), &[name, "cannot be read", "a link to nothing", "download the model again"]);
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        assert_says(open(folder.path()), &[name, "cannot be read", "it is a folder"]);
    }
}
