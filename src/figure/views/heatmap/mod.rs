//! One pattern as a matrix of colours, with named axes and a colour bar.

use std::{ops::Range, sync::Arc};

use emath::{Rect, pos2, vec2};

use self::{
    around::Around,
    layout::{HeatmapLayout, HeatmapLayoutInput, LABEL_GAP_PT},
};
use super::{
    Pinned, cells, color_map, joined,
    labels::{self, ON_PAPER},
    subject_text,
};
use crate::{
    analysis::reading::{Axis, Blank, ReadPattern},
    capture::RgbaBuffer,
    figure::{
        list::{Rgba, Sampling},
        measure::{BAR_AND_TICKS_PT, GRID, text_size::SMALL},
        page::{Captions, Scene},
        palette::Palette,
        pen::Pen,
        small::{ColsAt, Names, Scale, SmallMap},
    },
    raster::{ColorRange, Colors, heatmap::ruled_out as ruled_out_colors},
    text::{capitalised, tick_text},
};

pub mod around;
pub mod layout;
mod options;
pub mod ruled_out;
mod spec;

pub use options::{ColorScale, DrawOptions, HeatmapOptions, visit_color_map};
pub use spec::SPEC;

/// Most cells along a side; larger patterns keep their strongest entries.
const MAX_CELLS: usize = 2048;
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

/// The Heatmap view of one pattern.
#[derive(Clone, Debug)]
pub struct HeatmapScene {
    pub read: Arc<ReadPattern>,
    pub subject: String,
    pub options: HeatmapOptions,
    /// The value of the last colour, where several figures share a scale.
    pub high: Option<f32>,
    pub pinned: Pinned,
}

impl HeatmapScene {
    fn range(&self) -> ColorRange {
        ColorRange::up_to(self.high.unwrap_or_else(|| self.read.high()), self.read.signed, self.options.is_log())
    }

    fn colors(&self, palette: &Palette) -> Colors {
        color_map(&self.read, self.options.color_map).on(palette.ground)
    }

    /// One pixel per cell, in the colours `blank` where a mask allows nothing; of more than `most` along a side, the strongest of several cells.
    fn pixels(&self, (colors, blank): (Colors, [Rgba; 2]), most: usize) -> RgbaBuffer {
        let [n_rows, n_cols] = self.read.matrix.shape();
        let (height, width) = (n_rows.min(most), n_cols.min(most));
        let colors = (colors, self.range());
        let span = |at: usize, n: usize, of: usize| at * of / n..((at + 1) * of / n).max(at * of / n + 1);
        let mut pixels = Vec::with_capacity(4 * width * height);
        for y in 0..height {
            let rows = span(y, height, n_rows);
            for x in 0..width {
                let cols = span(x, width, n_cols);
                pixels.extend(self.pixel(rows.clone(), cols, colors, blank));
            }
        }
        RgbaBuffer { width, height, pixels }
    }

