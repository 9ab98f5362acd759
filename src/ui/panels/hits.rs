//! Stepping through what a search for a token found.

/// The hit after `pinned`, or before it, around the ends.
pub fn next_hit(hits: &[usize], pinned: Option<usize>, back: bool) -> Option<usize> {
    let (first, last) = (*hits.first()?, *hits.last()?);
    Some(match (pinned, back) {
        (None, false) => first,
        (None, true) => last,
        (Some(pinned), false) => hits.iter().copied().find(|&hit| hit > pinned).unwrap_or(first),
        (Some(pinned), true) => hits.iter().rev().copied().find(|&hit| hit < pinned).unwrap_or(last),
    })
}

/// Which of the hits is pinned, or how many there are.
pub fn hits_text(needle: &str, hits: &[usize], pinned: Option<usize>) -> String {
    let at = pinned.and_then(|pinned| hits.iter().position(|&hit| hit == pinned));
    match (needle.is_empty(), hits.len(), at) {
        (true, ..) => String::new(),
        (false, 0, _) => "none".to_owned(),
        (false, n, None) => format!("{n} found"),
        (false, n, Some(at)) => format!("{} of {n}", at + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_steps_through_its_hits_both_ways_and_around() {
        let hits = [2, 5, 9];
        let step = |pinned, back| next_hit(&hits, pinned, back);
        assert_eq!([step(None, false), step(Some(2), false), step(Some(9), false)], [Some(2), Some(5), Some(2)]);
        assert_eq!([step(None, true), step(Some(5), true), step(Some(2), true)], [Some(9), Some(2), Some(9)]);
        assert_eq!(step(Some(7), false), Some(9), "from between two hits");
        assert_eq!(next_hit(&[], Some(1), false), None);
        assert_eq!(hits_text("a", &hits, Some(5)), "2 of 3");
        assert_eq!(hits_text("a", &hits, Some(6)), "3 found");
    }
}
