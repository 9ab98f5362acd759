//! What the worker's answers do to the parts of the session.

use std::sync::Arc;

use super::{Cause, Document, Documents, Effect, Loadable, Pane, Session, autosave::OpenState, corpora::not_kept};
use crate::{
    ids::{DocumentId, JobId, PaneId},
    protocol::{Event, EventKind, Failure},
};

/// Which part waits for a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waiting {
    Session,
    Download,
    Export,
    Thumbnail,
    Figure,
    Look,
    Document(DocumentId, Answered),
    Survey(PaneId),
    Explain(PaneId),
    Project,
}

/// What a document waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answered {
    Load,
    Run,
    Corpus,
    Outcomes,
    SecondOpinion,
}

impl Session {
    /// Takes in what the worker said. Answers to superseded jobs are ignored.
    #[must_use]
    pub fn on_event(&mut self, event: Event) -> Vec<Effect> {
        let Event { job, kind } = event;
        if let EventKind::NotKept(details) = kind {
            // Whoever waits for the job: it concerns the whole program.
            let Failure { summary, details } = not_kept(&details);
            self.notices.inform(Cause::Job(job), summary, details);
            return Vec::new();
        }
        let mut effects = match self.who_waits(job) {
            Some(waiting) => self.answer(waiting, job, kind),
            None => self.on_late_event(job, kind),
        };
        effects.extend(self.follow_up());
        effects
    }

    fn answer(&mut self, waiting: Waiting, job: JobId, event: EventKind) -> Vec<Effect> {
        let Self { documents, panes, download, figures, keeping, projections, settings, notices, jobs, .. } = self;
        match waiting {
            Waiting::Session => {
                let answer = keeping.on_event(job, event, OpenState { documents, panes }, settings, notices, jobs);
                return self.replace_session(answer);
            }
            Waiting::Download => return download.on_event(job, event, notices, jobs),
            Waiting::Figure => return figures.on_event(job, event, notices),
            Waiting::Look => {
                if self.corpus_sheet.as_mut().is_some_and(|sheet| sheet.on_event(event)) {
                    return self.run_corpus_sheet();
                }
            }
            Waiting::Document(id, of) => return self.answer_document(id, of, job, event),
            Waiting::Export => self.on_export_event(job, event),
            Waiting::Thumbnail => keeping.on_thumbnail(job, event),
            Waiting::Project => projections.on_event(job, event, panes, notices),
            Waiting::Survey(id) => panes.change(id, documents, |pane, _| pane.surveys.on_event(job, event)),
            Waiting::Explain(id) => panes.change(id, documents, |pane, _| pane.explanations.on_event(job, event)),
        }
        Vec::new()
    }

    fn answer_document(&mut self, id: DocumentId, of: Answered, job: JobId, event: EventKind) -> Vec<Effect> {
        let Self { documents, panes, notices, .. } = self;
        match of {
            Answered::Load => return self.on_load_event(id, job, event),
            Answered::Run => {
                // A session shows what was written down, each pane its own head.
                let active = panes.active();
                let chooses = active.pending.is_some() && active.returning.is_none();
                panes.on_run_event(id, event, documents, notices);
                if chooses {
                    panes.share_head(documents);
                }
                if documents.find_mut(id).is_some_and(Document::takes_next_turn) {
                    return self.run_document(id);
                }
            }
            Answered::Corpus => {
                if let Some(document) = documents.find_mut(id) {
                    document.on_corpus_event(event, notices);
                }
            }
            Answered::Outcomes => {
                if let Some(document) = documents.find_mut(id) {
                    document.on_outcomes(event);
                }
            }
            Answered::SecondOpinion => {
                if let Some(document) = documents.find_mut(id) {
                    document.on_second_opinion(event);
                }
            }
        }
        Vec::new()
    }

    fn who_waits(&self, job: JobId) -> Option<Waiting> {
        let whole = [
            (self.keeping.waits_for(job), Waiting::Session),
            (self.download.waits_for(job), Waiting::Download),
            (self.exports_pending.contains(&job), Waiting::Export),
            (self.keeping.awaits_thumbnail(job), Waiting::Thumbnail),
            (self.figures.waits_for(job), Waiting::Figure),
            (self.corpus_sheet.as_ref().is_some_and(|sheet| sheet.look.job() == Some(job)), Waiting::Look),
        ];
        let whole = whole.into_iter().find(|(waits, _)| *waits).map(|(_, waiting)| waiting);
        whole
            .or_else(|| document_waits(&self.documents, job))
            .or_else(|| self.panes.iter().find_map(|it| pane_waits(it, job)))
    }

