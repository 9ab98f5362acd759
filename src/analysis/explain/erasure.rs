//! Erasure until the decision flips (Serrano and Smith 2019): how many weights must go, in which order.
//!
//! Weights are set to 0 one after the other, the rest is divided by its sum, and the model above decides
//! again. An order that finds the weights that matter flips the decision early. The number of steps cannot
//! be found by halving: a decision can flip and flip back.

use super::{ExplainError, rank::descending};
use crate::random::SplitMix;

/// Which weights go first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Attention,
    /// The largest gradient of the decision's probability by the weight, with its sign.
    Gradient,
    /// The largest product of both. A published code has the smallest weight here by mistake.
    Product,
    Ascending,
}

vocabulary! {
    Order: name;
    Attention("attention"),
    Gradient("gradient"),
    Product("attention_gradient"),
    Ascending("ascending"),
}

impl Order {
    /// Keys in the order in which they go; equal ones in theirs. `gradient` is that of the decision's
    /// probability by each weight.
    pub fn of(self, weights: &[f64], gradient: &[f64]) -> Vec<usize> {
        match self {
            Self::Attention => descending(weights),
            Self::Gradient => descending(gradient),
            Self::Product => descending(&weights.iter().zip(gradient).map(|(w, g)| w * g).collect::<Vec<f64>>()),
            Self::Ascending => descending(&weights.iter().map(|w| -w).collect::<Vec<f64>>()),
        }
    }
}

/// `count` random orders of `n` keys; the same seed gives the same ones.
pub fn random_orders(n: usize, count: usize, seed: u64) -> Vec<Vec<usize>> {
    let mut random = SplitMix::new(seed);
    let order = |_| {
        let mut order: Vec<usize> = (0..n).collect();
        random.shuffle(&mut order);
        order
    };
    (0..count).map(order).collect()
}

/// A key other than `top`, at random; none where there is no other. A published code may draw the top itself.
pub fn random_other(n: usize, top: usize, seed: u64) -> Option<usize> {
    let others = n.checked_sub(1).filter(|&others| others > 0)?;
    let drawn = SplitMix::new(seed).below(others);
    Some(if drawn >= top { drawn + 1 } else { drawn })
}

/// The weights with some set to 0 and the others divided by their sum; all 0 where nothing is left.
pub fn erased(weights: &[f64], gone: &[usize]) -> Vec<f64> {
    let mut left = weights.to_vec();
    for &key in gone {
        if let Some(weight) = left.get_mut(key) {
            *weight = 0.0;
        }
    }
    let sum: f64 = left.iter().sum();
    // What is left of rounding is nothing.
    let scale = if sum > 1e-12 { 1.0 / sum } else { 0.0 };
    for weight in &mut left {
        *weight *= scale;
    }
    left
}

/// Where a decision flipped.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Flip {
    pub n_erased: usize,
    /// What they were together, before anything was erased.
    pub mass: f64,
    /// `n_erased` of all weights.
    pub fraction: f64,
    pub decision: usize,
}

/// The model above the weights: what it decides for some, and the keys that are missing from them.
pub type Decide<'a, E> = &'a mut dyn FnMut(&[f64], &[usize]) -> Result<usize, E>;

