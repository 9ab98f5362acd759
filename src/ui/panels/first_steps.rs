//! The strip of first steps below the header: each is ticked once it was taken, and a click helps with it.

use eframe::egui::{Align, Button, Checkbox, Layout, RichText, Role, Ui, WidgetInfo};

use super::WindowRequests;
use crate::{
    session::{Command, FirstStep, ViewKind},
    ui::{PanelCtx, commands::UiCommand, theme::GRID},
};

/// Height of the strip.
pub const FIRST_STEPS_PT: f32 = 7.0 * GRID;

/// Draws the strip.
pub fn first_steps_ui(ui: &mut Ui, cx: &PanelCtx<'_>, requests: &mut WindowRequests) {
    ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
        let close = ui.add(Button::new("✖").small().frame_when_inactive(false));
        close.widget_info(|| WidgetInfo::labeled(Role::Button, true, "Close the first steps"));
        if close.on_hover_text("Close this strip for good").clicked() {
            cx.send(Command::CloseFirstSteps);
        }
        ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
            ui.spacing_mut().item_spacing.x = 4.0 * GRID;
            for step in FirstStep::ALL {
                let (is_taken, text) = (cx.session.settings.first_steps.has(step), text(cx, step));
                let mut ticked = is_taken;
                let ink = if is_taken { cx.theme.text_weak } else { cx.theme.text };
                let response = ui.add(Checkbox::new(&mut ticked, RichText::new(&text).color(ink)));
                response.widget_info(|| {
                    WidgetInfo::selected(Role::CheckBox, true, is_taken, format!("First step: {text}"))
                });
                let (command, meaning) = help(step);
                if response.on_hover_text(meaning).clicked() {
                    requests.push(command);
                }
            }
        });
    });
}

/// What a step is called.
fn text(cx: &PanelCtx<'_>, step: FirstStep) -> String {
    match step {
        FirstStep::Hover => "Hover a word".to_owned(),
        FirstStep::NextHead => "Next head →".to_owned(),
        FirstStep::AllHeads => {
            let stack = cx.document.latest_capture().and_then(|it| it.model().stack(cx.pane.selection.stack()));
            let n = stack.map(|stack| stack.layers.iter().map(|layer| layer.n_heads).sum::<usize>());
            n.map_or_else(|| "See all heads".to_owned(), |n| format!("See all {n}"))
        }
        FirstStep::OwnText => "Type your own".to_owned(),
        FirstStep::OwnModel => "Open your own model".to_owned(),
    }
}

/// What a click does for a step, and what is said of it.
const fn help(step: FirstStep) -> (UiCommand, &'static str) {
    match step {
        FirstStep::Hover => (
            UiCommand::NextQuery,
            "Point at a word in the picture: its lines stand out. Click here to pin the next word",
        ),
        FirstStep::NextHead => {
            (UiCommand::NextHead, "Another head looks elsewhere: → and ← go through them, ↓ and ↑ through layers")
        }
        FirstStep::AllHeads => (UiCommand::Show(ViewKind::OF_HEADS), "All heads of the model as small maps"),
        FirstStep::OwnText => (UiCommand::TypeText, "Type at the left: the model reads it when you pause"),
        FirstStep::OwnModel => (
            UiCommand::Open,
            "A folder with config.json and the weights, or a name on the hub; dropping it here does the same",
        ),
    }
}
