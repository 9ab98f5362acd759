//! Every colour that means something, in light and dark. The window's theme takes its colours from here.

use emath::Pos2;

use super::list::{Line, Rgba};
use crate::analysis::projection::Tint;

/// Colours of one appearance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Palette {
    /// Whether this is the dark appearance.
    pub dark: bool,
    pub canvas: Rgba,
    /// Text that is read first.
    pub text: Rgba,
    /// Text that is read second.
    pub text_weak: Rgba,
    /// Thin rules between areas.
    pub rule: Rgba,
    /// The one accent: selection, focus.
    pub accent: Rgba,
    /// Queries (`AttentionViz`'s green, in another lightness than the keys for colour-blind eyes).
    pub query: Rgba,
    /// Keys (`AttentionViz`'s pink).
    pub key: Rgba,
    /// Cells that a causal mask hides.
    pub masked: Rgba,
}

/// Heads that are told apart by colour alone.
pub const N_HEAD_COLORS: usize = 16;

/// Eight hues, then each once more in another lightness: on light ground, on dark ground. Chosen by a search for
/// the largest smallest difference to normal and to colour-blind eyes at once.
const HEADS: [[Rgba; N_HEAD_COLORS]; 2] = [
    [
        rgb(95, 156, 245),
        rgb(240, 38, 139),
        rgb(122, 6, 93),
        rgb(32, 105, 66),
        rgb(176, 110, 0),
        rgb(164, 162, 36),
        rgb(85, 0, 158),
        rgb(119, 119, 119),
        rgb(28, 67, 123),
        rgb(160, 55, 99),
        rgb(242, 99, 196),
        rgb(37, 153, 94),
        rgb(117, 70, 0),
        rgb(104, 102, 1),
        rgb(129, 51, 223),
        rgb(85, 76, 70),
    ],
    [
        rgb(78, 130, 208),
        rgb(226, 28, 123),
        rgb(220, 160, 211),
        rgb(143, 217, 161),
        rgb(194, 137, 46),
        rgb(108, 126, 30),
        rgb(172, 82, 250),
        rgb(159, 159, 159),
        rgb(129, 173, 239),
        rgb(252, 148, 182),
        rgb(190, 95, 178),
        rgb(44, 181, 96),
        rgb(243, 191, 118),
        rgb(223, 242, 169),
        rgb(213, 176, 255),
        rgb(214, 212, 212),
    ],
];

/// How much of the ground lies over lines that are not meant, while a token is held or pointed at, on light ground and
/// on dark: the most at which those of weight 1 keep a contrast of 1.3 in every head.
const VEIL: [f32; 2] = [0.68, 0.69];

/// Strength of a line of weight 0 and what weight 1 adds, on light ground and on dark: faint ink is lost sooner on
/// white than on black.
const LINE_STRENGTH: [(f32, f32); 2] = [(0.12, 0.83), (0.07, 0.88)];
/// Width of a line of weight 0 and what weight 1 adds, in points.
const LINE_PT: (f32, f32) = (0.8, 1.6);

/// How the lines of a head are broken, so that heads of one colour differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dash {
    /// Not broken.
    Solid,
    Long,
    Short,
    Dotted,
}

impl Dash {
    /// Lengths of a dash and of the gap after it, in points; `None` for a solid line.
    pub const fn lengths(self) -> Option<[f32; 2]> {
        match self {
            Self::Solid => None,
            Self::Long => Some([14.0, 5.0]),
            Self::Short => Some([6.0, 4.0]),
            Self::Dotted => Some([2.0, 3.0]),
        }
    }

    /// The lines that one is broken into.
    pub fn lines(self, [from, to]: [Pos2; 2], width: f32, color: Rgba) -> impl Iterator<Item = Line> {
        let length = from.distance(to);
        self.pieces(length).map(move |ends| {
            let [from, to] = ends.map(|at| from.lerp(to, at / length));
            Line { from, to, width, color }
        })
    }

