//! Rows of a site take values from elsewhere.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{
    EditContext, EditKind, EditSpec, Extent, Intervention, RowChange,
    codec::{place_of_site, rows, site_name},
    stack_prefix,
};
use crate::{
    capture::{Matrix, Site},
    ids::{HeadId, Side, StackKind},
};

/// Rows of a site take values from elsewhere, such as another run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(into = "PatchJson", try_from = "PatchJson")]
pub struct Patch {
    pub site: Site,
    /// Which stack; of [`Site::Embed`], the one that its sequence enters.
    pub stack: StackKind,
    /// Layer, from 0; not used by `Embed` and `ResidFinal`.
    pub layer: usize,
    /// Which head of a per-head site; `None` for the others.
    pub head: Option<usize>,
    pub positions: Vec<usize>,
    pub value: Matrix,
}

#[derive(Serialize, Deserialize)]
struct PatchJson {
    patch: String,
    positions: Vec<usize>,
    #[serde(with = "rows")]
    value: Matrix,
}

impl From<Patch> for PatchJson {
    fn from(Patch { site, stack, layer, head, positions, value }: Patch) -> Self {
        Self { patch: site_name(stack, site, layer, head), positions, value }
    }
}

impl TryFrom<PatchJson> for Patch {
    type Error = String;

    fn try_from(PatchJson { patch, positions, value }: PatchJson) -> Result<Self, String> {
        let (stack, site, layer, head) = place_of_site(&patch)?;
        if positions.len() != value.n_rows() || site.is_per_head() != head.is_some() {
            return Err(format!("“{patch}” needs a row for each position, and a head where the site has heads"));
        }
        Ok(Self { site, stack, layer, head, positions, value })
    }
}

impl fmt::Display for Patch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { site, stack, layer, head, positions, .. } = self;
        let (n, s) = (positions.len(), if positions.len() == 1 { "" } else { "s" });
        let head = head.map_or_else(String::new, |head| format!("H{head}"));
        let layer = if site.is_of_layer() { format!(".L{layer}{head}") } else { String::new() };
        write!(f, "{n} row{s} of {}{}{layer} replaced", stack_prefix(*stack), site.name())
    }
}

impl EditKind for Patch {
    fn spec() -> &'static EditSpec {
        &EditSpec {
            fields: &[
                ("patch", "site, layer and head, such as z.L0H1 or resid_post.L3"),
                ("positions", "which rows"),
                ("value", "rows of numbers"),
            ],
            meaning: "rows of a site take values from elsewhere",
        }
    }

    fn short(&self) -> String {
        format!("{} patched", self.site.name())
    }

    fn intervention(&self) -> Intervention<'_> {
        let Self { site, stack, layer, head, positions, value } = self;
        let change = RowChange::Set(positions, value);
        Intervention::Rows { site: *site, extent: Extent::Layer(*stack, *layer, *head), change }
    }

    fn check(&self, there: &EditContext<'_>) -> Result<(), String> {
        let Self { site, stack, layer, head, positions, value } = self;
        there.site(*site, *stack, *layer, *head)?;
        match positions.len() {
            0 => Err(format!("“{self}” changes no row")),
            n if n != value.n_rows() => {
                Err(format!("“{self}” has {} rows of values for {n} positions", value.n_rows()))
            }
            _ => Ok(()),
        }
    }

    fn fits(&self, len: &dyn Fn(Side) -> usize) -> bool {
        !self.site.is_of_pairs()
            || self.value.n_cols() == len(self.stack.key_side())
                && self.positions.iter().all(|position| *position < len(self.stack.query_side()))
    }

    fn is_of_tokens(&self) -> bool {
        true
    }

    /// By a mean over other inputs, or the output of another run.
    fn puts_out(&self) -> Option<(HeadId, &'static str)> {
        let head = HeadId { stack: self.stack, layer: self.layer, head: self.head? };
        (self.site == Site::Z).then_some((head, "output replaced; weights unchanged"))
    }

    fn n_values(&self) -> usize {
        self.value.as_slice().len()
    }
}
