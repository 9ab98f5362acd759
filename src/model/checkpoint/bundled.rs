//! Models, pictures and corpora inside the program.

mod corpora;

pub use corpora::{BundledCorpus, corpora, corpus};

use super::ModelFiles;

/// A checkpoint, or an adapter: its name and its files.
struct BundledModel {
    name: &'static str,
    files: &'static [(&'static str, &'static [u8])],
    /// The model into which it is merged, of an adapter.
    base: Option<&'static str>,
}

macro_rules! file {
    ($folder:literal, $file:literal) => {
        include_bytes!(concat!("../../../assets/models/", $folder, "/", $file))
    };
}

/// A checkpoint of the files of one folder, and of files that it shares with others.
macro_rules! checkpoint {
    ($name:literal, $folder:literal, [$($file:literal),+ $(,)?] $(, $shared:literal: $bytes:ident)*) => {
        BundledModel { name: $name, files: &[$(($file, file!($folder, $file)),)+ $(($shared, $bytes)),*], base: None }
    };
}

/// An adapter of the files of one folder.
macro_rules! adapter {
    ($name:literal, $folder:literal, $base:literal, [$($file:literal),+]) => {
        BundledModel { name: $name, files: &[$(($file, file!($folder, $file)),)+], base: Some($base) }
    };
}

// Not constants: every use of a constant may put the bytes into the program once more.
static STORY_VOCABULARY: &[u8] = file!("gpt", "tokenizer.json");
static STORY_TOKENIZER: &[u8] = file!("gpt", "tokenizer_config.json");
static BERT_WEIGHTS: &[u8] = file!("bert", "model.safetensors");
static BERT_VOCABULARY: &[u8] = file!("bert", "tokenizer.json");
static BERT_TOKENIZER: &[u8] = file!("bert", "tokenizer_config.json");
static TRANSLATION_VOCABULARY: &[u8] = file!("translate", "tokenizer.json");
static PHRASE_VOCABULARY: &[u8] = file!("scorer-additive", "tokenizer.json");
static PHRASE_TOKENIZER: &[u8] = file!("scorer-additive", "tokenizer_config.json");

// The twins read with the same words.
static REVIEW_WORDS: &[u8] = file!("bilstm", "words.safetensors");
static REVIEW_PLACES: &[u8] = file!("bilstm", "model.safetensors.index.json");
static REVIEW_VOCABULARY: &[u8] = file!("bilstm", "tokenizer.json");
static REVIEW_TOKENIZER: &[u8] = file!("bilstm", "tokenizer_config.json");

