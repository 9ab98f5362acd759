//! [`ReadPattern`]: a pattern as it is shown, with everything that a view, a tooltip or a file says about it.

use std::{borrow::Cow, ops::Range, sync::Arc};

use super::{Axis, Explained, LeftOut, Marks, Rest, RowMass, Source};
use crate::{
    analysis::attention,
    capture::{Capture, Matrix},
    ids::{HeadId, StackKind},
    text::{norm_text, share_text, weight_text},
};

/// What patterns of heads without a softmax are, in words.
pub const EFFECTIVE: &str = "effective, signed, not a distribution";

/// How weights count that are not the model's own, in words.
pub const BY_VALUE_NORM: &str = "weights × norm of the value (a·‖v‖, rows keep their sum)";

/// A pattern as it is shown. Whoever shows a weight takes it from here.
///
/// Of a long text it may hold only some of its rows, [`Self::here`]; rows are numbered alike in every part.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct ReadPattern {
    /// Where the numbers come from.
    pub source: Source,
    /// The stack whose queries the rows are.
    pub stack: StackKind,
    /// The heads that went into it, before anything was subtracted; none where an explanation is of all layers.
    pub heads: Vec<HeadId>,
    /// `[here, cols]`: weights, differences of weights, or what a method answered, as [`Self::source`] and
    /// [`Self::signed`] say. 0 where a row or column is left out.
    pub matrix: Matrix,
    /// What the rows are: query positions, one by one or by word.
    pub rows: Arc<Axis>,
    /// What the columns are: key positions, one by one or by word. Those left out keep their place.
    pub cols: Arc<Axis>,
    /// The rows whose values are here: all, unless this is a part.
    pub here: Range<usize>,
    /// Per row, also of those that are elsewhere: the columns that some head of it may see. The others are ruled out by the causal mask or by
    /// a sliding window, which is not the same as a weight of 0.
    pub visible: Vec<Range<usize>>,
    /// Columns, in order, that every row may see besides.
    pub everywhere: Vec<usize>,
    /// Whether later keys are ruled out; else what lies behind [`Self::visible`] is outside a window.
    pub causal: bool,
    /// What changes of the run took from it.
    pub marks: Marks,
    /// Per row that is here: where its attention went.
    pub mass: Vec<RowMass>,
    /// The same of what was subtracted; empty when nothing was.
    pub minus_mass: Vec<RowMass>,
    /// Whether the rows are a decoder's and the columns an encoder's.
    pub has_two_sides: bool,
    /// Whether values may be below 0, with 0 in the middle of the scale: differences, effective patterns, and explanations
    /// with a sign.
    pub signed: bool,
    /// Whether it is of heads without a softmax, whose pattern is no distribution.
    pub effective: bool,
    /// The smallest and the largest value that is shown; both 0 when none is. Scales that are to be shared
    /// by several patterns span the ranges of all.
    pub range: (f32, f32),
    /// Whether the matrix is the capture's own storage.
    pub(super) shared: bool,
}

impl ReadPattern {
    /// The values of a row; `None` outside the matrix, and for a row that is not here.
    pub fn row(&self, row: usize) -> Option<&[f32]> {
        self.matrix.row(row.checked_sub(self.here.start)?)
    }

    /// One value; `None` where there is no [`row`](Self::row).
    pub fn value(&self, row: usize, col: usize) -> Option<f32> {
        self.row(row)?.get(col).copied()
    }

    /// Whether some of its rows are elsewhere.
    pub fn is_part(&self) -> bool {
        self.here.len() < self.rows.len()
    }

    /// The value for a query and a key **position**.
    pub fn value_at(&self, query: usize, key: usize) -> Option<f32> {
        self.value(self.rows.group_of(query)?, self.cols.group_of(key)?)
    }

    /// Whether some head of it may see a column from a row.
    pub fn sees(&self, row: usize, col: usize) -> bool {
        self.visible.get(row).is_some_and(|visible| visible.contains(&col))
            || self.everywhere.binary_search(&col).is_ok()
    }

