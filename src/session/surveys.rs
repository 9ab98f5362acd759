//! Queries of a pane about its whole cloud, and their results.

use std::sync::Arc;

use super::{Document, Effect, Loadable, Pane};
use crate::{
    analysis::{
        cloud_query::{CloudQuery, CloudResult, QuestionKind, Survey, SurveyKey},
        head_page::HeadPage,
    },
    ids::{CloudId, HeadId, JobId, PaneId},
    model::Progress,
    protocol::{Lane, Request, SurveyAnswer, Update},
};

/// Answers that are kept, so that going back to one takes no time.
const MAX_KEPT: usize = 12;

/// The questions of a pane, one of each kind.
#[derive(Clone, Debug, Default)]
pub struct Surveys {
    asked: Vec<HeldSurvey>,
    kept: Vec<(SurveyKey, Arc<CloudResult>)>,
}

/// A question with what is known about it.
#[derive(Clone, Debug)]
struct HeldSurvey {
    kind: QuestionKind,
    key: SurveyKey,
    answer: Loadable<Arc<CloudResult>>,
}

impl Surveys {
    /// The answer to a question that is there, on its way, or failed; `None` when it was not asked, or another one
    /// took its place. What is there before the answer is the answer to the question before, of the same points.
    pub fn find(&self, survey: &Survey) -> Option<&Loadable<Arc<CloudResult>>> {
        let asked = self.asked.iter().find(|asked| asked.kind == survey.question.kind())?;
        (asked.key == survey.key()).then_some(&asked.answer)
    }

    /// The page of a head, where it is the last that was asked for.
    pub fn page(&self, head: HeadId) -> Option<&HeadPage> {
        let asked = self.asked.iter().find(|asked| asked.kind == QuestionKind::Page && asked.key.is_page_of(head))?;
        // Until it is there, what is there is the page of the head before.
        let Loadable::Ready(found) = &asked.answer else { return None };
        if let CloudResult::Page(page) = &**found { Some(page) } else { None }
    }

    /// Whether an answer is on its way.
    pub fn is_pending(&self) -> bool {
        self.running().is_some()
    }

    /// A question whose answer is on its way, and how far it is.
    pub fn running(&self) -> Option<(QuestionKind, Option<Progress>)> {
        let asked = self.asked.iter().find(|asked| asked.answer.is_pending())?;
        Some((asked.kind, asked.answer.progress()))
    }

    /// Lets go of answers about other clouds.
    pub(super) fn retain(&mut self, is_there: impl Fn(CloudId) -> bool) {
        self.asked.retain(|asked| asked.answer.is_pending() || asked.key.holds(&is_there));
        self.kept.retain(|(known, _)| known.holds(&is_there));
    }

    /// Asks for a pane, unless the answer is there or on its way.
    pub(super) fn ask(&mut self, pane: PaneId, survey: Survey, job: JobId) -> Option<Effect> {
        let (kind, key) = (survey.question.kind(), survey.key());
        if self.slot(kind).is_some_and(|asked| asked.key == key) {
            return None;
        }
        let known = self.kept.iter().find(|(known, _)| *known == key).map(|(_, finding)| Arc::clone(finding));
        let mut answer = self.slot(kind).map(|asked| std::mem::take(&mut asked.answer)).unwrap_or_default();
        let was_pending = answer.is_pending();
        // Points of another cloud are other tokens: what was found there must not be seen here.
        if self.slot(kind).is_some_and(|asked| !asked.key.is_about_the_same(&key)) {
            answer = Loadable::Empty;
        }
        let effect = if let Some(finding) = known {
            answer = Loadable::Ready(finding);
            was_pending.then_some(Effect::Cancel(Lane::Survey(pane, kind)))
        } else {
            answer.start(job);
            Some(Effect::Submit(job, Request::Survey { pane, survey: Arc::new(survey) }))
        };
        self.asked.retain(|asked| asked.kind != kind);
        self.asked.push(HeldSurvey { kind, key, answer });
        effect
    }

    /// Failures are said where the answer would be: a half-typed expression is no reason for a message.
    pub(super) fn on_event(&mut self, job: JobId, update: Update<SurveyAnswer>) {
        let Some(asked) = self.asked.iter_mut().find(|asked| asked.answer.job() == Some(job)) else { return };
        let update = match update {
            Update::Answer(SurveyAnswer::SoFar(finding)) => return asked.answer.improve(finding),
            Update::Answer(SurveyAnswer::Found(finding)) => {
                self.kept.push((asked.key.clone(), Arc::clone(&finding)));
                let surplus = self.kept.len().saturating_sub(MAX_KEPT);
                self.kept.drain(..surplus);
                Update::Answer(finding)
            }
            Update::Progress(progress) => Update::Progress(progress),
            Update::Cancelled => Update::Cancelled,
            Update::Failed(failure) => Update::Failed(failure),
        };
        asked.answer.hear(job, update);
    }

    /// Stops a question; it is not asked again by itself.
    pub(super) fn stop(&mut self, kind: QuestionKind) {
        if let Some(asked) = self.slot(kind) {
            asked.answer.cancel();
        }
    }

    /// Waits for nothing any more.
    pub(super) fn let_go(&mut self) {
        self.asked.retain(|asked| !asked.answer.is_pending());
    }

    /// Asks what was stopped or failed once more.
    pub(super) fn ask_again(&mut self) {
        self.asked.retain(|asked| !matches!(asked.answer, Loadable::Empty | Loadable::Failed { .. }));
    }

    fn slot(&mut self, kind: QuestionKind) -> Option<&mut HeldSurvey> {
        self.asked.iter_mut().find(|asked| asked.kind == kind)
    }
}

impl Pane {
    /// A question about what the joint spaces of this pane are made of.
    pub fn survey(&self, document: &Document, question: CloudQuery) -> Option<Survey> {
        let (cloud, stack) = (self.cloud(document)?, self.selection.stack());
        Some(Survey { cloud, stack, options: self.projection_options(), question })
    }
}
