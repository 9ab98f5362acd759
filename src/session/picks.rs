//! Points that were picked out of a joint space, and what they mean elsewhere.

use std::sync::Arc;

use super::{Document, Documents, Pane, Panes};
use crate::{
    analysis::{
        PointCloud,
        point_set::{PointSet, Spot},
    },
    ids::{CloudId, PaneId, Side},
};

/// Points of one cloud. All heads of a stack lay the same points out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picked {
    pub cloud: CloudId,
    /// Whose tokens its queries and its keys are.
    pub sides: [Side; 2],
    pub points: Arc<PointSet>,
}

/// What becomes of the points that were picked before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PickChange {
    /// They are let go of.
    #[default]
    Replace,
    Add,
    /// They stay but for the new ones.
    Remove,
}

impl Pane {
    /// The picked points of what is shown.
    pub fn picked(&self, document: &Document) -> Option<&Arc<PointSet>> {
        let picked = self.selection.picked.as_ref()?;
        let cloud = self.cloud(document)?.id();
        (picked.cloud == cloud && picked.sides == self.sides()).then_some(&picked.points)
    }

    /// Which tokens of the shown input are among the picked points, as queries and as keys, by position; `None` when
    /// nothing is picked.
    pub fn picked_tokens(&self, document: &Document) -> Option<[Vec<bool>; 2]> {
        let (picked, input) = (self.picked(document)?, self.shown_input(document)?);
        let (cloud, capture) = (self.cloud(document)?, document.latest_capture()?);
        let of = |side: Side, spot: fn(usize) -> Spot| {
            let point = |position| cloud.point(side, input, position);
            let is_picked = |position| point(position).is_some_and(|point| picked.contains(spot(point)));
            (0..capture.tokens(side).len()).map(is_picked).collect()
        };
        let [queries, keys] = self.sides();
        Some([of(queries, Spot::Query), of(keys, Spot::Key)])
    }

    /// Which input of its cloud is the one that other views show; `None` when it is none of them.
    pub fn shown_input(&self, document: &Document) -> Option<usize> {
        match self.cloud(document)? {
            PointCloud::Input(_) | PointCloud::Positions(_) => Some(0),
            PointCloud::Inputs(view) => {
                let source = document.corpus_input?;
                (0..view.selection().inputs().len())
                    .find(|nth| view.input(*nth).is_some_and(|input| input.source == source))
            }
        }
    }

    fn sides(&self) -> [Side; 2] {
        let stack = self.selection.stack();
        [stack.query_side(), stack.key_side()]
    }

    /// What was picked in another space, in the one that is shown now.
    pub(super) fn translate_picks(&mut self) {
        let picked = self.selection.picked.as_ref().map(|picked| Arc::new(self.of_space(&picked.points)));
        if let (Some(picked), Some(points)) = (&mut self.selection.picked, picked) {
            picked.points = points;
        }
    }

    fn pick(&mut self, document: &Document, points: &PointSet, change: PickChange) {
        let Some(cloud) = self.cloud(document) else { return };
        let before = self.picked(document).cloned().unwrap_or_default();
        let points = &self.of_space(points);
        let points = match change {
            PickChange::Replace => points.clone(),
            PickChange::Add => before.union(points),
            PickChange::Remove => before.without(points),
        };
        let picked = Picked { cloud: cloud.id(), sides: self.sides(), points: Arc::new(points) };
        self.selection.picked = Some(picked).filter(|picked| !picked.points.is_empty());
    }
}

impl Panes {
    /// Picks points in the active pane, and in those linked with it that show the same cloud.
    pub(super) fn pick_points(&mut self, documents: &Documents, points: &PointSet, change: PickChange) {
        let shown = |pane: &Pane| Some((pane.cloud(documents.of(pane))?.id(), pane.sides()));
        let here = shown(self.active());
        let takes_part = |id: &PaneId| here.is_some() && self.get(*id).and_then(shown) == here;
        let panes: Vec<PaneId> = self.linked().into_iter().filter(takes_part).collect();
        for pane in panes {
            self.change(pane, documents, |pane, document| pane.pick(document, points, change));
        }
    }

    /// Lets go of the picked points, unless something is held: that is let go of first.
    pub(super) fn release_picks(&mut self, documents: &Documents) {
        let selection = &self.active().selection;
        if selection.pinned.is_empty() && selection.picked.is_some() {
            self.pick_points(documents, &PointSet::default(), PickChange::Replace);
        }
    }
}
