//! Predictions of the model: the most probable tokens at a position, or the classes.

use eframe::egui::{Align, Button, Label, Layout, RichText, Role, Ui, WidgetInfo, vec2};

use super::WindowRequests;

use crate::{
    analysis::effect::{predicted_side, telling_row},
    capture::{Prediction, PredictionItem, PredictionRow, words::token_text},
    outputs::OutputKind,
    session::{Command, Focus, SelectionCommand},
    spec::HeadKind,
    text::{norm_text, share_text},
    ui::{
        PanelCtx, ViewCtx,
        commands::UiCommand,
        theme::{GRID, text_size},
        views::copy_menu_ui,
        widgets::{BAR_ROW_PT, BarRow, menu_ui},
    },
};

/// Outcomes that are always in sight; a menu has all of them.
const N_ROWS: usize = 4;
/// Between two of them.
const GAP_PT: f32 = GRID / 2.0;
/// Height of the title, which may have buttons.
const TITLE_PT: f32 = 6.0 * GRID;
/// Height of all that [`prediction_ui`] draws: it does not depend on the answer.
pub const ANSWER_PT: f32 = 2.0 * GRID + TITLE_PT + N_ROWS as f32 * (BAR_ROW_PT + GAP_PT);

/// One outcome in a row.
struct Row {
    label: String,
    fraction: f32,
    value: String,
    meaning: String,
}

/// Draws the answer: that of the pinned or hovered position, or of the one that says most.
pub fn prediction_ui(ui: &mut Ui, cx: &PanelCtx<'_>) {
    let Some(capture) = cx.document.latest_capture() else { return };
    ui.spacing_mut().item_spacing.y = GAP_PT;
    let Some(prediction) = capture.prediction() else {
        title_ui(ui, cx, "Answer", |_| {});
        let why = match cx.document.opened {
            Some(_) => "This file holds no answer of the model",
            None => "This model gives no answer: it has no head that predicts",
        };
        ui.add(Label::new(RichText::new(why).color(cx.theme.text_weak)).wrap());
        return;
    };
    let side = predicted_side(capture);
    let wanted = cx.pane.selection.focus().query.filter(|_| cx.pane.selection.stack().query_side() == side);
    let row = prediction
        .rows
        .iter()
        .find(|row| row.position.is_some() && row.position == wanted)
        .or_else(|| telling_row(prediction, capture.tokens(predicted_side(capture))));
    let Some(row) = row else { return };
    let outputs = prediction.outputs;
    let unchanged = cx.session.unchanged(cx.document).and_then(|capture| capture.prediction());
    let before = unchanged.and_then(|before| before.rows.iter().find(|it| it.position == row.position));
    let (rows, table) = match before {
        Some(before) => changed_rows(outputs, before, row),
        None => (plain_rows(outputs, row), table(outputs, &row.top)),
    };
    let is_one_number = prediction.kind == HeadKind::Similarity;
    let rows_ui = |ui: &mut Ui, rows: &[Row]| {
        for Row { label, fraction, value, meaning } in rows {
            let row = BarRow { label, fraction: *fraction, value, selected: false };
            let response = row.ui(ui, cx.theme).on_hover_text(meaning);
            copy_menu_ui(&response, cx, copied(outputs), || table.clone());
        }
    };
    title_ui(ui, cx, &title_text(cx, prediction, row.position), |ui| {
        if rows.len() > N_ROWS && !is_one_number {
            let all = menu_ui(ui, Button::new("⏷").small(), |ui| {
                ui.set_min_width(50.0 * GRID);
                rows_ui(ui, &rows);
            });
            let name = format!("All {} outcomes", rows.len());
            all.widget_info(|| WidgetInfo::labeled(Role::Button, true, &name));
            all.on_hover_text(&name);
        }
        last_ui(ui, cx, prediction, row.position);
    });
    if is_one_number {
        similarity_ui(ui, cx, row);
    } else {
        rows_ui(ui, rows.get(..N_ROWS).unwrap_or(&rows));
    }
}

/// What the model says of the input that is shown, as far as it says one thing.
pub fn answer_text(cx: &ViewCtx<'_>) -> Option<String> {
    let capture = cx.document.latest_capture()?;
    let prediction = capture.prediction()?;
    let row = telling_row(prediction, capture.tokens(predicted_side(capture)))?;
    let item = row.top.first().filter(|_| prediction.kind != HeadKind::Similarity)?;
    Some(format!("{} {}", item.label, prediction.outputs.text(item.value)))
}

/// The run in one line that opens the panel it stands for: `demo:gpt · Once upon… · 's 24 %`.
pub fn run_line_ui(ui: &mut Ui, cx: &PanelCtx<'_>, requests: &mut WindowRequests) {
    let title = cx.document.title();
    let text = answer_text(cx).map_or_else(|| title.clone(), |answer| format!("{title} · {answer}"));
    ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
        let line = ui.add(Button::new(&text).small().frame_when_inactive(false).truncate());
        line.widget_info(|| WidgetInfo::labeled(Role::Button, true, format!("Run: {text}")));
        if line.on_hover_text(UiCommand::ToggleLeft.tooltip_with_key(ui.ctx())).clicked() {
            requests.push(UiCommand::ToggleLeft);
        }
    });
}

