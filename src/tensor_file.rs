//! The header of a safetensors file, the container of weights and captures alike: what is where.
//!
//! Not the safetensors crate's reader, because that wants the whole file in memory, lets the last of two
//! equal names win and does not say which tensor is wrong. Nothing in a header is trusted: every length is
//! checked against the file's own before anything of that size is reserved. What the tensors may be is
//! checked by whoever reads them.

use std::{
    collections::HashSet,
    fmt,
    io::{self, Read, Write},
};

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::{Map, Value, json};

/// What a file says about itself.
pub(crate) struct Header {
    /// In the order of the header.
    pub tensors: Vec<Declared>,
    /// `__metadata__`; empty where there is none.
    pub metadata: Map<String, Value>,
    /// Bytes before the first value.
    pub data_start: u64,
    /// Bytes of values.
    pub data_len: u64,
}

/// One tensor as declared. Checked: its bytes lie in the file.
pub(crate) struct Declared {
    pub name: String,
    pub dtype: String,
    pub shape: Vec<usize>,
    /// Offsets after `data_start`.
    pub begin: u64,
    pub end: u64,
}

/// Why a header cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HeaderError {
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("it is shorter than any safetensors file")]
    TooShort,
    #[error("its header claims {claimed} bytes, but the file has only {file_len}")]
    TooLong { claimed: u64, file_len: u64 },
    #[error("its header claims {} MiB", claimed >> 20)]
    TooLarge { claimed: u64 },
    #[error("its header is not JSON ({0})")]
    Json(serde_json::Error),
    #[error("tensor {} {problem}", shown(name))]
    Tensor { name: String, problem: String },
}

/// Longest name that is believed.
const MAX_NAME_BYTES: usize = 256;

/// Whether a name can be shown in a message or a list. Every name that a file of weights gives is asked.
pub(crate) fn is_presentable(name: &str) -> bool {
    name.len() <= MAX_NAME_BYTES && !name.chars().any(char::is_control)
}

/// A name as it can be shown: enough to recognise it, too little to fill a window, on one line.
pub(crate) fn shown(name: &str) -> String {
    const MAX_NAME: usize = 80;
    let mut shown: String = name.escape_debug().take(MAX_NAME).collect();
    if name.chars().count() > MAX_NAME {
        shown.push('…');
    }
    shown
}

impl Header {
    /// Reads the header of a file of `file_len` bytes from its start; one of more than `limit` bytes is refused.
    pub fn read(source: &mut (impl Read + ?Sized), file_len: u64, limit: u64) -> Result<Self, HeaderError> {
        let mut length = [0u8; 8];
        if file_len < length.len() as u64 {
            return Err(HeaderError::TooShort);
        }
        source.read_exact(&mut length)?;
        let claimed = u64::from_le_bytes(length);
        if claimed > file_len - 8 {
            return Err(HeaderError::TooLong { claimed, file_len });
        }
        if claimed > limit {
            return Err(HeaderError::TooLarge { claimed });
        }
        let mut text = vec![0u8; claimed as usize];
        source.read_exact(&mut text)?;
        let Pairs { list, twice } = serde_json::from_slice(&text).map_err(HeaderError::Json)?;
        if let Some(name) = twice {
            return Err(HeaderError::Tensor { name, problem: "is given twice".to_owned() });
        }
        let data_start = 8 + claimed;
        let data_len = file_len - data_start;
        let mut header = Self { tensors: Vec::with_capacity(list.len()), metadata: Map::new(), data_start, data_len };
        for (name, value) in list {
            match value {
                Value::Object(metadata) if name == "__metadata__" => header.metadata = metadata,
                _ if name == "__metadata__" => {}
                value => match Declared::of(&value, data_len) {
                    Ok((dtype, shape, begin, end)) => header.tensors.push(Declared { name, dtype, shape, begin, end }),
                    Err(problem) => return Err(HeaderError::Tensor { name, problem }),
                },
            }
        }
        Ok(header)
    }
}

