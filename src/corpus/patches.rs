//! Pictures of a corpus: a small copy of each, so that its patches have colours and can be drawn.

use std::sync::Arc;

use crate::capture::{CropRect, ImageInfo, RgbaBuffer, THUMBNAIL_PX};

/// How patches lie on a small copy of the picture: what they cover of it, [`THUMBNAIL_PX`] pixels a patch each way.
/// Mean colours of patches are those of the picture up to a 255th.
pub fn small(image: &ImageInfo) -> ImageInfo {
    let (rows, columns) = image.grid;
    let (width, height) = (columns * THUMBNAIL_PX, rows * THUMBNAIL_PX);
    let mut pixels = vec![255; 4 * width * height];
    for place in (0..rows * columns).map(|patch| (patch / columns, patch % columns)) {
        let Some(look) = image.look(place) else {
            return ImageInfo { regions: None, source: None, ..image.clone() };
        };
        for (at, pixel) in look.thumbnail.iter().enumerate() {
            let (y, x) = (place.0 * THUMBNAIL_PX + at / THUMBNAIL_PX, place.1 * THUMBNAIL_PX + at % THUMBNAIL_PX);
            pixels[4 * (y * width + x)..][..3].copy_from_slice(pixel);
        }
    }
    let crop = CropRect { x: 0.0, y: 0.0, width: width as f32, height: height as f32 };
    // Thumbnails of regions lie side by side, too.
    ImageInfo { crop, regions: None, source: Some(Arc::new(RgbaBuffer { width, height, pixels })), ..image.clone() }
}

/// Bytes of the small copy of a picture.
pub(super) fn small_bytes(image: Option<&ImageInfo>) -> u64 {
    let with_picture = image.filter(|image| image.source.is_some());
    with_picture.map_or(0, |image| (4 * image.grid.0 * image.grid.1 * THUMBNAIL_PX * THUMBNAIL_PX) as u64)
}
