//! Layout of the maps, titles and names of a sheet.

use emath::{Pos2, Rect, Vec2, vec2};

use super::{ColsAt, SmallMap, SmallSheet};
use crate::figure::{
    measure::{
        GRID,
        text_size::{BODY, SMALL},
    },
    pen::Pen,
};

/// Smallest text: four points on paper.
pub(super) const LEAST_PT: f32 = 5.5;
/// Names of tokens along a side take no more than this, and no more than this part of the sheet.
const MAX_NAMES_PT: f32 = 120.0;
const MAX_NAMES: f32 = 0.14;
/// Free space between maps: a part of their width, within these.
const GAP: f32 = 0.05;
const GAP_PT: (f32, f32) = (1.0, 10.0);
/// Height of a line of text with its free space.
pub(super) const LINE_PT: f32 = 16.0;
/// The same of a heading.
pub(super) const HEADING_PT: f32 = 22.0;

/// How the names along a side are written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Labels {
    None,
    /// Every name, this large.
    Names(f32),
    /// Numbers, one in so many.
    Numbers(usize),
}

/// Where everything stands, from the left top corner.
pub(super) struct Layout {
    pub(super) map: Vec2,
    pub(super) gap: f32,
    /// Left top corner of the first map.
    pub(super) origin: Vec2,
    /// Height of the title above each map.
    pub(super) title: f32,
    pub(super) rows: Labels,
    pub(super) cols: Labels,
    /// Room of the names at the left and of those at the right or below.
    pub(super) room: [f32; 2],
    /// Height of everything.
    pub(super) height: f32,
}
impl SmallSheet {
    /// Height of note and scale above the maps: beside each other where both fit.
    pub(super) fn band(&self, width: f32, pen: &mut Pen<'_>) -> f32 {
        let note = pen.type_.width(&self.note, SMALL);
        let scale = self.scale.as_ref().map_or(0.0, |scale| scale.width(pen));
        match (note > 0.0, scale > 0.0) {
            (false, false) => 0.0,
            (true, true) if note + scale + 4.0 * GRID > width => 2.0 * LINE_PT,
            _ => LINE_PT,
        }
    }

    /// Lays everything out in a width; a height that is given is not exceeded.
    pub(super) fn layout(&self, width: f32, height: Option<f32>, pen: &mut Pen<'_>) -> Layout {
        let (n_cols, n_rows) = (self.n_cols as f32, self.n_rows() as f32);
        let proportion = self.small().map_or(1.0, SmallMap::proportion).max(0.01);
        let row_title = if self.is_grid { self.widest_layer(pen).min(0.05 * width) + GRID } else { 0.0 };
        let foot = self.small().map_or(0.0, SmallMap::foot_height);
        let legend = self.legend.as_ref().map_or(0.0, |legend| legend.height(width, pen)) + foot;
        let top = self.band(width, pen) + if self.is_grid { LINE_PT } else { 0.0 };
        let headings = self.headings.len() as f32 * HEADING_PT;
        let most = (MAX_NAMES * width).min(MAX_NAMES_PT);
        let (mut rows, mut cols, mut room) = (Labels::None, Labels::None, [0.0; 2]);
        let (mut map, mut gap, mut title) = (Vec2::splat(1.0), GAP_PT.0, 0.0);
        // Names depend on the size of the maps, and that on the room of the names: a few rounds settle it.
        for _ in 0..4 {
            let right = if self.names.cols_at == ColsAt::Right { room[1] } else { 0.0 };
            let below = if self.names.cols_at == ColsAt::Below { room[1] } else { 0.0 };
            let free = width - row_title - room[0] - right;
            gap = (GAP * free / n_cols).clamp(GAP_PT.0, GAP_PT.1);
            let wide = ((free - gap * (n_cols - 1.0)) / n_cols).max(1.0);
            title = if self.is_grid { 0.0 } else { title_size(wide) + 2.0 };
            map = vec2(wide, wide * proportion);
            if let Some(height) = height {
                let high = (height - top - headings - below - legend - gap * (n_rows - 1.0)) / n_rows - title;
                if high < map.y {
                    map = vec2(high.max(1.0) / proportion, high.max(1.0));
                }
            }
            rows = labels(self.names.rows.len(), map.y);
            let along = if self.names.cols_at == ColsAt::Right { map.y } else { map.x };
            cols = labels(self.names.cols.len(), along);
            room = [Self::room(rows, &self.names.rows, most, pen), Self::room(cols, &self.names.cols, most, pen)];
        }
        let right = if self.names.cols_at == ColsAt::Right { room[1] } else { 0.0 };
        let below = room[1] - right;
        let used = row_title + room[0] + n_cols * map.x + (n_cols - 1.0) * gap + right;
        let origin = vec2((width - used).max(0.0) / 2.0 + row_title + room[0], top);
        let height = top + headings + n_rows * (title + map.y) + (n_rows - 1.0) * gap + below + legend;
        Layout { map, gap, origin, title, rows, cols, room, height }
    }

    /// Room that names along a side take.
    fn room(labels: Labels, names: &[String], most: f32, pen: &mut Pen<'_>) -> f32 {
        match labels {
            Labels::None => 0.0,
            Labels::Names(size) => pen.widest(names.iter().map(String::as_str), size).min(most) + GRID,
            Labels::Numbers(_) => pen.type_.width(&names.len().to_string(), LEAST_PT) + GRID,
        }
    }

    fn widest_layer(&self, pen: &mut Pen<'_>) -> f32 {
        let layers: Vec<String> = self.maps.iter().filter_map(|map| Some(format!("L{}", map.place?.0))).collect();
        pen.widest(layers.iter().map(String::as_str), SMALL)
    }

    /// Where each map stands.
    pub(super) fn rects(&self, layout: &Layout, corner: Pos2) -> Vec<Rect> {
        let step = layout.map + vec2(layout.gap, layout.gap + layout.title);
        let first = corner + layout.origin + vec2(0.0, layout.title);
        let above = |row: usize| self.headings.partition_point(|(first, _)| *first <= row) as f32 * HEADING_PT;
        let place = |[row, col]: &[usize; 2]| vec2(*col as f32, *row as f32) * step + vec2(0.0, above(*row));
        self.places.iter().map(|at| Rect::from_min_size(first + place(at), layout.map)).collect()
    }
}

/// Every name where it fits, else numbers, else nothing.
fn labels(n: usize, length: f32) -> Labels {
    let pitch = length / n.max(1) as f32;
    let size = (0.95 * pitch).min(SMALL);
    if n == 0 {
        return Labels::None;
    }
    if size >= LEAST_PT {
        return Labels::Names(size);
    }
    // Steps that people count in.
    let least = (1.4 * LEAST_PT / pitch).ceil() as usize;
    let stride = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000].into_iter().find(|&step| step >= least);
    stride.filter(|stride| *stride < n).map_or(Labels::None, Labels::Numbers)
}

/// Size of a title above a map of this width.
pub(super) fn title_size(width: f32) -> f32 {
    (width / 6.0).clamp(LEAST_PT, BODY)
}
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_give_way_to_numbers_and_those_to_nothing() {
        assert_eq!(labels(14, 140.0), Labels::Names(9.5));
        assert_eq!(labels(14, 40.0), Labels::Numbers(5));
        assert_eq!(labels(14, 6.0), Labels::None);
        assert_eq!(labels(0, 100.0), Labels::None);
    }
}
