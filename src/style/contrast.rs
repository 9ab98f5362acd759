//! How bright colours are and how far apart, as WCAG 2.2 counts it.

use std::sync::LazyLock;

use super::Rgba;

/// The light of each byte of a channel.
static LINEAR: LazyLock<[f32; 256]> = LazyLock::new(|| {
    std::array::from_fn(|byte| {
        let x = byte as f32 / 255.0;
        if x <= 0.04045 { x / 12.92 } else { ((x + 0.055) / 1.055).powf(2.4) }
    })
});

fn linear([red, green, blue, _]: Rgba) -> [f32; 3] {
    [red, green, blue].map(|channel| LINEAR[usize::from(channel)])
}

/// The relative luminance of a colour: 0 of black, 1 of white.
pub fn luminance(color: Rgba) -> f32 {
    let [red, green, blue] = linear(color);
    0.2126 * red + 0.7152 * green + 0.0722 * blue
}

/// The contrast of two colours: 1 for the same, 21 for black and white.
pub fn contrast(a: Rgba, b: Rgba) -> f32 {
    let (a, b) = (luminance(a), luminance(b));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

/// `part` of the way from one colour to another, the bytes in proportion.
pub fn mixed(from: Rgba, to: Rgba, part: f32) -> Rgba {
    let mix = |at: usize| {
        let [from, to] = [from[at], to[at]].map(f32::from);
        (to - from).mul_add(part, from).round() as u8
    };
    [mix(0), mix(1), mix(2), 255]
}

/// The colour between `ground` and `full`, in proportions of light, whose contrast to the ground is `wanted`.
pub(super) fn at_contrast(ground: Rgba, full: Rgba, wanted: f32) -> Rgba {
    let (below, above) = (luminance(ground), luminance(full));
    let aimed = if above < below { (below + 0.05) / wanted - 0.05 } else { (below + 0.05).mul_add(wanted, -0.05) };
    let part = ((aimed - below) / (above - below)).clamp(0.0, 1.0);
    let (ground, full) = (linear(ground), linear(full));
    let mix = |at: usize| {
        let x = (full[at] - ground[at]).mul_add(part, ground[at]);
        let encoded = if x <= 0.003_130_8 { 12.92 * x } else { 1.055f32.mul_add(x.powf(1.0 / 2.4), -0.055) };
        (255.0 * encoded).round() as u8
    };
    [mix(0), mix(1), mix(2), 255]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contrast_is_that_of_wcag() {
        assert!((contrast([0, 0, 0, 255], [255; 4]) - 21.0).abs() < 1e-4);
        assert!((contrast([118, 118, 118, 255], [255; 4]) - 4.54).abs() < 0.01);
    }

    #[test]
    fn a_colour_of_a_contrast_has_it() {
        for (ground, full) in [([255; 4], [136, 60, 0, 255]), ([19, 21, 25, 255], [174, 196, 183, 255])] {
            for wanted in [1.0, 1.4, 2.0, 4.0] {
                let found = contrast(at_contrast(ground, full, wanted), ground);
                assert!((found / wanted - 1.0).abs() < 0.02, "{found} for {wanted}");
            }
            assert_eq!(at_contrast(ground, full, contrast(ground, full)), full);
        }
    }
}
