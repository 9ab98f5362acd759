//! The laboratory on the model's thread: it gives way to runs, and shows what there is meanwhile.

use std::{
    cell::Cell,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use super::{JobControl, Stop, queue::Urgency};
use crate::{
    analysis::explain::report::Report,
    capture::Capture,
    ids::Side,
    lab::{self, LabError, LabRun},
    model::{Cancelled, Model, Progress, RunPlan, Stage},
    protocol::{EventKind, Explanation, ExplanationAnswer, Failure, Request},
    text::sentence,
};

/// How often what there is already is shown.
const SHOWN_EVERY: Duration = Duration::from_millis(100);

/// Whether both are of the same input and say the same: a run that was stopped or failed leaves an older one on
/// screen.
fn is_same(shown: &Capture, explained: &Capture) -> bool {
    let best = |capture: &Capture| {
        let rows = capture.prediction().map_or(&[][..], |prediction| &prediction.rows);
        rows.iter().filter_map(|row| Some((row.position, row.top.first()?.id))).collect::<Vec<_>>()
    };
    shown.model() == explained.model()
        && shown.input() == explained.input()
        && Side::ALL.into_iter().all(|side| shown.tokens(side) == explained.tokens(side))
        && best(shown) == best(explained)
}

/// Answers a question of the laboratory.
pub(super) fn answer(model: &Model, wanted: Explanation, control: &JobControl) -> Result<EventKind, Stop> {
    let gives_way = AtomicBool::new(false);
    let go_on = |progress: Progress| {
        if control.is_awaited(Urgency::Explaining) {
            gives_way.store(true, Ordering::Relaxed);
            return Err(Cancelled);
        }
        control.report(progress)
    };
    let shown = Mutex::new(Cell::new(Instant::now()));
    let partial = |report: &Report| {
        let shown = shown.lock().unwrap_or_else(PoisonError::into_inner);
        if shown.get().elapsed() >= SHOWN_EVERY {
            shown.set(Instant::now());
            control.send_sign_of_life(EventKind::Explain(ExplanationAnswer::Explaining(Arc::new(report.clone()))));
        }
    };
    let found = (|| {
        go_on(Progress { stage: Stage::Encode, done: 0, total: 1 }).map_err(|_| LabError::Model(Cancelled.into()))?;
        let encoded = model.encode(&wanted.input)?;
        let plan = RunPlan { generate: wanted.generation.clone(), ..RunPlan::silent() };
        let encoded = model.completed(&encoded, &plan, &go_on)?;
        let lab = LabRun::new(model, &encoded, &wanted.edits, &go_on, &partial).with_time_limit(wanted.time_limit);
        lab::answer(lab, &wanted.ask, wanted.target)
    })();
    match found {
        Ok(answer) if is_same(&wanted.shown, &answer.capture) => {
            Ok(EventKind::Explain(ExplanationAnswer::Explained(Arc::new(answer.report))))
        }
        Ok(_) => {
            let summary = "The input has changed since this run".to_owned();
            Err(Stop::Failed(Failure { summary, details: "Run the input again to explain it".to_owned() }))
        }
        Err(error) if error.is_cancelled() && gives_way.load(Ordering::Relaxed) => {
            Err(Stop::Later(Box::new(Request::Explain(Box::new(wanted)))))
        }
        Err(error) if error.is_cancelled() => Err(Stop::Cancelled),
        Err(LabError::Model(error)) => Err(error.into()),
        Err(LabError::TakesLong(estimate)) => Ok(EventKind::Explain(ExplanationAnswer::TakesLong(estimate))),
        Err(error) => Err(Stop::Failed(Failure { summary: sentence(&error.to_string()), details: String::new() })),
    }
}
