//! Numbers from which heads are called something, moved from their usual places.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Metric, N_METRICS};
use crate::options::one_of;

/// So many metrics call heads something.
const N_KINDS: usize = {
    let (mut n, mut at) = (0, 0);
    while at < N_METRICS {
        if Metric::ALL[at].threshold().is_some() {
            n += 1;
        }
        at += 1;
    }
    n
};

/// Thresholds of known kinds of heads: those that were moved, and else the usual ones.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(into = "BTreeMap<Metric, f32>", try_from = "BTreeMap<Metric, f32>")]
pub struct Thresholds {
    /// In the order of [`Metric::kinds`].
    moved: [Option<f32>; N_KINDS],
}

impl Default for Thresholds {
    fn default() -> Self {
        Self { moved: [None; N_KINDS] }
    }
}

impl Thresholds {
    /// The number from which a head is called so; none where a metric calls it nothing.
    pub fn of(&self, metric: Metric) -> Option<f32> {
        let (usual, _) = metric.threshold()?;
        let moved = Self::place(metric).and_then(|place| self.moved[place]);
        Some(moved.unwrap_or(usual))
    }

    /// Moves a threshold; back to its usual place where it is the same.
    pub fn set(&mut self, metric: Metric, from: f32) {
        if let Some(((usual, _), place)) = metric.threshold().zip(Self::place(metric)) {
            self.moved[place] = Some(from).filter(|from| (from - usual).abs() > f32::EPSILON);
        }
    }

    fn place(metric: Metric) -> Option<usize> {
        Metric::kinds().position(|kind| kind == metric)
    }

    /// Those that were moved.
    pub fn moved(&self) -> impl Iterator<Item = (Metric, f32)> {
        Metric::kinds().zip(self.moved).filter_map(|(metric, from)| Some((metric, from?)))
    }

    /// Those that were moved, as [`Self::from_text`] reads them.
    pub fn text(&self) -> String {
        let moved: Vec<String> = self.moved().map(|(metric, from)| format!("{}={from}", metric.name())).collect();
        moved.join(",")
    }

    /// Thresholds such as `induction=0.4,previous=0.6`.
    ///
    /// # Errors
    /// What is no kind, or no number from 0 to 1.
    pub fn from_text(text: &str) -> Result<Self, String> {
        let mut thresholds = Self::default();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let (name, number) = part.split_once('=').ok_or_else(|| {
                format!("a threshold is a kind of head and a number, such as induction=0.4: {part} was given")
            })?;
            let known = Metric::from_name(name.trim()).filter(|metric| metric.threshold().is_some());
            let metric = known.ok_or_else(|| {
                format!("{name} is no kind of head with a threshold: {}", one_of(Metric::kinds().map(Metric::name)))
            })?;
            let from = number.trim().parse().ok().filter(|from| (0.0..=1.0).contains(from));
            let from =
                from.ok_or_else(|| format!("the threshold of {name} is a number from 0 to 1: {number} was given"))?;
            thresholds.set(metric, from);
        }
        Ok(thresholds)
    }
}

impl From<Thresholds> for BTreeMap<Metric, f32> {
    fn from(thresholds: Thresholds) -> Self {
        thresholds.moved().collect()
    }
}

impl TryFrom<BTreeMap<Metric, f32>> for Thresholds {
    type Error = String;

    fn try_from(moved: BTreeMap<Metric, f32>) -> Result<Self, String> {
        let mut thresholds = Self::default();
        for (metric, from) in moved {
            if !(0.0..=1.0).contains(&from) {
                return Err(format!("the threshold of {} is a number from 0 to 1", metric.name()));
            }
            thresholds.set(metric, from);
        }
        Ok(thresholds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::detect::Detector;

    #[test]
    fn moved_thresholds_are_kept_as_text_and_in_files_and_others_refused() {
        let moved = Thresholds::from_text("induction=0.4, previous=0.5").unwrap();
        let (induction, previous) = (Metric::Kind(Detector::Induction), Metric::Kind(Detector::Previous));
        assert_eq!((moved.of(induction), moved.of(previous)), (Some(0.4), Some(0.5)));
        // 0.5 is the usual one.
        assert_eq!(moved.text(), "induction=0.4");
        let json = serde_json::to_string(&moved).unwrap();
        assert_eq!(json, "{\"induction\":0.4}");
        assert_eq!(serde_json::from_str::<Thresholds>(&json).unwrap(), moved);
        for wrong in ["induction", "induction=2", "content=0.5", "nothing=0.5", "induction=high"] {
            assert!(Thresholds::from_text(wrong).is_err(), "{wrong}");
        }
        assert!(serde_json::from_str::<Thresholds>("{\"induction\":7}").is_err());
    }
}
