//! A session as a plain value that can be written down: what is looked at and how, with references to models, pictures,
//! captures and corpora, and none of their numbers. Pictures that are in no file are in it.
//!
//! - [`parts`]: what stands in a session file;
//! - [`changes`]: changes of a run as JSON;
//! - [`picture`]: pictures that are in no other file;
//! - [`mod@reference`]: where models, pictures and files are;
//! - `unknown`: what a later version wrote beside it, which is kept;
//! - `take`, `restore`: from a running session, and back.

pub mod changes;
pub mod parts;
pub mod picture;
pub mod reference;
mod restore;
mod take;
mod unknown;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};

pub use parts::{SavedCorpus, SavedDocument, SavedHead, SavedPane, SavedTarget};
pub use picture::SavedPicture;
pub use reference::{ImageRef, ModelRef};
pub(super) use restore::Opens;

use super::{Bookmark, Documents, HeadNote, Lecture, Panes, lenient};
use crate::{
    json_file::{self, JsonError},
    text::told,
};

/// What the field `format` says.
pub const FORMAT: &str = "attnscope-session";
/// The newest version that is understood, and the one that is written.
pub const VERSION: u64 = 1;
/// Ending of session files.
pub const EXTENSION: &str = "attnscope";

/// Bookmarks of a session.
pub const MAX_BOOKMARKS: usize = 100;
/// Bytes of notes.
pub const MAX_NOTES: usize = 1 << 20;
/// Notes about heads.
pub const MAX_HEAD_NOTES: usize = 1000;
/// Changes of one document.
const MAX_CHANGES: usize = 1000;

/// A session that can be written down.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Saved {
    pub documents: Vec<SavedDocument>,
    pub panes: Vec<SavedPane>,
    /// Many inputs, which documents name by their place in this list.
    pub corpora: Vec<SavedCorpus>,
    /// Pictures that are in no other file, which documents name by their place in this list.
    pub pictures: Vec<SavedPicture>,
    pub bookmarks: Vec<Bookmark>,
    /// What the user wrote down.
    pub notes: String,
    /// The same about heads.
    pub head_notes: Vec<HeadNote>,
    /// How far the lecture was walked through.
    pub lecture: Lecture,
    /// Of what is kept for the case of a crash: the file that it was opened from or saved as.
    pub saved_as: Option<SavedAs>,
    pub(super) unknown: Map<String, Value>,
}

/// The file of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedAs {
    pub path: PathBuf,
    /// SHA-256 of what it held when it was read or written last; `None` when it is to be replaced whatever it holds.
    pub checksum: Option<String>,
}

/// Why a session file is not opened. Displays as a clause.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SavedError {
    /// It cannot be read as JSON.
    #[error("this session file cannot be read: {0}")]
    Json(#[from] JsonError),
    /// It is something else.
    #[error("this is not an AttnScope session: the field “format” is not {FORMAT}")]
    NoSession,
    /// It is of a later version.
    #[error(
        "this session was written by a newer AttnScope (version {0} of the format, this one knows {VERSION}): update \
         AttnScope to open it"
    )]
    Newer(u64),
    /// A part of it is not understood.
    #[error("{part} of this session is not valid: {why}")]
    Part {
        /// Which, such as `document 2`.
        part: String,
        why: String,
    },
    /// There is too much of something.
    #[error("this session has {n} {what}, but at most {most} are allowed")]
    TooMany { what: &'static str, n: usize, most: usize },
}

impl SavedError {
    fn part(part: impl Into<String>, why: &str) -> Self {
        Self::Part { part: part.into(), why: told(why).into_owned() }
    }
}

impl Saved {
    /// From the bytes of a file in `folder`.
    ///
    /// # Errors
    /// See [`SavedError`].
    pub fn from_bytes(bytes: &[u8], folder: &Path) -> Result<Self, SavedError> {
        Self::from_json(json_file::read(bytes)?, folder)
    }

