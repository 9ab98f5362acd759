//! Sparse autoencoders: dictionaries of features that were learnt from one site, in the forms that `SAELens` writes.

mod alignment;
mod of_corpus;
mod stored;

use rayon::prelude::*;

pub use alignment::{BasisShare, basis_shares, cosines};
pub use of_corpus::{Activations, CorpusFeatures, FeatureOrder, FeatureQuestion, MOST_BYTES};

use super::explain::report::{LabQuestion, MethodSpec};
use crate::capture::Site;

/// Features over many texts, as the command line has it.
pub const FEATURES: MethodSpec = MethodSpec {
    name: "features",
    title: "Features over many texts",
    question: LabQuestion::Fact,
    about: "How often features of a sparse autoencoder fire over many texts, and where most",
    example: "--model path/to/gpt2 --sae path/to/sae --corpus demo:sentences",
    caveat: "Texts in which a feature fires most say little of those in which it fires weakly, which are most.",
    formula: "density = share of tokens with f > 0; texts by their largest f",
    source: "Bricken et al. 2023; Cunningham et al. 2023",
    values: &[],
    ..MethodSpec::EMPTY
};

/// Columns that a thread takes together.
const COLUMNS: usize = 1024;
/// Added to the deviation of a normalised input.
const EPSILON: f64 = 1e-5;

/// How numbers before the activation become features.
#[derive(Clone, Debug, PartialEq)]
pub enum Activation {
    /// Positive numbers.
    Standard,
    /// Those above a threshold of their own, `[d_sae]`.
    JumpRelu(Vec<f32>),
    /// The `k` largest, if positive; weighed by the lengths of what they write, where `rescaled`.
    TopK { k: usize, rescaled: bool },
    /// Those whose gate is open: `x · W + b_gate > 0`, with sizes `x · (W ⊙ e^r_mag) + b_mag`; `[d_sae]` each.
    Gated { b_gate: Vec<f32>, r_mag: Vec<f32>, b_mag: Vec<f32> },
}

/// What is done to an input first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputNorm {
    None,
    /// Less its mean, by its deviation (of a sample).
    Layer,
    /// To the length `√d_in`.
    ConstantNorm,
}

/// A dictionary.
#[derive(Clone, Debug, PartialEq)]
pub struct Sae {
    /// Where it was learnt.
    pub site: Site,
    pub layer: usize,
    pub d_in: usize,
    pub d_sae: usize,
    pub activation: Activation,
    pub input_norm: InputNorm,
    /// Whether the mean over the width is taken from vectors of the stream first: models of `TransformerLens` whose writing
    /// weights are centred.
    pub centred: bool,
    /// Whether the bias of the decoder is taken away first.
    pub less_bias: bool,
    /// `[d_in, d_sae]`, row by row.
    pub encoder: Vec<f32>,
    /// `[d_sae]`; zeros of a gated one.
    pub encoder_bias: Vec<f32>,
    /// `[d_sae, d_in]`, row by row.
    pub decoder: Vec<f32>,
    /// `[d_in]`.
    pub decoder_bias: Vec<f32>,
    /// What a reader should know about its use here.
    pub notes: Vec<String>,
}

/// What a feature reads of a vector.
#[derive(Clone, Debug, PartialEq)]
pub struct FeatureReading {
    /// What it adds for each number of the vector, `[d_in]`.
    pub direction: Vec<f64>,
    /// The feature before its activation, biases included.
    pub value: f64,
}

/// An input as the dictionary sees it, and what turns its output back.
struct Prepared {
    x: Vec<f64>,
    mean: f64,
    scale: f64,
}

impl Sae {
    /// What a feature writes, `[d_in]`.
    pub fn direction(&self, feature: usize) -> &[f32] {
        self.decoder.get(feature * self.d_in..(feature + 1) * self.d_in).unwrap_or(&[])
    }

    fn prepared(&self, x: &[f32]) -> Prepared {
        let mut x: Vec<f64> = x.iter().map(|value| f64::from(*value)).collect();
        let n = x.len().max(1) as f64;
        let mean_of = |x: &[f64]| x.iter().sum::<f64>() / n;
        if self.centred {
            let mean = mean_of(&x);
            for value in &mut x {
                *value -= mean;
            }
        }
        let (mean, scale) = match self.input_norm {
            InputNorm::None => (0.0, 1.0),
            InputNorm::Layer => {
                let mean = mean_of(&x);
                let square = x.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
                (mean, square.sqrt() + EPSILON)
            }
            InputNorm::ConstantNorm => {
                let length = x.iter().map(|value| value * value).sum::<f64>().sqrt();
                (0.0, length.max(f64::MIN_POSITIVE) / n.sqrt())
            }
        };
        for (value, bias) in x.iter_mut().zip(&self.decoder_bias) {
            *value = (*value - mean) / scale - if self.less_bias { f64::from(*bias) } else { 0.0 };
        }
        Prepared { x, mean, scale }
    }

