//! Inputs and tokens that a mean is taken over.

use std::sync::Arc;

use crate::{corpus::list::InputList, model::Preparation};

/// Many inputs.
#[derive(Clone, Debug)]
pub enum MeanInputs {
    /// Those of a corpus inside the program.
    Bundled(&'static str),
    /// Those of a list, by their places.
    Listed {
        /// What people call the list.
        name: String,
        list: Arc<InputList>,
        sources: Vec<usize>,
        /// How its texts are prepared.
        how: Preparation,
    },
}

impl PartialEq for MeanInputs {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Bundled(name), Self::Bundled(other)) => name == other,
            (
                Self::Listed { list, sources, how, .. },
                Self::Listed { list: other, sources: others, how: otherwise, .. },
            ) => Arc::ptr_eq(list, other) && sources == others && how == otherwise,
            (Self::Bundled(_), Self::Listed { .. }) | (Self::Listed { .. }, Self::Bundled(_)) => false,
        }
    }
}

impl MeanInputs {
    /// What people call them.
    pub fn name(&self) -> &str {
        match self {
            Self::Bundled(name) => name,
            Self::Listed { name, .. } => name,
        }
    }
}
