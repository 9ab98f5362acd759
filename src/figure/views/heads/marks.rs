//! What stands beside and across the lines of heads, in a figure and in the window: names of columns, bars of weights, cut
//! edges.

use std::ops::Range;

use emath::{Rangef, Rect, Vec2, pos2};

use super::layout::{HeadsLayout, TEXT_PAD_PT, TokenColumn};
use crate::figure::{
    font::Align,
    list::{Line, Rgba, faded},
    measure::text_size::SMALL,
    palette::{Dash, Ink, Palette},
    pen::Pen,
};

/// Draws the names of both columns: the first of their forms, longest first, that there is room for in `area`.
pub fn headings(area: Rect, layout: &HeadsLayout, forms: &[[String; 2]], pen: &mut Pen<'_>) {
    let [query_end, key_start] =
        [layout.queries.max - TEXT_PAD_PT, layout.keys.min + TEXT_PAD_PT].map(|x| area.left() + x);
    let mut width = |name: &String| pen.type_.width(name, SMALL);
    let mut fits =
        |[query, key]: &&[String; 2]| width(query) <= query_end - area.left() && width(key) <= area.right() - key_start;
    let Some([query, key]) = forms.iter().find(|form| fits(form)).or(forms.last()) else { return };
    // What has too little room all the same stays inside.
    let (query_end, key_start) = (query_end.max(area.left() + width(query)), key_start.min(area.right() - width(key)));
    pen.text(query, SMALL, pen.palette.query, pos2(query_end, area.center().y), Align::Right);
    pen.text(key, SMALL, pen.palette.key, pos2(key_start, area.center().y), Align::Left);
}

/// Broken lines with a cross where changes of the run cut edges.
pub fn cuts<'a>(
    layout: &HeadsLayout,
    origin: Vec2,
    cut: impl Iterator<Item = &'a (usize, usize)>,
    palette: &Palette,
) -> Vec<Line> {
    let color = palette.key;
    let mut lines = Vec::new();
    for &(query, key) in cut {
        lines.extend(Dash::Dotted.lines(layout.line(query, key).map(|end| end + origin), 1.0, color));
        let cross = layout.cross(query, key).map(|ends| ends.map(|end| end + origin));
        lines.extend(cross.map(|[from, to]| Line { from, to, width: 1.5, color }));
    }
    lines
}

/// Bars beside the tokens in sight of the other column than that of a held token, of the held pair alone where both are:
/// one per head, as opaque as its weight.
pub fn bars(
    layout: &HeadsLayout,
    origin: Vec2,
    seen: &[Range<usize>; 2],
    (row, col): (Option<usize>, Option<usize>),
    weights: impl Fn(usize, usize) -> Vec<(Ink, f32)>,
    palette: &Palette,
) -> Vec<(Rect, Rgba)> {
    let column = if row.is_some() { TokenColumn::Key } else { TokenColumn::Query };
    let mut bars = Vec::new();
    for idx in seen[column as usize].clone() {
        let weights = match (row, col) {
            (Some(row), col) if col.is_none_or(|col| col == idx) => weights(row, idx),
            (None, Some(col)) => weights(idx, col),
            _ => continue,
        };
        let strip = layout.strip_rect(column, idx).translate(origin);
        let width = strip.width() / weights.len().max(1) as f32;
        let gap = if width >= 4.0 { 1.0 } else { 0.0 };
        for (nth, (ink, weight)) in weights.into_iter().enumerate() {
            let left = width.mul_add(nth as f32, strip.left());
            let bar = Rect::from_x_y_ranges(Rangef::new(left, left + width - gap), strip.y_range());
            let color = faded(palette.ink(ink), weight);
            if color[3] > 0 {
                bars.push((bar, color));
            }
        }
    }
    bars
}
