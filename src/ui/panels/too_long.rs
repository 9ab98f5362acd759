//! A text that is too long: what could be read instead, and the way back from what was chosen.

use eframe::egui::{Button, RichText, Ui};

use crate::{
    capture::{Excerpt, Keep},
    session::Command,
    text::grouped,
    ui::{ViewCtx, theme::GRID},
};

/// Says why a text was not run, with both numbers, and offers its ends.
pub fn too_long_ui(ui: &mut Ui, cx: &ViewCtx<'_>) {
    let Some(too_long) = &cx.document.too_long else { return };
    ui.add_space(GRID);
    let said = RichText::new(format!("⚠ {}", too_long.failure.summary)).color(cx.theme.error);
    ui.label(said).on_hover_text(&too_long.failure.details);
    ui.add_space(GRID);
    for keep in Keep::ALL {
        let text = format!("Use the {} {} tokens", keep.name(), grouped(too_long.n_fit));
        let tooltip = "Only this part of the text is read; sessions and links keep the choice, and it can be undone";
        if ui.button(text).on_hover_text(tooltip).clicked() {
            cx.send(Command::SetExcerpt(Some(Excerpt::of(keep, too_long.n_fit))));
        }
    }
}

/// Says that only a part of the text was read, and offers the other end and the choice again.
pub fn part_ui(ui: &mut Ui, cx: &ViewCtx<'_>) {
    let Some(part) = cx.document.latest_capture().and_then(|capture| capture.input().part) else { return };
    if cx.document.too_long.is_some() {
        return;
    }
    ui.label(RichText::new(part.to_string()).small().color(cx.theme.warning));
    let Some(chosen) = cx.document.experiment.excerpt else { return };
    ui.horizontal_wrapped(|ui| {
        for keep in Keep::ALL.into_iter().filter(|keep| *keep != part.keep) {
            let text = format!("Use the {} {}", keep.name(), grouped(part.n_read));
            if ui.add(Button::new(text).small()).on_hover_text("Read the other end of the text").clicked() {
                cx.send(Command::SetExcerpt(Some(Excerpt { keep, ..chosen })));
            }
        }
        let back = ui.add(Button::new("Undo the cut").small());
        if back.on_hover_text("Read the whole text, or choose again if it is too long").clicked() {
            cx.send(Command::SetExcerpt(None));
        }
    });
}
