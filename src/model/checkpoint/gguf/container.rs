//! The container of llama.cpp's models: metadata by key, and where each tensor lies.
//!
//! Nothing in a file is trusted: every count and length is checked against what is left of the file before anything of
//! that size is reserved, so that reading takes no more memory than the file is long.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{BufReader, Read},
};

use super::{
    meta::{MetaNumbers, MetaTexts, MetaValue, NumberKind},
    types::NumberType,
};
use crate::tensor_file::{is_presentable, shown};

/// The first four bytes of every file.
pub(crate) const MAGIC: &[u8; 4] = b"GGUF";
/// Metadata and directory above this size are refused; those of the largest public models are some 20 MB.
const MAX_HEADER_BYTES: u64 = 256 << 20;
/// More keys and tensors than any model has.
const MAX_KEYS: u64 = 1 << 16;
const MAX_TENSORS: u64 = 1 << 20;
/// As many dimensions as `ggml.h` allows.
const MAX_DIMS: u32 = 4;
/// Where tensors may begin, unless the file says otherwise.
const DEFAULT_ALIGNMENT: u64 = 32;
const ALIGNMENT_KEY: &str = "general.alignment";
/// What files call texts and arrays among the kinds of values.
const TEXT: u32 = 8;
const ARRAY: u32 = 9;

/// What a file says of itself.
#[derive(Clone, Debug)]
pub(crate) struct Container {
    pub metadata: BTreeMap<String, MetaValue>,
    /// In the order of the file.
    pub tensors: Vec<StoredTensor>,
}

/// One tensor as declared. Checked: its bytes lie in the file and belong to no other, and its rows are whole blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoredTensor {
    pub name: String,
    /// The last dimension is that of neighbours, the other way round than in the file.
    pub shape: Vec<usize>,
    pub kind: NumberType,
    /// First byte, from the start of the file.
    pub start: u64,
    pub n_bytes: u64,
    /// Number of the file of the model that it lies in.
    pub part: usize,
}

impl Container {
    /// Reads what stands before the tensors of a file of `file_len` bytes.
    ///
    /// # Errors
    /// One clause that says what is wrong with the file.
    pub fn read(file: &mut dyn Read, file_len: u64) -> Result<Self, String> {
        let mut source = HeaderBytes { file: BufReader::new(file), at: 0, file_len };
        if source.array()? != *MAGIC {
            return Err("it does not begin as GGUF files do".to_owned());
        }
        match source.u32()? {
            2 | 3 => {}
            1 => return Err("it is of version 1 of the format, from August 2023, which is no longer read".to_owned()),
            version if version.trailing_zeros() >= 16 => {
                return Err("it is for computers with the other order of bytes (big-endian)".to_owned());
            }
            version => return Err(format!("it is of version {version} of the format; 2 and 3 are read")),
        }
        let (n_tensors, n_keys) = (source.u64()?, source.u64()?);
        // A key takes 13 bytes at least, and a tensor 28.
        if n_keys > MAX_KEYS.min(source.left() / 13) {
            return Err(format!("it claims {n_keys} keys"));
        }
        if n_tensors > MAX_TENSORS.min(source.left() / 28) {
            return Err(format!("it claims {n_tensors} tensors"));
        }
        let mut metadata = BTreeMap::new();
        for _ in 0..n_keys {
            let key = source.name("a key")?;
            let value = source.value().map_err(|problem| about(&format!("key {}", shown(&key)), problem))?;
            if metadata.contains_key(&key) {
                return Err(format!("key {} is given twice", shown(&key)));
            }
            metadata.insert(key, value);
        }
        let alignment = alignment(&metadata)?;
        let declared: Vec<_> = (0..n_tensors).map(|_| Declaration::read(&mut source)).collect::<Result<_, _>>()?;
        let data_start = source.at.next_multiple_of(alignment);
        let placed = |declared: Declaration| {
            let name = shown(&declared.name);
            declared.placed(data_start, alignment, file_len).map_err(|problem| format!("tensor {name} {problem}"))
        };
        let tensors = declared.into_iter().map(placed).collect::<Result<Vec<_>, _>>()?;
        check_apart(&tensors)?;
        Ok(Self { metadata, tensors })
    }
}

/// Where tensors may begin: at multiples of this.
fn alignment(metadata: &BTreeMap<String, MetaValue>) -> Result<u64, String> {
    let Some(value) = metadata.get(ALIGNMENT_KEY) else { return Ok(DEFAULT_ALIGNMENT) };
    let alignment = value.as_u64().filter(|alignment| alignment.is_power_of_two() && *alignment <= 1 << 20);
    alignment.ok_or_else(|| format!("its {ALIGNMENT_KEY} is no power of two"))
}

