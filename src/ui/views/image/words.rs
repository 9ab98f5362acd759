//! The words that attend to the picture, in one line above it.

use eframe::egui::{Button, RichText, Role, ScrollArea, Ui, WidgetInfo};

use crate::{
    capture::Capture,
    ids::CaptureId,
    session::{Command, Focus},
    ui::{
        ViewCtx,
        commands::UiCommand,
        theme::GRID,
        views::{hover::HoverSender, source},
    },
};

/// The line of words with what it remembers between frames.
#[derive(Debug, Default)]
pub struct Words {
    /// The word that was last brought into sight.
    shown: Option<(CaptureId, usize)>,
    hover: HoverSender,
}

impl Words {
    /// Draws the line; a click or a key pins a word, and its patches light up.
    pub fn ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>, capture: &Capture) {
        let tokens = capture.query_tokens(cx.pane.selection.stack());
        let pinned = cx.pane.selection.pinned.query;
        let step = UiCommand::NextQuery.shortcut().map(|keys| crate::ui::keys::keys_text(ui.ctx(), &keys));
        let mut hovered = Focus::NONE;
        ScrollArea::horizontal().id_salt("words").auto_shrink([false, true]).show(ui, |ui| {
            ui.horizontal(|ui| {
                ui.spacing_mut().item_spacing.x = GRID / 2.0;
                let name = ui.label(RichText::new("Words").color(cx.theme.query));
                name.on_hover_text(format!("Click a word, or step with {}", step.unwrap_or_default()));
                for (position, token) in tokens.iter().enumerate() {
                    let text = RichText::new(source::token_text(tokens, position).replace('␣', " "));
                    let text = if token.special { text.color(cx.theme.text_weak) } else { text };
                    let chosen = pinned == Some(position);
                    let response = ui.add(Button::selectable(chosen, text));
                    response.widget_info(|| {
                        WidgetInfo::selected(Role::Button, true, chosen, format!("Word {position} {}", token.text))
                    });
                    if chosen && self.shown != Some((capture.id(), position)) {
                        self.shown = Some((capture.id(), position));
                        response.scroll_to_me(None);
                    }
                    if response.hovered() {
                        hovered = Focus::query(position);
                    }
                    if response.clicked() {
                        cx.send(Command::Pin(Focus::query(position)));
                    }
                }
            });
        });
        self.hover.report(cx, hovered);
    }
}
