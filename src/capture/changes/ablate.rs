//! A head is put out of action.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{
    Edit, EditAim, EditContext, EditKind, EditOffer, EditSpec, Exclusive, Extent, Intervention, RowChange,
    codec::as_text, head_name,
};
use crate::{capture::Site, ids::HeadId};

/// The seed of the first shuffle; the next one is another.
const FIRST_SEED: u64 = 1;

/// One head is put out of action.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ablate {
    #[serde(rename = "ablate", with = "as_text")]
    pub head: HeadId,
    #[serde(flatten)]
    pub with: Ablation,
}

/// What takes the place of a head.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "with", rename_all = "lowercase")]
pub enum Ablation {
    /// Nothing: its `z` is zero.
    Zero,
    /// The mean of its `z` over the positions of this input, everywhere.
    Mean,
    /// It attends evenly to all keys that it can see.
    Uniform,
    /// Each of its rows has its weights in another order.
    Shuffle {
        /// The same seed, the same order.
        #[serde(default)]
        seed: u64,
    },
}

impl fmt::Display for Ablate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let head = head_name(self.head);
        match self.with {
            Ablation::Zero => write!(f, "head {head}: output set to 0"),
            Ablation::Mean => write!(f, "head {head}: output set to its mean"),
            Ablation::Uniform => write!(f, "head {head}: uniform weights"),
            Ablation::Shuffle { seed } => write!(f, "head {head}: weights shuffled (seed {seed})"),
        }
    }
}

impl EditKind for Ablate {
    fn spec() -> &'static EditSpec {
        &EditSpec {
            fields: &[
                ("ablate", "head, such as L3H5 or cross.L2H1"),
                ("with", "zero, mean, uniform or shuffle"),
                ("seed", "of shuffle; 0 where nothing is said"),
            ],
            meaning: "a head is put out of action: its output is zero or its mean over positions, or its weights are \
                even or in another order",
        }
    }

    fn offers(aim: &EditAim<'_>) -> Vec<EditOffer> {
        let EditAim::Head { head, made } = *aim else { return Vec::new() };
        let offer =
            |name, meaning, synonyms, with| EditOffer::new(name, meaning, Self { head, with }).synonyms(synonyms);
        // Shuffling once more is another order.
        let next_seed = |edit: &&Edit| {
            let Edit::Ablate(Self { head: of, with: Ablation::Shuffle { seed } }) = edit else { return None };
            (*of == head).then_some(seed + 1)
        };
        let seed = made.iter().filter_map(next_seed).max().unwrap_or(FIRST_SEED);
        vec![
            offer(
                "Ablate: zero",
                "Its output is set to 0",
                &[
                    "knock out",
                    "knockout",
                    "zero ablation",
                    "remove head",
                    "prune head",
                    "disable head",
                    "switch off head",
                ],
                Ablation::Zero,
            ),
            offer(
                "Ablate: mean",
                "Its output is set to its mean over the positions of this input",
                &["mean ablation"],
                Ablation::Mean,
            ),
            offer(
                "Uniform weights",
                "The same weight for every key it can see",
                &["uniform attention"],
                Ablation::Uniform,
            ),
            offer(
                "Shuffle weights",
                "Each row keeps its weights, in another order",
                &["permute attention", "random attention"],
                Ablation::Shuffle { seed },
            ),
        ]
    }

    fn short(&self) -> String {
        let how = match self.with {
            Ablation::Zero => "off",
            Ablation::Mean => "mean",
            Ablation::Uniform => "uniform",
            Ablation::Shuffle { .. } => "shuffled",
        };
        format!("{} {how}", head_name(self.head))
    }

    fn intervention(&self) -> Intervention<'_> {
        let (site, change) = match self.with {
            Ablation::Zero => (Site::Z, RowChange::Zero),
            Ablation::Mean => (Site::Z, RowChange::Mean),
            Ablation::Uniform => (Site::Scores, RowChange::Even),
            Ablation::Shuffle { seed } => (Site::Scores, RowChange::Shuffle(seed)),
        };
        Intervention::Rows { site, extent: Extent::of_head(self.head), change }
    }

    fn check(&self, there: &EditContext<'_>) -> Result<(), String> {
        there.head(self.head)
    }

    fn exclusive(&self) -> Option<Exclusive> {
        Some(Exclusive::Head(self.head))
    }

    fn puts_out(&self) -> Option<(HeadId, &'static str)> {
        let how = match self.with {
            Ablation::Zero => "output set to 0; weights unchanged",
            Ablation::Mean => "output set to its mean; weights unchanged",
            Ablation::Uniform => "weights made uniform",
            Ablation::Shuffle { .. } => "weights shuffled",
        };
        Some((self.head, how))
    }
}
