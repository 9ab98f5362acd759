//! Outlines in the shapes that the writers' libraries want.

use skrifa::{
    GlyphId, MetadataProvider as _,
    instance::{LocationRef, Size},
    outline::{DrawSettings, OutlinePen},
};
use vello_cpu::{
    Glyph, Pixmap, RenderContext, Resources,
    kurbo::{Affine, BezPath, Point, Rect as KurboRect, Vec2 as KurboVec2},
    peniko::{Blob, FontData},
};

use crate::figure::{
    font::Face,
    list::Text,
    path::{Path, PathStep},
};

/// Pixels of one em of a colour glyph's picture; three times a usual figure's text at 300 dots per inch.
pub(super) const COLOR_PX: f32 = 96.0;
/// Side of the picture in em. The glyph's origin is one em from the left and two from the top.
pub(super) const COLOR_EM: f32 = 3.0;

/// The outline for kurbo's painters.
pub(super) fn bez_path(path: &Path) -> BezPath {
    let point = |at: emath::Pos2| Point::new(f64::from(at.x), f64::from(at.y));
    let mut bez = BezPath::new();
    for segment in path.segments() {
        match *segment {
            PathStep::Move(to) => bez.move_to(point(to)),
            PathStep::Line(to) => bez.line_to(point(to)),
            PathStep::Cubic(a, b, to) => bez.curve_to(point(a), point(b), point(to)),
            PathStep::Close => bez.close_path(),
        }
    }
    bez
}

/// From a text's own coordinates (baseline, from its start) to the figure's.
pub(super) fn placement(text: &Text) -> Affine {
    Affine::translate(KurboVec2::new(f64::from(text.at.x), f64::from(text.at.y)))
        * Affine::rotate(f64::from(text.angle))
}

/// A rectangle of kurbo's.
pub(super) fn kurbo_rect(rect: emath::Rect) -> KurboRect {
    let [x0, y0, x1, y1] = [rect.left(), rect.top(), rect.right(), rect.bottom()].map(f64::from);
    KurboRect::new(x0, y0, x1, y1)
}

/// What vello calls a face.
pub(super) fn font_data(face: &Face) -> FontData {
    FontData::new(Blob::new(face.data().clone()), face.index())
}

/// How a glyph leaves ink.
pub(super) enum Ink {
    /// None: a space.
    None,
    /// An outline in font units, y downwards.
    Outline(BezPath),
    /// Several colours, or a picture.
    Color,
}

/// What there is to draw of a glyph.
pub(super) fn ink(face: &Face, id: u32) -> Ink {
    let Some(font) = face.font() else { return Ink::None };
    let glyph = GlyphId::new(id);
    let is_picture = || font.bitmap_strikes().glyph_for_size(Size::new(COLOR_PX), glyph).is_some();
    if font.color_glyphs().get(glyph).is_some() || is_picture() {
        return Ink::Color;
    }
    let mut pen = Pen(BezPath::new());
    let settings = DrawSettings::unhinted(Size::unscaled(), LocationRef::default());
    match font.outline_glyphs().get(glyph).map(|outline| outline.draw(settings, &mut pen)) {
        Some(Ok(_)) if !pen.0.elements().is_empty() => Ink::Outline(pen.0),
        _ => Ink::None,
    }
}

/// A colour glyph on a square of [`COLOR_EM`] em: side in pixels and straight RGBA.
pub(super) fn color_pixels(face: &Face, id: u32) -> (u32, Vec<u8>) {
    let side = (COLOR_PX * COLOR_EM) as u16;
    let (mut context, mut resources) = (RenderContext::new(side, side), Resources::new());
    let mut target = Pixmap::new(side, side);
    let glyph = Glyph { id, x: COLOR_PX, y: 2.0 * COLOR_PX };
    let font = font_data(face);
    context.glyph_run(&mut resources, &font).font_size(COLOR_PX).hint(false).fill_glyphs([glyph].into_iter());
    context.flush();
    context.render(&mut target, &mut resources);
    let pixels = target.take_unpremultiplied().iter().flat_map(|p| [p.r, p.g, p.b, p.a]).collect();
    (u32::from(side), pixels)
}

/// Collects an outline with y downwards.
struct Pen(BezPath);

impl OutlinePen for Pen {
    fn move_to(&mut self, x: f32, y: f32) {
        self.0.move_to(down(x, y));
    }

    fn line_to(&mut self, x: f32, y: f32) {
        self.0.line_to(down(x, y));
    }

    fn quad_to(&mut self, cx: f32, cy: f32, x: f32, y: f32) {
        self.0.quad_to(down(cx, cy), down(x, y));
    }

    fn curve_to(&mut self, ax: f32, ay: f32, bx: f32, by: f32, x: f32, y: f32) {
        self.0.curve_to(down(ax, ay), down(bx, by), down(x, y));
    }

    fn close(&mut self) {
        self.0.close_path();
    }
}

fn down(x: f32, y: f32) -> Point {
    Point::new(f64::from(x), -f64::from(y))
}
