//! What lies beside a model and is read with it: adapters, and templates of conversations.

use std::{
    fs,
    path::{Path, PathBuf},
    time::UNIX_EPOCH,
};

use attnscope::model::{Chat, Model, ModelFiles, Preparation, TextInput, uninterrupted};

use super::{
    corpus::{Seed, Shape, all},
    targets::engine,
};

/// Models that the adapters of the fixtures are of.
const BASES: [&str; 3] = ["gpt2", "families/llama", "bert-classifier"];

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

pub fn adapters() -> Vec<Seed> {
    let mut seeds = all("tests/fixtures/adapters", "adapter_model.safetensors", Shape::Safetensors);
    seeds.extend(all("tests/fixtures/adapters", "adapter_config.json", Shape::Json));
    seeds
}

/// Merges an adapter into the first model that it fits.
pub fn adapter(path: &Path) -> Result<(), String> {
    let mut said = String::new();
    for base in BASES {
        let folder = ModelFiles::folder(path.parent().unwrap_or(path));
        let opened = ModelFiles::open(&fixture(base)).map(|files| files.with_adapter(folder));
        match opened.and_then(|files| Model::load(&files, "damaged", engine(), &uninterrupted)) {
            Ok(_) => return Ok(()),
            Err(error) => said = error.to_string(),
        }
    }
    Err(said)
}

/// The templates of the fixture, each in a folder with a vocabulary.
pub fn templates() -> Vec<Seed> {
    let bytes = fs::read(fixture("chat/templates.json")).unwrap_or_default();
    let written: serde_json::Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let templates = written["templates"].as_object().into_iter().flatten();
    let seed = |(_, template): (&String, &serde_json::Value)| Seed {
        folder: fixture("gpt2"),
        name: "chat_template.jinja".to_owned(),
        bytes: template.as_str().unwrap_or_default().as_bytes().to_vec(),
        shape: Shape::Bytes,
    };
    templates.map(seed).collect()
}

/// Writes a conversation with a template.
pub fn template(path: &Path) -> Result<(), String> {
    let files = ModelFiles::folder(path.parent().unwrap_or(path));
    let encoder = Model::tokenizer(&files).map_err(|error| error.to_string())?;
    for system in [None, Some("You answer in one sentence.".to_owned())] {
        for thinking in [None, Some(true), Some(false)] {
            let how = Preparation { chat: Some(Chat { thinking, no_prompt: false }), ..Preparation::default() };
            let input =
                TextInput { text: "Why is\n  it?".to_owned(), system: system.clone(), how, ..TextInput::default() };
            let conversation = encoder.conversation(&input, UNIX_EPOCH).map_err(|error| error.to_string())?;
            conversation.ok_or("there is no template")??;
        }
    }
    Ok(())
}
