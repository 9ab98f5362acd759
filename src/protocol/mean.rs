//! What a mean is taken over.

use std::sync::Arc;

use crate::corpus::list::InputList;

/// Inputs that a mean is taken over at most: more would change it by less than the model's own noise, and take long.
pub const MAX_MEANT: usize = 256;

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
    },
}

impl PartialEq for MeanInputs {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Bundled(name), Self::Bundled(other)) => name == other,
            (Self::Listed { list, sources, .. }, Self::Listed { list: other, sources: others, .. }) => {
                Arc::ptr_eq(list, other) && sources == others
            }
            _ => false,
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

/// Which tokens of an input count towards a mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TokensMeant {
    /// All of them.
    #[default]
    All,
    /// All but special ones.
    Words,
    /// The last one, special or not: where a decoder says how it goes on.
    Last,
}

impl TokensMeant {
    /// Every choice.
    pub const ALL: [Self; 3] = [Self::All, Self::Words, Self::Last];

    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Words => "words",
            Self::Last => "last",
        }
    }
}
