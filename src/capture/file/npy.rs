//! Arrays in NumPy's format: a short header in Python's notation, then the values.
//!
//! Own code, because the crates for it either bring a matrix library and a parser generator or trust
//! the header. Arrays of Python objects are pickles, which can run code: they are not read.

use std::io::{Read, Seek, SeekFrom};

use half::f16;

use super::{
    FileError,
    foreign::{self, Found},
    metadata::MAX_LAYERS,
};
use crate::{
    capture::Capture,
    ids::{CaptureId, StackKind},
};

/// What every such file begins with.
const MAGIC: &[u8; 6] = b"\x93NUMPY";
/// NumPy itself refuses to read longer headers.
const MAX_HEADER: usize = 10_000;
/// Bytes read at once; a multiple of every item's size.
const CHUNK: usize = 1 << 16;
/// What a lone array is called in messages.
const ONLY_NAME: &str = "array";

/// Reads the one capture of an `.npy` file; see [`super::read`].
pub(super) fn read(
    source: &mut (impl Read + Seek),
    fallback_name: &str,
    new_id: &mut dyn FnMut() -> CaptureId,
) -> Result<Vec<Capture>, FileError> {
    let file_len = source.seek(SeekFrom::End(0))?;
    source.seek(SeekFrom::Start(0))?;
    let array = Array::read_header(source, ONLY_NAME)?;
    array.check_size(file_len)?;
    let mut found = Found::default();
    array.read_stack(source, StackKind::SelfAttention, &mut found)?;
    found.capture(fallback_name, new_id())
}

/// An array whose header was read and whose values come next.
pub(super) struct Array {
    name: String,
    kind: NumberKind,
    pub(super) shape: Vec<usize>,
    /// Bytes of the header with everything before it.
    header_bytes: u64,
    /// Bytes of the values.
    value_bytes: u64,
}

/// What the values are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NumberKind {
    Float {
        bytes: usize,
        big_endian: bool,
    },
    /// So many code points of four bytes each, filled up with zeros.
    Text {
        chars: usize,
        big_endian: bool,
    },
    /// So many bytes of UTF-8, filled up with zeros.
    Bytes(usize),
}

impl Array {
    /// Reads everything before the values.
    pub(super) fn read_header(source: &mut impl Read, name: &str) -> Result<Self, FileError> {
        let refuse = |problem: &str| FileError::tensor(name, problem);
        let mut start = [0u8; 8];
        source.read_exact(&mut start).map_err(|_| refuse("is not a NumPy array: it is too short"))?;
        let [magic @ .., major, _minor] = &start;
        if magic != MAGIC {
            return Err(refuse("is not a NumPy array"));
        }
        let mut length = [0u8; 4];
        let n_length = if *major == 1 { 2 } else { 4 };
        source.read_exact(&mut length[..n_length])?;
        let header_len = u32::from_le_bytes(length) as usize;
        if header_len > MAX_HEADER {
            return Err(refuse("has a header that is longer than NumPy allows"));
        }
        let mut text = vec![0u8; header_len];
        source.read_exact(&mut text)?;
        let text = String::from_utf8_lossy(&text);
        let kind = NumberKind::of(text_of(&text).ok_or_else(|| refuse("has no plain numbers as values"))?)
            .map_err(|problem| FileError::tensor(name, problem))?;
        if !field(&text, "fortran_order").is_some_and(|order| order.starts_with("False")) {
            return Err(refuse("is in Fortran order; save np.ascontiguousarray(a)"));
        }
        let shape = shape_of(&text).ok_or_else(|| refuse("has no shape that can be read"))?;
        let n_values = shape.iter().try_fold(1u64, |product, &n| product.checked_mul(n as u64));
        let Some(value_bytes) = n_values.and_then(|n| n.checked_mul(kind.bytes() as u64)) else {
            let problem = format!("has the shape {:?}, more than any file holds", foreign::first_axes(&shape));
            return Err(FileError::tensor(name, problem));
        };
        let header_bytes = (start.len() + n_length + header_len) as u64;
        Ok(Self { name: name.to_owned(), kind, shape, header_bytes, value_bytes })
    }

    /// Refuses an array that does not fill its file of `file_len` bytes exactly.
    pub(super) fn check_size(&self, file_len: u64) -> Result<(), FileError> {
        let there = file_len.saturating_sub(self.header_bytes);
        if self.value_bytes == there {
            return Ok(());
        }
        let problem = format!("has the shape {:?} but {there} bytes of values", foreign::first_axes(&self.shape));
        Err(FileError::tensor(&self.name, problem))
    }

