//! How the weights of a twin stand to its outputs: likeness of its states, gradients, and weights in another order
//! (Mohankumar et al. 2020; Jain and Wallace 2019).

use candle_core::{D, Result as CandleResult, Tensor, Var};

use super::{TwinBatch, TwinMaps, TwinPlan, Twins, padded};
use crate::{
    model::{ModelError, run::Control},
    random::SplitMix,
};

/// Texts that are read together.
const TOGETHER: usize = 64;
/// Orders of the weights of a text that are tried.
const N_PERMUTATIONS: usize = 100;
/// Added to squares, so that the length of a state of zeros has a gradient.
const LEAST_SQUARE: f64 = 1e-12;

/// One text, as a model or a twin reads it.
#[derive(Clone, Debug, PartialEq)]
pub struct TwinMeasures {
    /// Its place among the texts.
    pub text: usize,
    /// Probabilities of the classes.
    pub p: Vec<f32>,
    /// Weights of the tokens.
    pub attention: Vec<f32>,
    /// |gradient · embedding| of each token, of the probability of the class that is most probable, weights held fixed.
    pub importance: Vec<f32>,
    /// Mean over tokens of the cosine of a state and the mean of all, −1 to 1.
    pub conicity: f32,
    /// Median over orders of its weights of the total variation distance that the probabilities move.
    pub permuted: f32,
}

/// Mean over the tokens of a text of the cosine of a state and the mean of its states: `[batch]`. States are
/// `[batch, longest, width]`, 0 where `real`, `[batch, longest]`, is 0.
pub(super) fn conicity(states: &Tensor, real: &Tensor) -> CandleResult<Tensor> {
    let length = |of: &Tensor| (of.sqr()?.sum_keepdim(D::Minus1)? + LEAST_SQUARE)?.sqrt();
    let n = real.sum(1)?;
    let mean = states.sum_keepdim(1)?.broadcast_div(&n.reshape(((), 1, 1))?)?;
    let cosines = states.broadcast_mul(&mean)?.sum_keepdim(D::Minus1)?;
    let cosines = cosines.broadcast_div(&length(&mean)?)?.broadcast_div(&length(states)?)?;
    (cosines.squeeze(D::Minus1)? * real)?.sum(1)? / n
}

impl Twins {
    /// Trains a twin on some texts, or takes the model itself where there is no plan, and measures it on others: with the
    /// mean loss of each epoch. The same plan gives the same numbers.
    ///
    /// # Errors
    /// As [`Self::trained`].
    pub fn measured(
        &self,
        plan: Option<TwinPlan>,
        (train, test): (&[usize], &[usize]),
        control: &Control<'_>,
    ) -> Result<(Vec<TwinMeasures>, Vec<f32>), ModelError> {
        self.engine.install(|| {
            let (maps, losses) = match plan {
                Some(plan) => self.train(train, plan, control)?,
                None => (self.maps.clone(), Vec::new()),
            };
            let is_uniform = plan.is_some_and(|plan| plan.is_uniform);
            let batches = self.batches(test, TOGETHER)?;
            let found = batches.into_iter().map(|batch| self.measure(&maps, batch, is_uniform));
            let mut found = found.collect::<Result<Vec<_>, ModelError>>()?.concat();
            found.sort_by_key(|of| of.text);
            Ok((found, losses))
        })
    }

