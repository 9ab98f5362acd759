//! The menu that puts something beside what is shown.

use eframe::egui::{Button, Ui};

use super::WindowRequests;
use crate::{
    session::{Documents, Panes},
    ui::{
        PanelCtx,
        commands::UiCommand,
        widgets::{command_button_ui, menu_ui},
    },
};

/// Draws the menu's button.
pub fn compare_ui(ui: &mut Ui, cx: &PanelCtx<'_>, requests: &mut WindowRequests) {
    let menu =
        menu_ui(ui, Button::new("Split ⏷").frame_when_inactive(false), |ui| compare_contents_ui(ui, cx, requests));
    menu.on_hover_text("Show another head, input or model beside this pane");
}

/// What is in the menu.
pub fn compare_contents_ui(ui: &mut Ui, cx: &PanelCtx<'_>, requests: &mut WindowRequests) {
    let n_panes = cx.session.panes.len();
    let room = n_panes < Panes::MAX;
    let another = room && cx.session.documents.len() < Documents::MAX && cx.document.model.latest().is_some();
    let choices = [
        (UiCommand::SplitRight, room),
        (UiCommand::SplitBelow, room),
        (UiCommand::CompareInput, another),
        (UiCommand::Flip, cx.pane.can_flip()),
        (UiCommand::ToggleLink, n_panes > 1),
        (UiCommand::ClosePane, n_panes > 1),
    ];
    for (command, enabled) in choices {
        if command_button_ui(ui, command, enabled).clicked() {
            requests.push(command);
            ui.close();
        }
    }
}
