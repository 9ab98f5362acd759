//! One weight step by step: what the view is, and its figures of the heads that were chosen.

use std::sync::Arc;

use super::{WhyScene, parts::Parts};
use crate::{
    analysis::chain::{Chain, Step},
    capture::Site,
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
    kind: ViewKind::Why,
    label: "Why this weight",
    name: "why",
    former_names: &[],
    synonyms: &["neuron view", "step by step", "query key value", "scaled dot product", "softmax"],
    help: "Steps from one query to its weights and on to the residual stream, with their numbers",
    group: ViewGroup::Works,
    pages: None,
    facts: Facts { takes_scores_apart: true, ..Facts::STEPS },
    extent: FigureExtent::Head,
    options: &["why"],
    fields: |options, _, visit| options.why.visit(visit),
    said: None,
    color_map: spec::color_map,
    needs: |_, _| vec![Site::Pattern, Site::Q, Site::K, Site::V],
    wants: &[Site::ResidPre, Site::Scores, Site::Z, Site::AttnOut, Site::ResidMid],
    unavailable: spec::without_scores,
    question: |topic| topic.comes_about(),
    caveat: |topic| topic.of_steps(),
    sheet_text: |_| "Steps from queries to weights",
    figures,
};

/// One figure per head.
fn figures(resolved: &ResolvedSpec<'_>) -> Result<Vec<NamedScene>, FigureError> {
    resolved.not_of_planes()?;
    let (capture, options) = (resolved.capture, resolved.spec.options.why);
    let pinned = resolved.pinned();
    let figure = |id: HeadId| {
        let pair = Chain::pair(capture, id, [pinned.query, pinned.key]);
        let chain = pair.and_then(|(query, key)| Chain::of(capture, id, query, key, options.against));
        let chain = chain.ok_or_else(|| FigureError::Failed(format!("no attention of {id} was recorded")))?;
        let scene = WhyScene::new(capture, Arc::new(chain), resolved.spec.color_map(), options);
        let title = scene.parts_title(options.parts);
        let parts = Parts::among(resolved.answers, id).map(|report| Parts::of(&title, capture, id, report));
        let scene = scene.with_parts(parts);
        let of_table = scene.clone();
        let label = capitalised(&heads_text(&[id]));
        Ok(resolved.named(Box::new(scene), Box::new(move || table(&of_table)), label, Some(id)))
    };
    resolved.ids()?.into_iter().map(figure).collect()
}

/// One row per value of each step that is walked, and per part of the score.
fn table(scene: &WhyScene) -> Table {
    let chain = &scene.chain;
    let of_step = |(nth, step): (usize, &'_ Step)| -> Vec<Row> {
        let row = |(at, value): (usize, &f32)| {
            let column_name = scene.column_name(step.over, at);
            Row { step: nth, name: scene.name(step), column: at, column_name, value: *value }
        };
        step.values.iter().enumerate().map(row).collect()
    };
    let mut rows: Vec<Row> = chain.steps.iter().take(scene.walked).enumerate().flat_map(of_step).collect();
    // Parts of the score stand behind the steps.
    let parts = scene.parts.as_ref().map(Parts::rows).unwrap_or_default();
    let of_part = |(column, (name, column_name, value)): (usize, (String, String, f32))| Row {
        step: chain.steps.len(),
        name,
        column,
        column_name,
        value,
    };
    rows.extend(parts.into_iter().enumerate().map(of_part));
    let index = |of: &dyn Fn(&Row) -> usize| DataValues::Index(rows.iter().map(|row| of(row) as u32).collect());
    let text = |of: &dyn Fn(&Row) -> String| DataValues::Text(rows.iter().map(of).collect());
    Table::of([
        ("stack", text(&|_| chain.head.stack.name().to_owned())),
        ("layer", index(&|_| chain.head.layer)),
        ("head", index(&|_| chain.head.head)),
        ("query", index(&|_| chain.query)),
        ("key", index(&|_| chain.key)),
        ("step", index(&|row| row.step)),
        ("name", text(&|row| row.name.clone())),
        ("column", index(&|row| row.column)),
        ("column_name", text(&|row| row.column_name.clone())),
        ("value", DataValues::Number(rows.iter().map(|row| row.value).collect())),
    ])
}

/// One number of the table.
struct Row {
    step: usize,
    name: String,
    column: usize,
    column_name: String,
    value: f32,
}
