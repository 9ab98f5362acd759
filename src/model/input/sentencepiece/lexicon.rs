//! Pieces that begin at a place in a text.

use std::ops::Range;

/// Pieces in byte order, so that those with a common beginning lie together.
#[derive(Debug)]
pub(super) struct Lexicon {
    entries: Vec<(Box<str>, u32)>,
    /// Where the entries with a given first byte lie.
    by_first_byte: Vec<Range<usize>>,
}

impl Lexicon {
    /// From pieces and their ids; no piece may be empty.
    pub fn new<'a>(pieces: impl Iterator<Item = (&'a str, u32)>) -> Self {
        let mut entries: Vec<(Box<str>, u32)> = pieces.map(|(text, id)| (text.into(), id)).collect();
        entries.sort_unstable();
        let first = |entry: &(Box<str>, u32)| entry.0.as_bytes().first().copied();
        let by_first_byte = (0..=255)
            .map(|byte| {
                let start = entries.partition_point(|entry| first(entry) < Some(byte));
                start..entries.partition_point(|entry| first(entry) <= Some(byte))
            })
            .collect();
        Self { entries, by_first_byte }
    }

    /// A piece that appears twice.
    pub fn duplicate(&self) -> Option<&str> {
        self.entries.windows(2).find(|pair| pair[0].0 == pair[1].0).map(|pair| &*pair[0].0)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, u32)> {
        self.entries.iter().map(|(text, id)| (&**text, *id))
    }

    pub fn get(&self, piece: &str) -> Option<u32> {
        let found = self.entries.binary_search_by(|entry| (*entry.0).cmp(piece)).ok()?;
        Some(self.entries[found].1)
    }

    /// Lengths in bytes and ids of all pieces that `text` begins with, the shortest first.
    pub fn prefixes(&self, text: &str) -> impl Iterator<Item = (usize, u32)> {
        let bytes = text.as_bytes();
        let mut range = bytes.first().map_or(0..0, |&byte| self.by_first_byte[usize::from(byte)].clone());
        // All entries of `range` share the first `depth` bytes of `text`.
        let mut depth = 1;
        std::iter::from_fn(move || {
            while !range.is_empty() {
                let (entry, id) = &self.entries[range.start];
                let found = (entry.len() == depth).then_some((depth, *id));
                range.start += usize::from(found.is_some());
                let candidates = &self.entries[range.clone()];
                range = match bytes.get(depth) {
                    None => 0..0,
                    byte => {
                        let lower = candidates.partition_point(|entry| entry.0.as_bytes().get(depth) < byte);
                        let upper = candidates.partition_point(|entry| entry.0.as_bytes().get(depth) <= byte);
                        range.start + lower..range.start + upper
                    }
                };
                depth += 1;
                if found.is_some() {
                    return found;
                }
            }
            None
        })
    }

    /// Length of the longest piece that `text` begins with.
    pub fn longest(&self, text: &str) -> Option<usize> {
        self.prefixes(text).last().map(|(len, _)| len)
    }
}
