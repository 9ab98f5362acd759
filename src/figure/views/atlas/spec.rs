//! Atlas of heads: what the view is, and its figure.

use std::sync::Arc;

use super::AtlasScene;
use crate::{
    analysis::{
        cloud_query::{CloudQuery, CloudResult, KnownTable, OtherCloud},
        head_statistics::{
            ContrastCell, ContrastColumn, ContrastedTables, Families, MetricColumn, RankedStatistic, StackTable,
            Thresholds,
        },
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
    facts: Facts { contrasts: true, details: &[DetailsPart::Head], reads_folders: true, ..Facts::HEADS },
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
    question: |topic| match &topic.against {
        Some([first, second]) => format!("Which heads differ between {first} and {second}?"),
        None => format!("Which kinds of heads are there over {}?", counted(topic.n_inputs.max(1), "input")),
    },
    caveat: |_| "Numbers show what a head attends to, not what the model uses it for".to_owned(),
    sheet_text: |_| "Heads by numbers over all inputs",
    figures,
};

/// One figure of a stack.
fn figures(resolved: &ResolvedSpec<'_>) -> Result<Vec<NamedScene>, FigureError> {
    resolved.not_of_planes()?;
    let Some(spec) = resolved.capture.model().stack(resolved.stack) else { return Ok(Vec::new()) };
    let correction = resolved.spec.options.atlas.correction;
    let question = match &resolved.measured.against {
        Some(against) => CloudQuery::Contrast(OtherCloud(against.cloud.clone()), correction),
        None => CloudQuery::Statistics,
    };
    let found = resolved.ask(question)?;
    let options = resolved.spec.options.atlas;
    let families = if options.shows_families() {
        families_of(&*resolved.ask(CloudQuery::Families(KnownTable(Arc::clone(&found)), options.families))?)
    } else {
        None
    };
    let scene = AtlasScene {
        found: Arc::clone(&found),
        families: families.clone(),
        sides: resolved.measured.against.as_ref().map(|against| against.names.clone()),
        grid: (spec.layers.len(), spec.max_heads()),
        head: HeadId { stack: resolved.stack, ..resolved.ids()?.into_iter().next().unwrap_or_default() },
        options,
        color_map: resolved.spec.color_map(),
    };
    let table = Box::new(move || table(&found, families.as_deref(), &options.thresholds));
    Ok(vec![resolved.named(Box::new(scene), table, "all heads".to_owned(), None)])
}

fn families_of(found: &CloudResult) -> Option<Arc<Families>> {
    if let CloudResult::Families(families) = found { Some(Arc::clone(families)) } else { None }
}

/// One row per head: of each number its value, standard error, count and rank.
fn table(found: &CloudResult, families: Option<&Families>, thresholds: &Thresholds) -> Table {
    let found = match found {
        CloudResult::Statistics(found) => found,
        CloudResult::Contrast(found) => return contrasted(found, families, thresholds),
        _ => return Table::default(),
    };
    let number = |column: &MetricColumn, what: &str, of: &dyn Fn(&RankedStatistic) -> Option<f64>| {
        let value = |cell: &Option<RankedStatistic>| cell.as_ref().and_then(of).map_or(f32::NAN, |value| value as f32);
        let name = format!("{}{what}", column.metric.name().replace('-', "_"));
        DataColumn::new(name, DataValues::Number(column.cells.iter().map(value).collect()))
    };
    let mut columns = head_columns(&found.heads);
    columns.push(kinds_column("kinds", found, thresholds));
    columns.extend(families.map(|families| family_column(&found.heads, families)));
    for column in &found.columns {
        columns.push(number(column, "", &|cell| Some(cell.statistic.value)));
        columns.push(number(column, "_error", &|cell| cell.statistic.error));
        columns.push(number(column, "_n", &|cell| Some(cell.statistic.n_rows as f64)));
        columns.push(number(column, "_rank", &|cell| Some(cell.rank as f64)));
    }
    Table::of(columns)
}

/// One row per head: of each number its means over the inputs of both sides, and how they differ.
fn contrasted(found: &ContrastedTables, families: Option<&Families>, thresholds: &Thresholds) -> Table {
    let number = |column: &ContrastColumn, what: &str, of: fn(&ContrastCell) -> Option<f64>| {
        let value = |cell: &Option<ContrastCell>| cell.as_ref().and_then(of).map_or(f32::NAN, |value| value as f32);
        let name = format!("{}{what}", column.metric.name().replace('-', "_"));
        DataColumn::new(name, DataValues::Number(column.cells.iter().map(value).collect()))
    };
    let mut columns = head_columns(&found.contrast.heads);
    columns.push(kinds_column("kinds_a", &found.sides[0], thresholds));
    columns.push(kinds_column("kinds_b", &found.sides[1], thresholds));
    columns.extend(families.map(|families| family_column(&found.contrast.heads, families)));
    for column in &found.contrast.columns {
        columns.push(number(column, "_a", |cell| Some(cell.a.mean)));
        columns.push(number(column, "_b", |cell| Some(cell.b.mean)));
        columns.push(number(column, "_difference", |cell| Some(cell.difference())));
        columns.push(number(column, "_d", |cell| cell.contrast.map(|contrast| contrast.d)));
        columns.push(number(column, "_p", |cell| cell.contrast.map(|contrast| contrast.p)));
        columns.push(number(column, "_p_corrected", |cell| cell.corrected));
    }
    Table::of(columns)
}

/// Stack, layer and head.
fn head_columns(heads: &[HeadId]) -> Vec<DataColumn> {
    let index = |name: &'static str, of: fn(&HeadId) -> usize| {
        DataColumn::new(name, DataValues::Index(heads.iter().map(|head| of(head) as u32).collect()))
    };
    let stacks = heads.iter().map(|head| head.stack.name().to_owned()).collect();
    vec![
        DataColumn::new("stack", DataValues::Text(stacks)),
        index("layer", |head| head.layer),
        index("head", |head| head.head),
    ]
}

/// The family of each head, from 1.
fn family_column(heads: &[HeadId], families: &Families) -> DataColumn {
    let family = |head: &HeadId| families.of(*head).map_or(0, |nth| nth as u32 + 1);
    DataColumn::new("family", DataValues::Index(heads.iter().map(family).collect()))
}

/// What heads are called.
fn kinds_column(name: &'static str, table: &StackTable, thresholds: &Thresholds) -> DataColumn {
    let kinds = |head: &HeadId| {
        let kinds: Vec<&str> = table.kinds_of(*head, thresholds).iter().map(|(metric, _)| metric.name()).collect();
        kinds.join(" ")
    };
    DataColumn::new(name, DataValues::Text(table.heads.iter().map(kinds).collect()))
}
