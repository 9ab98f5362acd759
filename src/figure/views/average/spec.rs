//! Mean attention: what the view is, and its figures of the heads that were chosen.

use std::sync::Arc;

use super::AverageScene;
use crate::{
    analysis::cloud_query::{Average, CloudQuery, CloudResult},
    figure::{
        ViewKind,
        data::{DataValues, Table},
        spec::{FigureError, NamedScene, ResolvedSpec},
        views::{DetailsPart, Facts, FigureExtent, ViewGroup, ViewSpec, heads_text, heatmap::visit_color_map, spec},
    },
    ids::HeadId,
    text::capitalised,
};

/// The view.
pub const SPEC: ViewSpec = ViewSpec {
    kind: ViewKind::Average,
    label: "Average pattern",
    name: "average",
    former_names: &[],
    synonyms: &["mean attention", "average attention"],
    help: "Mean attention of a head over all inputs, by position and by distance",
    group: ViewGroup::Corpus,
    pages: None,
    facts: Facts { details: &[DetailsPart::Input], ..Facts::HEADS },
    extent: FigureExtent::Head,
    options: &["average"],
    fields: |options, scope, visit| {
        visit_color_map(options.color_map_mut(), "Mean attention", visit);
        options.average.visit(scope, visit);
    },
    said: Some(|options| options.average.said()),
    color_map: spec::color_map,
    needs: spec::vectors,
    wants: &[],
    unavailable: spec::available,
    question: |topic| topic.averages(),
    caveat: |topic| topic.of_means(),
    sheet_text: |_| "Mean attention",
    figures,
};

/// One figure per head.
fn figures(resolved: &ResolvedSpec<'_>) -> Result<Vec<NamedScene>, FigureError> {
    resolved.not_of_planes()?;
    let options = &resolved.spec.options.average;
    options.check_told(resolved.cloud)?;
    let figure = |id: HeadId| {
        let found = resolved.ask(CloudQuery::Average(id, options.annotation.clone()))?;
        let scene = AverageScene {
            found: Arc::clone(&found),
            n_inputs: resolved.cloud.n_inputs(),
            options: options.clone(),
            color_map: resolved.spec.color_map(),
            mask: resolved.capture.model().mask_of(id).unwrap_or_default(),
        };
        let table = Box::new(move || match &*found {
            CloudResult::Average(average) => table(average),
            _ => Table::default(),
        });
        Ok(resolved.named(Box::new(scene), table, capitalised(&heads_text(&[id])), Some(id)))
    };
    resolved.ids()?.into_iter().map(figure).collect()
}

/// Mean weights between positions, then by offset: of all inputs, and of each value of the annotation.
fn table(average: &Average) -> Table {
    let (mut part, mut value, mut query, mut key, mut weight, mut deviation, mut n) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (row, weights) in average.positions.pattern.rows().enumerate() {
        for (col, mean) in weights.iter().enumerate() {
            part.push("positions".to_owned());
            value.push(String::new());
            query.push(row as f32);
            key.push(col as f32);
            weight.push(*mean);
            deviation.push(average.positions.deviation.get(row, col).unwrap_or(0.0));
            n.push(average.positions.n_inputs[row] as f32);
        }
    }
    let groups = average.groups.iter().map(|(value, mean)| (value.as_str(), mean));
    for (name, mean) in std::iter::once(("", &average.offsets)).chain(groups) {
        for ((offset, w), pairs) in mean.offsets.iter().zip(&mean.weights).zip(&mean.n_pairs) {
            part.push("offsets".to_owned());
            value.push(name.to_owned());
            query.push(0.0);
            key.push(*offset as f32);
            weight.push(*w);
            deviation.push(f32::NAN);
            n.push(*pairs as f32);
        }
    }
    let head = average.head;
    let rows = part.len();
    Table::of([
        ("stack", DataValues::Text(vec![head.stack.name().to_owned(); rows])),
        ("layer", DataValues::Index(vec![head.layer as u32; rows])),
        ("head", DataValues::Index(vec![head.head as u32; rows])),
        ("part", DataValues::Text(part)),
        ("value", DataValues::Text(value)),
        ("query", DataValues::Number(query)),
        ("key", DataValues::Number(key)),
        ("weight", DataValues::Number(weight)),
        ("deviation", DataValues::Number(deviation)),
        ("n", DataValues::Number(n)),
    ])
}
