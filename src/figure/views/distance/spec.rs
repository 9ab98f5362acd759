//! Distance beside q·k: what the view is, and its figures of the heads that were chosen.

use std::sync::Arc;

use super::DistanceScene;
use crate::{
    analysis::{
        cloud_query::{CloudQuery, CloudResult},
        distance_fidelity,
    },
    figure::{
        ViewKind,
        data::{DataValues, Table},
        spec::{FigureError, NamedScene, ResolvedSpec, plain},
        views::{Facts, FigureExtent, ViewGroup, ViewSpec, heads_text, scatter::visit_scaling, spec},
    },
    projection::correlation::Correlation,
    text::capitalised,
};

/// The view.
pub const SPEC: ViewSpec = ViewSpec {
    kind: ViewKind::Distance,
    label: "Score and distance",
    name: "distance",
    former_names: &[],
    synonyms: &["proxy", "scatter of distances", "dot product"],
    help: "How closely distance in the query–key map follows q·k, head by head",
    group: ViewGroup::Heads,
    pages: None,
    facts: Facts::HEADS,
    extent: FigureExtent::Head,
    options: &["distance", "scatter"],
    fields: |options, scope, visit| {
        options.distance.visit(visit);
        visit_scaling(options.projection_mut(), scope, visit);
    },
    said: Some(|options| {
        let mut said = options.scatter.said();
        said.push(("distance", plain(&options.distance)));
        said
    }),
    color_map: spec::color_map,
    needs: spec::vectors,
    wants: &[],
    unavailable: spec::without_vectors,
    question: |topic| topic.follows(),
    caveat: |topic| topic.of_pairs(),
    sheet_text: |_| "Distance and q·k",
    figures,
};

/// One figure per head: all heads' numbers, and its pairs.
fn figures(resolved: &ResolvedSpec<'_>) -> Result<Vec<NamedScene>, FigureError> {
    resolved.not_of_planes()?;
    let Some(spec) = resolved.capture.model().stack(resolved.stack) else { return Ok(Vec::new()) };
    let proxies = resolved.ask(CloudQuery::Proxies)?;
    let figure = |id| {
        let scene = DistanceScene {
            proxies: Arc::clone(&proxies),
            plot: Some(resolved.ask(CloudQuery::Plot(id))?),
            grid: (spec.layers.len(), spec.max_heads()),
            head: id,
            shown: resolved.spec.options.distance,
            caveat: distance_fidelity::caveat(resolved.cloud, id),
        };
        let numbers = Arc::clone(&proxies);
        let table = Box::new(move || table(&numbers));
        Ok(resolved.named(Box::new(scene), table, capitalised(&heads_text(&[id])), Some(id)))
    };
    resolved.ids()?.into_iter().map(figure).collect()
}

/// One row per head.
fn table(found: &CloudResult) -> Table {
    let CloudResult::Proxies(proxies) = found else { return Table::default() };
    let index = |name: &'static str, of: &dyn Fn(usize) -> usize| {
        (name, DataValues::Index((0..proxies.len()).map(|row| of(row) as u32).collect()))
    };
    let number = |name: &'static str, of: &dyn Fn(usize) -> Option<f64>| {
        (name, DataValues::Number((0..proxies.len()).map(|row| of(row).map_or(f32::NAN, |x| x as f32)).collect()))
    };
    let before = |row: usize| -> &Correlation { &proxies[row].correlations.before };
    let after = |row: usize| -> &Correlation { &proxies[row].correlations.after };
    let stacks = proxies.iter().map(|proxy| proxy.head.stack.name().to_owned()).collect();
    Table::of([
        ("stack", DataValues::Text(stacks)),
        index("layer", &|row| proxies[row].head.layer),
        index("head", &|row| proxies[row].head.head),
        number("c", &|row| Some(proxies[row].c)),
        number("norm_disparity", &|row| proxies[row].norms.disparity()),
        number("pooled_pearson_before", &|row| before(row).pooled.pearson),
        number("pooled_pearson_after", &|row| after(row).pooled.pearson),
        number("per_query_pearson_before", &|row| before(row).per_query.pearson),
        number("per_query_pearson_after", &|row| after(row).per_query.pearson),
        number("pooled_spearman_before", &|row| before(row).pooled.spearman),
        number("pooled_spearman_after", &|row| after(row).pooled.spearman),
        number("per_query_spearman_before", &|row| before(row).per_query.spearman),
        number("per_query_spearman_after", &|row| after(row).per_query.spearman),
    ])
}
