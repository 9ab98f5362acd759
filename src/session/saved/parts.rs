//! Elements of the lists of a session file.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{ImageRef, ModelRef, SavedPart, changes, lenient_field, reference::settled};
use crate::{
    analysis::{by_hand::Numbers, search::SearchQuery, timing::Timing},
    capture::Excerpt,
    corpus::{
        Kept,
        list::{ListOptions, Split},
    },
    ids::{HeadId, StackKind},
    lab::Target,
    model::Chat,
    protocol::{CorpusOptions, CorpusSource},
    session::{Bookmark, Change, HeadNote, HeadSet, ViewKind, ViewOptions, WritingOptions},
    spec::CheckpointMark,
};

/// An experiment: all that is needed to compute something again.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SavedDocument {
    pub model: Option<ModelRef>,
    /// Which files its model was read from: with others the numbers may be others.
    #[serde(skip_serializing_if = "CheckpointMark::is_empty")]
    pub checkpoint: CheckpointMark,
    pub text: String,
    /// What of it is read when it is too long.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub excerpt: Option<Excerpt>,
    /// Whether brackets in its texts group tokens.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub brackets: bool,
    /// How the chat template of the model is written around the text, if it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chat: Option<Chat>,
    /// What the system says before the text.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub system: String,
    /// Second sentence, if the input is a pair.
    pub text_b: Option<String>,
    /// What the decoder is made to write.
    pub target: String,
    pub image: Option<ImageRef>,
    pub writing: WritingOptions,
    /// Whether a decoder-only model continues the text.
    pub continued: bool,
    /// Ids of the tokens that the written text begins with.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub begun: Vec<u32>,
    /// What is changed on the way.
    #[serde(with = "changes")]
    pub changes: Vec<Change>,
    /// The capture file that is shown instead of a run.
    pub capture: Option<String>,
    /// Numbers that were typed, which are shown instead of a run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub numbers: Option<Box<Numbers>>,
    /// Times that were measured of a model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timing: Option<Timing>,
    /// Which of its inputs, from 0.
    pub input: usize,
    /// Its corpus, by its place in the list.
    pub corpus: Option<usize>,
    /// The input of the corpus that is shown, by its place in the corpus.
    pub corpus_input: Option<usize>,
    /// The document that shows the same run without its changes, by its place in the list.
    pub plain: Option<usize>,
    /// The example that is shown, by its title.
    pub example: Option<String>,
    /// Why changes were left out, a clause each.
    #[serde(skip)]
    pub(in crate::session) left_out: Vec<String>,
    #[serde(skip)]
    pub(in crate::session) unknown: Map<String, Value>,
}

impl SavedDocument {
    pub(super) fn settle(&mut self, folder: &Path) -> Result<(), String> {
        if let Some(model) = &mut self.model {
            model.settle(folder)?;
        }
        if let Some(image) = &mut self.image {
            image.settle(folder)?;
        }
        if let Some(capture) = &mut self.capture {
            *capture = settled(capture, folder)?;
        }
        Ok(())
    }
}

impl SavedPart for SavedDocument {
    fn take_lenient(&mut self, written: &Value) {
        self.left_out = written.get("changes").map(changes::left_out).unwrap_or_default();
    }

    fn unknown(&mut self) -> &mut Map<String, Value> {
        &mut self.unknown
    }

    fn kept(&self) -> &Map<String, Value> {
        &self.unknown
    }
}

/// A view of a document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SavedPane {
    /// Which row it stands in, from the top; panes of a row stand in the order of the list.
    pub row: usize,
    /// Whether keys and panels speak of it.
    pub active: bool,
    /// What it shows, by its place in the list of documents.
    pub document: usize,
    /// How.
    #[serde(with = "view_name")]
    pub view: ViewKind,
    pub stack: StackKind,
    /// The layer, from 0.
    pub layer: usize,
    /// The head, from 0.
    pub head: usize,
    /// The heads whose lines are drawn; all where nothing is said.
    pub heads_on: Option<Vec<usize>>,
    /// The query token that is held.
    pub query: Option<usize>,
    /// The key token that is held.
    pub key: Option<usize>,
    /// Of the residual stream, what is behind the last layer is looked at.
    pub is_final: bool,
    pub minus: Option<SavedHead>,
    /// What all heads are held against, by its place in the list of documents.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub against: Option<usize>,
    /// Whether it follows the other panes.
    pub linked: bool,
    /// What is looked for in its joint spaces.
    pub search: SearchQuery,
    /// The output that the laboratory is asked about.
    pub target: SavedTarget,
    /// Options of the views. An unknown one falls back to its default.
    #[serde(deserialize_with = "later")]
    pub options: ViewOptions,
    #[serde(skip)]
    pub(in crate::session) unknown: Map<String, Value>,
}

/// Read by itself: see [`SavedPart::take_lenient`].
fn later<'de, D: serde::Deserializer<'de>>(written: D) -> Result<ViewOptions, D::Error> {
    serde::de::IgnoredAny::deserialize(written).map(|_| ViewOptions::default())
}

