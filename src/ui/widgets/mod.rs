//! Small pieces that several panels share. They draw and report; they decide nothing.

use eframe::egui::{
    self, Align2, FontId, Rect, Response, RichText, Role, Sense, Ui, WidgetInfo, containers::menu::MenuButton, pos2,
    vec2,
};

pub use crate::text::bytes_text;

use super::{
    commands::UiCommand,
    theme::{FOCUS_PT, GRID, Theme, radius, text_size},
};

mod card;
mod dialog;
mod roving;
mod steps;
mod token_chips;
mod token_search;

pub use card::{CARD_PT, Card, n_columns};
pub use dialog::{Dialog, main_button_ui};
pub use roving::{Along, Roving, stepped};
pub use steps::Steps;
pub use token_chips::{ChipTint, NumberTint, TokenChips};
pub use token_search::{TokenSearch, hits};

/// A heading inside a panel.
pub fn section_ui(ui: &mut Ui, theme: &Theme, title: &str) {
    ui.add_space(3.0 * GRID);
    section_title_ui(ui, theme, title);
    ui.add_space(-GRID / 2.0);
}

/// The words of a heading alone.
pub fn section_title_ui(ui: &mut Ui, theme: &Theme, title: &str) {
    ui.label(RichText::new(title).size(text_size::SMALL).color(theme.text_weak).strong());
}

/// A name and its value on one line, the value aligned to the right.
pub fn field_ui(ui: &mut Ui, theme: &Theme, name: &str, value: impl Into<egui::WidgetText>) -> Response {
    // Of both texts, which lie over the row and so take its hover.
    ui.horizontal(|ui| {
        let name = ui.label(RichText::new(name).color(theme.text_weak));
        let value = ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
            ui.add(egui::Label::new(value).truncate())
        });
        name | value.inner
    })
    .inner
}

/// Puts the cursor into the field of a popup in the frame in which that opens: the first in which it is drawn again. Of
/// several fields the first has it.
pub fn focus_when_opened(ui: &Ui, field: &Response) {
    // Nothing can have the cursor while its size is found out.
    if ui.is_sizing_pass() {
        return;
    }
    let (id, pass) = (field.id.with("drawn in pass"), ui.ctx().cumulative_pass_nr());
    let before: Option<u64> = ui.data(|data| data.get_temp(id));
    ui.data_mut(|data| data.insert_temp(id, pass));
    let first = egui::Id::unique("the field that has the cursor of those that were opened");
    let is_first = ui.data(|data| data.get_temp::<u64>(first)) != Some(pass);
    if is_first && before.is_none_or(|before| before + 1 < pass) {
        ui.data_mut(|data| data.insert_temp(first, pass));
        field.request_focus();
    }
}

/// Height of a [`BarRow`], in points.
pub const BAR_ROW_PT: f32 = 5.5 * GRID;

/// Width of a number beside a bar, and of two with an arrow between them.
const VALUE_PT: f32 = 11.0 * GRID;
const CHANGE_PT: f32 = 24.0 * GRID;

/// The longest bar.
const LONGEST_BAR_PT: f32 = 40.0 * GRID;

/// One row of a ranking: a label, a bar and a number.
pub struct BarRow<'a> {
    pub label: &'a str,
    /// Length of the bar, `0..=1`.
    pub fraction: f32,
    /// The number, with its unit.
    pub value: &'a str,
    pub selected: bool,
}

impl BarRow<'_> {
    /// Draws the row over the available width.
    pub fn ui(&self, ui: &mut Ui, theme: &Theme) -> Response {
        let height = BAR_ROW_PT;
        let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), height), Sense::click());
        response.widget_info(|| {
            WidgetInfo::selected(Role::Button, true, self.selected, format!("{} {}", self.label, self.value))
        });
        if !ui.is_rect_visible(rect) {
            return response;
        }
        let painter = ui.painter();
        if response.hovered() {
            painter.rect_filled(rect, radius::MARK, theme.hover);
        }
        let font = FontId::proportional(text_size::BODY);
        let value = painter.layout_no_wrap(self.value.to_owned(), font.clone(), theme.text);
        // Numbers stand right of the longest bar; rows of one list have numbers of one kind.
        let column = if value.size().x <= VALUE_PT { VALUE_PT } else { CHANGE_PT };
        let longest = (rect.width() - column - 2.0 * GRID).min(LONGEST_BAR_PT);
        let bar = Rect::from_min_size(rect.min, vec2(longest * self.fraction.clamp(0.0, 1.0), height));
        painter.rect_filled(bar.shrink2(vec2(0.0, 1.0)), radius::MARK, theme.bar);
        if response.has_focus() || self.selected {
            let (width, color) = if self.selected { (2.0, theme.text) } else { (FOCUS_PT, theme.accent) };
            painter.rect_stroke(rect, radius::MARK, egui::Stroke::new(width, color), egui::StrokeKind::Inside);
        }
        let value_at = pos2(rect.right() - value.size().x - GRID, rect.center().y - value.size().y / 2.0);
        let label_clip = Rect::from_min_max(rect.min, pos2(value_at.x - GRID, rect.bottom()));
        painter.with_clip_rect(label_clip.intersect(ui.clip_rect())).text(
            pos2(rect.left() + GRID, rect.center().y),
            Align2::LEFT_CENTER,
            self.label,
            font,
            theme.text,
        );
        painter.galley(value_at, value, theme.text);
        response
    }
}

