//! What stands beside and across the lines of heads, in a figure and in the window: names of columns, bars of weights, cut
//! edges.

use std::{f32::consts::FRAC_PI_2, ops::Range};

use emath::{Pos2, Rangef, Rect, Vec2, pos2, vec2};

use super::layout::{HeadsLayout, Lie, TEXT_PAD_PT, TokenColumn};
use crate::figure::{
    font::Align,
    list::{Line, Rgba, faded},
    measure::{
        LEFT_OUT_OPACITY, radius,
        text_size::{BODY, SMALL},
    },
    palette::{Dash, Ink, Palette},
    path::Path,
    pen::Pen,
};

/// The bar at the edge of a picked token.
const PICKED_PT: f32 = 2.5;
/// Ground behind a number on lines.
pub const LABEL_OPACITY: f32 = 0.85;

/// Draws the names of both columns: the first of their forms, longest first, that there is room for in `area`.
pub fn headings(area: Rect, layout: &HeadsLayout, forms: &[[String; 2]], pen: &mut Pen<'_>) {
    let [query_end, key_start] =
        [layout.queries.max - TEXT_PAD_PT, layout.keys.min + TEXT_PAD_PT].map(|x| area.left() + x);
    if layout.is_of_rows() {
        let Some([query, key]) = forms.first() else { return };
        let at = pos2(area.left(), area.center().y);
        let width = pen.text(&format!("{query}, above"), SMALL, pen.palette.query, at, Align::Left);
        pen.text(&format!("{key}, below"), SMALL, pen.palette.key, at + vec2(width + SMALL, 0.0), Align::Left);
        return;
    }
    let mut width = |name: &String| pen.type_.width(name, SMALL);
    let mut fits =
        |[query, key]: &&[String; 2]| width(query) <= query_end - area.left() && width(key) <= area.right() - key_start;
    let Some([query, key]) = forms.iter().find(|form| fits(form)).or(forms.last()) else { return };
    // What has too little room all the same stays inside.
    let (query_end, key_start) = (query_end.max(area.left() + width(query)), key_start.min(area.right() - width(key)));
    pen.text(query, SMALL, pen.palette.query, pos2(query_end, area.center().y), Align::Right);
    pen.text(key, SMALL, pen.palette.key, pos2(key_start, area.center().y), Align::Left);
}

/// How a token stands out.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TokenLook {
    /// Under the pointer or the keyboard's focus.
    pub hovered: bool,
    pub pinned: bool,
    /// Picked among points.
    pub picked: bool,
    pub left_out: bool,
    /// No token: what went to none.
    pub rest: bool,
    /// Hidden by a change of the run.
    pub hidden: bool,
}

/// Draws the text of a token in its cell.
pub fn token(cell: Rect, (column, lie): (TokenColumn, Lie), text: &str, look: TokenLook, pen: &mut Pen<'_>) {
    if lie != Lie::Beside {
        return token_in_row(cell, (column, lie), text, look, pen);
    }
    let inner = cell.shrink2(vec2(TEXT_PAD_PT, 0.0));
    let text = pen.type_.fit(text, BODY, inner.width()).into_owned();
    let width = pen.type_.width(&text, BODY);
    let (tint, align, x, edge) = match column {
        TokenColumn::Query => (pen.palette.query, Align::Right, inner.right() - width, cell.left()),
        TokenColumn::Key => (pen.palette.key, Align::Left, inner.left(), cell.right() - PICKED_PT),
    };
    let x = Rangef::new(x, x + width);
    if look.picked {
        pen.fill(Path::rounded(cell, f32::from(radius::MARK)), pen.palette.hover);
        pen.rect(Rect::from_x_y_ranges(edge..=edge + PICKED_PT, cell.y_range()), pen.palette.text);
    }
    if look.hovered || look.pinned {
        let ground = Rect::from_x_y_ranges(x.expand(TEXT_PAD_PT), cell.y_range()).shrink2(Vec2::Y);
        pen.fill(Path::rounded(ground, 4.0), faded(tint, if look.pinned { 0.26 } else { 0.14 }));
        if look.pinned {
            pen.fill(Path::rounded_frame(ground, 4.0, pen.hairline()), tint);
        }
    }
    let color = look.color(pen);
    let at = pos2(if align == Align::Right { x.max } else { x.min }, cell.center().y);
    pen.text(&text, BODY, color, at, align);
    if look.hidden {
        pen.line(pos2(x.min, at.y), pos2(x.max, at.y), 1.0, pen.palette.text);
    }
}

impl TokenLook {
    fn color(self, pen: &Pen<'_>) -> Rgba {
        let color = if self.rest { pen.palette.text_weak } else { pen.palette.text };
        faded(color, if self.left_out { LEFT_OUT_OPACITY } else { 1.0 })
    }
}

/// The same in a row above or below the lines: level, or upright with its end or its start at them.
fn token_in_row(cell: Rect, (column, lie): (TokenColumn, Lie), text: &str, look: TokenLook, pen: &mut Pen<'_>) {
    let is_turned = lie == Lie::Turned;
    let (tint, edge) = match column {
        TokenColumn::Query => (pen.palette.query, cell.top()),
        TokenColumn::Key => (pen.palette.key, cell.bottom() - PICKED_PT),
    };
    let room = if is_turned { cell.height() - 2.0 * TEXT_PAD_PT } else { cell.width() - 4.0 };
    let text = pen.type_.fit(text, BODY, room).into_owned();
    if look.picked {
        pen.fill(Path::rounded(cell, f32::from(radius::MARK)), pen.palette.hover);
        pen.rect(Rect::from_x_y_ranges(cell.x_range(), edge..=edge + PICKED_PT), pen.palette.text);
    }
    if look.hovered || look.pinned {
        let ground = cell.shrink(1.0);
        pen.fill(Path::rounded(ground, 4.0), faded(tint, if look.pinned { 0.26 } else { 0.14 }));
        if look.pinned {
            pen.fill(Path::rounded_frame(ground, 4.0, pen.hairline()), tint);
        }
    }
    let (at, align) = match (is_turned, column) {
        (false, _) => (cell.center(), Align::Center),
        (true, TokenColumn::Query) => (pos2(cell.center().x, cell.bottom() - TEXT_PAD_PT), Align::Left),
        (true, TokenColumn::Key) => (pos2(cell.center().x, cell.top() + TEXT_PAD_PT), Align::Right),
    };
    let angle = if is_turned { -FRAC_PI_2 } else { 0.0 };
    pen.turned(&text, BODY, look.color(pen), at, align, angle);
    if look.hidden {
        let half = Vec2::angled(angle) * (pen.type_.width(&text, BODY) / 2.0);
        let middle = if align == Align::Center {
            at
        } else if align == Align::Left {
            at + half
        } else {
            at - half
        };
        pen.line(middle - half, middle + half, 1.0, pen.palette.text);
    }
}

/// Draws the weight of a pair at the middle of its line.
pub fn pair_label(text: &str, [from, to]: [Pos2; 2], pen: &mut Pen<'_>) {
    let at = from.lerp(to, 0.5);
    let size = vec2(pen.type_.width(text, SMALL) + 2.0 * TEXT_PAD_PT, 1.5 * SMALL);
    pen.fill(Path::rounded(Rect::from_center_size(at, size), 4.0), faded(pen.palette.canvas, LABEL_OPACITY));
    pen.text(text, SMALL, pen.palette.text, at, Align::Center);
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
