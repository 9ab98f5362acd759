//! What can be turned about a question: every option by name, with what it means and how far it goes.
//!
//! The window draws them and remembers what was turned, files and the command line set them by name; none of
//! them knows a method.

use std::{collections::BTreeMap, ops::RangeInclusive, sync::Arc};

use serde_json::{Value, json};

use super::{
    Ask, Baseline, Depth, EdgeOptions, LeaveOut, MaskingOptions, Of, Restore, Reverse, RewriteOptions, Rule, Sight,
    Than, TraceOptions,
};
use crate::{
    analysis::explain::{
        alignment::{Setting, Symmetrize},
        rollout::{Fuse, RolloutOptions},
    },
    capture::{Ablation, Cut},
};

/// How two directions of an alignment become one.
const BOTH_DIRECTIONS: [(Option<Symmetrize>, &str, &str); 5] = [
    (None, "off", "Apart"),
    (Some(Symmetrize::Intersection), "intersection", "Intersection"),
    (Some(Symmetrize::Union), "union", "Union"),
    (Some(Symmetrize::GrowDiag), "grow-diag", "Grow-diag"),
    (Some(Symmetrize::GrowDiagFinalAnd), "grow-diag-final-and", "Grow-diag-final-and"),
];

/// Options that were turned, by name.
pub type Settings = BTreeMap<String, Value>;

/// One option.
pub struct Knob<'a> {
    /// Its name in files and on the command line.
    pub name: &'static str,
    /// Its name on screen.
    pub label: &'static str,
    /// What it does, in a sentence.
    pub meaning: &'static str,
    /// Its value.
    pub slot: Slot<'a>,
}

