//! Numbers of a head, of one input and over many: known kinds of heads, and quantities beside them, each defined once.

use serde::{Deserialize, Serialize};

use crate::{
    analysis::detect::{Detector, Undefined},
    options::one_of,
};

/// Keys up to this many tokens away are near, for [`Quantity::Local`].
pub const NEAR: usize = 3;
/// From which share of its weight on near keys on a head is called local.
const LOCAL_FROM: f32 = 0.6;
/// From which share of the queries on whose largest weight is on the rarest token a head is called so.
const RARE_FROM: f32 = 0.5;
/// How much less than uniform entropy a head has that is called broad.
const BROAD_FROM: f32 = 0.9;

/// A number of a head.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Metric {
    /// The score of a known kind of heads.
    Kind(Detector),
    Of(Quantity),
}

/// A number of a head that calls it nothing, or that no detector of single inputs has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Quantity {
    Entropy,
    EntropyFraction,
    TokenDistance,
    DistanceVariance,
    DistanceOffFirst,
    SignedDistance,
    RelativeDistance,
    Local,
    Sink,
    DelimiterRatio,
    InductionGain,
    Rare,
    RareGain,
    ScoreSpread,
    ScoreMargin,
    ScoreZ,
    Activation,
    Largest,
    LastGain,
    CopiedGain,
    CopiedNextGain,
    TranslatedGain,
    TranslatedNextGain,
    NeighboursGain,
    RowGain,
    ColumnGain,
    CommonGain,
    RegistersGain,
}

vocabulary! {
    Quantity: name,
    /// On screen.
    title,
    /// What it is, in one sentence.
    meaning;
    Entropy("entropy", "Entropy", "Entropy of a row in nats, on average; a learned sink is one more choice"),
    EntropyFraction("entropy-fraction", "Entropy, of the most", "Entropy of a row divided by the logarithm of the number of keys \
        that its query sees, on average over the queries that see more than one: 1 is uniform attention at any length"),
    TokenDistance("token-distance", "Distance in tokens", "Tokens between query and key, weighted by attention, on average over \
        queries"),
    DistanceVariance("distance-variance", "Variance of the distance", "Variance of the tokens between query and key, weighted by \
        attention, of all queries together"),
    DistanceOffFirst("distance-off-first", "Distance off the first token", "Tokens between query and key, weighted by attention, \
        the first key left out: what lies there says nothing of how far a head looks"),
    SignedDistance("signed-distance", "Signed distance", "Key minus query position, weighted by attention, on average over \
        queries: below 0 it looks back"),
    RelativeDistance("relative-distance", "Relative distance", "Distance between the place of a query in its sequence and the \
        place of a key in the other one, both from 0 to 1, weighted by attention, on average over queries"),
    Local("local", "Local", "Weight on keys at most three tokens away, the query itself left out, on average over the queries \
        that see one"),
    Sink("sink", "Learned sink", "Weight that goes to the learned sink, on average over queries"),
    DelimiterRatio("delimiter-ratio", "Delimiters, over chance", "Weight on full stops and commas, divided by what uniform \
        attention over the visible keys has there"),
    InductionGain("induction-gain", "Induction, over chance", "Induction less what the same rows have when their weights are \
        shuffled over the visible keys"),
    Rare("rare", "Rare token", "Share of the queries whose largest weight is on the token that is least frequent in the corpus, of \
        those that they see; special tokens are left out on both sides"),
    RareGain("rare-gain", "Rare token, over chance", "The same, less the share of the tokens seen that are as rare: what a head \
        that picks any of them by chance has"),
    ScoreSpread("score-spread", "Spread of scores", "Standard deviation of the scores of a row over the visible keys, on \
        average over the rows with three of them"),
    ScoreMargin("score-margin", "Margin of scores", "The best score of a row less the second best, on average over the rows with \
        three visible keys"),
    ScoreZ("score-z", "Best score, standardised", "The best score of a row less their mean, in standard deviations, on average \
        over the rows with three visible keys"),
    Activation("activation", "Activation", "The largest weight of an input off the first query, the first key, the diagonal and \
        special keys, on average over inputs"),
    Largest("largest", "Largest weight", "The largest weight of any pair of an input, on average over inputs: the first query \
        of a causal head has no choice, so that it is 1 there"),
    LastGain("last-gain", "Last token, over chance", "Weight on the last key of the other sequence, less what uniform attention \
        over the visible keys has there"),
    CopiedGain("copied-gain", "Copied token, over chance", "Weight on copies of the query’s own token, less what uniform attention \
        over the visible keys has there"),
    CopiedNextGain("copied-next-gain", "Copied token to come, over chance", "Weight on copies of the token behind the query, less \
        what uniform attention over the visible keys has there"),
    TranslatedGain("translated-gain", "Translated token, over chance", "Weight on what goes with the query’s own token, less what \
        uniform attention over the visible keys has there"),
    TranslatedNextGain("translated-next-gain", "Translated token to come, over chance", "Weight on what goes with the token behind \
        the query, less what uniform attention over the visible keys has there"),
    NeighboursGain("neighbours-gain", "Neighbouring patches, over chance", "Weight on the patches around the query’s own one, less \
        what uniform attention over the visible keys has there"),
    RowGain("row-gain", "Same row, over chance", "Weight on the other patches of the query’s row, less what uniform attention over \
        the visible keys has there"),
    ColumnGain("column-gain", "Same column, over chance", "Weight on the other patches of the query’s column, less what uniform \
        attention over the visible keys has there"),
    CommonGain("common-gain", "Same patches for all, over chance", "Weight on the patches that receive far more than others, less \
        their share of all keys"),
    RegistersGain("registers-gain", "Registers, over chance", "Weight on registers, less what uniform attention over the visible \
        keys has there"),
}

