//! Titles, names and scale of a sheet.

use std::f32::consts::FRAC_PI_2;

use emath::{Pos2, Rect, Vec2, pos2, vec2};

use super::{
    ColsAt, Scale, SmallSheet,
    layout::{HEADING_PT, LEAST_PT, LINE_PT, Labels, Layout, title_size},
};
use crate::figure::{
    font::Align,
    list::Rgba,
    measure::{
        GRID,
        text_size::{BODY, SMALL},
    },
    pen::Pen,
};

/// The bar of the scale.
const BAR_PT: Vec2 = vec2(120.0, 7.0);

impl SmallSheet {
    pub(super) fn draw_band(&self, area: Rect, pen: &mut Pen<'_>) {
        let weak = pen.palette.text_weak;
        let y = area.top() + SMALL / 2.0 + 1.0;
        let note = pen.type_.fit(&self.note, SMALL, area.width()).into_owned();
        pen.text(&note, SMALL, weak, pos2(area.left(), y), Align::Left);
        if let Some(scale) = &self.scale {
            let y = if self.band(area.width(), pen) > LINE_PT { y + LINE_PT } else { y };
            scale.draw(pos2(area.right(), y), area.width(), pen);
        }
    }

    /// Headings above the first map of each group.
    pub(super) fn draw_headings(&self, layout: &Layout, rects: &[Rect], pen: &mut Pen<'_>) {
        let color = pen.palette.text;
        for (row, heading) in &self.headings {
            let Some(rect) = self.places.iter().position(|[of, _]| of == row).and_then(|nth| rects.get(nth)) else {
                continue;
            };
            let at = rect.left_top() - vec2(0.0, layout.title + HEADING_PT / 2.0 - 1.0);
            let room = self.n_cols as f32 * (layout.map.x + layout.gap);
            let heading = pen.type_.fit(heading, BODY, room).into_owned();
            pen.text(&heading, BODY, color, at, Align::Left);
        }
    }

    /// Layers at the left and heads above, where rows and columns are theirs; else a title above each map.
    pub(super) fn draw_titles(&self, layout: &Layout, rects: &[Rect], pen: &mut Pen<'_>) {
        let color = pen.palette.text;
        if !self.is_grid {
            let size = title_size(layout.map.x);
            for (map, rect) in self.maps.iter().zip(rects) {
                let title = pen.type_.fit(&map.title, size, layout.map.x).into_owned();
                pen.text(&title, size, color, rect.left_top() - vec2(0.0, layout.title / 2.0), Align::Left);
            }
            return;
        }
        let place = |nth: usize| self.maps.get(nth).and_then(|map| map.place);
        let size = (0.9 * layout.map.y).clamp(LEAST_PT, SMALL);
        for (nth, rect) in rects.iter().enumerate().step_by(self.n_cols) {
            let Some((layer, _)) = place(nth) else { continue };
            let at = pos2(rect.left() - layout.room[0] - GRID / 2.0, rect.center().y);
            pen.text(&format!("L{layer}"), size, color, at, Align::Right);
        }
        let heads: Vec<String> = (0..self.n_cols).filter_map(|nth| Some(place(nth)?.1.to_string())).collect();
        let wide = pen.widest(heads.iter().map(String::as_str), 1.0);
        let has_letter = pen.type_.width("H", SMALL) + wide * SMALL <= layout.map.x;
        let size = (0.95 * layout.map.x / wide.max(0.1)).clamp(LEAST_PT, SMALL);
        let every = ((wide * size + 2.0) / (layout.map.x + layout.gap)).ceil().max(1.0) as usize;
        for (nth, head) in heads.iter().enumerate().step_by(every) {
            let text = if has_letter { format!("H{head}") } else { head.clone() };
            let Some(rect) = rects.get(nth) else { continue };
            pen.text(&text, size, color, pos2(rect.center().x, rect.top() - LINE_PT / 2.0), Align::Center);
        }
    }

