//! Colours of the patches of a picture as it is: neither resized nor normalised.

use std::ops::Range;

use super::{ImageInfo, RgbaBuffer};

/// Width and height of a thumbnail.
pub const THUMBNAIL_PX: usize = 8;

/// What one patch looks like.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PatchLook {
    /// Hue in turns from red over green and blue, saturation and value of the mean colour, all `0..=1`.
    pub hsv: [f32; 3],
    /// Red, green and blue of [`THUMBNAIL_PX`]² means, row by row from the top.
    pub thumbnail: [[u8; 3]; THUMBNAIL_PX * THUMBNAIL_PX],
}

impl ImageInfo {
    /// What its parts are called, several of them.
    pub const fn parts_name(&self) -> &'static str {
        if self.regions.is_some() { "regions" } else { "patches" }
    }

    /// Row and column of a token's patch; `None` of tokens before the first patch.
    pub fn place(&self, position: usize) -> Option<(usize, usize)> {
        let (rows, columns) = self.grid;
        let patch = position.checked_sub(self.n_prefix).filter(|patch| *patch < rows * columns)?;
        Some((patch / columns, patch % columns))
    }

    /// Red, green and blue of the mean colour at a row and a column, `0..=1`; `None` without the picture.
    pub fn rgb(&self, place: (usize, usize)) -> Option<[f32; 3]> {
        let (source, [y, x]) = (self.source.as_deref()?, self.pixels(place)?);
        Some(mean(source, y, x).map(|channel| (channel / 255.0) as f32))
    }

    /// Hue, saturation and value of the mean colour at a row and a column; `None` without the picture.
    pub fn hsv(&self, place: (usize, usize)) -> Option<[f32; 3]> {
        self.rgb(place).map(hsv)
    }

    /// The look of the patch at a row and a column; `None` without the picture.
    pub fn look(&self, place: (usize, usize)) -> Option<PatchLook> {
        let (source, [y, x]) = (self.source.as_deref()?, self.pixels(place)?);
        let part = |range: &Range<usize>, nth: usize| {
            let at = |nth: usize| range.start + range.len() * nth / THUMBNAIL_PX;
            // Patches of fewer pixels than their thumbnail show some of them twice.
            at(nth)..at(nth + 1).max(at(nth) + 1)
        };
        let mut thumbnail = [[0; 3]; THUMBNAIL_PX * THUMBNAIL_PX];
        for (at, pixel) in thumbnail.iter_mut().enumerate() {
            let (y, x) = (part(&y, at / THUMBNAIL_PX), part(&x, at % THUMBNAIL_PX));
            *pixel = mean(source, y, x).map(|channel| channel.round() as u8);
        }
        Some(PatchLook { hsv: self.hsv(place)?, thumbnail })
    }

    /// Rows and columns of the picture that a patch covers; at least one of each.
    fn pixels(&self, (row, column): (usize, usize)) -> Option<[Range<usize>; 2]> {
        let (crop, source) = (self.crop, self.source.as_deref()?);
        let (rows, columns) = self.grid;
        if row >= rows || column >= columns || source.width == 0 || source.height == 0 {
            return None;
        }
        let range = |start: f32, size: f32, idx: usize, n: usize, limit: usize| {
            let edge = |idx: usize| (start + size * idx as f32 / n as f32).round().max(0.0) as usize;
            let first = edge(idx).min(limit - 1);
            first..edge(idx + 1).clamp(first + 1, limit)
        };
        if let Some(regions) = &self.regions {
            let [left, top, right, bottom] = *regions.get(column)?;
            return Some([
                range(top, bottom - top, 0, 1, source.height),
                range(left, right - left, 0, 1, source.width),
            ]);
        }
        Some([
            range(crop.y, crop.height, row, rows, source.height),
            range(crop.x, crop.width, column, columns, source.width),
        ])
    }
}

/// Mean red, green and blue of some pixels, `0..=255`.
fn mean(source: &RgbaBuffer, rows: Range<usize>, columns: Range<usize>) -> [f64; 3] {
    let (mut sum, mut n) = ([0.0f64; 3], 0usize);
    for row in rows {
        let line = &source.pixels[4 * source.width * row..4 * source.width * (row + 1)];
        for pixel in line[4 * columns.start..4 * columns.end].chunks_exact(4) {
            sum.iter_mut().zip(pixel).for_each(|(sum, value)| *sum += f64::from(*value));
            n += 1;
        }
    }
    sum.map(|sum| sum / n.max(1) as f64)
}

/// Hue in turns, saturation and value of red, green and blue, all `0..=1`.
fn hsv([r, g, b]: [f32; 3]) -> [f32; 3] {
    let (max, min) = (r.max(g).max(b), r.min(g).min(b));
    let range = max - min;
    if range <= 0.0 {
        return [0.0, 0.0, max];
    }
    let sixth = if max == r {
        ((g - b) / range).rem_euclid(6.0)
    } else if max == g {
        (b - r) / range + 2.0
    } else {
        (r - g) / range + 4.0
    };
    [sixth / 6.0, range / max, max]
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::capture::CropRect;

    #[test]
    fn hues_are_turns_from_red_over_green_and_blue() {
        assert_eq!(hsv([1.0, 0.0, 0.0]), [0.0, 1.0, 1.0]);
        assert!((hsv([0.0, 0.5, 0.0])[0] - 1.0 / 3.0).abs() < 1e-6);
        assert!((hsv([0.0, 0.0, 0.5])[0] - 2.0 / 3.0).abs() < 1e-6);
        assert_eq!(hsv([0.3; 3])[1], 0.0, "grey has no colour");
    }

    /// A crop of 16 × 8 pixels behind a margin of 2, red on the left and getting brighter downwards on the right.
    fn image() -> ImageInfo {
        let pixel = |at: usize| {
            let (x, y) = (at % 18, at / 18);
            if x < 10 { [200, 0, 0, 255] } else { [10 * y as u8, 10 * y as u8, 10 * y as u8, 255] }
        };
        let pixels = (0..18 * 8).flat_map(pixel).collect();
        ImageInfo {
            grid: (1, 2),
            regions: None,
            n_prefix: 1,
            patch_px: (4, 4),
            crop: CropRect { x: 2.0, y: 0.0, width: 16.0, height: 8.0 },
            source: Some(Arc::new(RgbaBuffer { width: 18, height: 8, pixels })),
        }
    }

    #[test]
    fn patches_have_the_mean_colour_and_a_small_picture() {
        let image = image();
        assert_eq!(
            (image.place(0), image.place(1), image.place(2), image.place(3)),
            (None, Some((0, 0)), Some((0, 1)), None)
        );
        let [red, grey] = [image.look((0, 0)).unwrap(), image.look((0, 1)).unwrap()];
        assert_eq!(red.thumbnail, [[200, 0, 0]; 64]);
        assert!((red.hsv[2] - 200.0 / 255.0).abs() < 1e-6 && red.hsv[1] == 1.0);
        assert_eq!((grey.thumbnail[0], grey.thumbnail[63]), ([0; 3], [70; 3]));
        assert!((grey.hsv[2] - 35.0 / 255.0).abs() < 1e-6 && grey.hsv[1] == 0.0);
        assert_eq!(image.look((1, 0)), None);
        // More cells than pixels, and a picture smaller than its grid.
        let fine = ImageInfo { grid: (40, 40), ..image.clone() };
        assert_eq!(fine.look((39, 39)).unwrap().thumbnail, [[70; 3]; 64]);
        assert_eq!(ImageInfo { source: None, ..image }.look((0, 0)), None);
    }
}
