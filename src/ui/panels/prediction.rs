//! Predictions of the model: the most probable tokens at a position, or the classes.

use eframe::egui::{RichText, Ui};

use crate::{
    analysis::effect::telling_row,
    capture::{Prediction, PredictionItem, PredictionRow},
    outputs::OutputKind,
    session::{Command, Focus, SelectionCommand},
    spec::HeadKind,
    text::{norm_text, share_text},
    ui::{
        PanelCtx, ViewCtx,
        views::copy_menu_ui,
        widgets::{BarRow, section_ui},
    },
};

/// Draws the card: the row of the pinned or hovered position, or of the one that says most.
pub fn prediction_ui(ui: &mut Ui, cx: &PanelCtx<'_>) {
    let Some(capture) = cx.document.latest_capture() else { return };
    let Some(prediction) = capture.prediction() else { return };
    section_ui(ui, cx.theme, title(prediction));
    let wanted = cx.pane.selection.focus().query;
    let row = prediction
        .rows
        .iter()
        .find(|row| row.position.is_some() && row.position == wanted)
        .or_else(|| telling_row(prediction, capture.query_tokens(cx.pane.selection.stack())));
    let Some(row) = row else { return };
    if let Some(position) = row.position {
        position_ui(ui, cx, prediction, position);
    }
    if prediction.kind == HeadKind::Similarity {
        similarity_ui(ui, cx, row);
        return;
    }
    let top = row.top.as_slice();
    let unchanged = cx.session.unchanged(cx.document).and_then(|capture| capture.prediction());
    if let Some(before) = unchanged.and_then(|before| before.rows.iter().find(|it| it.position == row.position)) {
        changed_ui(ui, cx, prediction.outputs, before, row);
        return;
    }
    let outputs = prediction.outputs;
    for item in top {
        let row = BarRow {
            label: &item.label,
            fraction: fraction(outputs, item.value),
            value: &outputs.text(item.value),
            selected: false,
        };
        let meaning = format!("id {} · {} {}", item.id, outputs.measure(), norm_text(item.value));
        let response = row.ui(ui, cx.theme).on_hover_text(format!("{meaning}{}", as_sigmoid(outputs, item.value)));
        copy_menu_ui(&response, cx, copied(outputs), || table(outputs, top));
    }
}

/// The length of an outcome's bar. A score has none: it has neither a least nor a largest value.
const fn fraction(outputs: OutputKind, value: f32) -> f32 {
    if outputs.has_probabilities() { value } else { 0.0 }
}

/// What programs make of a score that was trained as one.
fn as_sigmoid(outputs: OutputKind, value: f32) -> String {
    if outputs.has_probabilities() {
        return String::new();
    }
    format!(" · its sigmoid is {}", norm_text(OutputKind::Labels.value(&[value], 0)))
}

const fn copied(outputs: OutputKind) -> &'static str {
    if outputs.has_probabilities() { "these probabilities" } else { "these scores" }
}

/// What an outcome that is not among the first can have.
fn at_most(row: &PredictionRow) -> String {
    let least = row.top.iter().map(|item| item.value).reduce(f32::min).map(share_text);
    match least {
        Some(least) if least.starts_with('<') => least,
        Some(least) => format!("<{least}"),
        None => "…".to_owned(),
    }
}

