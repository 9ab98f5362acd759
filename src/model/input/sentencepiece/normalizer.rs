//! The text that pieces are looked for in: Unicode forms replaced by the model's own rules, spaces
//! written as `▁`, with the way back to the source.
//!
//! Follows `normalizer.cc` of the `SentencePiece` library, rules compiled into a double-array trie
//! included: <https://github.com/google/sentencepiece/blob/v0.2.0/src/normalizer.cc>.

use std::ops::Range;

use super::{
    lexicon::Lexicon,
    proto::{NormalizerSpec, TrainerSpec},
};

#[derive(Debug)]
pub(super) struct Normalizer {
    rules: Rules,
    add_dummy_prefix: bool,
    remove_extra_whitespaces: bool,
    whitespace_as_suffix: bool,
    /// How a space is written: `▁`, in all known models.
    space: &'static str,
}

/// A normalised text.
#[derive(Debug, Default)]
pub(super) struct Normalized {
    pub text: String,
    /// For each byte of `text` the bytes of the source that it comes from.
    spans: Vec<(usize, usize)>,
    /// Where the source ends, without spaces that were cut off.
    end: usize,
}

impl Normalized {
    /// The bytes of the source that a part of `text` comes from, with those that were dropped behind it.
    pub fn source(&self, part: Range<usize>) -> Range<usize> {
        let start = self.spans.get(part.start).map_or(self.end, |span| span.0);
        let next = self.spans.get(part.end).map_or(self.end, |span| span.0);
        let last = self.spans[part].last().map_or(start, |span| span.1);
        start..last.max(next)
    }

    fn push(&mut self, text: &str, span: (usize, usize)) {
        self.text.push_str(text);
        self.spans.resize(self.text.len(), span);
    }
}

impl Normalizer {
    /// # Errors
    /// When the rules are damaged.
    pub fn new(spec: &NormalizerSpec, trainer: &TrainerSpec) -> Result<Self, String> {
        Ok(Self {
            rules: Rules::new(&spec.charsmap)?,
            add_dummy_prefix: spec.add_dummy_prefix,
            remove_extra_whitespaces: spec.remove_extra_whitespaces,
            space: if spec.escape_whitespaces { "▁" } else { " " },
            whitespace_as_suffix: trainer.whitespace_as_suffix,
        })
    }

    /// Whether a text gets a `▁` of its own in front.
    pub const fn adds_prefix(&self) -> bool {
        self.add_dummy_prefix && !self.whitespace_as_suffix
    }

    pub const fn set_prefix(&mut self, add: bool) {
        self.add_dummy_prefix = add;
    }

    /// Normalises `source`, in which `kept` symbols stay as they are.
    pub fn normalize(&self, source: &str, kept: &Lexicon, dummy: bool) -> Normalized {
        let space = self.space;
        let mut out = Normalized::default();
        let mut at = 0;
        if self.remove_extra_whitespaces {
            while let (" ", len) = self.next(&source[at..], kept) {
                at += len;
            }
        }
        if at == source.len() {
            return out;
        }
        let dummy = dummy && self.add_dummy_prefix;
        if dummy && !self.whitespace_as_suffix {
            out.push(space, (at, at));
        }
        let mut after_space = self.remove_extra_whitespaces;
        while at < source.len() {
            let (mut replacement, len) = self.next(&source[at..], kept);
            let span = (at, at + len);
            if after_space {
                replacement = replacement.trim_start_matches(' ');
            }
            for (i, part) in replacement.split(' ').enumerate() {
                if i > 0 {
                    out.push(space, span);
                }
                out.push(part, span);
            }
            if !replacement.is_empty() {
                after_space = self.remove_extra_whitespaces && replacement.ends_with(' ');
            }
            at += len;
        }
        if self.remove_extra_whitespaces {
            let kept_len = out.text.trim_end_matches(space).len();
            out.text.truncate(kept_len);
            at = out.spans.get(kept_len).map_or(at, |span| span.0);
            out.spans.truncate(kept_len);
        }
        if dummy && self.whitespace_as_suffix {
            out.push(space, (at, at));
        }
        out.end = at;
        out
    }

    /// What the beginning of `source` becomes, and how many bytes of it that takes. `source` is not
    /// empty, or nothing is taken.
    fn next<'a>(&'a self, source: &'a str, kept: &Lexicon) -> (&'a str, usize) {
        if let Some(len) = kept.longest(source) {
            return (&source[..len], len);
        }
        self.rules.longest(source).unwrap_or_else(|| {
            let len = source.chars().next().map_or(0, char::len_utf8);
            (&source[..len], len)
        })
    }
}

/// `precompiled_charsmap`: the trie's size in bytes, the trie, and the replacements, each ended by
/// a zero byte.
#[derive(Debug)]
struct Rules {
    trie: Vec<u32>,
    replacements: String,
}

impl Rules {
    fn new(charsmap: &[u8]) -> Result<Self, String> {
        if charsmap.is_empty() {
            return Ok(Self { trie: Vec::new(), replacements: String::new() });
        }
        let damaged = || "its normalisation rules are damaged".to_owned();
        let (size, rest) = charsmap.split_first_chunk().ok_or_else(damaged)?;
        let size = usize::try_from(u32::from_le_bytes(*size)).map_err(|_| damaged())?;
        let (trie, replacements) = rest.split_at_checked(size).ok_or_else(damaged)?;
        let (units, remainder) = trie.as_chunks();
        if !remainder.is_empty() {
            return Err(damaged());
        }
        Ok(Self {
            trie: units.iter().map(|unit| u32::from_le_bytes(*unit)).collect(),
            replacements: std::str::from_utf8(replacements).map_err(|_| damaged())?.to_owned(),
        })
    }

    /// The replacement for the longest beginning of `source` that has one, and its length.
    ///
    /// A trie that points outside itself just finds nothing.
    fn longest(&self, source: &str) -> Option<(&str, usize)> {
        let unit = |at: usize| self.trie.get(at).copied();
        let mut found = None;
        let mut node = offset(unit(0)?);
        for (i, &byte) in source.as_bytes().iter().enumerate() {
            node ^= usize::from(byte);
            match unit(node) {
                Some(unit) if unit & LABEL == u32::from(byte) => {
                    node ^= offset(unit);
                    if unit & HAS_VALUE != 0 {
                        found = self.trie.get(node).map(|value| (value & !IS_VALUE, i + 1));
                    }
                }
                _ => break,
            }
        }
        let (start, len) = found?;
        let replacement = self.replacements.get(start as usize..)?;
        // Rules end between characters; one that does not is damaged.
        let end = replacement.find('\0').unwrap_or(replacement.len());
        source.is_char_boundary(len).then_some((&replacement[..end], len))
    }
}

// A unit of the trie, see `DoubleArrayUnit` in `darts.h`.
const IS_VALUE: u32 = 1 << 31;
const LABEL: u32 = IS_VALUE | 0xFF;
const HAS_VALUE: u32 = 1 << 8;

const fn offset(unit: u32) -> usize {
    ((unit >> 10) << ((unit & (1 << 9)) >> 6)) as usize
}
