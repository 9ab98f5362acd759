//! The joint query–key planes: what is asked for, in which order, and what is kept.

use std::sync::Arc;

use super::{Document, Effect, Loadable, Pane, Session};
use crate::{
    analysis::{
        Cloud,
        projection::{Projection, ProjectionOptions},
    },
    ids::{CloudId, HeadId, PaneId, StackKind},
    worker::{Lane, Request},
};

/// Finished projections that are kept, so that going back to one takes no time.
const MAX_KEPT: usize = 8;

/// What a projection depends on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ProjectionKey {
    cloud: CloudId,
    stack: StackKind,
    options: ProjectionOptions,
}

impl ProjectionKey {
    fn of(projection: &Projection) -> Self {
        Self { cloud: projection.cloud.id(), stack: projection.stack, options: projection.options }
    }
}

/// What a pane asked for last.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Asked {
    key: ProjectionKey,
    /// The head that was to come first.
    first: HeadId,
}

/// Finished projections, the newest last.
#[derive(Debug, Default)]
pub(super) struct Kept(Vec<Arc<Projection>>);

impl Kept {
    fn find(&self, key: ProjectionKey) -> Option<Arc<Projection>> {
        self.0.iter().rev().find(|kept| ProjectionKey::of(kept) == key).cloned()
    }

    fn insert(&mut self, projection: Arc<Projection>) {
        self.0.retain(|kept| ProjectionKey::of(kept) != ProjectionKey::of(&projection));
        self.0.push(projection);
        let surplus = self.0.len().saturating_sub(MAX_KEPT);
        self.0.drain(..surplus);
    }
}

impl Session {
    /// Asks for the planes of every pane that shows some.
    pub(super) fn project_if_needed(&mut self) -> Vec<Effect> {
        let panes: Vec<PaneId> = self.panes.iter().map(|pane| pane.id).collect();
        panes.into_iter().filter_map(|pane| self.project(pane)).collect()
    }

    /// Goes on with what was stopped.
    pub(super) fn project_again(&mut self) {
        self.panes.active_mut().projecting = None;
    }

    /// Keeps a finished projection for whoever shows it next.
    pub(super) fn keep_projection(&mut self, projection: Arc<Projection>) {
        let clouds: Vec<CloudId> = self.documents.iter().flat_map(Document::clouds).map(|cloud| cloud.id()).collect();
        let shown = |kept: &Arc<Projection>| clouds.contains(&kept.cloud.id());
        self.kept_projections.0.retain(shown);
        self.kept_projections.insert(projection);
    }

    fn project(&mut self, id: PaneId) -> Option<Effect> {
        if self.is_outdated(id) {
            let pane = self.panes.get_mut(id)?;
            pane.projection.cancel();
            pane.projecting = None;
            // What is wanted instead takes its place in the lane.
            return Some(self.project(id).unwrap_or(Effect::Cancel(Lane::Project(id))));
        }
        let (cloud, asked) = self.wanted(id)?;
        let pane = self.panes.get(id)?;
        let latest = pane.projection.latest().filter(|it| ProjectionKey::of(it) == asked.key);
        let known = match pane.projecting.filter(|before| before.key == asked.key) {
            // The head that is looked at comes first, also when another was asked for before.
            Some(before) => {
                let waits = pane.projection.is_pending() && before.first != asked.first;
                let known = latest.filter(|it| waits && !it.is_finished(asked.first))?;
                Some(Arc::clone(known))
            }
            None => latest.cloned(),
        };
        let kept = self.kept_projections.find(asked.key);
        let shared = kept.or_else(|| self.panes.iter().find_map(|other| finished(other, asked.key)));
        let job = self.new_job();
        let pane = self.panes.get_mut(id)?;
        pane.projecting = Some(asked);
        if let Some(projection) = shared {
            pane.projection = Loadable::Ready(projection);
            return None;
        }
        pane.projection.start(job);
        let ProjectionKey { stack, options, .. } = asked.key;
        Some(Effect::Submit(job, Request::Project { pane: id, cloud, stack, options, known, first: asked.first }))
    }

    /// Whether a projection is on its way that the pane would not show any more: of another capture, or with
    /// other options.
    fn is_outdated(&self, id: PaneId) -> bool {
        let running = self.panes.get(id).filter(|pane| pane.projection.is_pending());
        running.is_some_and(|pane| {
            let shown = pane.cloud(self.document_of(pane)).map(|cloud| cloud.id());
            let wanted =
                |key: ProjectionKey| shown == Some(key.cloud) && key.options == pane.options.scatter.projection;
            !pane.projecting.is_some_and(|asked| wanted(asked.key))
        })
    }

    /// What a pane shows planes of, if it shows any.
    fn wanted(&self, id: PaneId) -> Option<(Cloud, Asked)> {
        let pane = self.panes.get(id)?;
        let document = self.document_of(pane);
        if !pane.view.is_projected() || pane.view_unavailable(document, pane.view).is_some() {
            return None;
        }
        let cloud = pane.cloud(document).filter(|cloud| document.is_settled(cloud))?;
        let (stack, options) = (pane.selection.stack(), pane.options.scatter.projection);
        let key = ProjectionKey { cloud: cloud.id(), stack, options };
        Some((cloud, Asked { key, first: pane.selection.head }))
    }
}

/// What another pane has finished.
fn finished(pane: &Pane, key: ProjectionKey) -> Option<Arc<Projection>> {
    match &pane.projection {
        Loadable::Ready(projection) if ProjectionKey::of(projection) == key && projection.is_complete() => {
            Some(Arc::clone(projection))
        }
        _ => None,
    }
}
