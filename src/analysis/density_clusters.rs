//! Dense clusters in a layout: their places, their members, and the most typical token of each.

use std::collections::BTreeMap;

/// Squares along the longer axis: fewest and most.
const SIDES: (usize, usize) = (12, 96);
/// Points per square, about, where points are spread evenly.
const PER_SQUARE: f32 = 2.0;
/// Crowds are denser than these parts of the density around a typical point; where one falls apart at a higher
/// level into several, they are crowds of their own.
const LEVELS: [f32; 6] = [0.12, 0.25, 0.45, 0.7, 1.0, 1.4];
/// A crowd has so many points at least, and this part of all.
const LEAST: (usize, f32) = (6, 0.004);
/// A token must be this much more frequent in a crowd than in the whole to be its name.
const LEAST_LIFT: f64 = 1.5;

/// A crowd of points.
#[derive(Clone, Debug, PartialEq)]
pub struct Crowd {
    /// The mean of its points.
    pub center: [f32; 2],
    /// Which points, in ascending order.
    pub members: Vec<usize>,
}

/// The crowds among points, the largest first. Points that are not finite are in none.
///
/// Points are counted in the squares of a grid, the counts are smoothed, and crowds are the connected squares above
/// a density, from which higher levels cut out what falls apart. Equal points give equal crowds.
pub fn crowds(points: &[[f32; 2]]) -> Vec<Crowd> {
    let finite = points.iter().enumerate().filter(|(_, at)| at[0].is_finite() && at[1].is_finite());
    let finite: Vec<(usize, [f32; 2])> = finite.map(|(idx, at)| (idx, *at)).collect();
    let least = LEAST.0.max((finite.len() as f32 * LEAST.1) as usize);
    let Some(grid) = Grid::new(&finite) else { return Vec::new() };
    let typical = finite.iter().map(|(_, at)| grid.density[grid.square(*at)]).sum::<f32>() / finite.len() as f32;
    let mut found: Vec<Vec<usize>> = Vec::new();
    let all: Vec<usize> = (0..grid.density.len()).collect();
    grid.split(&all, 0, typical, least, &mut found);
    let mut owner = vec![None; grid.density.len()];
    for (crowd, squares) in found.iter().enumerate() {
        for square in squares {
            owner[*square] = Some(crowd);
        }
    }
    let mut crowds = vec![Crowd { center: [0.0; 2], members: Vec::new() }; found.len()];
    for (idx, at) in finite {
        let Some(crowd) = owner[grid.square(at)] else { continue };
        crowds[crowd].members.push(idx);
        for (sum, x) in crowds[crowd].center.iter_mut().zip(at) {
            *sum += x;
        }
    }
    for crowd in &mut crowds {
        crowd.center = crowd.center.map(|sum| sum / crowd.members.len().max(1) as f32);
    }
    crowds.retain(|crowd| crowd.members.len() >= least);
    crowds.sort_by_key(|crowd| (std::cmp::Reverse(crowd.members.len()), crowd.members[0]));
    crowds
}

/// Counts of points on a grid of squares, smoothed.
struct Grid {
    min: [f32; 2],
    square: f32,
    n: [usize; 2],
    counts: Vec<usize>,
    density: Vec<f32>,
}

impl Grid {
    fn new(points: &[(usize, [f32; 2])]) -> Option<Self> {
        let fold = |pick: fn(f32, f32) -> f32, from: f32| {
            [0, 1].map(|axis| points.iter().fold(from, |x, (_, at)| pick(x, at[axis])))
        };
        let (min, max) = (fold(f32::min, f32::INFINITY), fold(f32::max, f32::NEG_INFINITY));
        let size = [0, 1].map(|axis| max[axis] - min[axis]);
        let longer = size[0].max(size[1]);
        // All at one place, or none at all: no crowd stands out.
        if !(longer > 0.0 && longer.is_finite()) {
            return None;
        }
        let side = ((points.len() as f32 / PER_SQUARE).sqrt() as usize).clamp(SIDES.0, SIDES.1);
        let square = longer / side as f32;
        let n = size.map(|size| (size / square).floor() as usize + 1);
        let mut grid = Self { min, square, n, counts: vec![0; n[0] * n[1]], density: Vec::new() };
        for (_, at) in points {
            let square = grid.square(*at);
            grid.counts[square] += 1;
        }
        let counts: Vec<f32> = grid.counts.iter().map(|count| *count as f32).collect();
        grid.density = smooth(&smooth(&counts, n, 0), n, 1);
        Some(grid)
    }

