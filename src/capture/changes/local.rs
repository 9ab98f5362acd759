//! Attention near a place that the row itself predicts.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{
    EditAim, EditContext, EditKind, EditOffer, EditSpec, Extent, Intervention, RowChange, Scope,
    codec::{Named, as_text, is_default},
    stack_prefix,
};
use crate::{
    capture::Site,
    ids::{Side, StackKind},
    options::{Visit, choose, whole},
};

/// How far from its centre a query sees where it is offered.
const OFFERED: usize = 3;
/// The end of the slider; a larger number that was given widens it.
const MOST: usize = 16;

/// Queries attend within a window round a centre (Luong et al. 2015): the weights of the window, summing to 1 again, and
/// round a predicted centre times `exp(−(key − centre)² / (2 (reach / 2)²))`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Local {
    /// Keys at most so many positions from the centre, at least 1.
    #[serde(rename = "local")]
    pub reach: usize,
    #[serde(default, skip_serializing_if = "is_default", with = "as_text")]
    pub centre: Centre,
    #[serde(default, skip_serializing_if = "is_default")]
    pub stack: StackKind,
    #[serde(flatten)]
    pub scope: Scope,
}

/// The place round which a query attends. Luong's local-p predicts it by trained weights; here the row that the model
/// makes without a window predicts it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Centre {
    #[default]
    Strongest,
    Mean,
    Query,
}

vocabulary! {
    Centre: name, title;
    Strongest("strongest", "Strongest key"),
    Mean("mean", "Mean position"),
    Query("query", "Place of the query"),
}

impl Named for Centre {
    const WHAT: &'static str = "centre: strongest, mean or query";

    fn written(&self) -> String {
        self.name().to_owned()
    }

    fn read(text: &str) -> Option<Self> {
        Self::from_name(text)
    }
}

impl Centre {
    /// Its position, for a row of weights.
    fn of(self, query: usize, row: &[f32]) -> f32 {
        match self {
            Self::Strongest => {
                let best = (0..row.len()).rev().max_by(|a, b| row[*a].total_cmp(&row[*b]));
                best.unwrap_or(query) as f32
            }
            Self::Mean => {
                let sum: f32 = row.iter().sum();
                let moment: f32 = row.iter().enumerate().map(|(key, weight)| key as f32 * weight).sum();
                if sum > 0.0 { moment / sum } else { query as f32 }
            }
            Self::Query => query as f32,
        }
    }
}

impl Local {
    /// What is left of each weight of a row within its window.
    fn factors(&self, query: usize, row: &[f32]) -> Vec<f32> {
        let centre = self.centre.of(query, row);
        (0..row.len()).map(|key| self.factor(key as f32 - centre)).collect()
    }

    /// What is left of a weight so far from the centre.
    fn factor(&self, away: f32) -> f32 {
        let spread = self.reach as f32 / 2.0;
        match self.centre {
            _ if away.abs() > self.reach as f32 => 0.0,
            Centre::Query => 1.0,
            Centre::Strongest | Centre::Mean => (-away * away / (2.0 * spread * spread)).exp(),
        }
    }
}

impl fmt::Display for Local {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let centre = match self.centre {
            Centre::Strongest => "its strongest key",
            Centre::Mean => "its mean position",
            Centre::Query => "its own place",
        };
        let (stack, reach, scope) = (stack_prefix(self.stack), self.reach, &self.scope);
        write!(f, "{stack}each query attends within {reach} positions of {centre} {scope}")
    }
}

