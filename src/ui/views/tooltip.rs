//! What stands beside the pointer.

use eframe::egui::{Popup, PopupAnchor, Ui, containers::Tooltip};

use crate::ui::theme::GRID;

/// Shows numbers beside the pointer, for as long as this is called. An open menu comes first.
pub fn at_pointer(ui: &Ui, contents: impl FnOnce(&mut Ui)) {
    if Popup::is_any_open(ui.ctx()) {
        return;
    }
    let id = ui.scope_id().with("readout");
    let tooltip = Tooltip::always_open(ui.ctx().clone(), ui.layer_id(), id, PopupAnchor::Pointer);
    tooltip.gap(4.0 * GRID).show(contents);
}
