//! Notes of the user about heads, which are kept with the session.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::ids::{HeadId, StackKind};

/// Bytes of a note.
pub const MAX_HEAD_NOTE: usize = 4096;

/// A note about a head of a model.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HeadNote {
    /// What the model is called.
    pub model: String,
    pub stack: StackKind,
    pub layer: usize,
    pub head: usize,
    pub text: String,
    #[serde(skip)]
    pub(super) unknown: Map<String, Value>,
}

impl HeadNote {
    /// A note that no version has written anything beside.
    pub fn new(model: &str, HeadId { stack, layer, head }: HeadId, text: String) -> Self {
        Self { model: model.to_owned(), stack, layer, head, text, unknown: Map::new() }
    }

    fn is_of(&self, model: &str, head: HeadId) -> bool {
        self.model == model && (self.stack, self.layer, self.head) == (head.stack, head.layer, head.head)
    }

    /// Whether it can be kept.
    pub(super) fn check(&self) -> Result<(), String> {
        let n = self.text.len();
        if n > MAX_HEAD_NOTE {
            Err(format!("it has {n} bytes, and at most {MAX_HEAD_NOTE} are allowed"))
        } else {
            Ok(())
        }
    }
}

/// What is noted of a head; nothing where nothing is.
pub fn note_of<'a>(notes: &'a [HeadNote], model: &str, head: HeadId) -> &'a str {
    notes.iter().find(|note| note.is_of(model, head)).map_or("", |note| &note.text)
}

/// Puts a note in the place of the one about the same head; an empty one takes it away, and one beyond `most` is left out.
pub(super) fn set_note(notes: &mut Vec<HeadNote>, note: HeadNote, most: usize) {
    let head = HeadId { stack: note.stack, layer: note.layer, head: note.head };
    let at = notes.iter().position(|known| known.is_of(&note.model, head));
    match (at, note.text.is_empty()) {
        (Some(at), true) => drop(notes.remove(at)),
        (Some(at), false) if note.check().is_ok() => notes[at].text = note.text,
        (None, false) if notes.len() < most && note.check().is_ok() => notes.push(note),
        (Some(_) | None, _) => {}
    }
}
