//! One pattern as a matrix of colours, with named axes and a colour bar.

use std::{f32::consts::FRAC_PI_2, ops::Range, sync::Arc};

use emath::{Pos2, Rect, pos2, vec2};

use self::layout::{HeatmapLayout, HeatmapLayoutInput, LABEL_GAP_PT};
use super::{
    Pinned, caveat_text, cells,
    cells::over,
    color_map, joined,
    labels::{self, Labels, ON_PAPER},
    subject_text,
};
use crate::{
    analysis::reading::{Axis, Blank, ReadPattern},
    capture::RgbaBuffer,
    figure::{
        font::Align,
        list::{Line, Rgba, Sampling, faded},
        measure::{BAR_AND_TICKS_PT, GRID, LEFT_OUT_OPACITY, text_size::SMALL},
        page::{Captions, Scene},
        pen::Pen,
        small::{ColsAt, Names, Scale, SmallMap},
    },
    raster::{
        ColorMap, ColorRange,
        colormap::{MASKED_COLOR, OUT_OF_WINDOW_COLOR},
    },
    text::{capitalised, cell_text, tick_text},
};

pub mod layout;
mod options;
pub mod ruled_out;
mod spec;

pub use options::{ColorScale, DrawOptions, HeatmapOptions, visit_color_map};
pub use spec::SPEC;

/// Most cells along a side; larger patterns keep their strongest entries.
const MAX_CELLS: usize = 2048;
/// Cells from this width have their values written in, where that is asked for.
const VALUE_PT: f32 = 19.0;
/// Size that suits a cell.
const CELL_PT: f32 = 26.0;
/// Width that suits a figure with many cells.
const WIDE_PT: f32 = 560.0;
/// Labels never take more than this part of a figure, and never more than this.
const MAX_LABELS: f32 = 0.45;
const MAX_LABEL_PT: f32 = 140.0;
/// More than any figure is high.
const MAX_HEIGHT_PT: f32 = 20_000.0;
/// Among small multiples a map is so much longer one way than the other.
const MAX_PROPORTION: f32 = 4.0;
/// Pixels of a small map: 288 to the inch on paper.
const PIXELS_PER_PT: f32 = 4.0 * 0.75;
/// Length of the mark beside a label that stands for several cells.
const TICK_PT: f32 = 4.0;

/// The Heatmap view of one pattern.
#[derive(Clone, Debug)]
pub struct HeatmapScene {
    pub read: Arc<ReadPattern>,
    pub subject: String,
    /// Colours of weights; differences have their own.
    pub map: ColorMap,
    /// Logarithmic, which shows small weights.
    pub log: bool,
    /// The value of the last colour, where several figures share a scale.
    pub high: Option<f32>,
    /// Whether values are written into cells that have room for them.
    pub values: bool,
    pub pinned: Pinned,
    /// Model and input, in words.
    pub origin: String,
}

impl HeatmapScene {
    fn range(&self) -> ColorRange {
        ColorRange::up_to(self.high.unwrap_or_else(|| self.read.high()), self.read.signed, self.log)
    }

    fn colors(&self) -> ColorMap {
        color_map(&self.read, self.map)
    }

    fn color(&self, range: ColorRange, value: f32) -> Rgba {
        self.colors().color(range.fraction(value))
    }

    /// One pixel per cell, opaque; of more than `most` along a side, the strongest of several cells.
    fn pixels(&self, canvas: Rgba, most: usize) -> RgbaBuffer {
        let [n_rows, n_cols] = self.read.matrix.shape();
        let (height, width) = (n_rows.min(most), n_cols.min(most));
        let range = self.range();
        let span = |at: usize, n: usize, of: usize| at * of / n..((at + 1) * of / n).max(at * of / n + 1);
        let mut pixels = Vec::with_capacity(4 * width * height);
        for y in 0..height {
            let rows = span(y, height, n_rows);
            for x in 0..width {
                let cols = span(x, width, n_cols);
                pixels.extend(self.pixel(rows.clone(), cols, range, canvas));
            }
        }
        RgbaBuffer { width, height, pixels }
    }

    /// The colour of the strongest of some cells.
    fn pixel(&self, rows: Range<usize>, cols: Range<usize>, range: ColorRange, canvas: Rgba) -> Rgba {
        let mut strongest: Option<f32> = None;
        for row in rows.clone() {
            let values = self.read.matrix.row(row).unwrap_or_default();
            for (col, &value) in values.iter().enumerate().take(cols.end).skip(cols.start) {
                if self.read.blank(row, col).is_none() && strongest.is_none_or(|best| value.abs() > best.abs()) {
                    strongest = Some(value);
                }
            }
        }
        match (strongest, self.read.blank(rows.start, cols.start)) {
            (Some(value), _) => self.color(range, value),
            (None, Some(Blank::LeftOut(_)) | None) => canvas,
            (None, Some(Blank::Later)) => over(canvas, MASKED_COLOR),
            (None, Some(Blank::OutOfWindow)) => over(canvas, OUT_OF_WINDOW_COLOR),
        }
    }