impl Quantity {
    /// The detector of some keys whose score it is, less what uniform attention has.
    pub const fn over_chance(self) -> Option<Detector> {
        match self {
            Self::LastGain => Some(Detector::Last),
            Self::CopiedGain => Some(Detector::Copied),
            Self::CopiedNextGain => Some(Detector::CopiedNext),
            Self::TranslatedGain => Some(Detector::Translated),
            Self::TranslatedNextGain => Some(Detector::TranslatedNext),
            Self::NeighboursGain => Some(Detector::Neighbours),
            Self::RowGain => Some(Detector::Row),
            Self::ColumnGain => Some(Detector::Column),
            Self::CommonGain => Some(Detector::Common),
            Self::RegistersGain => Some(Detector::Registers),
            _ => None,
        }
    }
}

impl From<Detector> for Metric {
    fn from(detector: Detector) -> Self {
        Self::Kind(detector)
    }
}

impl From<Metric> for String {
    fn from(metric: Metric) -> Self {
        metric.name().to_owned()
    }
}

impl TryFrom<String> for Metric {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        Self::from_name(&name).ok_or_else(|| one_of(Self::ALL.iter().map(|metric| metric.name())))
    }
}

/// Names that numbers had before, with those that they have.
pub const FORMER_NAMES: [(&str, &str); 2] = [("evenness", "entropy-fraction"), ("reach", "token-distance")];

/// So many metrics there are.
pub const N_METRICS: usize = Detector::ALL.len() + Quantity::ALL.len();
const _: () = assert!(N_METRICS <= 64, "places are bits of a u64");

impl Metric {
    /// Every one: kinds first.
    pub const ALL: [Self; N_METRICS] = {
        let mut all = [Self::Of(Quantity::Entropy); N_METRICS];
        let mut at = 0;
        while at < N_METRICS {
            all[at] = if at < Detector::ALL.len() {
                Self::Kind(Detector::ALL[at])
            } else {
                Self::Of(Quantity::ALL[at - Detector::ALL.len()])
            };
            at += 1;
        }
        all
    };

    /// Its place in [`Self::ALL`].
    pub const fn slot(self) -> usize {
        match self {
            Self::Kind(detector) => detector as usize,
            Self::Of(quantity) => Detector::ALL.len() + quantity as usize,
        }
    }

