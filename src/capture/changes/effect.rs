//! What changes do, as far as it follows from how they are applied: at which sites, and to single rows of scores and
//! patterns, for whoever computes one again.

use super::{
    Edit, Normalizer, Rest,
    kind::{Hides, Intervention, RowChange},
};
use crate::{
    capture::Site,
    ids::{HeadId, StackKind},
    random::SplitMix,
};

impl Edit {
    /// Whether it changes rows of a site in a layer.
    pub(crate) fn touches(&self, at_site: Site, stack: StackKind, layer: usize) -> bool {
        match self.kind().intervention() {
            Intervention::Rows { site, extent, .. } => {
                site == at_site && (extent.touches(stack, layer) || !site.is_of_layer() && extent.has_stack(stack))
            }
            Intervention::Read { .. }
            | Intervention::SeeAll(_)
            | Intervention::Reorder { .. }
            | Intervention::LeaveOutPositions
            | Intervention::LeaveOutAdapter(_)
            | Intervention::Normalize(..)
            | Intervention::AddToMlp { .. } => false,
        }
    }

    /// What it does to rows of a head at a site.
    fn row_change(&self, at_site: Site, head: HeadId) -> Option<RowChange<'_>> {
        match self.kind().intervention() {
            Intervention::Rows { site, extent, change } if site == at_site && extent.contains(head) => Some(change),
            Intervention::Rows { .. }
            | Intervention::Read { .. }
            | Intervention::SeeAll(_)
            | Intervention::Reorder { .. }
            | Intervention::LeaveOutPositions
            | Intervention::LeaveOutAdapter(_)
            | Intervention::Normalize(..)
            | Intervention::AddToMlp { .. } => None,
        }
    }

    /// Which keys it takes from which queries of a head, at [`Site::Scores`] or [`Site::Pattern`].
    pub(crate) fn hides(&self, head: HeadId) -> Option<Box<Hides<'_>>> {
        let change = self.row_change(Site::Scores, head).or_else(|| self.row_change(Site::Pattern, head))?;
        match change {
            RowChange::Hide(hides) => Some(hides),
            RowChange::Add(adds) => Some(Box::new(move |query, key| adds(query, key) == f32::NEG_INFINITY)),
            RowChange::Keep(..)
            | RowChange::Fade(_)
            | RowChange::Even
            | RowChange::Shuffle(_)
            | RowChange::Scale(_)
            | RowChange::Zero
            | RowChange::Column(..)
            | RowChange::Mean
            | RowChange::SetAll(_)
            | RowChange::Set(..)
            | RowChange::Move(..) => None,
        }
    }

    /// What makes the patterns of a head, where it says so.
    pub(crate) fn normalizer_of(&self, head: HeadId) -> Option<Normalizer> {
        match self.kind().intervention() {
            Intervention::Normalize(scope, with) => scope.contains(head).then_some(with),
            Intervention::Rows { .. }
            | Intervention::Read { .. }
            | Intervention::SeeAll(_)
            | Intervention::Reorder { .. }
            | Intervention::LeaveOutPositions
            | Intervention::LeaveOutAdapter(_)
            | Intervention::AddToMlp { .. } => None,
        }
    }

    /// Whether a head's rows of a site need not be what a pass makes of what comes before them.
    pub(crate) fn replaces(&self, site: Site, head: HeadId) -> bool {
        self.row_change(site, head).is_some_and(|change| change.is_free(site))
    }

    /// What it makes of one row of a head's scores or pattern.
    pub(crate) fn apply_to_row(&self, site: Site, head: HeadId, query: usize, row: &mut [f32]) {
        let given = match self.row_change(site, head) {
            Some(RowChange::Hide(hides)) => {
                let hidden = if site == Site::Scores { f32::NEG_INFINITY } else { 0.0 };
                for (_, value) in row.iter_mut().enumerate().filter(|(key, _)| hides(query, *key)) {
                    *value = hidden;
                }
                None
            }
            Some(RowChange::Add(adds)) => {
                row.iter_mut().enumerate().for_each(|(key, score)| *score += adds(query, key));
                None
            }
            Some(RowChange::Keep(keeps, rest)) => {
                keep(row, &keeps(row), rest);
                None
            }
            Some(RowChange::Fade(fades)) => {
                let factors = fades(query, row);
                keep(row, &factors.iter().map(|factor| *factor > 0.0).collect::<Vec<_>>(), Rest::Shared);
                row.iter_mut().zip(factors).for_each(|(weight, factor)| *weight *= factor);
                None
            }
            Some(RowChange::Even) => {
                even_out(row);
                None
            }
            Some(RowChange::Shuffle(seed)) => {
                let old = row.to_vec();
                for (value, from) in row.iter_mut().zip(shuffled(seed, head, query, &old)) {
                    *value = old[from];
                }
                None
            }
            Some(RowChange::Scale(by)) => {
                for value in row.iter_mut() {
                    *value *= by;
                }
                None
            }
            Some(RowChange::SetAll(values)) => values.row(query),
            Some(RowChange::Set(positions, values)) => {
                positions.iter().rposition(|position| *position == query).and_then(|idx| values.row(idx))
            }
            Some(RowChange::Zero | RowChange::Column(..) | RowChange::Mean | RowChange::Move(..)) | None => None,
        };
        if let Some(given) = given.filter(|given| given.len() == row.len()) {
            row.copy_from_slice(given);
        }
    }
}
/// Takes weights from a row; what stays may be scaled up to what the row was.
fn keep(row: &mut [f32], keeps: &[bool], rest: Rest) {
    let before: f32 = row.iter().sum();
    row.iter_mut().zip(keeps).filter(|(_, keeps)| !**keeps).for_each(|(weight, _)| *weight = 0.0);
    let left: f32 = row.iter().sum();
    if rest == Rest::Shared && left > 0.0 {
        for weight in row.iter_mut() {
            *weight *= before / left;
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
