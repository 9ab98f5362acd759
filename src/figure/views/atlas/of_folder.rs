//! Heads of a folder as points between two of its numbers, as cells and in a table: with the names that the folder has.

use std::sync::Arc;

use emath::{Rangef, Rect, pos2, vec2};
use serde::{Deserialize, Serialize};

use super::layout::AtlasLayout;
use crate::{
    analysis::head_folder::HeadFolder,
    figure::{
        chart::{Chart, ChartAxis, Scale, Series, SeriesShape},
        font::Align,
        list::Rgba,
        measure::{GRID, text_size::SMALL},
        palette::Palette,
        pen::{Medium, Pen},
        views::headpage::shown,
    },
    ids::HeadId,
    raster::ColorMap,
    text::{counted, decimal_text, tick_text, whole_text},
};

/// Side of the square of a head.
const POINT_PT: f32 = 5.0;
/// Numbers closer than this are left out.
const LABEL_PT: f32 = 18.0;
/// Width of the column with the head.
const HEAD_PT: f32 = 12.0 * GRID;
/// Columns of numbers of the table.
const MOST_COLUMNS: usize = 6;

/// Which numbers of a folder are shown, by their places among [`FolderScene::n_numbers`]: none where it is left to the folder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FolderAxes {
    pub across: Option<usize>,
    pub up: Option<usize>,
    pub color: Option<usize>,
    /// By which the rows of the table are ordered; by the cells' where none is chosen.
    pub order: Option<usize>,
    pub lowest_first: bool,
}

/// The Atlas view of a folder.
#[derive(Clone, Debug)]
pub struct FolderScene {
    pub folder: Arc<HeadFolder>,
    /// The head that is looked at.
    pub head: HeadId,
    pub axes: FolderAxes,
    pub color_map: ColorMap,
}

impl FolderScene {
    /// Numbers that heads have: layer and head are the first two.
    pub fn n_numbers(&self) -> usize {
        2 + self.folder.index.metrics.len()
    }

    /// What a number is called.
    pub fn name(&self, number: usize) -> String {
        match number {
            0 => "layer".to_owned(),
            1 => "head".to_owned(),
            _ => self.folder.index.metrics.get(number - 2).map_or_else(String::new, |metric| shown(&metric.name)),
        }
    }

    /// What the folder says about a number.
    pub fn description(&self, number: usize) -> &str {
        match number {
            0 => "The layer, from 0",
            1 => "The number of the head in its layer, from 0",
            _ => self.folder.index.metrics.get(number - 2).map_or("", |metric| &metric.description),
        }
    }

    /// A number of the head at a place of the folder; none where it has none.
    pub fn value(&self, number: usize, at: usize) -> Option<f64> {
        let index = &self.folder.index;
        match number {
            0 => Some(index.heads.get(at)?.layer as f64),
            1 => Some(index.heads.get(at)?.head as f64),
            _ => *index.metrics.get(number - 2)?.values.get(at)?,
        }
    }

    /// The number with this name.
    fn numbered(&self, name: &str) -> Option<usize> {
        (0..self.n_numbers()).find(|number| self.name(*number) == name)
    }

    fn number(&self, chosen: Option<usize>, usual: usize) -> usize {
        chosen.unwrap_or(usual).min(self.n_numbers() - 1)
    }

    /// The numbers along and up the points: those that the folder begins with, else its first two.
    pub fn across_and_up(&self) -> [usize; 2] {
        let said = [0, 1].map(|at| self.folder.index.dimensions[at].as_deref().and_then(|name| self.numbered(name)));
        let first = |at: usize| if self.n_numbers() > 3 { 2 + at } else { at };
        [
            self.number(self.axes.across, said[0].unwrap_or(first(0))),
            self.number(self.axes.up, said[1].unwrap_or(first(1))),
        ]
    }

    /// The number that colours the cells.
    pub fn color_number(&self) -> usize {
        self.number(self.axes.color, 2)
    }

    /// The number by which the rows of the table are ordered.
    pub fn order_number(&self) -> usize {
        self.number(self.axes.order, self.color_number())
    }

    /// The ends of a number over all heads: from 0 on where none is below it.
    pub fn range(&self, number: usize) -> [f64; 2] {
        let values = || (0..self.folder.index.heads.len()).filter_map(|at| self.value(number, at));
        let (low, high) = (values().fold(0.0, f64::min), values().fold(f64::NEG_INFINITY, f64::max));
        if high > low { [low, high] } else { [low, low + 1.0] }
    }

    /// The number of the cells at a share of its range.
    pub fn tick(&self, share: f32) -> String {
        let [low, high] = self.range(self.color_number());
        tick_text((low + f64::from(share) * (high - low)) as f32)
    }