/// Erases weights in `order` until the decision is another than `decision`; none where it never is.
///
/// `decide(weights, gone)` answers with the decision for weights that have been renormalised, and the keys
/// that are missing from them: zeroing weights and renormalising is the same as hiding those keys before
/// the softmax. With a single key there is nothing to erase, which is an error.
pub fn until_flip<E: From<ExplainError>>(
    weights: &[f64],
    order: &[usize],
    decision: usize,
    decide: Decide<'_, E>,
) -> Result<Option<Flip>, E> {
    if weights.len() < 2 {
        return Err(ExplainError::Nothing("keys besides the only one").into());
    }
    if let Some(key) = order.iter().find(|&&key| key >= weights.len()) {
        return Err(ExplainError::option("a key to erase", key, "the position of a key").into());
    }
    for n_erased in 1..=order.len() {
        let gone = &order[..n_erased];
        let now = decide(&erased(weights, gone), gone)?;
        if now != decision {
            let mass = gone.iter().map(|&key| weights[key]).sum();
            let fraction = n_erased as f64 / weights.len() as f64;
            return Ok(Some(Flip { n_erased, mass, fraction, decision: now }));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::{
        super::{normalizers::softmax, toy},
        *,
    };

    const WEIGHTS: [f64; 5] = [0.4, 0.25, 0.15, 0.12, 0.08];
    const VALUES: [[f64; 2]; 5] = [[2.0, 0.0], [0.0, 1.5], [1.0, 1.0], [-1.0, 2.0], [0.5, -1.0]];
    const CLASSES: [[f64; 2]; 3] = [[1.0, 0.0], [0.0, 1.2], [-0.5, -0.3]];

    fn logits(weights: &[f64]) -> Vec<f64> {
        let read = |axis: usize| weights.iter().zip(VALUES).map(|(w, value)| w * value[axis]).sum::<f64>();
        let [x, y] = [read(0), read(1)];
        CLASSES.iter().zip([0.0, 0.05, 0.3]).map(|(class, bias)| class[0] * x + class[1] * y + bias).collect()
    }

    #[expect(clippy::unnecessary_wraps, reason = "what models answer with")]
    fn decide(weights: &[f64], _: &[usize]) -> Result<usize, ExplainError> {
        Ok(descending(&logits(weights))[0])
    }

    /// The gradient of the larger probability by each weight.
    fn gradient() -> Vec<f64> {
        let p = softmax(&logits(&WEIGHTS));
        let of_key = |value: [f64; 2]| {
            let slope = |class: usize| CLASSES[class][0] * value[0] + CLASSES[class][1] * value[1];
            let mean: f64 = (0..3).map(|class| p[class] * slope(class)).sum();
            p[1] * (slope(1) - mean)
        };
        VALUES.into_iter().map(of_key).collect()
    }

    #[test]
    fn the_worked_example_in_every_order() {
        toy::assert_near(&logits(&WEIGHTS), &[0.87, 0.872, -0.3405]);
        let gradient = gradient();
        toy::assert_near(&gradient, &[-0.322_360, 0.467_948, 0.150_786, 0.785_111, -0.392_556]);
        let expected = [(4, 0.92, 0.8), (1, 0.12, 0.2), (1, 0.25, 0.2), (2, 0.2, 0.4)];
        for (order, (n_erased, mass, fraction)) in Order::ALL.into_iter().zip(expected) {
            let keys = order.of(&WEIGHTS, &gradient);
            let flip = until_flip(&WEIGHTS, &keys, 1, &mut decide).unwrap().unwrap();
            assert_eq!(flip.n_erased, n_erased, "{}", order.name());
            toy::assert_near(&[flip.mass, flip.fraction], &[mass, fraction]);
        }
    }

    #[test]
    fn a_decision_that_never_flips_has_no_number_and_one_key_no_order() {
        let mut stubborn = |_: &[f64], _: &[usize]| Ok::<_, ExplainError>(1);
        assert_eq!(until_flip(&WEIGHTS, &[0, 1, 2, 3, 4], 1, &mut stubborn), Ok(None));
        assert!(until_flip(&[1.0], &[0], 0, &mut stubborn).is_err());
        assert!(until_flip(&WEIGHTS, &[5], 0, &mut stubborn).is_err());
    }

    #[test]
    fn what_is_left_is_renormalised_and_nothing_stays_nothing() {
        toy::assert_near(&erased(&WEIGHTS, &[0, 1]), &[0.0, 0.0, 0.428_571, 0.342_857, 0.228_571]);
        assert_eq!(erased(&WEIGHTS, &[0, 1, 2, 3, 4]), [0.0; 5]);
    }

    #[test]
    fn random_orders_hold_every_key_once_and_the_other_key_is_never_the_top() {
        for mut order in random_orders(9, 5, 5) {
            order.sort_unstable();
            assert_eq!(order, (0..9).collect::<Vec<_>>());
        }
        assert_eq!(random_orders(9, 2, 1), random_orders(9, 2, 1));
        assert!((0..50).all(|seed| random_other(4, 2, seed).is_some_and(|key| key < 4 && key != 2)));
        assert_eq!(random_other(1, 0, 0), None);
    }
}
