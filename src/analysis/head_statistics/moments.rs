//! Sums over inputs from which a mean over rows and its standard error follow.

use crate::analysis::welch::Sample;

/// What one input adds to a metric: the sum of its rows, what the sum is divided by, and how many rows qualify.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tally {
    pub sum: f64,
    /// The number of rows, or the mass that a ratio of sums is divided by.
    pub weight: f64,
    pub n_rows: u64,
}

impl Tally {
    /// One more row.
    pub fn add(&mut self, value: f64) {
        self.add_ratio(value, 1.0);
    }

    /// One more row of a ratio of sums.
    pub fn add_ratio(&mut self, value: f64, weight: f64) {
        self.sum += value;
        self.weight += weight;
        self.n_rows += 1;
    }
}

/// Sums over inputs. Inputs are what is drawn at random, rows of one input are not independent: the standard error
/// is that of a ratio of two sums over inputs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moments {
    n_inputs: f64,
    n_rows: f64,
    sum: f64,
    weight: f64,
    sum_squared: f64,
    sum_by_weight: f64,
    weight_squared: f64,
    /// Mean of the means of the inputs, and the sum of their squared distances from it.
    mean: f64,
    squares: f64,
}

/// A number with what it rests on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Statistic {
    pub value: f64,
    /// Standard error over inputs; none of a single input, and of numbers that have none.
    pub error: Option<f64>,
    /// Rows that qualified.
    pub n_rows: u64,
    /// Inputs with such a row.
    pub n_inputs: u64,
}

impl Moments {
    /// Numbers of [`Self::to_numbers`].
    pub const N_NUMBERS: usize = 9;

    /// One more input; one without a row that qualifies does not count.
    pub fn add(&mut self, Tally { sum, weight, n_rows }: Tally) {
        if n_rows == 0 {
            return;
        }
        self.n_inputs += 1.0;
        self.n_rows += n_rows as f64;
        self.sum += sum;
        self.weight += weight;
        self.sum_squared += sum * sum;
        self.sum_by_weight += sum * weight;
        self.weight_squared += weight * weight;
        // One after the other, as Welford has it: squares of large numbers are not taken from each other.
        let from = sum / weight - self.mean;
        self.mean += from / self.n_inputs;
        self.squares += from * (sum / weight - self.mean);
    }

    /// The mean with its standard error; none where no row qualified.
    pub fn statistic(&self) -> Option<Statistic> {
        let value = self.sum / self.weight;
        let residual = self.sum_squared - 2.0 * value * self.sum_by_weight + value * value * self.weight_squared;
        let (n_rows, n_inputs) = (self.n_rows as u64, self.n_inputs as u64);
        let error = standard_error(residual, self.n_inputs, self.weight);
        (self.weight > 0.0).then_some(Statistic { value, error, n_rows, n_inputs })
    }

    /// The means of the inputs as a sample, each of which counts once however long it is; none of no input.
    pub fn by_input(&self) -> Option<Sample> {
        let variance = if self.n_inputs > 1.0 { self.squares / (self.n_inputs - 1.0) } else { 0.0 };
        (self.n_inputs > 0.0 && self.mean.is_finite()).then_some(Sample {
            n: self.n_inputs as u64,
            mean: self.mean,
            variance,
        })
    }

    /// The numbers that it consists of.
    pub const fn to_numbers(self) -> [f64; Self::N_NUMBERS] {
        let Self { n_inputs, n_rows, sum, weight, sum_squared, sum_by_weight, weight_squared, mean, squares } = self;
        [n_inputs, n_rows, sum, weight, sum_squared, sum_by_weight, weight_squared, mean, squares]
    }

    /// Of the numbers that it consists of.
    pub const fn from_numbers(numbers: [f64; Self::N_NUMBERS]) -> Self {
        let [n_inputs, n_rows, sum, weight, sum_squared, sum_by_weight, weight_squared, mean, squares] = numbers;
        Self { n_inputs, n_rows, sum, weight, sum_squared, sum_by_weight, weight_squared, mean, squares }
    }
}

/// The standard error of a ratio of sums over `n` inputs, of the sum of its squared residuals and the sum below the line.
pub fn standard_error(residual: f64, n: f64, weight: f64) -> Option<f64> {
    (n > 1.0).then(|| (residual.max(0.0) * n / (n - 1.0)).sqrt() / weight)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_inputs_of_one_length_the_error_is_that_of_their_means() {
        let mut moments = Moments::default();
        for mean in [0.2, 0.5, 0.8, 0.1] {
            moments.add(Tally { sum: 10.0 * mean, weight: 10.0, n_rows: 10 });
        }
        moments.add(Tally::default());
        let Statistic { value, error, n_rows, n_inputs } = moments.statistic().unwrap();
        // The standard deviation of the four is 0.316228.
        assert!((value - 0.4).abs() < 1e-12 && (error.unwrap() - 0.158_113_883).abs() < 1e-9, "{error:?}");
        assert_eq!((n_rows, n_inputs), (40, 4));
        let Sample { n, mean, variance } = moments.by_input().unwrap();
        assert!(n == 4 && (mean - 0.4).abs() < 1e-12 && (variance - 0.1).abs() < 1e-12, "{variance}");
        assert_eq!(Moments::from_numbers(moments.to_numbers()), moments);
        assert_eq!(Moments::default().statistic(), None);
    }
}
