//! Heads that are drawn, and the lines of each, as far as they are known.

use std::{ops::Range, sync::Arc};

use super::{Scene, layout::Line};
use crate::{
    analysis::{
        edges::{EdgeFilter, EdgeSet},
        reading::{
            Extent, Reading, Refusal,
            long::{self, STRIP_ROWS},
            store,
        },
    },
    capture::Capture,
    figure::{palette::Ink, views::heads::look::LineLook},
    ids::{CaptureId, HeadId},
    session::{Focus, HeadSet},
    ui::{ViewCtx, views::source},
};

/// Everything the lines depend on. Two equal keys draw the same, once all heads are known.
#[derive(Clone, Debug, PartialEq)]
pub struct LinesOf {
    /// Which capture, and what is subtracted from it.
    pub captures: (CaptureId, Option<CaptureId>),
    /// The selected head, and how it is read.
    pub reading: Reading,
    pub heads_on: HeadSet,
    pub filter: EdgeFilter,
    pub look: LineLook,
    /// Of a long text the rows whose lines are read: the strips around those in sight.
    pub rows: Option<Range<usize>>,
    /// Heads that are still to be read, of a long text for each strip.
    pub n_missing: usize,
}

/// One head's pattern and the lines drawn of it.
#[derive(Clone, Debug)]
pub struct HeadLines {
    /// Head within the layer; the selected one where several are taken together.
    pub head: usize,
    /// What its lines are drawn in.
    pub ink: Ink,
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
    pub of: LinesOf,
    pub heads: Vec<HeadLines>,
    /// Why there is nothing, if so.
    pub refusal: Option<Refusal>,
}

/// Asks for the lines of every head that is drawn: those that are on, or one pattern of several together. Of a long
/// text only the lines of the rows around `in_sight`.
pub fn known(cx: &ViewCtx<'_>, capture: &Capture, in_sight: &Range<usize>) -> Option<Known> {
    let subject = source::subject(cx)?;
    let selection = &cx.pane.selection;
    let filter = cx.pane.options.heads.filter;
    let shown = source::shown(cx, capture);
    let explained = shown.source.explained();
    let of_heads = explained.is_none_or(|it| it.extent(selection.stack()) == Some(Extent::PairsOfHeads));
    let one = cx.pane.options.reading.together.is_some() || shown.minus.is_some() || !of_heads;
    let drawn: Vec<(usize, Reading)> = if one {
        vec![(selection.head.head, shown.clone())]
    } else {
        let on = selection.heads_on().iter(source::n_heads(capture, selection.head));
        on.map(|head| (head, source::shown_of_head(cx, capture, HeadId { head, ..selection.head }))).collect()
    };
    let of = LinesOf {
        captures: (subject.this.id(), subject.other.as_ref().map(|other| other.id())),
        reading: shown,
        heads_on: selection.heads_on(),
        filter,
        look: cx.pane.options.heads.look,
        rows: None,
        n_missing: 0,
    };
    let mut known = Known { of, heads: Vec::new(), refusal: None };
    let n_rows = capture.query_tokens(selection.stack()).len();
    // In the first frame nothing was in sight yet.
    let end = in_sight.end.max(in_sight.start + 1);
    let strips = in_sight.start / STRIP_ROWS..end.div_ceil(STRIP_ROWS).min(long::n_strips(n_rows));
    let is_long = long::is_long(capture, &known.of.reading);
    if is_long {
        known.of.rows = Some(strips.start * STRIP_ROWS..strips.end * STRIP_ROWS);
    }
    // Strip by strip, so that all heads of the first row in sight come first.
    let parts: Vec<Option<usize>> = if is_long { strips.map(Some).collect() } else { vec![None] };
    let wanted = parts.iter().flat_map(|part| drawn.iter().map(move |(head, reading)| (*part, *head, reading)));
    for (part, head, reading) in wanted {
        let lines = match part {
            None => cx.patterns.lines(&subject, reading, filter),
            Some(strip) => {
                let part = store::PatternRows { reading: reading.clone(), rows: long::strip_rows(strip, n_rows) };
                cx.patterns.lines_of_part(&subject, part, filter)
            }
        };
        match lines {
            None => known.of.n_missing += 1,
            Some(Ok(lines)) => {
                let is_explained = lines.pattern.explained().is_some();
                let [above, below] = match (is_explained, lines.pattern.signed, cx.pane.minus) {
                    // Several heads are told apart by their colours, as those of attention are.
                    (true, false, _) if drawn.len() > 1 => [(head, Ink::Head(head)), (head, Ink::Head(head))],
                    (true, false, _) => [(head, Ink::Explained), (head, Ink::Explained)],
                    (true, true, _) | (false, true, None) => [(head, Ink::More), (head, Ink::Less)],
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

/// The lines that `focus` means: of a query, of a key, or of one cell. That of one cell is always there, however
/// small its weight is.
pub(super) fn isolated(scene: &Scene<'_>, focus: Focus) -> Vec<Line> {
    let mut lines = Vec::new();
    for (idx, head) in scene.heads.iter().enumerate() {
        let meant = head.set().edges.iter().filter(|edge| {
            focus.query.is_none_or(|query| query == edge.query as usize)
                && focus.key.is_none_or(|key| key == edge.key as usize)
        });
        lines.extend(meant.map(|edge| Line {
            head: idx as u32,
            query: edge.query,
            key: edge.key,
            weight: edge.weight,
        }));
    }
    if let Focus { query: Some(row), key: Some(col) } = focus {
        lines = scene.heads.iter().enumerate().filter_map(|(idx, head)| cell(idx, head, row, col)).collect();
    }
    lines.sort_unstable_by(|a, b| a.weight.total_cmp(&b.weight));
    lines
}

/// The line of one cell of a head, where it is drawn in the ink of that head.
fn cell(idx: usize, head: &HeadLines, row: usize, col: usize) -> Option<Line> {
    let strength = head.strength(row, col).filter(|strength| *strength > 0.0 || *strength == 0.0 && !head.below)?;
    Some(Line { head: idx as u32, query: row as u32, key: col as u32, weight: strength })
}
