//! Options of mean attention.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    analysis::Cloud,
    figure::spec::FigureError,
    options::{FieldValue, OptionField, Visit},
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
    pub fn keep_told(&mut self, cloud: &Cloud) {
        self.annotation = self.annotation.take().filter(|name| cloud.annotations().contains(name));
    }

    /// Refuses an annotation that the inputs do not have.
    ///
    /// # Errors
    /// Says which ones they have.
    pub fn check_told(&self, cloud: &Cloud) -> Result<(), FigureError> {
        let Some(name) = self.annotation.as_ref().filter(|name| !cloud.annotations().contains(name)) else {
            return Ok(());
        };
        let known = match cloud.annotations() {
            [] => "they have none".to_owned(),
            known => format!("choose one of {}", known.join(", ")),
        };
        Err(FigureError::Failed(format!("the inputs have no annotation `{name}`: {known}")))
    }

    /// Shows the options of the command line.
    pub fn visit(&mut self, visit: &mut Visit<'_>) {
        let meaning = "Of average: the annotation of a corpus whose values are compared";
        let value = FieldValue::Words(&mut self.annotation, "mood");
        visit(OptionField::new("annotation", "Compare by", meaning, value).placeholder("NAME").strict());
    }

    /// Names in metadata before they were those of settings.
    pub fn said(&self) -> Vec<(&'static str, Value)> {
        vec![("annotation", json!(self.annotation))]
    }
}
