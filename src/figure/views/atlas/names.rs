//! Names of heads beside their points, apart from each other and off the points.

use emath::{Pos2, Rect, Vec2, vec2};
use serde::{Deserialize, Serialize};

use super::AtlasScene;
use crate::{
    figure::{
        apart,
        font::Align,
        measure::{GRID, text_size::SMALL},
        pen::Pen,
        views::axes::Axes,
    },
    ids::HeadId,
};

/// The most names of one chart.
const MOST: usize = 32;
/// Height of a name.
const NAME_PT: f32 = 3.5 * GRID;
/// Room around a point.
const POINT_PT: f32 = 6.0;

/// Which heads have their names beside their points.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PointNames {
    /// The selected head, and heads of known kinds as far as there is room.
    #[default]
    Known,
    Selected,
    None,
}

vocabulary! {
    PointNames: name, title;
    Known("known", "Selected and known heads"),
    Selected("selected", "The selected head"),
    None("none", "None"),
}

/// A name with its place.
#[derive(Clone, Debug, PartialEq)]
pub struct PlacedName {
    pub head: HeadId,
    pub text: String,
    /// Where its head is.
    pub at: Pos2,
    pub place: Rect,
}

impl AtlasScene {
    /// Heads with names, the selected one first, then those whose number upwards is largest.
    fn named(&self) -> Vec<(HeadId, [f64; 2])> {
        let Some(table) = self.table().filter(|_| self.options.point_names != PointNames::None) else {
            return Vec::new();
        };
        let kinds = self.first_kinds(table);
        let is_known = |at: usize| self.options.point_names == PointNames::Known && kinds[at].is_some();
        let point = |at: usize| Some([self.value(self.options.across, at)?, self.value(self.options.up, at)?]);
        let heads = table.heads.iter().enumerate();
        let heads = heads.filter(|(at, head)| **head == self.head || is_known(*at));
        let mut found: Vec<(HeadId, [f64; 2])> = heads.filter_map(|(at, head)| Some((*head, point(at)?))).collect();
        let is_other = |head: &HeadId| *head != self.head;
        found.sort_by(|a, b| is_other(&a.0).cmp(&is_other(&b.0)).then(b.1[1].total_cmp(&a.1[1])));
        found.truncate(MOST);
        found
    }

    /// Names beside the points of a chart in a frame; those for which there is no free place are left out, but for that of
    /// the selected head.
    pub fn names(&self, frame: Rect, axes: &Axes, width: &mut dyn FnMut(&str) -> f32) -> Vec<PlacedName> {
        let series = self.series();
        let points = series.iter().flat_map(|series| &series.points).map(|[x, y]| axes.at(*x, *y));
        let points = points.filter(|at| frame.contains(*at));
        let marks: Vec<Rect> = points.map(|at| Rect::from_center_size(at, Vec2::splat(POINT_PT))).collect();
        let mut placed: Vec<PlacedName> = Vec::new();
        for (head, [x, y]) in self.named() {
            let at = axes.at(x, y);
            if !frame.contains(at) {
                continue;
            }
            let text = head.to_string();
            let size = vec2(width(&text) + GRID, NAME_PT);
            let taken: Vec<Rect> = marks.iter().copied().chain(placed.iter().map(|name| name.place)).collect();
            let Some(place) = apart::beside(&[(at, size)], &taken, frame).pop() else { continue };
            let meets = |other: &Rect| place.shrink(0.5).intersects(*other);
            let is_free = frame.expand(0.5).contains_rect(place) && !taken.iter().any(meets);
            if is_free || head == self.head {
                placed.push(PlacedName { head, text, at, place });
            }
        }
        placed
    }

    /// Draws the names, each with a line to its point where it is not beside it.
    pub fn draw_names(&self, frame: Rect, axes: &Axes, pen: &mut Pen<'_>) {
        let names = self.names(frame, axes, &mut |text| pen.type_.width(text, SMALL));
        let (text, weak) = (pen.palette.text, pen.palette.text_weak);
        for PlacedName { head, text: name, at, place } in names {
            let end = place.clamp(at);
            if at.distance(end) > apart::LED_PT {
                pen.line(at, end, 0.5, weak);
            }
            let color = if head == self.head { text } else { weak };
            pen.text(&name, SMALL, color, place.center(), Align::Center);
        }
    }
}
