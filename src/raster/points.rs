//! Many small translucent marks drawn once into a picture, and how many points lie where.
//!
//! A million marks are nothing that a driver without a graphics card could draw in every frame. Drawn here they
//! cost some fifty milliseconds once, beside the window's thread, and a frame lays pictures down.
//!
//! Colours are premultiplied and blended as they are (not in linear light), as the window, browsers and PDF
//! viewers do.

/// Places within a pixel, along each axis, at which marks are told apart.
const STEPS: usize = 8;
/// Marks are at least this large, so that every one leaves ink in some pixel.
const MIN_RADIUS: f32 = 0.5;

/// What a mark looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mark {
    Disc,
    /// A square on its corner, whose corners lie a radius from its middle.
    Diamond,
}

impl Mark {
    /// The area that a mark covers.
    pub fn area(self, radius: f32) -> f32 {
        match self {
            Self::Disc => std::f32::consts::PI * radius * radius,
            Self::Diamond => 2.0 * radius * radius,
        }
    }

    /// How much of a pixel is covered whose middle lies `x`, `y` from that of the mark, but for a factor.
    fn coverage(self, radius: f32, x: f32, y: f32) -> f32 {
        let inside = match self {
            Self::Disc => radius - x.hypot(y),
            Self::Diamond => (radius - x.abs() - y.abs()) * std::f32::consts::FRAC_1_SQRT_2,
        };
        (inside + 0.5).clamp(0.0, 1.0)
    }
}

/// A mark of one size as it covers pixels, wherever in a pixel its middle lies. Its ink is its area.
#[derive(Clone, Debug)]
pub struct Stamp {
    side: usize,
    /// Pixels from the one with the middle to the first.
    reach: i64,
    /// `[row step, column step, row, column]`.
    coverage: Vec<f32>,
}

impl Stamp {
    /// A mark of `radius` pixels.
    pub fn new(mark: Mark, radius: f32) -> Self {
        let radius = radius.max(MIN_RADIUS);
        let reach = (radius + 0.5).ceil() as i64;
        let side = 2 * reach as usize + 1;
        let mut coverage = Vec::with_capacity(STEPS * STEPS * side * side);
        for step in 0..STEPS * STEPS {
            let middle = |step: usize| reach as f32 + (step as f32 + 0.5) / STEPS as f32;
            let (x, y) = (middle(step % STEPS), middle(step / STEPS));
            let at = |pixel: usize| pixel as f32 + 0.5;
            let all = (0..side * side).map(|pixel| mark.coverage(radius, at(pixel % side) - x, at(pixel / side) - y));
            let all: Vec<f32> = all.collect();
            let factor = mark.area(radius) / all.iter().sum::<f32>();
            coverage.extend(all.into_iter().map(|covered| covered * factor));
        }
        Self { side, reach, coverage }
    }

    /// Pixels along one side of what [`Self::pixels`] gives.
    pub const fn side(&self) -> usize {
        self.side
    }

    /// How much of each pixel is covered by a mark in the middle of the square, row by row.
    pub fn pixels(&self) -> &[f32] {
        let (middle, len) = (STEPS / 2, self.side * self.side);
        &self.coverage[(middle * STEPS + middle) * len..][..len]
    }
}

/// Pixels with premultiplied alpha, row by row from the top.
#[derive(Clone, Debug, PartialEq)]
pub struct Canvas {
    size_px: [usize; 2],
    pixels: Vec<[f32; 4]>,
}

impl Canvas {
    /// Nothing on it yet.
    pub fn new(size_px: [usize; 2]) -> Self {
        Self { size_px, pixels: vec![[0.0; 4]; size_px[0] * size_px[1]] }
    }

    /// Width and height.
    pub const fn size_px(&self) -> [usize; 2] {
        self.size_px
    }

