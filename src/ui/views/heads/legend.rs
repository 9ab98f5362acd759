//! Scale of the Lines view: the strength of a line by its weight.

use eframe::egui::{Role, Ui, WidgetInfo};

use crate::{
    figure::{
        list::Rgba,
        palette::{Ink, Palette},
    },
    text::tick_text,
    ui::{
        ViewCtx,
        views::{source, texture},
    },
};

/// Draws a ramp from 0 to the largest number of what is drawn, or from both ends where numbers have signs.
pub fn scale_ui(ui: &mut Ui, cx: &ViewCtx<'_>) {
    let palette = cx.theme.palette;
    let ink = |ink: Ink, strength: f32| palette.line(palette.ink(ink), strength);
    let head = Ink::Head(cx.pane.selection.head.head);
    let Some(explained) = cx.pane.explained() else {
        let n_heads = cx.document.latest_capture().map_or(0, |it| source::n_heads(it, cx.pane.selection.head));
        let repeats = Palette::repeats(n_heads.saturating_sub(1));
        let more = if repeats { "\nColours and dashes repeat after 32 heads; the number tells them apart" } else { "" };
        let meaning = format!("Opacity of the line: weight from 0 to 1{more}");
        return ramp_ui(ui, cx, ["0", "1"], &meaning, |weight| ink(head, weight));
    };
    let pattern = source::shown_pattern(cx).and_then(Result::ok);
    let high = pattern.map_or_else(|| "most".to_owned(), |pattern| tick_text(pattern.high()));
    if explained.is_signed() {
        let low = format!("−{high}");
        let meaning = "Blue: lowers the score · orange: raises it";
        return ramp_ui(ui, cx, [&low, &high], meaning, |at| {
            let value = 2.0 * at - 1.0;
            ink(if value < 0.0 { Ink::Less } else { Ink::More }, value.abs())
        });
    }
    let color = if source::tells_heads_apart(cx) { head } else { Ink::Explained };
    ramp_ui(ui, cx, ["0", &high], "Stronger means more; not attention", |at| ink(color, at));
}

fn ramp_ui(ui: &mut Ui, cx: &ViewCtx<'_>, ends: [&str; 2], meaning: &str, color: impl Fn(f32) -> Rgba) {
    let response = texture::ramp_ui(ui, cx.theme, ends, color);
    response.widget_info(|| WidgetInfo::labeled(Role::Image, true, meaning));
    response.on_hover_text(meaning);
}
