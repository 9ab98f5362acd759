//! Which heads are drawn, and the lines of each, as far as they are known.

use std::sync::Arc;

use crate::{
    analysis::{
        edges::{EdgeFilter, EdgeSet},
        reading::{Reading, Refusal, store},
    },
    capture::Capture,
    figure::palette::Ink,
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
    /// What its lines are drawn in.
    pub ink: Ink,
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

    /// How strong a cell is; below 0 where it is drawn in another ink.
    pub fn strength(&self, row: usize, col: usize) -> Option<f32> {
        let value = self.lines.pattern.value(row, col)?;
        let strength = self.lines.pattern.strength(value);
        Some(if self.below == (value < 0.0) { strength } else { -strength })
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
    let explained = shown.source.explained();
    let one = cx.pane.options.reading.together.is_some() || shown.minus.is_some() || explained.is_some();
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
                let is_explained = lines.pattern.explained().is_some();
                let [above, below] = match (is_explained, lines.pattern.signed, cx.pane.minus) {
                    (true, false, _) => [(head, Ink::Explained), (head, Ink::Explained)],
                    (true, true, _) => [(head, Ink::More), (head, Ink::Less)],
                    (false, _, minus) => {
                        let other = minus.map_or(head, |minus| minus.head.head);
                        let other = if other == head { head + OTHER_COLOR } else { other };
                        [(head, Ink::Head(head)), (other, Ink::Head(other))]
                    }
                };
                if lines.pattern.signed {
                    let (head, ink) = below;
                    known.heads.push(HeadLines { head, ink, lines: Arc::clone(&lines), below: true });
                }
                let (head, ink) = above;
                known.heads.push(HeadLines { head, ink, lines, below: false });
            }
            Some(Err(refusal)) => known.refusal = Some(refusal),
        }
    }
    Some(known)
}
