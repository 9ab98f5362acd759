//! A pattern that is too long to be held whole, as one small picture that comes strip by strip.

use std::{ops::Range, sync::Arc};

use eframe::egui::{Color32, ColorImage, Painter, Rect, TextureHandle, TextureOptions, Ui, pos2, vec2};

use super::texture;
use crate::{
    analysis::reading::{
        ReadPattern, Reading, Refusal, RowMass,
        long::{Pool, STRIP_ROWS, Strip, n_strips, overview_level},
        store::CapturePair,
    },
    capture::Matrix,
    ids::CaptureId,
    raster::{
        ColorRange, Colors,
        heatmap::{RowsSee, heatmap},
    },
    ui::ViewCtx,
};

/// Strips that are asked for together: enough that nobody waits between two requests, few enough that what is looked
/// at next does not wait for them.
pub const BATCH: usize = 16;

/// How values become colours.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Look {
    pub map: Colors,
    /// Whether the scale is logarithmic.
    pub log: bool,
    pub pool: Pool,
}

impl Look {
    /// The colours of values up to `high`.
    pub fn range(self, high: f32) -> ColorRange {
        self.map.range(&[], Some(high), self.log)
    }
}

/// The overview of one pattern, as far as it is there.
#[derive(Default)]
pub struct Overview {
    of: Option<(CaptureId, Reading)>,
    level: u32,
    strips: Vec<Option<Arc<Strip>>>,
    n_known: usize,
    refusal: Option<Refusal>,
    /// The largest value of each pool.
    high: [f32; Pool::ALL.len()],
    mass: RowMass,
    picture: Option<Coloured>,
}

/// The picture, and what its colours mean.
struct Coloured {
    texture: TextureHandle,
    look: Look,
    high: f32,
}

impl Overview {
    /// Takes in what has come since the last frame, and asks for what is missing. `whole` are the rows and columns of
    /// the pattern.
    pub fn update(
        &mut self,
        ui: &Ui,
        cx: &ViewCtx<'_>,
        (subject, reading): (&CapturePair, &Reading),
        whole: &ReadPattern,
        look: Look,
    ) {
        let (n_rows, n_cols) = (whole.rows.len(), whole.cols.len());
        if self.of.as_ref().is_none_or(|(capture, of)| *capture != subject.this.id() || of != reading) {
            *self = Self {
                of: Some((subject.this.id(), reading.clone())),
                level: overview_level(n_rows, n_cols),
                strips: vec![None; n_strips(n_rows)],
                ..Self::default()
            };
        }
        let mut new = Vec::new();
        for batch in (0..self.strips.len()).step_by(BATCH) {
            let mut waits = false;
            for strip in (batch..(batch + BATCH).min(self.strips.len())).filter(|strip| self.strips[*strip].is_none()) {
                match cx.patterns.strip(subject, reading, (self.level, strip)) {
                    Some(Ok(found)) => new.push((strip, found)),
                    Some(Err(refusal)) => self.refusal = Some(refusal),
                    None => waits = true,
                }
            }
            if waits || self.refusal.is_some() {
                break;
            }
        }
        for (strip, found) in &new {
            for pool in Pool::ALL {
                let largest = found.values(pool).as_slice().iter().copied().fold(0.0, f32::max);
                self.high[pool as usize] = self.high[pool as usize].max(largest);
            }
            self.mass = self.mass.plus(found.mass);
            self.strips[*strip] = Some(Arc::clone(found));
        }
        self.n_known += new.len();
        self.color(ui, whole, look, new.into_iter().map(|(strip, _)| strip));
    }

    /// The pixels of one strip of it.
    fn strip_image(&self, whole: &ReadPattern, strip: usize, look: Look) -> Option<ColorImage> {
        let values = self.strips[strip].as_ref()?.values(look.pool);
        Some(strip_image(values, whole, (self.level, strip), 0..values.n_cols(), (look, self.high(look.pool))))
    }

    /// Colours what is new, or everything where colours mean something else now.
    fn color(&mut self, ui: &Ui, whole: &ReadPattern, look: Look, new: impl Iterator<Item = usize>) {
        let high = self.high(look.pool);
        let is_known = |picture: &Coloured| picture.look == look && picture.high == high;
        if let Some(mut picture) = self.picture.take_if(|picture| is_known(picture)) {
            for strip in new {
                let Some(image) = self.strip_image(whole, strip, look) else { continue };
                picture.texture.set_partial([0, self.level_row(strip)], image, TextureOptions::LINEAR);
            }
            self.picture = Some(picture);
            return;
        }
        let size = self.size(whole);
        let mut all = ColorImage::filled(size, Color32::TRANSPARENT);
        for strip in 0..self.strips.len() {
            let Some(image) = self.strip_image(whole, strip, look) else { continue };
            let start = self.level_row(strip) * size[0];
            all.pixels[start..start + image.pixels.len()].copy_from_slice(&image.pixels);
        }
        let texture = match self.picture.take() {
            Some(mut picture) if picture.texture.size() == size => {
                picture.texture.set(all, TextureOptions::LINEAR);
                picture.texture
            }
            _ => ui.ctx().load_texture("overview", all, TextureOptions::LINEAR),
        };
        self.picture = Some(Coloured { texture, look, high });
    }

