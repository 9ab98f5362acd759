//! The four tests of Wiegreffe and Pinter (2019): uniform weights, other checkpoints and seeds, an adversary that is
//! trained over a data set, and weights of attention as a guide for a model of words alone.

use serde::{Deserialize, Serialize};

use crate::{
    analysis::{
        bootstrap::Estimate,
        explain::{
            divergence::{jsd, kl, reachable_jsd, tvd},
            report::{LabQuestion, MethodSpec},
        },
    },
    random::SplitMix,
};

pub const TWINS: MethodSpec = MethodSpec {
    name: "trained-adversary",
    title: "Is other attention learnt, or only found",
    question: LabQuestion::Believe,
    about: "Trains twins of a recurrent classifier that say the same and attend otherwise, beside seeds, uniform weights and \
            other checkpoints",
    example: "--model demo:bilstm --corpus demo:reviews --against demo:bilstm-deceiving --out twins.svg",
    caveat: "An adversary that reaches far at little cost shows that attention of this kind can be learnt, not that the \
             model's own is wrong; how far one gets depends on the texts that it is trained on.",
    formula: "mean over texts of TVD(ŷ, ŷ_base) − λ · KL(α ‖ α_base)",
    source: "Wiegreffe and Pinter 2019; Pruthi et al. 2020; Efron 1979",
    values: &[],
    ..MethodSpec::EMPTY
};

/// What differs from the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TwinKind {
    /// Weights drawn at random in the model itself.
    Random,
    /// Even weights in the model itself.
    EvenInPlace,
    /// Trained with even weights.
    Uniform,
    /// Trained to say the same, its attention begun by chance.
    Seed,
    /// Trained to say the same and to attend otherwise.
    Adversary,
    /// Another checkpoint.
    Checkpoint,
}

vocabulary! {
    TwinKind: name,
    title,
    /// Scope of the comparison, and its limit.
    shows;
    Random("random", "random weights in its place",
        "Weights drawn at random in each text, nothing trained: how far apart outputs are where attention is any at all."),
    EvenInPlace("even_in_place", "even weights in its place",
        "Even weights in the model as it is. A small change shows that this output hardly depends on them; the model was \
         not trained so."),
    Uniform("uniform", "trained with even weights",
        "Where a twin with even weights is as accurate, the task does not need attention, and says little about it."),
    Seed("seed", "other seed",
        "Twins that are only to say the same show how far attention varies by chance; other attention counts where it is \
         farther than theirs."),
    Adversary("adversary", "adversary",
        "One attention for all texts, learnt: unlike weights that are searched for text by text, these are what a model can \
         do. A curve far right of the seeds and low shows that other attention serves as well."),
    Checkpoint("checkpoint", "other checkpoint",
        "Another model of the same task on the same axes: another seed, or one that was trained to deceive (Pruthi et al. \
         2020)."),
}

/// Share of the steps of a training, the last ones, over which the learning rate falls to 0.
pub const COOLING: f64 = 0.25;
/// A loss has settled where it falls by at most this share of its whole fall.
const STILL: f64 = 0.05;
/// A fall of less than this is none, whatever the whole fall was.
const LEAST_FALL: f64 = 5e-4;
/// Epochs of the two means that are compared, at least.
const LEAST_EPOCHS: usize = 2;

/// The published result, to stand beside ours.
pub const PUBLISHED: &str = "Wiegreffe and Pinter: adversaries can be trained, but in most of their data sets predictions \
                             change fast as attention moves away; attention of a trained model guides a model of words \
                             alone better than an adversary's";

/// What a model says of one text, and how it attends to its tokens. Numbers are single, so that files hold them exactly.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reading {
    /// Probabilities of the classes.
    pub p: Vec<f32>,
    /// Weights of the tokens that are no special ones.
    pub attention: Vec<f32>,
}

/// A model that is compared with the base over all texts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeasuredTwin {
    pub kind: TwinKind,
    /// What it is called beside its kind, such as a checkpoint; empty where there is no need.
    pub name: String,
    /// λ of an adversary.
    pub lambda: Option<f64>,
    pub seed: Option<u64>,
    /// Mean loss of each epoch, where it was trained.
    #[serde(default)]
    pub losses: Vec<f32>,
    pub readings: Vec<Reading>,
}

