//! The most probable sequence of pieces.

use super::{PieceFacts, lexicon::Lexicon, proto::PieceKind};

/// What an unknown character costs more than the rarest piece.
const UNKNOWN_PENALTY: f32 = 10.0;

#[derive(Clone, Copy)]
struct Best {
    score: f32,
    start: usize,
    id: u32,
}

/// The best path through `text`: where each piece ends, with its id.
///
/// Scores as `SentencePiece` 0.2.3 adds them, all in `f32`: two cuts of `aaa` have the same
/// probability, and the rounding decides between them. (Up to 0.2.1 sums were compared in `f64`, and
/// user-defined symbols scored -0.1 whatever their length.)
pub(super) fn encode(text: &str, lexicon: &Lexicon, facts: &PieceFacts) -> Vec<(usize, u32)> {
    let mut best: Vec<Option<Best>> = vec![None; text.len() + 1];
    let unknown_score = facts.min_score - UNKNOWN_PENALTY;
    for (start, c) in text.char_indices() {
        let score_here = best[start].map_or(0.0, |best| best.score);
        let mut has_single = false;
        for (len, id) in lexicon.prefixes(&text[start..]) {
            let (kind, score) = facts.of(id);
            let score = match kind {
                PieceKind::Unused => continue,
                // Probabilities have logarithms below zero, so this is better than almost all of them.
                PieceKind::UserDefined => len as f32 * 0.1 - 0.1,
                _ => score,
            };
            let score = score + score_here;
            if best[start + len].is_none_or(|best| score > best.score) {
                best[start + len] = Some(Best { score, start, id });
            }
            has_single |= len == c.len_utf8();
        }
        let end = start + c.len_utf8();
        let score = unknown_score + score_here;
        if !has_single && best[end].is_none_or(|best| score > best.score) {
            best[end] = Some(Best { score, start, id: facts.unknown });
        }
    }
    let mut path = Vec::new();
    let mut end = text.len();
    // Every character can at least be unknown, so there is a way back to the start.
    while let Some(step) = best[end].filter(|_| end > 0) {
        path.push((end, step.id));
        end = step.start;
    }
    path.reverse();
    path
}
