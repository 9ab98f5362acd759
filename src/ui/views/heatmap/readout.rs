//! Texts of the Heatmap view: caption, names of axes, and the numbers beside the pointer.

use eframe::egui::{Grid, RichText, Role, Sense, Ui, WidgetInfo};

use crate::{
    analysis::reading::{Axis, ReadPattern, RowMass},
    capture::Capture,
    figure::views::regions::{Pointed, Region},
    session::{Command, Focus, SelectionCommand},
    text::decimal_text,
    ui::{
        ViewCtx,
        theme::GRID,
        views::{controls, controls::query_name, hover, source, toggle_hidden, tooltip},
        widgets::{Along, stepped},
    },
};

/// What the picture shows; `mass` says where the attention of its rows went, of a long text once all were read.
pub fn caption(cx: &ViewCtx<'_>, capture: &Capture, pattern: &ReadPattern, mass: RowMass) -> String {
    let head = cx.pane.selection.head;
    // What stands in place of attention is named above.
    let what = if pattern.explained().is_some() { String::new() } else { format!("{}, ", source::what(cx, pattern)) };
    let (n_query, n_key) = (pattern.rows.n_of_tokens(), pattern.cols.n_of_tokens());
    let sides = if pattern.has_one_row() {
        format!("one number for each of {n_key} tokens")
    } else if pattern.has_two_sides {
        format!("{n_query} decoder queries × {n_key} encoder keys")
    } else {
        let queries = if n_query == 1 { "query" } else { "queries" };
        format!("{} {queries} × {} keys", controls::grouped(n_query), controls::grouped(n_key))
    };
    let merging = cx.pane.options.reading.merging;
    let words = if merging.is_merged() { format!(", merged into {}", merging.unit.name()) } else { String::new() };
    let masked = if pattern.causal { ", causal" } else { "" };
    let window = capture.model().layer_of(head).and_then(|layer| layer.window);
    let window = window.map_or_else(String::new, |reach| format!(", window {}", controls::grouped(reach)));
    let sum = mass.total / pattern.rows.len().max(1) as f64;
    let said = if (sum - 1.0).abs() < 0.005 {
        "each row sums to 1".to_owned()
    } else {
        format!("rows sum to {} on average", decimal_text(sum))
    };
    let sums = ReadPattern::hidden_text_with(&std::iter::once(pattern), mass)
        .or_else(|| (!pattern.signed && pattern.explained().is_none()).then_some(said));
    let sums = sums.map_or_else(String::new, |sums| format!("; {sums}"));
    format!("{what}{sides}{words}{masked}{window}{sums}")
}

/// The token whose label is under the pointer, or that the arrow keys are at, and whether they have just led there: its
/// row or column is meant, and its whole text is shown, also where the label had to be cut.
pub fn axis_focus(ui: &Ui, cx: &ViewCtx<'_>, pattern: &ReadPattern, labels: [Region; 2]) -> (Focus, bool) {
    let (mut focus, mut has_moved) = (Focus::NONE, false);
    let axes: [&Axis; 2] = [&pattern.rows, &pattern.cols];
    for (nth, name) in ["Query labels", "Key labels"].into_iter().enumerate() {
        let (region, axis) = (labels[nth], axes[nth]);
        let response = ui.interact(region.seen, ui.scope_id().with(name), Sense::click());
        let along = [Along::Column, Along::Line][nth];
        let stepped = stepped(ui, &response, axis.groups.len(), along);
        response.widget_info(|| WidgetInfo {
            current_text_value: stepped.map(|(at, _)| axis.numbered(at)),
            ..WidgetInfo::labeled(Role::ListBox, true, name)
        });
        let under = hover::under(&response, &[region]).map(Pointed::in_pattern);
        let at = under.or(stepped.map(|(at, _)| [(nth == 0).then_some(at), (nth == 1).then_some(at)]));
        let Some([row, col]) = at else { continue };
        let here = hover::tokens([row, col], axes, pattern.has_one_row());
        let Some(idx) = row.or(col).filter(|_| !here.is_empty()) else { continue };
        focus = here;
        has_moved |= stepped.is_some_and(|(_, moved)| moved);
        if response.double_clicked() {
            let side = if row.is_some() { pattern.stack.query_side() } else { pattern.stack.key_side() };
            toggle_hidden(cx, side, axis.groups[idx].positions.clone());
        } else if response.clicked() {
            let pinned = cx.pane.selection.pinned;
            let was_pinned = hover::in_pattern(pinned, axes)[nth] == Some(idx);
            cx.send(Command::Select(SelectionCommand::Pin(hover::clicked(pinned, here, was_pinned))));
        }
        response.on_hover_text(axis.numbered(idx));
    }
    (focus, has_moved)
}

/// What stands beside the pointer over one cell.
pub fn tooltip_ui(ui: &Ui, cx: &ViewCtx<'_>, capture: &Capture, pattern: &ReadPattern, (row, col): (usize, usize)) {
    tooltip::at_pointer(ui, |ui| {
        Grid::new("readout").num_columns(2).spacing([3.0 * GRID, 2.0]).show(ui, |ui| {
            let name = |text: &str| RichText::new(text).color(cx.theme.text_weak);
            let [query, key] = if pattern.has_one_row() { ["Explained", "Token"] } else { [query_name(cx), "Key"] };
            ui.label(name(query));
            ui.label(RichText::new(pattern.rows.numbered(row)).color(cx.theme.query));
            ui.end_row();
            ui.label(name(key));
            ui.label(RichText::new(pattern.cols.numbered(col)).color(cx.theme.key));
            ui.end_row();
            ui.label(name(pattern.value_label()));
            if let Some(blank) = pattern.blank(row, col) {
                ui.label(blank.text());
                ui.end_row();
                return;
            }
            // A row of a long text may still be on its way.
            ui.label(pattern.value(row, col).map_or_else(|| "…".to_owned(), |value| pattern.value_text(value)));
            ui.end_row();
            if let Some(score) = pattern.score(capture, (row, col)) {
                ui.label(name("Score"));
                ui.label(decimal_text(score));
                ui.end_row();
            }
        });
        tooltip::ablated_ui(ui, cx, &std::iter::once(pattern));
    });
}
