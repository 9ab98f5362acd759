//! Writes a text token by token, with the keys and values of earlier tokens kept.
//!
//! Of the passes on the way the most probable tokens are recorded alone: the finished text is run once more as a whole,
//! so that every map is one rectangle and has the numbers of an ordinary forward pass.

use std::{
    borrow::Cow,
    sync::atomic::{AtomicUsize, Ordering},
};

use super::{
    Decoding,
    beams::{BeamPlan, BeamSearch, BeamStep},
    probabilities::Probabilities,
    sampling::Sampler,
};
use crate::{
    capture::{Beams, Edit, Generated, PredictionItem, changes::Intervention},
    ids::Side,
    model::{
        ModelError,
        input::{Encoded, Payload, Reader},
        network::{Network, head::Head, pass::Cache},
        run::{Control, Generation, Progress, Run, RunPlan, Sites, Stage, Taps, TokenChoice},
    },
    spec::{HeadKind, Modality, TextSpec},
};

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
    let Continuation { ids, probabilities, candidates, ended, end, beams, samples } =
        writer.write(&prompt, (side == Side::Decoder).then_some(&input.source))?;
    let first = prompt.len();
    let n_given = writer.plan.begun.len().min(ids.len());
    let item = |(id, value)| PredictionItem { id, label: reader.label(id), value };
    let candidates = candidates.into_iter().map(|step| step.into_iter().map(item).collect()).collect();
    let end = end.map(item);
    let beams = beams.map(|found| Beams {
        nodes: found.steps.into_iter().map(|step| (step.parent, item((step.id, step.probability)))).collect(),
        hypotheses: found.ended.into_iter().map(|(node, score)| (node, score as f32)).collect(),
    });
    let samples = samples.into_iter().map(|text| text.into_iter().map(item).collect()).collect();
    let mut input = with_ids(input, reader, side, [prompt, ids].concat());
    if !ended {
        input.notes.push(format!("Stopped at {} new tokens", probabilities.len()));
    }
    if !is_followed {
        input.notes.push("The text was written without the changes; what is shown is read with them".to_owned());
    }
    Ok((Cow::Owned(input), Some(Generated { side, first, probabilities, candidates, end, n_given, beams, samples })))
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
#[derive(Clone, Default)]
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
    /// What a beam search kept, behind the tokens that were given.
    beams: Option<BeamSearch>,
    /// Texts that were drawn by chance behind the tokens that were given, where there are several.
    samples: Vec<Vec<(u32, f32)>>,
}

/// A text on its way.
#[derive(Clone)]
struct OnItsWay {
    /// What was read, of which the cache has the beginning.
    read: Vec<u32>,
    cache: Cache,
    written: Continuation,
}

impl OnItsWay {
    /// Whether a token may follow.
    const fn is_open(&self, limit: usize) -> bool {
        !self.written.ended && self.written.ids.len() < limit
    }
}

impl Continuation {
    /// Goes on with a token, or ends with it.
    fn push(&mut self, id: u32, probability: f32, candidates: Vec<(u32, f32)>, end: &[u32]) {
        self.candidates.push(candidates);
        if end.contains(&id) {
            (self.ended, self.end) = (true, Some((id, probability)));
        } else {
            self.probabilities.push(probability);
            self.ids.push(id);
        }
    }

    /// The tokens behind the first `n` with their probabilities, and the one that ended the text.
    fn behind(&self, n: usize) -> Vec<(u32, f32)> {
        let tokens = self.ids.iter().copied().zip(self.probabilities.iter().copied());
        tokens.skip(n).chain(self.end).collect()
    }

    /// Goes on with the best text of a search.
    fn take_best(&mut self, found: BeamSearch, end: &[u32]) {
        match found.ended.first() {
            Some((last, _)) => {
                for BeamStep { id, probability, candidates, .. } in found.path(*last) {
                    self.push(*id, *probability, candidates.clone(), end);
                }
            }
            // The rules left no token.
            None => self.ended = true,
        }
        self.beams = Some(found);
    }
}

