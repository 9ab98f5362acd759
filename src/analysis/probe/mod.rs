//! Linear probes: how well labels can be told from the vectors of a site by a linear classifier, held against a control
//! task of random labels (Hewitt and Liang 2019).

mod logistic;
mod of_corpus;

use std::collections::BTreeMap;

use rayon::prelude::*;

pub use logistic::{Labelled, Logistic};
pub use of_corpus::{CorpusProbe, Labelling, LayerSpan, Pool, ProbeQuestion, ProbeVectors, probed_sites};

use super::{
    bootstrap::Estimate,
    explain::report::{LabQuestion, MethodSpec},
};
use crate::random::SplitMix;

/// What the command line says of it.
pub const PROBE: MethodSpec = MethodSpec {
    name: "probe",
    title: "Linear probe",
    question: LabQuestion::Fact,
    about: "How well labels of texts or words can be told from a site by a linear classifier, by layer, beside random labels",
    example: "--model demo:sentiment --corpus demo:reviews --label-column label --out probe.svg",
    caveat: "A probe that finds a label shows that the vectors hold it, not that the model uses it; one that also learns \
             random labels shows little.",
    formula: "smallest ½‖W‖² + C · Σ −ln p(label); selectivity = accuracy(labels) − accuracy(random labels)",
    source: "Alain and Bengio 2016; Hewitt and Liang 2019",
    values: &[],
    ..MethodSpec::EMPTY
};

/// How probes are fitted and tried.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProbeOptions {
    /// Weight of the losses beside the penalty.
    pub c: f64,
    /// Whether each number is brought to mean 0 and deviation 1 over what is learnt from.
    pub standardize: bool,
    /// Share of the texts that nothing is learnt from.
    pub held_out: f64,
    /// How often held-out texts are drawn anew for the intervals.
    pub samples: usize,
    pub seed: u64,
}

impl Default for ProbeOptions {
    fn default() -> Self {
        Self { c: 1.0, standardize: true, held_out: 0.2, samples: 1000, seed: 0 }
    }
}

/// What is probed: texts or words, with their labels.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProbeItems {
    /// The text that each item is of.
    pub text: Vec<usize>,
    /// Class of each item.
    pub class: Vec<usize>,
    /// Names of the classes.
    pub classes: Vec<String>,
    /// Word of each item, equal words alike; empty where items are whole texts.
    pub word: Vec<usize>,
}

/// The vectors of a place in the model, of all items.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProbeSite {
    /// Such as `layer 2`.
    pub name: String,
    /// Its layer; none before all layers.
    pub layer: Option<usize>,
    /// `[items, width]`, row by row.
    pub rows: Vec<f32>,
    pub width: usize,
}

/// A probe of one site.
#[derive(Clone, Debug, PartialEq)]
pub struct SiteProbe {
    pub name: String,
    pub layer: Option<usize>,
    /// Share of held-out items that are told right.
    pub accuracy: Estimate,
    /// The same of random labels.
    pub control: Estimate,
    /// Their difference.
    pub selectivity: Estimate,
    /// Share of what was learnt from that is told right.
    pub learnt: f64,
    /// Whether both fits have come to their end.
    pub is_converged: bool,
}

/// Probes of several sites, and what they are held against.
#[derive(Clone, Debug, PartialEq)]
pub struct ProbeSummary {
    pub n_texts: usize,
    /// Items that are learnt from, and held-out ones.
    pub n_items: [usize; 2],
    pub classes: Vec<String>,
    /// Share of held-out items in the commonest class.
    pub majority: Estimate,
    /// Share that the commonest class of each word tells right; none of whole texts.
    pub by_word: Option<Estimate>,
    /// Share that the control can reach: words that were not learnt from have labels that nobody can know.
    pub control_ceiling: f64,
    pub sites: Vec<SiteProbe>,
}

/// Why there is no probe. Displays as a clause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProbeError {
    #[error("there is a single class, so there is nothing to tell apart")]
    OneClass,
    #[error("fewer than ten texts have a label, which is too few to hold some out")]
    TooFew,
    #[error("the texts that are learnt from have a single class: give more texts, or another --seed")]
    OneClassLearnt,
}

