//! Something else than softmax makes patterns of scores.

use std::{fmt, iter};

use serde::{Deserialize, Serialize};

use super::{
    EditAim, EditContext, EditKind, EditOffer, EditSpec, Intervention, Scope,
    codec::{Named, as_text},
};
use crate::options::{FieldValue, OptionField, Visit, choose, real, whole};

/// Between softmax and sparsemax.
const MIDDLE_ALPHA: f32 = 1.5;
/// Neighbours are drawn together where their scores are near each other.
const SMALL_LAMBDA: f32 = 0.1;
/// The end of the slider of λ; a larger number that was given widens it.
const MOST_LAMBDA: f64 = 2.0;

/// What neighbours that are chosen together count for where a chain is offered, and the end of the slider.
const SOME_W: f32 = 1.0;
const MOST_W: f64 = 5.0;
/// The end of the slider of draws.
const MOST_DRAW: usize = 99;

/// Normalisers that differ by a number alone.
struct Family {
    /// The one that is offered.
    first: Normalizer,
    /// In options.
    name: &'static str,
    label: &'static str,
    meaning: &'static str,
}

/// In the order in which they are offered.
const FAMILIES: &[Family] = &[
    Family {
        first: Normalizer::Entmax(MIDDLE_ALPHA),
        name: "entmax",
        label: "α-entmax",
        meaning: "Between softmax and sparsemax: small weights become zero; α can be dragged",
    },
    Family {
        first: Normalizer::Fusedmax(SMALL_LAMBDA),
        name: "fusedmax",
        label: "Fusedmax",
        meaning: "Sparsemax with neighbours drawn to each other: they share a weight; λ can be dragged",
    },
    Family {
        first: Normalizer::ChainSimplex(SOME_W),
        name: "chain-simplex",
        label: "Linear chain, sum 1",
        meaning: "How probably each key is chosen where neighbours choose together, divided by the sum; w can be dragged",
    },
    Family {
        first: Normalizer::Chain(SOME_W),
        name: "chain",
        label: "Linear chain",
        meaning: "How probably each key is chosen where neighbours choose together; rows need not sum to 1; w can be \
            dragged",
    },
    Family {
        first: Normalizer::SparsemapChain(SOME_W),
        name: "sparsemap-chain",
        label: "Sparse linear chain",
        meaning: "The choices nearest to the scores where neighbours choose together: many weights are 0 or 1; w can be \
            dragged",
    },
    Family {
        first: Normalizer::Sigmoid(SigmoidBias::Zero),
        name: "sigmoid",
        label: "Sigmoid",
        meaning: "Every key by itself: rows need not sum to 1",
    },
    Family {
        first: Normalizer::Argmax,
        name: "argmax",
        label: "Argmax",
        meaning: "All weight on the key of the largest score, the first of equals",
    },
    Family {
        first: Normalizer::Sample { seed: 0, draw: 0 },
        name: "sample",
        label: "Sampled",
        meaning: "All weight on one key, drawn with the probabilities of softmax; the number of the draw can be dragged",
    },
];

/// Something else than softmax makes patterns of scores.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Normalize {
    #[serde(rename = "normalizer", with = "as_text")]
    pub with: Normalizer,
    /// In which heads, of all stacks.
    #[serde(flatten)]
    pub scope: Scope,
}

