//! The words that attend to the picture, in one line above it.

use eframe::egui::{Button, RichText, Role, ScrollArea, Ui, WidgetInfo};

use crate::{
    analysis::reading::Axis,
    capture::Capture,
    ids::CaptureId,
    session::{Command, Focus, SelectionCommand},
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
    pub fn ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>, capture: &Capture, rows: &Axis) {
        let tokens = capture.query_tokens(cx.pane.selection.stack());
        let pinned = cx.pane.selection.pinned.query.and_then(|query| rows.group_of(query));
        let step = UiCommand::NextQuery.shortcut().map(|keys| crate::ui::keys::keys_text(ui.ctx(), &keys));
        let mut hovered = Focus::NONE;
        ScrollArea::horizontal().id_salt("words").auto_shrink([false, true]).show(ui, |ui| {
            ui.horizontal(|ui| {
                ui.spacing_mut().item_spacing.x = GRID / 2.0;
                let name = ui.label(RichText::new("Words").color(cx.theme.query));
                name.on_hover_text(format!("Click a word, or step with {}", step.unwrap_or_default()));
                for (row, group) in rows.groups.iter().enumerate() {
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
                        hovered = Focus::query(position);
                    }
                    if response.clicked() {
                        cx.send(Command::Select(SelectionCommand::Pin(Focus::query(position))));
                    }
                }
            });
        });
        hover::report(cx, hovered);
    }
}
