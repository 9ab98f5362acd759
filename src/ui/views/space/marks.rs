//! Few points as squares that carry the picture of a mark: smooth while they move, and as sharp as pictures of
//! cells.

use std::sync::Arc;

use eframe::egui::{
    Color32, ColorImage, Context, Mesh, Painter, Pos2, Rect, Shape, TextureHandle, TextureOptions, Vec2, pos2,
};

use crate::{
    analysis::{
        point_set::{PointSet, Spot},
        projection::{HeadProjection, Tint, Tints},
    },
    figure::views::{
        matrix::layout::CellTransform,
        points::{MarkSize, Seen, nearness},
    },
    raster::points::{Mark, Stamp},
    ui::{memo::Memo, theme::Theme},
};

/// Pictures of both marks in one texture, for one radius.
#[derive(Default)]
pub struct Marks {
    stamps: Memo<u32, Stamps>,
}

#[derive(Clone)]
struct Stamps {
    texture: TextureHandle,
    /// Where disc and diamond are in it.
    uvs: [Rect; 2],
    /// How large they are in pixels.
    sides: [f32; 2],
}

impl Stamps {
    fn new(ctx: &Context, radius_px: f32) -> Self {
        let stamps = [Stamp::new(Mark::Disc, radius_px), Stamp::new(Mark::Diamond, radius_px * MarkSize::DIAMOND)];
        let sides = stamps.each_ref().map(Stamp::side);
        let (width, height) = (sides[0] + sides[1], sides[0].max(sides[1]));
        let mut pixels = vec![Color32::TRANSPARENT; width * height];
        let mut left = 0;
        for stamp in &stamps {
            for (idx, covered) in stamp.pixels().iter().enumerate() {
                let (x, y) = (left + idx % stamp.side(), idx / stamp.side());
                pixels[y * width + x] = Color32::WHITE.gamma_multiply(covered.clamp(0.0, 1.0));
            }
            left += stamp.side();
        }
        let texture = ctx.load_texture("marks", ColorImage::new([width, height], pixels), TextureOptions::LINEAR);
        let uv = |left: usize, side: usize| {
            let (width, height) = (width as f32, height as f32);
            let from = pos2(left as f32 / width, 0.0);
            Rect::from_min_max(from, pos2((left + side) as f32 / width, side as f32 / height))
        };
        let uvs = [uv(0, sides[0]), uv(sides[0], sides[1])];
        Self { texture, uvs, sides: sides.map(|side| side as f32) }
    }
}

/// The points of one cell.
#[derive(Clone, Copy)]
pub struct CellMarks<'a> {
    pub plane: &'a HeadProjection,
    pub seen: &'a Seen,
    pub tints: &'a Tints,
    /// All others are dimmed.
    pub marked: Option<&'a PointSet>,
    pub cell: Rect,
}

impl CellMarks<'_> {
    /// Every point on screen, with its nearness: queries and keys taking turns, the near ones and those that stand
    /// out last.
    pub fn placed(&self) -> Vec<(Pos2, f32, Spot)> {
        let transform = CellTransform::new(self.seen.bounds, self.cell);
        let (queries, keys) = (&self.plane.queries, &self.plane.keys);
        let mut placed = Vec::with_capacity(queries.len() + keys.len());
        for idx in 0..queries.len().max(keys.len()) {
            let query = queries.get(idx).map(|point| (point, Spot::Query(idx)));
            let key = keys.get(idx).map(|point| (point, Spot::Key(idx)));
            for (point, spot) in [query, key].into_iter().flatten() {
                let at = self.seen.place(*point);
                let on_screen = transform.apply(at);
                if on_screen.is_finite() {
                    placed.push((on_screen, at[2], spot));
                }
            }
        }
        if self.marked.is_some() || self.seen.is_space() {
            placed.sort_by(|a, b| {
                (self.is_lit(a.2), a.1).partial_cmp(&(self.is_lit(b.2), b.1)).unwrap_or(std::cmp::Ordering::Equal)
            });
        }
        placed
    }

    pub(super) fn is_lit(&self, spot: Spot) -> bool {
        self.marked.is_none_or(|marked| marked.contains(spot))
    }

    /// Against points that are all alike.
    pub(super) fn larger(&self, spot: Spot) -> f32 {
        let (kind, point) = match spot {
            Spot::Query(query) => (0, query),
            Spot::Key(key) => (1, key),
        };
        self.tints.factor(kind, point)
    }

    pub(super) fn color(&self, spot: Spot, theme: &Theme) -> Color32 {
        let (tints, idx, own) = match spot {
            Spot::Query(query) => (&self.tints.queries, query, theme.query),
            Spot::Key(key) => (&self.tints.keys, key, theme.key),
        };
        theme.tint(tints.get(idx).copied().unwrap_or(Tint::Type), own)
    }

    fn opacity(&self, size: MarkSize, depth: f32, spot: Spot) -> f32 {
        let is_marked = self.marked.map(|marked| marked.contains(spot));
        size.opacity_of(is_marked) * if self.seen.is_space() { nearness(depth).1 } else { 1.0 }
    }
}

impl Marks {
    /// The points of cells of one size as one mesh.
    pub fn mesh(&mut self, ctx: &Context, cells: &[CellMarks<'_>], cell: Vec2, theme: &Theme) -> Arc<Mesh> {
        let n = cells.first().map_or(0, |cell| cell.plane.queries.len() + cell.plane.keys.len());
        let size = MarkSize::of(n, cell);
        let scale = ctx.pixels_per_point();
        // In sixteenths of a pixel: as fine as can be seen.
        let radius = ((size.radius * scale * 16.0).round() as u32).max(8);
        let stamps = self.stamps.get_or_update(radius, || Stamps::new(ctx, radius as f32 / 16.0));
        let mut mesh = Mesh::with_texture(stamps.texture.id());
        for cell in cells {
            for (at, depth, spot) in cell.placed() {
                let kind = usize::from(matches!(spot, Spot::Key(_)));
                let nearer = if cell.seen.is_space() { nearness(depth).0 } else { 1.0 };
                let larger = nearer * cell.larger(spot);
                let rect = Rect::from_center_size(at, Vec2::splat(stamps.sides[kind] / scale * larger));
                let color = cell.color(spot, theme).gamma_multiply(cell.opacity(size, depth, spot));
                mesh.add_rect_with_uv(rect, stamps.uvs[kind], color);
            }
        }
        Arc::new(mesh)
    }
}

/// All shapes of few points.
pub fn paint(painter: &Painter, mesh: Arc<Mesh>) {
    painter.add(Shape::Mesh(mesh));
}
