//! Answers of any shape: numbers, lists, tables, grids of layers, maps of tokens.

use eframe::egui::{Color32, Grid, Label, Rect, RichText, Sense, Ui, Vec2, pos2};

use super::bars::{ROW_PT, Scale, bar_ui};
use crate::{
    analysis::explain::report::{Axis, Cells, Column, Leaf, Report, Value},
    capture::{Capture, Matrix},
    ui::{ViewCtx, theme::GRID, views::controls},
};

/// Rows of a table that are drawn; files have all.
const MAX_ROWS: usize = 60;
/// Longest side of a map of tokens.
const MAP_PT: f32 = 40.0 * GRID;
/// Cells of a map along one side; a longer text is not drawn as one.
const MAX_CELLS: usize = 96;
/// Width of the names of tokens, and of bars.
const TOKEN_PT: f32 = 15.0 * GRID;
const BAR_PT: f32 = 24.0 * GRID;
/// Words in a cell of a table.
const MAX_WORDS: usize = 5;

/// Draws everything that a method answered; of maps by layer and head, those of the head that is looked at.
pub fn answer_ui(ui: &mut Ui, cx: &ViewCtx<'_>, capture: &Capture, report: &Report) {
    for note in &report.notes {
        ui.add(Label::new(RichText::new(note).color(cx.theme.text_weak)).wrap());
    }
    let head = cx.pane.selection.head;
    for leaf in report.leaves().into_iter().filter(|leaf| leaf.layer.is_none_or(|layer| layer == head.layer)) {
        leaf_ui(ui, cx, capture, &leaf);
    }
}

fn leaf_ui(ui: &mut Ui, cx: &ViewCtx<'_>, capture: &Capture, leaf: &Leaf<'_>) {
    let name = match (leaf.layer, leaf.name.as_str()) {
        (Some(layer), "layers") => format!("layer {layer}"),
        (Some(layer), name) => format!("{}, layer {layer}", name.replace(['_', '.'], " ")),
        (None, name) => name.replace(['_', '.'], " "),
    };
    let named = |ui: &mut Ui, text: String| {
        ui.horizontal(|ui| {
            ui.label(RichText::new(&name).color(cx.theme.text_weak));
            ui.label(text);
        });
    };
    match leaf.value {
        Value::Number(value) => named(ui, number(*value)),
        Value::Count(value) => named(ui, value.to_string()),
        Value::Flag(value) => named(ui, if *value { "yes" } else { "no" }.to_owned()),
        Value::Text(value) | Value::Missing(value) => named(ui, value.clone()),
        Value::List(values) => list_ui(ui, cx, &name, values),
        Value::Tokens { axis, values } => tokens_ui(ui, cx, capture, (&name, axis), values),
        Value::Grid { axis, first_layer, values } => {
            let layers: Vec<String> =
                (0..values.n_cols()).map(|layer| format!("layer {}", first_layer + layer)).collect();
            map_ui(ui, cx, &name, values, &names(capture, axis, values.n_rows()), &layers);
        }
        Value::Matrix { rows, cols, values } => {
            let (rows, cols) = (names(capture, rows, values.n_rows()), names(capture, cols, values.n_cols()));
            map_ui(ui, cx, &name, values, &rows, &cols);
        }
        Value::Heads { rows, cols, values } => {
            let head = cx.pane.selection.head;
            if let Some(map) = values.head(head.head) {
                let (rows, cols) = (names(capture, rows, map.n_rows()), names(capture, cols, map.n_cols()));
                map_ui(ui, cx, &format!("{name} of {head}"), &map, &rows, &cols);
            }
        }
        Value::Table(columns) => table_ui(ui, cx, &name, columns),
        Value::Layers(_) | Value::Group(_) => {}
    }
}

fn number(value: f64) -> String {
    if value.is_nan() { "–".to_owned() } else { format!("{value:.4}") }
}

/// What the tokens of an axis are called.
fn names(capture: &Capture, axis: &Axis, n: usize) -> Vec<String> {
    let tokens = capture.tokens(axis.side);
    let name = |nth: usize| {
        let position = axis.position(nth);
        tokens.get(position).map_or_else(|| position.to_string(), |token| token.text.clone())
    };
    (0..n).map(name).collect()
}

fn list_ui(ui: &mut Ui, cx: &ViewCtx<'_>, name: &str, values: &[f64]) {
    let finite = || values.iter().copied().filter(|value| value.is_finite());
    let n = finite().count().max(1) as f64;
    let (least, most) = finite().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), value| (a.min(value), b.max(value)));
    ui.horizontal(|ui| {
        ui.label(RichText::new(name).color(cx.theme.text_weak));
        if values.is_empty() || least > most {
            ui.label("–");
            return;
        }
        let mean = finite().sum::<f64>() / n;
        ui.label(format!("{} values, mean {}, from {} to {}", values.len(), number(mean), number(least), number(most)));
    });
    // Each value a stroke on a scale.
    let (rect, _) = ui.allocate_exact_size(Vec2::new(BAR_PT * 2.0, ROW_PT), Sense::hover());
    ui.painter().hline(rect.x_range(), rect.center().y, (1.0, cx.theme.rule));
    for value in finite() {
        let share = if most > least { (value - least) / (most - least) } else { 0.5 };
        let x = rect.left() + share as f32 * rect.width();
        ui.painter().vline(x, rect.y_range(), (1.0, cx.theme.accent.gamma_multiply(0.5)));
    }
}