    /// From what stands in a file in `folder`. Takes time for what a session can have alone, however much is there.
    ///
    /// # Errors
    /// See [`SavedError`].
    pub fn from_json(json: Value, folder: &Path) -> Result<Self, SavedError> {
        let Value::Object(mut fields) = json else { return Err(SavedError::NoSession) };
        if fields.remove("format").is_none_or(|format| format != FORMAT) {
            return Err(SavedError::NoSession);
        }
        match fields.remove("version").as_ref().and_then(Value::as_u64) {
            Some(1..=VERSION) => {}
            Some(newer) => return Err(SavedError::Newer(newer)),
            None => return Err(SavedError::part("the version", "it is not a number from 1")),
        }
        let mut list = |name: &'static str, most: usize| match fields.remove(name) {
            None | Some(Value::Null) => Ok(Vec::new()),
            Some(Value::Array(list)) if list.len() > most => {
                Err(SavedError::TooMany { what: name, n: list.len(), most })
            }
            Some(Value::Array(list)) => Ok(list),
            Some(_) => Err(SavedError::part(name, "it is not a list")),
        };
        let documents = list("documents", Documents::MAX)?;
        let panes = list("panes", Panes::MAX)?;
        let corpora = list("corpora", Documents::MAX)?;
        let pictures = list("pictures", Documents::MAX)?;
        let bookmarks = list("bookmarks", MAX_BOOKMARKS)?;
        let head_notes = list("head_notes", MAX_HEAD_NOTES)?;
        let notes = match fields.remove("notes") {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(notes)) if notes.len() <= MAX_NOTES => notes,
            Some(Value::String(notes)) => {
                return Err(SavedError::TooMany { what: "bytes of notes", n: notes.len(), most: MAX_NOTES });
            }
            Some(_) => return Err(SavedError::part("notes", "they are not text")),
        };
        let lecture = fields.remove("lecture").map(|written| lenient::read(&written));
        let saved_as = fields.remove("saved_as").filter(|it| !it.is_null());
        let saved_as = saved_as.map(serde_json::from_value).transpose();
        let saved = Self {
            documents: parts("document", documents, &|document: &mut SavedDocument| document.settle(folder))?,
            panes: parts("pane", panes, &|_: &mut SavedPane| Ok(()))?,
            corpora: parts("corpus", corpora, &|corpus: &mut SavedCorpus| corpus.settle(folder))?,
            pictures: parts("picture", pictures, &|_: &mut SavedPicture| Ok(()))?,
            bookmarks: parts("bookmark", bookmarks, &|bookmark: &mut Bookmark| bookmark.check())?,
            notes,
            head_notes: parts("head note", head_notes, &|note: &mut HeadNote| note.check())?,
            lecture: lecture.unwrap_or_default(),
            saved_as: saved_as.map_err(|error| SavedError::part("the field “saved_as”", &error.to_string()))?,
            unknown: fields,
        };
        saved.check()?;
        Ok(saved)
    }

    /// Why changes of its documents were left out, a clause each.
    pub fn unknown_changes(&self) -> Vec<&str> {
        self.documents.iter().flat_map(|document| &document.left_out).map(String::as_str).collect()
    }

    /// As it stands in a file.
    pub fn to_json(&self) -> Value {
        let mut json = json!({ "format": FORMAT, "version": VERSION });
        json["documents"] = self.documents.iter().map(written).collect();
        json["panes"] = self.panes.iter().map(written).collect();
        json["corpora"] = self.corpora.iter().map(written).collect();
        if !self.pictures.is_empty() {
            json["pictures"] = self.pictures.iter().map(written).collect();
        }
        json["bookmarks"] = self.bookmarks.iter().map(written).collect();
        json["notes"] = self.notes.clone().into();
        if !self.head_notes.is_empty() {
            json["head_notes"] = self.head_notes.iter().map(written).collect();
        }
        if self.lecture != Lecture::default() {
            json["lecture"] = serde_json::to_value(self.lecture).unwrap_or_default();
        }
        if let Some(saved_as) = self.saved_as.as_ref().and_then(|saved_as| serde_json::to_value(saved_as).ok()) {
            json["saved_as"] = saved_as;
        }
        unknown::put_back(&mut json, &self.unknown);
        json
    }

    /// Whether what its parts name is there.
    fn check(&self) -> Result<(), SavedError> {
        let n = self.documents.len();
        if n == 0 {
            return Err(SavedError::part("the list “documents”", "it is empty, so there is nothing to show"));
        }
        let missing = |nth: usize| format!("it names document {nth}, and there are {n}, counted from 0");
        for (idx, document) in self.documents.iter().enumerate() {
            let fails = |why: String| Err(SavedError::part(format!("document {idx}"), &why));
            if document.changes.len() > MAX_CHANGES {
                return Err(SavedError::TooMany { what: "changes", n: document.changes.len(), most: MAX_CHANGES });
            }
            if let Some(nth) = document.corpus.filter(|nth| *nth >= self.corpora.len()) {
                return fails(format!("it names corpus {nth}, and there are {}", self.corpora.len()));
            }
            if let Some(nth) =
                document.image.as_ref().and_then(ImageRef::embedded).filter(|nth| *nth >= self.pictures.len())
            {
                return fails(format!("it names picture {nth}, and there are {}", self.pictures.len()));
            }
            // One that follows another is followed by none, so that nothing goes around in a circle.
            match document.plain.map(|nth| (nth, self.documents.get(nth))) {
                Some((nth, None)) => return fails(missing(nth)),
                Some((nth, Some(plain))) if nth == idx || plain.plain.is_some() => {
                    return fails("its documents refer to each other in a circle".to_owned());
                }
                _ => {}
            }
        }
        for (idx, pane) in self.panes.iter().enumerate() {
            let named = [Some(pane.document), pane.minus.map(|minus| minus.document), pane.against];
            if let Some(nth) = named.into_iter().flatten().find(|nth| *nth >= n) {
                return Err(SavedError::part(format!("pane {idx}"), &missing(nth)));
            }
        }
        Ok(())
    }
}

/// A part of a session that stands in a list.
pub trait SavedPart: Default + Serialize + DeserializeOwned {
    /// What it is made of that is read as far as it is understood.
    fn take_lenient(&mut self, _written: &Value) {}
    /// What a later version wrote beside it.
    fn unknown(&mut self) -> &mut Map<String, Value>;
    /// The same.
    fn kept(&self) -> &Map<String, Value>;
}

fn parts<T: SavedPart>(
    name: &str,
    list: Vec<Value>,
    settle: &dyn Fn(&mut T) -> Result<(), String>,
) -> Result<Vec<T>, SavedError> {
    let one = |(idx, written): (usize, Value)| {
        let fails = |why: String| SavedError::part(format!("{name} {idx}"), &why);
        let mut part = T::deserialize(&written).map_err(|error| fails(error.to_string()))?;
        part.take_lenient(&written);
        let known = serde_json::to_value(&part).unwrap_or_default();
        *part.unknown() = unknown::beyond(&written, &known);
        settle(&mut part).map_err(fails)?;
        Ok(part)
    };
    list.into_iter().enumerate().map(one).collect()
}

fn written<T: SavedPart>(part: &T) -> Value {
    let mut json = serde_json::to_value(part).unwrap_or_default();
    unknown::put_back(&mut json, part.kept());
    json
}

/// What is understood of one field of a part.
fn lenient_field<T: Default + Serialize + DeserializeOwned>(written: &Value, name: &str) -> T {
    written.get(name).map(lenient::read).unwrap_or_default()
}
