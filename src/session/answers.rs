//! What the worker's answers do to the session.

use std::sync::Arc;

use super::{Document, Effect, Loadable, NoticeKind, Session, corpora::not_kept};
use crate::{
    analysis::survey::QuestionKind,
    capture::Capture,
    ids::{DocumentId, JobId, PaneId},
    model::ImageSource,
    protocol::{Event, EventKind, LoadedModel},
};

/// What a text model reads when nothing was typed yet.
const DEFAULT_TEXT: &str = "The animal didn't cross the street because it was too tired";
/// What a vision model sees when no picture was given yet.
const DEFAULT_SAMPLE: &str = "chelsea";

/// Who waits for a job.
enum Waiting {
    Session,
    Download,
    Export,
    Thumbnail,
    Figure,
    Look,
    Load(DocumentId),
    Run(DocumentId),
    Corpus(DocumentId),
    Outcomes(DocumentId),
    Project,
    Survey(PaneId, QuestionKind),
    Explain(PaneId),
    SecondOpinion(DocumentId),
}

impl Session {
    /// Takes in what the worker said. Answers to superseded jobs are ignored.
    #[must_use]
    pub fn on_event(&mut self, event: Event) -> Vec<Effect> {
        let Event { job, kind } = event;
        if let EventKind::NotKept(details) = kind {
            // Whoever waits for the job: it concerns the whole program.
            self.notify(NoticeKind::Info, not_kept(&details));
            return Vec::new();
        }

        let mut effects = match self.who_waits(job) {
            Some(Waiting::Session) => self.on_session_event(job, kind),
            Some(Waiting::Download) => self.on_download_event(job, kind),
            Some(Waiting::Export) => {
                self.on_export_event(job, kind);
                Vec::new()
            }
            Some(Waiting::Thumbnail) => {
                self.on_thumbnail(job, kind);
                Vec::new()
            }
            Some(Waiting::Figure) => self.on_figure_event(job, kind),
            Some(Waiting::Look) => self.on_look_event(kind),
            Some(Waiting::Load(document)) => self.on_load_event(document, job, kind),
            Some(Waiting::Run(document)) => {
                self.on_run_event(document, kind);
                self.run_if_turned(document)
            }
            Some(Waiting::Corpus(document)) => {
                self.on_corpus_event(document, kind);
                Vec::new()
            }
            Some(Waiting::Outcomes(document)) => {
                self.on_outcomes(document, kind);
                Vec::new()
            }
            Some(Waiting::Project) => {
                self.on_projection_event(job, kind);
                Vec::new()
            }
            Some(Waiting::Survey(pane, question)) => {
                self.on_survey_event((pane, question), kind);
                Vec::new()
            }
            Some(Waiting::Explain(pane)) => {
                self.on_explain_event(pane, job, kind);
                Vec::new()
            }
            Some(Waiting::SecondOpinion(document)) => {
                self.on_second_opinion(document, kind);
                Vec::new()
            }
            None => self.on_late_event(job, kind),
        };
        effects.extend(self.follow_up());
        effects
    }

    fn who_waits(&self, job: JobId) -> Option<Waiting> {
        let document = |waits: fn(&Document) -> Option<JobId>| {
            self.documents.iter().find(|document| waits(document) == Some(job)).map(|document| document.id)
        };
        if self.keeping.waits_for(job) {
            Some(Waiting::Session)
        } else if self.is_download_job(job) {
            Some(Waiting::Download)
        } else if self.exports_pending.contains(&job) {
            Some(Waiting::Export)
        } else if self.is_thumbnail_job(job) {
            Some(Waiting::Thumbnail)
        } else if self.is_figure_job(job) {
            Some(Waiting::Figure)
        } else if self.is_look_job(job) {
            Some(Waiting::Look)
        } else if let Some(id) = document(|document| document.model.job()) {
            Some(Waiting::Load(id))
        } else if let Some(id) = document(|document| document.capture.job()) {
            Some(Waiting::Run(id))
        } else if let Some((pane, question)) = self.surveying(job) {
            Some(Waiting::Survey(pane, question))
        } else if let Some(pane) = self.explaining(job) {
            Some(Waiting::Explain(pane))
        } else if let Some(id) = document(|document| document.second_opinion.job()) {
            Some(Waiting::SecondOpinion(id))
        } else if let Some(id) = document(|document| document.corpus.as_ref()?.data.job()) {
            Some(Waiting::Corpus(id))
        } else if let Some(id) = document(|document| document.outcomes.job()) {
            Some(Waiting::Outcomes(id))
        } else {
            let is_shown = self.panes.iter().any(|pane| pane.projection.job() == Some(job));
            is_shown.then_some(Waiting::Project)
        }
    }

