//! A pattern as pixels, one per entry, and all heads of a layer as one atlas of thumbnails.

use std::ops::Range;

use super::colormap::{ColorRange, Colors};
use crate::{
    analysis::reading::long::Pool,
    capture::{Matrix, RgbaBuffer},
    spec::Mask,
    style::{NO_NUMBER, Palette, Rgba},
};

/// What the rows of a pattern may see: by a mask of positions, or told row by row.
pub trait MaskedCells {
    /// The columns that `row` may see, in a pattern of this shape.
    fn visible(&self, row: usize, shape: [usize; 2]) -> Range<usize>;
    /// Columns, in order, that every row may see besides.
    fn everywhere(&self) -> &[usize] {
        &[]
    }
    /// Whether what lies behind them comes later, rather than outside a window.
    fn is_causal(&self) -> bool;
    /// Columns behind the last key, which nothing rules out.
    fn n_rest(&self) -> usize {
        0
    }
    /// The same for a pattern that was reduced.
    #[must_use]
    fn reduced(&self, from: [usize; 2], to: [usize; 2]) -> Self;
}

impl MaskedCells for Mask {
    fn visible(&self, row: usize, [n_query, n_key]: [usize; 2]) -> Range<usize> {
        Self::visible(*self, row, n_query, n_key)
    }

    fn is_causal(&self) -> bool {
        self.causal
    }

    fn reduced(&self, from: [usize; 2], to: [usize; 2]) -> Self {
        reduced_mask(*self, from, to)
    }
}

/// Rows of words, or of heads that see differently: told row by row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowsSee {
    /// The columns that each row may see.
    pub visible: Vec<Range<usize>>,
    /// Columns, in order, that every row may see besides.
    pub everywhere: Vec<usize>,
    /// Whether what lies behind them comes later.
    pub causal: bool,
    /// Columns behind the last key, for what went to none.
    pub n_rest: usize,
}

impl MaskedCells for RowsSee {
    fn visible(&self, row: usize, [_, n_cols]: [usize; 2]) -> Range<usize> {
        self.visible.get(row).cloned().unwrap_or(0..n_cols)
    }

    fn everywhere(&self) -> &[usize] {
        &self.everywhere
    }

    fn is_causal(&self) -> bool {
        self.causal
    }

    fn n_rest(&self) -> usize {
        self.n_rest
    }

    fn reduced(&self, from: [usize; 2], to: [usize; 2]) -> Self {
        if from == to {
            return self.clone();
        }
        let scaled = |col: usize| (col as u64 * to[1] as u64 / from[1].max(1) as u64) as usize;
        let mut ends: Vec<Option<(usize, usize)>> = vec![None; to[0]];
        for (row, seen) in self.visible.iter().enumerate().filter(|(_, seen)| seen.start < seen.end) {
            // The pixel whose span contains this row, as in `reduce_by_max`.
            let Some(target) = ends.get_mut(((row + 1) * to[0] - 1) / from[0].max(1)) else { continue };
            let (first, last) = (scaled(seen.start), scaled(seen.end - 1) + 1);
            *target = Some(target.map_or((first, last), |(start, end)| (start.min(first), end.max(last))));
        }
        let visible = ends.into_iter().map(|ends| ends.map_or(0..0, |(start, end)| start..end)).collect();
        let mut everywhere: Vec<usize> = self.everywhere.iter().map(|col| scaled(*col)).collect();
        everywhere.dedup();
        Self { visible, everywhere, causal: self.causal, n_rest: self.n_rest }
    }
}

/// One pixel per entry: row = query, from the top; column = key, from the left.
///
/// What `mask` rules out is not the same as unused: it is left clear, to be hatched.
pub fn heatmap(pattern: &Matrix, colors: Colors, range: ColorRange, mask: &impl MaskedCells) -> RgbaBuffer {
    painted(pattern, colors, range, (mask, [[0; 4]; 2]))
}

/// The same of a pattern that is too small to be hatched: later keys, and those that are too far away, have colours.
pub fn small_heatmap(pattern: &Matrix, colors: Colors, range: ColorRange, mask: &impl MaskedCells) -> RgbaBuffer {
    painted(pattern, colors, range, (mask, ruled_out(colors)))
}

