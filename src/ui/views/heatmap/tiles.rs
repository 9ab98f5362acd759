//! The cells of a pattern that is too long for one picture: its overview below, and tiles as sharp as the screen above.
//!
//! A tile is [`TILE_ROWS`] rows and at most [`TILE_COLS`] columns of pixels, each a block of `2^level` cells. The level
//! in sight is the coarsest whose blocks are not larger than a pixel of the screen; where its tiles are not there yet,
//! the overview is seen.

use std::{collections::HashMap, ops::Range, sync::Arc};

use eframe::egui::{Color32, ColorImage, Painter, Rect, TextureHandle, TextureOptions, Ui};

use crate::{
    analysis::reading::{
        ReadPattern, Reading, Refusal, RowMass,
        long::{Pool, STRIP_ROWS, n_strips, strip_rows},
        store::CapturePair,
    },
    capture::Matrix,
    figure::views::cells,
    raster::ColorRange,
    ui::{
        ViewCtx,
        views::{
            overview::{Look, Overview, blocks_rect, strip_image},
            texture,
        },
    },
};

/// Rows of pixels of a tile: as many as a strip has at level 0, and `2^level` strips together at the others.
const TILE_ROWS: usize = STRIP_ROWS;
/// Columns of pixels of a tile, less than any driver's limit.
const TILE_COLS: usize = 1024;
/// Tiles that are coloured in one frame; more would be felt.
const PER_FRAME: usize = 6;
/// Tiles that are kept, in sight or not: 256 KB each.
const MAX_TILES: usize = 160;
/// Strips that are asked for together.
const BATCH: usize = 32;

/// Which tile: level, row of tiles, column of tiles.
type Place = (u32, usize, usize);

/// Everything its pixels depend on, apart from its place.
#[derive(Clone, PartialEq)]
struct Colours {
    look: Look,
    high: f32,
}

struct Tile {
    texture: TextureHandle,
    colours: Colours,
    last_seen: u64,
}

/// What is drawn of a long pattern, kept between frames.
#[derive(Default)]
pub struct LongCells {
    overview: Overview,
    of: Option<(crate::ids::CaptureId, Reading)>,
    tiles: HashMap<Place, Tile>,
    /// Parts with the exact weights of rows in sight, by strip.
    parts: HashMap<usize, Arc<ReadPattern>>,
    /// The largest mean that was seen at each level: means shrink with the level, largest weights do not.
    highs: Vec<f32>,
    frame: u64,
    level: u32,
    is_sharp: bool,
}

impl LongCells {
    /// Takes in what has come, and asks for the overview.
    pub fn update(&mut self, ui: &Ui, cx: &ViewCtx<'_>, of: (&CapturePair, &Reading), whole: &ReadPattern, look: Look) {
        let (subject, reading) = of;
        if self.of.as_ref().is_none_or(|(capture, of)| *capture != subject.this.id() || of != reading) {
            *self = Self {
                overview: std::mem::take(&mut self.overview),
                of: Some((subject.this.id(), reading.clone())),
                ..Self::default()
            };
        }
        self.overview.update(ui, cx, of, whole, look);
    }

    /// Draws the cells in `plot`; `content` is where the whole pattern is. What the colours mean.
    pub fn paint(
        &mut self,
        ui: &Ui,
        cx: &ViewCtx<'_>,
        of: (&CapturePair, &Reading),
        (whole, look): (&ReadPattern, Look),
        (content, plot): (Rect, Rect),
    ) -> ColorRange {
        self.frame += 1;
        let painter = ui.painter().with_clip_rect(plot.intersect(ui.clip_rect()));
        self.overview.paint(&painter, whole, content);
        self.level = level_in_sight(whole, content, ui.pixels_per_point()).min(self.overview.level());
        if self.level > 0 {
            self.parts.clear();
        }
        let is_overview = self.level == self.overview.level();
        self.is_sharp = is_overview && self.overview.progress() >= 1.0;
        if !is_overview {
            self.tiles_ui(ui, cx, of, (whole, look), (&painter, content, plot));
        }
        look.range(self.high(look.pool))
    }

    fn tiles_ui(
        &mut self,
        ui: &Ui,
        cx: &ViewCtx<'_>,
        of: (&CapturePair, &Reading),
        (whole, look): (&ReadPattern, Look),
        (painter, content, plot): (&Painter, Rect, Rect),
    ) {
        let (level, shape) = (self.level, [whole.rows.len(), whole.cols.len()]);
        let [rows, cols] = cells::visible_cells(content, plot, (shape[0], shape[1]));
        let tile_rows = TILE_ROWS << level;
        let tile_cols = TILE_COLS << level;
        let places = (rows.start / tile_rows..rows.end.div_ceil(tile_rows))
            .flat_map(|row| (cols.start / tile_cols..cols.end.div_ceil(tile_cols)).map(move |col| (level, row, col)));
        let (mut n_coloured, mut n_asked) = (0, 0);
        self.is_sharp = true;
        self.keep_parts(cx, of, whole.rows.len(), rows);
        for place in places {
            let is_known = |tiles: &HashMap<Place, Tile>, colours: &Colours| {
                tiles.get(&place).is_some_and(|tile| tile.colours == *colours)
            };
            let mut colours = Colours { look, high: self.high(look.pool) };
            if !is_known(&self.tiles, &colours)
                && let Some(strips) = self.strips_of(cx, of, (whole, look.pool), place, &mut n_asked)
            {
                colours.high = self.high(look.pool);
                if n_coloured < PER_FRAME {
                    n_coloured += 1;
                    let image = tile_image(&strips, whole, place, &colours);
                    let options = if level == 0 { TextureOptions::NEAREST } else { TextureOptions::LINEAR };
                    let texture = ui.ctx().load_texture("heatmap tile", image, options);
                    self.tiles.insert(place, Tile { texture, colours, last_seen: self.frame });
                } else {
                    ui.ctx().request_repaint();
                }
            }
            let Some(tile) = self.tiles.get_mut(&place) else {
                self.is_sharp = false;
                continue;
            };
            tile.last_seen = self.frame;
            let [width, height] = tile.texture.size();
            let blocks =
                [place.1 * TILE_ROWS..place.1 * TILE_ROWS + height, place.2 * TILE_COLS..place.2 * TILE_COLS + width];
            painter.image(
                tile.texture.id(),
                blocks_rect(content, shape, level, blocks),
                texture::FULL_UV,
                Color32::WHITE,
            );
        }
        if self.tiles.len() > MAX_TILES {
            let frame = self.frame;
            self.tiles.retain(|_, tile| tile.last_seen == frame);
        }
    }

