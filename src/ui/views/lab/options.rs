//! The menu of one method: what can be turned about it, and what its numbers are worth.

use std::ops::RangeInclusive;

use eframe::egui::{
    Button, CollapsingHeader, DragValue, Label, Popup, PopupCloseBehavior, Response, RichText, Slider, TextEdit, Ui,
};

use super::{
    asked::{self, AskedColumn},
    show,
};
use crate::{
    capture::Capture,
    lab::{FieldValue, OptionField, Scope, joined, split_texts},
    ui::{
        ViewCtx,
        theme::GRID,
        views::controls,
        widgets::{menu_width, scrolled_menu_ui},
    },
};

/// Ends of ranges up to which a slider is linear.
const MOST_LINEAR: usize = 100;
const MOST_LINEAR_REAL: f64 = 20.0;
/// Width of the menu.
const MENU_PT: f32 = 84.0 * GRID;

/// Opens the menu of a column at a button that was clicked.
pub fn menu_ui(button: &Response, cx: &ViewCtx<'_>, capture: &Capture, column: &AskedColumn) {
    let popup = Popup::menu(button).close_behavior(PopupCloseBehavior::CloseOnClickOutside);
    popup.accessible_name(format!("Options of {}", column.column.title)).show(|ui| {
        ui.set_width(menu_width(ui, MENU_PT));
        scrolled_menu_ui(ui, |ui| contents_ui(ui, cx, capture, column));
    });
}

fn contents_ui(ui: &mut Ui, cx: &ViewCtx<'_>, capture: &Capture, column: &AskedColumn) {
    let method = column.ask.spec();
    let small = |text: &str| Label::new(RichText::new(text).small().color(cx.theme.text_weak)).wrap();
    ui.strong(method.title);
    ui.add(small(method.caveat));
    ui.add_space(GRID);
    let scope = Scope::from(&cx.pane.sight(capture));
    let name = column.column.name;
    fields_ui(ui, cx, (&scope, column), &mut |ui, field| field_ui(ui, cx, field));
    ui.add_space(GRID);
    if let Some(report) = &column.answer.report {
        show::menu_ui(ui, cx, capture, (column, report));
    }
    ui.horizontal(|ui| {
        let is_turned = cx.pane.options.lab.turned.get(name).is_some_and(|turned| !turned.is_empty());
        let reset = ui.add_enabled(is_turned, Button::new("Reset"));
        if reset.on_hover_text("Reset the options to their defaults").clicked() {
            controls::edit_options(cx, |options| drop(options.lab.turned.remove(name)));
        }
        if ui.button("Hide").on_hover_text("Hide this method; “Methods” shows it again").clicked() {
            asked::show(cx, column.column, false);
            ui.close();
        }
    });
    CollapsingHeader::new("Formula and source").id_salt(name).show(ui, |ui| {
        ui.add(Label::new(RichText::new(method.formula).monospace().small()).wrap());
        ui.add(small(method.source));
        ui.add(small(&format!("On the command line: attnscope analyze {}", method.name)));
    });
}

/// Draws the options without which a method says nothing; whether there are some.
pub fn required_ui(ui: &mut Ui, cx: &ViewCtx<'_>, capture: &Capture, column: &AskedColumn) -> bool {
    let scope = Scope::from(&cx.pane.sight(capture));
    let mut are_some = false;
    fields_ui(ui, cx, (&scope, column), &mut |ui, field| {
        if field.required {
            are_some = true;
            field_ui(ui, cx, field);
        }
    });
    are_some
}

/// Shows the options of a column to `draw`, and remembers those that it changed.
fn fields_ui(
    ui: &mut Ui,
    cx: &ViewCtx<'_>,
    (scope, column): (&Scope<'_>, &AskedColumn),
    draw: &mut dyn FnMut(&mut Ui, OptionField<'_>),
) {
    let before = column.ask.values(scope);
    let mut ask = column.ask.clone();
    ask.options(scope, &mut |field| draw(ui, field));
    let changed: Vec<_> =
        ask.values(scope).into_iter().filter(|(name, value)| before.get(name) != Some(value)).collect();
    if !changed.is_empty() {
        controls::edit_options(cx, |options| {
            options.lab.turned.entry(column.column.name.to_owned()).or_default().extend(changed);
        });
    }
}

/// One option with the control that suits it.
fn field_ui(ui: &mut Ui, cx: &ViewCtx<'_>, field: OptionField<'_>) {
    let OptionField { label, meaning, value, name, .. } = field;
    ui.horizontal(|ui| {
        let width = 28.0 * GRID;
        ui.allocate_ui(eframe::egui::vec2(width, 5.0 * GRID), |ui| {
            ui.set_min_width(width);
            ui.label(RichText::new(label).color(cx.theme.text_weak)).on_hover_text(meaning);
        });
        let response = match value {
            FieldValue::Whole(value, range) | FieldValue::OfModel(value, range) => whole_ui(ui, value, range),
            FieldValue::Layer(layer, last) => {
                let mut chosen = layer.unwrap_or(last);
                let response = whole_ui(ui, &mut chosen, 0..=last);
                *layer = Some(chosen).filter(|chosen| *chosen != last);
                response
            }
            FieldValue::Seed(value) => ui.add(DragValue::new(value).speed(0.1)),
            FieldValue::Real(value, range) => {
                let wide = *range.end() > MOST_LINEAR_REAL;
                ui.add(Slider::new(value, range).max_decimals(2).logarithmic(wide))
            }
            FieldValue::Flag(value) => ui.checkbox(value, ""),
            FieldValue::Words(value, hint) | FieldValue::FileWords(value, hint) => words_ui(ui, name, value, hint),
            FieldValue::Texts(texts, hint) => {
                let mut joined = (!texts.is_empty()).then(|| joined(texts));
                let response = words_ui(ui, name, &mut joined, hint);
                *texts = split_texts(joined.as_deref().unwrap_or_default());
                response
            }
            FieldValue::Choice(chosen, names) => {
                ui.vertical(|ui| {
                    for (nth, (_, text)) in names.iter().enumerate() {
                        ui.radio_value(chosen, nth, *text);
                    }
                })
                .response
            }
            // Of the command line alone.
            FieldValue::FileTexts(_) | FieldValue::Read(..) | FieldValue::Text(..) => return,
        };
        response.accessible_name(label).on_hover_text(meaning);
    });
}

/// A whole number; over a wide range small ones have most of the slider.
fn whole_ui(ui: &mut Ui, value: &mut usize, range: RangeInclusive<usize>) -> Response {
    if range.start() == range.end() {
        return ui.label(value.to_string());
    }
    let wide = *range.end() > MOST_LINEAR;
    ui.add(Slider::new(value, range).logarithmic(wide))
}

/// Words that count once somebody has finished them.
fn words_ui(ui: &mut Ui, name: &str, value: &mut Option<String>, hint: &str) -> Response {
    let id = ui.scope_id().with(("words of a method", name));
    let mut text = ui.data(|data| data.get_temp::<String>(id)).unwrap_or_else(|| value.clone().unwrap_or_default());
    let response = ui.add(TextEdit::singleline(&mut text).hint_text(hint).desired_width(46.0 * GRID));
    if response.lost_focus() {
        *value = (!text.trim().is_empty()).then_some(text);
        ui.data_mut(|data| data.remove::<String>(id));
    } else if response.changed() {
        ui.data_mut(|data| data.insert_temp(id, text));
    }
    response
}
