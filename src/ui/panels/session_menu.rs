//! The menu of the session: its file, the ones before it, bookmarks and addresses.

use std::path::Path;

use eframe::egui::{Button, Ui};

use super::WindowRequests;
use crate::{
    session::{Command, SessionCommand},
    ui::{PanelCtx, commands::UiCommand, widgets::command_button_ui},
};

/// What is in the menu.
pub fn session_contents_ui(ui: &mut Ui, cx: &PanelCtx<'_>, requests: &mut WindowRequests) {
    let keeping = &cx.session.keeping;
    let shows = cx.document.latest_capture().is_some();
    let mut buttons = |ui: &mut Ui, commands: &[(UiCommand, bool)]| {
        for (command, enabled) in commands {
            if command_button_ui(ui, *command, *enabled).clicked() {
                requests.push(*command);
                ui.close();
            }
        }
    };
    buttons(
        ui,
        &[
            (UiCommand::NewSession, true),
            (UiCommand::OpenSession, true),
            (UiCommand::SaveSession, true),
            (UiCommand::SaveSessionAs, true),
        ],
    );
    let recent = &cx.session.settings.recent_sessions;
    ui.add_enabled_ui(!recent.is_empty() || keeping.last.is_some(), |ui| {
        ui.menu_button("Recent sessions", |ui| {
            if let Some(last) = &keeping.last {
                open_ui(ui, cx, "Last closed session", last);
            }
            for path in recent {
                let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
                open_ui(ui, cx, &name, path);
            }
        });
    });
    ui.separator();
    buttons(ui, &[(UiCommand::AddBookmark, shows), (UiCommand::Bookmarks, true), (UiCommand::CopyAddress, shows)]);
}

fn open_ui(ui: &mut Ui, cx: &PanelCtx<'_>, name: &str, path: &Path) {
    if ui.add(Button::new(name)).on_hover_text(path.display().to_string()).clicked() {
        cx.send(Command::Session(SessionCommand::Open(path.to_owned())));
        ui.close();
    }
}
