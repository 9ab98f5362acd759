//! The bar above everything: where the selection was, the views, and what leaves the window.

use eframe::egui::{self, Align, Align2, FontId, Layout, Role, Sense, Ui, WidgetInfo, vec2};

use super::{
    WindowRequests,
    compare::compare_ui,
    session_menu::{Pictures, session_menu_ui},
};
use crate::{
    session::ViewKind,
    ui::{
        PanelCtx, ViewCtx,
        commands::UiCommand,
        theme::{GRID, text_size},
        widgets::symbol_button_ui,
    },
};

/// What all buttons on the right take, in points.
const ROOM_FOR_ALL: f32 = 112.0 * GRID;
/// What they take without those that take pictures of the window.
const ROOM_FOR_EXAMPLES: f32 = 94.0 * GRID;

/// Draws the bar.
pub fn top_bar_ui(ui: &mut Ui, cx: &PanelCtx<'_>, requests: &mut WindowRequests) {
    ui.horizontal_centered(|ui| {
        ui.spacing_mut().item_spacing.x = GRID;
        for (command, symbol, enabled) in
            [(UiCommand::Back, "⏴", cx.pane.can_go_back()), (UiCommand::Forward, "⏵", cx.pane.can_go_forward())]
        {
            if symbol_button_ui(ui, command, symbol, enabled).clicked() {
                requests.push(command);
            }
        }
        if symbol_button_ui(ui, UiCommand::ToggleLeft, "◧", true).clicked() {
            requests.push(UiCommand::ToggleLeft);
        }
        ui.add_space(2.0 * GRID);
        for view in ViewKind::ALL {
            tab_ui(ui, cx, view, requests);
        }
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            ui.spacing_mut().item_spacing.x = GRID;
            let theme_symbol = if cx.theme.dark { "☀" } else { "🌙" };
            let has_capture = cx.document.latest_capture().is_some();
            let room = ui.available_width();
            let symbols = [
                (UiCommand::ToggleInspector, "◨", true),
                (UiCommand::Shortcuts, "?", true),
                (UiCommand::ToggleTheme, theme_symbol, true),
                (UiCommand::ExportWindow, "📷", true),
                (UiCommand::CopyView, "📋", has_capture),
            ];
            // What takes pictures is in the menu of the session where the bar is short of room.
            let pictures = if room < ROOM_FOR_ALL { Pictures::InMenu } else { Pictures::InBar };
            let n_shown = if pictures == Pictures::InBar { symbols.len() } else { symbols.len() - 2 };
            for (command, symbol, enabled) in symbols.into_iter().take(n_shown) {
                if symbol_button_ui(ui, command, symbol, enabled).clicked() {
                    requests.push(command);
                }
            }
            compare_ui(ui, cx, requests);
            session_menu_ui(ui, cx, pictures, requests);
            let texts = [UiCommand::ExportView, UiCommand::ToggleExamples];
            let n_texts = if room < ROOM_FOR_EXAMPLES { 1 } else { texts.len() };
            for command in texts.into_iter().take(n_texts) {
                let enabled = has_capture || command == UiCommand::ToggleExamples;
                let button = egui::Button::new(command.text()).frame_when_inactive(false);
                let response = ui.add_enabled(enabled, button).on_hover_text(command.tooltip_with_key(ui.ctx()));
                if response.clicked() {
                    requests.push(command);
                }
            }
        });
    });
}

/// A view's name; the shown one is underlined, one that cannot apply is grey and says why.
fn tab_ui(ui: &mut Ui, cx: &ViewCtx<'_>, view: ViewKind, requests: &mut WindowRequests) {
    let command = UiCommand::Show(view);
    let unavailable = cx.view_unavailable(view);
    let shown = cx.pane.view == view;
    let font = FontId::proportional(text_size::BODY + 0.5);
    let color = match (unavailable.is_some(), shown) {
        (true, _) => cx.theme.text_weak.gamma_multiply(0.55),
        (false, true) => cx.theme.text,
        (false, false) => cx.theme.text_weak,
    };
    let galley = ui.painter().layout_no_wrap(command.text().to_owned(), font, color);
    let size = vec2(galley.size().x + 5.0 * GRID, ui.available_height());
    let sense = if unavailable.is_some() { Sense::hover() } else { Sense::click() };
    let (rect, response) = ui.allocate_exact_size(size, sense);
    response.widget_info(|| WidgetInfo::selected(Role::Tab, unavailable.is_none(), shown, command.text()));
    if response.hovered() && unavailable.is_none() && !shown {
        ui.painter().rect_filled(rect.shrink2(vec2(0.0, 1.5 * GRID)), 4, cx.theme.masked);
    }
    if response.has_focus() {
        let stroke = egui::Stroke::new(1.0, cx.theme.accent);
        ui.painter().rect_stroke(rect.shrink(1.5 * GRID), 4, stroke, egui::StrokeKind::Inside);
    }
    let text_rect = Align2::CENTER_CENTER.align_size_within_rect(galley.size(), rect);
    ui.painter().galley(text_rect.min, galley, color);
    if shown {
        let line = egui::Rect::from_min_max(
            egui::pos2(text_rect.left() - GRID, rect.bottom() - 2.0),
            egui::pos2(text_rect.right() + GRID, rect.bottom()),
        );
        ui.painter().rect_filled(line, 0, cx.theme.accent);
    }
    if response.clicked() {
        requests.push(command);
    }
    response.on_hover_ui(|ui| {
        ui.label(command.tooltip_with_key(ui.ctx()));
        if let Some(reason) = unavailable {
            ui.colored_label(cx.theme.warning, reason);
        }
    });
}
