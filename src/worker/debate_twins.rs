//! The debate with twins: what the model says of every text, what other checkpoints say, and twins that are trained
//! here, one after the other.

use serde::{Deserialize, Serialize};

use super::corpus::input_of;
use crate::{
    analysis::debate::{
        DebateOptions,
        twins::{COOLING, GuidedRun, MeasuredTwin, Reading, TwinKind, TwinStudy},
    },
    corpus::list::InputList,
    lab::{LabError, LabRun, debate_readings},
    model::{
        Cancelled, Control, Encoded, Guide, Model, ModelError, Preparation, Progress, Schedule, Stage, TwinOutput,
        TwinPlan, Twins,
    },
    random::SplitMix,
};

/// Fewer texts are too few to learn from and to hold out.
pub const LEAST_TEXTS: usize = 20;
/// Epochs, texts at a time and learning rate of guided models.
const GUIDED: (usize, usize, f64) = (10, 64, 1e-2);
/// Parts of the texts, each of which is left out of training once.
const FOLDS: usize = 5;
/// Numbers of a text that is read with others are this near those of the model.
const CLOSE: f32 = 1e-3;

/// What is trained, and how.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TwinOptions {
    /// λ of each adversary.
    pub lambdas: Vec<f64>,
    /// Seeds of twins that are only to say the same, and of guided models.
    pub n_seeds: usize,
    pub n_epochs: usize,
    pub batch: usize,
    pub learning_rate: f64,
    /// Share of the texts that no twin is trained on.
    pub held_out: f64,
    pub seed: u64,
    /// Column with the class of each text; found by its values where there is none.
    pub label_column: Option<String>,
}

impl Default for TwinOptions {
    fn default() -> Self {
        Self {
            lambdas: vec![0.001, 0.01, 0.05, 0.1, 0.5],
            n_seeds: 3,
            n_epochs: 20,
            batch: 64,
            learning_rate: 2e-3,
            held_out: 0.2,
            seed: 0,
            label_column: None,
        }
    }
}

/// What is asked for.
#[derive(Clone, Copy)]
pub struct TwinOrder<'a> {
    pub model: &'a Model,
    pub list: &'a InputList,
    /// Other checkpoints with their names.
    pub others: &'a [(String, Model)],
    pub how: Preparation,
    pub options: &'a TwinOptions,
}

/// What was measured so far.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TwinState {
    /// Places in the list of the texts that were measured; empty before they were.
    pub texts: Vec<usize>,
    /// Texts that cannot be measured, and why.
    pub left_out: Vec<(usize, String)>,
    /// What the model says of each text.
    pub base: Vec<Reading>,
    pub twins: Vec<MeasuredTwin>,
    pub guided: Vec<GuidedRun>,
}

/// One training of several, as one progress.
pub(super) struct Trainings<'a> {
    pub control: &'a Control<'a>,
    pub done: usize,
    pub total: usize,
}

impl Trainings<'_> {
    /// Steps of the progress of one training.
    const STEPS: usize = 100;

    pub fn one<T>(&mut self, work: impl FnOnce(&Control<'_>) -> Result<T, ModelError>) -> Result<T, LabError> {
        let (before, total, control) = (self.done * Self::STEPS, self.total * Self::STEPS, self.control);
        let told = |Progress { stage, done, total: of_one }: Progress| -> Result<(), Cancelled> {
            control(Progress { stage, done: before + Self::STEPS * done / of_one.max(1), total })
        };
        let found = work(&told)?;
        self.done += 1;
        Ok(found)
    }
}