/// `◀ name value / last ▶`: returns the new value when a button was clicked or the wheel turned.
pub fn stepper_ui(ui: &mut Ui, theme: &Theme, name: &str, value: usize, count: usize) -> Option<usize> {
    if count == 0 {
        return None;
    }
    let mut next = None;
    ui.horizontal(|ui| {
        ui.label(RichText::new(name).color(theme.text_weak));
        ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
            ui.spacing_mut().item_spacing.x = GRID;
            let up = ui.add_enabled(count > 1, egui::Button::new("⏵").frame_when_inactive(false));
            up.widget_info(|| WidgetInfo::labeled(Role::Button, count > 1, format!("Next {}", name.to_lowercase())));
            let text = ui.label(value.to_string());
            text.on_hover_text(format!("{name}s are counted from 0 to {}", count - 1));
            let down = ui.add_enabled(count > 1, egui::Button::new("⏴").frame_when_inactive(false));
            down.widget_info(|| {
                WidgetInfo::labeled(Role::Button, count > 1, format!("Previous {}", name.to_lowercase()))
            });
            if up.clicked() {
                next = Some((value + 1) % count);
            }
            if down.clicked() {
                next = Some((value + count - 1) % count);
            }
        });
    });
    next
}

/// A button of the command table.
pub fn command_button_ui(ui: &mut Ui, command: UiCommand, enabled: bool) -> Response {
    let tooltip = command.tooltip_with_key(ui.ctx());
    ui.add_enabled(enabled, egui::Button::new(command.text())).on_hover_text(tooltip)
}

/// A button that opens a menu, which scrolls where the window has no room for all of it.
pub fn menu_ui(ui: &mut Ui, button: egui::Button<'_>, contents: impl FnOnce(&mut Ui)) -> Response {
    MenuButton::from_button(button).ui(ui, |ui| scrolled_menu_ui(ui, contents)).0
}

/// The width of a menu that wants `wanted` points, no wider than the window.
pub fn menu_width(ui: &Ui, wanted: f32) -> f32 {
    wanted.min(ui.ctx().content_rect().width() - 8.0 * GRID)
}

/// The contents of a menu, no higher than the window.
pub fn scrolled_menu_ui(ui: &mut Ui, contents: impl FnOnce(&mut Ui)) {
    let most = ui.ctx().content_rect().height() - 4.0 * GRID;
    ui.set_max_height(most);
    egui::ScrollArea::vertical().id_salt("menu").show(ui, |ui| {
        contents(ui);
        follow_focus(ui);
    });
}

/// Brings into sight the part of a scroll area that has just got the focus by a key: called last among its contents.
pub fn follow_focus(ui: &Ui) {
    let focused = ui.memory(egui::Memory::focused).and_then(|id| ui.ctx().read_response(id));
    let Some(response) = focused.filter(Response::gained_focus) else { return };
    let is_within = response.layer_id == ui.layer_id() && ui.min_rect().contains(response.rect.center());
    if is_within && !ui.clip_rect().contains_rect(response.rect) {
        ui.scroll_to_rect(response.rect.expand(GRID), None);
    }
}

/// Least width and height of a symbol's button.
const SYMBOL_PT: f32 = 6.5 * GRID;

fn symbol_text(symbol: &str) -> RichText {
    RichText::new(symbol).size(text_size::LARGE - 1.0)
}

/// The width that a button with this text takes.
pub fn text_button_width(ui: &Ui, text: impl Into<egui::WidgetText>) -> f32 {
    let font = egui::TextStyle::Button.resolve(ui.style());
    let galley = text.into().into_galley(ui, Some(egui::TextWrapMode::Extend), f32::INFINITY, font);
    (galley.size().x + 2.0 * ui.spacing().button_padding.x).ceil()
}

/// The width that [`symbol_button_ui`] takes.
pub fn symbol_button_width(ui: &Ui, symbol: &str) -> f32 {
    text_button_width(ui, symbol_text(symbol)).max(SYMBOL_PT)
}

/// A small button that shows a symbol and is called by the command's text.
pub fn symbol_button_ui(ui: &mut Ui, command: UiCommand, symbol: &str, enabled: bool) -> Response {
    let tooltip = command.tooltip_with_key(ui.ctx());
    let button = egui::Button::new(symbol_text(symbol)).frame_when_inactive(false);
    let response = ui.add_enabled(enabled, button.min_size(egui::Vec2::splat(SYMBOL_PT)));
    response.widget_info(|| WidgetInfo::labeled(Role::Button, enabled, command.text()));
    response.on_hover_text(format!("{}\n{tooltip}", command.text()))
}
