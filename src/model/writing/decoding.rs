//! What a checkpoint's files say about the texts it writes: how they begin and end, and what must
//! never stand in them.

use std::collections::BTreeSet;

use super::unheeded::{self, Entries};
use crate::model::{
    LoadError,
    checkpoint::{
        Config, ModelFiles,
        ids::{ClassIds, FirstRead},
    },
    input::SpecialIds,
};

/// Rules for what a decoder writes, by token id.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Decoding {
    /// Read before the first token of an encoder–decoder's text.
    pub start: Option<u32>,
    /// What fills up a text whose last token a classifier's decoder reads first, instead of `start`.
    pub turned: Option<u32>,
    /// Any of these ends the text.
    pub end: Vec<u32>,
    /// What the first written token must be (a language code).
    pub forced_first: Option<u32>,
    /// One of these must be the last token when the limit is reached.
    pub forced_last: Vec<u32>,
    /// Tokens that are never written.
    pub never: Vec<u32>,
    /// Tokens that are not written first.
    pub never_first: Vec<u32>,
    /// What was read is this many times less likely to be written (Keskar et al. 2019), where that is not once.
    pub repetition: Option<f32>,
    /// No run of this many tokens appears twice.
    pub no_repeat: Option<usize>,
    /// Tokens before which the text does not end, what was read first included.
    pub min_len: usize,
    /// New tokens before which the text does not end.
    pub min_new: usize,
    /// Rules of the checkpoint that are not among these.
    pub unheeded: Vec<&'static str>,
    /// Keys of `generation_config.json` that were read, with their values.
    pub read: Entries,
    /// Those that change no token by themselves.
    pub harmless: Entries,
    pub unknown: Entries,
}

impl Decoding {
    /// From `generation_config.json`, without which `config.json` and its decoder's section speak, and what
    /// their classes (`class_ids`) mean when they are silent; the tokenizer's `special` tokens fill in what is left open.
    pub fn read(
        config: &Config,
        files: &ModelFiles,
        special: Option<&SpecialIds>,
        class_ids: impl Fn(&str) -> ClassIds,
        first: FirstRead,
    ) -> Result<Self, LoadError> {
        let generation = Config::optional(files, "generation_config.json")?;
        let sections = ["decoder", "text_config"].map(|name| config.section(name));
        let fallback: Vec<_> = std::iter::once(config).chain(sections.iter().flatten()).collect();
        let speaks = generation.as_ref().map_or_else(|| fallback.clone(), |generation| vec![generation]);
        let all: Vec<_> = generation.iter().chain(fallback).collect();
        let ids = |sources: &[&Config], name: &str| {
            let of = |config: &&Config| {
                if generation.is_some() { config.token_ids(name) } else { config.token_ids_or_class(name, &class_ids) }
            };
            sources.iter().map(of).find(|ids| !ids.is_empty()).unwrap_or_default()
        };
        let id = |name: &str| ids(&all, name).first().copied();
        let number = |name: &'static str| speaks.iter().find_map(|config| config.optional_size(&[name], 4096).ok()?);
        let penalty = speaks.iter().find_map(|config| config.number(&["repetition_penalty"]).ok()?);
        let end = ids(&all, "eos_token_id");
        let mut never = ids(&speaks, "suppress_tokens");
        // Words of several tokens are not looked for; the end is never bad.
        let bad_words =
            speaks.iter().map(|config| config.token_id_lists("bad_words_ids")).find(|lists| !lists.is_empty());
        let bad_words = bad_words.unwrap_or_default();
        let mut unheeded: Vec<_> = speaks.iter().flat_map(|config| unheeded::rules(config)).collect();
        if bad_words.iter().any(|word| word.len() > 1) {
            unheeded.push("bad_words_ids");
        }
        unheeded.sort_unstable();
        unheeded.dedup();
        never.extend(bad_words.into_iter().filter(|word| word.len() == 1).flatten());
        never.retain(|id| !end.contains(id));
        let mut rules = Self {
            start: id("decoder_start_token_id").or_else(|| id("bos_token_id")),
            turned: (first == FirstRead::Last).then(|| id("pad_token_id").unwrap_or(1)),
            end,
            forced_first: ids(&speaks, "forced_bos_token_id").first().copied(),
            forced_last: ids(&speaks, "forced_eos_token_id"),
            never,
            never_first: ids(&speaks, "begin_suppress_tokens"),
            repetition: penalty.map(|penalty| penalty as f32).filter(|penalty| *penalty > 0.0 && *penalty != 1.0),
            no_repeat: number("no_repeat_ngram_size"),
            min_len: number("min_length").unwrap_or(0),
            min_new: number("min_new_tokens").unwrap_or(0),
            unheeded,
            ..Self::default()
        };
        if let Some(generation) = &generation {
            let read = generation.asked().lookups();
            rules.read = read.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
            (rules.harmless, rules.unknown) = unheeded::account(generation);
        }
        if let Some(special) = special {
            if rules.end.is_empty() {
                rules.end.clone_from(&special.eos);
            }
            rules.start = rules.start.or(special.decoder_start).or(special.bos).or(special.pad);
        }
        Ok(rules)
    }

