//! A pattern as pixels, one per entry, and all heads of a layer as one atlas of thumbnails.

use super::colormap::{ColorMap, ColorRange, MASKED_COLOR, NAN_COLOR};
use crate::capture::{Matrix, RgbaBuffer};

/// One pixel per entry: row = query, from the top; column = key, from the left.
///
/// With `causal`, entries above the diagonal get [`MASKED_COLOR`]: ruled out is not the same as unused.
pub fn heatmap(pattern: &Matrix, map: ColorMap, range: ColorRange, causal: bool) -> RgbaBuffer {
    let [height, width] = pattern.shape();
    let mut pixels = vec![0u8; 4 * width * height];
    let painter = Painter::new(map, range);
    if width > 0 {
        for (query, (line, row)) in pixels.chunks_exact_mut(4 * width).zip(pattern.rows()).enumerate() {
            painter.line(line, row, if causal { query + 1 } else { width });
        }
    }
    RgbaBuffer { width, height, pixels }
}

/// Where one thumbnail lies in an [`Atlas`], in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tile {
    /// Left edge.
    pub x: usize,
    /// Top edge.
    pub y: usize,
    /// Width.
    pub width: usize,
    /// Height.
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
/// entry. Each thumbnail has its own range, from 0 to its largest weight.
pub fn atlas(patterns: &[Matrix], max_side: usize, columns: usize, map: ColorMap, log: bool, causal: bool) -> Atlas {
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
            let reduced = reduce_by_max(pattern, max_side);
            let thumbnail = heatmap(&reduced, map, ColorRange::of(reduced.as_slice(), log), causal);
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

/// At most `max_side` rows and columns; every entry of the result is the largest of those it stands for.
pub fn reduce_by_max(matrix: &Matrix, max_side: usize) -> Matrix {
    let [n_rows, n_cols] = matrix.shape();
    let (rows, cols) = (n_rows.min(max_side), n_cols.min(max_side));
    if (rows, cols) == (n_rows, n_cols) || rows == 0 || cols == 0 {
        return matrix.clone();
    }
    let mut values = vec![f32::NEG_INFINITY; rows * cols];
    let starts: Vec<usize> = (0..=cols).map(|col| col * n_cols / cols).collect();
    for (row_idx, row) in matrix.rows().enumerate() {
        // The inverse of `starts` for rows: the pixel whose span contains this row.
        let target = ((row_idx + 1) * rows - 1) / n_rows;
        let line = &mut values[target * cols..(target + 1) * cols];
        for (value, span) in line.iter_mut().zip(starts.windows(2)) {
            *value = row[span[0]..span[1]].iter().copied().fold(*value, f32::max);
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
    pub(super) fn new(map: ColorMap, range: ColorRange) -> Self {
        let span = range.high() - range.low();
        let linear = (!range.is_log() && span > 0.0).then(|| (255.0 / span, 0.5 - range.low() * 255.0 / span));
        Self { table: map.table(), range, linear }
    }

    pub(super) fn color(&self, value: f32) -> [u8; 4] {
        if value.is_nan() {
            return NAN_COLOR;
        }
        let step = match self.linear {
            Some((slope, intercept)) => value * slope + intercept,
            None => self.range.fraction(value) * 255.0 + 0.5,
        };
        self.table[usize::from(step as u8)]
    }

    fn line(&self, line: &mut [u8], row: &[f32], n_visible: usize) {
        for (key, (pixel, &value)) in line.chunks_exact_mut(4).zip(row).enumerate() {
            pixel.copy_from_slice(&if key < n_visible { self.color(value) } else { MASKED_COLOR });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let image = heatmap(&pattern, ColorMap::Viridis, ColorRange::linear(0.0, 1.0), false);
        assert_eq!((image.width, image.height), (3, 2));
        for (x, y, value) in [(0, 0, 0.0), (2, 0, 0.4), (1, 1, 0.8), (2, 1, 1.0)] {
            assert_eq!(pixel(&image, x, y), ColorMap::Viridis.color(value));
        }
    }

    #[test]
    fn masked_zero_and_nan_look_different() {
        let pattern = matrix(2, 2, |query, key| if (query, key) == (1, 0) { f32::NAN } else { 0.0 });
        for range in [ColorRange::linear(0.0, 1.0), ColorRange::log(0.0, 1.0)] {
            let image = heatmap(&pattern, ColorMap::Magma, range, true);
            assert_eq!(pixel(&image, 1, 0), MASKED_COLOR);
            assert_eq!(pixel(&image, 0, 1), NAN_COLOR);
            assert_eq!(pixel(&image, 1, 1), ColorMap::Magma.color(0.0));
        }
        let scores = matrix(1, 2, |_, key| if key == 0 { f32::NEG_INFINITY } else { 3.0 });
        let image = heatmap(&scores, ColorMap::Magma, ColorRange::of(scores.as_slice(), true), false);
        assert_eq!(pixel(&image, 0, 0), ColorMap::Magma.color(0.0));
    }

    #[test]
    fn a_single_bright_entry_survives_in_the_thumbnail() {
        let pattern = matrix(100, 70, |query, key| if (query, key) == (57, 33) { 1.0 } else { 0.0 });
        let reduced = reduce_by_max(&pattern, 16);
        assert_eq!(reduced.shape(), [16, 16]);
        assert_eq!(reduced.as_slice().iter().filter(|value| **value == 1.0).count(), 1);
        assert!(reduced.as_slice().iter().all(|value| value.is_finite()), "every pixel stands for some entry");
    }

    #[test]
    fn thumbnails_lie_apart_in_the_atlas() {
        let patterns: Vec<Matrix> = (0..5).map(|idx| matrix(8 + idx, 6, |_, _| 1.0)).collect();
        let atlas = atlas(&patterns, 10, 2, ColorMap::Viridis, false, false);
        assert_eq!(atlas.tiles.len(), 5);
        let opaque = atlas.image.pixels.chunks_exact(4).filter(|pixel| pixel[3] == 255).count();
        assert_eq!(opaque, atlas.tiles.iter().map(|tile| tile.width * tile.height).sum::<usize>());
        for tile in &atlas.tiles {
            assert_eq!(pixel(&atlas.image, tile.x, tile.y), ColorMap::Viridis.color(1.0));
            assert_eq!(pixel(&atlas.image, tile.x - 1, tile.y)[3], 0);
        }
        assert_eq!(atlas.tiles[4].height, 10, "reduced to the largest side");
    }

    #[test]
    fn empty_input_gives_empty_pictures() {
        let empty = matrix(0, 0, |_, _| 0.0);
        assert!(heatmap(&empty, ColorMap::Greys, ColorRange::linear(0.0, 1.0), true).pixels.is_empty());
        assert!(atlas(&[], 10, 4, ColorMap::Greys, false, false).tiles.is_empty());
        assert_eq!(atlas(&[empty], 10, 4, ColorMap::Greys, false, false).tiles[0].width, 0);
    }
}
