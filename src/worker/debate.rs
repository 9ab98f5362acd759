//! The debate over a data set: one input after the other.

use super::corpus::input_of;
use crate::{
    analysis::debate::{DebateOptions, Instance, identifiability::Identified},
    corpus::list::Content,
    lab::{LabError, LabRun, debate, identifiability},
    model::{Control, Model, Preparation},
};

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
