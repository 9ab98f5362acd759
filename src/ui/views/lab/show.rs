//! Shows what a method answered in other views, in place of attention.

use eframe::egui::{Button, Ui};

use super::asked::AskedColumn;
use crate::{
    analysis::{
        explain::report::{Leaf, Report, Value},
        reading::{can_be_shown, family},
    },
    capture::Capture,
    session::{Command, ValueRef, ViewKind},
    text::capitalised,
    ui::ViewCtx,
};

/// Where a value can be shown.
const PLACES: [(&str, &str, Option<ViewKind>); 4] = [
    ("In Lines", "As lines between tokens", Some(ViewKind::Heads)),
    ("In Heatmap", "As a matrix of colours", Some(ViewKind::Heatmap)),
    ("On the picture", "As colours of its patches", Some(ViewKind::Image)),
    ("On the tokens", "As colours of the tokens in a row above the answers", None),
];

/// A menu for every value of an answer that is about tokens or pairs of them.
pub fn menu_ui(ui: &mut Ui, cx: &ViewCtx<'_>, capture: &Capture, (column, report): (&AskedColumn, &Report)) {
    let leaves = report.leaves();
    let mut names: Vec<&str> =
        leaves.iter().filter(|leaf| can_be_shown(leaf.value)).map(|leaf| family(&leaf.name)).collect();
    names.dedup();
    if names.is_empty() {
        return;
    }
    let name_of = |name: &str| ValueRef {
        ask: column.ask.clone(),
        target: cx.pane.options.target,
        title: column.column.title.to_owned(),
        name: name.to_owned(),
    };
    let is_shown = |name: &&&str| cx.pane.overlay.as_ref().is_some_and(|overlay| overlay.value.is_same(&name_of(name)));
    let shown = names.iter().any(|name| is_shown(&name));
    let label = format!("Show {}", column.column.title);
    let menu = ui.menu_button(if shown { "Shown elsewhere" } else { "Show elsewhere" }, |ui| {
        for name in &names {
            let places = |ui: &mut Ui| places_ui(ui, cx, capture, &leaves, &name_of(name));
            if names.len() == 1 {
                places(ui);
            } else {
                ui.menu_button(capitalised(&spoken(name)), places);
            }
        }
        if cx.pane.overlay.is_some() {
            ui.separator();
            if ui.button("Back to attention").clicked() {
                cx.send(Command::Overlay(None, None));
                ui.close();
            }
        }
    });
    menu.response
        .on_hover_text("Show this in another view, in place of attention")
        .widget_info(|| eframe::egui::WidgetInfo::labeled(eframe::egui::Role::Button, true, &label));
}

fn places_ui(ui: &mut Ui, cx: &ViewCtx<'_>, capture: &Capture, leaves: &[Leaf<'_>], value: &ValueRef) {
    let of_it = || leaves.iter().filter(|leaf| family(&leaf.name) == family(&value.name));
    let sides = |leaf: &Leaf<'_>| match leaf.value {
        Value::Tokens { axis, .. } => vec![axis.side],
        Value::Matrix { rows, cols, .. } | Value::Heads { rows, cols, .. } => vec![cols.side, rows.side],
        Value::Grid { .. }
        | Value::Table(_)
        | Value::List(_)
        | Value::Number(_)
        | Value::Count(_)
        | Value::Flag(_)
        | Value::Text(_)
        | Value::Layers(_)
        | Value::Group(_)
        | Value::Missing(_) => Vec::new(),
    };
    let picture = capture.picture_side().filter(|_| capture.image().is_some());
    // What is asked for on the picture has to be about patches as keys.
    let on_picture = of_it().any(|leaf| sides(leaf).first().copied() == picture && picture.is_some());
    let on_words = of_it().any(|leaf| sides(leaf).first().is_some_and(|side| Some(*side) != picture));
    for (text, meaning, view) in PLACES {
        let reason = if view == Some(ViewKind::Image) && !on_picture {
            Some("It says nothing about patches of a picture")
        } else {
            (view.is_none() && !on_words).then_some("Patches are shown on the picture")
        };
        let choice = ui.add_enabled(reason.is_none(), Button::new(text)).on_hover_text(meaning);
        if choice.on_disabled_hover_text(reason.unwrap_or_default()).clicked() {
            cx.send(Command::Overlay(Some(Box::new(value.clone())), view));
            ui.close();
        }
    }
}

/// The name of a value as people read it.
fn spoken(name: &str) -> String {
    match name {
        "self" => "map of all pairs".to_owned(),
        name => name.replace(['_', '.'], " "),
    }
}
