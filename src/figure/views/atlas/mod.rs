//! Atlas of heads: points between two numbers, cells by layer and head, and a table with ranks, of all inputs.

use std::sync::Arc;

use emath::{Rect, pos2, vec2};

use super::joined;
use crate::{
    analysis::{
        cloud_query::CloudResult,
        head_statistics::{Metric, MetricColumn, RankedStatistic, StackTable},
    },
    figure::{
        chart::{Chart, ChartAxis, Scale, Series, SeriesShape},
        font::Align,
        list::{Line, Rgba},
        measure::{BAR_AND_TICKS_PT, GRID, text_size::SMALL},
        page::{Captions, Scene},
        palette::Palette,
        pen::{Medium, Pen},
    },
    ids::{HeadId, StackKind},
    raster::ColorMap,
    text::{counted, decimal_text, grouped, ordinal_text, tick_text},
};

pub mod layout;
mod options;
mod spec;

pub use options::AtlasOptions;
pub use spec::SPEC;

use layout::AtlasLayout;

/// Sides of the square of a head.
const POINT_PT: f32 = 5.0;
/// Numbers closer than this are left out.
const LABEL_PT: f32 = 18.0;
/// Width of the column with the head, and of each number; kinds have the rest.
const HEAD_PT: f32 = 12.0 * GRID;
const NUMBER_SHARE: f32 = 0.22;

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

/// Heads of one kind, as a series of points.
#[derive(Clone, Debug, PartialEq)]
pub struct KindSeries {
    /// What they are called; none of those without a kind.
    pub kind: Option<Metric>,
    pub heads: Vec<HeadId>,
    pub points: Vec<[f64; 2]>,
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

    /// Heads that have both numbers, by the first kind of each: those without a kind come first.
    pub fn series(&self) -> Vec<KindSeries> {
        let Some(table) = self.table() else { return Vec::new() };
        let mut series: Vec<KindSeries> = std::iter::once(None)
            .chain(Metric::kinds().map(Some))
            .map(|kind| KindSeries { kind, heads: Vec::new(), points: Vec::new() })
            .collect();
        for head in &table.heads {
            let number = |metric: Metric| Some(table.cell(metric, *head)?.statistic.value);
            let (Some(x), Some(y)) = (number(self.options.across), number(self.options.up)) else { continue };
            let kind = table.kinds_of(*head, |_| None).first().map(|(kind, _)| *kind);
            if let Some(series) = series.iter_mut().find(|series| series.kind == kind) {
                series.heads.push(*head);
                series.points.push([x, y]);
            }
        }
        series.retain(|series| series.kind.is_none() || !series.heads.is_empty());
        series
    }

    /// The heads as points.
    pub fn chart(&self, palette: &Palette) -> Chart {
        let series = self.series();
        let along = |axis: usize| series.iter().flat_map(|series| &series.points).map(move |point| point[axis]);
        let (x, y) = (along(0).collect::<Vec<_>>(), along(1).collect::<Vec<_>>());
        let n = x.len();
        let title = |metric: Metric| metric.title().to_owned();
        let points = series.iter().enumerate().map(|(nth, series)| Series {
            name: series.kind.map_or("no known kind", Metric::kind_title).to_owned(),
            shape: SeriesShape::Points,
            color: if series.kind.is_none() { palette.text_weak } else { palette.head(nth - 1) },
            width: POINT_PT,
            runs: vec![series.points.clone()],
        });
        let missing = self.table().map_or(0, |table| table.heads.len()) - n;
        Chart {
            title: "Heads between two numbers".to_owned(),
            note: if missing > 0 {
                format!("{} without both numbers", counted(missing, "head"))
            } else {
                String::new()
            },
            x: ChartAxis::over(title(self.options.across), Scale::Linear, x.into_iter()),
            y: ChartAxis::over(title(self.options.up), Scale::Linear, y.into_iter()),
            series: points.collect(),
            marks: Vec::new(),
        }
    }

    /// The number that colours the cells; none where it is not defined.
    pub fn column(&self) -> Option<&MetricColumn> {
        self.table()?.column(self.options.color)
    }

    /// The ends of the colours: from 0 on where no number is below it.
    pub fn range(&self) -> [f64; 2] {
        let cells = self.column().map_or(&[][..], |column| &column.cells);
        let values = || cells.iter().flatten().map(|cell| cell.statistic.value);
        let low = values().fold(0.0, f64::min);
        let high = values().fold(f64::NEG_INFINITY, f64::max);
        if high > low { [low, high] } else { [low, low + 1.0] }
    }

    /// The colour at a share of the range.
    pub fn color(&self, share: f32, palette: &Palette) -> Rgba {
        self.color_map.on(palette.ground).color(share)
    }

