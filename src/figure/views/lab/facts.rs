//! Numbers, lists of numbers and tables.

use emath::{Pos2, Rangef, Rect, pos2, vec2};

use super::{Hit, Piece, ROW_PT, n_lines, number, room};
use crate::figure::{
    font::Align,
    list::{Line, faded},
    measure::{GRID, text_size::SMALL},
    pen::Pen,
};

/// Room for a name.
const MOST_NAME_PT: f32 = 260.0;
/// A strip is as wide as this.
const STRIP_PT: f32 = 320.0;
/// Room for a cell of a table.
const MOST_CELL_PT: f32 = 300.0;

/// Named values, one below the other.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// What each is called, its value, and what that means.
    pub lines: Vec<[String; 3]>,
}

impl Facts {
    fn name_width(&self) -> f32 {
        room(self.lines.iter().map(|line| line[0].as_str()), MOST_NAME_PT) + 4.0 * GRID
    }

    /// From the top of each line to its bottom: a value may take several.
    fn spans(&self, width: f32) -> Vec<Rangef> {
        let inner = width - self.name_width();
        let mut top = 0.0;
        let span = |line: &[String; 3]| {
            let bottom = top + n_lines(&line[1], inner).max(1) as f32 * ROW_PT;
            Rangef::new(std::mem::replace(&mut top, bottom), bottom)
        };
        self.lines.iter().map(span).collect()
    }
}

impl Piece for Facts {
    fn width(&self) -> f32 {
        self.name_width() + room(self.lines.iter().map(|line| line[1].as_str()), 2.0 * MOST_NAME_PT)
    }

    fn least_width(&self) -> f32 {
        self.name_width() + 80.0
    }

    fn height(&self, width: f32) -> f32 {
        self.spans(width).last().map_or(0.0, |last| last.max)
    }

    fn draw(&self, area: Rect, pen: &mut Pen<'_>) {
        let (weak, text) = (pen.palette.text_weak, pen.palette.text);
        let left = area.left() + self.name_width();
        for ([name, value, _], span) in self.lines.iter().zip(self.spans(area.width())) {
            let y = |row: usize| area.top() + span.min + (row as f32 + 0.5) * ROW_PT;
            let name = pen.type_.fit(name, SMALL, self.name_width() - 2.0 * GRID).into_owned();
            pen.text(&name, SMALL, weak, pos2(area.left(), y(0)), Align::Left);
            for (row, words) in pen.broken(value, SMALL, area.width() - self.name_width()).iter().enumerate() {
                pen.text(words, SMALL, text, pos2(left, y(row)), Align::Left);
            }
        }
    }

    fn at(&self, area: Rect, at: Pos2) -> Option<Hit> {
        let spans = self.spans(area.width());
        let nth = spans.iter().position(|span| span.contains(at.y - area.top()))?;
        let [name, value, meaning] = &self.lines[nth];
        let rect = Rect::from_x_y_ranges(area.x_range(), area.top() + spans[nth].min..=area.top() + spans[nth].max);
        let text = if meaning.is_empty() { format!("{name}: {value}") } else { format!("{name}: {value}\n{meaning}") };
        Some(Hit::saying(rect, text))
    }

    fn spoken(&self) -> Vec<String> {
        self.lines.iter().map(|[name, value, _]| format!("{name}: {value}")).collect()
    }
}

/// Many numbers, each a stroke on a scale, with their median.
#[derive(Clone, Debug)]
pub struct Strip {
    /// The numbers.
    pub values: Vec<f64>,
    /// What they are counted in.
    pub unit: String,
}

impl Strip {
    /// The finite ones, from the smallest to the largest.
    fn sorted(&self) -> Vec<f64> {
        let mut all: Vec<f64> = self.values.iter().copied().filter(|value| value.is_finite()).collect();
        all.sort_by(f64::total_cmp);
        all
    }

    fn line(area: Rect) -> Rect {
        let width = STRIP_PT.min(area.width() - 2.0 * GRID);
        Rect::from_min_size(area.min + vec2(GRID, 2.0), vec2(width, 16.0))
    }

    fn summary(&self) -> String {
        let all = self.sorted();
        match (all.first(), all.get(all.len() / 2), all.last()) {
            (Some(least), Some(median), Some(most)) => format!(
                "{} values from {} to {}, median {} {}",
                all.len(),
                number(*least),
                number(*most),
                number(*median),
                self.unit
            ),
            _ => "no values".to_owned(),
        }
    }
}

impl Piece for Strip {
    fn width(&self) -> f32 {
        STRIP_PT + 4.0 * GRID
    }

    fn least_width(&self) -> f32 {
        160.0
    }

    fn height(&self, _: f32) -> f32 {
        18.0 + ROW_PT + GRID
    }

