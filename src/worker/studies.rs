//! What is learnt or counted over a corpus in the window: input after input, giving way to what somebody waits for.

use std::{path::Path, sync::Arc};

use super::{JobControl, Stop, debate::PREPARATION, features, lens_fit, probe, queue::Urgency};
use crate::{
    analysis::{
        explain::jacobian::{JacobianSums, LensFit, MAX_TOKENS},
        probe::{CorpusProbe, ProbeQuestion, ProbeVectors},
        sae::{CorpusFeatures, FeatureQuestion},
    },
    capture::{Excerpt, Keep},
    export,
    model::{Cancelled, Control, Model, ModelError, Preparation, Progress, Stage, open_sae, write_lens},
    protocol::{BegunStudy, EventKind, LensFile, Request, StudyAnswer, StudyOrder},
    text::{counted, sentence},
};

/// Answers an order, or puts it back with what there is of it.
///
/// # Errors
/// When it cannot be answered, or somebody says stop.
pub fn answer(model: &Model, mut order: StudyOrder, control: &JobControl) -> Result<EventKind, Stop> {
    let gives_way = || control.check().is_ok() && control.is_awaited(Urgency::Corpus);
    let go_on = |progress| if gives_way() { Err(Cancelled) } else { control.report(progress) };
    let begun =
        std::mem::replace(&mut order.begun, BegunStudy::Probe(ProbeQuestion::default(), ProbeVectors::default()));
    let (begun, answered) = match begun {
        BegunStudy::Probe(question, mut vectors) => {
            let found = probed(model, &order, (&question, &mut vectors), &go_on, control);
            (BegunStudy::Probe(question, vectors), found)
        }
        BegunStudy::Features(question, mut found) => {
            let answered = counted_features(model, &order, (&question, &mut found), &go_on, control);
            (BegunStudy::Features(question, found), answered)
        }
        BegunStudy::Lens(file, mut fit) => {
            let found = fitted(model, &order, (&file, &mut fit), &go_on);
            (BegunStudy::Lens(file, fit), found)
        }
    };
    match answered {
        Ok(answer) => Ok(EventKind::Study(answer)),
        Err(ModelError::Cancelled(_)) if control.check().is_ok() => {
            order.begun = begun;
            Err(Stop::Later(Box::new(Request::Study(Box::new(order)))))
        }
        Err(error) => Err(error.into()),
    }
}

/// Gathers vectors and fits probes of them. The fits do not give way: they would begin again.
fn probed(
    model: &Model,
    order: &StudyOrder,
    (question, vectors): (&ProbeQuestion, &mut ProbeVectors),
    go_on: &Control<'_>,
    control: &JobControl,
) -> Result<StudyAnswer, ModelError> {
    let StudyOrder { list, inputs, corpus, .. } = order;
    let wanted = probe::ProbeOrder { model, list, how: PREPARATION, inputs, question };
    probe::go_on(vectors, wanted, go_on)?;
    let summary = probe::fit(model, vectors, question, &|progress| control.report(progress))?;
    Ok(StudyAnswer::Probe(Arc::new(CorpusProbe {
        model: model.spec().name.clone(),
        corpus: corpus.clone(),
        question: question.clone(),
        inputs: inputs.clone(),
        left_out: std::mem::take(&mut vectors.left_out),
        summary,
    })))
}

/// Counts where the features of a dictionary fire. What was counted when somebody says stop is told.
fn counted_features(
    model: &Model,
    order: &StudyOrder,
    (question, found): (&FeatureQuestion, &mut CorpusFeatures),
    go_on: &Control<'_>,
    control: &JobControl,
) -> Result<StudyAnswer, ModelError> {
    let failed = |summary: String, details: String| ModelError::Input { summary, details };
    let sae = open_sae(Path::new(&question.sae)).map_err(|error| failed(error.to_string(), error.details()))?;
    if found.d_sae == 0 {
        let names = (model.spec().name.as_str(), order.corpus.as_str(), question.sae.as_str());
        *found = CorpusFeatures::new(&sae, names, order.inputs.clone(), question.texts);
    }
    let answered = features::go_on(found, (model, &sae), (&order.list, PREPARATION), go_on);
    if answered.is_err() && control.check().is_err() && found.counts.n_tokens > 0 {
        control.tell(EventKind::Study(StudyAnswer::FeaturesSoFar(Arc::new(found.clone()))));
    }
    answered.map(|()| StudyAnswer::Features(Arc::new(std::mem::take(found))))
}

/// Fits a lens and writes it.
fn fitted(
    model: &Model,
    order: &StudyOrder,
    (file, fit): (&LensFile, &mut LensFit),
    go_on: &Control<'_>,
) -> Result<StudyAnswer, ModelError> {
    let failed = |summary: String| ModelError::Input { summary, details: String::new() };
    let n_layers = model.n_stream_layers()?;
    if fit.sums.d_model == 0 {
        fit.sums = JacobianSums::new(model.spec().d_model, n_layers);
    }
    let how = Preparation { excerpt: Some(Excerpt::of(Keep::First, MAX_TOKENS)), ..PREPARATION };
    let n = order.inputs.len();
    for nth in fit.n_done..n {
        let Some(item) = order.inputs.get(nth).and_then(|input| order.list.items.get(*input)) else { continue };
        lens_fit::add_text(fit, model, (nth, n), (&item.content, how, file.skip_first), go_on)?;
    }
    go_on(Progress { stage: Stage::Inputs, done: n, total: n })?;
    if fit.sums.n == 0 {
        let why = fit.left_out.first().map_or_else(|| "there are none".to_owned(), |(_, why)| why.clone());
        return Err(failed(format!("none of the texts can be used: {why}")));
    }
    let notes = lens_fit::notes(model, &order.corpus, (file.skip_first, Some(MAX_TOKENS)));
    export::atomic_write(&file.path, |out| write_lens(&fit.sums, &notes, out))
        .map_err(|error| failed(format!("the lens cannot be written: {error}")))?;
    let left_out = match fit.left_out.len() {
        0 => String::new(),
        n => format!("; {} left out as too short or unreadable", counted(n, "text")),
    };
    Ok(StudyAnswer::Lens(
        file.path.clone(),
        sentence(&format!("fitted over {}{left_out}", counted(fit.sums.n, "text"))),
    ))
}
