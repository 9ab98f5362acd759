//! Parts of what makes scores weights, as they are drawn.

use emath::{Pos2, Rect, pos2, vec2};

use super::{
    SimplexScene,
    layout::{self, Part, Triangle},
};
use crate::{
    analysis::{
        explain::normalizers,
        simplex::{Rule, Spread},
    },
    figure::{
        chart::{Chart, ChartAxis, Scale, Series, SeriesShape},
        font::Align,
        list::{Line, Rgba},
        measure::{
            GRID,
            text_size::{BODY, SMALL},
        },
        palette::Palette,
        path::Path,
        pen::Pen,
        views::{axes::Axis, cells, parts},
    },
    raster::ColorMap,
    style::mixed,
    text::{cell_text, decimal_text, grouped, norm_text, weight_text},
};

/// Differences of scores up to this are on the curves.
const CURVES_TO: i32 = 3;
/// Points of a curve for a difference of 1.
const PER_UNIT: i32 = 20;
/// Bars of the row.
const N_BARS: usize = 12;
/// Keys of the Jacobian.
pub const N_KEYS: usize = 8;
/// Bars of a histogram.
const N_BINS: usize = 24;
/// Radius of a mark.
const MARK_PT: f32 = 4.0;
/// How much of the ground the bars of keys without a weight have.
const CUT: f32 = 0.6;

/// The colour of a rule.
const fn color(rule: Rule, palette: &Palette) -> Rgba {
    palette.head(rule as usize)
}

/// The mark of a rule, told apart by its form as well.
fn mark(rule: Rule, at: Pos2, pen: &mut Pen<'_>) {
    let color = color(rule, &pen.palette);
    let square = Rect::from_center_size(at, vec2(1.6, 1.6) * MARK_PT);
    let path = match rule {
        Rule::Softmax => Path::circle(at, MARK_PT + 1.0),
        Rule::Sparsemax => Path::rect(square),
        Rule::Entmax => Path::diamond(at, MARK_PT),
        Rule::Fusedmax => Path::frame(square, 1.5),
        Rule::Argmax => Path::ring(at, MARK_PT + 2.0, 1.5),
        Rule::Top => Path::polygon([vec2(0.0, -1.0), vec2(1.0, 0.8), vec2(-1.0, 0.8)].map(|to| at + to * MARK_PT)),
        Rule::Sigmoid => Path::circle(at, MARK_PT / 2.0),
    };
    pen.fill(path, color);
}

/// Differences of two scores, each with the weight of the first.
pub fn curve(scene: &SimplexScene, rule: Rule) -> impl Iterator<Item = [f64; 2]> + '_ {
    let steps = -CURVES_TO * PER_UNIT..=CURVES_TO * PER_UNIT;
    let differences = steps.map(|step| f64::from(step) / f64::from(PER_UNIT));
    differences.map(move |t| [t, scene.weights(rule, &[t, 0.0])[0]])
}

/// The curves of two keys, of which one has the score 0.
fn curves(scene: &SimplexScene, palette: &Palette) -> Chart {
    let series = |rule: Rule| {
        let runs = vec![curve(scene, rule).collect()];
        let (name, color) = (scene.options.title(rule), color(rule, palette));
        Series { name, shape: SeriesShape::Line, color, width: 1.5, runs }
    };
    let axis = |title: &str, from, to| ChartAxis { title: title.to_owned(), from, to, scale: Scale::Linear };
    let to = f64::from(CURVES_TO);
    Chart {
        title: "Two keys with the scores t and 0".to_owned(),
        note: "Weight of the first, by t; top-2 is softmax here".to_owned(),
        x: axis("t", -to, to),
        y: axis("weight", 0.0, 1.0),
        series: Rule::ALL.into_iter().rev().map(series).collect(),
        marks: Vec::new(),
    }
}

impl SimplexScene {
    /// Draws one part.
    pub(super) fn draw_one(&self, part: Part, rect: Rect, pen: &mut Pen<'_>) {
        match part {
            Part::Simplex => self.draw_simplex(rect, pen),
            Part::Curves => parts::chart(&curves(self, &pen.palette), rect, pen),
            Part::Row => self.draw_row(rect, pen),
            Part::Jacobian => self.draw_jacobian(rect, pen),
            Part::Before | Part::After => self.draw_spread(part, rect, pen),
        }
    }

