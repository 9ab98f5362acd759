//! Experts of a layer: what the view is, and its figures of the layers that were chosen.

use std::sync::Arc;

use super::{ExpertsFacts, ExpertsScene, unavailable};
use crate::{
    capture::Site,
    figure::{
        ViewKind,
        data::{self, PartRow, Table},
        spec::{FigureError, NamedScene, ResolvedSpec},
        views::{Facts, FigureExtent, ViewGroup, ViewSpec, heatmap::visit_color_map, spec},
    },
    ids::HeadId,
};

/// The view.
pub const SPEC: ViewSpec = ViewSpec {
    kind: ViewKind::Experts,
    label: "Experts",
    name: "experts",
    former_names: &[],
    synonyms: &["mixture of experts", "MoE", "router", "routing", "gating", "load balance", "sparse MLP"],
    help: "Experts of a layer: those that the router sends each token to with their weights, and the share of tokens that \
        each gets, beside an even one",
    group: ViewGroup::Works,
    pages: None,
    facts: Facts::EXPERTS,
    extent: FigureExtent::Head,
    options: &["experts", "heatmap"],
    fields: |options, _, visit| {
        options.experts.visit(visit);
        visit_color_map(options.color_map_mut(), "Experts", visit);
    },
    said: None,
    color_map: spec::color_map,
    needs: |_, _| vec![Site::Pattern],
    wants: &[Site::RouterLogits, Site::Router],
    unavailable,
    question: |topic| topic.is_sent(),
    caveat: |_| {
        "Which expert gets a token says nothing about what the expert does; loads of one input differ from those of many"
            .to_owned()
    },
    sheet_text: |_| "Experts",
    figures,
};

/// One figure for each layer that was chosen.
fn figures(resolved: &ResolvedSpec<'_>) -> Result<Vec<NamedScene>, FigureError> {
    resolved.not_of_planes()?;
    let stack = resolved.stack;
    if let Some(why) = unavailable(resolved.capture, stack) {
        return Err(FigureError::Failed(why.to_owned()));
    }
    let nothing = || FigureError::Failed("the input has no tokens".to_owned());
    let facts = Arc::new(ExpertsFacts::of(resolved.capture, stack).ok_or_else(nothing)?);
    let (options, held) = (&resolved.spec.options, resolved.pinned().query);
    let figure = |layer: usize| {
        let looks = (options.experts, options.color_map());
        let scene = ExpertsScene::new(Arc::clone(&facts), layer, held, looks);
        let layer = scene.routing().layer;
        let (of_table, id) = (scene.clone(), HeadId { stack, layer, head: 0 });
        let label = format!("Layer {layer}");
        resolved.named(Box::new(scene), Box::new(move || table(&of_table)), label, Some(id))
    };
    // Layers without experts give way to the first with some.
    let mut places: Vec<usize> = resolved.layers.iter().map(|layer| facts.place(*layer)).collect();
    places.dedup();
    Ok(places.into_iter().map(|place| figure(facts.layers[place].layer)).collect())
}

/// One row per number of each part: of `weight` and `score` tokens in the column `row` and experts in `column`; of `share`
/// and `even` layers and experts.
fn table(scene: &ExpertsScene) -> Table {
    let mut rows: Vec<PartRow> = Vec::new();
    let routing = scene.routing();
    let name = |token: usize| scene.facts.names[token].clone();
    for (part, matrix) in [("weight", Some(&routing.weights)), ("score", routing.scores.as_ref())] {
        for (token, values) in matrix.into_iter().flat_map(|matrix| matrix.rows().enumerate()) {
            let of = |(expert, value): (usize, &f32)| (part, name(token), token, expert, f64::from(*value));
            rows.extend(values.iter().enumerate().map(of));
        }
    }
    for (routing, load) in scene.facts.layers.iter().zip(&scene.facts.loads) {
        let (layer, name) = (routing.layer, format!("layer {}", routing.layer));
        let shares = load.shares().into_iter().enumerate();
        rows.extend(shares.map(|(expert, share)| ("share", name.clone(), layer, expert, share)));
        rows.push(("even", name, layer, 0, load.even()));
    }
    data::parts(&rows)
}
