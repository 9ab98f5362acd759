//! Draws the Heads view: constants on top, no decisions.

use std::sync::Arc;

use eframe::egui::{Align2, Color32, FontId, Painter, Rect, Shape, Stroke, StrokeKind, pos2, vec2};

use super::{
    Scene,
    layout::{HeadsLayout, Line, TEXT_PAD_PT},
};
use crate::{
    figure::{
        palette::{Ink, Palette},
        views::heads::{look::LineLook, marks::LABEL_OPACITY},
    },
    raster::lines::LineStroke,
    text::counted,
    ui::theme::{Theme, radius, text_size},
};

/// What is drawn for `lines`, whose heads are places in `inks`, in layout coordinates: one stroke for each, or one for each of its dashes.
/// The `shade` of a weight is how far it stands out from the ground.
pub fn strokes(
    (layout, look): (&HeadsLayout, LineLook),
    lines: &[Line],
    inks: &[Ink],
    shade: impl Fn(f32) -> f32,
    theme: &Theme,
) -> Arc<[LineStroke]> {
    let pieces = |line: &Line| {
        let ink = inks.get(line.head as usize).copied().unwrap_or(Ink::Head(0));
        let ends = [line.query as usize, line.key as usize];
        let pieces = look.pieces((layout, ends), ink, [line.weight, shade(line.weight)], &theme.palette);
        pieces.into_iter().map(|piece| LineStroke {
            from: piece.from.into(),
            to: piece.to.into(),
            width: piece.width,
            color: piece.color.map(|channel| f32::from(channel) / 255.0),
        })
    };
    lines.iter().flat_map(pieces).collect()
}

/// Dims the lines that are already drawn.
pub fn veil(painter: &Painter, rect: Rect, theme: &Theme) {
    painter.rect_filled(rect, 0, theme.canvas.gamma_multiply(Palette::VEIL));
}

/// How many lines leave towards keys before and behind those in sight, at the edges they leave by.
pub(super) fn leaving(painter: &Painter, seen: Rect, scene: &Scene<'_>, lines: &[Line], theme: &Theme) {
    let [queries, keys] = &scene.visible;
    let of_row = |line: &&Line| queries.contains(&(line.query as usize));
    let before = lines.iter().filter(of_row).filter(|line| (line.key as usize) < keys.start).count();
    let behind = lines.iter().filter(of_row).filter(|line| line.key as usize >= keys.end).count();
    let x = scene.origin.x + scene.layout.lines.max - TEXT_PAD_PT;
    let ends = [(before, "↑", seen.top(), Align2::RIGHT_TOP), (behind, "↓", seen.bottom(), Align2::RIGHT_BOTTOM)];
    for (n, arrow, y, align) in ends.into_iter().filter(|(n, ..)| *n > 0) {
        let text = format!("{arrow} {} to keys {}", counted(n, "line"), if arrow == "↑" { "before" } else { "after" });
        let galley = painter.layout_no_wrap(text, FontId::proportional(text_size::SMALL), theme.text);
        let rect = align.anchor_size(pos2(x, y), galley.size() + 2.0 * vec2(TEXT_PAD_PT, 1.0));
        painter.rect_filled(rect, radius::CONTROL, theme.canvas.gamma_multiply(LABEL_OPACITY));
        painter.galley(rect.min + vec2(TEXT_PAD_PT, 1.0), galley, theme.text);
    }
}

/// How a head's swatch looks.
#[derive(Clone, Copy, Debug, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "each is drawn in its own way")]
pub struct SwatchLook {
    pub on: bool,
    /// It is the head that single-head views show.
    pub selected: bool,
    /// Under the pointer or the keyboard's focus.
    pub hovered: bool,
    pub ablated: bool,
}

/// A head's swatch: its colour, its number, and how its lines are dashed.
pub fn swatch(painter: &Painter, rect: Rect, head: usize, look: SwatchLook, theme: &Theme) {
    let color = theme.head_color(head);
    let body = rect.shrink(2.0);
    let fill = match (look.on, look.hovered) {
        (true, _) => color,
        (false, true) => color.gamma_multiply(0.25),
        (false, false) => Color32::TRANSPARENT,
    };
    painter.rect(
        body,
        radius::CONTROL,
        fill,
        Stroke::new(1.0, if look.on { color } else { theme.rule }),
        StrokeKind::Inside,
    );
    let ink = if look.on { theme.canvas } else { theme.text_weak };
    let mut at = body.center();
    if let Some([dash, gap]) = Palette::dash(head).lengths() {
        // Half as long as in the lines, so that several fit.
        let y = body.bottom() - 3.5;
        let ends = [pos2(body.left() + 4.0, y), pos2(body.right() - 4.0, y)];
        let ink = Stroke::new(1.5, if look.on { theme.canvas } else { color });
        painter.extend(Shape::dashed_line(&ends, ink, dash / 2.0, gap / 2.0));
        at.y -= 1.5;
    }
    painter.text(at, Align2::CENTER_CENTER, head.to_string(), FontId::proportional(text_size::SMALL), ink);
    if look.ablated {
        painter.line_segment([body.left_bottom(), body.right_top()], Stroke::new(1.5, ink));
    }
    if look.selected {
        painter.rect_stroke(rect, radius::CONTROL, Stroke::new(1.5, theme.text), StrokeKind::Inside);
    }
}
