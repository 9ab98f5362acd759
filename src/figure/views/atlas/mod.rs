//! Atlas of heads: points between two numbers, cells by layer and head, and a table with ranks, of all inputs.

use std::sync::Arc;

use emath::{Rect, pos2, vec2};

use super::joined;
use crate::{
    analysis::{
        cloud_query::CloudResult,
        head_statistics::{Metric, MetricColumn, RankedStatistic, StackTable, Thresholds},
    },
    figure::{
        font::Align,
        list::{Line, Rgba},
        measure::{BAR_AND_TICKS_PT, GRID, text_size::SMALL},
        page::{Captions, Scene},
        palette::Palette,
        pen::{Medium, Pen},
    },
    ids::{HeadId, StackKind},
    raster::ColorMap,
    text::{capitalised, counted, grouped, tick_text},
};

pub mod layout;
mod of_folder;
mod options;
mod points;
mod spec;
mod table;

pub use of_folder::{FolderAxes, FolderScene};
pub use options::{AtlasOptions, TableOrder};
pub use points::{PointColor, PointSeries};
pub use spec::SPEC;
pub use table::TableColumn;

use layout::AtlasLayout;

/// Numbers closer than this are left out.
const LABEL_PT: f32 = 18.0;
/// The Atlas view of one stack.
#[derive(Clone, Debug)]
pub struct AtlasScene {
    /// [`CloudResult::Statistics`].
    pub found: Arc<CloudResult>,
    /// Layers and the largest number of heads of a layer.
    pub grid: (usize, usize),
    /// The head that is looked at.
    pub head: HeadId,
    pub options: AtlasOptions,
    pub color_map: ColorMap,
}

impl AtlasScene {
    /// The numbers of all heads.
    pub fn table(&self) -> Option<&StackTable> {
        match &*self.found {
            CloudResult::Statistics(table) => Some(table),
            _ => None,
        }
    }

    /// Where everything stands in an area.
    pub fn layout(&self, area: Rect, medium: Medium) -> AtlasLayout {
        AtlasLayout::of_scene(area, self.grid, medium)
    }

    /// The number that colours the cells; none where it is not defined.
    pub fn column(&self) -> Option<&MetricColumn> {
        self.table()?.column(self.options.color)
    }

    /// The ends of the colours of the cells.
    pub fn range(&self) -> [f64; 2] {
        self.range_of(self.options.color)
    }

    /// The ends of a number over all heads: from 0 on where none is below it.
    pub fn range_of(&self, metric: Metric) -> [f64; 2] {
        let cells = self.table().and_then(|table| table.column(metric)).map_or(&[][..], |column| &column.cells);
        let values = || cells.iter().flatten().map(|cell| cell.statistic.value);
        let low = values().fold(0.0, f64::min);
        let high = values().fold(f64::NEG_INFINITY, f64::max);
        if high > low { [low, high] } else { [low, low + 1.0] }
    }

    /// The colour at a share of the range.
    pub fn color(&self, share: f32, palette: &Palette) -> Rgba {
        self.color_map.on(palette.ground).color(share)
    }

    /// The number at a share of the range of the cells.
    pub fn tick(&self, share: f32) -> String {
        self.tick_of(self.options.color, share)
    }

    /// The number at a share of the range of a metric.
    pub fn tick_of(&self, metric: Metric, share: f32) -> String {
        let [low, high] = self.range_of(metric);
        tick_text((low + f64::from(share) * (high - low)) as f32)
    }

    /// Draws cells and table.
    pub fn draw_heads(&self, area: Rect, pen: &mut Pen<'_>) {
        let layout = self.layout(area, pen.medium);
        self.draw_mosaic(&layout, pen);
        self.draw_table(&layout, pen);
    }

    fn draw_mosaic(&self, layout: &AtlasLayout, pen: &mut Pen<'_>) {
        let (rect, weak, cells) = (layout.mosaic, pen.palette.text_weak, layout.heads());
        let title = rect.left_top() - vec2(0.0, 7.5 * GRID);
        pen.text(self.options.color.title(), SMALL, pen.palette.text, title, Align::Left);
        let [low, high] = self.range();
        for (nth, head) in self.table().map_or(&[][..], |table| &table.heads).iter().enumerate() {
            let cell = cells.cell(head.layer, head.head).shrink(0.5);
            if let Some(RankedStatistic { statistic, .. }) = self.column().and_then(|column| column.cells[nth]) {
                let color = self.color(((statistic.value - low) / (high - low)) as f32, &pen.palette);
                pen.rect(cell, color);
            } else {
                // Not defined is not 0.
                pen.rect(cell, pen.palette.raised);
                pen.line(cell.left_bottom(), cell.right_top(), 0.75, weak);
            }
        }
        let step = |side: f32| (LABEL_PT / side.max(0.1)).ceil().max(1.0) as usize;
        let side = cells.cell(0, 0).size();
        for layer in (0..self.grid.0).step_by(step(side.y)) {
            let at = pos2(rect.left() - 1.5 * GRID, cells.cell(layer, 0).center().y);
            pen.text(&format!("L{layer}"), SMALL, weak, at, Align::Right);
        }
        for head in (0..self.grid.1).step_by(step(side.x)) {
            let at = pos2(cells.cell(0, head).center().x, rect.top() - 2.0 * GRID);
            let text = if head == 0 { "H0".to_owned() } else { head.to_string() };
            pen.text(&text, SMALL, weak, at, Align::Center);
        }
        let chosen = cells.cell(self.head.layer, self.head.head);
        pen.frame(chosen.shrink(1.0), 1.0, pen.palette.text);
        pen.frame(chosen.shrink(2.0), 1.0, pen.palette.canvas);
        if pen.medium == Medium::Paper {
            let bar = Rect::from_min_size(
                rect.right_top() + vec2(3.0 * GRID, 0.0),
                vec2(BAR_AND_TICKS_PT, rect.height().max(60.0)),
            );
            let palette = pen.palette;
            pen.color_bar(bar, |share| self.color(share, &palette), |share| self.tick(share));
        }
    }

