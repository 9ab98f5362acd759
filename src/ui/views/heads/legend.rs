//! Legend of the Heads view.

use eframe::egui::{Role, Ui, WidgetInfo};

use crate::{
    figure::palette::{Ink, Palette},
    text::tick_text,
    ui::{
        ViewCtx,
        views::{controls, source, texture},
    },
};

/// Draws the legend.
pub fn legend_ui(ui: &mut Ui, cx: &ViewCtx<'_>) {
    controls::heading_ui(ui, cx.theme, "Legend");
    if let Some(explained) = cx.pane.explained() {
        explained_legend_ui(ui, cx, explained.is_signed());
        return;
    }
    strength_legend_ui(ui, cx);
    let n_heads = cx.document.latest_capture().map_or(0, |it| source::n_heads(it, cx.pane.selection.head));
    if Palette::repeats(n_heads.saturating_sub(1)) {
        controls::caption_ui(ui, cx.theme, "Colours and dashes repeat after 32 heads; the number tells them apart");
    }
}

/// A wedge from 0 to the largest number of what stands in place of attention, or from both ends.
fn explained_legend_ui(ui: &mut Ui, cx: &ViewCtx<'_>, signed: bool) {
    let pattern = source::shown_pattern(cx).and_then(Result::ok);
    let high = pattern.map_or_else(|| "most".to_owned(), |pattern| tick_text(pattern.high()));
    let ink = |ink: Ink, strength: f32| cx.theme.palette.line(cx.theme.palette.ink(ink), strength);
    let response = if signed {
        let low = format!("−{high}");
        texture::gradient_ui(ui, cx.theme, [&low, "0", &high], |at| {
            let value = 2.0 * at - 1.0;
            ink(if value < 0.0 { Ink::Less } else { Ink::More }, value.abs())
        })
    } else {
        let of_heads = source::tells_heads_apart(cx);
        let color = if of_heads { Ink::Head(cx.pane.selection.head.head) } else { Ink::Explained };
        texture::gradient_ui(ui, cx.theme, ["0", "", &high], |at| ink(color, at))
    };
    let text = match (signed, source::tells_heads_apart(cx)) {
        (true, _) => "Blue: lowers the score · orange: raises it",
        (false, true) => "Not attention",
        (false, false) => "Stronger means more; not attention",
    };
    controls::caption_ui(ui, cx.theme, text);
    response.widget_info(|| WidgetInfo::labeled(Role::Image, true, format!("Colours up to {high}")));
}

/// A wedge from weight 0 to weight 1.
fn strength_legend_ui(ui: &mut Ui, cx: &ViewCtx<'_>) {
    let head = cx.pane.selection.head.head;
    let response = texture::gradient_ui(ui, cx.theme, ["0", "weight", "1"], |weight| {
        cx.theme.palette.line(cx.theme.palette.head(head), weight)
    });
    response.widget_info(|| WidgetInfo::labeled(Role::Image, true, "Opacity of the line: weight from 0 to 1"));
}
