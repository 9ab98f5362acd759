//! Meaning of a picked patch or word: the subject of the overlay, and the effect of a click or the pointer.

use crate::{
    figure::views::image::weights::{OverlayToken, Picks},
    session::{Focus, PatchRole},
};

/// Whose tokens are picked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Picking {
    /// The patches themselves, in this role.
    Patches(PatchRole),
    /// Words: those that attend to the patches, or those that patches attend to (cross-attention).
    Words(PatchRole),
}

impl Picking {
    /// The role of the picked token.
    pub const fn role(self) -> PatchRole {
        match self {
            Self::Patches(role) | Self::Words(role) => role,
        }
    }

    /// Whether patches have a role.
    pub fn has_patches_as(self, role: PatchRole) -> bool {
        match self {
            Self::Patches(_) => true,
            Self::Words(words) => words != role,
        }
    }

    /// What is picked beside the picture.
    const fn picks(self) -> Picks {
        match self {
            Self::Patches(_) => Picks::Patches,
            Self::Words(PatchRole::Query) => Picks::Queries,
            Self::Words(PatchRole::Key) => Picks::Keys,
        }
    }
}

/// What the overlay is about while `focus` is held or under the pointer.
pub fn subject(focus: Focus, picking: Picking, n_prefix: usize) -> OverlayToken {
    let picked = match picking.role() {
        PatchRole::Key => focus.key,
        PatchRole::Query => focus.query,
    };
    OverlayToken::of(picked, picking.picks(), n_prefix)
}

/// The focus that a click on patch `position` means while `pinned` is held.
pub const fn focus(position: usize, picking: Picking, pinned: Focus) -> Focus {
    match picking {
        Picking::Patches(PatchRole::Query) => Focus::query(position),
        Picking::Patches(PatchRole::Key) => Focus::key(position),
        // The word stays: the patch is the other end.
        Picking::Words(PatchRole::Query) => Focus { query: pinned.query, key: Some(position) },
        Picking::Words(PatchRole::Key) => Focus { query: Some(position), key: pinned.key },
    }
}

/// The focus of hovering patch `position` while `pinned` is held: a cell with the pinned token, else the
/// token itself.
pub const fn hover_focus(position: usize, picking: Picking, pinned: Focus) -> Focus {
    match (picking, pinned.query, pinned.key) {
        (Picking::Patches(PatchRole::Query), Some(query), _) => Focus::cell(query, position),
        (Picking::Patches(PatchRole::Key), _, Some(key)) => Focus::cell(position, key),
        (Picking::Patches(_) | Picking::Words(_), ..) => focus(position, picking, pinned),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATCHES: Picking = Picking::Patches(PatchRole::Query);
    const WORDS: Picking = Picking::Words(PatchRole::Query);

    #[test]
    fn words_keep_asking_while_patches_answer() {
        assert_eq!(subject(Focus::NONE, WORDS, 1), OverlayToken::Mean, "the first patch is no word");
        assert_eq!(focus(4, WORDS, Focus::query(2)), Focus::cell(2, 4));
        assert_eq!(hover_focus(4, WORDS, Focus::NONE), Focus::key(4));
    }

    #[test]
    fn words_keep_answering_while_patches_ask() {
        let words = Picking::Words(PatchRole::Key);
        assert_eq!(
            subject(Focus::NONE, words, 1),
            OverlayToken::Token(0),
            "rows sum to 1, so that the mean says nothing"
        );
        assert_eq!(subject(Focus::cell(4, 2), words, 1), OverlayToken::Token(2));
        assert_eq!(focus(4, words, Focus::key(2)), Focus::cell(4, 2));
        assert_eq!(hover_focus(4, words, Focus::NONE), Focus::query(4));
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
