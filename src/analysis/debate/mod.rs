//! Whether attention explains, over a data set: what is measured of every input, and what that comes to (Jain and Wallace
//! 2019; Serrano and Smith 2019).

pub mod diversity;
pub mod identifiability;
mod labels;
mod over_corpus;
mod summary;
pub mod twins;

use serde::{Deserialize, Serialize};

pub use labels::{InputLabels, Labelled, labelled_summary};
pub use over_corpus::{CorpusDebate, CorpusQuestion};
pub use summary::{
    AGREEMENT_BINS, AdversarySummary, AgreementSummary, BoxOf, ByLargest, DebateSummary, ErasureSummary, FAR_BINS,
    Histogram, InputPoint, SummaryOptions, largest_bin, summary,
};

use crate::analysis::explain::report::{LabQuestion, MethodSpec};

pub const METHOD: MethodSpec = MethodSpec {
    name: "debate",
    title: "Does attention explain, over a data set",
    question: LabQuestion::Believe,
    about: "The published tests of attention as explanation over many inputs: correlation, permutation, adversary, erasure",
    example: "--model demo:bilstm --corpus demo:reviews --out debate.svg",
    caveat: "Attention that disagrees with gradients, or can be replaced, is not the only explanation; it is not shown to \
             be a wrong one.",
    formula: "τ_b of attention with gradient × input and with leave-one-out; median over permutations of |Δŷ|; \
              largest JSD(α̃, α) with |Δŷ| ≤ ε; share of weights erased until the decision flips",
    source: "Jain and Wallace 2019; Serrano and Smith 2019; Efron 1979",
    values: &[],
    ..MethodSpec::EMPTY
};

/// Fewer words have no order worth a correlation.
pub const LEAST_TOKENS: usize = 3;

/// One of the published tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DebateTest {
    /// Kendall's τ-b with gradients and with leave-one-out.
    Correlation,
    /// Shuffled weights.
    Permutation,
    /// Other weights with the same output.
    Adversary,
    /// Weights set to 0 until the decision flips.
    Erasure,
}

vocabulary! {
    DebateTest: name,
    /// A statement of the published result, to stand beside ours.
    published,
    /// Scope of the test, and its limit.
    shows;
    Correlation("correlation",
        "Jain and Wallace: attention of LSTMs over text goes only loosely with gradients and with leaving words out",
        "τ compares the order of the words by weight with their order by another measure of importance. A low τ shows that \
         the two measures disagree, not which of them is right: gradients and leaving out have faults of their own."),
    Permutation("permutation",
        "Jain and Wallace: outputs often stay near when weights change places, even where one weight is large",
        "A small change shows that the output hardly depends on the places of the weights, as where all states know the whole \
         text. It does not show that the weights were learnt for nothing."),
    Adversary("adversary",
        "Jain and Wallace: quite other attention with the same output exists for most inputs",
        "A large distance shows that other weights lead to the same output. The search finds a lower bound; the other weights \
         are of one input alone, and no model that was trained attends so (Wiegreffe and Pinter 2019)."),
    Erasure("erasure",
        "Serrano and Smith: erasing by the gradient flips decisions with fewer weights than erasing by attention",
        "An order that flips decisions early has the weights that matter first. Weights are of states, not of words, which \
         states around them have read as well."),
}

impl DebateTest {
    /// On screen.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Correlation => "Correlation",
            Self::Permutation => "Shuffled weights",
            Self::Adversary => "Other weights",
            Self::Erasure => "Erasure",
        }
    }
}

/// What is measured, and how.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DebateOptions {
    /// The tests, each once.
    pub tests: Vec<DebateTest>,
    /// Layer of the row that is read; the last where there is none.
    pub layer: Option<usize>,
    /// Head; all of the layer together where there is none.
    pub head: Option<usize>,
    pub n_permutations: usize,
    /// Steps of the search for other weights; what suits the model where there is none.
    pub n_steps: Option<usize>,
    /// Beginning of all random numbers; those of an input follow from its place.
    pub seed: u64,
}

impl Default for DebateOptions {
    fn default() -> Self {
        Self { tests: DebateTest::ALL.to_vec(), layer: None, head: None, n_permutations: 100, n_steps: None, seed: 0 }
    }
}

/// What was measured of one input. Numbers are single, so that files hold them exactly.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Instance {
    /// Its place in the corpus, from 0.
    pub input: usize,
    /// Name of the predicted class, and its probability.
    pub class: String,
    pub probability: f32,
    /// Number of tokens that are compared: those that are no special ones.
    pub n_tokens: usize,
    /// The largest weight of these.
    pub largest: f32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation: Option<Correlations>,
    /// Median change of the output when weights change places.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permutation: Option<f32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adversary: Option<Candidates>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub erasure: Option<Erased>,
}

/// Kendall's τ-b with its p-value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RankAgreement {
    pub tau: f32,
    pub p: f32,
}

/// Agreements of one input; `None` where a side is constant.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Correlations {
    pub gradient: Option<RankAgreement>,
    pub leave_one_out: Option<RankAgreement>,
    /// Of gradient and leave-one-out with each other.
    pub both: Option<RankAgreement>,
    /// τ of weights drawn at random, with the gradient and with leave-one-out.
    pub by_chance: [Option<f32>; 2],
}

/// What the search for other weights ended with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Candidates {
    /// Of each candidate its distance from the attention, in nats, and the change of the output.
    pub found: Vec<[f32; 2]>,
    /// The largest distance that any weights have from these.
    pub reachable: f32,
    /// Distance of two sets of weights drawn at random.
    pub by_chance: f32,
    pub n_steps: usize,
}

impl Candidates {
    /// The largest distance of a candidate that changes the output by at most `epsilon`; 0, of the attention itself,
    /// where none does.
    pub fn farthest(&self, epsilon: f64) -> f64 {
        let kept = self.found.iter().filter(|[_, change]| f64::from(*change) <= epsilon);
        kept.map(|[distance, _]| f64::from(*distance)).fold(0.0, f64::max)
    }
}

/// Shares of the weights that are erased until the decision flips; `None` where it never does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Erased {
    pub attention: Option<f32>,
    pub gradient: Option<f32>,
    /// By the product of weight and gradient.
    pub product: Option<f32>,
    /// Of each random order.
    pub random: Vec<Option<f32>>,
}

impl Erased {
    /// The mean over the random orders that flip the decision.
    pub fn random_mean(&self) -> Option<f64> {
        let flips: Vec<f64> = self.random.iter().flatten().map(|share| f64::from(*share)).collect();
        (!flips.is_empty()).then(|| flips.iter().sum::<f64>() / flips.len() as f64)
    }
}