    /// The colour of the strongest of some cells.
    fn pixel(
        &self,
        rows: Range<usize>,
        cols: Range<usize>,
        (colors, range): (Colors, ColorRange),
        [later, far]: [Rgba; 2],
    ) -> Rgba {
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
            (Some(value), _) => colors.color(range.fraction(value)),
            (None, Some(Blank::LeftOut(_)) | None) => [0; 4],
            (None, Some(Blank::Later)) => later,
            (None, Some(Blank::OutOfWindow)) => far,
        }
    }

    fn text_widths(&self, pen: &mut Pen<'_>) -> [f32; 2] {
        let names = axis_names(&self.read);
        let corner = pen.widest(names.iter().map(String::as_str), SMALL);
        let mut widest = |axis: &Axis| {
            let texts = axis.groups.iter().map(|group| group.text.as_str());
            pen.widest(texts, SMALL)
        };
        [
            widest(&self.read.rows).clamp(corner, MAX_LABEL_PT.max(corner)),
            widest(&self.read.cols).clamp(2.0 * SMALL, MAX_LABEL_PT),
        ]
    }

    fn layout(&self, area: Rect, pen: &mut Pen<'_>) -> HeatmapLayout {
        let [n_query, n_key] = self.read.matrix.shape();
        let medium = pen.medium;
        let fit = |text_widths| {
            let input = HeatmapLayoutInput { area, n_query, n_key, text_widths, medium };
            HeatmapLayout::with_labels(input, MAX_LABELS)
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

    fn draw_cells(&self, plot: Rect, most: usize, blank: [Rgba; 2], pen: &mut Pen<'_>) {
        let pixels = self.pixels((self.colors(&pen.palette), blank), most);
        pen.picture(plot, &pixels, Sampling::Crisp);
        pen.frame(plot, pen.hairline(), pen.palette.rule);
    }

    fn draw_pinned(&self, plot: Rect, pen: &mut Pen<'_>) {
        let (row, col) = self.pinned.in_pattern(&self.read);
        let grid = (self.read.rows.len(), self.read.cols.len());
        if let Some(row) = row {
            let cell = cells::cell_rect(plot, grid, row, 0);
            pen.frame(Rect::from_x_y_ranges(plot.x_range(), cell.y_range()), 1.0, pen.palette.text);
        }
        if let Some(col) = col {
            let cell = cells::cell_rect(plot, grid, 0, col);
            pen.frame(Rect::from_x_y_ranges(cell.x_range(), plot.y_range()), 1.0, pen.palette.text);
        }
    }

    /// What stands on the cells and around them; rows and columns in `strong` are named before others.
    fn around<'a>(&'a self, layout: HeatmapLayout, strong: [&'a [usize]; 2]) -> Around<'a> {
        let (row, col) = self.pinned.in_pattern(&self.read);
        Around {
            read: &self.read,
            layout,
            content: layout.plot,
            focus: [row, col],
            strong,
            picked: [&[]; 2],
            names: axis_names(&self.read),
            options: self.options,
            range: self.range(),
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
        self.draw_cells(plot, MAX_CELLS, [[0; 4]; 2], pen);
        let [rows, cols] = labels::strong(&self.read.matrix);
        let around = self.around(layout, [&rows, &cols]);
        around.draw_on_cells(|row, col| self.read.value(row, col), pen);
        self.draw_pinned(plot, pen);
        around.draw(pen);
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
                if self.read.is_difference() { "differences" } else { "values" },
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
        let mask = ruled_out::hatched_text(has(Blank::Later), has(Blank::OutOfWindow));
        let scale = if self.options.is_log() && !self.read.signed { "The scale is logarithmic" } else { "" };
        let subject = format!("{}: {size}", subject_text(&self.read, &self.subject));
        Captions { short, full: joined([subject.as_str(), rows, mask, scale, &hidden]) }
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
        let blank = ruled_out_colors(self.colors(&pen.palette));
        self.draw_cells(rect, most.clamp(16, MAX_CELLS), blank, pen);
        self.around(HeatmapLayout::of_cells(rect), [&[]; 2]).draw_on_cells(|_, _| None, pen);
        self.draw_pinned(rect, pen);
    }

    fn scale(&self) -> Option<Scale> {
        let range = self.range();
        let name = if self.read.is_difference() { "difference" } else { value_noun(&self.read) };
        let ends = match self.high {
            Some(_) => [range.low(), range.high()].map(tick_text),
            // Each map ends at its own.
            None => ["0", "largest of each head"].map(str::to_owned),
        };
        Some(Scale { map: color_map(&self.read, self.options.color_map), ends, name })
    }

    fn note(&self) -> &'static str {
        match (self.read.has_one_row(), self.read.has_two_sides) {
            (true, _) => "Columns: tokens",
            (false, true) => "Rows: queries (decoder) · columns: keys (encoder)",
            (false, false) => "Rows: queries · columns: keys",
        }
    }
}

/// Names of the rows and the columns, and whose tokens they are where there are two sides.
pub fn axis_names(read: &ReadPattern) -> [String; 2] {
    let [_, names, _] = labels::axis_names([&read.rows, &read.cols], read.has_one_row(), read.has_two_sides);
    names
}

/// What a value is called in a sentence.
const fn value_noun(read: &ReadPattern) -> &'static str {
    if read.effective {
        "effective weight"
    } else if read.explained().is_some() {
        "value"
    } else {
        "weight"
    }
}