    fn draw_simplex(&self, rect: Rect, pen: &mut Pen<'_>) {
        let Some(scores) = self.three() else {
            parts::titled("Three keys", "This query sees fewer than three keys", rect, pen);
            return;
        };
        let mass = weight_text(self.row.mass());
        parts::titled("Three keys", &format!("Together they have {mass} of the row"), rect, pen);
        let triangle = Triangle::of(rect);
        let corners = triangle.corners();
        let line = |(from, to): (usize, usize)| Line {
            from: corners[from],
            to: corners[to],
            width: pen.hairline(),
            color: pen.palette.edge,
        };
        let lines = [(0, 1), (1, 2), (2, 0)].map(line).to_vec();
        pen.lines(lines);
        let below = vec2(0.0, 3.0 * GRID);
        let places = [(below, Align::Left), (below, Align::Right), (-below, Align::Center)];
        for ((key, corner), (off, align)) in self.row.keys.iter().zip(corners).zip(places) {
            let name = pen.type_.fit(self.key_name(*key), BODY, 20.0 * GRID).into_owned();
            pen.text(&name, BODY, pen.palette.key, corner + off, align);
            let weight = weight_text(self.row.weights[*key]);
            let further = off + vec2(0.0, off.y.signum() * 4.0 * GRID);
            pen.text(&weight, SMALL, pen.palette.text_weak, corner + further, align);
        }
        for rule in Rule::ALL.into_iter().rev() {
            let weights = self.of_three(rule, scores);
            let at = triangle.name(rule);
            mark(rule, at, pen);
            let name = self.options.title(rule);
            let left = at + vec2(2.5 * GRID, 0.0);
            let name = pen.type_.fit(&name, SMALL, rect.right() - left.x).into_owned();
            pen.text(&name, SMALL, pen.palette.text, left, Align::Left);
            if rule == Rule::Sigmoid {
                let sum = format!("sum {}", decimal_text(weights.iter().sum::<f64>()));
                pen.text(&sum, SMALL, pen.palette.text_weak, left + vec2(0.0, 4.0 * GRID), Align::Left);
            } else {
                mark(rule, triangle.at(weights), pen);
            }
        }
    }

    fn draw_row(&self, rect: Rect, pen: &mut Pen<'_>) {
        let keys = self.row.strongest(N_BARS);
        let (alpha, scores) = (self.options.alpha, &self.row.scores);
        let lines: Vec<(Rule, f64)> =
            Rule::ALL.into_iter().filter_map(|rule| Some((rule, rule.threshold(scores, alpha)?))).collect();
        let kept = normalizers::support(&self.weights(Rule::Entmax, scores));
        let seen = scores.iter().filter(|score| score.is_finite()).count();
        let note = format!("{}: {kept} of {seen} keys keep a weight", self.options.title(Rule::Entmax));
        parts::titled("Sorted scores, and the line that cuts", &note, rect, pen);
        let data = parts::data(rect);
        let shown = keys.iter().map(|key| scores[*key]).chain(lines.iter().map(|(_, line)| *line));
        let axis = Axis::over(shown, emath::Rangef::new(data.bottom(), data.top()));
        parts::ticks(&axis, Scale::Linear, data, pen);
        let cut = lines.iter().find(|(rule, _)| *rule == Rule::Entmax).map_or(f64::NEG_INFINITY, |(_, line)| *line);
        let pitch = data.width() / N_BARS as f32;
        for (nth, key) in keys.iter().enumerate() {
            let left = data.left() + nth as f32 * pitch;
            let top = axis.at(scores[*key]);
            let bar = Rect::from_min_max(pos2(left + 2.0, top), pos2(left + pitch - 2.0, data.bottom()));
            let ink = pen.palette.text_weak;
            pen.rect(bar, if scores[*key] > cut { ink } else { mixed(ink, pen.palette.canvas, CUT) });
            let name = pen.type_.fit(self.key_name(*key), SMALL, pitch + GRID).into_owned();
            let below = if nth % 2 == 0 { 2.5 } else { 5.5 };
            let at = pos2(bar.center().x, data.bottom() + below * GRID);
            pen.text(&name, SMALL, pen.palette.key, at, Align::Center);
        }
        let mut free = f32::NEG_INFINITY;
        let mut lines = lines;
        lines.sort_by(|a, b| b.1.total_cmp(&a.1));
        for (rule, line) in &lines {
            let y = axis.at(*line);
            pen.line(pos2(data.left(), y), pos2(data.right(), y), 1.5, color(*rule, &pen.palette));
        }
        // Above all lines, since a name that gave way to another can lie on the next one.
        for (rule, line) in lines {
            let (y, ink) = (axis.at(line), color(rule, &pen.palette));
            let name = format!("{} {}", self.options.title(rule), decimal_text(line));
            let at = (y - 2.0 * GRID).max(free);
            let size = vec2(pen.widest([name.as_str()], SMALL) + GRID, 3.5 * GRID);
            let ground = Rect::from_center_size(pos2(data.right() - size.x / 2.0, at), size);
            pen.rect(ground, pen.palette.canvas);
            pen.text(&name, SMALL, ink, pos2(data.right(), at), Align::Right);
            free = at + 4.0 * GRID;
        }
    }