/// The value of an option, and what it can be.
pub enum Slot<'a> {
    /// A whole number.
    Whole(&'a mut usize, RangeInclusive<usize>),
    /// Any whole number.
    Seed(&'a mut u64),
    /// A number.
    Real(&'a mut f64, RangeInclusive<f64>),
    /// Yes or no.
    Flag(&'a mut bool),
    /// Words, or none; what they look like.
    Words(&'a mut Option<String>, &'static str),
    /// One of several, by place: names in files, names on screen.
    Choice(&'a mut usize, &'a [(&'static str, &'static str)]),
}

impl Slot<'_> {
    /// The value as it is remembered.
    pub fn value(&self) -> Value {
        match self {
            Self::Whole(value, _) => json!(value),
            Self::Seed(value) => json!(value),
            Self::Real(value, _) => json!(value),
            Self::Flag(value) => json!(value),
            Self::Words(value, _) => json!(value),
            Self::Choice(value, names) => json!(names.get(**value).map(|(name, _)| name)),
        }
    }

    /// Takes a value as far as it is understood; numbers that go too far stop at the end.
    pub fn set(&mut self, value: &Value) {
        match self {
            Self::Whole(slot, range) => {
                let new = value.as_u64().and_then(|value| usize::try_from(value).ok());
                **slot = new.unwrap_or(**slot).clamp(*range.start(), *range.end());
            }
            Self::Seed(slot) => **slot = value.as_u64().unwrap_or(**slot),
            Self::Real(slot, range) => {
                **slot = value.as_f64().unwrap_or(**slot).clamp(*range.start(), *range.end());
            }
            Self::Flag(slot) => **slot = value.as_bool().unwrap_or(**slot),
            Self::Words(slot, _) => **slot = value.as_str().map(ToOwned::to_owned),
            Self::Choice(slot, names) => {
                let place = names.iter().position(|(name, _)| value.as_str() == Some(name));
                **slot = place.unwrap_or(**slot);
            }
        }
    }
}

/// One of several values.
fn choose<T: Copy + PartialEq>(
    visit: &mut dyn FnMut(Knob<'_>),
    (name, label, meaning): (&'static str, &'static str, &'static str),
    value: &mut T,
    all: &[(T, &'static str, &'static str)],
) {
    let names: Vec<(&str, &str)> = all.iter().map(|(_, name, label)| (*name, *label)).collect();
    let mut place = all.iter().position(|(known, ..)| known == value).unwrap_or(0);
    visit(Knob { name, label, meaning, slot: Slot::Choice(&mut place, &names) });
    if let Some((chosen, ..)) = all.get(place) {
        *value = *chosen;
    }
}

/// How many positions are left out: a long text takes long.
fn every(value: &mut usize) -> Knob<'_> {
    let meaning = "1: every position; 16: every 16th, coarser and 16 times faster";
    whole("every", "Positions apart", meaning, value, 1..=512)
}

/// The last layer of the stack that is looked at, or of the deepest one.
fn last_layer(sight: &Sight<'_>) -> usize {
    let stacks = &sight.capture.model().stacks;
    stacks.iter().map(|stack| stack.layers.len()).max().unwrap_or(1).saturating_sub(1)
}

/// A layer, or the last one of each stack: the deepest one's last stands for that.
fn layer_or_last(layer: &mut Option<usize>, meaning: &'static str, sight: &Sight<'_>, visit: &mut dyn FnMut(Knob<'_>)) {
    let last = last_layer(sight);
    let mut chosen = layer.unwrap_or(last);
    visit(whole("layer", "Layer", meaning, &mut chosen, 0..=last));
    *layer = Some(chosen).filter(|chosen| *chosen != last);
}

fn of_rollout(options: &mut RolloutOptions, sight: &Sight<'_>, visit: &mut dyn FnMut(Knob<'_>)) {
    let about = ("fuse", "Heads", "How the heads of a layer are combined into one matrix");
    let all = [(Fuse::Mean, "mean", "Mean"), (Fuse::Max, "max", "Largest"), (Fuse::Min, "min", "Smallest")];
    choose(visit, about, &mut options.fuse, &all);
    let meaning = "Assumed share of a layer's output that bypasses attention; 0.5 as published";
    visit(real("residual", "Residual stream", meaning, &mut options.residual, 0.0..=1.0));
    let meaning = "Share of each layer's weights set to 0, smallest first";
    visit(real("discard", "Discard", meaning, &mut options.discard, 0.0..=0.95));
    visit(first_layer(&mut options.start_layer, sight));
}

fn whole<'a>(
    name: &'static str,
    label: &'static str,
    meaning: &'static str,
    value: &'a mut usize,
    range: RangeInclusive<usize>,
) -> Knob<'a> {
    Knob { name, label, meaning, slot: Slot::Whole(value, range) }
}

fn real<'a>(
    name: &'static str,
    label: &'static str,
    meaning: &'static str,
    value: &'a mut f64,
    range: RangeInclusive<f64>,
) -> Knob<'a> {
    Knob { name, label, meaning, slot: Slot::Real(value, range) }
}

fn first_layer<'a>(layer: &'a mut usize, sight: &Sight<'_>) -> Knob<'a> {
    whole("start", "From layer", "Layers before this one are left out", layer, 0..=last_layer(sight))
}

fn seed(seed: &mut u64) -> Knob<'_> {
    let meaning = "Start of the random numbers: the same seed gives the same result";
    Knob { name: "seed", label: "Seed", meaning, slot: Slot::Seed(seed) }
}

