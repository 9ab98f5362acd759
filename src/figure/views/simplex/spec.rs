//! What makes scores weights: what the view is, and its figures of the heads that were chosen.

use std::sync::Arc;

use super::{SimplexScene, draw};
use crate::{
    analysis::{
        chain::Chain,
        simplex::{Rule, ScoreRow, Spread},
    },
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
    kind: ViewKind::Simplex,
    label: "Normalisers",
    name: "simplex",
    former_names: &[],
    synonyms: &["softmax", "sparsemax", "entmax", "sigmoid", "temperature", "Jacobian", "scaling", "triangle"],
    help: "What softmax and others make of the scores of one query, with their Jacobians and the scale",
    group: ViewGroup::Works,
    pages: None,
    facts: Facts::STEPS,
    extent: FigureExtent::Head,
    options: &["simplex"],
    fields: |options, _, visit| options.simplex.visit(visit),
    said: None,
    color_map: spec::color_map,
    needs: |_, _| vec![Site::Pattern, Site::Q, Site::K],
    wants: &[Site::Scores],
    unavailable: spec::without_scores,
    question: |topic| topic.normalises(),
    caveat: |_| "Three keys of a row: their scores are normalised among themselves".to_owned(),
    sheet_text: |_| "Normalisers",
    figures,
};

/// One figure per head.
fn figures(resolved: &ResolvedSpec<'_>) -> Result<Vec<NamedScene>, FigureError> {
    resolved.not_of_planes()?;
    let (capture, options) = (resolved.capture, resolved.spec.options.simplex);
    let pinned = resolved.pinned();
    let figure = |id: HeadId| {
        let pair = Chain::pair(capture, id, [pinned.query, pinned.key]);
        let row = pair.and_then(|(query, _)| ScoreRow::of(capture, id, query, pinned.key));
        let row = row.ok_or_else(|| FigureError::Failed(format!("no scores of {id} were recorded")))?;
        let spreads = Spread::around_scale(capture, id).map(Arc::new);
        let scene = SimplexScene::new(capture, Arc::new(row), spreads, options, None);
        let of_table = scene.clone();
        let label = capitalised(&heads_text(&[id]));
        Ok(resolved.named(Box::new(scene), Box::new(move || table(&of_table)), label, Some(id)))
    };
    resolved.ids()?.into_iter().map(figure).collect()
}

/// One row per number of each part.
fn table(scene: &SimplexScene) -> Table {
    let row = &scene.row;
    let name = |rule: Rule| scene.options.title(rule);
    let mut rows: Vec<(&'static str, String, String, f64)> = Vec::new();
    if let Some(scores) = scene.three() {
        for rule in Rule::ALL {
            let weights = row.keys.iter().zip(scene.of_three(rule, scores));
            rows.extend(weights.map(|(key, weight)| ("simplex", name(rule), scene.keys[*key].clone(), weight)));
        }
        rows.push(("simplex", "mass of the row".to_owned(), String::new(), row.mass()));
    }
    for rule in Rule::ALL {
        rows.extend(draw::curve(scene, rule).map(|[t, weight]| ("curves", name(rule), t.to_string(), weight)));
    }
    for (key, score) in row.scores.iter().enumerate() {
        rows.push(("row", "score".to_owned(), scene.keys[key].clone(), *score));
        rows.push(("row", "weight".to_owned(), scene.keys[key].clone(), row.weights[key]));
    }
    for rule in Rule::ALL {
        let line = rule.threshold(&row.scores, scene.options.alpha);
        rows.extend(line.map(|line| ("row", name(rule), "line".to_owned(), line)));
    }
    let block = &scene.jacobian;
    for (weight, values) in block.keys.iter().zip(&block.values) {
        let of =
            |(key, value): (&usize, &f64)| ("jacobian", scene.keys[*weight].clone(), scene.keys[*key].clone(), *value);
        rows.extend(block.keys.iter().zip(values).map(of));
    }
    if let Some((spreads, scale)) = scene.spreads.as_deref() {
        rows.push(("scale", "scale".to_owned(), String::new(), f64::from(*scale)));
        for (spread, part) in spreads.iter().zip(["before", "after"]) {
            let measures = [
                ("mean", spread.mean),
                ("pooled variance", spread.pooled),
                ("mean variance within rows", spread.within),
                ("mean largest weight", spread.largest),
                ("mean entropy", spread.entropy),
            ];
            rows.extend(measures.map(|(name, value)| (part, name.to_owned(), String::new(), value)));
        }
    }
    let n = rows.len();
    let index = |value: usize| DataValues::Index(vec![value as u32; n]);
    let text = |of: &dyn Fn(usize) -> String| DataValues::Text((0..n).map(of).collect());
    Table::of([
        ("stack", text(&|_| row.head.stack.name().to_owned())),
        ("layer", index(row.head.layer)),
        ("head", index(row.head.head)),
        ("query", index(row.query)),
        ("part", text(&|at| rows[at].0.to_owned())),
        ("name", text(&|at| rows[at].1.clone())),
        ("of", text(&|at| rows[at].2.clone())),
        ("value", DataValues::Number(rows.iter().map(|row| row.3 as f32).collect())),
    ])
}
