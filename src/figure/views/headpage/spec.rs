//! The page of a head: what the view is, and its figures of the heads that were chosen.

use std::{borrow::Cow, sync::Arc};

use super::{
    HeadScene,
    parts::{EffectPart, NO_MODEL, WrittenPart, among},
};
use crate::{
    analysis::cloud_query::{CloudQuery, CloudResult},
    figure::{
        ViewKind,
        data::{DataValues, Table},
        spec::{FigureError, NamedScene, ResolvedSpec},
        views::{DetailsPart, Facts, FigureExtent, ViewGroup, ViewSpec, heads_text, spec},
    },
    ids::HeadId,
    text::{capitalised, counted},
};

/// The view.
pub const SPEC: ViewSpec = ViewSpec {
    kind: ViewKind::HeadPage,
    label: "Head page",
    name: "head",
    former_names: &[],
    synonyms: &[
        "top activating sequences",
        "max activating examples",
        "strongest pairs",
        "head dictionary",
        "OV circuit",
        "copying score",
    ],
    help: "One head over all inputs: where it is most active, on which pairs and tokens, how far and how strongly",
    group: ViewGroup::Heads,
    pages: None,
    facts: Facts {
        tells_effects: true,
        details: &[DetailsPart::Selection, DetailsPart::Head],
        reads_folders: true,
        ..Facts::HEADS
    },
    extent: FigureExtent::Head,
    options: &["headpage"],
    fields: |options, _, visit| options.headpage.visit(visit),
    said: None,
    color_map: spec::color_map,
    needs: spec::vectors,
    wants: &[],
    unavailable: spec::without_vectors,
    question: |topic| format!("Where is {} active over {}?", topic.which(), counted(topic.n_inputs.max(1), "input")),
    caveat: |_| "A page shows what a head attends to, not what the model uses it for".to_owned(),
    sheet_text: |_| "Heads over all inputs",
    figures,
};

/// One figure per head.
fn figures(resolved: &ResolvedSpec<'_>) -> Result<Vec<NamedScene>, FigureError> {
    resolved.not_of_planes()?;
    let statistics = resolved.ask(CloudQuery::Statistics)?;
    let figure = |id: HeadId| {
        let found = resolved.ask(CloudQuery::Page(id))?;
        let scene = HeadScene {
            found: Arc::clone(&found),
            statistics: Some(Arc::clone(&statistics)),
            options: resolved.spec.options.headpage,
            tried: None,
            written: among(resolved.answers, "writes", id)
                .map(|report| Arc::new(WrittenPart::of(report)))
                .ok_or(Cow::Borrowed(NO_MODEL)),
            effect: among(resolved.answers, "head-effect", id)
                .map(|report| Arc::new(EffectPart::of(resolved.capture, id, report)))
                .ok_or(Cow::Borrowed(NO_MODEL)),
            hovered: None,
        };
        let table = Box::new(move || table(&found));
        Ok(resolved.named(Box::new(scene), table, capitalised(&heads_text(&[id])), Some(id)))
    };
    resolved.ids()?.into_iter().map(figure).collect()
}

/// One row per input that has an activation, the most active first.
fn table(found: &CloudResult) -> Table {
    let CloudResult::Page(page) = found else { return Table::default() };
    let ranked: Vec<(usize, usize)> = page.intervals.ranked().collect();
    Table::of([
        ("input", DataValues::Index(ranked.iter().map(|(input, _)| *input as u32).collect())),
        ("interval", DataValues::Index(ranked.iter().map(|(_, interval)| *interval as u32).collect())),
        ("activation", DataValues::Number(ranked.iter().map(|(input, _)| page.activations[*input]).collect())),
    ])
}
