//! One alignment from two directions.

use super::Links;

/// How two directions become one alignment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Symmetrize {
    /// Links in both.
    Intersection,
    Union,
    /// The intersection, grown along neighbours in the union whose source *and* target words are both still
    /// without a link. Other programs take neighbours with one word without.
    GrowDiag,
    /// [`Self::GrowDiag`], then links of either direction whose source *and* target words are both without
    /// one: what others call `final-and`.
    #[default]
    GrowDiagFinalAnd,
}

vocabulary! {
    Symmetrize: name;
    Intersection("intersection"),
    Union("union"),
    GrowDiag("grow-diag"),
    GrowDiagFinalAnd("grow-diag-final-and"),
}

/// Puts two directions together; both hold `(source, target)`, so the backward one has been turned round.
pub fn symmetrized(forward: &Links, backward: &Links, way: Symmetrize) -> Links {
    let union: Links = forward.union(backward).copied().collect();
    let mut links: Links = forward.intersection(backward).copied().collect();
    match way {
        Symmetrize::Intersection => return links,
        Symmetrize::Union => return union,
        Symmetrize::GrowDiag | Symmetrize::GrowDiagFinalAnd => {}
    }
    while let Some(link) = union.iter().find(|link| is_free(&links, **link) && has_neighbour(&links, **link)) {
        links.insert(*link);
    }
    if way == Symmetrize::GrowDiagFinalAnd {
        for direction in [forward, backward] {
            for &link in direction {
                if is_free(&links, link) {
                    links.insert(link);
                }
            }
        }
    }
    links
}

/// Whether neither word has a link.
fn is_free(links: &Links, (source, target): (usize, usize)) -> bool {
    !links.iter().any(|&(s, t)| s == source || t == target)
}

/// Whether a link is beside this one, straight or across.
fn has_neighbour(links: &Links, (source, target): (usize, usize)) -> bool {
    links.iter().any(|&(s, t)| s.abs_diff(source) <= 1 && t.abs_diff(target) <= 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worked_example() {
        let (forward, backward) = (Links::from([(0, 0), (1, 1), (2, 1)]), Links::from([(0, 0), (1, 1), (2, 2)]));
        let of = |way| symmetrized(&forward, &backward, way);
        assert_eq!(of(Symmetrize::Intersection), Links::from([(0, 0), (1, 1)]));
        assert_eq!(of(Symmetrize::Union).len(), 4);
        assert_eq!(of(Symmetrize::GrowDiag), Links::from([(0, 0), (1, 1), (2, 2)]));
        assert_eq!(of(Symmetrize::GrowDiagFinalAnd), Links::from([(0, 0), (1, 1), (2, 2)]));
    }

    #[test]
    fn links_far_from_all_others_come_last_and_only_between_free_words() {
        let (forward, backward) = (Links::from([(0, 0), (5, 5), (5, 0)]), Links::from([(0, 0), (6, 5)]));
        let of = |way| symmetrized(&forward, &backward, way);
        assert_eq!(of(Symmetrize::GrowDiag), Links::from([(0, 0)]));
        // The forward direction is asked first, so that the backward link finds its target taken.
        assert_eq!(of(Symmetrize::GrowDiagFinalAnd), Links::from([(0, 0), (5, 5)]));
        assert!(Symmetrize::ALL.iter().all(|way| Symmetrize::from_name(way.name()) == Some(*way)));
    }
}
