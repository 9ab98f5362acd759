//! Options of the explanations.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    analysis::explain::{Target, report::Question},
    options::FieldValues,
};

/// Options of the view. What is explained belongs to an input and is not remembered with the rest.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LabOptions {
    pub question: Question,
    /// The output that it is about.
    #[serde(skip)]
    pub target: Target,
    /// Whether special tokens are ranked among the words.
    pub special: bool,
    /// Columns that were taken away or added, by name.
    pub shown: BTreeMap<String, bool>,
    /// Options that were turned, by the column's name.
    pub turned: BTreeMap<String, FieldValues>,
}

impl LabOptions {
    /// Lets go of what is about one input alone: positions, outcomes, links that somebody made for it.
    pub fn leave_input(&mut self) {
        self.target = Target::default();
        self.turned.values_mut().for_each(|settings| drop(settings.remove("gold")));
    }

    /// Names in metadata before they were those of settings.
    pub fn said(&self) -> Vec<(&'static str, Value)> {
        vec![("question", json!(self.question.name())), ("special_ranked", json!(self.special))]
    }
}