/// What turns a row of scores into a row of a pattern.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Normalizer {
    /// `exp(s) / Σ exp(s)`.
    #[default]
    Softmax,
    /// The projection onto the simplex (Martins and Astudillo 2016).
    Sparsemax,
    /// Between the two (Peters et al. 2019); the number is its α.
    Entmax(f32),
    /// Sparsemax with neighbours drawn to each other (Niculae and Blondel 2017); the number is its λ.
    Fusedmax(f32),
    /// How probably a linear chain chooses each key (Kim et al. 2017), divided by the sum; the number is what two
    /// neighbours that are both chosen add to their scores.
    ChainSimplex(f32),
    /// How probably a linear chain chooses each key; the number as above.
    Chain(f32),
    /// The choices of keys that are nearest to the scores (Niculae et al. 2018), by the same chain: many are 0 or 1.
    SparsemapChain(f32),
    /// `1 / (1 + exp(-s - b))`: every score by itself (Ramapuram et al. 2024).
    Sigmoid(SigmoidBias),
    /// All weight on the largest score, the first of equals.
    Argmax,
    /// All weight on one key, drawn with the probabilities of softmax (Gumbel-max).
    Sample {
        /// Equal seeds and numbers give equal keys.
        seed: u64,
        /// Its number: another one draws anew.
        draw: usize,
    },
}

/// What is added to every score before its sigmoid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SigmoidBias {
    #[default]
    Zero,
    /// `-ln n` of the `n` keys that the query sees, so that weights sum to about 1 where scores are about 0.
    MinusLogKeys,
}

/// The name in files and options; [`Normalizer::title`] is for sentences.
impl fmt::Display for Normalizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Softmax => f.write_str("softmax"),
            Self::Sparsemax => f.write_str("sparsemax"),
            Self::Entmax(alpha) => write!(f, "entmax:{alpha}"),
            Self::Fusedmax(lambda) => write!(f, "fusedmax:{lambda}"),
            Self::ChainSimplex(w) => write!(f, "chain-simplex:{w}"),
            Self::Chain(w) => write!(f, "chain:{w}"),
            Self::SparsemapChain(w) => write!(f, "sparsemap-chain:{w}"),
            Self::Sigmoid(SigmoidBias::Zero) => f.write_str("sigmoid"),
            Self::Sigmoid(SigmoidBias::MinusLogKeys) => f.write_str("sigmoid:-ln n"),
            Self::Argmax => f.write_str("argmax"),
            Self::Sample { seed, draw } => write!(f, "sample:{seed}:{draw}"),
        }
    }
}

impl Normalizer {
    /// As people write it: `1.5-entmax`.
    pub fn title(self) -> String {
        // A number that was dragged has no end.
        let short = |number: f32| (100.0 * f64::from(number)).round() / 100.0;
        match self {
            Self::Entmax(alpha) => format!("{}-entmax", short(alpha)),
            Self::Fusedmax(lambda) => format!("fusedmax with λ = {}", short(lambda)),
            Self::ChainSimplex(w) => format!("chain-simplex with w = {}", short(w)),
            Self::Chain(w) => format!("chain with w = {}", short(w)),
            Self::SparsemapChain(w) => format!("sparsemap-chain with w = {}", short(w)),
            Self::Sigmoid(SigmoidBias::MinusLogKeys) => "sigmoid with b = −ln n".to_owned(),
            Self::Sample { seed, draw } => format!("draw {draw} of softmax (seed {seed})"),
            Self::Softmax | Self::Sparsemax | Self::Sigmoid(SigmoidBias::Zero) | Self::Argmax => self.to_string(),
        }
    }

    /// Whether all weight is on one key, which small changes of the scores do not move.
    pub const fn is_a_choice(self) -> bool {
        match self {
            Self::Argmax | Self::Sample { .. } => true,
            Self::Softmax
            | Self::Sparsemax
            | Self::Entmax(_)
            | Self::Fusedmax(_)
            | Self::ChainSimplex(_)
            | Self::Chain(_)
            | Self::SparsemapChain(_)
            | Self::Sigmoid(_) => false,
        }
    }

    /// Whether the weights of a query sum to 1.
    pub const fn sums_to_one(self) -> bool {
        match self {
            Self::Softmax
            | Self::Sparsemax
            | Self::Entmax(_)
            | Self::Fusedmax(_)
            | Self::ChainSimplex(_)
            | Self::Argmax
            | Self::Sample { .. } => true,
            Self::Chain(_) | Self::SparsemapChain(_) | Self::Sigmoid(_) => false,
        }
    }

