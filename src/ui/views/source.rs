//! Captures that a pane shows of its document, and how their patterns are read.

use std::{ops::Range, sync::Arc};

use crate::{
    analysis::reading::{
        self, Axis, Extent, Heads, LeaveOut, Minus, ReadPattern, Reading, Refusal, SentenceFilter, Which, Whose, long,
        members, store::CapturePair,
    },
    capture::{Capture, Token},
    figure::FigureExtent,
    ids::{HeadId, StackKind},
    session::{Focus, HeadSet, ViewOptions},
    ui::{ViewCtx, views::states::Nothing},
};

/// Number of heads in the layer of `head`.
pub fn n_heads(capture: &Capture, head: HeadId) -> usize {
    capture.model().layer_of(head).map_or(0, |layer| layer.n_heads)
}

/// What a person reads for a token; its position where it has no text.
pub fn token_text(tokens: &[Token], position: usize) -> String {
    crate::capture::words::token_text(tokens, position)
}

/// The captures that the patterns of a pane come from.
pub fn subject(cx: &ViewCtx<'_>) -> Option<CapturePair> {
    let this = Arc::clone(cx.document.latest_capture()?);
    let other = cx.other.and_then(|other| other.latest_capture()).map(Arc::clone);
    Some(CapturePair { this, other })
}

/// How the attention of one head of the shown capture is read, without what is subtracted.
pub fn of_head(cx: &ViewCtx<'_>, capture: &Capture, head: HeadId) -> Reading {
    cx.pane.options.reading.of_head(capture, head)
}

/// The same of what is shown, which may stand in place of attention.
pub fn shown_of_head(cx: &ViewCtx<'_>, capture: &Capture, head: HeadId) -> Reading {
    cx.pane.overlaid(of_head(cx, capture, head))
}

/// The rows and the columns of a pattern whose tokens are among the points that were picked in the joint space.
pub fn picked(cx: &ViewCtx<'_>, pattern: &ReadPattern) -> [Vec<usize>; 2] {
    let Some([queries, keys]) = cx.pane.picked_tokens(cx.document) else { return [Vec::new(), Vec::new()] };
    let of = |axis: &Axis, picked: &[bool]| {
        let any = |positions: Range<usize>| picked.get(positions).is_some_and(|part| part.contains(&true));
        (0..axis.groups.len()).filter(|idx| any(axis.groups[*idx].positions.clone())).collect()
    };
    [of(&pattern.rows, &queries), of(&pattern.cols, &keys)]
}

/// What views of one pattern show: the selected head, or several together, minus what is subtracted.
pub fn shown(cx: &ViewCtx<'_>, capture: &Capture) -> Reading {
    let selection = &cx.pane.selection;
    let minus = cx.pane.minus.map(|minus| Minus {
        heads: Heads::One(minus.head),
        of: if minus.document == cx.document.id { Whose::This } else { Whose::Other },
    });
    let on = match selection.heads_on() {
        HeadSet::ALL => Which::All,
        some => Which::These(some.iter(n_heads(capture, selection.head)).collect()),
    };
    cx.pane.overlaid(cx.pane.options.reading.shown(capture, selection.head, &on, minus))
}

/// The heads whose numbers are drawn: those that are on where lines tell them apart, those that are taken together,
/// or the one that is selected.
pub fn drawn_heads(cx: &ViewCtx<'_>) -> Vec<HeadId> {
    let selection = &cx.pane.selection;
    let Some(capture) = cx.document.latest_capture() else { return Vec::new() };
    match shown(cx, capture).heads {
        Heads::Many(many) => members(capture, &many).unwrap_or_default(),
        Heads::One(head) if !tells_heads(cx) || cx.pane.minus.is_some() => vec![head],
        Heads::One(head) => {
            let on = selection.heads_on().iter(n_heads(capture, head));
            on.map(|on| HeadId { head: on, ..head }).collect()
        }
    }
}

/// Whether what is shown has numbers of its own for each head.
pub fn has_heads(cx: &ViewCtx<'_>) -> bool {
    cx.pane.explained_extent().is_none_or(|extent| extent == Extent::PairsOfHeads)
}

/// Whether the view draws several heads of a layer at once.
fn tells_heads(cx: &ViewCtx<'_>) -> bool {
    cx.pane.view.spec().extent == FigureExtent::Layer
}

/// Whether lines of what stands in place of attention have the colours of several heads.
pub fn tells_heads_apart(cx: &ViewCtx<'_>) -> bool {
    tells_heads(cx)
        && cx.pane.explained().is_some_and(|explained| !explained.is_signed())
        && cx.pane.explained_extent() == Some(Extent::PairsOfHeads)
        && cx.pane.options.reading.together.is_none()
        && drawn_heads(cx).len() > 1
}

