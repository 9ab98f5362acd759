//! Names along an axis of cells where there is not room for all: the same in the window and in figures.

use std::{iter::repeat_n, ops::Range};

use crate::{
    analysis::reading::Axis,
    capture::Matrix,
    figure::{measure::text_size::SMALL, pen::Medium},
    text::counted,
};

/// Sizes of names, the smallest that can be read and the largest: on paper, where points are smaller, and on screen.
pub const ON_PAPER: [f32; 2] = [7.0, SMALL];
pub const ON_SCREEN: [f32; 2] = [9.0, SMALL];
/// Those of a medium.
pub const fn sizes(medium: Medium) -> [f32; 2] {
    match medium {
        Medium::Paper => ON_PAPER,
        Medium::Screen => ON_SCREEN,
    }
}

/// Height of a line of names, as a part of their size.
const LINE: f32 = 1.1;
/// What a strong column has at least of all values, and at least so many times as much as the mean column.
const STRONG_SHARE: f64 = 0.05;
const STRONG_TIMES: f64 = 2.0;
/// The peak of a strong row, as a part of the largest value of all.
const STRONG_PEAK: f32 = 0.5;
/// Where more than one row in so many is strong, none stands out.
const ONE_ROW_IN: usize = 4;

/// Names of rows and columns, the fullest form first: whose tokens they are and how many, where there are two sides; whose;
/// neither.
pub fn axis_names(axes: [&Axis; 2], has_one_row: bool, has_two_sides: bool) -> [[String; 2]; 3] {
    let [query, key] = if has_one_row { ["Explained", "Token"] } else { [axes[0].query_name(), "Key"] };
    let forms = if has_two_sides && !has_one_row {
        let unit = |axis: &Axis| if axis.is_by_position() { "token" } else { "word" };
        let [queries, keys] = axes.map(|axis| counted(axis.n_of_tokens(), unit(axis)));
        [
            [format!(" (decoder, {queries})"), format!(" (encoder, {keys})")],
            [" (decoder)".to_owned(), " (encoder)".to_owned()],
            Default::default(),
        ]
    } else {
        Default::default()
    };
    forms.map(|[of_queries, of_keys]| [format!("{query}{of_queries}"), format!("{key}{of_keys}")])
}

/// Names along an axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Labels {
    /// Size of their text.
    pub size: f32,
    /// One cell in so many is named, besides those that come first.
    pub stride: usize,
    /// In the order of their cells.
    pub labels: Vec<Label>,
}

/// A name along an axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Label {
    pub cell: usize,
    /// Its middle, from the beginning of cell 0.
    pub at: f32,
    /// The middle of its cell, where that is elsewhere: a line leads there.
    pub moved_from: Option<f32>,
}

impl Labels {
    /// Names of cells that are `pitch` points wide: smaller ones where that makes room for all; else those of `first`,
    /// moved apart where they would cover each other, and round numbers of cells between them.
    pub fn of(cells: Range<usize>, pitch: f32, first: &[usize], sizes: [f32; 2]) -> Self {
        let (size, stride) = size_and_stride(pitch, sizes);
        let middle = |cell: usize| (cell as f32 + 0.5) * pitch;
        let on_grid = cells.clone().filter(|cell| cell.is_multiple_of(stride));
        let in_place = |cell| Label { cell, at: middle(cell), moved_from: None };
        if stride == 1 {
            return Self { size, stride, labels: on_grid.map(in_place).collect() };
        }
        let line = LINE * size;
        let room = (cells.len() as f32 * pitch / line) as usize;
        let mut named: Vec<usize> = Vec::new();
        for cell in first {
            if named.len() < room.max(1) && cells.contains(cell) && !named.contains(cell) {
                named.push(*cell);
            }
        }
        named.sort_unstable();
        let ends = [cells.start, cells.end].map(|cell| cell as f32 * pitch);
        let places = apart(&named.iter().map(|cell| middle(*cell)).collect::<Vec<_>>(), line, ends);
        let label = |(&cell, at): (&usize, f32)| {
            let moved_from = Some(middle(cell)).filter(|middle| (middle - at).abs() > 0.5);
            Label { cell, at, moved_from }
        };
        let mut labels: Vec<Label> = named.iter().zip(places).map(label).collect();
        let n_first = labels.len();
        for label in on_grid.map(in_place) {
            if labels[..n_first].iter().all(|known| (known.at - label.at).abs() >= line) {
                labels.push(label);
            }
        }
        labels.sort_unstable_by_key(|label| label.cell);
        Self { size, stride, labels }
    }
}

/// Every how many cells there is a name.
pub fn stride(pitch: f32, sizes: [f32; 2]) -> usize {
    size_and_stride(pitch, sizes).1
}

fn size_and_stride(pitch: f32, [least, most]: [f32; 2]) -> (f32, usize) {
    let size = (pitch / LINE).clamp(least, most);
    // A little less is not seen, and sums of cells are not exact.
    let needed = (LINE * size / pitch.max(f32::MIN_POSITIVE) - 1e-3).ceil() as usize;
    // Steps that people count in.
    let round = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000].into_iter().find(|&step| step >= needed);
    let stride = round.unwrap_or(needed);
    // What is left of names may be larger again.
    ((stride as f32 * pitch / LINE).clamp(least, most), stride)
}

