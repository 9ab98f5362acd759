//! A token is hidden.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{
    EditAim, EditContext, EditKind, EditOffer, EditSpec, Extent, Intervention, RowChange,
    codec::{as_text, is_default},
    token_name,
};
use crate::{capture::Site, ids::Side};

/// No query of any layer can attend to this token.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HideToken {
    /// Position, from 0.
    #[serde(rename = "hide")]
    pub position: usize,
    #[serde(default, skip_serializing_if = "is_default", with = "as_text")]
    pub side: Side,
}

impl fmt::Display for HideToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is hidden", token_name(self.side, self.position))
    }
}

impl EditKind for HideToken {
    fn spec() -> &'static EditSpec {
        &EditSpec {
            fields: &[("hide", "position of a token, from 0"), ("side", "whose, where there are several sequences")],
            meaning: "no query of any layer can attend to a token",
        }
    }

    fn offers(aim: &EditAim<'_>) -> Vec<EditOffer> {
        let EditAim::Tokens { side, positions, capture, .. } = aim else { return Vec::new() };
        let can_hide = capture.model().stacks.iter().any(|stack| stack.kind.key_side() == *side);
        vec![EditOffer {
            name: "Hide".into(),
            meaning: "No token can attend to it, in any layer (shortcut: double-click the token)",
            synonyms: &[],
            obstacle: (!can_hide).then_some("No attention reads these tokens"),
            edits: positions.clone().map(|position| Self { side: *side, position }.into()).collect(),
        }]
    }

    fn short(&self) -> String {
        format!("{} hidden", token_name(self.side, self.position))
    }

    fn intervention(&self) -> Intervention<'_> {
        let position = self.position;
        let change = RowChange::Hide(Box::new(move |_, key| key == position));
        Intervention::Rows { site: Site::Scores, extent: Extent::KeysOf(self.side), change }
    }

    fn check(&self, there: &EditContext<'_>) -> Result<(), String> {
        let Self { position, side } = *self;
        if there.n(side) == 0 || !there.spec.stacks.iter().any(|stack| stack.kind.key_side() == side) {
            let side = side.name();
            return Err(format!("no attention reads the side {side}, whose token {position} is to be hidden"));
        }
        there.token(side, position)
    }

    fn mentions(&self) -> Vec<(&'static str, Side, usize)> {
        vec![("token", self.side, self.position)]
    }
}
