//! The menu that puts something beside what is shown.

use eframe::egui::Ui;

use super::WindowRequests;
use crate::{
    session::{Panes, Session},
    ui::{PanelCtx, commands::UiCommand, widgets::command_button_ui},
};

/// Draws the menu's button.
pub fn compare_ui(ui: &mut Ui, cx: &PanelCtx<'_>, requests: &mut WindowRequests) {
    let n_panes = cx.session.panes.len();
    let room = n_panes < Panes::MAX;
    let another = room && cx.session.documents.len() < Session::MAX_DOCUMENTS && cx.document.model.latest().is_some();
    let menu = ui.menu_button("Compare", |ui| {
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
    });
    menu.response.on_hover_text("Put another head, input or model beside what is shown");
}
