//! What changes do to single rows of scores and patterns: for runs, and for whoever recomputes one.

use super::{Ablation, Cut, Edit, Sparsity};
use crate::{capture::Site, ids::HeadId, random::SplitMix};

impl Edit {
    /// Whether it takes this key from this query of a head, before ([`Site::Scores`]) or after
    /// ([`Site::Pattern`]) the normaliser.
    pub(crate) fn hides(&self, site: Site, head: HeadId, query: usize, key: usize) -> bool {
        match self {
            Self::HideToken { side, position } => {
                site == Site::Scores && head.stack.key_side() == *side && key == *position
            }
            Self::Knockout { stack, scope, edges, cut } => {
                let at = if *cut == Cut::Scores { Site::Scores } else { Site::Pattern };
                site == at && head.stack == *stack && scope.contains(head) && edges.contains(&[query, key])
            }
            Self::Restrict { stack, scope, to } => {
                site == Site::Scores && head.stack == *stack && scope.contains(head) && !to.allows(query, key)
            }
            _ => false,
        }
    }

    /// Whether it may take keys from queries at a site.
    pub(crate) const fn may_hide(&self, site: Site) -> bool {
        match self {
            Self::HideToken { .. } | Self::Restrict { .. } | Self::Knockout { cut: Cut::Scores, .. } => {
                matches!(site, Site::Scores)
            }
            Self::Knockout { cut: Cut::Pattern, .. } => matches!(site, Site::Pattern),
            _ => false,
        }
    }

    /// What it makes of one row of a head's scores or pattern.
    pub(crate) fn apply_to_row(&self, site: Site, head: HeadId, query: usize, row: &mut [f32]) {
        let hidden = if site == Site::Scores { f32::NEG_INFINITY } else { 0.0 };
        let given = match self {
            _ if self.may_hide(site) => {
                for (key, value) in row.iter_mut().enumerate() {
                    if self.hides(site, head, query, key) {
                        *value = hidden;
                    }
                }
                None
            }
            Self::Ablate { head: of, with: Ablation::Uniform } if *of == head && site == Site::Scores => {
                even_out(row);
                None
            }
            Self::Ablate { head: of, with: Ablation::Shuffle { seed } } if *of == head && site == Site::Scores => {
                let old = row.to_vec();
                for (value, from) in row.iter_mut().zip(shuffled(*seed, head, query, &old)) {
                    *value = old[from];
                }
                None
            }
            Self::Sharpen { head: of, by } if *of == head && site == Site::Scores => {
                for score in row.iter_mut() {
                    *score *= by;
                }
                None
            }
            Self::SetPattern { head: of, pattern } if *of == head && site == Site::Pattern => pattern.row(query),
            Self::Patch { site: at, stack, layer, head: of, positions, value }
                if *at == site && (*stack, *layer, *of) == (head.stack, head.layer, Some(head.head)) =>
            {
                positions.iter().rposition(|position| *position == query).and_then(|idx| value.row(idx))
            }
            _ => None,
        };
        if let Some(given) = given.filter(|given| given.len() == row.len()) {
            row.copy_from_slice(given);
        }
    }
}

impl Sparsity {
    /// Whether a query may attend to a key.
    pub const fn allows(self, query: usize, key: usize) -> bool {
        match self {
            Self::Window { reach, dilation, n_global } => {
                let distance = query.abs_diff(key);
                query < n_global
                    || key < n_global
                    || (distance.is_multiple_of(dilation) && distance / dilation <= reach)
            }
            Self::Blocks { size } => query / size == key / size,
        }
    }
}

/// The same score for every key that is not hidden.
pub(crate) fn even_out(row: &mut [f32]) {
    for score in row.iter_mut().filter(|score| score.is_finite()) {
        *score = 0.0;
    }
}

/// Where each value of a row comes from after the keys that are not hidden have changed places (Fisher and
/// Yates); rows and heads are shuffled differently.
pub(crate) fn shuffled(seed: u64, head: HeadId, query: usize, row: &[f32]) -> Vec<usize> {
    let mut from: Vec<usize> = (0..row.len()).collect();
    let visible: Vec<usize> = (0..row.len()).filter(|key| row[*key].is_finite()).collect();
    let place = [head.stack as usize, head.layer, head.head, query];
    let mut state = place.into_iter().fold(seed, |state, number| mix(state ^ number as u64));
    for last in (1..visible.len()).rev() {
        state = mix(state);
        let other = (state % (last as u64 + 1)) as usize;
        from.swap(visible[last], visible[other]);
    }
    from
}

/// A number that has nothing to do with `state` but that it follows from it.
const fn mix(state: u64) -> u64 {
    SplitMix::new(state).next()
}
