//! Controls that several views share: captions, option rows.

use std::{hash::Hash, ops::RangeInclusive};

use eframe::egui::{Align, ComboBox, Id, Label, Layout, Rect, Response, RichText, Sense, Slider, Ui, Vec2, vec2};

use super::display_list::paint_part;
use crate::{
    analysis::reading::RowLabels,
    figure::pen::Pen,
    session::{Command, Drag, ViewOptions},
    ui::{
        ViewCtx,
        theme::{GRID, Theme, text_size},
    },
};

/// Small weak text on one line, cut with an ellipsis where it does not fit.
pub fn caption_ui(ui: &mut Ui, theme: &Theme, text: impl Into<String>) -> Response {
    ui.add(Label::new(RichText::new(text).size(text_size::SMALL).color(theme.text_weak)).truncate())
}

/// A small heading above options.
pub fn heading_ui(ui: &mut Ui, theme: &Theme, text: &str) {
    ui.add_space(GRID);
    ui.label(RichText::new(text).size(text_size::SMALL).strong().color(theme.text_weak));
}

/// A labelled row with its control at the right.
pub fn row_ui<R>(ui: &mut Ui, theme: &Theme, name: &str, add: impl FnOnce(&mut Ui) -> R) -> R {
    ui.horizontal(|ui| {
        ui.label(RichText::new(name).color(theme.text_weak));
        ui.with_layout(Layout::right_to_left(Align::Center), add).inner
    })
    .inner
}

/// A row whose name says on hover what the choice means.
pub fn row_about_ui<R>(ui: &mut Ui, theme: &Theme, name: &str, meaning: &str, add: impl FnOnce(&mut Ui) -> R) -> R {
    ui.horizontal(|ui| {
        ui.label(RichText::new(name).color(theme.text_weak)).on_hover_text(meaning);
        ui.with_layout(Layout::right_to_left(Align::Center), add).inner
    })
    .inner
}

/// A named slider over a fraction, shown in percent.
pub fn percent_slider_ui(ui: &mut Ui, name: &str, value: &mut f32, range: RangeInclusive<f32>) -> Response {
    let mut percent = *value * 100.0;
    let (low, high) = range.into_inner();
    let slider = Slider::new(&mut percent, low * 100.0..=high * 100.0).suffix(" %").fixed_decimals(0);
    let response = ui.add(slider);
    if response.changed() {
        *value = percent / 100.0;
    }
    response.accessible_name(name)
}

/// The drag that the pointer is in, or that ends in this frame; what a key changes is one of its own. To be asked in
/// every frame, so that it is known when the drag began.
pub fn drag(ui: &Ui) -> Drag {
    let last = Id::unique("the last drag");
    let (start, ends, now) = ui.input(|input| {
        let pointer = &input.pointer;
        (pointer.press_start_time(), pointer.any_released() && !pointer.any_pressed(), input.time)
    });
    if let Some(start) = start {
        ui.data_mut(|data| data.insert_temp(last, start));
        return Drag(start);
    }
    Drag(ui.data(|data| data.get_temp(last)).filter(|_| ends).unwrap_or(now))
}

/// A choice among a few words.
pub fn choice_ui<T: PartialEq + Copy>(ui: &mut Ui, name: &str, value: &mut T, options: &[(T, &str)]) -> bool {
    let current = options.iter().find(|(option, _)| option == value).map_or("", |(_, text)| text);
    let mut changed = false;
    let combo = ComboBox::new(name, "").selected_text(current).show_ui(ui, |ui| {
        for (option, text) in options {
            if ui.selectable_label(option == value, *text).clicked() {
                *value = *option;
                changed = true;
            }
        }
    });
    combo.response.accessible_name(name);
    changed
}

/// What the rows are: queries, by the token that is read, or by the one that is written.
pub fn query_name(cx: &ViewCtx<'_>) -> &'static str {
    let labels = cx
        .document
        .latest_capture()
        .map(|capture| cx.pane.options.reading.row_labels(capture, cx.pane.selection.stack()));
    if labels == Some(RowLabels::Written) { "Next token" } else { "Query" }
}

/// Whether the rows are a decoder's and the columns an encoder's.
pub fn has_two_sides(cx: &ViewCtx<'_>) -> bool {
    let model = cx.document.latest_capture().map(|capture| capture.model());
    model.is_some_and(|model| model.has_two_sides(cx.pane.selection.stack()))
}

/// Lets `edit` change a copy of the view options and asks for them if they changed.
pub fn edit_options(cx: &ViewCtx<'_>, edit: impl FnOnce(&mut ViewOptions)) {
    let mut options = cx.pane.options.clone();
    edit(&mut options);
    if options != cx.pane.options {
        cx.send(Command::SetViewOptions(options));
    }
}

pub use crate::text::grouped;

/// The mark of a legend, drawn as scenes draw it; `key` is what it depends on apart from the theme.
pub fn mark_ui(ui: &mut Ui, theme: &Theme, size: Vec2, key: impl Hash, draw: impl Fn(Rect, &mut Pen<'_>)) -> Response {
    let (rect, response) = ui.allocate_exact_size(size, Sense::hover());
    paint_part(ui.painter(), response.id, theme, key, rect, &|pen| draw(rect, pen));
    response
}

/// A mark and what it means.
pub fn mark_row_ui(ui: &mut Ui, theme: &Theme, width: f32, text: &str, draw: impl Fn(Rect, &mut Pen<'_>)) {
    ui.horizontal(|ui| {
        mark_ui(ui, theme, vec2(width, 3.0 * GRID), text, draw);
        caption_ui(ui, theme, text);
    });
}