/// Measures and trains what the state does not have yet; `told` hears of each part.
///
/// # Errors
/// When the model or the texts do not suit, a training fails, or somebody says stop.
pub fn run(
    order: TwinOrder<'_>,
    state: &mut TwinState,
    control: &Control<'_>,
    told: &mut dyn FnMut(&TwinState) -> Result<(), Cancelled>,
) -> Result<(), LabError> {
    let TwinOrder { model, list, others, options, .. } = order;
    if state.base.is_empty() {
        measure(order, state, control)?;
        told(state)?;
    }
    for (name, other) in others {
        let twin = MeasuredTwin {
            kind: TwinKind::Checkpoint,
            name: name.clone(),
            lambda: None,
            seed: None,
            losses: Vec::new(),
            readings: Vec::new(),
        };
        if !has(state, &twin) {
            let readings = readings_of_other((name, other), order, state, control)?;
            state.twins.push(MeasuredTwin { readings, ..twin });
            told(state)?;
        }
    }
    if model.check_twins().is_err() {
        return Ok(());
    }
    let texts = encoded(order, &state.texts)?;
    let twins = model.twins(&texts)?;
    check_batches(&twins, &state.base)?;
    let (train, _) = split(state.base.len(), options);
    let wanted = wanted(options);
    let classes = class_names(model, state);
    let labels = labels(list, &classes, options.label_column.as_deref())?;
    let labels: Vec<Option<usize>> = state.texts.iter().map(|text| labels[*text]).collect();
    let is_labelled = labels.iter().any(Option::is_some);
    let n_guides = if is_labelled { 3 + options.lambdas.len() + others.len() } else { 0 };
    let total = wanted.len() + n_guides * options.n_seeds * FOLDS;
    let mut trainings = Trainings { control, done: 0, total };
    for (twin, plan) in wanted {
        if has(state, &twin) {
            trainings.done += 1;
            continue;
        }
        let found = trainings.one(|control| twins.trained(&train, plan, control))?;
        let readings = found.outputs.into_iter().map(reading).collect();
        state.twins.push(MeasuredTwin { readings, losses: found.losses, ..twin });
        told(state)?;
    }
    if !is_labelled {
        return Ok(());
    }
    for (name, weights) in guides(state) {
        for seed in 0..options.n_seeds as u64 {
            if state.guided.iter().any(|run| run.guide == name && run.seed == seed) {
                trainings.done += FOLDS;
                continue;
            }
            let guide = weights.as_deref().map_or(Guide::Own, Guide::Given);
            let found = guided(&twins, (guide, &labels), SplitMix::of_words([options.seed, seed]), &mut trainings)?;
            state.guided.push(GuidedRun { guide: name.clone(), seed, found });
            told(state)?;
        }
    }
    Ok(())
}

/// What the state comes to, as far as it is.
///
/// # Errors
/// When the column of classes is none.
pub fn study(order: TwinOrder<'_>, state: &TwinState) -> Result<TwinStudy, LabError> {
    let classes = class_names(order.model, state);
    let labels = labels(order.list, &classes, order.options.label_column.as_deref())?;
    Ok(TwinStudy {
        labels: state.texts.iter().map(|text| labels[*text]).collect(),
        classes,
        base: state.base.clone(),
        twins: state.twins.clone(),
        held_out: split(state.base.len(), order.options).1,
        guided: state.guided.clone(),
    })
}

/// Texts to train on, and those that are held out, both in the order of the list.
pub(super) fn split(n: usize, options: &TwinOptions) -> (Vec<usize>, Vec<usize>) {
    let mut places: Vec<usize> = (0..n).collect();
    SplitMix::new(SplitMix::of_words([options.seed, n as u64])).shuffle(&mut places);
    let n_held_out = ((n as f64 * options.held_out).round() as usize).clamp(1, n.saturating_sub(1).max(1));
    let (held_out, train) = places.split_at(n_held_out.min(n));
    let sorted = |of: &[usize]| {
        let mut of = of.to_vec();
        of.sort_unstable();
        of
    };
    (sorted(train), sorted(held_out))
}

/// Twins that are to be trained.
fn wanted(options: &TwinOptions) -> Vec<(MeasuredTwin, TwinPlan)> {
    let TwinOptions { n_epochs, batch, learning_rate, .. } = *options;
    let twin = |kind, lambda: Option<f64>, seed: u64| {
        let own = SplitMix::of_words([options.seed, seed]);
        let schedule = Schedule { n_epochs, batch, learning_rate, cooling: COOLING, seed: own };
        let plan =
            TwinPlan { is_uniform: kind == TwinKind::Uniform, lambda: lambda.unwrap_or(0.0), conicity: 0.0, schedule };
        (
            MeasuredTwin {
                kind,
                name: String::new(),
                lambda,
                seed: Some(seed),
                losses: Vec::new(),
                readings: Vec::new(),
            },
            plan,
        )
    };
    let seeds = (0..options.n_seeds as u64).map(|seed| twin(TwinKind::Seed, None, seed));
    let adversaries = options.lambdas.iter().map(|lambda| twin(TwinKind::Adversary, Some(*lambda), 0));
    std::iter::once(twin(TwinKind::Uniform, None, 0)).chain(seeds).chain(adversaries).collect()
}

