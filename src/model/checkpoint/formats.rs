//! Formats of weights: those that are read, and those of other programs.

use crate::{json_file, model::LoadError};

/// A format: its single file, and the index of its shards.
pub(super) type Format = (&'static str, &'static str);

/// What Hugging Face libraries write, the best first.
pub(super) const FORMATS: [Format; 2] =
    [("model.safetensors", "model.safetensors.index.json"), ("pytorch_model.bin", "pytorch_model.bin.index.json")];
/// What a model of OpenCLIP is called where others have their `model_type`, and its configuration.
pub(crate) const OPEN_CLIP: &str = "open_clip";
pub(super) const OPEN_CLIP_CONFIG: &str = "open_clip_config.json";
/// What OpenCLIP writes, the best first; it knows no shards.
pub(super) const OPEN_CLIP_FORMATS: [Format; 2] = [
    ("open_clip_model.safetensors", "open_clip_model.safetensors.index.json"),
    ("open_clip_pytorch_model.bin", "open_clip_pytorch_model.bin.index.json"),
];
/// What weights files are called, the last two by people who save them themselves.
pub(super) const WEIGHTS_EXTENSIONS: [&str; 4] = ["safetensors", "bin", "pt", "pth"];

/// What GGUF files are called, llama.cpp's, which are whole models.
pub(super) const GGUF_EXTENSION: &str = "gguf";

/// Whether a file, by its name in small letters, is such a model or the first part of one, and not its part for pictures.
pub(super) fn is_gguf_model(name: &str) -> bool {
    let is_later = name.strip_suffix(".gguf").and_then(|stem| stem.rsplit_once("-of-")).is_some_and(|(before, n)| {
        let is_number = |text: &str| text.len() == 5 && text.bytes().all(|byte| byte.is_ascii_digit());
        let nth = before.rsplit_once('-').map_or("", |(_, nth)| nth);
        is_number(n) && is_number(nth) && nth != "00001"
    });
    ends(name, &[".gguf"]) && !file_name(name).starts_with("mmproj") && !is_later
}

/// How an adapter becomes a part of its model.
pub(super) const MERGE: &str =
    "`PeftModel.from_pretrained(model, ADAPTER).merge_and_unload().save_pretrained(NEW_FOLDER)` in Python";

/// For models that transformers has, too.
pub(super) const RECORD: &str = "Open the same model in the format of transformers, or record its attention in Python and open the \
                                 recording, as docs/captures.md shows";

/// Adapters that only put vectors in front of a text, as PEFT calls them in its configuration and `refuse.rs` by their
/// weights.
const SOFT: [&str; 8] = [
    "PROMPT_TUNING",
    "MULTITASK_PROMPT_TUNING",
    "P_TUNING",
    "PREFIX_TUNING",
    "ADAPTION_PROMPT",
    "CPT",
    "soft prompt",
    "prefix",
];

/// How the model is opened that an adapter of this kind belongs to.
pub(super) fn way_of_adapter(kind: &str) -> String {
    if SOFT.contains(&kind) {
        return "It cannot be merged, as it puts vectors of its own in front of a text. Open the model without it, or record the \
                attention of both in Python and open the recording, as docs/captures.md shows"
            .to_owned();
    }
    format!("Merge it into its model first, {MERGE}")
}

/// What weights are not that can be read.
pub(super) struct UnreadableFormat {
    /// Whether a path in a folder, in small letters, belongs to it.
    pub is: fn(&str) -> bool,
    /// To follow “only ”.
    pub what: &'static str,
    pub advice: &'static str,
}

const FROM_PYTORCH: &str = "Open the PyTorch model that it was made from: of this one no attention can be recorded";
const DOWNLOAD: &str = "Download the same model in the format of transformers";

