//! The transitions: what each command and each event does to the session.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{
    Command, Effect, Focus, HeadSet, HeadStep, Loadable, Notice, NoticeKind, Selection, Session, ViewKind,
    examples::{EXAMPLES, ExampleInput},
};
use crate::{
    capture::Capture,
    ids::{HeadId, JobId, StackKind},
    spec::Modality,
    worker::{Event, EventKind, Failure, ImageSource, Input, Lane, LoadedModel, ModelSource, Request, TextInput},
};

/// Messages kept for the history panel.
const MAX_NOTICES: usize = 50;
/// Selections kept for `Back`.
const MAX_HISTORY: usize = 100;
/// What a text model reads when nothing was typed yet.
const DEFAULT_TEXT: &str = "The animal didn't cross the street because it was too tired";
/// What a vision model sees when no picture was given yet.
const DEFAULT_SAMPLE: &str = "chelsea";

/// Selections before and after the current one.
#[derive(Clone, Debug, Default)]
pub struct History {
    back: Vec<Place>,
    forward: Vec<Place>,
    travelled: bool,
}

/// A view and what was selected in it.
#[derive(Clone, Debug, PartialEq)]
struct Place {
    view: ViewKind,
    head: HeadId,
    heads_on: HeadSet,
    pinned: Focus,
}

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

    /// Whether there is a selection to go back to.
    pub const fn can_go_back(&self) -> bool {
        !self.history.back.is_empty()
    }

    /// Whether there is a selection to go forward to.
    pub const fn can_go_forward(&self) -> bool {
        !self.history.forward.is_empty()
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
            Command::SetText(text) => {
                self.example = None;
                self.text = text;
            }
            Command::SetTextB(text_b) => {
                self.example = None;
                self.text_b = text_b;
            }
            Command::SetImage(image) => {
                self.example = None;
                return self.open_image(image);
            }
            Command::Run => return self.run(),
            Command::Cancel(lane) => {
                match lane {
                    Lane::Download => return self.stop_download(),
                    Lane::Catalog => {}
                    Lane::Load => self.model.cancel(),
                    Lane::Run => self.capture.cancel(),
                    Lane::Project => self.projection.cancel(),
                    Lane::Export => self.exports_pending.clear(),
                }
                return vec![Effect::Cancel(lane)];
            }
            Command::SelectStack(stack) => {
                let head = HeadId { stack, ..self.selection.head };
                self.select(head);
            }
            Command::SelectLayer(layer) => {
                let head = HeadId { layer, ..self.selection.head };
                self.select(head);
            }
            Command::SelectHead(head) => self.select(head),
            Command::Step(step) => self.step(step),
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
            Command::Back => self.travel(true),
            Command::Forward => self.travel(false),
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

    pub(super) fn load(&mut self, source: ModelSource) -> Vec<Effect> {
        let job = self.new_job();
        self.model.start(job);
        vec![Effect::Submit(job, Request::Load(source))]
    }

    /// Opens the first path of each kind; a second picture would only replace the first.
    fn open_paths(&mut self, paths: &[PathBuf]) -> Vec<Effect> {
        self.example = None;
        let mut effects = Vec::new();
        for kind in [PathKind::Model, PathKind::Image, PathKind::Text] {
            let mut of_kind = paths.iter().filter(|path| PathKind::of(path) == kind);
            if let Some(path) = of_kind.next() {
                effects.extend(self.open_path(path, kind));
            }
            let left_out = of_kind.count();
            if left_out > 0 {
                let details = "One model, one picture and one text are open at a time".to_owned();
                let summary = format!("{left_out} more {} left out", kind.plural(left_out));
                self.notify(NoticeKind::Info, Failure { summary, details });
            }
        }
        effects
    }

    fn open_path(&mut self, path: &Path, kind: PathKind) -> Vec<Effect> {
        match kind {
            PathKind::Model => self.load(ModelSource::Path(path.to_owned())),
            PathKind::Image => self.open_image(ImageSource::Path(path.to_owned())),
            PathKind::Text => vec![Effect::ReadText(path.to_owned())],
        }
    }

    /// Runs a text, on a bundled text model if the current one sees pictures.
    fn open_text(&mut self, text: String) -> Vec<Effect> {
        self.example = None;
        self.text = text;
        self.text_b = None;
        if self.model.is_pending() {
            return Vec::new();
        }
        match self.model.latest().cloned() {
            Some(model) if model.spec.modality.text().is_some() => self.run(),
            current => {
                if let Some(model) = current {
                    let summary = format!("{} sees pictures, so demo:gpt reads the text", model.spec.name);
                    let details = "Open a BERT or GPT-2 folder to read it with your own model".to_owned();
                    self.notify(NoticeKind::Info, Failure { summary, details });
                }
                self.load(ModelSource::Bundled("demo:gpt".to_owned()))
            }
        }
    }

    fn open_example(&mut self, idx: usize) -> Vec<Effect> {
        let Some(example) = EXAMPLES.get(idx) else { return Vec::new() };
        self.example = Some(idx);
        // What was held in another input means nothing in this one.
        self.selection.pinned = Focus::NONE;
        self.selection.heads_on = HeadSet::ALL;
        self.pending_selection = Some(PendingSelection {
            view: Some(example.view),
            stack: None,
            layer: example.head.map(|(layer, _)| layer),
            head: example.head.map(|(_, head)| head),
            query: example.query,
        });
        match example.input {
            ExampleInput::Text(text) => {
                text.clone_into(&mut self.text);
                self.text_b = None;
            }
            ExampleInput::Sample(name) => self.image = Some(ImageSource::Bundled(name.to_owned())),
        }
        let source = ModelSource::Bundled(example.model.to_owned());
        if !self.model.is_pending() && self.model.latest().is_some_and(|model| model.source == source) {
            self.run()
        } else {
            self.load(source)
        }
    }

    /// Shows a picture, on a bundled vision model if the current one reads text.
    fn open_image(&mut self, image: ImageSource) -> Vec<Effect> {
        self.image = Some(image);
        if self.model.is_pending() {
            return Vec::new();
        }
        match self.model.latest().cloned() {
            Some(model) if model.spec.modality.image().is_some() => self.run(),
            current => {
                if let Some(model) = current {
                    self.notify(
                        NoticeKind::Info,
                        Failure {
                            summary: format!("{} reads text, so the picture is shown with demo:vit", model.spec.name),
                            details: "Open a ViT folder to see the picture with your own model".to_owned(),
                        },
                    );
                }
                self.load(ModelSource::Bundled("demo:vit".to_owned()))
            }
        }
    }

    fn run(&mut self) -> Vec<Effect> {
        // A model on its way runs the input when it arrives.
        let (false, Some(model)) = (self.model.is_pending(), self.model.latest().cloned()) else {
            return Vec::new();
        };
        let input = match self.input_for(&model) {
            Ok(input) => input,
            Err(failure) => {
                let had_job = self.capture.is_pending();
                self.capture.fail(failure);
                return if had_job { vec![Effect::Cancel(Lane::Run)] } else { Vec::new() };
            }
        };
        let job = self.new_job();
        self.capture.start(job);
        vec![Effect::Submit(job, Request::Run(input))]
    }

    fn input_for(&self, model: &LoadedModel) -> Result<Input, Failure> {
        let text = || {
            if self.text.trim().is_empty() {
                return Err(Failure {
                    summary: "There is no text to run".to_owned(),
                    details: "Type a sentence, or drop a text file".to_owned(),
                });
            }
            let text_b = self.text_b.clone().filter(|text| !text.trim().is_empty());
            Ok(Input::Text(TextInput { text: self.text.clone(), text_b, ..TextInput::default() }))
        };
        let image = || {
            self.image.clone().map(Input::Image).ok_or_else(|| Failure {
                summary: "There is no picture to run".to_owned(),
                details: "Drop a picture, or paste one".to_owned(),
            })
        };
        // Without a target the model writes one.
        let with_target = |source: Input| match self.target.trim() {
            "" => source,
            target => source.with_target(Input::text(target)),
        };
        match model.spec.modality {
            Modality::Text(_) => text(),
            Modality::Image(_) => image(),
            Modality::TextToText { .. } => text().map(with_target),
            Modality::ImageToText { .. } => image().map(with_target),
            Modality::ImageAndText { .. } => Ok(image()?.with_target(text()?)),
        }
    }

    fn on_load_event(&mut self, kind: EventKind) -> Vec<Effect> {
        match kind {
            EventKind::Progress(progress) => self.model.report(progress),
            EventKind::Loaded(model) => {
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
                self.model = Loadable::Ready(model);
                return self.run();
            }
            // A capture file was opened where a model was expected: the model stays.
            EventKind::Captured(capture) => {
                self.model.cancel();
                self.accept(capture);
            }
            EventKind::Cancelled => self.model.cancel(),
            EventKind::Failed(failure) => {
                self.model.fail(failure.clone());
                self.pending_selection = None;
                self.notify(NoticeKind::Error, failure);
            }
            _ => {}
        }
        Vec::new()
    }

    fn on_run_event(&mut self, kind: EventKind) {
        match kind {
            EventKind::Progress(progress) => self.capture.report(progress),
            EventKind::Captured(capture) => self.accept(capture),
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

    /// Shows a new capture and keeps the selection where it still makes sense.
    fn accept(&mut self, capture: Arc<Capture>) {
        let had_picture = self.latest_capture().map(|old| old.image().is_some());
        for note in capture.notes() {
            self.notify(NoticeKind::Info, Failure { summary: note.clone(), details: String::new() });
        }
        let has_picture = capture.image().is_some();
        self.capture = Loadable::Ready(capture);
        if had_picture != Some(has_picture) {
            self.view = if has_picture { ViewKind::Image } else { ViewKind::Heads };
        }
        let pending = self.pending_selection.take().unwrap_or_default();
        let old = self.selection.head;
        let head = HeadId {
            stack: pending.stack.unwrap_or(old.stack),
            layer: pending.layer.unwrap_or(old.layer),
            head: pending.head.unwrap_or(old.head),
        };
        self.selection = Selection {
            heads_on: pending.head.map_or(self.selection.heads_on, HeadSet::only),
            pinned: pending.query.map_or(self.selection.pinned, Focus::query),
            ..self.selection.clone()
        };
        self.select(head);
        self.clamp_focus();
        if let Some(view) = pending.view
            && self.view_unavailable(view).is_none()
        {
            self.view = view;
        } else if self.view_unavailable(self.view).is_some() {
            self.view = ViewKind::Heads;
        }
    }

    /// Selects the existing head nearest to `head`.
    fn select(&mut self, head: HeadId) {
        self.selection.head = match self.latest_capture() {
            Some(capture) => nearest_head(capture, head),
            None => head,
        };
        self.clamp_focus();
    }

    fn clamp_focus(&mut self) {
        let Some(capture) = self.latest_capture() else { return };
        let stack = self.selection.stack();
        let (n_query, n_key) = (capture.query_tokens(stack).len(), capture.key_tokens(stack).len());
        let clamp = |focus: Focus| Focus {
            query: focus.query.filter(|&query| query < n_query),
            key: focus.key.filter(|&key| key < n_key),
        };
        self.selection.pinned = clamp(self.selection.pinned);
        self.selection.hover = clamp(self.selection.hover);
    }

    fn step(&mut self, step: HeadStep) {
        let HeadId { stack, layer, head } = self.selection.head;
        let Some(spec) = self.latest_capture().and_then(|capture| capture.model().stack(stack)) else { return };
        let n_layers = spec.layers.len().max(1);
        let n_heads = spec.layers.get(layer).map_or(1, |layer| layer.n_heads.max(1));
        let next = match step {
            HeadStep::PreviousHead => HeadId { stack, layer, head: (head + n_heads - 1) % n_heads },
            HeadStep::NextHead => HeadId { stack, layer, head: (head + 1) % n_heads },
            HeadStep::PreviousLayer => HeadId { stack, layer: (layer + n_layers - 1) % n_layers, head },
            HeadStep::NextLayer => HeadId { stack, layer: (layer + 1) % n_layers, head },
        };
        // Stepping through heads with one head drawn alone keeps drawing the selected one alone.
        if self.selection.heads_on.is_only(head, n_heads) {
            self.selection.heads_on = HeadSet::only(next.head);
        }
        self.select(next);
    }

    fn toggle_head(&mut self, head: usize) {
        self.selection.heads_on = self.selection.heads_on.toggled(head);
        if self.selection.heads_on.contains(head) {
            self.select(HeadId { head, ..self.selection.head });
        }
    }

    fn solo_head(&mut self, head: usize) {
        let n_heads = self.n_heads();
        let solo = self.selection.heads_on.is_only(head, n_heads);
        self.selection.heads_on = if solo { HeadSet::ALL } else { HeadSet::only(head) };
        self.select(HeadId { head, ..self.selection.head });
    }

    fn n_heads(&self) -> usize {
        let HeadId { stack, layer, .. } = self.selection.head;
        let spec = self.latest_capture().and_then(|capture| capture.model().stack(stack)?.layers.get(layer));
        spec.map_or(0, |layer| layer.n_heads)
    }

    fn project_if_needed(&mut self) -> Vec<Effect> {
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

    fn place(&self) -> Place {
        let Selection { head, heads_on, pinned, .. } = self.selection.clone();
        Place { view: self.view, head, heads_on, pinned }
    }

    fn remember(&mut self, before: Place) {
        // `Back` and `Forward` move between places without making new ones.
        if std::mem::take(&mut self.history.travelled) || self.place() == before {
            return;
        }
        self.history.forward.clear();
        self.history.back.push(before);
        if self.history.back.len() > MAX_HISTORY {
            self.history.back.remove(0);
        }
    }

    fn travel(&mut self, backwards: bool) {
        let here = self.place();
        let History { back, forward, travelled } = &mut self.history;
        let (from, to) = if backwards { (back, forward) } else { (forward, back) };
        let Some(place) = from.pop() else { return };
        to.push(here);
        *travelled = true;
        self.selection.heads_on = place.heads_on;
        self.selection.pinned = place.pinned;
        self.selection.hover = Focus::NONE;
        if self.view_unavailable(place.view).is_none() {
            self.view = place.view;
        }
        self.select(place.head);
    }

    pub(super) const fn new_job(&mut self) -> JobId {
        self.next_job += 1;
        JobId(self.next_job)
    }
}

/// What a dropped or chosen path is taken for, judged by its name alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathKind {
    /// A model folder, a weights file or a capture file: the worker finds out which.
    Model,
    /// A picture.
    Image,
    /// A text.
    Text,
}

impl PathKind {
    /// Judges by the extension; a path without a known one is taken for a model folder.
    pub fn of(path: &Path) -> Self {
        let extension = path.extension().and_then(|ext| ext.to_str()).unwrap_or_default().to_ascii_lowercase();
        match extension.as_str() {
            "png" | "jpg" | "jpeg" | "webp" | "bmp" | "gif" | "tif" | "tiff" => Self::Image,
            "txt" | "md" | "text" | "csv" | "tsv" => Self::Text,
            _ => Self::Model,
        }
    }

    const fn plural(self, n: usize) -> &'static str {
        match (self, n) {
            (Self::Model, 1) => "model was",
            (Self::Model, _) => "models were",
            (Self::Image, 1) => "picture was",
            (Self::Image, _) => "pictures were",
            (Self::Text, 1) => "text was",
            (Self::Text, _) => "texts were",
        }
    }
}

fn nearest_head(capture: &Capture, wanted: HeadId) -> HeadId {
    let stacks = &capture.model().stacks;
    let Some(stack) = stacks.iter().find(|stack| stack.kind == wanted.stack).or_else(|| stacks.first()) else {
        return wanted;
    };
    let layer = wanted.layer.min(stack.layers.len().saturating_sub(1));
    let n_heads = stack.layers.get(layer).map_or(0, |layer| layer.n_heads);
    HeadId { stack: stack.kind, layer, head: wanted.head.min(n_heads.saturating_sub(1)) }
}
