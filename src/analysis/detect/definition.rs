//! Known kinds of heads: one definition each, read by window, files and command line.

use super::{Undefined, cross, image};

/// Something that heads are known to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Detector {
    /// Attends to the token before.
    Previous,
    /// Attends to the token after.
    Next,
    /// Attends to the query itself.
    Itself,
    /// Attends to one and the same distance.
    Positional,
    /// Attends to the first token.
    First,
    /// Attends to earlier copies of the token.
    Duplicate,
    /// Attends to what followed earlier copies of the token.
    Induction,
    /// Attends to full stops and commas.
    Punctuation,
    /// Attends to special tokens.
    Special,
    /// Attends to a token that is neither the first nor a special one.
    Content,
    /// Has one key that stands out.
    Confidence,
    /// Attends to few sentences from much later ones.
    Receiver,
    /// Attends to patches near by.
    Distance,
    /// Attends to patches of the same hue.
    Hue,
    /// Attends to patches of the same brightness.
    Brightness,
    /// Attends to the last token of another sequence.
    Last,
    /// Goes through another sequence in its order.
    Monotone,
    /// Attends to copies of the token in another text.
    Copied,
    /// Attends to copies of the next token in another text.
    #[serde(rename = "copied-next")]
    CopiedNext,
    /// Attends to what the token is in another language.
    Translated,
    /// Attends to what the next token is in another language.
    #[serde(rename = "translated-next")]
    TranslatedNext,
    /// Attends to the patches around its own.
    Neighbours,
    /// Attends to one and the same step away from a patch.
    Step,
    /// Attends to patches of the same row.
    Row,
    /// Attends to patches of the same column.
    Column,
    /// Attends to patches of the same colour, wherever they are.
    Alike,
    /// All queries attend to the same patches.
    Common,
    /// Attends to registers.
    Registers,
}

/// What a detector measures.
#[derive(Clone, Copy, Debug)]
pub struct Definition {
    /// The name in files and on the command line.
    pub name: &'static str,
    /// What a head that does it is called.
    pub title: &'static str,
    /// What the score is, in one sentence.
    pub meaning: &'static str,
    /// The same as a formula: A is the pattern `[query i, key j]`, t the tokens; means are over the queries that
    /// qualify.
    pub formula: &'static str,
    /// The score from which a head is called so, with its source; none where the score ranks heads and calls them
    /// nothing.
    pub threshold: Option<(f32, &'static str)>,
    pub applies: &'static str,
}

/// Attention of one sequence to itself.
const OWN: &str = "decoders and encoders that read text";
const ALL_STACKS: &str = "decoders, encoders, cross-attention and pictures";
/// How narrowly much later sentences look back.
const RECEIVER: Definition = Definition {
    name: "receiver",
    title: "Receiver",
    meaning: "How much the attention from much later sentences narrows on few sentences: the excess kurtosis \
              of the mean weight that each sentence has from the tokens of those four and more behind it \
              (Bogdan et al. 2025)",
    formula: "kurtosis over sentences s of the mean over s′ ≥ s+4 of the mean of A[i in s′, j in s]",
    threshold: None,
    applies: "decoders that read at least eight sentences",
};

impl Detector {
    /// Every detector.
    pub const ALL: [Self; 28] = [
        Self::Previous,
        Self::Next,
        Self::Itself,
        Self::Positional,
        Self::First,
        Self::Duplicate,
        Self::Induction,
        Self::Punctuation,
        Self::Special,
        Self::Content,
        Self::Confidence,
        Self::Receiver,
        Self::Distance,
        Self::Hue,
        Self::Brightness,
        Self::Last,
        Self::Monotone,
        Self::Copied,
        Self::CopiedNext,
        Self::Translated,
        Self::TranslatedNext,
        Self::Neighbours,
        Self::Step,
        Self::Row,
        Self::Column,
        Self::Alike,
        Self::Common,
        Self::Registers,
    ];

