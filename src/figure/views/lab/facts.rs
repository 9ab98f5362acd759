//! Numbers and lists of numbers.

use emath::{Pos2, Rangef, Rect, pos2, vec2};

use super::{Hit, Piece, ROW_PT, n_lines, room, stacked};
use crate::{
    figure::{
        font::Align,
        list::{Line, faded},
        measure::{GRID, text_size::SMALL},
        pen::Pen,
    },
    text::norm_text,
};

/// Room for a name.
const MOST_NAME_PT: f32 = 260.0;
/// A value that would have less room beside its name stands below it.
const LEAST_VALUE_PT: f32 = 170.0;
/// A value below its name is moved in.
const INDENT_PT: f32 = 3.0 * GRID;
/// A strip is as wide as this.
const STRIP_PT: f32 = 320.0;

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

    /// Where values begin and how wide they are, where names have `name` points; and whether they stand below these.
    fn places(&self, width: f32) -> FactColumns {
        let name = self.name_width();
        // In the width that suits it a value has just as much as it needs, but for rounding.
        let is_below = width - name < LEAST_VALUE_PT.min(self.value_width()) - 0.5;
        if is_below {
            FactColumns { name: width, value: width - INDENT_PT, indent: INDENT_PT, is_below }
        } else {
            FactColumns { name: name - 2.0 * GRID, value: width - name, indent: name, is_below }
        }
    }

    /// Room for the longest value in one line.
    fn value_width(&self) -> f32 {
        room(self.lines.iter().map(|line| line[1].as_str()), 2.0 * MOST_NAME_PT)
    }

    /// From the top of each line to its bottom: names and values may take several.
    fn spans(&self, width: f32) -> Vec<Rangef> {
        let places = self.places(width);
        let height = |line: &[String; 3]| {
            let (name, value) = (n_lines(&line[0], places.name).max(1), n_lines(&line[1], places.value).max(1));
            let n = if places.is_below { name + value } else { name.max(value) };
            n as f32 * ROW_PT
        };
        stacked(self.lines.iter().map(height))
    }
}

/// Where names and values stand.
struct FactColumns {
    name: f32,
    value: f32,
    indent: f32,
    is_below: bool,
}

impl Piece for Facts {
    fn width(&self) -> f32 {
        self.name_width() + self.value_width()
    }

    fn least_width(&self) -> f32 {
        LEAST_VALUE_PT
    }

    fn height(&self, width: f32) -> f32 {
        self.spans(width).last().map_or(0.0, |last| last.max)
    }

    fn draw(&self, area: Rect, pen: &mut Pen<'_>) {
        let (weak, text) = (pen.palette.text_weak, pen.palette.text);
        let places = self.places(area.width());
        for ([name, value, _], span) in self.lines.iter().zip(self.spans(area.width())) {
            let y = |row: usize| area.top() + span.min + (row as f32 + 0.5) * ROW_PT;
            let name = pen.broken(name, SMALL, places.name);
            for (row, words) in name.iter().enumerate() {
                pen.text(words, SMALL, weak, pos2(area.left(), y(row)), Align::Left);
            }
            let first = if places.is_below { name.len() } else { 0 };
            for (row, words) in pen.broken(value, SMALL, places.value).iter().enumerate() {
                pen.text(words, SMALL, text, pos2(area.left() + places.indent, y(first + row)), Align::Left);
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
                norm_text(*least),
                norm_text(*most),
                norm_text(*median),
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

    fn height(&self, width: f32) -> f32 {
        18.0 + n_lines(&self.summary(), width).max(1) as f32 * ROW_PT + GRID
    }

    fn draw(&self, area: Rect, pen: &mut Pen<'_>) {
        let (all, line) = (self.sorted(), Self::line(area));
        let (weak, text, rule) = (pen.palette.text_weak, pen.palette.text, pen.palette.rule);
        pen.line(line.left_center(), line.right_center(), 0.75, rule);
        let most = all.iter().copied().fold(0.0f64, |most, value| most.max(value.abs())).max(f64::MIN_POSITIVE);
        let least = all.first().copied().unwrap_or(0.0).min(0.0);
        let x = |value: f64| line.left() + ((value - least) / (most - least)) as f32 * line.width();
        let stroke = |value: &f64| Line {
            from: pos2(x(*value), line.top()),
            to: pos2(x(*value), line.bottom()),
            width: 1.0,
            color: faded(text, 0.5),
        };
        pen.lines(all.iter().map(stroke).collect());
        if let Some(median) = all.get(all.len() / 2) {
            pen.line(pos2(x(*median), line.top() - 2.0), pos2(x(*median), line.bottom() + 2.0), 2.0, text);
        }
        for (row, words) in pen.broken(&self.summary(), SMALL, area.width()).iter().enumerate() {
            let y = line.bottom() + 9.0 + row as f32 * ROW_PT;
            pen.text(words, SMALL, weak, pos2(area.left(), y), Align::Left);
        }
    }

    fn at(&self, area: Rect, at: Pos2) -> Option<Hit> {
        let rect = Self::line(area);
        rect.contains(at).then(|| Hit::saying(rect, self.summary()))
    }

    fn spoken(&self) -> Vec<String> {
        vec![self.summary()]
    }
}
