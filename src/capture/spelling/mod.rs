//! What a person reads for a vocabulary entry: `␣the` rather than `Ġthe`, `é¹ é²` for a character
//! whose bytes lie in two tokens.
//!
//! - `list`: the same for tokens of which nothing but a spelling is known, as other programs write them;
//! - `special`: which of those are special.

mod list;
mod special;

use std::fmt::Write as _;

pub(super) use self::{
    list::{TokenStyle, labels_of_list},
    special::is_special,
};

/// How the vocabulary writes its pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PieceStyle {
    /// As they are (`WordPiece`: `##ing`).
    Plain,
    /// One printable character stands for one byte, as in GPT-2.
    ByteLevel,
    /// The same, and the last piece of a word ends in `</w>`, as in CLIP.
    WordEnd,
    /// `▁` stands for a space, `<0xE2>` for a byte (`SentencePiece`).
    Metaspace,
}

/// Ends a word in CLIP's vocabulary.
pub(crate) const WORD_END: &str = "</w>";

impl PieceStyle {
    /// The bytes that `piece` stands for; `None` where the style does not apply to it.
    pub fn bytes(self, piece: &str) -> Option<Vec<u8>> {
        match self {
            Self::Plain => None,
            Self::ByteLevel => piece.chars().map(byte_of).collect(),
            Self::WordEnd => Self::ByteLevel.bytes(piece.strip_suffix(WORD_END).unwrap_or(piece)),
            Self::Metaspace => {
                Some(fallback_byte(piece).map_or_else(|| piece.replace('▁', " ").into_bytes(), |byte| vec![byte]))
            }
        }
    }

    /// What to show for one piece on its own.
    pub fn label(self, piece: &str) -> String {
        match self.bytes(piece) {
            Some(bytes) => label_run(&[bytes]).pop().unwrap_or_default(),
            None => visible(piece),
        }
    }
}

/// One label per piece. Consecutive pieces with bytes are read as one text; `alone` names the others.
pub(crate) fn labels(pieces: &[Option<Vec<u8>>], alone: impl Fn(usize) -> String) -> Vec<String> {
    let mut labels = Vec::with_capacity(pieces.len());
    for run in pieces.chunk_by(|a, b| a.is_some() && b.is_some()) {
        if run[0].is_some() {
            let bytes: Vec<Vec<u8>> = run.iter().flatten().cloned().collect();
            labels.extend(label_run(&bytes));
        } else {
            labels.push(alone(labels.len()));
        }
    }
    labels
}

/// What to show for the pieces of a continuous text, given as bytes. A character that is split over
/// several pieces appears in each of them with a superscript count.
fn label_run(pieces: &[Vec<u8>]) -> Vec<String> {
    let text: Vec<u8> = pieces.concat();
    let mut ends = Vec::with_capacity(pieces.len());
    let mut end = 0;
    for piece in pieces {
        end += piece.len();
        ends.push(end);
    }
    let mut labels = vec![String::new(); pieces.len()];
    // The piece that holds a byte: the first whose end lies behind it. Empty pieces hold none.
    let piece_of = |byte_idx: usize| ends.partition_point(|&end| end <= byte_idx);
    let mut at = 0;
    for chunk in text.utf8_chunks() {
        for c in chunk.valid().chars() {
            let (first, last) = (piece_of(at), piece_of(at + c.len_utf8() - 1));
            for (part, label) in labels[first..=last].iter_mut().enumerate() {
                push_visible(label, c);
                if first != last {
                    label.push(SUPERSCRIPTS[part.min(SUPERSCRIPTS.len() - 1)]);
                }
            }
            at += c.len_utf8();
        }
        for byte in chunk.invalid() {
            write!(labels[piece_of(at)], "⟨{byte:02X}⟩").ok();
            at += 1;
        }
    }
    for label in &mut labels {
        show_lone_joiner(label);
    }
    labels
}

/// A UTF-8 character has at most four bytes, so at most four parts.
const SUPERSCRIPTS: [char; 4] = ['¹', '²', '³', '⁴'];

/// `text` with spaces, line ends and invisible characters made visible.
pub(crate) fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        push_visible(&mut shown, c);
    }
    show_lone_joiner(&mut shown);
    shown
}

