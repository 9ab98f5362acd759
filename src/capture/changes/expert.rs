//! An expert of a layer is put out of action.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{
    EditAim, EditContext, EditKind, EditOffer, EditSpec, Exclusive, Extent, Intervention, RowChange,
    codec::{Named, as_text, place_of},
    stack_prefix,
};
use crate::{
    capture::Site,
    ids::{ExpertId, StackKind},
};

/// One expert is put out of action.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AblateExpert {
    #[serde(rename = "expert", with = "as_text")]
    pub expert: ExpertId,
    pub with: ExpertAblation,
}

/// What becomes of an expert.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ExpertAblation {
    /// Its output is zero; the router chooses as before, and the weights of the other experts are as they were.
    Zero,
    /// The router cannot choose it: its score is minus infinity, so that each of its tokens goes to the next best expert,
    /// and weights follow from the scores of the others.
    Unchosen,
}

impl Named for ExpertId {
    const WHAT: &'static str = "expert such as L3E5";

    fn written(&self) -> String {
        expert_name(*self)
    }

    fn read(text: &str) -> Option<Self> {
        let (stack, layer, expert) = place_of(text, 'E')?;
        Some(Self { stack, layer, expert: expert? })
    }
}

/// An expert with its stack, where it is not the model's only one.
fn expert_name(expert: ExpertId) -> String {
    format!("{}{expert}", stack_prefix(expert.stack))
}

impl fmt::Display for AblateExpert {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let expert = expert_name(self.expert);
        match self.with {
            ExpertAblation::Zero => write!(f, "expert {expert}: output set to 0, other weights unchanged"),
            ExpertAblation::Unchosen => write!(f, "expert {expert}: never chosen by the router"),
        }
    }
}

impl EditKind for AblateExpert {
    fn spec() -> &'static EditSpec {
        &EditSpec {
            fields: &[
                ("expert", "expert of a layer, such as L3E5"),
                ("with", "zero, or unchosen where the router cannot choose it"),
            ],
            meaning: "an expert is put out of action: its output is zero while the weights of the others stay, or the \
                router cannot choose it",
        }
    }

    fn offers(aim: &EditAim<'_>) -> Vec<EditOffer> {
        let EditAim::Expert(expert) = *aim else { return Vec::new() };
        let offer = |name, meaning, with| EditOffer::new(name, meaning, Self { expert, with });
        vec![
            offer(
                "Switch off",
                "Its output is set to 0; tokens go to the same experts as before, with the same weights",
                ExpertAblation::Zero,
            ),
            offer(
                "Never choose",
                "Its score is minus infinity: its tokens go to the next best expert, and weights follow from the rest",
                ExpertAblation::Unchosen,
            ),
        ]
    }

    fn short(&self) -> String {
        let how = match self.with {
            ExpertAblation::Zero => "off",
            ExpertAblation::Unchosen => "never chosen",
        };
        format!("{} {how}", expert_name(self.expert))
    }

    fn intervention(&self) -> Intervention<'_> {
        let ExpertId { stack, layer, expert } = self.expert;
        let (site, value) = match self.with {
            // What it adds is multiplied by its weight.
            ExpertAblation::Zero => (Site::Router, 0.0),
            ExpertAblation::Unchosen => (Site::RouterLogits, f32::NEG_INFINITY),
        };
        Intervention::Rows { site, extent: Extent::Layer(stack, layer, None), change: RowChange::Column(expert, value) }
    }

    fn check(&self, there: &EditContext<'_>) -> Result<(), String> {
        let ExpertId { stack, layer, expert } = self.expert;
        if stack == StackKind::Cross {
            return Err(format!("“{self}” names cross-attention, which has no experts: name the decoder's"));
        }
        let experts = there.layer(stack, layer)?.mlp.and_then(|mlp| mlp.experts);
        let place = format!("{}L{layer}", stack_prefix(stack));
        let Some(experts) = experts else { return Err(format!("layer {place} has no experts")) };
        if expert >= experts.n {
            let name = expert_name(self.expert);
            return Err(format!("there is no expert {name}: the layer has {}", experts.n));
        }
        if self.with == ExpertAblation::Unchosen && experts.n_chosen >= experts.n {
            return Err(format!(
                "“{self}” leaves too few: each token goes to all {} experts of layer {place}; set its output to 0 instead",
                experts.n
            ));
        }
        Ok(())
    }

    fn exclusive(&self) -> Option<Exclusive> {
        Some(Exclusive::Expert(self.expert))
    }
}
