//! What a model says of every input of a list, held against their labels or against the tokens themselves.

use std::sync::Arc;

use super::input_of;
use crate::{
    analysis::accuracy::{Judgements, Said, Speech, Verdict, token_losses},
    capture::Capture,
    corpus::list::{InputList, Item},
    ids::Side,
    model::{Cancelled, Control, Logits, Model, ModelError, Preparation, Progress, RunPlan, Sites, Stage},
    outputs::OutputKind,
    protocol::{EventKind, Failure, JudgeAnswer, JudgeRequest, Request},
    text::sentence,
    worker::{JobControl, Stop, queue::Urgency},
};

/// Inputs of which something is told first.
const FIRST_TOLD: usize = 8;

/// Asks for the window: gives way between two inputs, and tells what is there each time it has doubled.
pub(in crate::worker) fn judge_for_window(
    model: &Model,
    request: JudgeRequest,
    control: &JobControl,
) -> Result<EventKind, Stop> {
    let JudgeRequest { list, label_column, known, .. } = &request;
    let column = label_column.as_ref().and_then(|name| list.columns.iter().position(|known| known == name));
    let order = JudgeOrder { model, list, label_column: column, how: Preparation::default() };
    let mut judgements = Judgements::clone(known);
    let (total, mut n_told) = (list.items.len(), judgements.n_done());
    let mut gives_way = false;
    let mut told = |judgements: &Judgements| {
        let done = judgements.n_done();
        control.report(Progress { stage: Stage::Measure, done, total })?;
        if done >= 2 * n_told.max(FIRST_TOLD) {
            n_told = done;
            control.tell(EventKind::Judge(JudgeAnswer::SoFar(Arc::new(judgements.clone()))));
        }
        gives_way = control.is_awaited(Urgency::Corpus) && done < total;
        if gives_way { Err(Cancelled) } else { Ok(()) }
    };
    match judge(order, &mut judgements, &|_| control.check(), &mut told) {
        Ok(()) => Ok(EventKind::Judge(JudgeAnswer::Judged(Arc::new(judgements)))),
        Err(JudgeError::Cannot(why)) => Err(Stop::Failed(Failure { summary: sentence(&why), details: String::new() })),
        Err(JudgeError::Stopped(_)) if gives_way && control.check().is_ok() => {
            Err(Stop::Later(Box::new(Request::Judge(Box::new(JudgeRequest {
                known: Arc::new(judgements),
                ..request
            })))))
        }
        // What was said stays.
        Err(JudgeError::Stopped(_)) => {
            control.tell(EventKind::Judge(JudgeAnswer::SoFar(Arc::new(judgements))));
            Err(Stop::Cancelled)
        }
    }
}

/// The inputs that a model is asked about.
#[derive(Clone, Copy)]
pub struct JudgeOrder<'a> {
    pub model: &'a Model,
    pub list: &'a InputList,
    /// The column of the list with names or numbers of the right classes.
    pub label_column: Option<usize>,
    pub how: Preparation,
}

/// Why not all inputs were run.
#[derive(Clone, Debug, thiserror::Error)]
pub enum JudgeError {
    #[error(transparent)]
    Stopped(#[from] Cancelled),
    /// As a sentence without a stop.
    #[error("{0}")]
    Cannot(String),
}

/// What is told of a model that says nothing of the kind.
pub fn says_nothing(model: &str) -> String {
    format!(
        "{model} says nothing that labels of inputs or the next tokens of texts could be held against: name a classifier or a \
         language model that reads from left to right"
    )
}

/// Runs the inputs that are left, in their order. `told` hears after each of them how far it is, and answers whether to go
/// on; what there is stays, and the next call goes on from there.
///
/// # Errors
/// When it is told to stop, or the model says nothing that could be judged.
pub fn judge(
    order: JudgeOrder<'_>,
    judgements: &mut Judgements,
    control: &Control<'_>,
    told: &mut dyn FnMut(&Judgements) -> Result<(), Cancelled>,
) -> Result<(), JudgeError> {
    let JudgeOrder { model, list, .. } = order;
    let speech = Speech::of(model.spec()).ok_or_else(|| JudgeError::Cannot(says_nothing(&model.spec().name)))?;
    for (source, item) in list.items.iter().enumerate().skip(judgements.next()) {
        let plan = RunPlan { sites: Sites::NONE, logits: Logits::Keep, ..RunPlan::default() };
        let encoded = model.encode(&input_of(&item.content, order.how));
        match encoded.and_then(|input| model.forward(&input, &plan, control)) {
            Ok(capture) => {
                let said = said_of((model, speech), &capture, label_of(order, item), judgements)?;
                match said {
                    Ok(said) => judgements.add(source, said, |class| model.outcome_label(class as u32)),
                    Err(reason) => judgements.leave_out(source, reason.to_owned()),
                }
            }
            Err(ModelError::Cancelled(stop)) => return Err(stop.into()),
            Err(error) => judgements.leave_out(source, error.to_string()),
        }
        told(judgements)?;
    }
    Ok(())
}

fn label_of<'a>(order: JudgeOrder<'_>, item: &'a Item) -> Option<&'a str> {
    item.values.get(order.label_column?)?.as_deref()
}

/// What is said of one input, or why nothing is.
fn said_of(
    (model, speech): (&Model, Speech),
    capture: &Capture,
    label: Option<&str>,
    judgements: &mut Judgements,
) -> Result<Result<Said, &'static str>, JudgeError> {
    let outputs = capture.prediction().map(|prediction| prediction.outputs);
    if outputs.is_some_and(|outputs| matches!(outputs, OutputKind::Labels | OutputKind::Scores)) {
        let message = "the head of the model gives scores or labels of which several may hold, so that no class is right: \
                       capture --corpus has its numbers";
        return Err(JudgeError::Cannot(message.to_owned()));
    }
    let Some(logits) = capture.logits() else { return Ok(Err("the model gave no output")) };
    if speech == Speech::Tokens {
        let ids: Vec<Option<u32>> = capture.tokens(Side::Only).iter().map(|token| token.id).collect();
        return Ok(token_losses(logits, &ids).map(Said::Tokens).ok_or("the text has a single token"));
    }
    let Some(row) = logits.rows().next() else { return Ok(Err("the model gave no output")) };
    let class = label.and_then(|label| class_of(model, row.len(), label));
    if let (Some(label), None) = (label, class) {
        judgements.note_unknown(label);
    }
    Ok(Verdict::of(row, class).map(Said::Class).ok_or("the output is not finite"))
}

/// The class that a label names, by its name in whatever case or its number.
fn class_of(model: &Model, n: usize, label: &str) -> Option<usize> {
    let label = label.trim();
    let is_named = |class: &usize| model.outcome_label(*class as u32).to_lowercase() == label.to_lowercase();
    (0..n).find(is_named).or_else(|| label.parse().ok().filter(|class| *class < n))
}
