//! The sheet to open anything, and the download of a model from the hub: what was asked for, how far it is, how it ended.

use std::sync::Arc;

use super::{Cause, Effect, Notices, Settings, jobs::Jobs};
use crate::{
    hub::{Plan, RepoId, Transfer},
    ids::JobId,
    protocol::{Catalog, DownloadAnswer, Failure, Lane, Request, Update},
    text::told,
};

/// Models to begin with: id, and what it is.
pub const SUGGESTIONS: [(&str, &str); 6] = [
    ("openai-community/gpt2", "text generation, 124 M parameters"),
    ("HuggingFaceTB/SmolLM2-135M", "text generation, 135 M parameters"),
    ("EleutherAI/pythia-70m", "text generation, 70 M parameters"),
    ("google-bert/bert-base-uncased", "masked words, 110 M parameters"),
    ("sentence-transformers/all-MiniLM-L6-v2", "sentence vectors, 23 M parameters"),
    ("google/vit-base-patch16-224", "picture classes, 86 M parameters"),
];

/// What the sheet to open anything shows, and the download that goes on while it is closed.
#[derive(Debug, Default)]
pub struct Download {
    /// Whether the sheet is open.
    pub is_open: bool,
    /// What is in its field.
    pub name: String,
    pub step: DownloadStep,
    /// The models to choose from; `None` until they were listed.
    pub known: Option<Catalog>,
    listing: Option<JobId>,
}

/// How far a download is. One at a time.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum DownloadStep {
    /// Nothing was asked for yet.
    #[default]
    Choosing,
    /// The server is asked what the model consists of.
    Asking {
        job: JobId,
        id: RepoId,
        /// Why the answer takes long, if so.
        transfer: Option<Transfer>,
    },
    /// Files and sizes are known; nothing was fetched yet.
    Ready {
        plan: Arc<Plan>,
        /// Why the model would not open, if so.
        problem: Option<String>,
    },
    Running {
        job: JobId,
        plan: Arc<Plan>,
        /// The last sign of life.
        transfer: Option<Transfer>,
    },
    /// The user stopped it; what arrived is kept.
    Stopped(Arc<Plan>),
    /// It did not work out.
    Failed {
        failure: Failure,
        /// What was being fetched, if it came to that: it can go on.
        plan: Option<Arc<Plan>>,
    },
    /// The model is in the cache.
    Done(Arc<Plan>),
}

/// What the user can ask of the sheet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DownloadCommand {
    Open,
    /// Open it with this in its field.
    OpenWith(String),
    /// Close it; a download goes on.
    Close,
    SetName(String),
    /// Ask the server about the id in the field.
    LookUp,
    /// Open the sheet and ask the server about this id.
    Find(String),
    /// Fetch, or go on fetching.
    Start,
    /// Stop asking or fetching.
    Stop,
}

impl Download {
    /// The download that is running, with its last sign of life.
    pub const fn running(&self) -> Option<(&Arc<Plan>, Option<&Transfer>)> {
        let DownloadStep::Running { plan, transfer, .. } = &self.step else { return None };
        Some((plan, transfer.as_ref()))
    }

    /// The job that is being waited for.
    const fn job(&self) -> Option<JobId> {
        match self.step {
            DownloadStep::Asking { job, .. } | DownloadStep::Running { job, .. } => Some(job),
            DownloadStep::Choosing
            | DownloadStep::Ready { .. }
            | DownloadStep::Stopped(_)
            | DownloadStep::Failed { .. }
            | DownloadStep::Done(_) => None,
        }
    }

    /// What is fetched when the user asks for it.
    fn startable(&self) -> Option<Arc<Plan>> {
        match &self.step {
            DownloadStep::Ready { plan, .. }
            | DownloadStep::Stopped(plan)
            | DownloadStep::Failed { plan: Some(plan), .. } => Some(Arc::clone(plan)),
            DownloadStep::Choosing
            | DownloadStep::Asking { .. }
            | DownloadStep::Running { .. }
            | DownloadStep::Failed { plan: None, .. }
            | DownloadStep::Done(_) => None,
        }
    }

    pub(super) fn on_command(&mut self, command: DownloadCommand, settings: &Settings, jobs: &mut Jobs) -> Vec<Effect> {
        match command {
            DownloadCommand::Open => {
                self.name.clear();
                self.is_open = true;
                return vec![self.list_models(settings, jobs)];
            }
            DownloadCommand::OpenWith(name) => {
                let mut effects = self.on_command(DownloadCommand::Open, settings, jobs);
                effects.extend(self.set_name(name));
                return effects;
            }
            DownloadCommand::Close => self.close(),
            DownloadCommand::SetName(name) => return self.set_name(name),
            DownloadCommand::LookUp => return self.look_up(jobs),
            DownloadCommand::Find(name) => {
                let mut effects = self.on_command(DownloadCommand::OpenWith(name), settings, jobs);
                effects.extend(self.look_up(jobs));
                return effects;
            }
            DownloadCommand::Start => {
                if let Some(plan) = self.startable() {
                    return vec![self.fetch(plan, jobs)];
                }
            }
            DownloadCommand::Stop => return self.stop(),
        }
        Vec::new()
    }