    fn square(&self, at: [f32; 2]) -> usize {
        let [col, row] =
            [0, 1].map(|axis| (((at[axis] - self.min[axis]) / self.square) as usize).min(self.n[axis] - 1));
        row * self.n[0] + col
    }

    /// The crowds within some squares from a level on.
    fn split(&self, squares: &[usize], level: usize, typical: f32, least: usize, found: &mut Vec<Vec<usize>>) {
        let Some(part) = LEVELS.get(level) else { return };
        let parts = self.connected(squares, part * typical, least);
        for part in parts {
            let before = found.len();
            // The first level at which it falls apart, if there is one.
            for (higher, density) in LEVELS.iter().enumerate().skip(level + 1) {
                if self.connected(&part, density * typical, least).len() > 1 {
                    self.split(&part, higher, typical, least, found);
                    break;
                }
            }
            if found.len() == before {
                found.push(part);
            }
        }
    }

    /// Connected squares above a density, as far as they hold enough points.
    fn connected(&self, squares: &[usize], density: f32, least: usize) -> Vec<Vec<usize>> {
        let mut open = vec![false; self.density.len()];
        for square in squares {
            open[*square] = self.density[*square] > density;
        }
        let mut parts = Vec::new();
        for start in squares {
            if !std::mem::take(&mut open[*start]) {
                continue;
            }
            let (mut part, mut next) = (Vec::new(), vec![*start]);
            while let Some(square) = next.pop() {
                part.push(square);
                let (row, col) = (square / self.n[0], square % self.n[0]);
                for row in row.saturating_sub(1)..=(row + 1).min(self.n[1] - 1) {
                    for col in col.saturating_sub(1)..=(col + 1).min(self.n[0] - 1) {
                        let neighbour = row * self.n[0] + col;
                        if std::mem::take(&mut open[neighbour]) {
                            next.push(neighbour);
                        }
                    }
                }
            }
            if part.iter().map(|square| self.counts[*square]).sum::<usize>() >= least {
                part.sort_unstable();
                parts.push(part);
            }
        }
        parts
    }
}

/// Weights 1, 4, 6, 4, 1 along an axis.
fn smooth(values: &[f32], n: [usize; 2], axis: usize) -> Vec<f32> {
    let stride = if axis == 0 { 1 } else { n[0] };
    let at = |idx: usize| if axis == 0 { idx % n[0] } else { idx / n[0] };
    let smoothed = |idx: usize| {
        let weights = [(-2i64, 1.0), (-1, 4.0), (0, 6.0), (1, 4.0), (2, 1.0)];
        let terms = weights.into_iter().filter_map(|(step, weight)| {
            let place = at(idx) as i64 + step;
            let inside = (0..n[axis] as i64).contains(&place);
            inside.then(|| weight / 16.0 * values[(idx as i64 + step * stride as i64) as usize])
        });
        terms.sum()
    };
    (0..values.len()).map(smoothed).collect()
}