    /// The columns of a row that hold a number, in no order: those that it sees, and those that are no keys.
    pub fn seen_cols(&self, row: usize) -> impl Iterator<Item = usize> + '_ {
        let visible = self.visible.get(row).cloned().unwrap_or_default();
        let near = visible.clone();
        let besides = self.everywhere.iter().copied().filter(move |col| !near.contains(col));
        visible.chain(besides).chain(self.cols.n_of_tokens()..self.cols.len())
    }

    /// What a cell is when it is no weight.
    pub fn blank(&self, row: usize, col: usize) -> Option<Blank> {
        let left_out = |axis: &Axis, at: usize| axis.groups.get(at).and_then(|group| group.left_out);
        if let Some(why) = left_out(&self.rows, row).or_else(|| left_out(&self.cols, col)) {
            return Some(Blank::LeftOut(why));
        }
        let visible = self.visible.get(row)?;
        if self.sees(row, col) || self.cols.rest_at(col).is_some() {
            None
        } else if col >= visible.end && self.causal {
            Some(Blank::Later)
        } else {
            Some(Blank::OutOfWindow)
        }
    }

    /// Columns of `row` by value, largest first, ties in order of position; of a difference by size.
    /// Blank cells and zeros are left out.
    pub fn ranked_cols(&self, row: usize) -> Vec<(usize, f32)> {
        let values = self.row(row).unwrap_or_default().iter().copied().enumerate();
        ranked(values.filter(|&(col, _)| self.blank(row, col).is_none()))
    }

    /// Rows of `col` that are here, in the same order.
    pub fn ranked_rows(&self, col: usize) -> Vec<(usize, f32)> {
        let values = self.here.clone().zip(self.matrix.rows().map(|row| row.get(col).copied().unwrap_or(0.0)));
        ranked(values.filter(|&(row, _)| self.blank(row, col).is_none()))
    }

    /// The `n` cells that rank first among all that are here, as row, column and value. Rows that see a single column
    /// have no choice and are left out.
    pub fn strongest(&self, n: usize) -> Vec<(usize, usize, f32)> {
        let mut best: Vec<(usize, usize, f32)> = Vec::new();
        for row in self.here.clone().filter(|row| self.seen_cols(*row).nth(1).is_some()) {
            for (col, &value) in self.row(row).unwrap_or_default().iter().enumerate() {
                let least = best.get(n.saturating_sub(1)).map_or(0.0, |(.., least)| least.abs());
                if value.abs() > least && self.blank(row, col).is_none() {
                    let at = best.partition_point(|(.., other)| other.abs() >= value.abs());
                    best.insert(at, (row, col, value));
                    best.truncate(n);
                }
            }
        }
        best
    }

    /// One weight per key **position**: a query's row, or without a query the mean of the rows that are shown.
    /// Every piece of a word has the word's weight.
    pub fn by_key(&self, query: Option<usize>) -> Vec<f32> {
        let row: Vec<f32> = if let Some(query) = query {
            self.rows.group_of(query).and_then(|row| self.row(row)).unwrap_or_default().to_vec()
        } else {
            let shown = || self.here.clone().filter(|row| self.rows.groups[*row].left_out.is_none());
            let n = shown().count().max(1) as f64;
            let mean = |col| shown().filter_map(|row| self.value(row, col)).map(f64::from).sum::<f64>() / n;
            (0..self.cols.len()).map(|col| mean(col) as f32).collect()
        };
        let keys = &self.cols.group_of[..self.cols.n_tokens()];
        keys.iter().map(|&col| row.get(col as usize).copied().unwrap_or(0.0)).collect()
    }

    /// The values of its keys alone, `[rows, keys]`.
    pub fn of_keys(&self) -> Matrix {
        let n = self.cols.n_of_tokens();
        let values = || self.matrix.rows().flat_map(|row| &row[..n]).copied().collect::<Vec<_>>();
        let keys = (n < self.matrix.n_cols()).then(|| Matrix::new(values(), [self.matrix.n_rows(), n]).ok());
        keys.flatten().unwrap_or_else(|| self.matrix.clone())
    }

    /// What of all attention went to no key, of the rows that are shown.
    fn rest_mass(&self) -> Vec<(Rest, f64)> {
        let groups = &self.rows.groups[self.here.clone()];
        let shown = || self.matrix.rows().zip(groups).filter(|(_, group)| group.left_out.is_none());
        let sum = |col: usize| shown().filter_map(|(row, _)| row.get(col)).map(|&part| f64::from(part)).sum();
        let first = self.cols.n_of_tokens();
        self.cols.rest().iter().enumerate().map(|(at, kind)| (*kind, sum(first + at))).collect()
    }

    /// One weight per query **position**: a key's column, or without a key the mean of each row.
    pub fn by_query(&self, key: Option<usize>) -> Vec<f32> {
        let col = key.map(|key| self.cols.group_of(key));
        let weight = |row: &[f32]| match col {
            Some(col) => col.and_then(|col| row.get(col)).copied().unwrap_or(0.0),
            None => (row.iter().map(|&weight| f64::from(weight)).sum::<f64>() / row.len().max(1) as f64) as f32,
        };
        let column: Vec<f32> = self.matrix.rows().map(weight).collect();
        let at = |row: u32| column.get((row as usize).checked_sub(self.here.start)?).copied();
        self.rows.group_of.iter().map(|&row| at(row).unwrap_or(0.0)).collect()
    }

    /// Place of a cell's value among the cells of its row that are shown, from 1, and how many they are.
    pub fn rank(&self, row: usize, col: usize) -> Option<(usize, usize)> {
        if self.blank(row, col).is_some() {
            return None;
        }
        let value = self.value(row, col)?;
        let row_values = self.row(row)?.iter().enumerate();
        let shown = row_values.filter(|&(other, _)| self.blank(row, other).is_none());
        let (larger, n) = shown.fold((0, 0), |(larger, n), (_, &other)| (larger + usize::from(other > value), n + 1));
        Some((larger + 1, n))
    }

    /// The score before softmax behind a cell, where it has one: of one head and of two single tokens.
    pub fn score(&self, capture: &Capture, (row, col): (usize, usize)) -> Option<f32> {
        let ([head], false, None) = (self.heads.as_slice(), self.signed, self.explained()) else { return None };
        let only = |axis: &Axis, idx: usize| {
            let positions = axis.groups.get(idx)?.positions.clone();
            (positions.len() == 1).then_some(positions.start)
        };
        attention::score(capture, *head, only(&self.rows, row)?, only(&self.cols, col)?)
    }

    /// Sums of the rows that are shown and here.
    pub fn total_mass(&self) -> RowMass {
        let shown =
            self.mass.iter().zip(&self.rows.groups[self.here.clone()]).filter(|(_, row)| row.left_out.is_none());
        shown.fold(RowMass::default(), |sum, (mass, _)| sum.plus(*mass))
    }

    /// What a method answered, where that stands in place of attention.
    pub const fn explained(&self) -> Option<&Explained> {
        self.source.explained()
    }

    /// Whether something was subtracted.
    pub const fn is_difference(&self) -> bool {
        !self.minus_mass.is_empty()
    }

    /// Whether its numbers are not on the scale of shares, which ends at 1.
    pub const fn has_own_scale(&self) -> bool {
        self.effective || self.explained().is_some()
    }

    /// Whether there is one row for all queries.
    pub fn has_one_row(&self) -> bool {
        self.rows.groups.len() == 1 && self.explained().is_some()
    }

    /// What a value is called in files: no other thing has the same name.
    pub fn value_name(&self) -> Cow<'static, str> {
        match (&self.source, self.signed) {
            (Source::Weights, true) if self.effective && self.is_difference() => "effective_difference".into(),
            (Source::Weights, true) if self.effective => "effective_weight".into(),
            (Source::Weights, false) => "weight".into(),
            (Source::Weights, true) => "difference".into(),
            (Source::ByValueNorm, false) => "weight_by_value_norm".into(),
            (Source::ByValueNorm, true) => "difference_by_value_norm".into(),
            (Source::Explained(explained), _) => {
                format!("{}_{}", explained.method().name, explained.name().replace('.', "_")).into()
            }
        }
    }

    /// What a value is called beside a number.
    pub fn value_label(&self) -> &str {
        match (&self.source, self.signed) {
            (Source::Weights, true) if self.effective && self.is_difference() => "Effective difference",
            (Source::Weights, true) if self.effective => "Effective weight",
            (Source::Weights, false) => "Weight",
            (Source::Weights, true) => "Difference",
            (Source::ByValueNorm, false) => "Weight × ‖v‖",
            (Source::ByValueNorm, true) => "Difference × ‖v‖",
            (Source::Explained(explained), _) => explained.title(),
        }
    }

    /// A value in words: a weight or a difference of weights, or what a method found.
    pub fn value_text(&self, value: f32) -> String {
        if self.has_own_scale() { norm_text(value) } else { weight_text(value) }
    }

    /// What is not shown as the model computed it, in words; `None` when everything is.
    pub fn hidden_text(&self) -> Option<String> {
        Self::hidden_text_of(&std::iter::once(self))
    }

    /// The same of several patterns that are read alike, as one.
    pub fn hidden_text_of<'a>(patterns: &(impl Iterator<Item = &'a Self> + Clone)) -> Option<String> {
        let mass = patterns.clone().fold(RowMass::default(), |sum, pattern| sum.plus(pattern.total_mass()));
        Self::hidden_text_with(patterns, mass)
    }

    /// The same where the attention of all rows went as `mass` says: of a part nobody else knows.
    pub fn hidden_text_with<'a>(patterns: &(impl Iterator<Item = &'a Self> + Clone), mass: RowMass) -> Option<String> {
        let leaves_out = |why: LeftOut| {
            let columns = patterns.clone().next().map_or(&[][..], |pattern| &pattern.cols.groups);
            columns.iter().any(|group| group.left_out == Some(why))
        };
        let percent = |part: f64| share_text(part / mass.total.max(f64::MIN_POSITIVE));
        let mut parts = Vec::new();
        if patterns.clone().any(|pattern| pattern.effective) {
            parts.push(EFFECTIVE.to_owned());
        }
        if patterns.clone().any(|pattern| pattern.source == Source::ByValueNorm) {
            parts.push(BY_VALUE_NORM.to_owned());
        }
        parts.extend(Marks::text_of(&patterns.clone().map(|pattern| &pattern.marks)));
        if patterns.clone().any(Self::has_own_scale) {
            // Shares of a sum mean nothing where numbers are no shares.
            let kinds = [
                (LeftOut::Chosen, "some tokens are left out"),
                (LeftOut::Sentence, "one sentence is shown alone"),
                (LeftOut::Unanswered, "tokens without a value are empty"),
            ];
            parts.extend(kinds.into_iter().filter(|(why, _)| leaves_out(*why)).map(|(_, text)| text.to_owned()));
            return (!parts.is_empty()).then(|| parts.join("; "));
        }
        if mass.total == 0.0 && patterns.clone().all(Self::is_part) {
            // Nothing was read yet that shares could be told of.
            return (!parts.is_empty()).then(|| parts.join("; "));
        }
        if mass.left_out > 0.0 || leaves_out(LeftOut::Chosen) {
            let lost = mass.left_out - mass.spread;
            let fate = match (mass.spread > 0.0, lost > 1e-9 * mass.total) {
                (true, false) => ", rows renormalised over the rest",
                (true, true) => ", rows with a remainder renormalised",
                (false, _) => ", weights are not renormalised",
            };
            parts.push(format!("{} of the attention went to keys that are left out{fate}", percent(mass.left_out)));
        }
        if mass.outside > 0.0 || leaves_out(LeftOut::Sentence) {
            parts.push(format!(
                "{} went to the sentence that is not shown, weights are not renormalised",
                percent(mass.outside)
            ));
        }
        if !patterns.clone().any(|pattern| pattern.signed) {
            for kind in [Rest::Sink, Rest::Missing] {
                let of_all = patterns.clone().flat_map(Self::rest_mass).filter(|(of, _)| *of == kind);
                let sum: f64 = of_all.map(|(_, sum)| sum).sum();
                if sum > 0.0 {
                    parts.push(format!("{} of the attention {}", percent(sum), kind.meaning()));
                }
            }
        }
        if mass.unmatched > 0.0 {
            parts.push(format!("{} went to keys that only one of the two has", percent(mass.unmatched)));
        }
        (!parts.is_empty()).then(|| parts.join("; "))
    }

    /// The end of its scale of colours: the largest weight, or of differences the largest distance from 0.
    pub fn high(&self) -> f32 {
        if self.signed { self.range.1.max(-self.range.0) } else { self.range.1 }
    }

    /// How strong a value is drawn: its size, and of an explanation or an effective pattern, which have scales of their
    /// own, as a part of the largest.
    pub fn strength(&self, value: f32) -> f32 {
        let unit = if self.has_own_scale() { self.high().max(f32::MIN_POSITIVE) } else { 1.0 };
        value.abs() / unit
    }

    /// The [`strength`](Self::strength) of every value: of attention the matrix itself.
    pub fn strengths(&self) -> Matrix {
        if !self.signed && self.explained().is_none() {
            return self.matrix.clone();
        }
        let sizes: Vec<f32> = self.matrix.as_slice().iter().map(|value| self.strength(*value)).collect();
        Matrix::new(sizes, self.matrix.shape()).unwrap_or_else(|_| self.matrix.clone())
    }

    /// Bytes that are held beyond what the capture holds.
    pub fn own_bytes(&self) -> usize {
        let rows = size_of_val(&*self.mass) + size_of_val(&*self.minus_mass) + size_of_val(&*self.visible);
        let matrix = if self.shared { 0 } else { size_of_val(self.matrix.as_slice()) };
        // Parts share the axes of the whole.
        let axes = if self.is_part() { 0 } else { self.rows.size_bytes() + self.cols.size_bytes() };
        matrix + rows + axes
    }

    /// Finds the range of what is shown.
    pub(super) fn measured(mut self) -> Self {
        let mut range: Option<(f32, f32)> = None;
        let is_shown: Vec<bool> = self.cols.groups.iter().map(|col| col.left_out.is_none()).collect();
        for (row, values) in self.here.clone().zip(self.matrix.rows()) {
            if self.rows.groups[row].left_out.is_some() {
                continue;
            }
            for value in self.seen_cols(row).filter(|col| is_shown[*col]).map(|col| values[col]) {
                if value.is_finite() {
                    let (low, high) = range.unwrap_or((value, value));
                    range = Some((low.min(value), high.max(value)));
                }
            }
        }
        self.range = range.unwrap_or_default();
        self
    }
}

fn ranked(values: impl Iterator<Item = (usize, f32)>) -> Vec<(usize, f32)> {
    let mut values: Vec<_> = values.filter(|(_, value)| *value != 0.0).collect();
    values.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()).then(a.0.cmp(&b.0)));
    values
}

/// Why a cell shows no weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blank {
    /// Its row or column is left out.
    LeftOut(LeftOut),
    /// The key comes later: ruled out by the causal mask.
    Later,
    OutOfWindow,
}

impl Blank {
    /// What stands in place of the number.
    pub const fn text(self) -> &'static str {
        match self {
            Self::LeftOut(LeftOut::Unmatched) => "nothing to compare with",
            Self::LeftOut(LeftOut::Unanswered) => "no value",
            Self::LeftOut(_) => "left out",
            Self::Later => "masked",
            Self::OutOfWindow => "outside the window",
        }
    }
}
