//! Options of the explanations.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    analysis::explain::{Target, report::Question},
    options::{FieldValue, FieldValues, OptionField, Visit, put},
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

    /// Shows the options of the command line.
    pub fn visit(&mut self, visit: &mut Visit<'_>) {
        let question = &mut self.question;
        let mut read = |text: &str| {
            let names = || format!("choose from {}", Question::ALL.map(Question::name).join(", "));
            put(question, Question::from_name(text).ok_or_else(names))
        };
        let meaning = "Of explain: question: depends (which words), believe (this head), moves (what it writes), fact (which \
                       layer), aligns (alignment)";
        visit(OptionField::new("question", "Question", meaning, FieldValue::Read(&mut read, "WHAT")).strict());
        let meaning = "Of explain: rank special tokens such as [CLS] among the words, too";
        let field = OptionField::new("special", "Special tokens", meaning, FieldValue::Flag(&mut self.special));
        visit(field.strict());
    }

    /// Names in metadata before they were those of settings.
    pub fn said(&self) -> Vec<(&'static str, Value)> {
        vec![("question", json!(self.question.name())), ("special_ranked", json!(self.special))]
    }
}