    fn draw(&self, area: Rect, pen: &mut Pen<'_>) {
        let (all, line) = (self.sorted(), Self::line(area));
        let (weak, text, rule, accent) =
            (pen.palette.text_weak, pen.palette.text, pen.palette.rule, pen.palette.accent);
        pen.line(line.left_center(), line.right_center(), 0.75, rule);
        let most = all.iter().copied().fold(0.0f64, |most, value| most.max(value.abs())).max(f64::MIN_POSITIVE);
        let least = all.first().copied().unwrap_or(0.0).min(0.0);
        let x = |value: f64| line.left() + ((value - least) / (most - least)) as f32 * line.width();
        let stroke = |value: &f64| Line {
            from: pos2(x(*value), line.top()),
            to: pos2(x(*value), line.bottom()),
            width: 1.0,
            color: faded(accent, 0.5),
        };
        pen.lines(all.iter().map(stroke).collect());
        if let Some(median) = all.get(all.len() / 2) {
            pen.line(pos2(x(*median), line.top() - 2.0), pos2(x(*median), line.bottom() + 2.0), 2.0, text);
        }
        let words = pen.type_.fit(&self.summary(), SMALL, area.width()).into_owned();
        pen.text(&words, SMALL, weak, pos2(area.left(), line.bottom() + 9.0), Align::Left);
    }

    fn at(&self, area: Rect, at: Pos2) -> Option<Hit> {
        let rect = Self::line(area);
        rect.contains(at).then(|| Hit::saying(rect, self.summary()))
    }

    fn spoken(&self) -> Vec<String> {
        vec![self.summary()]
    }
}

/// Columns of texts.
#[derive(Clone, Debug)]
pub struct Grid {
    /// What the columns are called, their cells, and whether those are numbers.
    pub columns: Vec<(String, Vec<String>, bool)>,
    /// How many rows there are beside those that are shown.
    pub n_left_out: usize,
}

impl Grid {
    fn widths(&self) -> Vec<f32> {
        let of = |(name, cells, _): &(String, Vec<String>, bool)| {
            room(cells.iter().map(String::as_str).chain([name.as_str()]), MOST_CELL_PT) + 4.0 * GRID
        };
        self.columns.iter().map(of).collect()
    }

    fn n_rows(&self) -> usize {
        self.columns.iter().map(|(_, cells, _)| cells.len()).max().unwrap_or(0)
    }
}

impl Piece for Grid {
    fn width(&self) -> f32 {
        self.widths().iter().sum()
    }

    fn least_width(&self) -> f32 {
        self.width().min(420.0)
    }

    fn height(&self, _: f32) -> f32 {
        (self.n_rows() + 1 + usize::from(self.n_left_out > 0)) as f32 * ROW_PT + GRID
    }

    fn draw(&self, area: Rect, pen: &mut Pen<'_>) {
        let (weak, text, rule) = (pen.palette.text_weak, pen.palette.text, pen.palette.rule);
        let y = |row: usize| area.top() + (row as f32 + 0.5) * ROW_PT;
        let widths = self.widths();
        let mut left = area.left();
        for ((name, cells, numbers), width) in self.columns.iter().zip(&widths) {
            let inner = width.min(area.right() - left).max(0.0) - 2.0 * GRID;
            if inner <= 12.0 {
                break;
            }
            let (x, align) = if *numbers { (left + inner, Align::Right) } else { (left, Align::Left) };
            let name = pen.type_.fit(name, SMALL, inner).into_owned();
            pen.text(&name, SMALL, weak, pos2(x, y(0)), align);
            for (row, cell) in cells.iter().enumerate() {
                if pen.sees(Rect::from_center_size(pos2(x, y(row + 1)), vec2(1.0, ROW_PT))) {
                    let cell = pen.type_.fit(cell, SMALL, inner).into_owned();
                    pen.text(&cell, SMALL, text, pos2(x, y(row + 1)), align);
                }
            }
            left += width;
        }
        let line = area.top() + ROW_PT;
        pen.line(pos2(area.left(), line), pos2(left.min(area.right()), line), 0.75, rule);
        if self.n_left_out > 0 {
            let words = format!("{} more rows are in the data file", self.n_left_out);
            pen.text(&words, SMALL, weak, pos2(area.left(), y(self.n_rows() + 1)), Align::Left);
        }
    }

    fn at(&self, area: Rect, at: Pos2) -> Option<Hit> {
        let row = ((at.y - area.top()) / ROW_PT).floor() - 1.0;
        let row = (row >= 0.0 && (row as usize) < self.n_rows()).then_some(row as usize)?;
        let cells = self.columns.iter().filter_map(|(name, cells, _)| Some(format!("{name}: {}", cells.get(row)?)));
        let top = area.top() + (row + 1) as f32 * ROW_PT;
        let rect = Rect::from_min_size(pos2(area.left(), top), vec2(area.width().min(self.width()), ROW_PT));
        Some(Hit::saying(rect, cells.collect::<Vec<_>>().join("\n")))
    }

    fn spoken(&self) -> Vec<String> {
        let row = |row: usize| {
            let cells = self.columns.iter().filter_map(|(_, cells, _)| cells.get(row).cloned());
            cells.collect::<Vec<_>>().join(" ")
        };
        (0..self.n_rows().min(12)).map(row).collect()
    }
}
