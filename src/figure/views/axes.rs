//! Axes of plots: which place means what, and round numbers along them.

use emath::{Pos2, Rangef, Rect, pos2};

/// Values along one axis of a plot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Axis {
    pub from: f64,
    pub to: f64,
    /// Points on screen at the start and at the end.
    pub points: Rangef,
}

impl Axis {
    /// Over all finite values, with a little room.
    pub fn over(values: impl Iterator<Item = f64>, points: Rangef) -> Self {
        let finite = values.filter(|value| value.is_finite());
        let (low, high) = finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
        let (low, high) = if low <= high { (low, high) } else { (0.0, 1.0) };
        let room = if high > low { 0.03 * (high - low) } else { 0.5 };
        Self { from: low - room, to: high + room, points }
    }

    /// Where a value is.
    pub fn at(&self, value: f64) -> f32 {
        let part = (value - self.from) / (self.to - self.from);
        self.points.min + part as f32 * (self.points.max - self.points.min)
    }

    /// What is at a place.
    pub fn value(&self, at: f32) -> f64 {
        let part = f64::from((at - self.points.min) / (self.points.max - self.points.min));
        self.from + part * (self.to - self.from)
    }

    /// Round values within, about `n` of them.
    pub fn ticks(&self, n: usize) -> Vec<f64> {
        let span = self.to - self.from;
        if !(span > 0.0 && span.is_finite()) {
            return Vec::new();
        }
        let rough = span / n.max(1) as f64;
        let power = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|m| m * power).find(|step| *step >= rough).unwrap_or(rough);
        let first = (self.from / step).ceil() as i64;
        (first..).map(|k| k as f64 * step).take_while(|tick| *tick <= self.to).take(4 * n + 4).collect()
    }
}

/// A plot's two axes; y grows upwards.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Axes {
    pub x: Axis,
    pub y: Axis,
}

impl Axes {
    /// Over all pairs of values.
    pub fn over(values: impl Iterator<Item = (f64, f64)> + Clone, rect: Rect) -> Self {
        let y = Rangef::new(rect.bottom(), rect.top());
        Self { x: Axis::over(values.clone().map(|(x, _)| x), rect.x_range()), y: Axis::over(values.map(|(_, y)| y), y) }
    }

    /// Where a pair of values is.
    pub fn at(&self, x: f64, y: f64) -> Pos2 {
        pos2(self.x.at(x), self.y.at(y))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_go_there_and_back_and_have_round_numbers() {
        let axis = Axis::over([3.0, -1.0, f64::NAN].into_iter(), Rangef::new(100.0, 300.0));
        assert!((axis.value(axis.at(1.7)) - 1.7).abs() < 1e-5);
        assert_eq!(axis.ticks(5), [-1.0, 0.0, 1.0, 2.0, 3.0]);
        let flat = Axis::over([2.0, 2.0].into_iter(), Rangef::new(0.0, 10.0));
        assert!((flat.at(2.0) - 5.0).abs() < 1e-5 && !flat.ticks(3).is_empty());
        assert!(Axis::over(std::iter::empty(), Rangef::new(0.0, 1.0)).at(0.5).is_finite());
    }
}