/// What a model of words alone says when the attention of another guides it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GuidedRun {
    /// Whose attention.
    pub guide: String,
    pub seed: u64,
    /// The class that is most probable for each text, by a model that was trained without it.
    pub found: Vec<usize>,
}

/// All that was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct TwinStudy {
    pub classes: Vec<String>,
    /// The class that each text is said to have, where it is said.
    pub labels: Vec<Option<usize>>,
    pub base: Vec<Reading>,
    pub twins: Vec<MeasuredTwin>,
    /// Texts that no twin was trained on.
    pub held_out: Vec<usize>,
    pub guided: Vec<GuidedRun>,
}

/// One model on the axes of the figure.
#[derive(Clone, Debug, PartialEq)]
pub struct TwinPoint {
    pub kind: TwinKind,
    pub title: String,
    pub lambda: Option<f64>,
    pub seed: Option<u64>,
    /// Distance of the outputs from those of the base.
    pub tvd: Estimate,
    /// Distance of attention from that of the base, in nats.
    pub jsd: Estimate,
    /// KL(α ‖ α of the base), in nats.
    pub kl: f64,
    /// Share of texts of which it decides as the base.
    pub agrees: f64,
    pub accuracy: Option<Estimate>,
    /// Mean loss of each epoch, where it was trained.
    pub losses: Vec<f32>,
    /// Distances of each text: of the outputs, of attention.
    pub of_texts: Vec<[f64; 2]>,
}

/// A guide, over seeds.
#[derive(Clone, Debug, PartialEq)]
pub struct GuideRow {
    pub guide: String,
    pub n_seeds: usize,
    /// Over texts, of the mean over seeds.
    pub accuracy: Estimate,
    /// Mean over classes, of the mean over seeds; with its standard deviation over seeds.
    pub f1: f64,
    pub f1_std: f64,
}

/// What the study comes to.
#[derive(Clone, Debug, PartialEq)]
pub struct TwinSummary {
    pub n_trained: usize,
    pub n_held_out: usize,
    pub base_accuracy: Option<Estimate>,
    /// Mean of the largest distance that the rows of the base allow, in nats.
    pub reachable: f64,
    pub points: Vec<TwinPoint>,
    pub guides: Vec<GuideRow>,
}

impl MeasuredTwin {
    /// What it is called.
    pub fn title(&self) -> String {
        match (self.kind, self.lambda, self.seed) {
            (TwinKind::Adversary, Some(lambda), _) => format!("{}, λ {lambda}", self.kind.title()),
            (TwinKind::Seed, _, Some(seed)) => format!("{} ({seed})", self.kind.title()),
            (TwinKind::Checkpoint, ..) => self.name.clone(),
            _ => self.kind.title().to_owned(),
        }
    }
}

impl TwinPoint {
    /// Whether its loss no longer fell at the end; `None` of what was not trained.
    pub fn has_settled(&self) -> Option<bool> {
        (!self.losses.is_empty()).then(|| has_settled(&self.losses))
    }
}

/// Whether a loss no longer falls before the learning rate does, which makes any loss flat: the mean of the last fifth of
/// these epochs beside that of the fifth before. Too few epochs have not.
pub fn has_settled(losses: &[f32]) -> bool {
    let n = losses.len() - (losses.len() as f64 * COOLING).ceil() as usize;
    let width = n / 5;
    if width < LEAST_EPOCHS {
        return false;
    }
    let mean = |from: usize| losses[from..from + width].iter().map(|loss| f64::from(*loss)).sum::<f64>() / width as f64;
    let [before, last] = [mean(n - 2 * width), mean(n - width)];
    let whole = f64::from(losses[0]) - last;
    before - last <= (STILL * whole).max(LEAST_FALL)
}

