//! 8-bit floating point (e4m3): a byte for each number, and a grid of scales over the last two dimensions, or one scale.

use std::{collections::BTreeMap, iter, ops::Range, sync::Arc};

use super::{EntryTable, Placed, Quantized, StoredBytes, StoredForm};
use crate::model::{
    LoadError,
    checkpoint::weights::entry::{Dtype, TensorEntry},
    kernels::{CodeRows, CodeWidth, GroupForm, GroupNumbers, RowPart, ScaleGroups},
};

/// The type's name in a file.
const E4M3: &str = "F8_E4M3";

/// How scales lie over a tensor.
#[derive(Clone, Copy, Debug)]
struct ScaleGrid {
    /// Rows and columns of the tensor.
    dims: (usize, usize),
    /// Rows and columns of what shares a scale.
    block: (usize, usize),
}

impl ScaleGrid {
    /// A tensor of these dimensions under scales of those; `None` when they do not fit.
    fn new(shape: &[usize], scales: &[usize]) -> Option<Self> {
        let (rows, columns, outer) = match shape {
            [columns] => (1, *columns, &[][..]),
            [outer @ .., rows, columns] => (*rows, *columns, outer),
            [] => return None,
        };
        let (n_rows, n_columns, outer_scales) = match scales {
            [] | [1] => (1, 1, &[][..]),
            [outer @ .., rows, columns] => (*rows, *columns, outer),
            [_] => return None,
        };
        let divides = |n: usize, parts: usize| parts > 0 && n.is_multiple_of(parts);
        let is_one = scales.iter().product::<usize>() == 1 && outer.is_empty();
        let fits = divides(rows, n_rows) && divides(columns, n_columns) && (is_one || outer == outer_scales);
        fits.then(|| Self { dims: (rows, columns), block: (rows / n_rows, columns / n_columns) })
    }

    /// Scales in each row.
    const fn per_row(self) -> usize {
        self.dims.1 / self.block.1
    }

    /// The scales of a row, all outer dimensions counting rows.
    const fn of_row(self, row: usize) -> Range<usize> {
        let (rows, _) = self.dims;
        let first = (row / rows * (rows / self.block.0) + row % rows / self.block.0) * self.per_row();
        first..first + self.per_row()
    }
}

#[derive(Debug)]
struct Fp8 {
    grid: ScaleGrid,
    codes: Placed,
    scales_name: String,
    scales: Placed,
}

/// Each tensor of this type with a `{name}{suffix}` beside it becomes one of numbers.
pub(super) fn take(entries: &mut EntryTable, suffix: &str) -> Result<BTreeMap<String, Quantized>, String> {
    let mut found = BTreeMap::new();
    let is_small = |entry: &TensorEntry| entry.dtype_name == E4M3 && entry.order.is_none();
    let names = entries.iter().filter(|(_, (_, entry))| is_small(entry)).map(|(name, _)| name.clone());
    for name in names.collect::<Vec<_>>() {
        let scales_name = format!("{name}{suffix}");
        let codes = entries[&name].clone();
        let Some(scales) = entries.get(&scales_name).cloned() else {
            return Err(format!("{name} is of 8-bit floating point and has no {scales_name} beside it"));
        };
        let (shape, of_scales) = (&codes.1.shape, &scales.1.shape);
        let Some(grid) = ScaleGrid::new(shape, of_scales) else {
            return Err(format!("{name} {shape:?} is no whole number of blocks under {scales_name} {of_scales:?}"));
        };
        if scales.1.dtype.is_none() && !is_exponent(&scales.1) {
            return Err(format!("{scales_name} is of the type {}, which is not read", scales.1.dtype_name));
        }
        let entry = TensorEntry { dtype: Some(Dtype::F32), ..codes.1.clone() };
        entries.insert(name.clone(), (codes.0, entry));
        // What activations were divided by, where they were quantised, too.
        let others = ["input_scale", "activation_scale"];
        let stem = name.strip_suffix("weight").unwrap_or(&name);
        let others = others.iter().map(|other| format!("{stem}{other}")).filter(|other| entries.contains_key(other));
        let companions = iter::once(scales_name.clone()).chain(others).collect();
        let width = grid.dims.1;
        let n_rows = codes.1.n_values() / width.max(1);
        // Powers of two are kept in two bytes.
        let scale_bytes = scales.1.dtype.map_or(2, |dtype| dtype.bytes_of(1));
        let size_bytes = n_rows as u64 * (width + grid.per_row() * scale_bytes) as u64;
        let shard = codes.0;
        let form = Arc::new(Fp8 { grid, codes, scales_name, scales });
        found.insert(name, Quantized { form, width, shard, size_bytes, companions });
    }
    Ok(found)
}

