//! Space that a pane lays out, its selected cell, and what is there of it.

use std::sync::Arc;

use super::{Document, HeadStep, Pane};
use crate::{
    analysis::{
        PointCloud, Space,
        point_set::{PointSet, Spot},
        projection::ProjectionOptions,
    },
    corpus::Kept,
    ids::HeadId,
};

impl Pane {
    /// The space that is laid out; views about queries and keys know no other.
    pub const fn space(&self) -> Space {
        if self.view.facts().lays_out_points { self.options.projection().space } else { Space::QueriesKeys }
    }

    /// How the points are laid out.
    pub const fn projection_options(&self) -> ProjectionOptions {
        ProjectionOptions { space: self.space(), ..self.options.projection() }
    }

    /// What the points stand for: positions of the model, the corpus where there is one and it is wanted, else the
    /// input.
    pub fn cloud(&self, document: &Document) -> Option<PointCloud> {
        if self.space() == Space::Positions {
            return document.positions().ok().map(|tables| PointCloud::Positions(Arc::clone(tables)));
        }
        let wanted = self.options.corpus();
        let corpus = document.corpus.as_ref().filter(|_| wanted).and_then(|corpus| corpus.view());
        let inputs = corpus.filter(|view| !view.selection().inputs().is_empty()).cloned().map(PointCloud::Inputs);
        inputs.or_else(|| document.latest_capture().cloned().map(PointCloud::Input))
    }

    /// Whether the view draws the inputs of a corpus, of which the input that was run is one at most.
    pub fn shows_corpus(&self, document: &Document) -> bool {
        self.view.facts().reads_corpus && matches!(self.cloud(document), Some(PointCloud::Inputs(_)))
    }

    /// Why there is nothing to lay out, as one clause; `None` where there is.
    pub fn lacks(&self, document: &Document) -> Option<String> {
        if self.space() == Space::Positions
            && let Err(reason) = document.positions()
        {
            return Some(reason.to_owned());
        }
        self.cloud(document)?.lacks(self.selection.stack(), self.space())
    }

    /// What the corpus that is shown would have to keep to be laid out, where running it again helps.
    pub fn to_be_kept(&self, document: &Document) -> Option<Kept> {
        let cloud = self.cloud(document).filter(|cloud| matches!(cloud, PointCloud::Inputs(_)))?;
        cloud.lacks(self.selection.stack(), self.space())?;
        let kept = self.kept();
        (document.model.latest().is_some() && kept != Kept::default()).then_some(kept)
    }

    /// What a corpus has to keep for the space that is shown, or will be.
    pub(super) fn kept(&self) -> Kept {
        let pending = self.pending.as_ref().and_then(|pending| pending.space);
        let space = pending.unwrap_or_else(|| self.space());
        Kept { values: space == Space::Values, residual: space == Space::Residual }
    }

    /// The cell of the space that is looked at: a head, or whatever stands for it.
    pub fn cell(&self, document: &Document) -> HeadId {
        let head = self.selection.head;
        let Some(model) = document.latest_capture().map(|capture| capture.model()) else { return head };
        match self.space() {
            Space::Residual if self.selection.is_final => {
                HeadId { layer: model.stack(head.stack).map_or(0, |stack| stack.layers.len()), head: 0, ..head }
            }
            space => space.cell_of(head, model),
        }
    }

    /// Whether a cell is the residual stream behind the last layer, which belongs to no layer of its own.
    pub(super) fn is_final(&self, document: &Document, cell: HeadId) -> bool {
        let model = document.latest_capture().map(|capture| capture.model());
        let n_layers = model.and_then(|model| model.stack(cell.stack)).map_or(0, |stack| stack.layers.len());
        self.space() == Space::Residual && n_layers > 0 && cell.layer >= n_layers
    }

    /// Goes to a neighbouring cell of a space whose cells are not all heads.
    pub(super) fn step_cell(&mut self, document: &Document, step: HeadStep) {
        let Some(cloud) = self.cloud(document) else { return };
        let (space, here) = (self.space(), self.cell(document));
        let cells = cloud.cells(here.stack, space);
        let Some(at) = cells.iter().position(|cell| *cell == here) else { return };
        let by = |place: usize, n: usize, back: bool| if back { (place + n - 1) % n } else { (place + 1) % n };
        let next = match (step, space, cloud.model().and_then(|model| Some((model, model.stack(here.stack)?)))) {
            (HeadStep::PreviousLayer | HeadStep::NextLayer, Space::Values, Some((model, stack))) => {
                let layer = by(here.layer, stack.layers.len(), step == HeadStep::PreviousLayer);
                space.cell_of(HeadId { layer, ..here }, model)
            }
            (HeadStep::PreviousHead | HeadStep::NextHead, Space::Values, _) => {
                let first = cells.partition_point(|cell| cell.layer < here.layer);
                let n = cells.partition_point(|cell| cell.layer <= here.layer) - first;
                cells[first + by(at - first, n, step == HeadStep::PreviousHead)]
            }
            (HeadStep::PreviousHead | HeadStep::PreviousLayer, ..) => cells[by(at, cells.len(), true)],
            (HeadStep::NextHead | HeadStep::NextLayer, ..) => cells[by(at, cells.len(), false)],
        };
        self.select(document, next);
    }

    /// The points of a set in the space that is shown: where a token is one point, it is in the set when its query or
    /// its key is.
    pub(super) fn of_space(&self, points: &PointSet) -> PointSet {
        let stack = self.selection.stack();
        if self.space().is_joint() || stack.query_side() != stack.key_side() {
            return points.clone();
        }
        let tokens = points.queries().chain(points.keys());
        tokens.flat_map(|token| [Spot::Query(token), Spot::Key(token)]).collect()
    }
}

impl Document {
    /// The position embeddings of the model, or why there are none.
    pub fn positions(&self) -> Result<&Arc<crate::capture::PositionTables>, &str> {
        match self.model.latest() {
            Some(model) => model.positions.as_ref().map_err(String::as_str),
            None => Err("position embeddings are part of the model: open it to see them"),
        }
    }
}
