//! The planes of joint spaces and of others: what is asked for, in which order, and what is kept.

use std::sync::Arc;

use super::{Cause, Document, Documents, Effect, Loadable, Notices, Pane, Panes, jobs::Jobs};
use crate::{
    analysis::{
        PointCloud,
        projection::{Projection, ProjectionOptions},
    },
    ids::{CloudId, HeadId, JobId, PaneId, StackKind},
    protocol::{Lane, ProjectionAnswer, Request, Update},
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
pub(super) struct LayoutRequest {
    key: ProjectionKey,
    /// The head that was to come first.
    first: HeadId,
    /// The head that comes first in the job: that of whoever asked last.
    running: HeadId,
    /// Where: panes that show the same share a lane, that of the one which asked first.
    pub(super) lane: PaneId,
}

/// Finished projections of any pane, the newest last.
#[derive(Debug, Default)]
pub(super) struct Projections(Vec<Arc<Projection>>);

impl Projections {
    /// Asks for the planes of every pane that shows some.
    pub fn ask(&self, panes: &mut Panes, documents: &Documents, jobs: &mut Jobs) -> Vec<Effect> {
        let ids: Vec<PaneId> = panes.iter().map(|pane| pane.id).collect();
        ids.into_iter().flat_map(|id| self.project(id, panes, documents, jobs)).collect()
    }

    fn project(&self, id: PaneId, panes: &mut Panes, documents: &Documents, jobs: &mut Jobs) -> Vec<Effect> {
        let Some(pane) = panes.get(id) else { return Vec::new() };
        if pane.is_projection_outdated(documents.of(pane)) {
            let left = panes.leave_projection(id);
            let wanted = self.project(id, panes, documents, jobs);
            // What is wanted instead may take its place in the lane.
            let replaced = wanted.iter().any(|effect| {
                matches!((effect, &left), (Effect::Submit(_, request), Some(Effect::Cancel(lane)))
                    if request.lane() == *lane)
            });
            return left.filter(|_| !replaced).into_iter().chain(wanted).collect();
        }
        let Some((cloud, key, first)) = pane.wanted_projection(documents.of(pane)) else { return Vec::new() };
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
                if let Some(pane) = panes.get_mut(id) {
                    pane.projecting = Some(LayoutRequest { first, ..before });
                }
                return Vec::new();
            }
        }
        let kept = self.find(key);
        let ready = kept.or_else(|| panes.iter().find_map(|other| finished(other, key)));
        let others = || panes.iter().filter(|other| other.id != id && other.projection.is_pending());
        let shared = others().find_map(|other| Some((other.projecting.filter(|it| it.key == key)?, other)));
        let shared = shared.map(|(asked, other)| (asked, other.projection.clone()));
        let is_taken = |lane: &PaneId| others().any(|other| other.projection_lane() == Lane::Project(*lane));
        let free = || [id].into_iter().chain(panes.iter().map(|pane| pane.id)).find(|lane| !is_taken(lane));
        let lane = before
            .map(|before| before.lane)
            .or(shared.as_ref().map(|(asked, _)| asked.lane))
            .or_else(free)
            .unwrap_or(id);
        let job = jobs.next();
        let Some(pane) = panes.get_mut(id) else { return Vec::new() };
        pane.projecting = Some(LayoutRequest { key, first, lane, running: first });
        if let Some(projection) = ready {
            pane.projection = Loadable::Ready(projection);
            return Vec::new();
        }
        if let (None, Some((asked, other))) = (before, shared) {
            // Another pane shows the same: they wait together.
            pane.projecting = Some(LayoutRequest { first: asked.running, ..asked });
            pane.projection = other;
            return Vec::new();
        }
        pane.projection.start(job);
        for other in panes.iter_mut().filter(|other| other.projection_lane() == Lane::Project(lane)) {
            if let Some(asked) = other.projecting.as_mut().filter(|_| other.projection.is_pending()) {
                asked.running = first;
                other.projection.start(job);
            }
        }
        let ProjectionKey { stack, options, .. } = key;
        vec![Effect::Submit(job, Request::Project { pane: lane, cloud, stack, options, known, first })]
    }

    /// What several panes wait for is told to all of them.
    pub fn on_event(&mut self, job: JobId, update: Update<ProjectionAnswer>, panes: &mut Panes, notices: &mut Notices) {
        let mut waiting = panes.iter_mut().filter(|pane| pane.projection.job() == Some(job)).peekable();
        if waiting.peek().is_none() {
            return;
        }
        let update = match update {
            Update::Progress(progress) => Update::Progress(progress),
            Update::Answer(ProjectionAnswer::Refined(projection)) => {
                return waiting.for_each(|pane| pane.projection.improve(Arc::clone(&projection)));
            }
            Update::Answer(ProjectionAnswer::Projected(projection)) => {
                self.insert(Arc::clone(&projection));
                Update::Answer(projection)
            }
            Update::Cancelled => Update::Cancelled,
            Update::Failed(failure) => {
                notices.fail(Cause::Projection, failure.clone());
                Update::Failed(failure)
            }
        };
        waiting.for_each(|pane| pane.projection.hear(job, update.clone()));
    }
    fn find(&self, key: ProjectionKey) -> Option<Arc<Projection>> {
        self.0.iter().rev().find(|kept| ProjectionKey::of(kept) == key).cloned()
    }

    /// Keeps a finished one for whoever shows it next.
    fn insert(&mut self, projection: Arc<Projection>) {
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
    /// Lets go of planes of other clouds. Those on their way are stopped by [`Projections::ask`].
    pub(super) fn forget_projections(&mut self, is_there: impl Fn(CloudId) -> bool) {
        self.projection.retain(|known| is_there(known.cloud.id()));
        if !self.projection.is_pending() && self.projecting.is_some_and(|asked| !is_there(asked.key.cloud)) {
            (self.projection, self.projecting) = (Loadable::Empty, None);
        }
    }

    /// Goes on with what was stopped: the projection, and questions about the cloud.
    pub(super) fn ask_again(&mut self) {
        self.projecting = None;
        self.surveys.ask_again();
    }

    /// Whether a projection is on its way that it would not show any more: of another capture, or with other options.
    fn is_projection_outdated(&self, document: &Document) -> bool {
        let shown = || self.cloud(document).map(|cloud| cloud.id());
        let wanted = |key: ProjectionKey| shown() == Some(key.cloud) && key.options == self.projection_options();
        self.projection.is_pending() && !self.projecting.is_some_and(|asked| wanted(asked.key))
    }

    /// What it shows planes of, if it shows any, and the head that comes first.
    fn wanted_projection(&self, document: &Document) -> Option<(PointCloud, ProjectionKey, HeadId)> {
        if !self.view.facts().lays_out_points || self.view_unavailable(document, self.view).is_some() {
            return None;
        }
        let cloud = self.cloud(document).filter(|cloud| document.is_settled(cloud))?;
        let (stack, options) = (self.selection.stack(), self.projection_options());
        if cloud.lacks(stack, options.space).is_some() {
            return None;
        }
        let key = ProjectionKey { cloud: cloud.id(), stack, options };
        Some((cloud, key, self.cell(document)))
    }
}

impl Panes {
    /// A pane waits no longer; what nobody else waits for is stopped.
    pub(super) fn leave_projection(&mut self, id: PaneId) -> Option<Effect> {
        let pane = self.get_mut(id)?;
        let lane = pane.projection_lane();
        let waited = pane.projection.is_pending();
        pane.projection.cancel();
        pane.projecting = None;
        let waits = |pane: &Pane| pane.projection.is_pending() && pane.projection_lane() == lane;
        (waited && !self.iter().any(waits)).then_some(Effect::Cancel(lane))
    }
}

/// What another pane has finished.
fn finished(pane: &Pane, key: ProjectionKey) -> Option<Arc<Projection>> {
    let Loadable::Ready(projection) = &pane.projection else { return None };
    (ProjectionKey::of(projection) == key && projection.is_complete()).then(|| Arc::clone(projection))
}