    fn text_widths(&self, pen: &mut Pen<'_>) -> [f32; 2] {
        let [query, key] = self.axis_names();
        let corner = pen.widest([query, key], SMALL);
        let mut widest = |axis: &Axis| {
            let texts = axis.groups.iter().map(|group| group.text.as_str());
            pen.widest(texts, SMALL)
        };
        [
            widest(&self.read.rows).clamp(corner, MAX_LABEL_PT.max(corner)),
            widest(&self.read.cols).clamp(2.0 * SMALL, MAX_LABEL_PT),
        ]
    }

    fn axis_names(&self) -> [&'static str; 2] {
        match (self.read.has_one_row(), self.read.has_two_sides) {
            (true, _) => ["Explained", "Token"],
            (false, true) => ["Query (decoder)", "Key (encoder)"],
            (false, false) => ["Query", "Key"],
        }
    }

    fn layout(&self, area: Rect, pen: &mut Pen<'_>) -> HeatmapLayout {
        let [n_query, n_key] = self.read.matrix.shape();
        let fit = |text_widths| {
            HeatmapLayout::with_labels(HeatmapLayoutInput { area, n_query, n_key, text_widths }, MAX_LABELS)
        };
        let text_widths = self.text_widths(pen);
        let plain = fit(text_widths);
        let cell = [plain.plot.height() / self.n()[0], plain.plot.width() / self.n()[1]];
        if cell.map(|cell| labels::stride(cell, ON_PAPER)) == [1, 1] {
            return plain;
        }
        // Where labels are left out, the others carry their number.
        let number = [n_query, n_key].map(|n| pen.type_.width(&format!(" {n}"), SMALL));
        fit([text_widths[0] + number[0], text_widths[1] + number[1]])
    }

    /// Names along one axis, those of `strong` before others.
    fn axis(&self, axis: &Axis, strong: &[usize], (plot, rect): (Rect, Rect), vertical: bool, pen: &mut Pen<'_>) {
        let n = axis.len().max(1);
        let cell = if vertical { plot.height() } else { plot.width() } / n as f32;
        let (row, col) = self.pinned.in_pattern(&self.read);
        let (held, tint) = if vertical { (row, pen.palette.query) } else { (col, pen.palette.key) };
        let first: Vec<usize> = held.into_iter().chain(strong.iter().copied()).collect();
        let Labels { size, stride, labels } = Labels::of(0..axis.len(), cell, &first, ON_PAPER);
        let room = if vertical { rect.width() } else { rect.height() } - 4.0 * GRID;
        for label in labels {
            let idx = label.cell;
            // Neighbours without a label must not look as if they were not there.
            let number = axis.position(idx).filter(|_| stride > 1 && !is_place(axis.text(idx)));
            let number = number.map_or_else(String::new, |position| format!(" {position}"));
            let room = room - pen.type_.width(&number, size);
            let text = pen.type_.fit(axis.text(idx), size, room).into_owned() + &number;
            let beside = |along: f32| {
                if vertical { pos2(rect.right(), plot.top() + along) } else { pos2(plot.left() + along, rect.bottom()) }
            };
            let at = beside(label.at);
            let left_out = axis.groups.get(idx).is_some_and(|group| group.left_out.is_some());
            let color = match (held == Some(idx), left_out) {
                (true, _) => tint,
                (false, true) => faded(pen.palette.text_weak, LEFT_OUT_OPACITY),
                (false, false) => pen.palette.text_weak,
            };
            if stride > 1 {
                // The label belongs to one cell of several; the mark shows to which.
                let to = beside(label.moved_from.unwrap_or(label.at));
                let outwards = if vertical { vec2(1.0, 0.0) } else { vec2(0.0, 1.0) };
                pen.line(at + outwards, to + (1.0 + TICK_PT) * outwards, 0.75, pen.palette.text_weak);
            }
            let angle = if vertical { 0.0 } else { -FRAC_PI_2 };
            let (align, at) =
                if vertical { (Align::Right, at - vec2(2.0, 0.0)) } else { (Align::Left, at - vec2(0.0, 2.0)) };
            pen.turned(&text, size, color, at, align, angle);
        }
    }

