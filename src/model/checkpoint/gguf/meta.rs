//! Metadata of a GGUF file. Arrays take no more memory than in the file: vocabularies are long.

/// The value of one key.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum MetaValue {
    Unsigned(u64),
    Signed(i64),
    Float(f64),
    Bool(bool),
    Text(String),
    Texts(MetaTexts),
    Numbers(MetaNumbers),
}

impl MetaValue {
    /// A whole number that is not negative.
    pub const fn as_u64(&self) -> Option<u64> {
        match self {
            Self::Unsigned(value) => Some(*value),
            Self::Signed(value) if *value >= 0 => Some(value.cast_unsigned()),
            Self::Signed(_) | Self::Float(_) | Self::Bool(_) | Self::Text(_) | Self::Texts(_) | Self::Numbers(_) => {
                None
            }
        }
    }

    /// A number of any kind.
    pub const fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Unsigned(value) => Some(*value as f64),
            Self::Signed(value) => Some(*value as f64),
            Self::Float(value) => Some(*value),
            Self::Bool(_) | Self::Text(_) | Self::Texts(_) | Self::Numbers(_) => None,
        }
    }

    pub const fn as_bool(&self) -> Option<bool> {
        if let Self::Bool(value) = self { Some(*value) } else { None }
    }

    pub const fn as_str(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text.as_str()) } else { None }
    }

    /// An array of texts.
    pub const fn as_texts(&self) -> Option<&MetaTexts> {
        if let Self::Texts(texts) = self { Some(texts) } else { None }
    }

    pub const fn as_numbers(&self) -> Option<&MetaNumbers> {
        if let Self::Numbers(numbers) = self { Some(numbers) } else { None }
    }
}

/// An array of texts, one after the other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct MetaTexts {
    text: String,
    /// Where each ends in `text`.
    ends: Vec<usize>,
}

impl MetaTexts {
    pub(super) fn push(&mut self, text: &str) {
        self.text.push_str(text);
        self.ends.push(self.text.len());
    }

    pub const fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn iter(&self) -> impl Iterator<Item = &str> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        self.ends.iter().zip(starts).map(|(&end, start)| &self.text[start..end])
    }
}

/// How a number of the metadata is stored, little-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NumberKind {
    U8,
    I8,
    U16,
    I16,
    U32,
    I32,
    F32,
    Bool,
    U64,
    I64,
    F64,
}

impl NumberKind {
    /// The kind that files call by this number, if it is one of numbers.
    pub const fn from_id(id: u32) -> Option<Self> {
        Some(match id {
            0 => Self::U8,
            1 => Self::I8,
            2 => Self::U16,
            3 => Self::I16,
            4 => Self::U32,
            5 => Self::I32,
            6 => Self::F32,
            7 => Self::Bool,
            10 => Self::U64,
            11 => Self::I64,
            12 => Self::F64,
            _ => return None,
        })
    }

    pub const fn size_bytes(self) -> usize {
        match self {
            Self::U8 | Self::I8 | Self::Bool => 1,
            Self::U16 | Self::I16 => 2,
            Self::U32 | Self::I32 | Self::F32 => 4,
            Self::U64 | Self::I64 | Self::F64 => 8,
        }
    }

    /// The number in so many bytes; a flag is true where its byte is not zero.
    pub fn value(self, bytes: &[u8]) -> MetaValue {
        let mut wide = [0; 8];
        wide[..bytes.len()].copy_from_slice(bytes);
        let bits = u64::from_le_bytes(wide);
        match self {
            Self::U8 | Self::U16 | Self::U32 | Self::U64 => MetaValue::Unsigned(bits),
            Self::I8 => MetaValue::Signed(i64::from((bits as u8).cast_signed())),
            Self::I16 => MetaValue::Signed(i64::from((bits as u16).cast_signed())),
            Self::I32 => MetaValue::Signed(i64::from((bits as u32).cast_signed())),
            Self::I64 => MetaValue::Signed(bits.cast_signed()),
            Self::F32 => MetaValue::Float(f64::from(f32::from_bits(bits as u32))),
            Self::F64 => MetaValue::Float(f64::from_bits(bits)),
            Self::Bool => MetaValue::Bool(bits != 0),
        }
    }
}

/// An array of numbers or flags, in the bytes of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MetaNumbers {
    kind: NumberKind,
    bytes: Vec<u8>,
}

impl MetaNumbers {
    pub(super) const fn new(kind: NumberKind, bytes: Vec<u8>) -> Self {
        Self { kind, bytes }
    }

    pub const fn len(&self) -> usize {
        self.bytes.len() / self.kind.size_bytes()
    }

    /// Little-endian bytes of all members.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Each member as a single value.
    pub fn values(&self) -> impl Iterator<Item = MetaValue> {
        self.bytes.chunks_exact(self.kind.size_bytes()).map(|bytes| self.kind.value(bytes))
    }

    /// All members as whole numbers, flags as 0 and 1; `None` where one is none.
    pub fn integers(&self) -> Option<Vec<i64>> {
        let integer = |value| match value {
            MetaValue::Unsigned(value) => i64::try_from(value).ok(),
            MetaValue::Signed(value) => Some(value),
            MetaValue::Bool(value) => Some(i64::from(value)),
            MetaValue::Float(_) | MetaValue::Text(_) | MetaValue::Texts(_) | MetaValue::Numbers(_) => None,
        };
        self.values().map(integer).collect()
    }

    /// All members as numbers; `None` for flags.
    pub fn floats(&self) -> Option<Vec<f64>> {
        self.values().map(|value| value.as_f64()).collect()
    }
}
