//! How a text was written: what the view is, and its figure.

use std::sync::Arc;

use super::WritingScene;
use crate::{
    analysis::written::{Step, WrittenText},
    capture::{Capture, Site},
    figure::{
        ViewKind,
        data::{DataColumn, DataValues, Table},
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

/// One row per step and token: the written one, then its rivals.
fn table(text: &WrittenText) -> Table {
    let rows: Vec<(usize, &Step, usize)> = text
        .steps
        .iter()
        .enumerate()
        .flat_map(|(nth, step)| (0..=step.rivals.len()).map(move |row| (nth, step, row)))
        .collect();
    let rival = |step: &Step, row: usize| row.checked_sub(1).map(|rival| step.rivals[rival].clone());
    let column = |name: &'static str, values| DataColumn { name: name.into(), values };
    let texts = |of: &dyn Fn(&Step, usize) -> String| {
        DataValues::Text(rows.iter().map(|(_, step, row)| of(step, *row)).collect())
    };
    let columns = vec![
        column("step", DataValues::Index(rows.iter().map(|row| row.0 as u32).collect())),
        column("position", DataValues::Index(rows.iter().map(|row| row.1.query as u32 + 1).collect())),
        column(
            "came",
            texts(&|step, row| if row == 0 { step.origin.name().to_owned() } else { "not written".to_owned() }),
        ),
        column("token", texts(&|step, row| rival(step, row).map_or_else(|| step.text.clone(), |item| item.label))),
        column(
            "id",
            texts(&|step, row| {
                rival(step, row).map(|item| item.id).or(step.id).map_or_else(String::new, |id| id.to_string())
            }),
        ),
        column(
            "probability",
            DataValues::Number(
                rows.iter()
                    .map(|(_, step, row)| match rival(step, *row) {
                        Some(item) => item.value,
                        None => step.probability.unwrap_or(f32::NAN),
                    })
                    .collect(),
            ),
        ),
    ];
    Table { provenance: String::new(), columns }
}