    /// Reads `[layer, head, query, key]`, maybe with a batch of one after the layers, or a single layer.
    pub(super) fn read_stack(
        &self,
        source: &mut impl Read,
        stack: StackKind,
        found: &mut Found,
    ) -> Result<(), FileError> {
        if let [_, _, _] = self.shape[..] {
            // A single layer, saved alone.
            foreign::layer_shape(&self.name, &self.shape)?;
            return found.add_layer(stack, 0, self.name.clone(), &self.shape, self.read_all(source)?);
        }
        let Some((&n_layers, layer)) = self.shape.split_first().filter(|(_, layer)| matches!(layer.len(), 3 | 4))
        else {
            let axes = self.shape.len();
            let problem = format!("has {axes} axes where layers, heads, queries and keys belong");
            return Err(FileError::tensor(&self.name, problem));
        };
        foreign::layer_shape(&self.name, layer)?;
        if n_layers > MAX_LAYERS {
            return Err(FileError::tensor(&self.name, format!("has {n_layers} layers, more than any model")));
        }
        for idx in 0..n_layers {
            let name = format!("{}[{idx}]", self.name);
            let values = self.read_floats(source, layer.iter().product())?;
            found.add_layer(stack, idx, name, layer, values)?;
        }
        Ok(())
    }

    /// Reads all values of an array of numbers.
    pub(super) fn read_all(&self, source: &mut impl Read) -> Result<Vec<f32>, FileError> {
        self.read_floats(source, self.shape.iter().product())
    }

    /// Reads the next `n` values as `f32`.
    fn read_floats(&self, source: &mut impl Read, n: usize) -> Result<Vec<f32>, FileError> {
        let NumberKind::Float { bytes, big_endian } = self.kind else {
            return Err(FileError::tensor(&self.name, "has texts where numbers belong"));
        };
        let mut values = Vec::new();
        let full = |_| FileError::tensor(&self.name, format!("has {n} values, more than fit in memory"));
        values.try_reserve_exact(n).map_err(full)?;
        self.for_each_item(source, n, bytes, |item| values.push(float(item, big_endian)))?;
        Ok(values)
    }

    /// Reads a list of texts.
    pub(super) fn read_texts(&self, source: &mut impl Read) -> Result<Vec<String>, FileError> {
        let n = match self.shape[..] {
            // `np.array("partial")` has no axis.
            [] => 1,
            [n] | [1, n] => n,
            _ => return Err(FileError::tensor(&self.name, "is not a list of texts")),
        };
        foreign::check_n_tokens(n)?;
        let mut texts = Vec::new();
        let kind = self.kind;
        if matches!(kind, NumberKind::Float { .. }) {
            return Err(FileError::tensor(&self.name, "has numbers where texts belong"));
        }
        self.for_each_item(source, n, kind.bytes(), |item| texts.push(kind.text(item)))?;
        Ok(texts)
    }

    /// Reads `n` items of `bytes` bytes each.
    fn for_each_item(
        &self,
        source: &mut impl Read,
        n: usize,
        bytes: usize,
        mut take: impl FnMut(&[u8]),
    ) -> Result<(), FileError> {
        if bytes == 0 {
            for _ in 0..n {
                take(&[]);
            }
            return Ok(());
        }
        let per_chunk = (CHUNK / bytes).max(1);
        let mut buffer = vec![0u8; per_chunk.min(n) * bytes];
        let mut left = n;
        while left > 0 {
            let chunk = &mut buffer[..left.min(per_chunk) * bytes];
            source.read_exact(chunk).map_err(|error| match error.kind() {
                std::io::ErrorKind::UnexpectedEof => FileError::tensor(&self.name, "is cut short"),
                _ => FileError::Io(error),
            })?;
            chunk.chunks_exact(bytes).for_each(&mut take);
            left -= chunk.len() / bytes;
        }
        Ok(())
    }
}

impl NumberKind {
    /// What a type such as `<f4` means; otherwise what is wrong with it.
    fn of(descr: &str) -> Result<Self, String> {
        let (order, rest) = descr.split_at_checked(1).unwrap_or(("", ""));
        let (letter, size) = rest.split_at_checked(1).unwrap_or(("", ""));
        let big_endian = order == ">";
        match (order, letter, size.parse::<usize>()) {
            ("<" | ">" | "=", "f", Ok(bytes @ (2 | 4 | 8))) => Ok(Self::Float { bytes, big_endian }),
            ("<" | ">" | "=", "U", Ok(chars @ ..=MAX_TEXT)) => Ok(Self::Text { chars, big_endian }),
            ("|", "S", Ok(bytes @ ..=MAX_TEXT)) => Ok(Self::Bytes(bytes)),
            (_, "O", _) => Err("holds Python objects (a pickle), which can run code and are not read; \
                                save one array per layer, and tokens as np.array(tokens)"
                .to_owned()),
            _ => {
                let descr: String = descr.chars().take(16).collect();
                Err(format!("has the type {descr}; save it as float32"))
            }
        }
    }

