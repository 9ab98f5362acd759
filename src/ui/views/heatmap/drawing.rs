//! Weights of a head drawn by hand: a drag sets the cells under it, and the run follows.

use eframe::egui::{Align, Button, CursorIcon, Layout, Response, RichText, Sense, Slider, Ui, vec2};

use crate::{
    analysis::{attention, drawn, reading::ReadPattern},
    capture::{Capture, Edit, Matrix, SetPattern},
    figure::views::regions::Region,
    ids::HeadId,
    session::{ChangeCommand, Command, DrawOptions, ViewKind},
    ui::{ViewCtx, theme::GRID, views::controls},
};

/// Width of the slider.
const BRUSH_PT: f32 = 24.0 * GRID;

/// Height of the row of controls for drawing.
const BRUSH_ROW_PT: f32 = 7.0 * GRID;

/// A pattern that the run is made with, to be drawn on.
pub struct DrawnOn<'a> {
    /// Which of the changes it is.
    change: usize,
    head: HeadId,
    pattern: &'a Matrix,
}

/// Why nothing can be drawn here, in words; `None` when it can.
pub fn obstacle(cx: &ViewCtx<'_>) -> Option<&'static str> {
    let reading = &cx.pane.options.reading;
    if let Some(reason) = cx.document.unchangeable() {
        Some(reason)
    } else if cx.pane.overlay.is_some() {
        Some("This is not attention: go back to attention to edit weights")
    } else if cx.pane.minus.is_some() {
        Some("This is a difference: choose “Subtract: none” to edit weights")
    } else if reading.together.is_some() {
        Some("Several heads are combined: show one head to edit its weights")
    } else if reading.merging.is_merged() || reading.by_value_norm {
        Some("Weights are merged or × norm of the value: show raw weights of tokens to edit them")
    } else {
        None
    }
}

/// The pattern of the selected head that a drag draws on.
pub fn drawn_on<'a>(cx: &ViewCtx<'a>) -> Option<DrawnOn<'a>> {
    if !cx.pane.options.heatmap.draw.on {
        return None;
    }
    let selected = cx.pane.selection.head;
    let changes = cx.document.experiment.changes.iter().enumerate().rev().filter(|(_, change)| change.on);
    let mut patterns = changes.filter_map(|(change, it)| {
        let Some(Edit::SetPattern(SetPattern { head, pattern })) = it.edit.edit() else { return None };
        Some(DrawnOn { change, head: *head, pattern })
    });
    patterns.find(|drawn| drawn.head == selected)
}

/// Draws the switch.
pub fn switch_ui(ui: &mut Ui, cx: &ViewCtx<'_>, capture: &Capture) {
    let obstacle = obstacle(cx);
    let draws = obstacle.is_none() && drawn_on(cx).is_some();
    let head = cx.pane.selection.head;
    let button = ui.add_enabled(obstacle.is_none(), Button::selectable(draws, "Edit weights…"));
    let meaning = "Set weights of this head by hand: drag over cells, and the model runs again";
    let button = button.on_hover_text(meaning).on_disabled_hover_text(obstacle.unwrap_or_default());
    if button.clicked() {
        controls::edit_options(cx, |options| options.heatmap.draw.on = !draws);
        if !draws && let Some(pattern) = attention::pattern(capture, head) {
            // Unchanged to begin with: the run beside it opens before the first stroke.
            let edit = Edit::SetPattern(SetPattern { head, pattern });
            cx.send(Command::Change(ChangeCommand::Add(vec![edit.into()])));
        }
    }
}

/// Whether weights of the selected head are being drawn on the heatmap of a pane.
pub fn is_drawn_on(cx: &ViewCtx<'_>) -> bool {
    cx.pane.view == ViewKind::Heatmap && obstacle(cx).is_none() && drawn_on(cx).is_some()
}

/// What is drawn, while it is on, in a row of its own; beside a pane with such a row one as high is free, so that both
/// maps stand side by side.
pub fn brush_ui(ui: &mut Ui, cx: &ViewCtx<'_>) {
    let row = vec2(ui.available_width(), BRUSH_ROW_PT);
    if !is_drawn_on(cx) {
        if cx.leaves_brush_row {
            ui.allocate_exact_size(row, Sense::hover());
        }
        return;
    }
    ui.allocate_ui_with_layout(row, Layout::left_to_right(Align::Center), |ui| {
        ui.set_min_size(row);
        controls::edit_options(cx, |options| {
            let DrawOptions { weight, whole, .. } = &mut options.heatmap.draw;
            ui.label(RichText::new("Weight").color(cx.theme.text_weak));
            ui.spacing_mut().slider_width = BRUSH_PT;
            ui.add(Slider::new(weight, 0.0..=1.0).fixed_decimals(2)).accessible_name("Weight to set");
            let meaning = "The other weights of a row are scaled to make room. Off: rows may sum to more or less \
                than 1";
            ui.checkbox(whole, "Rows sum to 1").on_hover_text(meaning);
        });
    });
}

/// Draws on the cells that the pointer passes while its button is down.
pub fn draw_ui(ui: &Ui, cx: &ViewCtx<'_>, response: &Response, on: &DrawnOn<'_>, shown: &ReadPattern, cells: &Region) {
    let drag = controls::drag(ui);
    if response.hovered() {
        ui.set_cursor_icon(CursorIcon::Crosshair);
    }
    if !(response.dragged() || response.drag_stopped() || response.clicked() || response.is_pointer_button_down_on()) {
        return;
    }
    let Some(to) = response.interact_pointer_pos() else { return };
    let cell = cells.cell(0, 0).size();
    let delta =
        if response.dragged() || response.drag_stopped() { response.drag_delta() } else { eframe::egui::Vec2::ZERO };
    // A fast pointer skips no cell.
    let n_steps = (delta.x.abs() / cell.x.max(1.0)).max(delta.y.abs() / cell.y.max(1.0)).ceil().max(1.0) as usize;
    let DrawOptions { weight, whole, .. } = cx.pane.options.heatmap.draw;
    let mut pattern = on.pattern.clone();
    let mut last = None;
    for step in 0..=n_steps {
        let at = to - delta * (1.0 - step as f32 / n_steps as f32);
        let Some((row, col)) = cells.cell_at(at).filter(|cell| last != Some(*cell)) else { continue };
        last = Some((row, col));
        // What is drawn already stays as it is while the button is held.
        if on.pattern.get(row, col) == Some(weight) {
            continue;
        }
        pattern = drawn::with_weight(&pattern, (row, col), weight, |col| shown.sees(row, col), whole);
    }
    if pattern != *on.pattern {
        let edit = Edit::SetPattern(SetPattern { head: on.head, pattern });
        cx.send(Command::Change(ChangeCommand::Replace(on.change, edit.into(), drag)));
    }
}