    /// Puts this into the field; what was asked about another id is let go of, but for a download.
    fn set_name(&mut self, name: String) -> Vec<Effect> {
        self.name = name;
        if self.running().is_some() {
            return Vec::new();
        }
        let effects = self.stop();
        self.step = DownloadStep::Choosing;
        effects
    }

    /// Closes the sheet; what is on its way goes on.
    fn close(&mut self) {
        self.is_open = false;
        if matches!(self.step, DownloadStep::Done(_)) {
            self.step = DownloadStep::Choosing;
        }
    }

    /// Takes in the list of models; one that could not be made leaves the old one.
    pub(super) fn on_catalog(&mut self, job: JobId, update: Update<Catalog>) {
        if self.listing != Some(job) {
            return;
        }
        if let Update::Answer(models) = update {
            self.known = Some(models);
        }
        self.listing = None;
    }

    pub(super) fn on_event(
        &mut self,
        job: JobId,
        update: Update<DownloadAnswer>,
        notices: &mut Notices,
        settings: &Settings,
        jobs: &mut Jobs,
    ) -> Vec<Effect> {
        if self.job() != Some(job) {
            return Vec::new();
        }
        match update {
            Update::Answer(DownloadAnswer::Transfer(now)) => {
                if let DownloadStep::Asking { transfer, .. } | DownloadStep::Running { transfer, .. } = &mut self.step {
                    *transfer = Some(now);
                }
            }
            Update::Answer(DownloadAnswer::Planned { plan, problem }) => {
                if plan.missing_bytes() == 0 {
                    // Nothing to decide, and no network needed.
                    return vec![self.fetch(plan, jobs)];
                }
                self.step = DownloadStep::Ready { plan, problem };
            }
            Update::Answer(DownloadAnswer::Downloaded(plan)) => {
                if !self.is_open {
                    let summary = format!("{} is downloaded", plan.id);
                    notices.inform(Cause::Job(job), summary, "It is in the list of Open…");
                }
                self.step = DownloadStep::Done(plan);
                return vec![self.list_models(settings, jobs)];
            }
            Update::Failed(failure) => {
                if !self.is_open {
                    notices.fail(Cause::Job(job), failure.clone());
                }
                let plan = self.running().map(|(plan, _)| Arc::clone(plan));
                self.step = DownloadStep::Failed { failure, plan };
            }
            // Somebody else stopped it; there is nothing left to cancel.
            Update::Cancelled => drop(self.stop()),
            Update::Progress(_) => {}
        }
        Vec::new()
    }

    /// Stops asking or fetching.
    pub(super) fn stop(&mut self) -> Vec<Effect> {
        self.step = match std::mem::take(&mut self.step) {
            DownloadStep::Asking { .. } => DownloadStep::Choosing,
            DownloadStep::Running { plan, .. } => DownloadStep::Stopped(plan),
            idle @ (DownloadStep::Choosing
            | DownloadStep::Ready { .. }
            | DownloadStep::Stopped(_)
            | DownloadStep::Failed { .. }
            | DownloadStep::Done(_)) => {
                self.step = idle;
                return Vec::new();
            }
        };
        vec![Effect::Cancel(Lane::Download)]
    }

    fn look_up(&mut self, jobs: &mut Jobs) -> Vec<Effect> {
        if self.running().is_some() || self.name.trim().is_empty() {
            return Vec::new();
        }
        let Some(id) = RepoId::parse(&self.name) else {
            let failure = Failure {
                summary: format!("“{}” is not a model id", told(self.name.trim())),
                details:
                    "Type the id as on the hub: owner/name, optionally with @revision; or a path on this computer, \
                          such as ~/models/bert"
                        .to_owned(),
            };
            self.step = DownloadStep::Failed { failure, plan: None };
            return Vec::new();
        };
        let job = jobs.next();
        self.step = DownloadStep::Asking { job, id: id.clone(), transfer: None };
        vec![Effect::Submit(job, Request::PlanDownload(id))]
    }

    fn fetch(&mut self, plan: Arc<Plan>, jobs: &mut Jobs) -> Effect {
        let job = jobs.next();
        self.step = DownloadStep::Running { job, plan: Arc::clone(&plan), transfer: None };
        Effect::Submit(job, Request::Download(plan))
    }

    fn list_models(&mut self, settings: &Settings, jobs: &mut Jobs) -> Effect {
        let job = jobs.next();
        self.listing = Some(job);
        Effect::Submit(job, Request::ListModels(settings.recent_models.clone()))
    }
}
