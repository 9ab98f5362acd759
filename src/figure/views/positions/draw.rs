//! Parts of how positions enter attention, as they are drawn.

use std::f64::consts::TAU;

use emath::{Pos2, Rangef, Rect, pos2, vec2};

use super::{Part, PositionsScene, TableRows};
use crate::{
    analysis::positions::{self, OffsetBias},
    capture::{Matrix, RgbaBuffer, Rotation},
    figure::{
        chart::{Chart, ChartAxis, Scale, Series, SeriesShape},
        font::Align,
        list::{Rgba, Sampling},
        measure::{GRID, text_size::SMALL},
        path::Path,
        pen::Pen,
        views::{axes::Axis, parts},
    },
    raster::ColorMap,
    text::{counted, decimal_text, grouped, norm_text, whole_text},
};

/// Dials of turning pairs, and how many stand in a row.
const N_DIALS: usize = 8;
const DIALS_IN_ROW: usize = 4;
/// Radius of a dial in a part of the least size.
const DIAL_PT: f32 = 6.5 * GRID;
/// Bars that are named.
const N_NAMED: usize = 12;
/// Patterns whose weights are no further apart are the same: sums were taken in another order.
const SAME: f32 = 1e-5;

/// A matrix as colours: what has a sign about 0, symmetrical.
fn colors(matrix: &Matrix, most: f32, pen: &Pen<'_>) -> RgbaBuffer {
    let colors = ColorMap::Signed.on(pen.palette.ground);
    let color = |value: &f32| colors.color(0.5 + value / most / 2.0);
    let [height, width] = matrix.shape();
    RgbaBuffer { width, height, pixels: matrix.as_slice().iter().flat_map(color).collect() }
}

fn largest(matrix: &Matrix) -> f32 {
    matrix.as_slice().iter().fold(f32::MIN_POSITIVE, |most, value| most.max(value.abs()))
}

/// Where the cells of a matrix are: its first row is at the top.
pub fn cells(rect: Rect) -> Rect {
    parts::data(rect)
}

impl PositionsScene {
    /// Draws one part.
    pub(super) fn draw_one(&self, part: Part, rect: Rect, pen: &mut Pen<'_>) {
        let facts = &self.facts;
        match (part, &facts.table, &facts.rotation) {
            (Part::Table, Some(table), _) => {
                let note = format!("Position (down) × dimension; darkest ±{}", norm_text(largest(&table.rows)));
                draw_matrix(("What is added for a position", &note), &table.rows, table, rect, pen);
            }
            (Part::Cosines, Some(table), _) => {
                let note = "Cosine of the rows: how alike two positions are";
                draw_matrix(("Positions beside each other", note), &table.cosines, table, rect, pen);
            }
            (Part::Sinusoids, Some(table @ TableRows { sinusoids: Some(sinusoids), .. }), _) => {
                let note = "sin(p / 10000^(2i/d)) in dimension 2i, the cosine in 2i + 1";
                draw_matrix(("Sinusoids of the same size", note), sinusoids, table, rect, pen);
            }
            (Part::Distance, ..) => parts::chart(&self.by_distance(pen), rect, pen),
            (Part::Turns, _, Some(rotation)) => self.draw_turns(rotation, rect, pen),
            (Part::Biases, ..) => parts::chart(&self.biases(pen), rect, pen),
            (Part::Order, ..) => self.draw_order(rect, pen),
            (Part::Reach, ..) => self.draw_reach(rect, pen),
            (Part::Table | Part::Cosines | Part::Sinusoids | Part::Turns, ..) => {}
        }
    }

    /// How alike positions are by how far they are apart: the series with their names.
    pub(super) fn likeness(&self) -> Vec<(&'static str, Vec<f64>)> {
        let facts = &self.facts;
        let mut series = Vec::new();
        if let Some(table) = facts.table.as_ref().filter(|table| table.sinusoids.is_some()) {
            let sinusoids = table.sinusoids.as_ref().and_then(positions::cosines);
            series.extend(sinusoids.map(|cosines| ("Sinusoids", positions::by_distance(&cosines))));
            series.push(("Of this model", positions::by_distance(&table.cosines)));
        }
        if let Some(rotation) = &facts.rotation {
            let left = |offset| positions::left_after_turning(&rotation.frequencies, offset);
            series.push(("Left after turning", (0..self.options.n).map(left).collect()));
        }
        series
    }

