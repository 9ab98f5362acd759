//! References to models, pictures and files that a session names and does not hold.

use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::SavedPicture;
use crate::{model::ImageSource, protocol::ModelSource};

/// A model: `{"bundled": "demo:gpt"}`, `{"hub": "gpt2@main"}` or `{"path": "/models/mine", "config": "9f86d0…"}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelRef {
    #[serde(flatten)]
    place: ModelPlace,
    /// SHA-256 of its `config.json`, in hexadecimal digits: another one makes it another model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ModelPlace {
    Bundled(String),
    Hub(String),
    Path(String),
}

impl ModelRef {
    /// A model from `source`; `None` when its place has a name that is no text.
    pub fn new(source: &ModelSource, config: Option<String>) -> Option<Self> {
        let place = match source {
            ModelSource::Bundled(name) => ModelPlace::Bundled(name.clone()),
            ModelSource::Hub(name) => ModelPlace::Hub(name.clone()),
            // What is no whole path was no path when it was opened: a name in the cache of models.
            ModelSource::Path(path) if path.is_relative() => ModelPlace::Hub(path.to_str()?.to_owned()),
            ModelSource::Path(path) => ModelPlace::Path(path.to_str()?.to_owned()),
        };
        Some(Self { place, config })
    }

    /// Where it is.
    pub fn source(&self) -> ModelSource {
        match &self.place {
            ModelPlace::Bundled(name) => ModelSource::Bundled(name.clone()),
            ModelPlace::Hub(name) => ModelSource::Hub(name.clone()),
            ModelPlace::Path(path) => ModelSource::Path(PathBuf::from(path)),
        }
    }

    pub(super) fn settle(&mut self, folder: &Path) -> Result<(), String> {
        if let ModelPlace::Path(path) = &mut self.place {
            *path = settled(path, folder)?;
        }
        Ok(())
    }
}

/// A picture: `{"bundled": "chelsea"}`, `{"path": "/pictures/cat.jpg"}`, or `{"embedded": 0}`, by its place among the
/// pictures of the session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageRef {
    #[serde(flatten)]
    place: ImagePlace,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ImagePlace {
    Bundled(String),
    Path(String),
    Embedded(usize),
}

impl ImageRef {
    /// A picture. One that is nowhere else goes among `pictures`. `None` when there is no room for it, and for a name
    /// that is no text.
    pub fn new(source: &ImageSource, pictures: &mut Vec<SavedPicture>) -> Option<Self> {
        match source {
            ImageSource::Embedded { name, bytes } => {
                Some(Self { place: ImagePlace::Embedded(SavedPicture::place(name, bytes, pictures)?) })
            }
            elsewhere => Self::elsewhere(elsewhere),
        }
    }

    /// A picture that is somewhere else than in the session; `None` for one that is not.
    pub fn elsewhere(source: &ImageSource) -> Option<Self> {
        let place = match source {
            ImageSource::Bundled(name) => ImagePlace::Bundled(name.clone()),
            ImageSource::Path(path) => ImagePlace::Path(path.to_str()?.to_owned()),
            ImageSource::Embedded { .. } => return None,
        };
        Some(Self { place })
    }

    /// Where it is; `None` for one of the session's own that is not there.
    pub fn source(&self, pictures: &[SavedPicture]) -> Option<ImageSource> {
        Some(match &self.place {
            ImagePlace::Bundled(name) => ImageSource::Bundled(name.clone()),
            ImagePlace::Path(path) => ImageSource::Path(PathBuf::from(path)),
            ImagePlace::Embedded(nth) => pictures.get(*nth)?.source(),
        })
    }

    /// Its place among the pictures of the session, if it is there.
    pub const fn embedded(&self) -> Option<usize> {
        match self.place {
            ImagePlace::Embedded(nth) => Some(nth),
            ImagePlace::Bundled(_) | ImagePlace::Path(_) => None,
        }
    }

    pub(super) fn settle(&mut self, folder: &Path) -> Result<(), String> {
        if let ImagePlace::Path(path) = &mut self.place {
            *path = settled(path, folder)?;
        }
        Ok(())
    }
}

/// A path from a file in `folder` as a whole one. A part of one is meant from there, and may not lead out of it;
/// another machine is never asked.
pub(super) fn settled(path: &str, folder: &Path) -> Result<String, String> {
    if path.is_empty() || path.contains('\0') {
        return Err("a path is empty or holds a zero byte".to_owned());
    }
    if path.starts_with("//") || path.starts_with(r"\\") {
        return Err(format!("the path {path} leads to another machine: copy the file here and give its path"));
    }
    let given = Path::new(path);
    // Of another system: it is looked for as it is, and the user is asked where it is now.
    if given.is_absolute() || path.starts_with('/') || path.chars().nth(1) == Some(':') {
        return Ok(path.to_owned());
    }
    if given.components().any(|part| !matches!(part, Component::Normal(_) | Component::CurDir)) {
        return Err(format!("the path {path} leads out of the session’s folder: give the whole path"));
    }
    let whole = folder.join(given);
    whole
        .to_str()
        .map(str::to_owned)
        .ok_or_else(|| format!("the path of the session’s folder is not valid text: {path}"))
}

/// A path that needs no folder to be found from.
pub(in crate::session) fn whole(path: &str) -> Result<String, String> {
    let settled = settled(path, Path::new(""))?;
    if settled == path
        && !path.starts_with('.')
        && (Path::new(path).is_absolute() || path.starts_with('/') || path.chars().nth(1) == Some(':'))
    {
        return Ok(settled);
    }
    Err(format!("the path {path} is not complete: give the whole path"))
}
