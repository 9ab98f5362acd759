//! Effects of the worker's events on the parts of the session.

use std::{path::PathBuf, sync::Arc};

use super::{Cause, Document, Effect, Loadable, Session, autosave::OpenState, corpora::not_kept};
use crate::{
    ids::{DocumentId, JobId},
    protocol::{CorpusAnswer, Event, EventKind, Failure, Lane, LoadAnswer, RunAnswer, Update},
};

impl Session {
    /// Takes in what the worker said. Answers to superseded jobs are ignored.
    #[must_use]
    pub fn on_event(&mut self, event: Event) -> Vec<Effect> {
        let Event { job, lane, kind } = event;
        if let EventKind::NotKept(details) = kind {
            // Whoever waits for the job: it concerns the whole program.
            let Failure { summary, details } = not_kept(&details);
            self.notices.inform(Cause::Job(job), summary, details);
            return Vec::new();
        }
        let mut effects = self.deliver(job, lane, kind).unwrap_or_default();
        effects.extend(self.follow_up());
        effects
    }

    /// Gives an event to the part that the job's lane belongs to; `None` where nobody waits for the job any more.
    fn deliver(&mut self, job: JobId, lane: Lane, event: EventKind) -> Option<Vec<Effect>> {
        let Self { documents, panes, download, figures, keeping, projections, settings, notices, jobs, cards, .. } =
            self;
        match lane {
            Lane::Load(id) => return Some(self.on_load_event(id, job, event.update()?)),
            Lane::Run(id) => return Some(self.on_run_event(id, job, event.update()?)),
            Lane::Corpus(id) => {
                let (document, update) = (documents.find_mut(id)?, event.update()?);
                // It can be read.
                if let (Update::Answer(CorpusAnswer::Planned(_)), Some(path)) = (&update, document.own_corpus()) {
                    settings.remember_corpus(path);
                }
                document.on_corpus_event(job, update, notices);
            }
            Lane::Debate(id) => documents.find_mut(id)?.on_debate(job, event.update()?),
            Lane::Study(id, study) => {
                let fitted = documents.find_mut(id)?.on_study((study, job), event.update()?, notices);
                panes.begin_with_feature(documents.find(id)?);
                return fitted.map(|path| self.read_through(&LoadAnswer::IsLens(path)));
            }
            Lane::Judge(id) => documents.find_mut(id)?.on_judgements(job, event.update()?, notices),
            Lane::Outcomes(id) => documents.find_mut(id)?.on_outcomes(job, event.update()?),
            Lane::Measure(id) => documents.find_mut(id)?.on_timing(job, event.update()?, notices),
            Lane::SecondOpinion(id) => documents.find_mut(id)?.second_opinion.hear(job, event.update()?),
            Lane::Project(_) => projections.on_event(job, event.update()?, panes, notices),
            Lane::Survey(id, _) => panes.get_mut(id)?.surveys.on_event(job, event.update()?),
            Lane::Explain(id, _) => panes.get_mut(id)?.explanations.on_event(job, event.update()?),
            Lane::Look => {
                if self.corpus_sheet.as_mut()?.on_event(job, event.update()?) {
                    return Some(self.run_corpus_sheet());
                }
            }
            Lane::Thumbnail => keeping.on_thumbnail(job, event.update()?),
            Lane::Card => cards.on_event(job, event.update()?),
            Lane::Draw => return Some(figures.on_event(job, event.update()?, notices)),
            Lane::Export => self.on_export_event(job, event.update()?),
            Lane::Session => {
                let answer =
                    keeping.on_event(job, event.update()?, OpenState { documents, panes }, settings, notices, jobs);
                return Some(self.replace_session(answer));
            }
            Lane::Catalog => download.on_catalog(job, event.update()?),
            Lane::Download => return Some(download.on_event(job, event.update()?, notices, settings, jobs)),
            // Models are let go of without an answer, and what is read goes to the shared store.
            Lane::Forget | Lane::Analysis => {}
        }
        Some(Vec::new())
    }