impl TwinStudy {
    /// Sums up over the texts that no twin was trained on, which are drawn anew `samples` times for the intervals.
    pub fn summary(&self, samples: usize, seed: u64) -> TwinSummary {
        let points = self
            .twins
            .iter()
            .enumerate()
            .filter_map(|(nth, twin)| self.point(twin, samples, SplitMix::of_words([seed, nth as u64])));
        let mut guides: Vec<&str> = Vec::new();
        for run in &self.guided {
            if !guides.contains(&run.guide.as_str()) {
                guides.push(&run.guide);
            }
        }
        let reachable: f64 =
            self.held_out.iter().map(|text| reachable_jsd(&doubles(&self.base[*text].attention))).sum();
        TwinSummary {
            n_trained: self.base.len() - self.held_out.len(),
            n_held_out: self.held_out.len(),
            base_accuracy: self.accuracy(&self.base, samples, seed),
            reachable: reachable / self.held_out.len().max(1) as f64,
            points: points.collect(),
            guides: guides.into_iter().filter_map(|guide| self.guide(guide, samples, seed)).collect(),
        }
    }

    fn point(&self, twin: &MeasuredTwin, samples: usize, seed: u64) -> Option<TwinPoint> {
        let pairs = self.held_out.iter().map(|text| (&twin.readings[*text], &self.base[*text]));
        let pairs = pairs.map(|(own, base)| {
            let [p, q] = [own, base].map(|of| doubles(&of.p));
            let [a, b] = [own, base].map(|of| doubles(&of.attention));
            ([tvd(&p, &q), jsd(&a, &b)], kl(&a, &b), decision(&own.p) == decision(&base.p))
        });
        let (mut of_texts, mut kls, mut n_same) = (Vec::new(), 0.0, 0usize);
        for (distances, kl, is_same) in pairs {
            of_texts.push(distances);
            kls += kl;
            n_same += usize::from(is_same);
        }
        let mean = |axis: usize| {
            let values: Vec<f64> = of_texts.iter().map(|distances| distances[axis]).collect();
            Estimate::of_mean(&values, samples, seed)
        };
        let n = of_texts.len() as f64;
        Some(TwinPoint {
            kind: twin.kind,
            title: twin.title(),
            lambda: twin.lambda,
            seed: twin.seed,
            tvd: mean(0)?,
            jsd: mean(1)?,
            kl: kls / n,
            agrees: n_same as f64 / n,
            accuracy: self.accuracy(&twin.readings, samples, seed),
            losses: twin.losses.clone(),
            of_texts,
        })
    }

    /// Over held-out texts whose class is said.
    fn accuracy(&self, readings: &[Reading], samples: usize, seed: u64) -> Option<Estimate> {
        let known = self.held_out.iter().filter_map(|text| Some((self.labels[*text]?, &readings[*text])));
        let hits: Vec<f64> = known.map(|(label, of)| f64::from(u8::from(decision(&of.p) == label))).collect();
        Estimate::of_mean(&hits, samples, seed)
    }

    /// Over all texts whose class is said.
    fn guide(&self, guide: &str, samples: usize, seed: u64) -> Option<GuideRow> {
        let runs: Vec<&GuidedRun> = self.guided.iter().filter(|run| run.guide == guide).collect();
        let n_seeds = runs.len() as f64;
        let known: Vec<(usize, usize)> =
            self.labels.iter().enumerate().filter_map(|(text, label)| Some((text, (*label)?))).collect();
        let hits = known
            .iter()
            .map(|(text, label)| runs.iter().filter(|run| run.found[*text] == *label).count() as f64 / n_seeds);
        let of_seeds: Vec<f64> = runs
            .iter()
            .map(|run| {
                let pairs: Vec<(usize, usize)> = known.iter().map(|(text, label)| (run.found[*text], *label)).collect();
                macro_f1(&pairs, self.classes.len())
            })
            .collect();
        let f1 = of_seeds.iter().sum::<f64>() / n_seeds;
        Some(GuideRow {
            guide: guide.to_owned(),
            n_seeds: runs.len(),
            accuracy: Estimate::of_mean(&hits.collect::<Vec<f64>>(), samples, seed)?,
            f1,
            f1_std: (of_seeds.iter().map(|of| (of - f1).powi(2)).sum::<f64>() / n_seeds).sqrt(),
        })
    }
}

