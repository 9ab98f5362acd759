//! The text as a figure, and as the window draws it.

use emath::{Pos2, Rect, Vec2, pos2, vec2};

use super::{
    TextScene,
    layout::{BESIDE_PT, LINE_PT, OUTLINE_PT, TEXT_PT, TextLayout, shown_text},
};
use crate::{
    figure::{
        Align, Captions, Scene,
        list::Line,
        measure::{GRID, text_size::SMALL},
        pen::{Pen, range_tick},
    },
    text::weight_text,
};

/// Below the text of a figure: the colours with their numbers.
const SCALE_PT: f32 = 10.0 * GRID;
const SCALE_WIDTH_PT: f32 = 40.0 * GRID;
/// The bar of a part is at most so long; its number stands behind it.
const BAR_PT: f32 = 16.0 * GRID;
/// How high an arc rises.
const ARC_PT: (f32, f32) = (2.0 * GRID, 5.0 * GRID);
const ARC_STEPS: usize = 24;

impl TextScene {
    /// Draws the text from `origin`, as it was laid out.
    pub fn draw_text(&self, layout: &TextLayout, origin: Pos2, pen: &mut Pen<'_>) {
        let tint = &*self.tint;
        let shown = self.shown();
        let colors = self.colors(pen.palette);
        let by = origin.to_vec2();
        for (is_key, heading) in &layout.headings {
            let at = heading.translate(by).left_center();
            pen.text(&self.passages.names[usize::from(*is_key)], SMALL, pen.palette.text_weak, at, Align::Left);
        }
        let is_one = self.passages.is_one();
        for place in &layout.places {
            let rect = place.rect.translate(by);
            if !pen.sees(rect) {
                continue;
            }
            let is_tinted = is_one || place.is_key == tint.on_keys;
            let value = shown.get(place.piece).copied().filter(|value| is_tinted && *value != 0.0);
            let [ground, ink] = value.map_or([pen.palette.canvas, pen.palette.text], &colors);
            if value.is_some() {
                pen.rect(rect, ground);
            }
            let text = &self.passages.side(place.is_key).pieces[place.piece].text;
            pen.text(&shown_text(text), TEXT_PT, ink, rect.left_center(), Align::Left);
        }
        self.draw_held(layout, by, pen);
        self.draw_arcs(layout, by, pen);
        self.draw_outline(layout, by, pen);
    }

    /// Lines below the tokens that are held, in the colours of queries and keys.
    fn draw_held(&self, layout: &TextLayout, by: Vec2, pen: &mut Pen<'_>) {
        let (row, col) = self.pinned.in_pattern(&self.read);
        let is_key_apart = !self.passages.is_one();
        let held = [(row, false, pen.palette.query), (col, is_key_apart, pen.palette.key)];
        for (at, is_key, color) in held {
            if let Some(rect) = at.and_then(|at| layout.place(is_key, at)) {
                let rect = rect.translate(by);
                pen.rect(Rect::from_x_y_ranges(rect.x_range(), rect.bottom() - 1.0..=rect.bottom() + 1.0), color);
            }
        }
    }

    fn draw_arcs(&self, layout: &TextLayout, by: Vec2, pen: &mut Pen<'_>) {
        let (row, _) = self.pinned.in_pattern(&self.read);
        let Some(from) = row.and_then(|row| layout.place(false, row)) else { return };
        let strongest = self.strongest();
        let most = strongest.first().map_or(1.0, |(_, value)| value.abs()).max(f32::MIN_POSITIVE);
        for (key, value) in strongest {
            let Some(to) = layout.place(!self.passages.is_one(), key) else { continue };
            let ends = [from, to].map(|rect| rect.translate(by).center_top());
            let rise = (ends[0].distance(ends[1]) / 8.0).clamp(ARC_PT.0, ARC_PT.1);
            let over = |at: Pos2| at - vec2(0.0, rise);
            let corners = [ends[0], over(ends[0]), over(ends[1]), ends[1]];
            let points: Vec<Pos2> =
                (0..=ARC_STEPS).map(|step| bezier(corners, step as f32 / ARC_STEPS as f32)).collect();
            let width = 0.75 + 1.25 * value.abs() / most;
            let color = pen.palette.key;
            pen.lines(points.windows(2).map(|ends| Line { from: ends[0], to: ends[1], width, color }).collect());
        }
    }

    /// A bar for the sum of each part.
    fn draw_outline(&self, layout: &TextLayout, by: Vec2, pen: &mut Pen<'_>) {
        let tint = &*self.tint;
        let passage = self.passages.side(tint.on_keys);
        let sums = passage.parts(self.options.unit).sums(&tint.values);
        let most = sums.iter().map(|sum| sum.abs()).fold(f32::MIN_POSITIVE, f32::max);
        let is_one = self.passages.is_one();
        for row in layout.outline.iter().filter(|row| is_one || row.is_key == tint.on_keys) {
            let rect = row.rect.translate(by);
            if !pen.sees(rect) {
                continue;
            }
            let sum = sums[row.part];
            let bar = vec2(BAR_PT * sum.abs() / most, rect.height() - 2.0 * GRID);
            let left = rect.left_center();
            pen.rect(Rect::from_min_size(pos2(left.x, left.y - bar.y / 2.0), bar), pen.palette.bar);
            let at = pos2(left.x + bar.x + GRID, left.y);
            pen.text(&weight_text(sum), SMALL, pen.palette.text_weak, at, Align::Left);
        }
    }
}

/// A point of a curve.
fn bezier([a, b, c, d]: [Pos2; 4], t: f32) -> Pos2 {
    let s = 1.0 - t;
    let parts = [(a, s * s * s), (b, 3.0 * s * s * t), (c, 3.0 * s * t * t), (d, t * t * t)];
    parts.iter().fold(Vec2::ZERO, |sum, (at, part)| sum + at.to_vec2() * *part).to_pos2()
}

impl TextScene {
    fn laid_out(&self, width: f32, pen: &mut Pen<'_>) -> TextLayout {
        self.layout(width, &mut |text| pen.type_.width(text, TEXT_PT))
    }
}

impl Scene for TextScene {
    fn width(&self, _: &mut Pen<'_>) -> f32 {
        LINE_PT + BESIDE_PT + OUTLINE_PT
    }

    fn least_width(&self, _: &mut Pen<'_>) -> f32 {
        60.0 * GRID
    }

    fn height(&self, width: f32, pen: &mut Pen<'_>) -> f32 {
        self.laid_out(width, pen).size.y + SCALE_PT
    }

    fn least_height(&self, width: f32, pen: &mut Pen<'_>) -> f32 {
        self.height(width, pen)
    }

    fn draw(&self, area: Rect, pen: &mut Pen<'_>) {
        let layout = self.laid_out(area.width(), pen);
        self.draw_text(&layout, area.min, pen);
        let range = self.range();
        let colors = super::super::color_map(&self.read, self.color_map).on(pen.palette.ground);
        let bar = Rect::from_min_size(pos2(area.left(), area.bottom() - 6.0 * GRID), vec2(SCALE_WIDTH_PT, 2.0 * GRID));
        pen.colors(bar, &colors.table());
        pen.frame(bar, pen.hairline(), pen.palette.rule);
        let tick = range_tick(range);
        for (part, align) in [(0.0, Align::Left), (1.0, Align::Right)] {
            let at = pos2(bar.left() + part * bar.width(), bar.bottom() + 2.5 * GRID);
            pen.text(&tick(part), SMALL, pen.palette.text_weak, at, align);
        }
    }

    fn captions(&self) -> Captions {
        Self::captions(self)
    }
}
