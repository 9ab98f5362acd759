//! What stands beside the pointer.

use eframe::egui::{Popup, PopupAnchor, Ui, containers::Tooltip};

use super::controls;
use crate::{
    analysis::reading::{ReadPattern, Source},
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

/// Says below numbers that they are not the model's own weights; nothing where they are.
pub fn weights_ui(ui: &mut Ui, cx: &ViewCtx<'_>, pattern: Option<&ReadPattern>) {
    if let Some(explained) = pattern.and_then(ReadPattern::explained) {
        controls::caption_ui(ui, cx.theme, format!("{}, not attention", explained.title()));
    } else if pattern.is_some_and(|pattern| pattern.source == Source::ByValueNorm) {
        controls::caption_ui(ui, cx.theme, "weights by ‖v‖");
    }
}
