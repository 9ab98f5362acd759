//! Points to be laid out: checked once, then centred and scaled for single precision.

use rayon::prelude::*;

use super::{MAX_POINTS, ProjectionError};

/// How near two points are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum Metric {
    /// `‖x − y‖`.
    #[default]
    Euclidean,
    /// `1 − cos(x, y)`. A point at the origin is 0 from another one and 1 from the rest, as in umap-learn.
    Cosine,
}

/// `n` points of `width` coordinates each, row by row, all finite.
#[derive(Clone, Copy, Debug)]
pub struct Points<'a> {
    values: &'a [f32],
    n: usize,
    width: usize,
}

impl<'a> Points<'a> {
    /// Takes `values` as `[n, width]`.
    ///
    /// # Errors
    /// When there is no point, when the values do not fill the shape, or when one is not finite.
    pub fn new(values: &'a [f32], n: usize, width: usize) -> Result<Self, ProjectionError> {
        if n.checked_mul(width) != Some(values.len()) {
            return Err(ProjectionError::Shape { values: values.len(), points: n, width });
        }
        if n == 0 {
            return Err(ProjectionError::NoPoints);
        }
        if n > MAX_POINTS {
            return Err(ProjectionError::TooManyPoints(n));
        }
        match values.iter().position(|x| !x.is_finite()) {
            Some(at) => Err(ProjectionError::NotFinite { point: at / width, coordinate: at % width }),
            None => Ok(Self { values, n, width }),
        }
    }

    /// How many there are; at least one.
    pub const fn n(&self) -> usize {
        self.n
    }

    /// Coordinates of each; may be 0.
    pub const fn width(&self) -> usize {
        self.width
    }

    /// All coordinates, `[n, width]`.
    pub const fn values(&self) -> &'a [f32] {
        self.values
    }

    /// One point after the other.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &'a [f32]> {
        let (values, width) = (self.values, self.width);
        (0..self.n).map(move |i| &values[i * width..(i + 1) * width])
    }

    /// One point; empty behind the last.
    pub fn row(&self, point: usize) -> &'a [f32] {
        self.values.get(point * self.width..(point + 1) * self.width).unwrap_or_default()
    }

    /// The mean of all points.
    pub fn mean(&self) -> Vec<f64> {
        let mut mean = vec![0.0f64; self.width];
        for row in self.rows() {
            mean.iter_mut().zip(row).for_each(|(sum, &x)| *sum += f64::from(x));
        }
        for sum in &mut mean {
            *sum /= self.n as f64;
        }
        mean
    }
}

/// Points with the Euclidean distances that a metric asks for, around the origin and of ordinary size, so that
/// squares neither overflow nor vanish in single precision.
pub(super) struct Prepared {
    /// `[n, width]`.
    pub values: Vec<f32>,
    /// Points.
    pub n: usize,
    pub width: usize,
    /// A distance here times this is one of the points as they were given.
    pub unit: f64,
    metric: Metric,
}

impl Prepared {
    pub fn new(points: Points<'_>, metric: Metric) -> Self {
        match metric {
            Metric::Euclidean => Self::centred(points),
            Metric::Cosine => Self::unit(points),
        }
    }

    fn centred(points: Points<'_>) -> Self {
        let mean = points.mean();
        let centred = |row: &'_ [f32]| row.iter().zip(&mean).map(|(&x, m)| f64::from(x) - m).collect::<Vec<f64>>();
        let largest = points.rows().flat_map(centred).fold(0.0f64, |size, x| size.max(x.abs()));
        // A power of two, so that scaling rounds nothing.
        let unit = if largest > 0.0 { largest.log2().ceil().exp2() } else { 1.0 };
        let values = points.rows().flat_map(centred).map(|x| (x / unit) as f32).collect();
        Self { values, n: points.n(), width: points.width(), unit, metric: Metric::Euclidean }
    }

    fn unit(points: Points<'_>) -> Self {
        let norm = |row: &[f32]| row.iter().map(|&x| f64::from(x) * f64::from(x)).sum::<f64>().sqrt();
        // Points at the origin get a direction of their own, at a right angle to all others.
        let extra = usize::from(points.rows().any(|row| norm(row) == 0.0));
        let width = points.width() + extra;
        let mut values = vec![0.0f32; points.n() * width];
        for (to, row) in values.chunks_exact_mut(width.max(1)).zip(points.rows()) {
            let norm = norm(row);
            if norm > 0.0 {
                to.iter_mut().zip(row).for_each(|(y, &x)| *y = (f64::from(x) / norm) as f32);
            } else {
                to[points.width()] = 1.0;
            }
        }
        Self { values, n: points.n(), width, unit: 1.0, metric: Metric::Cosine }
    }

    /// From squared Euclidean distances to distances of the metric, in place.
    pub fn to_metric(&self, squares: &mut [f32]) {
        let metric = self.metric;
        squares.par_iter_mut().with_min_len(1 << 14).for_each(|square| {
            *square = match metric {
                Metric::Euclidean => square.sqrt(),
                Metric::Cosine => *square * 0.5,
            };
        });
    }
}
