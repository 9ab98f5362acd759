//! Tooltips, beside the pointer or beside what they are about.

use eframe::egui::{Popup, PopupAnchor, Rect, RectAlign, Response, Ui, containers::Tooltip};

use super::controls;
use crate::{
    analysis::reading::{Marks, ReadPattern, Source},
    ui::{ViewCtx, theme::GRID},
};

/// Shows numbers beside the pointer, for as long as this is called. An open menu comes first.
pub fn at_pointer(ui: &Ui, contents: impl FnOnce(&mut Ui)) {
    if Popup::is_any_open(ui.ctx()) {
        return;
    }
    let id = ui.scope_id().with("readout");
    let tooltip = Tooltip::always_open(ui.ctx().clone(), ui.layer_id(), id, PopupAnchor::Pointer);
    tooltip.gap(4.0 * GRID).show(contents);
}

/// Shows numbers at a side of `about`, or at the other one, so that neither it nor its neighbours above and below, which
/// it is compared with, are hidden; for as long as this is called. An open menu comes first.
pub fn beside(ui: &Ui, about: Rect, side: RectAlign, contents: impl FnOnce(&mut Ui)) {
    const PLACES: [RectAlign; 6] = [
        RectAlign::RIGHT_START,
        RectAlign::RIGHT_END,
        RectAlign::LEFT_START,
        RectAlign::LEFT_END,
        RectAlign::BOTTOM_START,
        RectAlign::TOP_START,
    ];
    if Popup::is_any_open(ui.ctx()) {
        return;
    }
    let id = ui.scope_id().with("readout");
    let mut tooltip = Tooltip::always_open(ui.ctx().clone(), ui.layer_id(), id, PopupAnchor::ParentRect(about));
    tooltip.popup = tooltip.popup.align(side).align_alternatives(&PLACES);
    tooltip.gap(2.0 * GRID).show(contents);
}

/// Explains what is pointed at, above it: below are the numbers that it names.
pub fn above(response: &Response, text: &str) {
    const PLACES: [RectAlign; 3] = [RectAlign::TOP_END, RectAlign::BOTTOM_START, RectAlign::BOTTOM_END];
    let mut tooltip = Tooltip::for_enabled(response);
    tooltip.popup = tooltip.popup.align(RectAlign::TOP_START).align_alternatives(&PLACES);
    tooltip.show(|ui| ui.label(text));
}

/// Says below numbers that they are not the model's own weights, and which of their heads are put out of action; nothing
/// where they are, and none is.
pub fn weights_ui<'a>(ui: &mut Ui, cx: &ViewCtx<'_>, patterns: &(impl Iterator<Item = &'a ReadPattern> + Clone)) {
    let first = patterns.clone().next();
    if let Some(explained) = first.and_then(ReadPattern::explained) {
        controls::caption_ui(ui, cx.theme, format!("{}, not attention", explained.title()));
    } else if first.is_some_and(|pattern| pattern.source == Source::ByValueNorm) {
        controls::caption_ui(ui, cx.theme, "weights × ‖v‖");
    }
    ablated_ui(ui, cx, patterns);
}

/// Says below numbers which of their heads are put out of action, and whether that is seen in their weights.
pub fn ablated_ui<'a>(ui: &mut Ui, cx: &ViewCtx<'_>, patterns: &(impl Iterator<Item = &'a ReadPattern> + Clone)) {
    if let Some(ablated) = Marks::ablated_text_of(&patterns.clone().map(|pattern| &pattern.marks)) {
        controls::caption_ui(ui, cx.theme, ablated);
    }
}
