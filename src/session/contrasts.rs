//! Two documents whose heads are held against each other: over two corpora, or in two models.

use super::{Document, Pane};
use crate::figure::spec::Against;

impl Pane {
    /// What the heads of its document are held against; none where the other one has nothing yet.
    pub fn held_against(&self, document: &Document, other: &Document) -> Option<Against> {
        Some(Against { cloud: self.cloud(other)?, names: document.told_from(other) })
    }
}

impl Document {
    /// Short names that tell two documents apart: of their corpora where these differ, else of their models.
    pub fn told_from(&self, other: &Self) -> [String; 2] {
        let corpora = [self, other].map(|document| document.corpus.as_ref().map(|corpus| corpus.source.name()));
        if let [Some(first), Some(second)] = &corpora
            && first != second
        {
            return [first.clone(), second.clone()];
        }
        let models =
            [self, other].map(|document| document.latest_capture().map(|capture| capture.model().name.clone()));
        match models {
            [Some(first), Some(second)] if first != second => [first, second],
            _ => [self.title(), other.title()],
        }
    }
}