/// The title over the width, with buttons at its end.
fn title_ui(ui: &mut Ui, cx: &ViewCtx<'_>, title: &str, buttons: impl FnOnce(&mut Ui)) {
    let size = vec2(ui.available_width(), TITLE_PT);
    ui.allocate_ui_with_layout(size, Layout::right_to_left(Align::Center), |ui| {
        ui.set_min_size(size);
        buttons(ui);
        ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
            let title = RichText::new(title).size(text_size::SMALL).color(cx.theme.text_weak).strong();
            ui.add(Label::new(title).truncate());
        });
    });
}

fn plain_rows(outputs: OutputKind, row: &PredictionRow) -> Vec<Row> {
    let row_of = |item: &PredictionItem| {
        let meaning = format!("id {} · {} {}", item.id, outputs.measure(), norm_text(item.value));
        Row {
            label: item.label.clone(),
            fraction: fraction(outputs, item.value),
            value: outputs.text(item.value),
            meaning: format!("{meaning}{}", as_sigmoid(outputs, item.value)),
        }
    };
    row.top.iter().map(row_of).collect()
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
pub(super) fn at_most(row: &PredictionRow) -> String {
    let least = row.top.iter().map(|item| item.value).reduce(f32::min).map(share_text);
    match least {
        Some(least) if least.starts_with('<') => least,
        Some(least) => format!("<{least}"),
        None => "…".to_owned(),
    }
}

/// The outcomes of both runs with the changes, the most probable of either first, and both as a table.
fn changed_rows(outputs: OutputKind, before: &PredictionRow, after: &PredictionRow) -> (Vec<Row>, String) {
    let of = |row: &PredictionRow, id: u32| row.top.iter().find(|item| item.id == id).map(|item| item.value);
    let both = |item: &PredictionItem| [before, after].map(|row| of(row, item.id));
    let gone = before.top.iter().filter(|item| of(after, item.id).is_none());
    let mut all: Vec<&PredictionItem> = after.top.iter().chain(gone).collect();
    let most = |item: &PredictionItem| both(item).into_iter().flatten().fold(f32::NEG_INFINITY, f32::max);
    all.sort_by(|a, b| most(b).total_cmp(&most(a)));
    let measure = outputs.measure();
    let row_of = |item: &&PredictionItem| {
        let [was, is] = both(item);
        let [was_text, is_text] = [was, is].map(|value| value.map(norm_text));
        let (value, meaning) = match (was, is) {
            (Some(was), Some(is)) => {
                let (plus, change) = (if is > was { "+" } else { "" }, norm_text(is - was));
                let [was_long, is_long] = [was_text, is_text].map(Option::unwrap_or_default);
                let meaning = format!("{measure} {was_long} before, {is_long} with the changes: {plus}{change}");
                (arrow_text(&outputs.text(was), &outputs.text(is)), meaning)
            }
            (None, is) => {
                let meaning = format!("not among the first before, {} with the changes", is_text.unwrap_or_default());
                (arrow_text(&at_most(before), &share_text(is.unwrap_or_default())), meaning)
            }
            (Some(was), None) => {
                let meaning = format!("{} before, not among the first with the changes", was_text.unwrap_or_default());
                (arrow_text(&share_text(was), &at_most(after)), meaning)
            }
        };
        Row {
            label: item.label.clone(),
            fraction: fraction(outputs, is.unwrap_or_default()),
            value,
            meaning: format!("id {} · {meaning}", item.id),
        }
    };
    let line = |item: &&PredictionItem| {
        let [was, is] = both(item).map(|value| value.map_or_else(String::new, |value| value.to_string()));
        format!("{}\t{}\t{was}\t{is}\n", item.id, item.label)
    };
    let head = format!("id\ttext\t{measure} before\t{measure} with the changes\n");
    let table = std::iter::once(head).chain(all.iter().map(line)).collect();
    (all.iter().map(row_of).collect(), table)
}

/// Two numbers, with their unit once: `85 → 11 %`.
pub(super) fn arrow_text(was: &str, is: &str) -> String {
    let was = was.strip_suffix(" %").filter(|_| is.ends_with(" %")).unwrap_or(was);
    format!("{was} → {is}")
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

/// What is predicted, and where.
fn title_text(cx: &ViewCtx<'_>, prediction: &Prediction, position: Option<usize>) -> String {
    let title = title(prediction);
    let (Some(position), Some(capture)) = (position, cx.document.latest_capture()) else { return title.to_owned() };
    let here = token_text(capture.tokens(predicted_side(capture)), position);
    let before = match prediction.kind {
        HeadKind::NextToken => "after",
        HeadKind::MaskedLm
        | HeadKind::TextClass
        | HeadKind::ImageClass
        | HeadKind::TokenClass
        | HeadKind::Similarity
        | HeadKind::PairClass => "at",
    };
    format!("{title} {before} “{here}” #{position}")
}

/// The way back to the last position.
fn last_ui(ui: &mut Ui, cx: &ViewCtx<'_>, prediction: &Prediction, position: Option<usize>) {
    let side = cx.document.latest_capture().map(|capture| predicted_side(capture));
    // Elsewhere queries are other tokens.
    let is_here = side == Some(cx.pane.selection.stack().query_side());
    let last = prediction.rows.iter().filter_map(|row| row.position).max().filter(|_| is_here);
    if let Some(last) = last.filter(|last| position.is_some_and(|position| position != *last))
        && ui.small_button("Last").on_hover_text("Show the prediction at the last position").clicked()
    {
        cx.send(Command::Select(SelectionCommand::Pin(Focus::query(last))));
    }
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
