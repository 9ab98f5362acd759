//! Numbers of heads that they are ordered by: the scores of all detectors, and what sums a pattern up.

use serde::{Deserialize, Serialize};

use super::{Detector, Probe, Undefined};
use crate::{
    analysis::{attention, stats},
    capture::{Capture, RowMass},
    ids::{HeadId, StackKind},
    options::one_of,
};

/// A number that every head of a stack has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum HeadScore {
    /// How much a head does what a detector looks for.
    Kind(Detector),
    /// Entropy of a row in nats, on average.
    Entropy,
    /// Entropy as a part of what the row could have at most, on average.
    Evenness,
    /// Tokens between a query and what it attends to, on average.
    Reach,
    /// The largest weight of any pair.
    Largest,
}

impl HeadScore {
    /// Every one: those of the detectors first.
    pub fn all() -> impl Iterator<Item = Self> {
        let of_patterns = [Self::Entropy, Self::Evenness, Self::Reach, Self::Largest];
        Detector::ALL.into_iter().map(Self::Kind).chain(of_patterns)
    }

    /// The name in files and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Kind(detector) => detector.name(),
            Self::Entropy => "entropy",
            Self::Evenness => "evenness",
            Self::Reach => "reach",
            Self::Largest => "largest",
        }
    }

    /// On screen.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Kind(detector) => detector.definition().title,
            Self::Entropy => "Entropy",
            Self::Evenness => "Entropy, of the most",
            Self::Reach => "Mean distance, tokens",
            Self::Largest => "Largest weight",
        }
    }

    /// The kind of head that it decides about, where it does.
    pub fn kind(self) -> Option<Detector> {
        match self {
            Self::Kind(detector) => Some(detector).filter(|it| it.definition().threshold.is_some()),
            Self::Entropy | Self::Evenness | Self::Reach | Self::Largest => None,
        }
    }

    /// The one with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::all().find(|score| score.name() == name)
    }

    /// The number of one head, as the model computed its pattern.
    ///
    /// # Errors
    /// Why such a head or input has none.
    pub fn of(self, probe: &Probe<'_>, head: HeadId) -> Result<f32, Undefined> {
        let capture = probe.capture;
        if let Self::Kind(detector) = self {
            return probe.score(detector, head.layer, head.head);
        }
        if self == Self::Reach {
            if head.stack.query_side() != head.stack.key_side() {
                return Err(Undefined::OtherSequence);
            }
            // How far apart two patches stand in the row of tokens says nothing.
            if capture.picture_side() == Some(head.stack.query_side()) {
                return Err(Undefined::NoOrder);
            }
        }
        let stats = stats::of_head(capture, head).ok_or(Undefined::NotRecorded)?;
        let shares = || match stats.rows {
            RowMass::Full | RowMass::Sink => Ok(()),
            RowMass::Partial | RowMass::Free => Err(Undefined::NoShares),
        };
        match self {
            Self::Entropy => shares().map(|()| stats.entropy),
            Self::Evenness => shares().map(|()| stats.entropy_fraction),
            Self::Reach => stats.distance.filter(|_| stats.rows != RowMass::Free).ok_or(Undefined::NoShares),
            Self::Kind(_) | Self::Largest => Ok(stats.max_weight),
        }
    }
}

impl From<Detector> for HeadScore {
    fn from(detector: Detector) -> Self {
        Self::Kind(detector)
    }
}

impl From<HeadScore> for String {
    fn from(score: HeadScore) -> Self {
        score.name().to_owned()
    }
}

impl TryFrom<String> for HeadScore {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        Self::from_name(&name).ok_or_else(|| one_of(Self::all().map(Self::name)))
    }
}

/// Heads with a number, the highest first, ties in order of layer and head.
#[derive(Clone, Debug, PartialEq)]
pub struct HeadOrder {
    pub score: HeadScore,
    /// Why no head has one, where that is so.
    pub heads: Result<Vec<(HeadId, f32)>, Undefined>,
}

impl HeadOrder {
    /// Heads with their numbers; none where the number is not defined.
    pub fn ranked(&self) -> &[(HeadId, f32)] {
        self.heads.as_deref().unwrap_or_default()
    }
}

/// Orders the heads of a stack by a number, on this input. `go_on` is asked between heads; `None` when it says no.
pub fn order(
    capture: &Capture,
    stack: StackKind,
    score: HeadScore,
    go_on: &mut dyn FnMut() -> bool,
) -> Option<HeadOrder> {
    let probe = Probe::new(capture, stack);
    let layers = capture.model().stack(stack).map_or(&[][..], |spec| &spec.layers);
    let (mut ranked, mut why) = (Vec::new(), Undefined::NotRecorded);
    for (layer, shape) in layers.iter().enumerate() {
        for head in (0..shape.n_heads).map(|head| HeadId { stack, layer, head }) {
            if !go_on() {
                return None;
            }
            if !attention::has_pattern(capture, head) {
                continue;
            }
            match score.of(&probe, head) {
                Ok(number) => ranked.push((head, number)),
                Err(reason) => why = reason,
            }
        }
    }
    ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    Some(HeadOrder { score, heads: if ranked.is_empty() { Err(why) } else { Ok(ranked) } })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_has_a_name_of_its_own_and_files_keep_it() {
        for score in HeadScore::all() {
            let same = |other: &HeadScore| other.name() == score.name() || other.title() == score.title();
            assert_eq!(HeadScore::all().filter(same).count(), 1, "{}", score.name());
            let json = serde_json::to_value(score).unwrap();
            assert_eq!(serde_json::from_value::<HeadScore>(json).unwrap(), score);
        }
        // Sessions of earlier versions had the detector alone.
        let before = serde_json::to_value(Detector::Previous).unwrap();
        assert_eq!(serde_json::from_value::<HeadScore>(before).unwrap(), HeadScore::Kind(Detector::Previous));
        assert!(serde_json::from_str::<HeadScore>("\"beauty\"").is_err());
    }
}
