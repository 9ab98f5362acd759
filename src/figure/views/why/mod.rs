//! One weight step by step: what a head computes for a query, from its vector to what the residual stream gets.

use std::sync::Arc;

use emath::{Rect, Vec2, pos2, vec2};

use super::{
    heatmap::ruled_out::{hatch, hatched_text},
    joined,
};
use crate::{
    analysis::chain::{Chain, Over, Step, StepKind},
    capture::{Capture, words},
    figure::{
        font::Align,
        list::Rgba,
        measure::{
            GRID,
            text_size::{BODY, SMALL},
        },
        page::{Captions, Scene},
        palette::Palette,
        pen::{Medium, Pen},
        views::cells,
    },
    raster::ColorMap,
    style::{HATCH_PT, mixed},
    text::{cell_text, norm_text},
};

pub mod layout;
mod options;
pub mod parts;
mod said;
mod spec;

pub use options::WhyOptions;
pub use spec::SPEC;

use layout::{NAME_PT, STRIP_PT, WhyLayout};
use parts::{Halves, Parts};

/// A recorded value that is farther than this from the step before is said to differ.
const DIFFERS: f32 = 1e-4;
/// How much of the ground steps that are still to come have.
const TO_COME: f32 = 0.6;

/// The steps of one query.
#[derive(Clone)]
pub struct WhyScene {
    pub chain: Arc<Chain>,
    pub query: String,
    /// Text of each key.
    pub keys: Vec<String>,
    /// Width of one head's values.
    pub d_value: usize,
    /// Colours of weights.
    pub color_map: ColorMap,
    /// How many steps are walked.
    pub walked: usize,
    /// The score taken apart, where that is asked for.
    pub parts: Option<Parts>,
}

impl WhyScene {
    /// The steps of a chain, with the names of its tokens.
    pub fn new(capture: &Capture, chain: Arc<Chain>, color_map: ColorMap, options: WhyOptions) -> Self {
        let stack = chain.head.stack;
        let keys = capture.key_tokens(stack);
        Self {
            query: words::token_text(capture.query_tokens(stack), chain.query),
            keys: (0..keys.len()).map(|key| words::token_text(keys, key)).collect(),
            d_value: capture.v(chain.head).map_or(0, |values| values.n_cols()),
            walked: options.walked(chain.steps.len()),
            parts: None,
            chain,
            color_map,
        }
    }

    /// The same with the score taken apart.
    #[must_use]
    pub fn with_parts(self, parts: Option<Parts>) -> Self {
        Self { parts, ..self }
    }

    /// How many steps are drawn: on paper those that are walked, in the window all, the rest pale.
    fn n_drawn(&self, medium: Medium) -> usize {
        match medium {
            Medium::Paper => self.walked,
            Medium::Screen => self.chain.steps.len(),
        }
    }

    /// Where everything stands in an area.
    pub fn layout(&self, area: Rect, medium: Medium) -> WhyLayout {
        WhyLayout::of(self.halves(area, medium).steps, &self.chain, self.n_drawn(medium))
    }

    fn steps_size(&self, medium: Medium) -> Vec2 {
        vec2(WhyLayout::width(), WhyLayout::least(self.n_drawn(medium)).y)
    }

    /// Where the steps and the parts stand in an area.
    pub fn halves(&self, area: Rect, medium: Medium) -> Halves {
        Halves::of(area, self.steps_size(medium), self.parts.as_ref())
    }

    /// The height of all in a width.
    pub fn height_in(&self, width: f32, medium: Medium) -> f32 {
        Halves::height(width, self.steps_size(medium), self.parts.as_ref())
    }

    fn draw_step(&self, nth: usize, step: &Step, layout: &WhyLayout, pen: &mut Pen<'_>) {
        let strip = &layout.strips[nth];
        let canvas = pen.palette.canvas;
        let is_walked = nth < self.walked;
        let ink = |color: Rgba| if is_walked { color } else { mixed(color, canvas, TO_COME) };
        let middle = strip.cells.center().y;
        if nth + 1 == self.walked && self.walked < self.chain.steps.len() && pen.medium == Medium::Screen {
            let mark = Rect::from_min_size(strip.rect.min + vec2(0.0, GRID), vec2(2.0, STRIP_PT - 3.0 * GRID));
            pen.rect(mark, pen.palette.text);
        }
        let left = strip.rect.left() + 2.0 * GRID;
        let name = pen.type_.fit(&self.name(step), BODY, NAME_PT - 3.0 * GRID).into_owned();
        pen.text(&name, BODY, ink(name_color(step, &pen.palette)), pos2(left, middle - 2.0 * GRID), Align::Left);
        let formula = pen.type_.fit(&self.formula(step), SMALL, NAME_PT - 3.0 * GRID).into_owned();
        pen.text(&formula, SMALL, ink(pen.palette.text_weak), pos2(left, middle + 2.0 * GRID), Align::Left);
        self.draw_cells(step, strip, &ink, pen);
        let at = pos2(strip.cells.right() + 2.0 * GRID, middle);
        let weak = ink(pen.palette.text_weak);
        if let Some(rest) = step.rest(&strip.columns) {
            pen.text(&Self::rest_text(step, rest), SMALL, weak, at, Align::Left);
        }
        let total = self.total(step);
        pen.text(&total, SMALL, ink(pen.palette.text), at - vec2(0.0, 4.0 * GRID), Align::Left);
        if step.deviation.is_some_and(|deviation| deviation > DIFFERS || deviation.is_nan()) {
            let at = at + vec2(0.0, 4.0 * GRID);
            pen.text("⚠ differs from the record", SMALL, pen.palette.warning, at, Align::Left);
        }
    }

