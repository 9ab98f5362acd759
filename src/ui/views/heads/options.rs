//! Options and legend of the Heads view.

use eframe::egui::{Role, Slider, Ui, WidgetInfo};

use crate::{
    analysis::edges::EdgeFilter,
    figure::palette::{Dash, Palette},
    ui::{
        ViewCtx,
        theme::opaque,
        views::{controls, source, texture},
    },
};

/// What [`EdgeFilter::TopK`] starts with.
const DEFAULT_TOP_K: usize = 3;
/// What [`EdgeFilter::Threshold`] starts with.
const DEFAULT_THRESHOLD: f32 = 0.05;

/// Draws the options, then the legend.
pub fn options_ui(ui: &mut Ui, cx: &ViewCtx<'_>) {
    controls::edit_options(cx, |options| {
        controls::heading_ui(ui, cx.theme, "Lines");
        let filter = &mut options.heads.filter;
        let meaning = "Which pairs get a line: the strongest that together hold a share of each row, a number of the strongest \
                       of each row, or all from some weight on";
        controls::row_about_ui(ui, cx.theme, "Draw", meaning, |ui| {
            let mut kind = match filter {
                EdgeFilter::TopP(_) => 0,
                EdgeFilter::TopK(_) => 1,
                EdgeFilter::Threshold(_) => 2,
            };
            let kinds = [(0, "Share of each row"), (1, "Strongest of each row"), (2, "Weights from")];
            if controls::choice_ui(ui, "Which lines are drawn", &mut kind, &kinds) {
                *filter = match kind {
                    0 => EdgeFilter::default(),
                    1 => EdgeFilter::TopK(DEFAULT_TOP_K),
                    _ => EdgeFilter::Threshold(DEFAULT_THRESHOLD),
                };
            }
        });
        match filter {
            EdgeFilter::TopP(p) => {
                controls::percent_slider_ui(ui, "Share of each row that is drawn", p, 0.1..=1.0);
            }
            EdgeFilter::TopK(n) => {
                ui.add(Slider::new(n, 1..=32).suffix(" keys")).accessible_name("Lines of each query");
            }
            EdgeFilter::Threshold(least) => {
                let slider = Slider::new(least, 0.001..=1.0).logarithmic(true);
                ui.add(slider).accessible_name("Smallest weight that is drawn");
            }
        }
    });
    controls::heading_ui(ui, cx.theme, "Legend");
    strength_legend_ui(ui, cx);
    let n_heads = cx.document.latest_capture().map_or(0, |it| source::n_heads(it, cx.pane.selection.head));
    controls::caption_ui(ui, cx.theme, heads_legend(n_heads));
}

/// What tells the heads apart.
const fn heads_legend(n_heads: usize) -> &'static str {
    let last = n_heads.saturating_sub(1);
    match (Palette::dash(last), Palette::repeats(last)) {
        (_, true) => "Colours and dashes repeat after 64 heads; the number tells them apart",
        (Dash::Solid, false) => "Colour and number tell the head",
        _ => "Colour, dashes and number tell the head",
    }
}

/// A wedge from weight 0 to weight 1.
fn strength_legend_ui(ui: &mut Ui, cx: &ViewCtx<'_>) {
    let head = cx.pane.selection.head.head;
    let response = texture::gradient_ui(ui, cx.theme, ["0", "weight", "1"], |weight| {
        opaque(cx.theme.palette.line(cx.theme.palette.head(head), weight))
    });
    response
        .widget_info(|| WidgetInfo::labeled(Role::Image, true, "Strength of the colour tells the weight, from 0 to 1"));
}