    /// The name in files and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Kind(detector) => detector.name(),
            Self::Of(quantity) => quantity.name(),
        }
    }

    /// The one with this name, or that had it before.
    pub fn from_name(name: &str) -> Option<Self> {
        let name = FORMER_NAMES.iter().find(|(former, _)| *former == name).map_or(name, |(_, name)| name);
        Self::ALL.into_iter().find(|metric| metric.name() == name)
    }

    /// On screen.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Kind(detector) => detector.definition().title,
            Self::Of(quantity) => quantity.title(),
        }
    }

    /// What it is, in one sentence.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Kind(detector) => detector.definition().meaning,
            Self::Of(quantity) => quantity.meaning(),
        }
    }

    /// The number from which a head is called so, with its source; none where the number calls it nothing.
    pub const fn threshold(self) -> Option<(f32, &'static str)> {
        match self {
            Self::Kind(detector) => detector.definition().threshold,
            Self::Of(Quantity::Local) => Some((LOCAL_FROM, "as for the first token")),
            Self::Of(Quantity::Rare) => Some((RARE_FROM, "half of the queries; Voita et al. 2019 report 66 %")),
            Self::Of(Quantity::EntropyFraction) => Some((BROAD_FROM, "nine tenths of uniform attention")),
            Self::Of(_) => None,
        }
    }

    /// What a head is called from the threshold on.
    pub const fn kind_title(self) -> &'static str {
        match self {
            Self::Of(Quantity::EntropyFraction) => "Broad",
            _ => self.title(),
        }
    }

    /// The detector that decides about a kind of heads by it, where there is one.
    pub fn kind(self) -> Option<Detector> {
        match self {
            Self::Kind(detector) => Some(detector).filter(|it| it.definition().threshold.is_some()),
            Self::Of(_) => None,
        }
    }

    /// Metrics with a threshold.
    pub fn kinds() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|metric| metric.threshold().is_some())
    }

    /// Why no row of an input qualifies, where none does.
    pub const fn nothing(self) -> Undefined {
        match self {
            Self::Kind(detector) => detector.nothing(),
            Self::Of(Quantity::InductionGain) => Undefined::NoRepetition,
            Self::Of(Quantity::Rare | Quantity::RareGain) => Undefined::EquallyFrequent,
            Self::Of(quantity) => match quantity.over_chance() {
                Some(detector) => detector.nothing(),
                None => Undefined::TooShort,
            },
        }
    }

    /// What one count of its `n` is.
    pub const fn counts(self) -> &'static str {
        match self {
            Self::Kind(Detector::Positional) => "row",
            Self::Kind(detector) if detector.is_of_whole() => "input",
            Self::Of(Quantity::Activation | Quantity::Largest | Quantity::CommonGain) => "input",
            _ => "row",
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_metric_has_a_place_and_a_name_of_its_own() {
        for (slot, metric) in Metric::ALL.into_iter().enumerate() {
            assert_eq!((metric.slot(), Metric::from_name(metric.name())), (slot, Some(metric)));
        }
        let titles: BTreeSet<&str> = Metric::ALL.iter().map(|metric| metric.title()).collect();
        assert_eq!(titles.len(), N_METRICS);
    }

    #[test]
    fn files_keep_names_and_those_of_before_are_read() {
        for metric in Metric::ALL {
            let json = serde_json::to_value(metric).unwrap();
            assert_eq!(serde_json::from_value::<Metric>(json).unwrap(), metric);
        }
        let read = |name: &str| serde_json::from_str::<Metric>(&format!("\"{name}\"")).ok();
        assert_eq!(read("evenness"), Some(Metric::Of(Quantity::EntropyFraction)));
        assert_eq!(read("reach"), Some(Metric::Of(Quantity::TokenDistance)));
        // Sessions of the first versions had the detector alone.
        let before = serde_json::to_value(Detector::Previous).unwrap();
        assert_eq!(serde_json::from_value::<Metric>(before).unwrap(), Metric::Kind(Detector::Previous));
        assert_eq!(read("beauty"), None);
    }
}
