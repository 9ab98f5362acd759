//! The band over the panes while the lecture goes on: the place and title of its stop, what is said of it, and the way
//! on.

use eframe::egui::{Align, Button, FontId, Label, Layout, RichText, Role, TextWrapMode, Ui, WidgetInfo, vec2};

use super::WindowRequests;
use crate::{
    session::{Command, LectureCommand, Session, gallery},
    ui::{
        PanelCtx,
        commands::UiCommand,
        theme::{GRID, text_size},
        widgets::symbol_button_ui,
    },
};

/// Height of the title, and of a row of the text.
const TITLE_PT: f32 = 7.0 * GRID;
const ROW_PT: f32 = 5.0 * GRID;
/// Rows of text that have their place, so that few stops move the panes.
const LEAST_ROWS: usize = 2;

/// How high the band is in this width.
pub fn lecture_height(ui: &Ui, session: &Session, width: f32) -> f32 {
    let text = session.keeping.lecture.stop().map(gallery::Stop::text).unwrap_or_default();
    let n_rows = ui.painter().layout(text, FontId::proportional(text_size::BODY), ui.visuals().text_color(), width);
    TITLE_PT + n_rows.rows.len().max(LEAST_ROWS) as f32 * ROW_PT
}

/// Draws the band.
pub fn lecture_ui(ui: &mut Ui, cx: &PanelCtx<'_>, requests: &mut WindowRequests) {
    let Some(place) = cx.session.keeping.lecture.place() else { return };
    let Some((part, stop)) = gallery::stops().nth(place) else { return };
    let n_stops = gallery::stops().count();
    ui.spacing_mut().item_spacing = vec2(GRID, 0.0);
    let row = vec2(ui.available_width(), TITLE_PT);
    ui.allocate_ui_with_layout(row, Layout::right_to_left(Align::Center), |ui| {
        let leave = UiCommand::LeaveLecture;
        let close = ui.add(Button::new("✖").small().frame_when_inactive(false));
        close.widget_info(|| WidgetInfo::labeled(Role::Button, true, leave.text()));
        if close.on_hover_text(format!("{}\n{} (Esc)", leave.text(), leave.tooltip())).clicked() {
            requests.push(leave);
        }
        let contents = ui.add(Button::new("Contents").frame_when_inactive(false));
        if contents.on_hover_text("All stops of the lecture (E)").clicked() {
            requests.push(UiCommand::Gallery);
        }
        if !cx.session.stop_stands() && !cx.session.is_busy() {
            let again = ui.add(Button::new("As told").frame_when_inactive(false));
            if again.on_hover_text("Show the stop again, as it opened").clicked() {
                cx.send(Command::Lecture(LectureCommand::Show(place)));
            }
        }
        ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
            for (command, symbol, is_free) in
                [(UiCommand::PreviousExample, "‹", place > 0), (UiCommand::NextExample, "›", place + 1 < n_stops)]
            {
                if symbol_button_ui(ui, command, symbol, is_free).clicked() {
                    requests.push(command);
                }
            }
            let weak = |text: String| RichText::new(text).color(cx.theme.text_weak);
            ui.add_space(GRID);
            ui.label(weak(format!("{} of {n_stops}", place + 1)));
            ui.add_space(GRID);
            let title = RichText::new(stop.example().title).size(text_size::DISPLAY).color(cx.theme.text);
            let title = ui.add(Label::new(title).wrap_mode(TextWrapMode::Truncate));
            title.on_hover_text(part.title);
        });
    });
    ui.add(Label::new(RichText::new(stop.text()).color(cx.theme.text).line_height(Some(ROW_PT))).wrap());
}
