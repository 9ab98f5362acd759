//! Weights of the overlay: one number per token, and their name. The window and figures agree.

use serde::{Deserialize, Serialize};

use crate::{analysis::reading::ReadPattern, capture::ImageInfo};

/// What a token is that the overlay is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum PatchRole {
    /// It asks: the overlay shows what it attends to.
    #[default]
    Query,
    /// It answers: the overlay shows what attends to it.
    Key,
}

/// What the overlay is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OverlayToken {
    /// One token (a position), in the chosen role.
    Token(usize),
    /// The mean over all tokens in the chosen role.
    Mean,
}

impl OverlayToken {
    /// The picked token; without one the first of `n_prefix` tokens that stand before the patches, such as
    /// CLS, where patches are what is picked, else the mean.
    pub const fn of(picked: Option<usize>, picks_patches: bool, n_prefix: usize) -> Self {
        match picked {
            Some(position) => Self::Token(position),
            None if picks_patches && n_prefix > 0 => Self::Token(0),
            None => Self::Mean,
        }
    }

    /// One weight per token of the picture: a row or a column of the pattern, or the mean of those that are
    /// shown.
    pub fn weights(self, read: &ReadPattern, role: PatchRole) -> Vec<f32> {
        let token = match self {
            Self::Token(position) => Some(position),
            Self::Mean => None,
        };
        match role {
            // One row is that of all tokens, whichever is picked.
            _ if read.has_one_row() => read.by_key(None),
            PatchRole::Query => read.by_key(token),
            PatchRole::Key => read.by_query(token),
        }
    }

    /// The overlay in words, to go on after a colon. `writes` says that rows are named by what they write.
    pub fn in_words(self, read: &ReadPattern, role: PatchRole, writes: bool) -> String {
        if read.explained().is_some() {
            return self.explained_in_words(read, role);
        }
        match (self, role) {
            (Self::Token(query), PatchRole::Query) => {
                let name = read.rows.named_at(query);
                if writes {
                    format!("what is attended to when {name} is written")
                } else {
                    format!("what {name} attends to")
                }
            }
            (Self::Token(key), PatchRole::Key) => format!("what attends to {}", read.cols.named_at(key)),
            (Self::Mean, PatchRole::Query) => "what is attended to, mean over all queries".to_owned(),
            (Self::Mean, PatchRole::Key) => "what attends, mean over all keys".to_owned(),
        }
    }
}

impl OverlayToken {
    /// What a row or a column of an explanation is of.
    fn explained_in_words(self, read: &ReadPattern, role: PatchRole) -> String {
        match (self, role) {
            _ if read.has_one_row() => "value of each patch".to_owned(),
            (Self::Token(query), PatchRole::Query) => format!("the row of {}", read.rows.named_at(query)),
            (Self::Token(key), PatchRole::Key) => format!("the column of {}", read.cols.named_at(key)),
            (Self::Mean, PatchRole::Query) => "mean over all rows".to_owned(),
            (Self::Mean, PatchRole::Key) => "mean over all columns".to_owned(),
        }
    }
}

/// The weights of the patches, without the tokens before them.
pub fn of_patches(weights: &[f32], image: &ImageInfo) -> Vec<f32> {
    weights.iter().skip(image.n_prefix).take(image.grid.0 * image.grid.1).copied().collect()
}
