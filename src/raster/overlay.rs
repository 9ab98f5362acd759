//! Patch weights as a picture to lay over the photograph, and the outline of where most of them are.

use super::{
    colormap::{ColorRange, Colors},
    heatmap::Painter,
};
use crate::capture::RgbaBuffer;

/// The colours of `weights` over the crop that the patch grid covers.
///
/// `weights` are `grid` = (rows, columns) values, row by row; `size_px` = (width, height) of the result.
/// `smooth` interpolates bilinearly between patch centres (which, unlike a cubic, shows no value that is
/// not there); otherwise each patch has one colour. The largest value
/// gets the alpha `opacity`, `0..=1`, and smaller ones less: nothing hides nothing of the picture.
/// A grid that does not fit the weights gives a transparent picture.
pub fn overlay(
    weights: &[f32],
    grid: (usize, usize),
    size_px: (usize, usize),
    colors: Colors,
    range: ColorRange,
    smooth: bool,
    opacity: f32,
) -> RgbaBuffer {
    let ((rows, cols), (width, height)) = (grid, size_px);
    let mut pixels = vec![0u8; 4 * width * height];
    if rows * cols == 0 || weights.len() != rows * cols || width * height == 0 {
        return RgbaBuffer { width, height, pixels };
    }
    let painter = Painter::new(colors, range);
    let (down, across) = (samples(height, rows, smooth), samples(width, cols, smooth));
    let mut blended = vec![0.0f32; cols];
    for (line, row) in pixels.chunks_exact_mut(4 * width).zip(&down) {
        let (upper, lower) = (&weights[row.first * cols..][..cols], &weights[row.second * cols..][..cols]);
        for ((value, &above), &below) in blended.iter_mut().zip(upper).zip(lower) {
            *value = mix(above, below, row.part);
        }
        for (pixel, col) in line.chunks_exact_mut(4).zip(&across) {
            let value = mix(blended[col.first], blended[col.second], col.part);
            pixel.copy_from_slice(&tint(&painter, value, (colors, range, opacity)));
        }
    }
    RgbaBuffer { width, height, pixels }
}

/// Boxes in one colour each, painted in `order` onto nothing: of boxes that overlap, the last one is seen.
///
/// `boxes` are left, top, right and bottom as parts of the whole; `colors` are red, green, blue and alpha of each;
/// `size_px` = (width, height) of the result.
pub fn boxes(boxes: &[[f32; 4]], colors: &[[u8; 4]], order: &[usize], (width, height): (usize, usize)) -> RgbaBuffer {
    let mut pixels = vec![0u8; 4 * width * height];
    let range = |from: f32, to: f32, n: usize| {
        let edge = |at: f32| ((at * n as f32).round().max(0.0) as usize).min(n);
        // Small ones keep a pixel.
        let first = edge(from).min(n.saturating_sub(1));
        first..edge(to).max(first + 1).min(n)
    };
    for (&[left, top, right, bottom], color) in order.iter().filter_map(|&nth| boxes.get(nth).zip(colors.get(nth))) {
        let across = range(left, right, width);
        for row in range(top, bottom, height) {
            for pixel in pixels[4 * width * row..][4 * across.start..4 * across.end].chunks_exact_mut(4) {
                pixel.copy_from_slice(color);
            }
        }
    }
    RgbaBuffer { width, height, pixels }
}

/// The colour of each value on a picture, as [`overlay`] has them: red, green, blue and alpha.
pub fn tints(values: &[f32], colors: Colors, range: ColorRange, opacity: f32) -> Vec<[u8; 4]> {
    let painter = Painter::new(colors, range);
    values.iter().map(|value| tint(&painter, *value, (colors, range, opacity))).collect()
}

/// The largest value gets the alpha `opacity`, smaller ones less.
fn tint(painter: &Painter, value: f32, (colors, range, opacity): (Colors, ColorRange, f32)) -> [u8; 4] {
    let [red, green, blue, _] = painter.color(value);
    let part = colors.opacity(range.fraction(value)).max(f32::from(u8::from(value.is_nan())));
    [red, green, blue, (part * opacity * 255.0 + 0.5) as u8]
}

/// Between which two patches a pixel lies, and how far towards the second.
struct Sample {
    first: usize,
    second: usize,
    part: f32,
}

