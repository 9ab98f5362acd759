//! The pictures of all cells: what they are made of is asked for once, and each is painted at the size it is shown, some
//! in a frame, so that no frame waits for many.

use std::{collections::HashMap, sync::Arc};

use eframe::egui::{
    Color32, ColorImage, Mesh, Painter, Rect, TextureHandle, TextureId, TextureOptions, Ui, Vec2, vec2,
};

use super::shown::{Shown, ShownAs, on_picture};
use crate::{
    analysis::{
        edges::EdgeFilter,
        reading::{
            Axis, Reading,
            long::{self, MAX_LEVEL, Strip, n_strips},
            store::{LineFilter, Lines},
        },
    },
    capture::{ImageInfo, Matrix, RgbaBuffer},
    figure::{
        palette::{Ink, Palette},
        views::{
            grid::{CellsAs, lines::most_lines},
            heads::{
                layout::{HeadsLayout, Line, visible_lines},
                look::{LineLook, fitting},
            },
            image::{MAX_SMOOTH_PX, SMOOTH_PX_PER_PATCH, boxes, weights::of_patches},
        },
    },
    ids::{CaptureId, HeadId},
    raster::{
        ColorRange, Colors,
        heatmap::{MaskedCells as _, reduced_to, small_heatmap},
        lines::{self, Frame, LineStroke},
        reduce,
    },
    session::{Focus, PatchRole},
    ui::{
        ViewCtx,
        memo::{Memo, Same},
        views::{
            heads::paint,
            hover,
            overview::{BATCH, Look, sight},
            source, texture,
            tile_atlas::TileAtlas,
        },
    },
};

/// Heads that are asked for in one frame: enough for a quick picture, few enough that a click does not wait for them.
const MOST_ASKED: usize = 64;
/// Numbers that may be looked at to paint in one frame: a few milliseconds on one core.
const MOST_PAINTED: usize = 1 << 20;
/// A strip of a long text is reduced to about this many pixels along a side.
const LONG_PX: usize = 96;
/// What a head out of sight may hold, in bytes; more is asked for again.
const KEPT_BYTES: usize = 1 << 16;
/// Pictures that are kept of heads that went out of sight.
const KEPT_TILES: usize = 2048;
/// Largest side of the picture below overlays.
const PICTURE_PX: usize = 512;

/// The pictures with what they are made of.
#[derive(Default)]
pub struct Tiles {
    of: Option<Of>,
    sources: HashMap<HeadId, CellSource>,
    /// Strips of long texts, as far as they are there.
    coming: HashMap<HeadId, Vec<Option<Arc<Strip>>>>,
    atlas: Option<TileAtlas<HeadId, TileKey>>,
    /// Pictures of another size, which stand in until those of this one are there.
    before: Option<TileAtlas<HeadId, TileKey>>,
    photo: Memo<Option<Same<RgbaBuffer>>, Option<TextureHandle>>,
}

/// Everything that what pictures are made of depends on, whichever head.
#[derive(Clone, PartialEq)]
struct Of {
    capture: CaptureId,
    reading: Reading,
    cells: CellsAs,
    /// Of lines.
    filter: Option<LineFilter>,
    /// What stands out of lines, or is shown on the picture.
    held: Focus,
}

/// What the picture of a head is made of.
enum CellSource {
    /// The pattern at a level of detail.
    Map(u32, Arc<Strip>),
    Lines(Arc<CellEdges>),
    /// A number for each patch.
    Patches(Arc<[f32]>),
    Refused,
}

/// The lines of a head that are drawn in a cell.
pub struct CellEdges {
    /// The strongest so many at most, weakest first.
    most: usize,
    pub drawn: Vec<Line>,
    /// Those of what is held, all of them.
    held: Option<Vec<Line>>,
    inks: [Ink; 2],
    /// Queries and keys.
    n: (usize, usize),
}

/// Everything that the pixels of a picture depend on beside the head.
#[derive(Clone, Copy, PartialEq)]
struct TileKey {
    size: [usize; 2],
    look: Look,
    high: Option<f32>,
    /// The level of detail, or the number of lines.
    detail: usize,
    held: Focus,
    lines: LineLook,
    opacity: f32,
    is_smooth: bool,
    pixels_per_point: f32,
}

