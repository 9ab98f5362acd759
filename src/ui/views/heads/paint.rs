//! Draws the Heads view: constants on top, no decisions.

use std::sync::Arc;

use eframe::egui::{
    Align2, Color32, FontId, Painter, Rect, Shape, Stroke, StrokeKind, Vec2,
    epaint::text::{LayoutJob, TextWrapping},
    pos2, vec2,
};

use super::{
    Scene,
    layout::{HeadsLayout, Line, TEXT_PAD_PT, TokenColumn},
};
use crate::{
    figure::{
        measure::LEFT_OUT_OPACITY,
        palette::{Ink, Palette},
        views::heads::pair_text,
    },
    raster::lines::LineStroke,
    text::counted,
    ui::theme::{Theme, text_size},
};

/// The bar at the edge of a picked token.
const PICKED_PT: f32 = 2.5;
/// Ground behind the number of lines that leave.
const LEAVING_OPACITY: f32 = 0.85;

/// What is drawn for `lines`, whose heads are places in `inks`, in layout coordinates: one stroke for each, or one for each of its dashes.
/// The `shade` of a weight is how far it stands out from the ground.
pub fn strokes(
    layout: &HeadsLayout,
    lines: &[Line],
    inks: &[Ink],
    shade: impl Fn(f32) -> f32,
    theme: &Theme,
) -> Arc<[LineStroke]> {
    let pieces = |line: &Line| {
        let ink = inks.get(line.head as usize).copied().unwrap_or(Ink::Head(0));
        let color = theme.palette.line(theme.palette.ink(ink), shade(line.weight));
        let pieces = ink.dash().lines(
            layout.line(line.query as usize, line.key as usize),
            Palette::line_width(line.weight),
            color,
        );
        let channels = color.map(|channel| f32::from(channel) / 255.0);
        pieces.map(move |piece| LineStroke {
            from: piece.from.into(),
            to: piece.to.into(),
            width: piece.width,
            color: channels,
        })
    };
    lines.iter().flat_map(pieces).collect()
}

/// The weight of the pair that is held, at the middle of its line.
pub fn pair_label(painter: &Painter, scene: &Scene<'_>, pair: (usize, usize), theme: &Theme) {
    let patterns = scene.heads.iter().filter(|head| !head.below).map(|head| (head.head, &*head.lines.pattern));
    let Some(text) = pair_text(patterns, pair) else { return };
    let [from, to] = scene.layout.line(pair.0, pair.1);
    let at = from.lerp(to, 0.5) + scene.origin.to_vec2();
    let galley = painter.layout_no_wrap(text, FontId::proportional(text_size::SMALL), theme.text);
    let rect = Rect::from_center_size(at, galley.size() + 2.0 * vec2(TEXT_PAD_PT, 1.0));
    painter.rect_filled(rect, 4, theme.canvas.gamma_multiply(LEAVING_OPACITY));
    painter.galley(rect.min + vec2(TEXT_PAD_PT, 1.0), galley, theme.text);
}

/// Dims the lines that are already drawn.
pub fn veil(painter: &Painter, rect: Rect, theme: &Theme) {
    painter.rect_filled(rect, 0, theme.canvas.gamma_multiply(theme.palette.veil()));
}

/// Marks a token that was picked in the joint space: a bar at its outer edge.
pub fn picked(painter: &Painter, cell: Rect, column: TokenColumn, theme: &Theme) {
    let x = match column {
        TokenColumn::Query => cell.left()..=cell.left() + PICKED_PT,
        TokenColumn::Key => cell.right() - PICKED_PT..=cell.right(),
    };
    painter.rect_filled(cell, 2, theme.accent.gamma_multiply(0.12));
    painter.rect_filled(Rect::from_x_y_ranges(x, cell.y_range()), 0, theme.accent);
}

/// How many lines leave towards keys before and behind those in sight, at the edges they leave by.
pub fn leaving(painter: &Painter, seen: Rect, scene: &Scene<'_>, lines: &[Line], theme: &Theme) {
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
        painter.rect_filled(rect, 4, theme.canvas.gamma_multiply(LEAVING_OPACITY));
        painter.galley(rect.min + vec2(TEXT_PAD_PT, 1.0), galley, theme.text);
    }
}

/// How a token stands out.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TokenLook {
    /// Under the pointer or the keyboard's focus.
    pub hovered: bool,
    pub pinned: bool,
    pub left_out: bool,
    /// No token: what went to none.
    pub rest: bool,
    /// Hidden by a change of the run.
    pub hidden: bool,
}

/// One token's text in its cell; returns whether it had to be cut.
pub fn token(painter: &Painter, cell: Rect, column: TokenColumn, text: &str, look: TokenLook, theme: &Theme) -> bool {
    let tint = match column {
        TokenColumn::Query => theme.query,
        TokenColumn::Key => theme.key,
    };
    let mut color = if look.rest { theme.text_weak } else { theme.text };
    if look.left_out {
        color = color.gamma_multiply(LEFT_OUT_OPACITY);
    }
    let mut job = LayoutJob::simple_singleline(text.to_owned(), FontId::proportional(text_size::BODY), color);
    job.wrap = TextWrapping::truncate_at_width(cell.width() - 2.0 * TEXT_PAD_PT);
    let galley = painter.layout_job(job);
    let inner = cell.shrink2(vec2(TEXT_PAD_PT, 0.0));
    let align = match column {
        TokenColumn::Query => Align2::RIGHT_CENTER,
        TokenColumn::Key => Align2::LEFT_CENTER,
    };
    let text_rect = align.align_size_within_rect(galley.size(), inner);
    if look.hovered || look.pinned {
        let frame = Rect::from_x_y_ranges(text_rect.x_range().expand(TEXT_PAD_PT), cell.y_range()).shrink2(Vec2::Y);
        painter.rect_filled(frame, 4, tint.gamma_multiply(if look.pinned { 0.26 } else { 0.14 }));
        if look.pinned {
            painter.rect_stroke(frame, 4, Stroke::new(1.0, tint), StrokeKind::Inside);
        }
    }
    let elided = galley.elided;
    painter.galley(text_rect.min, galley, color);
    if look.hidden {
        painter.hline(text_rect.x_range(), text_rect.center().y, Stroke::new(1.0, theme.text));
    }
    elided
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
    painter.rect(body, 4, fill, Stroke::new(1.0, if look.on { color } else { theme.rule }), StrokeKind::Inside);
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
        painter.rect_stroke(rect, 5, Stroke::new(1.5, theme.text), StrokeKind::Inside);
    }
}
