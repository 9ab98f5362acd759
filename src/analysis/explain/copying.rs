//! What a head writes by its weights alone, whatever it reads, and whether it copies (Elhage et al. 2021).
//!
//! ```text
//! row of t = E[t] · N · W_V · W_O · N' · U       N, N': norms without their deviation, γ and the mean taken away
//! copying  = Σ Re λ / Σ |λ|,   λ: eigenvalues of (W_O N' U) (E N W_V), those of the whole table but for zeros
//! ```

use super::{ExplainError, dense::Dense, edges::FrozenNorm, eigenvalues::eigenvalues};

/// A map `[d, any]` with a norm in front of it: what is divided by is left out, and so is the bias.
pub fn behind_norm(norm: FrozenNorm<'_>, mut map: Dense) -> Result<Dense, ExplainError> {
    let [n_rows, n_cols] = map.shape();
    ExplainError::check_shape("the norm in front of a map", &[n_rows], &[norm.weight.len()])?;
    for (row, weight) in map.rows_mut().zip(norm.weight) {
        for value in row.iter_mut() {
            *value *= f64::from(*weight);
        }
    }
    if norm.centred {
        let mut mean = vec![0.0; n_cols];
        for row in map.rows() {
            mean.iter_mut().zip(row).for_each(|(mean, value)| *mean += value / n_rows as f64);
        }
        for row in map.rows_mut() {
            row.iter_mut().zip(&mean).for_each(|(value, mean)| *value -= mean);
        }
    }
    Ok(map)
}

/// Rows `[any, d]` behind a norm, likewise.
pub fn before_norm(mut rows: Dense, norm: FrozenNorm<'_>) -> Result<Dense, ExplainError> {
    ExplainError::check_shape("the norm behind a map", &[rows.n_cols()], &[norm.weight.len()])?;
    for row in rows.rows_mut() {
        let mean = if norm.centred { row.iter().sum::<f64>() / row.len().max(1) as f64 } else { 0.0 };
        row.iter_mut().zip(norm.weight).for_each(|(value, weight)| *value = (*value - mean) * f64::from(*weight));
    }
    Ok(rows)
}

/// `Σ Re λ / Σ |λ|` of a square matrix: 1 where every direction comes back as itself, −1 where each comes back turned
/// round; NaN where nothing comes back.
///
/// # Errors
/// When it has no eigenvalues.
pub fn copying_score(matrix: &Dense) -> Result<f64, ExplainError> {
    let [sum, size] =
        eigenvalues(matrix)?.into_iter().fold([0.0, 0.0], |[sum, size], [re, im]| [sum + re, size + re.hypot(im)]);
    Ok(sum / size)
}

/// The place of a value among others, 1 for the largest; equal ones share it.
pub fn rank_of(values: &[f32], nth: usize) -> Option<usize> {
    let own = values.get(nth)?;
    Some(1 + values.iter().filter(|other| *other > own).count())
}

/// The `n` largest values in order and the `n` smallest, the smallest first; of equal ones the first.
pub fn extremes(values: &[f32], n: usize) -> [Vec<usize>; 2] {
    let some = |larger: &dyn Fn(&usize, &usize) -> std::cmp::Ordering| {
        let mut order: Vec<usize> = (0..values.len()).collect();
        if n < order.len() {
            order.select_nth_unstable_by(n, larger);
            order.truncate(n);
        }
        order.sort_unstable_by(larger);
        order
    };
    [
        some(&|a, b| values[*b].total_cmp(&values[*a]).then(a.cmp(b))),
        some(&|a, b| values[*a].total_cmp(&values[*b]).then(a.cmp(b))),
    ]
}

#[cfg(test)]
mod tests {
    use super::{super::toy, *};

    #[test]
    fn the_worked_example_of_copying() {
        let embed = toy::dense(&[[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]);
        let value = toy::dense(&[[1.0, 0.5], [0.0, 1.0]]);
        let output = toy::dense(&[[1.0, 0.0], [0.5, -0.5]]);
        let unembed = toy::dense(&[[1.0, 0.0, 0.5], [0.0, 1.0, 0.5]]);
        let small = output.product(&unembed).unwrap().product(&embed.product(&value).unwrap()).unwrap();
        let mut found: Vec<f64> = eigenvalues(&small).unwrap().into_iter().map(|[re, _]| re).collect();
        found.sort_by(f64::total_cmp);
        toy::assert_near(&found, &[-0.554_248, 1.804_248]);
        toy::assert_near(&[copying_score(&small).unwrap()], &[0.529_999]);
        // The whole table has the same ones, and a zero.
        let whole = embed.product(&value).unwrap().product(&output).unwrap().product(&unembed).unwrap();
        toy::assert_near(&[copying_score(&whole).unwrap()], &[0.529_999]);
        toy::assert_near(&[copying_score(&toy::dense(&[[0.0, -1.0], [1.0, 0.5]])).unwrap()], &[0.25]);
        assert!(copying_score(&Dense::zeros(2, 2)).unwrap().is_nan());
    }

    #[test]
    fn norms_are_folded_into_the_maps_beside_them() {
        let (weight, bias) = ([2.0f32, 0.5, 1.0], [9.0f32; 3]);
        let rows = toy::dense(&[[1.0, 2.0, 6.0], [0.0, -1.0, 1.0]]);
        let map = toy::dense(&[[1.0, 0.0], [2.0, 1.0], [0.0, -1.0]]);
        for centred in [true, false] {
            let norm = FrozenNorm { weight: &weight, bias: Some(&bias), epsilon: 1e-5, centred };
            let through = before_norm(rows.clone(), norm).unwrap();
            let mean = if centred { 3.0 } else { 0.0 };
            toy::assert_near(through.row(0), &[2.0 * (1.0 - mean), 0.5 * (2.0 - mean), 6.0 - mean]);
            let apart = through.product(&map).unwrap();
            let folded = rows.product(&behind_norm(norm, map.clone()).unwrap()).unwrap();
            toy::assert_near(folded.as_slice(), apart.as_slice());
            assert!(behind_norm(norm, rows.clone()).is_err());
        }
    }

    #[test]
    fn the_largest_and_the_smallest_are_found_and_ties_go_by_order() {
        let values = [0.5, -1.0, 2.0, 0.5, -1.0];
        assert_eq!(extremes(&values, 2), [vec![2, 0], vec![1, 4]]);
        assert_eq!(extremes(&values, 9)[0], [2, 0, 3, 1, 4]);
        assert_eq!([0, 2, 3, 9].map(|nth| rank_of(&values, nth)), [Some(2), Some(1), Some(2), None]);
    }
}
