//! Options of mean attention.

use serde::{Deserialize, Serialize};

/// Options of the view: in settings and session files the name alone, as there has only been one.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AverageOptions {
    /// Annotation whose values are told apart.
    pub annotation: Option<String>,
}
