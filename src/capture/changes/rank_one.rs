//! The second matrix of a layer's MLP has a change of rank one.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{EditContext, EditKind, EditSpec, Intervention, codec::place, stack_prefix};
use crate::ids::StackKind;

/// The second matrix of a layer's MLP has a change of rank one, `left · rightᵀ`, as editing an association
/// makes it (Meng et al. 2022).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(into = "RankOneJson", try_from = "RankOneJson")]
pub struct RankOne {
    pub stack: StackKind,
    /// In which layer, from 0.
    pub layer: usize,
    /// By what comes out, `[d_model]`.
    pub left: Vec<f32>,
    /// By what goes in, `[d_mlp]`.
    pub right: Vec<f32>,
}

#[derive(Serialize, Deserialize)]
struct RankOneJson {
    rank_one: String,
    left: Vec<f32>,
    right: Vec<f32>,
}

impl From<RankOne> for RankOneJson {
    fn from(RankOne { stack, layer, left, right }: RankOne) -> Self {
        Self { rank_one: format!("{}L{layer}", stack_prefix(stack)), left, right }
    }
}

impl TryFrom<RankOneJson> for RankOne {
    type Error = String;

    fn try_from(RankOneJson { rank_one, left, right }: RankOneJson) -> Result<Self, String> {
        match place(&rank_one) {
            Some((stack, layer, None)) => Ok(Self { stack, layer, left, right }),
            Some((.., Some(_))) | None => Err(format!("“{rank_one}” is no layer such as L3")),
        }
    }
}

impl fmt::Display for RankOne {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MLP of {}L{}: rank-one edit", stack_prefix(self.stack), self.layer)
    }
}

impl EditKind for RankOne {
    fn spec() -> &'static EditSpec {
        &EditSpec {
            fields: &[("rank_one", "layer, such as L3"), ("left", "d_model numbers"), ("right", "d_mlp numbers")],
            meaning: "left · rightᵀ is added to the second matrix of an MLP",
        }
    }

    fn short(&self) -> String {
        format!("MLP of L{}", self.layer)
    }

    fn intervention(&self) -> Intervention<'_> {
        let Self { stack, layer, left, right } = self;
        Intervention::AddToMlp { stack: *stack, layer: *layer, left, right }
    }

    fn check(&self, there: &EditContext<'_>) -> Result<(), String> {
        if self.stack.is_guest() {
            let (stack, host) = (self.stack, self.stack.host());
            return Err(format!("“{self}” names the stack {stack}, which has no MLP of its own: name the {host}'s"));
        }
        if !self.left.iter().chain(&self.right).all(|value| value.is_finite()) {
            return Err(format!("“{self}” holds values that are not finite"));
        }
        there.layer(self.stack, self.layer).map(|_| ())
    }
}
