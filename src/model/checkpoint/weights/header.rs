//! Reads and checks the header of a safetensors file: names, types, shapes and byte ranges.
//!
//! Nothing in a header is trusted. It must not allocate: every length is checked against the
//! file's own length before anything of that size is reserved.

use std::{fmt, io::Read};

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::Value;

use super::entry::{Dtype, Entry, MAX_DIMS, is_presentable};

/// Headers above this size are refused; those of the largest public models are a few MiB.
const MAX_HEADER_BYTES: u64 = 32 << 20;

/// All tensors of a safetensors file of `file_len` bytes.
///
/// # Errors
/// One clause that says what is wrong with the file.
pub(super) fn read(file: &mut dyn Read, file_len: u64) -> Result<Vec<(String, Entry)>, String> {
    let mut len = [0u8; 8];
    file.read_exact(&mut len).map_err(|_| "it is shorter than any safetensors file".to_owned())?;
    let header_len = u64::from_le_bytes(len);
    if header_len > file_len - 8 {
        return Err(format!("its header claims {header_len} bytes, but the file has only {file_len}"));
    }
    if header_len > MAX_HEADER_BYTES {
        return Err(format!("its header claims {} MiB", header_len >> 20));
    }
    let mut header = vec![0u8; header_len as usize];
    file.read_exact(&mut header).map_err(|error| error.to_string())?;
    let pairs: Pairs = serde_json::from_slice(&header).map_err(|error| format!("its header is not JSON ({error})"))?;

    let data_start = 8 + header_len;
    let data_len = file_len - data_start;
    let mut entries = Vec::with_capacity(pairs.0.len());
    for (name, value) in pairs.0 {
        if name != "__metadata__" {
            let entry = entry(&value, data_start, data_len).map_err(|reason| format!("tensor {name} {reason}"))?;
            entries.push((name, entry));
        }
    }
    check_disjoint(&entries)?;
    Ok(entries.into_iter().map(|(name, (entry, _))| (name, entry)).collect())
}

/// A tensor and its length in bytes.
fn entry(value: &Value, data_start: u64, data_len: u64) -> Result<(Entry, u64), String> {
    let dtype_name = value["dtype"].as_str().filter(|name| is_presentable(name)).ok_or("has no dtype")?.to_owned();
    let shape: Option<Vec<usize>> = value["shape"]
        .as_array()
        .and_then(|dims| dims.iter().map(|dim| dim.as_u64().and_then(|dim| usize::try_from(dim).ok())).collect());
    let shape = shape.filter(|shape| shape.len() <= MAX_DIMS).ok_or("has no valid shape")?;
    let offsets = value["data_offsets"].as_array().map(Vec::as_slice);
    let Some([start, end]) = offsets else { return Err("has no data_offsets".to_owned()) };
    let (Some(start), Some(end)) = (start.as_u64(), end.as_u64()) else {
        return Err("has invalid data_offsets".to_owned());
    };
    if start > end || end > data_len {
        return Err(format!("claims the bytes {start} to {end}, but there are {data_len}"));
    }
    let dtype = Dtype::from_name(&dtype_name);
    if let Some(dtype) = dtype {
        let n_bytes = shape.iter().try_fold(dtype.size_bytes() as u64, |len, &dim| len.checked_mul(dim as u64));
        if n_bytes != Some(end - start) {
            return Err(format!("has the shape {shape:?} in {dtype_name}, but {} bytes", end - start));
        }
    }
    Ok((Entry { dtype_name, dtype, shape, strides: None, start: data_start + start }, end - start))
}

fn check_disjoint(entries: &[(String, (Entry, u64))]) -> Result<(), String> {
    let mut by_start: Vec<_> = entries.iter().filter(|(_, (_, len))| *len > 0).collect();
    by_start.sort_by_key(|(_, (entry, _))| entry.start);
    for pair in by_start.windows(2) {
        if let [(first, (a, len)), (second, (b, _))] = pair
            && a.start + len > b.start
        {
            return Err(format!("tensors {first} and {second} overlap"));
        }
    }
    Ok(())
}

/// A JSON object as a list, so that a name given twice is noticed instead of dropped.
struct Pairs(Vec<(String, Value)>);

impl<'de> Deserialize<'de> for Pairs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(PairsVisitor).map(Self)
    }
}

struct PairsVisitor;

impl<'de> Visitor<'de> for PairsVisitor {
    type Value = Vec<(String, Value)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of tensors")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut pairs = Vec::new();
        let mut seen = std::collections::HashSet::new();
        while let Some((name, value)) = map.next_entry::<String, Value>()? {
            if !is_presentable(&name) {
                return Err(serde::de::Error::custom(format!("a name has {} bytes or is not text", name.len())));
            }
            if !seen.insert(name.clone()) {
                return Err(serde::de::Error::custom(format!("{name} is given twice")));
            }
            pairs.push((name, value));
        }
        Ok(pairs)
    }
}
