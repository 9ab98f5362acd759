//! The picture, the overlay and the thumbnails as textures.

use std::sync::Arc;

use eframe::egui::{Context, TextureHandle, TextureOptions};

use crate::{
    analysis::reading::{ReadPattern, Reading},
    capture::{ImageInfo, Matrix},
    figure::views::image::{
        boxes,
        stream::StreamColors,
        weights::{OverlayToken, of_patches},
    },
    ids::CaptureId,
    raster::{ColorMap, ColorRange, Colors, heatmap::atlas, overlay, reduce},
    session::{PatchRole, Smoothing},
    spec::Mask,
    ui::views::texture::{self, HeadThumbs},
};

/// Everything the weights depend on. The head is left at 0 where all heads are meant.
#[derive(Clone, PartialEq)]
pub struct WeightsKey {
    /// What is read, and what is subtracted from it.
    pub captures: (CaptureId, Option<CaptureId>),
    pub reading: Reading,
    pub subject: OverlayToken,
    pub role: PatchRole,
}

/// How weights become pixels.
#[derive(Clone, Copy, PartialEq)]
pub struct OverlayLook {
    pub map: Colors,
    pub smoothing: Smoothing,
    pub opacity: f32,
    pub contour: Option<f32>,
    /// The value of the last colour, where panes share it.
    pub shared_high: Option<f32>,
}

/// The weights and their texture.
#[derive(Clone)]
pub struct Overlay {
    pub weights: Arc<[f32]>,
    pub map: Colors,
    pub range: ColorRange,
    pub texture: TextureHandle,
    pub contour: Arc<[overlay::Segment]>,
}

/// The picture as a texture, averaged down where it is larger than a texture may be.
pub fn photo(ctx: &Context, image: &ImageInfo, max_side: usize) -> Option<TextureHandle> {
    let source = image.source.as_ref()?;
    Some(texture::load(ctx, "picture", &reduce::at_most(source, max_side), TextureOptions::LINEAR))
}

/// The weights of what was picked, coloured.
pub fn overlay_texture(
    ctx: &Context,
    image: &ImageInfo,
    pattern: &ReadPattern,
    key: &WeightsKey,
    look: OverlayLook,
) -> Overlay {
    let weights = key.subject.weights(pattern, key.role);
    let patches = of_patches(&weights, image);
    let is_signed = key.subject.is_signed(pattern);
    let largest = || patches.iter().map(|weight| weight.abs()).fold(0.0, f32::max);
    let range = ColorRange::up_to(look.shared_high.unwrap_or_else(largest), is_signed, false);
    let (size, smooth) = boxes::size_px(image, look.smoothing.is_smooth(image.grid));
    let map = key.subject.color_map(pattern, look.map.map).on(look.map.ground);
    let pixels = boxes::overlay(&patches, image, (size, smooth), (map, range), look.opacity);
    let sampling = if smooth { TextureOptions::LINEAR } else { TextureOptions::NEAREST };
    Overlay {
        texture: texture::load(ctx, "overlay", &pixels, sampling),
        contour: look
            .contour
            .filter(|_| !is_signed)
            .map_or_else(Vec::new, |part| boxes::contour(&patches, image, part))
            .into(),
        weights: weights.into(),
        map,
        range,
    }
}

/// The residual stream of the patches, coloured.
pub fn stream_texture(ctx: &Context, image: &ImageInfo, stream: &StreamColors, look: OverlayLook) -> Overlay {
    let numbers = stream.numbers();
    let patches = of_patches(&numbers, image);
    let range = ColorRange::up_to(patches.iter().copied().fold(0.0, f32::max), false, false);
    let map = ColorMap::Explained.on(look.map.ground);
    let of_numbers = || boxes::overlay(&patches, image, boxes::size_px(image, false), (map, range), look.opacity);
    let pixels = stream.pixels(image, look.opacity).unwrap_or_else(of_numbers);
    Overlay {
        texture: texture::load(ctx, "residual stream", &pixels, TextureOptions::NEAREST),
        contour: [].into(),
        weights: numbers.into(),
        map,
        range,
    }
}

/// One small overlay per head, without the picture; `None` stands for a head that was not recorded.
pub fn thumbnails(
    ctx: &Context,
    heads: &[Option<Arc<ReadPattern>>],
    image: &ImageInfo,
    key: &WeightsKey,
    map: Colors,
) -> HeadThumbs {
    let grid = |pattern: &Arc<ReadPattern>| {
        let (values, shape) = boxes::small(of_patches(&key.subject.weights(pattern, key.role), image), image);
        Matrix::new(values, shape).ok()
    };
    let empty = || Matrix::new(vec![0.0], [1, 1]).ok();
    let grids: Vec<Matrix> = heads.iter().filter_map(|head| head.as_ref().and_then(grid).or_else(empty)).collect();
    let columns = (grids.len() as f32).sqrt().ceil() as usize;
    let first = heads.iter().flatten().next();
    let map = first.map_or_else(|| map, |pattern| key.subject.color_map(pattern, map.map).on(map.ground));
    let longest = grids.iter().flat_map(Matrix::shape).max().unwrap_or(1);
    let atlas = atlas(&grids, longest, columns, (map, false, None), &Mask::NONE);
    HeadThumbs::load(ctx, &atlas, TextureOptions::NEAREST)
}
