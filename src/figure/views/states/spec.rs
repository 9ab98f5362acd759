//! What a recurrence carries: what the view is, and its figure.

use std::sync::Arc;

use super::{StatesFacts, StatesPart, StatesScene, side, unavailable};
use crate::{
    capture::Site,
    figure::{
        ViewKind,
        data::{self, PartRow, Table},
        spec::{FigureError, NamedScene, ResolvedSpec},
        views::{Facts, FigureExtent, ViewGroup, ViewSpec, spec},
    },
    text::capitalised,
};

/// The view.
pub const SPEC: ViewSpec = ViewSpec {
    kind: ViewKind::States,
    label: "States",
    name: "states",
    former_names: &[],
    synonyms: &[
        "recurrent",
        "RNN",
        "LSTM",
        "GRU",
        "hidden state",
        "gates",
        "backpropagation through time",
        "path length",
    ],
    help: "States of a recurrent model step by step: units, gates, gradient through time, path between two tokens",
    group: ViewGroup::Works,
    pages: None,
    facts: Facts::STEPS,
    extent: FigureExtent::Stack,
    options: &["states"],
    fields: |options, _, visit| options.states.visit(visit),
    said: None,
    color_map: spec::color_map,
    needs: |_, _| vec![Site::Pattern],
    wants: &[Site::State, Site::Cell, Site::Gates, Site::StateBack, Site::CellBack, Site::GatesBack],
    unavailable,
    question: |topic| topic.is_left(side(topic.capture, topic.options.states.of)),
    caveat: |_| "Sizes of states, gates and gradients say how much passes on, not what".to_owned(),
    sheet_text: |_| "States",
    figures,
};

/// One figure, of a whole sequence.
fn figures(resolved: &ResolvedSpec<'_>) -> Result<Vec<NamedScene>, FigureError> {
    resolved.not_of_planes()?;
    let (stack, options, pinned) = (resolved.stack, resolved.spec.options.states, resolved.pinned());
    let refuse = || FigureError::Failed(unavailable(resolved.capture, stack).unwrap_or_default().to_owned());
    let facts = StatesFacts::of(resolved.capture, options.of).ok_or_else(refuse)?;
    let scene = StatesScene::new(Arc::new(facts), stack, [pinned.query, pinned.key], options);
    let of_table = scene.clone();
    let label = capitalised(options.of.name());
    Ok(vec![resolved.named(Box::new(scene), Box::new(move || table(&of_table)), label, None)])
}

/// One row per number of each part: tokens, or distances, in the column `row`.
fn table(scene: &StatesScene) -> Table {
    let mut rows: Vec<PartRow> = Vec::new();
    for steps in &scene.facts.steps {
        for (at, states) in steps.states.rows().enumerate() {
            let of = |(unit, value): (usize, &f32)| ("state", steps.way.name().to_owned(), at, unit, f64::from(*value));
            rows.extend(states.iter().enumerate().map(of));
        }
        for gate in &steps.gates {
            for (part, values) in [("gate", &gate.means), ("shut", &gate.ends[0]), ("open", &gate.ends[1])] {
                let name = format!("{}, {}", gate.name, steps.way.name());
                rows.extend(values.iter().enumerate().map(|(at, value)| (part, name.clone(), at, 0, *value)));
            }
        }
    }
    for (part, name) in
        [(StatesPart::Norm, "norm"), (StatesPart::Likeness, "likeness"), (StatesPart::Gradient, "gradient")]
    {
        for (way, values) in scene.lines(part) {
            let values = values.iter().enumerate().filter_map(|(at, value)| Some((at, (*value)?)));
            rows.extend(values.map(|(at, value)| (name, way.clone(), at, 0, value)));
        }
    }
    for (name, _, route) in scene.routes() {
        let lengths = (0..scene.facts.names.len()).map(|distance| (distance, route.length(distance) as f64));
        rows.extend(lengths.map(|(distance, length)| ("path", name.clone(), distance, 0, length)));
    }
    data::parts(&rows)
}