    /// The colour at a share of the range.
    pub fn color(&self, share: f32, palette: &Palette) -> Rgba {
        self.color_map.on(palette.ground).color(share)
    }

    /// A head's number with its rank, such as `0.41, 3rd of 144`.
    pub fn number_text(&self, number: usize, at: usize) -> String {
        let metric = number.checked_sub(2).and_then(|nth| self.folder.index.metrics.get(nth));
        match metric {
            Some(metric) => self.folder.index.ranked_text(metric, at),
            None => self.value(number, at).map_or_else(String::new, whole_text),
        }
    }

    /// Numbers of the table, each once.
    pub fn columns(&self) -> Vec<usize> {
        let [across, up] = self.across_and_up();
        let wanted = [self.color_number(), across, up, self.order_number()].into_iter().chain(2..self.n_numbers());
        let mut columns = Vec::new();
        for number in wanted {
            if !columns.contains(&number) && number > 1 {
                columns.push(number);
            }
        }
        columns.truncate(MOST_COLUMNS);
        columns
    }

    /// Places of the columns of numbers in the table.
    pub fn places(&self, layout: &AtlasLayout) -> Vec<(usize, Rangef)> {
        let columns = self.columns();
        let left = layout.table.left() + HEAD_PT;
        let each = (layout.table.right() - left) / columns.len().max(3) as f32;
        let place = |nth: usize| Rangef::new(left + nth as f32 * each, left + (nth + 1) as f32 * each);
        columns.into_iter().enumerate().map(|(nth, number)| (number, place(nth))).collect()
    }

    /// Places of the heads in the order of the table; those without the number that orders it come last.
    pub fn rows(&self) -> Vec<usize> {
        let number = self.order_number();
        let mut rows: Vec<usize> = (0..self.folder.index.heads.len()).collect();
        let key = |at: usize| self.value(number, at);
        rows.sort_by(|a, b| match (key(*a), key(*b)) {
            (Some(a), Some(b)) if self.axes.lowest_first => a.total_cmp(&b),
            (Some(a), Some(b)) => b.total_cmp(&a),
            (a, b) => b.is_some().cmp(&a.is_some()),
        });
        rows
    }

    /// Draws cells and table; `layout` is that of the whole area.
    pub fn draw_heads(&self, layout: &AtlasLayout, pen: &mut Pen<'_>) {
        self.draw_cells(layout, pen);
        self.draw_table(layout, pen);
    }

    fn draw_cells(&self, layout: &AtlasLayout, pen: &mut Pen<'_>) {
        let (rect, weak, cells) = (layout.mosaic, pen.palette.text_weak, layout.heads());
        let title = rect.left_top() - vec2(0.0, 7.5 * GRID);
        pen.text(&self.name(self.color_number()), SMALL, pen.palette.text, title, Align::Left);
        let [low, high] = self.range(self.color_number());
        let (n_layers, n_heads) = layout.grid;
        for (at, id) in self.folder.index.heads.iter().enumerate() {
            let cell = cells.cell(id.layer, id.head).shrink(0.5);
            if let Some(value) = self.value(self.color_number(), at) {
                pen.rect(cell, self.color(((value - low) / (high - low)) as f32, &pen.palette));
            } else {
                // Not defined is not 0.
                pen.rect(cell, pen.palette.raised);
                pen.line(cell.left_bottom(), cell.right_top(), 0.75, weak);
            }
        }
        let step = |side: f32| (LABEL_PT / side.max(0.1)).ceil().max(1.0) as usize;
        let side = cells.cell(0, 0).size();
        for layer in (0..n_layers).step_by(step(side.y)) {
            let at = pos2(rect.left() - 1.5 * GRID, cells.cell(layer, 0).center().y);
            pen.text(&format!("L{layer}"), SMALL, weak, at, Align::Right);
        }
        for head in (0..n_heads).step_by(step(side.x)) {
            let at = pos2(cells.cell(0, head).center().x, rect.top() - 2.0 * GRID);
            let text = if head == 0 { "H0".to_owned() } else { head.to_string() };
            pen.text(&text, SMALL, weak, at, Align::Center);
        }
        let chosen = cells.cell(self.head.layer, self.head.head);
        pen.frame(chosen.shrink(1.0), 1.0, pen.palette.text);
        pen.frame(chosen.shrink(2.0), 1.0, pen.palette.canvas);
    }

