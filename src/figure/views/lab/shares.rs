//! What parts add up to: a bar for each of the largest, the others together, and the sum.

use std::sync::Arc;

use emath::{Pos2, Rect, pos2, vec2};

use super::{
    Hit, Piece, ROW_PT,
    map::{Map, MapAxis, Place},
    room,
};
use crate::{
    analysis::explain::report::{ColumnValues, TableColumn},
    capture::Matrix,
    figure::{
        font::Align,
        measure::{GRID, text_size::SMALL},
        pen::Pen,
    },
    raster::ColorMap,
    text::{grouped, norm_text},
};

/// Parts that are drawn one by one.
const MOST: usize = 12;
/// Room for a name, for its bar and for its number.
const MOST_NAME_PT: f32 = 180.0;
const BAR_PT: f32 = 160.0;
const LEAST_BAR_PT: f32 = 48.0;
const NUMBER_PT: f32 = 14.0 * GRID;

/// The largest parts of a sum.
#[derive(Clone, Debug)]
struct Shares {
    /// Name and number of each, the last of them the sum.
    rows: Vec<(String, f64)>,
}

/// The picture of a table of parts of a sum, or of pairs of them; `None` of other tables.
pub(super) fn piece(columns: &[TableColumn], unit: &str) -> Option<Arc<dyn Piece>> {
    let (first, others) = columns.split_first()?;
    let ColumnValues::Text(names) = &first.cells else { return None };
    let numbers = others.iter().map(|column| match &column.cells {
        ColumnValues::Number(values) => Some(values),
        _ => None,
    });
    let numbers = numbers.collect::<Option<Vec<_>>>()?;
    match (&*first.name, &numbers[..]) {
        ("part", [values]) => Some(Arc::new(Shares::of(names, values))),
        ("query_part", cols) => {
            let cell = |row: usize| cols.iter().map(move |col| col.get(row).map_or(f32::NAN, |value| *value as f32));
            let values = (0..names.len()).flat_map(cell).collect::<Vec<f32>>();
            let axis = |names: Vec<String>| MapAxis { names, tokens: None };
            Some(Arc::new(Map {
                rows: axis(names.clone()),
                cols: axis(others.iter().map(|column| column.name.to_string()).collect()),
                values: Matrix::new(values, [names.len(), cols.len()]).ok()?,
                words: None,
                unit: unit.to_owned(),
                heads: None,
                marked: None,
                mask: None,
                unsigned: ColorMap::Explained,
                place: Place::ALONE,
            }))
        }
        _ => None,
    }
}

impl Shares {
    /// Of parts, the largest first.
    fn of(names: &[String], values: &[f64]) -> Self {
        let mut rows: Vec<_> = names.iter().cloned().zip(values.iter().copied()).take(MOST).collect();
        let rest = &values[rows.len()..];
        if !rest.is_empty() {
            rows.push((format!("{} more", grouped(rest.len())), rest.iter().sum()));
        }
        rows.push(("Sum".to_owned(), values.iter().sum()));
        Self { rows }
    }

    fn name_width(&self) -> f32 {
        room(self.rows.iter().map(|(name, _)| name.as_str()), MOST_NAME_PT).max(48.0) + 3.0 * GRID
    }

    fn row(area: Rect, nth: usize) -> Rect {
        Rect::from_min_size(area.min + vec2(0.0, nth as f32 * ROW_PT), vec2(area.width(), ROW_PT))
    }
}

impl Piece for Shares {
    fn width(&self) -> f32 {
        self.name_width() + BAR_PT + NUMBER_PT
    }

    fn least_width(&self) -> f32 {
        self.name_width() + LEAST_BAR_PT + NUMBER_PT
    }

    fn height(&self, _: f32) -> f32 {
        self.rows.len() as f32 * ROW_PT
    }

    fn draw(&self, area: Rect, pen: &mut Pen<'_>) {
        let n = self.rows.len();
        let parts = &self.rows[..n - 1];
        let most = parts.iter().fold(f64::MIN_POSITIVE, |most, (_, value)| most.max(value.abs()));
        let left = area.left() + self.name_width();
        let width = (area.width() - self.name_width() - NUMBER_PT).clamp(LEAST_BAR_PT, BAR_PT);
        let signed = parts.iter().any(|(_, value)| *value < 0.0);
        let (zero, reach) = if signed { (left + width / 2.0, width / 2.0) } else { (left, width) };
        let top_of_sum = Self::row(area, n - 1).top();
        pen.line(pos2(zero, area.top()), pos2(zero, top_of_sum), 0.75, pen.palette.rule);
        let right = left + width + NUMBER_PT;
        pen.line(pos2(area.left(), top_of_sum), pos2(right, top_of_sum), 0.75, pen.palette.rule);
        for (nth, (name, value)) in self.rows.iter().enumerate() {
            let band = Self::row(area, nth);
            if !pen.sees(band) {
                continue;
            }
            let middle = band.center().y;
            let name = pen.type_.fit(name, SMALL, self.name_width() - 2.0 * GRID).into_owned();
            pen.text(&name, SMALL, pen.palette.text, pos2(area.left(), middle), Align::Left);
            pen.text(&norm_text(*value), SMALL, pen.palette.text, pos2(right, middle), Align::Right);
            if nth < parts.len() {
                let end = zero + (value / most) as f32 * reach;
                let bar = Rect::from_x_y_ranges(zero.min(end)..=zero.max(end), band.shrink(3.0).y_range());
                pen.rect(bar, if *value < 0.0 { pen.palette.minus } else { pen.palette.plus });
            }
        }
    }

    fn at(&self, area: Rect, at: Pos2) -> Option<Hit> {
        let nth = (0..self.rows.len()).find(|nth| Self::row(area, *nth).contains(at))?;
        let (name, value) = &self.rows[nth];
        Some(Hit::saying(Self::row(area, nth), format!("{name}: {}", norm_text(*value))))
    }

    fn spoken(&self) -> Vec<String> {
        self.rows.iter().map(|(name, value)| format!("{name}: {}", norm_text(*value))).collect()
    }
}
