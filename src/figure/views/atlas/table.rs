//! The table of heads: its columns, the order of its rows, and how it is drawn.

use emath::{Rangef, pos2};

use super::{
    AtlasScene, ContrastOrder, PointColor, PointColors, TableOrder, column_text, kinds_text, layout::AtlasLayout,
    number_text,
};
use crate::{
    analysis::head_statistics::{Metric, RankedStatistic},
    figure::{
        font::Align,
        list::Rgba,
        measure::{GRID, text_size::SMALL},
        pen::Pen,
    },
    ids::HeadId,
    text::{decimal_text, ordinal_text},
};

/// Width of the column with the head.
const HEAD_PT: f32 = 12.0 * GRID;
/// What the numbers have of the width together; kinds have the rest.
const NUMBERS_SHARE: f32 = 0.66;
/// The same where families have a column.
const NUMBERS_BESIDE_FAMILIES: f32 = 0.48;
/// Families have this part of the width of the words.
const FAMILIES_SHARE: f32 = 0.68;
/// Columns of numbers that share that width at least.
const LEAST_NUMBERS: usize = 3;

/// A column of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableColumn {
    Head,
    Kinds,
    /// The family, with why it is one.
    Family,
    Number(Metric),
    /// What is told of the number of the cells, of two sides.
    Contrast(ContrastOrder),
}

impl TableColumn {
    /// The order in which a click on the name puts the rows.
    pub const fn order(self) -> TableOrder {
        match self {
            Self::Head => TableOrder::Layer,
            Self::Kinds => TableOrder::Kind,
            Self::Family => TableOrder::Family,
            Self::Number(metric) => TableOrder::By(metric),
            Self::Contrast(of) => TableOrder::Contrast(of),
        }
    }
}

impl AtlasScene {
    /// The name above a column.
    pub fn column_title(&self, column: TableColumn) -> String {
        match column {
            TableColumn::Head => "Head".to_owned(),
            TableColumn::Kinds => "Kinds".to_owned(),
            TableColumn::Family => "Family".to_owned(),
            TableColumn::Number(metric) => metric.title().to_owned(),
            TableColumn::Contrast(ContrastOrder::First) => self.side_name(0).to_owned(),
            TableColumn::Contrast(ContrastOrder::Second) => self.side_name(1).to_owned(),
            TableColumn::Contrast(ContrastOrder::Effect) => "d".to_owned(),
            TableColumn::Contrast(of) => of.title().to_owned(),
        }
    }

    /// What a column tells, as a sentence; empty where its name says it.
    pub fn column_meaning(&self, column: TableColumn) -> String {
        let number = self.options.color.title();
        match column {
            TableColumn::Head | TableColumn::Kinds => String::new(),
            TableColumn::Family => "Heads whose standardised numbers point the same way (average linkage), with the numbers on \
                                    which they stand out"
                .to_owned(),
            TableColumn::Number(metric) => metric.meaning().to_owned(),
            TableColumn::Contrast(of @ (ContrastOrder::First | ContrastOrder::Second)) => {
                let side = self.side_name(usize::from(of == ContrastOrder::Second));
                format!("{number}: mean over the inputs of {side}, each of which counts once")
            }
            TableColumn::Contrast(ContrastOrder::Difference) => {
                format!("{number}: the mean of {} less that of {}", self.side_name(1), self.side_name(0))
            }
            TableColumn::Contrast(ContrastOrder::Effect) => {
                "Cohen’s d: the difference in standard deviations of both sides together; rows stand by its size, whichever \
                 way it goes"
                    .to_owned()
            }
            TableColumn::Contrast(ContrastOrder::Corrected) => format!(
                "p of Welch’s test, corrected for the number of heads of the stack ({})",
                self.options.correction.title()
            ),
        }
    }

    /// What is told of a head, as kinds of both sides where these differ.
    pub fn kinds_of(&self, head: HeadId) -> String {
        let of = |table| kinds_text(table, head, &self.options.thresholds);
        match (self.table().map(of), self.other_table().map(of)) {
            (Some(first), Some(second)) if first != second => format!("{first} → {second}"),
            (Some(first), _) => first,
            (None, _) => String::new(),
        }
    }

    /// The columns of the table with their places.
    pub fn columns(&self, layout: &AtlasLayout) -> Vec<(TableColumn, Rangef)> {
        let metrics: Vec<TableColumn> = match self.contrast() {
            Some(_) => ContrastOrder::ALL.into_iter().map(TableColumn::Contrast).collect(),
            None => self.options.columns().into_iter().map(TableColumn::Number).collect(),
        };
        let table = layout.table;
        // Words have more where there are more of them.
        let share = if self.families.is_some() { NUMBERS_BESIDE_FAMILIES } else { NUMBERS_SHARE };
        let each = share * table.width() / metrics.len().max(LEAST_NUMBERS) as f32;
        let numbers = table.right() - metrics.len() as f32 * each;
        let head = table.left() + HEAD_PT;
        let mut columns = vec![(TableColumn::Head, Rangef::new(table.left(), head))];
        if self.families.is_some() {
            let middle = head + (1.0 - FAMILIES_SHARE) * (numbers - head);
            columns.push((TableColumn::Kinds, Rangef::new(head, middle)));
            columns.push((TableColumn::Family, Rangef::new(middle, numbers)));
        } else {
            columns.push((TableColumn::Kinds, Rangef::new(head, numbers)));
        }
        for (nth, metric) in metrics.into_iter().enumerate() {
            let left = numbers + nth as f32 * each;
            columns.push((metric, Rangef::new(left, left + each)));
        }
        columns
    }

