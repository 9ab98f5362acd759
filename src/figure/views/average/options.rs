//! Options of mean attention.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    analysis::PointCloud,
    figure::{spec::FigureError, views::ViewScope},
    options::{FieldValue, OptionField, Visit, choose, choose_with, in_window},
};

/// Numbers of pairs of positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum PairsShow {
    #[default]
    Mean,
    /// How much a weight changes from one input to the next.
    Deviation,
}

impl PairsShow {
    /// Values with their names and labels.
    pub const CHOICES: [(Self, &'static str, &'static str); 2] =
        [(Self::Mean, "mean", "Mean"), (Self::Deviation, "deviation", "Standard deviation")];
}

/// Options of the view.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(from = "StoredOptions")]
pub struct AverageOptions {
    /// Annotation whose values are told apart.
    pub annotation: Option<String>,
    pub pairs: PairsShow,
}

/// Options in settings and session files: the name alone, when it was the only one.
#[derive(Deserialize)]
#[serde(untagged)]
enum StoredOptions {
    Annotation(Option<String>),
    All {
        #[serde(default)]
        annotation: Option<String>,
        #[serde(default)]
        pairs: PairsShow,
    },
}

impl From<StoredOptions> for AverageOptions {
    fn from(stored: StoredOptions) -> Self {
        match stored {
            StoredOptions::Annotation(annotation) => Self { annotation, pairs: PairsShow::default() },
            StoredOptions::All { annotation, pairs } => Self { annotation, pairs },
        }
    }
}

impl AverageOptions {
    /// Lets an annotation give way that the inputs do not have.
    pub fn keep_told(&mut self, cloud: &PointCloud) {
        self.annotation = self.annotation.take().filter(|name| cloud.annotations().contains(name));
    }

    /// Refuses an annotation that the inputs do not have.
    ///
    /// # Errors
    /// Says which ones they have.
    pub fn check_told(&self, cloud: &PointCloud) -> Result<(), FigureError> {
        let Some(name) = self.annotation.as_ref().filter(|name| !cloud.annotations().contains(name)) else {
            return Ok(());
        };
        let known = match cloud.annotations() {
            [] => "they have none".to_owned(),
            known => format!("choose one of {}", known.join(", ")),
        };
        Err(FigureError::Failed(format!("the inputs have no annotation `{name}`: {known}")))
    }

    /// Shows the options. The window chooses an annotation among those that there are.
    pub fn visit(&mut self, scope: &ViewScope<'_>, visit: &mut Visit<'_>) {
        let meaning =
            "Of average: the number of each pair of positions, its mean weight over inputs or how much that changes";
        choose(visit, ("pairs-show", "Pairs show", meaning), &mut self.pairs, &PairsShow::CHOICES);
        let words = ("annotation", "Compare by", "Of average: the annotation of a corpus whose values are compared");
        let (name, label, meaning) = words;
        let value = FieldValue::Words(&mut self.annotation, "mood");
        visit(OptionField::new(name, label, meaning, value).placeholder("NAME").strict().on_command_line());
        let known = scope.cloud.map_or(&[][..], PointCloud::annotations);
        if known.is_empty() {
            return;
        }
        let mut chosen = self.annotation.clone().filter(|name| known.contains(name));
        let before = chosen.clone();
        let mut choices = vec![(None, "none", "Nothing")];
        choices.extend(known.iter().map(|name| (Some(name.clone()), name.as_str(), name.as_str())));
        choose_with(visit, words, &mut chosen, &choices, in_window);
        if chosen != before {
            self.annotation = chosen;
        }
    }

    /// Names in metadata before they were those of settings.
    pub fn said(&self) -> Vec<(&'static str, Value)> {
        vec![("annotation", json!(self.annotation)), ("pairs_show", json!(self.pairs))]
    }
}
