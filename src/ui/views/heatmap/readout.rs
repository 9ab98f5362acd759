//! What the Heatmap view says in words: caption, names of axes, and the numbers beside the pointer.

use eframe::egui::{Grid, PopupAnchor, Rect, RichText, Role, Sense, Ui, WidgetInfo, containers::Tooltip};

use super::{
    layout::HeatmapLayout,
    mask,
    pixels::{Picture, PictureKey},
};
use crate::{
    capture::{Capture, Matrix, Token},
    ids::StackKind,
    session::{Command, Focus},
    ui::{
        ViewCtx,
        theme::GRID,
        views::{controls, sentences, source},
    },
};

/// What the picture shows.
pub fn caption(capture: &Capture, key: &PictureKey, picture: &Picture) -> String {
    let head = key.head;
    let [n_query, n_key] = picture.pattern.shape();
    let sides = match head.stack {
        StackKind::Cross => format!("{n_query} decoder queries × {n_key} encoder keys"),
        _ => format!("{n_query} queries × {n_key} keys"),
    };
    let causal = capture.model().stack(head.stack).is_some_and(|spec| spec.causal);
    let masked = if causal { ", causal" } else { "" };
    let window = source::layer_spec(capture, head).and_then(|layer| layer.window);
    let window = window.map_or_else(String::new, |reach| format!(", window {}", controls::grouped(reach)));
    let shown_mass = picture.pattern.as_slice().iter().map(|&weight| f64::from(weight)).sum();
    let sums = sentences::left_out_text(key.sentences, shown_mass, picture.row_mass);
    let sums = sums.unwrap_or_else(|| "each row sums to 1".to_owned());
    format!("{head}, {sides}{masked}{window}; {sums}")
}

/// Whose tokens the rows and the columns are.
pub const fn axis_names(stack: StackKind) -> [&'static str; 2] {
    match stack {
        StackKind::Cross => ["Decoder query", "Encoder key"],
        _ => ["Query", "Key"],
    }
}

/// Room that the names of the axes need, in points.
pub const fn axis_room(stack: StackKind) -> f32 {
    match stack {
        StackKind::Cross => 17.0 * GRID,
        _ => 0.0,
    }
}

/// The token whose label is under the pointer: its row or column is meant, and its whole text is shown,
/// also where the label had to be cut.
pub fn axis_focus(ui: &Ui, cx: &ViewCtx<'_>, tokens: [&[Token]; 2], layout: &HeatmapLayout, content: Rect) -> Focus {
    let mut focus = Focus::NONE;
    for (name, rect, tokens) in [("Query labels", layout.rows, tokens[0]), ("Key labels", layout.cols, tokens[1])] {
        let response = ui.interact(rect, ui.scope_id().with(name), Sense::click());
        response.widget_info(|| WidgetInfo::labeled(Role::Label, true, name));
        let is_query = rect == layout.rows;
        let Some(at) = response.hover_pos() else { continue };
        let part = if is_query {
            (at.y - content.top()) / content.height()
        } else {
            (at.x - content.left()) / content.width()
        };
        let position = (part.clamp(0.0, 1.0) * tokens.len() as f32) as usize;
        let position = position.min(tokens.len().saturating_sub(1));
        focus = if is_query { Focus::query(position) } else { Focus::key(position) };
        if response.clicked() {
            cx.send(Command::Pin(focus));
        }
        response.on_hover_text(format!("{}  #{position}", source::token_text(tokens, position)));
    }
    focus
}

/// What stands beside the pointer over one cell.
pub fn tooltip_ui(
    ui: &Ui,
    cx: &ViewCtx<'_>,
    capture: &Capture,
    picture: &Picture,
    scores: Option<&Matrix>,
    (query, key): (usize, usize),
) {
    let head = cx.pane.selection.head;
    let id = ui.scope_id().with("readout");
    let layer = ui.layer_id();
    Tooltip::always_open(ui.ctx().clone(), layer, id, PopupAnchor::Pointer).gap(4.0 * GRID).show(|ui| {
        Grid::new("readout").num_columns(2).spacing([3.0 * GRID, 2.0]).show(ui, |ui| {
            let name = |text: &str| RichText::new(text).color(cx.theme.text_weak);
            ui.label(name("Query"));
            let text = source::token_text(capture.query_tokens(head.stack), query);
            ui.label(RichText::new(text).color(cx.theme.query));
            ui.end_row();
            ui.label(name("Key"));
            let text = source::token_text(capture.key_tokens(head.stack), key);
            ui.label(RichText::new(text).color(cx.theme.key));
            ui.end_row();
            let score = scores.and_then(|scores| scores.get(query, key));
            let by_sentence =
                [(0, query), (1, key)].iter().any(|&(axis, at)| picture.left_out[axis].get(at) == Some(&true));
            if score == Some(f32::NEG_INFINITY) || by_sentence {
                let far = source::layer_spec(capture, head).is_some_and(|layer| {
                    mask::out_of_window(capture, head, layer, query).iter().any(|r| r.contains(&key))
                });
                ui.label(name("Weight"));
                ui.label(match (by_sentence, far) {
                    (true, _) => "left out",
                    (false, true) => "outside the window",
                    (false, false) => "masked",
                });
                ui.end_row();
                return;
            }
            ui.label(name("Weight"));
            ui.monospace(controls::weight_text(picture.pattern.get(query, key).unwrap_or(f32::NAN)));
            ui.end_row();
            if let Some(score) = score {
                ui.label(name("Score"));
                ui.monospace(format!("{score:.3}"));
                ui.end_row();
            }
        });
    });
}