    /// Lays a mark of a premultiplied colour down, its middle at `at` in pixels; what lies outside is cut off.
    pub fn stamp(&mut self, at: [f32; 2], stamp: &Stamp, ink: [f32; 4]) {
        let [width, height] = self.size_px.map(|side| side as i64);
        // Also false for what is not a number.
        if !(at[0].abs() < 1e9 && at[1].abs() < 1e9) {
            return;
        }
        let pixel = at.map(f32::floor);
        let step = [0, 1].map(|axis| (((at[axis] - pixel[axis]) * STEPS as f32) as usize).min(STEPS - 1));
        let [left, top] = pixel.map(|pixel| pixel as i64 - stamp.reach);
        let side = stamp.side as i64;
        let (from, to) = ((-left).max(0), (width - left).min(side));
        if from >= to || top >= height || top + side <= 0 {
            return;
        }
        let (from, to) = (from as usize, to as usize);
        let first = (step[1] * STEPS + step[0]) * stamp.side * stamp.side;
        for row in (-top).max(0)..(height - top).min(side) {
            let covered = &stamp.coverage[first + row as usize * stamp.side..][from..to];
            let start = ((top + row) * width + left + from as i64) as usize;
            for (pixel, covered) in self.pixels[start..start + covered.len()].iter_mut().zip(covered) {
                let rest = 1.0 - ink[3] * covered;
                for (channel, ink) in pixel.iter_mut().zip(ink) {
                    *channel = *channel * rest + ink * covered;
                }
            }
        }
    }

    /// Fills whole pixels, as far as they are on it.
    pub fn fill(&mut self, from: [usize; 2], to: [usize; 2], ink: [f32; 4]) {
        let [width, height] = self.size_px;
        let columns = from[0].min(width)..to[0].min(width);
        for row in from[1].min(height)..to[1].min(height) {
            for pixel in &mut self.pixels[row * width..][columns.clone()] {
                let rest = 1.0 - ink[3];
                for (channel, ink) in pixel.iter_mut().zip(ink) {
                    *channel = *channel * rest + ink;
                }
            }
        }
    }

    /// As bytes, still premultiplied.
    pub fn bytes(&self) -> impl Iterator<Item = [u8; 4]> {
        self.pixels.iter().map(|pixel| pixel.map(|channel| (channel * 255.0 + 0.5) as u8))
    }
}

/// How many points lie in each of `n_bins` columns and rows over `size`; points outside are in none.
pub fn counts(points: impl Iterator<Item = [f32; 2]>, size: [f32; 2], n_bins: [usize; 2]) -> Vec<u32> {
    let mut counts = vec![0; n_bins[0] * n_bins[1]];
    let bin = |x: f32, axis: usize| {
        let part = x / size[axis];
        // Also false for what is not a number.
        (0.0..=1.0).contains(&part).then(|| ((part * n_bins[axis] as f32) as usize).min(n_bins[axis] - 1))
    };
    for [x, y] in points {
        if let (Some(column), Some(row)) = (bin(x, 0), bin(y, 1)) {
            counts[row * n_bins[0] + column] += 1;
        }
    }
    counts
}

/// How opaque each of `n` marks is that together share `area`, so that crowds still show where they are densest.
///
/// Points of a layout cover about a third of their cell; where they lie on top of each other there, each of them
/// gives way.
pub fn opacity(n: usize, mark_area: f32, area: f32) -> f32 {
    let layers = n as f32 * mark_area / (area / 3.0).max(1.0);
    (OPACITY * layers.max(1.0).powf(-0.5)).max(LEAST_OPACITY)
}

/// Of a mark that stands alone.
const OPACITY: f32 = 0.85;
/// Of a mark among very many: a lone point is still seen.
const LEAST_OPACITY: f32 = 0.28;

#[cfg(test)]
mod tests {
    use super::*;

    fn ink(canvas: &Canvas) -> f32 {
        canvas.pixels.iter().map(|pixel| pixel[3]).sum()
    }

