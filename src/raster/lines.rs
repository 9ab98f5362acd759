//! Many translucent straight lines drawn once into a picture, by the same rule as their triangles.
//!
//! Twelve thousand lines are a few milliseconds for a graphics card and half a second for a driver that
//! has none, in every frame. Drawn here they cost that once, and a frame only lays one picture down.
//!
//! Colours are premultiplied and blended as they are (not in linear light), as the window, browsers and
//! PDF viewers do.

use std::ops::Range;

/// Columns that are drawn together: few enough that their pixels stay in the cache while every line passes.
const BAND: usize = 24;

/// How opaque a line is `distance` from its middle, `0..=1`: full up to half its width less half a pixel, then
/// falling to nothing over one pixel.
///
/// `width` and `feather` (one physical pixel) are in the same unit. The ink, this integrated over all distances,
/// is `width`, also where the line is thinner than a pixel: then it is paler instead.
pub fn profile(width: f32, feather: f32) -> Profile {
    let inner = ((width - feather) / 2.0).max(0.0);
    Profile { inner, outer: inner + feather, peak: (width / feather).min(1.0) }
}

/// See [`profile`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Profile {
    /// Up to here the line has its full opacity.
    pub inner: f32,
    /// From here on there is nothing.
    pub outer: f32,
    /// What the line's opacity is multiplied by.
    pub peak: f32,
}

/// A straight line, in the same unit as the frame's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LineStroke {
    /// One end, `[x, y]`.
    pub from: [f32; 2],
    /// The other end, `[x, y]`.
    pub to: [f32; 2],
    pub width: f32,
    /// Premultiplied colour, each `0..=1`.
    pub color: [f32; 4],
}

/// Which part of the plane is drawn, and how finely.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Frame {
    pub min: [f32; 2],
    /// Width and height in pixels.
    pub size_px: [usize; 2],
    /// Pixels per unit.
    pub scale: f32,
}

/// Pixels with premultiplied alpha, row by row from the top.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinePicture {
    pub size_px: [usize; 2],
    pub pixels: Vec<[u8; 4]>,
}

/// Draws `lines` in their order over nothing; `None` when `go_on`, asked now and then, says no.
pub fn draw(lines: &[LineStroke], frame: Frame, mut go_on: impl FnMut() -> bool) -> Option<LinePicture> {
    let [width, height] = frame.size_px;
    let lines: Vec<Placed> = lines.iter().map(|line| Placed::new(line, &frame)).collect();
    let mut pixels = vec![[0u8; 4]; width * height];
    let mut band = vec![[0.0f32; 4]; BAND * height];
    for first in (0..width).step_by(BAND) {
        if !go_on() {
            return None;
        }
        let columns = first..(first + BAND).min(width);
        band.fill([0.0; 4]);
        for line in &lines {
            line.draw(&mut band, columns.clone(), height);
        }
        for (x, column) in columns.zip(band.chunks_exact(height)) {
            for (y, color) in column.iter().enumerate() {
                pixels[y * width + x] = color.map(|channel| (channel * 255.0 + 0.5) as u8);
            }
        }
    }
    Some(LinePicture { size_px: frame.size_px, pixels })
}

/// A line in pixels.
struct Placed {
    from: [f32; 2],
    /// Unit vector along the line.
    along: [f32; 2],
    length: f32,
    profile: Profile,
    color: [f32; 4],
    /// Columns and rows it can touch.
    x: [f32; 2],
    y: [f32; 2],
}

impl Placed {
    fn new(line: &LineStroke, frame: &Frame) -> Self {
        let place = |[x, y]: [f32; 2]| [(x - frame.min[0]) * frame.scale, (y - frame.min[1]) * frame.scale];
        let (from, to) = (place(line.from), place(line.to));
        let (dx, dy) = (to[0] - from[0], to[1] - from[1]);
        let length = dx.hypot(dy);
        let along = if length > 0.0 { [dx / length, dy / length] } else { [1.0, 0.0] };
        let profile = profile(line.width * frame.scale, 1.0);
        let reach = |a: f32, b: f32, across: f32| {
            [a.min(b) - profile.outer * across.abs(), a.max(b) + profile.outer * across.abs()]
        };
        Self {
            from,
            along,
            length,
            profile,
            color: line.color.map(|channel| channel * profile.peak),
            x: reach(from[0], to[0], along[1]),
            y: reach(from[1], to[1], along[0]),
        }
    }