fn push_visible(shown: &mut String, c: char) {
    match c {
        ' ' => shown.push('␣'),
        '\n' => shown.push('⏎'),
        '\t' => shown.push('⇥'),
        // Directional marks and embeddings would turn the text around them; the others are invisible.
        '\u{AD}'
        | '\u{200B}'
        | '\u{200C}'
        | '\u{200E}'
        | '\u{200F}'
        | '\u{2028}'..='\u{202E}'
        | '\u{2060}'
        | '\u{2066}'..='\u{2069}'
        | '\u{FEFF}' => {
            write!(shown, "⟨U+{:04X}⟩", u32::from(c)).ok();
        }
        c if c.is_control() => {
            write!(shown, "⟨U+{:04X}⟩", u32::from(c)).ok();
        }
        c => shown.push(c),
    }
}

/// Joiners and variation selectors act on their neighbours; alone they would leave a blank token.
fn show_lone_joiner(shown: &mut String) {
    let mut chars = shown.chars();
    if let (Some(c @ ('\u{200D}' | '\u{FE0E}' | '\u{FE0F}')), None) = (chars.next(), chars.next()) {
        *shown = format!("⟨U+{:04X}⟩", u32::from(c));
    }
}

/// The byte that a character of a byte-level vocabulary stands for: printable Latin-1 is itself,
/// the others follow from U+0100 on in ascending order (`bytes_to_unicode` of GPT-2's `encoder.py`).
fn byte_of(c: char) -> Option<u8> {
    let code = u32::from(c);
    match code {
        0x21..=0x7E | 0xA1..=0xAC | 0xAE..=0xFF => u8::try_from(code).ok(),
        0x100..=0x120 => u8::try_from(code - 0x100).ok(),
        0x121..=0x142 => u8::try_from(code - 0x121 + 0x7F).ok(),
        0x143 => Some(0xAD),
        _ => None,
    }
}

/// The byte of a byte-fallback piece such as `<0xE2>`.
fn fallback_byte(piece: &str) -> Option<u8> {
    let digits = piece.strip_prefix("<0x")?.strip_suffix('>')?;
    if digits.len() == 2 { u8::from_str_radix(digits, 16).ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(pieces: &[&[u8]]) -> Vec<String> {
        label_run(&pieces.iter().map(|piece| piece.to_vec()).collect::<Vec<_>>())
    }

    #[test]
    fn byte_level_pieces_read_as_text() {
        assert_eq!(PieceStyle::ByteLevel.label("Ġthe"), "␣the");
        assert_eq!(PieceStyle::ByteLevel.label("Ċ"), "⏎");
        assert_eq!(PieceStyle::ByteLevel.label("Ã©"), "é");
        assert_eq!(PieceStyle::ByteLevel.label("Ã"), "⟨C3⟩");
        assert_eq!(PieceStyle::WordEnd.label("cafÃ©</w>"), "café");
        assert_eq!(PieceStyle::Metaspace.label("▁the"), "␣the");
        assert_eq!(PieceStyle::Metaspace.label("<0xE2>"), "⟨E2⟩");
        assert_eq!(PieceStyle::Plain.label("##ing"), "##ing");
    }

    #[test]
    fn every_byte_has_one_character() {
        let mut bytes: Vec<u8> = (0..0x200).filter_map(char::from_u32).filter_map(byte_of).collect();
        bytes.sort_unstable();
        assert_eq!(bytes, (0..=255).collect::<Vec<u8>>());
    }

    #[test]
    fn a_split_character_shows_in_each_part() {
        assert_eq!(run(&[b" \xC3", b"\xA9t"]), ["␣é¹", "é²t"]);
        assert_eq!(run(&["🙂".as_bytes().split_at(1).0, "🙂".as_bytes().split_at(1).1]), ["🙂¹", "🙂²"]);
        assert_eq!(run(&[b"a\xC3", b"b"]), ["a⟨C3⟩", "b"]);
        assert_eq!(run(&[b"", b"a"]), ["", "a"]);
    }

    #[test]
    fn invisible_characters_are_named() {
        assert_eq!(visible("\u{202E}x"), "⟨U+202E⟩x");
        assert_eq!(visible("\u{200D}"), "⟨U+200D⟩");
        assert_eq!(visible("👩\u{200D}👧"), "👩\u{200D}👧");
    }
}