fn samples(n_pixels: usize, n_patches: usize, smooth: bool) -> Vec<Sample> {
    (0..n_pixels)
        .map(|pixel| {
            let position = (pixel as f32 + 0.5) * n_patches as f32 / n_pixels as f32;
            if !smooth {
                let patch = (position as usize).min(n_patches - 1);
                return Sample { first: patch, second: patch, part: 0.0 };
            }
            let from_center = (position - 0.5).clamp(0.0, (n_patches - 1) as f32);
            let first = from_center as usize;
            Sample { first, second: (first + 1).min(n_patches - 1), part: from_center - first as f32 }
        })
        .collect()
}

fn mix(a: f32, b: f32, part: f32) -> f32 {
    // Not `a + (b - a) · part`: that gives NaN between infinities and rounds at the ends.
    if part == 0.0 { a } else { a * (1.0 - part) + b * part }
}

/// Which entries are the strongest that together hold at least `fraction` of the mass, the one that crosses
/// included (the rule of DINO's attention masks). Ties: lowest index first. NaN and negative count as 0.
pub fn mass_mask(weights: &[f32], fraction: f32) -> Vec<bool> {
    let weight = |idx: usize| f64::from(weights[idx].max(0.0));
    let mut order: Vec<usize> = (0..weights.len()).collect();
    order.sort_by(|&a, &b| weight(b).total_cmp(&weight(a)));
    let total: f64 = order.iter().map(|&idx| weight(idx)).sum();
    // Without the slack a rounding error could ask for one patch more.
    let wanted = f64::from(fraction.clamp(0.0, 1.0)) * total - 1e-7 * total;
    let mut mask = vec![false; weights.len()];
    let mut mass = 0.0;
    for idx in order {
        if mass >= wanted || weight(idx) == 0.0 {
            break;
        }
        mass += weight(idx);
        mask[idx] = true;
    }
    mask
}

/// A straight piece of an outline in grid coordinates: x counts columns, y counts rows, patch (r, c) covers
/// `c..c+1` × `r..r+1`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Segment {
    /// One end, `[x, y]`.
    pub from: [f32; 2],
    /// The other end, `[x, y]`.
    pub to: [f32; 2],
}

/// The outline around the patches that hold `fraction` of the mass (see [`mass_mask`]), along patch edges,
/// straight runs joined. Empty when the grid does not fit the weights.
pub fn mass_contour(weights: &[f32], grid: (usize, usize), fraction: f32) -> Vec<Segment> {
    let (rows, cols) = grid;
    if weights.len() != rows * cols {
        return Vec::new();
    }
    let mask = mass_mask(weights, fraction);
    let inside = |row: isize, col: isize| {
        (0..rows as isize).contains(&row)
            && (0..cols as isize).contains(&col)
            && mask[row as usize * cols + col as usize]
    };
    let (n_rows, n_cols) = (rows as isize, cols as isize);
    let mut segments = Vec::new();
    for y in 0..=n_rows {
        let is_edge = |x| inside(y - 1, x) != inside(y, x);
        segments.extend(
            runs(n_cols, is_edge).map(|(a, b)| Segment { from: [a as f32, y as f32], to: [b as f32, y as f32] }),
        );
    }
    for x in 0..=n_cols {
        let is_edge = |y| inside(y, x - 1) != inside(y, x);
        segments.extend(
            runs(n_rows, is_edge).map(|(a, b)| Segment { from: [x as f32, a as f32], to: [x as f32, b as f32] }),
        );
    }
    segments
}