/// The first that fits is told.
pub(super) const KINDS: [UnreadableFormat; 27] = [
    UnreadableFormat {
        is: |path| file_name(path).starts_with("open_clip_"),
        what: "a model of OpenCLIP",
        advice: "Open the file of its weights, open_clip_model.safetensors or open_clip_pytorch_model.bin, beside which \
                 open_clip_config.json has to lie",
    },
    UnreadableFormat {
        is: |path| path == "ckpt.pt",
        what: "a checkpoint of nanoGPT",
        advice: "In Python make a GPT2LMHeadModel of transformers of its model_args, with activation_function=\"gelu\"; give it \
                 the weights without “_orig_mod.”, those of c_attn, c_proj and c_fc transposed and missing biases as zeros; \
                 then `model.save_pretrained(FOLDER)`",
    },
    UnreadableFormat {
        is: |path| {
            let is_dictionary = path.starts_with("dict.") && path.strip_suffix(".txt").is_some();
            is_dictionary || ["checkpoint_best.pt", "checkpoint_last.pt"].contains(&path)
        },
        what: "a checkpoint of fairseq",
        advice: "Convert it with the script of its architecture in transformers, \
                 convert_ARCHITECTURE_original_pytorch_checkpoint_to_pytorch.py, or record its attention in Python and open \
                 the recording, as docs/captures.md shows",
    },
    UnreadableFormat {
        is: |path| path.contains("_step_") && path.strip_suffix(".pt").is_some(),
        what: "a checkpoint of OpenNMT",
        advice: RECORD,
    },
    UnreadableFormat {
        is: |path| ends(path, &["shared_vocabulary.json", "shared_vocabulary.txt"]),
        what: "a model of CTranslate2",
        advice: FROM_PYTORCH,
    },
    UnreadableFormat {
        is: |path| ends(path, &[".keras", "model.weights.h5"]),
        what: "a model of Keras",
        advice: "Write it in the format of transformers, `model.export_to_transformers(FOLDER)` where KerasHub has that, or \
                 open the model that it was made from",
    },
    UnreadableFormat {
        is: |path| file_name(path) == "sae_weights.safetensors",
        what: "a sparse autoencoder",
        advice: "Open the model whose activations it is of, and choose this folder in Explain, Features of a dictionary",
    },
    UnreadableFormat {
        is: |path| path.contains("staticembedding/"),
        what: "a table of static vectors of sentence-transformers",
        advice: "It has no attention; open a sentence-transformer that has a transformer",
    },
    UnreadableFormat {
        is: |path| ends(path, &[".gguf"]),
        what: "models in GGUF files",
        advice: "Open one of the files",
    },
    UnreadableFormat {
        is: |path| ends(path, &[".ggml", ".llamafile"]),
        what: "weights for llama.cpp in an older format or as a program",
        advice: "Open the same model as a GGUF file, or the model that they were made from",
    },
    UnreadableFormat {
        is: |path| file_name(path).starts_with("consolidated") && ends(path, &[".pth", ".pt", ".safetensors"]),
        what: "weights in the original format of LLaMA or Mistral",
        advice: "Download the same model in the format of transformers, or convert it with its script \
                 convert_llama_weights_to_hf.py or convert_mistral_weights_to_hf.py",
    },
    UnreadableFormat {
        is: |path| ends(path, &[".onnx", ".onnx_data", ".ort"]),
        what: "a graph for ONNX Runtime",
        advice: FROM_PYTORCH,
    },
    UnreadableFormat { is: |path| path.contains("openvino"), what: "a graph for OpenVINO", advice: FROM_PYTORCH },
    UnreadableFormat {
        is: |path| path.contains(".mlpackage") || path.contains(".mlmodel"),
        what: "a graph for Core ML",
        advice: FROM_PYTORCH,
    },
    UnreadableFormat {
        is: |path| {
            ends(path, &[".tflite", ".engine", ".plan", ".trt", ".pte", ".mnn", ".dlc", ".task", ".mar", ".pt2"])
        },
        what: "a model compiled for another program",
        advice: FROM_PYTORCH,
    },
    UnreadableFormat {
        is: |path| {
            path.contains(".ckpt.data-")
                || ends(path, &[".h5", ".keras", "saved_model.pb", ".ckpt.index", ".ckpt.meta"])
        },
        what: "weights for TensorFlow",
        advice: "Convert them with version 4 of transformers, \
                 `AutoModel.from_pretrained(FOLDER, from_tf=True).save_pretrained(NEW_FOLDER)`",
    },
    UnreadableFormat {
        is: |path| ends(path, &[".msgpack"]),
        what: "weights for Flax",
        advice: "Convert them with version 4 of transformers, \
                 `AutoModel.from_pretrained(FOLDER, from_flax=True).save_pretrained(NEW_FOLDER)`",
    },
    UnreadableFormat {
        is: |path| {
            let parts = ["mp_rank_", "zero_pp_rank_", "bf16_zero_pp_rank_", "fp16_zero_pp_rank_"];
            ends(path, &["_states.pt"]) && parts.iter().any(|part| file_name(path).starts_with(part))
        },
        what: "a checkpoint of DeepSpeed in parts",
        advice: "Put it together, `python zero_to_fp32.py FOLDER NEW_FOLDER --safe_serialization`, and put the model's \
                 config.json beside it",
    },
    UnreadableFormat {
        is: |path| ends(path, &[".distcp"]),
        what: "a checkpoint of FSDP in parts",
        advice: "Put it together, `accelerate merge-weights FOLDER NEW_FOLDER`, and put the model's config.json beside it",
    },
    UnreadableFormat {
        is: |path| ends(path, &["model_optim_rng.pt", "latest_checkpointed_iteration.txt", ".nemo"]),
        what: "a checkpoint of Megatron or NeMo",
        advice: "Export it to the format of transformers, as Megatron Bridge and NeMo do",
    },
    UnreadableFormat {
        is: |path| ends(path, &[".pdparams", ".pdiparams", ".mindir"]),
        what: "weights for Paddle or MindSpore",
        advice: DOWNLOAD,
    },
    UnreadableFormat {
        is: |path| path.contains("ocdbt.process_") || ends(path, &["_checkpoint_metadata", "checkpoint/_metadata"]),
        what: "a checkpoint of JAX (Orbax)",
        advice: DOWNLOAD,
    },
    UnreadableFormat { is: |path| ends(path, &[".ot"]), what: "weights for Rust (tch)", advice: DOWNLOAD },
    UnreadableFormat { is: |path| ends(path, &[".npz", ".npy"]), what: "arrays of NumPy or MLX", advice: DOWNLOAD },
    UnreadableFormat {
        is: |path| ends(path, &[".ckpt"]),
        what: "a checkpoint of PyTorch Lightning or another trainer",
        advice: "Load it with its own class in Python, and save the model in it, `model.save_pretrained(FOLDER)`",
    },
    UnreadableFormat {
        is: |path| ends(path, &[".zip", ".tar", ".gz", ".tgz", ".7z", ".rar", ".xz", ".bz2", ".zst"]),
        what: "an archive",
        advice: "Unpack it, and open the folder that comes out",
    },
    UnreadableFormat {
        is: |path| ends(path, &[".incomplete", ".part", ".crdownload", ".aria2", ".download"]),
        what: "a download that was broken off",
        advice: "Download the model again",
    },
];

