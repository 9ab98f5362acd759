//! What is learnt or counted over a corpus in the window: input after input, giving way to what somebody waits for.

use std::{path::Path, sync::Arc};

use super::{JobControl, Stop, debate::PREPARATION, features, lens_fit, probe, queue::Urgency, study_kept::KeptStudy};
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

/// What a study is of, and where what it comes to is kept, if anywhere.
type Studied<'a> = (&'a Model, &'a StudyOrder, Option<&'a KeptStudy>);

/// Answers an order, or puts it back with what there is of it. An order that recalls is answered with what is kept alone.
///
/// # Errors
/// When it cannot be answered, or somebody says stop.
pub fn answer(
    model: &Model,
    mut order: StudyOrder,
    kept: Option<&KeptStudy>,
    control: &JobControl,
) -> Result<EventKind, Stop> {
    let gives_way = || control.check().is_ok() && control.is_awaited(Urgency::Corpus);
    let go_on = |progress| if gives_way() { Err(Cancelled) } else { control.report(progress) };
    let begun =
        std::mem::replace(&mut order.begun, BegunStudy::Probe(ProbeQuestion::default(), ProbeVectors::default()));
    let (begun, answered) = match begun {
        BegunStudy::Probe(question, mut vectors) => {
            let found = probed((model, &order, kept), (&question, &mut vectors), &go_on, control);
            (BegunStudy::Probe(question, vectors), found)
        }
        BegunStudy::Features(question, mut found) => {
            let answered = counted_features((model, &order, kept), (&question, &mut found), &go_on, control);
            (BegunStudy::Features(question, found), answered)
        }
        BegunStudy::Lens(file, mut fit) => {
            let found = fitted((model, &order, kept), (&file, &mut fit), &go_on);
            if let Some(kept) = kept.filter(|_| found.is_ok() || control.check().is_err()) {
                kept.keep_lens(&fit);
            }
            (BegunStudy::Lens(file, fit), found)
        }
    };
    match answered {
        Ok(answer) => Ok(EventKind::Study(answer)),
        Err(ModelError::Cancelled(_)) if order.recalls => Err(Stop::Cancelled),
        Err(ModelError::Cancelled(_)) if control.check().is_ok() => {
            order.begun = begun;
            Err(Stop::Later(Box::new(Request::Study(Box::new(order)))))
        }
        Err(error) => Err(error.into()),
    }
}

/// Gathers vectors and fits probes of them. The fits do not give way: they would begin again.
fn probed(
    (model, order, kept): Studied<'_>,
    (question, vectors): (&ProbeQuestion, &mut ProbeVectors),
    go_on: &Control<'_>,
    control: &JobControl,
) -> Result<StudyAnswer, ModelError> {
    let StudyOrder { list, inputs, corpus, .. } = order;
    if let Some(known) = kept.and_then(|kept| kept.probe(model, order, question)) {
        return Ok(StudyAnswer::Probe(Arc::new(known)));
    }
    if order.recalls {
        return Err(Cancelled.into());
    }
    let wanted = probe::ProbeOrder { model, list, how: PREPARATION, inputs, question };
    probe::go_on(vectors, wanted, go_on)?;
    let summary = probe::fit(model, vectors, question, &|progress| control.report(progress))?;
    let found = CorpusProbe {
        model: model.spec().name.clone(),
        corpus: corpus.clone(),
        question: question.clone(),
        inputs: inputs.clone(),
        left_out: std::mem::take(&mut vectors.left_out),
        summary,
    };
    if let Some(kept) = kept {
        kept.keep_probe(&found);
    }
    Ok(StudyAnswer::Probe(Arc::new(found)))
}

/// Counts where the features of a dictionary fire. What was counted when somebody says stop is told.
fn counted_features(
    (model, order, kept): Studied<'_>,
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
    // What an earlier run of the program has counted, where that is more.
    let known = kept.and_then(|kept| kept.features(model, order, &question.sae));
    if let Some(known) = known.filter(|known| known.n_done > found.n_done) {
        *found = known;
    }
    let is_whole = found.n_done == order.inputs.len();
    if order.recalls && !is_whole {
        if found.counts.n_tokens > 0 {
            control.tell(EventKind::Study(StudyAnswer::FeaturesSoFar(Arc::new(std::mem::take(found)))));
        }
        return Err(Cancelled.into());
    }
    let answered = features::go_on(found, (model, &sae), (&order.list, PREPARATION), go_on);
    let is_stopped = answered.is_err() && control.check().is_err();
    if is_stopped && found.counts.n_tokens > 0 {
        control.tell(EventKind::Study(StudyAnswer::FeaturesSoFar(Arc::new(found.clone()))));
    }
    if let Some(kept) = kept.filter(|_| !is_whole && (answered.is_ok() || is_stopped)) {
        kept.keep_features(found);
    }
    answered.map(|()| StudyAnswer::Features(Arc::new(std::mem::take(found))))
}

/// Fits a lens and writes it.
fn fitted(
    (model, order, kept): Studied<'_>,
    (file, fit): (&LensFile, &mut LensFit),
    go_on: &Control<'_>,
) -> Result<StudyAnswer, ModelError> {
    let failed = |summary: String| ModelError::Input { summary, details: String::new() };
    let n_layers = model.n_stream_layers()?;
    if fit.sums.d_model == 0 {
        fit.sums = JacobianSums::new(model.spec().d_model, n_layers);
        // What an earlier run of the program has added up.
        if let Some(known) = kept.and_then(|kept| kept.lens(&fit.sums)) {
            *fit = known;
        }
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
