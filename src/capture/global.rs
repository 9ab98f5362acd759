//! Tokens that see all others and are seen by all of them, through keys and values of their own (Longformer).

use super::{Capture, LayerCapture, Matrix, PerHead};
use crate::{ids::HeadId, spec::Visibility};

impl LayerCapture {
    /// What is recorded with the values of sites, and is none itself.
    pub(super) fn beside(&self) -> impl Iterator<Item = &PerHead> {
        [&self.bias, &self.k_global, &self.v_global].into_iter().flatten()
    }
}

impl Capture {
    /// Positions of the tokens that see all in a head's layer; empty in most models.
    pub fn global_tokens(&self, head: HeadId) -> &[usize] {
        let has_some = self.model().layer_of(head).is_some_and(|layer| layer.global);
        self.stack(head.stack).filter(|_| has_some).map_or(&[], |stack| &stack.global)
    }

    /// What the queries of a head may see.
    pub fn visibility_of(&self, head: HeadId) -> Option<Visibility<'_>> {
        Some(Visibility { mask: self.model().mask_of(head)?, global: self.global_tokens(head) })
    }

    /// The keys `[key, d_head]` that one head's global tokens meet.
    pub fn k_global(&self, head: HeadId) -> Option<Matrix> {
        self.layer(head)?.k_global.as_ref()?.head(head.head)
    }

    /// The values `[key, d_head]` that one head's global tokens move.
    pub fn v_global(&self, head: HeadId) -> Option<Matrix> {
        self.layer(head)?.v_global.as_ref()?.head(head.head)
    }
}
