//! Every colour that means something, in light and dark. The window's theme takes its colours from here.

use super::list::Rgba;

/// Colours of one appearance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Palette {
    /// Whether this is the dark appearance.
    pub dark: bool,
    /// Ground.
    pub canvas: Rgba,
    /// Text that is read first.
    pub text: Rgba,
    /// Text that is read second.
    pub text_weak: Rgba,
    /// Thin rules between areas.
    pub rule: Rgba,
    /// The one accent: selection, focus.
    pub accent: Rgba,
    /// Queries (`AttentionViz`'s green).
    pub query: Rgba,
    /// Keys (`AttentionViz`'s pink).
    pub key: Rgba,
    /// Cells that a causal mask hides.
    pub masked: Rgba,
}

/// Eight distinguishable hues (Okabe–Ito, adjusted per appearance): on light ground, on dark ground.
const HEADS: [[Rgba; 8]; 2] = [
    [
        rgb(0, 114, 178),
        rgb(213, 94, 0),
        rgb(0, 138, 100),
        rgb(186, 84, 147),
        rgb(170, 124, 0),
        rgb(48, 150, 205),
        rgb(112, 72, 188),
        rgb(110, 110, 110),
    ],
    [
        rgb(86, 160, 235),
        rgb(255, 140, 66),
        rgb(52, 199, 150),
        rgb(228, 136, 190),
        rgb(240, 214, 66),
        rgb(120, 210, 250),
        rgb(176, 148, 255),
        rgb(180, 184, 190),
    ],
];

impl Palette {
    /// Dark text on a light ground: the default of files.
    pub const LIGHT: Self = Self {
        dark: false,
        canvas: rgb(255, 255, 255),
        text: rgb(28, 31, 36),
        text_weak: rgb(98, 105, 117),
        rule: rgb(222, 225, 230),
        accent: rgb(37, 99, 205),
        query: rgb(22, 140, 84),
        key: rgb(208, 56, 132),
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
        query: rgb(74, 201, 134),
        key: rgb(244, 114, 182),
        masked: rgb(33, 37, 44),
    };

    /// The colour of head `head`. Heads beyond eight repeat hues, so a label or a mark must go with it (see
    /// [`Self::head_repeat`]).
    pub const fn head(&self, head: usize) -> Rgba {
        HEADS[if self.dark { 1 } else { 0 }][head % HEADS[0].len()]
    }

    /// How often the hue of head `head` was used before: 0 for the first eight heads.
    pub const fn head_repeat(head: usize) -> usize {
        head / HEADS[0].len()
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