    /// What it measures.
    pub const fn definition(self) -> &'static Definition {
        match self {
            Self::Previous => &Definition {
                name: "previous",
                title: "Previous token",
                meaning: "Weight on the token before the query, on average over the queries that have one",
                formula: "mean over i of A[i, i−1]",
                threshold: Some((0.5, "Clark et al. 2019")),
                applies: OWN,
            },
            Self::Next => &Definition {
                name: "next",
                title: "Next token",
                meaning: "Weight on the token after the query, on average over the queries that see one",
                formula: "mean over i of A[i, i+1]",
                threshold: Some((0.5, "Clark et al. 2019")),
                applies: "encoders that read text",
            },
            Self::Itself => &Definition {
                name: "itself",
                title: "Same position",
                meaning: "Weight on the query’s own position, on average; the first query of a causal head has no \
                          choice and is left out",
                formula: "mean over i of A[i, i]",
                threshold: Some((0.5, "as for the previous token")),
                applies: "decoders, encoders and pictures",
            },
            Self::Positional => &Definition {
                name: "positional",
                title: "Positional",
                meaning: "Share of the queries whose largest weight is at one and the same distance, whichever \
                          distance has most of them; the query itself does not count as one",
                formula: "max over Δ≠0 of the share of i with argmax over j of A[i, j] = i + Δ",
                threshold: Some((0.9, "Voita et al. 2019")),
                applies: OWN,
            },
            Self::First => &Definition {
                name: "first",
                title: "First token",
                meaning: "Weight on the first key, on average: an attention sink where that is no word; the first \
                          query of a causal head has no choice and is left out",
                formula: "mean over i of A[i, 0]",
                threshold: Some((0.6, "Clark et al. 2019, for [CLS]")),
                applies: ALL_STACKS,
            },
            Self::Duplicate => &Definition {
                name: "duplicate",
                title: "Duplicate token",
                meaning: "Weight on earlier copies of the query’s token, on average over the queries that have one",
                formula: "mean over i with a copy of Σ over j<i with t(j)=t(i) of A[i, j]",
                threshold: Some((0.3, "as for induction")),
                applies: OWN,
            },
            Self::Induction => &Definition {
                name: "induction",
                title: "Induction",
                meaning: "Weight on the tokens that followed earlier copies of the query’s token, on average over \
                          the queries that have one: prefix matching (Olsson et al. 2022). Where a text repeats at one \
                          distance, a head that looks that far back in any text scores as high: compare its \
                          positional score, and try another text",
                formula: "mean over i with a copy of Σ over j<i−1 with t(j)=t(i) of A[i, j+1]",
                threshold: Some((0.3, "common practice; Olsson et al. give none")),
                applies: OWN,
            },
            Self::Punctuation => &Definition {
                name: "punctuation",
                title: "Delimiter",
                meaning: "Weight on full stops and commas, on average",
                formula: "mean over i of Σ over j with t(j) in {. ,} of A[i, j]",
                threshold: Some((0.6, "Clark et al. 2019")),
                applies: "decoders, encoders and cross-attention that read text",
            },
            Self::Special => &Definition {
                name: "special",
                title: "Special token",
                meaning: "Weight on special tokens such as [CLS], [SEP] and <s>, on average",
                formula: "mean over i of Σ over special j of A[i, j]",
                threshold: Some((0.6, "Clark et al. 2019, for [SEP]")),
                applies: ALL_STACKS,
            },
            Self::Content => &Definition {
                name: "content",
                title: "Content token",
                meaning: "The largest weight of each query off the first key and off special tokens, on average",
                formula: "mean over i of max over j≠0, j not special, of A[i, j]",
                threshold: None,
                applies: ALL_STACKS,
            },
            Self::Confidence => &Definition {
                name: "confidence",
                title: "Confidence",
                meaning: "The largest weight of each query, on average, special tokens left out on both sides \
                          (Voita et al. 2019)",
                formula: "mean over i of max over j of A[i, j]",
                threshold: None,
                applies: ALL_STACKS,
            },
            Self::Receiver => &RECEIVER,
            Self::Distance => &image::DISTANCE,
            Self::Hue => &image::HUE,
            Self::Brightness => &image::BRIGHTNESS,
            Self::Last => &cross::LAST,
            Self::Monotone => &cross::MONOTONE,
            Self::Copied => &cross::COPIED,
            Self::CopiedNext => &cross::COPIED_NEXT,
            Self::Translated => &cross::TRANSLATED,
            Self::TranslatedNext => &cross::TRANSLATED_NEXT,
            Self::Neighbours => &image::NEIGHBOURS,
            Self::Step => &image::STEP,
            Self::Row => &image::ROW,
            Self::Column => &image::COLUMN,
            Self::Alike => &image::ALIKE,
            Self::Common => &image::COMMON,
            Self::Registers => &image::REGISTERS,
        }
    }

