//! Input of a capture file: its text, and the choice among several.

use eframe::egui::{ComboBox, Label, RichText, ScrollArea, Ui};

use crate::{
    capture::Capture,
    protocol::CaptureFile,
    session::Command,
    ui::{ViewCtx, commands::UiCommand, theme::GRID, widgets::symbol_button_ui},
};

/// Longest title of an input in the list.
const MAX_TITLE_CHARS: usize = 40;
/// Longest text that is shown; nobody reads more here, and laying it out would cost every frame.
const MAX_TEXT_CHARS: usize = 2_000;
const MAX_TEXT_HEIGHT: f32 = 40.0 * GRID;
/// Fixed: one that asks for all the room would widen the panel frame by frame.
const CHOOSER_WIDTH: f32 = 36.0 * GRID;

/// Draws the chooser, if there is a choice, and the text of the input.
pub fn input_chooser_ui(ui: &mut Ui, cx: &ViewCtx<'_>, file: &CaptureFile) {
    let Some(shown) = cx.document.shown_input() else { return };
    if file.captures.len() > 1 {
        chooser_ui(ui, cx, file, shown);
    }
    let Some(text) = file.captures.get(shown).and_then(|capture| text(capture, MAX_TEXT_CHARS)) else {
        ui.label(RichText::new("The file does not name its input").small().color(cx.theme.text_weak));
        return;
    };
    ScrollArea::vertical().id_salt("input text").max_height(MAX_TEXT_HEIGHT).auto_shrink([false, true]).show(
        ui,
        |ui| {
            ui.add(Label::new(text).wrap());
        },
    );
}

fn chooser_ui(ui: &mut Ui, cx: &ViewCtx<'_>, file: &CaptureFile, shown: usize) {
    let n = file.captures.len();
    ui.horizontal(|ui| {
        ui.spacing_mut().item_spacing.x = GRID;
        for (command, symbol) in [(UiCommand::PreviousInput, "⏴"), (UiCommand::NextInput, "⏵")] {
            if symbol_button_ui(ui, command, symbol, true).clicked()
                && let Some(command) = command.command()
            {
                cx.send(command);
            }
        }
        let selected = format!("{} of {n}", shown + 1);
        let combo = ComboBox::new("input", "").selected_text(selected).width(CHOOSER_WIDTH);
        let combo = combo.show_ui(ui, |ui| {
            // Only the rows in sight are laid out: a corpus may have thousands.
            let height = ui.text_style_height(&eframe::egui::TextStyle::Button) + 2.0 * ui.spacing().button_padding.y;
            ScrollArea::vertical().max_height(60.0 * GRID).show_rows(ui, height, n, |ui, rows| {
                for idx in rows {
                    let Some(capture) = file.captures.get(idx) else { continue };
                    let name = text(capture, MAX_TITLE_CHARS).unwrap_or_default();
                    if ui.selectable_label(idx == shown, format!("{}  {name}", idx + 1)).clicked() {
                        cx.send(Command::SelectInput(idx));
                        ui.close();
                    }
                }
            });
        });
        combo.response.on_hover_text("The inputs of this capture file").accessible_name("Input");
    });
}

/// What was read, as far as the file says: the text, both sentences of a pair, or the picture's name.
fn text(capture: &Capture, max_chars: usize) -> Option<String> {
    let input = capture.input();
    let parts = [&input.text, &input.text_b, &input.image].map(|part| part.as_deref().unwrap_or_default());
    let whole = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" · ");
    let mut shown: String = whole.chars().take(max_chars).collect();
    if shown.len() < whole.len() {
        shown.push('…');
    }
    (!shown.is_empty()).then_some(shown)
}