impl EditKind for Local {
    fn spec() -> &'static EditSpec {
        &EditSpec {
            fields: &[
                ("local", "how many positions from its centre a query sees"),
                ("centre", "strongest, mean or query: the key of the largest weight, the mean position, or its place"),
                ("stack", "whose heads"),
                ("layers", "in which layers"),
                ("heads", "in which heads"),
            ],
            meaning: "queries attend within a window round a centre, near a predicted one the less the further from it",
        }
    }

    fn offers(aim: &EditAim<'_>) -> Vec<EditOffer> {
        let (stack, scope) = match aim {
            EditAim::Head { head, .. } => (head.stack, Scope::Heads(vec![*head])),
            EditAim::Stack(stack) => (*stack, Scope::All),
            EditAim::Tokens { .. } | EditAim::Edges { .. } | EditAim::Expert(_) | EditAim::Adapter(_) => {
                return Vec::new();
            }
        };
        let meaning = "Each query attends near its strongest key, the less the further; drag the width under Changes";
        let synonyms = &["local attention", "Luong", "local-p", "predicted position", "Gaussian"];
        let change = Self { reach: OFFERED, centre: Centre::default(), stack, scope };
        vec![EditOffer::new("Local…", meaning, change).synonyms(synonyms)]
    }

    fn short(&self) -> String {
        format!("local {}", self.reach)
    }

    fn intervention(&self) -> Intervention<'_> {
        let change = RowChange::Fade(Box::new(|query, row| self.factors(query, row)));
        Intervention::Rows { site: Site::Pattern, extent: Extent::Stack(self.stack, &self.scope), change }
    }

    fn check(&self, there: &EditContext<'_>) -> Result<(), String> {
        if self.reach == 0 {
            return Err("a window reaches at least 1 position from its centre".to_owned());
        }
        there.scope(Some(self.stack), &self.scope)
    }

    fn fits(&self, _len: &dyn Fn(Side) -> usize) -> bool {
        self.reach > 0
    }

    fn options(&mut self, visit: &mut Visit<'_>) {
        let most = MOST.max(self.reach);
        let meaning = "How many positions from its centre a query sees";
        visit(whole("reach", "Reach", meaning, &mut self.reach, 1..=most).placeholder("reach"));
        let meaning = "The place round which a query attends: strongest, mean or query";
        choose(visit, ("centre", "Centre", meaning), &mut self.centre, &Centre::CHOICES);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::Edit;

    /// Of the scores .2, 1, −.3, .5, .1, .4, worked out in numpy.
    #[test]
    fn a_row_fades_with_the_distance_from_its_centre() {
        let scores = [0.2_f32, 1.0, -0.3, 0.5, 0.1, 0.4];
        let sum: f32 = scores.iter().map(|score| score.exp()).sum();
        let row = scores.map(|score| score.exp() / sum);
        let local = |centre| Local { reach: 2, centre, stack: StackKind::default(), scope: Scope::All };
        let of = |centre, query| {
            let mut weights = row.to_vec();
            let edit: Edit = local(centre).into();
            let head = crate::ids::HeadId::default();
            edit.apply_to_row(Site::Pattern, head, query, &mut weights);
            weights
        };
        let by_query = of(Centre::Query, 2);
        let expected = [0.164_291, 0.365_636, 0.099_647, 0.221_769, 0.148_656, 0.0];
        assert!(by_query.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-5), "{by_query:?}");
        // Round 2.6, which a trained map would predict.
        let faded: Vec<f32> = (0..6).map(|key| local(Centre::Mean).factor(key as f32 - 2.6)).collect();
        let in_window: f32 =
            row.iter().zip(&faded).filter(|(_, factor)| **factor > 0.0).map(|(weight, _)| weight).sum();
        let expected = [0.0, 0.121_646, 0.099_595, 0.244_964, 0.066_761, 0.0];
        let found = row.iter().zip(&faded).map(|(weight, factor)| weight / in_window * factor);
        assert!(found.zip(expected).all(|(a, b)| (a - b).abs() < 1e-5));
        assert_eq!((Centre::Strongest.of(5, &row), Centre::Query.of(5, &row)), (1.0, 5.0));
        let mean: f32 = row.iter().enumerate().map(|(key, weight)| key as f32 * weight).sum();
        assert!((Centre::Mean.of(0, &row) - mean).abs() < 1e-6);
        assert!(of(Centre::Strongest, 0)[4..].iter().all(|weight| *weight == 0.0));
    }
}
