//! What was left behind by a window that did not end well, and models of a session that are not where they were.

use eframe::egui::{self, Align, Button, Label, Layout, RichText, Ui};

use super::failure_ui;
use crate::{
    session::{Anew, Command, FilePurpose, LostModel, SessionCommand},
    ui::{PanelCtx, theme::GRID, widgets::Dialog},
};

const WIDTH: f32 = 110.0 * GRID;

/// Draws a strip that offers what was left behind; nothing while there is nothing.
pub fn left_behind_ui(ui: &mut Ui, cx: &PanelCtx<'_>) {
    let left = &cx.session.keeping.left;
    let Some(first) = left.first() else { return };
    ui.horizontal(|ui| {
        ui.spacing_mut().item_spacing.x = 2.0 * GRID;
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            let discard = ui.button("Discard").on_hover_text("Delete it");
            if discard.clicked() {
                cx.send(Command::Session(SessionCommand::Discard(0)));
            }
            let restore = ui.button(RichText::new("Restore").strong());
            if restore.on_hover_text("Restore it in place of the current session").clicked() {
                cx.send(Command::Session(SessionCommand::Recover(0)));
            }
            let more = match left.len() {
                1 => String::new(),
                n => format!(" ({} more)", n - 1),
            };
            let text = format!("AttnScope was closed unexpectedly {}: {}{more}", ago(first.age_secs), first.title());
            ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
                ui.add(Label::new(RichText::new(text).color(cx.theme.text)).truncate());
            });
        });
    });
}

/// `3 minutes ago`.
fn ago(secs: u64) -> String {
    let (n, unit) = match secs {
        0..60 => return "just now".to_owned(),
        60..3_600 => (secs / 60, "minute"),
        3_600..86_400 => (secs / 3_600, "hour"),
        _ => (secs / 86_400, "day"),
    };
    let s = if n == 1 { "" } else { "s" };
    format!("{n} {unit}{s} ago")
}

/// Asks where the first lost model is, over everything, while there is one.
pub fn lost_model_ui(ctx: &egui::Context, cx: &PanelCtx<'_>) {
    let Some(lost) = cx.session.keeping.lost_models.first() else { return };
    let modal = Dialog::new("lost model", WIDTH).show(ctx, |ui| {
        question_ui(ui, cx, lost);
        ui.add_space(3.0 * GRID);
        ui.horizontal(|ui| {
            if ui.add(Button::new("Choose its folder…")).clicked() {
                cx.send(Command::Pick(FilePurpose::LostModel));
            }
            if lost.failure.is_none() && ui.button("Use this one").clicked() {
                cx.send(Command::Session(SessionCommand::UseModel));
            }
            let without = if lost.failure.is_none() { "Decide later" } else { "Continue without it" };
            ui.button(without).clicked()
        })
        .inner
    });
    if modal.inner || modal.should_close() {
        cx.send(Command::Session(SessionCommand::LeaveModel));
    }
}

/// Asks before everything is closed that is in no file.
pub fn new_session_ui(ctx: &egui::Context, cx: &PanelCtx<'_>) {
    let keeping = &cx.session.keeping;
    if !keeping.asks_before_new() {
        return;
    }
    let modal = Dialog::new("new session", WIDTH).show(ctx, |ui| {
        ui.heading("Save this session first?");
        ui.add_space(GRID);
        ui.label(keeping.name().map_or_else(
            || "It is not saved yet.".to_owned(),
            |name| format!("It has changed since {name} was saved."),
        ));
        ui.add_space(GRID);
        let again = "Unsaved, it stays under Session › Recent sessions until another session is closed.";
        ui.label(RichText::new(again).small().color(cx.theme.text_weak));
        ui.add_space(3.0 * GRID);
        ui.horizontal(|ui| {
            let save = if keeping.file.is_some() { "Save" } else { "Save…" };
            let choices = [(RichText::new(save).strong(), Anew::Save), (RichText::new("Don’t save"), Anew::Begin)];
            for (text, anew) in choices {
                if ui.button(text).clicked() {
                    cx.send(Command::Session(SessionCommand::New(anew)));
                }
            }
            ui.button("Cancel").clicked()
        })
        .inner
    });
    if modal.inner || modal.should_close() {
        cx.send(Command::Session(SessionCommand::New(Anew::Stay)));
    }
}

fn question_ui(ui: &mut Ui, cx: &PanelCtx<'_>, lost: &LostModel) {
    if let Some(failure) = &lost.failure {
        ui.heading("Where is the model of this session?");
        ui.add_space(GRID);
        ui.label(format!("It was at {}.", lost.place()));
        failure_ui(ui, cx, failure);
    } else {
        ui.heading("Is this the model of this session?");
        ui.add_space(GRID);
        let text = "Its config.json has changed since the session was saved, so results may differ.";
        ui.label(format!("{}\n{text}", lost.place()));
    }
    ui.add_space(GRID);
    let remembered = "The new folder is remembered for every session that uses this model.";
    ui.label(RichText::new(remembered).small().color(cx.theme.text_weak));
}
