//! Attention over states that were trained to be told apart (Mohankumar et al. 2020): whether it then goes with gradients,
//! and whether the output depends on it.

use crate::analysis::{
    bootstrap::Estimate,
    debate::twins::has_settled,
    explain::report::{LabQuestion, MethodSpec},
};

/// What the command line says of it.
pub const DIVERSE_STATES: MethodSpec = MethodSpec {
    name: "diverse-states",
    title: "Attention over states that are told apart",
    question: LabQuestion::Believe,
    about: "Trains twins of a recurrent classifier whose states point different ways, and measures whether attention then \
            goes with gradients and whether the output depends on it",
    example: "--model demo:bilstm --corpus demo:reviews --out diverse.svg",
    caveat: "Weights that move the output are no proof that their words are its reason: states have still read the whole \
             text. Twins learn what this model says of few texts, not the task anew.",
    formula: "mean over texts of TVD(ŷ, ŷ_base) + λ · conicity(h), conicity = mean over t of cos(h_t, mean of h)",
    source: "Mohankumar et al. 2020; Sharma et al. 2018; Jain and Wallace 2019; Efron 1979",
    values: &[],
    ..MethodSpec::EMPTY
};

/// The published result, to stand beside ours.
pub const PUBLISHED: &str = "Mohankumar et al.: the states of an LSTM all point much the same way, so that other weights \
                             give the same output; a penalty on their conicity makes attention go with gradients and the \
                             output depend on it, at about the same accuracy";

/// What is trained.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DiverseTwin {
    /// The model as it is.
    Model,
    /// A twin that is only to say the same, from this seed.
    Seed(u64),
    /// One whose states are kept apart, with the weight of their conicity in the loss.
    Diverse(f64),
}

/// One held-out text, as a twin reads it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DiverseText {
    /// Its place among the texts.
    pub text: usize,
    /// Mean cosine of a state and the mean of all.
    pub conicity: f64,
    /// Kendall's τ-b of the weights with |gradient × input|; none where a side is constant.
    pub tau: Option<f64>,
    /// Median total variation distance of the output under other orders of the weights.
    pub permuted: f64,
    /// Distance of the output from the model's.
    pub tvd: f64,
    /// Whether it decides as the model does.
    pub agrees: bool,
    /// Whether it says the class that the text is said to have.
    pub right: Option<bool>,
}

/// A twin over the held-out texts.
#[derive(Clone, Debug, PartialEq)]
pub struct DiverseRow {
    pub twin: DiverseTwin,
    pub conicity: Estimate,
    pub tau: Option<Estimate>,
    pub permuted: Estimate,
    pub tvd: Estimate,
    /// Share of texts of which it decides as the model.
    pub agrees: f64,
    pub accuracy: Option<Estimate>,
    /// Mean loss of each epoch, where it was trained.
    pub losses: Vec<f32>,
    pub texts: Vec<DiverseText>,
}

impl DiverseTwin {
    /// The weight of conicity in its loss; none of the model, which was not trained here.
    pub const fn lambda(self) -> Option<f64> {
        match self {
            Self::Model => None,
            Self::Seed(_) => Some(0.0),
            Self::Diverse(lambda) => Some(lambda),
        }
    }

    /// What it is called.
    pub fn title(self) -> String {
        match self {
            Self::Model => "the model itself".to_owned(),
            Self::Seed(seed) => format!("other seed ({seed})"),
            Self::Diverse(lambda) => format!("states kept apart, λ {lambda}"),
        }
    }
}

impl DiverseRow {
    /// Sums up over texts, which are drawn anew `samples` times for the intervals. `None` of no texts.
    pub fn of(
        twin: DiverseTwin,
        losses: Vec<f32>,
        texts: Vec<DiverseText>,
        (samples, seed): (usize, u64),
    ) -> Option<Self> {
        let mean = |of: &dyn Fn(&DiverseText) -> Option<f64>| {
            let values: Vec<f64> = texts.iter().filter_map(of).collect();
            Estimate::of_mean(&values, samples, seed)
        };
        let n_alike = texts.iter().filter(|text| text.agrees).count();
        Some(Self {
            twin,
            conicity: mean(&|text| Some(text.conicity))?,
            tau: mean(&|text| text.tau),
            permuted: mean(&|text| Some(text.permuted))?,
            tvd: mean(&|text| Some(text.tvd))?,
            agrees: n_alike as f64 / texts.len() as f64,
            accuracy: mean(&|text| text.right.map(|right| f64::from(u8::from(right)))),
            losses,
            texts,
        })
    }

    /// Whether its loss no longer fell at the end; `None` of the model.
    pub fn has_settled(&self) -> Option<bool> {
        (!self.losses.is_empty()).then(|| has_settled(&self.losses))
    }
}