    /// Names of tokens: at the left of each row of maps, and below the last map of each column or right of each row.
    pub(super) fn draw_names(&self, layout: &Layout, rects: &[Rect], pen: &mut Pen<'_>) {
        let n_rows = self.n_rows();
        let last = |nth: usize| match self.names.cols_at {
            // Below a row between groups stands a heading.
            ColsAt::Below if !self.headings.is_empty() => self.places[nth][0] + 1 == n_rows,
            ColsAt::Below => nth + self.n_cols >= rects.len(),
            ColsAt::Right => self.places.get(nth + 1).is_none_or(|next| next[1] == 0),
        };
        for (nth, rect) in rects.iter().enumerate() {
            if self.places[nth][1] == 0 {
                let side = |part: f32| pos2(rect.left() - GRID / 2.0, rect.top() + part * rect.height());
                Self::draw_side(layout.rows, &self.names.rows, (layout.room[0], Align::Right, 0.0), side, pen);
            }
            if !last(nth) {
                continue;
            }
            match self.names.cols_at {
                ColsAt::Below => {
                    let side = |part: f32| pos2(rect.left() + part * rect.width(), rect.bottom() + GRID / 2.0);
                    let how = (layout.room[1], Align::Right, -FRAC_PI_2);
                    Self::draw_side(layout.cols, &self.names.cols, how, side, pen);
                }
                ColsAt::Right => {
                    let side = |part: f32| pos2(rect.right() + GRID / 2.0, rect.top() + part * rect.height());
                    Self::draw_side(layout.cols, &self.names.cols, (layout.room[1], Align::Left, 0.0), side, pen);
                }
            }
        }
    }

    fn draw_side(
        labels: Labels,
        names: &[String],
        (room, align, angle): (f32, Align, f32),
        at: impl Fn(f32) -> Pos2,
        pen: &mut Pen<'_>,
    ) {
        let (size, stride) = match labels {
            Labels::None => return,
            Labels::Names(size) => (size, 1),
            Labels::Numbers(stride) => (LEAST_PT, stride),
        };
        let weak = pen.palette.text_weak;
        for (nth, name) in names.iter().enumerate().step_by(stride) {
            let number = nth.to_string();
            let text = if let Labels::Names(_) = labels { name } else { &number };
            let text = pen.type_.fit(text, size, room - GRID / 2.0).into_owned();
            let at = at((nth as f32 + 0.5) / names.len().max(1) as f32);
            pen.turned(&text, size, weak, at, align, angle);
        }
    }
}

impl Scale {
    fn parts(&self) -> [String; 2] {
        let [low, high] = &self.ends;
        [format!("{} {low}", self.name), high.clone()]
    }

    pub(super) fn width(&self, pen: &mut Pen<'_>) -> f32 {
        self.parts().iter().map(|text| pen.type_.width(text, SMALL)).sum::<f32>() + BAR_PT.x + 2.0 * GRID
    }

    /// Draws it so that it ends at a point; in a narrow sheet the bar is shorter.
    fn draw(&self, end: Pos2, room: f32, pen: &mut Pen<'_>) {
        let lost = (self.width(pen) - room).max(0.0);
        let weak = pen.palette.text_weak;
        let [low, high] = self.parts();
        let right = end.x - pen.text(&high, SMALL, weak, end, Align::Right) - GRID;
        let size = vec2((BAR_PT.x - lost).max(4.0 * GRID), BAR_PT.y);
        let bar = Rect::from_min_size(pos2(right - size.x, end.y - size.y / 2.0), size);
        let colors = self.map.on(pen.palette.ground);
        let steps: Vec<Rgba> = (0..=63).map(|step| colors.color(step as f32 / 63.0)).collect();
        pen.colors(bar, &steps);
        pen.frame(bar, 0.75, pen.palette.rule);
        pen.text(&low, SMALL, weak, pos2(bar.left() - GRID, end.y), Align::Right);
    }
}
