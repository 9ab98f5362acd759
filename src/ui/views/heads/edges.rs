//! The lines of each head that is on, computed a few rows per frame so that no frame is long.

use std::sync::Arc;

use crate::{
    analysis::edges::{EdgeFilter, EdgeSet, select},
    capture::{Capture, Matrix},
    ids::{CaptureId, HeadId, StackKind},
    session::{HeadSet, HiddenTokens, SentenceFilter},
    ui::views::{sentences, source},
};

/// Pattern entries examined in one frame; a few milliseconds on one core.
const ENTRIES_PER_FRAME: usize = 300_000;

/// Everything the lines of one layer depend on, apart from which heads are on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EdgesKey {
    /// Which capture.
    pub capture: CaptureId,
    /// Which stack.
    pub stack: StackKind,
    /// Which layer.
    pub layer: usize,
    /// Which lines.
    pub filter: EdgeFilter,
    /// Which tokens are left out.
    pub hidden: HiddenTokens,
    /// Which part of a pair is shown.
    pub sentences: SentenceFilter,
}

/// One head's pattern and the lines drawn of it.
#[derive(Debug)]
pub struct HeadEdges {
    /// Head within the layer.
    pub head: usize,
    /// `[query, key]`, as shown.
    pub pattern: Matrix,
    /// Mass of the rows that are shown, before keys were left out by sentence.
    pub row_mass: f64,
    /// The lines.
    pub set: EdgeSet,
}

/// Remembers the lines of every head of one layer.
#[derive(Debug, Default)]
pub struct EdgeCache {
    key: Option<EdgesKey>,
    heads: Vec<Option<Arc<HeadEdges>>>,
}

/// The lines of the heads that are on, as far as they are known.
#[derive(Debug, Default)]
pub struct Known {
    /// In head order.
    pub heads: Vec<Arc<HeadEdges>>,
    /// Heads that are still to be computed.
    pub n_missing: usize,
}

impl EdgeCache {
    /// The lines of the heads in `on`, computing as many as fit in a frame (at least one).
    pub fn update(&mut self, capture: &Capture, key: EdgesKey, on: HeadSet) -> Known {
        if self.key != Some(key) {
            self.key = Some(key);
            self.heads.clear();
        }
        let layer = HeadId { stack: key.stack, layer: key.layer, head: 0 };
        let n_heads = source::n_heads(capture, layer);
        self.heads.resize(n_heads, None);
        let n_entries = capture.query_tokens(key.stack).len() * capture.key_tokens(key.stack).len();
        let mut budget = (ENTRIES_PER_FRAME / n_entries.max(1)).max(1);
        let mut known = Known::default();
        for head in on.iter(n_heads) {
            let Some(slot) = self.heads.get_mut(head) else { continue };
            if slot.is_none() && budget > 0 {
                budget -= 1;
                let shown = sentences::shown(capture, HeadId { head, ..layer }, key.hidden, key.sentences);
                *slot = shown.map(|sentences::Shown { pattern, row_mass }| {
                    let set = select(&pattern, key.filter);
                    Arc::new(HeadEdges { head, pattern, row_mass, set })
                });
                if slot.is_none() {
                    continue;
                }
            }
            match slot {
                Some(edges) => known.heads.push(Arc::clone(edges)),
                None => known.n_missing += 1,
            }
        }
        known
    }
}
