//! What the overlay shows: one number per token, and in words what it is.

use crate::{
    capture::{Capture, Matrix},
    ids::StackKind,
    session::{Focus, PatchRole},
    ui::views::source,
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
    pub fn weights(self, pattern: &Matrix, role: PatchRole) -> Vec<f32> {
        let [n_query, n_key] = pattern.shape();
        match (self, role) {
            (Self::Token(query), PatchRole::Query) => pattern.row(query).unwrap_or_default().to_vec(),
            (Self::Token(key), PatchRole::Key) => {
                pattern.rows().map(|row| row.get(key).copied().unwrap_or(0.0)).collect()
            }
            (Self::Mean, PatchRole::Query) => {
                let mut mean = vec![0.0; n_key];
                for row in pattern.rows() {
                    mean.iter_mut().zip(row).for_each(|(mean, weight)| *mean += weight / n_query as f32);
                }
                mean
            }
            (Self::Mean, PatchRole::Key) => {
                pattern.rows().map(|row| row.iter().sum::<f32>() / n_key.max(1) as f32).collect()
            }
        }
    }

    /// The overlay in words.
    pub fn caption(self, capture: &Capture, stack: StackKind, role: PatchRole) -> String {
        let text = |position| source::token_text(capture.query_tokens(stack), position);
        match (self, role) {
            (Self::Token(position), PatchRole::Query) => format!("What {} attends to", text(position)),
            (Self::Token(position), PatchRole::Key) => format!("What attends to {}", text(position)),
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
    fn rows_for_queries_columns_for_keys_and_means_without_a_pick() {
        let pattern = Matrix::new(vec![0.75, 0.25, 0.5, 0.5], [2, 2]).unwrap();
        assert_eq!(Subject::Token(0).weights(&pattern, PatchRole::Query), [0.75, 0.25]);
        assert_eq!(Subject::Token(0).weights(&pattern, PatchRole::Key), [0.75, 0.5]);
        assert_eq!(Subject::Mean.weights(&pattern, PatchRole::Query), [0.625, 0.375]);
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
