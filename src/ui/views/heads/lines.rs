//! Which heads are drawn, and the lines of each, as far as they are known.

use std::sync::Arc;

use crate::{
    analysis::{
        edges::{EdgeFilter, EdgeSet},
        reading::{Reading, Refusal, store},
    },
    capture::Capture,
    ids::{CaptureId, HeadId},
    session::HeadSet,
    ui::{ViewCtx, views::source},
};

/// Everything the lines depend on. Two equal keys draw the same, once all heads are known.
#[derive(Clone, Debug, PartialEq)]
pub struct LinesOf {
    /// Which capture, and what is subtracted from it.
    pub captures: (CaptureId, Option<CaptureId>),
    /// The selected head, and how it is read.
    pub reading: Reading,
    /// Which heads are on.
    pub heads_on: HeadSet,
    /// Which lines.
    pub filter: EdgeFilter,
    /// Heads that are still to be read.
    pub n_missing: usize,
}

/// One head's pattern and the lines drawn of it.
#[derive(Clone, Debug)]
pub struct HeadLines {
    /// Head within the layer; the selected one where several are taken together.
    pub head: usize,
    /// Its pattern and lines.
    pub lines: Arc<store::Lines>,
    /// Of a difference: the lines of values below 0, in the colour of what is subtracted.
    pub below: bool,
}

impl HeadLines {
    /// The lines.
    pub fn set(&self) -> &EdgeSet {
        if self.below { &self.lines.below } else { &self.lines.set }
    }

    /// How strong a cell is.
    pub fn value(&self, row: usize, col: usize) -> Option<f32> {
        let value = self.lines.pattern.value(row, col)?;
        Some(if self.below { -value } else { value })
    }
}

/// Between the colours of two heads with the same number.
const OTHER_COLOR: usize = 4;

/// The lines of the heads that are drawn, as far as they are known.
#[derive(Debug)]
pub struct Known {
    /// What they depend on.
    pub of: LinesOf,
    /// In head order.
    pub heads: Vec<HeadLines>,
    /// Why there is nothing, if so.
    pub refusal: Option<Refusal>,
}

/// Asks for the lines of every head that is drawn: those that are on, or one pattern of several together.
pub fn known(cx: &ViewCtx<'_>, capture: &Capture) -> Option<Known> {
    let subject = source::subject(cx)?;
    let selection = &cx.pane.selection;
    let filter = cx.pane.options.heads.filter;
    let shown = source::shown(cx, capture);
    let one = cx.pane.options.reading.together.is_some() || shown.minus.is_some();
    let drawn: Vec<(usize, Reading)> = if one {
        vec![(selection.head.head, shown.clone())]
    } else {
        let on = selection.heads_on.iter(source::n_heads(capture, selection.head));
        on.map(|head| (head, source::of_head(cx, capture, HeadId { head, ..selection.head }))).collect()
    };
    let of = LinesOf {
        captures: (subject.this.id(), subject.other.as_ref().map(|other| other.id())),
        reading: shown,
        heads_on: selection.heads_on,
        filter,
        n_missing: 0,
    };
    let mut known = Known { of, heads: Vec::new(), refusal: None };
    for (head, reading) in drawn {
        match cx.patterns.lines(&subject, &reading, filter) {
            None => known.of.n_missing += 1,
            Some(Ok(lines)) => {
                if let Some(minus) = cx.pane.minus.filter(|_| lines.pattern.signed) {
                    let other = minus.head.head;
                    let other = if other == head { head + OTHER_COLOR } else { other };
                    known.heads.push(HeadLines { head: other, lines: Arc::clone(&lines), below: true });
                }
                known.heads.push(HeadLines { head, lines, below: false });
            }
            Some(Err(refusal)) => known.refusal = Some(refusal),
        }
    }
    Some(known)
}
