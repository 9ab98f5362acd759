//! Pictures made smaller.

use std::borrow::Cow;

use crate::capture::RgbaBuffer;

/// The picture, every block of pixels as its mean where it has more than `max` along a side.
pub fn at_most(source: &RgbaBuffer, max: usize) -> Cow<'_, RgbaBuffer> {
    let factor = source.width.max(source.height).div_ceil(max.max(1)).max(1);
    if factor == 1 {
        return Cow::Borrowed(source);
    }
    let (width, height) = (source.width / factor, source.height / factor);
    let mut pixels = Vec::with_capacity(4 * width * height);
    for y in 0..height {
        for x in 0..width {
            for channel in 0..4 {
                let block = (0..factor * factor).map(|at| {
                    let (px, py) = (x * factor + at % factor, y * factor + at / factor);
                    usize::from(source.pixels[4 * (py * source.width + px) + channel])
                });
                pixels.push((block.sum::<usize>() / (factor * factor)) as u8);
            }
        }
    }
    Cow::Owned(RgbaBuffer { width, height, pixels })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_become_their_means_and_small_pictures_stay() {
        let pixels: Vec<u8> = (0..4 * 2).flat_map(|at| if at % 2 == 0 { [0; 4] } else { [200; 4] }).collect();
        let source = RgbaBuffer { width: 4, height: 2, pixels };
        let small = at_most(&source, 2);
        assert_eq!((small.width, small.height, small.pixels.as_slice()), (2, 1, &[100; 8][..]));
        assert!(matches!(at_most(&source, 4), Cow::Borrowed(_)));
    }
}
