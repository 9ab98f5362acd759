//! The choice among experts: the weights of those that each row of the stream goes to.

use candle_core::{Result as CandleResult, Tensor};

use crate::{
    model::kernels::{self, to_host},
    spec::Mask,
};

/// How a router's scores become weights.
#[derive(Clone, Debug)]
pub(crate) struct Routing {
    pub shares: Shares,
    /// Experts that a row goes to.
    pub n_chosen: usize,
    /// `[n_experts]`, added to the shares where experts are chosen, and not to their weights.
    pub correction: Option<Vec<f32>>,
    /// The groups to which the choice is limited.
    pub groups: Option<Groups>,
    /// Whether the weights of the chosen ones are brought back to a sum of 1.
    pub normalised: bool,
    /// On the weights.
    pub factor: f64,
}

/// What is made of a score before experts are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shares {
    /// The softmax over all experts.
    Softmax,
    /// `1 / (1 + e^−score)` of each by itself.
    Sigmoid,
}

/// Groups of experts that stand side by side, of which some are kept for each row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Groups {
    pub n: usize,
    pub n_kept: usize,
    /// How many of its largest shares add up to what a group is judged by.
    pub n_judged: usize,
}

/// Added to a sum before it divides.
const LEAST_SUM: f64 = 1e-20;

impl Routing {
    /// The largest of the softmax over all, as they are.
    pub const fn of_softmax(n_chosen: usize, normalised: bool) -> Self {
        Self { shares: Shares::Softmax, n_chosen, correction: None, groups: None, normalised, factor: 1.0 }
    }

    /// The weights of the chosen experts, `[n, n_experts]`, 0 for those that are not chosen. Of equals the first are.
    pub fn weights(&self, logits: &Tensor) -> CandleResult<Tensor> {
        let (n, n_experts) = logits.dims2()?;
        let all = match self.shares {
            Shares::Softmax => kernels::softmax(&logits.unsqueeze(0)?, Mask::NONE)?.squeeze(0)?,
            Shares::Sigmoid => kernels::sigmoid(logits)?,
        };
        let mut chosen = vec![0.0f32; n * n_experts];
        let values = to_host(&all.contiguous()?)?;
        let scores = to_host(&logits.contiguous()?)?;
        let rows = values.chunks(n_experts).zip(scores.chunks(n_experts));
        for ((shares, scores), chosen) in rows.zip(chosen.chunks_mut(n_experts)) {
            for expert in self.chosen(shares, scores) {
                chosen[expert] = 1.0;
            }
        }
        let mut weights = (all * Tensor::from_vec(chosen, (n, n_experts), logits.device())?)?;
        if self.normalised {
            weights = weights.broadcast_div(&(weights.sum_keepdim(1)? + LEAST_SUM)?)?;
        }
        if self.factor == 1.0 { Ok(weights) } else { weights * self.factor }
    }

    /// The experts that a row with these shares goes to; none whose score is minus infinity, whatever corrects its share.
    fn chosen(&self, shares: &[f32], scores: &[f32]) -> Vec<usize> {
        let judged: Vec<f32> = match &self.correction {
            Some(correction) => shares.iter().zip(correction).map(|(share, by)| share + by).collect(),
            None => shares.to_vec(),
        };
        let mut experts: Vec<usize> = match self.groups {
            Some(groups) => groups.kept(&judged).into_iter().flatten().collect(),
            None => (0..judged.len()).collect(),
        };
        experts.retain(|expert| scores[*expert] != f32::NEG_INFINITY);
        experts.sort_by(|a, b| judged[*b].total_cmp(&judged[*a]));
        experts.truncate(self.n_chosen);
        experts
    }
}