    fn draw_points(&self, layout: &AtlasLayout, pen: &mut Pen<'_>) {
        let (rect, chart) = (layout.plot, self.chart(&pen.palette));
        let (axes, weak) = (chart.axes(rect), pen.palette.text_weak);
        let title = rect.left_top() - vec2(0.0, 7.5 * GRID);
        pen.text(&chart.y.title, SMALL, pen.palette.text, title, Align::Left);
        pen.frame(rect, 0.75, pen.palette.rule);
        for series in &chart.series {
            let square = |[x, y]: [f64; 2]| {
                let (at, half) = (axes.at(x, y), vec2(series.width / 2.0, 0.0));
                Line { from: at - half, to: at + half, width: series.width, color: series.color }
            };
            pen.lines(series.points().map(square).collect());
        }
        for value in axes.x.ticks(4) {
            let at = pos2(axes.x.at(value), rect.bottom() + 2.5 * GRID);
            pen.text(&tick_text(value as f32), SMALL, weak, at, Align::Center);
        }
        for value in axes.y.ticks(5) {
            let at = pos2(rect.left() - GRID, axes.y.at(value));
            pen.text(&tick_text(value as f32), SMALL, weak, at, Align::Right);
        }
        let below = pos2(rect.right(), rect.bottom() + 6.0 * GRID);
        pen.text(&chart.x.title, SMALL, pen.palette.text, below, Align::Right);
        let mut x = rect.left();
        let channels = self.channels_text();
        if !channels.is_empty() {
            let words = pen.type_.fit(&channels, SMALL, rect.width()).into_owned();
            pen.text(&words, SMALL, weak, pos2(x, rect.top() - 2.5 * GRID), Align::Left);
            x += pen.type_.width(&words, SMALL) + 3.0 * GRID;
        }
        let mut named: Vec<&str> = Vec::new();
        for series in chart.series.iter().filter(|series| !series.name.is_empty()) {
            // Those that differ in size alone have one name.
            if named.contains(&&*series.name) {
                continue;
            }
            named.push(&series.name);
            let width = pen.type_.width(&series.name, SMALL);
            if x + width <= rect.right() {
                pen.text(&series.name, SMALL, series.color, pos2(x, rect.top() - 2.5 * GRID), Align::Left);
                x += width + 3.0 * GRID;
            }
        }
    }

    /// How many heads have a kind, of all.
    pub fn named_text(&self) -> String {
        let Some(table) = self.table() else { return String::new() };
        let named = self.first_kinds(table).iter().flatten().count();
        let heads = counted(table.heads.len(), "head");
        format!("{named} of {heads} of a known kind")
    }
}

/// What a head is called.
pub fn kinds_text(table: &StackTable, head: HeadId, thresholds: &Thresholds) -> String {
    let kinds: Vec<&str> = table.kinds_of(head, thresholds).iter().map(|(kind, _)| kind.kind_title()).collect();
    if kinds.is_empty() { "–".to_owned() } else { kinds.join(", ") }
}

/// A number with its standard error and rank: `0.41 ± 0.02, 3rd of 144`.
pub fn number_text(cell: Option<RankedStatistic>) -> String {
    let Some(cell) = cell else { return "not defined".to_owned() };
    format!("{}, {}", cell.text(), cell.rank_text())
}

impl Scene for AtlasScene {
    fn width(&self, _: &mut Pen<'_>) -> f32 {
        760.0
    }

    fn least_width(&self, _: &mut Pen<'_>) -> f32 {
        480.0
    }

    fn height(&self, width: f32, _: &mut Pen<'_>) -> f32 {
        0.72 * width
    }

    fn least_height(&self, _: f32, _: &mut Pen<'_>) -> f32 {
        320.0
    }

    fn draw(&self, area: Rect, pen: &mut Pen<'_>) {
        self.draw_heads(area, pen);
        self.draw_points(&self.layout(area, pen.medium), pen);
    }

    fn captions(&self) -> Captions {
        let Some(table) = self.table() else { return Captions::default() };
        let queries = grouped(table.n_queries as usize);
        let stack = match table.stack {
            StackKind::SelfAttention => String::new(),
            stack => format!(" of the {stack} stack"),
        };
        let what = format!("Heads{stack} over {}, {queries} queries", counted(table.n_inputs, "input"));
        let how = "Numbers are means over all rows that qualify, ± the standard error over inputs; a struck cell is not defined";
        let color = format!("{}: {}", self.options.color.title(), self.options.color.meaning());
        let moved = self.options.thresholds.text();
        let moved =
            if moved.is_empty() { moved } else { format!("Thresholds that were moved: {}", moved.replace(',', ", ")) };
        let (named, channels) = (self.named_text(), capitalised(&self.channels_text()));
        let short = joined([what.as_str(), &named, &moved]);
        Captions { short, full: joined([what.as_str(), &named, how, &color, &channels, &moved]) }
    }
}
