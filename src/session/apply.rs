//! The transitions: what each command does to the session. What the worker's answers do is in
//! `answers.rs`.

use std::sync::Arc;

use super::{Command, Effect, Focus, HeadSet, Loadable, Notice, NoticeKind, Session, ViewKind, writing::Reading};
use crate::{
    ids::{HeadId, JobId, StackKind},
    worker::{Failure, Lane, Request},
};

/// Messages kept for the history panel.
const MAX_NOTICES: usize = 50;

/// What to select once a capture has arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PendingSelection {
    /// View to show.
    pub view: Option<ViewKind>,
    /// Stack to show.
    pub stack: Option<StackKind>,
    /// Layer to show.
    pub layer: Option<usize>,
    /// Head to show alone.
    pub head: Option<usize>,
    /// Query token to pin.
    pub query: Option<usize>,
}

impl Session {
    /// A session with remembered settings and nothing loaded.
    pub fn new(settings: super::Settings) -> Self {
        Self { settings, ..Self::default() }
    }

    /// Selects these once the next capture has arrived; what is `None` stays as an example asked for it.
    pub fn prefer_when_ready(&mut self, preferred: PendingSelection) {
        let PendingSelection { view, stack, layer, head, query } = self.pending_selection.take().unwrap_or_default();
        self.pending_selection = Some(PendingSelection {
            view: preferred.view.or(view),
            stack: preferred.stack.or(stack),
            layer: preferred.layer.or(layer),
            head: preferred.head.or(head),
            query: preferred.query.or(query),
        });
    }

    /// Does what the user asked for.
    #[must_use]
    pub fn apply(&mut self, command: Command) -> Vec<Effect> {
        let place = self.place();
        let mut effects = self.transition(command);
        self.remember(place);
        effects.extend(self.project_if_needed());
        effects
    }

    /// Registers a file that is being written and gives its job number.
    pub fn start_export(&mut self) -> JobId {
        let job = self.new_job();
        self.exports_pending.push(job);
        job
    }

    /// Adds a message.
    pub fn notify(&mut self, kind: NoticeKind, text: Failure) {
        if self.notices.last().is_some_and(|last| last.kind == kind && last.text == text) {
            return;
        }
        self.next_notice += 1;
        self.notices.push(Notice { id: self.next_notice, kind, text });
        if self.notices.len() > MAX_NOTICES {
            self.notices.remove(0);
        }
    }

    fn transition(&mut self, command: Command) -> Vec<Effect> {
        match command {
            Command::OpenModel(source) => {
                self.example = None;
                return self.load(source);
            }
            Command::OpenPaths(paths) => return self.open_paths(&paths),
            Command::OpenText(text) => return self.open_text(text),
            Command::OpenExample(idx) => return self.open_example(idx),
            Command::PreviousExample => return self.step_example(false),
            Command::NextExample => return self.step_example(true),
            Command::SetText(text) => {
                self.example = None;
                self.text = text;
            }
            Command::SetTextB(text_b) => {
                self.example = None;
                self.text_b = text_b;
            }
            Command::SetTarget(target) => {
                self.example = None;
                self.target = target;
            }
            Command::SetWriting(writing) => self.settings.writing = writing,
            Command::Continue => return self.run_reading(Reading::Continued),
            Command::SetImage(image) => {
                self.example = None;
                return self.open_image(image);
            }
            Command::Run => return self.run(),
            Command::Cancel(lane) => {
                let mut effects = vec![Effect::Cancel(lane)];
                match lane {
                    Lane::Download => return self.stop_download(),
                    Lane::Catalog => {}
                    Lane::Load => {
                        self.model.cancel();
                        effects.extend(self.run_if_owed());
                    }
                    Lane::Run => self.capture.cancel(),
                    Lane::Project => self.projection.cancel(),
                    Lane::Export => self.exports_pending.clear(),
                }
                return effects;
            }
            Command::SelectInput(idx) => return self.select_input(idx),
            Command::PreviousInput => return self.step_input(true),
            Command::NextInput => return self.step_input(false),
            Command::SelectStack(stack) => {
                let head = HeadId { stack, ..self.selection.head };
                self.select(head);
            }
            Command::NextStack => {
                if let Some(stack) = self.next_stack() {
                    self.select(HeadId { stack, ..self.selection.head });
                }
            }
            Command::SelectLayer(layer) => {
                let head = HeadId { layer, ..self.selection.head };
                self.select(head);
            }
            Command::SelectHead(head) => self.select(head),
            Command::Step(step) => self.step(step),
            Command::StepQuery(step) => self.step_query(step),
            Command::ToggleHead(head) => self.toggle_head(head),
            Command::SoloHead(head) => self.solo_head(head),
            Command::AllHeads => self.selection.heads_on = HeadSet::ALL,
            Command::Hover(focus) => self.selection.hover = focus,
            Command::Pin(focus) => {
                let again = self.selection.pinned == focus;
                self.selection.pinned = if again { Focus::NONE } else { focus };
            }
            Command::Release => {
                self.selection.pinned = Focus::NONE;
                self.selection.hover = Focus::NONE;
            }
            Command::Back => return self.travel(true),
            Command::Forward => return self.travel(false),
            Command::ShowView(view) => {
                if self.view_unavailable(view).is_none() {
                    self.view = view;
                    self.selection.hover = Focus::NONE;
                }
            }
            Command::SetAppearance(appearance) => self.settings.appearance = appearance,
            Command::SetViewOptions(options) => self.settings.views = options,
            Command::Pick(purpose) => return vec![Effect::Pick(purpose)],
            Command::Download(command) => return self.on_download_command(command),
            Command::Export(target) => return vec![Effect::Capture(target)],
            Command::CopyView => return vec![Effect::CopyView],
            Command::DismissNotice(id) => self.notices.retain(|notice| notice.id != id),
            Command::Notify(failure) => self.notify(NoticeKind::Error, failure),
        }
        Vec::new()
    }

    pub(super) fn project_if_needed(&mut self) -> Vec<Effect> {
        if !matches!(self.view, ViewKind::Scatter | ViewKind::Matrix) || self.view_unavailable(self.view).is_some() {
            return Vec::new();
        }
        let Loadable::Ready(capture) = &self.capture else { return Vec::new() };
        let (stack, options) = (self.selection.stack(), self.settings.views.scatter.projection);
        let wanted = (capture.id(), stack, options);
        let have = self.projection.latest().map(|p| (p.capture, p.stack, p.options));
        let failed = self.projection.failure().is_some();
        if have == Some(wanted) || self.projecting == Some(wanted) && (self.projection.is_pending() || failed) {
            return Vec::new();
        }
        let request = Request::Project { capture: Arc::clone(capture), stack, options };
        let job = self.new_job();
        self.projecting = Some(wanted);
        self.projection.start(job);
        vec![Effect::Submit(job, request)]
    }

    pub(super) const fn new_job(&mut self) -> JobId {
        self.next_job += 1;
        JobId(self.next_job)
    }
}
