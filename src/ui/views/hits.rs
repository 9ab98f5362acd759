//! Which point of a plane is under the pointer: a uniform grid, so that only points nearby are looked at.

use eframe::egui::{Pos2, Rect, Vec2, pos2};

use super::planes;
use crate::{analysis::projection::HeadProjection, session::Focus};

/// Points that share a cell of the grid, about.
const PER_CELL: usize = 4;
/// Most cells along an axis.
const MAX_SIDE: usize = 512;

/// The points of one head by where they are.
#[derive(Debug)]
pub struct HitGrid {
    bounds: Rect,
    side: usize,
    /// Where each cell's points start in `points`; one more than there are cells.
    starts: Vec<u32>,
    points: Vec<(Pos2, u32)>,
    n_queries: u32,
}

impl HitGrid {
    /// Sorts the points of `plane` into cells. Points that are not finite cannot be hit.
    pub fn new(plane: &HeadProjection) -> Self {
        let n = plane.queries.len() + plane.keys.len();
        let side = ((n / PER_CELL) as f32).sqrt().ceil().clamp(1.0, MAX_SIDE as f32) as usize;
        let bounds = planes::bounds(plane);
        let mut grid =
            Self { bounds, side, starts: Vec::new(), points: Vec::new(), n_queries: plane.queries.len() as u32 };
        let all = plane.queries.iter().chain(&plane.keys).map(|&[x, y, _]| pos2(x, y)).zip(0u32..);
        let mut placed: Vec<(usize, (Pos2, u32))> = all
            .filter(|(point, _)| point.is_finite())
            .map(|(point, idx)| (grid.cell_of(point), (point, idx)))
            .collect();
        placed.sort_unstable_by_key(|&(cell, (_, idx))| (cell, idx));
        let start_of = |cell| placed.partition_point(|&(other, _)| other < cell) as u32;
        grid.starts = (0..=side * side).map(start_of).collect();
        grid.points = placed.into_iter().map(|(_, point)| point).collect();
        grid
    }

    /// The query or key nearest to `at`, at most `reach` away, all in the units of the plane.
    pub fn nearest(&self, at: Pos2, reach: f32) -> Focus {
        let (low, high) = (self.place(at - Vec2::splat(reach)), self.place(at + Vec2::splat(reach)));
        let mut best = (reach * reach, None);
        for row in low[1]..=high[1] {
            let cells = row * self.side + low[0]..row * self.side + high[0] + 1;
            let points = self.starts[cells.start] as usize..self.starts[cells.end] as usize;
            for &(point, idx) in &self.points[points] {
                let distance = point.distance_sq(at);
                // Of two at the same place the query, then the earlier one.
                if distance < best.0 || distance == best.0 && best.1.is_none_or(|known| idx < known) {
                    best = (distance, Some(idx));
                }
            }
        }
        match best.1 {
            Some(idx) if idx < self.n_queries => Focus::query(idx as usize),
            Some(idx) => Focus::key((idx - self.n_queries) as usize),
            None => Focus::NONE,
        }
    }

    fn cell_of(&self, point: Pos2) -> usize {
        let [col, row] = self.place(point);
        row * self.side + col
    }

    /// Column and row of the cell, at the edge for what lies outside.
    fn place(&self, point: Pos2) -> [usize; 2] {
        let size = self.bounds.size().max(Vec2::splat(f32::MIN_POSITIVE));
        let part = (point - self.bounds.min) / size * self.side as f32;
        [part.x, part.y].map(|part| (part.max(0.0) as usize).min(self.side - 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::HeadId;

    fn plane(queries: Vec<[f32; 3]>, keys: Vec<[f32; 3]>) -> HeadProjection {
        HeadProjection {
            head: HeadId::single(0, 0),
            queries,
            keys,
            c: 1.0,
            explained: [0.0; 3],
            refined: None,
            correlation_before: 0.0,
            correlation_after: 0.0,
        }
    }

    #[test]
    fn the_nearest_point_in_reach_is_meant() {
        let grid = HitGrid::new(&plane(vec![[0.0; 3]], vec![[10.0, 0.0, 0.0], [50.0, 0.0, 0.0], [f32::NAN, 0.0, 0.0]]));
        assert_eq!(grid.nearest(pos2(7.0, 1.0), 12.0), Focus::key(0));
        assert_eq!(grid.nearest(pos2(2.0, 1.0), 12.0), Focus::query(0));
        assert_eq!(grid.nearest(pos2(30.0, 1.0), 12.0), Focus::NONE);
        assert_eq!(grid.nearest(pos2(55.0, 0.0), 12.0), Focus::key(1), "also from outside");
    }

    /// Every point against all others, the slow way.
    #[test]
    fn many_points_are_found_as_by_looking_at_all() {
        let mut state = 7u32;
        let mut random = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / (1 << 24) as f32
        };
        let points: Vec<[f32; 3]> = (0..3000).map(|_| [random() * 3.0, random() - 5.0, 0.0]).collect();
        let (queries, keys) = points.split_at(1000);
        let grid = HitGrid::new(&plane(queries.to_vec(), keys.to_vec()));
        for _ in 0..500 {
            let at = pos2(random() * 3.2 - 0.1, random() * 1.2 - 5.1);
            let distances = points.iter().map(|&[x, y, _]| pos2(x, y).distance_sq(at));
            let (idx, distance) = distances.enumerate().min_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
            let expected = match idx {
                _ if distance > 0.02 * 0.02 => Focus::NONE,
                query if query < 1000 => Focus::query(query),
                key => Focus::key(key - 1000),
            };
            assert_eq!(grid.nearest(at, 0.02), expected);
        }
    }

    #[test]
    fn no_points_and_equal_points_are_no_problem() {
        assert_eq!(HitGrid::new(&plane(Vec::new(), Vec::new())).nearest(pos2(0.0, 0.0), 1.0), Focus::NONE);
        let equal = HitGrid::new(&plane(vec![[2.0, 2.0, 0.0]; 9], vec![[2.0, 2.0, 0.0]; 9]));
        assert_eq!(equal.nearest(pos2(2.0, 2.0), 0.5), Focus::query(0));
    }
}
