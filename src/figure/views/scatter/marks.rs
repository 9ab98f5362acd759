//! What stands on points, in a figure and in the window: lines to partners, and the token that is held or pointed at.

use emath::{Pos2, Rect, Vec2, vec2};

use crate::figure::{
    font::Align,
    list::{Line, faded},
    measure::text_size::BODY,
    palette::Palette,
    path::Path,
    pen::Pen,
};

/// Width of a line of weight 0 and what weight 1 adds.
const LINE_PT: (f32, f32) = (1.0, 2.0);
/// Opacity of a line of weight 0 and what weight 1 adds.
const LINE_OPACITY: (f32, f32) = (0.2, 0.8);
/// Radius of the ring around a token.
pub const RING_PT: f32 = 7.0;

/// A line from a token to one of its partners.
pub fn line([from, to]: [Pos2; 2], weight: f32, palette: &Palette) -> Line {
    let weight = weight.abs().clamp(0.0, 1.0);
    let color = faded(palette.text, LINE_OPACITY.1.mul_add(weight, LINE_OPACITY.0));
    Line { from, to, width: LINE_PT.1.mul_add(weight, LINE_PT.0), color }
}

/// Where the name of a token stands whose point is at a place: above it, at its right; `size` is that of the text.
pub fn name_rect(at: Pos2, size: Vec2) -> Rect {
    Rect::from_min_size(at + vec2(RING_PT + 2.0, -RING_PT - size.y), size).expand2(vec2(4.0, 1.0))
}

/// Draws a ring around a token, and its name on a ground that keeps it legible.
pub fn held(at: Pos2, is_query: bool, (name, ground): (&str, Rect), pen: &mut Pen<'_>) {
    let tint = if is_query { pen.palette.query } else { pen.palette.key };
    pen.fill(Path::ring(at, RING_PT + 2.0, 4.0), pen.palette.canvas);
    pen.fill(Path::ring(at, RING_PT + 1.0, 2.0), tint);
    pen.fill(Path::rounded(ground, 3.0), faded(pen.palette.canvas, 0.85));
    pen.text(name, BODY, pen.palette.text, ground.left_center() + vec2(4.0, 0.0), Align::Left);
}
