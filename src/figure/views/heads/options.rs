//! Options of the lines.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{analysis::edges::EdgeFilter, figure::spec::plain};

/// Options of the view.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct HeadsOptions {
    pub filter: EdgeFilter,
}

impl HeadsOptions {
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
