//! Numbers that change step by step, each as a line.

use emath::{Pos2, Rect, pos2, vec2};

use super::{Hit, Piece, ROW_PT, room};
use crate::{
    figure::{
        chart::{self, Chart, ChartAxis, Mark, MarkOf, Scale, Series, SeriesShape},
        font::Align,
        list::{Line, Rgba, faded},
        measure::{GRID, text_size::SMALL},
        palette::Palette,
        pen::Pen,
    },
    text::{norm_text, whole_text},
};

const PLOT_PT: (f32, f32) = (260.0, 96.0);
/// Room for the numbers at the left.
const TICKS_PT: f32 = 44.0;
/// Room for the name of the limit at the right.
const LIMIT_PT: f32 = 48.0;
/// Room for the mark of a line before its name, and for the name.
const MARK_PT: f32 = 16.0;
const MOST_NAME_PT: f32 = 80.0;
/// Between the names of lines.
const NAME_GAP_PT: f32 = 10.0;
/// More lines are named by the first and the last alone.
const MOST_NAMES: usize = 8;
/// How near a step must be to the pointer for a line to be meant, in points.
const REACH_PT: f32 = 10.0;

/// How something went, step by step.
#[derive(Clone, Debug)]
pub struct Curves {
    /// What each line is called, and its values.
    pub lines: Vec<(String, Vec<f64>)>,
    /// What the values are counted in.
    pub unit: String,
    /// A value that matters, and what it is.
    pub limit: Option<(f64, String)>,
}

impl Curves {
    fn n_steps(&self) -> usize {
        self.lines.iter().map(|(_, values)| values.len()).max().unwrap_or(0)
    }

    fn most(&self) -> f64 {
        let values = self.lines.iter().flat_map(|(_, values)| values).copied();
        let all = values.chain(self.limit.as_ref().map(|(limit, _)| *limit)).filter(|value| value.is_finite());
        all.fold(f64::MIN_POSITIVE, f64::max)
    }

    fn plot(area: Rect) -> Rect {
        let width = PLOT_PT.0.min(area.width() - TICKS_PT - LIMIT_PT).max(1.0);
        Rect::from_min_size(area.min + vec2(TICKS_PT, 6.0), vec2(width, PLOT_PT.1))
    }

    fn at_step(&self, plot: Rect, step: usize, value: f64) -> Pos2 {
        let across = step as f32 / (self.n_steps().max(2) - 1) as f32;
        let up = (value / self.most()).clamp(0.0, 1.0) as f32;
        pos2(plot.left() + across * plot.width(), plot.bottom() - up * plot.height())
    }

    /// The lines that are named, and their places.
    fn named(&self) -> Vec<usize> {
        match self.lines.len() {
            0 | 1 => Vec::new(),
            n if n <= MOST_NAMES => (0..n).collect(),
            n => vec![0, n - 1],
        }
    }

    fn color(&self, nth: usize, palette: &Palette) -> Rgba {
        match self.lines.len() {
            0 | 1 => palette.head(0),
            n => palette.position(nth as f32 / (n - 1) as f32),
        }
    }

    /// Room for the name of a line, with its mark.
    fn name_width(&self, nth: usize) -> f32 {
        MARK_PT + room([self.lines[nth].0.as_str()], MOST_NAME_PT) + NAME_GAP_PT
    }

    /// Where each name stands, from the left and in which row, in so much room.
    fn name_places(&self, width: f32) -> Vec<(f32, usize)> {
        let (mut x, mut row) = (0.0, 0);
        let place = |nth: usize| {
            let needed = self.name_width(nth);
            if x > 0.0 && x + needed > width {
                (x, row) = (0.0, row + 1);
            }
            x += needed;
            (x - needed, row)
        };
        self.named().into_iter().map(place).collect()
    }

    fn draw_names(&self, at: Pos2, width: f32, pen: &mut Pen<'_>) {
        let (named, weak) = (self.named(), pen.palette.text_weak);
        for (nth, (x, row)) in named.iter().zip(self.name_places(width)) {
            let at = at + vec2(x, row as f32 * ROW_PT);
            pen.line(at, at + vec2(MARK_PT - 4.0, 0.0), 2.0, self.color(*nth, &pen.palette));
            let name = pen.type_.fit(&self.lines[*nth].0, SMALL, MOST_NAME_PT).into_owned();
            pen.text(&name, SMALL, weak, at + vec2(MARK_PT, 0.0), Align::Left);
        }
    }
}

impl Piece for Curves {
    fn width(&self) -> f32 {
        let names: f32 = self.named().into_iter().map(|nth| self.name_width(nth)).sum();
        (TICKS_PT + PLOT_PT.0 + LIMIT_PT).max(TICKS_PT + names)
    }

    fn least_width(&self) -> f32 {
        TICKS_PT + 120.0 + LIMIT_PT
    }

