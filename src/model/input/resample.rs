//! Resizing eight-bit pictures exactly as PIL does, bit for bit.
//!
//! Image processors were written on PIL, and a model sees the difference between its antialiased,
//! fixed-point filters and anybody else's. After `src/libImaging/Resample.c` and `Geometry.c` of
//! Pillow.

use std::{borrow::Cow, f64::consts::PI};

/// Eight-bit pixels, row by row from the top: red, green and blue, or grey, which stands for three equal channels and
/// takes a third of the room.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Pixels8 {
    pub width: usize,
    pub height: usize,
    /// 3, or 1 of a grey picture.
    pub n_channels: usize,
    /// `n_channels · width · height` bytes.
    pub pixels: Vec<u8>,
}

impl Pixels8 {
    /// The same with three channels.
    pub fn into_rgb(self) -> Self {
        if self.n_channels == 3 {
            return self;
        }
        Self { n_channels: 3, pixels: repeated(&self.pixels, |grey| [grey; 3]), ..self }
    }
}

/// Several bytes in the place of each, in memory that is asked for once.
pub(super) fn repeated<const N: usize>(pixels: &[u8], of: impl Fn(u8) -> [u8; N]) -> Vec<u8> {
    let mut out = Vec::with_capacity(N * pixels.len());
    for pixel in pixels {
        out.extend_from_slice(&of(*pixel));
    }
    out
}

impl std::fmt::Debug for Pixels8 {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Pixels8({}×{}×{})", self.width, self.height, self.n_channels)
    }
}

/// Interpolation kernels, numbered as `PIL.Image.Resampling`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Filter {
    Nearest,
    Lanczos,
    Bilinear,
    Bicubic,
    Box,
    Hamming,
}

impl Filter {
    /// The filter with PIL's `number`.
    pub const fn from_pil(number: u64) -> Option<Self> {
        Some(match number {
            0 => Self::Nearest,
            1 => Self::Lanczos,
            2 => Self::Bilinear,
            3 => Self::Bicubic,
            4 => Self::Box,
            5 => Self::Hamming,
            _ => return None,
        })
    }

    /// Half the kernel's width, in source pixels at scale one.
    const fn support(self) -> f64 {
        match self {
            Self::Nearest | Self::Box => 0.5,
            Self::Bilinear | Self::Hamming => 1.0,
            Self::Bicubic => 2.0,
            Self::Lanczos => 3.0,
        }
    }

    fn weight(self, x: f64) -> f64 {
        match self {
            Self::Nearest | Self::Box => f64::from(u8::from(x > -0.5 && x <= 0.5)),
            Self::Bilinear => (1.0 - x.abs()).max(0.0),
            Self::Hamming => match x.abs() {
                0.0 => 1.0,
                x if x >= 1.0 => 0.0,
                x => sinc(x) * (0.54 + 0.46 * (x * PI).cos()),
            },
            Self::Bicubic => {
                const A: f64 = -0.5;
                match x.abs() {
                    x if x < 1.0 => ((A + 2.0) * x - (A + 3.0)) * x * x + 1.0,
                    x if x < 2.0 => (((x - 5.0) * x + 8.0) * x - 4.0) * A,
                    _ => 0.0,
                }
            }
            Self::Lanczos if (-3.0..3.0).contains(&x) => sinc(x) * sinc(x / 3.0),
            Self::Lanczos => 0.0,
        }
    }
}

fn sinc(x: f64) -> f64 {
    if x == 0.0 { 1.0 } else { (x * PI).sin() / (x * PI) }
}

/// `source` at `width × height` pixels. Both sizes must be positive.
pub(super) fn resize(source: &Pixels8, width: usize, height: usize, filter: Filter) -> Pixels8 {
    if (source.width, source.height) == (width, height) {
        return source.clone();
    }
    if filter == Filter::Nearest {
        return nearest(source, width, height);
    }
    // PIL rounds to eight bits between the passes, so their order shows. Since Pillow 13 the rows are
    // reduced first where that saves work; before, the columns always came first.
    let rows_saved = source.height as isize - height as isize;
    let columns_saved = source.width as isize - width as isize;
    if rows_saved > 0 && rows_saved > 2 * columns_saved {
        let low = to_height(source, height, filter);
        to_width(&low, width, filter).into_owned()
    } else {
        let narrow = to_width(source, width, filter);
        to_height(&narrow, height, filter).into_owned()
    }
}

/// A pass that changes nothing is skipped, as it would blur.
fn to_width(source: &Pixels8, width: usize, filter: Filter) -> Cow<'_, Pixels8> {
    match source.n_channels {
        _ if source.width == width => Cow::Borrowed(source),
        1 => Cow::Owned(horizontal::<1>(source, width, filter)),
        _ => Cow::Owned(horizontal::<3>(source, width, filter)),
    }
}

fn to_height(source: &Pixels8, height: usize, filter: Filter) -> Cow<'_, Pixels8> {
    if source.height == height { Cow::Borrowed(source) } else { Cow::Owned(vertical(source, height, filter)) }
}

fn nearest(source: &Pixels8, width: usize, height: usize) -> Pixels8 {
    let columns = nearest_positions(source.width, width);
    let n_channels = source.n_channels;
    let mut pixels = Vec::with_capacity(n_channels * width * height);
    for y in nearest_positions(source.height, height) {
        let row = &source.pixels[n_channels * y * source.width..];
        for &x in &columns {
            pixels.extend_from_slice(&row[n_channels * x..n_channels * (x + 1)]);
        }
    }
    Pixels8 { width, height, n_channels, pixels }
}