/// The number that is most over-represented among `inside` against `whole`: of tokens, a number for each text.
///
/// By the log-likelihood ratio (Dunning, 1993), among those that are at least one and a half times as frequent inside
/// as in the whole and occur there more than once. `None` when there is none.
pub fn most_typical(inside: impl IntoIterator<Item = u32>, whole: &BTreeMap<u32, usize>) -> Option<u32> {
    let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
    for number in inside {
        *counts.entry(number).or_default() += 1;
    }
    let n_inside: usize = counts.values().sum();
    let n_whole: usize = whole.values().sum();
    let term = |observed: f64, expected: f64| if observed > 0.0 { observed * (observed / expected).ln() } else { 0.0 };
    let score = |number: u32, count: usize| {
        let total = *whole.get(&number)? as f64;
        let (count, inside, all) = (count as f64, n_inside as f64, n_whole as f64);
        let lift = count / inside / (total / all);
        if count < 2.0 || lift < LEAST_LIFT {
            return None;
        }
        let outside = all - inside;
        let expected = total / all;
        let present = term(count, inside * expected) + term(total - count, outside * expected);
        let absent = term(inside - count, inside * (1.0 - expected))
            + term(outside - (total - count), outside * (1.0 - expected));
        Some(present + absent)
    };
    let scored = counts.iter().filter_map(|(&number, &count)| Some((score(number, count)?, number)));
    // Of equal scores the smaller number.
    scored.max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1))).map(|(_, number)| number)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Points around a place, in a fixed scatter.
    fn crowd(n: usize, center: [f32; 2], radius: f32) -> Vec<[f32; 2]> {
        let at = |idx: usize| {
            let (turn, out) = (idx as f32 * 2.399_963, radius * (idx as f32 / n as f32).sqrt());
            [center[0] + out * turn.cos(), center[1] + out * turn.sin()]
        };
        (0..n).map(at).collect()
    }

    #[test]
    fn crowds_apart_are_found_with_their_points() {
        let mut points = crowd(300, [0.0, 0.0], 1.0);
        points.extend(crowd(200, [6.0, 0.0], 0.8));
        points.extend(crowd(90, [3.0, 5.0], 0.5));
        points.extend([[f32::NAN, 0.0], [3.0, -4.0]]);
        let found = crowds(&points);
        assert_eq!(found.len(), 3, "{found:?}");
        let sizes: Vec<usize> = found.iter().map(|crowd| crowd.members.len()).collect();
        assert!(sizes[0] > 280 && sizes[1] > 180 && sizes[2] > 80, "{sizes:?}");
        assert!((found[0].center[0]).abs() < 0.1 && (found[1].center[0] - 6.0).abs() < 0.1);
        assert!(found[2].members.iter().all(|idx| (500..590).contains(idx)));
        assert_eq!(crowds(&points), found, "the same every time");
    }

    #[test]
    fn crowds_joined_by_a_thin_bridge_are_told_apart() {
        let mut points = crowd(400, [0.0, 0.0], 1.0);
        points.extend(crowd(400, [5.0, 0.0], 1.0));
        points.extend((0..40).map(|nth| [1.0 + nth as f32 * 0.075, 0.0]));
        assert_eq!(crowds(&points).len(), 2);
    }

    #[test]
    fn no_points_and_equal_points_have_no_crowds() {
        assert_eq!(crowds(&[]), []);
        assert_eq!(crowds(&[[2.0, 3.0]; 50]), []);
        assert_eq!(crowds(&[[f32::NAN, 3.0]; 50]), []);
        assert_eq!(crowds(&crowd(1000, [0.0, 0.0], 1.0)).len(), 1, "evenly spread points are one");
    }

    #[test]
    fn the_name_is_what_is_frequent_inside_and_rare_outside() {
        // 0: everywhere; 1: mostly inside; 2: once.
        let whole = BTreeMap::from([(0, 500), (1, 12), (2, 1), (3, 487)]);
        let inside = std::iter::repeat_n(0, 20).chain(std::iter::repeat_n(1, 10)).chain([2]);
        assert_eq!(most_typical(inside, &whole), Some(1));
        assert_eq!(most_typical([0, 3, 0, 3], &whole), None, "as frequent as everywhere");
        assert_eq!(most_typical([2], &whole), None, "once is no habit");
        assert_eq!(most_typical([], &whole), None);
    }
}
