//! From a value to a colour: sequential maps whose lightness grows or falls with the value.

use serde::{Deserialize, Serialize};

use super::colormap_tables::{CIVIDIS, MAGMA, VIRIDIS};
use crate::style::{Ground, NO_NUMBER, Palette};

/// A colour map. Those that are not offered are in no settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum ColorMap {
    /// From the ground over orange and purple to what differs most from it: 0 is no ink.
    #[default]
    Heat,
    /// Dark blue over green to yellow.
    Viridis,
    /// Black over purple to pale yellow.
    Magma,
    /// Dark blue over grey to yellow: the same to colour-blind eyes.
    Cividis,
    /// White to black, for print.
    Greys,
    /// What has a sign: from blue over the ground in the middle of the range to orange.
    #[serde(skip)]
    Signed,
    /// From the ground over teal to ink: what is no attention, so that nobody takes it for that.
    #[serde(skip)]
    Explained,
}

impl ColorMap {
    /// Every sequential map, in the order they are offered.
    pub const ALL: [Self; 5] = [Self::Heat, Self::Viridis, Self::Magma, Self::Cividis, Self::Greys];

    /// Its name on the command line and in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Heat => "heat",
            Self::Viridis => "viridis",
            Self::Magma => "magma",
            Self::Cividis => "cividis",
            Self::Greys => "greys",
            Self::Signed => "signed",
            Self::Explained => "not attention",
        }
    }

    /// Its name on screen.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Heat => "Heat",
            Self::Viridis => "Viridis",
            Self::Magma => "Magma",
            Self::Cividis => "Cividis",
            Self::Greys => "Greys",
            Self::Signed => "Signed",
            Self::Explained => "Not attention",
        }
    }

    /// The map on a ground.
    pub const fn on(self, ground: Ground) -> Colors {
        Colors { map: self, ground }
    }
}

/// A colour map on a ground: 256 steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Colors {
    pub map: ColorMap,
    pub ground: Ground,
}

impl Colors {
    /// Whether colours stand for the sign of a value as well.
    pub const fn is_signed(self) -> bool {
        matches!(self.map, ColorMap::Signed)
    }

    /// The range of `values`: to `high` where one is given, else to the largest of them; with a sign, as far to both
    /// sides of 0.
    pub fn range(self, values: &[f32], high: Option<f32>, log: bool) -> ColorRange {
        match (high, self.is_signed()) {
            (Some(high), is_signed) => ColorRange::up_to(high, is_signed, log),
            (None, false) => ColorRange::of(values, log),
            (None, true) => ColorRange::up_to(values.iter().fold(0.0, |most, value| most.max(value.abs())), true, log),
        }
    }

    /// Opaque colour of `fraction` in `0..=1`; values outside are clamped, NaN has [`NO_NUMBER`].
    pub fn color(self, fraction: f32) -> [u8; 4] {
        if fraction.is_nan() {
            return NO_NUMBER;
        }
        // The cast saturates, which is the clamp; half a step up rounds to the nearest.
        self.step((fraction * 255.0 + 0.5) as u8)
    }

    fn step(self, step: u8) -> [u8; 4] {
        let (fraction, palette) = (f32::from(step) / 255.0, Palette::of(self.ground));
        let table = match self.map {
            ColorMap::Heat => return palette.weight(fraction),
            ColorMap::Viridis => &VIRIDIS,
            ColorMap::Magma => &MAGMA,
            ColorMap::Cividis => &CIVIDIS,
            ColorMap::Greys => return [255 - step, 255 - step, 255 - step, 255],
            ColorMap::Signed => return palette.signed(2.0 * fraction - 1.0),
            ColorMap::Explained => return palette.explained(fraction),
        };
        let [_, red, green, blue] = table[usize::from(step)].to_be_bytes();
        [red, green, blue, 255]
    }

    /// All 256 colours, from low to high: for legends and loops over many values.
    pub fn table(self) -> [[u8; 4]; 256] {
        std::array::from_fn(|step| self.step(step as u8))
    }

    /// How much of the colour of `fraction` lies over a picture: as much as it differs from nothing.
    pub fn opacity(self, fraction: f32) -> f32 {
        let part = if self.map == ColorMap::Signed { (2.0 * fraction - 1.0).abs() } else { fraction };
        part.clamp(0.0, 1.0)
    }
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
    use crate::style::luminance;

    #[test]
    fn luminance_is_monotone() {
        for map in ColorMap::ALL.into_iter().chain([ColorMap::Explained]) {
            for ground in [Ground::Light, Ground::Dark] {
                let luminances = map.on(ground).table().map(luminance);
                let direction = (luminances[255] - luminances[0]).signum();
                for pair in luminances.windows(2) {
                    // A table of eight-bit colours rounds by up to half a step of a channel.
                    assert!(direction * (pair[1] - pair[0]) > -0.003, "{map:?}: {pair:?}");
                }
                assert!((luminances[255] - luminances[0]).abs() > 0.6, "{map:?}");
            }
        }
    }

    #[test]
    fn ends_are_the_published_ones() {
        let of = |map: ColorMap, fraction| map.on(Ground::Light).color(fraction);
        assert_eq!(of(ColorMap::Viridis, 0.0), [0x44, 0x01, 0x54, 255]);
        assert_eq!(of(ColorMap::Viridis, 1.0), [0xfd, 0xe7, 0x25, 255]);
        assert_eq!(of(ColorMap::Magma, -3.0), [0, 0, 4, 255]);
        assert_eq!(of(ColorMap::Magma, f32::INFINITY), [0xfc, 0xfd, 0xbf, 255]);
        assert_eq!(of(ColorMap::Cividis, 0.0), [0x00, 0x22, 0x4e, 255]);
        assert_eq!(of(ColorMap::Greys, 0.0), [255, 255, 255, 255]);
        assert_eq!(of(ColorMap::Viridis, f32::NAN), NO_NUMBER);
        for map in ColorMap::ALL {
            assert!(!map.on(Ground::Dark).table().contains(&NO_NUMBER));
        }
    }

    /// What a previous-token head of 26 tokens prints: ink is what is missing of the white.
    #[test]
    fn a_previous_token_head_has_a_tenth_of_the_ink_it_had() {
        let ink = |map: ColorMap| {
            let weight = |row: usize, col: usize| if col + 1 == row || row + col == 0 { 1.0 } else { 0.0 };
            let cells = (0..26).flat_map(|row| (0..=row).map(move |col| weight(row, col)));
            cells.map(|weight| 1.0 - luminance(map.on(Ground::Light).color(weight))).sum::<f32>()
        };
        let (now, before) = (ink(ColorMap::Heat), ink(ColorMap::Viridis));
        assert!(now <= 0.1 * before, "{now} of {before}");
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