    fn on_load_event(&mut self, id: DocumentId, job: JobId, kind: EventKind) -> Vec<Effect> {
        if !matches!(kind, EventKind::Progress(_) | EventKind::Loaded(_)) {
            self.models.end(job);
        }
        let Some(document) = self.documents.find_mut(id) else { return Vec::new() };
        match kind {
            EventKind::Progress(progress) => document.model.report(progress),
            EventKind::Loaded(model) => {
                self.models.arrived(job, model.id);
                document.take_owed_picture();
                self.greet_in(id, &model);
                if let Some(document) = self.documents.find_mut(id) {
                    document.model = Loadable::Ready(Arc::clone(&model));
                }
                self.tell_other_files(id);
                let mut effects = self.model_changed(id);
                effects.extend(self.run_loaded(id));
                effects.extend(self.share_owed(&model));
                let expecting = self.documents.find(id);
                let found =
                    expecting.and_then(|document| self.keeping.check_model(document, &model, &mut self.settings));
                effects.extend(found.map(|found| self.open_found(found)).unwrap_or_default());
                return effects;
            }
            // A capture file was opened where a model was expected: the model stays.
            EventKind::Opened(file) => {
                document.load_ended();
                document.run_owed = false;
                let mut effects = self.panes.open_file(id, file, &mut self.documents, &mut self.notices);
                effects.extend(self.load_behind(id));
                return effects;
            }
            EventKind::IsCorpus { path, has_pictures } => {
                document.load_ended();
                let mut effects = self.run_if_owed(id);
                effects.extend(self.open_listed(id, path, has_pictures));
                return effects;
            }
            EventKind::Cancelled => {
                document.load_ended();
                return self.run_if_owed(id);
            }
            EventKind::Failed(failure) => {
                document.load_ended();
                document.input_owed = None;
                if let Some(expected) = document.lost_model() {
                    document.model.fail(failure.clone());
                    let found = self.keeping.look_elsewhere(id, expected, Some(failure), &self.settings);
                    return found.map(|found| self.open_found(found)).unwrap_or_default();
                }
                self.panes.drop_pending(id);
                let effects = self.run_if_owed(id);
                if let Some(document) = self.documents.find_mut(id) {
                    document.model.fail(failure.clone());
                }
                self.notices.fail(Cause::Load(id), failure);
                return effects;
            }
            _ => {}
        }
        Vec::new()
    }

    /// A load had already finished when it was told to stop or another took its place: the worker holds
    /// this model now and not the one before, so the window must not go on showing that one.
    fn on_late_event(&mut self, job: JobId, kind: EventKind) -> Vec<Effect> {
        let Some(load) = self.models.asked(job) else { return Vec::new() };
        let EventKind::Loaded(model) = kind else {
            if !matches!(kind, EventKind::Progress(_)) {
                self.models.end(job);
            }
            return Vec::new();
        };
        self.models.arrived(job, model.id);
        if self.documents.find(load.document).is_none() {
            return Vec::new();
        }
        self.greet_in(load.document, &model);
        let Some(document) = self.documents.find_mut(load.document) else { return Vec::new() };
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

    fn on_export_event(&mut self, job: JobId, kind: EventKind) {
        match kind {
            EventKind::Progress(_) => return,
            EventKind::Exported(path) => {
                let details = path.display().to_string();
                self.notices.inform(Cause::File(path), "Saved", details);
            }
            EventKind::Failed(failure) => self.notices.fail(Cause::Job(job), failure),
            _ => {}
        }
        self.exports_pending.retain(|pending| *pending != job);
    }
}

/// The document that waits for a job.
fn document_waits(documents: &Documents, job: JobId) -> Option<Waiting> {
    documents.iter().find_map(|document| {
        let waits = [
            (document.model.job(), Answered::Load),
            (document.capture.job(), Answered::Run),
            (document.second_opinion.job(), Answered::SecondOpinion),
            (document.corpus.as_ref().and_then(|corpus| corpus.data.job()), Answered::Corpus),
            (document.outcomes.job(), Answered::Outcomes),
        ];
        let (_, of) = waits.into_iter().find(|(waiting, _)| *waiting == Some(job))?;
        Some(Waiting::Document(document.id, of))
    })
}

/// What a pane waits for, where it is a job.
fn pane_waits(pane: &Pane, job: JobId) -> Option<Waiting> {
    if pane.surveys.waits_for(job) {
        Some(Waiting::Survey(pane.id))
    } else if pane.explanations.waits_for(job) {
        Some(Waiting::Explain(pane.id))
    } else {
        (pane.projection.job() == Some(job)).then_some(Waiting::Project)
    }
}
