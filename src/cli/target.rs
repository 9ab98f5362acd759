//! Which output is explained, on the command line.

use clap::Args;

use crate::lab::Target;

/// What the methods of the laboratory explain.
#[derive(Clone, Copy, Debug, Args)]
pub struct TargetOptions {
    /// Which output row is explained, a token position; without it the last of a decoder, the first mask, or the
    /// whole input
    #[arg(long, value_name = "N")]
    position: Option<usize>,
    /// The token or class whose logit is explained; without it the most probable one
    #[arg(long, value_name = "ID")]
    class: Option<u32>,
    /// Explain the difference to the logit of this token or class
    #[arg(long, value_name = "ID")]
    against: Option<u32>,
}

impl TargetOptions {
    /// What is to be explained.
    pub const fn target(self) -> Target {
        let Self { position, class, against } = self;
        Target { position, class, against }
    }
}
