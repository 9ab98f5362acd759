//! The last step: this minus that.

use std::{collections::BTreeSet, ops::Range, sync::Arc};

use super::{
    LeftOut, ReadPattern, Refusal, RowMass, Whose,
    align::{self, Alignment, How},
};
use crate::{
    capture::{Capture, Matrix},
    ids::{Side, StackKind},
};

/// Where the tokens of one pattern lie in another.
pub(super) struct Maps {
    pub queries: Map,
    pub keys: Map,
}

/// Where the tokens of one sequence lie in another.
pub(super) enum Map {
    Same,
    /// Another text: rows and columns are aligned by what they are called, so that words meet words.
    Texts(Alignment),
    /// Another picture with the same grid.
    Patches(Alignment),
}

impl Map {
    /// Where a set of positions lies in the other sequence.
    pub(super) fn carry(&self, positions: &BTreeSet<usize>) -> BTreeSet<usize> {
        match self {
            Self::Same => positions.clone(),
            Self::Texts(alignment) | Self::Patches(alignment) => alignment.carry(positions),
        }
    }
}

/// How two stacks fit together.
///
/// # Errors
/// When their queries or their keys are different things.
pub(super) fn maps(this: (&Capture, StackKind), other: (&Capture, StackKind), of: Whose) -> Result<Maps, Refusal> {
    let side = |axis: &'static str, side: fn(StackKind) -> Side| -> Result<Map, Refusal> {
        let (this_side, other_side) = (side(this.1), side(other.1));
        if of == Whose::This {
            let different = Refusal::DifferentSides { this: this.1, other: other.1, axis };
            return if this_side == other_side { Ok(Map::Same) } else { Err(different) };
        }
        let (this, other) = ((this.0, this_side), (other.0, other_side));
        let Some(alignment) = align::align(this, other) else { return Err(Refusal::TextAgainstPicture { axis }) };
        match (align::picture(this), align::picture(other)) {
            (Some(a), Some(b)) if alignment.how == How::NearestPlace && (&a.regions, &b.regions) != (&None, &None) => {
                Err(Refusal::DifferentRegions)
            }
            (Some(a), Some(b)) if alignment.how == How::NearestPlace => {
                Err(Refusal::DifferentGrids { this: a.grid, other: b.grid })
            }
            (Some(_), _) => Ok(Map::Patches(alignment)),
            _ if alignment.n_matched() == 0 => Err(Refusal::NothingInCommon { axis }),
            _ => Ok(Map::Texts(alignment)),
        }
    };
    Ok(Maps {
        queries: side("queries", |stack: StackKind| stack.query_side())?,
        keys: side("keys", |stack: StackKind| stack.key_side())?,
    })
}

/// `this − other`, with the rows and columns of `this`; those without a counterpart are blank.
///
/// # Errors
/// When no row or no column has a counterpart, or one of them is effective and the other a distribution.
pub(super) fn subtract(mut this: ReadPattern, other: &ReadPattern, maps: &Maps) -> Result<ReadPattern, Refusal> {
    if this.effective != other.effective {
        return Err(Refusal::TwoKinds);
    }
    let rows = counterparts(&maps.queries, &this.rows, &other.rows);
    let cols = counterparts(&maps.keys, &this.cols, &other.cols);
    for (map, axis) in [(&rows, "queries"), (&cols, "keys")] {
        if map.iter().flatten().next().is_none() {
            return Err(Refusal::NothingInCommon { axis });
        }
    }
    let n_cols = this.cols.len();
    let mut met = vec![false; other.cols.len()];
    cols.iter().flatten().for_each(|&col| met[col] = true);
    let mut values = this.matrix.as_slice().to_vec();
    let mut minus_mass = Vec::with_capacity(rows.len());
    for (row, line) in values.chunks_exact_mut(n_cols.max(1)).enumerate() {
        let theirs = rows[row].and_then(|at| Some((at, other.matrix.row(at)?)));
        let Some((at, theirs)) = theirs else {
            this.mass[row].unmatched = sum(line.iter());
            line.fill(0.0);
            minus_mass.push(RowMass::default());
            continue;
        };
        for (col, value) in line.iter_mut().enumerate() {
            match cols[col] {
                Some(col) => *value -= theirs[col],
                None => this.mass[row].unmatched += f64::from(std::mem::take(value)),
            }
        }
        let alone = theirs.iter().zip(&met).filter(|(_, met)| !**met).map(|(value, _)| value);
        minus_mass.push(RowMass { unmatched: sum(alone), ..other.mass[at] });
        // A cell that either may see is a difference.
        let seen = (0..n_cols).filter(|&col| cols[col].is_some_and(|col| other.sees(at, col)));
        for col in seen {
            let Range { start, end } = this.visible[row];
            this.visible[row] = if start < end { start.min(col)..end.max(col + 1) } else { col..col + 1 };
        }
    }
    let (this_rows, this_cols) = (Arc::make_mut(&mut this.rows), Arc::make_mut(&mut this.cols));
    let groups = this_rows.groups.iter_mut().zip(&rows).chain(this_cols.groups.iter_mut().zip(&cols));
    for (group, counterpart) in groups {
        if counterpart.is_none() {
            group.left_out = group.left_out.or(Some(LeftOut::Unmatched));
        }
    }
    let shape = this.matrix.shape();
    this.matrix = Matrix::new(values, shape).unwrap_or(this.matrix);
    this.minus_mass = minus_mass;
    this.signed = true;
    this.shared = false;
    Ok(this.measured())
}

fn sum<'a>(values: impl Iterator<Item = &'a f32>) -> f64 {
    values.map(|&value| f64::from(value)).sum()
}

/// For each row or column the one of the other pattern that it is compared with.
fn counterparts(map: &Map, this: &super::Axis, other: &super::Axis) -> Vec<Option<usize>> {
    let of_tokens = |axis: &super::Axis| axis.groups[..axis.n_of_tokens()].to_vec();
    let mut places: Vec<Option<usize>> = match map {
        Map::Same => (0..this.n_of_tokens()).map(Some).collect(),
        Map::Texts(_) => {
            let texts = |axis| of_tokens(axis).into_iter().map(|group| group.text).collect::<Vec<_>>();
            let alignment = align::align_texts(&texts(this), &texts(other));
            (0..this.n_of_tokens()).map(|at| alignment.to_other(at)).collect()
        }
        Map::Patches(alignment) => {
            let place = |group: super::AxisGroup| other.group_of(alignment.to_other(group.positions.start)?);
            of_tokens(this).into_iter().map(place).collect()
        }
    };
    // What is no key meets its like.
    let like = |kind| other.rest().iter().position(|of| of == kind).map(|at| other.n_of_tokens() + at);
    places.extend(this.rest().iter().map(like));
    places
}
