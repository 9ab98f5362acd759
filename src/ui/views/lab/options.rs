//! The menu of one method: what can be turned about it, and what its numbers are worth.

use eframe::egui::{
    Button, CollapsingHeader, DragValue, Label, Popup, PopupCloseBehavior, Response, RichText, Slider, TextEdit, Ui,
};

use super::{
    asked::{self, AskedColumn},
    show,
};
use crate::{
    capture::Capture,
    ui::{
        ViewCtx,
        theme::GRID,
        views::controls,
        widgets::{menu_width, scrolled_menu_ui},
    },
    worker::{Knob, Slot},
};

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
    let method = column.ask.method();
    let small = |text: &str| Label::new(RichText::new(text).small().color(cx.theme.text_weak)).wrap();
    ui.strong(method.title());
    ui.add(small(method.caveat()));
    ui.add_space(GRID);
    let sight = cx.pane.sight(capture);
    let before = column.ask.turned(&sight);
    let mut ask = column.ask.clone();
    ask.knobs(&sight, &mut |knob| knob_ui(ui, cx, knob));
    let after = ask.turned(&sight);
    let name = column.column.name;
    let changed: Vec<_> = after.into_iter().filter(|(name, value)| before.get(name) != Some(value)).collect();
    if !changed.is_empty() {
        controls::edit_options(cx, |options| {
            options.lab.turned.entry(name.to_owned()).or_default().extend(changed);
        });
    }
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
        ui.add(Label::new(RichText::new(method.formula()).monospace().small()).wrap());
        ui.add(small(method.source()));
        ui.add(small(&format!("On the command line: attnscope analyze {}", method.name())));
    });
}

/// One option with the control that suits it.
fn knob_ui(ui: &mut Ui, cx: &ViewCtx<'_>, knob: Knob<'_>) {
    let Knob { label, meaning, slot, name } = knob;
    ui.horizontal(|ui| {
        let width = 28.0 * GRID;
        ui.allocate_ui(eframe::egui::vec2(width, 5.0 * GRID), |ui| {
            ui.set_min_width(width);
            ui.label(RichText::new(label).color(cx.theme.text_weak)).on_hover_text(meaning);
        });
        let response = match slot {
            Slot::Whole(value, range) if range.start() == range.end() => ui.label(value.to_string()),
            Slot::Whole(value, range) => ui.add(Slider::new(value, range)),
            Slot::Seed(value) => ui.add(DragValue::new(value).speed(0.1)),
            Slot::Real(value, range) => ui.add(Slider::new(value, range).max_decimals(2)),
            Slot::Flag(value) => ui.checkbox(value, ""),
            Slot::Words(value, hint) => words_ui(ui, name, value, hint),
            Slot::Choice(place, names) => {
                ui.vertical(|ui| {
                    for (nth, (_, text)) in names.iter().enumerate() {
                        ui.radio_value(place, nth, *text);
                    }
                })
                .response
            }
        };
        response.accessible_name(label).on_hover_text(meaning);
    });
}

/// Words that count once somebody has finished them.
fn words_ui(ui: &mut Ui, name: &str, value: &mut Option<String>, hint: &str) -> Response {
    let id = ui.scope_id().with(("words of a method", name));
    let mut text = ui.data(|data| data.get_temp::<String>(id)).unwrap_or_else(|| value.clone().unwrap_or_default());
    let response = ui.add(TextEdit::singleline(&mut text).hint_text(hint).desired_width(46.0 * GRID));
    if response.lost_focus() {
        *value = (!text.trim().is_empty()).then(|| text.trim().to_owned());
        ui.data_mut(|data| data.remove::<String>(id));
    } else if response.changed() {
        ui.data_mut(|data| data.insert_temp(id, text));
    }
    response
}
