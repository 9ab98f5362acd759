//! How positions enter attention: what the view is, and its figures of the heads that were chosen.

use std::sync::Arc;

use super::{Part, PositionFacts, PositionsScene, unavailable};
use crate::{
    analysis::positions::OffsetBias,
    capture::{Matrix, Site},
    figure::{
        ViewKind,
        data::{DataValues, Table},
        spec::{FigureError, NamedScene, ResolvedSpec},
        views::{Facts, FigureExtent, ViewGroup, ViewSpec, heads_text, spec},
    },
    ids::HeadId,
    text::capitalised,
};

/// The view.
pub const SPEC: ViewSpec = ViewSpec {
    kind: ViewKind::Positions,
    label: "Positions",
    name: "positions",
    former_names: &[],
    synonyms: &[
        "position embeddings",
        "sinusoidal",
        "rotary",
        "RoPE",
        "ALiBi",
        "relative bias",
        "order",
        "permutation",
    ],
    help: "Position embeddings, rotary turns, biases by offset, and what another order does to the patterns",
    group: ViewGroup::Works,
    pages: None,
    facts: Facts { reads_unchanged: true, ..Facts::STEPS },
    extent: FigureExtent::Head,
    options: &["positions"],
    fields: |options, _, visit| options.positions.visit(visit),
    said: None,
    color_map: spec::color_map,
    needs: |_, _| vec![Site::Pattern, Site::Q, Site::K],
    wants: &[],
    unavailable,
    question: |topic| topic.knows_positions(),
    caveat: |_| "A mask tells order as well: a causal model knows it without any position embedding".to_owned(),
    sheet_text: |_| "Positions",
    figures,
};

/// One figure per head.
fn figures(resolved: &ResolvedSpec<'_>) -> Result<Vec<NamedScene>, FigureError> {
    resolved.not_of_planes()?;
    let (capture, options) = (resolved.capture, resolved.spec.options.positions);
    let pinned = resolved.pinned();
    let figure = |id: HeadId| {
        if let Some(why) = unavailable(capture, id.stack) {
            return Err(FigureError::Failed(why.to_owned()));
        }
        let facts = PositionFacts::of(capture, resolved.other, id, options);
        let scene = PositionsScene::new(capture, Arc::new(facts), [pinned.query, pinned.key], options);
        let of_table = scene.clone();
        let label = capitalised(&heads_text(&[id]));
        Ok(resolved.named(Box::new(scene), Box::new(move || table(&of_table)), label, Some(id)))
    };
    resolved.ids()?.into_iter().map(figure).collect()
}

/// A number of a part: what it is of, where, and its value.
type Row = (&'static str, String, usize, i64, f64);

/// One row per number of each part.
fn table(scene: &PositionsScene) -> Table {
    let facts = &scene.facts;
    let mut rows: Vec<Row> = Vec::new();
    let matrix = |part: &'static str, matrix: &Matrix, rows: &mut Vec<Row>| {
        for (at, values) in matrix.rows().enumerate() {
            let name = facts.table.as_ref().and_then(|table| table.names.get(at)).cloned().unwrap_or_default();
            rows.extend(
                values.iter().enumerate().map(|(col, value)| (part, name.clone(), at, col as i64, f64::from(*value))),
            );
        }
    };
    for part in facts.parts() {
        match (part, &facts.table, &facts.rotation) {
            (Part::Table, Some(table), _) => matrix("embedding", &table.rows, &mut rows),
            (Part::Cosines, Some(table), _) => matrix("cosine", &table.cosines, &mut rows),
            (Part::Distance, ..) => {
                for (name, values) in scene.likeness() {
                    let of = |(at, value): (usize, &f64)| ("distance", name.to_owned(), at, 0, *value);
                    rows.extend(values.iter().enumerate().map(of));
                }
            }
            (Part::Turns, _, Some(rotation)) => {
                let of = |(pair, value): (usize, &f32)| ("turn", "radians".to_owned(), pair, 0, f64::from(*value));
                rows.extend(rotation.frequencies.iter().enumerate().map(of));
            }
            (Part::Biases, ..) => {
                for (head, biases) in facts.biases.iter().enumerate() {
                    let name = HeadId { head, ..facts.head }.to_string();
                    let of = |bias: &OffsetBias| ("bias", name.clone(), head, bias.offset as i64, f64::from(bias.mean));
                    rows.extend(biases.iter().map(of));
                }
            }
            (Part::Order, ..) => {
                for (layer, effect) in facts.order.iter().flatten().enumerate() {
                    rows.push(("order", "variation".to_owned(), layer, 0, f64::from(effect.variation)));
                    rows.push(("order", "largest".to_owned(), layer, 0, f64::from(effect.largest)));
                }
            }
            (Part::Reach, ..) => {
                let of = |(nth, n): (usize, &usize)| ("reach", "tokens".to_owned(), nth + 1, 0, *n as f64);
                rows.extend(facts.reach.iter().flatten().enumerate().map(of));
            }
            (Part::Sinusoids | Part::Table | Part::Cosines | Part::Turns, ..) => {}
        }
    }
    Table::of([
        ("part", DataValues::Text(rows.iter().map(|row| row.0.to_owned()).collect())),
        ("name", DataValues::Text(rows.iter().map(|row| row.1.clone()).collect())),
        ("row", DataValues::Index(rows.iter().map(|row| row.2 as u32).collect())),
        ("column", DataValues::Number(rows.iter().map(|row| row.3 as f32).collect())),
        ("value", DataValues::Number(rows.iter().map(|row| row.4 as f32).collect())),
    ])
}
