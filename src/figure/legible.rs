//! Whether colours can be told from what they lie on.

use super::{list::Rgba, palette::Palette};

/// Least contrast of letters to what they stand on (WCAG 2.2, AA).
const LEGIBLE: f32 = 4.5;

/// The contrast of two colours as WCAG 2.2 counts it: 1 for the same, 21 for black and white.
pub fn contrast(a: Rgba, b: Rgba) -> f32 {
    let luminance = |[red, green, blue, _]: Rgba| {
        let linear = [red, green, blue].map(|channel| {
            let x = f32::from(channel) / 255.0;
            if x <= 0.04045 { x / 12.92 } else { ((x + 0.055) / 1.055).powf(2.4) }
        });
        0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    };
    let (a, b) = (luminance(a), luminance(b));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

impl Palette {
    /// The colour of letters on `ground`: `wanted` where it can be read there, else what can.
    pub fn legible(&self, wanted: Rgba, ground: Rgba) -> Rgba {
        let candidates = [wanted, self.text, [0, 0, 0, 255], [255; 4]];
        candidates.into_iter().find(|ink| contrast(*ink, ground) >= LEGIBLE).unwrap_or(self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::palette::{LESS, MORE, N_HEAD_COLORS};

    fn heads(palette: Palette) -> impl Iterator<Item = Rgba> {
        (0..N_HEAD_COLORS).map(move |head| palette.head(head))
    }

    /// `part` of the way from one colour to the other.
    fn mixed(from: Rgba, to: Rgba, part: f32) -> Rgba {
        let mix = |at: usize| part.mul_add(f32::from(to[at]) - f32::from(from[at]), f32::from(from[at])).round() as u8;
        [mix(0), mix(1), mix(2), 255]
    }

    #[test]
    fn contrast_is_that_of_wcag() {
        assert!((contrast([0, 0, 0, 255], [255; 4]) - 21.0).abs() < 1e-4);
        assert!((contrast([118, 118, 118, 255], [255; 4]) - 4.54).abs() < 0.01);
    }

    /// What a hover leaves behind is still seen.
    #[test]
    fn lines_under_the_veil_can_be_seen() {
        for palette in [Palette::LIGHT, Palette::DARK] {
            for (weight, least) in [(1.0, 1.3), (0.5, 1.12)] {
                for color in heads(palette) {
                    let seen = mixed(palette.line(color, weight), palette.canvas, palette.veil());
                    let found = contrast(seen, palette.canvas);
                    assert!(found >= least, "{color:?} at {weight}: {found}");
                    // Nor does it speak louder than half of a weight that is meant.
                    let meant = contrast(palette.line(color, weight), palette.canvas);
                    assert!(found < meant.powf(0.4), "{color:?} at {weight}: {found} beside {meant}");
                }
            }
        }
    }

    /// The grey of special tokens gives way on a ground that it cannot be read on.
    #[test]
    fn letters_can_be_read_on_every_ground() {
        for palette in [Palette::LIGHT, Palette::DARK] {
            for color in [palette.query, palette.key, MORE, LESS].into_iter().chain(heads(palette)) {
                for step in 0..=20 {
                    let ground = mixed(palette.canvas, color, step as f32 / 20.0);
                    let ink = palette.legible(palette.text_weak, ground);
                    assert!(contrast(ink, ground) >= LEGIBLE, "{ink:?} on {ground:?}");
                }
            }
            assert_eq!(palette.legible(palette.text_weak, palette.canvas), palette.text_weak, "grey where it can be");
        }
    }
}
