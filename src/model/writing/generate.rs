//! Writes a text token by token, with the keys and values of earlier tokens kept.
//!
//! Of the passes on the way the most probable tokens are recorded alone: the finished text is run once more as a whole,
//! so that every map is one rectangle and has the numbers of an ordinary forward pass.

use std::{
    borrow::Cow,
    sync::atomic::{AtomicUsize, Ordering},
};

use super::{Decoding, sampling::Sampler};
use crate::{
    capture::{Edit, Generated, PredictionItem, changes::Intervention},
    ids::Side,
    model::{
        ModelError,
        input::{Encoded, Payload, Reader},
        network::{Network, head::Head, pass::Cache},
        run::{Control, Generation, Progress, Run, RunPlan, Sites, Stage, Taps},
    },
    spec::{HeadKind, Modality, TextSpec},
};

/// Most probable tokens that are kept of a step.
const N_CANDIDATES: usize = 8;

/// The input with what the model writes, if it is to write. Edits do not take part: they show what would
/// change about a given text.
pub(crate) fn complete<'a>(
    network: &Network,
    reader: &Reader,
    rules: &Decoding,
    input: &'a Encoded,
    plan: &RunPlan,
    control: &Control<'_>,
) -> Result<(Cow<'a, Encoded>, Option<Generated>), ModelError> {
    let (side, spec, prompt) = match (&network.modality, &input.source) {
        (modality, source) if input.target.is_none() && modality.target().is_some() => {
            let Some(start) = rules.start else {
                return Err(input_error(
                    "the model's files do not say which token the decoder's text starts with",
                    "Give a target text",
                ));
            };
            let spec = modality.target().copied().unwrap_or(TextSpec::new(0, 0));
            if let (Some(_), Payload::Text { ids, .. }) = (classes(network), source) {
                // A classifier reads its input twice: the decoder one token later.
                let mut shifted = rules.classified(ids, start);
                shifted.truncate(spec.limits().most);
                return Ok((Cow::Owned(with_ids(input, reader, Side::Decoder, shifted)), None));
            }
            (Side::Decoder, spec, vec![start])
        }
        (Modality::Text(spec), Payload::Text { ids, .. }) if plan.generate.is_some() => {
            (Side::Only, *spec, ids.clone())
        }
        _ => return Ok((Cow::Borrowed(input), None)),
    };
    // What is changed of a run is not changed of what was written before it; which tokens see all is how it is read.
    let chosen: Vec<Edit> = plan
        .edits
        .iter()
        .filter(|edit| matches!(edit.kind().intervention(), Intervention::SeeAll(_)))
        .cloned()
        .collect();
    let is_followed = chosen.len() == plan.edits.len();
    let most = spec.limits().most;
    let writer = Writer { network, rules, plan: plan.generate.clone().unwrap_or_default(), chosen, most, control };
    let Continuation { ids, probabilities, candidates, ended, end } =
        writer.write(&prompt, (side == Side::Decoder).then_some(&input.source))?;
    let first = prompt.len();
    let n_given = writer.plan.begun.len().min(ids.len());
    let item = |(id, value)| PredictionItem { id, label: reader.label(id), value };
    let candidates = candidates.into_iter().map(|step| step.into_iter().map(item).collect()).collect();
    let end = end.map(item);
    let mut input = with_ids(input, reader, side, [prompt, ids].concat());
    if !ended {
        input.notes.push(format!("Stopped at {} new tokens", probabilities.len()));
    }
    if !is_followed {
        input.notes.push("The text was written without the changes; what is shown is read with them".to_owned());
    }
    Ok((Cow::Owned(input), Some(Generated { side, first, probabilities, candidates, end, n_given })))
}

/// The input whose decoder, or whose only tower, reads `ids`.
fn with_ids(input: &Encoded, reader: &Reader, side: Side, ids: Vec<u32>) -> Encoded {
    let mut input = input.clone();
    let tokens = input.tokens.entry(side).or_default();
    // The prompt's own tokens know more (spans) than their ids tell.
    let known = tokens.len();
    tokens.extend(reader.decoder_tokens(&ids).into_iter().skip(known));
    let payload = Payload::ids(ids);
    if side == Side::Decoder {
        input.target = Some(payload);
    } else {
        input.source = payload;
    }
    input
}

/// The classes that the head tells apart, if it is no head over the vocabulary.
fn classes(network: &Network) -> Option<&Vec<String>> {
    network.head.as_ref()?.labels.as_ref()
}

/// What was written after a prompt.
#[derive(Default)]
struct Continuation {
    /// Without the token that ended it.
    ids: Vec<u32>,
    /// What the model gave each of them.
    probabilities: Vec<f32>,
    /// The most probable ids with their probabilities, of each step.
    candidates: Vec<Vec<(u32, f32)>>,
    /// Whether the model ended the text itself.
    ended: bool,
    /// The id that ended it, with its probability; `None` where the rules left no token.
    end: Option<(u32, f32)>,
}

/// The probabilities of some logits, of which none is NaN or above all numbers.
struct Probabilities<'a> {
    logits: &'a [f32],
    largest: f32,
    sum: f64,
}

