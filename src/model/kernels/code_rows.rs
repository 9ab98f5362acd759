//! Rows of numbers of four or eight bits that stand for others, and what scales each group of them: the forms in which
//! programs of Hugging Face's world quantise weights.
//!
//! A number is computed in `f32` and in the order in which the form defines it, so that it has the bits of the reference.

#![expect(clippy::inline_always, reason = "a body is compiled for an instruction set only where it is inlined")]

use std::{ops::Range, sync::Arc};

use candle_core::{Result, bail};
use half::{bf16, f16};

use super::{
    block_rows::picked,
    simd::{self, Level},
};

/// How codes lie in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodeWidth {
    /// Two in a byte, the first in the lower half; each row begins with a byte.
    Four,
    Eight,
}

impl CodeWidth {
    /// Bytes of so many codes of one row.
    pub const fn bytes_of(self, n: usize) -> usize {
        match self {
            Self::Four => n.div_ceil(2),
            Self::Eight => n,
        }
    }

    /// The number of different codes.
    pub const fn n_codes(self) -> usize {
        match self {
            Self::Four => 16,
            Self::Eight => 256,
        }
    }
}

/// How a group's scale and offset make a number of a code's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum GroupForm {
    /// `code · scale · again`.
    Scaled { again: f32 },
    /// `(code − offset) · scale`.
    Centred,
    /// `code · scale + offset`.
    Shifted,
}

/// Which group each number of a row belongs to.
#[derive(Clone, Debug)]
pub enum ScaleGroups {
    /// So many neighbours each.
    Runs(usize),
    /// The number of its group for each.
    Each(Arc<[u32]>),
}

impl ScaleGroups {
    fn of(&self, at: usize) -> usize {
        match self {
            Self::Runs(len) => at / len,
            Self::Each(groups) => groups[at] as usize,
        }
    }
}

/// Numbers of groups, each in as few bytes as all of them have a place in.
#[derive(Clone, Debug)]
pub enum GroupNumbers {
    U8(Vec<u8>),
    F16(Vec<f16>),
    Bf16(Vec<bf16>),
    F32(Vec<f32>),
}

impl GroupNumbers {
    /// The same numbers, bit by bit.
    pub fn new(values: Vec<f32>) -> Self {
        fn all<T>(values: &[f32], narrow: impl Fn(f32) -> T, wide: impl Fn(&T) -> f32) -> Option<Vec<T>> {
            let exact = |value: &f32| {
                let narrowed = narrow(*value);
                (wide(&narrowed).to_bits() == value.to_bits()).then_some(narrowed)
            };
            values.iter().map(exact).collect()
        }
        if let Some(values) = all(&values, |value| value as u8, |value| f32::from(*value)) {
            return Self::U8(values);
        }
        if let Some(values) = all(&values, f16::from_f32, |value| value.to_f32()) {
            return Self::F16(values);
        }
        match all(&values, bf16::from_f32, |value| value.to_f32()) {
            Some(values) => Self::Bf16(values),
            None => Self::F32(values),
        }
    }

    /// No numbers.
    pub const fn none() -> Self {
        Self::U8(Vec::new())
    }

    pub const fn len(&self) -> usize {
        match self {
            Self::U8(values) => values.len(),
            Self::F16(values) => values.len(),
            Self::Bf16(values) => values.len(),
            Self::F32(values) => values.len(),
        }
    }

    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of each.
    pub const fn number_bytes(&self) -> usize {
        match self {
            Self::U8(_) => 1,
            Self::F16(_) | Self::Bf16(_) => 2,
            Self::F32(_) => 4,
        }
    }

    #[inline]
    fn at(&self, idx: usize) -> f32 {
        match self {
            Self::U8(values) => f32::from(values[idx]),
            Self::F16(values) => values[idx].to_f32(),
            Self::Bf16(values) => values[idx].to_f32(),
            Self::F32(values) => values[idx],
        }
    }

    fn picked(&self, rows: &[usize], len: usize) -> Self {
        match self {
            Self::U8(values) => Self::U8(picked(values, rows, len)),
            Self::F16(values) => Self::F16(picked(values, rows, len)),
            Self::Bf16(values) => Self::Bf16(picked(values, rows, len)),
            Self::F32(values) => Self::F32(picked(values, rows, len)),
        }
    }
}

/// A matrix of `n_rows · width` codes.
#[derive(Clone, Debug)]
pub struct CodeRows {
    /// Numbers in a row.
    pub width: usize,
    pub code_width: CodeWidth,
    /// Row after row.
    pub codes: Vec<u8>,
    /// The number that each code stands for.
    pub values: Arc<[f32]>,
    pub form: GroupForm,
    pub groups: ScaleGroups,
    /// Of each group of each row, row after row.
    pub scales: GroupNumbers,
    /// As many as `scales`; none where the form has none.
    pub offsets: GroupNumbers,
}

