//! Source of a model, and facts about one that the worker holds.

use std::{path::PathBuf, sync::Arc};

use crate::{capture::PositionTables, ids::ModelId, model::audit::Audit, spec::ModelSpec};

/// Where a model comes from.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum ModelSource {
    /// A name such as `demo:gpt`.
    Bundled(String),
    /// A folder in Hugging Face layout, or a weights file inside one.
    Path(PathBuf),
    /// A hub id in the local cache, `ID` or `ID@REVISION`.
    Hub(String),
}

/// What the window knows about a model that the worker holds.
#[derive(Clone, Debug)]
pub struct LoadedModel {
    pub id: ModelId,
    pub source: ModelSource,
    /// SHA-256 of its `config.json`; `None` for one inside the program, and where there is no such file.
    pub config: Option<String>,
    pub spec: Arc<ModelSpec>,
    /// What was found in its files.
    pub audit: Audit,
    /// Its position embeddings, or why it has none.
    pub positions: Result<Arc<PositionTables>, String>,
    /// Whether it knows a token that stands for a hidden one.
    pub has_mask: bool,
    /// Tags by which its text names the target language, such as `>>deu<<`.
    pub language_tags: Vec<String>,
    /// Whether it has a chat template, and whether that asks if the model is to think first.
    pub has_chat: bool,
    pub asks_thinking: bool,
    /// How long loading took, in seconds.
    pub load_secs: f64,
}
