//! What a pane shows of its document: the captures, and how their patterns are read.

use std::sync::Arc;

use crate::{
    analysis::reading::{ReadPattern, Reading, Refusal, Which, store::Subject},
    capture::{Capture, Token},
    ids::{HeadId, StackKind},
    session::HeadSet,
    spec::LayerSpec,
    ui::ViewCtx,
};

/// Shape of the layer of `head`.
pub fn layer_spec(capture: &Capture, head: HeadId) -> Option<&LayerSpec> {
    capture.model().stack(head.stack)?.layers.get(head.layer)
}

/// Number of heads in the layer of `head`.
pub fn n_heads(capture: &Capture, head: HeadId) -> usize {
    layer_spec(capture, head).map_or(0, |layer| layer.n_heads)
}

/// What a person reads for a token; its position where it has no text.
pub fn token_text(tokens: &[Token], position: usize) -> String {
    crate::analysis::reading::words::token_text(tokens, position)
}

/// The captures that the patterns of a pane come from.
pub fn subject(cx: &ViewCtx<'_>) -> Option<Subject> {
    let this = Arc::clone(cx.document.latest_capture()?);
    let other = cx.other.and_then(|other| other.latest_capture()).map(Arc::clone);
    Some(Subject { this, other })
}

/// How one head of the shown capture is read, without what is subtracted.
pub fn of_head(cx: &ViewCtx<'_>, capture: &Capture, head: HeadId) -> Reading {
    cx.pane.options.reading.of_head(capture, head)
}

/// What views of one pattern show: the selected head, or several together.
pub fn shown(cx: &ViewCtx<'_>, capture: &Capture) -> Reading {
    let selection = &cx.pane.selection;
    let on = match selection.heads_on {
        HeadSet::ALL => Which::All,
        some => Which::These(some.iter(n_heads(capture, selection.head)).collect()),
    };
    cx.pane.options.reading.shown(capture, selection.head, &on, None)
}

/// The pattern that views of one pattern, the panels and the inspector show; `None` while it is read.
pub fn shown_pattern(cx: &ViewCtx<'_>) -> Option<Result<Arc<ReadPattern>, Refusal>> {
    let subject = subject(cx)?;
    let reading = shown(cx, &subject.this);
    cx.patterns.pattern(&subject, &reading)
}

/// Every head of the selected layer alone, for small pictures: all of them are asked for, and given when the
/// last one is known. `None` within stands for a head that cannot be read.
pub fn heads_of_layer(cx: &ViewCtx<'_>, capture: &Capture) -> Option<Vec<Option<Arc<ReadPattern>>>> {
    let subject = Subject::one(Arc::clone(cx.document.latest_capture()?));
    let selected = cx.pane.selection.head;
    let ask = |head| cx.patterns.pattern(&subject, &of_head(cx, capture, HeadId { head, ..selected }));
    let answers: Vec<_> = (0..n_heads(capture, selected)).map(ask).collect();
    answers.into_iter().map(|answer| answer.map(Result::ok)).collect()
}

/// Whether every key is left out, so that no view can show anything.
pub fn nothing_left(cx: &ViewCtx<'_>, capture: &Capture, stack: StackKind) -> bool {
    let hidden = crate::analysis::reading::left_out_keys(capture, stack, &cx.pane.options.reading.leave_out);
    !hidden.is_empty() && hidden.iter().all(|hidden| *hidden)
}
