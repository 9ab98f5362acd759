//! What is under the pointer in the cells of all heads.

use eframe::egui::{Pos2, Rect, Ui};

use super::{
    shown::{Shown, ShownAs, on_picture},
    tiles::Tiles,
};
use crate::{
    analysis::{head_statistics::Metric, reading::Axis},
    capture::{Capture, Token},
    figure::views::{
        image::weights::PatchRole,
        regions::{Pointed, Region},
    },
    ids::HeadId,
    session::Focus,
    text::decimal_text,
    ui::{
        ViewCtx,
        views::{controls, hover, source},
    },
};

/// Tokens are told apart under the pointer from this size on.
const TOKEN_FROM_PT: f32 = 3.0;
/// How near the pointer must be to a line.
const LINE_REACH_PT: f32 = 4.0;

/// The query and the key at a place in the map of a head, where they can be told apart.
pub fn token_at(cx: &ViewCtx<'_>, shown: &Shown<'_>, tiles: &Tiles, (head, map): (HeadId, Rect), at: Pos2) -> Focus {
    let axes: [&Axis; 2] = [&shown.whole.rows, &shown.whole.cols];
    let in_pattern = |hit: Pointed| hover::tokens(hit.in_pattern(), axes, shown.whole.has_one_row());
    match shown.cells {
        ShownAs::Heatmap => {
            let pairs = Region::whole(Pointed::Pair, map, (axes[0].len(), axes[1].len()));
            let hit = pairs.at(at).filter(|_| pairs.cell(0, 0).size().min_elem() >= TOKEN_FROM_PT);
            hit.map_or(Focus::NONE, in_pattern)
        }
        ShownAs::Lines => {
            let hit = tiles.lines(head).filter(|_| map.contains(at)).and_then(|edges| {
                let layout = edges.layout(map.size(), cx.pane.options.heads.look());
                layout.line_at((at - map.min).to_pos2(), &edges.drawn, LINE_REACH_PT)
            });
            hit.map_or(Focus::NONE, in_pattern)
        }
        ShownAs::Overlay(image, (token, role)) => {
            let patch = on_picture(map, image).patch_at(at);
            match (patch, role) {
                (None, _) => Focus::NONE,
                (key, PatchRole::Query) => Focus { query: token.position(), key },
                (query, PatchRole::Key) => Focus { query, key: token.position() },
            }
        }
    }
}

/// The head under the pointer, its numbers, and the weight of the tokens there.
pub fn head_ui(
    ui: &mut Ui,
    cx: &ViewCtx<'_>,
    capture: &Capture,
    shown: &Shown<'_>,
    (head, score): (HeadId, Option<f32>),
    focus: Focus,
) {
    ui.strong(head.to_string());
    let sort_by = cx.pane.options.grid.sort_by;
    // Where heads stand by kind alone the number is that of the kind, which follows.
    if let (Some(by), Some(score)) = (sort_by, score) {
        ui.label(format!("{} {}", by.title(), decimal_text(score)));
    }
    let of_head = shown.kinds.map(|kinds| kinds.of_head(head)).unwrap_or_default();
    for (kind, score) in of_head.iter().filter(|(kind, _)| Some(Metric::Kind(*kind)) != sort_by) {
        ui.label(format!("{} {}", kind.definition().title, decimal_text(*score)));
    }
    let text = |tokens: &[Token], at: Option<usize>| at.map(|at| source::token_text(tokens, at));
    let query = text(capture.query_tokens(head.stack), focus.query);
    let key = text(capture.key_tokens(head.stack), focus.key);
    if let (Some(query), Some(key)) = (query, key) {
        let weight = weight(cx, shown, head, focus).unwrap_or_else(|| "…".to_owned());
        ui.label(format!("{query} › {key}  {weight}"));
    }
    if shown.opens {
        controls::caption_ui(ui, cx.theme, "Double-click: open · Shift-click: open beside");
    }
}

/// The weight of a pair in a head, in words; none while its row is read.
fn weight(cx: &ViewCtx<'_>, shown: &Shown<'_>, head: HeadId, focus: Focus) -> Option<String> {
    let row = shown.whole.rows.group_of(focus.query?)?;
    let col = shown.whole.cols.group_of(focus.key?)?;
    let reading = source::shown_of_head(cx, &shown.subject.this, head);
    match cx.patterns.part(shown.subject, &reading, row..row + 1)? {
        Ok(part) => Some(match (part.value(row, col), part.blank(row, col)) {
            (Some(value), _) => part.value_text(value),
            (None, blank) => blank.map_or_else(String::new, |_| "no weight".to_owned()),
        }),
        Err(refusal) => Some(refusal.to_string()),
    }
}
