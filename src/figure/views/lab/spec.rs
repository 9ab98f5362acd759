//! The answers of the laboratory: what the view is, and its figure.

use std::sync::Arc;

use serde_json::Value;

use super::{Answered, LabOptions, LabScene, compose, logit_name, silent};
use crate::{
    analysis::explain::report::{LabQuestion, Report, ReportRow},
    capture::Capture,
    figure::{
        Captions, ViewKind,
        data::{DataColumn, DataValues, Table},
        spec::{FigureError, NamedScene, ResolvedSpec},
        views::{Facts, FigureExtent, Pages, Topic, ViewGroup, ViewSpec, spec},
    },
    ids::{HeadId, Side},
};

/// The view.
pub const SPEC: ViewSpec = ViewSpec {
    kind: ViewKind::Lab,
    label: "Explain",
    name: "explain",
    former_names: &["lab"],
    synonyms: &[
        "attribution",
        "causal tracing",
        "feature importance",
        "head importance",
        "integrated gradients",
        "laboratory",
        "logit lens",
        "rollout",
        "saliency",
    ],
    help: "What a prediction depends on, by several methods side by side",
    group: ViewGroup::Explain,
    pages: Some(Pages {
        n: LabQuestion::ALL.len(),
        label: |page| LabQuestion::ALL[page].short(),
        help: |page| LabQuestion::ALL[page].text(),
        shown: |options| options.lab.question as usize,
        show: |options, page| options.lab.question = LabQuestion::ALL[page],
    }),
    facts: Facts::ANSWERS,
    extent: FigureExtent::Head,
    options: &["lab"],
    fields: |options, scope, visit| options.lab.visit(scope, visit),
    said: Some(|options| options.lab.said()),
    color_map: spec::color_map,
    needs: |_, _| Vec::new(),
    wants: &[],
    unavailable: spec::available,
    question,
    caveat: |_| "Methods answer different questions and need not agree".to_owned(),
    sheet_text: |_| "Explanations",
    figures,
};

/// The question of the page, with what it is about.
fn question(topic: &Topic<'_>) -> String {
    let (question, which) = (topic.options.lab.question, topic.which());
    match (question, &topic.output) {
        (LabQuestion::Depends, Some(output)) if topic.capture.image().is_some() => {
            format!("Which patches does {output} depend on?")
        }
        (LabQuestion::Depends, Some(output)) => format!("Which words does {output} depend on?"),
        (LabQuestion::Believe, Some(output)) => format!("Does {which} matter for {output}? Do its weights explain it?"),
        (LabQuestion::Fact, Some(output)) => format!("In which layer does {output} appear?"),
        (LabQuestion::Moves, _) => format!("How much does {which} write, and from where?"),
        (LabQuestion::Depends | LabQuestion::Believe | LabQuestion::Fact, None)
        | (LabQuestion::Aligns | LabQuestion::Words, _) => question.text().to_owned(),
    }
}

/// All answers on one page.
fn figures(resolved: &ResolvedSpec<'_>) -> Result<Vec<NamedScene>, FigureError> {
    let LabOptions { question, special, .. } = resolved.spec.options.lab;
    let there: Vec<Answered> = resolved.answers.iter().filter(|answer| answer.report.is_some()).cloned().collect();
    if there.is_empty() {
        return Err(FigureError::Failed("no method has a result yet, so there is nothing to draw".to_owned()));
    }
    let layer = resolved.layers.first().copied().unwrap_or(0);
    let head = resolved.heads.as_ref().and_then(|heads| heads.first().copied()).unwrap_or(0);
    let head = HeadId { stack: resolved.stack, layer, head };
    let silent: Vec<&str> = silent(resolved.capture, question, &there).map(|answer| answer.title).collect();
    if silent.len() == there.len() {
        let verb = if silent.len() == 1 { "has" } else { "have" };
        return Err(FigureError::Failed(format!(
            "{} {verb} no values for single tokens here, so there is nothing to draw: save the numbers with --data",
            silent.join(" and ")
        )));
    }
    let sections = compose(resolved.capture, question, &there, (head, special));
    if sections.iter().all(|section| section.parts.is_empty()) {
        return Err(FigureError::Failed("the results have nothing to draw: save them as data".to_owned()));
    }
    let target = there.iter().find_map(|answer| target_text(resolved.capture, answer.report.as_deref()?));
    let titles: Vec<&str> = there.iter().map(|answer| answer.title).collect();
    let what = format!("{}.", titles.join(", "));
    let of = target.map_or_else(String::new, |target| format!(" Explained: {target}."));
    let notes: Vec<String> = sections.iter().flat_map(|section| &section.notes).map(|it| sentence(it)).collect();
    let short = [format!("{what}{of}")].into_iter().chain(notes).collect::<Vec<_>>().join(" ");
    let mut caveats: Vec<&str> = there.iter().filter_map(|it| Some(it.report.as_ref()?.method.caveat)).collect();
    caveats.dedup();
    let full = format!("{short} {}", caveats.join(" "));
    let scene = LabScene { sections, captions: Captions { short, full } };
    let capture = resolved.capture.clone();
    let label = question.short().to_owned();
    Ok(vec![resolved.named(Box::new(scene), Box::new(move || table(&capture, &there)), label, None)])
}

fn sentence(text: &str) -> String {
    format!("{}.", crate::text::capitalised(text.trim_end_matches('.')))
}

/// The output that is explained: the logit of a class or a token, where it is, what it is told apart from.
pub(in crate::figure) fn target_text(capture: &Capture, report: &Report) -> Option<String> {
    let parameter = |name: &str| report.parameters.iter().find(|(known, _)| known == name).map(|(_, value)| value);
    parameter("class")?.get("label")?;
    let mut text = logit_name(report);
    let by_position = capture.prediction()?.rows.first()?.position.is_some();
    if let Some(position) = parameter("position").and_then(Value::as_u64).filter(|_| by_position) {
        text = format!("{text} at position {position}");
    }
    Some(text)
}

/// One row per number of every answer.
fn table(capture: &Capture, answers: &[Answered]) -> Table {
    let mut texts: [Vec<String>; 12] = Default::default();
    let mut numbers = Vec::new();
    let token = |side: Side, at: usize| capture.tokens(side).get(at).map_or_else(String::new, |it| it.text.clone());
    for report in answers.iter().filter_map(|answer| answer.report.clone()) {
        let report: Arc<Report> = report;
        let options: Vec<String> = report.parameters.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let options = options.join(" ");
        for row in report.rows() {
            let ReportRow { number, text, .. } = &row;
            numbers.push(number.map_or(f32::NAN, |number| number as f32));
            let own = [report.method.name.to_owned(), options.clone()];
            let cells = row.cells(token);
            let said = text.clone().unwrap_or_default();
            for (column, cell) in texts.iter_mut().zip(own.into_iter().chain(cells.into_iter().take(9)).chain([said])) {
                column.push(cell);
            }
        }
    }
    let names = [
        "method",
        "options",
        "value",
        "layer",
        "head",
        "row",
        "row_side",
        "row_token",
        "column",
        "column_side",
        "column_token",
        "text",
    ];
    let mut columns: Vec<DataColumn> =
        names.into_iter().zip(texts).map(|(name, cells)| DataColumn::new(name, DataValues::Text(cells))).collect();
    columns.insert(columns.len() - 1, DataColumn::new("result", DataValues::Number(numbers)));
    Table::of(columns)
}