/// A cell in sight.
pub struct SeenCell {
    pub head: HeadId,
    pub map: Rect,
}

impl Tiles {
    /// Takes in what has come, asks for what is missing of the cells in sight, the first ones first, and paints some.
    pub fn update(&mut self, ui: &Ui, cx: &ViewCtx<'_>, shown: &Shown<'_>, seen: &[SeenCell]) {
        let capture = &*shown.subject.this;
        let Some(first) = shown.places.heads().next() else { return };
        let reading = source::shown_of_head(cx, capture, HeadId { layer: 0, head: 0, ..first.0 });
        let is_long = long::is_long(capture, &reading);
        let filter = matches!(shown.cells, ShownAs::Lines).then(|| cx.pane.options.heads.filter().into());
        let held = match shown.cells {
            ShownAs::Heatmap => Focus::NONE,
            ShownAs::Lines | ShownAs::Overlay(..) => cx.pane.selection.pinned,
        };
        let of = Of { capture: capture.id(), reading, cells: shown.cells.kind(), filter, held };
        if self.of.as_ref().is_some_and(|known| known.held != of.held && Of { held: of.held, ..known.clone() } == of) {
            // The pictures stay until they are painted with what is held now.
            self.sources.clear();
            self.of = Some(of);
        } else if self.of.as_ref() != Some(&of) {
            // What was painted is of something else.
            *self = Self { of: Some(of), photo: std::mem::take(&mut self.photo), ..Self::default() };
        }
        let ppp = ui.pixels_per_point();
        let side_px = seen.first().map_or(1, |cell| px(cell.map, ppp).into_iter().max().unwrap_or(1));
        let mut n_asked = 0;
        for cell in seen {
            if n_asked >= MOST_ASKED {
                break;
            }
            n_asked += self.ask(cx, shown, (cell, side_px), is_long);
        }
        self.forget(shown, seen);
        self.paint_some(ui, cx, shown, (seen, side_px));
    }

    /// Asks for what is missing of a head; how much was asked for.
    fn ask(
        &mut self,
        cx: &ViewCtx<'_>,
        shown: &Shown<'_>,
        (cell, side_px): (&SeenCell, usize),
        is_long: bool,
    ) -> usize {
        let head = cell.head;
        let longest = shown.whole.rows.len().max(shown.whole.cols.len());
        let wanted = level(longest, if is_long { LONG_PX } else { side_px }, is_long);
        let most = most_lines(cell.map.size().min_elem());
        let is_there = match self.sources.get(&head) {
            Some(CellSource::Map(level, _)) => *level <= wanted,
            Some(CellSource::Lines(edges)) => edges.most >= most,
            Some(CellSource::Patches(_) | CellSource::Refused) => true,
            None => false,
        };
        if is_there {
            return 0;
        }
        let reading = source::shown_of_head(cx, &shown.subject.this, head);
        let found = match shown.cells {
            ShownAs::Heatmap if is_long => {
                let n = n_strips(shown.whole.rows.len());
                let strips = self.coming.entry(head).or_insert_with(|| vec![None; n]);
                match long_strips(cx, shown, (&reading, wanted), strips) {
                    Ok(strip) => strip.map(|strip| CellSource::Map(wanted, Arc::new(strip))),
                    Err(()) => Some(CellSource::Refused),
                }
            }
            ShownAs::Heatmap => cx
                .patterns
                .reduced(shown.subject, &reading, wanted)
                .map(|found| found.map_or(CellSource::Refused, |strip| CellSource::Map(wanted, strip))),
            ShownAs::Lines => {
                let filter: EdgeFilter = cx.pane.options.heads.filter();
                let lines = cx.patterns.lines(shown.subject, &reading, filter);
                let edges = |lines: Arc<Lines>| Arc::new(CellEdges::of(cx, (head, &lines), most));
                lines.map(|found| found.map_or(CellSource::Refused, |lines| CellSource::Lines(edges(lines))))
            }
            ShownAs::Overlay(_, (token, role)) => {
                // One query is one row; everything else needs all of them.
                let row = token.position().filter(|_| role == PatchRole::Query && !shown.whole.has_one_row());
                let found = match row.and_then(|row| shown.whole.rows.group_of(row)) {
                    Some(row) => cx.patterns.part(shown.subject, &reading, row..row + 1),
                    None => cx.patterns.pattern(shown.subject, &reading),
                };
                found.map(|found| {
                    found.map_or(CellSource::Refused, |pattern| {
                        CellSource::Patches(token.weights(&pattern, role).into())
                    })
                })
            }
        };
        let Some(found) = found else { return 1 };
        self.coming.remove(&head);
        self.sources.insert(head, found);
        0
    }

