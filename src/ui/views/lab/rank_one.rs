//! Button that adds a rank-one edit to the what-if list.

use eframe::egui::Ui;

use super::asked::LabColumns;
use crate::{
    lab::edit_of,
    session::{ChangeCommand, Command},
    ui::ViewCtx,
};

/// Draws a button for the change that was found, where there is one.
pub fn add_ui(ui: &mut Ui, cx: &ViewCtx<'_>, asked: &LabColumns) {
    let found = asked.columns.iter().filter_map(|column| column.answer.report.as_deref()).find_map(edit_of);
    let Some(edit) = found else { return };
    let add = ui.button("Add to Changes").on_hover_text("Run with this change; Changes lists it and can switch it off");
    if add.clicked() {
        cx.send(Command::Change(ChangeCommand::Add(vec![edit.into()])));
    }
}
