//! The planes of joint spaces and of others: what is asked for, in which order, and what is kept.

use std::sync::Arc;

use super::{Effect, Loadable, Pane, Session};
use crate::{
    analysis::{
        Cloud,
        projection::{Projection, ProjectionOptions},
    },
    ids::{CloudId, HeadId, PaneId, StackKind},
    protocol::{Lane, Request},
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
    /// The head that comes first in the job: that of whoever asked last.
    running: HeadId,
    /// Where: panes that show the same share a lane, that of the one which asked first.
    pub(super) lane: PaneId,
}

/// Finished projections, the newest last.
#[derive(Debug, Default)]
pub(super) struct Kept(Vec<Arc<Projection>>);

impl Kept {
    fn find(&self, key: ProjectionKey) -> Option<Arc<Projection>> {
        self.0.iter().rev().find(|kept| ProjectionKey::of(kept) == key).cloned()
    }

    /// Keeps a finished one for whoever shows it next.
    pub(super) fn insert(&mut self, projection: Arc<Projection>) {
        self.0.retain(|kept| ProjectionKey::of(kept) != ProjectionKey::of(&projection));
        self.0.push(projection);
        let surplus = self.0.len().saturating_sub(MAX_KEPT);
        self.0.drain(..surplus);
    }

    /// Lets go of those of other clouds.
    pub(super) fn retain(&mut self, is_there: impl Fn(CloudId) -> bool) {
        self.0.retain(|kept| is_there(kept.cloud.id()));
    }
}

impl Pane {
    /// Lets go of planes of other clouds. Those on their way are stopped by [`Session::project_if_needed`].
    pub(super) fn forget_projections(&mut self, is_there: impl Fn(CloudId) -> bool) {
        self.projection.retain(|known| is_there(known.cloud.id()));
        if !self.projection.is_pending() && self.projecting.is_some_and(|asked| !is_there(asked.key.cloud)) {
            (self.projection, self.projecting) = (Loadable::Empty, None);
        }
    }
}

impl Session {
    /// Asks for the planes of every pane that shows some.
    pub(super) fn project_if_needed(&mut self) -> Vec<Effect> {
        let panes: Vec<PaneId> = self.panes.iter().map(|pane| pane.id).collect();
        panes.into_iter().flat_map(|pane| self.project(pane)).collect()
    }

    /// Goes on with what was stopped.
    pub(super) fn project_again(&mut self) {
        self.panes.active_mut().projecting = None;
    }

    fn project(&mut self, id: PaneId) -> Vec<Effect> {
        if self.is_outdated(id) {
            let left = self.leave_projection(id);
            let wanted = self.project(id);
            // What is wanted instead may take its place in the lane.
            let replaced = wanted.iter().any(|effect| match (effect, &left) {
                (Effect::Submit(_, request), Some(Effect::Cancel(lane))) => request.lane() == *lane,
                _ => false,
            });
            return left.filter(|_| !replaced).into_iter().chain(wanted).collect();
        }
        let Some((cloud, key, first)) = self.wanted(id) else { return Vec::new() };
        let Some(pane) = self.panes.get(id) else { return Vec::new() };
        let latest = pane.projection.latest().filter(|it| ProjectionKey::of(it) == key);
        let before = pane.projecting.filter(|before| before.key == key);
        let known = latest.cloned();
        if let Some(before) = before {
            // The head that is looked at comes first, also when another was asked for before.
            let waits = pane.projection.is_pending() && before.first != first;
            if !waits || latest.is_none_or(|it| it.is_finished(first)) {
                return Vec::new();
            }
            if before.running == first {
                if let Some(pane) = self.panes.get_mut(id) {
                    pane.projecting = Some(Asked { first, ..before });
                }
                return Vec::new();
            }
        }
        let kept = self.kept_projections.find(key);
        let ready = kept.or_else(|| self.panes.iter().find_map(|other| finished(other, key)));
        let others = || self.panes.iter().filter(|other| other.id != id && other.projection.is_pending());
        let shared = others().find_map(|other| Some((other.projecting.filter(|it| it.key == key)?, other)));
        let shared = shared.map(|(asked, other)| (asked, other.projection.clone()));
        let is_taken = |lane: &PaneId| others().any(|other| other.projection_lane() == Lane::Project(*lane));
        let free = || [id].into_iter().chain(self.panes.iter().map(|pane| pane.id)).find(|lane| !is_taken(lane));
        let lane = before
            .map(|before| before.lane)
            .or(shared.as_ref().map(|(asked, _)| asked.lane))
            .or_else(free)
            .unwrap_or(id);
        let job = self.new_job();
        let Some(pane) = self.panes.get_mut(id) else { return Vec::new() };
        pane.projecting = Some(Asked { key, first, lane, running: first });
        if let Some(projection) = ready {
            pane.projection = Loadable::Ready(projection);
            return Vec::new();
        }
        if let (None, Some((asked, other))) = (before, shared) {
            // Another pane shows the same: they wait together.
            pane.projecting = Some(Asked { first: asked.running, ..asked });
            pane.projection = other;
            return Vec::new();
        }
        pane.projection.start(job);
        for other in self.panes.iter_mut().filter(|other| other.projection_lane() == Lane::Project(lane)) {
            if let Some(asked) = other.projecting.as_mut().filter(|_| other.projection.is_pending()) {
                asked.running = first;
                other.projection.start(job);
            }
        }
        let ProjectionKey { stack, options, .. } = key;
        vec![Effect::Submit(job, Request::Project { pane: lane, cloud, stack, options, known, first })]
    }

    /// A pane waits no longer; what nobody else waits for is stopped.
    pub(super) fn leave_projection(&mut self, id: PaneId) -> Option<Effect> {
        let pane = self.panes.get_mut(id)?;
        let lane = pane.projection_lane();
        let waited = pane.projection.is_pending();
        pane.projection.cancel();
        pane.projecting = None;
        let waits = |pane: &Pane| pane.projection.is_pending() && pane.projection_lane() == lane;
        (waited && !self.panes.iter().any(waits)).then_some(Effect::Cancel(lane))
    }

    /// Whether a projection is on its way that the pane would not show any more: of another capture, or with
    /// other options.
    fn is_outdated(&self, id: PaneId) -> bool {
        let running = self.panes.get(id).filter(|pane| pane.projection.is_pending());
        running.is_some_and(|pane| {
            let shown = pane.cloud(self.document_of(pane)).map(|cloud| cloud.id());
            let wanted = |key: ProjectionKey| shown == Some(key.cloud) && key.options == pane.projection_options();
            !pane.projecting.is_some_and(|asked| wanted(asked.key))
        })
    }

    /// What a pane shows planes of, if it shows any.
    fn wanted(&self, id: PaneId) -> Option<(Cloud, ProjectionKey, HeadId)> {
        let pane = self.panes.get(id)?;
        let document = self.document_of(pane);
        if !pane.view.is_projected() || pane.view_unavailable(document, pane.view).is_some() {
            return None;
        }
        let cloud = pane.cloud(document).filter(|cloud| document.is_settled(cloud))?;
        let (stack, options) = (pane.selection.stack(), pane.projection_options());
        if cloud.lacks(stack, options.space).is_some() {
            return None;
        }
        let key = ProjectionKey { cloud: cloud.id(), stack, options };
        Some((cloud, key, pane.cell(document)))
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
