//! What the overlay shows: one number per token, and in words what it is.

use crate::{
    analysis::reading::ReadPattern,
    session::{Focus, PatchRole},
};

/// Whose tokens are picked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Picking {
    /// The patches themselves, in this role.
    Patches(PatchRole),
    /// The words that attend to the patches (cross-attention).
    Words,
}

impl Picking {
    /// The role of the picked token: words always ask.
    pub const fn role(self) -> PatchRole {
        match self {
            Self::Patches(role) => role,
            Self::Words => PatchRole::Query,
        }
    }
}

/// What the overlay is about.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Subject {
    /// One token, in the chosen role.
    Token(usize),
    /// The mean over all tokens in the chosen role.
    Mean,
}

impl Subject {
    /// The picked token; without one CLS where it stands among the patches, else the mean.
    pub fn of(focus: Focus, picking: Picking, n_prefix: usize) -> Self {
        let picked = match picking {
            Picking::Patches(PatchRole::Key) => focus.key,
            Picking::Patches(PatchRole::Query) | Picking::Words => focus.query,
        };
        match (picked, picking) {
            (Some(position), _) => Self::Token(position),
            (None, Picking::Patches(_)) if n_prefix > 0 => Self::Token(0),
            (None, _) => Self::Mean,
        }
    }

    /// One weight per token: a row or a column of `pattern`, or their mean.
    pub fn weights(self, pattern: &ReadPattern, role: PatchRole) -> Vec<f32> {
        let token = match self {
            Self::Token(position) => Some(position),
            Self::Mean => None,
        };
        match role {
            PatchRole::Query => pattern.by_key(token),
            PatchRole::Key => pattern.by_query(token),
        }
    }

    /// The overlay in words.
    pub fn caption(self, pattern: &ReadPattern, writes: bool, role: PatchRole) -> String {
        match (self, role) {
            (Self::Token(position), PatchRole::Query) if writes => {
                format!("What is attended to when {} is written", pattern.rows.text_at(position))
            }
            (Self::Token(position), PatchRole::Query) => format!("What {} attends to", pattern.rows.text_at(position)),
            (Self::Token(position), PatchRole::Key) => format!("What attends to {}", pattern.cols.text_at(position)),
            (Self::Mean, PatchRole::Query) => "What is attended to, mean over all queries".to_owned(),
            (Self::Mean, PatchRole::Key) => "What attends, mean over all keys".to_owned(),
        }
    }
}

/// The focus that a click on patch `position` means while `pinned` is held.
pub const fn focus(position: usize, picking: Picking, pinned: Focus) -> Focus {
    match picking {
        Picking::Patches(PatchRole::Query) => Focus::query(position),
        Picking::Patches(PatchRole::Key) => Focus::key(position),
        // The word stays: the patch is what it attends to.
        Picking::Words => Focus { query: pinned.query, key: Some(position) },
    }
}

/// The focus of hovering patch `position` while `pinned` is held: a cell with the pinned token, else the
/// token itself.
pub const fn hover_focus(position: usize, picking: Picking, pinned: Focus) -> Focus {
    match (picking, pinned.query, pinned.key) {
        (Picking::Patches(PatchRole::Query), Some(query), _) => Focus::cell(query, position),
        (Picking::Patches(PatchRole::Key), _, Some(key)) => Focus::cell(position, key),
        _ => focus(position, picking, pinned),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATCHES: Picking = Picking::Patches(PatchRole::Query);

    #[test]
    fn words_keep_asking_while_patches_answer() {
        assert_eq!(Subject::of(Focus::NONE, Picking::Words, 1), Subject::Mean, "the first patch is no word");
        assert_eq!(focus(4, Picking::Words, Focus::query(2)), Focus::cell(2, 4));
        assert_eq!(hover_focus(4, Picking::Words, Focus::NONE), Focus::key(4));
    }

    #[test]
    fn without_a_pick_the_prefix_token_asks_or_the_mean_is_shown() {
        assert_eq!(Subject::of(Focus::NONE, PATCHES, 1), Subject::Token(0));
        assert_eq!(Subject::of(Focus::NONE, PATCHES, 0), Subject::Mean);
        assert_eq!(Subject::of(Focus::query(3), PATCHES, 1), Subject::Token(3));
    }

    #[test]
    fn hovering_beside_a_pinned_patch_means_their_cell() {
        assert_eq!(hover_focus(4, PATCHES, Focus::query(2)), Focus::cell(2, 4));
        assert_eq!(hover_focus(4, Picking::Patches(PatchRole::Key), Focus::key(2)), Focus::cell(4, 2));
        assert_eq!(hover_focus(4, PATCHES, Focus::NONE), Focus::query(4));
    }
}
