//! Eigenvalues of a square matrix that need not be symmetric.
//!
//! By Householder reflections to Hessenberg form, then by the shifted QR algorithm of Francis (1961), two steps at once,
//! so that complex pairs need no complex numbers.

use super::{ExplainError, dense::Dense};

/// Steps for one eigenvalue after which there is no hope.
const MOST_STEPS: usize = 60;
/// Steps after which an exceptional shift is tried.
const EXCEPTIONAL: usize = 10;

/// Every eigenvalue as `[real part, imaginary part]`, in no order.
///
/// # Errors
/// When the matrix is not square, has a value that is not finite, or the iteration does not end.
pub fn eigenvalues(matrix: &Dense) -> Result<Vec<[f64; 2]>, ExplainError> {
    let n = matrix.n_rows();
    ExplainError::check_shape("a matrix with eigenvalues", &[n, n], &matrix.shape())?;
    if matrix.as_slice().iter().any(|value| !value.is_finite()) {
        return Err(ExplainError::option("the matrix", "not finite", "finite numbers"));
    }
    let mut form = matrix.clone();
    to_hessenberg(&mut form);
    let mut found = Vec::with_capacity(n);
    // Rows and columns from `end` on are done.
    let mut end = n;
    let mut steps = 0;
    while end > 0 {
        let first = split(&form, end);
        match end - first {
            1 => {
                found.push([form.at(end - 1, end - 1), 0.0]);
                (end, steps) = (end - 1, 0);
            }
            2 => {
                found.extend(of_pair(&form, end - 2));
                (end, steps) = (end - 2, 0);
            }
            _ if steps == MOST_STEPS => {
                return Err(ExplainError::option("the matrix", "without an end", "a matrix whose iteration ends"));
            }
            _ => {
                steps += 1;
                francis(&mut form, first, end, steps % EXCEPTIONAL == 0);
            }
        }
    }
    Ok(found)
}

/// Zeros below the first subdiagonal, with the same eigenvalues.
fn to_hessenberg(matrix: &mut Dense) {
    let n = matrix.n_rows();
    for col in 0..n.saturating_sub(2) {
        let vector: Vec<f64> = (col + 1..n).map(|row| matrix.at(row, col)).collect();
        if let Some(mirror) = Mirror::of(&vector) {
            mirror.on_rows(matrix, col + 1, 0..n);
            mirror.on_cols(matrix, col + 1, 0..n);
        }
    }
}

/// A reflection `1 − 2 v vᵀ` that turns a vector onto the first axis.
struct Mirror(Vec<f64>);

impl Mirror {
    fn of(vector: &[f64]) -> Option<Self> {
        let length = norm(vector);
        let rest = vector.get(1..)?;
        if norm(rest) == 0.0 {
            return None;
        }
        let mut own = vector.to_vec();
        own[0] += length.copysign(own[0]);
        let length = norm(&own);
        for value in &mut own {
            *value /= length;
        }
        Some(Self(own))
    }

    /// On rows from `first`, in some columns.
    fn on_rows(&self, matrix: &mut Dense, first: usize, cols: std::ops::Range<usize>) {
        for col in cols {
            let along: f64 = self.0.iter().enumerate().map(|(at, v)| v * matrix.at(first + at, col)).sum();
            for (at, v) in self.0.iter().enumerate() {
                matrix.row_mut(first + at)[col] -= 2.0 * v * along;
            }
        }
    }

    /// On columns from `first`, in some rows.
    fn on_cols(&self, matrix: &mut Dense, first: usize, rows: std::ops::Range<usize>) {
        for row in rows {
            let row = &mut matrix.row_mut(row)[first..first + self.0.len()];
            let along: f64 = self.0.iter().zip(&*row).map(|(v, value)| v * value).sum();
            row.iter_mut().zip(&self.0).for_each(|(value, v)| *value -= 2.0 * v * along);
        }
    }
}

