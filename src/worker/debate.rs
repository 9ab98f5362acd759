//! The debate over a data set: one input after the other.

use super::corpus::input_of;
use crate::{
    analysis::debate::{DebateOptions, Instance},
    corpus::list::Content,
    lab::{LabError, LabRun, debate},
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
