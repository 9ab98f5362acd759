//! Importance of tokens from gradients of the target by the input embeddings.
//!
//! ```text
//! gradient × input: Σ_d g_d · x_d                                    (Simonyan et al. 2014)
//! integrated:       Σ_d (x - x₀)_d · mean over steps of ∂y/∂x_d       (Sundararajan et al. 2017)
//! ```

use super::{ExplainError, dense::Dense};
use crate::capture::Matrix;

/// For each token the length of its gradient, `[n, d]` to `[n]`.
pub fn lengths(gradient: &Matrix) -> Vec<f32> {
    gradient.rows().map(|row| row.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>().sqrt() as f32).collect()
}

/// For each token its gradient times its embedding, both `[n, d]`: what the target would lose, were it linear
/// and the embedding 0.
pub fn times_input(gradient: &Matrix, input: &Matrix) -> Result<Vec<f32>, ExplainError> {
    ExplainError::check_shape("the gradient of the input", &input.shape(), &gradient.shape())?;
    let dot =
        |(g, x): (&[f32], &[f32])| g.iter().zip(x).map(|(g, x)| f64::from(*g) * f64::from(*x)).sum::<f64>() as f32;
    Ok(gradient.rows().zip(input.rows()).map(dot).collect())
}

/// [`times_input`] as sizes that sum to 1, summed up over outputs: the importance that Jain and Wallace (2019)
/// compare attention with. `outputs` hold the gradient of each output, `[n, d]`. All 0 where every one is.
pub fn importance(outputs: &[Matrix], input: &Matrix) -> Result<Vec<f64>, ExplainError> {
    let mut sums = vec![0.0; input.n_rows()];
    for gradient in outputs {
        for (sum, value) in sums.iter_mut().zip(times_input(gradient, input)?) {
            *sum += f64::from(value.abs());
        }
    }
    let whole: f64 = sums.iter().sum();
    if whole > 0.0 {
        for value in &mut sums {
            *value /= whole;
        }
    }
    Ok(sums)
}

/// Where between baseline (0) and input (1) the gradient is taken: the middles of `n_steps` equal parts, which
/// come nearer to the integral than their ends.
pub fn path(n_steps: usize) -> impl ExactSizeIterator<Item = f64> {
    (0..n_steps).map(move |step| (step as f64 + 0.5) / n_steps as f64)
}

/// The input at one place of the path, `[n, d]`.
pub fn on_path(input: &Matrix, baseline: &Matrix, at: f64) -> Result<Matrix, ExplainError> {
    ExplainError::check_shape("the baseline", &input.shape(), &baseline.shape())?;
    let (input, baseline) = (Dense::from(input), Dense::from(baseline));
    let value = |row: usize, col: usize| baseline.at(row, col) + at * (input.at(row, col) - baseline.at(row, col));
    Ok(Dense::from_fn(input.n_rows(), input.n_cols(), value).to_matrix())
}

/// Integrated gradients, `[n]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Integrated {
    /// What each token adds to the target.
    pub tokens: Vec<f32>,
    /// What they add up to, less what the target really gains from baseline to input: near 0 with enough
    /// steps.
    pub gap: f64,
}

/// Puts together the gradients along the [`path`]; `targets` are the target's values at baseline and input.
pub fn integrated(
    gradients: &[Matrix],
    input: &Matrix,
    baseline: &Matrix,
    targets: [f64; 2],
) -> Result<Integrated, ExplainError> {
    if gradients.is_empty() {
        return Err(ExplainError::Nothing("steps along the path"));
    }
    let mut mean = Dense::zeros(input.n_rows(), input.n_cols());
    for gradient in gradients {
        mean = mean.plus(&Dense::from(gradient))?;
    }
    ExplainError::check_shape("the baseline", &input.shape(), &baseline.shape())?;
    let (input, baseline) = (Dense::from(input), Dense::from(baseline));
    let n_steps = gradients.len() as f64;
    let of_token = |token: usize| {
        let axes = input.row(token).iter().zip(baseline.row(token)).zip(mean.row(token));
        axes.map(|((x, start), slope)| (x - start) * slope / n_steps).sum::<f64>()
    };
    let tokens: Vec<f64> = (0..input.n_rows()).map(of_token).collect();
    let gap = tokens.iter().sum::<f64>() - (targets[1] - targets[0]);
    Ok(Integrated { tokens: tokens.iter().map(|&value| value as f32).collect(), gap })
}

#[cfg(test)]
mod tests {
    use super::{super::toy, *};

    /// `y = Σ x³`, whose slope is `3 x²`.
    fn slope(input: &Matrix) -> Matrix {
        let values: Vec<f32> = input.as_slice().iter().map(|x| 3.0 * x * x).collect();
        Matrix::new(values, input.shape()).unwrap()
    }

    #[test]
    fn integrated_gradients_of_a_cube_are_the_cube() {
        let (input, baseline) = (toy::matrix(&[[1.0, -2.0], [0.5, 3.0]]), toy::matrix(&[[0.0, 0.0], [0.0, 1.0]]));
        let places: Vec<f64> = path(100).collect();
        assert_eq!((places[0], places[99]), (0.005, 0.995));
        let gradients: Vec<Matrix> = places.iter().map(|at| slope(&on_path(&input, &baseline, *at).unwrap())).collect();
        let found = integrated(&gradients, &input, &baseline, [1.0, 1.0 - 8.0 + 0.125 + 27.0]).unwrap();
        for (token, expected) in found.tokens.iter().zip([1.0 - 8.0, 0.125 + 26.0]) {
            assert!((token - expected).abs() < 1e-3);
        }
        assert!(found.gap.abs() < 1e-2 && found.gap != 0.0);
        assert!(integrated(&[], &input, &baseline, [0.0; 2]).is_err());
    }

    #[test]
    fn gradients_meet_inputs_token_by_token() {
        let (gradient, input) = (toy::matrix(&[[3.0, 4.0], [1.0, -1.0]]), toy::matrix(&[[1.0, 2.0], [2.0, 5.0]]));
        assert_eq!(lengths(&gradient), [5.0, 2f32.sqrt()]);
        assert_eq!(times_input(&gradient, &input).unwrap(), [11.0, -3.0]);
        toy::assert_near(&importance(&[gradient.clone(), gradient], &input).unwrap(), &[11.0 / 14.0, 3.0 / 14.0]);
        let none = toy::matrix(&[[0.0, 0.0], [0.0, 0.0]]);
        assert_eq!(importance(&[none], &input).unwrap(), [0.0, 0.0]);
    }
}
