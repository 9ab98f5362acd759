//! One weight step by step: what the view is, and its figures of the heads that were chosen.

use std::sync::Arc;

use super::WhyScene;
use crate::{
    analysis::chain::Chain,
    capture::Site,
    figure::{
        ViewKind,
        data::{DataColumn, DataValues, Table},
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
    facts: Facts::STEPS,
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
        let of_table = scene.clone();
        let label = capitalised(&heads_text(&[id]));
        Ok(resolved.named(Box::new(scene), Box::new(move || table(&of_table)), label, Some(id)))
    };
    resolved.ids()?.into_iter().map(figure).collect()
}

/// One row per value of each step that is walked.
fn table(scene: &WhyScene) -> Table {
    let chain = &scene.chain;
    let steps = chain.steps.iter().take(scene.walked).enumerate();
    let rows: Vec<_> = steps
        .flat_map(|(nth, step)| step.values.iter().enumerate().map(move |(at, value)| (nth, step, at, *value)))
        .collect();
    let column = |name: &'static str, values| DataColumn { name: name.into(), values };
    let index = |of: &dyn Fn(usize) -> usize| DataValues::Index((0..rows.len()).map(|row| of(row) as u32).collect());
    let text = |of: &dyn Fn(usize) -> String| DataValues::Text((0..rows.len()).map(of).collect());
    let columns = vec![
        column("stack", text(&|_| chain.head.stack.name().to_owned())),
        column("layer", index(&|_| chain.head.layer)),
        column("head", index(&|_| chain.head.head)),
        column("query", index(&|_| chain.query)),
        column("key", index(&|_| chain.key)),
        column("step", index(&|row| rows[row].0)),
        column("name", text(&|row| scene.name(rows[row].1))),
        column("column", index(&|row| rows[row].2)),
        column("column_name", text(&|row| scene.column_name(rows[row].1.over, rows[row].2))),
        column("value", DataValues::Number(rows.iter().map(|row| row.3).collect())),
    ];
    Table { provenance: String::new(), columns }
}