    /// The features of one vector of the site `[d_in]` that are not zero, in their order.
    pub fn features(&self, x: &[f32]) -> Vec<(usize, f32)> {
        let Prepared { x, .. } = self.prepared(x);
        let mut sums = vec![0.0f64; self.d_sae];
        sums.par_chunks_mut(COLUMNS).enumerate().for_each(|(nth, sums)| {
            for (value, row) in x.iter().zip(self.encoder.chunks_exact(self.d_sae.max(1))) {
                let row = &row[nth * COLUMNS..nth * COLUMNS + sums.len()];
                sums.iter_mut().zip(row).for_each(|(sum, weight)| *sum += value * f64::from(*weight));
            }
        });
        let biased = |feature: usize| sums[feature] + f64::from(self.encoder_bias[feature]);
        let all = 0..self.d_sae;
        let found: Vec<(usize, f64)> = match &self.activation {
            Activation::Standard => all.map(|at| (at, biased(at))).filter(|(_, value)| *value > 0.0).collect(),
            Activation::JumpRelu(threshold) => all
                .map(|at| (at, biased(at)))
                .filter(|(at, value)| *value > f64::from(threshold[*at]) && *value > 0.0)
                .collect(),
            Activation::Gated { b_gate, r_mag, b_mag } => all
                .filter(|at| sums[*at] + f64::from(b_gate[*at]) > 0.0)
                .map(|at| (at, sums[at] * f64::from(r_mag[at]).exp() + f64::from(b_mag[at])))
                .filter(|(_, value)| *value > 0.0)
                .collect(),
            Activation::TopK { k, rescaled } => {
                let weight = |at: usize| if *rescaled { self.length(at) } else { 1.0 };
                let mut all: Vec<(usize, f64)> = all.map(|at| (at, biased(at) * weight(at))).collect();
                all.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
                all.truncate(*k);
                all.retain(|(_, value)| *value > 0.0);
                all.sort_unstable_by_key(|(at, _)| *at);
                all
            }
        };
        found.into_iter().map(|(at, value)| (at, value as f32)).collect()
    }

    /// What a feature reads of the vector `[d_in]` that it is told of, with what is done to that vector first taken as it is.
    pub fn reading(&self, feature: usize, x: &[f32]) -> FeatureReading {
        let Prepared { x: prepared, scale, .. } = self.prepared(x);
        let column = self.encoder.iter().skip(feature).step_by(self.d_sae.max(1));
        let at = |all: &[f32]| all.get(feature).map_or(0.0, |value| f64::from(*value));
        let (factor, bias) = match &self.activation {
            Activation::Gated { r_mag, b_mag, .. } => (at(r_mag).exp(), at(b_mag)),
            Activation::TopK { rescaled: true, .. } => {
                let length = self.length(feature);
                (length, length * at(&self.encoder_bias))
            }
            Activation::Standard | Activation::JumpRelu(_) | Activation::TopK { .. } => (1.0, at(&self.encoder_bias)),
        };
        let column: Vec<f64> = column.map(|weight| factor * f64::from(*weight)).collect();
        let value = prepared.iter().zip(&column).map(|(x, weight)| x * weight).sum::<f64>() + bias;
        let mut direction: Vec<f64> = column.into_iter().map(|weight| weight / scale).collect();
        // Without its mean a vector is read by what is left of the direction without its own.
        if self.centred || self.input_norm == InputNorm::Layer {
            let mean = direction.iter().sum::<f64>() / direction.len().max(1) as f64;
            for weight in &mut direction {
                *weight -= mean;
            }
        }
        FeatureReading { direction, value }
    }

    /// Length of what a feature writes.
    fn length(&self, feature: usize) -> f64 {
        self.direction(feature).iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt()
    }

    /// The vector that features stand for, in the place of the one that they are of.
    pub fn reconstruction(&self, x: &[f32], features: &[(usize, f32)]) -> Vec<f32> {
        let Prepared { mean, scale, .. } = self.prepared(x);
        let mut out: Vec<f64> = self.decoder_bias.iter().map(|value| f64::from(*value)).collect();
        let rescaled = matches!(self.activation, Activation::TopK { rescaled: true, .. });
        for (feature, value) in features {
            let value = f64::from(*value) / if rescaled { self.length(*feature).max(f64::MIN_POSITIVE) } else { 1.0 };
            out.iter_mut().zip(self.direction(*feature)).for_each(|(out, weight)| *out += value * f64::from(*weight));
        }
        // The mean that was taken away is no part of what is reconstructed.
        let own = if self.centred {
            x.iter().map(|value| f64::from(*value)).sum::<f64>() / x.len().max(1) as f64
        } else {
            0.0
        };
        out.iter().map(|value| (value * scale + mean + own) as f32).collect()
    }
}

