//! The strip of examples: cards that change model, input and view with one click.

use eframe::egui::{self, Align2, FontId, Rect, Role, Sense, Ui, WidgetInfo, vec2};

use crate::{
    session::{
        Command,
        examples::{EXAMPLES, Example},
    },
    ui::{
        ViewCtx,
        theme::{GRID, text_size},
    },
};

const CARD_HEIGHT: f32 = 11.0 * GRID;
const MIN_CARD_WIDTH: f32 = 38.0 * GRID;
const MAX_CARD_WIDTH: f32 = 64.0 * GRID;

/// Draws the strip; the cards share the width and scroll when it is too narrow.
pub fn examples_ui(ui: &mut Ui, cx: &ViewCtx<'_>) {
    egui::ScrollArea::horizontal().id_salt("examples").auto_shrink([false, true]).show(ui, |ui| {
        ui.spacing_mut().item_spacing.x = GRID;
        let n_cards = EXAMPLES.len().max(1) as f32;
        // Whole points, so that rounding never asks for a scroll bar.
        let share = ((ui.available_width() - GRID * (n_cards - 1.0)) / n_cards).floor() - 1.0;
        let width = share.clamp(MIN_CARD_WIDTH, MAX_CARD_WIDTH);
        ui.horizontal(|ui| {
            for (idx, example) in EXAMPLES.iter().enumerate() {
                if card_ui(ui, cx, example, width, cx.session.example == Some(idx)).clicked() {
                    cx.send(Command::OpenExample(idx));
                }
            }
        });
    });
}

fn card_ui(ui: &mut Ui, cx: &ViewCtx<'_>, example: &Example, width: f32, shown: bool) -> egui::Response {
    let (rect, response) = ui.allocate_exact_size(vec2(width, CARD_HEIGHT), Sense::click());
    response.widget_info(|| WidgetInfo::selected(Role::Button, true, shown, format!("Example: {}", example.title)));
    if ui.is_rect_visible(rect) {
        let theme = cx.theme;
        if response.hovered() || response.has_focus() {
            ui.painter().rect_filled(rect, 4, theme.masked);
        }
        if shown {
            let edge = Rect::from_min_size(rect.min + vec2(0.0, GRID), vec2(2.0, rect.height() - 2.0 * GRID));
            ui.painter().rect_filled(edge, 1, theme.accent);
        }
        let painter = ui.painter().with_clip_rect(rect.shrink2(vec2(2.0 * GRID, 0.0)).intersect(ui.clip_rect()));
        let left = rect.left() + 2.0 * GRID;
        painter.text(
            egui::pos2(left, rect.top() + 3.75 * GRID),
            Align2::LEFT_CENTER,
            example.title,
            FontId::proportional(text_size::BODY),
            theme.text,
        );
        let mut hint = egui::text::LayoutJob::single_section(
            example.hint.to_owned(),
            egui::TextFormat::simple(FontId::proportional(text_size::SMALL), theme.text_weak),
        );
        hint.wrap = egui::text::TextWrapping::truncate_at_width(width - 4.0 * GRID);
        let hint = painter.layout_job(hint);
        painter.galley(egui::pos2(left, rect.top() + 6.25 * GRID), hint, theme.text_weak);
    }
    response.on_hover_ui(|ui| {
        ui.label(example.hint);
        ui.weak(format!("{} · {}", example.model, example.view.label()));
    })
}