/// The outcomes with the changes, and by how much they differ from those without.
fn changed_ui(ui: &mut Ui, cx: &ViewCtx<'_>, outputs: OutputKind, before: &PredictionRow, after: &PredictionRow) {
    let of = |row: &PredictionRow, id: u32| row.top.iter().find(|item| item.id == id).map(|item| item.value);
    let measure = outputs.measure();
    let gone = before.top.iter().filter(|item| of(after, item.id).is_none());
    let all: Vec<&PredictionItem> = after.top.iter().chain(gone).collect();
    let table = || {
        let number = |value: Option<f32>| value.map_or_else(String::new, |value| value.to_string());
        let line = |item: &&PredictionItem| {
            let [was, is] = [before, after].map(|row| number(of(row, item.id)));
            format!("{}\t{}\t{was}\t{is}\n", item.id, item.label)
        };
        let head = format!("id\ttext\t{measure} before\t{measure} with the changes\n");
        std::iter::once(head).chain(all.iter().map(line)).collect::<String>()
    };
    for item in &all {
        let [was, is] = [before, after].map(|row| of(row, item.id));
        let value = match (was, is) {
            (Some(was), Some(is)) => format!("{} → {}", outputs.text(was), outputs.text(is)),
            (None, Some(is)) => format!("{} → {}", at_most(before), share_text(is)),
            (was, None) => format!("{} → {}", share_text(was.unwrap_or_default()), at_most(after)),
        };
        let row = BarRow {
            label: &item.label,
            fraction: fraction(outputs, is.unwrap_or_default()),
            value: &value,
            selected: false,
        };
        let meaning = match (was, is) {
            (Some(was), Some(is)) => {
                let (plus, change) = (if is > was { "+" } else { "" }, norm_text(is - was));
                let [was, is] = [was, is].map(norm_text);
                format!("id {} · {measure} {was} before, {is} with the changes: {plus}{change}", item.id)
            }
            (None, Some(is)) => {
                format!("id {} · not among the first before, {} with the changes", item.id, norm_text(is))
            }
            (was, None) => {
                let was = norm_text(was.unwrap_or_default());
                format!("id {} · {was} before, not among the first with the changes", item.id)
            }
        };
        let response = row.ui(ui, cx.theme).on_hover_text(meaning);
        copy_menu_ui(&response, cx, copied(outputs), table);
    }
}

/// The items as a table for the clipboard.
fn table(outputs: OutputKind, top: &[PredictionItem]) -> String {
    let line = |item: &PredictionItem| format!("{}\t{}\t{}\n", item.id, item.label, item.value);
    std::iter::once(format!("id\ttext\t{}\n", outputs.measure())).chain(top.iter().map(line)).collect()
}

/// A picture and a text have one number: a bar over its only outcome would say nothing.
fn similarity_ui(ui: &mut Ui, cx: &ViewCtx<'_>, row: &PredictionRow) {
    for item in &row.top {
        ui.label(&item.label);
    }
    let meaning = "Cosine between the vectors of picture and text: 1 is the same direction, 0 is unrelated. Compare \
        it with other texts for the same picture";
    ui.label(RichText::new(meaning).small().color(cx.theme.text_weak));
}

/// Names the position and steps through the others.
fn position_ui(ui: &mut Ui, cx: &ViewCtx<'_>, prediction: &Prediction, position: usize) {
    let Some(capture) = cx.document.latest_capture() else { return };
    let tokens = capture.query_tokens(cx.pane.selection.stack());
    let here = tokens.get(position).map_or("", |token| token.text.as_str());
    let before = match prediction.kind {
        HeadKind::NextToken => "after",
        HeadKind::MaskedLm
        | HeadKind::TextClass
        | HeadKind::ImageClass
        | HeadKind::TokenClass
        | HeadKind::Similarity => "at",
    };
    ui.horizontal(|ui| {
        ui.label(RichText::new(format!("{before} “{here}” #{position}")).color(cx.theme.text_weak));
        let last = prediction.rows.iter().filter_map(|row| row.position).max();
        if last != Some(position)
            && let Some(last) = last
            && ui.small_button("Last").on_hover_text("Show the prediction at the last position").clicked()
        {
            cx.send(Command::Select(SelectionCommand::Pin(Focus::query(last))));
        }
    });
}

fn title(prediction: &Prediction) -> &'static str {
    let has_one = prediction.rows.iter().all(|row| row.top.len() < 2);
    match (prediction.kind, prediction.outputs) {
        (HeadKind::MaskedLm, _) => "Predicted token",
        (HeadKind::NextToken, _) => "Next token",
        (HeadKind::Similarity, _) => "Picture and text",
        (_, OutputKind::Labels) => "Labels, each for itself",
        (_, OutputKind::Scores) if has_one => "Score",
        (_, OutputKind::Scores) => "Scores",
        (_, OutputKind::Tokens | OutputKind::Classes) => "Class",
    }
}
