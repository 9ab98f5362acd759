//! Meaning of a picked patch or word: the subject of the overlay, and the effect of a click or the pointer.

use crate::{
    figure::views::image::weights::OverlayToken,
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

/// What the overlay is about while `focus` is held or under the pointer.
pub const fn subject(focus: Focus, picking: Picking, n_prefix: usize) -> OverlayToken {
    let picked = match picking {
        Picking::Patches(PatchRole::Key) => focus.key,
        Picking::Patches(PatchRole::Query) | Picking::Words => focus.query,
    };
    OverlayToken::of(picked, matches!(picking, Picking::Patches(_)), n_prefix)
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
        (Picking::Patches(PatchRole::Query | PatchRole::Key) | Picking::Words, ..) => focus(position, picking, pinned),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATCHES: Picking = Picking::Patches(PatchRole::Query);

    #[test]
    fn words_keep_asking_while_patches_answer() {
        assert_eq!(subject(Focus::NONE, Picking::Words, 1), OverlayToken::Mean, "the first patch is no word");
        assert_eq!(focus(4, Picking::Words, Focus::query(2)), Focus::cell(2, 4));
        assert_eq!(hover_focus(4, Picking::Words, Focus::NONE), Focus::key(4));
    }

    #[test]
    fn without_a_pick_the_prefix_token_asks_or_the_mean_is_shown() {
        assert_eq!(subject(Focus::NONE, PATCHES, 1), OverlayToken::Token(0));
        assert_eq!(subject(Focus::NONE, PATCHES, 0), OverlayToken::Mean);
        assert_eq!(subject(Focus::query(3), PATCHES, 1), OverlayToken::Token(3));
    }

    #[test]
    fn hovering_beside_a_pinned_patch_means_their_cell() {
        assert_eq!(hover_focus(4, PATCHES, Focus::query(2)), Focus::cell(2, 4));
        assert_eq!(hover_focus(4, Picking::Patches(PatchRole::Key), Focus::key(2)), Focus::cell(4, 2));
        assert_eq!(hover_focus(4, PATCHES, Focus::NONE), Focus::query(4));
    }
}
