//! The debate over a data set: one input after the other.

use super::corpus::input_of;
use crate::{
    analysis::debate::{CorpusDebate, DebateOptions, Instance, identifiability::Identified},
    capture::Excerpt,
    corpus::list::{Content, InputList},
    lab::{LabError, LabRun, debate, identifiability},
    model::{Control, Model, Preparation, Progress, Stage},
};

/// How inputs of an open corpus are prepared: as where one of them is looked at.
pub const PREPARATION: Preparation = Preparation {
    no_special: false,
    sentence_transformers: false,
    brackets: false,
    excerpt: Some(Excerpt::FITTING),
    chat: None,
};
/// So many inputs that cannot be measured, with none that can, are enough to stop.
pub const MOST_IN_VAIN: usize = 20;
/// The first result comes after so many inputs.
const FIRST: usize = 20;
/// How often inputs are drawn anew for intervals.
pub const SAMPLES: usize = 1000;

/// Measures one input of a corpus, the `nth` from 0.
///
/// # Errors
/// When the input cannot be measured, or somebody says stop.
pub fn measure(
    model: &Model,
    (nth, content): (usize, &Content),
    how: Preparation,
    options: &DebateOptions,
    control: &Control<'_>,
) -> Result<Instance, LabError> {
    let encoded = model.encode(&input_of(content, how))?;
    debate(&LabRun::new(model, &encoded, &[], control, &|_| {}), nth, options)
}

/// Measures how far the weights of one input follow from what heads give on, the `nth` from 0.
///
/// # Errors
/// As [`measure`].
pub fn identify(
    model: &Model,
    (nth, content): (usize, &Content),
    how: Preparation,
    seed: u64,
    control: &Control<'_>,
) -> Result<Identified, LabError> {
    let encoded = model.encode(&input_of(content, how))?;
    identifiability(&LabRun::new(model, &encoded, &[], control, &|_| {}), nth, seed)
}

/// Measures the inputs of a list that are missing, one after the other; `told` hears of what there is now and then.
/// What is there when somebody says stop is summed up.
///
/// # Errors
/// When there is no such column with labels, none of the first inputs can be measured, or somebody says stop.
pub fn go_on(
    found: &mut CorpusDebate,
    (model, list): (&Model, &InputList),
    control: &Control<'_>,
    told: &mut dyn FnMut(&CorpusDebate),
) -> Result<(), LabError> {
    // A column that is not there is told before anything is measured.
    found.sum_up(list, SAMPLES).map_err(LabError::unsuited)?;
    let total = found.inputs.len();
    let mut n_told = found.n_done();
    for input in found.missing() {
        let done = found.n_done();
        let go_on = |_: Progress| control(Progress { stage: Stage::Inputs, done, total });
        let Some(item) = list.items.get(input) else { continue };
        match measure(model, (input, &item.content), PREPARATION, &found.question.options, &go_on) {
            Ok(instance) => found.instances.push(instance),
            Err(error) if error.is_cancelled() => {
                found.sum_up(list, SAMPLES).map_err(LabError::unsuited)?;
                return Err(error);
            }
            Err(error) => found.left_out.push((input, error.to_string())),
        }
        if let Some((_, why)) = found.left_out.first().filter(|_| found.instances.is_empty())
            && found.left_out.len() >= MOST_IN_VAIN.min(total)
        {
            return Err(LabError::unsuited(format!("none of the inputs can be measured: {why}")));
        }
        // Each result is of half as many inputs more than the one before.
        if found.n_done() >= FIRST && 2 * found.n_done() >= 3 * n_told {
            n_told = found.n_done();
            found.sum_up(list, SAMPLES).map_err(LabError::unsuited)?;
            told(found);
        }
    }
    found.sum_up(list, SAMPLES).map_err(LabError::unsuited)
}