    /// The number at a share of the range.
    pub fn tick(&self, share: f32) -> String {
        let [low, high] = self.range();
        tick_text((low + f64::from(share) * (high - low)) as f32)
    }

    /// Heads in the order of the table.
    pub fn rows(&self) -> Vec<HeadId> {
        let Some(table) = self.table() else { return Vec::new() };
        match self.column() {
            Some(column) => column.order().into_iter().map(|at| table.heads[at]).collect(),
            None => table.heads.clone(),
        }
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

    fn draw_table(&self, layout: &AtlasLayout, pen: &mut Pen<'_>) {
        let Some(table) = self.table() else { return };
        let metrics = [self.options.color, self.options.across, self.options.up];
        let width = layout.table.width();
        let number_pt = NUMBER_SHARE * width;
        let x = |nth: usize| layout.table.right() - (metrics.len() - nth) as f32 * number_pt;
        let kinds_pt = x(0) - layout.table.left() - HEAD_PT - GRID;
        let (weak, text) = (pen.palette.text_weak, pen.palette.text);
        let cell = |pen: &mut Pen<'_>, words: &str, color: Rgba, left: f32, room: f32, y: f32| {
            let words = pen.type_.fit(words, SMALL, room - GRID).into_owned();
            pen.text(&words, SMALL, color, pos2(left, y), Align::Left);
        };
        let series = self.series();
        let colors: Vec<(&[HeadId], Rgba)> = series
            .iter()
            .enumerate()
            .filter(|(_, series)| series.kind.is_some())
            .map(|(nth, series)| (series.heads.as_slice(), pen.palette.head(nth - 1)))
            .collect();
        let head = layout.row(0);
        cell(pen, "Head", weak, head.left(), HEAD_PT, head.center().y);
        cell(pen, "Kinds", weak, head.left() + HEAD_PT, kinds_pt, head.center().y);
        for (nth, metric) in metrics.into_iter().enumerate() {
            cell(pen, metric.title(), weak, x(nth), number_pt, head.center().y);
        }
        pen.line(head.left_bottom(), head.right_bottom(), 0.75, pen.palette.rule);
        for (nth, id) in self.rows().into_iter().take(layout.n_rows()).enumerate() {
            let row = layout.row(nth + 1);
            if id == self.head {
                pen.rect(row, pen.palette.raised);
            }
            let y = row.center().y;
            cell(pen, &id.to_string(), text, row.left(), HEAD_PT, y);
            // The colour of its points: the table is their legend, too.
            let color = colors.iter().find(|(heads, _)| heads.contains(&id)).map_or(text, |(_, color)| *color);
            cell(pen, &kinds_text(table, id), color, row.left() + HEAD_PT, kinds_pt, y);
            for (nth, metric) in metrics.into_iter().enumerate() {
                let texts = shorter_and_shorter(table.cell(metric, id));
                let fits = |words: &&String| pen.type_.width(words, SMALL) <= number_pt - GRID;
                let words = texts.iter().find(fits).or(texts.last()).cloned().unwrap_or_default();
                cell(pen, &words, text, x(nth), number_pt, y);
            }
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
        for series in chart.series.iter().filter(|series| series.points().next().is_some()) {
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
        let named = table.heads.iter().filter(|head| !table.kinds_of(**head, |_| None).is_empty()).count();
        let heads = counted(table.heads.len(), "head");
        format!("{named} of {heads} of a known kind")
    }
}

/// What a head is called.
pub fn kinds_text(table: &StackTable, head: HeadId) -> String {
    let kinds: Vec<&str> = table.kinds_of(head, |_| None).iter().map(|(kind, _)| kind.kind_title()).collect();
    if kinds.is_empty() { "–".to_owned() } else { kinds.join(", ") }
}

/// A number with its standard error and rank: `0.41 ± 0.02, 3rd of 144`.
pub fn number_text(cell: Option<RankedStatistic>) -> String {
    let Some(cell) = cell else { return "not defined".to_owned() };
    format!("{}, {}", cell.text(), cell.rank_text())
}

/// The same in less and less room.
fn shorter_and_shorter(cell: Option<RankedStatistic>) -> Vec<String> {
    let whole = number_text(cell);
    let Some(cell) = cell else { return vec![whole, "–".to_owned()] };
    let value = decimal_text(cell.statistic.value);
    vec![whole, format!("{value}, {}", cell.rank_text()), format!("{value}, {}", ordinal_text(cell.rank)), value]
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
        let named = self.named_text();
        let short = joined([what.as_str(), &named]);
        Captions { short, full: joined([what.as_str(), &named, how, &color]) }
    }
}