    /// Lets go of what takes much room and is out of sight.
    fn forget(&mut self, shown: &Shown<'_>, seen: &[SeenCell]) {
        if seen.len() == shown.places.heads().count() {
            return;
        }
        let in_sight = |head: HeadId| seen.iter().any(|cell| cell.head == head);
        self.sources.retain(|head, source| match source {
            CellSource::Map(_, strip) => strip.size_bytes() <= KEPT_BYTES || in_sight(*head),
            CellSource::Lines(_) | CellSource::Patches(_) | CellSource::Refused => true,
        });
        for atlas in [&mut self.atlas, &mut self.before].into_iter().flatten() {
            let most = KEPT_TILES * 96 * 96 / (atlas.most_px() * atlas.most_px());
            if atlas.len() > most.max(2 * seen.len()) {
                atlas.retain(in_sight);
            }
        }
    }

    /// The value of the last colour of overlays: the largest of all heads that are there.
    pub fn high(&self, shown: &Shown<'_>) -> Option<f32> {
        match shown.cells {
            ShownAs::Overlay(image, _) => shown.high.map(|_| {
                let largest = |patches: &[f32]| of_patches(patches, image).iter().fold(0.0f32, |a, b| a.max(b.abs()));
                let of = |source: &CellSource| {
                    if let CellSource::Patches(patches) = source { largest(patches) } else { 0.0 }
                };
                self.sources.values().map(of).fold(0.0, f32::max)
            }),
            ShownAs::Heatmap | ShownAs::Lines => shown.high,
        }
    }

    /// Paints what is not there yet as it is to be, up to a limit of work.
    fn paint_some(&mut self, ui: &Ui, cx: &ViewCtx<'_>, shown: &Shown<'_>, (seen, side_px): (&[SeenCell], usize)) {
        let max_side = texture::max_side(ui.ctx());
        let longest = shown.whole.rows.len().max(shown.whole.cols.len());
        // Pictures of short inputs are enlarged and keep their edges.
        let (most_px, options) = match shown.cells {
            ShownAs::Heatmap if longest <= side_px => (longest, TextureOptions::NEAREST),
            ShownAs::Overlay(image, _) if image.regions.is_some() => (side_px, TextureOptions::LINEAR),
            ShownAs::Overlay(image, _) if !is_smooth(cx, image) => {
                (image.grid.0.max(image.grid.1), TextureOptions::NEAREST)
            }
            ShownAs::Overlay(image, _) => {
                ((image.grid.0.max(image.grid.1) * SMOOTH_PX_PER_PATCH).min(MAX_SMOOTH_PX), TextureOptions::LINEAR)
            }
            ShownAs::Heatmap | ShownAs::Lines => (side_px, TextureOptions::LINEAR),
        };
        if !self.atlas.as_ref().is_some_and(|atlas| atlas.suits(most_px, options, max_side)) {
            self.before = self.atlas.replace(TileAtlas::new(most_px, options, max_side));
        }
        let high = self.high(shown);
        let Some(mut atlas) = self.atlas.take() else { return };
        let (mut work, mut is_missing) = (0, false);
        for cell in seen {
            let Some(source) = self.sources.get(&cell.head) else {
                is_missing = true;
                continue;
            };
            let key = self.key(ui, cx, shown, (cell, source), high, atlas.most_px());
            if atlas.knows(cell.head, &key) {
                continue;
            }
            if work > MOST_PAINTED {
                is_missing = true;
                ui.ctx().request_repaint();
                break;
            }
            let (image, cost) = painted(cx, shown, source, &key);
            work += cost;
            atlas.put(ui.ctx(), cell.head, key, image);
        }
        if !is_missing {
            self.before = None;
        }
        self.atlas = Some(atlas);
    }

