//! Options of features over a corpus.

use serde::{Deserialize, Serialize};

use crate::{
    analysis::sae::{FeatureOrder, FeatureQuestion},
    options::{FieldValue, OptionField, Visit, choose_with, whole},
};

/// Largest number of inputs and features that can be asked for.
const MOST: usize = 1 << 24;
/// Texts of a feature.
const MOST_TEXTS: usize = 100;

/// Which dictionary, and what is listed of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FeatureChoices {
    /// Folder of the dictionary.
    pub sae: Option<String>,
    /// The feature that is shown; the first of the list where none is chosen.
    pub feature: Option<usize>,
    pub order: FeatureOrder,
    /// So many of the first inputs; all where it is 0.
    pub first: usize,
    /// Texts that are kept of each feature.
    pub texts: usize,
}

impl Default for FeatureChoices {
    fn default() -> Self {
        Self { sae: None, feature: None, order: FeatureOrder::default(), first: 0, texts: 10 }
    }
}

impl FeatureChoices {
    /// What is counted; none before a dictionary is chosen.
    pub fn question(&self) -> Option<FeatureQuestion> {
        Some(FeatureQuestion { sae: self.sae.clone()?, texts: self.texts })
    }

    /// The inputs that are run, of those that there are.
    pub fn inputs(&self, there: impl Iterator<Item = usize>) -> impl Iterator<Item = usize> {
        there.take(if self.first == 0 { usize::MAX } else { self.first })
    }

    /// Shows the options; those that the window has beside the list are of the command line alone.
    pub fn visit(&mut self, visit: &mut Visit<'_>) {
        let meaning = "Of features: folder of a dictionary as SAELens saved it";
        let value = FieldValue::Words(&mut self.sae, "path/to/sae");
        let field = OptionField::new("sae", "Dictionary", meaning, value);
        visit(field.placeholder("FOLDER").strict().heading("Features over a corpus"));
        let mut read = |text: &str| {
            self.feature = Some(text.parse().map_err(|_| format!("a feature is a whole number: {text} was given"))?);
            Ok(())
        };
        let meaning = "Of features: the one that is drawn [default: the first of the list]";
        let value = FieldValue::Read(&mut read, "N");
        visit(OptionField::new("feature", "Feature", meaning, value).strict().on_command_line());
        let meaning = "Of features: what their list is sorted by";
        choose_with(visit, ("feature_order", "Order", meaning), &mut self.order, &FeatureOrder::CHOICES, |field| {
            field.strict().on_command_line()
        });
        let meaning = "Of features: so many of the first inputs; 0 is all of them";
        visit(whole("feature_inputs", "Inputs", meaning, &mut self.first, 0..=MOST).strict().settles());
        let meaning = "Of features: texts that are kept of each, by the largest activation";
        visit(whole("feature_texts", "Texts", meaning, &mut self.texts, 1..=MOST_TEXTS).strict().settles());
    }
}