impl Default for SavedPane {
    fn default() -> Self {
        Self {
            row: 0,
            active: false,
            document: 0,
            view: ViewKind::default(),
            stack: StackKind::default(),
            layer: 0,
            head: 0,
            heads_on: None,
            query: None,
            key: None,
            is_final: false,
            minus: None,
            against: None,
            linked: true,
            search: SearchQuery::default(),
            target: SavedTarget::default(),
            options: ViewOptions::default(),
            unknown: Map::new(),
        }
    }
}

impl SavedPane {
    /// The selected head.
    pub const fn head(&self) -> HeadId {
        HeadId { stack: self.stack, layer: self.layer, head: self.head }
    }

    /// The heads whose lines are drawn.
    pub fn heads_on(&self) -> HeadSet {
        self.heads_on.as_ref().map_or(HeadSet::ALL, |heads| heads.iter().copied().collect())
    }
}

impl SavedPart for SavedPane {
    fn take_lenient(&mut self, written: &Value) {
        self.options = lenient_field(written, "options");
    }

    fn unknown(&mut self) -> &mut Map<String, Value> {
        &mut self.unknown
    }

    fn kept(&self) -> &Map<String, Value> {
        &self.unknown
    }
}

/// A head of a document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SavedHead {
    /// Whose, by its place in the list of documents.
    pub document: usize,
    pub stack: StackKind,
    /// Its layer, from 0.
    pub layer: usize,
    /// Which of the layer, from 0.
    pub head: usize,
}

/// An output that is explained.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SavedTarget {
    pub position: Option<usize>,
    /// Which token or class.
    pub class: Option<u32>,
    /// What it is told apart from.
    pub against: Option<u32>,
}

impl From<Target> for SavedTarget {
    fn from(Target { position, class, against }: Target) -> Self {
        Self { position, class, against }
    }
}

impl From<SavedTarget> for Target {
    fn from(SavedTarget { position, class, against }: SavedTarget) -> Self {
        Self { position, class, against }
    }
}

/// Many inputs of a document: where they are and how they are run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own in the file")]
pub struct SavedCorpus {
    /// A text, table, folder, capture file, or a corpus inside the program.
    pub path: Option<String>,
    /// Lines that were pasted, which are in no file.
    pub lines: Option<String>,
    /// The column with the text.
    pub text_column: Option<String>,
    /// The column with the words of each text, which become groups.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub groups_column: Option<String>,
    /// Whether an input is a sentence instead of a line.
    pub sentences: bool,
    /// Only so many inputs, from the first.
    pub first: Option<usize>,
    /// Only these layers.
    pub layers: Option<Vec<usize>>,
    pub values: bool,
    /// Whether the residual stream is kept.
    pub residual: bool,
    /// What the list is narrowed to.
    pub filter: String,
    /// Inputs that were taken out, by their places.
    pub removed: Vec<usize>,
    /// Whether the model was asked what it says of them, which it then is again.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub asked: bool,
    /// The column with the right classes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label_column: Option<String>,
    /// Whether only those are listed of which the model says something wrong.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub wrong_only: bool,
    #[serde(skip)]
    pub(in crate::session) unknown: Map<String, Value>,
}

impl SavedCorpus {
    /// Where its inputs come from.
    pub fn source(&self) -> CorpusSource {
        let split = if self.sentences { Split::Sentences } else { Split::Lines };
        let (text_column, groups_column) = (self.text_column.clone(), self.groups_column.clone());
        let list = ListOptions { text_column, split, groups_column };
        match (&self.lines, &self.path) {
            (Some(lines), None) => CorpusSource::Lines(lines.as_str().into()),
            (_, path) => CorpusSource::Path { path: PathBuf::from(path.as_deref().unwrap_or_default()), list },
        }
    }

    /// How it is run.
    pub fn options(&self) -> CorpusOptions {
        let kept = Kept { values: self.values, residual: self.residual };
        CorpusOptions { layers: self.layers.clone(), kept, first: self.first, ..CorpusOptions::default() }
    }

    pub(super) fn settle(&mut self, folder: &Path) -> Result<(), String> {
        match (&mut self.path, &self.lines) {
            // Inside the program.
            (Some(path), None) if path.starts_with("demo:") => {}
            (Some(path), None) => *path = settled(path, folder)?,
            (None, Some(_)) => {}
            _ => return Err("it needs either “path” or “lines”".to_owned()),
        }
        Ok(())
    }
}

impl SavedPart for SavedCorpus {
    fn unknown(&mut self) -> &mut Map<String, Value> {
        &mut self.unknown
    }

    fn kept(&self) -> &Map<String, Value> {
        &self.unknown
    }
}

impl SavedPart for Bookmark {
    fn unknown(&mut self) -> &mut Map<String, Value> {
        &mut self.unknown
    }

    fn kept(&self) -> &Map<String, Value> {
        &self.unknown
    }
}

impl SavedPart for HeadNote {
    fn unknown(&mut self) -> &mut Map<String, Value> {
        &mut self.unknown
    }

    fn kept(&self) -> &Map<String, Value> {
        &self.unknown
    }
}

/// Views go by the names of the command line.
mod view_name {
    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};

    use crate::session::ViewKind;

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
    pub fn serialize<S: Serializer>(view: &ViewKind, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(view.name())
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<ViewKind, D::Error> {
        let name = String::deserialize(from)?;
        ViewKind::from_name(&name).ok_or_else(|| D::Error::custom(format!("no view is called “{name}”")))
    }
}