    fn key(
        &self,
        ui: &Ui,
        cx: &ViewCtx<'_>,
        shown: &Shown<'_>,
        (cell, source): (&SeenCell, &CellSource),
        high: Option<f32>,
        most_px: usize,
    ) -> TileKey {
        let ppp = ui.pixels_per_point();
        let [width, height] = px(cell.map, ppp);
        let size = match (source, shown.cells) {
            (CellSource::Map(_, strip), _) => {
                let [rows, cols] = strip.values(shown.look.pool).shape();
                [width.min(cols), height.min(rows)]
            }
            (CellSource::Patches(_), ShownAs::Overlay(image, _)) if image.regions.is_none() => {
                let smooth = is_smooth(cx, image);
                let side = |n: usize| if smooth { (n * SMOOTH_PX_PER_PATCH).min(MAX_SMOOTH_PX) } else { n };
                [side(image.grid.1), side(image.grid.0)]
            }
            (CellSource::Patches(_) | CellSource::Lines(_) | CellSource::Refused, _) => [width, height],
        };
        TileKey {
            size: size.map(|side| side.clamp(1, most_px)),
            look: shown.look,
            high,
            detail: match source {
                CellSource::Map(level, _) => *level as usize,
                CellSource::Lines(edges) => edges.most,
                CellSource::Patches(_) | CellSource::Refused => 0,
            },
            held: self.of.as_ref().map_or(Focus::NONE, |of| of.held),
            lines: cx.pane.options.heads.look(),
            opacity: cx.pane.options.image.alpha(),
            is_smooth: matches!(shown.cells, ShownAs::Overlay(image, _) if is_smooth(cx, image)),
            pixels_per_point: ppp,
        }
    }

    /// Draws the pictures of the cells in sight, a mesh for each texture.
    pub fn draw(&mut self, painter: &Painter, cx: &ViewCtx<'_>, shown: &Shown<'_>, seen: &[SeenCell]) {
        let mut meshes: Vec<(TextureId, Mesh)> = Vec::new();
        let mut add = |(texture, uv): (TextureId, Rect), rect: Rect| {
            let at = meshes.iter().position(|(known, _)| *known == texture).unwrap_or_else(|| {
                meshes.push((texture, Mesh::with_texture(texture)));
                meshes.len() - 1
            });
            meshes[at].1.add_rect_with_uv(rect, uv, Color32::WHITE);
        };
        if let ShownAs::Overlay(image, _) = shown.cells {
            let source = image.source.as_ref();
            let photo = self.photo.get_or_update(source.map(|it| Same(Arc::clone(it))), || {
                let small = reduce::at_most(source?, PICTURE_PX);
                Some(texture::load(painter.ctx(), "picture of cells", &small, TextureOptions::LINEAR))
            });
            if let Some(photo) = photo {
                for cell in seen {
                    add((photo.id(), texture::FULL_UV), cell.map);
                }
            }
        }
        for cell in seen {
            let now = self.atlas.as_ref().and_then(|atlas| atlas.picture(cell.head));
            let picture = now.or_else(|| self.before.as_ref()?.picture(cell.head));
            let rect = match shown.cells {
                ShownAs::Overlay(image, _) => on_picture(cell.map, image).crop,
                ShownAs::Heatmap | ShownAs::Lines => cell.map,
            };
            if let Some(picture) = picture {
                add(picture, rect);
            }
        }
        painter.extend(meshes.into_iter().map(|(_, mesh)| mesh.into()));
        if let ShownAs::Overlay(image, _) = shown.cells {
            for part in seen.iter().flat_map(|cell| on_picture(cell.map, image).unseen().collect::<Vec<_>>()) {
                painter.rect_filled(part, 0, cx.theme.canvas.gamma_multiply(0.6));
            }
        }
    }

