//! The index of the methods of a question: one click from the top of the view to each answer, shown already or not.

use eframe::egui::{Button, Id, RichText, Role, Ui, WidgetInfo};

use super::asked;
use crate::{
    analysis::explain::report::LabQuestion,
    capture::Capture,
    lab::MethodPreset,
    text::sentence,
    ui::{ViewCtx, theme::GRID},
};

/// Draws the index, where answers stand one below the other.
pub fn index_ui(ui: &mut Ui, cx: &ViewCtx<'_>, capture: &Capture) {
    let (lab, focus) = (&cx.pane.options.lab, cx.pane.lab_focus(capture));
    if lab.question == LabQuestion::Depends || MethodPreset::under(lab.question).count() < 2 {
        return;
    }
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing.x = GRID;
        for column in MethodPreset::under(lab.question) {
            let ask = column.ask(&focus, &lab.turned(column));
            let shown = lab.shows(column);
            let (text, name, color) = if shown {
                (column.title.to_owned(), format!("Go to {}", column.title), cx.theme.text)
            } else {
                (format!("+ {}", column.title), format!("Show {}", column.title), cx.theme.text_weak)
            };
            let enabled = ask.is_ok();
            let entry = ui.add_enabled(enabled, Button::new(RichText::new(text).small().color(color)).small());
            entry.widget_info(|| WidgetInfo::labeled(Role::Button, enabled, &name));
            let reason = ask.err().map_or_else(String::new, |unasked| sentence(&unasked.why));
            let entry = entry.on_disabled_hover_text(reason).on_hover_text(column.method.caveat);
            if entry.clicked() {
                if !shown {
                    asked::show(cx, column, true);
                }
                ui.data_mut(|data| data.insert_temp(sought(cx), column.name));
            }
        }
    });
}

/// Where the method is kept that is gone to as soon as its answer, or why there is none, is drawn.
fn sought(cx: &ViewCtx<'_>) -> Id {
    Id::unique(("sought method", cx.pane.id.0))
}

/// Where the session's last wish for a method is kept, once it was heard.
fn heard(cx: &ViewCtx<'_>) -> Id {
    Id::unique(("method of the session", cx.pane.id.0))
}

/// Takes over which method the session was asked for.
pub fn hear(ui: &Ui, cx: &ViewCtx<'_>) {
    let Some((nth, name)) = cx.pane.sought_method else { return };
    let is_new = ui.data_mut(|data| data.get_temp_mut_or_default::<Option<usize>>(heard(cx)).replace(nth)) != Some(nth);
    if is_new {
        ui.data_mut(|data| data.insert_temp(sought(cx), name));
    }
}

/// Whether a method is gone to in this frame, which happens once.
pub fn is_sought(ui: &Ui, cx: &ViewCtx<'_>, name: &str) -> bool {
    let is_it = ui.data(|data| data.get_temp::<&'static str>(sought(cx))) == Some(name);
    if is_it {
        ui.data_mut(|data| data.remove::<&'static str>(sought(cx)));
    }
    is_it
}