    /// The pieces that a line of `length` is broken into: start and end of each, in points along it.
    pub fn pieces(self, length: f32) -> impl Iterator<Item = [f32; 2]> {
        let [dash, gap] = self.lengths().unwrap_or([length, 0.0]);
        let n_pieces = if length > 0.0 { (length / (dash + gap)).ceil() as usize } else { 0 };
        let start = move |piece: usize| piece as f32 * (dash + gap);
        (0..n_pieces).map(move |piece| [start(piece), (start(piece) + dash).min(length)])
    }
}

/// What a line is drawn in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ink {
    /// The colour and the dashes of a head.
    Head(usize),
    /// More than 0, of what may be less.
    More,
    /// Less than 0.
    Less,
    /// What is no attention.
    Explained,
}

impl Ink {
    /// How lines are broken.
    pub const fn dash(self) -> Dash {
        match self {
            Self::Head(head) => Palette::dash(head),
            Self::More | Self::Less | Self::Explained => Dash::Solid,
        }
    }
}

/// Lines of what has a sign, in the colours of a difference's heatmap.
pub(super) const MORE: Rgba = rgb(217, 121, 40);
pub(super) const LESS: Rgba = rgb(56, 124, 186);
/// Lines of an explanation, in the hue of its heatmap: on light ground, on dark ground.
const EXPLAINED: [Rgba; 2] = [rgb(9, 112, 116), rgb(72, 196, 184)];

impl Palette {
    /// The colour of an ink.
    pub const fn ink(&self, ink: Ink) -> Rgba {
        match ink {
            Ink::Head(head) => self.head(head),
            Ink::More => MORE,
            Ink::Less => LESS,
            Ink::Explained => EXPLAINED[if self.dark { 1 } else { 0 }],
        }
    }

    /// Dark text on a light ground: the default of files.
    pub const LIGHT: Self = Self {
        dark: false,
        canvas: rgb(255, 255, 255),
        text: rgb(28, 31, 36),
        text_weak: rgb(98, 105, 117),
        rule: rgb(222, 225, 230),
        accent: rgb(37, 99, 205),
        query: rgb(12, 118, 70),
        key: rgb(212, 60, 136),
        masked: rgb(236, 238, 241),
    };

    /// Light text on a dark ground.
    pub const DARK: Self = Self {
        dark: true,
        canvas: rgb(19, 21, 25),
        text: rgb(226, 229, 234),
        text_weak: rgb(146, 154, 167),
        rule: rgb(48, 53, 62),
        accent: rgb(110, 160, 255),
        query: rgb(88, 214, 148),
        key: rgb(240, 104, 174),
        masked: rgb(33, 37, 44),
    };

    /// The colour of head `head`. From 16 on colours come again with another [`Self::dash`].
    ///
    /// The first eight differ most, also to colour-blind eyes (protanopia, deuteranopia, tritanopia); the next
    /// eight have the same hues in another lightness.
    pub const fn head(&self, head: usize) -> Rgba {
        HEADS[if self.dark { 1 } else { 0 }][head % N_HEAD_COLORS]
    }

    /// How the lines of head `head` are broken.
    pub const fn dash(head: usize) -> Dash {
        match head / N_HEAD_COLORS % 4 {
            0 => Dash::Solid,
            1 => Dash::Long,
            2 => Dash::Short,
            _ => Dash::Dotted,
        }
    }

    /// Whether a head before `head` has its colour and its dashes: only the number then tells it apart, and a
    /// legend says so.
    pub const fn repeats(head: usize) -> bool {
        head >= 4 * N_HEAD_COLORS
    }

