//! What stands on the cells of a pattern and around them, in a figure and in the window.

use std::{f32::consts::FRAC_PI_2, ops::Range};

use emath::{Rect, Vec2, pos2, vec2};

use super::{
    HeatmapOptions,
    layout::{HeatmapLayout, LABEL_GAP_PT, label_note},
    ruled_out,
};
use crate::{
    analysis::reading::ReadPattern,
    figure::{
        font::Align,
        list::faded,
        measure::{GRID, LEFT_OUT_OPACITY, radius, text_size::SMALL},
        palette::Palette,
        path::Path,
        pen::{Medium, Pen, range_tick},
        views::{
            cells, color_map,
            labels::{self, Labels},
            matrix::{self, layout::MatrixLayout},
        },
    },
    raster::{ColorRange, Colors},
    text::{cell_text, weight_text},
};

/// Cells of a figure from this width have their values written in, where that is asked for.
const VALUE_PT: f32 = 19.0;
/// Smallest cell of the window that has room for a number of two digits, and for one of three.
const SCREEN_VALUE_PT: [Vec2; 2] = [vec2(27.0, 13.0), vec2(38.0, 13.0)];
/// Smallest cell that has a border.
const BORDER_FROM_PT: f32 = 6.0;
/// Length of the mark beside a label that stands for several cells.
const TICK_PT: f32 = 4.0;
/// The bar beside a picked token, and how far from its label.
const PICKED_PT: f32 = 2.5;
const PICKED_GAP_PT: f32 = 1.0;
/// Ground behind the label of the row or column under the pointer.
const FOCUS_OPACITY: f32 = 0.16;