/// Whether a scale is a byte that counts powers of two.
fn is_exponent(entry: &TensorEntry) -> bool {
    ["F8_E8M0", "U8"].contains(&entry.dtype_name.as_str())
}

impl StoredForm for Fp8 {
    fn rows(&self, stored: StoredBytes<'_>, rows: Range<usize>) -> Result<RowPart, LoadError> {
        let width = self.grid.dims.1;
        let all = numbers(stored, (&self.scales_name, &self.scales))?;
        let scales =
            rows.clone().flat_map(|row| self.grid.of_row(row)).map(|at| all.get(at).copied().unwrap_or(f32::NAN));
        Ok(RowPart::Codes(CodeRows {
            width,
            code_width: CodeWidth::Eight,
            codes: stored.bytes(&self.codes, rows.start * width, rows.len() * width)?,
            values: Arc::from(values()),
            form: GroupForm::Scaled { again: 1.0 },
            groups: ScaleGroups::Runs(self.grid.block.1),
            scales: GroupNumbers::new(scales.collect()),
            offsets: GroupNumbers::none(),
        }))
    }
}

/// A tensor of scales.
fn numbers(stored: StoredBytes<'_>, (name, scales): (&str, &(usize, TensorEntry))) -> Result<Vec<f32>, LoadError> {
    let n = scales.1.n_values();
    if is_exponent(&scales.1) {
        let power = |byte: u8| if byte == u8::MAX { f32::NAN } else { (f32::from(byte) - 127.0).exp2() };
        return Ok(stored.bytes(scales, 0, n)?.into_iter().map(power).collect());
    }
    stored.numbers(name, scales)
}

/// What each byte stands for: a sign, four bits of an exponent and three of a mantissa; no infinity, and two that are no
/// numbers.
fn values() -> [f32; 256] {
    std::array::from_fn(|byte| {
        let (exponent, mantissa) = ((byte >> 3) & 15, (byte & 7) as f32);
        let magnitude = match (exponent, byte & 7) {
            (15, 7) => f32::NAN,
            (0, _) => mantissa * 2f32.powi(-9),
            _ => (1.0 + mantissa / 8.0) * 2f32.powi(exponent as i32 - 7),
        };
        if byte < 128 { magnitude } else { -magnitude }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_stand_for_the_numbers_of_the_type() {
        let values = values();
        let some = [0x00, 0x01, 0x07, 0x08, 0x38, 0x7e, 0xc0, 0x80].map(|byte: usize| values[byte]);
        assert_eq!(some, [0.0, 0.001_953_125, 0.013_671_875, 0.015_625, 1.0, 448.0, -2.0, 0.0]);
        assert!(values[0x7f].is_nan() && values[0xff].is_nan() && values[0x80].is_sign_negative());
    }

    #[test]
    fn scales_are_those_of_the_blocks_that_numbers_lie_in() {
        // Two matrices of 4 × 6 under scales of 2 × 3 numbers each.
        let grid = ScaleGrid::new(&[2, 4, 6], &[2, 2, 2]).unwrap();
        assert_eq!([0, 1, 2, 7].map(|row| grid.of_row(row)), [0..2, 0..2, 2..4, 6..8]);
        assert_eq!(ScaleGrid::new(&[4, 6], &[4, 1]).unwrap().of_row(2), 2..3);
        let one = ScaleGrid::new(&[4, 6], &[]).unwrap();
        assert_eq!((one.of_row(3), one.per_row()), (0..1, 1));
        for (shape, scales) in [(&[4, 6][..], &[3, 2][..]), (&[4, 6][..], &[4][..]), (&[2, 4, 6][..], &[3, 2, 2][..])] {
            assert!(ScaleGrid::new(shape, scales).is_none(), "{scales:?}");
        }
    }
}
