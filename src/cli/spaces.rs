//! Spaces other than that of queries with keys, as `project` and `render` take them.

use std::{collections::BTreeMap, sync::Arc};

use super::CliError;
use crate::{
    analysis::{PointCloud, Space},
    capture::{Capture, CaptureParts, Computation, InputInfo},
    corpus::Kept,
    model::{Model, Sites, next_capture_id},
};

/// What a corpus has to keep for a space.
pub const fn kept(space: Space) -> Kept {
    Kept { values: matches!(space, Space::Values), residual: matches!(space, Space::Residual) }
}

/// What has to be recorded of one input for a space.
pub const fn sites(space: Space) -> Sites {
    Sites::of(space.sites())
}

/// The position embeddings of a model, beside a capture that saw nothing.
///
/// # Errors
/// When it has none: how it knows positions instead.
pub fn positions(model: &Model) -> Result<(PointCloud, Capture), CliError> {
    let name = &model.spec().name;
    let tables = model.position_embeddings().map_err(|reason| CliError::Failed(format!("{name}: {reason}")))?;
    let nothing = Capture::new(CaptureParts {
        id: next_capture_id(),
        model: Arc::clone(model.spec()),
        input: InputInfo::default(),
        tokens: BTreeMap::new(),
        sequences: BTreeMap::new(),
        stacks: Vec::new(),
        image: None,
        logits: None,
        prediction: None,
        generated: None,
        computation: Computation::default(),
        notes: Vec::new(),
    });
    let nothing = nothing.map_err(|error| CliError::Failed(error.to_string()))?;
    Ok((PointCloud::Positions(tables), nothing))
}

/// Refuses an input where positions are asked for, which know none, and a capture, which has no tables.
pub fn check_positions(has_input: bool, has_capture: bool) -> Result<(), CliError> {
    if has_capture {
        let message = "a capture holds no position embeddings: give the --model for --space positions";
        return Err(CliError::Usage(message.to_owned()));
    }
    if has_input {
        let message = "position embeddings know no input: leave out --text, --image and other inputs";
        return Err(CliError::Usage(message.to_owned()));
    }
    Ok(())
}