    /// Heads in the order of the table: those without the number that orders it are left out.
    pub fn rows(&self) -> Vec<HeadId> {
        let Some(table) = self.table() else { return Vec::new() };
        let by_number = !matches!(self.options.order, TableOrder::Kind | TableOrder::Family | TableOrder::Layer);
        if let Some(contrast) = self.contrast().filter(|_| by_number) {
            return self.contrast_rows(contrast);
        }
        let mut rows = match (self.options.order, self.options.ordered_by()) {
            (TableOrder::Kind, _) => {
                let firsts = self.first_kinds(table);
                let mut order: Vec<usize> = (0..table.heads.len()).collect();
                order.sort_by_key(|at| firsts[*at].map_or(usize::MAX, Metric::slot));
                order.into_iter().map(|at| table.heads[at]).collect()
            }
            (TableOrder::Family, _) => {
                let mut rows = table.heads.clone();
                rows.sort_by_key(|head| self.family(*head).unwrap_or(usize::MAX));
                rows
            }
            (_, Some(metric)) => match table.column(metric) {
                Some(column) => column.order().into_iter().map(|at| table.heads[at]).collect(),
                None => table.heads.clone(),
            },
            (TableOrder::Layer, _) | (_, None) => table.heads.clone(),
        };
        if self.options.lowest_first {
            rows.reverse();
        }
        rows
    }

    /// Draws as many rows as there is room for.
    pub(super) fn draw_table(&self, layout: &AtlasLayout, pen: &mut Pen<'_>) {
        let Some(table) = self.table() else { return };
        let columns = self.columns(layout);
        let (weak, text) = (pen.palette.text_weak, pen.palette.text);
        let cell = |pen: &mut Pen<'_>, words: &str, color: Rgba, place: Rangef, y: f32| {
            let words = pen.type_.fit(words, SMALL, place.span() - GRID).into_owned();
            pen.text(&words, SMALL, color, pos2(place.min, y), Align::Left);
        };
        let series = self.series();
        let colors: Vec<(&[HeadId], Rgba)> = series
            .iter()
            .filter(|series| matches!(series.color, PointColor::Kind(Some(_)) | PointColor::Family(Some(_))))
            .map(|series| (series.heads.as_slice(), self.color_of(series.color, &pen.palette)))
            .collect();
        // The colour of its points: the table is their legend, too.
        let color_of =
            |head: HeadId| colors.iter().find(|(heads, _)| heads.contains(&head)).map_or(text, |(_, color)| *color);
        let names = layout.row(0);
        for (column, place) in &columns {
            let orders = self.options.is_ordered_by(column.order());
            let arrow = match (orders, self.options.lowest_first) {
                (false, _) => "",
                (true, false) => " ↓",
                (true, true) => " ↑",
            };
            let room = place.span() - GRID - pen.type_.width(arrow, SMALL);
            let name = pen.type_.fit(&self.column_title(*column), SMALL, room).into_owned();
            let color = if orders { text } else { weak };
            cell(pen, &format!("{name}{arrow}"), color, *place, names.center().y);
        }
        pen.line(names.left_bottom(), names.right_bottom(), 0.75, pen.palette.rule);
        for (nth, id) in self.rows().into_iter().take(layout.n_rows()).enumerate() {
            let row = layout.row(nth + 1);
            if id == self.head {
                pen.rect(row, pen.palette.raised);
            }
            let y = row.center().y;
            for (column, place) in &columns {
                match column {
                    TableColumn::Head => cell(pen, &id.to_string(), text, *place, y),
                    TableColumn::Kinds => {
                        let color = if self.options.point_color == PointColors::Kind { color_of(id) } else { text };
                        cell(pen, &self.kinds_of(id), color, *place, y);
                    }
                    TableColumn::Family => {
                        let color = if self.options.point_color == PointColors::Family { color_of(id) } else { text };
                        let families = self.families.as_ref().zip(self.family(id));
                        let words = families.map(|(families, nth)| families.text(nth)).unwrap_or_default();
                        cell(pen, &words, color, *place, y);
                    }
                    TableColumn::Number(metric) => {
                        let texts = shorter_and_shorter(table.cell(*metric, id));
                        let fits = |words: &&String| pen.type_.width(words, SMALL) <= place.span() - GRID;
                        let words = texts.iter().find(fits).or(texts.last()).cloned().unwrap_or_default();
                        cell(pen, &words, text, *place, y);
                    }
                    TableColumn::Contrast(of) => {
                        let found = self.contrast_cell(self.options.color, id);
                        // What does not differ stands back.
                        let color = if found.is_some_and(|cell| cell.differs()) { text } else { weak };
                        cell(pen, &column_text(found, *of), color, *place, y);
                    }
                }
            }
        }
    }
}

/// A number with its standard error and rank, in less and less room.
fn shorter_and_shorter(cell: Option<RankedStatistic>) -> Vec<String> {
    let whole = number_text(cell);
    let Some(cell) = cell else { return vec![whole, "–".to_owned()] };
    let value = decimal_text(cell.statistic.value);
    vec![whole, format!("{value}, {}", cell.rank_text()), format!("{value}, {}", ordinal_text(cell.rank)), value]
}