    /// The one of each family that is offered, with its name in options and on screen.
    pub fn families() -> Vec<(Self, &'static str, &'static str)> {
        FAMILIES.iter().map(|family| (family.first, family.name, family.label)).collect()
    }

    /// The one of its family that is offered.
    const fn first(self) -> Self {
        match self {
            Self::Softmax | Self::Sparsemax | Self::Entmax(_) => Self::Entmax(MIDDLE_ALPHA),
            Self::Fusedmax(_) => Self::Fusedmax(SMALL_LAMBDA),
            Self::ChainSimplex(_) => Self::ChainSimplex(SOME_W),
            Self::Chain(_) => Self::Chain(SOME_W),
            Self::SparsemapChain(_) => Self::SparsemapChain(SOME_W),
            Self::Sigmoid(_) => Self::Sigmoid(SigmoidBias::Zero),
            Self::Argmax => self,
            Self::Sample { .. } => Self::Sample { seed: 0, draw: 0 },
        }
    }

    /// The one that displays as `name`.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "softmax" => Some(Self::Softmax),
            "sparsemax" => Some(Self::Sparsemax),
            "sigmoid" => Some(Self::Sigmoid(SigmoidBias::Zero)),
            "sigmoid:-ln n" => Some(Self::Sigmoid(SigmoidBias::MinusLogKeys)),
            "argmax" => Some(Self::Argmax),
            _ => {
                let (kind, number) = name.split_once(':')?;
                if kind == "sample" {
                    let (seed, draw) = number.split_once(':')?;
                    return Some(Self::Sample { seed: seed.parse().ok()?, draw: draw.parse().ok()? });
                }
                let number: f32 = number.parse().ok().filter(|number: &f32| number.is_finite())?;
                match kind {
                    "entmax" => (number >= 1.0).then_some(Self::Entmax(number)),
                    "fusedmax" => (number >= 0.0).then_some(Self::Fusedmax(number)),
                    "chain-simplex" => Some(Self::ChainSimplex(number)),
                    "chain" => Some(Self::Chain(number)),
                    "sparsemap-chain" => Some(Self::SparsemapChain(number)),
                    _ => None,
                }
            }
        }
    }
}

impl Named for Normalizer {
    const WHAT: &'static str = "normaliser such as sparsemax or entmax:1.5";

    fn written(&self) -> String {
        self.to_string()
    }

    fn read(text: &str) -> Option<Self> {
        Self::from_name(text)
    }
}

impl fmt::Display for Normalize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "scores are normalised by {} {}", self.with.title(), self.scope)
    }
}

