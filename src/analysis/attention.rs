//! Scores and patterns of one head, recomputed from q and k where they were not stored.

use crate::{
    capture::{Capture, Matrix},
    ids::HeadId,
};

/// One head's pattern `[query, key]`: the stored one, or recomputed from q and k.
///
/// `None` when the capture has neither.
pub fn pattern(capture: &Capture, head: HeadId) -> Option<Matrix> {
    capture.stored_pattern(head)
}
