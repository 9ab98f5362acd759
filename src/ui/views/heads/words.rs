//! Sentences of the Heads view: how much is drawn, or why nothing is.

use super::lines::{HeadLines, Known};
use crate::{
    analysis::reading::ReadPattern,
    capture::Capture,
    text::share_text,
    ui::{
        ViewCtx,
        views::{controls, source, states::Nothing},
    },
};

/// Why nothing is drawn, if so.
pub fn nothing_to_draw(cx: &ViewCtx<'_>, capture: &Capture, known: &Known) -> Option<Nothing> {
    let head = cx.pane.selection.head;
    source::nothing_left(cx, capture, head.stack).or_else(|| {
        let refusal = known.refusal.as_ref().map(ToString::to_string);
        let sentence = || refusal.unwrap_or_else(|| "The attention of this layer was not recorded".to_owned());
        (known.heads.is_empty() && known.of.n_missing == 0).then(|| sentence().into())
    })
}

/// What is drawn of what there is.
pub fn caption(cx: &ViewCtx<'_>, known: &Known) -> String {
    let sets = || known.heads.iter().map(HeadLines::set);
    let n_lines: usize = sets().map(|set| set.edges.len()).sum();
    let n_total: usize = sets().map(|set| set.n_total).sum();
    let mass: f64 = sets().map(|set| set.mass_shown).sum();
    let total: f64 = sets().map(|set| set.mass_total).sum();
    let explained = cx.pane.explained().is_some();
    let patterns = || known.heads.iter().filter(|head| !head.below).map(|head| &*head.lines.pattern);
    let lines = if total == 0.0 && patterns().any(ReadPattern::is_difference) {
        "no difference".to_owned()
    } else {
        let of = if patterns().any(ReadPattern::has_own_scale) {
            "of the sum of all absolute values"
        } else {
            "of the attention"
        };
        let part = share_text(mass / total.max(f64::MIN_POSITIVE));
        format!("{} of {} lines, {part} {of}", controls::grouped(n_lines), controls::grouped(n_total))
    };
    // What stands in place of attention is named above.
    let one = patterns().next().filter(|_| !explained);
    let one = one.filter(|pattern| pattern.signed || cx.pane.options.reading.together.is_some());
    let rows = known.of.rows.as_ref().and_then(|rows| {
        let n_rows = patterns().next()?.rows.len();
        let (first, last) = (rows.start, rows.end.min(n_rows).saturating_sub(1));
        Some(format!(
            "queries {} to {} of {}",
            controls::grouped(first),
            controls::grouped(last),
            controls::grouped(n_rows)
        ))
    });
    let parts =
        [rows, one.map(|pattern| source::what(cx, pattern)), Some(lines), ReadPattern::hidden_text_of(&patterns())];
    parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
}