/// A pattern and the place of its cells.
pub struct Around<'a> {
    pub read: &'a ReadPattern,
    pub layout: HeatmapLayout,
    /// All cells, in the window most of them possibly out of sight.
    pub content: Rect,
    /// The row and the column that are held or under the pointer: always named.
    pub focus: [Option<usize>; 2],
    /// Rows and columns that are named before others.
    pub strong: [&'a [usize]; 2],
    /// Rows and columns that were picked among points.
    pub picked: [&'a [usize]; 2],
    /// Names of the axes.
    pub names: [String; 2],
    pub options: HeatmapOptions,
    pub range: ColorRange,
}

impl Around<'_> {
    fn grid(&self) -> (usize, usize) {
        (self.read.rows.len(), self.read.cols.len())
    }

    /// Rows and columns in sight.
    fn seen(&self) -> [Range<usize>; 2] {
        cells::visible_cells(self.content, self.layout.plot, self.grid())
    }

    fn cell(&self) -> Vec2 {
        cells::cell_rect(self.content, self.grid(), 0, 0).size()
    }

    /// Which labels are left out, in words.
    pub fn label_note(&self, medium: Medium) -> Option<String> {
        label_note([self.cell().y, self.cell().x].map(|cell| labels::stride(cell, labels::sizes(medium))))
    }

    fn colors(&self, palette: &Palette) -> Colors {
        color_map(self.read, self.options.color_map).on(palette.ground)
    }

    /// Draws what stands on the cells in sight: borders and values where there is room, and marks of what is ruled out.
    pub fn draw_on_cells(&self, value: impl Fn(usize, usize) -> Option<f32>, pen: &mut Pen<'_>) {
        if self.options.cell_border && self.cell().min_elem() >= BORDER_FROM_PT {
            let (viewport, content) = (self.layout.plot, self.content);
            matrix::around::lines(&MatrixLayout { viewport, content, grid: self.grid() }, pen);
        }
        ruled_out::draw(self.read, (self.content, self.layout.plot), pen);
        if self.options.values {
            self.draw_values(value, pen);
        }
    }

    /// Writes values into the cells in sight, where there is room.
    fn draw_values(&self, value: impl Fn(usize, usize) -> Option<f32>, pen: &mut Pen<'_>) {
        let cell = self.cell();
        let fits = |least: Vec2| cell.x >= least.x && cell.y >= least.y;
        let (size, number): (f32, fn(f32) -> String) = match (pen.medium, SCREEN_VALUE_PT.map(fits)) {
            (Medium::Screen, [_, true]) => (SMALL, weight_text),
            (Medium::Screen, [true, _]) => (SMALL, cell_text),
            (Medium::Paper, _) if fits(vec2(VALUE_PT, 0.6 * VALUE_PT)) => {
                ((cell.x * 0.34).min(cell.y * 0.6).min(SMALL), cell_text)
            }
            (Medium::Screen | Medium::Paper, _) => return,
        };
        let ([rows, cols], map) = (self.seen(), self.colors(&pen.palette));
        for (row, col) in rows.flat_map(|row| cols.clone().map(move |col| (row, col))) {
            let Some(value) = value(row, col).filter(|_| self.read.blank(row, col).is_none()) else { continue };
            let ink = pen.palette.legible(pen.palette.text, map.color(self.range.fraction(value)));
            let at = cells::cell_rect(self.content, self.grid(), row, col).center();
            pen.text(&number(value), size, ink, at, Align::Center);
        }
    }

    /// Draws names of tokens and of axes, and the colour bar.
    pub fn draw(&self, pen: &mut Pen<'_>) {
        let HeatmapLayout { plot, rows, cols, bar } = self.layout;
        for (vertical, x, y) in [(true, rows.x_range(), plot.y_range()), (false, plot.x_range(), cols.y_range())] {
            let seen = Rect::from_x_y_ranges(x, y).expand(LABEL_GAP_PT);
            if self.content == plot {
                self.axis(vertical, pen);
            } else {
                pen.clip(seen, |pen| self.axis(vertical, pen));
            }
        }
        let [query, key] = &self.names;
        let corner = plot.min - Vec2::splat(LABEL_GAP_PT);
        let line = pen.type_.height(SMALL);
        pen.text(query, SMALL, pen.palette.query, corner - vec2(0.0, line / 2.0), Align::Right);
        pen.text(key, SMALL, pen.palette.key, corner - vec2(0.0, 1.5 * line), Align::Right);
        let map = self.colors(&pen.palette);
        if let Some(bar) = bar {
            pen.color_bar(bar, |fraction| map.color(fraction), range_tick(self.range));
        }
    }

    /// Names of tokens: at the left of the rows, or above the columns, read from bottom to top.
    fn axis(&self, vertical: bool, pen: &mut Pen<'_>) {
        let HeatmapLayout { rows, cols, .. } = self.layout;
        let (nth, on_paper) = (usize::from(!vertical), pen.medium == Medium::Paper);
        let (axis, hidden, cell, length, tint) = if vertical {
            (&self.read.rows, &self.read.marks.hidden_rows, self.cell().y, rows.width(), pen.palette.query)
        } else {
            (&self.read.cols, &self.read.marks.hidden_cols, self.cell().x, cols.height(), pen.palette.key)
        };
        let (angle, align, inwards) = if vertical { (0.0, Align::Right, -1.0) } else { (-FRAC_PI_2, Align::Left, 1.0) };
        let seen = self.seen()[nth].clone();
        // A place along the axis, and beyond its end.
        let place = |along: f32, out: f32| {
            if vertical {
                pos2(rows.right() + out, self.content.top() + along)
            } else {
                pos2(self.content.left() + along, cols.bottom() + out)
            }
        };
        for &idx in self.picked[nth].iter().filter(|idx| seen.contains(idx)) {
            let (start, end) = (idx as f32 * cell, idx as f32 * cell + cell.max(1.0));
            let bar = Rect::from_two_pos(place(start, PICKED_GAP_PT), place(end, PICKED_GAP_PT + PICKED_PT));
            pen.rect(bar, pen.palette.text);
        }
        let first: Vec<usize> = self.focus[nth].into_iter().chain(self.strong[nth].iter().copied()).collect();
        let Labels { size, stride, labels } = Labels::of(seen, cell, &first, labels::sizes(pen.medium));
        for label in labels {
            let idx = label.cell;
            // Neighbours without a label must not look as if they were not there.
            let number = axis
                .position(idx)
                .map(|position| axis.place(position))
                .filter(|_| on_paper && stride > 1 && !is_place(axis.text(idx)));
            let number = number.map_or_else(String::new, |position| format!(" {position}"));
            let room = length - 4.0 * GRID - pen.type_.width(&number, size);
            let text = pen.type_.fit(axis.text(idx), size, room).into_owned() + &number;
            let is_focus = self.focus[nth] == Some(idx);
            let left_out = axis.groups.get(idx).is_some_and(|group| group.left_out.is_some());
            let color = match (is_focus, left_out) {
                (true, _) if on_paper => tint,
                (true, _) => pen.palette.text,
                (false, true) => faded(pen.palette.text_weak, LEFT_OUT_OPACITY),
                (false, false) => pen.palette.text_weak,
            };
            // The label belongs to one cell of several; the mark shows to which.
            if let Some(middle) = label.moved_from.or_else(|| (on_paper && stride > 1).then_some(label.at)) {
                let ends = [place(label.at, 1.0), place(middle, 1.0 + TICK_PT)];
                pen.line(ends[0], ends[1], pen.hairline(), pen.palette.text_weak);
            }
            let at = place(label.at, -2.0);
            let along = Vec2::angled(angle) * inwards * pen.type_.width(&text, size);
            if is_focus && !on_paper {
                let across = Vec2::angled(angle).rot90() * pen.type_.height(size) / 2.0;
                let beyond = along.normalized() * GRID;
                let ground = Rect::from_two_pos(at - beyond - across, at + along + beyond + across);
                pen.fill(Path::rounded(ground, f32::from(radius::CONTROL)), faded(tint, FOCUS_OPACITY));
            }
            pen.turned(&text, size, color, at, align, angle);
            if hidden.contains(&idx) {
                pen.line(at, at + along, 1.0, pen.palette.text);
            }
        }
    }
}

/// Whether a label is a place on the picture, such as `r3 c5`, which counts already.
fn is_place(text: &str) -> bool {
    let number = |part: &str, letter| part.strip_prefix(letter).is_some_and(|rest| rest.parse::<usize>().is_ok());
    text.split_once(' ').is_some_and(|(row, col)| number(row, 'r') && number(col, 'c'))
}