fn has(state: &TwinState, twin: &MeasuredTwin) -> bool {
    let key = |of: &MeasuredTwin| (of.kind, of.name.clone(), of.lambda.map(f64::to_bits), of.seed);
    state.twins.iter().any(|of| key(of) == key(twin))
}

/// What the model says of each text, with its own weights, with even and with random ones.
pub(super) fn measure(order: TwinOrder<'_>, state: &mut TwinState, control: &Control<'_>) -> Result<(), LabError> {
    let n = order.list.items.len();
    let mut found: [Vec<Reading>; 3] = Default::default();
    for nth in 0..n {
        control(Progress { stage: Stage::Inputs, done: nth, total: n })?;
        match readings(order.model, order, nth) {
            Ok(readings) => {
                state.texts.push(nth);
                found.iter_mut().zip(readings).for_each(|(all, one)| all.push(one));
            }
            Err(error) if error.is_cancelled() => return Err(error),
            Err(error) => state.left_out.push((nth, error.to_string())),
        }
    }
    let [base, even, random] = found;
    if base.len() < LEAST_TEXTS {
        let why = state.left_out.first().map_or_else(String::new, |(nth, why)| format!("; number {}: {why}", nth + 1));
        let what = format!("{} of the texts can be measured, and {LEAST_TEXTS} are needed{why}", base.len());
        return Err(LabError::unsuited(what));
    }
    let of_model = MeasuredTwin {
        kind: TwinKind::Random,
        name: String::new(),
        lambda: None,
        seed: None,
        losses: Vec::new(),
        readings: Vec::new(),
    };
    let twin = |kind, readings| MeasuredTwin { kind, readings, ..of_model.clone() };
    state.twins = vec![twin(TwinKind::EvenInPlace, even), twin(TwinKind::Random, random)];
    state.base = base;
    Ok(())
}

fn readings(model: &Model, order: TwinOrder<'_>, nth: usize) -> Result<[Reading; 3], LabError> {
    let encoded = model.encode(&input_of(&order.list.items[nth].content, order.how))?;
    let options = DebateOptions { seed: order.options.seed, ..DebateOptions::default() };
    debate_readings(&LabRun::new(model, &encoded, &[], &|_| Ok(()), &|_| {}), nth, &options)
}

fn readings_of_other(
    (name, other): (&str, &Model),
    order: TwinOrder<'_>,
    state: &TwinState,
    control: &Control<'_>,
) -> Result<Vec<Reading>, LabError> {
    let own = class_names(order.model, state);
    let mut found = Vec::with_capacity(state.texts.len());
    for (nth, (text, base)) in state.texts.iter().zip(&state.base).enumerate() {
        control(Progress { stage: Stage::Inputs, done: nth, total: state.texts.len() })?;
        let [reading, ..] = readings(other, order, *text)?;
        if reading.p.len() != own.len() || (0..own.len()).any(|id| other.outcome_label(id as u32) != own[id]) {
            let what =
                format!("{name} has other classes than {}: give a model of the same task", order.model.spec().name);
            return Err(LabError::unsuited(what));
        }
        if reading.attention.len() != base.attention.len() {
            let what = format!(
                "{name} cuts text number {} into {} tokens, and {} into {}, so that their attention cannot be compared: \
                 give a model with the same tokenizer",
                text + 1,
                reading.attention.len(),
                order.model.spec().name,
                base.attention.len()
            );
            return Err(LabError::unsuited(what));
        }
        found.push(reading);
    }
    Ok(found)
}

pub(super) fn encoded(order: TwinOrder<'_>, texts: &[usize]) -> Result<Vec<Encoded>, LabError> {
    let of = |text: &usize| Ok(order.model.encode(&input_of(&order.list.items[*text].content, order.how))?);
    texts.iter().map(of).collect()
}