    fn draw_table(&self, layout: &AtlasLayout, pen: &mut Pen<'_>) {
        let (weak, text) = (pen.palette.text_weak, pen.palette.text);
        let cell = |pen: &mut Pen<'_>, words: &str, color: Rgba, place: Rangef, y: f32| {
            let words = pen.type_.fit(words, SMALL, place.span() - GRID).into_owned();
            pen.text(&words, SMALL, color, pos2(place.min, y), Align::Left);
        };
        let places = self.places(layout);
        let names = layout.row(0);
        let of_head = Rangef::new(names.left(), names.left() + HEAD_PT);
        cell(pen, "Head", weak, of_head, names.center().y);
        for (number, place) in &places {
            let orders = *number == self.order_number();
            let arrow = match (orders, self.axes.lowest_first) {
                (false, _) => "",
                (true, false) => " ↓",
                (true, true) => " ↑",
            };
            let room = place.span() - GRID - pen.type_.width(arrow, SMALL);
            let name = pen.type_.fit(&self.name(*number), SMALL, room).into_owned();
            cell(pen, &format!("{name}{arrow}"), if orders { text } else { weak }, *place, names.center().y);
        }
        pen.line(names.left_bottom(), names.right_bottom(), 0.75, pen.palette.rule);
        let rows: Vec<usize> = self.rows().into_iter().take(layout.n_rows()).collect();
        for (nth, at) in rows.iter().enumerate() {
            let row = layout.row(nth + 1);
            let id = self.folder.index.heads[*at];
            if id == self.head {
                pen.rect(row, pen.palette.raised);
            }
            cell(pen, &id.to_string(), self.ink(*at, pen), of_head, row.center().y);
        }
        for (number, place) in &places {
            let room = place.span() - GRID;
            let with_ranks: Vec<String> = rows.iter().map(|at| self.number_text(*number, *at)).collect();
            // A column has ranks in all of its rows, or in none.
            let fits = with_ranks.iter().all(|words| pen.type_.width(words, SMALL) <= room);
            for (nth, (at, whole)) in rows.iter().zip(with_ranks).enumerate() {
                let short = || self.value(*number, *at).map_or_else(|| "–".to_owned(), decimal_text);
                let words = if fits { whole } else { short() };
                cell(pen, &words, self.ink(*at, pen), *place, layout.row(nth + 1).center().y);
            }
        }
    }

    /// A head without a file is there and cannot be opened.
    fn ink(&self, at: usize, pen: &Pen<'_>) -> Rgba {
        let is_absent = self.folder.absent.contains(&self.folder.index.heads[at]);
        if is_absent { pen.palette.text_weak } else { pen.palette.text }
    }

    /// The heads as points, in two series: those with a file, and those without.
    pub fn chart(&self, palette: &Palette) -> Chart {
        let [across, up] = self.across_and_up();
        let of = |absent: bool| {
            let is_meant = |at: &usize| self.folder.absent.contains(&self.folder.index.heads[*at]) == absent;
            let places: Vec<usize> = (0..self.folder.index.heads.len()).filter(is_meant).collect();
            places.into_iter().filter_map(|at| Some([self.value(across, at)?, self.value(up, at)?])).collect::<Vec<_>>()
        };
        let (there, absent) = (of(false), of(true));
        let n = there.len() + absent.len();
        let along = |axis: usize| there.iter().chain(&absent).map(|point| point[axis]).collect::<Vec<_>>();
        let series = |name: &str, color: Rgba, points: &[[f64; 2]]| Series {
            name: name.to_owned(),
            shape: SeriesShape::Points,
            color,
            width: POINT_PT,
            runs: vec![points.to_vec()],
        };
        let mut all = vec![series("heads", palette.head(0), &there)];
        if !absent.is_empty() {
            all.push(series("without a file", palette.text_weak, &absent));
        }
        let missing = self.folder.index.heads.len() - n;
        let note =
            if missing > 0 { format!("{} without both numbers", counted(missing, "head")) } else { String::new() };
        Chart {
            title: "Heads between two numbers of the folder".to_owned(),
            note,
            x: ChartAxis::over(self.name(across), Scale::Linear, along(0).into_iter()),
            y: ChartAxis::over(self.name(up), Scale::Linear, along(1).into_iter()),
            series: all,
            marks: Vec::new(),
        }
    }

    /// Where a head lies in [`Self::chart`]; none without both numbers.
    pub fn point(&self, at: usize) -> Option<[f64; 2]> {
        let [across, up] = self.across_and_up();
        Some([self.value(across, at)?, self.value(up, at)?])
    }

    /// The layout in an area.
    pub fn layout(&self, area: Rect, medium: Medium) -> AtlasLayout {
        AtlasLayout::of_scene(area, self.folder.index.grid, medium)
    }
}
