//! The search of a pane: what is looked for in its joint spaces, and what was found.

use std::{collections::BTreeMap, sync::Arc};

use super::{Document, Loadable, Pane};
use crate::{
    analysis::{
        cloud_query::{CloudQuery, CloudResult, Found},
        point_set::PointSet,
    },
    ids::HeadId,
};

impl Pane {
    /// What is known about the search; `None` where nothing is looked for, or it was not asked yet.
    pub fn search_answer(&self, document: &Document) -> Option<&Loadable<Arc<CloudResult>>> {
        let survey = self.survey(document, self.search_question()?)?;
        self.surveys.find(&survey)
    }

    /// What the search asks; `None` where nothing is looked for.
    pub fn search_question(&self) -> Option<CloudQuery> {
        (!self.search.text.trim().is_empty()).then(|| CloudQuery::Search(self.search.clone()))
    }

    /// What the search found; while it is asked anew, what it found before in the same points.
    pub fn found(&self, document: &Document) -> Option<&Found> {
        let CloudResult::Search(found) = &**self.search_answer(document)?.latest()? else { return None };
        Some(found)
    }

    /// The points that the search found, if any.
    pub fn hits(&self, document: &Document) -> Option<&Arc<PointSet>> {
        Some(&self.found(document)?.points).filter(|points| !points.is_empty())
    }

    /// How much the hits lie together in each head: the larger, the sooner it comes.
    pub fn ranking(&self, document: &Document) -> Option<&Arc<BTreeMap<HeadId, f32>>> {
        Some(&self.found(document)?.scores).filter(|scores| !scores.is_empty())
    }
}