    /// The values of a tile's strips, with their places; `None` while one is missing.
    fn strips_of(
        &mut self,
        cx: &ViewCtx<'_>,
        (subject, reading): (&CapturePair, &Reading),
        (whole, pool): (&ReadPattern, Pool),
        (level, row, _): Place,
        n_asked: &mut usize,
    ) -> Option<Vec<(usize, Matrix)>> {
        let n_rows = whole.rows.len();
        let mut all = Some(Vec::new());
        for strip in row << level..((row + 1) << level).min(n_strips(n_rows)) {
            if *n_asked >= BATCH {
                return None;
            }
            let values = if level == 0 {
                let part = cx.patterns.part(subject, reading, strip_rows(strip, n_rows)).and_then(Result::ok);
                part.map(|part| part.matrix.clone())
            } else {
                let found = cx.patterns.strip(subject, reading, (level, strip)).and_then(Result::ok);
                found.map(|strip| strip.values(pool).clone())
            };
            let Some(values) = values else {
                *n_asked += 1;
                all = None;
                continue;
            };
            if pool == Pool::Mean {
                self.note_mean(level, &values);
            }
            if let Some(all) = &mut all {
                all.push((strip, values));
            }
        }
        all
    }

    /// Keeps the exact weights of the rows in sight where there are so few that numbers may be written on them.
    fn keep_parts(
        &mut self,
        cx: &ViewCtx<'_>,
        (subject, reading): (&CapturePair, &Reading),
        n_rows: usize,
        rows: Range<usize>,
    ) {
        let n_in_sight = rows.len();
        let strips = rows.start / STRIP_ROWS..rows.end.div_ceil(STRIP_ROWS);
        self.parts.retain(|strip, _| n_in_sight <= STRIP_ROWS && strips.contains(strip));
        for strip in strips.filter(|_| n_in_sight <= STRIP_ROWS) {
            if !self.parts.contains_key(&strip)
                && let Some(Ok(part)) = cx.patterns.part(subject, reading, strip_rows(strip, n_rows))
            {
                self.parts.insert(strip, part);
            }
        }
    }

    fn note_mean(&mut self, level: u32, values: &Matrix) {
        let level = level as usize;
        if self.highs.len() <= level {
            self.highs.resize(level + 1, 0.0);
        }
        let largest = values.as_slice().iter().copied().fold(0.0, f32::max);
        self.highs[level] = self.highs[level].max(largest);
    }

    /// The value of the last colour at the level in sight.
    fn high(&self, pool: Pool) -> f32 {
        match pool {
            Pool::Max => self.overview.high(pool),
            Pool::Mean if self.level == self.overview.level() => self.overview.high(pool),
            Pool::Mean => self.highs.get(self.level as usize).copied().unwrap_or(0.0),
        }
    }

    /// The exact weight of a cell in sight, where single cells are drawn.
    pub fn value(&self, row: usize, col: usize) -> Option<f32> {
        self.parts.get(&(row / STRIP_ROWS))?.value(row, col)
    }

    /// How many parts with exact weights there are.
    pub fn n_known(&self) -> usize {
        self.parts.len()
    }

    /// Cells that a pixel stands for each way, and whether everything in sight is as sharp as that.
    pub const fn detail(&self) -> (usize, bool) {
        (1 << self.level, self.is_sharp)
    }

    /// The part of the overview that is there, from 0 to 1.
    pub fn progress(&self) -> f32 {
        self.overview.progress()
    }

    /// Where the attention of the rows went; nothing until all were read.
    pub fn mass(&self) -> RowMass {
        self.overview.mass()
    }

    /// Why there is nothing.
    pub const fn refusal(&self) -> Option<&Refusal> {
        self.overview.refusal()
    }
}

/// The coarsest level whose blocks are no larger than a pixel of the screen.
fn level_in_sight(whole: &ReadPattern, content: Rect, pixels_per_point: f32) -> u32 {
    let per_pixel = |n: usize, points: f32| n as f32 / (points * pixels_per_point).max(1.0);
    let cells = per_pixel(whole.rows.len(), content.height()).max(per_pixel(whole.cols.len(), content.width()));
    cells.max(1.0).log2().floor() as u32
}

/// The pixels of a tile.
fn tile_image(strips: &[(usize, Matrix)], whole: &ReadPattern, (level, _, col): Place, of: &Colours) -> ColorImage {
    let mut pixels = Vec::new();
    let mut width = 0;
    for (strip, values) in strips {
        let cols = col * TILE_COLS..((col + 1) * TILE_COLS).min(values.n_cols());
        width = cols.len();
        pixels.extend(strip_image(values, whole, (level, *strip), cols, (of.look, of.high)).pixels);
    }
    let height = pixels.len() / width.max(1);
    ColorImage::new([width, height], pixels)
}
