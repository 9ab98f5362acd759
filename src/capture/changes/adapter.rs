//! A model without its adapter.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{EditAim, EditContext, EditKind, EditOffer, EditSpec, Exclusive, Intervention};
use crate::ids::Side;

/// The adapter of the model is left out: the run is one of the model that it was made for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaveOutAdapter {
    /// Name of the adapter, which is that of its folder.
    pub adapter: String,
    #[serde(rename = "on", with = "never")]
    pub off: (),
}

/// A field that is there and false.
mod never {
    use serde::{Deserialize, Deserializer, Serializer, de::Error as _};

    pub fn serialize<T, S: Serializer>(_: &T, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_bool(false)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<(), D::Error> {
        if bool::deserialize(from)? { Err(D::Error::custom("an adapter is on without a change")) } else { Ok(()) }
    }
}

impl fmt::Display for LeaveOutAdapter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "adapter {} is left out", self.adapter)
    }
}

impl EditKind for LeaveOutAdapter {
    fn spec() -> &'static EditSpec {
        &EditSpec {
            fields: &[("adapter", "name of the model's adapter"), ("on", "false")],
            meaning: "the adapter that is merged into the model is left out",
        }
    }

    fn offers(aim: &EditAim<'_>) -> Vec<EditOffer> {
        let EditAim::Adapter(name) = *aim else { return Vec::new() };
        let meaning = "Runs the model that the adapter was made for: what differs is what fine-tuning did";
        let synonyms = &["LoRA", "DoRA", "PEFT", "base model", "fine-tuning", "disable adapter"];
        let edit = Self { adapter: name.to_owned(), off: () };
        vec![EditOffer::new("Without adapter", meaning, edit).synonyms(synonyms)]
    }

    fn short(&self) -> String {
        format!("without {}", self.adapter)
    }

    fn intervention(&self) -> Intervention<'_> {
        Intervention::LeaveOutAdapter(&self.adapter)
    }

    /// Whether there is such an adapter is known where the model is.
    fn check(&self, _there: &EditContext<'_>) -> Result<(), String> {
        Ok(())
    }

    fn fits(&self, _len: &dyn Fn(Side) -> usize) -> bool {
        true
    }

    fn exclusive(&self) -> Option<Exclusive> {
        Some(Exclusive::Adapter)
    }
}
