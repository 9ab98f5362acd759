//! Paints a figure's display list in the window: for views whose figure is all there is to see.

use std::{collections::HashMap, hash::Hash, sync::Arc};

use eframe::egui::{
    Color32, ColorImage, Context, CornerRadius, FontId, Id, Mesh, Painter, Pos2, Rect, Shape, Stroke, StrokeKind,
    TextureHandle, TextureOptions, Vec2,
    epaint::{RectShape, TextShape, Vertex, WHITE_UV, util},
    mutex::Mutex,
};

use super::texture::FULL_UV;
use crate::{
    figure::{
        Typesetter,
        list::{Cells, Item, Line, Rgba, Sampling, Text},
        path::{Path, PathStep},
        pen::{Medium, Pen},
    },
    ui::{
        memo::Memo,
        theme::{Theme, text_size::SMALL},
    },
};

/// Corners nearer to each other are one.
const LEAST_EDGE_PT: f32 = 1e-3;
/// Straight pieces of a curve.
const CURVE_STEPS: usize = 4;

/// Paints a small part that no view keeps: what `draw` draws of it, again only when `key` changes, which is all that it
/// depends on apart from where it is and the theme.
pub fn paint_part(painter: &Painter, id: Id, theme: &Theme, key: impl Hash, area: Rect, draw: &dyn Fn(&mut Pen<'_>)) {
    let ctx = painter.ctx();
    let parts = ctx.data_mut(|data| data.get_temp_mut_or_default::<Arc<Mutex<PiecePainter<u64>>>>(Id::NULL).clone());
    parts.lock().paint(id.value() as usize, (painter, theme), util::hash(key), (area, area), draw);
}

/// Draws a scene into an area of the window, and again only when something changes: `K` is everything that the scene
/// depends on, apart from where it is and the theme.
pub struct ScenePainter<K> {
    painter: PiecePainter<K>,
}

impl<K> Default for ScenePainter<K> {
    fn default() -> Self {
        Self { painter: PiecePainter::default() }
    }
}

impl<K: PartialEq> ScenePainter<K> {
    /// Paints what `draw` draws of the scene.
    pub fn paint(&mut self, painter: &Painter, theme: &Theme, key: K, area: Rect, draw: &dyn Fn(&mut Pen<'_>)) {
        self.painter.paint(0, (painter, theme), key, (area, area), draw);
    }
}

/// What a painted piece depends on: what it is, where it is and what is seen of it, the theme, the screen.
type Placed<K> = (K, [Rect; 2], bool, f32);

/// The same for many pieces, each with a number.
pub struct PiecePainter<K> {
    type_: Option<Typesetter>,
    painted: HashMap<usize, Memo<Placed<K>, Arc<Painted>>>,
}

impl<K> Default for PiecePainter<K> {
    fn default() -> Self {
        Self { type_: None, painted: HashMap::new() }
    }
}

impl<K: PartialEq> PiecePainter<K> {
    /// Paints a piece in an area, of which a part is seen.
    pub fn paint(
        &mut self,
        nth: usize,
        (painter, theme): (&Painter, &Theme),
        key: K,
        (area, seen): (Rect, Rect),
        draw: &dyn Fn(&mut Pen<'_>),
    ) {
        let ctx = painter.ctx();
        let type_ = self.type_.get_or_insert_with(|| window_type(ctx.clone()));
        let memo = self.painted.entry(nth).or_default();
        let painted = memo.get_or_update((key, [area, seen], theme.dark, ctx.pixels_per_point()), || {
            let mut pen = Pen::new(type_, theme.palette);
            pen.seen = seen;
            pen.medium = Medium::Screen;
            draw(&mut pen);
            Arc::new(Painted::new(ctx, &pen.items, area))
        });
        painted.paint(painter);
    }
}

/// A display list as the window paints it, and the textures that it needs.
#[derive(Clone, Default)]
struct Painted {
    shapes: Vec<(Rect, Shape)>,
    /// Kept for as long as the shapes are.
    textures: Vec<TextureHandle>,
}

impl Painted {
    /// Prepares items for a window; what lies outside `clip` is not seen.
    fn new(ctx: &Context, items: &[Item], clip: Rect) -> Self {
        let mut painted = Self::default();
        painted.add(ctx, items, clip);
        painted
    }

    /// Paints it, as opaque as `painter` is.
    fn paint(&self, painter: &Painter) {
        for (clip, shape) in &self.shapes {
            painter.with_clip_rect(clip.intersect(painter.clip_rect())).add(shape.clone());
        }
    }

    fn add(&mut self, ctx: &Context, items: &[Item], clip: Rect) {
        let mut mesh = Mesh::default();
        for item in items {
            match item {
                Item::Fill(path, color) => match softened(path, *color) {
                    Some(shape) => {
                        self.flush(&mut mesh, clip);
                        self.shapes.push((clip, shape));
                    }
                    None => fill(&mut mesh, path, *color),
                },
                Item::Lines(lines) => {
                    let is_mark = |line: &Line| line.from.distance(line.to) < 2.0 * line.width;
                    lines.iter().filter(|line| is_mark(line)).for_each(|line| fill_line(&mut mesh, line));
                    self.flush(&mut mesh, clip);
                    let long = lines.iter().filter(|line| !is_mark(line));
                    self.shapes.extend(long.map(|line| (clip, line_shape(line))));
                }
                Item::Text(text) => {
                    self.flush(&mut mesh, clip);
                    self.shapes.push((clip, text_shape(ctx, text)));
                }
                Item::Cells(cells) => {
                    self.flush(&mut mesh, clip);
                    self.cells(ctx, cells, clip);
                }
                Item::Clip(rect, items) => {
                    self.flush(&mut mesh, clip);
                    self.add(ctx, items, rect.intersect(clip));
                }
            }
        }
        self.flush(&mut mesh, clip);
    }

    /// What was filled so far comes before what follows.
    fn flush(&mut self, mesh: &mut Mesh, clip: Rect) {
        if !mesh.is_empty() {
            self.shapes.push((clip, Shape::mesh(std::mem::take(mesh))));
        }
    }

    fn cells(&mut self, ctx: &Context, cells: &Cells, clip: Rect) {
        let options = match cells.sampling {
            Sampling::Crisp => TextureOptions::NEAREST,
            Sampling::Smooth => TextureOptions::LINEAR,
        };
        let size = cells.size.map(|side| side as usize);
        let texture = ctx.load_texture("figure cells", ColorImage::from_rgba_unmultiplied(size, &cells.rgba), options);
        let mut mesh = Mesh::with_texture(texture.id());
        mesh.add_rect_with_uv(cells.rect, FULL_UV, Color32::WHITE);
        self.shapes.push((clip, Shape::mesh(mesh)));
        self.textures.push(texture);
    }
}

/// A colour of a figure in the window.
pub fn color32([red, green, blue, alpha]: Rgba) -> Color32 {
    Color32::from_rgba_unmultiplied(red, green, blue, alpha)
}

/// The edge of a rectangle or of a disc, or a convex outline, if that is all a path is: the window softens thin lines and
/// other outlines than those of upright rectangles, which a mesh would not.
fn softened(path: &Path, color: Rgba) -> Option<Shape> {
    match &outlines(path)[..] {
        [one] if !is_upright(one) => {
            // Corners at one place would turn the softened edge inside out.
            let mut corners = one.clone();
            corners.dedup_by(|a, b| a.distance(*b) < LEAST_EDGE_PT);
            corners.pop_if(|last| last.distance(one[0]) < LEAST_EDGE_PT);
            Some(Shape::convex_polygon(corners, color32(color), Stroke::NONE))
        }
        [outer, inner] => {
            let (first, hole) = (outer.first()?, Rect::from_points(inner));
            let outer = Rect::from_points(outer);
            // A path begins where its first corner ends.
            let radius = CornerRadius::same((first.x - outer.left()).round() as u8);
            let stroke = Stroke::new((outer.width() - hole.width()) / 2.0, color32(color));
            Some(Shape::Rect(RectShape::stroke(outer, radius, stroke, StrokeKind::Inside)))
        }
        _ => None,
    }
}

/// Whether corners are those of a rectangle whose edges lie along the axes.
fn is_upright(corners: &[Pos2]) -> bool {
    let next = corners.iter().cycle().skip(1);
    corners.len() == 4 && corners.iter().zip(next).all(|(a, b)| a.x == b.x || a.y == b.y)
}

/// A convex outline becomes a fan of triangles.
fn fill(mesh: &mut Mesh, path: &Path, color: Rgba) {
    for outline in outlines(path) {
        polygon(mesh, &outline, color32(color));
    }
}

/// A line of a figure in the window.
pub fn line_shape(line: &Line) -> Shape {
    Shape::line_segment([line.from, line.to], Stroke::new(line.width, color32(line.color)))
}

/// Marks that are as long as they are wide.
fn fill_line(mesh: &mut Mesh, line: &Line) {
    let across = (line.to - line.from).normalized().rot90() * (line.width / 2.0);
    let corners = [line.from + across, line.to + across, line.to - across, line.from - across];
    polygon(mesh, &corners, color32(line.color));
}

fn polygon(mesh: &mut Mesh, corners: &[Pos2], color: Color32) {
    let first = mesh.vertices.len() as u32;
    mesh.vertices.extend(corners.iter().map(|&pos| Vertex { pos, uv: WHITE_UV, color }));
    for corner in first + 2..mesh.vertices.len() as u32 {
        mesh.add_triangle(first, corner - 1, corner);
    }
}

/// The corners of each closed outline.
fn outlines(path: &Path) -> Vec<Vec<Pos2>> {
    let mut all: Vec<Vec<Pos2>> = Vec::new();
    for segment in path.segments() {
        match *segment {
            PathStep::Move(to) => all.push(vec![to]),
            PathStep::Line(to) => all.iter_mut().next_back().into_iter().for_each(|outline| outline.push(to)),
            PathStep::Cubic(a, b, to) => {
                let Some(outline) = all.last_mut() else { continue };
                let from = outline.last().copied().unwrap_or(to);
                let at = |t: f32| {
                    let s = 1.0 - t;
                    let weights = [s * s * s, 3.0 * s * s * t, 3.0 * s * t * t, t * t * t];
                    let sum =
                        [from, a, b, to].iter().zip(weights).fold(Vec2::ZERO, |sum, (p, w)| sum + p.to_vec2() * w);
                    sum.to_pos2()
                };
                outline.extend((1..=CURVE_STEPS).map(|step| at(step as f32 / CURVE_STEPS as f32)));
            }
            PathStep::Close => {}
        }
    }
    all
}

/// Texts as wide as the window lays them out.
fn window_type(ctx: Context) -> Typesetter {
    let layout = move |text: &str| {
        ctx.fonts_mut(|fonts| fonts.layout_no_wrap(text.to_owned(), FontId::proportional(SMALL), Color32::BLACK))
    };
    Typesetter::measured_by(move |text| layout(text).size().x / SMALL)
}

/// The window's own typesetting, on the same baseline from the same start.
fn text_shape(ctx: &Context, text: &Text) -> Shape {
    let color = color32(text.color);
    let galley = ctx.fonts_mut(|fonts| fonts.layout_no_wrap(text.text.clone(), FontId::proportional(text.size), color));
    let ascent = galley.rows.first().and_then(|row| row.row.glyphs.first()).map_or(text.size, |glyph| glyph.pos.y);
    // Along the line and up from it, on a screen whose y grows downwards.
    let up = Vec2::angled(text.angle - std::f32::consts::FRAC_PI_2);
    // Where the window's glyphs are a little wider or narrower, the middle stays.
    let along = Vec2::angled(text.angle) * ((text.width - galley.size().x) / 2.0);
    let shape = TextShape::new(text.at + along + up * ascent, galley, color);
    Shape::Text(shape.with_angle(text.angle))
}

#[cfg(test)]
mod tests {
    use eframe::egui::pos2;

    use super::*;

    #[test]
    fn round_outlines_have_each_corner_once_and_bands_keep_their_width() {
        let rect = Rect::from_min_max(pos2(1.0, 2.0), pos2(31.0, 14.0));
        for path in [Path::circle(pos2(5.0, 5.0), 4.0), Path::rounded(rect, 4.0), Path::rounded(rect, 6.0)] {
            let Some(Shape::Path(shape)) = softened(&path, [0; 4]) else { panic!("{path:?}") };
            let next = shape.points.iter().cycle().skip(1);
            assert!(shape.points.iter().zip(next).all(|(a, b)| a.distance(*b) > LEAST_EDGE_PT), "{path:?}");
        }
        for (path, radius) in [(Path::frame(rect, 2.0), 0), (Path::rounded_frame(rect, 4.0, 2.0), 4)] {
            let Some(Shape::Rect(shape)) = softened(&path, [0; 4]) else { panic!("{path:?}") };
            assert!((shape.stroke.width - 2.0).abs() < 1e-4 && shape.rect == rect, "{shape:?}");
            assert_eq!(shape.corner_radius, CornerRadius::same(radius));
        }
        assert!(softened(&Path::rect(rect), [0; 4]).is_none(), "many rectangles are one mesh");
    }
}
