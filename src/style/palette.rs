//! The colours that mean something, in light and dark.

#![expect(clippy::unreadable_literal, reason = "digits of a colour come in pairs")]

use super::{Ground, Rgba, mixed, rgb};

/// Colours of one appearance; their contrasts to the panel are in the tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Palette {
    pub ground: Ground,
    /// What data lie on.
    pub canvas: Rgba,
    /// What controls lie on.
    pub panel: Rgba,
    /// Buttons, and places of values that are not there.
    pub raised: Rgba,
    /// What is under the pointer.
    pub hover: Rgba,
    /// Thin rules between areas, and hatchings.
    pub rule: Rgba,
    /// Edges of boxes, fields and chips.
    pub edge: Rgba,
    /// Text that is read first, and what is selected among data.
    pub text: Rgba,
    /// Text that is read second.
    pub text_weak: Rgba,
    /// Text of what cannot be used now.
    pub disabled: Rgba,
    /// Bars of probabilities and shares.
    pub bar: Rgba,
    /// Focus, the chosen tab, links: controls alone.
    pub accent: Rgba,
    /// The ground of what is chosen among controls.
    pub accent_ground: Rgba,
    /// Queries (`AttentionViz`'s green, in another lightness than the keys for colour-blind eyes).
    pub query: Rgba,
    /// Keys (`AttentionViz`'s pink).
    pub key: Rgba,
    /// Above 0, of what has a sign: more, for, raises.
    pub plus: Rgba,
    /// Below 0: less, against, lowers.
    pub minus: Rgba,
    /// Numbers that are not attention.
    pub not_attention: Rgba,
    /// A run with changes.
    pub changed: Rgba,
    pub error: Rgba,
    pub warning: Rgba,
    /// What is as it should be.
    pub right: Rgba,
}

/// The first and the last position of a sequence, on light ground and on dark.
const POSITIONS: [[u32; 2]; 2] = [[0xe09600, 0x4632be], [0xffcd56, 0x786eff]];

impl Palette {
    /// Dark text on a light ground: the default of files.
    pub const LIGHT: Self = Self {
        ground: Ground::Light,
        canvas: rgb(0xffffff),
        panel: rgb(0xf5f6f8),
        raised: rgb(0xe6e9ee),
        hover: rgb(0xd8dde5),
        rule: rgb(0xcfd4dc),
        edge: rgb(0x858d9a),
        text: rgb(0x1a1d22),
        text_weak: rgb(0x4f5763),
        disabled: rgb(0x757d8a),
        bar: rgb(0xbcc6d4),
        accent: rgb(0x1f5fd0),
        accent_ground: rgb(0xdbe6fa),
        query: rgb(0x0a6b3f),
        key: rgb(0xc22670),
        plus: rgb(0xb34a00),
        minus: rgb(0x1e66b0),
        not_attention: rgb(0x0b6f73),
        changed: rgb(0x7a3fc0),
        error: rgb(0xb42318),
        warning: rgb(0x8a5300),
        right: rgb(0x1d7a3e),
    };

    /// Light text on a dark ground.
    pub const DARK: Self = Self {
        ground: Ground::Dark,
        canvas: rgb(0x131519),
        panel: rgb(0x1b1e24),
        raised: rgb(0x2a2f38),
        hover: rgb(0x353b47),
        rule: rgb(0x3a404b),
        edge: rgb(0x6f7886),
        text: rgb(0xe6e8ec),
        text_weak: rgb(0xaab2bf),
        disabled: rgb(0x7f8794),
        bar: rgb(0x4b566a),
        accent: rgb(0x78a9ff),
        accent_ground: rgb(0x23365a),
        query: rgb(0x58d694),
        key: rgb(0xf47cb6),
        plus: rgb(0xf08c3c),
        minus: rgb(0x6cb2f5),
        not_attention: rgb(0x48c4b8),
        changed: rgb(0xc297ff),
        error: rgb(0xff7b72),
        warning: rgb(0xe3b341),
        right: rgb(0x56d364),
    };

    /// The colour that stands for a hue, in turns from red over green and blue: as light or as dark as the ground
    /// allows.
    pub fn hue(&self, turns: f32) -> Rgba {
        let value = if self.ground == Ground::Dark { 235.0 } else { 205.0 };
        let channel = |offset: f32| {
            let sixth = (turns * 6.0 + offset).rem_euclid(6.0);
            // HSV's wave at a saturation of 0.85.
            let wave = 0.85f32.mul_add(-sixth.min(4.0 - sixth).clamp(0.0, 1.0), 1.0);
            (value * wave).round() as u8
        };
        [channel(5.0), channel(3.0), channel(1.0), 255]
    }

    /// The colour of position `t` of a sequence, `0..=1` from first to last.
    pub fn position(&self, t: f32) -> Rgba {
        let [first, last] = POSITIONS[usize::from(self.ground == Ground::Dark)];
        mixed(rgb(first), rgb(last), t.clamp(0.0, 1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::style::{
        contrast,
        eyes::{BLIND, NORMAL, closest},
    };

    const BOTH: [Palette; 2] = [Palette::LIGHT, Palette::DARK];

    /// Least contrasts on panels, and so on canvases.
    #[test]
    fn every_colour_can_be_seen_where_it_lies() {
        for it in BOTH {
            let least = [
                (4.95, vec![it.query, it.key, it.plus, it.minus, it.not_attention, it.changed]),
                (4.95, vec![it.error, it.warning, it.right, it.accent]),
                (13.0, vec![it.text]),
                (6.7, vec![it.text_weak]),
                (3.8, vec![it.disabled]),
                (3.0, vec![it.edge]),
                (1.59, vec![it.bar]),
                (1.35, vec![it.rule]),
                (1.25, vec![it.hover]),
            ];
            for (least, colors) in least {
                for color in colors {
                    let found = [it.panel, it.canvas].map(|ground| contrast(color, ground));
                    assert!(found.iter().all(|found| *found >= least), "{color:?}: {found:?}, not {least}");
                }
            }
            for ground in [it.raised, it.hover, it.bar, it.accent_ground] {
                assert!(contrast(it.text, ground) >= 6.0, "text on {ground:?}");
            }
            assert!(contrast(it.accent, it.accent_ground) >= 4.5);
        }
    }

    #[test]
    fn colours_of_one_kind_are_told_apart_by_every_kind_of_eyes() {
        for it in BOTH {
            for pair in [[it.query, it.key], [it.plus, it.minus]] {
                assert!(BLIND.into_iter().chain([NORMAL]).all(|eyes| closest(&pair, eyes) > 0.072), "{pair:?}");
            }
        }
    }

    #[test]
    fn greys_have_the_hue_of_the_ground() {
        for it in BOTH {
            for color in [it.panel, it.raised, it.hover, it.rule, it.edge, it.text_weak, it.disabled, it.bar] {
                assert!(color[2] > color[0], "{color:?} is neutral");
            }
        }
    }
}