    /// Columns and rows of the picture.
    fn size(&self, whole: &ReadPattern) -> [usize; 2] {
        [whole.cols.len(), whole.rows.len()].map(|n| n.div_ceil(1 << self.level).max(1))
    }

    /// The first row of a strip in the picture.
    const fn level_row(&self, strip: usize) -> usize {
        (strip * STRIP_ROWS) >> self.level
    }

    /// Draws it where the whole pattern is.
    pub fn paint(&self, painter: &Painter, whole: &ReadPattern, content: Rect) {
        let Some(picture) = &self.picture else { return };
        let shape = [whole.rows.len(), whole.cols.len()];
        let rect = blocks_rect(content, shape, self.level, [0..self.size(whole)[1], 0..self.size(whole)[0]]);
        painter.image(picture.texture.id(), rect, texture::FULL_UV, Color32::WHITE);
    }

    /// Its level of detail.
    pub const fn level(&self) -> u32 {
        self.level
    }

    /// The largest value so far; once it is complete, of the whole pattern.
    pub const fn high(&self, pool: Pool) -> f32 {
        self.high[pool as usize]
    }

    /// Where the attention of the rows went; nothing until all were read.
    pub fn mass(&self) -> RowMass {
        if self.progress() < 1.0 { RowMass::default() } else { self.mass }
    }

    /// The part that is there, from 0 to 1.
    pub fn progress(&self) -> f32 {
        self.n_known as f32 / self.strips.len().max(1) as f32
    }

    /// Why there is none.
    pub const fn refusal(&self) -> Option<&Refusal> {
        self.refusal.as_ref()
    }
}

/// The pixels of some columns of a strip at a level, where the last colour is `high`.
pub fn strip_image(
    values: &Matrix,
    whole: &ReadPattern,
    (level, strip): (u32, usize),
    cols: Range<usize>,
    (look, high): (Look, f32),
) -> ColorImage {
    let sight = within(sight(whole, level, strip * STRIP_ROWS, values.shape()), values.n_cols(), &cols);
    let cut: Vec<f32> = values.rows().flat_map(|row| row[cols.clone()].iter().copied()).collect();
    let cut = Matrix::new(cut, [values.n_rows(), cols.len()]).unwrap_or_else(|_| values.clone());
    let image = heatmap(&cut, look.map, look.range(high), &sight);
    ColorImage::from_rgba_unmultiplied([image.width, image.height], &image.pixels)
}

/// What reduced rows from `first` on can see: a block can be seen when one of its cells can.
pub fn sight(whole: &ReadPattern, level: u32, first: usize, [n_rows, n_cols]: [usize; 2]) -> RowsSee {
    let of_block = |block: usize| {
        let start = first + (block << level);
        let rows = start..(start + (1 << level)).min(whole.visible.len());
        let seen = whole.visible.get(rows).unwrap_or_default().iter().filter(|seen| seen.start < seen.end);
        let seen = seen.cloned().reduce(|a, b| a.start.min(b.start)..a.end.max(b.end));
        seen.map_or(0..0, |seen| seen.start >> level..((seen.end - 1) >> level) + 1)
    };
    let mut everywhere: Vec<usize> = whole.everywhere.iter().map(|col| col >> level).collect();
    everywhere.dedup();
    // What went to no key shows through the block that it shares with the last keys.
    let n_rest = if whole.cols.rest().is_empty() { 0 } else { n_cols - (whole.cols.n_of_tokens() >> level) };
    RowsSee { visible: (0..n_rows).map(of_block).collect(), everywhere, causal: whole.causal, n_rest }
}

/// The same of some of the columns, counted from the first of them.
fn within(mut sight: RowsSee, n_cols: usize, cols: &Range<usize>) -> RowsSee {
    let inside = |col: usize| col.clamp(cols.start, cols.end) - cols.start;
    for seen in &mut sight.visible {
        *seen = inside(seen.start)..inside(seen.end);
    }
    sight.everywhere = sight.everywhere.iter().filter(|col| cols.contains(col)).map(|col| inside(*col)).collect();
    sight.n_rest = cols.len() - inside(n_cols - sight.n_rest);
    sight
}

/// Where blocks of `2^level` cells are (rows, columns), of a pattern of this shape that fills `content`. The last ones
/// may reach over its edge.
pub fn blocks_rect(content: Rect, [n_rows, n_cols]: [usize; 2], level: u32, [rows, cols]: [Range<usize>; 2]) -> Rect {
    let cell = content.size() / vec2(n_cols.max(1) as f32, n_rows.max(1) as f32);
    let at = |row: usize, col: usize| {
        let [row, col] = [row, col].map(|idx| (idx << level) as f32);
        content.min + vec2(col * cell.x, row * cell.y)
    };
    let (min, max) = (at(rows.start, cols.start), at(rows.end, cols.end));
    Rect::from_min_max(pos2(min.x, min.y), pos2(max.x, max.y))
}
