//! Probabilities of what may be written next.

use crate::model::ModelError;

/// Most probable tokens that are recorded of a step.
const N_CANDIDATES: usize = 8;

/// The probabilities of some logits, of which none is NaN or above all numbers.
pub struct Probabilities<'a> {
    logits: &'a [f32],
    largest: f32,
    sum: f64,
}

impl<'a> Probabilities<'a> {
    pub fn of(logits: &'a [f32]) -> Result<Self, ModelError> {
        let largest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        if logits.iter().any(|logit| logit.is_nan()) || largest == f32::INFINITY {
            return Err(ModelError::NotFinite { what: "logits".to_owned() });
        }
        let sum = logits.iter().map(|logit| f64::from(logit - largest).exp()).sum();
        Ok(Self { logits, largest, sum })
    }

    /// Whether the rules leave no token.
    pub const fn is_none(&self) -> bool {
        !self.largest.is_finite()
    }

    /// That of a token; `None` outside the vocabulary.
    pub fn at(&self, id: u32) -> Option<f32> {
        let logit = self.logits.get(id as usize)?;
        Some(if self.is_none() { 0.0 } else { (f64::from(logit - self.largest).exp() / self.sum) as f32 })
    }

    /// The most probable ids that are recorded of a step.
    pub fn candidates(&self) -> Vec<(u32, f32)> {
        self.top(N_CANDIDATES)
    }

    /// The `n` most probable ids, from the most probable one on; of equal ones the first.
    pub fn top(&self, n: usize) -> Vec<(u32, f32)> {
        let mut ids: Vec<u32> = (0..self.logits.len() as u32).collect();
        let logit = |id: &u32| self.logits[*id as usize];
        let order = |a: &u32, b: &u32| logit(b).total_cmp(&logit(a)).then(a.cmp(b));
        if ids.len() > n {
            ids.select_nth_unstable_by(n, order);
            ids.truncate(n);
        }
        ids.sort_unstable_by(order);
        let probable = ids.into_iter().map(|id| (id, self.at(id).unwrap_or(0.0)));
        probable.filter(|(_, probability)| *probability > 0.0).collect()
    }
}
