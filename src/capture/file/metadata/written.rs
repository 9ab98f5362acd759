//! `generated` and `prediction`: what the model wrote and said.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::FileError;
use crate::{
    capture::{Beams, Generated, Prediction, PredictionItem, PredictionRow, Token},
    ids::Side,
    outputs::OutputKind,
    spec::HeadKind,
};

/// More outcomes of one position than anybody shows.
const MAX_OUTCOMES: usize = 100;
const TOO_MANY: &str = "it lists more outcomes than anybody shows";

/// `generated`: the tokens from `first` on that the model wrote itself, with their probabilities.
#[derive(Serialize, Deserialize)]
pub(in crate::capture::file) struct GeneratedEntry {
    side: String,
    first: usize,
    probabilities: Vec<f32>,
    /// The most probable tokens of each step.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    candidates: Vec<Vec<OutcomeEntry>>,
    /// The token that ended the text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    end: Option<OutcomeEntry>,
    /// How many of the first tokens were given.
    #[serde(default, skip_serializing_if = "is_zero")]
    given: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    beams: Option<BeamsEntry>,
    /// Texts that were drawn by chance, the one that was taken first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    samples: Vec<Vec<OutcomeEntry>>,
}

/// What a beam search kept: tokens with the place of the one before each, texts as the place of their last token.
#[derive(Serialize, Deserialize)]
struct BeamsEntry {
    nodes: Vec<(Option<usize>, OutcomeEntry)>,
    hypotheses: Vec<(usize, f32)>,
}

impl BeamsEntry {
    /// The texts, when every token stands behind the one before it.
    fn beams(self) -> Result<Beams, &'static str> {
        let Self { nodes, hypotheses } = self;
        let has_order = nodes.iter().enumerate().all(|(nth, (parent, _))| parent.is_none_or(|parent| parent < nth));
        if !has_order || hypotheses.iter().any(|(node, score)| *node >= nodes.len() || !score.is_finite()) {
            return Err("its beams are no tree");
        }
        let node = |(parent, token): (Option<usize>, OutcomeEntry)| (parent, token.item(OutputKind::Tokens));
        Ok(Beams { nodes: nodes.into_iter().map(node).collect(), hypotheses })
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants it so")]
const fn is_zero(n: &usize) -> bool {
    *n == 0
}

impl From<&Generated> for GeneratedEntry {
    fn from(Generated { side, first, probabilities, candidates, end, n_given, beams, samples }: &Generated) -> Self {
        let entry = |item: &PredictionItem| OutcomeEntry::of(item, OutputKind::Tokens);
        Self {
            side: side.name().to_owned(),
            first: *first,
            probabilities: probabilities.clone(),
            candidates: candidates.iter().map(|step| step.iter().map(entry).collect()).collect(),
            end: end.as_ref().map(entry),
            given: *n_given,
            beams: beams.as_ref().map(|Beams { nodes, hypotheses }| BeamsEntry {
                nodes: nodes.iter().map(|(parent, token)| (*parent, entry(token))).collect(),
                hypotheses: hypotheses.clone(),
            }),
            samples: samples.iter().map(|text| text.iter().map(entry).collect()).collect(),
        }
    }
}

impl GeneratedEntry {
    /// The text, when its tokens are the last of those of its side.
    pub(in crate::capture::file) fn generated(
        self,
        tokens: &BTreeMap<Side, Vec<Token>>,
    ) -> Result<Generated, FileError> {
        let Self { side: name, first, probabilities, candidates, end, given, beams, samples } = self;
        let problem = |problem: String| FileError::Metadata { entry: "generated", problem };
        let side = Side::ALL.into_iter().find(|side| side.name() == name);
        let Some((side, known)) = side.and_then(|side| Some((side, tokens.get(&side)?))) else {
            return Err(problem("there are no tokens of its side".to_owned()));
        };
        if first.checked_add(probabilities.len()) != Some(known.len()) {
            let n = probabilities.len();
            return Err(problem(format!("{n} tokens from {first} on do not end where the {} tokens do", known.len())));
        }
        let kept = || beams.iter().flat_map(|beams| &beams.nodes).map(|(_, token)| token);
        let outcomes = || candidates.iter().flatten().chain(&end).chain(samples.iter().flatten()).chain(kept());
        let known = outcomes().map(|outcome| outcome.probability.unwrap_or(f32::NAN));
        if !probabilities.iter().copied().chain(known).all(|probability| (0.0..=1.0).contains(&probability)) {
            return Err(problem("a probability is not between 0 and 1".to_owned()));
        }
        if candidates.iter().any(|step| step.len() > MAX_OUTCOMES) {
            return Err(problem(TOO_MANY.to_owned()));
        }
        let n = probabilities.len();
        if given > n || !candidates.is_empty() && candidates.len() != n + usize::from(end.is_some()) {
            let steps = candidates.len();
            return Err(problem(format!("{n} tokens do not come of {steps} steps, {given} of them given")));
        }
        let item = |outcome: OutcomeEntry| outcome.item(OutputKind::Tokens);
        let candidates = candidates.into_iter().map(|step| step.into_iter().map(item).collect()).collect();
        let beams = beams.map(BeamsEntry::beams).transpose().map_err(|why| problem(why.to_owned()))?;
        let samples = samples.into_iter().map(|text| text.into_iter().map(item).collect()).collect();
        Ok(Generated { side, first, probabilities, candidates, end: end.map(item), n_given: given, beams, samples })
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

impl OutcomeEntry {
    fn of(item: &PredictionItem, outputs: OutputKind) -> Self {
        let PredictionItem { id, label, value } = item.clone();
        let (probability, score) = if outputs.has_probabilities() { (Some(value), None) } else { (None, Some(value)) };
        Self { id, label, probability, score }
    }

    const fn value(&self, outputs: OutputKind) -> Option<f32> {
        if outputs.has_probabilities() { self.probability } else { self.score }
    }

    fn item(self, outputs: OutputKind) -> PredictionItem {
        let value = self.value(outputs).unwrap_or(f32::NAN);
        PredictionItem { id: self.id, label: self.label, value }
    }
}

impl From<&Prediction> for PredictionEntry {
    fn from(prediction: &Prediction) -> Self {
        let outcome = |item: &PredictionItem| OutcomeEntry::of(item, prediction.outputs);
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
        let outcomes = || self.rows.iter().flat_map(|row| &row.top);
        if outcomes().any(|outcome| outcome.value(outputs).is_none()) {
            return Err(problem("an outcome has no probability, or no score where it is one"));
        }
        if !outcomes().filter_map(|outcome| outcome.probability).all(|p| (0.0..=1.0).contains(&p)) {
            return Err(problem("a probability is not between 0 and 1"));
        }
        if self.rows.iter().any(|row| row.top.len() > MAX_OUTCOMES) {
            return Err(problem(TOO_MANY));
        }
        let outcome = |outcome: OutcomeEntry| outcome.item(outputs);
        let rows = self
            .rows
            .into_iter()
            .map(|RowEntry { position, top }| PredictionRow { position, top: top.into_iter().map(outcome).collect() });
        Ok(Prediction { kind: self.kind, outputs, rows: rows.collect() })
    }
}