    fn draw_cells(&self, step: &Step, strip: &layout::Strip, ink: &dyn Fn(Rgba) -> Rgba, pen: &mut Pen<'_>) {
        let finite = step.values.iter().filter(|value| value.is_finite());
        let most = finite.fold(f32::MIN_POSITIVE, |most, value| most.max(value.abs()));
        let is_weights = step.is_weights();
        let map = if is_weights { self.color_map } else { ColorMap::Signed };
        let colors = map.on(pen.palette.ground);
        let n = strip.columns.len();
        let mut hidden = Vec::new();
        for (col, &column) in strip.columns.iter().enumerate() {
            let (cell, value) = (cells::cell_rect(strip.cells, (1, n), 0, col), step.values[column]);
            let label = self.column_name(step.over, column);
            let label = pen.type_.fit(&label, SMALL, cell.width() - GRID).into_owned();
            let color = if step.over == Over::Keys { pen.palette.key } else { pen.palette.text_weak };
            pen.text(&label, SMALL, ink(color), cell.center_top() - vec2(0.0, 2.0 * GRID), Align::Center);
            if value == f32::NEG_INFINITY || is_weights && self.is_hidden(column) {
                hidden.push(cell);
                continue;
            }
            let part = value / most;
            let ground = ink(colors.color(if is_weights { part } else { 0.5 + part / 2.0 }));
            pen.rect(cell, ground);
            let legible = pen.palette.legible(pen.palette.text, ground);
            let number = if value.abs() < 10.0 { cell_text(value) } else { norm_text(value) };
            pen.text(&number, SMALL, ink(legible), cell.center(), Align::Center);
        }
        hatch(hidden, (HATCH_PT, ink(pen.palette.rule)), pen);
        pen.frame(strip.cells, pen.hairline(), ink(pen.palette.rule));
        if let Some(cell) = strip.cell(self.chain.key).filter(|_| step.over == Over::Keys) {
            pen.frame(cell, 2.0, ink(pen.palette.text));
        }
    }

    /// Whether the query cannot see a key.
    pub fn is_hidden(&self, key: usize) -> bool {
        let scores = |step: &&Step| matches!(step.kind, StepKind::Score(_) | StepKind::Scores);
        let last = self.chain.steps.iter().rev().find(scores);
        last.is_some_and(|step| step.values[key] == f32::NEG_INFINITY)
    }
}

const fn name_color(step: &Step, palette: &Palette) -> Rgba {
    match step.kind {
        StepKind::Query | StepKind::HiddenQuery => palette.query,
        StepKind::Key | StepKind::HiddenKey => palette.key,
        _ => palette.text,
    }
}

impl Scene for WhyScene {
    fn width(&self, _: &mut Pen<'_>) -> f32 {
        WhyLayout::width()
    }

    fn least_width(&self, _: &mut Pen<'_>) -> f32 {
        self.parts.as_ref().map_or(0.0, Parts::least_width).max(WhyLayout::least(0).x)
    }

    fn height(&self, width: f32, pen: &mut Pen<'_>) -> f32 {
        self.height_in(width, pen.medium)
    }

    fn least_height(&self, width: f32, pen: &mut Pen<'_>) -> f32 {
        self.height(width, pen)
    }

    fn draw(&self, area: Rect, pen: &mut Pen<'_>) {
        let layout = self.layout(area, pen.medium);
        if let Some(parts) = &self.parts {
            parts.draw(self.halves(area, pen.medium).parts, pen);
        }
        for (nth, step) in self.chain.steps.iter().take(layout.strips.len()).enumerate() {
            if pen.sees(layout.strips[nth].rect) {
                self.draw_step(nth, step, &layout, pen);
            }
        }
    }

    fn captions(&self) -> Captions {
        let (query, key) = (words::bare(&self.query), self.key_name(self.chain.key));
        let what = format!("From “{query}” to its weights in {}, step by step, with the key “{key}”", self.chain.head);
        let how = "Of more than 16 values the 12 largest are drawn. Colours go by the largest value of each strip: orange \
            above 0, blue below; weights from the ground on";
        let parts = self.parts.as_ref().map_or("", |parts| parts.said.as_str());
        let mask = hatched_text((0..self.keys.len()).any(|key| self.is_hidden(key)), false);
        Captions { short: what.clone(), full: joined([what.as_str(), how, parts, mask]) }
    }
}