impl Groups {
    /// The experts of each group that is kept, in their order.
    fn kept(self, judged: &[f32]) -> Vec<std::ops::Range<usize>> {
        let width = judged.len() / self.n.max(1);
        let sum = |group: usize| -> f32 {
            let mut own = judged[group * width..(group + 1) * width].to_vec();
            own.sort_by(|a, b| b.total_cmp(a));
            own.iter().take(self.n_judged).sum()
        };
        let sums: Vec<f32> = (0..self.n).map(sum).collect();
        let mut groups: Vec<usize> = (0..self.n).collect();
        groups.sort_by(|a, b| sums[*b].total_cmp(&sums[*a]));
        groups.truncate(self.n_kept);
        groups.sort_unstable();
        groups.into_iter().map(|group| group * width..(group + 1) * width).collect()
    }
}

#[cfg(test)]
mod tests {
    use candle_core::Device;

    use super::*;

    const LOGITS: [f32; 8] = [2.5, -1.5, -0.5, 0.8, 1.5, -1.0, 0.1, 0.3];
    const CORRECTION: [f32; 8] = [0.1, -0.1, 0.4, 0.0, -0.4, 0.0, 0.2, 0.1];

    fn weights(routing: &Routing) -> Vec<f32> {
        let logits = Tensor::from_slice(&LOGITS, (1, 8), &Device::Cpu).unwrap();
        routing.weights(&logits).unwrap().flatten_all().unwrap().to_vec1().unwrap()
    }

    fn near(found: &[f32], expected: &[(usize, f32)]) {
        for (expert, weight) in found.iter().enumerate() {
            let expected = expected.iter().find(|(of, _)| *of == expert).map_or(0.0, |(_, weight)| *weight);
            assert!((weight - expected).abs() < 2e-6, "expert {expert}: {weight} is not {expected}");
        }
    }

    #[test]
    fn a_corrected_choice_among_groups_by_hand() {
        let corrected = Routing {
            shares: Shares::Sigmoid,
            correction: Some(CORRECTION.to_vec()),
            groups: Some(Groups { n: 4, n_kept: 2, n_judged: 2 }),
            factor: 2.5,
            ..Routing::of_softmax(2, true)
        };
        near(&weights(&corrected), &[(2, 1.045_796), (6, 1.454_204)]);
        let ungrouped = weights(&Routing { groups: None, ..corrected.clone() });
        assert!(ungrouped[0] > 0.0 && ungrouped[2] > 0.0 && ungrouped[6] == 0.0, "{ungrouped:?}");
        // The correction takes part in the choice alone.
        let uncorrected = weights(&Routing { correction: None, groups: None, ..corrected });
        assert!(uncorrected[0] > 0.0 && uncorrected[4] > 0.0, "{uncorrected:?}");
    }

    #[test]
    fn an_expert_that_is_put_out_is_not_chosen_for_its_correction() {
        let routing =
            Routing { shares: Shares::Sigmoid, correction: Some(vec![0.0, 5.0, 0.0]), ..Routing::of_softmax(1, false) };
        let of = |scores: [f32; 3]| {
            let logits = Tensor::from_slice(&scores, (1, 3), &Device::Cpu).unwrap();
            routing.weights(&logits).unwrap().flatten_all().unwrap().to_vec1::<f32>().unwrap()
        };
        assert!(of([0.5, 0.0, 0.2])[1] > 0.0);
        let without = of([0.5, f32::NEG_INFINITY, 0.2]);
        assert!(without[0] > 0.0 && without[1..] == [0.0, 0.0], "{without:?}");
    }

    #[test]
    fn groups_are_judged_by_their_largest_share() {
        let of = |n_kept| Routing {
            groups: Some(Groups { n: 4, n_kept, n_judged: 1 }),
            factor: 3.0,
            ..Routing::of_softmax(3, false)
        };
        let sum: f32 = LOGITS.iter().map(|logit| logit.exp()).sum();
        let share = |expert: usize| (expert, 3.0 * LOGITS[expert].exp() / sum);
        // Only two experts are in the one group that is kept.
        near(&weights(&of(1)), &[share(0), share(1)]);
        near(&weights(&of(2)), &[share(0), share(4), share(5)]);
    }
}
