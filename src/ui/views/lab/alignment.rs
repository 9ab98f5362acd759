//! Comparisons of an alignment: with the other direction, and with links made by hand.

use eframe::egui::{Button, ComboBox, RichText, Ui};

use super::asked::LabColumns;
use crate::{
    capture::Capture,
    lab::{FieldValue, MethodCall, Scope},
    session::{Command, FilePurpose},
    ui::{ViewCtx, theme::GRID, views::controls},
};

/// The option that says how two directions become one.
const SYMMETRIZE: &str = "symmetrize";

/// Draws the choices, where words are aligned.
pub fn directions_ui(ui: &mut Ui, cx: &ViewCtx<'_>, capture: &Capture, asked: &LabColumns) {
    let is_alignment = |ask: &MethodCall| matches!(ask, MethodCall::Alignment(_));
    let Some(column) = asked.columns.iter().find(|column| is_alignment(&column.ask)) else { return };
    let weak = |text: &str| RichText::new(text).color(cx.theme.text_weak);
    ui.horizontal_wrapped(|ui| {
        let focus = cx.pane.lab_focus(capture);
        if let Some(run) = focus.reverse {
            ui.label(weak("With the other direction"))
                .on_hover_text(format!("{} translates the other way, in another pane", run.model().name));
            let mut ask = column.ask.clone();
            ask.options(&Scope::from(&focus), &mut |field| {
                if let (SYMMETRIZE, FieldValue::Choice(place, names)) = (field.name, field.value) {
                    way_ui(ui, cx, column.column.name, (place, names), field.meaning);
                }
            });
        } else {
            let open = ui.button("Open the other direction…");
            let meaning = "Opens a pane with the two texts exchanged, for a model that translates the other way; \
                the word links of both can then be combined";
            if open.on_hover_text(meaning).clicked() {
                cx.send(Command::OpenOtherDirection);
            }
        }
        ui.add_space(2.0 * GRID);
        gold_ui(ui, cx, &column.ask);
    });
}

fn way_ui(ui: &mut Ui, cx: &ViewCtx<'_>, column: &str, (place, names): (&mut usize, &[(&str, &str)]), meaning: &str) {
    let shown = names.get(*place).map_or("", |(_, label)| label);
    let combo = ComboBox::from_id_salt("both directions").selected_text(shown).show_ui(ui, |ui| {
        for (nth, (name, label)) in names.iter().enumerate() {
            if ui.selectable_label(nth == *place, *label).clicked() {
                controls::edit_options(cx, |options| {
                    let turned = options.lab.turned.entry(column.to_owned()).or_default();
                    turned.insert(SYMMETRIZE.to_owned(), (*name).into());
                });
            }
        }
    });
    combo.response.on_hover_text(meaning);
}

/// Links that were made by hand: where they come from, or how many there are.
fn gold_ui(ui: &mut Ui, cx: &ViewCtx<'_>, ask: &MethodCall) {
    let MethodCall::Alignment(options) = ask else { return };
    let gold = &options.gold;
    let open = ui.add(Button::new(if gold.is_some() { "Other gold links…" } else { "Gold links…" }));
    let meaning = "Opens a file of hand-made word links, such as “0-0 1-1 2p1”: 3-5 is a sure link of source word 3 \
        and target word 5, 3p5 a possible one, counted from 0. Alignments then show their alignment error rate \
        (AER)";
    if open.on_hover_text(meaning).clicked() {
        cx.send(Command::Pick(FilePurpose::GoldFile));
    }
    if gold.is_some() && ui.button("Without gold").on_hover_text("Remove the hand-made links").clicked() {
        cx.send(Command::SetGold(String::new()));
    }
}
