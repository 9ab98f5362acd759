//! Boxes of a diagram, as they are drawn.

use emath::{Rect, vec2};

use super::{
    DiagramScene,
    layout::{DiagramBox, Kind, Layout},
};
use crate::{
    figure::{
        font::Align,
        list::{Line, Rgba},
        measure::{
            GRID,
            text_size::{BODY, SMALL},
        },
        palette::Palette,
        path::Path,
        pen::Pen,
    },
    style::mixed,
};

/// How much of the colour of a kind its box has.
const TINT: f32 = 0.8;
const RADIUS: f32 = 3.0;

/// The ground of a box.
fn ground(kind: Kind, palette: &Palette) -> Rgba {
    let tint = |color| mixed(color, palette.canvas, TINT);
    match kind {
        Kind::End | Kind::Closed => palette.raised,
        Kind::Norm | Kind::Sum | Kind::Head { is_selected: false } => palette.canvas,
        Kind::Attention => tint(palette.query),
        Kind::Cross => tint(palette.key),
        Kind::Mlp => tint(palette.minus),
        Kind::Head { is_selected: true } => palette.text,
    }
}

impl DiagramScene {
    pub(super) fn draw_boxes(&self, area: Rect, pen: &mut Pen<'_>) {
        let layout = Layout::of(self, area);
        let line = |way: &super::layout::Way| Line {
            from: way.from,
            to: way.to,
            width: if way.is_of_keys { 2.0 } else { 1.0 },
            color: if way.is_of_keys { pen.palette.key } else { pen.palette.edge },
        };
        let lines = layout.ways.iter().map(line).collect();
        pen.lines(lines);
        for it in &layout.boxes {
            draw_box(it, pen);
        }
    }
}

fn draw_box(it: &DiagramBox, pen: &mut Pen<'_>) {
    let ground = ground(it.kind, &pen.palette);
    let (rect, ink) = (it.rect, pen.palette.legible(pen.palette.text, ground));
    match it.kind {
        Kind::Sum => {
            let radius = rect.width() / 2.0;
            pen.fill(Path::circle(rect.center(), radius), ground);
            pen.fill(Path::ring(rect.center(), radius, 1.0), pen.palette.edge);
            pen.text("+", BODY, ink, rect.center(), Align::Center);
            if it.label != "+" {
                let at = rect.right_center() + vec2(12.0 * GRID, 0.0);
                pen.text(it.label.trim_start_matches("+ "), SMALL, pen.palette.text_weak, at, Align::Left);
            }
            return;
        }
        Kind::Head { .. } => {
            pen.fill(Path::rounded(rect, 2.0), ground);
            pen.fill(Path::rounded_frame(rect, 2.0, 1.0), pen.palette.edge);
            pen.text(&it.label, SMALL - 2.0, ink, rect.center(), Align::Center);
            return;
        }
        Kind::End | Kind::Closed | Kind::Norm | Kind::Attention | Kind::Cross | Kind::Mlp => {}
    }
    pen.fill(Path::rounded(rect, RADIUS), ground);
    pen.fill(Path::rounded_frame(rect, RADIUS, 1.0), pen.palette.edge);
    let size = if it.kind == Kind::Closed { SMALL } else { BODY };
    // Heads stand below the words of an attention.
    let height = match it.kind {
        Kind::Attention | Kind::Cross => 6.0 * GRID,
        Kind::End | Kind::Closed | Kind::Norm | Kind::Mlp | Kind::Head { .. } | Kind::Sum => rect.height(),
    };
    let line = Rect::from_min_size(rect.min, vec2(rect.width(), height));
    let shape = pen.type_.fit(&it.shape, SMALL, rect.width() * 0.6).into_owned();
    let used = pen.text(
        &shape,
        SMALL,
        pen.palette.legible(pen.palette.text_weak, ground),
        line.right_center() - vec2(2.0 * GRID, 0.0),
        Align::Right,
    );
    let label = pen.type_.fit(&it.label, size, rect.width() - used - 6.0 * GRID).into_owned();
    pen.text(&label, size, ink, line.left_center() + vec2(2.0 * GRID, 0.0), Align::Left);
}