    /// The colour of a line of `weight` whose full colour is `color`: the weaker, the nearer to the ground.
    ///
    /// Opaque, so that thousands of weak lines stay a pale ground for the strong ones, which are drawn last, and so
    /// that painters which round to whole bytes agree: each blend with opacity `a` may cost half a step, which on
    /// top of each other comes to `0.5 / a`.
    pub fn line(&self, color: Rgba, weight: f32) -> Rgba {
        let (least, more) = LINE_STRENGTH[usize::from(self.dark)];
        let strength = more.mul_add(weight.clamp(0.0, 1.0), least);
        let mix = |channel: usize| {
            let [ground, full] = [self.canvas[channel], color[channel]].map(f32::from);
            (full - ground).mul_add(strength, ground).round() as u8
        };
        [mix(0), mix(1), mix(2), color[3]]
    }

    /// How much of the ground lies over lines that are not meant.
    pub const fn veil(&self) -> f32 {
        VEIL[if self.dark { 1 } else { 0 }]
    }

    /// Width of a line of `weight` in points.
    pub fn line_width(weight: f32) -> f32 {
        LINE_PT.1.mul_add(weight.clamp(0.0, 1.0), LINE_PT.0)
    }

    /// The colour of a point; `own` is that of queries, or that of keys.
    pub fn tint(&self, tint: Tint, own: Rgba) -> Rgba {
        match tint {
            Tint::Type => own,
            Tint::Step(step) => self.position(Tint::fraction(step)),
            Tint::Group(group) => self.head(usize::from(group)),
            Tint::Hue(step) => self.hue(Tint::fraction(step)),
            Tint::Rest => self.text_weak,
        }
    }

    /// The colour that stands for a hue, in turns from red over green and blue: as light or as dark as the ground
    /// allows.
    pub fn hue(&self, turns: f32) -> Rgba {
        let value = if self.dark { 235.0 } else { 205.0 };
        let channel = |offset: f32| {
            let sixth = (turns * 6.0 + offset).rem_euclid(6.0);
            // HSV's wave at a saturation of 0.85.
            let wave = 0.85f32.mul_add(-sixth.min(4.0 - sixth).clamp(0.0, 1.0), 1.0);
            (value * wave).round() as u8
        };
        rgb(channel(5.0), channel(3.0), channel(1.0))
    }

    /// The colour of position `t` of a sequence, `0..=1` from first to last.
    pub fn position(&self, t: f32) -> Rgba {
        let (from, to) = if self.dark {
            ([255.0, 205.0, 86.0], [120.0, 110.0, 255.0])
        } else {
            ([224.0, 150.0, 0.0], [70.0, 50.0, 190.0])
        };
        let t = t.clamp(0.0, 1.0);
        let mix = |a: f32, b: f32| (b - a).mul_add(t, a).round() as u8;
        rgb(mix(from[0], to[0]), mix(from[1], to[1]), mix(from[2], to[2]))
    }
}

