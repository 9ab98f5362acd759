//! [`ReadingOptions`]: what a person chooses once and every view obeys.

use serde::{Deserialize, Serialize};

use super::{
    Aggregate, Aggregation, Heads, LeaveOut, Minus, Reading, RowLabels, SentenceFilter, Source, Which, is_pair, rows,
};
use crate::{
    capture::{Capture, Merging},
    ids::{HeadId, StackKind},
};

/// How patterns are read, whichever head is looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReadingOptions {
    /// Whether each weight counts by the length of its key's value vector.
    pub by_value_norm: bool,
    pub leave_out: LeaveOut,
    /// Which part of a pair of sentences is looked at.
    pub sentences: SentenceFilter,
    /// What tokens are merged into.
    #[serde(alias = "words")]
    pub merging: Merging,
    /// What rows are called; `None` for the usual way: what is written in cross-attention, because that is
    /// how alignments are read, and what is read elsewhere.
    pub rows: Option<RowLabels>,
    /// Whether several heads are shown as one.
    pub together: Option<Together>,
}

/// Several heads shown as one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Together {
    pub over: Over,
    pub how: Aggregate,
}

/// Which heads are taken together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Over {
    /// Those of the selected layer that are switched on.
    #[default]
    Layer,
    Stack,
}

impl ReadingOptions {
    /// How one head is read, and others beside it.
    pub fn of_head(&self, capture: &Capture, head: HeadId) -> Reading {
        let stack = head.stack;
        Reading {
            heads: Heads::One(head),
            source: if self.by_value_norm { Source::ByValueNorm } else { Source::Weights },
            leave_out: self.leave_out.clone(),
            // What does not apply must not make two questions of one.
            sentences: if is_pair(capture, stack) { self.sentences } else { SentenceFilter::All },
            merging: self.merging,
            rows: self.row_labels(capture, stack),
            minus: None,
        }
    }

    /// What a view of one pattern shows while `head` is selected: it, or the heads that are taken together.
    /// `on` are the heads of the selected layer that are switched on.
    pub fn shown(&self, capture: &Capture, head: HeadId, on: &Which, minus: Option<Minus>) -> Reading {
        let heads = match self.together {
            None => Heads::One(head),
            Some(Together { over, how }) => {
                let (layers, heads) = match over {
                    Over::Layer => (Which::These([head.layer].into()), on.clone()),
                    Over::Stack => (Which::All, Which::All),
                };
                Heads::Many(Aggregation { stack: head.stack, layers, heads, how })
            }
        };
        Reading { heads, minus, ..self.of_head(capture, head) }
    }

    /// What the rows of a stack are called.
    pub fn row_labels(&self, capture: &Capture, stack: StackKind) -> RowLabels {
        if !rows::writes(capture, stack) {
            return RowLabels::Read;
        }
        let usual = if stack == StackKind::Cross { RowLabels::Written } else { RowLabels::Read };
        self.rows.unwrap_or(usual)
    }

    /// What is remembered between runs: positions are those of one text.
    #[must_use]
    pub fn without_positions(&self) -> Self {
        let leave_out = LeaveOut { positions: std::collections::BTreeSet::new(), ..self.leave_out.clone() };
        Self { leave_out, merging: Merging { unfolded: None, ..self.merging }, ..self.clone() }
    }
}

impl Together {
    /// What is shown, in words: `mean of 8 heads`.
    pub fn caption(self, n_heads: usize) -> String {
        format!("{} of {}", self.how.name(), crate::text::counted(n_heads, "head"))
    }
}
