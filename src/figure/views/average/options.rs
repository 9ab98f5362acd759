//! Options of mean attention.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    analysis::PointCloud,
    figure::{spec::FigureError, views::ViewScope},
    options::{FieldValue, OptionField, Visit, choose_with, in_window},
};

/// Options of the view: in settings and session files the name alone, as there has only been one.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AverageOptions {
    /// Annotation whose values are told apart.
    pub annotation: Option<String>,
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

    /// Shows the options: the name of an annotation, which the window chooses among those that there are.
    pub fn visit(&mut self, scope: &ViewScope<'_>, visit: &mut Visit<'_>) {
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
        vec![("annotation", json!(self.annotation))]
    }
}