    /// Whatever the size and wherever the mark lies, what is laid down is its area.
    #[test]
    fn the_ink_of_marks_is_their_area() {
        for mark in [Mark::Disc, Mark::Diamond] {
            for radius in [0.5, 0.8, 1.0, 2.3, 6.0] {
                let stamp = Stamp::new(mark, radius);
                let mut canvas = Canvas::new([200, 40]);
                for nth in 0..10 {
                    let nth = nth as f32;
                    canvas.stamp([10.0 + nth * 19.13, 20.0 + nth * 0.37], &stamp, [0.0, 0.0, 0.25, 0.5]);
                }
                let wanted = 10.0 * 0.5 * mark.area(radius);
                assert!((ink(&canvas) / wanted - 1.0).abs() < 1e-3, "{mark:?} {radius}: {} {wanted}", ink(&canvas));
                let blue: f32 = canvas.pixels.iter().map(|pixel| pixel[2]).sum();
                assert!((blue / wanted - 0.5).abs() < 1e-3);
            }
        }
    }

    #[test]
    fn marks_lie_where_they_are_put_and_are_cut_at_the_edge() {
        let stamp = Stamp::new(Mark::Disc, 3.0);
        let mut canvas = Canvas::new([30, 20]);
        canvas.stamp([12.4, 9.7], &stamp, [0.0, 0.0, 0.0, 1.0]);
        let mean = |axis: usize| {
            let place = |idx: usize| (if axis == 0 { idx % 30 } else { idx / 30 }) as f32 + 0.5;
            canvas.pixels.iter().enumerate().map(|(idx, pixel)| place(idx) * pixel[3]).sum::<f32>() / ink(&canvas)
        };
        assert!((mean(0) - 12.4).abs() < 0.07 && (mean(1) - 9.7).abs() < 0.07, "{} {}", mean(0), mean(1));
        let mut canvas = Canvas::new([30, 20]);
        for at in [[0.0, 10.0], [15.0, 20.0], [-8.0, 4.0], [4.0, 90.0], [f32::NAN, 3.0], [f32::INFINITY, 3.0]] {
            canvas.stamp(at, &stamp, [0.0, 0.0, 0.0, 1.0]);
        }
        let half = Mark::Disc.area(3.0) / 2.0;
        assert!((ink(&canvas) / (2.0 * half) - 1.0).abs() < 0.08, "two halves: {} {half}", ink(&canvas));
    }

    #[test]
    fn later_marks_cover_earlier_ones() {
        let stamp = Stamp::new(Mark::Diamond, 4.0);
        let mut canvas = Canvas::new([20, 20]);
        canvas.stamp([10.0, 10.0], &stamp, [1.0, 0.0, 0.0, 1.0]);
        canvas.stamp([10.0, 10.0], &stamp, [0.0, 0.0, 0.5, 0.5]);
        let middle = canvas.bytes().nth(10 * 20 + 10).unwrap();
        assert!(middle[0].abs_diff(128) < 6 && middle[2].abs_diff(128) < 6 && middle[3] > 250, "{middle:?}");
    }

    #[test]
    fn every_point_inside_is_counted_once() {
        let points: Vec<[f32; 2]> = (0..997).map(|n| [n as f32 * 0.1, (n * 37 % 100) as f32]).collect();
        let all = counts(points.iter().copied(), [99.6, 99.0], [7, 13]);
        assert_eq!(all.iter().sum::<u32>(), 997);
        let half = counts(points.iter().copied(), [49.85, 99.0], [5, 5]);
        assert_eq!(half.iter().sum::<u32>(), 499, "what lies outside is not counted");
        assert_eq!(counts([[f32::NAN, 1.0]].into_iter(), [2.0, 2.0], [3, 3]).iter().sum::<u32>(), 0);
    }

    #[test]
    fn crowds_are_fainter_but_never_gone() {
        let alone = opacity(10, 3.0, 10_000.0);
        let crowd = opacity(10_000, 3.0, 10_000.0);
        assert!(alone > 0.8 && crowd < 0.4 && opacity(10_000_000, 3.0, 100.0) >= 0.25, "{alone} {crowd}");
    }
}
