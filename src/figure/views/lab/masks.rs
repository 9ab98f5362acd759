//! The search for the smallest mask: how it went, and which states of which layers it kept.

use std::sync::Arc;

use super::{
    Piece, Section, TitledPiece,
    compose::{Answered, table, token_axis},
    curves::Curves,
    map::{Map, MapAxis, Place},
    sentences::side_text,
};
use crate::{
    analysis::explain::report::{Form, Leaf, MethodPicture, Report, Value},
    capture::Capture,
    ids::Side,
    raster::ColorMap,
};

/// Steps whose mean is drawn of what trembles.
const SMOOTHED: usize = 10;

/// What stands below the bars of all methods; none of another method, or before anything was found.
pub fn section(capture: &Capture, answer: &Answered) -> Option<Section> {
    let report = answer.report.as_deref().filter(|report| report.method.picture == MethodPicture::Search)?;
    let leaves = report.leaves();
    let sides: Vec<Side> = Side::ALL.into_iter().filter(|side| is_told(&leaves, *side)).collect();
    let parts: Vec<TitledPiece> = if sides.is_empty() {
        of_side(capture, report, &leaves, None)
    } else {
        sides.into_iter().flat_map(|side| of_side(capture, report, &leaves, Some(side))).collect()
    };
    (!parts.is_empty()).then(|| Section {
        column: Some(answer.column),
        title: format!("{}: course of the search", answer.title),
        notes: report.notes.clone(),
        parts,
    })
}

/// Whether values are told by side, and of this one.
fn is_told(leaves: &[Leaf<'_>], side: Side) -> bool {
    leaves.iter().any(|leaf| leaf.name.split('.').nth(1) == Some(side.name()))
}

fn of_side(capture: &Capture, report: &Report, leaves: &[Leaf<'_>], side: Option<Side>) -> Vec<TitledPiece> {
    let own = || leaves.iter().filter(|leaf| side.is_none_or(|side| leaf.name.split('.').nth(1) == Some(side.name())));
    let named = |first: &'static str, last: &'static str| {
        own().filter(move |leaf| leaf.name.split('.').next() == Some(first) && leaf.name.ends_with(last))
    };
    let titled = |title: &str| side.map_or_else(|| title.to_owned(), |side| format!("{title}: {}", side_text(side)));
    let mut parts = Vec::new();
    let mut add = |title: &str, meaning: &str, piece: Arc<dyn Piece>| {
        parts.push(TitledPiece { title: titled(title), meaning: meaning.to_owned(), piece });
    };
    let margin = report.parameters.iter().find(|(name, _)| name == "margin").and_then(|(_, value)| value.as_f64());
    // Layers are told as they are found, so the grid knows how many there are.
    let n_cols = |leaf: &Leaf<'_>| if let Value::Grid { values, .. } = leaf.value { values.n_cols() } else { 1 };
    let n_places = named("gates", "").map(n_cols).max().unwrap_or(1);
    let curves = |last: &'static str, unit: &str, limit: Option<(f64, String)>, n_steps: usize| {
        let line = |(nth, leaf): (usize, &Leaf<'_>)| match leaf.value {
            Value::List(values) => Some((place_name(nth, n_places), means(values, n_steps))),
            _ => None,
        };
        let lines = named("search", last).enumerate().filter_map(line).collect();
        Arc::new(Curves { lines, unit: unit.to_owned(), limit })
    };
    if named("search", "divergence").next().is_some() {
        let limit = margin.map(|margin| (margin, "margin".to_owned()));
        add(
            &format!("Distance from the model’s output in nats, mean of {SMOOTHED} steps"),
            "The search keeps it below the margin; gates are sampled in each step, so the curve is noisy",
            curves("divergence", "distance", limit, SMOOTHED),
        );
        add(
            "Expected number of states that stay, step by step",
            "The search minimises it",
            curves("open", "states", None, 1),
        );
    }
    for leaf in named("gates", "") {
        let Value::Grid { axis, values, .. } = leaf.value else { continue };
        let names = (0..values.n_cols()).map(|nth| place_name(nth, n_places));
        add(
            "Gates by token and layer",
            "1 keeps the state of a token at the input of a layer (or at the output of the last), 0 replaces it; \
            each layer is searched separately",
            Arc::new(Map {
                rows: token_axis(capture, axis, values.n_rows()),
                cols: MapAxis { names: names.collect(), tokens: None },
                values: values.clone(),
                words: None,
                unit: "gate".to_owned(),
                heads: None,
                marked: None,
                mask: None,
                unsigned: ColorMap::Explained,
                place: Place::ALONE,
            }),
        );
    }
    for leaf in named("masks", "").filter(|_| n_places > 1) {
        let Value::Table(columns) = leaf.value else { continue };
        add(
            "Kept states",
            "With only these states; the others are replaced",
            Arc::new(table(columns, Form::Measure, &[])),
        );
    }
    parts
}

/// The mean of each number and those before it, `n` in all where there are as many.
fn means(values: &[f64], n: usize) -> Vec<f64> {
    let mean = |end: usize| {
        let last = &values[(end + 1).saturating_sub(n)..=end];
        last.iter().sum::<f64>() / last.len() as f64
    };
    (0..values.len()).map(mean).collect()
}

/// What enters a layer, or what leaves the last.
fn place_name(nth: usize, n_places: usize) -> String {
    if n_places > 1 && nth + 1 == n_places { "end".to_owned() } else { format!("L{nth}") }
}