    fn by_distance(&self, pen: &Pen<'_>) -> Chart {
        let palette = &pen.palette;
        let likeness = self.likeness();
        let values = || likeness.iter().flat_map(|(_, values)| values.iter().copied());
        let axis = |title: &str, from, to| ChartAxis { title: title.to_owned(), from, to, scale: Scale::Linear };
        let low = values().fold(0.0, f64::min);
        let n = likeness.iter().map(|(_, values)| values.len()).max().unwrap_or(1);
        let series = likeness.iter().enumerate().map(|(nth, (name, values))| Series {
            name: (*name).to_owned(),
            shape: SeriesShape::Line,
            color: palette.head(nth),
            width: 1.5,
            runs: vec![values.iter().enumerate().map(|(at, value)| [at as f64, *value]).collect()],
        });
        let note = if self.facts.rotation.is_some() {
            "Part of q·k that is left of equal vectors, by positions between them"
        } else {
            "Mean cosine of two positions, by positions between them"
        };
        Chart {
            title: "Alike by distance".to_owned(),
            note: note.to_owned(),
            x: axis("positions between", 0.0, (n.max(2) - 1) as f64),
            y: axis("likeness", low, 1.0),
            series: series.collect(),
            marks: Vec::new(),
        }
    }

    fn biases(&self, pen: &Pen<'_>) -> Chart {
        let (palette, facts) = (&pen.palette, &self.facts);
        let line = |of: fn(&OffsetBias) -> f32, biases: &[OffsetBias]| -> Vec<[f64; 2]> {
            biases.iter().map(|bias| [bias.offset as f64, f64::from(of(bias))]).collect()
        };
        let series = |name: String, color: Rgba, width: f32, run| Series {
            name,
            shape: SeriesShape::Line,
            color,
            width,
            runs: vec![run],
        };
        let own = facts.head.head;
        let others = facts.biases.iter().enumerate().filter(|(head, _)| *head != own);
        let mut all: Vec<Series> = others
            .map(|(_, biases)| series(String::new(), palette.rule, 1.0, line(|bias| bias.mean, biases)))
            .collect();
        let mut note = "By key minus query; grey: the other heads of the layer";
        if let Some(biases) = facts.biases.get(own) {
            let is_fixed = biases.iter().all(|bias| bias.most - bias.least <= 1e-4 * bias.most.abs().max(1.0));
            if !is_fixed {
                note = "By key minus query, mean; thin: least and most, as it depends on the tokens";
                all.push(series(String::new(), palette.head(0), 0.75, line(|bias| bias.least, biases)));
                all.push(series(String::new(), palette.head(0), 0.75, line(|bias| bias.most, biases)));
            }
            all.push(series(facts.head.to_string(), palette.head(0), 2.0, line(|bias| bias.mean, biases)));
        }
        let values = |at: usize| all.iter().flat_map(Series::points).map(move |point| point[at]);
        Chart {
            title: "Bias on the scores".to_owned(),
            note: note.to_owned(),
            x: ChartAxis::over("key minus query", Scale::Whole, values(0)),
            y: ChartAxis::over("bias", Scale::Linear, values(1)),
            series: all,
            marks: Vec::new(),
        }
    }

    fn draw_turns(&self, rotation: &Rotation, rect: Rect, pen: &mut Pen<'_>) {
        let [query, key] = self.pair;
        let left = positions::left_after_turning(&rotation.frequencies, query.abs_diff(key));
        let note = format!(
            "“{}” at {query}, “{}” at {key}: {} of q·k left; below: tokens a turn",
            self.names[0],
            self.names[1],
            decimal_text(left)
        );
        parts::titled("Pairs of dimensions turn with the position", &note, rect, pen);
        let data = parts::data(rect);
        let (n, radius) = (rotation.frequencies.len(), DIAL_PT * parts::growth(rect));
        for nth in 0..N_DIALS.min(n) {
            let pair = if n <= N_DIALS { nth } else { nth * (n - 1) / (N_DIALS - 1) };
            let frequency = f64::from(rotation.frequencies[pair]);
            let pitch = vec2(data.width() / DIALS_IN_ROW as f32, data.height() / 2.0);
            let place = vec2((nth % DIALS_IN_ROW) as f32 + 0.5, (nth / DIALS_IN_ROW) as f32 + 0.4);
            let centre = data.min + place * pitch;
            pen.fill(Path::ring(centre, radius, pen.hairline()), pen.palette.edge);
            let hands = [(query, pen.palette.query), (key, pen.palette.key)];
            for (position, ink) in hands {
                let to = hand(centre, radius, frequency * position as f64);
                pen.line(centre, to, 1.5, ink);
                pen.fill(Path::circle(to, 2.0), ink);
            }
            let below = centre + vec2(0.0, radius + 3.0 * GRID);
            pen.text(&format!("pair {pair}"), SMALL, pen.palette.text, below, Align::Center);
            let period = TAU / frequency;
            let period = match period {
                _ if frequency == 0.0 => "never".to_owned(),
                ..100.0 => decimal_text(period),
                ..1e6 => whole_text(period),
                _ => norm_text(period),
            };
            pen.text(&period, SMALL, pen.palette.text_weak, below + vec2(0.0, 4.0 * GRID), Align::Center);
        }
    }

