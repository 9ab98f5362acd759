//! Atlas of heads: points between two numbers, cells by layer and head, and a table with ranks, of all inputs.

use std::sync::Arc;

use emath::{Rect, pos2, vec2};

use super::joined;
use crate::{
    analysis::{
        cloud_query::CloudResult,
        head_statistics::{Families, Metric, RankedStatistic, StackTable, Thresholds},
    },
    figure::{
        chart::{Chart, SeriesShape},
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

mod contrast;
pub mod layout;
mod names;
mod of_folder;
mod options;
mod points;
mod spec;
mod table;

pub use contrast::{Arrows, column_text, contrast_text};
pub use names::{PlacedName, PointNames};
pub use of_folder::{FolderAxes, FolderScene};
pub use options::{AtlasOptions, ContrastOrder, FAMILIES, PointColors, TableOrder};
pub use points::{PointColor, PointSeries};
pub use spec::SPEC;
pub use table::TableColumn;

use layout::AtlasLayout;

/// Numbers closer than this are left out.
const LABEL_PT: f32 = 18.0;
/// Height of a line of the legend of the points.
const LEGEND_LINE_PT: f32 = 3.5 * GRID;
/// Side of the mark on the cell of a head that differs.
const DIFFERS_PT: f32 = 4.0;

/// The Atlas view of one stack.
#[derive(Clone, Debug)]
pub struct AtlasScene {
    /// [`CloudResult::Statistics`], or [`CloudResult::Contrast`].
    pub found: Arc<CloudResult>,
    /// What the two sides of the latter are called.
    pub sides: Option<[String; 2]>,
    /// Families of its heads, where they are shown.
    pub families: Option<Arc<Families>>,
    /// Layers and the largest number of heads of a layer.
    pub grid: (usize, usize),
    /// The head that is looked at.
    pub head: HeadId,
    pub options: AtlasOptions,
    pub color_map: ColorMap,
}

impl AtlasScene {
    /// The numbers of all heads; of two sides those of the first.
    pub fn table(&self) -> Option<&StackTable> {
        self.found.table()
    }

    /// The family of a head, by its place.
    pub fn family(&self, head: HeadId) -> Option<usize> {
        self.families.as_ref()?.of(head)
    }

    /// What its families are, where they are shown: `Families: 1 (12 heads, silhouette 0.41: previous token high), …`.
    pub fn families_text(&self) -> String {
        let Some(families) = &self.families else { return String::new() };
        let all = families.all().iter().enumerate();
        let each: Vec<String> = all.map(|(nth, family)| format!("{} ({})", nth + 1, family.text())).collect();
        format!("Families by average linkage of standardised numbers: {}", each.join(", "))
    }

    /// Where everything stands in an area.
    pub fn layout(&self, area: Rect, medium: Medium) -> AtlasLayout {
        AtlasLayout::of_scene(area, self.grid, medium)
    }

    /// The number of a cell by the place of its head in the table: of two sides the difference. None where it is not
    /// defined.
    pub fn cell_value(&self, at: usize) -> Option<f64> {
        let value = self.value(self.options.color, at)?;
        if self.contrast().is_none() {
            return Some(value);
        }
        Some(value - self.value_before(self.options.color, at)?)
    }

    /// The ends of the colours of the cells: differences lie about 0.
    pub fn range(&self) -> [f64; 2] {
        if self.contrast().is_none() {
            return self.range_of(self.options.color);
        }
        let n = self.table().map_or(0, |table| table.heads.len());
        let most = (0..n).filter_map(|at| self.cell_value(at)).fold(0.0, |most: f64, value| most.max(value.abs()));
        if most > 0.0 { [-most, most] } else { [-1.0, 1.0] }
    }

    /// The ends of a number over all heads: from 0 on where none is below it.
    pub fn range_of(&self, metric: Metric) -> [f64; 2] {
        let n = self.table().map_or(0, |table| table.heads.len());
        let values = || (0..n).flat_map(|at| [self.value(metric, at), self.value_before(metric, at)]).flatten();
        let low = values().fold(0.0, f64::min);
        let high = values().fold(f64::NEG_INFINITY, f64::max);
        if high > low { [low, high] } else { [low, low + 1.0] }
    }

    /// The colour of a point at a share of its range.
    pub fn color(&self, share: f32, palette: &Palette) -> Rgba {
        self.color_map.on(palette.ground).color(share)
    }

    /// The colour of a cell at a share of the range of the cells: differences have signs.
    pub fn cell_color(&self, share: f32, palette: &Palette) -> Rgba {
        if self.contrast().is_some() { palette.signed(2.0 * share - 1.0) } else { self.color(share, palette) }
    }

    /// What the colours of the cells are.
    pub fn cells_title(&self) -> String {
        let title = self.options.color.title();
        if self.contrast().is_none() {
            return title.to_owned();
        }
        format!("{title}: {} less {}", self.side_name(1), self.side_name(0))
    }

    /// The number at a share of the range of the cells.
    pub fn tick(&self, share: f32) -> String {
        let [low, high] = self.range();
        tick_text((low + f64::from(share) * (high - low)) as f32)
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
        let words = pen.type_.fit(&self.cells_title(), SMALL, layout.heads_width()).into_owned();
        pen.text(&words, SMALL, pen.palette.text, title, Align::Left);
        let [low, high] = self.range();
        for (nth, head) in self.table().map_or(&[][..], |table| &table.heads).iter().enumerate() {
            let cell = cells.cell(head.layer, head.head).shrink(0.5);
            if let Some(value) = self.cell_value(nth) {
                let color = self.cell_color(((value - low) / (high - low)) as f32, &pen.palette);
                pen.rect(cell, color);
                if self.contrast().is_some() {
                    // No difference has the colour of the ground.
                    pen.frame(cell, 0.5, pen.palette.rule);
                }
                if self.contrast_cell(self.options.color, *head).is_some_and(|cell| cell.differs()) {
                    let dot = vec2(DIFFERS_PT, DIFFERS_PT).min(cell.size());
                    pen.rect(Rect::from_center_size(cell.center(), dot), pen.palette.text);
                }
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
            pen.color_bar(bar, |share| self.cell_color(share, &palette), |share| self.tick(share));
        }
    }

    fn draw_points(&self, layout: &AtlasLayout, pen: &mut Pen<'_>) {
        let chart = self.chart(&pen.palette);
        let title = layout.plot.left_top() - vec2(0.0, 7.5 * GRID);
        pen.text(&chart.y.title, SMALL, pen.palette.text, title, Align::Left);
        // What a legend needs more than one line for is taken from the points.
        let legend = self.legend(&chart, layout.plot.width(), pen);
        let first = layout.plot.top() - 2.5 * GRID;
        let below = legend.len().saturating_sub(1) as f32 * LEGEND_LINE_PT;
        let rect = layout.plot.with_min_y(layout.plot.top() + below);
        for (nth, line) in legend.iter().enumerate() {
            for (text, color, x) in line {
                let at = pos2(rect.left() + x, first + nth as f32 * LEGEND_LINE_PT);
                pen.text(text, SMALL, *color, at, Align::Left);
            }
        }
        let (axes, weak) = (chart.axes(rect), pen.palette.text_weak);
        pen.frame(rect, 0.75, pen.palette.rule);
        for series in &chart.series {
            if series.shape == SeriesShape::Arrows {
                pen.lines(series.arrows(&axes));
                continue;
            }
            let square = |[x, y]: [f64; 2]| {
                let (at, half) = (axes.at(x, y), vec2(series.width / 2.0, 0.0));
                Line { from: at - half, to: at + half, width: series.width, color: series.color }
            };
            pen.lines(series.points().map(square).collect());
        }
        self.draw_names(rect, &axes, pen);
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
    }

    /// Lines of what arrows, colours and sizes stand for, each part with its colour and place in the line.
    fn legend(&self, chart: &Chart, width: f32, pen: &mut Pen<'_>) -> Vec<Vec<(String, Rgba, f32)>> {
        let channels = Some((self.channels_text(), pen.palette.text_weak)).filter(|(text, _)| !text.is_empty());
        let mut parts: Vec<(String, Rgba)> = channels.into_iter().collect();
        for series in chart.series.iter().filter(|series| !series.name.is_empty()) {
            // Those that differ in size alone have one name.
            if parts.iter().all(|(known, _)| *known != series.name) {
                parts.push((series.name.clone(), series.color));
            }
        }
        let mut lines: Vec<Vec<(String, Rgba, f32)>> = Vec::new();
        let mut x = f32::INFINITY;
        for (text, color) in parts {
            let text = pen.type_.fit(&text, SMALL, width).into_owned();
            let of_text = pen.type_.width(&text, SMALL);
            if x + of_text > width {
                lines.push(Vec::new());
                x = 0.0;
            }
            lines.last_mut().into_iter().for_each(|line| line.push((text.clone(), color, x)));
            x += of_text + 3.0 * GRID;
        }
        lines
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
        let stack = match table.stack {
            StackKind::SelfAttention => String::new(),
            stack => format!(" of the {stack} stack"),
        };
        let moved = self.options.thresholds.text();
        let moved =
            if moved.is_empty() { moved } else { format!("Thresholds that were moved: {}", moved.replace(',', ", ")) };
        let color = format!("{}: {}", self.options.color.title(), self.options.color.meaning());
        let channels = capitalised(&self.channels_text());
        let struck = "a struck cell is not defined";
        if let Some(contrast) = self.contrast() {
            let side = |nth: usize| format!("{} ({})", self.side_name(nth), counted(contrast.n_inputs[nth], "input"));
            let what = format!("Heads{stack} over {}, held against {}", side(1), side(0));
            let how = format!(
                "Numbers are means over inputs, each of which counts once; d is Cohen’s, p that of Welch’s test, corrected over \
                 the heads of the stack; a dot marks cells of heads that differ, {struck}"
            );
            let differing = self.differing_text();
            let short = joined([what.as_str(), &differing, &moved]);
            let families = self.families_text();
            let full = joined([what.as_str(), &differing, &how, &color, &channels, &families, &moved]);
            return Captions { short, full };
        }
        let queries = grouped(table.n_queries as usize);
        let what = format!("Heads{stack} over {}, {queries} queries", counted(table.n_inputs, "input"));
        let how = format!("Numbers are means over all rows that qualify, ± the standard error over inputs; {struck}");
        let named = self.named_text();
        let short = joined([what.as_str(), &named, &moved]);
        let families = self.families_text();
        Captions { short, full: joined([what.as_str(), &named, &how, &color, &channels, &families, &moved]) }
    }
}