const fn rgb(red: u8, green: u8, blue: u8) -> Rgba {
    [red, green, blue, 255]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::legible::contrast;

    type Matrix = [[f64; 3]; 3];

    const NORMAL: Matrix = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    /// Machado, Oliveira and Fernandes 2009, severity 1: protanopia, deuteranopia, tritanopia, in linear light.
    const BLIND: [Matrix; 3] = [
        [[0.152_286, 1.052_583, -0.204_868], [0.114_503, 0.786_281, 0.099_216], [-0.003_882, -0.048_116, 1.051_998]],
        [[0.367_322, 0.860_646, -0.227_968], [0.280_085, 0.672_501, 0.047_413], [-0.011_820, 0.042_940, 0.968_881]],
        [[1.255_528, -0.076_749, -0.178_779], [-0.078_411, 0.930_809, 0.147_602], [0.004_733, 0.691_367, 0.303_900]],
    ];

    fn linear([red, green, blue, _]: Rgba) -> [f64; 3] {
        [red, green, blue].map(|channel| {
            let x = f64::from(channel) / 255.0;
            if x <= 0.04045 { x / 12.92 } else { ((x + 0.055) / 1.055).powf(2.4) }
        })
    }

    fn times(matrix: Matrix, vector: [f64; 3]) -> [f64; 3] {
        matrix.map(|row| row.iter().zip(vector).map(|(a, b)| a * b).sum())
    }

    /// Oklab (Ottosson 2020): distances are roughly how different two colours look.
    fn oklab(linear: [f64; 3]) -> [f64; 3] {
        let cones = [
            [0.412_221_470_8, 0.536_332_536_3, 0.051_445_992_9],
            [0.211_903_498_2, 0.680_699_545_1, 0.107_396_956_6],
            [0.088_302_461_9, 0.281_718_837_6, 0.629_978_700_5],
        ];
        let lab = [
            [0.210_454_255_3, 0.793_617_785_0, -0.004_072_046_8],
            [1.977_998_495_1, -2.428_592_205_0, 0.450_593_709_9],
            [0.025_904_037_1, 0.782_771_766_2, -0.808_675_766_0],
        ];
        times(lab, times(cones, linear.map(|channel| channel.clamp(0.0, 1.0))).map(f64::cbrt))
    }

    /// The smallest distance between two of `colors` to eyes that see through `eyes`.
    fn closest(colors: &[Rgba], eyes: Matrix) -> f64 {
        let seen: Vec<_> = colors.iter().map(|&color| oklab(times(eyes, linear(color)))).collect();
        let distance = |a: &[f64; 3], b: &[f64; 3]| a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
        let pairs = seen.iter().enumerate().flat_map(|(idx, a)| seen[..idx].iter().map(move |b| (a, b)));
        pairs.map(|(a, b)| distance(a, b)).fold(f64::INFINITY, f64::min)
    }

    fn heads(palette: Palette) -> [Rgba; N_HEAD_COLORS] {
        std::array::from_fn(|head| palette.head(head))
    }

    #[test]
    fn heads_are_told_apart_by_every_kind_of_eyes() {
        for palette in [Palette::LIGHT, Palette::DARK] {
            let (first, all) = (&heads(palette)[..8], &heads(palette)[..]);
            assert!(closest(first, NORMAL) > 0.12 && closest(all, NORMAL) > 0.06, "{palette:?}");
            for eyes in BLIND {
                let found = (closest(first, eyes), closest(all, eyes));
                assert!(found.0 > 0.065 && found.1 > 0.035, "{found:?} through {eyes:?}");
            }
            for color in all {
                assert!(contrast(*color, palette.canvas) > 2.6, "{color:?}");
            }
        }
    }

    #[test]
    fn no_head_looks_like_another_without_saying_so() {
        for palette in [Palette::LIGHT, Palette::DARK] {
            let looks: Vec<_> = (0..64).map(|head| (palette.head(head), Palette::dash(head))).collect();
            for (head, look) in looks.iter().enumerate() {
                assert!(!Palette::repeats(head) && !looks[..head].contains(look), "head {head}");
            }
        }
        assert!(Palette::repeats(64));
    }

    #[test]
    fn dashes_cover_a_line_to_its_end() {
        assert_eq!(Dash::Solid.pieces(25.0).collect::<Vec<_>>(), [[0.0, 25.0]]);
        assert_eq!(Dash::Short.pieces(25.0).collect::<Vec<_>>(), [[0.0, 6.0], [10.0, 16.0], [20.0, 25.0]]);
        assert_eq!(Dash::Solid.pieces(0.0).count(), 0);
    }

    #[test]
    fn queries_keys_and_text_are_legible_and_differ() {
        for palette in [Palette::LIGHT, Palette::DARK] {
            for color in [palette.query, palette.key, palette.text, palette.text_weak] {
                assert!(contrast(color, palette.canvas) > 4.0, "{color:?}");
            }
            let roles = [palette.query, palette.key];
            assert!(BLIND.into_iter().chain([NORMAL]).all(|eyes| closest(&roles, eyes) > 0.08), "{roles:?}");
        }
    }
}
