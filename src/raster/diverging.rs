//! Colours of differences: blue below zero, orange above, and the ground's grey-white in the middle.

/// From the middle outwards.
const BELOW: [[f32; 3]; 4] = [[247.0, 247.0, 247.0], [146.0, 197.0, 222.0], [33.0, 102.0, 172.0], [5.0, 48.0, 97.0]];
/// The other side.
const ABOVE: [[f32; 3]; 4] = [[247.0, 247.0, 247.0], [253.0, 184.0, 99.0], [200.0, 90.0, 10.0], [110.0, 45.0, 5.0]];

/// Colour of `value` in `-1..=1`, opaque; values outside are clamped, NaN is grey.
///
/// Lightness falls evenly on both sides, and the hues differ to colour-blind eyes too.
pub fn diverging(value: f32) -> [u8; 4] {
    if value.is_nan() {
        return [128, 128, 128, 255];
    }
    let side = if value < 0.0 { &BELOW } else { &ABOVE };
    let at = value.abs().min(1.0) * (side.len() - 1) as f32;
    let step = (at as usize).min(side.len() - 2);
    let part = at - step as f32;
    let mix = |channel: usize| (side[step][channel] * (1.0 - part) + side[step + 1][channel] * part + 0.5) as u8;
    [mix(0), mix(1), mix(2), 255]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_darken_evenly_from_the_middle() {
        let lightness = |value| diverging(value)[..3].iter().map(|&channel| u32::from(channel)).sum::<u32>();
        for step in 0..20 {
            let (inner, outer) = (step as f32 / 20.0, (step + 1) as f32 / 20.0);
            assert!(lightness(outer) < lightness(inner) && lightness(-outer) < lightness(-inner), "{inner}");
        }
        assert_eq!(diverging(0.0), [247, 247, 247, 255]);
        assert_eq!((diverging(5.0), diverging(-5.0)), (diverging(1.0), diverging(-1.0)));
        let [red, _, blue, _] = diverging(0.7);
        assert!(red > blue);
    }
}