fn of_masks(options: &mut MaskingOptions, visit: &mut dyn FnMut(Knob<'_>)) {
    let all = [(Depth::Embeddings, "embeddings", "The embeddings"), (Depth::Layers, "layers", "Every layer")];
    choose(visit, ("depth", "Of", "States to mask"), &mut options.depth, &all);
    let all = [(Baseline::Mean, "mean", "The mean state"), (Baseline::Zero, "zero", "Nothing")];
    choose(visit, ("baseline", "In its place", "Replacement of a masked state"), &mut options.baseline, &all);
    let meaning = "Largest allowed change of the output probabilities, in nats";
    visit(real("margin", "Margin", meaning, &mut options.margin, 0.001..=2.0));
    let meaning = "Steps of the search in each layer";
    visit(whole("steps", "Search steps", meaning, &mut options.n_steps, 1..=1000));
    visit(seed(&mut options.seed));
}

fn of_edges(options: &mut EdgeOptions, visit: &mut dyn FnMut(Knob<'_>)) {
    let all = [(Than::Mean, "mean", "The mean of all keys"), (Than::Nothing, "none", "Nothing")];
    choose(
        visit,
        ("than", "Compared with", "Parts that are equal for all keys cancel in the softmax"),
        &mut options.than,
        &all,
    );
    visit(whole("top", "Listed", "Pairs of parts", &mut options.n_top, 1..=200));
}

fn of_rank_one(options: &mut RewriteOptions, visit: &mut dyn FnMut(Knob<'_>)) {
    let meaning = "New answer: words, or the name of a class. Several tokens are written one after the other; at a \
        mask only the first";
    visit(Knob { name: "object", label: "Say", meaning, slot: Slot::Words(&mut options.object, "new object") });
    for (name, label, meaning, texts) in [
        ("paraphrases", "In other words", "Prompts that ask the same, separated by |", &mut options.paraphrases),
        ("neighbours", "Should stay", "Prompts whose answers should stay, separated by |", &mut options.neighbours),
    ] {
        let mut joined = (!texts.is_empty()).then(|| texts.join(" | "));
        visit(Knob { name, label, meaning, slot: Slot::Words(&mut joined, "one prompt | another") });
        let parts = joined.iter().flat_map(|all| all.split('|')).map(str::trim);
        *texts = parts.filter(|text| !text.is_empty()).map(str::to_owned).collect();
    }
    visit(whole("steps", "Search steps", "Steps of the search for the value", &mut options.n_steps, 1..=200));
}

fn of_trace(options: &mut TraceOptions, sight: &Sight<'_>, visit: &mut dyn FnMut(Knob<'_>)) {
    let all = [
        (Restore::Stream, "resid", "Residual stream"),
        (Restore::Mlp, "mlp", "MLP"),
        (Restore::Attention, "attention", "Attention"),
    ];
    let about = ("restore", "Restore", "Activation that is restored to its value in the run without noise");
    choose(visit, about, &mut options.restore, &all);
    if options.restore != Restore::Stream {
        let meaning = "Number of layers restored together";
        visit(whole("window", "In layers", meaning, &mut options.window, 1..=last_layer(sight) + 1));
    }
    let meaning = "In standard deviations of the input embeddings; 3 as published";
    visit(real("noise", "Noise", meaning, &mut options.noise, 0.0..=10.0));
    let meaning = "Number of noise samples that are averaged";
    visit(whole("samples", "Samples", meaning, &mut options.n_samples, 1..=50));
    visit(every(&mut options.every));
    visit(seed(&mut options.seed));
}

impl Ask {
    /// Shows every option to `visit`, which may turn it.
    pub fn knobs(&mut self, sight: &Sight<'_>, visit: &mut dyn FnMut(Knob<'_>)) {
        match self {
            Self::Attention { layer, head } => {
                layer_or_last(layer, "Layer whose attention is shown", sight, visit);
                let about = ("heads", "Heads", "The mean of all heads of the layer, or the selected head");
                let all = [(None, "mean", "Mean of all"), (Some(sight.head.head), "one", "Selected head")];
                choose(visit, about, head, &all);
            }
            Self::Rollout(options) | Self::Flow { options, .. } => of_rollout(options, sight, visit),
            Self::Relevance { rule, start_layer } => {
                let all =
                    [(Rule::Gradient, "gradient", "The attention"), (Rule::Lrp, "lrp", "Its share by propagation")];
                choose(visit, ("rule", "Gradients times", "What gradients are multiplied by"), rule, &all);
                visit(first_layer(start_layer, sight));
            }
            Self::Masks(options) => of_masks(options, visit),
            Self::Edges(options) => of_edges(options, visit),
            Self::RankOne(options) => of_rank_one(options, visit),
            Self::Gradients { of, times_input, steps } => {
                if let Some(steps) = steps {
                    let meaning = "Number of inputs on the path from the baseline to this one whose gradients are \
                        averaged";
                    return visit(whole("steps", "Steps", meaning, steps, 1..=200));
                }
                let all = [(Of::Input, "input", "Input embeddings"), (Of::Pattern, "pattern", "Attention weights")];
                choose(visit, ("of", "By", "Variable that the output is differentiated by"), of, &all);
                let meaning = "On: contribution of the token if the output were linear. Off: slope only";
                let slot = Slot::Flag(times_input);
                visit(Knob { name: "times_input", label: "Times their value", meaning, slot });
            }
            Self::Lens { n_top } => {
                visit(whole("top", "Listed", "Number of most probable tokens listed per layer", n_top, 1..=20));
            }
            Self::Memories { layer, n_top } => {
                layer_or_last(layer, "Layer whose memories are listed", sight, visit);
                visit(whole("top", "Listed", "Number of memories, and of tokens that each promotes", n_top, 1..=50));
            }
            Self::Trace(options) => of_trace(options, sight, visit),
            Self::Knockout(options) => {
                let range = 1..=last_layer(sight) + 1;
                let meaning = "Number of layers in which edges are cut together";
                visit(whole("window", "In layers", meaning, &mut options.window, range));
                let all =
                    [(Cut::Scores, "scores", "Before the softmax"), (Cut::Pattern, "pattern", "After the softmax")];
                let meaning = "Before the softmax: the other keys share the weight. After it: the weight is lost";
                choose(visit, ("cut", "Cut", meaning), &mut options.cut, &all);
                visit(every(&mut options.every));
            }
            Self::Ablation(with) => {
                let all = [
                    (Ablation::Zero, "zero", "Nothing"),
                    (Ablation::Mean, "mean", "Its mean over tokens"),
                    (Ablation::Uniform, "uniform", "Equal weights"),
                    (Ablation::Shuffle { seed: 0 }, "shuffle", "Shuffled weights"),
                ];
                choose(visit, ("with", "In its place", "Replacement of the head's output"), with, &all);
            }
            Self::Faithfulness(options) => {
                let meaning = "Number of random orders of the weights for which the output is computed";
                visit(whole("permutations", "Permutations", meaning, &mut options.n_permutations, 1..=1000));
                let meaning = "Steps of the search for other weights with the same output; 0 leaves it out";
                visit(whole("steps", "Search steps", meaning, &mut options.n_steps, 0..=1000));
                visit(seed(&mut options.seed));
            }
            Self::Normalizers { alpha } => {
                let meaning = "α of α-entmax: 1 is softmax, 2 is sparsemax; the larger α, the more weights are \
                    exactly 0";
                visit(real("alpha", "α", meaning, alpha, 1.0..=2.0));
            }
            Self::Alignment { setting, gold, reverse } => {
                if let Some(run) = sight.reverse {
                    let meaning = "How the links of both directions are combined: the intersection is most precise, \
                        the union most complete";
                    let about = ("symmetrize", "Both directions", meaning);
                    let mut way = reverse.as_ref().map(|reverse| reverse.way);
                    choose(visit, about, &mut way, &BOTH_DIRECTIONS);
                    *reverse = way.map(|way| Reverse { run: Arc::clone(run), way });
                }
                let all = [
                    (Setting::Output, "awo", "The step that writes it"),
                    (Setting::Input, "awi", "The step that reads it"),
                ];
                choose(visit, ("setting", "Row of a word", "Row that a target word is read from"), setting, &all);
                visit(Knob {
                    name: "gold",
                    label: "Gold",
                    meaning: "Hand-made links: 3-5 is a sure link of source word 3 and target word 5, 3p5 a \
                        possible one; words are counted from 0",
                    slot: Slot::Words(gold, "0-0 1-1 2p1"),
                });
            }
            Self::LeaveOneOut { by: LeaveOut::Hide | LeaveOut::Mask | LeaveOut::Delete }
            | Self::Norms
            | Self::Effective
            | Self::DirectLogits => {}
        }
    }

    /// Turns options by name; those of another method are left alone.
    pub fn turn(&mut self, settings: &Settings, sight: &Sight<'_>) {
        self.knobs(sight, &mut |mut knob| {
            if let Some(value) = settings.get(knob.name) {
                knob.slot.set(value);
            }
        });
    }

    /// Every option that can be turned, with its value.
    pub fn turned(&self, sight: &Sight<'_>) -> Settings {
        let mut all = Settings::new();
        self.clone().knobs(sight, &mut |knob| drop(all.insert(knob.name.to_owned(), knob.slot.value())));
        all
    }
}