    fn height(&self, width: f32) -> f32 {
        let rows = self.name_places(width - TICKS_PT).last().map_or(0, |(_, row)| row + 1);
        6.0 + PLOT_PT.1 + ROW_PT + rows as f32 * ROW_PT + GRID
    }

    fn draw(&self, area: Rect, pen: &mut Pen<'_>) {
        let plot = Self::plot(area);
        let (weak, rule, text) = (pen.palette.text_weak, pen.palette.rule, pen.palette.text);
        pen.line(plot.left_bottom(), plot.right_bottom(), 0.75, rule);
        pen.line(plot.left_top(), plot.left_bottom(), 0.75, rule);
        for (value, y) in [(self.most(), plot.top()), (0.0, plot.bottom())] {
            let tick = if value == 0.0 { "0".to_owned() } else { norm_text(value) };
            pen.text(&tick, SMALL, weak, pos2(plot.left() - 1.5 * GRID, y), Align::Right);
        }
        for (nth, (_, values)) in self.lines.iter().enumerate() {
            let color = self.color(nth, &pen.palette);
            let at = |step: usize| self.at_step(plot, step, values[step]);
            let is_there = |step: &usize| values[*step].is_finite() && values[*step + 1].is_finite();
            let pieces = (0..values.len().saturating_sub(1)).filter(is_there);
            pen.lines(pieces.map(|step| Line { from: at(step), to: at(step + 1), width: 1.25, color }).collect());
        }
        if let Some((limit, name)) = &self.limit {
            let y = self.at_step(plot, 0, *limit).y;
            pen.line(pos2(plot.left(), y), pos2(plot.right(), y), 1.0, faded(text, 0.7));
            pen.text(name, SMALL, weak, pos2(plot.right() + GRID, y), Align::Left);
        }
        let y = plot.bottom() + ROW_PT / 2.0 + 2.0;
        pen.text("0", SMALL, weak, pos2(plot.left(), y), Align::Center);
        let last = format!("step {}", self.n_steps().saturating_sub(1));
        pen.text(&last, SMALL, weak, pos2(plot.right(), y), Align::Right);
        self.draw_names(pos2(plot.left(), y + ROW_PT), area.width() - TICKS_PT, pen);
    }

    fn chart(&self, palette: &Palette) -> Option<Chart> {
        let named = self.named();
        let series = |(nth, (name, values)): (usize, &(String, Vec<f64>))| Series {
            name: if named.contains(&nth) { name.clone() } else { String::new() },
            shape: SeriesShape::Line,
            color: self.color(nth, palette),
            width: 1.25,
            runs: chart::runs(values.iter().enumerate().map(|(step, y)| y.is_finite().then_some([step as f64, *y]))),
        };
        let limit = |(value, name): &(f64, String)| Mark {
            of: MarkOf::Y,
            value: *value,
            name: name.clone(),
            color: faded(palette.text, 0.7),
            width: 1.0,
        };
        let last = (self.n_steps().max(2) - 1) as f64;
        Some(Chart {
            title: String::new(),
            note: String::new(),
            x: ChartAxis { title: "step".to_owned(), from: 0.0, to: last, scale: Scale::Whole },
            // A line along the top is seen whole.
            y: ChartAxis { title: self.unit.clone(), from: 0.0, to: 1.05 * self.most(), scale: Scale::Linear },
            series: self.lines.iter().enumerate().map(series).collect(),
            marks: self.limit.iter().map(limit).collect(),
        })
    }

    fn readout(&self, nth: usize, [step, value]: [f64; 2]) -> String {
        let name = if self.lines.len() == 1 { String::new() } else { format!("{}, ", self.lines[nth].0) };
        format!("{name}step {}\n{}: {}", whole_text(step), self.unit, norm_text(value))
    }

    fn at(&self, area: Rect, at: Pos2) -> Option<Hit> {
        let plot = Self::plot(area);
        if !plot.expand(4.0).contains(at) || self.n_steps() == 0 {
            return None;
        }
        let across = ((at.x - plot.left()) / plot.width()).clamp(0.0, 1.0);
        let step = (across * (self.n_steps() - 1) as f32).round() as usize;
        let near = self.lines.iter().enumerate().filter_map(|(nth, (_, values))| {
            let value = values.get(step).copied()?;
            let here = self.at_step(plot, step, value);
            ((here.y - at.y).abs() <= REACH_PT || self.lines.len() == 1).then_some((nth, value, here))
        });
        let (nth, value, here) = near.min_by(|a, b| (a.2.y - at.y).abs().total_cmp(&(b.2.y - at.y).abs()))?;
        let rect = Rect::from_center_size(here, vec2(6.0, 6.0));
        Some(Hit::saying(rect, self.readout(nth, [step as f64, value])))
    }

    fn spoken(&self) -> Vec<String> {
        let end = |(name, values): &(String, Vec<f64>)| {
            Some(format!("{} {name}: {} at the end", self.unit, norm_text(*values.last()?)))
        };
        self.lines.iter().filter_map(end).collect()
    }
}
