//! Texts whose pattern is too long to be held whole: it is read in parts, and seen as a whole only reduced.
//!
//! A strip is [`STRIP_ROWS`] rows of it at a level of detail. At level 0 it is a part, with the exact weights; at
//! level `l` every block of `2^l × 2^l` cells has become its largest and its mean weight ([`Strip`]). All strips
//! of the coarsest level together are the overview, which is small however long the text is, and is there strip by
//! strip.

use std::ops::Range;

use super::{Axes, Captures, Extent, ReadPattern, Reading, Refusal, RowMass, rows};
use crate::capture::{Capture, Matrix};

/// Cells up to which a pattern is held whole: 2,048 × 2,048. A layer of sixteen such heads fills the store.
pub const WHOLE_CELLS: usize = 1 << 22;
/// Cells up to which a pattern is read whole where nothing else will do: 8,192 × 8,192, 256 MB.
pub const MOST_CELLS: usize = 1 << 26;
/// Rows of a strip.
pub const STRIP_ROWS: usize = 64;
/// The overview is no larger than this each way.
const OVERVIEW_CELLS: usize = 1024;
/// The coarsest level that a strip can be reduced to: it has a row left.
pub const MAX_LEVEL: u32 = STRIP_ROWS.ilog2();

/// Whether what a reading shows is read in parts. A difference is not, nor an explanation, whose numbers are there, nor
/// what is merged into sentences, of which there are few.
pub fn is_long(capture: &Capture, reading: &Reading) -> bool {
    let is_merged = reading.merging.unit.is_of_words();
    !is_merged
        && reading.minus.is_none()
        && reading.source.explained().is_none()
        && n_cells(capture, reading) > WHOLE_CELLS
}

/// Refuses what would have to be held whole and is too long for that.
///
/// # Errors
/// When it has more than [`MOST_CELLS`].
pub(super) fn check_whole(capture: &Capture, reading: &Reading) -> Result<(), Refusal> {
    let of_tokens = reading.source.explained().and_then(|it| it.extent(reading.heads.stack()));
    let one_row = of_tokens.is_some_and(|extent| matches!(extent, Extent::Tokens | Extent::TokensOfLayers));
    if n_cells(capture, reading) <= MOST_CELLS || one_row || has_few_cells(capture, reading) {
        return Ok(());
    }
    let stack = reading.heads.stack();
    Err(Refusal::TooLong { n_query: capture.query_tokens(stack).len(), n_key: capture.key_tokens(stack).len() })
}

/// Whether what is left is little enough once tokens are merged into sentences.
fn has_few_cells(capture: &Capture, reading: &Reading) -> bool {
    reading.merging.unit.is_of_words() && {
        let [rows, cols] = rows::axes(capture, reading);
        rows.len().saturating_mul(cols.len()) <= MOST_CELLS
    }
}

fn n_cells(capture: &Capture, reading: &Reading) -> usize {
    let stack = reading.heads.stack();
    capture.query_tokens(stack).len().saturating_mul(capture.key_tokens(stack).len())
}

/// The rows `here` of a pattern, in memory that grows with their number: the same bits as those of the whole.
///
/// # Errors
/// As [`super::read`]; a difference or an explanation is read whole.
pub fn read_part(
    captures: Captures<'_>,
    reading: &Reading,
    axes: &Axes,
    here: Range<usize>,
) -> Result<ReadPattern, Refusal> {
    if reading.minus.is_some() || reading.source.explained().is_some() {
        return super::read(captures, reading);
    }
    rows::read_part(captures.this, reading, axes, here)
}

/// The level of the overview of so many rows and columns.
pub fn overview_level(n_rows: usize, n_cols: usize) -> u32 {
    let factor = n_rows.max(n_cols).div_ceil(OVERVIEW_CELLS).max(1);
    factor.next_power_of_two().ilog2().min(MAX_LEVEL)
}

/// How many strips there are.
pub const fn n_strips(n_rows: usize) -> usize {
    n_rows.div_ceil(STRIP_ROWS)
}

