//! A head attends as given.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{
    Edit, EditContext, EditKind, EditSpec, Exclusive, Extent, Intervention, RowChange,
    codec::{as_text, rows},
    head_name,
};
use crate::{
    capture::{Matrix, Site},
    ids::{HeadId, Side},
};

/// One head attends as given.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SetPattern {
    #[serde(rename = "pattern", with = "as_text")]
    pub head: HeadId,
    /// `[n_query, n_key]`; taken as it is, so rows should sum to one.
    #[serde(rename = "value", with = "rows")]
    pub pattern: Matrix,
}

impl fmt::Display for SetPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "head {}: weights set", head_name(self.head))
    }
}

impl EditKind for SetPattern {
    fn spec() -> &'static EditSpec {
        &EditSpec {
            fields: &[("pattern", "head"), ("value", "rows of weights, a row for each query")],
            meaning: "a head attends as given",
        }
    }

    fn short(&self) -> String {
        format!("{} set", head_name(self.head))
    }

    fn intervention(&self) -> Intervention<'_> {
        let change = RowChange::SetAll(&self.pattern);
        Intervention::Rows { site: Site::Pattern, extent: Extent::of_head(self.head), change }
    }

    fn check(&self, there: &EditContext<'_>) -> Result<(), String> {
        there.head(self.head)
    }

    fn fits(&self, len: &dyn Fn(Side) -> usize) -> bool {
        self.pattern.shape() == [len(self.head.stack.query_side()), len(self.head.stack.key_side())]
    }

    fn is_of_tokens(&self) -> bool {
        true
    }

    fn exclusive(&self) -> Option<Exclusive> {
        Some(Exclusive::Head(self.head))
    }

    fn is_redrawn(&self, other: &Edit) -> bool {
        matches!(other, Edit::SetPattern(other) if other.head == self.head)
    }

    fn n_values(&self) -> usize {
        self.pattern.as_slice().len()
    }
}