/// A tensor of the directory.
struct Declaration {
    name: String,
    shape: Vec<usize>,
    kind: NumberType,
    /// After the start of all values.
    offset: u64,
}

impl Declaration {
    fn read(source: &mut HeaderBytes<'_>) -> Result<Self, String> {
        let name = source.name("a tensor")?;
        let of_this = |problem: String| format!("tensor {} {problem}", shown(&name));
        let n_dims = source.u32()?;
        if n_dims > MAX_DIMS {
            return Err(of_this(format!("has {n_dims} dimensions")));
        }
        let mut shape = Vec::new();
        for _ in 0..n_dims {
            let dim = source.u64()?;
            shape.push(usize::try_from(dim).map_err(|_| of_this(format!("has a dimension of {dim}")))?);
        }
        shape.reverse();
        let id = source.u32()?;
        let kind = NumberType::from_id(id)
            .ok_or_else(|| of_this(format!("has numbers of the kind {id}, which is unknown")))?;
        Ok(Self { name, shape, kind, offset: source.u64()? })
    }

    fn placed(self, data_start: u64, alignment: u64, file_len: u64) -> Result<StoredTensor, String> {
        let Self { name, shape, kind, offset } = self;
        let n_values = shape.iter().try_fold(1u64, |n, &dim| n.checked_mul(dim as u64));
        let n_values = n_values.ok_or_else(|| format!("has the shape {shape:?}"))?;
        let width = shape.last().map_or(1, |width| *width as u64);
        if !width.is_multiple_of(kind.block_len) {
            return Err(format!("has rows of {width} in blocks of {} ({})", kind.block_len, kind.name));
        }
        let n_bytes = kind.bytes_of(n_values).ok_or_else(|| format!("has the shape {shape:?}"))?;
        let end = offset.checked_add(n_bytes).and_then(|end| end.checked_add(data_start));
        if end.is_none_or(|end| end > file_len) {
            return Err(format!("takes {n_bytes} bytes from {offset} on, but the file ends before"));
        }
        if !offset.is_multiple_of(alignment) {
            return Err(format!("begins at {offset}, which is no multiple of {alignment}"));
        }
        Ok(StoredTensor { name, shape, kind, start: data_start + offset, n_bytes, part: 0 })
    }
}

/// Refuses names given twice, and tensors that share bytes.
fn check_apart(tensors: &[StoredTensor]) -> Result<(), String> {
    let mut names = BTreeSet::new();
    if let Some(twice) = tensors.iter().find(|tensor| !names.insert(&tensor.name)) {
        return Err(format!("tensor {} is given twice", twice.name));
    }
    let mut by_start: Vec<_> = tensors.iter().filter(|tensor| tensor.n_bytes > 0).collect();
    by_start.sort_by_key(|tensor| tensor.start);
    match by_start.windows(2).find(|pair| pair[0].start + pair[0].n_bytes > pair[1].start) {
        Some(pair) => Err(format!("tensors {} and {} overlap", pair[0].name, pair[1].name)),
        None => Ok(()),
    }
}

/// A problem with its subject, unless it is one of the whole file.
fn about(subject: &str, problem: String) -> String {
    if problem.starts_with("it ") { problem } else { format!("{subject} {problem}") }
}

/// What stands before the tensors, from the start of the file on.
struct HeaderBytes<'a> {
    file: BufReader<&'a mut dyn Read>,
    at: u64,
    file_len: u64,
}

