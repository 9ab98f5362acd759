//! Beam search, as transformers does it: of all texts that are on their way the most probable are kept at every step,
//! and of those that ended the ones with the best score, which is the log probability over a power of the length.

use super::probabilities::Probabilities;
use crate::model::{ModelError, network::pass::Cache};

/// How wide a search is, and when a text ends.
#[derive(Clone, Copy, Debug)]
pub struct BeamPlan<'a> {
    /// Texts that are kept.
    pub width: usize,
    /// The power of the length that a log probability is divided by.
    pub length_penalty: f64,
    /// At most so many tokens are written.
    pub limit: usize,
    /// Any of these ends a text.
    pub end: &'a [u32],
}

/// The scores of what may follow tokens that were read, of which the cache has all but the last ones; whether it is the
/// last token.
pub type Next<'a> = &'a dyn Fn(&[u32], &mut Cache, bool) -> Result<Vec<f32>, ModelError>;

/// A token of a text that was kept.
#[derive(Clone, Debug)]
pub struct BeamStep {
    /// The token before it; `None` for the first that was searched for.
    pub parent: Option<usize>,
    pub id: u32,
    pub probability: f32,
    /// The most probable tokens in its place.
    pub candidates: Vec<(u32, f32)>,
}

/// Tokens that were kept, and the texts that ended with their scores, from the best one on.
#[derive(Clone, Debug, Default)]
pub struct BeamSearch {
    pub steps: Vec<BeamStep>,
    pub ended: Vec<(usize, f64)>,
}

/// A text on its way.
struct Beam {
    last: Option<usize>,
    read: Vec<u32>,
    cache: Cache,
    score: f64,
}

/// A text with another token, by the place of the text.
struct Longer {
    beam: usize,
    id: u32,
    score: f64,
}

impl BeamSearch {
    /// Searches for what follows tokens that were read.
    pub fn run(read: Vec<u32>, cache: Cache, plan: BeamPlan<'_>, next: Next<'_>) -> Result<Self, ModelError> {
        let BeamPlan { width, length_penalty, limit, end } = plan;
        let n_kept = width * (1 + end.len()).max(2);
        let mut kept = Self::default();
        let mut running = vec![Beam { last: None, read, cache, score: 0.0 }];
        for length in 1..=limit {
            let mut longer = Vec::new();
            let mut scores = Vec::new();
            for (nth, beam) in running.iter_mut().enumerate() {
                let logits = next(&beam.read, &mut beam.cache, length == limit)?;
                let top = Probabilities::of(&logits)?.top(n_kept);
                let with =
                    |(id, _): (u32, f32)| Longer { beam: nth, id, score: beam.score + f64::from(logits[id as usize]) };
                longer.extend(top.into_iter().map(with));
                scores.push(logits);
            }
            longer.sort_by(|a, b| b.score.total_cmp(&a.score));
            longer.truncate(n_kept);
            let divisor = (length as f64).powf(length_penalty);
            let mut going_on = Vec::new();
            for (place, Longer { beam, id, score }) in longer.into_iter().enumerate() {
                let ends = length == limit || end.contains(&id);
                // Only the best of all may end; the others are there so that enough go on.
                let is_full = if ends { place >= width } else { going_on.len() >= width };
                if is_full {
                    continue;
                }
                let probabilities = Probabilities::of(&scores[beam])?;
                let (probability, candidates) = (probabilities.at(id).unwrap_or(0.0), probabilities.candidates());
                let parent = running[beam].last;
                kept.steps.push(BeamStep { parent, id, probability, candidates });
                let last = kept.steps.len() - 1;
                if ends {
                    kept.ended.push((last, score / divisor));
                } else {
                    let Beam { read, cache, .. } = &running[beam];
                    let read = read.iter().copied().chain([id]).collect();
                    going_on.push(Beam { last: Some(last), read, cache: cache.clone(), score });
                }
            }
            kept.ended.sort_by(|a, b| b.1.total_cmp(&a.1));
            kept.ended.truncate(width);
            running = going_on;
            let Some(best) = running.first() else { break };
            let worst = kept.ended.get(width - 1).map(|(_, score)| *score);
            if worst.is_some_and(|worst| best.score / divisor <= worst) {
                break;
            }
        }
        Ok(kept)
    }

    /// The tokens up to one, from the first on.
    pub fn path(&self, last: usize) -> Vec<&BeamStep> {
        let mut path: Vec<_> =
            std::iter::successors(Some(&self.steps[last]), |step| Some(&self.steps[step.parent?])).collect();
        path.reverse();
        path
    }
}
