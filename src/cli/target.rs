//! Which output is explained, on the command line.

use clap::Args;

use crate::lab::Target;

/// What the methods of the laboratory explain.
#[derive(Clone, Copy, Debug, Args)]
pub struct TargetOptions {
    /// Position of the explained output [default: the last of a decoder, the first mask, or the whole input]
    #[arg(long, value_name = "N")]
    position: Option<usize>,
    /// Token or class whose logit is explained [default: the most probable one]
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
