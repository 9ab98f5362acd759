//! Options of the explanations.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    analysis::explain::report::LabQuestion,
    figure::views::ViewScope,
    options::{FieldValue, FieldValues, OptionField, Visit, put},
};

/// Options of the view.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LabOptions {
    pub question: LabQuestion,
    /// Whether special tokens are ranked among the words.
    pub special: bool,
    /// Columns that were taken away or added, by name.
    pub shown: BTreeMap<String, bool>,
    /// Options that were turned, by the column's name.
    pub turned: BTreeMap<String, FieldValues>,
}

impl LabOptions {
    /// Whether special tokens are ranked among the words.
    pub const fn ranks_special(&self) -> bool {
        self.special
    }

    /// Lets go of links that somebody made for one input.
    pub fn leave_input(&mut self) {
        self.turned.values_mut().for_each(|settings| drop(settings.remove("gold")));
    }

    /// Shows the options.
    pub fn visit(&mut self, scope: &ViewScope<'_>, visit: &mut Visit<'_>) {
        let question = &mut self.question;
        let mut read = |text: &str| {
            let names = || format!("choose from {}", LabQuestion::ALL.map(LabQuestion::name).join(", "));
            put(question, LabQuestion::from_name(text).ok_or_else(names))
        };
        let meaning = "Of explain: question: depends (which words), believe (this head), moves (what it writes), fact (which \
                       layer), aligns (alignment), words (embedding table)";
        let value = FieldValue::Read(&mut read, "WHAT");
        visit(OptionField::new("question", "Question", meaning, value).strict().on_command_line());
        if scope.all || scope.has_special && self.question == LabQuestion::Depends {
            let meaning = "Rank special tokens such as [CLS] and [SEP] among the words, too; left out, they have no bar \
                           and no place, and how much each method gives them is said above the bars";
            let value = FieldValue::Flag(&mut self.special);
            visit(OptionField::new("special", "Include special tokens", meaning, value).strict());
        }
    }

    /// Names in metadata before they were those of settings.
    pub fn said(&self) -> Vec<(&'static str, Value)> {
        vec![("question", json!(self.question.name())), ("special_ranked", json!(self.special))]
    }
}
