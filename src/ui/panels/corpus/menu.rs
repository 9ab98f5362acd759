//! Menu of the sources of a corpus.

use eframe::egui::Ui;

use super::unchanged_ui;
use crate::{
    protocol::CorpusSource,
    session::{BUNDLED_CORPORA, Command, CorpusCommand, CorpusDialog, FilePurpose},
    ui::{ViewCtx, theme::GRID},
};

/// Draws the entries of a menu; true when one was chosen.
pub fn corpus_menu_ui(ui: &mut Ui, cx: &ViewCtx<'_>) -> bool {
    ui.set_min_width(56.0 * GRID);
    unchanged_ui(ui, cx);
    let open = |source| Command::Corpus(CorpusCommand::Open(source));
    let entries = [
        (
            "Text, table or capture…",
            "One input per line, row or captured input; CSV, TSV, JSON and JSON lines can \
            have columns",
            { Command::Pick(FilePurpose::CorpusFile) },
        ),
        ("Folder of pictures…", "The names of its subfolders become labels", {
            Command::Pick(FilePurpose::CorpusFolder)
        }),
        ("Pasted lines…", "One text per line", Command::Corpus(CorpusCommand::Ask(Some(CorpusDialog::Paste)))),
    ];
    let mut chosen = None;
    for (text, tooltip, command) in entries {
        if ui.button(text).on_hover_text(tooltip).clicked() {
            chosen = Some(command);
        }
    }
    ui.separator();
    for (name, title) in BUNDLED_CORPORA {
        if ui.button(title).on_hover_text(format!("{name}, bundled with AttnScope")).clicked() {
            chosen = Some(open(CorpusSource::path(name)));
        }
    }
    if let Some(file) = cx.document.opened.as_ref().filter(|file| file.captures.len() > 1) {
        let text = format!("{} inputs of {}", file.captures.len(), file.name());
        if ui.button(text).on_hover_text("All inputs of the capture file that is open").clicked() {
            chosen = Some(open(CorpusSource::Captures(file.clone())));
        }
    }
    let is_chosen = chosen.is_some();
    if let Some(command) = chosen {
        cx.send(command);
        ui.close();
    }
    is_chosen
}
