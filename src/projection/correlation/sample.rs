//! Some pairs of query and key, to be drawn: dot product against distance.

use super::{
    InputSegment,
    pairs::{Distances, Pairs, inner},
};
use crate::projection::{Points, ProjectionError, space::Transform};

/// The golden ratio's fraction: places within equal parts that never fall into step with the length of a row.
const GOLDEN: f64 = 0.618_033_988_749_895;

/// A query and a key that meet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    pub query: u32,
    pub key: u32,
    /// `q·k`, which is what attention is made of; neither scale nor mask.
    pub dot: f32,
    /// `‖q − k‖`.
    pub before: f32,
    /// The same in the joint space.
    pub after: f32,
}

/// At most `most` pairs, spread evenly over all pairs of all inputs; the same ones at every call.
///
/// # Errors
/// [`ProjectionError::Widths`], or a segment beyond the rows.
pub fn sample(
    queries: Points<'_>,
    keys: Points<'_>,
    segments: &[InputSegment],
    transform: &Transform,
    most: usize,
) -> Result<Vec<Pair>, ProjectionError> {
    let pairs = Pairs::new(queries, keys, segments)?;
    let ways = [Distances::new(&pairs, &Transform::identity(queries.width())), Distances::new(&pairs, transform)];
    let (n, wanted) = (pairs.n(), pairs.n().min(most));
    let mut sampled = Vec::with_capacity(wanted);
    // Segments with the number of their first pair.
    let mut firsts = segments.iter().scan(0usize, |next, segment| {
        let first = *next;
        *next += segment.queries.len() * segment.keys.len();
        Some((first, *next, segment))
    });
    let mut current = firsts.next();
    for at in 0..wanted {
        let part = |at: usize| (at as u128 * n as u128 / wanted as u128) as usize;
        let (start, size) = (part(at), part(at + 1) - part(at));
        let number = start + ((at as f64 * GOLDEN).fract() * size as f64) as usize;
        while current.as_ref().is_some_and(|(_, end, _)| number >= *end) {
            current = firsts.next();
        }
        let Some((first, _, segment)) = &current else { break };
        let n_keys = segment.keys.len();
        let (i, j) =
            (segment.queries.start + (number - first) / n_keys, segment.keys.start + (number - first) % n_keys);
        let dot = inner(queries.row(i), keys.row(j));
        let [before, after] =
            [0, 1].map(|way: usize| (ways[way].of_query[i] + ways[way].of_key[j] - 2.0 * dot).max(0.0).sqrt() as f32);
        sampled.push(Pair { query: i as u32, key: j as u32, dot: dot as f32, before, after });
    }
    Ok(sampled)
}