    /// The lines of a head, where they are there.
    pub fn lines(&self, head: HeadId) -> Option<&CellEdges> {
        match self.sources.get(&head) {
            Some(CellSource::Lines(edges)) => Some(edges),
            Some(CellSource::Map(..) | CellSource::Patches(_) | CellSource::Refused) | None => None,
        }
    }
}

/// Whether patches of a picture are interpolated.
fn is_smooth(cx: &ViewCtx<'_>, image: &ImageInfo) -> bool {
    cx.pane.options.image.is_smooth(image.grid)
}

/// The size of a map in pixels.
fn px(map: Rect, pixels_per_point: f32) -> [usize; 2] {
    [map.width(), map.height()].map(|side| (side * pixels_per_point).round().max(1.0) as usize)
}

/// The coarsest level at which a pattern has at least as many cells as its picture has pixels; of a long text the finest
/// at which it has no more.
fn level(longest: usize, side_px: usize, is_long: bool) -> u32 {
    let ratio =
        if is_long { longest.div_ceil(side_px.max(1)).next_power_of_two() } else { (longest / side_px.max(1)).max(1) };
    ratio.ilog2().min(MAX_LEVEL)
}

/// The whole of a long text, once all its strips are there.
fn long_strips(
    cx: &ViewCtx<'_>,
    shown: &Shown<'_>,
    (reading, level): (&Reading, u32),
    strips: &mut [Option<Arc<Strip>>],
) -> Result<Option<Strip>, ()> {
    let mut n_asked = 0;
    for (at, place) in strips.iter_mut().enumerate().filter(|(_, place)| place.is_none()) {
        match cx.patterns.strip(shown.subject, reading, (level, at)) {
            Some(Ok(strip)) => *place = Some(strip),
            Some(Err(_)) => return Err(()),
            None => n_asked += 1,
        }
        if n_asked == BATCH {
            return Ok(None);
        }
    }
    let all: Option<Vec<Arc<Strip>>> = strips.iter().cloned().collect();
    Ok(all.and_then(|all| Strip::joined(&all)))
}

impl CellEdges {
    fn of(cx: &ViewCtx<'_>, (head, lines): (HeadId, &Lines), most: usize) -> Self {
        let axes: [&Axis; 2] = [&lines.pattern.rows, &lines.pattern.cols];
        let n = (axes[0].len(), axes[1].len());
        let sets = || [&lines.set, &lines.below].into_iter().enumerate();
        let (drawn, _) = visible_lines(sets(), &[0..n.0, 0..n.1], most);
        let [row, col] = hover::in_pattern(cx.pane.selection.pinned, axes);
        let held = (row.is_some() || col.is_some()).then(|| {
            let is_held = |line: &Line| {
                row.is_none_or(|row| row == line.query as usize) && col.is_none_or(|col| col == line.key as usize)
            };
            let (all, _) = visible_lines(sets(), &[0..n.0, 0..n.1], usize::MAX);
            all.into_iter().filter(is_held).collect()
        });
        let is_explained = lines.pattern.explained().is_some();
        let inks = match (lines.pattern.signed, is_explained) {
            (true, _) => [Ink::More, Ink::Less],
            (false, true) => [Ink::Explained; 2],
            (false, false) => [Ink::Head(head.head); 2],
        };
        Self { most, drawn, held, inks, n }
    }

    /// The lines in a rectangle of this size.
    pub fn layout(&self, size: Vec2, look: LineLook) -> HeadsLayout {
        HeadsLayout::bare(size, self.n.0, self.n.1).with_course(look.course)
    }

