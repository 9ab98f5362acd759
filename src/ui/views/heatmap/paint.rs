//! Draws the axes and the crosshair of the heatmap: constants on top, no decisions.

use std::{f32::consts::FRAC_PI_2, ops::Range};

use eframe::egui::{
    Align2, Color32, FontId, Painter, Rect, Shape, Stroke, StrokeKind,
    epaint::{
        TextShape,
        text::{LayoutJob, TextWrapping},
    },
    pos2,
};

use super::layout::LABEL_GAP_PT;
use crate::{
    analysis::reading::{self, ReadPattern},
    figure::{
        measure::LEFT_OUT_OPACITY,
        views::labels::{Label, Labels, ON_SCREEN},
    },
    text::{cell_text, weight_text},
    ui::{
        theme::{Theme, text_size},
        views::camera,
    },
};

/// Ground behind the label of the row or column under the pointer.
const FOCUS_OPACITY: f32 = 0.16;

/// The bar beside a picked token, and how far from its label.
const PICKED_PT: f32 = 2.5;
const PICKED_GAP_PT: f32 = 1.0;

/// One axis: where its labels stand and what they say.
pub struct Axis<'a> {
    pub rect: Rect,
    /// Where all cells lie, most of them possibly out of sight.
    pub content: Rect,
    pub n: usize,
    pub visible: Range<usize>,
    /// The token under the pointer or pinned; its label is always drawn.
    pub focus: Option<usize>,
    /// Tokens whose labels come before others.
    pub strong: &'a [usize],
    pub labels: &'a reading::Axis,
    /// Tokens that were picked in the joint space.
    pub picked: Vec<usize>,
    /// Tokens that a change of the run hid.
    pub hidden: Vec<usize>,
    /// Colour of the axis' name and of the focus.
    pub color: Color32,
}

impl Axis<'_> {
    fn label_job(&self, position: usize, (size, room): (f32, f32), theme: &Theme) -> (LayoutJob, Color32) {
        let group = self.labels.groups.get(position);
        let color = match (self.focus == Some(position), group.is_some_and(|group| group.left_out.is_some())) {
            (true, _) => theme.text,
            (false, true) => theme.text_weak.gamma_multiply(LEFT_OUT_OPACITY),
            (false, false) => theme.text_weak,
        };
        let mut job =
            LayoutJob::simple_singleline(self.labels.text(position).to_owned(), FontId::proportional(size), color);
        job.wrap = TextWrapping::truncate_at_width(room);
        (job, color)
    }

    /// Labels of the tokens in sight: the focused one comes first.
    fn labelled(&self, cell: f32) -> Labels {
        let first: Vec<usize> = self.focus.into_iter().chain(self.strong.iter().copied()).collect();
        Labels::of(self.visible.clone(), cell, &first, ON_SCREEN)
    }

    fn picked_in_sight(&self) -> impl Iterator<Item = usize> {
        self.picked.iter().copied().filter(|position| self.visible.contains(position))
    }

    /// Labels at the left of the rows.
    pub fn paint_rows(&self, painter: &Painter, theme: &Theme) {
        let cell = self.content.height() / self.n.max(1) as f32;
        for position in self.picked_in_sight() {
            let top = self.content.top() + position as f32 * cell;
            let x = self.rect.right() + PICKED_GAP_PT;
            painter.rect_filled(Rect::from_x_y_ranges(x..=x + PICKED_PT, top..=top + cell.max(1.0)), 0, theme.accent);
        }
        let Labels { size, labels, .. } = self.labelled(cell);
        for Label { cell: position, at, moved_from } in labels {
            let y = self.content.top() + at;
            if let Some(middle) = moved_from {
                let from = pos2(self.rect.right() + 1.0, y);
                let to = pos2(self.rect.right() + LABEL_GAP_PT, self.content.top() + middle);
                painter.line_segment([from, to], Stroke::new(1.0, theme.text_weak));
            }
            let (job, color) = self.label_job(position, (size, self.rect.width() - 16.0), theme);
            let galley = painter.layout_job(job);
            let rect = Align2::RIGHT_CENTER.anchor_size(pos2(self.rect.right(), y), galley.size());
            if self.focus == Some(position) {
                painter.rect_filled(rect.expand2([4.0, 0.0].into()), 3, self.color.gamma_multiply(FOCUS_OPACITY));
            }
            painter.galley(rect.min, galley, color);
            if self.hidden.contains(&position) {
                painter.hline(rect.x_range(), rect.center().y, Stroke::new(1.0, theme.text));
            }
        }
    }

    /// Labels above the columns, read from bottom to top.
    pub fn paint_cols(&self, painter: &Painter, theme: &Theme) {
        let cell = self.content.width() / self.n.max(1) as f32;
        for position in self.picked_in_sight() {
            let left = self.content.left() + position as f32 * cell;
            let y = self.rect.bottom() + PICKED_GAP_PT;
            painter.rect_filled(Rect::from_x_y_ranges(left..=left + cell.max(1.0), y..=y + PICKED_PT), 0, theme.accent);
        }
        let Labels { size, labels, .. } = self.labelled(cell);
        for Label { cell: position, at, moved_from } in labels {
            let x = self.content.left() + at;
            if let Some(middle) = moved_from {
                let from = pos2(x, self.rect.bottom() + 1.0);
                let to = pos2(self.content.left() + middle, self.rect.bottom() + LABEL_GAP_PT);
                painter.line_segment([from, to], Stroke::new(1.0, theme.text_weak));
            }
            let (job, color) = self.label_job(position, (size, self.rect.height() - 16.0), theme);
            let galley = painter.layout_job(job);
            let (length, height) = (galley.size().x, galley.size().y);
            let rect = Rect::from_min_max(
                pos2(x - height / 2.0, self.rect.bottom() - length),
                pos2(x + height / 2.0, self.rect.bottom()),
            );
            if self.focus == Some(position) {
                painter.rect_filled(rect.expand2([0.0, 4.0].into()), 3, self.color.gamma_multiply(FOCUS_OPACITY));
            }
            painter.add(Shape::Text(TextShape::new(rect.left_bottom(), galley, color).with_angle(-FRAC_PI_2)));
            if self.hidden.contains(&position) {
                painter.vline(rect.center().x, rect.y_range(), Stroke::new(1.0, theme.text));
            }
        }
    }
}

