//! The words that attend to the picture, or that it attends to, in one line above it.

use eframe::egui::{Button, RichText, Role, ScrollArea, Ui, WidgetInfo};

use crate::{
    analysis::reading::Axis,
    capture::Capture,
    ids::CaptureId,
    session::{Command, Focus, PatchRole, SelectionCommand},
    ui::{ViewCtx, commands::UiCommand, theme::GRID, views::hover},
};

/// The line of words with what it remembers between frames.
#[derive(Debug, Default)]
pub struct Words {
    /// The word that was last brought into sight.
    shown: Option<(CaptureId, usize)>,
}

impl Words {
    /// Draws the line; a click or a key pins a word, and its patches light up.
    pub fn ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>, capture: &Capture, (role, words): (PatchRole, &Axis)) {
        let (stack, pinned) = (cx.pane.selection.stack(), cx.pane.selection.pinned);
        let asks = role == PatchRole::Query;
        let (tokens, tint, pinned) = if asks {
            (capture.query_tokens(stack), cx.theme.query, pinned.query)
        } else {
            (capture.key_tokens(stack), cx.theme.key, pinned.key)
        };
        let focus = if asks { Focus::query } else { Focus::key };
        let pinned = pinned.and_then(|word| words.group_of(word));
        let step = UiCommand::NextQuery.shortcut().map(|keys| crate::ui::keys::keys_text(ui.ctx(), &keys));
        let hint = match step.filter(|_| asks) {
            Some(step) => format!("Click a word, or step with {step}"),
            None => "Click a word".to_owned(),
        };
        let mut hovered = Focus::NONE;
        ScrollArea::horizontal().id_salt("words").auto_shrink([false, true]).show(ui, |ui| {
            ui.horizontal(|ui| {
                ui.spacing_mut().item_spacing.x = GRID / 2.0;
                ui.label(RichText::new("Words").color(tint)).on_hover_text(hint);
                for (row, group) in words.groups.iter().enumerate() {
                    let position = group.positions.start;
                    let text = RichText::new(group.text.replace('␣', " "));
                    let special = tokens.get(position).is_some_and(|token| token.special);
                    let text = if special { text.color(cx.theme.text_weak) } else { text };
                    let chosen = pinned == Some(row);
                    let response = ui.add(Button::selectable(chosen, text));
                    response.widget_info(|| {
                        WidgetInfo::selected(Role::Button, true, chosen, format!("Word {position} {}", group.text))
                    });
                    if chosen && self.shown != Some((capture.id(), position)) {
                        self.shown = Some((capture.id(), position));
                        response.scroll_to_me(None);
                    }
                    if response.hovered() {
                        hovered = focus(position);
                    }
                    if response.clicked() {
                        cx.send(Command::Select(SelectionCommand::Pin(focus(position))));
                    }
                }
            });
        });
        hover::report(cx, hovered);
    }
}
