//! Colours of numbers: maps from the ground, so that nothing is what is not there.

#![expect(clippy::unreadable_literal, reason = "digits of a colour come in pairs")]

use super::{Ground, Palette, Rgba, mixed, rgb};

/// The colour of what is not a number: no map contains it.
pub const NO_NUMBER: Rgba = rgb(0xff0090);
/// Between two lines of the hatching of what is masked, in points.
pub const HATCH_PT: f32 = 4.0;

/// Weights by their part of the largest, on light ground and on dark: from the ground to what differs most from it.
const WEIGHTS: [[(f32, u32); 6]; 2] = [
    [(0.0, 0xffffff), (0.125, 0xfec88d), (0.25, 0xfc9369), (0.5, 0xc84071), (0.75, 0x6d1d7f), (1.0, 0x160d37)],
    [(0.0, 0x131519), (0.125, 0x471272), (0.25, 0x73207f), (0.5, 0xcc426f), (0.75, 0xfc956a), (1.0, 0xfcfdbf)],
];

impl Palette {
    /// The colours of a ground.
    pub const fn of(ground: Ground) -> Self {
        match ground {
            Ground::Light => Self::LIGHT,
            Ground::Dark => Self::DARK,
        }
    }

    /// The colour of a weight by its part of the largest, `0..=1`.
    pub fn weight(&self, part: f32) -> Rgba {
        along(&WEIGHTS[usize::from(self.ground == Ground::Dark)].map(|(at, color)| (at, rgb(color))), part)
    }

    /// The colour of what is not attention by its part of the largest, `0..=1`.
    pub fn explained(&self, part: f32) -> Rgba {
        along(&[(0.0, self.canvas), (0.6, self.not_attention), (1.0, self.text)], part)
    }

    /// The colour of what has a sign by its part of the largest, `-1..=1`.
    pub fn signed(&self, part: f32) -> Rgba {
        along(&[(-1.0, self.minus), (0.0, self.canvas), (1.0, self.plus)], part)
    }
}

/// The colour at a place between stops, which are in order.
fn along(stops: &[(f32, Rgba)], at: f32) -> Rgba {
    if at.is_nan() {
        return NO_NUMBER;
    }
    let behind = stops.partition_point(|(stop, _)| *stop <= at).clamp(1, stops.len() - 1);
    let ((from, low), (to, high)) = (stops[behind - 1], stops[behind]);
    mixed(low, high, ((at - from) / (to - from)).clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::style::{contrast, luminance};

    const BOTH: [Palette; 2] = [Palette::LIGHT, Palette::DARK];

    fn steps(of: impl Fn(f32) -> Rgba) -> Vec<f32> {
        (0..=100).map(|step| luminance(of(step as f32 / 100.0))).collect()
    }

    #[test]
    fn zero_is_the_ground_and_the_rest_leaves_it_step_by_step() {
        for it in BOTH {
            for part in [it.weight(0.0), it.explained(0.0), it.signed(0.0)] {
                assert_eq!(part, it.canvas);
            }
            let maps = [steps(|at| it.weight(at)), steps(|at| it.explained(at)), steps(|at| it.signed(at))];
            for mut map in maps.into_iter().chain([steps(|at| it.signed(-at))]) {
                if it.ground == Ground::Light {
                    map.reverse();
                }
                assert!(map.is_sorted(), "{map:?}");
            }
            assert!(contrast(it.weight(1.0), it.canvas) > 15.0 && contrast(it.weight(0.125), it.canvas) > 1.3);
        }
    }

    #[test]
    fn signs_are_as_strong_on_both_sides() {
        for it in BOTH {
            for part in [0.25, 0.5, 1.0] {
                let [plus, minus] = [part, -part].map(|part| contrast(it.signed(part), it.canvas));
                assert!((plus / minus).ln().abs() < 0.12, "{plus} {minus}");
            }
            assert_eq!([it.signed(7.0), it.signed(-7.0)], [it.plus, it.minus]);
        }
    }

    #[test]
    fn what_is_not_a_number_is_no_colour_of_a_map() {
        for it in BOTH {
            assert_eq!([it.weight(f32::NAN), it.signed(f32::NAN)], [NO_NUMBER; 2]);
            let all = (0..=255).map(|step| step as f32 / 255.0);
            assert!(all.flat_map(|at| [it.weight(at), it.explained(at), it.signed(at)]).all(|it| it != NO_NUMBER));
        }
    }
}