/// A text in which a feature fires.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FiringText {
    /// Its place in the corpus.
    pub text: usize,
    /// The token at which it fires most.
    pub position: usize,
    pub value: f32,
}

/// Features over many texts; special tokens are left aside.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FeatureCounts {
    pub n_tokens: usize,
    /// By feature, tokens at which it fires, the sum of its values, and texts by their largest value.
    pub features: Vec<FeatureCount>,
    n_texts: usize,
}

/// One feature over many texts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FeatureCount {
    pub n: usize,
    pub sum: f64,
    /// The largest first; of equal ones the first of the corpus.
    pub texts: Vec<FiringText>,
}

impl FeatureCount {
    /// Its mean where it fires; 0 where it never does.
    pub fn mean(&self) -> f64 {
        if self.n > 0 { self.sum / self.n as f64 } else { 0.0 }
    }
}

impl FeatureCounts {
    /// Nothing yet of `d_sae` features, which each keep so many texts.
    pub fn new(d_sae: usize, n_texts: usize) -> Self {
        Self { n_tokens: 0, features: vec![FeatureCount::default(); d_sae], n_texts }
    }

    /// Whether so many texts are kept of each feature.
    pub const fn keeps(&self, n_texts: usize) -> bool {
        self.n_texts == n_texts
    }

    /// Adds the features of the tokens of a text, each with its position.
    pub fn add(&mut self, text: usize, tokens: &[(usize, Vec<(usize, f32)>)]) {
        self.n_tokens += tokens.len();
        for (position, features) in tokens {
            for (feature, value) in features {
                let Some(count) = self.features.get_mut(*feature) else { continue };
                count.n += 1;
                count.sum += f64::from(*value);
                let here = FiringText { text, position: *position, value: *value };
                match count.texts.iter_mut().find(|known| known.text == text) {
                    Some(known) if known.value < *value => *known = here,
                    Some(_) => {}
                    None => count.texts.push(here),
                }
                count.texts.sort_by(|a, b| b.value.total_cmp(&a.value).then(a.text.cmp(&b.text)));
                // One more than is kept, as the text that is read may yet fire more.
                count.texts.truncate(self.n_texts + 1);
            }
        }
        for count in &mut self.features {
            count.texts.truncate(self.n_texts);
        }
    }

    /// The features that fire, those with the largest sums first.
    pub fn strongest(&self, n: usize) -> Vec<usize> {
        let mut all: Vec<usize> = (0..self.features.len()).filter(|at| self.features[*at].n > 0).collect();
        all.sort_by(|a, b| self.features[*b].sum.total_cmp(&self.features[*a].sum).then(a.cmp(b)));
        all.truncate(n);
        all
    }
}