/// The texts that are held out: a share of them, drawn by chance.
fn held_out(texts: &[usize], options: &ProbeOptions) -> Result<Vec<bool>, ProbeError> {
    let mut all: Vec<usize> = texts.to_vec();
    all.sort_unstable();
    all.dedup();
    if all.len() < 10 {
        return Err(ProbeError::TooFew);
    }
    let last = all.last().copied().unwrap_or(0);
    SplitMix::new(SplitMix::of_words([options.seed, 0])).shuffle(&mut all);
    let n = ((all.len() as f64 * options.held_out).round() as usize).clamp(1, all.len() - 1);
    let mut held = vec![false; last + 1];
    all[..n].iter().for_each(|text| held[*text] = true);
    Ok(held)
}

/// Labels of the control task: one for each word, or of texts one for each text, as often as the classes are.
fn control(items: &ProbeItems, seed: u64) -> Vec<usize> {
    let keys = if items.word.is_empty() { &items.text } else { &items.word };
    let n = items.class.len();
    let drawn = |key: &usize| {
        let bits = SplitMix::of_words([seed, 1, *key as u64]);
        items.class[SplitMix::new(bits).below(n)]
    };
    keys.iter().map(drawn).collect()
}

/// Fits a probe of every site, and one of random labels beside it. The same items, options and seed give the same numbers
/// on any number of threads.
///
/// # Errors
/// When there are too few texts or classes.
pub fn probe(
    items: &ProbeItems,
    sites: &[ProbeSite],
    options: &ProbeOptions,
    step: &(dyn Fn(usize) -> bool + Sync),
) -> Result<Option<ProbeSummary>, ProbeError> {
    let held = held_out(&items.text, options)?;
    let is_held = |item: &usize| held[items.text[*item]];
    let n = items.class.len();
    let learnt: Vec<usize> = (0..n).filter(|item| !is_held(item)).collect();
    let tried: Vec<usize> = (0..n).filter(is_held).collect();
    let differ = |of: &[usize]| of.windows(2).any(|two| items.class[two[0]] != items.class[two[1]]);
    if !differ(&(0..n).collect::<Vec<_>>()) {
        return Err(ProbeError::OneClass);
    }
    if !differ(&learnt) {
        return Err(ProbeError::OneClassLearnt);
    }
    let random = control(items, options.seed);
    let fitted: Vec<Option<SiteProbe>> = sites
        .par_iter()
        .enumerate()
        .map(|(nth, site)| {
            if !step(nth) {
                return None;
            }
            let rows = standardized(site, &learnt, options.standardize);
            let told =
                |classes: &[usize]| told_right(&rows, site.width, (classes, items.classes.len()), &learnt, options.c);
            let (own, own_converged) = told(&items.class);
            let (by_chance, converged) = told(&random);
            let right = learnt.iter().filter(|item| own[**item]).count();
            let share = |right: &[bool]| estimate(items, &tried, options, &|item| f64::from(u8::from(right[item])));
            let difference = |item: usize| f64::from(u8::from(own[item])) - f64::from(u8::from(by_chance[item]));
            Some(SiteProbe {
                name: site.name.clone(),
                layer: site.layer,
                accuracy: share(&own),
                control: share(&by_chance),
                selectivity: estimate(items, &tried, options, &difference),
                learnt: right as f64 / learnt.len().max(1) as f64,
                is_converged: own_converged && converged,
            })
        })
        .collect();
    let Some(sites) = fitted.into_iter().collect::<Option<Vec<_>>>() else { return Ok(None) };
    let commonest = |of: &[usize]| {
        let mut counts = vec![0usize; items.classes.len()];
        for item in of {
            counts[items.class[*item]] += 1;
        }
        (0..counts.len()).fold(0, |best, at| if counts[at] > counts[best] { at } else { best })
    };
    let most = commonest(&learnt);
    let mut of_words: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    if !items.word.is_empty() {
        for item in &learnt {
            of_words.entry(items.word[*item]).or_default().push(*item);
        }
    }
    let by_word = (!items.word.is_empty()).then(|| {
        let known: BTreeMap<usize, usize> = of_words.iter().map(|(word, of)| (*word, commonest(of))).collect();
        let right = |item: usize| known.get(&items.word[item]).copied().unwrap_or(most) == items.class[item];
        estimate(items, &tried, options, &|item| f64::from(u8::from(right(item))))
    });
    let mut counts = vec![0usize; items.classes.len()];
    items.class.iter().for_each(|class| counts[*class] += 1);
    let likeliest = counts.iter().max().map_or(0.0, |count| *count as f64 / n.max(1) as f64);
    let seen = tried.iter().filter(|item| items.word.get(**item).is_some_and(|word| of_words.contains_key(word)));
    let seen = seen.count() as f64 / tried.len().max(1) as f64;
    let majority = |item: usize| f64::from(u8::from(items.class[item] == most));
    Ok(Some(ProbeSummary {
        n_texts: held_texts(&items.text),
        n_items: [learnt.len(), tried.len()],
        classes: items.classes.clone(),
        majority: estimate(items, &tried, options, &majority),
        by_word,
        control_ceiling: seen + (1.0 - seen) * likeliest,
        sites,
    }))
}

