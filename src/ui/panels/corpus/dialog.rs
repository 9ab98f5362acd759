//! Choices before a corpus is opened: lines to paste, or whether a text is one input or many.

use std::path::Path;

use eframe::egui::{self, Button, RichText, ScrollArea, TextEdit, Ui};

use super::sheet;
use crate::{
    protocol::CorpusSource,
    session::{Command, CorpusCommand, CorpusDialog as Question},
    text::{counted, grouped},
    ui::{
        PanelCtx,
        theme::GRID,
        widgets::{Dialog, main_button_ui},
    },
};

const WIDTH: f32 = 128.0 * GRID;
const EDITOR_ROWS: usize = 10;
const MAX_EDITOR_HEIGHT: f32 = 80.0 * GRID;
/// Longer lines are shown in part.
const SHOWN_CHARS: usize = 72;
/// Lines of a text that are shown.
const SHOWN_LINES: usize = 4;

/// What the dialog remembers of its own.
#[derive(Debug, Default)]
pub struct CorpusDialog {
    lines: String,
    was_open: bool,
    was_sheet_open: bool,
}

impl CorpusDialog {
    /// Draws the dialog over everything while something is asked.
    pub fn ui(&mut self, ctx: &egui::Context, cx: &PanelCtx<'_>) {
        let question = cx.session.corpus_dialog.as_ref();
        let just_opened = question.is_some() && !self.was_open;
        self.was_open = question.is_some();
        let sheet = cx.session.corpus_sheet.as_ref().filter(|sheet| sheet.shown().is_some());
        let sheet_just_opened = sheet.is_some() && !self.was_sheet_open;
        self.was_sheet_open = sheet.is_some();
        if let Some(sheet) = sheet {
            sheet::sheet_ui(ctx, cx, sheet, sheet_just_opened);
        }
        let Some(question) = question else { return };
        let modal = Dialog::new("corpus dialog", WIDTH).show(ctx, |ui| match question {
            Question::Paste => self.paste_ui(ui, cx, just_opened),
            Question::Lines { path, text, n_lines } => {
                let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
                choice_ui(ui, cx, (&name, path), (text, *n_lines), just_opened);
            }
        });
        if modal.should_close() {
            close(cx);
        }
    }

    fn paste_ui(&mut self, ui: &mut Ui, cx: &PanelCtx<'_>, just_opened: bool) {
        ui.heading("Paste a corpus");
        ui.label(RichText::new("One text per line").color(cx.theme.text_weak));
        ui.add_space(GRID);
        ScrollArea::vertical().max_height(MAX_EDITOR_HEIGHT).auto_shrink([false, true]).show(ui, |ui| {
            let editor = TextEdit::multiline(&mut self.lines)
                .hint_text("The cat sat on the mat.\nThe dog ran to the garden.")
                .desired_rows(EDITOR_ROWS)
                .desired_width(f32::INFINITY);
            let editor = ui.add(editor).accessible_name("Lines");
            if just_opened {
                editor.request_focus();
            }
        });
        let n_lines = self.lines.lines().filter(|line| !line.trim().is_empty()).count();
        ui.add_space(2.0 * GRID);
        ui.horizontal(|ui| {
            let text = if n_lines > 0 { format!("Open {}", counted(n_lines, "line")) } else { "Open".to_owned() };
            if ui.add_enabled(n_lines > 0, Button::new(RichText::new(text).strong())).clicked() {
                open(cx, CorpusSource::Lines(std::mem::take(&mut self.lines).into()));
            }
            if ui.button("Cancel").clicked() {
                close(cx);
            }
        });
    }
}

/// One input or many.
fn choice_ui(
    ui: &mut Ui,
    cx: &PanelCtx<'_>,
    (name, path): (&str, &Path),
    (text, n_lines): (&str, usize),
    just_opened: bool,
) {
    ui.heading(format!("{name} has {} lines", grouped(n_lines)));
    ui.add_space(GRID);
    for line in text.lines().filter(|line| !line.trim().is_empty()).take(SHOWN_LINES) {
        let start: String = line.chars().take(SHOWN_CHARS).collect();
        let more = if line.chars().nth(SHOWN_CHARS).is_some() { "…" } else { "" };
        let line = RichText::new(format!("{start}{more}")).color(cx.theme.text_weak);
        ui.add(egui::Label::new(line).truncate());
    }
    ui.add_space(2.0 * GRID);
    ui.horizontal(|ui| {
        let lines = format!("A corpus of {} inputs", grouped(n_lines));
        let (lines, entered) = main_button_ui(ui, &lines, true, just_opened);
        if lines.on_hover_text("Each line is one input").clicked() || entered {
            cx.send(Command::Corpus(CorpusCommand::Choose(path.to_owned())));
        }
        if ui
            .button("One text")
            .on_hover_text("The whole text is one input, cut where the model’s context ends")
            .clicked()
        {
            close(cx);
            cx.send(Command::OpenText(text.to_owned()));
        }
        if ui.button("Cancel").clicked() {
            close(cx);
        }
    });
}

fn open(cx: &PanelCtx<'_>, source: CorpusSource) {
    cx.send(Command::Corpus(CorpusCommand::Open(source)));
}

fn close(cx: &PanelCtx<'_>) {
    cx.send(Command::Corpus(CorpusCommand::Ask(None)));
}
