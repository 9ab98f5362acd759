//! Options drawn from their fields: in the panel of a view, and in the menu of a method.

use std::{collections::BTreeMap, ops::RangeInclusive};

use eframe::egui::{
    Align, Button, ComboBox, Context, DragValue, Id, Response, RichText, Role, Slider, TextEdit, Ui, WidgetInfo, vec2,
};
use serde_json::Value;

use super::{controls, image, source, space};
use crate::{
    analysis::PointCloud,
    figure::{ViewKind, ViewOptions, views::ViewScope},
    ids::Side,
    options::{Counts, FieldValue, Offered, OptionField, joined, split_texts},
    session::Command,
    text::sentence,
    ui::{
        ViewCtx,
        theme::{GRID, text_size},
        widgets::focus_when_opened,
    },
};

/// Ends of ranges up to which a slider is linear.
const MOST_LINEAR: usize = 100;
const MOST_LINEAR_REAL: f64 = 20.0;

/// Draws the options of a view, one below the other: folded, those alone that are not at their default.
pub fn panel_ui(ui: &mut Ui, cx: &ViewCtx<'_>, view: ViewKind, unfolded: bool) {
    let cloud = cx.pane.cloud(cx.document);
    let scope = scope(cx, view, cloud.as_ref());
    let changed = changed(cx, view, &scope);
    title_ui(ui, cx, changed.len(), unfolded);
    // What is being changed stays where it is until it is let go, at its default as well.
    let id = ui.scope_id().with(("folded options", view.name()));
    let is_held = ui.ctx().egui_is_using_pointer() || ui.ctx().egui_wants_keyboard_input();
    let held = ui.data(|data| data.get_temp::<Vec<&'static str>>(id)).filter(|_| is_held);
    let drawn = held.unwrap_or_else(|| changed.keys().copied().collect());
    ui.data_mut(|data| data.insert_temp(id, drawn.clone()));
    let mut heading = None;
    let sought = ui.data_mut(|data| {
        let is_here = data.get_temp::<(ViewKind, &'static str)>(sought()).is_some_and(|(of, _)| unfolded && of == view);
        data.remove_temp::<(ViewKind, &'static str)>(sought()).filter(|_| is_here)
    });
    controls::edit_options(cx, |options| {
        (view.spec().fields)(options, &scope, &mut |field| {
            if field.offered == Offered::CommandLine || !unfolded && !drawn.contains(&field.name) {
                return;
            }
            if let Some(text) = field.heading.filter(|text| heading != Some(*text)) {
                controls::heading_ui(ui, cx.theme, text);
                heading = Some(text);
            }
            if unfolded {
                let is_sought = sought == Some((view, field.name));
                if let Some(control) = field_ui(ui, cx, field).filter(|_| is_sought) {
                    control.request_focus();
                    control.scroll_to_me(Some(Align::Center));
                }
            } else {
                let default = changed.get(field.name);
                changed_ui(ui, cx, field, default);
            }
        });
    });
}

/// What is on show, as far as it decides about the options of a view.
fn scope<'a>(cx: &ViewCtx<'_>, view: ViewKind, cloud: Option<&'a PointCloud>) -> ViewScope<'a> {
    let capture = cx.document.latest_capture();
    ViewScope {
        all: false,
        is_explained: cx.pane.explained().is_some(),
        is_long: capture.is_some_and(|capture| source::is_long(cx, capture)),
        patches_ask: capture.is_some_and(|capture| image::patches_ask(cx, capture)),
        has_picture: capture.is_some_and(|capture| image::has_patches(cx, capture)),
        cloud,
        cell: cx.pane.cell(cx.document),
        has_special: capture.is_some_and(|capture| {
            let of_words = |side: &Side| capture.picture_side() != Some(*side);
            Side::ALL.into_iter().filter(of_words).any(|side| capture.tokens(side).iter().any(|token| token.special))
        }),
        n_heads: capture.map_or([0, 0], |capture| {
            let stack = capture.model().stack(cx.pane.selection.stack());
            stack.map_or([0, 0], |stack| [stack.layers.len(), stack.max_heads()])
        }),
        is_ranked: cx.pane.ranking(cx.document).is_some(),
        no_lines: view.facts().lays_out_points.then(|| space::no_lines(cx)).flatten(),
    }
}

/// An option of a view.
pub struct KnownOption {
    pub view: ViewKind,
    pub name: &'static str,
    pub label: &'static str,
    pub meaning: &'static str,
    /// Whether it is among the options now.
    pub is_here: bool,
}

/// Every option of every view, of those that views share one each; those of the view that is shown first.
pub fn known_options(cx: &ViewCtx<'_>) -> Vec<KnownOption> {
    let shown = cx.pane.view;
    let views = std::iter::once(shown).chain(ViewKind::ALL.into_iter().filter(|view| *view != shown));
    let mut found: Vec<KnownOption> = Vec::new();
    for view in views {
        let cloud = cx.pane.cloud(cx.document);
        for (scope, is_here) in [(&scope(cx, view, cloud.as_ref()), true), (&ViewScope::COMMAND_LINE, false)] {
            (view.spec().fields)(
                &mut cx.pane.options.clone(),
                scope,
                &mut |OptionField { name, label, meaning, offered, .. }| {
                    if offered != Offered::CommandLine && !found.iter().any(|known| known.name == name) {
                        found.push(KnownOption { view, name, label, meaning, is_here });
                    }
                },
            );
        }
    }
    found
}

/// Where the option is kept that gets the focus as soon as it is drawn.
fn sought() -> Id {
    Id::unique("sought option")
}

/// Gives an option the focus as soon as its view is drawn.
pub fn seek_option(ctx: &Context, view: ViewKind, name: &'static str) {
    ctx.data_mut(|data| data.insert_temp(sought(), (view, name)));
}

/// The defaults of the options of a view that are not at them, by name.
fn changed(cx: &ViewCtx<'_>, view: ViewKind, scope: &ViewScope<'_>) -> BTreeMap<&'static str, Value> {
    let mut defaults = BTreeMap::new();
    // An option may be there only while another one has some value.
    for scope in [&ViewScope::COMMAND_LINE, scope] {
        (view.spec().fields)(&mut ViewOptions::default(), scope, &mut |field| {
            defaults.insert(field.name, field.value.value());
        });
    }
    let mut changed = BTreeMap::new();
    (view.spec().fields)(&mut cx.pane.options.clone(), scope, &mut |field| {
        let default = defaults.remove(field.name).filter(|default| *default != field.value.value());
        changed.extend(default.filter(|_| field.offered != Offered::CommandLine).map(|default| (field.name, default)));
    });
    changed
}

/// The heading, which folds the options and unfolds them, with the number of those that were changed.
fn title_ui(ui: &mut Ui, cx: &ViewCtx<'_>, n_changed: usize, unfolded: bool) {
    let small = |text: &str| RichText::new(text).size(text_size::SMALL).color(cx.theme.text_weak);
    let title = small(if unfolded { "⏷ Options" } else { "⏵ Options" }).strong();
    let count = if n_changed == 0 { String::new() } else { format!("{n_changed} changed") };
    let button = Button::new(title).right_text(small(&count)).frame_when_inactive(false);
    // Its words begin and end where those of other headings and values do.
    let line = ui.scope(|ui| {
        ui.spacing_mut().button_padding.x = 0.0;
        ui.add(button.min_size(vec2(ui.available_width(), 6.0 * GRID)))
    });
    let line = line.inner;
    line.widget_info(|| {
        let name = if count.is_empty() { "Options".to_owned() } else { format!("Options: {count}") };
        WidgetInfo::selected(Role::Button, true, unfolded, name)
    });
    let meaning = if unfolded { "Show only the options that were changed" } else { "Show all options of the view" };
    if line.on_hover_text(meaning).clicked() {
        cx.send(Command::UnfoldOptions(!unfolded));
    }
}

/// An option, and the way back to its default.
fn changed_ui(ui: &mut Ui, cx: &ViewCtx<'_>, mut field: OptionField<'_>, default: Option<&Value>) {
    ui.horizontal_top(|ui| {
        let back = ui.add_enabled(default.is_some(), Button::new("×").small());
        let is_back =
            back.on_hover_text("Back to the default").accessible_name(format!("Reset {}", field.label)).clicked();
        if let Some(default) = default.filter(|_| is_back) {
            // The default of an option is in its range, except of a choice that this model lacks.
            drop(field.set(default));
        }
        ui.vertical(|ui| drop(field_ui(ui, cx, field)));
    });
}

/// One option in a panel: its name, and the control at the right or below, which is what is given back.
fn field_ui(ui: &mut Ui, cx: &ViewCtx<'_>, field: OptionField<'_>) -> Option<Response> {
    let OptionField { name, label, meaning, mut value, obstacle, obstacles, counts, .. } = field;
    let enabled = obstacle.is_none();
    let shown = ui.add_enabled_ui(enabled, |ui| match &mut value {
        FieldValue::Flag(on) => Some(ui.checkbox(on, label).on_hover_text(meaning)),
        FieldValue::Choice(chosen, names) => controls::row_about_ui(ui, cx.theme, label, meaning, |ui| {
            Some(combo_ui(ui, label, chosen, names, &obstacles))
        }),
        FieldValue::ShareOrNone(share, _, usual) => {
            let mut on = share.is_some();
            let checkbox = ui.checkbox(&mut on, label).on_hover_text(meaning);
            if checkbox.changed() {
                **share = on.then_some(*usual);
            }
            control_ui(ui, (name, label, meaning), &mut value, counts);
            Some(checkbox)
        }
        FieldValue::Share(..) | FieldValue::Small(..) => {
            ui.label(RichText::new(label).color(cx.theme.text_weak)).on_hover_text(meaning);
            control_ui(ui, (name, label, meaning), &mut value, counts)
        }
        FieldValue::Whole(..)
        | FieldValue::OfModel(..)
        | FieldValue::Layer(..)
        | FieldValue::Seed(_)
        | FieldValue::Real(..)
        | FieldValue::Number(..)
        | FieldValue::Words(..)
        | FieldValue::Texts(..)
        | FieldValue::FileWords(..)
        | FieldValue::FileTexts(_)
        | FieldValue::Read(..)
        | FieldValue::Text(..) => controls::row_about_ui(ui, cx.theme, label, meaning, |ui| {
            control_ui(ui, (name, label, meaning), &mut value, counts)
        }),
    });
    if let Some(obstacle) = obstacle {
        shown.response.on_disabled_hover_text(obstacle);
    }
    shown.inner
}

/// One option in a menu: its name in a column, and the control beside it.
pub fn menu_field_ui(ui: &mut Ui, cx: &ViewCtx<'_>, field: OptionField<'_>) {
    let OptionField { name, label, meaning, mut value, counts, .. } = field;
    ui.horizontal(|ui| {
        let width = 28.0 * GRID;
        ui.allocate_ui(vec2(width, 5.0 * GRID), |ui| {
            ui.set_min_width(width);
            ui.label(RichText::new(label).color(cx.theme.text_weak)).on_hover_text(meaning);
        });
        control_ui(ui, (name, label, meaning), &mut value, counts);
    });
}

/// One option in a line of several: its name, and the control behind it.
pub fn front_field_ui(ui: &mut Ui, cx: &ViewCtx<'_>, field: OptionField<'_>) {
    let OptionField { name, label, meaning, mut value, counts, .. } = field;
    ui.label(RichText::new(label).color(cx.theme.text_weak)).on_hover_text(meaning);
    let response = if let FieldValue::Words(words, hint) = &mut value {
        words_ui(ui, name, words, hint)
    } else if let FieldValue::Texts(texts, hint) = &mut value {
        texts_ui(texts, |joined| words_ui(ui, name, joined, hint))
    } else {
        control_ui(ui, (name, label, meaning), &mut value, counts);
        return;
    };
    response.accessible_name(label).on_hover_text(meaning);
}

/// One option in a narrow column: the control, and its name behind it.
pub fn narrow_field_ui(ui: &mut Ui, field: OptionField<'_>) {
    let OptionField { name, label, meaning, mut value, counts, placeholder, obstacles, .. } = field;
    if let FieldValue::Flag(on) = value {
        ui.checkbox(on, label).on_hover_text(meaning);
        return;
    }
    if let FieldValue::Choice(chosen, names) = value {
        combo_ui(ui, label, chosen, names, &obstacles).on_hover_text(meaning);
        return;
    }
    ui.horizontal(|ui| {
        ui.spacing_mut().slider_width = (ui.available_width() - 26.0 * GRID).max(20.0 * GRID);
        control_ui(ui, (name, label, meaning), &mut value, counts);
        ui.label(placeholder.unwrap_or(label));
    });
}

/// The control that suits a value; none where only the command line has one.
fn control_ui(
    ui: &mut Ui,
    (name, label, meaning): (&str, &str, &'static str),
    value: &mut FieldValue<'_>,
    counts: Counts,
) -> Option<Response> {
    let response = match value {
        FieldValue::Whole(value, range) if counts == Counts::WhenLetGo => {
            ui.add(number(DragValue::new(*value).range(range.clone()), counts))
        }
        FieldValue::Whole(value, range) | FieldValue::OfModel(value, range) => whole_ui(ui, value, range.clone()),
        FieldValue::Layer(layer, last) => {
            let mut chosen = layer.unwrap_or(*last);
            let response = whole_ui(ui, &mut chosen, 0..=*last);
            **layer = Some(chosen).filter(|chosen| chosen != last);
            response
        }
        FieldValue::Seed(value) => ui.add(number(DragValue::new(*value).speed(0.1), counts)),
        FieldValue::Real(value, range) => {
            let wide = *range.end() > MOST_LINEAR_REAL;
            ui.add(Slider::new(*value, range.clone()).max_decimals(2).logarithmic(wide))
        }
        FieldValue::Share(value, range) => controls::percent_slider_ui(ui, label, value, range.clone()),
        FieldValue::ShareOrNone(share, range, _) => match share {
            Some(share) => controls::percent_slider_ui(ui, label, share, range.clone()),
            None => return None,
        },
        FieldValue::Small(value, range) => small_ui(ui, value, range.clone(), counts),
        FieldValue::Number(value, range) => {
            let speed = f64::from(range.end() - range.start()) / 500.0;
            ui.add(number(DragValue::new(*value).range(range.clone()).speed(speed).max_decimals(2), counts))
        }
        FieldValue::Flag(value) => ui.checkbox(value, ""),
        FieldValue::Words(value, hint) | FieldValue::FileWords(value, hint) => {
            let response = words_ui(ui, name, value, hint);
            focus_when_opened(ui, &response);
            response
        }
        FieldValue::Texts(texts, hint) => {
            let response = texts_ui(texts, |joined| words_ui(ui, name, joined, hint));
            focus_when_opened(ui, &response);
            response
        }
        FieldValue::Choice(chosen, names) => {
            let radios = |ui: &mut Ui| {
                for (nth, (_, text)) in names.iter().enumerate() {
                    ui.radio_value(*chosen, nth, *text);
                }
            };
            ui.vertical(radios).response
        }
        FieldValue::FileTexts(_) | FieldValue::Read(..) | FieldValue::Text(..) => {
            return None;
        }
    };
    Some(response.accessible_name(label).on_hover_text(meaning))
}

/// A number that is typed or dragged; what is dear counts when it is done.
fn number(drag: DragValue<'_>, counts: Counts) -> DragValue<'_> {
    drag.update_while_editing(counts == Counts::AtOnce)
}

/// A choice among a few words, with the reason for each that cannot be chosen now.
fn combo_ui(
    ui: &mut Ui,
    label: &str,
    chosen: &mut usize,
    names: &[(&str, &str)],
    obstacles: &[Option<String>],
) -> Response {
    let current = names.get(*chosen).map_or("", |(_, text)| text);
    let combo = ComboBox::new(label, "").selected_text(current).show_ui(ui, |ui| {
        for (nth, (_, text)) in names.iter().enumerate() {
            let obstacle = obstacles.get(nth).and_then(Option::as_deref);
            let button = ui.add_enabled(obstacle.is_none(), Button::selectable(nth == *chosen, *text));
            if button.on_disabled_hover_text(sentence(obstacle.unwrap_or_default())).clicked() {
                *chosen = nth;
            }
        }
    });
    combo.response.accessible_name(label)
}

/// A whole number; over a wide range small ones have most of the slider.
fn whole_ui(ui: &mut Ui, value: &mut usize, range: RangeInclusive<usize>) -> Response {
    if range.start() == range.end() {
        return ui.label(value.to_string());
    }
    let wide = *range.end() > MOST_LINEAR;
    ui.add(Slider::new(value, range).logarithmic(wide))
}

/// A number on a logarithmic slider; what is dear counts when it is let go.
fn small_ui(ui: &mut Ui, value: &mut f32, range: RangeInclusive<f32>, counts: Counts) -> Response {
    let mut draft = *value;
    let response =
        ui.add(Slider::new(&mut draft, range).logarithmic(true).update_while_editing(counts == Counts::AtOnce));
    if counts == Counts::AtOnce || response.drag_stopped() || !ui.ctx().egui_is_using_pointer() {
        *value = draft;
    }
    response
}

/// Several texts in one line, as `draw` draws it.
fn texts_ui(texts: &mut Vec<String>, draw: impl FnOnce(&mut Option<String>) -> Response) -> Response {
    let mut line = (!texts.is_empty()).then(|| joined(texts));
    let response = draw(&mut line);
    *texts = split_texts(line.as_deref().unwrap_or_default());
    response
}

/// Words that count once somebody has finished them.
fn words_ui(ui: &mut Ui, name: &str, value: &mut Option<String>, hint: &str) -> Response {
    let id = ui.scope_id().with(("words of an option", name));
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
