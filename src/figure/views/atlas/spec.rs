//! Atlas of heads: what the view is, and its figure.

use std::sync::Arc;

use super::AtlasScene;
use crate::{
    analysis::{
        cloud_query::{CloudQuery, CloudResult},
        head_statistics::{MetricColumn, RankedStatistic, Thresholds},
    },
    figure::{
        ViewKind,
        data::{DataColumn, DataValues, Table},
        spec::{FigureError, NamedScene, ResolvedSpec},
        views::{DetailsPart, Facts, FigureExtent, ViewGroup, ViewSpec, heatmap::visit_color_map, spec},
    },
    ids::HeadId,
    text::counted,
};

/// The view.
pub const SPEC: ViewSpec = ViewSpec {
    kind: ViewKind::Atlas,
    label: "Atlas",
    name: "atlas",
    former_names: &[],
    synonyms: &["head statistics", "head metrics", "kinds of heads", "induction heads", "scatter of heads"],
    help: "Every head as a point between two numbers over all inputs, with its kinds and ranks",
    group: ViewGroup::Heads,
    pages: None,
    facts: Facts { details: &[DetailsPart::Head], reads_folders: true, ..Facts::HEADS },
    extent: FigureExtent::Stack,
    options: &["atlas"],
    fields: |options, _, visit| {
        options.atlas.visit(visit);
        visit_color_map(options.color_map_mut(), "Cells of heads", visit);
    },
    said: None,
    color_map: spec::color_map,
    needs: spec::vectors,
    wants: &[],
    unavailable: spec::without_vectors,
    question: |topic| format!("Which kinds of heads are there over {}?", counted(topic.n_inputs.max(1), "input")),
    caveat: |_| "Numbers show what a head attends to, not what the model uses it for".to_owned(),
    sheet_text: |_| "Heads by numbers over all inputs",
    figures,
};

/// One figure of a stack.
fn figures(resolved: &ResolvedSpec<'_>) -> Result<Vec<NamedScene>, FigureError> {
    resolved.not_of_planes()?;
    let Some(spec) = resolved.capture.model().stack(resolved.stack) else { return Ok(Vec::new()) };
    let found = resolved.ask(CloudQuery::Statistics)?;
    let scene = AtlasScene {
        found: Arc::clone(&found),
        grid: (spec.layers.len(), spec.max_heads()),
        head: HeadId { stack: resolved.stack, ..resolved.ids()?.into_iter().next().unwrap_or_default() },
        options: resolved.spec.options.atlas,
        color_map: resolved.spec.color_map(),
    };
    let thresholds = resolved.spec.options.atlas.thresholds;
    let table = Box::new(move || table(&found, thresholds));
    Ok(vec![resolved.named(Box::new(scene), table, "Atlas".to_owned(), None)])
}

/// One row per head: of each number its value, standard error, count and rank.
fn table(found: &CloudResult, thresholds: Thresholds) -> Table {
    let CloudResult::Statistics(found) = found else { return Table::default() };
    let index = |name: &'static str, of: fn(&HeadId) -> usize| DataColumn {
        name: name.into(),
        values: DataValues::Index(found.heads.iter().map(|head| of(head) as u32).collect()),
    };
    let number = |column: &MetricColumn, what: &str, of: &dyn Fn(&RankedStatistic) -> Option<f64>| {
        let value = |cell: &Option<RankedStatistic>| cell.as_ref().and_then(of).map_or(f32::NAN, |value| value as f32);
        let name = format!("{}{what}", column.metric.name().replace('-', "_"));
        DataColumn { name: name.into(), values: DataValues::Number(column.cells.iter().map(value).collect()) }
    };
    let stacks = found.heads.iter().map(|head| head.stack.name().to_owned()).collect();
    let kinds = |head: &HeadId| {
        let kinds: Vec<&str> = found.kinds_of(*head, &thresholds).iter().map(|(metric, _)| metric.name()).collect();
        kinds.join(" ")
    };
    let mut columns = vec![
        DataColumn { name: "stack".into(), values: DataValues::Text(stacks) },
        index("layer", |head| head.layer),
        index("head", |head| head.head),
        DataColumn { name: "kinds".into(), values: DataValues::Text(found.heads.iter().map(kinds).collect()) },
    ];
    for column in &found.columns {
        columns.push(number(column, "", &|cell| Some(cell.statistic.value)));
        columns.push(number(column, "_error", &|cell| cell.statistic.error));
        columns.push(number(column, "_n", &|cell| Some(cell.statistic.n_rows as f64)));
        columns.push(number(column, "_rank", &|cell| Some(cell.rank as f64)));
    }
    Table { provenance: String::new(), columns }
}