    fn on_load_event(&mut self, id: DocumentId, job: JobId, kind: EventKind) -> Vec<Effect> {
        if !matches!(kind, EventKind::Progress(_) | EventKind::Loaded(_)) {
            self.loads.remove(&job);
        }
        let Some(document) = self.find_document_mut(id) else { return Vec::new() };
        match kind {
            EventKind::Progress(progress) => document.model.report(progress),
            EventKind::Loaded(model) => {
                self.take_model(job, &model);
                self.greet_in(id, &model);
                if let Some(document) = self.find_document_mut(id) {
                    document.model = Loadable::Ready(Arc::clone(&model));
                }
                let mut effects = self.model_changed(id);
                effects.extend(self.run_loaded(id));
                effects.extend(self.share_owed(&model));
                effects.extend(self.check_model(id, &model));
                return effects;
            }
            // A capture file was opened where a model was expected: the model stays.
            EventKind::Opened(file) => {
                document.model.cancel();
                document.keep_model();
                document.run_owed = false;
                let mut effects = self.open_file(id, file);
                effects.extend(self.load_behind(id));
                return effects;
            }
            EventKind::IsCorpus { path, has_pictures } => {
                document.model.cancel();
                document.keep_model();
                let mut effects = self.run_if_owed(id);
                effects.extend(self.open_listed(id, path, has_pictures));
                return effects;
            }
            EventKind::Cancelled => {
                document.model.cancel();
                document.keep_model();
                return self.run_if_owed(id);
            }
            EventKind::Failed(failure) => {
                document.model.fail(failure.clone());
                document.keep_model();
                document.input_owed = None;
                if let Some(effects) = self.model_is_lost(id, &failure) {
                    return effects;
                }
                self.drop_pending(id);
                self.notify(NoticeKind::Error, failure);
                return self.run_if_owed(id);
            }
            _ => {}
        }
        Vec::new()
    }

    /// A load had already finished when it was told to stop or another took its place: the worker holds
    /// this model now and not the one before, so the window must not go on showing that one.
    fn on_late_event(&mut self, job: JobId, kind: EventKind) -> Vec<Effect> {
        let Some(load) = self.loads.get(&job).copied() else { return Vec::new() };
        let EventKind::Loaded(model) = kind else {
            if !matches!(kind, EventKind::Progress(_)) {
                self.loads.remove(&job);
            }
            return Vec::new();
        };
        self.take_model(job, &model);
        if self.find_document(load.document).is_none() {
            return Vec::new();
        }
        self.greet_in(load.document, &model);
        let Some(document) = self.find_document_mut(load.document) else { return Vec::new() };
        if let Loadable::Pending { previous, .. } = &mut document.model {
            *previous = Some(model);
        } else {
            document.experiment.model = Some(model.source.clone());
            document.model = Loadable::Ready(model);
        }
        let mut effects = self.model_changed(load.document);
        effects.extend(self.run_document(load.document));
        effects
    }

    /// The worker holds `model` now, and no longer what it replaces.
    fn take_model(&mut self, job: JobId, model: &LoadedModel) {
        if let Some(replaced) = self.loads.remove(&job).and_then(|load| load.replaces) {
            self.held.remove(&replaced);
        }
        self.held.insert(model.id);
    }

