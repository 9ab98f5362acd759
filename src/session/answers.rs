//! What the worker's answers do to the session.

use std::sync::Arc;

use super::{Effect, Focus, HeadSet, Loadable, NoticeKind, Selection, Session, ViewKind, stacks};
use crate::{
    capture::Capture,
    ids::{HeadId, JobId},
    worker::{Event, EventKind, Failure, ImageSource, LoadedModel},
};

/// What a text model reads when nothing was typed yet.
const DEFAULT_TEXT: &str = "The animal didn't cross the street because it was too tired";
/// What a vision model sees when no picture was given yet.
const DEFAULT_SAMPLE: &str = "chelsea";

impl Session {
    /// Takes in what the worker said. Answers to superseded jobs are ignored.
    #[must_use]
    pub fn on_event(&mut self, event: Event) -> Vec<Effect> {
        let Event { job, kind } = event;
        let mut effects = Vec::new();
        if self.is_download_job(job) {
            effects = self.on_download_event(job, kind);
        } else if self.exports_pending.contains(&job) {
            self.on_export_event(job, kind);
        } else if self.model.job() == Some(job) {
            effects = self.on_load_event(kind);
        } else if let EventKind::Loaded(model) = kind {
            effects = self.on_late_model(model);
        } else if self.capture.job() == Some(job) {
            self.on_run_event(kind);
        } else if self.projection.job() == Some(job) {
            match kind {
                EventKind::Progress(progress) => self.projection.report(progress),
                EventKind::Projected(projection) => self.projection = Loadable::Ready(projection),
                EventKind::Cancelled => self.projection.cancel(),
                EventKind::Failed(failure) => {
                    self.projection.fail(failure.clone());
                    self.notify(NoticeKind::Error, failure);
                }
                _ => {}
            }
        }
        effects.extend(self.project_if_needed());
        effects
    }

    fn on_load_event(&mut self, kind: EventKind) -> Vec<Effect> {
        match kind {
            EventKind::Progress(progress) => self.model.report(progress),
            EventKind::Loaded(model) => {
                self.greet(&model);
                self.model = Loadable::Ready(model);
                return self.run();
            }
            // A capture file was opened where a model was expected: the model stays.
            EventKind::Opened(file) => {
                self.model.cancel();
                self.run_owed = false;
                return self.open_file(file);
            }
            EventKind::Cancelled => {
                self.model.cancel();
                return self.run_if_owed();
            }
            EventKind::Failed(failure) => {
                self.model.fail(failure.clone());
                self.pending_selection = None;
                self.notify(NoticeKind::Error, failure);
                return self.run_if_owed();
            }
            _ => {}
        }
        Vec::new()
    }

    /// A load had already finished when it was told to stop or another took its place: the worker
    /// holds this model now, so the window must not go on showing the one before.
    fn on_late_model(&mut self, model: Arc<LoadedModel>) -> Vec<Effect> {
        self.greet(&model);
        match &mut self.model {
            Loadable::Pending { previous, .. } => *previous = Some(model),
            ready => *ready = Loadable::Ready(model),
        }
        self.run()
    }

    /// What a new model brings with it: its warnings, a place among the recent ones, something to read.
    fn greet(&mut self, model: &LoadedModel) {
        self.settings.remember_model(&model.source);
        for warning in &model.audit.warnings {
            self.notify(NoticeKind::Info, Failure { summary: warning.clone(), details: String::new() });
        }
        if model.spec.modality.text().is_some() && self.text.trim().is_empty() {
            DEFAULT_TEXT.clone_into(&mut self.text);
        }
        if model.spec.modality.image().is_some() && self.image.is_none() {
            self.image = Some(ImageSource::Bundled(DEFAULT_SAMPLE.to_owned()));
        }
    }

    fn on_run_event(&mut self, kind: EventKind) {
        match kind {
            EventKind::Progress(progress) => self.capture.report(progress),
            EventKind::Captured(capture) => {
                for note in capture.notes() {
                    self.notify(NoticeKind::Info, Failure { summary: note.clone(), details: String::new() });
                }
                self.opened = None;
                self.show(capture);
            }
            EventKind::Cancelled => self.capture.cancel(),
            EventKind::Failed(failure) => {
                self.capture.fail(failure.clone());
                self.pending_selection = None;
                self.notify(NoticeKind::Error, failure);
            }
            _ => {}
        }
    }

    fn on_export_event(&mut self, job: JobId, kind: EventKind) {
        match kind {
            EventKind::Progress(_) => return,
            EventKind::Exported(path) => self.notify(
                NoticeKind::Info,
                Failure { summary: "Picture saved".to_owned(), details: path.display().to_string() },
            ),
            EventKind::Failed(failure) => self.notify(NoticeKind::Error, failure),
            _ => {}
        }
        self.exports_pending.retain(|pending| *pending != job);
    }

    /// Shows another capture and keeps the selection where it still makes sense.
    pub(super) fn show(&mut self, capture: Arc<Capture>) {
        let had_picture = self.latest_capture().map(|old| old.image().is_some());
        let has_picture = capture.image().is_some();
        let stack = stacks::opening_stack(&capture, self.selection.stack());
        self.capture = Loadable::Ready(capture);
        if had_picture != Some(has_picture) {
            self.view = if has_picture { ViewKind::Image } else { ViewKind::Heads };
        }
        let pending = self.pending_selection.take().unwrap_or_default();
        let old = self.selection.head;
        let head = HeadId {
            stack: pending.stack.unwrap_or(stack),
            layer: pending.layer.unwrap_or(old.layer),
            head: pending.head.unwrap_or(old.head),
        };
        self.selection = Selection {
            heads_on: pending.head.map_or(self.selection.heads_on, HeadSet::only),
            ..self.selection.clone()
        };
        self.select(head);
        self.selection.pinned = pending.query.map_or(self.selection.pinned, Focus::query);
        self.clamp_focus();
        if pending.layer.is_none() {
            self.leave_empty_layer();
        }
        if let Some(view) = pending.view
            && self.view_unavailable(view).is_none()
        {
            self.view = view;
        } else if self.view_unavailable(self.view).is_some() {
            self.view = ViewKind::Heads;
        }
    }
}
