//! Options of the lines.

use std::num::ParseIntError;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    analysis::edges::EdgeFilter,
    figure::spec::plain,
    options::{FieldValue, OptionField, Visit, fraction, put},
};

/// Options of the view.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct HeadsOptions {
    pub filter: EdgeFilter,
}

impl HeadsOptions {
    /// Shows the options of the command line.
    pub fn visit(&mut self, visit: &mut Visit<'_>) {
        let filter = &mut self.filter;
        let meaning = "Lines: the strongest of each row that together cover this share of it";
        let mut read = |text: &str| put(filter, fraction(text).map(EdgeFilter::TopP));
        let field = OptionField::new("top_p", "Share of each row", meaning, FieldValue::Read(&mut read, "P"));
        visit(field.conflicts(&["top_k", "threshold"]));
        let meaning = "Lines: number of the strongest of each row";
        let mut read = |text: &str| {
            let number = text.parse().map_err(|error: ParseIntError| error.to_string());
            put(filter, number.map(EdgeFilter::TopK))
        };
        let field = OptionField::new("top_k", "Lines of each row", meaning, FieldValue::Read(&mut read, "K"));
        visit(field.conflicts(&["threshold"]));
        let meaning = "Lines and flows: smallest weight";
        let mut read = |text: &str| put(filter, fraction(text).map(EdgeFilter::Threshold));
        visit(OptionField::new("threshold", "Smallest weight", meaning, FieldValue::Read(&mut read, "W")));
    }

    /// Names in metadata before they were those of settings.
    pub fn said(&self) -> Vec<(&'static str, Value)> {
        let lines = match self.filter {
            EdgeFilter::TopP(p) => json!({ "top_p": plain(&p) }),
            EdgeFilter::TopK(k) => json!({ "top_k": k }),
            EdgeFilter::Threshold(least) => json!({ "threshold": plain(&least) }),
        };
        vec![("lines", lines)]
    }
}
