//! The target language of a translator that writes several: a tag at the start of its text.

use eframe::egui::{RichText, Ui};

use crate::{session::Command, ui::ViewCtx};

/// More tags than these are not buttons.
const MAX_BUTTONS: usize = 6;

/// Draws the choice where the model has tags; says that one is missing.
pub fn language_tags_ui(ui: &mut Ui, cx: &ViewCtx<'_>) {
    let Some(model) = cx.document.model.latest().filter(|model| !model.language_tags.is_empty()) else { return };
    let tags = &model.language_tags;
    let text = &cx.document.experiment.text;
    let chosen = tags.iter().find(|tag| text.trim_start().starts_with(tag.as_str()));
    if chosen.is_none() && !text.trim().is_empty() {
        let example = if tags.len() > MAX_BUTTONS { format!(" such as {}", tags[0]) } else { String::new() };
        let hint = format!("⚠ The text must begin with the target language{example}");
        ui.label(RichText::new(hint).small().color(cx.theme.warning));
    }
    if tags.len() > MAX_BUTTONS {
        return;
    }
    ui.horizontal_wrapped(|ui| {
        ui.label(RichText::new("Translate to").color(cx.theme.text_weak));
        for tag in tags {
            let button = ui.selectable_label(chosen == Some(tag), tag);
            if button.on_hover_text("Puts this tag at the start of the text").clicked() && chosen != Some(tag) {
                let rest = chosen.map_or(text.as_str(), |old| text.trim_start().trim_start_matches(old.as_str()));
                cx.send(Command::SetText(format!("{tag} {}", rest.trim_start())));
            }
        }
    });
}