fn norm(vector: &[f64]) -> f64 {
    vector.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// Where the last block that is not done begins: behind a subdiagonal value that is as good as 0, which it becomes.
fn split(form: &Dense, end: usize) -> usize {
    let size = (0..end).map(|at| form.at(at, at).abs()).fold(f64::MIN_POSITIVE, f64::max);
    for row in (1..end).rev() {
        let beside = form.at(row, row).abs() + form.at(row - 1, row - 1).abs();
        let beside = if beside == 0.0 { size } else { beside };
        if form.at(row, row - 1).abs() <= f64::EPSILON * beside {
            return row;
        }
    }
    0
}

/// Both eigenvalues of a block of two.
fn of_pair(form: &Dense, at: usize) -> [[f64; 2]; 2] {
    let [a, b, c, d] = [form.at(at, at), form.at(at, at + 1), form.at(at + 1, at), form.at(at + 1, at + 1)];
    let half = (a - d) / 2.0;
    let root = half * half + b * c;
    let middle = f64::midpoint(a, d);
    if root < 0.0 {
        let turn = (-root).sqrt();
        return [[middle, turn], [middle, -turn]];
    }
    // The larger one first, the other from the product: nothing cancels.
    let far = half + root.sqrt().copysign(half);
    let other = if far == 0.0 { d } else { d - b * c / far };
    [[d + far, 0.0], [other, 0.0]]
}

/// Two steps of QR at once on the block from `first` to `end`, of three or more.
fn francis(form: &mut Dense, first: usize, end: usize, exceptional: bool) {
    let last = end - 1;
    let [a, b, c, d] =
        [form.at(last - 1, last - 1), form.at(last - 1, last), form.at(last, last - 1), form.at(last, last)];
    // Sum and product of the two shifts.
    let (sum, product) = if exceptional {
        let size = c.abs() + form.at(last - 1, last - 2).abs();
        (1.5 * size, size * size)
    } else {
        (a + d, a * d - b * c)
    };
    let at = |row: usize, col: usize| form.at(first + row, first + col);
    let mut bulge = [
        at(0, 0) * at(0, 0) + at(0, 1) * at(1, 0) - sum * at(0, 0) + product,
        at(1, 0) * (at(0, 0) + at(1, 1) - sum),
        at(1, 0) * at(2, 1),
    ];
    for row in first..last {
        let width = 3.min(end - row);
        if let Some(mirror) = Mirror::of(&bulge[..width]) {
            mirror.on_rows(form, row, row.saturating_sub(1).max(first)..end);
            mirror.on_cols(form, row, first..end.min(row + 4));
        }
        if row > first {
            for below in row + 1..row + width {
                form.row_mut(below)[row - 1] = 0.0;
            }
        }
        bulge = std::array::from_fn(|nth| if row + 1 + nth < end { form.at(row + 1 + nth, row) } else { 0.0 });
    }
}

#[cfg(test)]
mod tests {
    use super::{super::toy, *};
    use crate::random::SplitMix;

    fn sorted(matrix: &Dense) -> Vec<[f64; 2]> {
        let mut found = eigenvalues(matrix).unwrap();
        found.sort_by(|a, b| a[0].total_cmp(&b[0]).then(a[1].total_cmp(&b[1])));
        found
    }

    fn assert_are(matrix: &Dense, expected: &[[f64; 2]]) {
        let found = sorted(matrix);
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(expected) {
            let far = (found[0] - expected[0]).hypot(found[1] - expected[1]);
            assert!(far < 1e-6, "{found:?} instead of {expected:?}");
        }
    }

    #[test]
    fn a_complex_pair_a_turn_and_the_roots_of_a_polynomial() {
        let root = (1.0f64 - 1.0 / 16.0).sqrt();
        assert_are(&toy::dense(&[[0.0, -1.0], [1.0, 0.5]]), &[[0.25, -root], [0.25, root]]);
        // A cycle of three has the roots of 1, and every shift is alike.
        let turn = (3f64 / 4.0).sqrt();
        assert_are(
            &toy::dense(&[[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]),
            &[[-0.5, -turn], [-0.5, turn], [1.0, 0.0]],
        );
        // (x − 1)(x − 2)(x − 3)(x − 4)
        assert_are(
            &toy::dense(&[
                [10.0, -35.0, 50.0, -24.0],
                [1.0, 0.0, 0.0, 0.0],
                [0.0, 1.0, 0.0, 0.0],
                [0.0, 0.0, 1.0, 0.0],
            ]),
            &[[1.0, 0.0], [2.0, 0.0], [3.0, 0.0], [4.0, 0.0]],
        );
        assert_are(&Dense::zeros(3, 3), &[[0.0; 2]; 3]);
        assert!(eigenvalues(&Dense::zeros(2, 3)).is_err());
        assert!(eigenvalues(&Dense::from_fn(2, 2, |_, _| f64::NAN)).is_err());
    }

    /// `S D S⁻¹` has the blocks of `D`; their sums of powers are traces.
    #[test]
    fn sums_of_powers_are_traces_of_powers() {
        let mut random = SplitMix::new(3);
        for n in [1, 2, 3, 5, 8, 33, 64] {
            let mut matrix = Dense::zeros(n, n);
            matrix.as_mut_slice().fill_with(|| random.normal() / (n as f64).sqrt());
            let found = eigenvalues(&matrix).unwrap();
            let mut power = Dense::identity(n);
            for exponent in 1..=4 {
                power = power.product(&matrix).unwrap();
                let trace: f64 = (0..n).map(|at| power.at(at, at)).sum();
                let sum = found.iter().fold([0.0; 2], |sum, [re, im]| {
                    let (size, turn) = (re.hypot(*im).powi(exponent), im.atan2(*re) * f64::from(exponent));
                    [sum[0] + size * turn.cos(), sum[1] + size * turn.sin()]
                });
                assert!((sum[0] - trace).abs() < 1e-9 && sum[1].abs() < 1e-9, "{n}^{exponent}: {sum:?}, {trace}");
            }
        }
    }
}