    /// Why no row of a pattern qualifies, where none does.
    pub const fn nothing(self) -> Undefined {
        match self {
            Self::Duplicate | Self::Induction => Undefined::NoRepetition,
            Self::Hue | Self::Brightness | Self::Alike => Undefined::NoVariation,
            Self::Copied | Self::CopiedNext => Undefined::NoCopy,
            Self::Translated | Self::TranslatedNext => Undefined::NoPartner,
            Self::Receiver => Undefined::FewSentences,
            Self::Previous
            | Self::Next
            | Self::Itself
            | Self::Positional
            | Self::First
            | Self::Punctuation
            | Self::Special
            | Self::Content
            | Self::Confidence
            | Self::Distance
            | Self::Last
            | Self::Monotone
            | Self::Neighbours
            | Self::Step
            | Self::Row
            | Self::Column
            | Self::Common
            | Self::Registers => Undefined::TooShort,
        }
    }

    /// The name used in files.
    pub const fn name(self) -> &'static str {
        self.definition().name
    }

    /// The detector that names a kind of head: those with a threshold.
    pub fn kinds() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|detector| detector.definition().threshold.is_some())
    }

    /// What heads are sorted by: the kinds, how much there is to see off the first token and the special ones, and how
    /// they look at sentences.
    pub fn orders() -> impl Iterator<Item = Self> {
        Self::ALL
            .into_iter()
            .filter(|it| matches!(it, Self::Content | Self::Receiver) || it.definition().threshold.is_some())
    }

    /// Whether its score is of a whole pattern, and no mean over rows.
    pub const fn is_of_whole(self) -> bool {
        matches!(
            self,
            Self::Positional
                | Self::Receiver
                | Self::Distance
                | Self::Hue
                | Self::Brightness
                | Self::Monotone
                | Self::Step
                | Self::Alike
                | Self::Common
        )
    }

    /// Whether it looks for some keys behind each query, of which uniform attention has a share, too.
    pub const fn is_of_keys(self) -> bool {
        matches!(
            self,
            Self::Last
                | Self::Copied
                | Self::CopiedNext
                | Self::Translated
                | Self::TranslatedNext
                | Self::Neighbours
                | Self::Row
                | Self::Column
                | Self::Registers
        )
    }

    /// Whether it looks for earlier copies of a token: in a text that repeats at one distance, heads that look at a
    /// distance score as well.
    pub const fn is_of_copies(self) -> bool {
        matches!(self, Self::Duplicate | Self::Induction)
    }

    /// Whether a head with this score is of the kind.
    pub fn holds(self, score: f32) -> bool {
        self.definition().threshold.is_some_and(|(least, _)| score >= least)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_detector_has_a_name_of_its_own_and_one_sentence() {
        for detector in Detector::ALL {
            let Definition { name, title, meaning, formula, applies, .. } = detector.definition();
            let same = |other: &Detector| other.name() == *name || other.definition().title == *title;
            assert_eq!(Detector::ALL.iter().filter(|other| same(other)).count(), 1, "{name}");
            assert!(!meaning.ends_with('.') && !formula.is_empty() && !applies.is_empty(), "{name}");
        }
        assert!(Detector::Induction.holds(0.3) && !Detector::Induction.holds(0.29) && !Detector::Hue.holds(1.0));
    }
}