fn tokens_ui(ui: &mut Ui, cx: &ViewCtx<'_>, capture: &Capture, (name, axis): (&str, &Axis), values: &[f32]) {
    controls::heading_ui(ui, cx.theme, name);
    let scale = Scale::of(values);
    Grid::new((name, "tokens")).spacing(Vec2::new(GRID, 0.0)).show(ui, |ui| {
        for (token, value) in names(capture, axis, values.len()).iter().zip(values) {
            ui.allocate_ui(Vec2::new(TOKEN_PT, ROW_PT), |ui| ui.add(Label::new(token).truncate()));
            bar_ui(ui, cx, BAR_PT, *value, scale, name);
            ui.label(RichText::new(number(f64::from(*value))).small());
            ui.end_row();
        }
    });
}

/// Draws a map: rows and columns with their names on hover, the more colour the larger.
fn map_ui(ui: &mut Ui, cx: &ViewCtx<'_>, name: &str, values: &Matrix, rows: &[String], cols: &[String]) {
    controls::heading_ui(ui, cx.theme, name);
    let [n_rows, n_cols] = values.shape();
    if n_rows == 0 || n_cols == 0 || n_rows.max(n_cols) > MAX_CELLS {
        controls::caption_ui(ui, cx.theme, format!("{n_rows} × {n_cols} numbers: too many to draw, files have them"));
        return;
    }
    let cell = (MAP_PT / n_rows.max(n_cols) as f32).min(ROW_PT);
    let most = values.as_slice().iter().filter(|x| x.is_finite()).fold(0.0f32, |most, x| most.max(x.abs()));
    let show_names = cell >= 10.0;
    let left = if show_names { TOKEN_PT } else { 0.0 };
    let size = Vec2::new(left + n_cols as f32 * cell, n_rows as f32 * cell);
    let (rect, response) = ui.allocate_exact_size(size, Sense::hover());
    let painter = ui.painter_at(rect);
    for (row, weights) in values.rows().enumerate() {
        let top = rect.top() + row as f32 * cell;
        if show_names {
            let font = eframe::egui::FontId::proportional(crate::ui::theme::text_size::SMALL.min(cell - 1.0));
            let at = pos2(rect.left(), top + cell / 2.0);
            let text = rows.get(row).map_or("", String::as_str);
            painter.text(at, eframe::egui::Align2::LEFT_CENTER, text, font, cx.theme.text_weak);
        }
        for (col, value) in weights.iter().enumerate().filter(|(_, value)| value.is_finite()) {
            let share = if most > 0.0 { value.abs() / most } else { 0.0 };
            let color: Color32 = if *value < 0.0 { cx.theme.key } else { cx.theme.accent };
            let corner = pos2(rect.left() + left + col as f32 * cell, top);
            painter.rect_filled(Rect::from_min_size(corner, Vec2::splat(cell - 0.5)), 0.0, color.gamma_multiply(share));
        }
    }
    if let Some(at) = response.hover_pos() {
        let (row, col) =
            (((at.y - rect.top()) / cell) as usize, ((at.x - rect.left() - left).max(0.0) / cell) as usize);
        if let Some(value) = values.row(row).and_then(|row| row.get(col)) {
            let (row, col) = (rows.get(row).map_or("", String::as_str), cols.get(col).map_or("", String::as_str));
            response.on_hover_text(format!("{row} · {col}: {value:.6}"));
        }
    }
}

fn table_ui(ui: &mut Ui, cx: &ViewCtx<'_>, name: &str, columns: &[Column]) {
    controls::heading_ui(ui, cx.theme, name);
    let n = columns.iter().map(|column| column.cells.len()).max().unwrap_or(0);
    Grid::new((name, "table")).striped(true).show(ui, |ui| {
        for column in columns {
            ui.label(RichText::new(column.name.replace('_', " ")).small().strong());
        }
        ui.end_row();
        for row in 0..n.min(MAX_ROWS) {
            for column in columns {
                ui.label(cell_text(&column.cells, row));
            }
            ui.end_row();
        }
    });
    if n > MAX_ROWS {
        controls::caption_ui(ui, cx.theme, format!("{MAX_ROWS} of {n} rows; files have all"));
    }
}

fn cell_text(cells: &Cells, row: usize) -> String {
    match cells {
        Cells::Index(cells) => cells.get(row).map(usize::to_string).unwrap_or_default(),
        Cells::Number(cells) => cells.get(row).map(|value| number(*value)).unwrap_or_default(),
        Cells::Text(cells) => cells.get(row).cloned().unwrap_or_default(),
        Cells::Texts(cells) => cells.get(row).map(|words| joined(words.iter().cloned())).unwrap_or_default(),
        Cells::Numbers(cells) => cells.get(row).map(|all| joined(all.iter().map(|v| number(*v)))).unwrap_or_default(),
    }
}

fn joined(words: impl Iterator<Item = String>) -> String {
    words.take(MAX_WORDS).collect::<Vec<_>>().join(" · ")
}
