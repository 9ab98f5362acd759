//! Weights of the overlay: one number per token, and their name. The window and figures agree.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::PatchColors;
use crate::{
    analysis::{
        explain::patches::{PatchGrid, mean_distance},
        reading::ReadPattern,
    },
    capture::ImageInfo,
    figure::views::color_map,
    ids::{Side, StackKind},
    raster::ColorMap,
    text::norm_text,
};

/// What a token is that the overlay is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum PatchRole {
    /// It asks: the overlay shows what it attends to.
    #[default]
    Query,
    /// It answers: the overlay shows what attends to it.
    Key,
}

/// Whose tokens are picked beside a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Picks {
    /// Patches, which attend to each other.
    Patches,
    /// Words that attend to patches.
    Queries,
    /// Words that patches attend to.
    Keys,
}

impl Picks {
    /// In a stack, where the tokens of `picture` are patches; `None` where they take no part in it.
    pub fn of(stack: StackKind, picture: Side) -> Option<Self> {
        let (queries, keys) = (stack.query_side(), stack.key_side());
        match (queries, keys) {
            _ if queries == picture && keys == picture => Some(Self::Patches),
            _ if keys == picture => Some(Self::Queries),
            _ if queries == picture => Some(Self::Keys),
            _ => None,
        }
    }
}

/// What the overlay is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OverlayToken {
    /// One token (a position), in the chosen role.
    Token(usize),
    /// One token less the mean over all tokens in the chosen role.
    LessMean(usize),
    /// The mean over all tokens in the chosen role.
    Mean,
}

impl OverlayToken {
    /// The picked token; without one the first of `n_prefix` tokens that stand before the patches, such as CLS, where
    /// patches are what is picked; the first word where words answer, over which the mean is the same for all patches;
    /// else the mean.
    pub fn of(picked: Option<usize>, picks: Picks, n_prefix: usize) -> Self {
        match picked {
            Some(position) => Self::Token(position),
            None if picks == Picks::Patches && n_prefix > 0 || picks == Picks::Keys => Self::Token(0),
            None => Self::Mean,
        }
    }

    /// The same of what is held of a query and a key: the query, else a key among patches; the key where it is a word.
    pub fn held((query, key): (Option<usize>, Option<usize>), picks: Picks, n_prefix: usize) -> (Self, PatchRole) {
        match (picks, query, key) {
            (Picks::Patches, None, Some(key)) => (Self::Token(key), PatchRole::Key),
            (Picks::Keys, _, key) => (Self::of(key, picks, n_prefix), PatchRole::Key),
            (Picks::Patches | Picks::Queries, query, _) => (Self::of(query, picks, n_prefix), PatchRole::Query),
        }
    }

    /// The same as `patch_colors` colours it: without a token of its own the mean stays.
    #[must_use]
    pub const fn colored_by(self, patch_colors: PatchColors) -> Self {
        match (self, patch_colors) {
            (Self::Token(position) | Self::LessMean(position), PatchColors::LessMean) => Self::LessMean(position),
            (
                Self::Token(position) | Self::LessMean(position),
                PatchColors::Weights | PatchColors::Norms | PatchColors::Components,
            ) => Self::Token(position),
            (Self::Mean, _) => Self::Mean,
        }
    }

    /// The position of its token.
    pub const fn position(self) -> Option<usize> {
        match self {
            Self::Token(position) | Self::LessMean(position) => Some(position),
            Self::Mean => None,
        }
    }

    /// Whether its values may be below 0.
    pub const fn is_signed(self, read: &ReadPattern) -> bool {
        read.signed || matches!(self, Self::LessMean(_))
    }

    /// Its colours: those that were chosen for attention, or those of what has a sign.
    pub const fn color_map(self, read: &ReadPattern, chosen: ColorMap) -> ColorMap {
        if self.is_signed(read) { ColorMap::Signed } else { color_map(read, chosen) }
    }

    /// What a value is called in files.
    pub fn value_name(self, read: &ReadPattern) -> Cow<'static, str> {
        match self {
            Self::LessMean(_) => format!("{}_less_mean", read.value_name()).into(),
            Self::Token(_) | Self::Mean => read.value_name(),
        }
    }

    /// One weight per token of the picture: a row or a column of the pattern, or the mean of those that are
    /// shown; or the one less the other.
    pub fn weights(self, read: &ReadPattern, role: PatchRole) -> Vec<f32> {
        let of = |token| match role {
            // One row is that of all tokens, whichever is picked.
            _ if read.has_one_row() => read.by_key(None),
            PatchRole::Query => read.by_key(token),
            PatchRole::Key => read.by_query(token),
        };
        match self {
            Self::Token(position) => of(Some(position)),
            Self::LessMean(position) => {
                of(Some(position)).iter().zip(of(None)).map(|(weight, mean)| weight - mean).collect()
            }
            Self::Mean => of(None),
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
            (Self::LessMean(token), _) => {
                let over = if role == PatchRole::Query { "queries" } else { "keys" };
                format!("{}, less the mean over all {over}", Self::Token(token).in_words(read, role, writes))
            }
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
            (Self::Token(query) | Self::LessMean(query), PatchRole::Query) => {
                format!("the row of {}", read.rows.named_at(query))
            }
            (Self::Token(key) | Self::LessMean(key), PatchRole::Key) => {
                format!("the column of {}", read.cols.named_at(key))
            }
            (Self::Mean, PatchRole::Query) => "mean over all rows".to_owned(),
            (Self::Mean, PatchRole::Key) => "mean over all columns".to_owned(),
        }
    }
}

/// The weights of the patches or regions, without the tokens before them.
pub fn of_patches(weights: &[f32], image: &ImageInfo) -> Vec<f32> {
    weights.iter().skip(image.n_prefix).take(image.grid.0 * image.grid.1).copied().collect()
}

/// How far patches attend on average, in patches: by their weights on patches, over all queries. `None` where the
/// queries are no patches of a grid or the values no weights.
pub fn distance(read: &ReadPattern, image: &ImageInfo) -> Option<f32> {
    let grid = PatchGrid { size: image.grid, n_prefix: image.n_prefix, patch_px: (1.0, 1.0) };
    let is_of_patches =
        image.regions.is_none() && read.rows.len() == image.n_prefix + grid.len() && !read.stack.is_between();
    let has_weights = !read.signed && read.explained().is_none() && !read.is_part();
    (is_of_patches && has_weights).then(|| mean_distance(&read.of_keys(), grid, true)).flatten()
}

/// The same in words.
pub fn distance_text(distance: f32) -> String {
    format!("mean distance {} patches", norm_text(distance))
}