/// The colours of later keys, and of those that are too far away, where nothing can be hatched.
pub const fn ruled_out(colors: Colors) -> [Rgba; 2] {
    let Palette { raised, rule, .. } = Palette::of(colors.ground);
    [raised, rule]
}

fn painted(pattern: &Matrix, colors: Colors, range: ColorRange, mask: (&impl MaskedCells, [Rgba; 2])) -> RgbaBuffer {
    let [height, width] = pattern.shape();
    let mut pixels = vec![0u8; 4 * width * height];
    let painter = Painter::new(colors, range);
    if width > 0 {
        for (query, (line, row)) in pixels.chunks_exact_mut(4 * width).zip(pattern.rows()).enumerate() {
            painter.line(line, row);
            paint_mask(mask, line, query, [height, width]);
        }
    }
    RgbaBuffer { width, height, pixels }
}

/// The mask of a pattern of `from` entries that was reduced to `to` (rows, columns).
pub fn reduced_mask(mask: Mask, from: [usize; 2], to: [usize; 2]) -> Mask {
    let scaled = |reach: usize| (reach as u64 * to[1] as u64).div_ceil(from[1].max(1) as u64) as usize;
    Mask { window: mask.window.map(scaled), ..mask }
}

fn paint_mask((mask, [later, far]): (&impl MaskedCells, [Rgba; 2]), line: &mut [u8], query: usize, shape: [usize; 2]) {
    let visible = mask.visible(query, shape);
    let n_keys = shape[1].saturating_sub(mask.n_rest());
    let late = if mask.is_causal() { visible.end } else { n_keys };
    for (key, pixel) in line.chunks_exact_mut(4).take(n_keys).enumerate() {
        if key >= late {
            pixel.copy_from_slice(&later);
        } else if !visible.contains(&key) && mask.everywhere().binary_search(&key).is_err() {
            pixel.copy_from_slice(&far);
        }
    }
}

/// Where one thumbnail lies in an [`Atlas`], in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tile {
    pub x: usize,
    pub y: usize,
    pub width: usize,
    pub height: usize,
}

/// Thumbnails of several patterns in one picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Atlas {
    /// The picture; transparent between the thumbnails.
    pub image: RgbaBuffer,
    /// One per pattern, in their order.
    pub tiles: Vec<Tile>,
}

/// Transparent pixels around each thumbnail, so that smooth sampling never sees a neighbour.
const GAP: usize = 1;

/// Thumbnails of `patterns`, at most `max_side` pixels wide and high each, `columns` to a row.
///
/// A pattern larger than that is reduced by the **maximum** of the entries behind each pixel, because a
/// mean would dim the thin diagonals and columns that thumbnails are for; smaller ones keep one pixel per
/// entry. Colours go from 0 to `high`, or where that is none to the largest weight of each thumbnail.
pub fn atlas(
    patterns: &[Matrix],
    max_side: usize,
    columns: usize,
    (colors, log, high): (Colors, bool, Option<f32>),
    mask: &impl MaskedCells,
) -> Atlas {
    let max_side = max_side.max(1);
    let columns = columns.clamp(1, patterns.len().max(1));
    let cell_width = patterns.iter().map(|p| p.n_cols().min(max_side)).max().unwrap_or(0) + 2 * GAP;
    let cell_height = patterns.iter().map(|p| p.n_rows().min(max_side)).max().unwrap_or(0) + 2 * GAP;
    let (width, height) = (cell_width * columns, cell_height * patterns.len().div_ceil(columns));
    let mut image = RgbaBuffer { width, height, pixels: vec![0; 4 * width * height] };
    let tiles = patterns
        .iter()
        .enumerate()
        .map(|(idx, pattern)| {
            let reduced = reduce_by_max(pattern, max_side, colors.is_signed());
            let thumbnail = small_heatmap(
                &reduced,
                colors,
                colors.range(reduced.as_slice(), high, log),
                &mask.reduced(pattern.shape(), reduced.shape()),
            );
            let tile = Tile {
                x: idx % columns * cell_width + GAP,
                y: idx / columns * cell_height + GAP,
                width: thumbnail.width,
                height: thumbnail.height,
            };
            for (y, line) in thumbnail.pixels.chunks_exact((4 * tile.width).max(1)).enumerate() {
                let start = 4 * ((tile.y + y) * width + tile.x);
                image.pixels[start..start + line.len()].copy_from_slice(line);
            }
            tile
        })
        .collect();
    Atlas { image, tiles }
}

