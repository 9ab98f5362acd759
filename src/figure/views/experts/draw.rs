//! Parts of the experts of a layer, as they are drawn.

use emath::{Rect, pos2, vec2};

use super::{ExpertsPart, ExpertsScene, RouterValues};
use crate::{
    analysis::routing::ExpertLoad,
    capture::{Matrix, RgbaBuffer},
    figure::{
        chart::{Chart, ChartAxis, Mark, MarkOf, Scale},
        font::Align,
        list::Sampling,
        measure::{GRID, text_size::SMALL},
        pen::Pen,
        views::{cells::cell_rect, parts},
    },
    raster::ColorMap,
    text::{norm_text, share_text},
};

/// Least width of a token's name.
const NAME_PT: f32 = 10.0 * GRID;
/// Least height between two numbers at the left.
const NUMBER_PT: f32 = 3.5 * GRID;
/// Least side of a cell that is framed where its expert is chosen.
const FRAMED_PT: f32 = 5.0;
/// How far the axis of shares goes beyond the largest.
const ABOVE: f64 = 1.05;
/// Part of its place that a bar takes.
const BAR: f32 = 0.7;

/// Where the cells of a part are.
pub fn cells(rect: Rect) -> Rect {
    parts::data(rect)
}

/// Cells in colours.
struct Map<'a> {
    title: String,
    note: String,
    grid: (usize, usize),
    value: &'a dyn Fn(usize, usize) -> f32,
    /// The value with the full colour.
    most: f32,
    colors: ColorMap,
    is_framed: &'a dyn Fn(usize, usize) -> bool,
    /// Numbers of the rows.
    rows: Vec<usize>,
}

/// The largest of some values that are finite, by size.
fn largest<'a>(values: impl IntoIterator<Item = &'a f32>) -> f32 {
    let sizes = values.into_iter().filter(|value| value.is_finite()).map(|value| value.abs());
    sizes.fold(f32::MIN_POSITIVE, f32::max)
}

impl Map<'_> {
    fn draw(&self, rect: Rect, pen: &mut Pen<'_>) {
        parts::titled(&self.title, &self.note, rect, pen);
        let (data, (n_rows, n_cols)) = (cells(rect), self.grid);
        let colors = self.colors.on(pen.palette.ground);
        let fraction = |value: f32| {
            let share = value / self.most;
            if self.colors == ColorMap::Signed { 0.5 + share / 2.0 } else { share }
        };
        let at = |nth: usize| (self.value)(nth / n_cols, nth % n_cols);
        let pixels = (0..n_rows * n_cols).flat_map(|nth| colors.color(fraction(at(nth)).clamp(0.0, 1.0))).collect();
        pen.picture(data, &RgbaBuffer { width: n_cols, height: n_rows, pixels }, Sampling::Crisp);
        pen.frame(data, pen.hairline(), pen.palette.rule);
        let pitch = vec2(data.width() / n_cols as f32, data.height() / n_rows as f32);
        if pitch.min_elem() >= FRAMED_PT {
            for (row, col) in (0..n_rows).flat_map(|row| (0..n_cols).map(move |col| (row, col))) {
                if (self.is_framed)(row, col) {
                    pen.frame(cell_rect(data, self.grid, row, col).shrink(0.5), 1.0, pen.palette.text_weak);
                }
            }
        }
        self.number_rows(pitch.y, data, pen);
    }

    /// Numbers of the rows, as many as there is room for.
    fn number_rows(&self, pitch: f32, data: Rect, pen: &mut Pen<'_>) {
        let each = (NUMBER_PT / pitch).ceil().max(1.0) as usize;
        for (row, number) in self.rows.iter().enumerate().step_by(each) {
            let at = pos2(data.left() - 1.5 * GRID, data.top() + (row as f32 + 0.5) * pitch);
            pen.text(&number.to_string(), SMALL, pen.palette.text_weak, at, Align::Right);
        }
    }
}

impl Map<'_> {
    /// The same with the numbers of the experts below.
    fn draw_over_experts(&self, rect: Rect, pen: &mut Pen<'_>) {
        self.draw(rect, pen);
        let scale = Scale::Whole;
        let axis = ChartAxis { title: String::new(), from: -0.5, to: self.grid.1 as f64 - 0.5, scale };
        let [title, note] = [String::new(), String::new()];
        let chart = Chart { title, note, x: axis.clone(), y: axis, series: Vec::new(), marks: Vec::new() };
        let data = cells(rect);
        parts::along(&chart.axes(data).x, scale, data, pen);
    }
}

/// Draws shares of tokens: layers down, their experts across.
pub fn draw_loads((numbers, loads): (&[usize], &[ExpertLoad]), colors: ColorMap, rect: Rect, pen: &mut Pen<'_>) {
    let shares: Vec<Vec<f32>> =
        loads.iter().map(|load| load.shares().into_iter().map(|share| share as f32).collect()).collect();
    let most = largest(shares.iter().flatten());
    let map = Map {
        title: "Load of the experts of all layers".to_owned(),
        note: format!("Layers (down), experts (across); full colour {}", share_text(most)),
        grid: (shares.len(), shares.first().map_or(1, Vec::len)),
        value: &|row, expert| shares[row].get(expert).copied().unwrap_or(0.0),
        most,
        colors,
        is_framed: &|_, _| false,
        rows: numbers.to_vec(),
    };
    map.draw_over_experts(rect, pen);
}

