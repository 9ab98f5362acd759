//! The output that is explained, on the command line.

use clap::Args;

use super::CliError;
use crate::{
    lab::{Target, outcome_id},
    model::Model,
};

/// What the methods of the laboratory explain.
#[derive(Clone, Debug, Args)]
pub struct TargetOptions {
    /// Position of the explained output [default: the last of a decoder, the first mask, or the whole input]
    #[arg(long, value_name = "N")]
    position: Option<usize>,
    /// Token or class whose logit is explained, by its text, its name or its id [default: the most probable one]
    #[arg(long, value_name = "TOKEN")]
    class: Option<String>,
    /// Explain the difference to the logit of this token or class
    #[arg(long, value_name = "TOKEN")]
    against: Option<String>,
}

impl TargetOptions {
    /// Whether something was asked for.
    pub const fn is_given(&self) -> bool {
        self.position.is_some() || self.class.is_some() || self.against.is_some()
    }

    /// What is to be explained.
    ///
    /// # Errors
    /// When the model has no such outcome.
    pub fn target(&self, model: &Model) -> Result<Target, CliError> {
        let id = |text: &Option<String>| text.as_deref().map(|text| outcome_id(model, text)).transpose();
        let failed = |error: crate::lab::LabError| CliError::Failed(error.to_string());
        let (class, against) = (id(&self.class).map_err(failed)?, id(&self.against).map_err(failed)?);
        Ok(Target { position: self.position, class, against })
    }
}
