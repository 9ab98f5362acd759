//! `generated` and `prediction`: what the model wrote and said.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::FileError;
use crate::{
    capture::{Generated, Prediction, PredictionItem, PredictionRow, Token},
    ids::Side,
    outputs::OutputKind,
    spec::HeadKind,
};

/// More outcomes of one position than anybody shows.
const MAX_OUTCOMES: usize = 100;

/// `generated`: the tokens from `first` on that the model wrote itself, with their probabilities.
#[derive(Serialize, Deserialize)]
pub(in crate::capture::file) struct GeneratedEntry {
    side: String,
    first: usize,
    probabilities: Vec<f32>,
}

impl From<&Generated> for GeneratedEntry {
    fn from(Generated { side, first, probabilities }: &Generated) -> Self {
        Self { side: side.name().to_owned(), first: *first, probabilities: probabilities.clone() }
    }
}

impl GeneratedEntry {
    /// The text, when its tokens are the last of those of its side.
    pub(in crate::capture::file) fn generated(
        self,
        tokens: &BTreeMap<Side, Vec<Token>>,
    ) -> Result<Generated, FileError> {
        let Self { side: name, first, probabilities } = self;
        let problem = |problem: String| FileError::Metadata { entry: "generated", problem };
        let side = Side::ALL.into_iter().find(|side| side.name() == name);
        let Some((side, known)) = side.and_then(|side| Some((side, tokens.get(&side)?))) else {
            return Err(problem("there are no tokens of its side".to_owned()));
        };
        if first.checked_add(probabilities.len()) != Some(known.len()) {
            let n = probabilities.len();
            return Err(problem(format!("{n} tokens from {first} on do not end where the {} tokens do", known.len())));
        }
        if !probabilities.iter().all(|probability| (0.0..=1.0).contains(probability)) {
            return Err(problem("a probability is not between 0 and 1".to_owned()));
        }
        Ok(Generated { side, first, probabilities })
    }
}

/// `prediction`: the most probable outcomes, by position.
#[derive(Serialize, Deserialize)]
pub(in crate::capture::file) struct PredictionEntry {
    kind: HeadKind,
    /// Where it is not what heads of this kind have as a rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    outputs: Option<OutputKind>,
    rows: Vec<RowEntry>,
}

/// One position; `null` for a statement about the whole input.
#[derive(Serialize, Deserialize)]
struct RowEntry {
    position: Option<usize>,
    top: Vec<OutcomeEntry>,
}

#[derive(Serialize, Deserialize)]
struct OutcomeEntry {
    id: u32,
    label: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    probability: Option<f32>,
    /// In place of the probability.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    score: Option<f32>,
}

impl From<&Prediction> for PredictionEntry {
    fn from(prediction: &Prediction) -> Self {
        let outcome = |item: &PredictionItem| {
            let PredictionItem { id, label, value } = item.clone();
            let (probability, score) =
                if prediction.outputs.has_probabilities() { (Some(value), None) } else { (None, Some(value)) };
            OutcomeEntry { id, label, probability, score }
        };
        let row = |row: &PredictionRow| RowEntry { position: row.position, top: row.top.iter().map(outcome).collect() };
        let Prediction { kind, outputs, rows } = prediction;
        let outputs = Some(*outputs).filter(|outputs| *outputs != OutputKind::of(*kind));
        Self { kind: *kind, outputs, rows: rows.iter().map(row).collect() }
    }
}

impl PredictionEntry {
    /// What was predicted, when its positions are positions of a sequence.
    pub(in crate::capture::file) fn prediction(
        self,
        tokens: &BTreeMap<Side, Vec<Token>>,
    ) -> Result<Prediction, FileError> {
        let problem = |problem: &str| FileError::Metadata { entry: "prediction", problem: problem.to_owned() };
        let n = tokens.values().map(Vec::len).max().unwrap_or(0);
        if self.rows.iter().any(|row| row.position.is_some_and(|position| position >= n)) {
            return Err(problem("it is about a position that no sequence has"));
        }
        let outputs = self.outputs.unwrap_or(OutputKind::of(self.kind));
        let value = |outcome: &OutcomeEntry| {
            if outputs.has_probabilities() { outcome.probability } else { outcome.score }
        };
        let outcomes = || self.rows.iter().flat_map(|row| &row.top);
        if outcomes().any(|outcome| value(outcome).is_none()) {
            return Err(problem("an outcome has no probability, or no score where it is one"));
        }
        if !outcomes().filter_map(|outcome| outcome.probability).all(|p| (0.0..=1.0).contains(&p)) {
            return Err(problem("a probability is not between 0 and 1"));
        }
        if self.rows.iter().any(|row| row.top.len() > MAX_OUTCOMES) {
            return Err(problem("it lists more outcomes than anybody shows"));
        }
        let outcome = |outcome: OutcomeEntry| {
            let value = value(&outcome).unwrap_or(f32::NAN);
            PredictionItem { id: outcome.id, label: outcome.label, value }
        };
        let rows = self
            .rows
            .into_iter()
            .map(|RowEntry { position, top }| PredictionRow { position, top: top.into_iter().map(outcome).collect() });
        Ok(Prediction { kind: self.kind, outputs, rows: rows.collect() })
    }
}
