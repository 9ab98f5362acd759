//! Whether weights follow from what heads give on (Brunner et al. 2020), and how much of a token is its own behind each
//! layer (Kobayashi et al. 2021), over a data set.

use serde::{Deserialize, Serialize};

use crate::{
    analysis::{
        bootstrap::Estimate,
        explain::report::{LabQuestion, MethodSpec},
    },
    random::SplitMix,
};

pub const IDENTIFIABILITY: MethodSpec = MethodSpec {
    name: "identifiability",
    title: "Do weights follow from what heads give on",
    question: LabQuestion::Believe,
    about: "Rank of the value space, share of effective attention and mixing of tokens over many inputs, by length and layer",
    example: "--model demo:bert --corpus demo:sentences --out identifiability.svg",
    caveat: "Effective attention is about one head and its output alone; weights that cannot be told from it were still \
             computed, and later layers read the output.",
    formula: "share = Σ A_eff² / Σ A², A_eff = A · U Uᵀ; mixing = ‖Σ_{j≠i} c_ij‖ / (‖Σ_{j≠i} c_ij‖ + ‖c_ii‖)",
    source: "Brunner et al. 2020; Kobayashi et al. 2021; Efron 1979",
    values: &[],
    ..MethodSpec::EMPTY
};

/// The published results, to stand beside ours.
pub const PUBLISHED: &str = "Brunner et al.: beyond d tokens many sets of weights give the same output, and effective \
                             attention looks other than raw attention; Kobayashi et al.: in BERT tokens mix less than \
                             weights suggest";

/// The scope of the numbers, and their limit.
pub const SHOWS: &str = "Where inputs have more tokens than the values have directions, a part of the weights changes \
                         nothing in the output. A share near 1 shows that attention lies in the part that counts, not \
                         that it explains; random rows say how much would by chance.";

/// Groups of inputs of like length.
const N_GROUPS: usize = 6;

/// What was measured of one input.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Identified {
    /// Its place in the corpus, from 0.
    pub input: usize,
    pub n_tokens: usize,
    pub layers: Vec<LayerIdentity>,
}

/// One layer, in the mean over its heads. Numbers are single, so that files hold them exactly.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LayerIdentity {
    /// Rank of the values.
    pub rank: f32,
    /// Width of a value.
    pub width: usize,
    /// `Σ A_eff² / Σ A²`.
    pub effective: f32,
    /// The same of rows drawn at random.
    pub by_chance: f32,
    /// Share of rows that follow from the output.
    pub identifiable: f32,
    /// Mean mixing ratio over tokens with the residual stream; none where it is not defined.
    pub mixing: Option<f32>,
    /// Of attention alone.
    pub mixing_attention: Option<f32>,
}

/// Inputs of like length, in the mean over layers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LengthGroup {
    pub n_inputs: usize,
    /// Mean number of tokens.
    pub n_tokens: f64,
    pub rank: Estimate,
    pub effective: Estimate,
    pub by_chance: Estimate,
    pub identifiable: Estimate,
}

/// One layer over all inputs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LayerRow {
    pub rank: Estimate,
    pub effective: Estimate,
    pub by_chance: Estimate,
    pub identifiable: Estimate,
    pub mixing: Option<Estimate>,
    pub mixing_attention: Option<Estimate>,
}

/// What inputs come to.
#[derive(Clone, Debug, PartialEq)]
pub struct IdentitySummary {
    pub n_inputs: usize,
    /// Width of a value, the largest of all layers.
    pub width: usize,
    /// Tokens, rank and share of each input, in the mean over layers.
    pub points: Vec<[f64; 3]>,
    pub of_lengths: Vec<LengthGroup>,
    pub layers: Vec<LayerRow>,
}

impl Identified {
    fn mean(&self, of: impl Fn(&LayerIdentity) -> f32) -> f64 {
        self.layers.iter().map(|layer| f64::from(of(layer))).sum::<f64>() / self.layers.len().max(1) as f64
    }
}