    fn measure(&self, maps: &TwinMaps, batch: TwinBatch, is_uniform: bool) -> Result<Vec<TwinMeasures>, ModelError> {
        let words = Var::from_tensor(&batch.words)?;
        let batch = TwinBatch { words: words.as_tensor().clone(), ..batch };
        let read = maps.read(&batch, is_uniform)?;
        // Weights are held fixed, as published: the gradient is not of how words change them.
        let p = maps.probabilities(&read.attention.detach(), &read.states)?;
        let gradients = p.gather(&p.argmax_keepdim(1)?, 1)?.sum_all()?.backward()?;
        let gradient = gradients.get(&words).ok_or_else(|| ModelError::internal("no gradient of the words"))?;
        let importance = (gradient * words.as_tensor())?.sum(2)?.abs()?.to_vec2::<f32>()?;
        let states = read.states.detach();
        let conicity = conicity(&states, &batch.real)?.to_vec1::<f32>()?;
        let attention = read.attention.to_vec2::<f32>()?;
        let p = p.to_vec2::<f32>()?;
        let mut found = Vec::with_capacity(batch.at.len());
        for (nth, text) in batch.at.iter().enumerate() {
            let n = self.words[*text].len() / self.d_word;
            found.push(TwinMeasures {
                text: *text,
                p: p[nth].clone(),
                attention: attention[nth][..n].to_vec(),
                importance: importance[nth][..n].to_vec(),
                conicity: conicity[nth],
                permuted: 0.0,
            });
        }
        let numbers = |of: &TwinMeasures| of.importance.iter().chain(&of.p).all(|value| value.is_finite());
        if !found.iter().all(|of| numbers(of) && of.conicity.is_finite()) {
            return Err(ModelError::NotFinite { what: "output of a trained twin".to_owned() });
        }
        let moved = self.permuted(maps, &batch, &states, &found)?;
        found.iter_mut().zip(moved).for_each(|(of, moved)| of.permuted = moved);
        Ok(found)
    }

    /// By text, the median distance that its probabilities move under other orders of its weights.
    fn permuted(
        &self,
        maps: &TwinMaps,
        batch: &TwinBatch,
        states: &Tensor,
        found: &[TwinMeasures],
    ) -> CandleResult<Vec<f32>> {
        let mut orders: Vec<(SplitMix, Vec<f32>)> =
            found.iter().map(|of| (SplitMix::new(of.text as u64), of.attention.clone())).collect();
        let mut moved = vec![Vec::with_capacity(N_PERMUTATIONS); found.len()];
        for _ in 0..N_PERMUTATIONS {
            for (random, row) in &mut orders {
                random.shuffle(row);
            }
            let nth_of = |text: usize| batch.at.iter().position(|at| *at == text).unwrap_or(0);
            let attention = padded(batch, &self.device, |text, token| orders[nth_of(text)].1[token])?;
            let rows = maps.probabilities(&attention, states)?.to_vec2::<f32>()?;
            for ((of, row), moved) in found.iter().zip(rows).zip(&mut moved) {
                moved.push(0.5 * row.iter().zip(&of.p).map(|(now, before)| (now - before).abs()).sum::<f32>());
            }
        }
        Ok(moved.into_iter().map(median).collect())
    }
}

fn median(mut values: Vec<f32>) -> f32 {
    values.sort_by(f32::total_cmp);
    let half = values.len() / 2;
    f32::midpoint(values[half - 1], values[half])
}

#[cfg(test)]
mod tests {
    use candle_core::Device;

    use super::*;

    #[test]
    fn conicity_is_the_mean_cosine_with_the_mean_of_a_texts_own_states() {
        // Two states at a right angle, and one that lies beyond the end of the text.
        let states = Tensor::new(&[[[3.0f32, 0.0], [0.0, 3.0], [0.0, 0.0]]], &Device::Cpu).unwrap();
        let real = Tensor::new(&[[1.0f32, 1.0, 0.0]], &Device::Cpu).unwrap();
        let found = conicity(&states, &real).unwrap().to_vec1::<f32>().unwrap();
        assert!((found[0] - 0.5f32.sqrt()).abs() < 1e-6, "{found:?}");
        let alike = Tensor::new(&[[[1.0f32, 2.0], [2.0, 4.0], [0.0, 0.0]]], &Device::Cpu).unwrap();
        assert!((conicity(&alike, &real).unwrap().to_vec1::<f32>().unwrap()[0] - 1.0).abs() < 1e-6);
    }
}
