//! Whether colours can be told from what they lie on.

use super::list::Rgba;
use crate::style::{Palette, contrast};

/// Least contrast of letters to what they stand on (WCAG 2.2, AA).
const LEGIBLE: f32 = 4.5;

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
    use crate::style::{N_HUES, mixed};

    fn heads(palette: Palette) -> impl Iterator<Item = Rgba> {
        (0..N_HUES).map(move |head| palette.head(head))
    }

    /// What a hover leaves behind is still seen.
    #[test]
    fn lines_under_the_veil_can_be_seen() {
        for palette in [Palette::LIGHT, Palette::DARK] {
            for (weight, least) in [(1.0, 1.3), (0.5, 1.12)] {
                for color in heads(palette) {
                    let seen = mixed(palette.line(color, weight), palette.canvas, Palette::VEIL);
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
            for color in [palette.query, palette.key, palette.plus, palette.minus].into_iter().chain(heads(palette)) {
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
