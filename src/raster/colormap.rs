//! From a value to a colour: sequential maps whose lightness grows or falls with the value.

use serde::{Deserialize, Serialize};

use super::{
    colormap_tables::{CIVIDIS, MAGMA, VIRIDIS},
    diverging,
};

/// The colour of values that are not a number: no map contains it.
pub const NAN_COLOR: [u8; 4] = [255, 0, 144, 255];

/// The colour of entries that a causal mask rules out: neutral on light and on dark ground.
pub const MASKED_COLOR: [u8; 4] = [128, 128, 128, 56];
/// Cells outside a sliding window: a neutral between the mask and the text.
pub const OUT_OF_WINDOW_COLOR: [u8; 4] = [128, 128, 128, 128];

/// A colour map with 256 steps. Those that are not offered are in no settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum ColorMap {
    /// Dark blue over green to yellow.
    #[default]
    Viridis,
    /// Black over purple to pale yellow.
    Magma,
    /// Dark blue over grey to yellow: the same to colour-blind eyes.
    Cividis,
    /// White to black, for print.
    Greys,
    /// Differences: blue below the middle of the range, orange above it.
    #[serde(skip)]
    Diverging,
    /// Near black over teal to pale mint: what is no attention, so that nobody takes it for that.
    #[serde(skip)]
    Teal,
}

impl ColorMap {
    /// Every sequential map, in the order they are offered.
    pub const ALL: [Self; 4] = [Self::Viridis, Self::Magma, Self::Cividis, Self::Greys];

    /// Its name on the command line and in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Viridis => "viridis",
            Self::Magma => "magma",
            Self::Cividis => "cividis",
            Self::Greys => "greys",
            Self::Diverging => "diverging",
            Self::Teal => "teal",
        }
    }

    /// Its name on screen.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Viridis => "Viridis",
            Self::Magma => "Magma",
            Self::Cividis => "Cividis",
            Self::Greys => "Greys",
            Self::Diverging => "Diverging",
            Self::Teal => "Teal",
        }
    }

    /// Opaque colour of `fraction` in `0..=1`; values outside are clamped, NaN has [`NAN_COLOR`].
    pub fn color(self, fraction: f32) -> [u8; 4] {
        if fraction.is_nan() {
            return NAN_COLOR;
        }
        // The cast saturates, which is the clamp; half a step up rounds to the nearest.
        self.step((fraction * 255.0 + 0.5) as u8)
    }

    fn step(self, step: u8) -> [u8; 4] {
        let table = match self {
            Self::Viridis => &VIRIDIS,
            Self::Magma => &MAGMA,
            Self::Cividis => &CIVIDIS,
            Self::Greys => return [255 - step, 255 - step, 255 - step, 255],
            Self::Diverging => return diverging(f32::from(step) / 127.5 - 1.0),
            Self::Teal => return teal(f32::from(step) / 255.0),
        };
        let [_, red, green, blue] = table[usize::from(step)].to_be_bytes();
        [red, green, blue, 255]
    }

    /// All 256 colours, from low to high: for legends and loops over many values.
    pub fn table(self) -> [[u8; 4]; 256] {
        std::array::from_fn(|step| self.step(step as u8))
    }
}

/// One hue, from dark to light.
fn teal(fraction: f32) -> [u8; 4] {
    const STOPS: [[f32; 3]; 5] =
        [[8.0, 24.0, 29.0], [10.0, 72.0, 80.0], [16.0, 128.0, 131.0], [86.0, 190.0, 178.0], [226.0, 250.0, 236.0]];
    let at = fraction.clamp(0.0, 1.0) * (STOPS.len() - 1) as f32;
    let step = (at as usize).min(STOPS.len() - 2);
    let part = at - step as f32;
    let mix = |channel: usize| (STOPS[step][channel] * (1.0 - part) + STOPS[step + 1][channel] * part + 0.5) as u8;
    [mix(0), mix(1), mix(2), 255]
}

/// Which values the two ends of a colour map stand for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ColorRange {
    low: f32,
    high: f32,
    log: bool,
}

impl ColorRange {
    /// The low end of a logarithmic range as a fraction of its high end: four decades.
    pub const LOG_FLOOR: f32 = 1e-4;

    /// Proportional from `low` to `high`.
    pub const fn linear(low: f32, high: f32) -> Self {
        Self { low, high, log: false }
    }

    /// Logarithmic from `low` to `high`; a `low` (0, say) below `high` · [`Self::LOG_FLOOR`] becomes that.
    pub fn log(low: f32, high: f32) -> Self {
        Self { low: low.max(high * Self::LOG_FLOOR).max(f32::MIN_POSITIVE), high, log: true }
    }