/// The source position of every output position. PIL adds up the step, rounding errors included.
fn nearest_positions(n_source: usize, n_out: usize) -> Vec<usize> {
    let step = n_source as f64 / n_out as f64;
    let mut at = step * 0.5;
    (0..n_out)
        .map(|_| {
            let position = (at as usize).min(n_source - 1);
            at += step;
            position
        })
        .collect()
}

/// The contribution of source positions to one output position, in fixed point.
struct Taps {
    first: usize,
    weights: Vec<i32>,
}

/// Bits behind the point: eight for the pixel, two for the sign and for overshooting kernels.
const PRECISION_BITS: u32 = 32 - 8 - 2;

fn taps(n_source: usize, n_out: usize, filter: Filter) -> Vec<Taps> {
    let scale = n_source as f64 / n_out as f64;
    // Downscaling widens the kernel, so that every source pixel counts.
    let filter_scale = scale.max(1.0);
    let support = filter.support() * filter_scale;
    (0..n_out)
        .map(|out| {
            let center = (out as f64 + 0.5) * scale;
            let first = (center - support + 0.5).max(0.0) as usize;
            let end = ((center + support + 0.5) as usize).min(n_source);
            let weights: Vec<f64> = (first..end)
                .map(|position| filter.weight((position as f64 - center + 0.5) * (1.0 / filter_scale)))
                .collect();
            let total: f64 = weights.iter().sum();
            let fixed = |weight: f64| {
                let weight = if total == 0.0 { weight } else { weight / total };
                (weight * f64::from(1 << PRECISION_BITS) + 0.5f64.copysign(weight)) as i32
            };
            Taps { first, weights: weights.into_iter().map(fixed).collect() }
        })
        .collect()
}

fn clip(sum: i32) -> u8 {
    (sum >> PRECISION_BITS).clamp(0, 255) as u8
}

const ROUND: i32 = 1 << (PRECISION_BITS - 1);

fn horizontal<const CHANNELS: usize>(source: &Pixels8, width: usize, filter: Filter) -> Pixels8 {
    let taps = taps(source.width, width, filter);
    let mut pixels = Vec::with_capacity(CHANNELS * width * source.height);
    for row in source.pixels.chunks_exact(CHANNELS * source.width) {
        for Taps { first, weights } in &taps {
            let mut sums = [ROUND; CHANNELS];
            for (pixel, &weight) in row[CHANNELS * first..].as_chunks::<CHANNELS>().0.iter().zip(weights) {
                for (sum, &value) in sums.iter_mut().zip(pixel) {
                    *sum += i32::from(value) * weight;
                }
            }
            pixels.extend(sums.map(clip));
        }
    }
    Pixels8 { width, height: source.height, n_channels: CHANNELS, pixels }
}

fn vertical(source: &Pixels8, height: usize, filter: Filter) -> Pixels8 {
    let stride = source.n_channels * source.width;
    let mut pixels = Vec::with_capacity(stride * height);
    let mut sums = vec![ROUND; stride];
    for Taps { first, weights } in taps(source.height, height, filter) {
        sums.fill(ROUND);
        for (row, weight) in source.pixels[first * stride..].chunks_exact(stride).zip(weights) {
            for (sum, &value) in sums.iter_mut().zip(row) {
                *sum += i32::from(value) * weight;
            }
        }
        pixels.extend(sums.iter().map(|&sum| clip(sum)));
    }
    Pixels8 { width: source.width, height, n_channels: source.n_channels, pixels }
}

/// Contributions to one output position, in single precision and rounded as `PyTorch` does where it interpolates with
/// antialiasing.
fn shares(n_source: usize, n_out: usize, filter: Filter) -> Vec<(usize, Vec<f32>)> {
    let scale = n_source as f32 / n_out as f32;
    let support = filter.support() as f32 * scale.max(1.0);
    let inverse = scale.max(1.0).recip();
    (0..n_out)
        .map(|out| {
            let center = (f64::from(scale) * (out as f64 + 0.5)) as f32;
            let first = (f64::from(center - support) + 0.5).max(0.0) as usize;
            let end = ((f64::from(center + support) + 0.5) as usize).min(n_source);
            let place = |position: usize| (f64::from(position as f32 - center) + 0.5) * f64::from(inverse);
            let weights: Vec<f32> = (first..end).map(|at| filter.weight(f64::from(place(at) as f32)) as f32).collect();
            let total: f32 = weights.iter().sum();
            (first, weights.into_iter().map(|weight| if total == 0.0 { weight } else { weight / total }).collect())
        })
        .collect()
}

/// Values of three channels, pixel by pixel, at another size (height, width); rows first, without rounding.
pub(super) fn resize_values(
    values: Vec<f32>,
    (height, width): (usize, usize),
    (new_height, new_width): (usize, usize),
    filter: Filter,
) -> Vec<f32> {
    let mut values = values;
    if new_width != width {
        let shares = shares(width, new_width, filter);
        let mut narrow = Vec::with_capacity(3 * height * new_width);
        for row in values.chunks_exact(3 * width) {
            for (first, weights) in &shares {
                let mut sums = [0.0; 3];
                for (pixel, weight) in row[3 * first..].as_chunks::<3>().0.iter().zip(weights) {
                    sums.iter_mut().zip(pixel).for_each(|(sum, value)| *sum += value * weight);
                }
                narrow.extend(sums);
            }
        }
        values = narrow;
    }
    if new_height == height {
        return values;
    }
    let stride = 3 * new_width;
    let mut low = vec![0.0; stride * new_height];
    for ((first, weights), out) in shares(height, new_height, filter).iter().zip(low.chunks_exact_mut(stride)) {
        for (row, weight) in values[first * stride..].chunks_exact(stride).zip(weights) {
            out.iter_mut().zip(row).for_each(|(sum, value)| *sum += value * weight);
        }
    }
    low
}
