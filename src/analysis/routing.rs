//! Experts that tokens go to: what the router of a layer chose, and how evenly.

use super::explain::report::{LabQuestion, MethodSpec};
use crate::{
    capture::{Capture, LayerCapture, Matrix, Site},
    ids::StackKind,
};

/// What the command line says of loads over many inputs.
pub const EXPERTS: MethodSpec = MethodSpec {
    name: "experts",
    title: "Load of experts",
    question: LabQuestion::Fact,
    about: "Of a model with experts, the share of all tokens that each expert of each layer gets, beside an even one",
    example: "--model OLMOE --corpus demo:sentences --out load.csv",
    caveat: "Which expert gets a token says nothing about what the expert does; texts of another kind load others.",
    formula: "share of expert e in layer l: tokens with e among the chosen / all tokens; even: chosen per token / experts",
    source: "Shazeer et al. 2017; Fedus et al. 2022",
    values: &[],
    ..MethodSpec::EMPTY
};

/// What the router of one layer did.
#[derive(Clone, Debug, PartialEq)]
pub struct LayerRouting {
    pub layer: usize,
    /// `[n, experts]`: weights as the experts get them, 0 for those that a token does not go to.
    pub weights: Matrix,
    /// `[n, experts]`: scores of the router; `None` where they were not recorded.
    pub scores: Option<Matrix>,
}

impl LayerRouting {
    /// Of every layer of a stack that has experts and was recorded.
    pub fn all(capture: &Capture, stack: StackKind) -> Vec<Self> {
        let layers = capture.stack(stack).map_or(&[][..], |stack| &stack.layers);
        let of = |(layer, recorded): (usize, &LayerCapture)| {
            let weights = recorded.rows(Site::Router)?.clone();
            Some(Self { layer, weights, scores: recorded.rows(Site::RouterLogits).cloned() })
        };
        layers.iter().enumerate().filter_map(of).collect()
    }

    /// Of a layer, or of the first one that has experts where it has none.
    pub fn shown(capture: &Capture, stack: StackKind, layer: usize) -> Option<Self> {
        let mut all = Self::all(capture, stack);
        let place = all.iter().position(|routing| routing.layer == layer).unwrap_or(0);
        (place < all.len()).then(|| all.swap_remove(place))
    }

    pub const fn n_experts(&self) -> usize {
        self.weights.n_cols()
    }

    /// The experts that a token goes to with their weights, the largest first; of equal ones the first expert.
    pub fn chosen(&self, token: usize) -> Vec<(usize, f32)> {
        let row = self.weights.row(token).unwrap_or(&[]);
        let mut chosen: Vec<_> = row.iter().copied().enumerate().filter(|(_, weight)| *weight != 0.0).collect();
        chosen.sort_by(|a, b| b.1.total_cmp(&a.1));
        chosen
    }

    /// Whether a token goes to an expert.
    pub fn is_chosen(&self, token: usize, expert: usize) -> bool {
        self.weights.row(token).and_then(|row| row.get(expert)).is_some_and(|weight| *weight != 0.0)
    }

    /// How many tokens each expert gets.
    pub fn load(&self) -> ExpertLoad {
        let mut load = ExpertLoad { n_tokens: self.weights.n_rows(), tokens: vec![0; self.n_experts()] };
        for row in self.weights.rows() {
            for (tokens, weight) in load.tokens.iter_mut().zip(row) {
                *tokens += usize::from(*weight != 0.0);
            }
        }
        load
    }
}

/// Tokens of each expert of a layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpertLoad {
    pub n_tokens: usize,
    pub tokens: Vec<usize>,
}

impl ExpertLoad {
    /// Share of all tokens that each expert gets. They sum to the number of experts that a token goes to.
    pub fn shares(&self) -> Vec<f64> {
        self.tokens.iter().map(|tokens| *tokens as f64 / self.n_tokens.max(1) as f64).collect()
    }

    /// The share of each if all got the same.
    pub fn even(&self) -> f64 {
        let n_places = (self.n_tokens * self.tokens.len()).max(1);
        self.tokens.iter().sum::<usize>() as f64 / n_places as f64
    }

    /// The expert with the largest share, the first of equals, and its share.
    pub fn largest(&self) -> Option<(usize, f64)> {
        self.shares().into_iter().enumerate().reduce(|most, it| if it.1 > most.1 { it } else { most })
    }

    /// How many experts get no token.
    pub fn n_idle(&self) -> usize {
        self.tokens.iter().filter(|tokens| **tokens == 0).count()
    }

    /// Adds the tokens of another input of the same layer.
    pub fn add(&mut self, other: &Self) {
        self.n_tokens += other.n_tokens;
        self.tokens.iter_mut().zip(&other.tokens).for_each(|(all, more)| *all += more);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn load_is_the_share_of_tokens_and_even_is_its_mean() {
        let weights = vec![0.6, 0.0, 0.4, 0.0, 0.5, 0.0, 0.5, 0.0, 0.0, 0.3, 0.7, 0.0];
        let routing = LayerRouting { layer: 1, weights: Matrix::new(weights, [3, 4]).unwrap(), scores: None };
        assert_eq!(routing.chosen(0), [(0, 0.6), (2, 0.4)]);
        assert_eq!(routing.chosen(1), [(0, 0.5), (2, 0.5)], "of equal weights the first expert comes first");
        assert_eq!(routing.chosen(2), [(2, 0.7), (1, 0.3)]);
        assert!(routing.is_chosen(2, 1) && !routing.is_chosen(2, 0) && !routing.is_chosen(3, 0));
        let mut load = routing.load();
        assert_eq!(load.tokens, [2, 1, 3, 0]);
        assert_eq!(load.largest(), Some((2, 1.0)));
        assert!((load.even() - 0.5).abs() < 1e-12, "two of four experts");
        assert_eq!(load.n_idle(), 1);
        load.add(&ExpertLoad { n_tokens: 1, tokens: vec![0, 1, 0, 1] });
        assert_eq!(load.shares(), [0.5, 0.5, 0.75, 0.25]);
    }
}
