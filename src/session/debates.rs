//! Tests of attention as explanation over the corpus of a document.

use std::sync::Arc;

use super::{Document, Effect, Loadable};
use crate::{
    analysis::debate::CorpusDebate,
    figure::views::debate::DebateChoices,
    ids::JobId,
    protocol::{DebateAnswer, DebateOrder, Request, Update},
};

/// How far what was measured answers what is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DebateProgress {
    /// Nothing was measured.
    NotBegun,
    /// All of it was measured for the choices that are made, or as much as there is so far.
    Answered,
    /// It was stopped before all inputs were measured.
    Stopped,
    /// What is there is of other choices; whether nothing has to be measured for these.
    OfOthers { is_known: bool },
}

impl Document {
    /// What was found about its corpus, as far as it is.
    pub fn debate(&self) -> Option<&Arc<CorpusDebate>> {
        self.corpus.as_deref()?.debate.latest()
    }

    /// The inputs that are tested, by their places in the list: those that were not taken out.
    pub fn tested_inputs(&self, choices: &DebateChoices) -> Vec<usize> {
        choices.inputs(self.there()).collect()
    }

    /// Why its corpus cannot be tested, as a sentence.
    pub fn debate_obstacle(&self) -> Option<&'static str> {
        match self.model.latest() {
            _ if self.opened.is_some() => {
                Some("A capture is shown: the tests run a model, so open one with the corpus")
            }
            None => Some("There is no model to run"),
            Some(_) if self.model.is_pending() => Some("Another model is on its way"),
            Some(_) => None,
        }
    }

    /// How far what was found answers these choices.
    pub fn debate_progress(&self, choices: &DebateChoices) -> DebateProgress {
        let Some(corpus) = self.corpus.as_deref() else { return DebateProgress::NotBegun };
        let Some(found) = corpus.debate.latest() else { return DebateProgress::NotBegun };
        let (question, inputs) = (choices.question(), self.tested_inputs(choices));
        match found.answers(&question, &inputs) {
            true if found.is_whole() || corpus.debate.is_pending() => DebateProgress::Answered,
            true => DebateProgress::Stopped,
            false => DebateProgress::OfOthers { is_known: found.knows(&question, &inputs) },
        }
    }

    /// Whether it is time to look whether tests of an earlier run of the program are kept: once for each model and corpus.
    pub fn wants_recall(&self) -> bool {
        let Some(corpus) = self.corpus.as_deref() else { return false };
        let is_there = corpus.data.latest().is_some_and(|so_far| so_far.is_whole) && !corpus.data.is_pending();
        let is_new = matches!(corpus.debate, Loadable::Empty) && !corpus.is_recalled;
        is_there && is_new && self.debate_obstacle().is_none()
    }

    /// Has what is kept of its tests read again.
    pub(super) fn recall_debate(&mut self, choices: &DebateChoices, job: JobId) -> Vec<Effect> {
        if !self.wants_recall() {
            return Vec::new();
        }
        if let Some(corpus) = self.corpus.as_deref_mut() {
            corpus.is_recalled = true;
        }
        self.order_debate(choices, true, job)
    }

    /// Has its corpus tested; what is known of it is not measured again.
    pub(super) fn debate_inputs(&mut self, choices: &DebateChoices, job: JobId) -> Vec<Effect> {
        self.order_debate(choices, false, job)
    }

    fn order_debate(&mut self, choices: &DebateChoices, recalls: bool, job: JobId) -> Vec<Effect> {
        if self.debate_obstacle().is_some() {
            return Vec::new();
        }
        let (document, inputs) = (self.id, self.tested_inputs(choices));
        let Some(model) = self.model.latest().map(|model| model.id) else { return Vec::new() };
        let Some(corpus) = self.corpus.as_deref_mut().filter(|_| !inputs.is_empty()) else { return Vec::new() };
        let Some(so_far) = corpus.data.latest() else { return Vec::new() };
        let order = DebateOrder {
            document,
            model,
            list: Arc::clone(&so_far.list),
            corpus: corpus.source.name(),
            question: choices.question(),
            inputs,
            known: corpus.debate.latest().cloned(),
            recalls,
        };
        corpus.debate.start(job);
        vec![Effect::Submit(job, Request::Debate(Box::new(order)))]
    }

    pub(super) fn on_debate(&mut self, job: JobId, update: Update<DebateAnswer>) {
        let Some(corpus) = self.corpus.as_deref_mut().filter(|corpus| corpus.debate.job() == Some(job)) else { return };
        let update = match update {
            Update::Answer(DebateAnswer::SoFar(found)) => return corpus.debate.improve(found),
            Update::Answer(DebateAnswer::Found(found)) => Update::Answer(found),
            Update::Progress(progress) => Update::Progress(progress),
            // What was measured before it was stopped stays.
            Update::Cancelled => Update::Cancelled,
            // It is said where the charts would be.
            Update::Failed(failure) => Update::Failed(failure),
        };
        corpus.debate.hear(job, update);
    }

    /// Forgets what was found about its corpus; whether that was on its way.
    pub(super) fn forget_debate(&mut self) -> bool {
        self.corpus.as_deref_mut().is_some_and(|corpus| {
            corpus.is_recalled = false;
            std::mem::replace(&mut corpus.debate, Loadable::Empty).is_pending()
        })
    }
}
