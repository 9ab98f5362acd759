//! Hit test of points: a uniform grid, so that only points nearby are tested.

use eframe::egui::{Pos2, Rect, Vec2, pos2};

use crate::{
    analysis::{point_set::Spot, projection::HeadProjection},
    figure::views::points::Seen,
};

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
    /// Sorts the points of `plane` into cells, where they fall. Points that are not finite cannot be hit.
    pub fn new(plane: &HeadProjection, seen: &Seen) -> Self {
        let n = plane.queries.len() + plane.keys.len();
        let side = ((n / PER_CELL) as f32).sqrt().ceil().clamp(1.0, MAX_SIDE as f32) as usize;
        let mut grid = Self {
            bounds: seen.bounds,
            side,
            starts: vec![0; side * side + 1],
            points: Vec::new(),
            n_queries: plane.queries.len() as u32,
        };
        let place = |point: &[f32; 3]| {
            let [x, y, _] = seen.place(*point);
            pos2(x, y)
        };
        let all = plane.queries.iter().chain(&plane.keys).map(place).zip(0u32..);
        let placed: Vec<(usize, (Pos2, u32))> = all
            .filter(|(point, _)| point.is_finite())
            .map(|(point, idx)| (grid.cell_of(point), (point, idx)))
            .collect();
        for (cell, _) in &placed {
            grid.starts[cell + 1] += 1;
        }
        for cell in 0..side * side {
            grid.starts[cell + 1] += grid.starts[cell];
        }
        let mut next = grid.starts.clone();
        grid.points = vec![(Pos2::ZERO, 0); placed.len()];
        for (cell, point) in placed {
            grid.points[next[cell] as usize] = point;
            next[cell] += 1;
        }
        grid
    }

    /// The query or key nearest to `at`, at most `reach` away, all in the units of the plane.
    pub fn nearest(&self, at: Pos2, reach: f32) -> Option<Spot> {
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
        best.1.map(|idx| match idx.checked_sub(self.n_queries) {
            Some(key) => Spot::Key(key as usize),
            None => Spot::Query(idx as usize),
        })
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

    impl HitGrid {
        fn new_flat(plane: &HeadProjection) -> Self {
            Self::new(plane, &Seen::new(plane, None))
        }
    }

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
        let grid =
            HitGrid::new_flat(&plane(vec![[0.0; 3]], vec![[10.0, 0.0, 0.0], [50.0, 0.0, 0.0], [f32::NAN, 0.0, 0.0]]));
        assert_eq!(grid.nearest(pos2(7.0, 1.0), 12.0), Some(Spot::Key(0)));
        assert_eq!(grid.nearest(pos2(2.0, 1.0), 12.0), Some(Spot::Query(0)));
        assert_eq!(grid.nearest(pos2(30.0, 1.0), 12.0), None);
        assert_eq!(grid.nearest(pos2(55.0, 0.0), 12.0), Some(Spot::Key(1)), "also from outside");
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
        let grid = HitGrid::new_flat(&plane(queries.to_vec(), keys.to_vec()));
        for _ in 0..500 {
            let at = pos2(random() * 3.2 - 0.1, random() * 1.2 - 5.1);
            let distances = points.iter().map(|&[x, y, _]| pos2(x, y).distance_sq(at));
            let (idx, distance) = distances.enumerate().min_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
            let expected = match idx {
                _ if distance > 0.02 * 0.02 => None,
                query if query < 1000 => Some(Spot::Query(query)),
                key => Some(Spot::Key(key - 1000)),
            };
            assert_eq!(grid.nearest(at, 0.02), expected);
        }
    }

    #[test]
    fn no_points_and_equal_points_are_no_problem() {
        assert_eq!(HitGrid::new_flat(&plane(Vec::new(), Vec::new())).nearest(pos2(0.0, 0.0), 1.0), None);
        let equal = HitGrid::new_flat(&plane(vec![[2.0, 2.0, 0.0]; 9], vec![[2.0, 2.0, 0.0]; 9]));
        assert_eq!(equal.nearest(pos2(2.0, 2.0), 0.5), Some(Spot::Query(0)));
    }
}