/// What trainers write beside a model; the state of a random generator has a number.
pub(super) const TRAINING: UnreadableFormat = UnreadableFormat {
    is: |path| {
        let names = ["optimizer.", "scheduler.", "scaler.", "trainer_state.json", "training_args.bin", "rng_state"];
        [&names[..], &["random_states_"]].concat().iter().any(|name| file_name(path).starts_with(name))
    },
    what: "the state of a training run",
    advice: "Save the model itself, `trainer.save_model(FOLDER)`, or open a folder in which it was saved",
};

/// A configuration of OpenCLIP, with what others call the `model_type`.
pub(super) fn with_type(bytes: Vec<u8>) -> Vec<u8> {
    match json_file::of_python(&bytes) {
        Ok(serde_json::Value::Object(mut values)) => {
            values.entry("model_type").or_insert_with(|| OPEN_CLIP.into());
            serde_json::Value::Object(values).to_string().into_bytes()
        }
        _ => bytes,
    }
}

/// Why weights without a configuration do not open; `tensors` are the names in the file.
pub(super) fn lone_weights(file: String, tensors: &[String], path: String) -> LoadError {
    let name = file.to_lowercase();
    let by_file = || KINDS.iter().find(|kind| (kind.is)(&name)).map(|kind| (kind.what, kind.advice));
    let by_tensor = || {
        let is_in = |part: &str| tensors.iter().any(|tensor| tensor.contains(part));
        TENSORS.iter().find(|(part, ..)| is_in(part)).map(|(_, what, advice)| (*what, *advice))
    };
    match by_file().or_else(by_tensor) {
        Some((what, advice)) => {
            let what = format!("{file} holds no weights that can be read, but {what}");
            LoadError::OtherKind { what, advice: advice.to_owned(), path }
        }
        None => LoadError::LoneWeights { file, path },
    }
}

/// Whose tensors of these names are, where they are of one program alone, and what to do.
pub(super) fn whose(names: &[&str]) -> Option<(&'static str, &'static str)> {
    let has = |part: &str| names.iter().any(|name| name.contains(part));
    let of_others = TENSORS.iter().find(|(part, ..)| has(part)).map(|(_, what, advice)| (*what, *advice));
    let of_transformers = || {
        let parts = ["embeddings.patch_embeddings.", "embeddings.patch_embedding.", "embeddings.word_embeddings."];
        parts.iter().any(|part| has(part)).then_some((
            "a model of transformers",
            "Put its own config.json beside it, whose model_type says what it is",
        ))
    };
    of_others.or_else(of_transformers)
}

/// Parts of names that tensors have in one program alone.
const TENSORS: [(&str, &str, &str); 6] = [
    (
        ".attn.W_Q",
        "weights of TransformerLens",
        "Open the model that they were made from, or record in Python, `attnscope.save(FILE, cache, tokens)` with the cache of \
         `model.run_with_cache(tokens)`, and open the recording",
    ),
    ("visual.trunk.", "a model of OpenCLIP around one of timm", RECORD),
    ("visual.conv1.weight", "a model of OpenAI’s CLIP or OpenCLIP", RECORD),
    ("conv_stem.weight", "a convolutional network", "It has no attention that could be shown"),
    ("sentence_encoder.layers.", "a model of fairseq", RECORD),
    ("blocks.0.attn.qkv.weight", "a model of timm", RECORD),
];

/// Why a file is not a model.
pub(super) fn not_weights(name: &str, path: String) -> LoadError {
    match KINDS.iter().find(|kind| (kind.is)(&name.to_lowercase())) {
        Some(UnreadableFormat { what, advice, .. }) => {
            let what = format!("this file does not hold weights that can be read, but {what}");
            LoadError::OtherKind { what, advice: (*advice).to_owned(), path }
        }
        None => LoadError::NotAModel { path },
    }
}

fn ends(path: &str, endings: &[&str]) -> bool {
    endings.iter().any(|ending| path.ends_with(ending))
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
