//! The header of a safetensors file, checked: what is where.
//!
//! Not the safetensors crate's reader, because that wants the whole file in memory, lets the last of two
//! equal names win and does not say which tensor is wrong.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    fmt,
    io::{Read, Seek, SeekFrom},
};

use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, Visitor},
};

use super::{
    FileError,
    entry::{Entry, Stored},
    place,
};

/// The longest header that is read, in bytes: as the reference implementation.
const MAX_HEADER: u64 = 100_000_000;

/// Everything a file says about itself.
pub(super) struct Header {
    /// In the order of their values.
    pub(super) entries: Vec<Entry>,
    pub(super) metadata: HashMap<String, String>,
}

/// Reads and checks the header.
pub(super) fn read(source: &mut (impl Read + Seek)) -> Result<Header, FileError> {
    let file_len = source.seek(SeekFrom::End(0))?;
    source.seek(SeekFrom::Start(0))?;
    if file_len < 8 {
        return Err(FileError::NotACapture("it is too short".to_owned()));
    }
    let mut length = [0u8; 8];
    source.read_exact(&mut length)?;
    let header_len = u64::from_le_bytes(length);
    if header_len > MAX_HEADER || header_len > file_len - 8 {
        return Err(FileError::NotACapture("it does not begin with a safetensors header".to_owned()));
    }
    let mut text = vec![0u8; header_len as usize];
    source.read_exact(&mut text)?;
    let raw: RawHeader = serde_json::from_slice(&text)
        .map_err(|error| FileError::NotACapture(format!("its header is broken ({error})")))?;
    if let Some(name) = raw.duplicate {
        return Err(FileError::tensor(&name, "appears twice"));
    }
    let data_start = 8 + header_len;
    let mut entries = raw
        .tensors
        .into_iter()
        .map(|(name, raw)| check_entry(name, &raw, file_len - data_start))
        .collect::<Result<Vec<_>, _>>()?;
    entries.sort_by_key(|(offset, entry)| (*offset, entry.n_values));
    let mut expected = 0;
    for (offset, entry) in &mut entries {
        if *offset != expected {
            return Err(FileError::tensor(&entry.name, "does not begin where the one before it ends"));
        }
        expected += 4 * entry.n_values as u64;
        entry.values = Stored::File(data_start + *offset);
    }
    if expected != file_len - data_start {
        return Err(FileError::NotACapture("its length is not what its header says".to_owned()));
    }
    let entries = entries.into_iter().map(|(_, entry)| entry).collect();
    Ok(Header { entries, metadata: raw.metadata })
}

/// The tensor, and where its values begin after the header.
fn check_entry(name: String, raw: &RawEntry, data_len: u64) -> Result<(u64, Entry), FileError> {
    place::check_name(&name)?;
    if raw.dtype != "F32" {
        let dtype: String = raw.dtype.chars().take(16).collect();
        return Err(FileError::tensor(&name, format!("has the type {dtype}; save it as float32")));
    }
    let [begin, end] = raw.data_offsets;
    let n_values = raw.shape.iter().try_fold(1u64, |product, &n| product.checked_mul(n));
    let n_bytes = n_values.and_then(|n| n.checked_mul(4));
    if begin > end || end > data_len || n_bytes != Some(end - begin) {
        let shape = &raw.shape[..raw.shape.len().min(8)];
        let problem = format!("has the shape {shape:?} but {} bytes of values in the file", {
            end.min(data_len).saturating_sub(begin)
        });
        return Err(FileError::tensor(&name, problem));
    }
    let shape = raw.shape.iter().map(|&n| n as usize).collect();
    let n_values = n_values.unwrap_or(0) as usize;
    Ok((begin, Entry { name, shape, n_values, values: Stored::File(begin) }))
}

#[derive(Deserialize)]
struct RawEntry {
    dtype: String,
    shape: Vec<u64>,
    data_offsets: [u64; 2],
}

struct RawHeader {
    tensors: BTreeMap<String, RawEntry>,
    metadata: HashMap<String, String>,
    duplicate: Option<String>,
}

impl<'de> Deserialize<'de> for RawHeader {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(HeaderVisitor)
    }
}

/// Sees every key, which a map type would not.
struct HeaderVisitor;

impl<'de> Visitor<'de> for HeaderVisitor {
    type Value = RawHeader;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table of tensors")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RawHeader, A::Error> {
        let mut header = RawHeader { tensors: BTreeMap::new(), metadata: HashMap::new(), duplicate: None };
        let mut seen = HashSet::new();
        while let Some(name) = map.next_key::<String>()? {
            if !seen.insert(name.clone()) {
                map.next_value::<IgnoredAny>()?;
                header.duplicate.get_or_insert(name);
            } else if name == "__metadata__" {
                header.metadata = map.next_value()?;
            } else {
                header.tensors.insert(name, map.next_value()?);
            }
        }
        Ok(header)
    }
}
