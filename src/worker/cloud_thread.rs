//! The cloud thread: measures whole clouds, so that a search waits for no layout and a pattern for no search.

use std::{io, sync::Arc};

use rayon::ThreadPool;

use super::{JobControl, Stop, head_folder, idle::give_back_in, projector, thread::Engine};
use crate::{
    analysis::cloud_query::{CloudQuery, CloudResult, StoredHead, Survey},
    model::{Progress, Stage},
    protocol::{EventKind, Failure, Request, SurveyAnswer},
    text::sentence,
};

/// Answers surveys on compute threads of its own.
#[derive(Debug)]
pub struct SurveyEngine {
    pool: ThreadPool,
}

impl SurveyEngine {
    /// One core is left to the window.
    ///
    /// # Errors
    /// When the system refuses to start the threads.
    pub fn new() -> io::Result<Self> {
        Ok(Self { pool: projector::pool("survey")? })
    }
}

impl Engine for SurveyEngine {
    const THREAD: &'static str = "survey-worker";

    fn rest(&mut self) {
        give_back_in(&self.pool);
    }

    fn answer(&mut self, request: Request, control: &JobControl) -> Result<EventKind, Stop> {
        let Request::Survey { survey, .. } = request else {
            let details = format!("Please report this: {:?}", request.lane());
            return Err(Stop::Failed(Failure { summary: "This cannot be measured".to_owned(), details }));
        };
        self.pool.install(|| answer(&survey, control))
    }
}

/// Answers on the compute threads of the caller.
pub(super) fn answer(survey: &Survey, control: &JobControl) -> Result<EventKind, Stop> {
    if let CloudQuery::Stored(StoredHead { folder, head }) = &survey.question {
        let found = head_folder::read_head(folder, *head);
        control.check()?;
        return match found {
            Ok(file) => Ok(EventKind::Survey(SurveyAnswer::Found(Arc::new(CloudResult::Stored(Arc::new(file)))))),
            Err(summary) => {
                let details = folder.path.display().to_string();
                Err(Stop::Failed(Failure { summary, details }))
            }
        };
    }
    if let Some(first) = survey.first() {
        let check = &mut |_, _| control.check().is_ok();
        if let Some(Ok(found)) = first.answer(check) {
            control.tell(EventKind::Survey(SurveyAnswer::SoFar(found.into())));
        }
    }
    let mut go_on = |done, total| control.report(Progress { stage: Stage::Measure, done, total }).is_ok();
    match survey.answer(&mut go_on) {
        Some(Ok(finding)) => Ok(EventKind::Survey(SurveyAnswer::Found(finding.into()))),
        Some(Err(problem)) => Err(Stop::Failed(Failure { summary: sentence(&problem), details: String::new() })),
        None => Err(Stop::Cancelled),
    }
}