    fn painted(&self, cx: &ViewCtx<'_>, key: &TileKey) -> ColorImage {
        let ppp = key.pixels_per_point;
        let size = vec2(key.size[0] as f32, key.size[1] as f32) / ppp;
        let layout = self.layout(size, key.lines);
        let frame = Frame { min: [0.0; 2], size_px: key.size, scale: ppp };
        let draw = |of: &[Line]| {
            let strokes = paint::strokes((&layout, key.lines), of, &self.inks, |weight| weight, cx.theme);
            let thin = |stroke: &LineStroke| LineStroke { width: fitting(stroke.width, layout.row_height), ..*stroke };
            let strokes: Vec<LineStroke> = strokes.iter().map(thin).collect();
            lines::draw(&strokes, frame, || true).map(|picture| picture.pixels).unwrap_or_default()
        };
        let mut pixels = draw(&self.drawn);
        if let Some(held) = &self.held {
            for (pixel, above) in pixels.iter_mut().zip(draw(held)) {
                let rest = (1.0 - Palette::VEIL) * (1.0 - f32::from(above[3]) / 255.0);
                for (channel, above) in pixel.iter_mut().zip(above) {
                    *channel = (f32::from(*channel) * rest + f32::from(above)).min(255.0) as u8;
                }
            }
        }
        pixels.resize(key.size[0] * key.size[1], [0; 4]);
        let color = |[r, g, b, a]: [u8; 4]| Color32::from_rgba_premultiplied(r, g, b, a);
        ColorImage::new(key.size, pixels.into_iter().map(color).collect())
    }
}

/// A picture, and about how many numbers were looked at for it.
fn painted(cx: &ViewCtx<'_>, shown: &Shown<'_>, source: &CellSource, key: &TileKey) -> (ColorImage, usize) {
    let n_px = key.size[0] * key.size[1];
    let empty = || ColorImage::filled(key.size, Color32::TRANSPARENT);
    match source {
        CellSource::Map(level, strip) => {
            let values = strip.values(key.look.pool);
            let image = map_image(values, shown, (*level, key));
            (color_image(&image), values.as_slice().len() + n_px)
        }
        CellSource::Lines(edges) => {
            let n_lines = edges.drawn.len() + edges.held.as_ref().map_or(0, Vec::len);
            (edges.painted(cx, key), n_px + 2 * n_lines * key.size[0])
        }
        CellSource::Patches(patches) => {
            let ShownAs::Overlay(image, (token, _)) = shown.cells else { return (empty(), 0) };
            let values = of_patches(patches, image);
            let largest = || values.iter().map(|value| value.abs()).fold(0.0, f32::max);
            let is_signed = token.is_signed(shown.whole);
            let range = ColorRange::up_to(key.high.unwrap_or_else(largest), is_signed, false);
            let colors = overlay_colors(cx, shown, key.look.map);
            let [width, height] = key.size;
            let size = ((width, height), key.is_smooth);
            let pixels = boxes::overlay(&values, image, size, (colors, range), key.opacity);
            (color_image(&pixels), 4 * n_px)
        }
        CellSource::Refused => (empty(), 0),
    }
}

/// The colours of overlays.
pub fn overlay_colors(cx: &ViewCtx<'_>, shown: &Shown<'_>, on: Colors) -> Colors {
    match shown.cells {
        ShownAs::Overlay(_, (token, _)) => token.color_map(shown.whole, cx.pane.options.image.colors()).on(on.ground),
        ShownAs::Heatmap | ShownAs::Lines => on,
    }
}

fn color_image(image: &RgbaBuffer) -> ColorImage {
    ColorImage::from_rgba_unmultiplied([image.width, image.height], &image.pixels)
}

/// A pattern at a level of detail as pixels of a size.
fn map_image(values: &Matrix, shown: &Shown<'_>, (level, key): (u32, &TileKey)) -> RgbaBuffer {
    let sight = sight(shown.whole, level, 0, values.shape());
    let reduced = reduced_to(values, [key.size[1], key.size[0]], (key.look.pool, key.look.map.is_signed()));
    let range = key.look.map.range(reduced.as_slice(), key.high, key.look.log);
    small_heatmap(&reduced, key.look.map, range, &sight.reduced(values.shape(), reduced.shape()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_is_made_of_no_fewer_numbers_than_it_has_pixels() {
        for (longest, side_px) in [(512, 56), (512, 20), (512, 600), (14, 56), (300, 96), (2048, 30)] {
            let level = level(longest, side_px, false);
            let n = |level: u32| longest.div_ceil(1 << level);
            assert!(n(level) >= side_px.min(longest), "{longest} in {side_px}: {level}");
            assert!(level == MAX_LEVEL || n(level + 1) < side_px.max(2), "{longest} in {side_px}: no coarser");
        }
        assert_eq!(level(8192, LONG_PX, true), MAX_LEVEL);
    }
}