/// At most `max_side` rows and columns; every entry of the result is the largest of those it stands for, of values
/// with a sign the one farthest from 0.
pub fn reduce_by_max(matrix: &Matrix, max_side: usize, signed: bool) -> Matrix {
    reduced_to(matrix, [max_side; 2], (Pool::Max, signed))
}

/// At most so many rows and columns; every entry of the result is the largest of those it stands for (with a sign, the
/// one farthest from 0), or their mean.
pub fn reduced_to(matrix: &Matrix, most: [usize; 2], (pool, signed): (Pool, bool)) -> Matrix {
    let [n_rows, n_cols] = matrix.shape();
    let (rows, cols) = (n_rows.min(most[0]), n_cols.min(most[1]));
    if (rows, cols) == (n_rows, n_cols) || rows == 0 || cols == 0 {
        return matrix.clone();
    }
    let (first, join): (f32, fn(f32, f32) -> f32) = match (pool, signed) {
        (Pool::Max, false) => (f32::NEG_INFINITY, f32::max),
        (Pool::Max, true) => (0.0, |most, value| if value.abs() > most.abs() { value } else { most }),
        (Pool::Mean, _) => (0.0, |sum, value| sum + value),
    };
    let mut values = vec![first; rows * cols];
    let mut n_joined = vec![0usize; rows];
    let starts: Vec<usize> = (0..=cols).map(|col| col * n_cols / cols).collect();
    for (row_idx, row) in matrix.rows().enumerate() {
        // The inverse of `starts` for rows: the pixel whose span contains this row.
        let target = ((row_idx + 1) * rows - 1) / n_rows;
        n_joined[target] += 1;
        let line = &mut values[target * cols..(target + 1) * cols];
        for (value, span) in line.iter_mut().zip(starts.windows(2)) {
            *value = row[span[0]..span[1]].iter().copied().fold(*value, join);
        }
    }
    if pool == Pool::Mean {
        for (line, n) in values.chunks_exact_mut(cols).zip(n_joined) {
            for (value, span) in line.iter_mut().zip(starts.windows(2)) {
                *value /= (n * (span[1] - span[0])).max(1) as f32;
            }
        }
    }
    Matrix::new(values, [rows, cols]).unwrap_or_else(|_| matrix.clone())
}

/// A colour map and a range, prepared for many values.
pub(super) struct Painter {
    table: [[u8; 4]; 256],
    range: ColorRange,
    /// `fraction = value · slope + intercept`, where the range is linear and not empty.
    linear: Option<(f32, f32)>,
}

impl Painter {
    pub(super) fn new(colors: Colors, range: ColorRange) -> Self {
        let span = range.high() - range.low();
        let linear = (!range.is_log() && span > 0.0).then(|| (255.0 / span, 0.5 - range.low() * 255.0 / span));
        Self { table: colors.table(), range, linear }
    }

    pub(super) fn color(&self, value: f32) -> [u8; 4] {
        if value.is_nan() {
            return NO_NUMBER;
        }
        let step = match self.linear {
            Some((slope, intercept)) => value * slope + intercept,
            None => self.range.fraction(value) * 255.0 + 0.5,
        };
        self.table[usize::from(step as u8)]
    }

