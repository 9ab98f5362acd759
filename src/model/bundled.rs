//! Models and pictures inside the program.

use super::ModelFiles;

/// A checkpoint: its name and its files.
struct BundledModel {
    name: &'static str,
    files: &'static [(&'static str, &'static [u8])],
}

macro_rules! checkpoint {
    ($name:literal, $folder:literal, [$($file:literal),+ $(,)?]) => {
        BundledModel {
            name: $name,
            files: &[$(($file, include_bytes!(concat!("../../assets/models/", $folder, "/", $file)))),+],
        }
    };
}

// Not constants: every use of a constant may put the bytes into the program once more.
static MODELS: [BundledModel; 3] = [
    checkpoint!("demo:gpt", "gpt", ["config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"]),
    checkpoint!(
        "demo:translate",
        "translate",
        ["config.json", "generation_config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"]
    ),
    checkpoint!("demo:vit", "vit", ["config.json", "model.safetensors", "preprocessor_config.json"]),
];

/// Names of the models inside the program.
pub fn models() -> impl Iterator<Item = &'static str> {
    MODELS.iter().map(|model| model.name)
}

/// The files of the model called `name`, an ordinary checkpoint.
pub fn model(name: &str) -> Option<ModelFiles> {
    let model = MODELS.iter().find(|model| model.name == name)?;
    Some(ModelFiles::embedded(model.name, model.files))
}

/// A sample picture: its name and the bytes of its file.
struct Sample {
    name: &'static str,
    bytes: &'static [u8],
}

static SAMPLES: [Sample; 4] = [
    Sample { name: "astronaut.jpg", bytes: include_bytes!("../../assets/samples/astronaut.jpg") },
    Sample { name: "chelsea.jpg", bytes: include_bytes!("../../assets/samples/chelsea.jpg") },
    Sample { name: "coffee.jpg", bytes: include_bytes!("../../assets/samples/coffee.jpg") },
    Sample { name: "rocket.jpg", bytes: include_bytes!("../../assets/samples/rocket.jpg") },
];

/// Names of the sample pictures.
pub fn samples() -> impl Iterator<Item = &'static str> {
    SAMPLES.iter().map(|sample| sample.name)
}

/// The file of a sample picture, with or without its ending in `name`.
pub fn sample(name: &str) -> Option<&'static [u8]> {
    let matches = |sample: &&Sample| sample.name == name || sample.name.strip_suffix(".jpg") == Some(name);
    SAMPLES.iter().find(matches).map(|sample| sample.bytes)
}