    /// What a classifier's decoder reads beside the encoder's `ids`: the same after `start`, or after their
    /// last token where the family turns them so.
    pub fn classified(&self, ids: &[u32], start: u32) -> Vec<u32> {
        let written = |padding: u32| ids.iter().filter(|id| **id != padding).count();
        let last = self.turned.and_then(|padding| ids.get(written(padding).checked_sub(1)?).copied());
        std::iter::once(last.unwrap_or(start)).chain(ids.iter().copied()).take(ids.len()).collect()
    }

    /// A sentence about the rules of the checkpoint that are not followed.
    pub fn warning(&self) -> Option<String> {
        let names = self.unheeded.join(", ");
        (!names.is_empty()).then(|| format!("Texts are written without what its files say in {names}"))
    }

    /// Makes less likely or impossible what may not follow `read`, whose first `n_prompt` tokens were given; `is_last`
    /// says that the limit is reached with this token. Ids outside the vocabulary have no effect.
    pub fn restrict(&self, logits: &mut [f32], read: &[u32], n_prompt: usize, is_last: bool) {
        let forced: &[u32] = match self.forced_first.as_slice() {
            first @ [_] if read.len() == 1 => first,
            _ if is_last => &self.forced_last,
            _ => &[],
        };
        if forced.iter().any(|id| (*id as usize) < logits.len()) {
            for (id, logit) in logits.iter_mut().enumerate() {
                *logit = if forced.contains(&(id as u32)) { 0.0 } else { f32::NEG_INFINITY };
            }
            return;
        }
        if let Some(penalty) = self.repetition {
            let known: BTreeSet<u32> = read.iter().copied().collect();
            for id in known {
                if let Some(logit) = logits.get_mut(id as usize) {
                    *logit = if *logit < 0.0 { *logit * penalty } else { *logit / penalty };
                }
            }
        }
        let mut forbid = |ids: &[u32]| {
            for &id in ids {
                if let Some(logit) = logits.get_mut(id as usize) {
                    *logit = f32::NEG_INFINITY;
                }
            }
        };
        forbid(&self.never);
        // A forced token is not the beginning.
        let begin = n_prompt + usize::from(n_prompt == 1 && self.forced_first.is_some());
        if read.len() == begin {
            forbid(&self.never_first);
        }
        if read.len() < self.min_len || read.len() - n_prompt < self.min_new {
            forbid(&self.end);
        }
        if let Some(n) = self.no_repeat
            && read.len() + 1 >= n
        {
            let last = &read[read.len() + 1 - n..];
            let repeated: Vec<u32> =
                read.windows(n).filter(|run| run[..n - 1] == *last).map(|run| run[n - 1]).collect();
            forbid(&repeated);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed(rules: &Decoding, read: &[u32], n_prompt: usize, is_last: bool) -> Vec<usize> {
        let mut logits = [0.5; 6];
        rules.restrict(&mut logits, read, n_prompt, is_last);
        (0..logits.len()).filter(|id| logits[*id] > f32::NEG_INFINITY).collect()
    }

    #[test]
    fn rules_apply_where_they_should() {
        let rules = Decoding {
            start: Some(5),
            turned: None,
            end: vec![0],
            forced_first: Some(4),
            forced_last: vec![0],
            never: vec![5, 99],
            never_first: vec![3],
            no_repeat: Some(3),
            min_len: 3,
            ..Decoding::default()
        };
        assert_eq!(allowed(&rules, &[5], 1, false), [4], "the forced token");
        assert_eq!(allowed(&rules, &[5, 4], 1, false), [1, 2, 4], "not 3 at the beginning, no end yet");
        assert_eq!(allowed(&rules, &[5, 4, 1], 1, false), [0, 1, 2, 3, 4]);
        assert_eq!(allowed(&rules, &[1, 2, 3, 1, 2], 1, false), [0, 1, 2, 4], "1 2 3 was there before");
        assert_eq!(allowed(&rules, &[5, 4, 1], 1, true), [0], "the limit");
        let harmless = Decoding { forced_first: Some(99), forced_last: vec![99], ..Decoding::default() };
        assert_eq!(allowed(&harmless, &[5], 1, true), [0, 1, 2, 3, 4, 5], "ids that do not exist");
        let pairs = Decoding { no_repeat: Some(1), min_new: 2, end: vec![0], ..Decoding::default() };
        assert_eq!(allowed(&pairs, &[1, 2, 3], 2, false), [4, 5], "nothing twice, and no end after one token");
        let shy = Decoding { repetition: Some(2.0), ..Decoding::default() };
        let mut logits = [1.0, 1.0, -1.0, -1.0];
        shy.restrict(&mut logits, &[0, 2, 2, 9], 1, false);
        assert_eq!(logits, [0.5, 1.0, -2.0, -1.0], "once for each token that was read");
    }
}