/// Names of both axes (queries, keys) in the corner between them.
pub fn axis_names(painter: &Painter, plot: Rect, [query, key]: [&str; 2], theme: &Theme) {
    let font = FontId::proportional(text_size::SMALL);
    let corner = plot.min - eframe::egui::Vec2::splat(LABEL_GAP_PT);
    let key = painter.layout_no_wrap(key.to_owned(), font.clone(), theme.key);
    painter.galley(pos2(corner.x - key.size().x, corner.y - 2.0 * key.size().y), key, theme.key);
    painter.text(corner, Align2::RIGHT_BOTTOM, query, font, theme.query);
}

/// Outlines the row and the column of a cell: `color` between two lines of the ground's, so that it shows on
/// every colour of every map.
pub fn crosshair(painter: &Painter, plot: Rect, row: Option<Rect>, col: Option<Rect>, color: Color32, theme: &Theme) {
    let bands = [
        row.map(|row| Rect::from_x_y_ranges(plot.x_range(), row.y_range())),
        col.map(|col| Rect::from_x_y_ranges(col.x_range(), plot.y_range())),
    ];
    for (width, color) in [(3.0, theme.canvas), (1.0, color)] {
        for band in bands.into_iter().flatten() {
            // Both around the same middle, half a point outside the cells.
            painter.rect_stroke(band.expand(0.5), 0, Stroke::new(width, color), StrokeKind::Middle);
        }
    }
}

/// A note below the cells.
pub fn note(painter: &Painter, plot: Rect, text: &str, theme: &Theme) {
    let at = plot.left_bottom() + eframe::egui::vec2(0.0, LABEL_GAP_PT / 2.0);
    painter.text(at, Align2::LEFT_TOP, text, FontId::proportional(text_size::SMALL), theme.text_weak);
}

/// The frame around all cells.
pub fn frame(painter: &Painter, plot: Rect, theme: &Theme) {
    painter.rect_stroke(plot, 0, Stroke::new(1.0, theme.rule), StrokeKind::Outside);
}

/// Smallest cell that has room for a number of two digits, and for one of three.
const VALUE_PT: [[f32; 2]; 2] = [[27.0, 13.0], [38.0, 13.0]];

/// Writes the weights into the cells in sight, where there is room.
pub fn values(
    painter: &Painter,
    content: Rect,
    (pattern, value): (&ReadPattern, &dyn Fn(usize, usize) -> Option<f32>),
    [rows, cols]: &[Range<usize>; 2],
    color: impl Fn(f32) -> Color32,
) {
    let grid = (pattern.rows.len(), pattern.cols.len());
    let cell = camera::cell_rect(content, grid, 0, 0).size();
    let fits = |[width, height]: [f32; 2]| cell.x >= width && cell.y >= height;
    let number: fn(f32) -> String = match VALUE_PT.map(fits) {
        [_, true] => weight_text,
        [true, _] => cell_text,
        _ => return,
    };
    for row in rows.clone() {
        for col in cols.clone().filter(|&col| pattern.blank(row, col).is_none()) {
            let Some(value) = value(row, col) else { continue };
            let ground = color(value);
            let light = 0.299 * f32::from(ground.r()) + 0.587 * f32::from(ground.g()) + 0.114 * f32::from(ground.b());
            let ink = if light > 140.0 { Color32::from_gray(20) } else { Color32::from_gray(235) };
            let at = camera::cell_rect(content, grid, row, col).center();
            painter.text(at, Align2::CENTER_CENTER, number(value), FontId::proportional(text_size::SMALL), ink);
        }
    }
}
