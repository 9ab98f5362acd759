//! What is learnt or counted over a corpus, for a figure.

use std::{path::Path, sync::Arc};

use super::{
    RenderOptions, explained,
    source::{Source, check_corpus, first_of},
};
use crate::{
    analysis::{probe::CorpusProbe, sae::CorpusFeatures},
    cli::{CliError, show_progress},
    corpus::list::InputList,
    figure::{
        spec::{FigureSpec, Measurements},
        views::{Study, dictionary::FeatureChoices, probe::ProbeChoices},
    },
    model::{Model, open_sae},
    worker::{
        debate::PREPARATION,
        features,
        probe::{ProbeOrder, fit, probe_vectors},
    },
};

/// The column that is taken where none is named.
const LABEL: &str = "label";

/// Makes a study of a corpus, with the first of its inputs as it was run.
pub fn study(
    model: &Model,
    list: &InputList,
    (options, spec): (&RenderOptions, &FigureSpec),
    study: Study,
) -> Result<Source, CliError> {
    check_corpus(options)?;
    let corpus = options.input.corpus_name().to_string_lossy().into_owned();
    let (measured, left_out, first) = match study {
        Study::Probe => {
            let found = probed(model, (list, corpus), spec.options.probed())?;
            let (left_out, first) = (found.left_out.clone(), found.inputs.first().copied());
            (Measurements { probe: Some(Arc::new(found)), ..Measurements::default() }, left_out, first)
        }
        Study::Features => {
            let found = Arc::new(counted(model, (list, corpus), spec.options.listed())?);
            let ran = |input: &&usize| found.texts.get(**input).is_some_and(|text| !text.is_empty());
            let (left_out, first) = (found.left_out.clone(), found.inputs.iter().find(ran).copied());
            (Measurements { features: Some(found), ..Measurements::default() }, left_out, first)
        }
        Study::Lens => return Err(CliError::Usage("a lens is fitted by attnscope analyze jacobian-lens".to_owned())),
    };
    for (input, reason) in left_out {
        log::warn!("left out: input {input}: {reason}");
    }
    let (source, encoded) = first_of(model, (list, first), spec)?;
    let answers = explained::about_feature(model, &encoded, (options, spec), &measured)?;
    Ok(Source { answers, measured, ..source })
}

fn probed(
    model: &Model,
    (list, corpus): (&InputList, String),
    choices: &ProbeChoices,
) -> Result<CorpusProbe, CliError> {
    let (question, inputs) = (choices.question(LABEL), choices.inputs(0..list.items.len()).collect::<Vec<_>>());
    let order = ProbeOrder { model, list, how: PREPARATION, inputs: &inputs, question: &question };
    let vectors = probe_vectors(order, &show_progress)?;
    let summary = fit(model, &vectors, &question, &show_progress)?;
    Ok(CorpusProbe { model: model.spec().name.clone(), corpus, question, inputs, left_out: vectors.left_out, summary })
}

fn counted(
    model: &Model,
    (list, corpus): (&InputList, String),
    choices: &FeatureChoices,
) -> Result<CorpusFeatures, CliError> {
    let question = choices.question();
    let question = question.ok_or_else(|| CliError::Usage("name the folder of a dictionary with --sae".to_owned()))?;
    let sae = open_sae(Path::new(&question.sae))?;
    let names = (model.spec().name.as_str(), corpus.as_str(), question.sae.as_str());
    let mut found =
        CorpusFeatures::new(&sae, names, choices.inputs(0..list.items.len()).collect::<Vec<_>>(), question.texts);
    if let Some(feature) = choices.feature {
        found.check(feature).map_err(CliError::Usage)?;
    }
    features::go_on(&mut found, (model, &sae), (list, PREPARATION), &show_progress)?;
    Ok(found)
}
