//! Options of the lines.

use serde::{Deserialize, Serialize};

use crate::analysis::edges::EdgeFilter;

/// Options of the view.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct HeadsOptions {
    pub filter: EdgeFilter,
}