    fn draw_jacobian(&self, rect: Rect, pen: &mut Pen<'_>) {
        let (rule, keys) = (self.options.jacobian, &self.jacobian.keys);
        let title = format!("Jacobian of {}", self.options.title(rule));
        let kept = normalizers::support(&self.weights(rule, &self.row.scores));
        let note = format!("How weights (rows) change with scores; {kept} keys have a weight");
        parts::titled(&title, &note, rect, pen);
        let grid = layout::matrix(rect, keys.len());
        let most = self.jacobian.values.iter().flatten().fold(f64::MIN_POSITIVE, |most, value| most.max(value.abs()));
        let colors = ColorMap::Signed.on(pen.palette.ground);
        let shape = (keys.len(), keys.len());
        for (row, key) in keys.iter().enumerate() {
            for (col, value) in self.jacobian.values[row].iter().enumerate() {
                let cell = cells::cell_rect(grid, shape, row, col);
                let ground = colors.color((0.5 + value / most / 2.0) as f32);
                pen.rect(cell, ground);
                let ink = pen.palette.legible(pen.palette.text, ground);
                pen.text(&cell_text(*value), SMALL, ink, cell.center(), Align::Center);
            }
            let cell = cells::cell_rect(grid, shape, row, 0);
            let name = pen.type_.fit(self.key_name(*key), SMALL, 14.0 * GRID).into_owned();
            pen.text(&name, SMALL, pen.palette.key, cell.left_center() - vec2(GRID, 0.0), Align::Right);
            let above = cells::cell_rect(grid, shape, 0, row);
            let name = pen.type_.fit(self.key_name(*key), SMALL, above.width() - GRID).into_owned();
            pen.text(&name, SMALL, pen.palette.key, above.center_top() - vec2(0.0, 2.0 * GRID), Align::Center);
        }
        pen.frame(grid, pen.hairline(), pen.palette.rule);
    }

    fn draw_spread(&self, part: Part, rect: Rect, pen: &mut Pen<'_>) {
        let is_before = part == Part::Before;
        let Some((spreads, scale)) = self.spreads.as_deref() else {
            parts::titled(
                spread_title(is_before),
                "The head has no scale, or its products were not recorded",
                rect,
                pen,
            );
            return;
        };
        let spread = &spreads[usize::from(!is_before)];
        let by = if is_before { String::new() } else { format!(", × {}", norm_text(*scale)) };
        let title = format!("{}{by}", spread_title(is_before));
        parts::titled(&title, &spread_text(spread), rect, pen);
        let part = if spread.n_queries < self.n_queries {
            format!("; {} of {} queries", grouped(spread.n_queries), grouped(self.n_queries))
        } else {
            String::new()
        };
        let [largest, entropy] = [weight_text(spread.largest), decimal_text(spread.entropy)];
        let more = format!("means: largest weight {largest}, entropy {entropy}{part}");
        let data = parts::data(rect);
        pen.text(&more, SMALL, pen.palette.text_weak, pos2(rect.left(), data.top() + GRID), Align::Left);
        let data = Rect::from_min_max(data.min + vec2(0.0, 4.0 * GRID), data.max);
        let x = Axis::over(spread.values.iter().copied(), data.x_range());
        let mut bins = [0usize; N_BINS];
        for value in &spread.values {
            let part = (value - x.from) / (x.to - x.from);
            bins[((part * N_BINS as f64) as usize).min(N_BINS - 1)] += 1;
        }
        let most = bins.iter().copied().max().unwrap_or(0).max(1) as f32;
        let pitch = data.width() / N_BINS as f32;
        for (nth, n) in bins.into_iter().enumerate() {
            let left = data.left() + nth as f32 * pitch;
            let top = data.bottom() - data.height() * n as f32 / most;
            let bar = Rect::from_min_max(pos2(left, top), pos2(left + pitch - 1.0, data.bottom()));
            pen.rect(bar, pen.palette.text_weak);
        }
        parts::along(&x, Scale::Linear, data, pen);
    }
}

/// What the histogram before or after the scale is of.
const fn spread_title(is_before: bool) -> &'static str {
    if is_before { "q·k of the head" } else { "After scaling" }
}

/// The mean and the variances.
fn spread_text(spread: &Spread) -> String {
    let [mean, pooled, within] = [spread.mean, spread.pooled, spread.within].map(norm_text);
    format!("mean {mean}, variance {pooled}, within rows {within}")
}
