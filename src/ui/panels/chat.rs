//! The text as a turn of a conversation: the chat template of the model around it.

use eframe::egui::Ui;

use super::editor::{Editor, Look};
use crate::{model::Chat, session::Command, ui::ViewCtx};

/// What stands around the text.
#[derive(Default)]
pub struct ChatPanel {
    system: Editor,
}

impl ChatPanel {
    /// Draws the choices, where the model has a template or one is used.
    pub fn ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>) {
        let experiment = &cx.document.experiment;
        let model = cx.document.model.latest();
        if experiment.chat.is_none() && !model.is_some_and(|model| model.has_chat) {
            return;
        }
        ui.horizontal_wrapped(|ui| {
            let meaning = "Write the chat template of the model around the text, as a turn of the user. What the template \
                writes is muted in the row of tokens";
            let mut is_on = experiment.chat.is_some();
            if ui.checkbox(&mut is_on, "Chat template").on_hover_text(meaning).changed() {
                cx.send(Command::SetChat(is_on.then(Chat::default)));
            }
            let Some(chat) = experiment.chat else { return };
            let asks = model.is_some_and(|model| model.asks_thinking) || chat.thinking.is_some();
            let mut thinks = chat.thinking != Some(false);
            let meaning = "Tell the template whether the model is to think before it answers";
            if asks && ui.checkbox(&mut thinks, "Thinking").on_hover_text(meaning).changed() {
                cx.send(Command::SetChat(Some(Chat { thinking: Some(thinks), ..chat })));
            }
            let mut begins = !chat.no_prompt;
            let meaning = "Let the template write the beginning of the answer (add_generation_prompt)";
            if ui.checkbox(&mut begins, "Answer begins").on_hover_text(meaning).changed() {
                cx.send(Command::SetChat(Some(Chat { no_prompt: !begins, ..chat })));
            }
        });
        if experiment.chat.is_some() {
            let look = Look { name: "System", hint: "System text (optional)", n_rows: 1 };
            if let Some(system) = self.system.ui(ui, cx, &experiment.system, &look) {
                cx.send(Command::SetSystem(system));
            }
        }
    }
}
