//! What stands in a pane where nothing is open: the ways to open something, the models and sessions of before, and all
//! examples.

use std::path::Path;

use eframe::egui::{Button, RichText, ScrollArea, Ui, Vec2};

use super::{
    gallery::{Shelf, cards_ui},
    model_panel::{source_name, source_text},
};
use crate::{
    session::{Command, SessionCommand, gallery::EXAMPLES},
    ui::{
        PanelCtx, ViewCtx,
        commands::UiCommand,
        theme::GRID,
        widgets::{CARD_PT, command_button_ui, n_columns},
    },
};

/// Cards that stand side by side at most.
const MOST_COLUMNS: usize = 5;

/// Draws it over what is left of `ui`.
pub fn start_ui(ui: &mut Ui, panel: &PanelCtx<'_>, cx: &ViewCtx<'_>) {
    let room = ui.available_width();
    ScrollArea::vertical().id_salt("start").auto_shrink(false).show(ui, |ui| {
        let n_columns = n_columns(room - 8.0 * GRID).min(MOST_COLUMNS);
        let width = n_columns as f32 * (CARD_PT.x + GRID);
        ui.horizontal_top(|ui| {
            ui.add_space(((room - width) / 2.0).max(2.0 * GRID));
            ui.vertical(|ui| {
                ui.set_width(width.min(room - 4.0 * GRID));
                ui.spacing_mut().item_spacing = Vec2::splat(GRID);
                ui.add_space(6.0 * GRID);
                ui.heading("Nothing is open");
                let how = "Open an example, or drop a model folder, a picture, a text or a capture here";
                ui.label(RichText::new(how).color(cx.theme.text_weak));
                ui.add_space(GRID);
                open_ui(ui, cx);
                recent_ui(ui, panel, cx);
                cards_ui(ui, panel, n_columns, (Shelf::Topics, ""));
                ui.add_space(4.0 * GRID);
            });
        });
    });
}

fn open_ui(ui: &mut Ui, cx: &ViewCtx<'_>) {
    ui.horizontal_wrapped(|ui| {
        for command in [UiCommand::Open, UiCommand::OpenFile, UiCommand::OpenSession, UiCommand::Lecture] {
            if command_button_ui(ui, command, true).clicked() {
                command.command().into_iter().for_each(|command| cx.send(command));
            }
        }
    });
}

/// What was open before.
fn recent_ui(ui: &mut Ui, panel: &PanelCtx<'_>, cx: &ViewCtx<'_>) {
    let (settings, keeping) = (&panel.session.settings, &panel.session.keeping);
    let is_bundled = |name: &str| EXAMPLES.iter().any(|example| example.model == name);
    let models = settings.recent_models.iter().filter(|source| !is_bundled(&source_name(source)));
    let models: Vec<_> = models.collect();
    let file_name = |path: &Path| path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    let last = keeping.last.iter().map(|path| ("Last closed session".to_owned(), path));
    let sessions: Vec<_> = last.chain(settings.recent_sessions.iter().map(|path| (file_name(path), path))).collect();
    if models.is_empty() && sessions.is_empty() {
        return;
    }
    ui.add_space(2.0 * GRID);
    ui.label(RichText::new("Recent").strong());
    ui.horizontal_wrapped(|ui| {
        for (name, path) in sessions {
            if ui.add(Button::new(name)).on_hover_text(path.display().to_string()).clicked() {
                cx.send(Command::Session(SessionCommand::Open(path.clone())));
            }
        }
        for source in models {
            if ui.add(Button::new(source_name(source))).on_hover_text(source_text(source)).clicked() {
                cx.send(Command::OpenModel(source.clone()));
            }
        }
    });
}
