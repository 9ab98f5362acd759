//! What a pane asked the laboratory, and what it answered.

use std::sync::Arc;

use super::{Document, Effect, Loadable, Session};
use crate::{
    analysis::explain::report::{Question, Report},
    capture::AppliedEdit,
    ids::{CaptureId, JobId, PaneId},
    worker::{Ask, EventKind, Explanation, Lane, Progress, Request, Target},
};

/// Answers that are kept, so that going back to one takes no time.
const MAX_KEPT: usize = 48;

/// What the laboratory shows in a pane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LabOptions {
    /// The question.
    pub question: Question,
    /// The output that it is about.
    pub target: Target,
}

impl Default for LabOptions {
    fn default() -> Self {
        Self { question: Question::Depends, target: Target::default() }
    }
}

/// Everything that an answer depends on.
#[derive(Clone, Debug, PartialEq)]
struct Key {
    capture: CaptureId,
    ask: Ask,
    target: Target,
}

/// The explanations of a pane, the newest last.
#[derive(Clone, Debug, Default)]
pub struct Explanations {
    asked: Vec<(Key, Loadable<Arc<Report>>)>,
}

impl Explanations {
    /// The answer to a question about a run; `None` when it was not asked.
    pub fn find(&self, capture: CaptureId, ask: &Ask, target: Target) -> Option<&Loadable<Arc<Report>>> {
        let is_it = |key: &Key| key.capture == capture && key.target == target && key.ask == *ask;
        self.asked.iter().rev().find(|(key, _)| is_it(key)).map(|(_, answer)| answer)
    }

    /// Whether an answer is on its way.
    pub fn is_pending(&self) -> bool {
        self.running().is_some()
    }

    /// The number of a question whose answer is on its way, and how far it is.
    pub fn running(&self) -> Option<(u64, Option<Progress>)> {
        let pending = |(_, answer): &&(Key, Loadable<_>)| answer.is_pending();
        // The one that tells something is the one that runs.
        let told = self.asked.iter().filter(pending).max_by_key(|(_, answer)| answer.progress().is_some());
        told.map(|(key, answer)| (key.ask.number(), answer.progress()))
    }
}

impl Document {
    /// How to explain the run that is shown, or why that cannot be done.
    fn explanation(&self, pane: PaneId, ask: &Ask, target: Target) -> Result<Explanation, String> {
        let Some(capture) = self.latest_capture() else { return Err("There is nothing to explain yet".to_owned()) };
        let (Some(model), Some(experiment), None) = (self.model.latest(), self.ran(), &self.opened) else {
            return Err("Explaining runs the model again, and this capture came from a file: open its model".to_owned());
        };
        let known = |edit: &AppliedEdit| match edit {
            AppliedEdit::Known(edit) => Ok(edit.clone()),
            AppliedEdit::Foreign(_) => Err("This run was changed in a way that only another version knows".to_owned()),
        };
        let edits = capture.computation().edits.iter().map(known).collect::<Result<_, _>>()?;
        let input = experiment.input(&model.spec).map_err(|failure| failure.summary)?;
        let generation = experiment.generation(&model.spec);
        let shown = Arc::clone(capture);
        Ok(Explanation { pane, shown, model: model.id, input, generation, edits, ask: ask.clone(), target })
    }
}

impl Session {
    /// Asks the laboratory, unless the answer is there or on its way.
    pub(super) fn explain(&mut self, id: PaneId, ask: Ask, target: Target) -> Vec<Effect> {
        let job = self.new_job();
        let Some(pane) = self.panes.get(id) else { return Vec::new() };
        let document = self.document_of(pane);
        let Some(capture) = document.latest_capture().map(|capture| capture.id()) else { return Vec::new() };
        if document.capture.is_pending() || pane.explanations.find(capture, &ask, target).is_some() {
            return Vec::new();
        }
        let explanation = document.explanation(id, &ask, target);
        let Some(pane) = self.panes.get_mut(id) else { return Vec::new() };
        let asked = &mut pane.explanations.asked;
        // What is asked about another run is no longer wanted.
        let mut effects = Vec::new();
        for (key, answer) in asked.iter_mut().filter(|(key, _)| key.capture != capture) {
            if answer.is_pending() {
                effects.push(Effect::Cancel(Lane::Explain(id, key.ask.number())));
            }
        }
        asked.retain(|(key, _)| key.capture == capture);
        let surplus = (asked.len() + 1).saturating_sub(MAX_KEPT);
        asked.drain(..surplus);
        let mut answer = Loadable::Empty;
        match explanation {
            Ok(explanation) => {
                answer.start(job);
                // The same question about another output takes the place of one that is still on its way.
                asked.retain(|(key, answer)| key.ask != ask || !answer.is_pending());
                effects.push(Effect::Submit(job, Request::Explain(Box::new(explanation))));
            }
            Err(summary) => answer.fail(crate::worker::Failure { summary, details: String::new() }),
        }
        asked.push((Key { capture, ask, target }, answer));
        effects
    }

    /// The pane that waits for a job of the laboratory.
    pub(super) fn explaining(&self, job: JobId) -> Option<PaneId> {
        let waits = |pane: &&super::Pane| pane.explanations.asked.iter().any(|(_, answer)| answer.job() == Some(job));
        self.panes.iter().find(waits).map(|pane| pane.id)
    }

    pub(super) fn on_explain_event(&mut self, id: PaneId, job: JobId, event: EventKind) {
        let Some(pane) = self.panes.get_mut(id) else { return };
        let asked = &mut pane.explanations.asked;
        let Some(place) = asked.iter().position(|(_, answer)| answer.job() == Some(job)) else { return };
        let answer = &mut asked[place].1;
        match event {
            EventKind::Progress(progress) => answer.report(progress),
            EventKind::Explaining(report) => answer.improve(report),
            EventKind::Explained(report) => *answer = Loadable::Ready(report),
            EventKind::Failed(failure) => answer.fail(failure),
            // What was stopped can be asked again.
            EventKind::Cancelled => drop(asked.remove(place)),
            _ => {}
        }
    }

    /// Stops what the laboratory does for a pane; it says so, and is not asked again by itself.
    pub(super) fn stop_explaining(&mut self, id: PaneId, number: u64) {
        let Some(pane) = self.panes.get_mut(id) else { return };
        for (key, answer) in &mut pane.explanations.asked {
            if key.ask.number() == number && answer.is_pending() {
                let details = "Choose another question and come back to start it again".to_owned();
                answer.fail(crate::worker::Failure { summary: "It was stopped".to_owned(), details });
            }
        }
    }
}