impl CodeRows {
    /// Checks that all parts fit together, and answers the number of rows.
    ///
    /// # Errors
    /// When they do not.
    pub fn checked(&self) -> Result<usize> {
        let row_bytes = self.row_bytes();
        let n_rows = self.codes.len().checked_div(row_bytes).unwrap_or(0);
        let has_offsets = match self.form {
            GroupForm::Scaled { .. } => false,
            GroupForm::Centred | GroupForm::Shifted => true,
        };
        let n_groups = self.n_groups();
        let groups_fit = match &self.groups {
            ScaleGroups::Runs(len) => *len > 0 && n_groups == self.width.div_ceil(*len),
            ScaleGroups::Each(groups) => {
                groups.len() == self.width && groups.iter().all(|at| (*at as usize) < n_groups)
            }
        };
        let fits = n_rows > 0
            && self.codes.len() == n_rows * row_bytes
            && self.values.len() == self.code_width.n_codes()
            && self.scales.len() == n_rows * n_groups
            && self.offsets.len() == if has_offsets { self.scales.len() } else { 0 }
            && groups_fit;
        if !fits {
            bail!("{} bytes and {} scales are no rows of {} codes", self.codes.len(), self.scales.len(), self.width);
        }
        Ok(n_rows)
    }

    /// Bytes of the codes of one row.
    pub const fn row_bytes(&self) -> usize {
        self.code_width.bytes_of(self.width)
    }

    /// Bytes that a row takes, its scales and offsets included.
    pub fn row_size_bytes(&self) -> usize {
        let of_offset = if self.offsets.is_empty() { 0 } else { self.offsets.number_bytes() };
        self.row_bytes() + self.n_groups() * (self.scales.number_bytes() + of_offset)
    }

    /// Groups in each row.
    fn n_groups(&self) -> usize {
        let n_rows = self.codes.len().checked_div(self.row_bytes()).unwrap_or(0);
        self.scales.len().checked_div(n_rows).unwrap_or(0)
    }

    /// Some of the rows, in this order.
    #[must_use]
    pub fn picked(self, rows: &[usize]) -> Self {
        let n_groups = self.n_groups();
        let of_groups =
            |all: &GroupNumbers| if all.is_empty() { GroupNumbers::none() } else { all.picked(rows, n_groups) };
        Self {
            codes: picked(&self.codes, rows, self.row_bytes()),
            scales: of_groups(&self.scales),
            offsets: of_groups(&self.offsets),
            ..self
        }
    }

    /// Whether all numbers of a row are finite.
    pub fn is_finite(&self, row: usize) -> bool {
        let mut out = vec![0.0; self.width];
        self.widen(row, 0..self.width, &mut out);
        out.iter().all(|value| value.is_finite())
    }

    /// Writes the numbers `inner` of one row, the first of them being an even one.
    pub fn widen(&self, row: usize, inner: Range<usize>, out: &mut [f32]) {
        let bytes = &self.codes[row * self.row_bytes()..(row + 1) * self.row_bytes()];
        let bytes = match self.code_width {
            CodeWidth::Four => &bytes[inner.start / 2..inner.end.div_ceil(2)],
            CodeWidth::Eight => &bytes[inner.clone()],
        };
        simd::look_up(Level::current(), self.code_width, (bytes, &self.values), out);
        let n_groups = self.n_groups();
        let first = row * n_groups;
        let offset_of = |group: usize| if self.offsets.is_empty() { 0.0 } else { self.offsets.at(first + group) };
        // Of neighbours in different groups the numbers are looked up again and again.
        let looked_up: Vec<(f32, f32)> = match &self.groups {
            ScaleGroups::Runs(_) => Vec::new(),
            ScaleGroups::Each(_) => {
                (0..n_groups).map(|group| (self.scales.at(first + group), offset_of(group))).collect()
            }
        };
        let mut at = inner.start;
        while at < inner.end {
            let group = self.groups.of(at);
            let (end, (scale, offset)) = match &self.groups {
                ScaleGroups::Runs(len) => {
                    (inner.end.min((group + 1) * len), (self.scales.at(first + group), offset_of(group)))
                }
                ScaleGroups::Each(_) => (at + 1, looked_up[group]),
            };
            let out = &mut out[at - inner.start..end - inner.start];
            match self.form {
                GroupForm::Scaled { again } => out.iter_mut().for_each(|value| *value = *value * scale * again),
                GroupForm::Centred => out.iter_mut().for_each(|value| *value = (*value - offset) * scale),
                // The sum is rounded once more than a fused one.
                GroupForm::Shifted => out.iter_mut().for_each(|value| *value = *value * scale + offset),
            }
            at = end;
        }
    }
}

