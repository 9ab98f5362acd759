//! Weights that are drawn by hand on the pattern of a head.

use crate::capture::Matrix;

/// A pattern with another weight in one cell.
///
/// With `whole` the rest of the row makes room, each weight in proportion (evenly where there was nothing), so that
/// the row sums to 1; else only this weight changes. `sees` tells which keys the row may see: another cell is not
/// drawn on, and nothing is handed to it.
#[must_use]
pub fn with_weight(
    pattern: &Matrix,
    (row, col): (usize, usize),
    weight: f32,
    sees: impl Fn(usize) -> bool,
    whole: bool,
) -> Matrix {
    let [n_rows, n_cols] = pattern.shape();
    if row >= n_rows || col >= n_cols || !sees(col) {
        return pattern.clone();
    }
    let mut values = pattern.as_slice().to_vec();
    let line = &mut values[row * n_cols..(row + 1) * n_cols];
    let others = || (0..n_cols).filter(|key| *key != col && sees(*key));
    // Alone in its row a key has all there is.
    let weight = if whole && others().next().is_none() { 1.0 } else { weight.clamp(0.0, 1.0) };
    if whole {
        let left = 1.0 - f64::from(weight);
        let sum: f64 = others().map(|key| f64::from(line[key])).sum();
        let n = others().count().max(1) as f64;
        for key in others() {
            let part = if sum > 0.0 { f64::from(line[key]) / sum } else { 1.0 / n };
            line[key] = (left * part) as f32;
        }
    }
    line[col] = weight;
    Matrix::new(values, [n_rows, n_cols]).unwrap_or_else(|_| pattern.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern() -> Matrix {
        Matrix::new(vec![1.0, 0.0, 0.0, 0.5, 0.5, 0.0, 0.2, 0.3, 0.5], [3, 3]).unwrap()
    }

    #[test]
    fn rows_keep_their_sum_where_they_are_to() {
        for weight in [0.0, 0.25, 1.0, 7.0] {
            for (row, col) in [(0, 0), (1, 1), (2, 0), (2, 2)] {
                let drawn = with_weight(&pattern(), (row, col), weight, |key| key <= row, true);
                let sum: f32 = drawn.row(row).unwrap().iter().sum();
                assert!((sum - 1.0).abs() < 1e-6, "{row} {col} {weight}: {sum}");
                assert!((0..3).all(|at| at == row || drawn.row(at) == pattern().row(at)));
                assert!(drawn.row(row).unwrap()[row + 1..].iter().all(|weight| *weight == 0.0));
            }
        }
        // In proportion, or evenly where nothing was left to scale.
        assert_eq!(with_weight(&pattern(), (2, 2), 0.0, |_| true, true).row(2).unwrap(), [0.4, 0.6, 0.0]);
        let one = with_weight(&pattern(), (2, 0), 1.0, |_| true, true);
        assert_eq!(with_weight(&one, (2, 0), 0.5, |_| true, true).row(2).unwrap(), [0.5, 0.25, 0.25]);
    }

    #[test]
    fn alone_a_weight_changes_nothing_else_and_masked_cells_stay() {
        let drawn = with_weight(&pattern(), (1, 0), 0.9, |key| key < 2, false);
        assert_eq!(drawn.row(1).unwrap(), [0.9, 0.5, 0.0]);
        assert_eq!(with_weight(&pattern(), (1, 2), 0.9, |key| key < 2, true), pattern());
        assert_eq!(with_weight(&pattern(), (5, 0), 0.9, |key| key < 2, true), pattern());
    }
}
