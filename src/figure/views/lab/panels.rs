//! Several maps of the same tokens and layers, side by side on one scale.

use emath::{Pos2, Rect, pos2, vec2};

use super::{
    Hit, Piece,
    map::{Map, Place},
};
use crate::{
    figure::{
        font::Align,
        measure::{GRID, text_size::SMALL},
        pen::Pen,
    },
    ids::Side,
};

/// Height of the titles.
const TITLE_PT: f32 = 15.0;
/// Between two maps.
const BETWEEN_PT: f32 = 2.0 * GRID;

/// The maps with their titles.
#[derive(Clone, Debug)]
pub struct Panels {
    maps: Vec<(String, Map)>,
}

impl Panels {
    /// Maps of the same rows: the first names them, the last has the scale of all.
    pub fn new(mut maps: Vec<(String, Map)>) -> Self {
        let ranges = || maps.iter().map(|(_, map)| map.range());
        let range = (ranges().map(|(most, _)| most).fold(0.0, f32::max), ranges().any(|(_, signed)| signed));
        let last = maps.len().saturating_sub(1);
        for (nth, (_, map)) in maps.iter_mut().enumerate() {
            map.place = Place { range: Some(range), names: nth == 0, bar: nth == last };
        }
        Self { maps }
    }

    /// What each map takes beside its cells, and between them.
    fn beside(&self) -> f32 {
        let sides: f32 = self.maps.iter().map(|(_, map)| map.sides()).sum();
        sides + BETWEEN_PT * self.maps.len().saturating_sub(1) as f32
    }

    /// Where each map stands, below its title.
    fn places(&self, area: Rect) -> Vec<Rect> {
        let n_cols: usize = self.maps.iter().map(|(_, map)| map.n_cols()).sum();
        let cell = (area.width() - self.beside()).max(0.0) / n_cols.max(1) as f32;
        let mut left = area.left();
        let place = |(_, map): &(String, Map)| {
            let width = (map.n_cols() as f32 * cell).min(map.widest()) + map.sides();
            let rect = Rect::from_min_max(pos2(left, area.top() + TITLE_PT), pos2(left + width, area.bottom()));
            left += width + BETWEEN_PT;
            rect
        };
        self.maps.iter().map(place).collect()
    }

    fn placed(&self, area: Rect) -> impl Iterator<Item = (&(String, Map), Rect)> {
        self.maps.iter().zip(self.places(area))
    }
}

impl Piece for Panels {
    fn width(&self) -> f32 {
        self.maps.iter().map(|(_, map)| map.widest()).sum::<f32>().min(480.0) + self.beside()
    }

    fn least_width(&self) -> f32 {
        self.beside() + self.maps.iter().map(|(_, map)| 6.0 * map.n_cols() as f32).sum::<f32>()
    }

    fn height(&self, width: f32) -> f32 {
        let area = Rect::from_min_size(Pos2::ZERO, vec2(width, 0.0));
        TITLE_PT + self.placed(area).map(|((_, map), rect)| map.height(rect.width())).fold(0.0, f32::max)
    }

    fn draw(&self, area: Rect, pen: &mut Pen<'_>) {
        for ((title, map), rect) in self.placed(area) {
            let left = rect.left() + map.cells_left();
            let title = pen.type_.fit(title, SMALL, rect.right() - left).into_owned();
            pen.text(&title, SMALL, pen.palette.text, pos2(left, area.top() + TITLE_PT / 2.0), Align::Left);
            map.draw(rect, pen);
        }
    }

    fn at(&self, area: Rect, at: Pos2) -> Option<Hit> {
        self.placed(area).find_map(|((_, map), rect)| map.at(rect, at))
    }

    fn rows_of(&self, area: Rect, token: (Side, usize)) -> Vec<Rect> {
        self.placed(area).flat_map(|((_, map), rect)| map.rows_of(rect, token)).collect()
    }

    fn spoken(&self) -> Vec<String> {
        self.maps.iter().flat_map(|(_, map)| map.spoken()).collect()
    }
}