/// The rows of a strip.
pub fn strip_rows(strip: usize, n_rows: usize) -> Range<usize> {
    (strip * STRIP_ROWS).min(n_rows)..((strip + 1) * STRIP_ROWS).min(n_rows)
}

/// What a pixel of a reduced pattern stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub enum Pool {
    /// The largest weight of its cells: thin lines stay.
    #[default]
    Max,
    /// The mean of those of its cells that the mask allows: where the mass lies.
    Mean,
}

vocabulary! {
    Pool: name;
    Max("largest"),
    Mean("mean"),
}

/// A strip of rows, reduced.
#[derive(Clone, Debug, PartialEq)]
pub struct Strip {
    /// `[reduced rows, reduced columns]`: of each block the value farthest from 0, for weights the largest; 0 where
    /// nothing can be seen.
    pub max: Matrix,
    /// The same: the mean weight of the cells of each block that can be seen and are not left out.
    pub mean: Matrix,
    /// Where the attention of its rows went.
    pub mass: RowMass,
}

impl Strip {
    /// The values that a pixel can stand for.
    pub const fn values(&self, pool: Pool) -> &Matrix {
        match pool {
            Pool::Max => &self.max,
            Pool::Mean => &self.mean,
        }
    }

    /// Strips one below the other, as one.
    pub fn joined(strips: &[std::sync::Arc<Self>]) -> Option<Self> {
        let below = |pool: Pool| {
            let matrices = || strips.iter().map(|strip| strip.values(pool));
            let n_cols = matrices().next()?.n_cols();
            let values: Vec<f32> = matrices().flat_map(Matrix::as_slice).copied().collect();
            Matrix::new(values, [matrices().map(Matrix::n_rows).sum(), n_cols]).ok()
        };
        let mass = strips.iter().fold(RowMass::default(), |mass, strip| mass.plus(strip.mass));
        Some(Self { max: below(Pool::Max)?, mean: below(Pool::Mean)?, mass })
    }

    /// Bytes that it holds.
    pub fn size_bytes(&self) -> usize {
        size_of_val(self.max.as_slice()) + size_of_val(self.mean.as_slice())
    }
}

/// Rows of a part reduced to a level: blocks of `2^level` rows and columns, counted from the first of them.
pub fn reduce(part: &ReadPattern, rows: Range<usize>, level: u32) -> Strip {
    let factor = 1usize << level;
    let n_cols = part.cols.len().div_ceil(factor);
    let n_rows = rows.len().div_ceil(factor);
    let mut max = vec![0.0f32; n_rows * n_cols];
    let mut mean = vec![0.0f32; n_rows * n_cols];
    let mut sums = vec![(0.0f64, 0u32); n_cols];
    let is_left_out: Vec<bool> = part.cols.groups.iter().map(|col| col.left_out.is_some()).collect();
    for block in 0..n_rows {
        sums.fill((0.0, 0));
        let largest = &mut max[block * n_cols..(block + 1) * n_cols];
        let first = rows.start + block * factor;
        for row in first..(first + factor).min(rows.end) {
            let Some(values) = part.row(row).filter(|_| part.rows.groups[row].left_out.is_none()) else { continue };
            for col in part.seen_cols(row).filter(|col| !is_left_out[*col]) {
                let (at, value) = (col >> level, values[col]);
                if value.abs() > largest[at].abs() {
                    largest[at] = value;
                }
                sums[at].0 += f64::from(value);
                sums[at].1 += 1;
            }
        }
        for (mean, (sum, n)) in mean[block * n_cols..].iter_mut().zip(&sums) {
            *mean = (sum / f64::from((*n).max(1))) as f32;
        }
    }
    let shape = [n_rows, n_cols];
    let empty = || part.matrix.clone();
    Strip {
        max: Matrix::new(max, shape).unwrap_or_else(|_| empty()),
        mean: Matrix::new(mean, shape).unwrap_or_else(|_| empty()),
        mass: part.total_mass(),
    }
}