impl<'a> Probabilities<'a> {
    fn of(logits: &'a [f32]) -> Result<Self, ModelError> {
        let largest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        if logits.iter().any(|logit| logit.is_nan()) || largest == f32::INFINITY {
            return Err(ModelError::NotFinite { what: "logits".to_owned() });
        }
        let sum = logits.iter().map(|logit| f64::from(logit - largest).exp()).sum();
        Ok(Self { logits, largest, sum })
    }

    /// Whether the rules leave no token.
    fn is_none(&self) -> bool {
        !self.largest.is_finite()
    }

    /// That of a token; `None` outside the vocabulary.
    fn at(&self, id: u32) -> Option<f32> {
        let logit = self.logits.get(id as usize)?;
        Some(if self.is_none() { 0.0 } else { (f64::from(logit - self.largest).exp() / self.sum) as f32 })
    }

    /// The most probable ids, from the most probable one on; of equal ones the first.
    fn top(&self) -> Vec<(u32, f32)> {
        let mut ids: Vec<u32> = (0..self.logits.len() as u32).collect();
        let logit = |id: &u32| self.logits[*id as usize];
        let order = |a: &u32, b: &u32| logit(b).total_cmp(&logit(a)).then(a.cmp(b));
        if ids.len() > N_CANDIDATES {
            ids.select_nth_unstable_by(N_CANDIDATES, order);
            ids.truncate(N_CANDIDATES);
        }
        ids.sort_unstable_by(order);
        let probable = ids.into_iter().map(|id| (id, self.at(id).unwrap_or(0.0)));
        probable.filter(|(_, probability)| *probability > 0.0).collect()
    }
}

/// Everything about the writing of one text but the text.
struct Writer<'a> {
    network: &'a Network,
    rules: &'a Decoding,
    plan: Generation,
    /// Which tokens see all, where somebody says so.
    chosen: Vec<Edit>,
    /// Tokens that are read at most.
    most: usize,
    control: &'a Control<'a>,
}

impl Writer<'_> {
    /// Continues `prompt`, attending to `source` where there is an encoder, until a token that ends the
    /// text or a limit.
    fn write(&self, prompt: &[u32], source: Option<&Payload>) -> Result<Continuation, ModelError> {
        let head = self.head()?;
        if !self.network.writes_forward() {
            return Err(input_error(
                "this model looks at what follows a token too, so it cannot write one token after another",
                "Give it the whole text",
            ));
        }
        let limit = self.plan.max_new_tokens.min(self.most.saturating_sub(prompt.len()));
        let rules = self.rules;
        let silent = RunPlan { sites: Sites::NONE, edits: self.chosen.clone(), ..RunPlan::default() };
        let done = AtomicUsize::new(0);
        // Layers ask whether to go on; the progress that is shown is that of the tokens.
        let control = |_: Progress| {
            (self.control)(Progress { stage: Stage::Generate, done: done.load(Ordering::Relaxed), total: limit })
        };
        let new_run = || Run::new(&silent, &[], Taps::NONE, &control);
        let memory = source.map(|source| self.network.encode(source, &mut new_run())).transpose()?;
        let mut sampler = Sampler::new(self.plan.choice);
        let mut cache = Cache::default();
        let mut read = prompt.to_vec();
        let mut written = Continuation::default();
        while written.ids.len() < limit {
            done.store(written.ids.len(), Ordering::Relaxed);
            let next = read[cache.n..].to_vec();
            let n = next.len();
            let stream = self.network.decode(&Payload::ids(next), memory.as_ref(), Some(&mut cache), &mut new_run())?;
            cache.n += n;
            let mut logits = head.logits(&stream, n - 1..n, n - 1)?.flatten_all()?.to_vec1::<f32>()?;
            rules.restrict(&mut logits, &read, prompt.len(), written.ids.len() + 1 == limit);
            let probabilities = Probabilities::of(&logits)?;
            let id = match self.plan.begun.get(written.ids.len()) {
                Some(given) => *given,
                None if probabilities.is_none() => {
                    written.ended = true;
                    break;
                }
                None => sampler.next(&logits)?,
            };
            let Some(probability) = probabilities.at(id) else {
                let summary = format!("the text is to go on with token {id}, which the vocabulary does not have");
                return Err(input_error(&summary, "Let the model write the text anew"));
            };
            written.candidates.push(probabilities.top());
            if rules.end.contains(&id) {
                (written.ended, written.end) = (true, Some((id, probability)));
                break;
            }
            written.probabilities.push(probability);
            written.ids.push(id);
            read.push(id);
            if self.network.turns_change_at() == Some(cache.n + 1) {
                // Keys so far were turned as in a short text, so the long text starts afresh.
                cache = Cache::default();
            }
        }
        Ok(written)
    }

    fn head(&self) -> Result<&Head, ModelError> {
        self.network.head.as_ref().filter(|head| head.kind == HeadKind::NextToken).ok_or_else(|| {
            let is_pair = self.network.modality.target().is_some();
            let advice = if is_pair { "Give a target text, or open" } else { "Open" };
            input_error(
                "this checkpoint has no head that predicts the next token, so it cannot write",
                &format!("{advice} a checkpoint with a language-model head"),
            )
        })
    }
}

fn input_error(summary: &str, details: &str) -> ModelError {
    ModelError::Input { summary: summary.to_owned(), details: details.to_owned() }
}