    fn draw_order(&self, rect: Rect, pen: &mut Pen<'_>) {
        let Some(layers) = &self.facts.order else { return };
        let largest = layers.iter().map(|layer| layer.largest).fold(0.0, f32::max);
        let largest = norm_text(largest);
        let note = if layers.iter().all(|layer| layer.largest < SAME) {
            format!("The permuted patterns of the other run; differences up to {largest}")
        } else {
            format!("Mean difference of rows from the permuted ones; of a weight up to {largest}")
        };
        parts::titled("What another order does to the patterns", &note, rect, pen);
        let variations: Vec<f64> = layers.iter().map(|layer| f64::from(layer.variation)).collect();
        draw_bars(&variations, 1.0, |layer| format!("L{layer}"), rect, pen);
    }

    fn draw_reach(&self, rect: Rect, pen: &mut Pen<'_>) {
        let (Some(reach), n) = (&self.facts.reach, self.facts.n_tokens) else { return };
        let [first, last] = [reach.first(), reach.last()].map(|n| n.copied().unwrap_or(0));
        let note = format!("Of {}, {first} through a layer and {last} through {}", counted(n, "token"), reach.len());
        parts::titled("Tokens in reach of the last one, by layers", &note, rect, pen);
        let tokens: Vec<f64> = reach.iter().map(|n| *n as f64).collect();
        draw_bars(&tokens, n as f64, |nth| (nth + 1).to_string(), rect, pen);
    }
}

/// Bars from 0, named below as far as there is room.
fn draw_bars(values: &[f64], to: f64, name: impl Fn(usize) -> String, rect: Rect, pen: &mut Pen<'_>) {
    let data = parts::data(rect);
    let axis = Axis { from: 0.0, to, points: Rangef::new(data.bottom(), data.top()) };
    parts::ticks(&axis, Scale::Linear, data, pen);
    let pitch = data.width() / values.len() as f32;
    for (nth, value) in values.iter().enumerate() {
        let left = data.left() + nth as f32 * pitch;
        let bar = Rect::from_min_max(pos2(left + 2.0, axis.at(*value)), pos2(left + pitch - 2.0, data.bottom()));
        pen.rect(bar, pen.palette.text_weak);
        if nth % values.len().div_ceil(N_NAMED) == 0 {
            let at = pos2(bar.center().x, data.bottom() + 2.5 * GRID);
            pen.text(&name(nth), SMALL, pen.palette.text_weak, at, Align::Center);
        }
    }
}

/// The end of a hand, from the right upwards.
fn hand(centre: Pos2, radius: f32, angle: f64) -> Pos2 {
    centre + radius * vec2(angle.cos() as f32, -angle.sin() as f32)
}

/// A matrix with a row for each position.
fn draw_matrix((title, note): (&str, &str), matrix: &Matrix, table: &TableRows, rect: Rect, pen: &mut Pen<'_>) {
    parts::titled(title, note, rect, pen);
    let data = cells(rect);
    let picture = colors(matrix, largest(matrix), pen);
    pen.picture(data, &picture, Sampling::Crisp);
    pen.frame(data, pen.hairline(), pen.palette.rule);
    let [n, width] = matrix.shape();
    for (at, name) in table.names.iter().enumerate().filter(|(at, _)| at % n.div_ceil(8) == 0) {
        let y = data.top() + (at as f32 + 0.5) * data.height() / n as f32;
        pen.text(name, SMALL, pen.palette.text_weak, pos2(data.left() - 1.5 * GRID, y), Align::Right);
    }
    let places = if n == width { "positions" } else { "dimensions" };
    let below = pos2(data.center().x, data.bottom() + 2.5 * GRID);
    pen.text(&format!("{} {places}", grouped(width)), SMALL, pen.palette.text_weak, below, Align::Center);
}