/// Logarithms of the probabilities.
fn log_softmax(mut logits: Vec<f32>) -> Vec<f32> {
    let largest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let sum: f64 = logits.iter().map(|logit| f64::from(logit - largest).exp()).sum();
    let of_all = f64::from(largest) + sum.ln();
    for logit in &mut logits {
        *logit = (f64::from(*logit) - of_all) as f32;
    }
    logits
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
        let (done, done_before) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let n_texts = if matches!(self.plan.choice, TokenChoice::Sample { .. }) { self.plan.n_texts.max(1) } else { 1 };
        // Layers ask whether to go on; the progress that is shown is that of the tokens.
        let control = |_: Progress| {
            let done = done_before.load(Ordering::Relaxed) + done.load(Ordering::Relaxed);
            (self.control)(Progress { stage: Stage::Generate, done, total: limit * n_texts })
        };
        let new_run = || Run::new(&silent, &[], Taps::NONE, &control);
        let memory = source.map(|source| self.network.encode(source, &mut new_run())).transpose()?;
        // Logits after what was read, of which the cache has the beginning.
        let logits = |read: &[u32], cache: &mut Cache| -> Result<Vec<f32>, ModelError> {
            if self.network.turns_change_at() == Some(read.len()) {
                // Keys so far were turned as in a short text, so the long text starts afresh.
                *cache = Cache::default();
            }
            done.store(read.len() - prompt.len(), Ordering::Relaxed);
            let next = read[cache.n..].to_vec();
            let n = next.len();
            let stream = self.network.decode(&Payload::ids(next), memory.as_ref(), Some(cache), &mut new_run())?;
            cache.n += n;
            Ok(head.logits(&stream, n - 1..n, n - 1)?.flatten_all()?.to_vec1::<f32>()?)
        };
        let go_on = |text: &mut OnItsWay, given: Option<u32>, sampler: &mut Sampler| -> Result<(), ModelError> {
            let OnItsWay { read, cache, written } = text;
            let mut logits = logits(read, cache)?;
            rules.restrict(&mut logits, read, prompt.len(), written.ids.len() + 1 == limit);
            let probabilities = Probabilities::of(&logits)?;
            let id = match given {
                Some(given) => given,
                None if probabilities.is_none() => {
                    written.ended = true;
                    return Ok(());
                }
                None => sampler.next(&logits)?,
            };
            let Some(probability) = probabilities.at(id) else {
                let summary = format!("the text is to go on with token {id}, which the vocabulary does not have");
                return Err(input_error(&summary, "Let the model write the text anew"));
            };
            written.push(id, probability, probabilities.candidates(), &rules.end);
            if !written.ended {
                read.push(id);
            }
            Ok(())
        };
        let mut begun = OnItsWay { read: prompt.to_vec(), cache: Cache::default(), written: Continuation::default() };
        let mut sampler = Sampler::new(self.plan.choice);
        for given in self.plan.begun.iter() {
            if begun.is_open(limit) {
                go_on(&mut begun, Some(*given), &mut sampler)?;
            }
        }
        if !begun.is_open(limit) {
            return Ok(begun.written);
        }
        if let TokenChoice::Beams { width, length_penalty } = self.plan.choice {
            let OnItsWay { read, cache, mut written } = begun;
            let plan = BeamPlan { width, length_penalty, limit: limit - written.ids.len(), end: &rules.end };
            let next = |read: &[u32], cache: &mut Cache, is_last: bool| {
                let mut scores = log_softmax(logits(read, cache)?);
                rules.restrict(&mut scores, read, prompt.len(), is_last);
                Ok(scores)
            };
            written.take_best(BeamSearch::run(read, cache, plan, &next)?, &rules.end);
            return Ok(written);
        }
        let n_given = begun.written.ids.len();
        let mut texts = Vec::new();
        for nth in 0..n_texts {
            let mut text = begun.clone();
            let mut sampler = Sampler::new(self.plan.choice.of_text(nth));
            while text.is_open(limit) {
                go_on(&mut text, None, &mut sampler)?;
            }
            texts.push(text.written);
            done_before.fetch_add(limit, Ordering::Relaxed);
        }
        let samples = texts.iter().filter(|_| n_texts > 1).map(|text| text.behind(n_given)).collect();
        let first = texts.into_iter().next().unwrap_or_default();
        Ok(Continuation { samples, ..first })
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
