//! Singular values of small matrices, by rotations of pairs of columns (Hestenes 1958).

use super::{ExplainError, dense::Dense};

/// Sweeps over all pairs; about eight bring any matrix to rest.
const MAX_SWEEPS: usize = 60;

/// `A = U S Vᵀ` without `V`.
#[derive(Clone, Debug, PartialEq)]
pub struct Svd {
    /// Singular values, the largest first, as many as the smaller side of `A` has.
    pub values: Vec<f64>,
    /// Left singular vectors as rows, `[values, rows of A]`; zeros where the value is 0.
    pub left: Dense,
}

impl Svd {
    /// Of an `[n, d]` matrix. Accurate for small values too, which a product of the matrix with itself is not.
    pub fn of(matrix: &Dense) -> Result<Self, ExplainError> {
        if !matrix.as_slice().iter().all(|value| value.is_finite()) {
            return Err(ExplainError::NotFinite("the matrix to be taken apart"));
        }
        let [n, d] = matrix.shape();
        if n < d {
            // Fewer rows than columns: rotations of columns give the right vectors of the transpose, so the
            // rows are rotated, and the rotations themselves are the left vectors.
            return Ok(Self::wide(matrix));
        }
        let mut columns = matrix.transposed();
        rotate(&mut columns, None);
        Ok(Self::sorted(&columns, None))
    }

    fn wide(matrix: &Dense) -> Self {
        let mut rows = matrix.clone();
        let mut turned = Dense::identity(matrix.n_rows());
        rotate(&mut rows, Some(&mut turned));
        Self::sorted(&rows, Some(&turned))
    }

    /// `vectors` are orthogonal rows whose lengths are the singular values; `left` are the left vectors where
    /// those are not `vectors` themselves.
    fn sorted(vectors: &Dense, left: Option<&Dense>) -> Self {
        let lengths: Vec<f64> = vectors.rows().map(|row| dot(row, row).sqrt()).collect();
        let mut order: Vec<usize> = (0..lengths.len()).collect();
        order.sort_by(|&a, &b| lengths[b].total_cmp(&lengths[a]));
        let values = order.iter().map(|&nth| lengths[nth]).collect();
        let of_entry = |row: usize, col: usize| match left {
            Some(left) => left.at(order[row], col),
            None if lengths[order[row]] > 0.0 => vectors.at(order[row], col) / lengths[order[row]],
            None => 0.0,
        };
        let width = left.map_or(vectors.n_cols(), Dense::n_cols);
        Self { values, left: Dense::from_fn(order.len(), width, of_entry) }
    }

    /// Number of singular values above `tolerance` times the largest.
    pub fn rank(&self, tolerance: f64) -> usize {
        let least = self.values.first().map_or(0.0, |largest| largest * tolerance);
        self.values.iter().filter(|value| **value > least).count()
    }

    /// The nearest row in the column space: `row · U Uᵀ`, over the vectors that [`Self::rank`] counts.
    pub fn project(&self, row: &[f64], tolerance: f64) -> Vec<f64> {
        let mut projected = vec![0.0; row.len()];
        for vector in self.left.rows().take(self.rank(tolerance)) {
            let along = dot(row, vector);
            for (projected, value) in projected.iter_mut().zip(vector) {
                *projected += along * value;
            }
        }
        projected
    }
}

/// Makes all rows orthogonal to each other; `turned` is rotated along.
fn rotate(rows: &mut Dense, mut turned: Option<&mut Dense>) {
    let n = rows.n_rows();
    let whole: f64 = dot(rows.as_slice(), rows.as_slice());
    for _ in 0..MAX_SWEEPS {
        let mut at_rest = true;
        for a in 0..n {
            for b in a + 1..n {
                let (aa, bb, ab) =
                    (dot(rows.row(a), rows.row(a)), dot(rows.row(b), rows.row(b)), dot(rows.row(a), rows.row(b)));
                // Rows that are nothing but rounding have no direction.
                if ab.abs() <= 1e-15 * (aa * bb).sqrt() || ab.abs() <= 1e-32 * whole {
                    continue;
                }
                at_rest = false;
                let ratio = (bb - aa) / (2.0 * ab);
                let tangent = ratio.signum() / (ratio.abs() + ratio.hypot(1.0));
                let cosine = 1.0 / tangent.hypot(1.0);
                let turn = [cosine, cosine * tangent];
                turn_rows(rows, a, b, turn);
                if let Some(turned) = turned.as_deref_mut() {
                    turn_rows(turned, a, b, turn);
                }
            }
        }
        if at_rest {
            return;
        }
    }
}

fn turn_rows(rows: &mut Dense, a: usize, b: usize, [cosine, sine]: [f64; 2]) {
    let width = rows.n_cols();
    let (above, below) = rows.as_mut_slice().split_at_mut(b * width);
    for (x, y) in above[a * width..][..width].iter_mut().zip(&mut below[..width]) {
        (*x, *y) = (cosine * *x - sine * *y, sine * *x + cosine * *y);
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<4>(), b.as_chunks::<4>());
    let mut sums = [0.0; 4];
    for (a, b) in a.iter().zip(b) {
        for lane in 0..4 {
            sums[lane] += a[lane] * b[lane];
        }
    }
    sums.iter().sum::<f64>() + a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::{super::toy, *};
    use crate::random::SplitMix;

    fn random(n: usize, d: usize, seed: u64) -> Dense {
        let mut random = SplitMix::new(seed);
        let mut values = Dense::zeros(n, d);
        values.as_mut_slice().fill_with(|| random.normal());
        values
    }

    /// Values and vectors of `numpy.linalg.svd`.
    #[test]
    fn values_of_a_known_matrix() {
        let svd = Svd::of(&toy::dense(&[[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])).unwrap();
        toy::assert_near(&svd.values, &[3f64.sqrt(), 1.0]);
        let six = 6f64.sqrt();
        let first: Vec<f64> = svd.left.row(0).iter().map(|value| value.abs()).collect();
        toy::assert_near(&first, &[1.0 / six, 1.0 / six, 2.0 / six]);
    }

    #[test]
    fn vectors_are_orthonormal_and_span_the_columns() {
        for (n, d, rank) in [(9, 4, 4), (4, 9, 4), (30, 12, 5), (6, 6, 3)] {
            // Of lower rank where asked for.
            let matrix = random(n, rank, 1).product(&random(rank, d, 2)).unwrap();
            let svd = Svd::of(&matrix).unwrap();
            assert_eq!(svd.rank(1e-10), rank, "{n} × {d}: {:?}", svd.values);
            assert!(svd.values.windows(2).all(|pair| pair[0] >= pair[1]));
            for a in 0..rank {
                for b in 0..rank {
                    let expected = f64::from(u8::from(a == b));
                    assert!((dot(svd.left.row(a), svd.left.row(b)) - expected).abs() < 1e-12);
                }
            }
            for column in matrix.transposed().rows() {
                let projected = svd.project(column, 1e-10);
                assert!(projected.iter().zip(column).all(|(a, b)| (a - b).abs() < 1e-10));
            }
            let squares: f64 = svd.values.iter().map(|value| value * value).sum();
            assert!((squares / dot(matrix.as_slice(), matrix.as_slice()) - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn nothing_has_no_rank_and_infinity_is_refused() {
        assert_eq!(Svd::of(&Dense::zeros(3, 2)).unwrap().rank(1e-9), 0);
        assert!(Svd::of(&toy::dense(&[[f64::INFINITY]])).is_err());
    }
}
