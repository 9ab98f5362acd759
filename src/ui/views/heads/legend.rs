//! Scale of the Lines view: the strength of a line by its weight.

use crate::{
    figure::{
        palette::{Ink, Palette},
        views::heads::look::{LineColor, LineWeight},
    },
    text::tick_text,
    ui::{
        ViewCtx,
        views::{scale::ScaleBar, source},
    },
};

/// A scale from 0 to the largest number of what is drawn, or from both ends where numbers have signs.
pub fn scale(cx: &ViewCtx<'_>) -> ScaleBar {
    scale_of(cx, Some(cx.pane.selection.head.head))
}

/// The same in the colour of a head; without one in that of none, where each cell has its own.
pub fn scale_of(cx: &ViewCtx<'_>, head: Option<usize>) -> ScaleBar {
    let palette = cx.theme.palette;
    let lines = cx.pane.options.heads.look;
    let look = |ink: Ink, strength: f32| {
        let color = match (lines.color, ink) {
            (LineColor::Gradient, Ink::Head(_)) => palette.text_weak,
            (LineColor::Head, Ink::Head(_)) if head.is_none() => palette.text_weak,
            (LineColor::Gradient | LineColor::Head, ink) => palette.ink(ink),
        };
        palette.line(color, strength)
    };
    let ink = Ink::Head(head.unwrap_or_default());
    let Some(explained) = cx.pane.explained() else {
        let n_heads = cx.document.latest_capture().map_or(0, |it| source::n_heads(it, cx.pane.selection.head));
        let repeats = Palette::repeats(n_heads.saturating_sub(1));
        let more = if repeats { "\nColours and dashes repeat after 32 heads; the number tells them apart" } else { "" };
        let grows = if lines.weight == LineWeight::Width { "Width" } else { "Strength" };
        let meaning = format!("{grows} of the line: weight from 0 to 1{more}");
        return ScaleBar::of_colors(|weight| look(ink, weight), [0.0, 0.5, 1.0].map(tick_text), meaning);
    };
    let high = source::shown_pattern(cx).and_then(Result::ok).map(|pattern| pattern.high());
    let tick = |share: f32| {
        high.map_or_else(|| if share == 1.0 { "most" } else { "" }.to_owned(), |high| tick_text(share * high))
    };
    if explained.is_signed() {
        let meaning = "Blue: lowers the score · orange: raises it".to_owned();
        let signed = |at: f32| {
            let value = 2.0 * at - 1.0;
            look(if value < 0.0 { Ink::Less } else { Ink::More }, value.abs())
        };
        return ScaleBar::of_colors(signed, [-1.0, 0.0, 1.0].map(tick), meaning);
    }
    let color = if source::tells_heads_apart(cx) { ink } else { Ink::Explained };
    ScaleBar::of_colors(
        |at| look(color, at),
        [0.0, 0.5, 1.0].map(tick),
        "Stronger means more; not attention".to_owned(),
    )
}
