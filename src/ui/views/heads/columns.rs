//! The two columns of tokens, their headings, and the bars beside them.

use eframe::egui::{Id, Mesh, Painter, Pos2, Rect, Role, Shape, Ui, WidgetInfo};

use super::{
    LinesKey, Scene,
    layout::{HeadsLayout, TokenColumn},
    lines::HeadLines,
};
use crate::{
    analysis::reading::Axes,
    figure::{
        pen::Pen,
        views::{
            heads::marks::{self, TokenLook},
            labels,
        },
    },
    session::{Command, Focus, Selection, SelectionCommand},
    ui::{
        ViewCtx,
        views::{
            controls::has_two_sides,
            display_list::{PiecePainter, color32, paint_part},
            hover, toggle_hidden,
        },
        widgets::{Along, Roving},
    },
};

/// Room for a heading that names its side and counts its tokens.
pub const HEADING_WIDTH_PT: f32 = 164.0;

/// The names of both columns: whose tokens they are, and how many where they differ; less where there is less room.
pub fn headings_ui(ui: &Ui, rect: Rect, layout: &HeadsLayout, axes: &Axes, cx: &ViewCtx<'_>) {
    let one_row = cx.pane.explained_extent().is_some_and(|extent| !extent.is_of_pairs());
    let forms = labels::axis_names(axes.each_ref().map(|axis| &**axis), one_row, has_two_sides(cx));
    let key = (&forms, [layout.queries.max, layout.keys.min].map(f32::to_bits));
    let draw = |pen: &mut Pen<'_>| marks::headings(rect, layout, &forms, pen);
    paint_part(ui.painter(), ui.scope_id().with("headings"), cx.theme, key, rect, &draw);
}

/// Everything that the drawing of a column depends on.
pub type ColumnKey = (LinesKey, Pos2, Vec<(usize, TokenLook)>);

/// Draws the visible tokens of one column; returns what the pointer means, and where.
pub fn column_ui(
    ui: &Ui,
    cx: &ViewCtx<'_>,
    (scene, key): (&Scene<'_>, &LinesKey),
    column: TokenColumn,
    painter: &mut PiecePainter<ColumnKey>,
) -> Option<(Focus, Rect)> {
    let selection = &cx.pane.selection;
    let (axis, layout) = (scene.axes[column as usize], &scene.layout);
    let (focus, held) = (scene.rows_of(selection.focus()), scene.rows_of(selection.pinned));
    let (mut hovered, mut looks) = (None, Vec::new());
    let roving = Roving::new(ui, ui.scope_id().with(("column", column)), &scene.visible[column as usize]);
    if let Some(row) = roving.moved_to() {
        let cell = layout.token_rect(column, row).translate(scene.origin.to_vec2());
        ui.scroll_to_rect(cell, None);
    }
    let picked = cx.pane.picked_tokens(cx.document).map(|picked| picked[column as usize].clone()).unwrap_or_default();
    let along = if layout.is_of_rows() { Along::Line } else { Along::Column };
    for row in scene.visible[column as usize].clone() {
        let cell = layout.token_rect(column, row).translate(scene.origin.to_vec2());
        let Some(group) = axis.groups.get(row) else { continue };
        let is_picked = picked.get(group.positions.clone()).is_some_and(|part| part.contains(&true));
        let is_hidden = scene.marks().is_some_and(|marks| match column {
            TokenColumn::Query => marks.hidden_rows.contains(&row),
            TokenColumn::Key => marks.hidden_cols.contains(&row),
        });
        let note = if is_picked { ", picked" } else { "" };
        let note = if is_hidden { ", hidden" } else { note };
        let (text, position) = (&group.text, group.positions.start);
        let here = scene.tokens(HeadsLayout::pointed(column, row));
        let (name, pinned, focused) = match column {
            TokenColumn::Query if scene.has_one_row() => ("Explained", None, None),
            TokenColumn::Query => ("Query", held.query, focus.query),
            TokenColumn::Key => ("Key", held.key, focus.key),
        };
        let response = ui.interact(cell, token_id(ui, column, row), roving.sense(row));
        roving.keys(ui, &response, row, axis.groups.len(), along);
        let is_pinned = pinned == Some(row);
        response.widget_info(|| {
            WidgetInfo::selected(Role::Button, true, is_pinned, format!("{name} {position} {text}{note}"))
        });
        let look = TokenLook {
            hovered: focused == Some(row) || response.has_focus(),
            pinned: is_pinned,
            picked: is_picked,
            left_out: group.left_out.is_some(),
            rest: axis.rest_at(row).is_some(),
            hidden: is_hidden,
        };
        looks.push((row, look));
        if response.hovered() && !here.is_empty() {
            hovered = Some((with_pinned_partner(selection, here), cell));
        }
        let is_token = axis.rest_at(row).is_none();
        if response.double_clicked() && !here.is_empty() && is_token {
            let stack = selection.stack();
            let side = if column == TokenColumn::Query { stack.query_side() } else { stack.key_side() };
            toggle_hidden(cx, side, group.positions.clone());
        } else if response.clicked() && !here.is_empty() {
            cx.send(Command::Select(SelectionCommand::Pin(hover::clicked(selection.pinned, here, is_pinned))));
        }
    }
    let draw = |pen: &mut Pen<'_>| {
        for (row, look) in &looks {
            let cell = layout.token_rect(column, *row).translate(scene.origin.to_vec2());
            marks::token(cell, (column, layout.lie), axis.text(*row), *look, pen);
        }
    };
    let key = (key.clone(), scene.origin, looks.clone());
    painter.paint(column as usize, (ui.painter(), cx.theme), key, (ui.clip_rect(), ui.clip_rect()), &draw);
    hovered
}

/// A hovered key with a pinned query means their cell, and the other way round.
fn with_pinned_partner(selection: &Selection, here: Focus) -> Focus {
    Focus { query: here.query.or(selection.pinned.query), key: here.key.or(selection.pinned.key) }
}

fn token_id(ui: &Ui, column: TokenColumn, position: usize) -> Id {
    ui.scope_id().with((column, position))
}

/// Bars beside the tokens of the other column: how much each head attends between them and the focus.
pub fn bars(painter: &Painter, scene: &Scene<'_>, focus: Focus, cx: &ViewCtx<'_>) {
    let weights = |query, key| {
        let weight = |head: &HeadLines| Some((head.ink, head.strength(query, key)?));
        scene.heads.iter().filter_map(weight).collect()
    };
    let (origin, held) = (scene.origin.to_vec2(), (focus.query, focus.key));
    let mut mesh = Mesh::default();
    for (bar, color) in marks::bars(&scene.layout, origin, &scene.visible, held, weights, &cx.theme.palette) {
        mesh.add_colored_rect(bar, color32(color));
    }
    painter.add(Shape::mesh(mesh));
}