    /// Hatches what lies outside a sliding window, and covers what is left out.
    fn rule_out(&self, plot: Rect, pen: &mut Pen<'_>) {
        let color = faded(pen.palette.canvas, 0.55);
        let hatched = ruled_out::outside_window(&self.read, plot, 0..self.read.rows.len());
        let lines: Vec<Line> = hatched
            .into_iter()
            .chain(ruled_out::hidden(&self.read, plot))
            .flat_map(ruled_out::diagonals)
            .map(|[from, to]| Line { from, to, width: 1.0, color })
            .collect();
        if !lines.is_empty() {
            pen.clip(plot, |pen| pen.lines(lines));
        }
        for (width, color) in [(3.0, pen.palette.canvas), (1.25, pen.palette.key)] {
            let stroke = |[from, to]: [Pos2; 2]| Line { from, to, width, color };
            pen.lines(ruled_out::crosses(&self.read, plot).into_iter().map(stroke).collect());
        }
        for rect in ruled_out::left_out(&self.read, plot) {
            pen.rect(rect, pen.palette.canvas);
        }
        if let Some([from, to]) = ruled_out::end_of_keys(&self.read, plot) {
            pen.line(from, to, 2.0, pen.palette.canvas);
        }
    }

    fn write_values(&self, plot: Rect, pen: &mut Pen<'_>) {
        let [n_rows, n_cols] = self.read.matrix.shape();
        let cell = vec2(plot.width() / n_cols.max(1) as f32, plot.height() / n_rows.max(1) as f32);
        if !self.values || cell.x < VALUE_PT || cell.y < 0.6 * VALUE_PT {
            return;
        }
        let size = (cell.x * 0.34).min(cell.y * 0.6).min(SMALL);
        let range = self.range();
        for (row, values) in self.read.matrix.rows().enumerate() {
            for (col, &value) in values.iter().enumerate() {
                if self.read.blank(row, col).is_some() {
                    continue;
                }
                let [red, green, blue, _] = self.color(range, value).map(f32::from);
                let light = 0.299 * red + 0.587 * green + 0.114 * blue > 140.0;
                let ink = if light { [20, 22, 26, 255] } else { [250, 250, 250, 255] };
                let at = cells::cell_rect(plot, (n_rows, n_cols), row, col).center();
                pen.text(&cell_text(value), size, ink, at, Align::Center);
            }
        }
    }

    fn draw_cells(&self, plot: Rect, most: usize, pen: &mut Pen<'_>) {
        let pixels = self.pixels(pen.palette.canvas, most);
        pen.picture(plot, &pixels, Sampling::Crisp);
        self.rule_out(plot, pen);
        pen.frame(plot, 0.75, pen.palette.rule);
    }

    fn draw_pinned(&self, plot: Rect, pen: &mut Pen<'_>) {
        let (row, col) = self.pinned.in_pattern(&self.read);
        let grid = (self.read.rows.len(), self.read.cols.len());
        if let Some(row) = row {
            let cell = cells::cell_rect(plot, grid, row, 0);
            pen.frame(Rect::from_x_y_ranges(plot.x_range(), cell.y_range()), 1.0, pen.palette.accent);
        }
        if let Some(col) = col {
            let cell = cells::cell_rect(plot, grid, 0, col);
            pen.frame(Rect::from_x_y_ranges(cell.x_range(), plot.y_range()), 1.0, pen.palette.accent);
        }
    }

    fn n(&self) -> [f32; 2] {
        self.read.matrix.shape().map(|n| n.max(1) as f32)
    }
}

impl Scene for HeatmapScene {
    fn width(&self, pen: &mut Pen<'_>) -> f32 {
        let labels = self.text_widths(pen)[0] + LABEL_GAP_PT + 4.0 * GRID;
        let cells = (self.n()[1] * CELL_PT).clamp(6.0 * CELL_PT, WIDE_PT);
        (labels + cells + BAR_AND_TICKS_PT + 3.0 * GRID).ceil()
    }

    fn least_width(&self, _: &mut Pen<'_>) -> f32 {
        240.0
    }

    fn height(&self, width: f32, pen: &mut Pen<'_>) -> f32 {
        let mut plot = |height: f32| {
            let area = Rect::from_min_size(pos2(0.0, 0.0), vec2(width, height));
            self.layout(area, pen).plot
        };
        // What the cells ask for where nothing else holds them back, and around them what the layout keeps free.
        let cells = plot(MAX_HEIGHT_PT).height();
        let mut height = cells + 12.0 * GRID;
        for _ in 0..4 {
            height += cells - plot(height).height();
        }
        height.max(36.0 * GRID).ceil()
    }

    fn least_height(&self, _: f32, _: &mut Pen<'_>) -> f32 {
        140.0
    }