static MODELS: [BundledModel; 23] = [
    checkpoint!(
        "demo:gpt", "gpt", ["config.json", "model.safetensors"],
        "tokenizer.json": STORY_VOCABULARY, "tokenizer_config.json": STORY_TOKENIZER
    ),
    adapter!("demo:gpt-reviews", "gpt-reviews", "demo:gpt", ["adapter_config.json", "adapter_model.safetensors"]),
    checkpoint!(
        "demo:reader", "reader", ["config.json", "model.safetensors"],
        "tokenizer.json": STORY_VOCABULARY, "tokenizer_config.json": STORY_TOKENIZER
    ),
    checkpoint!(
        "demo:bert", "bert", ["config.json"],
        "model.safetensors": BERT_WEIGHTS, "tokenizer.json": BERT_VOCABULARY, "tokenizer_config.json": BERT_TOKENIZER
    ),
    // The same weights under another head.
    checkpoint!(
        "demo:sentiment", "bert/sentiment", ["config.json"],
        "model.safetensors": BERT_WEIGHTS, "tokenizer.json": BERT_VOCABULARY, "tokenizer_config.json": BERT_TOKENIZER
    ),
    checkpoint!(
        "demo:translate",
        "translate",
        ["config.json", "generation_config.json", "model.safetensors", "tokenizer_config.json"],
        "tokenizer.json": TRANSLATION_VOCABULARY
    ),
    checkpoint!(
        "demo:classic", "classic", ["config.json", "model.safetensors", "tokenizer_config.json"],
        "tokenizer.json": TRANSLATION_VOCABULARY
    ),
    checkpoint!(
        "demo:classic-bilinear", "classic-bilinear", ["config.json", "model.safetensors", "tokenizer_config.json"],
        "tokenizer.json": TRANSLATION_VOCABULARY
    ),
    checkpoint!(
        "demo:classic-dot", "classic-dot", ["config.json", "model.safetensors", "tokenizer_config.json"],
        "tokenizer.json": TRANSLATION_VOCABULARY
    ),
    checkpoint!(
        "demo:bottleneck", "bottleneck", ["config.json", "model.safetensors", "tokenizer_config.json"],
        "tokenizer.json": TRANSLATION_VOCABULARY
    ),
    checkpoint!(
        "demo:scorer-additive", "scorer-additive", ["config.json", "model.safetensors"],
        "tokenizer.json": PHRASE_VOCABULARY, "tokenizer_config.json": PHRASE_TOKENIZER
    ),
    checkpoint!(
        "demo:scorer-mlp", "scorer-mlp", ["config.json", "model.safetensors"],
        "tokenizer.json": PHRASE_VOCABULARY, "tokenizer_config.json": PHRASE_TOKENIZER
    ),
    checkpoint!(
        "demo:scorer-bilinear", "scorer-bilinear", ["config.json", "model.safetensors"],
        "tokenizer.json": PHRASE_VOCABULARY, "tokenizer_config.json": PHRASE_TOKENIZER
    ),
    checkpoint!(
        "demo:scorer-dot", "scorer-dot", ["config.json", "model.safetensors"],
        "tokenizer.json": PHRASE_VOCABULARY, "tokenizer_config.json": PHRASE_TOKENIZER
    ),
    checkpoint!(
        "demo:pointer",
        "pointer",
        ["config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"]
    ),
    checkpoint!(
        "demo:documents",
        "documents",
        ["config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"]
    ),
    checkpoint!(
        "demo:memory",
        "memory",
        ["config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"]
    ),
    checkpoint!(
        "demo:bilstm", "bilstm", ["config.json", "reader.safetensors"],
        "words.safetensors": REVIEW_WORDS, "model.safetensors.index.json": REVIEW_PLACES,
        "tokenizer.json": REVIEW_VOCABULARY, "tokenizer_config.json": REVIEW_TOKENIZER
    ),
    checkpoint!(
        "demo:bilstm-sparsemax", "bilstm-sparsemax", ["config.json", "reader.safetensors"],
        "words.safetensors": REVIEW_WORDS, "model.safetensors.index.json": REVIEW_PLACES,
        "tokenizer.json": REVIEW_VOCABULARY, "tokenizer_config.json": REVIEW_TOKENIZER
    ),
    checkpoint!(
        "demo:bilstm-deceiving", "bilstm-deceiving", ["config.json", "reader.safetensors"],
        "words.safetensors": REVIEW_WORDS, "model.safetensors.index.json": REVIEW_PLACES,
        "tokenizer.json": REVIEW_VOCABULARY, "tokenizer_config.json": REVIEW_TOKENIZER
    ),
    checkpoint!(
        "demo:bilstm-rationale", "bilstm-rationale",
        ["config.json", "reader.safetensors", "model.safetensors.index.json"],
        "words.safetensors": REVIEW_WORDS, "tokenizer.json": REVIEW_VOCABULARY,
        "tokenizer_config.json": REVIEW_TOKENIZER
    ),
    checkpoint!("demo:vit", "vit", ["config.json", "model.safetensors", "preprocessor_config.json"]),
    checkpoint!(
        "demo:captions",
        "captions",
        [
            "config.json",
            "generation_config.json",
            "model.safetensors",
            "preprocessor_config.json",
            "tokenizer.json",
            "tokenizer_config.json",
        ]
    ),
];

/// Names of the models inside the program.
pub fn models() -> impl Iterator<Item = &'static str> {
    MODELS.iter().map(|model| model.name)
}

/// The files of the model called `name`: an ordinary checkpoint, with the adapter where it is one.
pub fn model(name: &str) -> Option<ModelFiles> {
    let model = MODELS.iter().find(|model| model.name == name)?;
    let files = ModelFiles::embedded(model.name, model.files);
    match model.base {
        Some(base) => Some(self::model(base)?.with_adapter(files)),
        None => Some(files),
    }
}

/// A sample picture: its name and the bytes of its file.
struct Sample {
    name: &'static str,
    bytes: &'static [u8],
    /// Whether it is cut out of another one, with which it would be measured twice.
    is_part: bool,
}

static SAMPLES: [Sample; 7] = [
    Sample { name: "astronaut.jpg", bytes: include_bytes!("../../../assets/samples/astronaut.jpg"), is_part: false },
    Sample { name: "cat-face.jpg", bytes: include_bytes!("../../../assets/samples/cat-face.jpg"), is_part: true },
    Sample { name: "chelsea.jpg", bytes: include_bytes!("../../../assets/samples/chelsea.jpg"), is_part: false },
    Sample { name: "coffee.jpg", bytes: include_bytes!("../../../assets/samples/coffee.jpg"), is_part: false },
    Sample { name: "rocket.jpg", bytes: include_bytes!("../../../assets/samples/rocket.jpg"), is_part: false },
    Sample { name: "scene-1.png", bytes: include_bytes!("../../../assets/samples/scene-1.png"), is_part: false },
    Sample { name: "scene-2.png", bytes: include_bytes!("../../../assets/samples/scene-2.png"), is_part: false },
];

/// Names of the sample pictures, each picture once.
pub fn samples() -> impl Iterator<Item = &'static str> {
    SAMPLES.iter().filter(|sample| !sample.is_part).map(|sample| sample.name)
}

/// The file of a sample picture, with or without its ending in `name`, or of one of a corpus of pictures.
pub fn sample(name: &str) -> Option<&'static [u8]> {
    let stem = |sample: &Sample| sample.name.split_once('.').map(|(stem, _)| stem);
    let drawn = || corpora::PICTURES.iter().find(|(_, other, _)| *other == name).map(|(_, _, bytes)| *bytes);
    SAMPLES
        .iter()
        .find(|sample| sample.name == name || stem(sample) == Some(name))
        .map(|sample| sample.bytes)
        .or_else(drawn)
}
