//! Settings remembered between runs. They have no version: every field has a default, unknown fields are ignored, and
//! an unknown value, such as a choice of a later version, falls back to its default.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::lenient;
use crate::{figure::ViewOptions, protocol::ModelSource};

/// Everything remembered between runs.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// Light, dark, or as the system says.
    pub appearance: Appearance,
    /// Models opened before, newest first, at most [`Settings::MAX_RECENT`].
    pub recent_models: Vec<ModelSource>,
    /// Session files opened or saved before, newest first, at most [`Settings::MAX_RECENT`].
    pub recent_sessions: Vec<PathBuf>,
    /// Files and folders opened as a corpus before, newest first, at most [`Settings::MAX_RECENT`].
    pub recent_corpora: Vec<PathBuf>,
    /// Models of session files that the user found elsewhere, newest first, at most [`Settings::MAX_MOVED`].
    pub moved_models: Vec<MovedModel>,
    pub views: ViewOptions,
    pub writing: super::WritingOptions,
    pub figures: super::FigureOptions,
    pub first_steps: super::FirstSteps,
    /// Whether all options of a view are shown, or those alone that were changed.
    pub options_unfolded: bool,
}

impl Settings {
    /// How many recent models, sessions and corpora are kept.
    pub const MAX_RECENT: usize = 8;
    /// How many models that have moved are kept.
    pub const MAX_MOVED: usize = 32;

    /// From what [`Self::write`] wrote, perhaps in another version: whatever is not understood keeps its
    /// default, and everything else is taken.
    pub fn read(text: &str) -> Self {
        lenient::read(&serde_json::from_str(text).unwrap_or_default())
    }

    /// As a text to remember. A model in a place whose name is no text is forgotten.
    pub fn write(&self) -> String {
        let mut written = self.clone();
        written.recent_models.retain(|model| serde_json::to_value(model).is_ok());
        written.recent_sessions.retain(|path| path.to_str().is_some());
        written.recent_corpora.retain(|path| path.to_str().is_some());
        written.moved_models.retain(|moved| serde_json::to_value(moved).is_ok());
        serde_json::to_string(&written).unwrap_or_default()
    }

    pub(super) fn remember_model(&mut self, source: &ModelSource) {
        self.recent_models.retain(|known| known != source);
        self.recent_models.insert(0, source.clone());
        self.recent_models.truncate(Self::MAX_RECENT);
    }

    pub(super) fn remember_session(&mut self, path: &Path) {
        remember_path(&mut self.recent_sessions, path);
    }

    pub(super) fn remember_corpus(&mut self, path: &Path) {
        remember_path(&mut self.recent_corpora, path);
    }

    pub(super) fn remember_moved(&mut self, moved: MovedModel) {
        self.moved_models.retain(|known| (&known.from, &known.config) != (&moved.from, &moved.config));
        self.moved_models.insert(0, moved);
        self.moved_models.truncate(Self::MAX_MOVED);
    }
}

/// Puts a path first.
fn remember_path(recent: &mut Vec<PathBuf>, path: &Path) {
    recent.retain(|known| known != path);
    recent.insert(0, path.to_owned());
    recent.truncate(Settings::MAX_RECENT);
}

/// A model that a session file names, and where it is now.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MovedModel {
    /// Where the file says it is.
    pub from: ModelSource,
    /// The checksum of its configuration.
    pub config: Option<String>,
    pub to: ModelSource,
}

/// Light or dark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Appearance {
    /// As the system says.
    #[default]
    System,
    /// Dark text on a light ground.
    Light,
    /// Light text on a dark ground.
    Dark,
}

vocabulary! {
    Appearance: name;
    Light("light"),
    Dark("dark"),
    System("system"),
}