/// Sums up; inputs are drawn anew `samples` times for the intervals.
pub fn identity_summary(inputs: &[Identified], samples: usize, seed: u64) -> IdentitySummary {
    let mean = |values: &[f64], what: u64| Estimate::of_mean(values, samples, SplitMix::of_words([seed, what]));
    let mut by_length: Vec<&Identified> = inputs.iter().filter(|of| !of.layers.is_empty()).collect();
    by_length.sort_by_key(|of| (of.n_tokens, of.input));
    let group = |group: &[&Identified]| {
        let of = |value: &dyn Fn(&Identified) -> f64| group.iter().map(|of| value(of)).collect::<Vec<f64>>();
        let tokens = of(&|of| of.n_tokens as f64);
        Some(LengthGroup {
            n_inputs: group.len(),
            n_tokens: tokens.iter().sum::<f64>() / tokens.len() as f64,
            rank: mean(&of(&|of| of.mean(|layer| layer.rank)), 0)?,
            effective: mean(&of(&|of| of.mean(|layer| layer.effective)), 1)?,
            by_chance: mean(&of(&|of| of.mean(|layer| layer.by_chance)), 2)?,
            identifiable: mean(&of(&|of| of.mean(|layer| layer.identifiable)), 3)?,
        })
    };
    let n_layers = by_length.iter().map(|of| of.layers.len()).max().unwrap_or(0);
    let layer = |layer: usize| {
        let of = |what: u64, value: &dyn Fn(&LayerIdentity) -> Option<f32>| {
            let values = by_length.iter().filter_map(|of| value(of.layers.get(layer)?)).map(f64::from);
            mean(&values.collect::<Vec<f64>>(), what)
        };
        Some(LayerRow {
            rank: of(0, &|of| Some(of.rank))?,
            effective: of(1, &|of| Some(of.effective))?,
            by_chance: of(2, &|of| Some(of.by_chance))?,
            identifiable: of(3, &|of| Some(of.identifiable))?,
            mixing: of(4, &|of| of.mixing),
            mixing_attention: of(5, &|of| of.mixing_attention),
        })
    };
    let point = |of: &&Identified| [of.n_tokens as f64, of.mean(|layer| layer.rank), of.mean(|layer| layer.effective)];
    IdentitySummary {
        n_inputs: by_length.len(),
        width: by_length.iter().flat_map(|of| &of.layers).map(|layer| layer.width).max().unwrap_or(0),
        points: by_length.iter().map(point).collect(),
        of_lengths: by_length.chunks(by_length.len().div_ceil(N_GROUPS).max(1)).filter_map(group).collect(),
        layers: (0..n_layers).filter_map(layer).collect(),
    }
}

/// The part of weights that is effective: `Σ A_eff² / Σ A²`, at most 1 as `A_eff` is a projection of the rows of `A`.
pub fn effective_share(effective: &[f32], weights: &[f32]) -> f64 {
    let squares = |of: &[f32]| of.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>();
    squares(effective) / squares(weights).max(f64::MIN_POSITIVE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{analysis::explain::effective::effective, capture::Matrix};

    #[test]
    fn the_share_of_the_worked_example() {
        let pattern = Matrix::new(vec![0.6, 0.3, 0.1, 0.2, 0.5, 0.3, 0.1, 0.1, 0.8], [3, 3]).unwrap();
        let values = Matrix::new(vec![1.0, 0.0, 0.0, 1.0, 1.0, 1.0], [3, 2]).unwrap();
        let found = effective(&pattern, &values, false).unwrap();
        // The null space of the values is along (1, 1, −1)/√3: each row loses the square of its part there.
        let lost: f64 = [0.8f64, 0.4, -0.6].iter().map(|part| part * part / 3.0).sum();
        let all: f64 = pattern.as_slice().iter().map(|value| f64::from(*value).powi(2)).sum();
        let share = effective_share(found.pattern.as_slice(), pattern.as_slice());
        assert!((share - (1.0 - lost / all)).abs() < 1e-6 && found.rank == 2, "{share}");
    }

    #[test]
    fn inputs_are_grouped_by_length_and_layers_keep_to_what_is_defined() {
        let layer = |rank: f32, mixing| LayerIdentity {
            rank,
            width: 8,
            effective: 1.0 / rank,
            by_chance: 0.5,
            identifiable: 0.0,
            mixing,
            mixing_attention: None,
        };
        let input = |nth: usize| Identified {
            input: nth,
            n_tokens: 4 + nth,
            layers: vec![layer(2.0, Some(nth as f32)), layer(4.0, None)],
        };
        let found = identity_summary(&(0..12).map(input).collect::<Vec<_>>(), 200, 0);
        assert_eq!((found.n_inputs, found.width, found.of_lengths.len(), found.layers.len()), (12, 8, 6, 2));
        let [first, .., last] = &found.of_lengths[..] else { panic!("groups") };
        assert_eq!((first.n_tokens, last.n_tokens, first.rank.value), (4.5, 14.5, 3.0));
        assert!(found.layers[0].mixing.is_some_and(|of| (of.value - 5.5).abs() < 1e-9 && of.low < of.high));
        assert!(found.layers[1].mixing.is_none());
    }
}
