//! The sheet of keys, drawn from the command table.

use eframe::egui::{self, RichText};

use crate::ui::{
    commands::UiCommand,
    keys::keys_text,
    theme::{GRID, Theme},
    widgets::Dialog,
};

/// Keys that egui itself handles or that depend on the view.
const MORE: [(&str, &str); 3] = [
    ("Ctrl + wheel", "Zoom the view under the pointer"),
    ("Tab, Shift Tab", "To the next control or list of tokens; arrows move within a list"),
    ("Shift + click", "Pin a token as key instead of query"),
];

/// Width of one column of the list.
const COLUMN_PT: f32 = 140.0 * GRID;
/// Of the window's height for the list.
const MAX_HEIGHT: f32 = 0.7;

/// Draws the sheet over everything, in two columns where there is room; false when it was closed.
pub fn shortcuts_ui(ctx: &egui::Context, theme: &Theme) -> bool {
    let room = ctx.content_rect().size();
    let n_columns = if room.x > 2.0 * COLUMN_PT + 20.0 * GRID { 2 } else { 1 };
    let with_keys = UiCommand::ALL.into_iter().filter_map(|it| Some((keys_text(ctx, &it.shortcut()?), it.tooltip())));
    let rows: Vec<(String, &str)> = with_keys.chain(MORE.map(|(keys, what)| (keys.to_owned(), what))).collect();
    let n_rows = rows.len().div_ceil(n_columns);
    let modal = Dialog::new("shortcuts", COLUMN_PT * n_columns as f32).show(ctx, |ui| {
        ui.heading("Shortcuts");
        ui.add_space(2.0 * GRID);
        egui::ScrollArea::vertical().max_height(room.y * MAX_HEIGHT).show(ui, |ui| {
            let grid = egui::Grid::new("shortcut grid").num_columns(2 * n_columns).spacing([5.0 * GRID, GRID]);
            grid.show(ui, |ui| {
                for row in 0..n_rows {
                    for (keys, what) in rows.iter().skip(row).step_by(n_rows) {
                        ui.label(RichText::new(keys).monospace().color(theme.accent));
                        ui.label(*what);
                    }
                    ui.end_row();
                }
            });
        });
        ui.add_space(2.0 * GRID);
        ui.button("Close").clicked()
    });
    !(modal.inner || modal.should_close())
}
