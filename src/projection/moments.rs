//! Means, variances and correlation of pairs, in double precision, joined in a fixed order.

/// Sums about the means (Chan, Golub and `LeVeque`, 1983).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moments {
    n: f64,
    mean: [f64; 2],
    /// Σ(x − x̄)², Σ(y − ȳ)².
    squares: [f64; 2],
    /// Σ(x − x̄)(y − ȳ).
    product: f64,
}

impl Moments {
    /// Of all pairs: once for the means, once for what is left.
    pub fn of(x: &[f64], y: &[f64]) -> Self {
        let n = x.len().min(y.len()) as f64;
        if n == 0.0 {
            return Self::default();
        }
        let mean = [sum(x) / n, sum(y) / n];
        // Four sums, so that the loop vectorises.
        let mut sums = [[0.0f64; 4]; 3];
        let mut add = |lane: usize, x: f64, y: f64| {
            let (x, y) = (x - mean[0], y - mean[1]);
            sums[0][lane] += x * x;
            sums[1][lane] += y * y;
            sums[2][lane] += x * y;
        };
        let ((x, x_rest), (y, y_rest)) = (x.as_chunks::<4>(), y.as_chunks::<4>());
        for (x, y) in x.iter().zip(y) {
            for lane in 0..4 {
                add(lane, x[lane], y[lane]);
            }
        }
        for (&x, &y) in x_rest.iter().zip(y_rest) {
            add(0, x, y);
        }
        let [xx, yy, xy] = sums.map(|lanes| lanes.iter().sum());
        Self { n, mean, squares: [xx, yy], product: xy }
    }

    /// Of the pairs of both.
    pub fn join(self, other: Self) -> Self {
        let n = self.n + other.n;
        if self.n == 0.0 || other.n == 0.0 {
            return if self.n == 0.0 { other } else { self };
        }
        let delta = [other.mean[0] - self.mean[0], other.mean[1] - self.mean[1]];
        let weight = self.n * other.n / n;
        let joined = |axis: usize| self.squares[axis] + other.squares[axis] + delta[axis] * delta[axis] * weight;
        Self {
            n,
            mean: [self.mean[0] + delta[0] * other.n / n, self.mean[1] + delta[1] * other.n / n],
            squares: [joined(0), joined(1)],
            product: self.product + other.product + delta[0] * delta[1] * weight,
        }
    }

    /// Pearson correlation; none where either side does not vary by more than rounding.
    pub fn correlation(self) -> Option<f64> {
        let varies = |axis: usize| self.squares[axis] > 1e-24 * self.n * self.mean[axis] * self.mean[axis];
        let defined = self.n >= 2.0 && varies(0) && varies(1) && self.squares[0] > 0.0 && self.squares[1] > 0.0;
        defined.then(|| (self.product / (self.squares[0].sqrt() * self.squares[1].sqrt())).clamp(-1.0, 1.0))
    }
}

fn sum(values: &[f64]) -> f64 {
    let (chunks, rest) = values.as_chunks::<4>();
    let mut sums = [0.0f64; 4];
    for chunk in chunks {
        for lane in 0..4 {
            sums[lane] += chunk[lane];
        }
    }
    sums.iter().sum::<f64>() + rest.iter().sum::<f64>()
}

/// The rank of each value, from 1; equal ones share the mean of their ranks.
pub fn ranks(values: &[f64], order: &mut Vec<u32>, ranks: &mut Vec<f64>) {
    order.clear();
    order.extend(0..values.len() as u32);
    order.sort_unstable_by(|&a, &b| values[a as usize].total_cmp(&values[b as usize]).then(a.cmp(&b)));
    ranks.clear();
    ranks.resize(values.len(), 0.0);
    let mut start = 0;
    while start < order.len() {
        let value = values[order[start] as usize];
        let equal = order[start..].iter().take_while(|&&i| values[i as usize] == value).count();
        let shared = (2 * start + equal + 1) as f64 / 2.0;
        for &i in &order[start..start + equal] {
            ranks[i as usize] = shared;
        }
        start += equal;
    }
}