    /// Blends into a band of columns, each `height` pixels from the top.
    fn draw(&self, band: &mut [[f32; 4]], columns: Range<usize>, height: usize) {
        let first = (self.x[0] - 0.5).ceil().max(columns.start as f32) as usize;
        let last = ((self.x[1] - 0.5).floor() + 1.0).clamp(0.0, columns.end as f32) as usize;
        let [cos, sin] = self.along;
        let Profile { inner, outer, .. } = self.profile;
        let feather = outer - inner;
        for x in first..last {
            let from_start = x as f32 + 0.5 - self.from[0];
            // Where the middle of the line, and the pixels within reach of it, cross this column.
            let (low, high) = if cos.abs() > 1e-6 {
                let middle = self.from[1] + from_start * sin / cos;
                let reach = outer / cos.abs();
                ((middle - reach).max(self.y[0]), (middle + reach).min(self.y[1]))
            } else {
                (self.y[0], self.y[1])
            };
            let top = (low - 0.5).ceil().max(0.0) as usize;
            let bottom = ((high - 0.5).floor() + 1.0).clamp(0.0, height as f32) as usize;
            if top >= bottom {
                continue;
            }
            let column = &mut band[(x - columns.start) * height..][top..bottom];
            for (at, pixel) in column.iter_mut().enumerate() {
                let down = (top + at) as f32 + 0.5 - self.from[1];
                let distance = (down * cos - from_start * sin).abs();
                let along = from_start * cos + down * sin;
                let coverage = ((outer - distance) / feather).clamp(0.0, 1.0);
                if coverage == 0.0 || !(0.0..=self.length).contains(&along) {
                    continue;
                }
                let rest = 1.0 - self.color[3] * coverage;
                for (channel, ink) in pixel.iter_mut().zip(self.color) {
                    *channel = *channel * rest + ink * coverage;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLACK: [f32; 4] = [0.0, 0.0, 0.0, 1.0];

    fn line(from: [f32; 2], to: [f32; 2], width: f32) -> LineStroke {
        LineStroke { from, to, width, color: BLACK }
    }

    fn painted(lines: &[LineStroke], scale: f32) -> LinePicture {
        let frame = Frame { min: [0.0, 0.0], size_px: [60.0 * scale, 60.0 * scale].map(|side| side as usize), scale };
        draw(lines, frame, || true).unwrap()
    }

    /// The whole opacity laid down, in square points.
    fn ink(picture: &LinePicture, scale: f32) -> f32 {
        picture.pixels.iter().map(|pixel| f32::from(pixel[3]) / 255.0).sum::<f32>() / (scale * scale)
    }

    #[test]
    fn the_ink_of_a_line_is_its_width_times_its_length_at_any_scale() {
        for scale in [1.0, 1.5, 2.0] {
            for width in [0.3, 0.8, 2.4] {
                for to in [[50.0, 20.3], [50.0, 47.0], [24.0, 52.0]] {
                    let line = line([10.0, 12.0], to, width);
                    let wanted = width * (to[0] - 10.0).hypot(to[1] - 12.0);
                    let got = ink(&painted(&[line], scale), scale);
                    assert!((got / wanted - 1.0).abs() < 0.04, "{width} to {to:?} at {scale}: {got} for {wanted}");
                }
            }
        }
    }

    #[test]
    fn later_lines_cover_earlier_ones() {
        let red = LineStroke { color: [1.0, 0.0, 0.0, 1.0], ..line([5.0, 30.0], [55.0, 30.0], 8.0) };
        let half = LineStroke { color: [0.0, 0.0, 0.5, 0.5], ..line([30.0, 5.0], [30.0, 55.0], 8.0) };
        let picture = painted(&[red, half], 1.0);
        let at = |x: usize, y: usize| picture.pixels[y * 60 + x];
        assert_eq!([at(10, 30), at(30, 10), at(30, 30)], [[255, 0, 0, 255], [0, 0, 128, 128], [128, 0, 128, 255]]);
    }

    #[test]
    fn what_lies_outside_is_cut_off_and_a_picture_can_be_given_up() {
        let across = line([-500.0, -470.0], [700.0, 730.0], 2.0);
        let picture = painted(&[across], 1.0);
        assert!(picture.pixels[60 * 40 + 10][3] > 0, "30 points down at the left edge");
        let frame = Frame { min: [0.0; 2], size_px: [300, 10], scale: 1.0 };
        let mut asked = 0;
        let stop = draw(&[across], frame, || {
            asked += 1;
            asked < 3
        });
        assert_eq!((stop, asked), (None, 3));
    }
}
