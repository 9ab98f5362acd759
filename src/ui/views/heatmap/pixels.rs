//! Patterns as textures: the picture of one pattern, and small ones of all heads of its layer.

use std::sync::Arc;

use eframe::egui::{Context, TextureHandle, TextureOptions};

use crate::{
    analysis::reading::{ReadPattern, Reading},
    capture::Matrix,
    figure::views::{color_map, labels},
    ids::CaptureId,
    raster::{
        ColorRange, Colors,
        heatmap::{MaskedCells as _, RowsSee, atlas, heatmap, reduce_by_max},
    },
    session::ColorScale,
    ui::views::{
        small_maps::THUMB_PX,
        texture::{self, HeadThumbs},
    },
};

/// Everything the pixels depend on.
#[derive(Clone, PartialEq)]
pub struct PictureKey {
    /// What is read, and what is subtracted from it.
    pub captures: (CaptureId, Option<CaptureId>),
    /// How. The head is left at 0 where all heads are meant.
    pub reading: Reading,
    pub map: Colors,
    pub scale: ColorScale,
    /// The value of the last colour, where panes share it.
    pub shared_high: Option<f32>,
    pub max_side: usize,
}

/// One pattern and its texture.
#[derive(Clone)]
pub struct Picture {
    pub captures: (CaptureId, Option<CaptureId>),
    pub pattern: Arc<ReadPattern>,
    pub range: ColorRange,
    pub texture: TextureHandle,
    /// Rows and columns whose names come before others.
    pub strong: Arc<[Vec<usize>; 2]>,
}

/// One small picture per head; `None` stands for one that was not recorded and keeps its place, empty.
pub fn thumbnails(ctx: &Context, heads: &[Option<Arc<ReadPattern>>], key: &PictureKey) -> HeadThumbs {
    let empty = || Matrix::new(vec![0.0], [1, 1]).ok();
    let patterns: Vec<Matrix> =
        heads.iter().filter_map(|head| head.as_ref().map(|it| it.matrix.clone()).or_else(empty)).collect();
    let sight = heads.iter().flatten().next().map_or_else(RowsSee::default, |pattern| sight(pattern));
    // Enough columns for a texture that is neither too wide nor too high.
    let columns = (patterns.len() as f32).sqrt().ceil() as usize;
    let first = heads.iter().flatten().next();
    let map = first.map_or_else(|| key.map, |pattern| color_map(pattern, key.map.map).on(key.map.ground));
    let atlas = atlas(&patterns, THUMB_PX, columns, (map, key.scale == ColorScale::Log, None), &sight);
    // Thumbnails of short inputs are enlarged and keep their edges; long ones are reduced on screen.
    let enlarged = patterns.iter().all(|pattern| pattern.n_cols() <= THUMB_PX / 2);
    HeadThumbs::load(ctx, &atlas, if enlarged { TextureOptions::NEAREST } else { TextureOptions::LINEAR })
}

/// The picture of one pattern.
pub fn picture(ctx: &Context, pattern: &Arc<ReadPattern>, key: &PictureKey) -> Picture {
    let matrix = &pattern.matrix;
    let high = key.shared_high.unwrap_or_else(|| pattern.high());
    let range = ColorRange::up_to(high, pattern.signed, key.scale == ColorScale::Log);
    // Longer inputs than a texture can hold keep their strongest entries.
    let reduced = reduce_by_max(matrix, key.max_side, pattern.signed);
    let sight = sight(pattern).reduced(matrix.shape(), reduced.shape());
    let image = heatmap(&reduced, color_map(pattern, key.map.map).on(key.map.ground), range, &sight);
    let texture = texture::load(ctx, "heatmap", &image, TextureOptions::NEAREST);
    let strong = Arc::new(labels::strong(matrix));
    Picture { captures: key.captures, pattern: Arc::clone(pattern), range, texture, strong }
}

fn sight(pattern: &ReadPattern) -> RowsSee {
    RowsSee {
        visible: pattern.visible.clone(),
        everywhere: pattern.everywhere.clone(),
        causal: pattern.causal,
        n_rest: pattern.cols.rest().len(),
    }
}
