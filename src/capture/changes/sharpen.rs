//! The scores of a head are multiplied.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{
    EditAim, EditContext, EditKind, EditOffer, EditSpec, Extent, Intervention, RowChange, codec::as_text, head_name,
};
use crate::{capture::Site, ids::HeadId};

/// The scores of one head are multiplied: above 1 it attends more sharply, below 1 more evenly.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sharpen {
    #[serde(rename = "sharpen", with = "as_text")]
    pub head: HeadId,
    /// The factor, above 0: one over the temperature.
    pub by: f32,
}

impl fmt::Display for Sharpen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "head {}: scores × {}", head_name(self.head), self.by)
    }
}

impl EditKind for Sharpen {
    fn spec() -> &'static EditSpec {
        &EditSpec {
            fields: &[("sharpen", "head"), ("by", "factor above 0: one over the temperature")],
            meaning: "the scores of a head are multiplied",
        }
    }

    fn offers(aim: &EditAim<'_>) -> Vec<EditOffer> {
        let EditAim::Head { head, .. } = *aim else { return Vec::new() };
        let sharper = "Doubles its scores: the largest weights grow";
        let flatter = "Halves its scores: the weights become more even";
        vec![
            EditOffer::new("Softmax temperature ½", sharper, Self { head, by: 2.0 }).synonyms(&["sharpen attention"]),
            EditOffer::new("Softmax temperature 2", flatter, Self { head, by: 0.5 }).synonyms(&["flatten attention"]),
        ]
    }

    fn short(&self) -> String {
        format!("{} × {}", head_name(self.head), self.by)
    }

    fn intervention(&self) -> Intervention<'_> {
        let change = RowChange::Scale(self.by);
        Intervention::Rows { site: Site::Scores, extent: Extent::of_head(self.head), change }
    }

    fn check(&self, there: &EditContext<'_>) -> Result<(), String> {
        let Self { head, by } = *self;
        if !by.is_finite() || by <= 0.0 {
            return Err(format!("scores can be multiplied by numbers above 0 only, not by {by}"));
        }
        there.head(head)
    }
}
