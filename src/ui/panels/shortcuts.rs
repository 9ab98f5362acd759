//! The sheet of keys, drawn from the command table.

use eframe::egui::{self, Id, Modal, RichText};

use crate::ui::{
    commands::{UiCommand, keys_text},
    theme::{GRID, Theme},
};

/// Keys that egui itself handles or that depend on the view.
const MORE: [(&str, &str); 4] = [
    ("Ctrl + wheel", "Zoom the view under the pointer"),
    ("Ctrl +, Ctrl −, Ctrl 0", "Make everything larger, smaller, normal"),
    ("Tab, Shift Tab", "Step through every control"),
    ("Shift + click", "Pin a token as key instead of query"),
];

/// Draws the sheet over everything; false when it was closed.
pub fn shortcuts_ui(ctx: &egui::Context, theme: &Theme) -> bool {
    let frame = egui::Frame::popup(&ctx.global_style()).inner_margin(5.0 * GRID);
    let modal = Modal::new(Id::unique("shortcuts")).frame(frame).show(ctx, |ui| {
        ui.set_width(116.0 * GRID);
        ui.heading("Shortcuts");
        ui.add_space(2.0 * GRID);
        egui::ScrollArea::vertical().max_height(ctx.content_rect().height() * 0.7).show(ui, |ui| {
            egui::Grid::new("shortcut grid").num_columns(2).spacing([6.0 * GRID, GRID]).show(ui, |ui| {
                for command in UiCommand::ALL {
                    let Some(shortcut) = command.shortcut() else { continue };
                    ui.label(RichText::new(keys_text(ctx, &shortcut)).monospace().color(theme.accent));
                    ui.label(command.tooltip());
                    ui.end_row();
                }
                for (keys, what) in MORE {
                    ui.label(RichText::new(keys).monospace().color(theme.accent));
                    ui.label(what);
                    ui.end_row();
                }
            });
        });
        ui.add_space(2.0 * GRID);
        ui.button("Close").clicked()
    });
    !(modal.inner || modal.should_close())
}