/// Places at least `line` apart, as near to those that are wanted, which are in order, as all of them can be.
fn apart(wanted: &[f32], line: f32, [start, end]: [f32; 2]) -> Vec<f32> {
    // Names that touch: how many, and the sum of where the first of all would stand for each of them.
    let mut pools: Vec<(usize, f32)> = Vec::new();
    for (nth, at) in wanted.iter().enumerate() {
        let mut pool = (1, at - nth as f32 * line);
        while let Some((n, sum)) = pools.pop_if(|(n, sum)| *sum / *n as f32 > pool.1 / pool.0 as f32) {
            pool = (pool.0 + n, pool.1 + sum);
        }
        pools.push(pool);
    }
    let last = end - wanted.len().saturating_sub(1) as f32 * line;
    let firsts = pools.into_iter().flat_map(|(n, sum)| repeat_n((sum / n as f32).min(last).max(start), n));
    firsts.enumerate().map(|(nth, first)| first + nth as f32 * line).collect()
}

/// Rows and columns whose names are not left out, the strongest first. A column is strong that has a twentieth of all
/// values, and twice as much as the mean column; a row is strong whose largest value is in no such column, and half of
/// the largest of all. Where more than a quarter of the rows are like that, none is.
pub fn strong(values: &Matrix) -> [Vec<usize>; 2] {
    let [n_rows, n_cols] = values.shape();
    let size = |value: &f32| if value.is_finite() { value.abs() } else { 0.0 };
    let mut sums = vec![0.0f64; n_cols];
    for row in values.rows() {
        for (sum, value) in sums.iter_mut().zip(row) {
            *sum += f64::from(size(value));
        }
    }
    let least = sums.iter().sum::<f64>() * STRONG_SHARE.max(STRONG_TIMES / n_cols.max(1) as f64);
    let mut cols: Vec<usize> = (0..n_cols).filter(|&col| sums[col] > 0.0 && sums[col] >= least).collect();
    cols.sort_by(|a, b| sums[*b].total_cmp(&sums[*a]));
    let peak = |row: &[f32]| row.iter().map(size).enumerate().max_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or((0, 0.0));
    let peaks: Vec<(usize, f32)> = values.rows().map(peak).collect();
    let highest = peaks.iter().map(|(_, peak)| *peak).fold(0.0, f32::max);
    let stands_out = |row: &usize| {
        let (col, peak) = peaks[*row];
        peak > 0.0 && peak >= STRONG_PEAK * highest && !cols.contains(&col)
    };
    let mut rows: Vec<usize> = (0..peaks.len()).filter(stands_out).collect();
    if rows.len() * ONE_ROW_IN > n_rows {
        rows.clear();
    }
    rows.sort_by(|a, b| peaks[*b].1.total_cmp(&peaks[*a].1));
    [rows, cols]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(labels: &Labels) -> Vec<usize> {
        labels.labels.iter().map(|label| label.cell).collect()
    }

    #[test]
    fn names_shrink_before_they_are_left_out() {
        let labels = Labels::of(0..14, 9.0, &[], ON_PAPER);
        assert_eq!((labels.labels.len(), labels.stride), (14, 1));
        assert!((labels.size - 9.0 / LINE).abs() < 1e-4);
        assert_eq!(Labels::of(0..14, 30.0, &[], ON_PAPER).size, SMALL);
        assert_eq!(stride(9.0, ON_SCREEN), 2, "smaller than can be read on screen");
    }

    #[test]
    fn names_thin_out_in_round_steps() {
        assert_eq!([20.0, 6.0, 3.0, 0.5].map(|pitch| stride(pitch, ON_PAPER)), [1, 2, 5, 20]);
    }

    #[test]
    fn what_comes_first_is_named_wherever_it_is() {
        let labels = Labels::of(0..40, 3.0, &[17, 18, 3], ON_PAPER);
        assert!([3, 17, 18].iter().all(|cell| cells(&labels).contains(cell)), "{labels:?}");
        let line = LINE * labels.size;
        assert!(labels.labels.windows(2).all(|pair| pair[1].at - pair[0].at >= line - 1e-3), "{labels:?}");
        let moved: Vec<usize> =
            labels.labels.iter().filter(|it| it.moved_from.is_some()).map(|label| label.cell).collect();
        assert_eq!(moved, [17, 18], "neighbours make room for each other");
        assert!(cells(&labels).contains(&10) && cells(&labels).contains(&35), "others keep their steps");
    }

    #[test]
    fn more_than_there_is_room_for_is_the_first_of_them() {
        let first: Vec<usize> = (0..30).rev().collect();
        let labels = Labels::of(0..30, 2.0, &first, ON_PAPER);
        let n = (60.0 / (LINE * labels.size)) as usize;
        assert!(cells(&labels).ends_with(&(30 - n..30).collect::<Vec<_>>()), "{labels:?}");
        assert!(labels.labels.iter().all(|label| (0.0..=60.0).contains(&label.at)), "{labels:?}");
        assert_eq!(Labels::of(0..0, 5.0, &[1], ON_PAPER).labels, []);
    }

    #[test]
    fn a_sink_and_a_row_that_looks_elsewhere_are_strong() {
        // All look at column 1; row 6 looks at column 4.
        let value = |row: usize, col: usize| match (row, col) {
            (6, 4) | (0..=5 | 7.., 1) => 0.9,
            _ => 0.01,
        };
        let values: Vec<f32> = (0..100).map(|cell| value(cell / 10, cell % 10)).collect();
        assert_eq!(strong(&Matrix::new(values, [10, 10]).unwrap()), [vec![6], vec![1]]);
        let none: [Vec<usize>; 2] = Default::default();
        let diagonal: Vec<f32> = (0..100).map(|cell| f32::from(u8::from(cell / 10 == cell % 10))).collect();
        assert_eq!(strong(&Matrix::new(diagonal, [10, 10]).unwrap()), none, "none stands out");
        assert_eq!(strong(&Matrix::new(vec![f32::NAN], [1, 1]).unwrap()), none);
    }
}
