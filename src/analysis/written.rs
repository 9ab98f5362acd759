//! Steps of a text that a decoder wrote or was made to write: each token with the others that could have stood there.

use crate::{
    capture::{Beams, Capture, Generated, PredictionItem, Token, words},
    ids::Side,
    spec::HeadKind,
};

/// How a token came into the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The model chose it.
    Chosen,
    /// It was given.
    Given,
    /// The model ended the text with it: it is no part of the text.
    End,
}

vocabulary! {
    Origin: name;
    Chosen("chosen"),
    Given("given"),
    End("end"),
}

/// One step.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// The query that writes the token: the position before it.
    pub query: usize,
    pub text: String,
    pub id: Option<u32>,
    /// `None` where it was not recorded.
    pub probability: Option<f32>,
    /// The most probable other tokens, from the most probable one on.
    pub rivals: Vec<PredictionItem>,
    pub origin: Origin,
}

/// All steps of a text.
#[derive(Clone, Debug, PartialEq)]
pub struct WrittenText {
    /// The sequence that it is, or the end of.
    pub side: Side,
    pub steps: Vec<Step>,
    /// Whether the model would have written on.
    pub is_cut: bool,
    /// The texts that it is the best of, behind the tokens that were given.
    pub beams: Option<Beams>,
    /// Texts that were drawn by chance behind the tokens that were given, where there are several: this one first.
    pub samples: Vec<Vec<PredictionItem>>,
}

impl WrittenText {
    /// The text that a run wrote, or was made to write; `None` where there is none, or nothing is known of its steps.
    pub fn of(capture: &Capture) -> Option<Self> {
        let text = match capture.generated() {
            Some(generated) => Self::written(capture, generated),
            None => Self::given(capture)?,
        };
        (!text.steps.is_empty()).then_some(text)
    }

    fn written(capture: &Capture, generated: &Generated) -> Self {
        let Generated { side, first, probabilities, candidates, end, n_given, beams, samples } = generated;
        let tokens = capture.tokens(*side);
        let step = |nth: usize, probability: f32| {
            let position = first + nth;
            Step {
                query: position.saturating_sub(1),
                text: words::token_text(tokens, position),
                id: tokens.get(position).and_then(|token| token.id),
                probability: Some(probability),
                rivals: candidates.get(nth).cloned().unwrap_or_default(),
                origin: if nth < *n_given { Origin::Given } else { Origin::Chosen },
            }
        };
        let mut steps: Vec<Step> = probabilities.iter().enumerate().map(|(nth, p)| step(nth, *p)).collect();
        steps.extend(end.as_ref().map(|end| Step {
            query: (first + probabilities.len()).saturating_sub(1),
            text: end.label.clone(),
            id: Some(end.id),
            probability: Some(end.value),
            rivals: candidates.last().cloned().unwrap_or_default(),
            origin: Origin::End,
        }));
        for step in &mut steps {
            step.rivals.retain(|rival| Some(rival.id) != step.id);
        }
        let is_cut = end.is_none() && !candidates.is_empty();
        Self { side: *side, is_cut, steps, beams: beams.clone(), samples: samples.clone() }
    }

    /// A target: what the model would have written after each of its tokens.
    fn given(capture: &Capture) -> Option<Self> {
        capture.model().modality.target()?;
        let prediction = capture.prediction().filter(|prediction| prediction.kind == HeadKind::NextToken)?;
        let tokens = capture.tokens(Side::Decoder);
        let step = |(position, token): (usize, &Token)| {
            let query = position - 1;
            let row = prediction.rows.iter().find(|row| row.position == Some(query))?;
            let (own, rivals) = row.top.iter().cloned().partition::<Vec<_>, _>(|item| Some(item.id) == token.id);
            Some(Step {
                query,
                text: words::token_text(tokens, position),
                id: token.id,
                probability: own.first().map(|item| item.value).or_else(|| probability(capture, query, token.id?)),
                rivals,
                origin: Origin::Given,
            })
        };
        let steps = tokens.iter().enumerate().skip(1).filter_map(step).collect();
        Some(Self { side: Side::Decoder, steps, is_cut: false, beams: None, samples: Vec::new() })
    }

    /// The step that a query writes.
    pub fn step_of(&self, query: usize) -> Option<usize> {
        self.steps.iter().position(|step| step.query == query)
    }

    /// How many tokens were given.
    pub fn n_given(&self) -> usize {
        self.steps.iter().filter(|step| step.origin == Origin::Given).count()
    }

    /// Whether the text was to begin in another way than the model chose.
    pub fn is_branch(&self) -> bool {
        let n_given = self.n_given();
        n_given > 0 && n_given < self.steps.len()
    }

    /// The ids of a text that a beam search kept, up to a token; `None` where one is not known.
    pub fn with_kept(&self, node: usize) -> Option<Vec<u32>> {
        let kept = self.beams.as_ref()?.path(node).into_iter().map(|token| Some(token.id));
        self.steps.iter().take(self.n_given()).map(|step| step.id).chain(kept).collect()
    }

    /// The ids of a text that was drawn by chance, up to a token of it; `None` where one is not known.
    pub fn with_sample(&self, nth: usize, last: usize) -> Option<Vec<u32>> {
        let drawn = self.samples.get(nth)?.get(..=last)?.iter().map(|token| Some(token.id));
        self.steps.iter().take(self.n_given()).map(|step| step.id).chain(drawn).collect()
    }

    /// The token from which on a text that was drawn by chance is another than the first; `None` where it is the same.
    pub fn parts_at(&self, nth: usize) -> Option<usize> {
        let (first, other) = (self.samples.first()?, self.samples.get(nth)?);
        let n_common = first.iter().zip(other).take_while(|(first, other)| first.id == other.id).count();
        (n_common < other.len()).then_some(n_common)
    }

    /// The logarithm of the probability that the model gives a text that was drawn by chance.
    pub fn log_probability(&self, nth: usize) -> f32 {
        let tokens = self.samples.get(nth).into_iter().flatten();
        tokens.map(|token| f64::from(token.value).ln()).sum::<f64>() as f32
    }

    /// The ids up to a step, with another token in its place; `None` where one is not known.
    pub fn with_rival(&self, nth: usize, rival: u32) -> Option<Vec<u32>> {
        self.steps.get(..nth)?.iter().map(|step| step.id).chain([Some(rival)]).collect()
    }
}

/// The probability of a token after a position, from the logits.
fn probability(capture: &Capture, position: usize, id: u32) -> Option<f32> {
    let logits = capture.logits()?;
    // Of a long text those of the last positions are kept.
    let n_before = capture.tokens(Side::Decoder).len().checked_sub(logits.n_rows())?;
    let row = logits.row(position.checked_sub(n_before)?)?;
    let largest = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let sum: f64 = row.iter().map(|logit| f64::from(logit - largest).exp()).sum();
    Some((f64::from(row.get(id as usize)? - largest).exp() / sum) as f32)
}
