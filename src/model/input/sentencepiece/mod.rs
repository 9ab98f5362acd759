//! Cuts text into pieces as the `SentencePiece` library does, from its own model files.
//!
//! The tokenizers library has the same two models, but not this format, and it differs in rare
//! places: it adds probabilities in `f64`, which breaks ties the other way, looks Unicode rules up by grapheme, and finds byte pieces
//! in the text. A checkpoint that comes with a model file alone was made with `SentencePiece`, so
//! that is what decides. Nothing here knows of model families or of the ids they give to pieces.

mod bpe;
mod lexicon;
mod normalizer;
mod proto;
mod unigram;

use std::ops::Range;

pub(super) use self::proto::PieceKind;
use self::{
    lexicon::Lexicon,
    normalizer::Normalizer,
    proto::{ModelType, Piece},
};

/// A model that was read from a file.
#[derive(Debug)]
pub(super) struct SentencePiece {
    normalizer: Normalizer,
    model_type: ModelType,
    /// Everything that is found in text.
    lexicon: Lexicon,
    /// User-defined symbols, which are never normalised or cut.
    kept: Lexicon,
    facts: PieceFacts,
    /// With byte fallback: the piece of each byte.
    byte_ids: Option<Vec<u32>>,
}

/// What stands in a model file.
#[derive(Debug)]
pub(super) struct PieceFile {
    /// Text and kind of each piece; the place is the id.
    pub pieces: Vec<(String, PieceKind)>,
    /// Compiled rules of normalising; possibly none.
    pub rules: Vec<u8>,
}

/// A piece in a text.
#[derive(Debug)]
pub(super) struct Found {
    pub id: u32,
    /// The normalised text that it covers.
    pub text: String,
    /// Where it stands, in bytes of the source.
    pub span: Range<usize>,
}

/// Kinds and scores by id.
#[derive(Debug)]
struct PieceFacts {
    pieces: Vec<(PieceKind, f32)>,
    unknown: u32,
    min_score: f32,
}

impl PieceFacts {
    /// `id` is one of the lexicon's, or the unknown piece's.
    fn of(&self, id: u32) -> (PieceKind, f32) {
        self.pieces[id as usize]
    }
}

impl SentencePiece {
    /// Reads a model file; with what it is made of.
    ///
    /// # Errors
    /// A sentence on what is wrong with the file.
    pub fn parse(bytes: &[u8]) -> Result<(Self, PieceFile), String> {
        let proto = proto::parse(bytes)?;
        if proto.pieces.is_empty() {
            return Err("it has no pieces, so it is not a SentencePiece model".to_owned());
        }
        if proto.trainer.model_type == ModelType::Other {
            return Err("it cuts text into words or characters; only unigram and BPE models are read".to_owned());
        }
        let all = Lexicon::new(ids_where(&proto.pieces, |_| true));
        if let Some(piece) = all.duplicate() {
            return Err(format!("it contains the piece “{piece}” twice"));
        }
        let unknown: Vec<u32> = ids_where(&proto.pieces, |kind| kind == PieceKind::Unknown).map(|(_, id)| id).collect();
        let [unknown] = unknown[..] else {
            return Err("it does not have exactly one piece for unknown characters".to_owned());
        };
        let byte_ids = proto.trainer.byte_fallback.then(|| byte_ids(&all)).transpose()?;
        let normal = proto.pieces.iter().filter(|piece| piece.kind == PieceKind::Normal).map(|piece| piece.score);
        let facts = PieceFacts {
            unknown,
            min_score: normal.fold(f32::MAX, f32::min),
            pieces: proto.pieces.iter().map(|piece| (piece.kind, piece.score)).collect(),
        };
        let in_text = |kind| matches!(kind, PieceKind::Normal | PieceKind::UserDefined | PieceKind::Unused);
        let model = Self {
            normalizer: Normalizer::new(&proto.normalizer, &proto.trainer)?,
            model_type: proto.trainer.model_type,
            lexicon: Lexicon::new(ids_where(&proto.pieces, in_text)),
            kept: Lexicon::new(ids_where(&proto.pieces, |kind| kind == PieceKind::UserDefined)),
            facts,
            byte_ids,
        };
        let pieces = proto.pieces.into_iter().map(|piece| (piece.text, piece.kind)).collect();
        Ok((model, PieceFile { pieces, rules: proto.normalizer.charsmap }))
    }

    /// The score of a piece, by its place in the file.
    pub fn score(&self, id: u32) -> f32 {
        self.facts.of(id).1
    }

    /// Lowers the scores of all pieces that `condemned` names, so that they are used only where
    /// nothing else fits.
    pub fn penalize(&mut self, condemned: impl Fn(&str) -> bool, penalty: f32) {
        for (text, id) in self.lexicon.iter() {
            if condemned(text) {
                self.facts.pieces[id as usize].1 -= penalty;
            }
        }
    }

    /// Whether a text gets a `▁` of its own in front.
    pub const fn adds_prefix(&self) -> bool {
        self.normalizer.adds_prefix()
    }

    /// Whether a text shall get a `▁` of its own in front.
    pub const fn set_prefix(&mut self, add: bool) {
        self.normalizer.set_prefix(add);
    }

    /// Whether pieces for single bytes stand in for unknown characters.
    pub const fn has_byte_fallback(&self) -> bool {
        self.byte_ids.is_some()
    }

    /// The pieces of `text`. Without `dummy` no `▁` is put in front, whatever the model says.
    pub fn encode(&self, text: &str, dummy: bool) -> Vec<Found> {
        let normalized = self.normalizer.normalize(text, &self.kept, dummy);
        let cut = match self.model_type {
            ModelType::Bpe => bpe::encode(&normalized.text, &self.lexicon, &self.kept, &self.facts),
            _ => unigram::encode(&normalized.text, &self.lexicon, &self.facts),
        };
        let mut pieces: Vec<Found> = Vec::with_capacity(cut.len());
        let mut start = 0;
        for (end, id) in cut {
            let part = &normalized.text[start..end];
            let span = normalized.source(start..end);
            let unknown = id == self.facts.unknown;
            match (&self.byte_ids, pieces.last_mut()) {
                (Some(byte_ids), _) if unknown => pieces.extend(part.bytes().map(|byte| Found {
                    id: byte_ids[usize::from(byte)],
                    text: part.to_owned(),
                    span: span.clone(),
                })),
                // Unknown characters in a row are one token.
                (None, Some(last)) if unknown && last.id == id => {
                    last.text.push_str(part);
                    last.span.end = span.end;
                }
                _ => pieces.push(Found { id, text: part.to_owned(), span }),
            }
            start = end;
        }
        pieces
    }

    /// The piece for characters that the model does not know.
    pub const fn unknown(&self) -> u32 {
        self.facts.unknown
    }

    /// Whether `id` stands for characters that the model does not know.
    pub const fn is_unknown(&self, id: u32) -> bool {
        id == self.facts.unknown
    }
}

fn ids_where(pieces: &[Piece], keep: impl Fn(PieceKind) -> bool) -> impl Iterator<Item = (&str, u32)> {
    (0..).zip(pieces).filter(move |(_, piece)| keep(piece.kind)).map(|(id, piece)| (piece.text.as_str(), id))
}

fn byte_ids(all: &Lexicon) -> Result<Vec<u32>, String> {
    let id = |byte: u8| {
        let piece = format!("<0x{byte:02X}>");
        all.get(&piece).ok_or_else(|| format!("it should have a piece for every byte, and {piece} is missing"))
    };
    (0..=255).map(id).collect()
}