    /// From 0 to the largest finite value; to 1 when there is none above 0.
    pub fn of(values: &[f32], log: bool) -> Self {
        // Eight running maxima instead of one chain, so that the loop vectorises.
        let mut maxima = [0.0f32; 8];
        for chunk in values.chunks(8) {
            for (max, &value) in maxima.iter_mut().zip(chunk) {
                if value > *max && value < f32::INFINITY {
                    *max = value;
                }
            }
        }
        let high = maxima.into_iter().fold(0.0, f32::max);
        let high = if high > 0.0 { high } else { 1.0 };
        if log { Self::log(0.0, high) } else { Self::linear(0.0, high) }
    }

    /// From 0 to `high`, or for values with a sign as far to both sides of 0; to 1 when `high` is not above 0.
    pub fn up_to(high: f32, signed: bool, log: bool) -> Self {
        let high = if high > 0.0 { high } else { 1.0 };
        match (signed, log) {
            (true, _) => Self::linear(-high, high),
            (false, true) => Self::log(0.0, high),
            (false, false) => Self::linear(0.0, high),
        }
    }

    /// The value at the low end.
    pub const fn low(&self) -> f32 {
        self.low
    }

    /// The value at the high end.
    pub const fn high(&self) -> f32 {
        self.high
    }

    /// Whether equal ratios are equally far apart.
    pub const fn is_log(&self) -> bool {
        self.log
    }

    /// Where `value` lies, `0..=1`; NaN stays NaN. In a logarithmic range 0 and less is the low end.
    pub fn fraction(&self, value: f32) -> f32 {
        if value.is_nan() {
            return value;
        }
        let Self { low, high, log } = *self;
        let fraction = if high <= low {
            // An empty range: everything at its top is "high".
            if value >= high { 1.0 } else { 0.0 }
        } else if !log {
            (value - low) / (high - low)
        } else if value <= low {
            0.0
        } else {
            (value / low).log2() / (high / low).log2()
        };
        fraction.clamp(0.0, 1.0)
    }

    /// The value at `fraction`: the inverse of [`Self::fraction`], for the ticks of a legend.
    pub fn value(&self, fraction: f32) -> f32 {
        if self.log {
            self.low * (self.high / self.low).powf(fraction)
        } else {
            self.low + fraction * (self.high - self.low)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CIE luminance of an sRGB colour.
    fn luminance([red, green, blue, _]: [u8; 4]) -> f64 {
        let linear = |channel: u8| {
            let x = f64::from(channel) / 255.0;
            if x <= 0.04045 { x / 12.92 } else { ((x + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
    }

    #[test]
    fn luminance_is_monotone() {
        for map in ColorMap::ALL.into_iter().chain([ColorMap::Teal]) {
            let luminances = map.table().map(luminance);
            let direction = (luminances[255] - luminances[0]).signum();
            for pair in luminances.windows(2) {
                // A table of eight-bit colours rounds by up to half a step of a channel.
                assert!(direction * (pair[1] - pair[0]) > -0.003, "{map:?}: {pair:?}");
            }
            assert!((luminances[255] - luminances[0]).abs() > 0.6, "{map:?}");
        }
    }

    #[test]
    fn ends_are_the_published_ones() {
        assert_eq!(ColorMap::Viridis.color(0.0), [0x44, 0x01, 0x54, 255]);
        assert_eq!(ColorMap::Viridis.color(1.0), [0xfd, 0xe7, 0x25, 255]);
        assert_eq!(ColorMap::Magma.color(-3.0), [0, 0, 4, 255]);
        assert_eq!(ColorMap::Magma.color(f32::INFINITY), [0xfc, 0xfd, 0xbf, 255]);
        assert_eq!(ColorMap::Cividis.color(0.0), [0x00, 0x22, 0x4e, 255]);
        assert_eq!(ColorMap::Greys.color(0.0), [255, 255, 255, 255]);
        assert_eq!(ColorMap::Viridis.color(f32::NAN), NAN_COLOR);
        for map in ColorMap::ALL {
            assert!(!map.table().contains(&NAN_COLOR));
        }
    }

    #[test]
    fn ranges_map_their_ends_and_back() {
        for range in [ColorRange::linear(0.0, 0.5), ColorRange::log(0.0, 0.5)] {
            assert_eq!(range.fraction(0.5), 1.0);
            assert_eq!(range.fraction(range.low()), 0.0);
            assert_eq!(range.fraction(-1.0), 0.0);
            assert_eq!(range.fraction(f32::NEG_INFINITY), 0.0);
            assert!(range.fraction(f32::NAN).is_nan());
            for fraction in [0.1, 0.5, 0.9] {
                assert!((range.fraction(range.value(fraction)) - fraction).abs() < 1e-5);
            }
        }
        let log = ColorRange::log(0.0, 1.0);
        assert!((log.fraction(0.01) - 0.5).abs() < 1e-6, "four decades: 1e-2 is half way");
    }

    #[test]
    fn the_range_of_data_ends_at_its_largest_finite_value() {
        let values = [0.1, f32::NAN, 0.3, f32::INFINITY, -2.0];
        assert_eq!(ColorRange::of(&values, false), ColorRange::linear(0.0, 0.3));
        assert_eq!(ColorRange::of(&[], false).high(), 1.0);
    }
}
