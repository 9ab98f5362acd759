//! How a text was written: what the view is, and its figure.

use std::sync::Arc;

use super::WritingScene;
use crate::{
    analysis::written::{Step, WrittenText},
    capture::{Capture, Site},
    figure::{
        ViewKind,
        data::{DataValues, Table},
        spec::{FigureError, NamedScene, ResolvedSpec},
        views::{Facts, FigureExtent, ViewGroup, ViewSpec, spec},
    },
    ids::StackKind,
    spec::HeadKind,
};

/// The view.
pub const SPEC: ViewSpec = ViewSpec {
    kind: ViewKind::Writing,
    label: "Writing",
    name: "writing",
    former_names: &[],
    synonyms: &["generation", "timeline", "steps", "candidates", "decoding", "next token", "teacher forcing"],
    help: "How a text was written: each token with its probability, and those that were nearly written",
    group: ViewGroup::Look,
    pages: None,
    facts: Facts::WRITTEN,
    extent: FigureExtent::Stack,
    options: &["writing"],
    fields: |options, _, visit| options.writing.visit(visit),
    said: None,
    color_map: spec::color_map,
    needs: |_, _| vec![Site::Pattern],
    wants: &[],
    unavailable,
    question: |topic| topic.was_written(),
    caveat: |topic| match topic.capture.generated() {
        Some(_) => "Probabilities are those after the rules of the checkpoint, before a temperature".to_owned(),
        None => "Probabilities are those of the model, without rules of the checkpoint for what it writes".to_owned(),
    },
    sheet_text: |_| "Writing",
    figures,
};

/// Why there is no text; `None` where there is one, or the model can write one.
fn unavailable(capture: &Capture, _: StackKind) -> Option<&'static str> {
    let writes = capture.generated().is_some() || capture.model().head == Some(HeadKind::NextToken);
    (!writes).then_some("This model does not write: it has no head for the next token")
}

/// One figure of all steps.
fn figures(resolved: &ResolvedSpec<'_>) -> Result<Vec<NamedScene>, FigureError> {
    resolved.not_of_planes()?;
    let text = WrittenText::of(resolved.capture).map(Arc::new);
    let text =
        text.ok_or_else(|| FigureError::Failed("nothing was written: --generate lets the model write".into()))?;
    let query = resolved.pinned().query.filter(|_| resolved.stack.query_side() == text.side);
    let scene = WritingScene::new(Arc::clone(&text), query, resolved.spec.options.writing);
    Ok(vec![resolved.named(Box::new(scene), Box::new(move || table(&text)), "Steps".to_owned(), None)])
}

/// A token of a step.
struct Row {
    step: usize,
    position: usize,
    came: String,
    token: String,
    id: Option<u32>,
    probability: f32,
}

/// One row per step and token: the written one, then its rivals; then the other texts that were sampled.
fn table(text: &WrittenText) -> Table {
    let of_step = |(nth, step): (usize, &Step)| {
        let row = |came: &str, token: &str, id, probability: Option<f32>| Row {
            step: nth,
            position: step.query + 1,
            came: came.to_owned(),
            token: token.to_owned(),
            id,
            probability: probability.unwrap_or(f32::NAN),
        };
        let rivals =
            step.rivals.iter().map(|rival| row("not written", &rival.label, Some(rival.id), Some(rival.value)));
        std::iter::once(row(step.origin.name(), &step.text, step.id, step.probability))
            .chain(rivals)
            .collect::<Vec<_>>()
    };
    let n_given = text.n_given();
    let first = text.steps.first().map_or(0, |step| step.query + 1);
    let others = text.samples.iter().enumerate().skip(1).flat_map(|(nth, tokens)| {
        tokens.iter().enumerate().map(move |(at, token)| Row {
            step: n_given + at,
            position: first + n_given + at,
            came: format!("text {}", nth + 1),
            token: token.label.clone(),
            id: Some(token.id),
            probability: token.value,
        })
    });
    let rows: Vec<Row> = text.steps.iter().enumerate().flat_map(of_step).chain(others).collect();
    let texts = |of: &dyn Fn(&Row) -> String| DataValues::Text(rows.iter().map(of).collect());
    Table::of([
        ("step", DataValues::Index(rows.iter().map(|row| row.step as u32).collect())),
        ("position", DataValues::Index(rows.iter().map(|row| row.position as u32).collect())),
        ("came", texts(&|row| row.came.clone())),
        ("token", texts(&|row| row.token.clone())),
        ("id", texts(&|row| row.id.map_or_else(String::new, |id| id.to_string()))),
        ("probability", DataValues::Number(rows.iter().map(|row| row.probability).collect())),
    ])
}
