//! What attention costs: what the view is, and its figures of the heads that were chosen.

use std::sync::Arc;

use super::{CostFacts, CostScene, Curve, over_lengths, unavailable};
use crate::{
    capture::Site,
    figure::{
        ViewKind,
        data::{self, PartRow, Table},
        spec::{FigureError, NamedScene, ResolvedSpec},
        views::{Facts, FigureExtent, ViewGroup, ViewSpec, heads_text, spec},
    },
    ids::HeadId,
    text::capitalised,
};

/// The view.
pub const SPEC: ViewSpec = ViewSpec {
    kind: ViewKind::Cost,
    label: "Cost",
    name: "cost",
    former_names: &[],
    synonyms: &[
        "FLOP",
        "complexity",
        "quadratic",
        "memory",
        "low rank",
        "Linformer",
        "Reformer",
        "Performer",
        "window",
    ],
    help: "Work and memory by length, and how far cheaper approximations are from the pattern of a head",
    group: ViewGroup::Works,
    pages: None,
    facts: Facts::STEPS,
    extent: FigureExtent::Head,
    options: &["cost"],
    fields: |options, _, visit| options.cost.visit(visit),
    said: None,
    color_map: spec::color_map,
    needs: |_, _| vec![Site::Pattern, Site::Q, Site::K],
    wants: &[Site::V],
    unavailable,
    question: |topic| topic.costs(),
    caveat: |_| {
        "Formulas count products, not time; approximations are of a pattern that was computed in full".to_owned()
    },
    sheet_text: |_| "Cost",
    figures,
};

/// One figure per head.
fn figures(resolved: &ResolvedSpec<'_>) -> Result<Vec<NamedScene>, FigureError> {
    resolved.not_of_planes()?;
    let (capture, options) = (resolved.capture, &resolved.spec.options);
    let figure = |id: HeadId| {
        if let Some(why) = unavailable(capture, id.stack) {
            return Err(FigureError::Failed(why.to_owned()));
        }
        let facts = Arc::new(CostFacts::of(capture, id));
        let timing = resolved.measured.timing.clone().filter(|timing| timing.is_of(capture.model()));
        let scene = CostScene::new(facts, timing, options.cost, options.color_map());
        let of_table = scene.clone();
        let label = capitalised(&heads_text(&[id]));
        Ok(resolved.named(Box::new(scene), Box::new(move || table(&of_table)), label, Some(id)))
    };
    resolved.ids()?.into_iter().map(figure).collect()
}

/// One row per number of each part: lengths in tokens, ranks, buckets and features in the column `row`.
fn table(scene: &CostScene) -> Table {
    let facts = &scene.facts;
    let mut rows: Vec<PartRow> = Vec::new();
    let mut add = |part: &'static str, lines: &[Curve]| {
        for (name, values) in lines {
            rows.extend(values.iter().map(|(at, value)| (part, name.clone(), *at, 0, *value)));
        }
    };
    if let Some(timing) = &scene.timing {
        let measured = timing.measured.iter().map(|it| (it.n, it.secs)).collect();
        add("seconds", &[("measured".to_owned(), measured)]);
        if let Some(fit) = timing.fit() {
            add("seconds", &Vec::from_iter(over_lengths(fit.text(), |n| Some(fit.secs(n as f64)))));
        }
    }
    add("flop", &facts.work(scene.options));
    add("bytes", &facts.memory());
    add("rank", &scene.rank_lines());
    if let Some(of_head) = &facts.of_head {
        let same_top = of_head.ranks.iter().map(|(rank, errors)| (*rank, errors.same_top)).collect();
        add("rank", &[("same top key".to_owned(), same_top)]);
        add("hashing", &of_head.hashing);
        add("features", of_head.features.as_deref().unwrap_or(&[]));
    }
    if let Ok((patterns, errors)) = &scene.patterns {
        let drawn = scene.options.drawn.name();
        for (matrix, name) in patterns.iter().zip(["exact", drawn]) {
            let n_cols = matrix.n_cols().max(1);
            let of =
                |(at, value): (usize, &f32)| ("pattern", name.to_owned(), at / n_cols, at % n_cols, f64::from(*value));
            rows.extend(matrix.as_slice().iter().enumerate().map(of));
        }
        let mut error = |name: &str, value: f64| rows.push(("error", format!("{drawn}, {name}"), 0, 0, value));
        error("pattern", errors.frobenius);
        error("rows, half of the differences", errors.variation);
        error("same top key", errors.same_top);
        if let Some(mix) = errors.mix {
            error("weighted values", mix);
        }
    }
    data::parts(&rows)
}
