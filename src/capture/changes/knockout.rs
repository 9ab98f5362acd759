//! Some queries cannot attend to some keys.

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
    text::counted,
};

/// Some queries cannot attend to some keys.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Knockout {
    #[serde(rename = "knockout")]
    pub edges: Vec<[usize; 2]>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub stack: StackKind,
    #[serde(flatten)]
    pub scope: Scope,
    /// Before or after the normaliser.
    #[serde(rename = "after", default, skip_serializing_if = "is_default", with = "as_text")]
    pub cut: Cut,
}

/// When weights are taken away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cut {
    /// Before the normaliser: what is left takes over (Geva et al. 2023).
    #[default]
    Scores,
    /// After it: the weight is lost.
    Pattern,
}

impl Named for Cut {
    const WHAT: &'static str = "place; it is after softmax, or before it where nothing is said";

    fn written(&self) -> String {
        "softmax".to_owned()
    }

    fn read(text: &str) -> Option<Self> {
        (text == "softmax").then_some(Self::Pattern)
    }
}

impl fmt::Display for Knockout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { edges, stack, scope, cut } = self;
        let (stack, lost) = (stack_prefix(*stack), if *cut == Cut::Scores { "" } else { ", and its weight is lost" });
        match &edges[..] {
            [[query, key]] => write!(f, "{stack}query {query} cannot attend to key {key} {scope}{lost}"),
            _ => write!(f, "{stack}{} edges are cut {scope}{lost}", edges.len()),
        }
    }
}

impl EditKind for Knockout {
    fn spec() -> &'static EditSpec {
        &EditSpec {
            fields: &[
                ("knockout", "pairs of a query and a key, such as [[4, 2]]"),
                ("after", "softmax, where the weight is lost"),
                ("stack", "whose heads"),
                ("layers", "in which layers"),
                ("heads", "in which heads"),
            ],
            meaning: "some queries cannot attend to some keys",
        }
    }

    fn offers(aim: &EditAim<'_>) -> Vec<EditOffer> {
        let EditAim::Edges { head, edges } = aim else { return Vec::new() };
        let scopes = [
            (format!("Cut in head {head}"), Scope::Heads(vec![*head])),
            (format!("Cut in layer {}", head.layer), Scope::Layers(vec![head.layer])),
            ("Cut in all layers".to_owned(), Scope::All),
        ];
        let meaning = "The query cannot attend to the key; the rest of its row is scaled up";
        let offer = |(name, scope)| {
            EditOffer::new(name, meaning, Self { edges: edges.clone(), stack: head.stack, scope, cut: Cut::Scores })
        };
        scopes.into_iter().map(offer).collect()
    }

    fn short(&self) -> String {
        format!("{} cut", counted(self.edges.len(), "edge"))
    }

    fn intervention(&self) -> Intervention<'_> {
        let site = if self.cut == Cut::Scores { Site::Scores } else { Site::Pattern };
        let change = RowChange::Hide(Box::new(|query, key| self.edges.contains(&[query, key])));
        Intervention::Rows { site, extent: Extent::Stack(self.stack, &self.scope), change }
    }

    fn check(&self, there: &EditContext<'_>) -> Result<(), String> {
        let Self { edges, stack, scope, .. } = self;
        there.scope(Some(*stack), scope)?;
        let (n_query, n_key) = (there.n(stack.query_side()), there.n(stack.key_side()));
        match edges.iter().find(|[query, key]| *query >= n_query || *key >= n_key) {
            Some([query, key]) => {
                Err(format!("there is no edge from query {query} to key {key} among {n_query} × {n_key}"))
            }
            None if edges.is_empty() => Err("name the edge to cut".to_owned()),
            None => Ok(()),
        }
    }

    fn is_of_tokens(&self) -> bool {
        true
    }

    fn mentions(&self) -> Vec<(&'static str, Side, usize)> {
        match self.edges[..] {
            [[query, key]] => {
                vec![("query", self.stack.query_side(), query), ("key", self.stack.key_side(), key)]
            }
            _ => Vec::new(),
        }
    }
}
