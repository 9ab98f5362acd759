//! Global tokens: those that see all and that all see.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{EditAim, EditContext, EditKind, EditOffer, EditSpec, Exclusive, Intervention, listed};
use crate::{
    ids::{HeadId, Side},
    spec::StackSpec,
};

/// These tokens, and no others, see all and are seen by all, in the layers that have keys and values for that
/// (Longformer).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SeeAll {
    /// Positions, from 0, in the one sequence of which the model knows such tokens.
    #[serde(rename = "global")]
    pub positions: Vec<usize>,
}

fn has_maps(stack: &StackSpec) -> bool {
    stack.layers.iter().any(|layer| layer.global)
}

impl fmt::Display for SeeAll {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.positions[..] {
            [] => f.write_str("no token has global attention"),
            [position] => write!(f, "only token {position} has global attention"),
            several => write!(f, "only tokens {} have global attention", listed(several)),
        }
    }
}

impl EditKind for SeeAll {
    fn spec() -> &'static EditSpec {
        &EditSpec {
            fields: &[("global", "positions of tokens, from 0")],
            meaning: "these tokens, and no others, see all and are seen by all (Longformer, LED)",
        }
    }

    fn offers(aim: &EditAim<'_>) -> Vec<EditOffer> {
        let EditAim::Tokens { side, positions, capture, .. } = aim else { return Vec::new() };
        let of_side = |stack: &&StackSpec| stack.kind.key_side() == *side && has_maps(stack);
        let Some(stack) = capture.model().stacks.iter().find(of_side) else { return Vec::new() };
        let now = capture.global_tokens(HeadId { stack: stack.kind, ..HeadId::default() });
        let is_global = positions.clone().all(|position| now.contains(&position));
        let others = now.iter().copied().filter(|position| !positions.contains(position));
        let mut then: Vec<usize> = others.chain(positions.clone().filter(|_| !is_global)).collect();
        then.sort_unstable();
        let (name, meaning) = if is_global {
            ("Not global", "It sees only its window, and only its window sees it")
        } else {
            ("Make global", "It sees all tokens and all see it, with separate query, key and value maps")
        };
        vec![EditOffer::new(name, meaning, Self { positions: then })]
    }

    fn short(&self) -> String {
        "global attention".to_owned()
    }

    fn intervention(&self) -> Intervention<'_> {
        Intervention::SeeAll(&self.positions)
    }

    fn check(&self, there: &EditContext<'_>) -> Result<(), String> {
        let Some(stack) = there.spec.stacks.iter().find(|stack| has_maps(stack)) else {
            return Err(format!("“{self}” needs a model that has tokens that see all, such as Longformer"));
        };
        self.positions.iter().try_for_each(|position| there.token(stack.kind.key_side(), *position))
    }

    fn fits(&self, len: &dyn Fn(Side) -> usize) -> bool {
        let last = self.positions.iter().max();
        Side::ALL.into_iter().any(|side| len(side) > 0 && last.is_none_or(|last| *last < len(side)))
    }

    fn is_of_tokens(&self) -> bool {
        true
    }

    fn exclusive(&self) -> Option<Exclusive> {
        Some(Exclusive::Global)
    }
}