    fn on_run_event(&mut self, id: DocumentId, job: JobId, update: Update<RunAnswer>) -> Vec<Effect> {
        let Self { documents, panes, notices, settings, .. } = self;
        if documents.find(id).is_none_or(|document| document.capture.job() != Some(job)) {
            return Vec::new();
        }
        // A session shows what was written down, each pane its own head.
        let active = panes.active();
        let chooses = active.pending.is_some() && active.returning.is_none();
        let is_new = matches!(update, Update::Answer(RunAnswer::Captured(_)));
        panes.on_run_event(id, update, documents, notices);
        if is_new {
            settings.first_steps.run(panes.active());
        }
        if chooses {
            panes.share_head(documents);
        }
        if documents.find_mut(id).is_some_and(Document::takes_next_turn) { self.run_document(id) } else { Vec::new() }
    }

    fn on_load_event(&mut self, id: DocumentId, job: JobId, update: Update<LoadAnswer>) -> Vec<Effect> {
        let awaiting = self.documents.find_mut(id).filter(|document| document.model.job() == Some(job));
        let Some(document) = awaiting else { return self.on_late_load(id, job, update) };
        if !matches!(update, Update::Progress(_) | Update::Answer(LoadAnswer::Loaded(_))) {
            self.models.end(job);
        }
        match update {
            Update::Progress(progress) => document.model.report(progress),
            Update::Answer(LoadAnswer::Loaded(model)) => {
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
                effects.extend(self.open_owed(id));
                return effects;
            }
            // A capture file was opened where a model was expected: the model stays.
            Update::Answer(LoadAnswer::Opened(file)) => {
                document.load_ended();
                document.run_owed = false;
                let mut effects = self.panes.open_file(id, file, &mut self.documents, &mut self.notices);
                effects.extend(self.load_behind(id));
                return effects;
            }
            Update::Answer(LoadAnswer::IsCorpus { path, has_pictures }) => {
                document.load_ended();
                let mut effects = self.run_if_owed(id);
                effects.extend(self.open_listed(id, path, has_pictures));
                return effects;
            }
            Update::Answer(answer @ (LoadAnswer::IsLens(_) | LoadAnswer::IsSae(_))) => {
                document.load_ended();
                let mut effects = self.run_if_owed(id);
                effects.extend(self.read_through(&answer));
                return effects;
            }
            Update::Cancelled => {
                document.load_ended();
                document.paths_owed.clear();
                return self.run_if_owed(id);
            }
            Update::Failed(failure) => {
                document.load_ended();
                document.input_owed = None;
                if let Some(expected) = document.lost_model() {
                    document.model.fail(failure.clone());
                    let found = self.keeping.look_elsewhere(id, expected, Some(failure), &self.settings);
                    return found.map(|found| self.open_found(found)).unwrap_or_default();
                }
                self.panes.drop_pending(id);
                let mut effects = self.run_if_owed(id);
                if let Some(document) = self.documents.find_mut(id) {
                    document.model.fail(failure.clone());
                }
                self.notices.fail(Cause::Load(id), failure);
                effects.extend(self.open_owed(id));
                return effects;
            }
        }
        Vec::new()
    }

    /// A load had already finished when it was told to stop or another took its place: the worker holds
    /// this model now and not the one before, so the window must not go on showing that one.
    fn on_late_load(&mut self, id: DocumentId, job: JobId, update: Update<LoadAnswer>) -> Vec<Effect> {
        let Update::Answer(LoadAnswer::Loaded(model)) = update else {
            if !matches!(update, Update::Progress(_)) {
                self.models.end(job);
            }
            return Vec::new();
        };
        self.models.arrived(job, model.id);
        if self.documents.find(id).is_none() {
            return Vec::new();
        }
        self.greet_in(id, &model);
        let Some(document) = self.documents.find_mut(id) else { return Vec::new() };
        if let Loadable::Pending { previous, .. } = &mut document.model {
            *previous = Some(model);
        } else {
            document.experiment.model = Some(model.source.clone());
            document.model = Loadable::Ready(model);
        }
        let mut effects = self.model_changed(id);
        effects.extend(self.run_document(id));
        effects
    }

    fn on_export_event(&mut self, job: JobId, update: Update<PathBuf>) {
        if !self.exports_pending.contains(&job) {
            return;
        }
        match update {
            Update::Progress(_) => return,
            Update::Answer(path) => {
                let details = path.display().to_string();
                self.notices.inform(Cause::File(path), "Saved", details);
            }
            Update::Failed(failure) => self.notices.fail(Cause::Job(job), failure),
            Update::Cancelled => {}
        }
        self.exports_pending.retain(|pending| *pending != job);
    }
}