/// Training reads many texts at once: its numbers are those of the model.
pub(super) fn check_batches(twins: &Twins, base: &[Reading]) -> Result<(), LabError> {
    let near = |a: &[f32], b: &[f32]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < CLOSE);
    let is_same = |(own, run): (&TwinOutput, &Reading)| near(&own.p, &run.p) && near(&own.attention, &run.attention);
    if twins.base().iter().zip(base).all(is_same) {
        return Ok(());
    }
    Err(LabError::unsuited("texts with special tokens cannot be trained on: leave them out with --no-special"))
}

pub(super) fn class_names(model: &Model, state: &TwinState) -> Vec<String> {
    let n = state.base.first().map_or(0, |reading| reading.p.len());
    (0..n as u32).map(|id| model.outcome_label(id)).collect()
}

/// The class of each item, where it is said.
pub(super) fn labels(
    list: &InputList,
    classes: &[String],
    column: Option<&str>,
) -> Result<Vec<Option<usize>>, LabError> {
    let class = |value: &str| classes.iter().position(|class| class.eq_ignore_ascii_case(value.trim()));
    let values = |column: usize| list.items.iter().map(move |item| item.values.get(column).and_then(Option::as_deref));
    let names_classes = |column: &usize| {
        let mut said = values(*column).flatten().peekable();
        said.peek().is_some() && said.all(|value| class(value).is_some())
    };
    let column = match column {
        None => (0..list.columns.len()).find(names_classes),
        Some(name) => {
            let found = list.columns.iter().position(|column| column == name).ok_or_else(|| {
                LabError::unsuited(format!("there is no column {name}: choose from {}", list.columns.join(", ")))
            })?;
            if !names_classes(&found) {
                let other = values(found).flatten().find(|value| class(value).is_none()).unwrap_or_default();
                return Err(LabError::unsuited(format!(
                    "column {name} says “{other}”, which is no class of the model: these are {}",
                    classes.join(", ")
                )));
            }
            Some(found)
        }
    };
    Ok(match column {
        Some(column) => values(column).map(|value| class(value?)).collect(),
        None => vec![None; list.items.len()],
    })
}

/// Whose attention guides a model of words alone; `None` is its own.
fn guides(state: &TwinState) -> Vec<(String, Option<Vec<Vec<f32>>>)> {
    let weights = |readings: &[Reading]| readings.iter().map(|of| of.attention.clone()).collect::<Vec<_>>();
    let even = state.twins.iter().find(|twin| twin.kind == TwinKind::EvenInPlace);
    let mut guides: Vec<(String, Option<Vec<Vec<f32>>>)> = Vec::new();
    guides.extend(even.map(|even| ("even weights".to_owned(), Some(weights(&even.readings)))));
    guides.push(("its own attention".to_owned(), None));
    guides.push(("the model’s attention".to_owned(), Some(weights(&state.base))));
    let others = state.twins.iter().filter(|twin| [TwinKind::Adversary, TwinKind::Checkpoint].contains(&twin.kind));
    guides.extend(others.map(|twin| (twin.title(), Some(weights(&twin.readings)))));
    guides
}

/// The class that is found for each text by a model that was trained without it.
fn guided(
    twins: &Twins,
    (guide, labels): (Guide<'_>, &[Option<usize>]),
    seed: u64,
    trainings: &mut Trainings<'_>,
) -> Result<Vec<usize>, LabError> {
    let (n_epochs, batch, learning_rate) = GUIDED;
    let mut order: Vec<usize> = (0..labels.len()).collect();
    SplitMix::new(seed).shuffle(&mut order);
    let mut found = vec![0; labels.len()];
    for fold in 0..FOLDS {
        let (test, train): (Vec<_>, Vec<_>) = order.iter().enumerate().partition(|(nth, _)| nth % FOLDS == fold);
        let [test, train] = [test, train].map(|of| of.into_iter().map(|(_, text)| *text).collect::<Vec<usize>>());
        let seed = SplitMix::of_words([seed, fold as u64]);
        let schedule = Schedule { n_epochs, batch, learning_rate, cooling: 0.0, seed };
        let own = trainings.one(|control| twins.guided(guide, labels, (&train, &test), schedule, control))?;
        test.iter().zip(own).for_each(|(text, class)| found[*text] = class);
    }
    Ok(found)
}

fn reading(TwinOutput { p, attention }: TwinOutput) -> Reading {
    Reading { p, attention }
}