    /// Bytes of one item.
    const fn bytes(self) -> usize {
        match self {
            Self::Float { bytes, .. } | Self::Bytes(bytes) => bytes,
            Self::Text { chars, .. } => chars * 4,
        }
    }

    fn text(self, item: &[u8]) -> String {
        match self {
            Self::Text { big_endian, .. } => {
                let code = |b: &[u8; 4]| if big_endian { u32::from_be_bytes(*b) } else { u32::from_le_bytes(*b) };
                let codes = item.as_chunks::<4>().0.iter().map(code);
                let text: String =
                    codes.map(|code| char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)).collect();
                text.trim_end_matches('\0').to_owned()
            }
            _ => String::from_utf8_lossy(item).trim_end_matches('\0').to_owned(),
        }
    }
}

/// The longest text of a list of tokens.
const MAX_TEXT: usize = 4096;

/// One number of two, four or eight bytes.
fn float(item: &[u8], big_endian: bool) -> f32 {
    match (item, big_endian) {
        (&[a, b], false) => f16::from_le_bytes([a, b]).to_f32(),
        (&[a, b], true) => f16::from_be_bytes([a, b]).to_f32(),
        (&[a, b, c, d], false) => f32::from_le_bytes([a, b, c, d]),
        (&[a, b, c, d], true) => f32::from_be_bytes([a, b, c, d]),
        (&[a, b, c, d, e, f, g, h], false) => f64::from_le_bytes([a, b, c, d, e, f, g, h]) as f32,
        (&[a, b, c, d, e, f, g, h], true) => f64::from_be_bytes([a, b, c, d, e, f, g, h]) as f32,
        _ => f32::NAN,
    }
}

/// What stands after `'key':` in the header.
fn field<'a>(header: &'a str, key: &str) -> Option<&'a str> {
    let (_, rest) = header.split_once(&format!("'{key}':"))?;
    Some(rest.trim_start())
}

/// The type of the values; `None` for records, whose type is a list.
fn text_of(header: &str) -> Option<&str> {
    let rest = field(header, "descr")?.strip_prefix('\'')?;
    rest.split_once('\'').map(|(descr, _)| descr)
}

fn shape_of(header: &str) -> Option<Vec<usize>> {
    let (inside, _) = field(header, "shape")?.strip_prefix('(')?.split_once(')')?;
    let axes = inside.split(',').map(str::trim).filter(|axis| !axis.is_empty());
    axes.map(|axis| axis.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_read_as_numpy_writes_them() {
        let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }   \n";
        assert_eq!((text_of(header), shape_of(header)), (Some("<f4"), Some(vec![2, 3])));
        assert_eq!(shape_of("{'shape': (5,), }"), Some(vec![5]));
        assert_eq!(shape_of("{'shape': (), }"), Some(vec![]));
        for wrong in ["{'shape': (-1,), }", "{'shape': (1", "{'shape': [1], }", ""] {
            assert_eq!(shape_of(wrong), None, "{wrong}");
        }
        assert_eq!(text_of("{'descr': [('a', '<f4')], 'shape': (1,)}"), None);
    }

    #[test]
    fn types_are_numbers_or_texts() {
        assert_eq!(NumberKind::of(">f8"), Ok(NumberKind::Float { bytes: 8, big_endian: true }));
        assert_eq!(NumberKind::of("<U12").map(NumberKind::bytes), Ok(48));
        assert_eq!(NumberKind::of("|S3"), Ok(NumberKind::Bytes(3)));
        assert!(NumberKind::of("|O").is_err_and(|problem| problem.contains("pickle")));
        for wrong in ["<i8", "<f3", "<U99999999999999999999", "<U4000000000", "", "<", "é", "|V2"] {
            assert!(NumberKind::of(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn numbers_of_every_width_and_order() {
        assert_eq!(float(&0.25f32.to_be_bytes(), true), 0.25);
        assert_eq!(float(&0.1f64.to_le_bytes(), false), 0.1);
        assert_eq!(float(&[0x00, 0x38], false), 0.5);
        assert_eq!(float(&[0x38, 0x00], true), 0.5);
    }
}