impl Declared {
    fn of(value: &Value, data_len: u64) -> Result<(String, Vec<usize>, u64, u64), String> {
        let dtype = value["dtype"].as_str().ok_or("has no dtype")?.to_owned();
        let dims = value["shape"].as_array().ok_or("has no valid shape")?;
        let dim = |dim: &Value| dim.as_u64().and_then(|dim| usize::try_from(dim).ok());
        let shape = dims.iter().map(dim).collect::<Option<_>>().ok_or("has no valid shape")?;
        let offsets = value["data_offsets"].as_array().map(Vec::as_slice);
        let Some([begin, end]) = offsets else { return Err("has no data_offsets".to_owned()) };
        let (Some(begin), Some(end)) = (begin.as_u64(), end.as_u64()) else {
            return Err("has invalid data_offsets".to_owned());
        };
        if begin > end || end > data_len {
            return Err(format!("claims the bytes {begin} to {end}, but there are {data_len}"));
        }
        Ok((dtype, shape, begin, end))
    }

    /// Bytes of its values.
    pub const fn n_bytes(&self) -> u64 {
        self.end - self.begin
    }

    /// Bytes that its shape takes with so many for each value; `None` beyond all numbers.
    pub fn implied_bytes(&self, value_bytes: usize) -> Option<u64> {
        self.shape.iter().try_fold(value_bytes as u64, |len, &dim| len.checked_mul(dim as u64))
    }
}

/// A tensor to be written.
pub(crate) struct Written {
    pub name: String,
    /// `F32` or `F64`.
    pub dtype: &'static str,
    pub shape: Vec<usize>,
    /// Little-endian.
    pub bytes: Vec<u8>,
}

impl Written {
    /// Numbers in single precision.
    pub fn single(name: impl Into<String>, shape: Vec<usize>, values: impl Iterator<Item = f32>) -> Self {
        Self { name: name.into(), dtype: "F32", shape, bytes: values.flat_map(f32::to_le_bytes).collect() }
    }

    /// Numbers in double precision.
    pub fn double(name: impl Into<String>, shape: Vec<usize>, values: impl Iterator<Item = f64>) -> Self {
        Self { name: name.into(), dtype: "F64", shape, bytes: values.flat_map(f64::to_le_bytes).collect() }
    }
}

/// Writes a safetensors file: the same tensors and texts give the same bytes.
pub(crate) fn write(tensors: &[Written], metadata: Map<String, Value>, out: &mut dyn Write) -> io::Result<()> {
    let mut header = Map::new();
    header.insert("__metadata__".to_owned(), Value::Object(metadata));
    let mut offset = 0;
    for tensor in tensors {
        let end = offset + tensor.bytes.len();
        let info = json!({ "dtype": tensor.dtype, "shape": tensor.shape, "data_offsets": [offset, end] });
        header.insert(tensor.name.clone(), info);
        offset = end;
    }
    let mut header = serde_json::to_vec(&header)?;
    // The format wants values to begin at a multiple of eight.
    header.resize(header.len().next_multiple_of(8), b' ');
    out.write_all(&(header.len() as u64).to_le_bytes())?;
    out.write_all(&header)?;
    tensors.iter().try_for_each(|tensor| out.write_all(&tensor.bytes))
}

/// A JSON object as a list, so that a name given twice is noticed instead of dropped.
struct Pairs {
    list: Vec<(String, Value)>,
    twice: Option<String>,
}

impl<'de> Deserialize<'de> for Pairs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(PairsVisitor)
    }
}

struct PairsVisitor;

impl<'de> Visitor<'de> for PairsVisitor {
    type Value = Pairs;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of tensors")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Pairs, A::Error> {
        let mut pairs = Pairs { list: Vec::new(), twice: None };
        let mut seen = HashSet::new();
        while let Some((name, value)) = map.next_entry::<String, Value>()? {
            if seen.insert(name.clone()) {
                pairs.list.push((name, value));
            } else {
                pairs.twice.get_or_insert(name);
            }
        }
        Ok(pairs)
    }
}
