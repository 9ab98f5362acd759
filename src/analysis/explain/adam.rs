//! Adam (Kingma and Ba 2015), with and without amsgrad (Reddi et al. 2018): β = 0.9 and 0.999, ε = 1e-8.

/// Moves values against their gradients.
#[derive(Clone, Debug)]
pub struct Adam {
    learning_rate: f64,
    /// Whether the largest second moment so far counts, and not the last.
    keeps_largest: bool,
    n_steps: i32,
    first: Vec<f64>,
    second: Vec<f64>,
    largest: Vec<f64>,
}

impl Adam {
    /// For `n` values.
    pub fn new(n: usize, learning_rate: f64) -> Self {
        let zeros = vec![0.0; n];
        let (first, second, largest) = (zeros.clone(), zeros.clone(), zeros);
        Self { learning_rate, keeps_largest: false, n_steps: 0, first, second, largest }
    }

    /// With amsgrad. The largest moment is taken of uncorrected ones, and corrected afterwards, as `PyTorch`
    /// does.
    pub fn amsgrad(n: usize, learning_rate: f64) -> Self {
        Self { keeps_largest: true, ..Self::new(n, learning_rate) }
    }

    /// Moves `values` one step.
    pub fn step(&mut self, values: &mut [f64], gradient: &[f64]) {
        const BETA: [f64; 2] = [0.9, 0.999];
        self.n_steps += 1;
        let [first_left, second_left] = BETA.map(|beta| 1.0 - beta.powi(self.n_steps));
        for (nth, (value, gradient)) in values.iter_mut().zip(gradient).enumerate() {
            self.first[nth] = BETA[0] * self.first[nth] + (1.0 - BETA[0]) * gradient;
            self.second[nth] = BETA[1] * self.second[nth] + (1.0 - BETA[1]) * gradient * gradient;
            let before = if self.keeps_largest { self.largest[nth] } else { 0.0 };
            self.largest[nth] = self.second[nth].max(before);
            let size = self.largest[nth].sqrt() / second_left.sqrt() + 1e-8;
            *value -= self.learning_rate / first_left * self.first[nth] / size;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `torch.optim.Adam(lr=0.1)` on `(x - 3)² + 2 y⁴` from (0, 1), twelve steps.
    #[test]
    fn values_move_as_torch_moves_them() {
        let expected = [
            (Adam::amsgrad(2, 0.1), [1.175_303_898_125_067_9, 0.119_557_443_602_683_65]),
            (Adam::new(2, 0.1), [1.175_303_898_125_067_9, 0.119_388_228_476_478_18]),
        ];
        for (mut adam, expected) in expected {
            let mut values = [0.0, 1.0];
            for _ in 0..12 {
                let gradient = [2.0 * (values[0] - 3.0), 8.0 * f64::powi(values[1], 3)];
                adam.step(&mut values, &gradient);
            }
            for (value, expected) in values.into_iter().zip(expected) {
                assert!((value - expected).abs() < 1e-12, "{value} against {expected}");
            }
        }
    }
}
