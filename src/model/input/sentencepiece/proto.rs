//! Reads a `SentencePiece` model file: just enough of protobuf's wire format, and the few fields
//! that decide how text is cut.
//!
//! Field numbers are those of `sentencepiece_model.proto`. Nothing is allocated because a file says
//! so: every piece is backed by bytes that are there.

/// A model file.
#[derive(Debug, Default)]
pub(super) struct ModelProto {
    pub pieces: Vec<Piece>,
    pub trainer: TrainerSpec,
    pub normalizer: NormalizerSpec,
}

/// An entry of the vocabulary; its place is its id.
#[derive(Debug, Default)]
pub(super) struct Piece {
    pub text: String,
    pub score: f32,
    pub kind: PieceKind,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) enum PieceKind {
    #[default]
    Normal,
    Unknown,
    /// Never found in text, such as `</s>`.
    Control,
    /// Always one piece, and never normalised.
    UserDefined,
    /// Only a step on the way to longer pieces.
    Unused,
    /// Stands for one byte, such as `<0xE2>`.
    Byte,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum ModelType {
    #[default]
    Unigram,
    Bpe,
    /// Words or characters.
    Other,
}

#[derive(Debug, Default)]
pub(super) struct TrainerSpec {
    pub model_type: ModelType,
    pub whitespace_as_suffix: bool,
    pub byte_fallback: bool,
}

#[derive(Debug)]
pub(super) struct NormalizerSpec {
    pub charsmap: Vec<u8>,
    pub add_dummy_prefix: bool,
    pub remove_extra_whitespaces: bool,
    pub escape_whitespaces: bool,
}

impl Default for NormalizerSpec {
    fn default() -> Self {
        Self { charsmap: Vec::new(), add_dummy_prefix: true, remove_extra_whitespaces: true, escape_whitespaces: true }
    }
}

type Result<T> = std::result::Result<T, String>;

/// # Errors
/// A sentence on what is wrong with the file.
pub(super) fn parse(bytes: &[u8]) -> Result<ModelProto> {
    let mut model = ModelProto::default();
    for field in Fields(bytes) {
        match field? {
            (1, Value::Bytes(bytes)) => model.pieces.push(piece(bytes, model.pieces.len())?),
            (2, Value::Bytes(bytes)) => model.trainer = trainer(bytes)?,
            (3, Value::Bytes(bytes)) => model.normalizer = normalizer(bytes)?,
            _ => {}
        }
    }
    Ok(model)
}

fn piece(bytes: &[u8], id: usize) -> Result<Piece> {
    let mut piece = Piece::default();
    for field in Fields(bytes) {
        match field? {
            (1, Value::Bytes(text)) => {
                let text = String::from_utf8(text.to_vec());
                piece.text = text.map_err(|_| format!("piece {id} is not valid UTF-8"))?;
            }
            (2, Value::Fixed32(score)) => piece.score = f32::from_le_bytes(score),
            (3, Value::Varint(kind)) => {
                piece.kind = match kind {
                    1 => PieceKind::Normal,
                    2 => PieceKind::Unknown,
                    3 => PieceKind::Control,
                    4 => PieceKind::UserDefined,
                    5 => PieceKind::Unused,
                    6 => PieceKind::Byte,
                    other => return Err(format!("piece {id} is of the unknown kind {other}")),
                }
            }
            _ => {}
        }
    }
    if piece.text.is_empty() {
        return Err(format!("piece {id} is empty"));
    }
    if !piece.score.is_finite() {
        return Err(format!("the score of piece {id}, “{}”, is not a number", piece.text));
    }
    Ok(piece)
}

fn trainer(bytes: &[u8]) -> Result<TrainerSpec> {
    let mut spec = TrainerSpec::default();
    for field in Fields(bytes) {
        match field? {
            (3, Value::Varint(1)) => spec.model_type = ModelType::Unigram,
            (3, Value::Varint(2)) => spec.model_type = ModelType::Bpe,
            (3, Value::Varint(_)) => spec.model_type = ModelType::Other,
            (24, Value::Varint(flag)) => spec.whitespace_as_suffix = flag != 0,
            (35, Value::Varint(flag)) => spec.byte_fallback = flag != 0,
            _ => {}
        }
    }
    Ok(spec)
}

fn normalizer(bytes: &[u8]) -> Result<NormalizerSpec> {
    let mut spec = NormalizerSpec::default();
    for field in Fields(bytes) {
        match field? {
            (2, Value::Bytes(charsmap)) => spec.charsmap = charsmap.to_vec(),
            (3, Value::Varint(flag)) => spec.add_dummy_prefix = flag != 0,
            (4, Value::Varint(flag)) => spec.remove_extra_whitespaces = flag != 0,
            (5, Value::Varint(flag)) => spec.escape_whitespaces = flag != 0,
            _ => {}
        }
    }
    Ok(spec)
}

/// The fields of one message, in file order.
struct Fields<'a>(&'a [u8]);

enum Value<'a> {
    Varint(u64),
    Bytes(&'a [u8]),
    Fixed32([u8; 4]),
    /// 64-bit numbers; none of the fields read here is one.
    Other,
}

const CUT_SHORT: &str = "it ends in the middle of a value";

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u64, Value<'a>)>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_err() {
            // Nothing after a damaged field can be trusted.
            self.0 = &[];
        }
        Some(field)
    }
}

impl<'a> Fields<'a> {
    fn field(&mut self) -> Result<(u64, Value<'a>)> {
        let tag = self.varint()?;
        let value = match tag & 7 {
            0 => Value::Varint(self.varint()?),
            1 => {
                self.take(8)?;
                Value::Other
            }
            2 => {
                let len = self.varint()?;
                Value::Bytes(self.take(len)?)
            }
            5 => Value::Fixed32(self.take(4)?.try_into().map_err(|_| CUT_SHORT)?),
            _ => return Err("it is not a SentencePiece model".to_owned()),
        };
        Ok((tag >> 3, value))
    }

    fn varint(&mut self) -> Result<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = self.0.split_first().ok_or(CUT_SHORT)?;
            self.0 = rest;
            value |= u64::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err("it is not a SentencePiece model".to_owned())
    }

    fn take(&mut self, len: u64) -> Result<&'a [u8]> {
        let len = usize::try_from(len).map_err(|_| CUT_SHORT)?;
        let (value, rest) = self.0.split_at_checked(len).ok_or(CUT_SHORT)?;
        self.0 = rest;
        Ok(value)
    }
}