/// The F1 of pairs of what was found and what is right, in the mean over classes; 0 of a class that is neither.
pub fn macro_f1(pairs: &[(usize, usize)], n_classes: usize) -> f64 {
    let of_class = |class: usize| {
        let n = |is: &dyn Fn(bool, bool) -> bool| {
            pairs.iter().filter(|(found, right)| is(*found == class, *right == class)).count() as f64
        };
        let [hits, others] = [n(&|found, right| found && right), n(&|found, right| found != right)];
        if hits > 0.0 { 2.0 * hits / (2.0 * hits + others) } else { 0.0 }
    };
    (0..n_classes).map(of_class).sum::<f64>() / n_classes.max(1) as f64
}

/// The most probable class; the first of equals.
pub fn decision(p: &[f32]) -> usize {
    p.iter().enumerate().fold(0, |best, (id, value)| if *value > p[best] { id } else { best })
}

fn doubles(values: &[f32]) -> Vec<f64> {
    values.iter().map(|value| f64::from(*value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Base and twin of the worked example: ŷ .66, .8 against .62, .9.
    fn study() -> TwinStudy {
        let reading = |p: f32, attention: [f32; 3]| Reading { p: vec![1.0 - p, p], attention: attention.to_vec() };
        TwinStudy {
            classes: vec!["negative".to_owned(), "positive".to_owned()],
            labels: vec![None, Some(1), Some(0)],
            base: vec![reading(0.5, [1.0, 0.0, 0.0]), reading(0.66, [0.5, 0.3, 0.2]), reading(0.8, [0.1, 0.3, 0.6])],
            twins: vec![MeasuredTwin {
                kind: TwinKind::Adversary,
                name: String::new(),
                lambda: Some(0.1),
                seed: Some(0),
                losses: Vec::new(),
                readings: vec![
                    reading(0.1, [0.0, 0.0, 1.0]),
                    reading(0.62, [0.7, 0.2, 0.1]),
                    reading(0.9, [0.2, 0.5, 0.3]),
                ],
            }],
            held_out: vec![1, 2],
            guided: vec![GuidedRun { guide: "base".to_owned(), seed: 1, found: vec![0, 1, 1] }],
        }
    }

    #[test]
    fn distances_are_means_over_held_out_texts_with_the_whole_variation_distance() {
        let found = study().summary(200, 0);
        let point = &found.points[0];
        assert!((point.tvd.value - 0.07).abs() < 1e-6, "{point:?}");
        assert!((point.kl - 0.271_221 / 2.0).abs() < 1e-6, "the mean, where the published code has the sum: {point:?}");
        // Twice the published code's variation distance, in the mean over two texts: its loss is of sums.
        let published = 2.0 * (0.5 * point.tvd.value - 0.1 * point.kl);
        assert!((published - 0.042_878).abs() < 1e-6, "{published}");
        assert_eq!((found.n_trained, found.n_held_out, point.agrees), (1, 2, 1.0));
        assert_eq!(point.title, "adversary, λ 0.1");
        assert!(found.base_accuracy.is_some_and(|of| (of.value - 0.5).abs() < 1e-12));
    }

    #[test]
    fn a_loss_has_settled_where_it_no_longer_falls_before_the_rate_does() {
        let falling = |rate: f32| (0..40).map(|epoch| 0.5 * (-rate * epoch as f32).exp()).collect::<Vec<f32>>();
        assert!(has_settled(&falling(0.4)) && !has_settled(&falling(0.03)));
        assert!(has_settled(&[0.1; 40]) && !has_settled(&[0.1; 12]), "few epochs tell nothing");
        // What the falling rate makes flat does not count.
        let mut late = falling(0.03);
        late[30..].fill(0.2);
        assert!(!has_settled(&late));
        assert_eq!(study().summary(100, 0).points[0].has_settled(), None, "it was not trained here");
    }

    #[test]
    fn a_guide_is_judged_by_the_texts_whose_class_is_said() {
        let found = study().summary(200, 0);
        let row = &found.guides[0];
        assert_eq!((row.n_seeds, row.accuracy.value), (1, 0.5));
        // One class is never found, of the other one of two is right: (0 + 2/3) / 2.
        assert!((row.f1 - 1.0 / 3.0).abs() < 1e-12, "{row:?}");
        assert!((macro_f1(&[(0, 0), (1, 1)], 2) - 1.0).abs() < 1e-12);
    }
}