fn held_texts(texts: &[usize]) -> usize {
    let mut all = texts.to_vec();
    all.sort_unstable();
    all.dedup();
    all.len()
}

/// Rows less their mean over the items that are learnt from, by their deviation; a number that is always the same is left
/// at 0.
fn standardized(site: &ProbeSite, learnt: &[usize], standardize: bool) -> Vec<f32> {
    if !standardize {
        return site.rows.clone();
    }
    let width = site.width;
    let row = |item: usize| &site.rows[item * width..(item + 1) * width];
    let n = learnt.len().max(1) as f64;
    let (mut means, mut squares) = (vec![0.0f64; width], vec![0.0f64; width]);
    for item in learnt {
        means.iter_mut().zip(row(*item)).for_each(|(mean, value)| *mean += f64::from(*value) / n);
    }
    for item in learnt {
        let both = squares.iter_mut().zip(&means).zip(row(*item));
        both.for_each(|((square, mean), value)| *square += (f64::from(*value) - mean).powi(2) / n);
    }
    let scales: Vec<f64> = squares.iter().map(|square| if *square > 0.0 { 1.0 / square.sqrt() } else { 0.0 }).collect();
    let mut rows = site.rows.clone();
    for row in rows.chunks_exact_mut(width.max(1)) {
        let numbers = row.iter_mut().zip(&means).zip(&scales);
        numbers.for_each(|((value, mean), scale)| *value = ((f64::from(*value) - mean) * scale) as f32);
    }
    rows
}

/// Whether each item is told right by a probe of those that are learnt from, and whether the fit has come to its end.
fn told_right(
    rows: &[f32],
    width: usize,
    (classes, n_classes): (&[usize], usize),
    learnt: &[usize],
    c: f64,
) -> (Vec<bool>, bool) {
    let row = |item: usize| &rows[item * width..(item + 1) * width];
    let own: Vec<f32> = learnt.iter().flat_map(|item| row(*item)).copied().collect();
    let labels: Vec<usize> = learnt.iter().map(|item| classes[*item]).collect();
    let fit = Logistic::fit(Labelled { rows: &own, width, classes: &labels, n_classes }, c);
    let right = (0..classes.len()).map(|item| fit.class(row(item)) == classes[item]).collect();
    (right, fit.is_converged)
}

