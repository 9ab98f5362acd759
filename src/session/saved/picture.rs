//! Pictures that are in no file but the session's own.

use std::sync::Arc;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use serde_json::{Map, Value};

use super::SavedPart;
use crate::model::ImageSource;

/// Bytes of all pictures of a session: as text they take a third more, and a session file has at most 8 MB.
pub const MAX_PICTURES: usize = 5 << 20;

/// A picture from the clipboard: `{"name": "pasted picture", "bytes": "iVBORw0…"}`, the bytes of a PNG in base64.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SavedPicture {
    pub name: String,
    /// What its file would hold.
    #[serde(serialize_with = "as_text", deserialize_with = "from_text")]
    pub bytes: Arc<[u8]>,
    #[serde(skip)]
    pub(in crate::session) unknown: Map<String, Value>,
}

impl SavedPicture {
    /// Where a picture is among others, added where it is not there yet; `None` where there is no room for it.
    pub(super) fn place(name: &str, bytes: &Arc<[u8]>, among: &mut Vec<Self>) -> Option<usize> {
        // What a document and the plain one beside it see is one picture.
        if let Some(known) = among.iter().position(|it| it.name == name && it.bytes == *bytes) {
            return Some(known);
        }
        let n_bytes: usize = among.iter().map(|it| it.bytes.len()).sum();
        if n_bytes + bytes.len() > MAX_PICTURES {
            return None;
        }
        among.push(Self { name: name.to_owned(), bytes: Arc::clone(bytes), unknown: Map::new() });
        Some(among.len() - 1)
    }

    /// The picture itself.
    pub(super) fn source(&self) -> ImageSource {
        ImageSource::Embedded { name: self.name.clone(), bytes: Arc::clone(&self.bytes) }
    }
}

impl SavedPart for SavedPicture {
    fn unknown(&mut self) -> &mut Map<String, Value> {
        &mut self.unknown
    }

    fn kept(&self) -> &Map<String, Value> {
        &self.unknown
    }
}

fn as_text<S: Serializer>(bytes: &Arc<[u8]>, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&STANDARD.encode(bytes))
}

fn from_text<'de, D: Deserializer<'de>>(from: D) -> Result<Arc<[u8]>, D::Error> {
    let text = String::deserialize(from)?;
    let bytes = STANDARD.decode(text).map_err(|_| D::Error::custom("its bytes are not base64"))?;
    Ok(bytes.into())
}