/// Maximal runs `start..end` of `0..n` where `holds`.
fn runs(n: isize, holds: impl Fn(isize) -> bool) -> impl Iterator<Item = (isize, isize)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = (at..n).find(|&i| holds(i))?;
        let end = (start..n).find(|&i| !holds(i)).unwrap_or(n);
        at = end;
        Some((start, end))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        raster::ColorMap,
        style::{Ground, luminance, mixed},
    };

    #[test]
    fn the_strongest_patches_that_reach_the_fraction_are_kept() {
        let weights = [0.05, 0.1, 0.3, 0.25, 0.2, 0.1];
        assert_eq!(mass_mask(&weights, 0.6), [false, false, true, true, true, false]);
        assert_eq!(mass_mask(&weights, 0.0), [false; 6]);
        assert_eq!(mass_mask(&weights, 1.0), [true; 6]);
        assert_eq!(mass_mask(&[0.0, f32::NAN, 1.0], 1.0), [false, false, true]);
    }

    #[test]
    fn the_outline_of_a_block_is_its_four_sides() {
        let mut weights = vec![0.0; 4 * 5];
        for (row, col) in [(1, 2), (1, 3), (2, 2), (2, 3)] {
            weights[row * 5 + col] = 0.25;
        }
        let side = |from, to| Segment { from, to };
        assert_eq!(
            mass_contour(&weights, (4, 5), 0.99),
            [
                side([2.0, 1.0], [4.0, 1.0]),
                side([2.0, 3.0], [4.0, 3.0]),
                side([2.0, 1.0], [2.0, 3.0]),
                side([4.0, 1.0], [4.0, 3.0]),
            ]
        );
        assert!(mass_contour(&weights, (5, 5), 0.5).is_empty());
    }

    #[test]
    fn nearest_paints_blocks_and_smooth_meets_them_at_the_centres() {
        let weights = [0.0, 1.0];
        let paint = |smooth| {
            overlay(
                &weights,
                (1, 2),
                (6, 3),
                ColorMap::Greys.on(Ground::Light),
                ColorRange::linear(0.0, 1.0),
                smooth,
                0.5,
            )
        };
        let reds = |image: &RgbaBuffer| image.pixels.chunks_exact(4).take(6).map(|p| p[0]).collect::<Vec<_>>();
        assert_eq!(reds(&paint(false)), [255, 255, 255, 0, 0, 0]);
        let smooth = paint(true);
        let line = reds(&smooth);
        assert_eq!((line[0], line[1], line[4], line[5]), (255, 255, 0, 0), "flat outside the centres");
        assert!(line.is_sorted_by(|a, b| a >= b));
        let alphas: Vec<u8> = smooth.pixels.chunks_exact(4).take(6).map(|pixel| pixel[3]).collect();
        assert_eq!((alphas[0], alphas[5]), (0, 128), "opacity follows the value");
        assert!(alphas.is_sorted());
    }

    /// On white paper, in grey, the strongest patch is darkest.
    #[test]
    fn an_overlay_printed_in_grey_darkens_with_the_weight() {
        let weights: Vec<f32> = (0..=20).map(|step| step as f32 / 20.0).collect();
        let (heat, range) = (ColorMap::Heat.on(Ground::Light), ColorRange::linear(0.0, 1.0));
        let image = overlay(&weights, (1, 21), (21, 1), heat, range, false, 0.85);
        let printed = image.pixels.chunks_exact(4).map(|pixel| {
            let part = f32::from(pixel[3]) / 255.0;
            luminance(mixed([255; 4], [pixel[0], pixel[1], pixel[2], 255], part))
        });
        let printed: Vec<f32> = printed.collect();
        assert!(printed.is_sorted_by(|a, b| a > b), "{printed:?}");
        assert_eq!(printed[0], 1.0, "nothing is not printed");
    }

    #[test]
    fn of_boxes_that_overlap_the_last_one_is_seen() {
        let all = [[0.0, 0.0, 0.75, 1.0], [0.5, 0.5, 1.0, 1.0], [0.0, 0.0, 0.01, 0.01]];
        let colors = [[1, 0, 0, 9], [2, 0, 0, 9], [3, 0, 0, 9]];
        let paint = |order: &[usize]| {
            let image = boxes(&all, &colors, order, (4, 2));
            image.pixels.chunks_exact(4).map(|pixel| pixel[0]).collect::<Vec<_>>()
        };
        assert_eq!(paint(&[0, 1, 2]), [3, 1, 1, 0, 1, 1, 2, 2]);
        assert_eq!(paint(&[2, 1, 0]), [1, 1, 1, 0, 1, 1, 1, 2]);
        assert!(boxes(&all, &colors, &[0], (0, 0)).pixels.is_empty());
    }

    #[test]
    fn a_grid_that_does_not_fit_is_transparent() {
        let range = ColorRange::linear(0.0, 1.0);
        let image = overlay(&[1.0; 5], (2, 2), (4, 4), ColorMap::Viridis.on(Ground::Light), range, true, 1.0);
        assert!(image.pixels.iter().all(|byte| *byte == 0));
    }
}
