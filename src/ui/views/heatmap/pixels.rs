//! Patterns as textures: the picture of one head, and small ones of all heads of its layer.

use eframe::egui::{Context, TextureHandle, TextureOptions};

use super::mask;
use crate::{
    capture::{Capture, Matrix},
    ids::{CaptureId, HeadId},
    raster::{
        ColorRange,
        heatmap::{atlas, heatmap, reduce_by_max, reduced_mask},
    },
    session::{ColorMapChoice, ColorScale, HiddenTokens, SentenceFilter},
    ui::views::{
        sentences, source,
        texture::{self, HeadThumbs},
    },
};

/// Side of a thumbnail in texture pixels.
const THUMB_PX: usize = 96;

/// Everything the pixels depend on. The head is left at 0 where all heads are meant.
#[derive(Clone, Copy, PartialEq)]
pub struct PictureKey {
    pub capture: CaptureId,
    pub head: HeadId,
    pub hidden: HiddenTokens,
    pub sentences: SentenceFilter,
    pub map: ColorMapChoice,
    pub scale: ColorScale,
    pub max_side: usize,
}

/// One head's pattern and its texture.
#[derive(Clone)]
pub struct Picture {
    /// `[query, key]`; 0 where something is left out.
    pub pattern: Matrix,
    /// Mass of the rows that are shown, before keys were left out by sentence.
    pub row_mass: f64,
    /// Which queries and which keys the choice of sentences leaves out.
    pub left_out: [Vec<bool>; 2],
    pub range: ColorRange,
    pub texture: TextureHandle,
}

/// One small picture per head.
pub fn thumbnails(ctx: &Context, capture: &Capture, key: PictureKey) -> HeadThumbs {
    let shown = |id| Some(sentences::shown(capture, id, key.hidden, key.sentences)?.pattern);
    let heads = 0..source::n_heads(capture, key.head);
    let patterns: Vec<Matrix> = heads
        .map(|head| {
            let id = HeadId { head, ..key.head };
            // An unrecorded head keeps its place, empty.
            shown(id).or_else(|| Matrix::new(vec![0.0], [1, 1]).ok())
        })
        .map_while(|pattern| pattern)
        .collect();
    let mask = mask::of(capture, key.head);
    let map = texture::color_map(key.map);
    // Enough columns for a texture that is neither too wide nor too high.
    let columns = (patterns.len() as f32).sqrt().ceil() as usize;
    let atlas = atlas(&patterns, THUMB_PX, columns, map, key.scale == ColorScale::Log, mask);
    // Thumbnails of short inputs are enlarged and keep their edges; long ones are reduced on screen.
    let enlarged = patterns.iter().all(|pattern| pattern.n_cols() <= THUMB_PX / 2);
    HeadThumbs::load(ctx, &atlas, if enlarged { TextureOptions::NEAREST } else { TextureOptions::LINEAR })
}

/// The picture of one head.
pub fn picture(ctx: &Context, capture: &Capture, key: PictureKey) -> Option<Picture> {
    let sentences::Shown { pattern, row_mass } = sentences::shown(capture, key.head, key.hidden, key.sentences)?;
    let range = ColorRange::of(pattern.as_slice(), key.scale == ColorScale::Log);
    let mask = mask::of(capture, key.head);
    // Longer inputs than a texture can hold keep their strongest entries.
    let reduced = reduce_by_max(&pattern, key.max_side);
    let image =
        heatmap(&reduced, texture::color_map(key.map), range, reduced_mask(mask, pattern.shape(), reduced.shape()));
    let texture = texture::load(ctx, "heatmap", &image, TextureOptions::NEAREST);
    let left_out = sentences::left_out(capture, key.head.stack, key.sentences);
    Some(Picture { pattern, row_mass, left_out, range, texture })
}