impl EditKind for Normalize {
    fn spec() -> &'static EditSpec {
        &EditSpec {
            fields: &[
                (
                    "normalizer",
                    "softmax, sparsemax, entmax:ALPHA, fusedmax:LAMBDA, chain-simplex:W, chain:W, sparsemap-chain:W, \
                    sigmoid, sigmoid:-ln n, argmax or sample:SEED:DRAW",
                ),
                ("layers", "in which layers"),
                ("heads", "in which heads"),
            ],
            meaning: "something else than softmax makes patterns of scores",
        }
    }

    fn offers(aim: &EditAim<'_>) -> Vec<EditOffer> {
        match aim {
            EditAim::Head { head, .. } => {
                let entmax = Self { scope: Scope::Heads(vec![*head]), with: Normalizer::Entmax(MIDDLE_ALPHA) };
                let meaning = "α-entmax in place of softmax; drag its α, or choose another one, under Changes";
                let synonyms = &[
                    "sparsemax",
                    "entmax",
                    "fusedmax",
                    "sparse attention",
                    "sigmoid attention",
                    "hard attention",
                    "argmax",
                    "structured attention",
                ];
                vec![EditOffer::new("Other softmax…", meaning, entmax).synonyms(synonyms)]
            }
            EditAim::Stack(_) => {
                let sparsemax = ("Sparsemax", "Many weights become zero", Normalizer::Sparsemax);
                let families = FAMILIES.iter().map(|family| (family.label, family.meaning, family.first));
                let offer = |(name, meaning, with)| EditOffer::new(name, meaning, Self { scope: Scope::All, with });
                iter::once(sparsemax).chain(families).map(offer).collect()
            }
            EditAim::Tokens { .. } | EditAim::Edges { .. } | EditAim::Expert(_) | EditAim::Adapter(_) => Vec::new(),
        }
    }

    fn short(&self) -> String {
        self.with.title()
    }

    fn intervention(&self) -> Intervention<'_> {
        Intervention::Normalize(&self.scope, self.with)
    }

    fn check(&self, there: &EditContext<'_>) -> Result<(), String> {
        let Self { scope, with } = self;
        there.scope(None, scope)?;
        for stack in &there.spec.stacks {
            for (layer, _) in stack.layers.iter().enumerate().filter(|(_, layer)| layer.sink) {
                if scope.touches(stack.kind, layer) {
                    return Err(format!(
                        "layer {layer} has learned sinks, which are part of its softmax: another normaliser has no \
                        place for them"
                    ));
                }
            }
        }
        match with {
            Normalizer::Entmax(alpha) if !(1.0..=16.0).contains(alpha) => {
                Err(format!("α of entmax goes from 1 to 16, not to {alpha}"))
            }
            Normalizer::Fusedmax(lambda) if !lambda.is_finite() || *lambda < 0.0 => {
                Err(format!("λ of fusedmax is 0 or more, not {lambda}"))
            }
            Normalizer::ChainSimplex(w) | Normalizer::Chain(w) | Normalizer::SparsemapChain(w) if !w.is_finite() => {
                Err(format!("w of a chain is a number, not {w}"))
            }
            Normalizer::Softmax
            | Normalizer::Sparsemax
            | Normalizer::Entmax(_)
            | Normalizer::Fusedmax(_)
            | Normalizer::ChainSimplex(_)
            | Normalizer::Chain(_)
            | Normalizer::SparsemapChain(_)
            | Normalizer::Sigmoid(_)
            | Normalizer::Argmax
            | Normalizer::Sample { .. } => Ok(()),
        }
    }

    fn options(&mut self, visit: &mut Visit<'_>) {
        let family = self.with.first();
        let mut chosen = family;
        let what = ("family", "Normaliser", "What makes weights of scores");
        choose(visit, what, &mut chosen, &Normalizer::families());
        if chosen != family {
            self.with = chosen;
        }
        if let Normalizer::Sample { seed, draw } = &mut self.with {
            let meaning = "Of which many draws the one is: the same number draws the same keys";
            visit(whole("draw", "Draw", meaning, draw, 0..=MOST_DRAW.max(*draw)));
            let meaning = "Where the draws begin: another seed, other keys";
            visit(OptionField::new("seed", "Seed", meaning, FieldValue::Seed(seed)));
        }
        if let Normalizer::Sigmoid(bias) = &mut self.with {
            let mut lowered = *bias == SigmoidBias::MinusLogKeys;
            let meaning = "Scores less the logarithm of how many keys the query sees; else as they are";
            visit(OptionField::new("lowered", "b = −ln n", meaning, FieldValue::Flag(&mut lowered)));
            *bias = if lowered { SigmoidBias::MinusLogKeys } else { SigmoidBias::Zero };
        }
        let mut dragged = |number: f64, field: fn(&mut f64, f64) -> OptionField<'_>| {
            let mut value = number;
            visit(field(&mut value, number));
            (value != number).then_some(value as f32)
        };
        let turned = match self.with {
            Normalizer::Softmax => dragged(1.0, alpha).map(of_alpha),
            Normalizer::Sparsemax => dragged(2.0, alpha).map(of_alpha),
            Normalizer::Entmax(number) => dragged(number.into(), alpha).map(of_alpha),
            Normalizer::Fusedmax(number) => dragged(number.into(), lambda).map(Normalizer::Fusedmax),
            Normalizer::ChainSimplex(number) => dragged(number.into(), w).map(Normalizer::ChainSimplex),
            Normalizer::Chain(number) => dragged(number.into(), w).map(Normalizer::Chain),
            Normalizer::SparsemapChain(number) => dragged(number.into(), w).map(Normalizer::SparsemapChain),
            Normalizer::Sigmoid(_) | Normalizer::Argmax | Normalizer::Sample { .. } => None,
        };
        self.with = turned.unwrap_or(self.with);
    }
}

