//! Texts about the canvas and the point under the pointer.

use eframe::egui::{Grid, RichText, Ui};

use super::partners;
use crate::{
    analysis::{
        CloudToken, PointCloud, Space,
        point_set::Spot,
        projection::{HeadProjection, Projection},
        reading::ReadPattern,
    },
    ids::{HeadId, Side, StackKind},
    session::{Focus, ViewKind},
    text::{counted, decimal_text, norm_text, share_text},
    ui::{
        ViewCtx,
        theme::GRID,
        views::{
            controls::{self, grouped},
            groups::HeadGroups,
            tooltip,
        },
    },
};

/// What a screen reader says of the canvas: of one cell, or of all.
pub fn canvas_name(projection: &Projection, cell: Option<HeadId>) -> String {
    let space = projection.options.space;
    match (space, cell) {
        (Space::QueriesKeys, Some(head)) => format!("Query–key map of {head}"),
        (Space::QueriesKeys, None) => "Query–key maps of all heads".to_owned(),
        (_, Some(cell)) => format!("{}: {}", space.title(), cell_name(projection, cell)),
        (_, None) => format!("{}: all maps", space.title()),
    }
}

/// What a cell is called.
pub fn cell_name(projection: &Projection, cell: HeadId) -> String {
    let model = projection.cloud.model();
    model.map_or_else(|| cell.to_string(), |model| projection.options.space.cell_name(cell, model))
}

/// What the canvas shows of all heads.
pub fn caption(projection: &Projection) -> String {
    let (stack, space) = (projection.stack, projection.options.space);
    let n = |side: Option<Side>| side.map_or(0, |side| projection.cloud.n(side));
    let [n_query, n_key] = space.sides(stack).map(n);
    let n_cells = projection.heads.len();
    let heads = counted(n_cells, "head");
    let what = match space {
        Space::QueriesKeys => {
            let (n_query, n_key) = (grouped(n_query), grouped(n_key));
            format!("{heads}, {n_query} queries and {n_key} keys each; scroll to zoom, double-click a head")
        }
        Space::Values => {
            let n_key = counted(n_key, "value");
            format!("{heads}, {n_key} each; scroll to zoom, double-click a head")
        }
        Space::Residual => {
            let n_query = counted(n_query, "token");
            format!(
                "The residual stream at {}, {n_query} each; scroll to zoom, double-click a place",
                counted(n_cells, "place")
            )
        }
        Space::Positions => return format!("The embeddings of {}", counted(n_query, "position")),
    };
    format!("{what} to open it")
}

/// What the canvas shows of one head.
pub fn head_caption(projection: &Projection, plane: &HeadProjection) -> String {
    let how = plane.refined.map_or_else(
        || {
            let parts: Vec<String> =
                plane.explained.iter().filter(|part| **part > 0.0).map(|part| share_text(*part)).collect();
            match parts.split_last() {
                Some((last, [])) => format!("the axis explains {last} of the variance"),
                Some((last, first)) => format!("the axes explain {} and {last} of the variance", first.join(", ")),
                None => "principal components".to_owned(),
            }
        },
        |refined| refined.text(),
    );
    if !projection.options.space.is_joint() {
        return format!("{}: {how}", cell_name(projection, plane.head));
    }
    let correlation = |value: f32| if value.is_finite() { decimal_text(value) } else { "none".to_owned() };
    format!(
        "{}: c = {}; {how}; correlation of q·k and distance: {} as given, {} after scaling",
        plane.head,
        norm_text(plane.c),
        correlation(plane.correlation_before),
        correlation(plane.correlation_after),
    )
}

/// The token of a point.
pub fn token_of(cloud: &PointCloud, stack: StackKind, spot: Spot) -> Option<CloudToken<'_>> {
    match spot {
        Spot::Query(query) => cloud.token(stack.query_side(), query),
        Spot::Key(key) => cloud.token(stack.key_side(), key),
    }
}

/// What a person reads for a token: its text, or its place where it has none.
pub fn text_of(token: &CloudToken<'_>) -> String {
    if token.text.trim().is_empty() { token.position.to_string() } else { token.text.to_owned() }
}

/// What is under the pointer.
pub fn under_pointer_ui(
    ui: &Ui,
    cx: &ViewCtx<'_>,
    projection: &Projection,
    (head, exists): (HeadId, bool),
    spot: Option<Spot>,
    lines: Option<(&ReadPattern, Focus)>,
) {
    let (cloud, space) = (&projection.cloud, projection.options.space);
    let token = spot.and_then(|spot| Some((spot, token_of(cloud, head.stack, spot)?)));
    let single = cx.pane.view == ViewKind::Scatter;
    if single && token.is_none() || !exists && token.is_none() {
        return;
    }
    tooltip::at_pointer(ui, |ui| {
        if !single {
            ui.label(RichText::new(cell_name(projection, head)).strong());
            if space.is_joint()
                && let Some(capture) = cx.document.latest_capture()
                && let Some(note) = HeadGroups::of(capture, head).note(head.head)
            {
                controls::caption_ui(ui, cx.theme, note);
            }
        }
        let Some((spot, token)) = token else {
            controls::caption_ui(ui, cx.theme, "Double-click to open");
            return;
        };
        let (name, color) = match spot {
            Spot::Query(_) => (space.kind_of(false), cx.theme.query),
            Spot::Key(_) => (space.kind_of(true), cx.theme.key),
        };
        ui.horizontal(|ui| {
            ui.label(RichText::new(name).color(cx.theme.text_weak));
            ui.label(RichText::new(text_of(&token)).color(color).strong());
            let place = format!("#{} of {}", token.position, counted(token.n_positions, "token"));
            ui.label(RichText::new(place).color(cx.theme.text_weak));
        });
        if cloud.n_inputs() > 1 {
            let name = cloud.input_name(token.input);
            let short: String = name.chars().take(80).collect();
            let more = if short.len() < name.len() { "…" } else { "" };
            controls::caption_ui(ui, cx.theme, format!("{short}{more}"));
        }
        let Some((pattern, focus)) = lines else { return };
        Grid::new("partners").num_columns(2).spacing([4.0 * GRID, 2.0]).show(ui, |ui| {
            for (partner, weight) in partners::partners(pattern, focus, 5) {
                let text = match partner {
                    Focus { query: Some(query), .. } => pattern.rows.numbered_at(query),
                    Focus { key, .. } => pattern.cols.numbered_at(key.unwrap_or_default()),
                };
                ui.label(text);
                ui.label(pattern.value_text(weight));
                ui.end_row();
            }
        });
        tooltip::weights_ui(ui, cx, &std::iter::once(pattern));
    });
}
