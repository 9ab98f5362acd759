//! Progress of long work inside the model, and its cancellation.

use crate::model::Cancelled;

/// How far a job is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    pub stage: Stage,
    pub done: usize,
    /// Steps in all.
    pub total: usize,
}

/// What a job is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Reading weights; steps are tensors.
    Load,
    /// Computing the checksum of the weights; steps are MiB.
    Digest,
    /// Reading a capture file; steps are MiB.
    Open,
    /// Tokenising or preparing the picture.
    Encode,
    /// The forward pass; steps are layers.
    Forward,
    /// Writing a text; steps are tokens.
    Generate,
    /// Projecting; steps are heads.
    Project,
    /// Measuring; steps are heads.
    Measure,
    /// Measuring times; steps are lengths.
    Time,
    /// Running an input with changes; steps are runs.
    Variants,
    /// Measuring the inputs of a corpus; steps are inputs.
    Inputs,
    /// Going back through a pass for a Jacobian; steps are its rows.
    Differentiate,
    /// Training; steps are batches.
    Training,
    Write,
}

impl Stage {
    /// What the status bar says.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Load => "Reading weights",
            Self::Digest => "Checksum of MiB",
            Self::Open => "Reading MiB",
            Self::Encode => "Preparing input",
            Self::Forward => "Running layer",
            Self::Generate => "Writing token",
            Self::Project => "Projecting head",
            Self::Measure => "Measuring head",
            Self::Time => "Measuring length",
            Self::Variants => "Run",
            Self::Inputs => "Measuring input",
            Self::Differentiate => "Row of the Jacobian",
            Self::Training => "Training batch",
            Self::Write => "Writing file",
        }
    }
}

/// Called between steps: takes note of the progress, and answers whether to go on.
pub type Control<'a> = dyn Fn(Progress) -> Result<(), Cancelled> + Sync + 'a;

/// A [`Control`] that never stops the work.
pub fn uninterrupted(_: Progress) -> Result<(), Cancelled> {
    Ok(())
}