fn of_alpha(alpha: f32) -> Normalizer {
    match alpha {
        1.0 => Normalizer::Softmax,
        2.0 => Normalizer::Sparsemax,
        alpha => Normalizer::Entmax(alpha),
    }
}

fn alpha(value: &mut f64, before: f64) -> OptionField<'_> {
    let range = 1.0..=2.0_f64.max(before);
    real("alpha", "α of the normaliser", "1 is softmax, 2 is sparsemax", value, range).placeholder("α")
}

fn lambda(value: &mut f64, before: f64) -> OptionField<'_> {
    let meaning = "0 is sparsemax; the larger λ, the more neighbours share a weight";
    real("lambda", "λ of the normaliser", meaning, value, 0.0..=MOST_LAMBDA.max(before)).placeholder("λ")
}

fn w(value: &mut f64, before: f64) -> OptionField<'_> {
    let meaning = "What two neighbours that are both chosen add to their scores; below 0 they repel each other";
    let most = MOST_W.max(before.abs());
    real("w", "w of the normaliser", meaning, value, -most..=most).placeholder("w")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::{
        ids::{HeadId, StackKind},
        spec::{LayerSpec, Modality, ModelSpec, StackSpec, TextSpec},
    };

    #[test]
    fn a_normaliser_is_read_by_the_name_that_it_is_written_with() {
        let families = FAMILIES.iter().map(|family| family.first);
        let dragged =
            [Normalizer::Entmax(1.25), Normalizer::ChainSimplex(-0.5), Normalizer::Sample { seed: 7, draw: 3 }];
        for normalizer in [Normalizer::Softmax, Normalizer::Sparsemax].into_iter().chain(families).chain(dragged) {
            assert_eq!(Normalizer::from_name(&normalizer.to_string()), Some(normalizer));
        }
        for wrong in ["entmax", "entmax:0.5", "fusedmax:-1", "chain-simplex:nan", "sample:7", "sample:-1:0", "argmax:1"]
        {
            assert_eq!(Normalizer::from_name(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn another_normaliser_is_refused_where_sinks_are_part_of_the_softmax() {
        let plain = LayerSpec::new(2, 4);
        let layers = vec![plain, LayerSpec { sink: true, ..plain }];
        let spec = ModelSpec {
            name: "sinks".to_owned(),
            family: ModelSpec::UNKNOWN_FAMILY.to_owned(),
            modality: Modality::Text(TextSpec::new(8, 8)),
            stacks: vec![StackSpec { kind: StackKind::SelfAttention, layers, causal: true }],
            d_model: 8,
            n_params: 1,
            checkpoint: None,
            head: None,
        };
        let there = EditContext { spec: &spec, tokens: &BTreeMap::new() };
        let of = |scope| there.check(&[Normalize { scope, with: Normalizer::Sparsemax }.into()]);
        assert!(of(Scope::Layers([0].into())).is_ok());
        for scope in [Scope::All, Scope::Layers([1].into()), Scope::Heads([HeadId::single(1, 0)].into())] {
            let error = of(scope).unwrap_err();
            assert!(error.contains("layer 1 has learned sinks"), "{error}");
        }
    }
}