/// Whether what views of one pattern show is too long to be held whole, and read in parts.
pub fn is_long(cx: &ViewCtx<'_>, capture: &Capture) -> bool {
    long::is_long(capture, &shown(cx, capture))
}

/// The pattern that views of one pattern, the panels and the inspector show; `None` while it is read.
/// Of a long text it is the row of the query that is held or under the pointer, and without one it has no rows.
pub fn shown_pattern(cx: &ViewCtx<'_>) -> Option<Result<Arc<ReadPattern>, Refusal>> {
    let subject = subject(cx)?;
    let reading = shown(cx, &subject.this);
    if !long::is_long(&subject.this, &reading) {
        return cx.patterns.pattern(&subject, &reading);
    }
    row(cx, cx.pane.selection.focus()).or_else(|| cx.patterns.part(&subject, &reading, 0..0))
}

/// The row of the query that is meant, of what views of one pattern show; `None` without one, or while it is read.
pub fn row(cx: &ViewCtx<'_>, focus: Focus) -> Option<Result<Arc<ReadPattern>, Refusal>> {
    let subject = subject(cx)?;
    let reading = shown(cx, &subject.this);
    let row = cx.patterns.axes(&subject, &reading)?[0].group_of(focus.query?)?;
    cx.patterns.part(&subject, &reading, row..row + 1)
}

/// Every head of the selected layer alone, for small pictures: all of them are asked for, and given when the
/// last one is known. `None` within stands for a head that cannot be read.
pub fn heads_of_layer(cx: &ViewCtx<'_>, capture: &Capture) -> Option<Vec<Option<Arc<ReadPattern>>>> {
    let subject = CapturePair::one(Arc::clone(cx.document.latest_capture()?));
    let selected = cx.pane.selection.head;
    let ask = |head| cx.patterns.pattern(&subject, &shown_of_head(cx, capture, HeadId { head, ..selected }));
    let answers: Vec<_> = (0..n_heads(capture, selected)).map(ask).collect();
    answers.into_iter().map(|answer| answer.map(Result::ok)).collect()
}

/// What a view of one pattern shows, in words: `L1H2`, `mean of 8 heads`, `L1H2 − L0H3`.
pub fn what(cx: &ViewCtx<'_>, pattern: &ReadPattern) -> String {
    if let Some(explained) = pattern.explained() {
        let head = [cx.pane.selection.head];
        let heads = if pattern.heads.len() > 1 { &pattern.heads } else { &head[..] };
        return explained.what_of(pattern.stack, heads);
    }
    let this = match cx.pane.options.reading.together {
        Some(together) => together.caption(pattern.heads.len()),
        None => cx.pane.selection.head.to_string(),
    };
    match cx.pane.minus.filter(|_| pattern.is_difference()) {
        Some(minus) if minus.document == cx.document.id => format!("{this} − {}", minus.head),
        Some(minus) => {
            let other = cx.other.map_or_else(String::new, crate::session::Document::title);
            format!("{this} − {} of {other}", minus.head)
        }
        None => this,
    }
}

/// The value of the last colour, where the panes of `all` that want it share a scale.
pub fn shared_high<'a>(all: impl Iterator<Item = ViewCtx<'a>>) -> Option<f32> {
    let colored = |cx: &ViewCtx<'_>| cx.pane.view.facts().has_color_scale;
    // What a method answered is on a scale of its own.
    let wanting = all.filter(|cx| cx.pane.options.shared_scale && colored(cx) && cx.pane.overlay.is_none());
    wanting.filter_map(|cx| Some(shown_pattern(&cx)?.ok()?.high())).reduce(f32::max)
}

/// Why nothing is left to show, where every key is left out, or every pair that is asked for is ruled out.
pub fn nothing_left(cx: &ViewCtx<'_>, capture: &Capture, stack: StackKind) -> Option<Nothing> {
    let options = &cx.pane.options.reading;
    let hidden = reading::left_out_keys(capture, stack, &options.leave_out);
    if !hidden.is_empty() && hidden.iter().all(|hidden| *hidden) {
        let all = ("Show all", "Leaves no token out");
        let show_all = |options: &mut ViewOptions| options.reading.leave_out = LeaveOut::default();
        return Some(Nothing::from("Every token is left out: see “Show weights as”").by_options(cx, all, show_all));
    }
    let looks_back = capture.model().stack(stack).is_some_and(|spec| spec.causal);
    let looks_ahead = options.sentences == SentenceFilter::AToB && reading::is_pair(capture, stack);
    let both = ("Show both sentences", "All attention of the pair");
    let show_both = |options: &mut ViewOptions| options.reading.sentences = SentenceFilter::All;
    (looks_back && looks_ahead && cx.pane.explained().is_none())
        .then(|| Nothing::from("A causal model cannot look ahead, so A→B is empty").by_options(cx, both, show_both))
}