    fn draw(&self, area: Rect, pen: &mut Pen<'_>) {
        let layout = self.layout(area, pen);
        let plot = layout.plot;
        self.draw_cells(plot, MAX_CELLS, pen);
        self.write_values(plot, pen);
        self.draw_pinned(plot, pen);
        let [rows, cols] = labels::strong(&self.read.matrix);
        self.axis(&self.read.rows, &rows, (plot, layout.rows), true, pen);
        self.axis(&self.read.cols, &cols, (plot, layout.cols), false, pen);
        let [query, key] = self.axis_names();
        let corner = plot.min - vec2(LABEL_GAP_PT, LABEL_GAP_PT);
        let line = pen.type_.height(SMALL);
        pen.text(query, SMALL, pen.palette.query, corner - vec2(0.0, line / 2.0), Align::Right);
        pen.text(key, SMALL, pen.palette.key, corner - vec2(0.0, 1.5 * line), Align::Right);
        let range = self.range();
        pen.color_bar(
            layout.bar,
            |fraction| self.colors().color(fraction),
            |fraction| tick_text(range.value(fraction)),
        );
    }

    fn small(&self) -> Option<&dyn SmallMap> {
        Some(self)
    }

    fn captions(&self) -> Captions {
        let hidden = capitalised(&self.read.hidden_text().unwrap_or_default());
        let subject = capitalised(&self.subject);
        let largest = format!("largest {} {}", value_noun(&self.read), tick_text(self.read.range.1));
        let size = if self.read.signed {
            format!(
                "{} from {} to {}",
                if self.read.explained().is_some() { "values" } else { "differences" },
                tick_text(self.read.range.0),
                tick_text(self.read.range.1)
            )
        } else {
            largest
        };
        let short = joined([format!("{subject}: {size}").as_str(), &hidden]);
        let rows = if self.read.has_one_row() {
            "The row is the explained output, each column a token"
        } else {
            "Each row is a query, each column a key"
        };
        let has = |what: Blank| {
            (0..self.read.rows.len()).any(|row| {
                let ends = [0, self.read.cols.n_of_tokens().saturating_sub(1)];
                ends.into_iter().any(|col| self.read.blank(row, col) == Some(what))
            })
        };
        let mask = if has(Blank::Later) { "Grey cells are masked (causal)" } else { "" };
        let window = if has(Blank::OutOfWindow) { "Hatched cells lie outside the window of the layer" } else { "" };
        let scale = if self.log && !self.read.signed { "The scale is logarithmic" } else { "" };
        let subject = format!("{}: {size}", subject_text(&self.read, &self.subject));
        let caveat = caveat_text(&self.read);
        Captions { short, full: joined([subject.as_str(), rows, mask, window, scale, &hidden, &caveat, &self.origin]) }
    }
}

impl SmallMap for HeatmapScene {
    fn proportion(&self) -> f32 {
        let [rows, cols] = self.n();
        (rows / cols).clamp(1.0 / MAX_PROPORTION, MAX_PROPORTION)
    }

    fn names(&self) -> Names {
        let texts = |axis: &Axis| axis.groups.iter().map(|group| group.text.clone()).collect();
        Names { rows: texts(&self.read.rows), cols: texts(&self.read.cols), cols_at: ColsAt::Below }
    }

    fn draw_alone(&self, rect: Rect, pen: &mut Pen<'_>) {
        // As fine as print shows it.
        let most = (PIXELS_PER_PT * rect.size().max_elem()).ceil() as usize;
        self.draw_cells(rect, most.clamp(16, MAX_CELLS), pen);
        self.draw_pinned(rect, pen);
    }

    fn scale(&self) -> Option<Scale> {
        let range = self.range();
        let colors = (0..=63).map(|step| self.colors().color(step as f32 / 63.0)).collect();
        let name =
            if self.read.signed && self.read.explained().is_none() { "difference" } else { value_noun(&self.read) };
        let ends = match self.high {
            Some(_) => [range.low(), range.high()].map(tick_text),
            // Each map ends at its own.
            None => ["0", "largest of each head"].map(str::to_owned),
        };
        Some(Scale { colors, ends, name })
    }

    fn note(&self) -> &'static str {
        match (self.read.has_one_row(), self.read.has_two_sides) {
            (true, _) => "Columns: tokens",
            (false, true) => "Rows: queries (decoder) · columns: keys (encoder)",
            (false, false) => "Rows: queries · columns: keys",
        }
    }
}

/// What a value is called in a sentence.
const fn value_noun(read: &ReadPattern) -> &'static str {
    if read.explained().is_some() { "value" } else { "weight" }
}

/// Whether a label is a place on the picture, such as `r3 c5`, which counts already.
fn is_place(text: &str) -> bool {
    let number = |part: &str, letter| part.strip_prefix(letter).is_some_and(|rest| rest.parse::<usize>().is_ok());
    text.split_once(' ').is_some_and(|(row, col)| number(row, 'r') && number(col, 'c'))
}