/// Share of the variance of rows over positions that their reconstructions miss; `None` where there is none.
pub fn unexplained(rows: &[&[f32]], reconstructions: &[Vec<f32>]) -> Option<f64> {
    let width = rows.first()?.len();
    let mut means = vec![0.0f64; width];
    for row in rows {
        means.iter_mut().zip(*row).for_each(|(mean, value)| *mean += f64::from(*value) / rows.len() as f64);
    }
    let square = |a: f64, b: f64| (a - b).powi(2);
    let all: f64 =
        rows.iter().map(|row| row.iter().zip(&means).map(|(a, b)| square(f64::from(*a), *b)).sum::<f64>()).sum();
    let missed: f64 = rows
        .iter()
        .zip(reconstructions)
        .map(|(row, found)| row.iter().zip(found).map(|(a, b)| square(f64::from(*a), f64::from(*b))).sum::<f64>())
        .sum();
    (all > 0.0).then_some(missed / all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix;

    /// A dictionary of random numbers, for tests of what is made of one.
    fn random_sae((site, layer): (Site, usize), [d_in, d_sae]: [usize; 2], seed: u64) -> Sae {
        let mut random = SplitMix::new(seed);
        let mut some = |n: usize| (0..n).map(|_| 0.5 * random.symmetric()).collect::<Vec<f32>>();
        Sae {
            site,
            layer,
            d_in,
            d_sae,
            activation: Activation::Standard,
            input_norm: InputNorm::None,
            centred: false,
            less_bias: true,
            encoder: some(d_in * d_sae),
            encoder_bias: some(d_sae),
            decoder: some(d_sae * d_in),
            decoder_bias: some(d_in),
            notes: Vec::new(),
        }
    }

    fn toy(activation: Activation) -> Sae {
        Sae {
            site: Site::ResidPost,
            layer: 0,
            d_in: 2,
            d_sae: 3,
            activation,
            input_norm: InputNorm::None,
            centred: false,
            less_bias: true,
            encoder: vec![1.0, -0.4, 0.6, 0.5, 0.8, -0.7],
            encoder_bias: vec![-0.2, 0.1, -0.3],
            decoder: vec![0.8, 0.6, 0.0, 1.0, 0.6, -0.8],
            decoder_bias: vec![0.1, -0.1],
            notes: Vec::new(),
        }
    }

    fn near(found: &[f32], expected: &[f32]) {
        assert_eq!(found.len(), expected.len());
        found.iter().zip(expected).for_each(|(a, b)| assert!((a - b).abs() < 1e-6, "{found:?} {expected:?}"));
    }

    /// All features of the worked input.
    fn features(sae: &Sae) -> Vec<f32> {
        let mut all = vec![0.0; 3];
        sae.features(&[1.0, -0.5]).into_iter().for_each(|(at, value)| all[at] = value);
        all
    }

    #[test]
    fn every_kind_gives_the_features_of_the_worked_example() {
        let standard = toy(Activation::Standard);
        near(&features(&standard), &[0.5, 0.0, 0.52]);
        near(&standard.reconstruction(&[1.0, -0.5], &standard.features(&[1.0, -0.5])), &[0.812, -0.216]);
        let whole = Sae { less_bias: false, ..standard.clone() };
        near(&features(&whole), &[0.55, 0.0, 0.65]);
        near(&whole.reconstruction(&[1.0, -0.5], &whole.features(&[1.0, -0.5])), &[0.93, -0.29]);
        near(&features(&toy(Activation::JumpRelu(vec![0.6, 0.1, 0.5]))), &[0.0, 0.0, 0.52]);
        near(&features(&toy(Activation::TopK { k: 1, rescaled: false })), &[0.0, 0.0, 0.52]);
        let mut rescaled = toy(Activation::TopK { k: 1, rescaled: true });
        rescaled.decoder = vec![0.8, 0.6, 0.0, 2.0, 0.3, -0.4];
        near(&features(&rescaled), &[0.5, 0.0, 0.0]);
        let mut gated = toy(Activation::Gated {
            b_gate: vec![-0.1, 0.3, -1.2],
            r_mag: vec![0.1, 0.0, -0.2],
            b_mag: vec![-0.2, 0.1, -0.3],
        });
        gated.encoder_bias = vec![0.0; 3];
        near(&features(&gated), &[0.573_620, 0.0, 0.0]);
    }

    #[test]
    fn inputs_are_normalised_and_turned_back() {
        let of = |input_norm, x: &[f32]| {
            let sae = Sae { d_in: 3, input_norm, decoder_bias: vec![0.0; 3], ..toy(Activation::Standard) };
            sae.prepared(x).x.iter().map(|value| *value as f32).collect::<Vec<f32>>()
        };
        let x = [1.0, -0.5, 0.3];
        near(&of(InputNorm::Layer, &x), &[0.977_041, -1.021_452, 0.044_411]);
        near(&of(InputNorm::ConstantNorm, &x), &[1.496_264, -0.748_132, 0.448_879]);
        let sae = random_sae((Site::ResidPost, 1), [6, 9], 4);
        for sae in [Sae { input_norm: InputNorm::Layer, ..sae.clone() }, Sae { centred: true, ..sae }] {
            let x = [0.3, -1.0, 2.0, 0.1, 0.7, 4.0];
            let shifted = x.map(|value| value + 5.0);
            assert_eq!(sae.features(&x).len(), sae.features(&shifted).len());
            let [own, other] = [x, shifted].map(|x| sae.reconstruction(&x, &sae.features(&x)));
            let moved: Vec<f32> = own.iter().map(|value| value + 5.0).collect();
            moved.iter().zip(&other).for_each(|(a, b)| assert!((a - b).abs() < 1e-4, "{moved:?} {other:?}"));
        }
    }

    #[test]
    fn a_feature_is_counted_once_for_each_token_and_its_texts_are_ordered() {
        let mut counts = FeatureCounts::new(2, 2);
        counts.add(0, &[(1, vec![(0, 0.2)]), (2, vec![(0, 0.5), (1, 1.0)])]);
        counts.add(1, &[(0, vec![]), (4, vec![(0, 0.9)])]);
        counts.add(2, &[(0, vec![(0, 0.7)])]);
        let count = &counts.features[0];
        assert_eq!((counts.n_tokens, count.n), (5, 4));
        let order: Vec<_> = count.texts.iter().map(|of| (of.text, of.position)).collect();
        assert_eq!(order, [(1, 4), (2, 0)]);
        assert_eq!(counts.strongest(5), [0, 1]);
        assert_eq!(unexplained(&[&[1.0, 0.0], &[0.0, 1.0]], &[vec![1.0, 0.0], vec![0.0, 0.5]]), Some(0.25));
    }
}