impl HeaderBytes<'_> {
    /// Bytes that may still be read.
    fn left(&self) -> u64 {
        self.file_len.min(MAX_HEADER_BYTES) - self.at
    }

    /// Notes that so many bytes are read next.
    fn advance(&mut self, n: u64) -> Result<usize, String> {
        if n > self.left() {
            return Err(if self.file_len > MAX_HEADER_BYTES {
                format!("it has metadata of more than {} MiB", MAX_HEADER_BYTES >> 20)
            } else {
                "it ends within its metadata".to_owned()
            });
        }
        self.at += n;
        usize::try_from(n).map_err(|error| error.to_string())
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], String> {
        self.advance(N as u64)?;
        let mut bytes = [0; N];
        self.file.read_exact(&mut bytes).map_err(|error| error.to_string())?;
        Ok(bytes)
    }

    fn u32(&mut self) -> Result<u32, String> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Result<u64, String> {
        self.array().map(u64::from_le_bytes)
    }

    fn bytes(&mut self, n: u64) -> Result<Vec<u8>, String> {
        let mut bytes = vec![0; self.advance(n)?];
        self.file.read_exact(&mut bytes).map_err(|error| error.to_string())?;
        Ok(bytes)
    }

    fn text(&mut self) -> Result<String, String> {
        let n = self.u64()?;
        String::from_utf8(self.bytes(n)?).map_err(|_| "has a text that is not UTF-8".to_owned())
    }

    /// A name that can be shown in messages and lists.
    fn name(&mut self, of: &str) -> Result<String, String> {
        let name = self.text().map_err(|problem| about(&format!("the name of {of}"), problem))?;
        if !is_presentable(&name) {
            return Err(format!("the name of {of} has {} bytes or is not text", name.len()));
        }
        Ok(name)
    }

    fn value(&mut self) -> Result<MetaValue, String> {
        match self.u32()? {
            TEXT => self.text().map(MetaValue::Text),
            ARRAY => {
                let (id, n) = (self.u32()?, self.u64()?);
                self.members(id, n)
            }
            id => {
                let kind = NumberKind::from_id(id).ok_or_else(|| format!("has a value of the unknown kind {id}"))?;
                Ok(kind.value(&self.bytes(kind.size_bytes() as u64)?))
            }
        }
    }

    /// An array of `n` members.
    fn members(&mut self, id: u32, n: u64) -> Result<MetaValue, String> {
        if id == ARRAY {
            return Err("has an array of arrays".to_owned());
        }
        let too_long = || format!("has an array of {n} members, for which the file is too short");
        if id == TEXT {
            let mut texts = MetaTexts::default();
            // The length of a text takes eight bytes.
            if n > self.left() / 8 {
                return Err(too_long());
            }
            for _ in 0..n {
                texts.push(&self.text()?);
            }
            return Ok(MetaValue::Texts(texts));
        }
        let kind = NumberKind::from_id(id).ok_or_else(|| format!("has an array of the unknown kind {id}"))?;
        let n_bytes = n.checked_mul(kind.size_bytes() as u64).filter(|n_bytes| *n_bytes <= self.left());
        let bytes = self.bytes(n_bytes.ok_or_else(too_long)?)?;
        Ok(MetaValue::Numbers(MetaNumbers::new(kind, bytes)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A key or a name: its length and its bytes.
    fn text(text: &str) -> Vec<u8> {
        [&(text.len() as u64).to_le_bytes()[..], text.as_bytes()].concat()
    }

    fn u32s(values: &[u32]) -> Vec<u8> {
        values.iter().flat_map(|value| value.to_le_bytes()).collect()
    }

    fn u64s(values: &[u64]) -> Vec<u8> {
        values.iter().flat_map(|value| value.to_le_bytes()).collect()
    }

    fn header(version: u32, n_tensors: u64, n_keys: u64) -> Vec<u8> {
        [&MAGIC[..], &u32s(&[version]), &u64s(&[n_tensors, n_keys])].concat()
    }

    /// A file with these keys, each as its kind and bytes, and tensors, each as its dimensions, kind and offset.
    fn file(keys: &[(&str, u32, Vec<u8>)], tensors: &[(&str, &[u64], u32, u64)], n_bytes: usize) -> Vec<u8> {
        let mut file = header(3, tensors.len() as u64, keys.len() as u64);
        for (key, kind, value) in keys {
            file.extend([text(key), u32s(&[*kind]), value.clone()].concat());
        }
        for (name, dims, kind, offset) in tensors {
            file.extend(
                [text(name), u32s(&[dims.len() as u32]), u64s(dims), u32s(&[*kind]), u64s(&[*offset])].concat(),
            );
        }
        file.resize(file.len().next_multiple_of(32) + n_bytes, 0);
        file
    }

    fn read(file: &[u8]) -> Result<Container, String> {
        Container::read(&mut &*file, file.len() as u64)
    }

    #[test]
    fn keys_arrays_and_tensors_are_read() {
        let texts = [u32s(&[TEXT]), u64s(&[3]), text("a"), text(""), text("ĝ")].concat();
        let keys = [
            ("small", 1, vec![0xfe]),
            ("large", 10, u64s(&[u64::MAX])),
            ("single", 6, 0.1f32.to_le_bytes().to_vec()),
            ("flag", 7, vec![1]),
            ("name", TEXT, text("Ŝi")),
            ("tokens", ARRAY, texts),
            ("types", ARRAY, [u32s(&[5]), u64s(&[2]), u32s(&[3, u32::MAX])].concat()),
            ("empty", ARRAY, [u32s(&[TEXT]), u64s(&[0])].concat()),
        ];
        let tensors: [(&str, &[u64], u32, u64); 3] =
            [("a.weight", &[64, 2], 8, 0), ("b.weight", &[3], 0, 160), ("none", &[0, 7], 0, 0)];
        let Container { metadata, tensors } = read(&file(&keys, &tensors, 172)).unwrap();
        assert_eq!(metadata["small"], MetaValue::Signed(-2));
        assert_eq!(metadata["large"], MetaValue::Unsigned(u64::MAX));
        assert_eq!(metadata["single"], MetaValue::Float(f64::from(0.1f32)));
        assert_eq!(metadata["flag"].as_bool(), Some(true));
        assert_eq!(metadata["name"].as_str(), Some("Ŝi"));
        let tokens = metadata["tokens"].as_texts().unwrap();
        assert_eq!(tokens.iter().collect::<Vec<_>>(), ["a", "", "ĝ"]);
        let texts: Vec<&str> = tokens.iter().collect();
        assert_eq!((tokens.len(), &texts[1..]), (3, &["", "ĝ"][..]));
        assert_eq!(metadata["types"].as_numbers().unwrap().integers(), Some(vec![3, -1]));
        assert_eq!(metadata["empty"].as_texts().map(MetaTexts::len), Some(0));
        let places: Vec<_> = tensors.iter().map(|tensor| (tensor.shape.clone(), tensor.n_bytes)).collect();
        assert_eq!(places, [(vec![2, 64], 136), (vec![3], 12), (vec![7, 0], 0)]);
        assert_eq!((tensors[0].kind.name, tensors[1].start - tensors[0].start), ("Q8_0", 160));
    }

    #[test]
    fn damage_is_told_in_a_clause() {
        let array = |kind, n| vec![("k", ARRAY, [u32s(&[kind]), u64s(&[n])].concat())];
        let one = |dims: &[u64], kind, offset| file(&[], &[("t", dims, kind, offset)], 64);
        let aligned = |alignment| file(&[(ALIGNMENT_KEY, 4, u32s(&[alignment]))], &[], 0);
        let cases = [
            (b"GGML\0\0\0\0".to_vec(), "it does not begin as GGUF files do"),
            (header(1, 0, 0), "version 1"),
            (header(4, 0, 0), "version 4"),
            (header(3 << 24, 0, 0), "big-endian"),
            (header(3, 0, u64::MAX), "it claims 18446744073709551615 keys"),
            (header(3, u64::MAX, 0), "it claims 18446744073709551615 tensors"),
            (header(3, 0, 0)[..20].to_vec(), "it ends within its metadata"),
            ([header(3, 0, 1), u64s(&[4 << 30, 0])].concat(), "it ends within its metadata"),
            (file(&[("k", TEXT, u64s(&[4 << 30]))], &[], 0), "it ends within its metadata"),
            (file(&[("k", TEXT, [u64s(&[1]), vec![0xff]].concat())], &[], 0), "key k has a text that is not UTF-8"),
            (file(&[("k", 13, vec![])], &[], 0), "key k has a value of the unknown kind 13"),
            (file(&array(ARRAY, 1), &[], 0), "key k has an array of arrays"),
            (file(&array(13, 1), &[], 0), "key k has an array of the unknown kind 13"),
            (file(&array(TEXT, 1 << 60), &[], 0), "for which the file is too short"),
            (file(&array(10, u64::MAX / 4), &[], 0), "for which the file is too short"),
            (file(&[("k", 0, vec![1]), ("k", 0, vec![1])], &[], 0), "key k is given twice"),
            (file(&[("a\nb", 0, vec![1])], &[], 0), "the name of a key has 3 bytes or is not text"),
            (file(&[], &[(&"n".repeat(300), &[1], 0, 0)], 4), "the name of a tensor has 300 bytes or is not text"),
            (aligned(0), "its general.alignment is no power of two"),
            (aligned(48), "its general.alignment is no power of two"),
            (one(&[1, 1, 1, 1, 1], 0, 0), "tensor t has 5 dimensions"),
            (one(&[1 << 40, 1 << 40], 0, 0), "tensor t has the shape"),
            (one(&[1], 4, 0), "tensor t has numbers of the kind 4, which is unknown"),
            (one(&[16, 2], 8, 0), "tensor t has rows of 16 in blocks of 32 (Q8_0)"),
            (one(&[17], 0, 0), "tensor t takes 68 bytes from 0 on, but the file ends before"),
            (one(&[1], 0, u64::MAX - 31), "but the file ends before"),
            (one(&[1], 0, 8), "tensor t begins at 8, which is no multiple of 32"),
            (file(&[], &[("t", &[1], 0, 0), ("t", &[1], 0, 32)], 64), "tensor t is given twice"),
            (file(&[], &[("t", &[9], 0, 0), ("u", &[1], 0, 32)], 64), "tensors t and u overlap"),
        ];
        for (file, expected) in cases {
            let told = read(&file).unwrap_err();
            assert!(told.contains(expected), "{told:?} instead of {expected:?}");
        }
    }
}
