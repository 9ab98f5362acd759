//! Heads as points of a plane: near where they attend alike (Clark et al. 2019).

use rayon::prelude::*;

use super::{ExplainError, dense::Dense, divergence::jsd};
use crate::{
    capture::Matrix,
    projection::{Progress, symmetric_eigen},
};

/// SMACOF stops where a step gains less than this, or after so many steps.
const GAIN: f64 = 1e-10;
const MAX_STEPS: usize = 1000;

/// Distances between the heads of one document: the sum over queries of the Jensen–Shannon divergence of
/// their rows, smoothed by `0.999 a + 0.001 / n`. `[heads, heads]`.
///
/// As published the sum is not divided, so that it grows with the text; for a mean, divide by the queries.
/// Documents are added up by the caller. `progress` hears of each head.
pub fn head_distances(patterns: &[Matrix], progress: Progress<'_>) -> Result<Dense, ExplainError> {
    let Some(first) = patterns.first() else { return Err(ExplainError::Nothing("heads")) };
    for pattern in patterns {
        ExplainError::check_shape("the pattern of a head", &first.shape(), &pattern.shape())?;
    }
    let smoothed = |pattern: &Matrix| {
        let uniform = 0.001 / pattern.n_cols().max(1) as f64;
        let dense = Dense::from(pattern);
        Dense::from_fn(dense.n_rows(), dense.n_cols(), |row, col| 0.999 * dense.at(row, col) + uniform)
    };
    let smoothed: Vec<Dense> = patterns.iter().map(smoothed).collect();
    let of_pair = |a: usize, b: usize| smoothed[a].rows().zip(smoothed[b].rows()).map(|(a, b)| jsd(a, b)).sum::<f64>();
    let mut distances = Dense::zeros(patterns.len(), patterns.len());
    for head in 1..patterns.len() {
        let row: Vec<f64> = (0..head).into_par_iter().map(|other| of_pair(head, other)).collect();
        for (other, distance) in row.into_iter().enumerate() {
            distances.row_mut(head)[other] = distance;
            distances.row_mut(other)[head] = distance;
        }
        if !progress(head + 1, patterns.len()) {
            return Err(ExplainError::Cancelled);
        }
    }
    Ok(distances)
}

/// Points in the plane whose distances are about those given, `[n, 2]`: classical scaling (Torgerson 1952).
///
/// The same distances give the same points; axes are those of largest spread, and each is turned so that its
/// largest coordinate is positive.
pub fn classical_scaling(distances: &Dense) -> Result<Dense, ExplainError> {
    let n = distances.n_rows();
    ExplainError::check_shape("the distances", &[n, n], &distances.shape())?;
    let square = |row: usize, col: usize| distances.at(row, col).powi(2);
    let means: Vec<f64> = (0..n).map(|row| (0..n).map(|col| square(row, col)).sum::<f64>() / n as f64).collect();
    let mean = means.iter().sum::<f64>() / n.max(1) as f64;
    let products = Dense::from_fn(n, n, |row, col| -0.5 * (square(row, col) - means[row] - means[col] + mean));
    let pairs = symmetric_eigen(products.as_slice(), n).ok_or(ExplainError::NotFinite("distances"))?;
    let coordinate = |row: usize, axis: usize| {
        pairs.get(axis).map_or(0.0, |(value, vector): &(f64, Vec<f64>)| value.max(0.0).sqrt() * vector[row])
    };
    Ok(Dense::from_fn(n, 2, coordinate))
}

/// How far the points' distances are from those given: `Σ_{i<j} (‖x_i - x_j‖ - δ_ij)²`.
pub fn stress(points: &Dense, distances: &Dense) -> f64 {
    let n = points.n_rows();
    let pairs = (0..n).flat_map(|a| (0..a).map(move |b| (a, b)));
    pairs.map(|(a, b)| (between(points, a, b) - distances.at(a, b)).powi(2)).sum()
}

/// Moves points to less [`stress`] until nothing is gained (SMACOF; de Leeuw 1977).
///
/// Beginning with [`classical_scaling`], where published code begins at random, it is the same every time.
pub fn smacof(mut points: Dense, distances: &Dense) -> Result<Dense, ExplainError> {
    let n = points.n_rows();
    ExplainError::check_shape("the distances", &[n, n], &distances.shape())?;
    let mut before = stress(&points, distances);
    for _ in 0..MAX_STEPS {
        let pull = |a: usize, b: usize| {
            let distance = between(&points, a, b);
            if distance > 0.0 { distances.at(a, b) / distance } else { 0.0 }
        };
        let mut step = Dense::from_fn(n, n, |a, b| if a == b { 0.0 } else { -pull(a, b) });
        for a in 0..n {
            let sum: f64 = step.row(a).iter().sum();
            step.row_mut(a)[a] = -sum;
        }
        let mut moved = step.product(&points)?;
        for value in moved.as_mut_slice() {
            *value /= n as f64;
        }
        let now = stress(&moved, distances);
        points = moved;
        if before - now < GAIN * before {
            break;
        }
        before = now;
    }
    Ok(points)
}

fn between(points: &Dense, a: usize, b: usize) -> f64 {
    (points.at(a, 0) - points.at(b, 0)).hypot(points.at(a, 1) - points.at(b, 1))
}

#[cfg(test)]
mod tests {
    use super::{super::toy, *};
    use crate::projection::to_the_end;

    #[test]
    fn four_heads_of_the_worked_example() {
        let heads: Vec<Matrix> =
            toy::patterns().iter().flat_map(|layer| [0, 1].map(|head| layer.head(head).unwrap())).collect();
        let distances = head_distances(&heads, &to_the_end).unwrap();
        let pairs = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)];
        let found = pairs.map(|(a, b)| distances.at(a, b));
        toy::assert_near(&found, &[0.279_195, 0.320_954, 0.149_587, 0.108_559, 0.316_605, 0.241_800]);
        let points = classical_scaling(&distances).unwrap();
        let expected =
            [[0.148_477, -0.083_863], [-0.143_926, -0.075_130], [-0.132_467, 0.071_815], [0.127_916, 0.087_178]];
        for axis in 0..2 {
            // Which way an axis points is arbitrary.
            let turn = (points.at(0, axis) * expected[0][axis]).signum();
            let column: Vec<f64> = (0..4).map(|head| turn * points.at(head, axis)).collect();
            toy::assert_near(&column, &expected.map(|point| point[axis]));
        }
        let settled = smacof(points.clone(), &distances).unwrap();
        toy::assert_near(&[stress(&settled, &distances)], &[0.000_856]);
        assert!(stress(&settled, &distances) < stress(&points, &distances));
    }

    #[test]
    fn points_of_a_plane_are_found_again_and_one_head_needs_no_place() {
        let corners = toy::dense(&[[0.0, 0.0], [3.0, 0.0], [3.0, 4.0], [0.5, 1.0]]);
        let distances = Dense::from_fn(4, 4, |a, b| between(&corners, a, b));
        let found = classical_scaling(&distances).unwrap();
        assert!(stress(&found, &distances) < 1e-20);
        assert_eq!(classical_scaling(&Dense::zeros(1, 1)).unwrap().as_slice(), [0.0, 0.0]);
        let many = vec![toy::matrix(&[[1.0]]); 3];
        assert_eq!(head_distances(&many, &|_, _| false), Err(ExplainError::Cancelled));
    }
}
