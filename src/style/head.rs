//! How heads are told apart, and how a line says its weight.

#![expect(clippy::unreadable_literal, reason = "digits of a colour come in pairs")]

use super::{Ground, Palette, Rgba, contrast, contrast::at_contrast, rgb};

/// Heads that are told apart by colour alone; the next have the same colours in other dashes.
pub const N_HUES: usize = 8;

/// On light ground and on dark: chosen by a search for the largest smallest difference to normal and to colour-blind
/// eyes at once, away from queries, keys and what is not attention.
const HEADS: [[u32; N_HUES]; 2] = [
    [0x154fac, 0xde3e2d, 0x883c00, 0x925b75, 0x3f5247, 0xbe47b8, 0x4c68eb, 0x68814e],
    [0x7eabf6, 0xec5542, 0xfca676, 0xc88da8, 0xaec4b7, 0xcc5cc5, 0x5b79f7, 0x808a77],
];

/// Contrast of a line of weight 0 to its ground.
const FAINTEST: f32 = 1.4;
/// Width of a line of weight 0 and what weight 1 adds, in points.
const LINE_PT: (f32, f32) = (0.75, 2.25);
impl Palette {
    /// How much of the ground lies over lines that are not meant, while a token is held or pointed at: the most at
    /// which those of weight 1 keep a contrast of 1.3 in every head.
    pub const VEIL: f32 = 0.78;

    /// The colour of head `head`.
    pub const fn head(&self, head: usize) -> Rgba {
        let ground = match self.ground {
            Ground::Light => 0,
            Ground::Dark => 1,
        };
        rgb(HEADS[ground][head % N_HUES])
    }

    /// The colour of a line of `weight` whose full colour is `color`: its contrast to the ground grows by the same factor
    /// with every step of the weight, so that equal weights look equal in every head.
    ///
    /// Opaque, so that thousands of weak lines stay a pale ground for the strong ones, which are drawn last, and so
    /// that painters which round to whole bytes agree: each blend with opacity `a` may cost half a step, which on
    /// top of each other comes to `0.5 / a`.
    pub fn line(&self, color: Rgba, weight: f32) -> Rgba {
        let full = contrast(color, self.canvas);
        at_contrast(self.canvas, color, FAINTEST * (full / FAINTEST).powf(weight.clamp(0.0, 1.0)))
    }

    /// Width of a line of `weight` in points.
    pub fn line_width(weight: f32) -> f32 {
        LINE_PT.1.mul_add(weight.clamp(0.0, 1.0), LINE_PT.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::style::eyes::{BLIND, NORMAL, apart, closest};

    const BOTH: [Palette; 2] = [Palette::LIGHT, Palette::DARK];

    fn heads(palette: &Palette) -> [Rgba; N_HUES] {
        std::array::from_fn(|head| palette.head(head))
    }

    #[test]
    fn heads_are_told_apart_by_every_kind_of_eyes() {
        for palette in BOTH {
            let heads = heads(&palette);
            let meant = [palette.query, palette.key, palette.not_attention];
            let (found, others) = (closest(&heads, NORMAL), apart(&heads, &meant, NORMAL));
            assert!(found >= 0.13 && others >= 0.085, "{found} {others} {:?}", palette.ground);
            for eyes in BLIND {
                let found = closest(&heads, eyes);
                assert!(found >= 0.07, "{found} through {eyes:?}");
            }
        }
    }

    #[test]
    fn equal_weights_look_equal_in_every_head() {
        for (palette, full) in BOTH.into_iter().zip([4.3..=8.4, 4.8..=9.95]) {
            for color in heads(&palette) {
                let of = |weight| contrast(palette.line(color, weight), palette.canvas);
                assert!((1.44..=1.56).contains(&of(0.05)), "{color:?}: {}", of(0.05));
                assert!((2.4..=3.75).contains(&of(0.5)), "{color:?}: {}", of(0.5));
                assert!(full.contains(&of(1.0)), "{color:?}: {}", of(1.0));
                assert_eq!(palette.line(color, 1.0), color);
                let all: Vec<f32> = (0..=20).map(|step| of(step as f32 / 20.0)).collect();
                assert!(all.is_sorted(), "{color:?}: {all:?}");
            }
        }
    }

    #[test]
    fn strong_lines_are_four_times_as_wide_as_the_weakest() {
        assert_eq!([0.0, 0.5, 1.0, 7.0].map(Palette::line_width), [0.75, 1.875, 3.0, 3.0]);
    }
}