/// The number of each code, for one instruction set.
#[inline(always)]
pub(super) fn look_up(width: CodeWidth, (bytes, values): (&[u8], &[f32]), out: &mut [f32]) {
    match width {
        CodeWidth::Four => {
            let Some(values) = values.first_chunk::<16>() else { return };
            let (pairs, last) = out.as_chunks_mut::<2>();
            for (pair, byte) in pairs.iter_mut().zip(bytes) {
                *pair = [values[usize::from(byte & 0xf)], values[usize::from(byte >> 4)]];
            }
            if let ([last], Some(byte)) = (last, bytes.last()) {
                *last = values[usize::from(byte & 0xf)];
            }
        }
        CodeWidth::Eight => {
            let Some(values) = values.first_chunk::<256>() else { return };
            for (out, byte) in out.iter_mut().zip(bytes) {
                *out = values[usize::from(*byte)];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(form: GroupForm, groups: ScaleGroups, offsets: &[f32]) -> CodeRows {
        CodeRows {
            width: 4,
            code_width: CodeWidth::Four,
            codes: vec![0x10, 0x32, 0x98, 0xfe],
            values: (0..16u8).map(f32::from).collect(),
            form,
            groups,
            scales: GroupNumbers::new(vec![0.5, 2.0, -1.0, 3.0]),
            offsets: GroupNumbers::new(offsets.to_vec()),
        }
    }

    #[test]
    fn each_form_computes_its_numbers() {
        let all = |rows: &CodeRows| -> Vec<f32> {
            assert_eq!(rows.checked().unwrap(), 2);
            let mut out = vec![0.0; 8];
            out.chunks_exact_mut(4).enumerate().for_each(|(row, out)| rows.widen(row, 0..4, out));
            out
        };
        let scaled = rows(GroupForm::Scaled { again: 2.0 }, ScaleGroups::Runs(2), &[]);
        assert_eq!(all(&scaled), [0.0, 1.0, 8.0, 12.0, -16.0, -18.0, 84.0, 90.0]);
        let offsets = [1.0, 2.0, 8.0, 15.0];
        let centred = rows(GroupForm::Centred, ScaleGroups::Runs(2), &offsets);
        assert_eq!(all(&centred), [-0.5, 0.0, 0.0, 2.0, 0.0, -1.0, -3.0, 0.0]);
        let shifted = rows(GroupForm::Shifted, ScaleGroups::Each(Arc::from([1, 0, 0, 1])), &offsets);
        assert_eq!(all(&shifted), [2.0, 1.5, 2.0, 8.0, 39.0, -1.0, -6.0, 60.0]);
        let mut part = [0.0; 2];
        shifted.widen(1, 2..4, &mut part);
        assert_eq!(part, [-6.0, 60.0]);
        assert_eq!(shifted.row_size_bytes(), 2 + 2 * (2 + 1));
        let picked = shifted.picked(&[1, 1, 0]);
        assert_eq!(picked.checked().unwrap(), 3);
        picked.widen(2, 2..4, &mut part);
        assert_eq!(part, [2.0, 8.0]);
    }

    #[test]
    fn parts_that_do_not_fit_are_refused() {
        let whole = rows(GroupForm::Centred, ScaleGroups::Runs(2), &[0.0; 4]);
        assert!(whole.checked().is_ok());
        for (wrong, part) in [
            (CodeRows { scales: GroupNumbers::new(vec![1.0; 3]), ..whole.clone() }, "scales"),
            (CodeRows { offsets: GroupNumbers::none(), ..whole.clone() }, "offsets"),
            (CodeRows { codes: vec![0; 3], ..whole.clone() }, "codes"),
            (CodeRows { codes: Vec::new(), ..whole.clone() }, "no codes"),
            (CodeRows { groups: ScaleGroups::Runs(0), ..whole.clone() }, "length of groups"),
            (CodeRows { groups: ScaleGroups::Each(Arc::from([0, 1, 2, 0])), ..whole.clone() }, "a group"),
            (CodeRows { values: Arc::from([0.0; 8]), ..whole.clone() }, "values"),
        ] {
            assert!(wrong.checked().is_err(), "{part}");
        }
        let scales = GroupNumbers::new(vec![0.5, f32::NAN, 1.0, 1.0]);
        let rows = CodeRows { scales, ..whole };
        assert!(!rows.is_finite(0) && rows.is_finite(1));
    }

    #[test]
    fn numbers_of_groups_keep_their_bits_in_as_few_bytes_as_they_can() {
        for (values, bytes) in [
            (vec![0.0, 15.0, 255.0], 1),
            (vec![0.0, -0.0], 2),
            (vec![0.5, 256.0, -3.25], 2),
            (vec![f32::from_bits(0x0001_0000), 2f32.powi(100)], 2),
            (vec![0.1], 4),
            (vec![f32::INFINITY, 1.0], 2),
        ] {
            let kept = GroupNumbers::new(values.clone());
            assert_eq!(kept.number_bytes(), bytes, "{values:?}");
            let same = values.iter().enumerate().all(|(at, value)| kept.at(at).to_bits() == value.to_bits());
            assert!(same && kept.len() == values.len(), "{values:?}");
        }
    }
}
