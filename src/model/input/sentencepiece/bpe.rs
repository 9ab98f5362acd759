//! Byte-pair encoding by scores: of all neighbours whose union is a piece, the best union is made
//! first, until there is none.
//!
//! Merge rules are not needed: a union's rank is its piece's score, see `bpe_model.cc` of the
//! `SentencePiece` library.

use std::{
    cmp::Ordering,
    collections::{BinaryHeap, HashMap},
    ops::Range,
};

use super::{PieceFacts, lexicon::Lexicon, proto::PieceKind};

/// A part of the text; merged ones are empty and skipped.
struct Symbol {
    range: Range<usize>,
    prev: Option<usize>,
    next: Option<usize>,
    /// A user-defined symbol is never merged.
    frozen: bool,
}

/// Two neighbours that make a piece.
struct Union {
    score: f32,
    left: usize,
    right: usize,
    /// Tells whether both are still what they were.
    len: usize,
}

impl Ord for Union {
    fn cmp(&self, other: &Self) -> Ordering {
        self.score.total_cmp(&other.score).then(other.left.cmp(&self.left))
    }
}

impl PartialOrd for Union {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Union {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Union {}

/// Where each piece ends, with its id.
pub(super) fn encode(text: &str, lexicon: &Lexicon, kept: &Lexicon, facts: &PieceFacts) -> Vec<(usize, u32)> {
    let mut symbols = symbols(text, kept);
    let mut unions = BinaryHeap::new();
    // How a piece that is only a step on the way came about, in case it is left over.
    let mut halves: HashMap<&str, usize> = HashMap::new();
    let mut propose = |symbols: &[Symbol], unions: &mut BinaryHeap<Union>, left: usize, right: usize| {
        let (first, second) = (&symbols[left], &symbols[right]);
        if first.frozen || second.frozen {
            return;
        }
        let piece = &text[first.range.start..second.range.end];
        let Some(id) = lexicon.get(piece) else { return };
        let (kind, score) = facts.of(id);
        // Adding zero makes the two zeros equal, as they are in C++.
        unions.push(Union { score: score + 0.0, left, right, len: piece.len() });
        if kind == PieceKind::Unused {
            halves.insert(piece, first.range.len());
        }
    };
    for right in 1..symbols.len() {
        propose(&symbols, &mut unions, right - 1, right);
    }
    while let Some(Union { left, right, len, .. }) = unions.pop() {
        let (first, second) = (&symbols[left].range, &symbols[right].range);
        if first.is_empty() || second.is_empty() || first.len() + second.len() != len {
            continue;
        }
        symbols[left].range.end = second.end;
        symbols[left].next = symbols[right].next;
        symbols[right].range = 0..0;
        if let Some(next) = symbols[left].next {
            symbols[next].prev = Some(left);
            propose(&symbols, &mut unions, left, next);
        }
        if let Some(prev) = symbols[left].prev {
            propose(&symbols, &mut unions, prev, left);
        }
    }
    let mut pieces = Vec::new();
    for symbol in symbols.iter().filter(|symbol| !symbol.range.is_empty()) {
        // Halves to look at, the next one last.
        let mut parts = vec![symbol.range.clone()];
        while let Some(part) = parts.pop() {
            let piece = &text[part.clone()];
            let id = lexicon.get(piece).unwrap_or(facts.unknown);
            match halves.get(piece).filter(|_| facts.of(id).0 == PieceKind::Unused) {
                Some(&len) => parts.extend([part.start + len..part.end, part.start..part.start + len]),
                None => pieces.push((part.end, id)),
            }
        }
    }
    pieces
}

/// Characters and user-defined symbols.
fn symbols(text: &str, kept: &Lexicon) -> Vec<Symbol> {
    let mut symbols: Vec<Symbol> = Vec::new();
    let mut start = 0;
    while let Some(c) = text[start..].chars().next() {
        let kept_len = kept.longest(&text[start..]);
        let end = start + kept_len.unwrap_or(c.len_utf8());
        let prev = symbols.len().checked_sub(1);
        let next = (end < text.len()).then_some(symbols.len() + 1);
        symbols.push(Symbol { range: start..end, prev, next, frozen: kept_len.is_some() });
        start = end;
    }
    symbols
}