impl ExpertsScene {
    /// Draws one part.
    pub(super) fn draw_one(&self, part: ExpertsPart, rect: Rect, pen: &mut Pen<'_>) {
        match part {
            ExpertsPart::Tokens => self.draw_tokens(rect, pen),
            ExpertsPart::Load => self.draw_load(rect, pen),
            ExpertsPart::Layers => self.draw_layers(rect, pen),
            ExpertsPart::Path => self.draw_path(rect, pen),
        }
    }

    fn draw_tokens(&self, rect: Rect, pen: &mut Pen<'_>) {
        let (routing, (n_experts, n)) = (self.routing(), self.grid(ExpertsPart::Tokens));
        let (matrix, colors, what): (&Matrix, _, _) = match (self.options.values, &routing.scores) {
            (RouterValues::Scores, Some(scores)) => (scores, ColorMap::Signed, "scores, darkest ±"),
            _ => (&routing.weights, self.color_map, "weights, full colour "),
        };
        let most = largest(matrix.as_slice());
        let map = Map {
            title: format!("Experts of each token in layer {}", routing.layer),
            note: format!("Experts (down), tokens (across); {what}{}", norm_text(most)),
            grid: (n_experts, n),
            value: &|expert, token| matrix.row(token).map_or(0.0, |row| row[expert]),
            most,
            colors,
            is_framed: &|expert, token| routing.is_chosen(token, expert),
            rows: (0..n_experts).collect(),
        };
        map.draw(rect, pen);
        let data = cells(rect);
        if let Some(held) = self.held {
            let cell = cell_rect(data, (1, n), 0, held);
            pen.frame(cell, 1.5, pen.palette.text);
        }
        let pitch = data.width() / n as f32;
        let each = (NAME_PT / pitch).ceil().max(1.0) as usize;
        // The held token has its name, and its neighbours leave room for it.
        let held = self.held.unwrap_or(0);
        for (at, name) in self.facts.names.iter().enumerate().filter(|(at, _)| at.abs_diff(held) % each == 0) {
            let ink = if self.held == Some(at) { pen.palette.text } else { pen.palette.text_weak };
            let below = pos2(data.left() + (at as f32 + 0.5) * pitch, data.bottom() + 2.5 * GRID);
            let name = pen.type_.fit(name, SMALL, pitch * each as f32 - GRID).into_owned();
            pen.text(&name, SMALL, ink, below, Align::Center);
        }
    }

    fn draw_load(&self, rect: Rect, pen: &mut Pen<'_>) {
        let (load, palette) = (self.load(), pen.palette);
        let shares = load.shares();
        let top = ABOVE * shares.iter().copied().fold(load.even(), f64::max).max(f64::MIN_POSITIVE);
        let even = Mark { of: MarkOf::Y, value: load.even(), name: String::new(), color: palette.text, width: 1.0 };
        let chart = Chart {
            title: format!("Load of the experts of layer {}", self.routing().layer),
            note: format!("Share of {} tokens; line: even, {}", load.n_tokens, share_text(load.even())),
            x: ChartAxis {
                title: "experts".to_owned(),
                from: -0.5,
                to: shares.len() as f64 - 0.5,
                scale: Scale::Whole,
            },
            y: ChartAxis { title: String::new(), from: 0.0, to: top, scale: Scale::Linear },
            series: Vec::new(),
            marks: vec![even],
        };
        let axes = chart.axes(parts::data(rect));
        let half = f64::from(BAR / 2.0);
        for (expert, share) in shares.iter().enumerate() {
            let [from, to] = [expert as f64 - half, expert as f64 + half];
            let bar = Rect::from_two_pos(axes.at(from, 0.0), axes.at(to, *share));
            pen.rect(bar, palette.head(expert));
        }
        parts::chart(&chart, rect, pen);
    }

    /// The numbers of the layers that have experts.
    fn layer_numbers(&self) -> Vec<usize> {
        self.facts.layers.iter().map(|routing| routing.layer).collect()
    }

    fn draw_layers(&self, rect: Rect, pen: &mut Pen<'_>) {
        draw_loads((&self.layer_numbers(), &self.facts.loads), self.color_map, rect, pen);
        let n_rows = self.facts.layers.len();
        pen.frame(cell_rect(cells(rect), (n_rows, 1), self.place, 0), 1.5, pen.palette.text);
    }

    fn draw_path(&self, rect: Rect, pen: &mut Pen<'_>) {
        let Some(held) = self.held else { return };
        let layers = &self.facts.layers;
        let most = largest(layers.iter().filter_map(|routing| routing.weights.row(held)).flatten());
        let map = Map {
            title: format!("Experts of “{}” in all layers", self.facts.names[held]),
            note: format!("Layers (down), experts (across); weights, full colour {}", norm_text(most)),
            grid: self.grid(ExpertsPart::Path),
            value: &|row, expert| layers[row].weights.row(held).and_then(|row| row.get(expert)).copied().unwrap_or(0.0),
            most,
            colors: self.color_map,
            is_framed: &|row, expert| layers[row].is_chosen(held, expert),
            rows: self.layer_numbers(),
        };
        map.draw_over_experts(rect, pen);
        pen.frame(cell_rect(cells(rect), (map.grid.0, 1), self.place, 0), 1.5, pen.palette.text);
    }
}
