//! Paths through all layers: what the view is, and its figures.

use std::sync::Arc;

use super::{PathsGraph, PathsScene};
use crate::{
    analysis::paths::{self, PathEdge, PathHeads, PathMeasure},
    capture::Site,
    figure::{
        ViewKind,
        data::{DataValues, Table},
        spec::{FigureError, NamedScene, ResolvedSpec},
        views::{DetailsPart, Facts, FigureExtent, ViewGroup, ViewSpec, heads_text, spec},
    },
    ids::HeadId,
    text::capitalised,
};

/// The view.
pub const SPEC: ViewSpec = ViewSpec {
    kind: ViewKind::Paths,
    label: "Paths",
    name: "paths",
    former_names: &[],
    synonyms: &["graph", "attention graph", "rollout", "flow", "DAG", "sankey", "all layers", "attention flow"],
    help: "Attention of all layers as a graph: the strongest edges from token to token, and the paths between two",
    group: ViewGroup::Look,
    pages: None,
    facts: Facts { names_tokens: true, details: &[DetailsPart::Selection, DetailsPart::Head], ..Facts::STEPS },
    extent: FigureExtent::Head,
    options: &["paths"],
    fields: |options, _, visit| options.paths.visit(visit),
    said: None,
    color_map: spec::color_map,
    needs: |_, _| vec![Site::Pattern],
    wants: &[],
    unavailable: paths::unavailable,
    question: |topic| topic.passes(),
    caveat: |topic| match topic.options.paths.measure {
        PathMeasure::Raw => "A path of large weights is not what was carried: values and MLPs are left out".to_owned(),
        PathMeasure::Rollout | PathMeasure::Flow => {
            "Not attention. The share of the residual stream is assumed; values and MLPs are left out".to_owned()
        }
    },
    sheet_text: |_| "Paths",
    figures,
};

/// One figure, or where the selected head has a part in it one per head.
fn figures(resolved: &ResolvedSpec<'_>) -> Result<Vec<NamedScene>, FigureError> {
    resolved.not_of_planes()?;
    let options = resolved.spec.options.paths;
    let is_of_head = options.of_heads == PathHeads::Selected;
    let figure = |id: HeadId| {
        let failed = |why: &str| FigureError::Failed(why.to_owned());
        let of = PathsGraph::of(resolved.capture, id, options.of_heads).map_err(failed)?;
        let held = of.ends(id, resolved.pinned());
        let numbers =
            of.graph.measured(options.measure, options.residual.into(), options.n_edges, held).map_err(failed)?;
        let scene = PathsScene::new(Arc::new(of), Arc::new(numbers), options, id, held, None);
        let of_table = scene.clone();
        let label = if is_of_head { capitalised(&heads_text(&[id])) } else { "All layers".to_owned() };
        let id = Some(id).filter(|_| is_of_head);
        Ok(resolved.named(Box::new(scene), Box::new(move || table(&of_table)), label, id))
    };
    let n = if is_of_head { usize::MAX } else { 1 };
    resolved.ids()?.into_iter().take(n).map(figure).collect()
}

/// One row per drawn edge, the strongest first.
fn table(scene: &PathsScene) -> Table {
    let (graph, names, edges) = (&scene.of.graph, &scene.of.names, &scene.numbers.edges);
    let position = |token: usize| token - graph.stream_of(token).map_or(0, |(_, stream)| stream.first);
    let index = |of: &dyn Fn(&PathEdge) -> usize| DataValues::Index(edges.iter().map(|it| of(it) as u32).collect());
    let text = |of: &dyn Fn(&PathEdge) -> String| DataValues::Text(edges.iter().map(of).collect());
    let name = |token: usize| names.get(token).cloned().unwrap_or_default();
    let mut columns = vec![
        ("stack", text(&|edge| edge.stack.name().to_owned())),
        ("layer", index(&|edge| edge.layer)),
        ("query", index(&|edge| position(edge.from.token))),
        ("query_text", text(&|edge| name(edge.from.token))),
        ("key", index(&|edge| position(edge.to.token))),
        ("key_text", text(&|edge| name(edge.to.token))),
        ("weight", DataValues::Number(edges.iter().map(|edge| edge.weight).collect())),
    ];
    if scene.options.measure != PathMeasure::Raw {
        columns.push((scene.value_name(), DataValues::Number(edges.iter().map(|edge| edge.value).collect())));
    }
    Table::of(columns)
}