/// The mean of a number over items, with whole texts drawn anew.
fn estimate(items: &ProbeItems, tried: &[usize], options: &ProbeOptions, of: &dyn Fn(usize) -> f64) -> Estimate {
    let mut texts: BTreeMap<usize, [f64; 2]> = BTreeMap::new();
    for item in tried {
        let sums = texts.entry(items.text[*item]).or_default();
        sums[0] += of(*item);
        sums[1] += 1.0;
    }
    let texts: Vec<[f64; 2]> = texts.into_values().collect();
    let mean = |drawn: &mut dyn Iterator<Item = [f64; 2]>| {
        let [sum, n] = drawn.fold([0.0; 2], |all, one| [all[0] + one[0], all[1] + one[1]]);
        sum / n.max(1.0)
    };
    let mut random = SplitMix::new(SplitMix::of_words([options.seed, 2]));
    let value = mean(&mut texts.iter().copied());
    let drawn: Vec<f64> = (0..options.samples)
        .map(|_| {
            let picked: Vec<[f64; 2]> = (0..texts.len()).map(|_| texts[random.below(texts.len())]).collect();
            mean(&mut picked.into_iter())
        })
        .collect();
    Estimate::of(value, drawn.into_iter())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words of forty texts: even words are of class 0, and the first number of a vector says so.
    fn words(n_words: usize) -> (ProbeItems, ProbeSite) {
        let mut random = SplitMix::new(5);
        let mut items = ProbeItems { classes: vec!["a".to_owned(), "b".to_owned()], ..ProbeItems::default() };
        let mut site = ProbeSite { name: "layer 0".to_owned(), rows: Vec::new(), width: 3, ..ProbeSite::default() };
        for text in 0..40 {
            for _ in 0..12 {
                let word = random.below(n_words);
                items.text.push(text);
                items.word.push(word);
                items.class.push(word % 2);
                let side = if word.is_multiple_of(2) { -1.0 } else { 1.0 };
                site.rows.extend([side, 0.3 * random.symmetric(), random.symmetric()]);
            }
        }
        (items, site)
    }

    #[test]
    fn a_label_that_is_there_is_found_and_random_labels_are_not() {
        let (items, site) = words(400);
        let rows = site.rows.chunks(3).flat_map(|row| [row[1], row[2]]).collect();
        let noise = ProbeSite { name: "noise".to_owned(), rows, width: 2, ..ProbeSite::default() };
        let options = ProbeOptions::default();
        let found = probe(&items, &[site, noise], &options, &|_| true).unwrap().unwrap();
        let [layer, noise] = &found.sites[..] else { panic!("{found:?}") };
        assert!(layer.accuracy.value > 0.99 && layer.is_converged, "{layer:?}");
        assert!((0.3..0.7).contains(&layer.control.value) && layer.selectivity.low > 0.2, "{layer:?}");
        assert!((0.3..0.7).contains(&noise.accuracy.value), "{noise:?}");
        assert!((found.n_items[1] as f64 / 480.0 - 0.2).abs() < 1e-9 && found.n_texts == 40);
        // Most words of 400 are new in a text that is held out.
        assert!((0.5..1.0).contains(&found.control_ceiling) && found.by_word.unwrap().value < 0.95, "{found:?}");
        let again = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        let (items, site) = words(400);
        let one = again.install(|| probe(&items, &[site], &options, &|_| true)).unwrap().unwrap();
        assert_eq!(one.sites[0], *layer);
    }

    #[test]
    fn a_control_has_one_label_for_each_word_and_is_stopped_when_asked() {
        let (items, site) = words(20);
        let labels = control(&items, 3);
        for (word, label) in items.word.iter().zip(&labels) {
            let first = items.word.iter().position(|other| other == word).unwrap();
            assert_eq!(*label, labels[first]);
        }
        assert!(labels.contains(&0) && labels.contains(&1));
        assert_eq!(probe(&items, &[site], &ProbeOptions::default(), &|_| false), Ok(None));
    }

    #[test]
    fn too_few_texts_and_a_single_class_are_refused() {
        let (mut items, site) = words(20);
        items.class.iter_mut().for_each(|class| *class = 1);
        let refused = |items: &ProbeItems| {
            probe(items, std::slice::from_ref(&site), &ProbeOptions::default(), &|_| true).unwrap_err()
        };
        assert_eq!(refused(&items), ProbeError::OneClass);
        let few = ProbeItems { text: vec![0; 480], ..items.clone() };
        assert_eq!(refused(&few), ProbeError::TooFew);
    }
}