    fn line(&self, line: &mut [u8], row: &[f32]) {
        for (pixel, &value) in line.chunks_exact_mut(4).zip(row) {
            pixel.copy_from_slice(&self.color(value));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{raster::ColorMap, style::Ground};

    const CLEAR: Rgba = [0; 4];

    const CAUSAL: Mask = Mask { causal: true, window: None };

    fn matrix(rows: usize, cols: usize, value: impl Fn(usize, usize) -> f32) -> Matrix {
        let values: Vec<f32> = (0..rows * cols).map(|at| value(at / cols, at % cols)).collect();
        Matrix::new(values, [rows, cols]).unwrap()
    }

    fn pixel(image: &RgbaBuffer, x: usize, y: usize) -> [u8; 4] {
        let at = 4 * (y * image.width + x);
        image.pixels[at..at + 4].try_into().unwrap()
    }

    #[test]
    fn a_pixel_shows_its_entry() {
        let pattern = matrix(2, 3, |query, key| (query * 3 + key) as f32 / 5.0);
        let image = heatmap(&pattern, ColorMap::Viridis.on(Ground::Light), ColorRange::linear(0.0, 1.0), &Mask::NONE);
        assert_eq!((image.width, image.height), (3, 2));
        for (x, y, value) in [(0, 0, 0.0), (2, 0, 0.4), (1, 1, 0.8), (2, 1, 1.0)] {
            assert_eq!(pixel(&image, x, y), ColorMap::Viridis.on(Ground::Light).color(value));
        }
    }

    #[test]
    fn masked_zero_and_nan_look_different() {
        let pattern = matrix(2, 2, |query, key| if (query, key) == (1, 0) { f32::NAN } else { 0.0 });
        for range in [ColorRange::linear(0.0, 1.0), ColorRange::log(0.0, 1.0)] {
            let image = heatmap(&pattern, ColorMap::Magma.on(Ground::Light), range, &CAUSAL);
            assert_eq!(pixel(&image, 1, 0), CLEAR);
            assert_eq!(pixel(&image, 0, 1), NO_NUMBER);
            assert_eq!(pixel(&image, 1, 1), ColorMap::Magma.on(Ground::Light).color(0.0));
        }
        let scores = matrix(1, 2, |_, key| if key == 0 { f32::NEG_INFINITY } else { 3.0 });
        let image =
            heatmap(&scores, ColorMap::Magma.on(Ground::Light), ColorRange::of(scores.as_slice(), true), &Mask::NONE);
        assert_eq!(pixel(&image, 0, 0), ColorMap::Magma.on(Ground::Light).color(0.0));
    }

    #[test]
    fn what_lies_behind_the_window_is_neither_masked_nor_zero() {
        let pattern = matrix(6, 6, |_, _| 0.0);
        let mask = Mask { causal: true, window: Some(2) };
        let (colors, range) = (ColorMap::Magma.on(Ground::Light), ColorRange::linear(0.0, 1.0));
        let row =
            |mask: Mask| (0..6).map(|key| pixel(&small_heatmap(&pattern, colors, range, &mask), key, 3)).collect();
        let ([later, far], zero) = (ruled_out(colors), colors.color(0.0));
        let seen: Vec<Rgba> = row(mask);
        assert_eq!(seen, [far, far, zero, zero, later, later]);
        // Without a causal mask the window reaches both ways.
        let both: Vec<Rgba> = row(Mask { causal: false, ..mask });
        assert_eq!(both, [far, far, zero, zero, zero, far]);
        let clear = heatmap(&pattern, colors, range, &mask);
        assert_eq!([pixel(&clear, 0, 3), pixel(&clear, 5, 3)], [CLEAR; 2], "to be hatched");
        // A thumbnail of a third of the size shows a window of a third.
        assert_eq!(reduced_mask(mask, [6, 6], [2, 2]).window, Some(1));
    }

    #[test]
    fn a_single_bright_entry_survives_in_the_thumbnail() {
        let pattern = matrix(100, 70, |query, key| if (query, key) == (57, 33) { 1.0 } else { 0.0 });
        let reduced = reduce_by_max(&pattern, 16, false);
        assert_eq!(reduced.shape(), [16, 16]);
        assert_eq!(reduced.as_slice().iter().filter(|value| **value == 1.0).count(), 1);
        assert!(reduced.as_slice().iter().all(|value| value.is_finite()), "every pixel stands for some entry");
    }

    #[test]
    fn pixels_stand_for_the_largest_or_the_mean_of_their_entries() {
        let pattern = matrix(90, 70, |query, key| ((query * 7 + key * 13) % 31) as f32 / 31.0);
        let (rows, cols) = (20, 16);
        let of = |pool| reduced_to(&pattern, [rows, cols], (pool, false));
        let (largest, mean) = (of(Pool::Max), of(Pool::Mean));
        let row_of = |row: usize| ((row + 1) * rows - 1) / 90;
        for y in 0..rows {
            for x in 0..cols {
                let behind: Vec<f32> = (0..90)
                    .filter(|row| row_of(*row) == y)
                    .flat_map(|row| (x * 70 / cols..(x + 1) * 70 / cols).map(move |col| (row, col)))
                    .map(|(row, col)| pattern.row(row).unwrap()[col])
                    .collect();
                let by_hand = behind.iter().sum::<f32>() / behind.len() as f32;
                assert_eq!(largest.row(y).unwrap()[x], behind.iter().copied().fold(0.0, f32::max));
                assert!((mean.row(y).unwrap()[x] - by_hand).abs() < 1e-5, "{y} {x}");
            }
        }
        assert_eq!(reduced_to(&pattern, [200, 70], (Pool::Mean, false)), pattern, "nothing is enlarged");
    }

    #[test]
    fn of_values_with_a_sign_the_one_farthest_from_0_stays_and_0_has_the_middle_colour() {
        let of = |query, key| match (query, key) {
            (57, 33) => -1.0,
            (57, 34) => 0.25,
            _ => 0.0,
        };
        let reduced = reduce_by_max(&matrix(100, 70, of), 16, true);
        let (least, most) = reduced.as_slice().iter().fold((0.0f32, 0.0f32), |(a, b), v| (a.min(*v), b.max(*v)));
        assert_eq!((least, most), (-1.0, 0.0));
        let signed = ColorMap::Signed.on(Ground::Light);
        for high in [None, Some(3.0)] {
            let range = signed.range(reduced.as_slice(), high, false);
            assert_eq!((range.low(), range.high()), (-high.unwrap_or(1.0), high.unwrap_or(1.0)));
        }
    }

    #[test]
    fn thumbnails_lie_apart_in_the_atlas() {
        let patterns: Vec<Matrix> = (0..5).map(|idx| matrix(8 + idx, 6, |_, _| 1.0)).collect();
        let atlas = atlas(&patterns, 10, 2, (ColorMap::Viridis.on(Ground::Light), false, None), &Mask::NONE);
        assert_eq!(atlas.tiles.len(), 5);
        let opaque = atlas.image.pixels.chunks_exact(4).filter(|pixel| pixel[3] == 255).count();
        assert_eq!(opaque, atlas.tiles.iter().map(|tile| tile.width * tile.height).sum::<usize>());
        for tile in &atlas.tiles {
            assert_eq!(pixel(&atlas.image, tile.x, tile.y), ColorMap::Viridis.on(Ground::Light).color(1.0));
            assert_eq!(pixel(&atlas.image, tile.x - 1, tile.y)[3], 0);
        }
        assert_eq!(atlas.tiles[4].height, 10, "reduced to the largest side");
    }

    #[test]
    fn empty_input_gives_empty_pictures() {
        let empty = matrix(0, 0, |_, _| 0.0);
        assert!(
            heatmap(&empty, ColorMap::Greys.on(Ground::Light), ColorRange::linear(0.0, 1.0), &CAUSAL).pixels.is_empty()
        );
        assert!(atlas(&[], 10, 4, (ColorMap::Greys.on(Ground::Light), false, None), &Mask::NONE).tiles.is_empty());
        assert_eq!(
            atlas(&[empty], 10, 4, (ColorMap::Greys.on(Ground::Light), false, None), &Mask::NONE).tiles[0].width,
            0
        );
    }

    #[test]
    fn rows_told_one_by_one_see_what_their_mask_says() {
        let mask = Mask { causal: true, window: Some(3) };
        let rows = RowsSee {
            visible: (0..8).map(|row| mask.visible(row, 8, 8)).collect(),
            causal: true,
            ..RowsSee::default()
        };
        let pattern = Matrix::new(vec![0.1; 64], [8, 8]).unwrap();
        let of =
            |sight: &RowsSee| heatmap(&pattern, ColorMap::Magma.on(Ground::Light), ColorRange::linear(0.0, 1.0), sight);
        assert_eq!(
            of(&rows).pixels,
            heatmap(&pattern, ColorMap::Magma.on(Ground::Light), ColorRange::linear(0.0, 1.0), &mask).pixels
        );
        // Two rows and two columns to a pixel: what either may see.
        assert_eq!(rows.reduced([8, 8], [4, 4]).visible, [0..1, 0..2, 1..3, 2..4]);
    }
}
