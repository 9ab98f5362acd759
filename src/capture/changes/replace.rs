//! Another token is read in place of one.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{
    EditContext, EditKind, EditSpec, Intervention,
    codec::{as_text, is_default},
    token_name,
};
use crate::ids::Side;

/// Another token is read in place of one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReplaceToken {
    /// Position, from 0.
    #[serde(rename = "replace")]
    pub position: usize,
    pub id: u32,
    #[serde(default, skip_serializing_if = "is_default", with = "as_text")]
    pub side: Side,
}

impl fmt::Display for ReplaceToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is replaced by the token with the id {}", token_name(self.side, self.position), self.id)
    }
}

impl EditKind for ReplaceToken {
    fn spec() -> &'static EditSpec {
        &EditSpec {
            fields: &[
                ("replace", "position of a token, from 0"),
                ("id", "of the token that is read"),
                ("side", "whose"),
            ],
            meaning: "another token is read in place of one",
        }
    }

    fn short(&self) -> String {
        format!("{} replaced", token_name(self.side, self.position))
    }

    fn intervention(&self) -> Intervention<'_> {
        Intervention::Read { side: self.side, position: self.position, id: Some(self.id) }
    }

    fn check(&self, there: &EditContext<'_>) -> Result<(), String> {
        there.token_with_id(self.side, self.position, self)
    }
}
