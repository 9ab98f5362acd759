//! Points that are picked: what is inside an outline, and what can be done with them.

use std::sync::Arc;

use eframe::egui::{Align, Layout, Rect, RichText, Ui, UiBuilder};

use super::{Place, outline::Outline, readout};
use crate::{
    analysis::{
        Space,
        point_set::{PointSet, Spot},
        projection::Projection,
    },
    session::{Command, PickChange, SelectionCommand},
    ui::{
        ViewCtx,
        memo::{Memo, Same},
        theme::{GRID, text_size},
        views::controls::grouped,
    },
};

/// What was picked among what was found, as long as neither changes.
pub type Both = Memo<(Same<PointSet>, Same<PointSet>), Arc<PointSet>>;

/// The points that stand out: those that were picked among those that a search found, or all of either.
pub fn marked(both: &mut Both, picked: Option<&Arc<PointSet>>, hits: Option<&Arc<PointSet>>) -> Option<Arc<PointSet>> {
    match (picked, hits) {
        (Some(picked), Some(hits)) => {
            let key = (Same(Arc::clone(picked)), Same(Arc::clone(hits)));
            Some(both.get_or_update(key, || Arc::new(picked.intersection(hits))))
        }
        (picked, hits) => picked.or(hits).cloned(),
    }
}

/// The points of a cell that lie inside an outline.
pub fn inside(place: &Place, outline: &Outline) -> PointSet {
    let (bounds, transform) = (outline.bounds(), place.transform());
    let queries = place.plane.queries.iter().enumerate().map(|(idx, point)| (point, Spot::Query(idx)));
    let keys = place.plane.keys.iter().enumerate().map(|(idx, point)| (point, Spot::Key(idx)));
    let at = |point: &[f32; 3]| transform.apply(place.seen.place(*point));
    let within = queries.chain(keys).filter(|(point, _)| {
        let at = at(point);
        bounds.contains(at) && outline.contains(at)
    });
    within.map(|(_, spot)| spot).collect()
}

/// How many points are picked, and what can be done with them: at the top of the canvas.
pub fn picked_ui(ui: &mut Ui, cx: &ViewCtx<'_>, (projection, canvas): (&Projection, Rect)) {
    let Some(picked) = cx.pane.picked(cx.document) else { return };
    let space = projection.options.space;
    let [has_queries, has_keys] = space.sides(projection.stack).map(|side| side.is_some());
    let n_query = if has_queries { picked.queries().count() } else { 0 };
    let n_key = if has_keys { picked.keys().count() } else { 0 };
    let n = n_query + n_key;
    let text = if n == 1 { "1 picked".to_owned() } else { format!("{} picked", grouped(n)) };
    let kinds = match space {
        Space::QueriesKeys => format!("{} queries and {} keys", grouped(n_query), grouped(n_key)),
        Space::Positions => format!("{} positions", grouped(n)),
        Space::Values | Space::Residual => format!("{} tokens", grouped(n)),
    };
    let strip = canvas.with_max_y(canvas.top() + 6.0 * GRID);
    let layout = Layout::right_to_left(Align::Center);
    ui.scope_builder(UiBuilder::new().id_salt("picked").max_rect(strip).layout(layout), |ui| {
        let clear = ui.small_button("Clear");
        if clear.on_hover_text("Unpick them (also: Esc, or a click beside all points)").clicked() {
            cx.send(Command::Select(SelectionCommand::PickPoints(PointSet::default(), PickChange::Replace)));
        }
        if ui.small_button("Copy").on_hover_text("Copy their tokens, one per line").clicked() {
            let what = if n == 1 { "1 point".to_owned() } else { format!("{n} points") };
            cx.send(Command::Copy { what, text: as_text(picked, projection) });
        }
        let label = ui.label(RichText::new(text).size(text_size::SMALL).color(cx.theme.accent).strong());
        label.on_hover_text(format!("{kinds}; they are highlighted in every head, and their tokens in every view"));
    });
}

/// Side, input, position and text of each point, one per line.
fn as_text(picked: &PointSet, projection: &Projection) -> String {
    let cloud = &projection.cloud;
    let mut lines = vec!["side\tinput\tposition\ttoken".to_owned()];
    let space = projection.options.space;
    let [has_queries, has_keys] = space.sides(projection.stack).map(|side| side.is_some());
    let there = |spot: &Spot| if matches!(spot, Spot::Query(_)) { has_queries } else { has_keys };
    for spot in picked.iter().filter(there) {
        let Some(token) = readout::token_of(cloud, projection.stack, spot) else { continue };
        let side = space.kind_of(matches!(spot, Spot::Key(_))).to_lowercase();
        let input = match cloud.n_inputs() {
            1 => "0".to_owned(),
            _ => cloud.input_name(token.input).replace(['\t', '\n', '\r'], " "),
        };
        let text = token.text.replace('\t', "\\t").replace('\n', "\\n").replace('\r', "\\r");
        lines.push(format!("{side}\t{input}\t{}\t{text}", token.position));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_picked_among_hits_is_worked_out_once() {
        let of = |queries: &[usize]| -> Arc<PointSet> { Arc::new(queries.iter().map(|&at| Spot::Query(at)).collect()) };
        let (picked, hits, mut both) = (of(&[1, 2, 3]), of(&[2, 3, 4]), Both::default());
        let first = marked(&mut both, Some(&picked), Some(&hits)).unwrap();
        assert_eq!(*first, *of(&[2, 3]));
        assert!(Arc::ptr_eq(&first, &marked(&mut both, Some(&picked), Some(&hits)).unwrap()));
        assert_eq!(*marked(&mut both, Some(&of(&[4])), Some(&hits)).unwrap(), *of(&[4]), "others were picked");
        assert!(Arc::ptr_eq(&marked(&mut both, None, Some(&hits)).unwrap(), &hits));
        assert_eq!(marked(&mut both, None, None), None);
    }
}
