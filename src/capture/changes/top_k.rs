//! Queries keep their strongest keys alone.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{
    EditAim, EditContext, EditKind, EditOffer, EditSpec, Extent, Intervention, Rest, RowChange, Scope,
    codec::is_default, stack_prefix,
};
use crate::{
    capture::Site,
    ids::{Side, StackKind},
    options::{FieldValue, OptionField, Visit, whole},
};

/// How many keys are kept where it is offered.
const OFFERED: usize = 3;
/// The end of the slider; a larger number that was given widens it.
const MOST: usize = 16;

/// Queries of some heads keep their strongest keys alone (Gupta et al. 2021).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TopK {
    /// How many, at least 1; of equal weights the first keys are kept.
    #[serde(rename = "top_k")]
    pub k: usize,
    /// Whether what stays is scaled up to what the row was; else the rest of the weight is lost.
    #[serde(default = "yes", skip_serializing_if = "bool::clone")]
    pub renormalize: bool,
    #[serde(default, skip_serializing_if = "is_default")]
    pub stack: StackKind,
    #[serde(flatten)]
    pub scope: Scope,
}

const fn yes() -> bool {
    true
}

/// The largest of a row.
fn strongest(row: &[f32], k: usize) -> Vec<bool> {
    let mut order: Vec<usize> = (0..row.len()).collect();
    order.sort_by(|a, b| row[*b].total_cmp(&row[*a]));
    let mut kept = vec![false; row.len()];
    order.into_iter().take(k).for_each(|key| kept[key] = true);
    kept
}

impl fmt::Display for TopK {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys = if self.k == 1 { "strongest key".to_owned() } else { format!("{} strongest keys", self.k) };
        let lost = if self.renormalize { "" } else { ", and the rest of its weight is lost" };
        write!(f, "{}each query keeps its {keys} {}{lost}", stack_prefix(self.stack), self.scope)
    }
}

impl EditKind for TopK {
    fn spec() -> &'static EditSpec {
        &EditSpec {
            fields: &[
                ("top_k", "how many keys each query keeps"),
                ("renormalize", "false, where the rest of the weight is lost"),
                ("stack", "whose heads"),
                ("layers", "in which layers"),
                ("heads", "in which heads"),
            ],
            meaning: "queries keep their strongest keys alone",
        }
    }

    fn offers(aim: &EditAim<'_>) -> Vec<EditOffer> {
        let (name, stack, scope) = match aim {
            EditAim::Head { head, .. } => ("Top-k…", head.stack, Scope::Heads(vec![*head])),
            EditAim::Stack(stack) => ("Top-k", *stack, Scope::All),
            EditAim::Tokens { .. } | EditAim::Edges { .. } | EditAim::Expert(_) | EditAim::Adapter(_) => {
                return Vec::new();
            }
        };
        let meaning = "Each query keeps its strongest keys alone; drag their number under Changes";
        let synonyms = &["sparse attention", "strongest keys", "prune weights"];
        vec![EditOffer::new(name, meaning, Self { k: OFFERED, renormalize: true, stack, scope }).synonyms(synonyms)]
    }

    fn short(&self) -> String {
        format!("top {}", self.k)
    }

    fn intervention(&self) -> Intervention<'_> {
        let rest = if self.renormalize { Rest::Shared } else { Rest::Lost };
        let change = RowChange::Keep(Box::new(|row| strongest(row, self.k)), rest);
        Intervention::Rows { site: Site::Pattern, extent: Extent::Stack(self.stack, &self.scope), change }
    }

    fn check(&self, there: &EditContext<'_>) -> Result<(), String> {
        if self.k == 0 {
            return Err("a query keeps at least one key".to_owned());
        }
        there.scope(Some(self.stack), &self.scope)
    }

    fn fits(&self, _len: &dyn Fn(Side) -> usize) -> bool {
        self.k > 0
    }

    fn options(&mut self, visit: &mut Visit<'_>) {
        let most = MOST.max(self.k);
        visit(whole("k", "Strongest keys", "How many keys each query keeps", &mut self.k, 1..=most).placeholder("k"));
        let meaning = "What stays is scaled up to what the row was; else the rest of the weight is lost";
        visit(OptionField::new("renormalize", "Renormalised", meaning, FieldValue::Flag(&mut self.renormalize)));
    }
}
