//! The mask token is read in place of a token.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{
    EditAim, EditContext, EditKind, EditOffer, EditSpec, Intervention,
    codec::{as_text, is_default},
    token_name,
};
use crate::ids::Side;

/// The model's mask token is read in place of one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MaskToken {
    /// Position, from 0.
    #[serde(rename = "mask")]
    pub position: usize,
    #[serde(default, skip_serializing_if = "is_default", with = "as_text")]
    pub side: Side,
}

impl fmt::Display for MaskToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is masked", token_name(self.side, self.position))
    }
}

impl EditKind for MaskToken {
    fn spec() -> &'static EditSpec {
        &EditSpec {
            fields: &[("mask", "position of a token, from 0"), ("side", "whose")],
            meaning: "the model's mask token is read in place of one",
        }
    }

    fn offers(aim: &EditAim<'_>) -> Vec<EditOffer> {
        let EditAim::Tokens { side, positions, capture, has_mask } = aim else { return Vec::new() };
        let tokens = capture.tokens(*side);
        let has_ids = positions.clone().all(|at| tokens.get(at).is_some_and(|token| token.id.is_some()));
        vec![EditOffer {
            name: "Mask".into(),
            meaning: "Replaces it by the model’s mask token",
            synonyms: &[],
            obstacle: (!has_mask || !has_ids).then_some("The model has no mask token"),
            edits: positions.clone().map(|position| Self { side: *side, position }.into()).collect(),
        }]
    }

    fn short(&self) -> String {
        format!("{} masked", token_name(self.side, self.position))
    }

    fn intervention(&self) -> Intervention<'_> {
        Intervention::Read { side: self.side, position: self.position, id: None }
    }

    fn check(&self, there: &EditContext<'_>) -> Result<(), String> {
        there.token_with_id(self.side, self.position, self)
    }
}