    /// What a new model brings with it: its warnings, a place among the recent ones, something to read.
    pub(super) fn greet_in(&mut self, id: DocumentId, model: &LoadedModel) {
        self.settings.remember_model(&model.source);
        for warning in &model.audit.warnings {
            self.inform(warning.clone(), String::new());
        }
        self.show_first_example(id, model);
        let Some(document) = self.find_document_mut(id) else { return };
        let experiment = &mut document.experiment;
        if model.spec.modality.text().is_some() && experiment.text.trim().is_empty() {
            DEFAULT_TEXT.clone_into(&mut experiment.text);
        }
        if model.spec.modality.image().is_some() && experiment.image.is_none() {
            experiment.image = Some(ImageSource::Bundled(DEFAULT_SAMPLE.to_owned()));
        }
    }

    fn on_run_event(&mut self, id: DocumentId, kind: EventKind) {
        let Some(document) = self.find_document_mut(id) else { return };
        match kind {
            EventKind::Progress(progress) => document.capture.report(progress),
            EventKind::Captured(capture) => {
                document.opened = None;
                document.made = document.running.take();
                // That it was changed, or cut, is known to whoever did it, and stands above the view.
                let known = [capture.computation().note(), capture.input().part.map(|part| part.to_string())];
                for note in capture.notes().iter().filter(|note| !known.iter().flatten().any(|known| known == *note)) {
                    self.inform(note.clone(), String::new());
                }
                self.show(id, capture);
            }
            EventKind::Cancelled => document.capture.cancel(),
            // What is offered instead stands beside the text, and stays until somebody chooses.
            EventKind::TooLong(too_long) => {
                document.capture.fail(too_long.failure.clone());
                document.too_long = Some(too_long);
                self.drop_pending(id);
            }
            EventKind::Failed(failure) => {
                document.capture.fail(failure.clone());
                self.drop_pending(id);
                self.notify(NoticeKind::Error, failure);
            }
            _ => {}
        }
    }

    /// What several panes wait for is told to all of them.
    fn on_projection_event(&mut self, job: JobId, kind: EventKind) {
        for pane in self.panes.iter_mut().filter(|pane| pane.projection.job() == Some(job)) {
            match &kind {
                EventKind::Progress(progress) => pane.projection.report(*progress),
                EventKind::Refined(projection) => pane.projection.improve(Arc::clone(projection)),
                EventKind::Projected(projection) => pane.projection = Loadable::Ready(Arc::clone(projection)),
                EventKind::Cancelled => pane.projection.cancel(),
                EventKind::Failed(failure) => pane.projection.fail(failure.clone()),
                _ => {}
            }
        }
        match kind {
            EventKind::Projected(projection) => self.kept_projections.insert(projection),
            EventKind::Failed(failure) => self.notify(NoticeKind::Error, failure),
            _ => {}
        }
    }

    fn on_export_event(&mut self, job: JobId, kind: EventKind) {
        match kind {
            EventKind::Progress(_) => return,
            EventKind::Exported(path) => self.inform("Saved".to_owned(), path.display().to_string()),
            EventKind::Failed(failure) => self.notify(NoticeKind::Error, failure),
            _ => {}
        }
        self.exports_pending.retain(|pending| *pending != job);
    }

    /// What was to be selected once the capture is there has no capture to wait for.
    fn drop_pending(&mut self, id: DocumentId) {
        for pane in self.panes.iter_mut().filter(|pane| pane.document == id) {
            pane.pending = None;
        }
    }

    /// Shows another capture in a document and in every pane that shows it.
    pub(super) fn show(&mut self, id: DocumentId, capture: Arc<Capture>) {
        let Some(document) = self.find_document_mut(id) else { return };
        let before = document.latest_capture().cloned();
        let now = Arc::clone(&capture);
        document.capture = Loadable::Ready(capture);
        let showing: Vec<_> = self.panes.iter().filter(|pane| pane.document == id).map(|pane| pane.id).collect();
        for pane in showing {
            self.with_pane(pane, |pane, document| pane.adopt(document, before.as_deref()));
        }
        if let Some(before) = before {
            self.panes.iter_mut().for_each(|pane| pane.places.follow(id, &before, &now));
        }
    }
}
