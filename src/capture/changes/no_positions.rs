//! A run without positions.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{EditAim, EditContext, EditKind, EditOffer, EditSpec, Exclusive, Intervention};
use crate::ids::Side;

/// All that tells a model where a token stands, but masks and windows: position embeddings are left out, rotary angles
/// and biases of positions are 0.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NoPositions {
    #[serde(rename = "no_positions", with = "always")]
    pub all: (),
}

/// A field that is there and true.
mod always {
    use serde::{Deserialize, Deserializer, Serializer, de::Error as _};

    pub fn serialize<T, S: Serializer>(_: &T, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_bool(true)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<(), D::Error> {
        if bool::deserialize(from)? { Ok(()) } else { Err(D::Error::custom("it is true, or left out")) }
    }
}

impl fmt::Display for NoPositions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("positions are left out")
    }
}

impl EditKind for NoPositions {
    fn spec() -> &'static EditSpec {
        &EditSpec {
            fields: &[("no_positions", "true")],
            meaning: "position embeddings are left out, rotary angles and position biases are 0",
        }
    }

    fn offers(aim: &EditAim<'_>) -> Vec<EditOffer> {
        let EditAim::Stack(_) = aim else { return Vec::new() };
        let meaning =
            "Position embeddings are left out, rotary angles and position biases are 0: masks alone tell order";
        let synonyms = &["order", "position embeddings", "NoPE"];
        vec![EditOffer::new("Without positions", meaning, Self { all: () }).synonyms(synonyms)]
    }

    fn short(&self) -> String {
        "no positions".to_owned()
    }

    fn intervention(&self) -> Intervention<'_> {
        Intervention::LeaveOutPositions
    }

    /// Whether there are positions to leave out is known when they would be read.
    fn check(&self, _there: &EditContext<'_>) -> Result<(), String> {
        Ok(())
    }

    fn fits(&self, _len: &dyn Fn(Side) -> usize) -> bool {
        true
    }

    fn exclusive(&self) -> Option<Exclusive> {
        Some(Exclusive::Positions)
    }
}
