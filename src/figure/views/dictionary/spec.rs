//! Features over a corpus: what the view is, and its figure of one of them.

use std::sync::Arc;

use super::FeatureScene;
use crate::{
    analysis::{
        explain::report::{ColumnValues, Value},
        sae::{CorpusFeatures, FEATURES},
    },
    capture::{Capture, Site},
    figure::{
        ViewKind,
        data::{self, PartRow, Table},
        spec::{FigureError, NamedScene, ResolvedSpec},
        views::{Facts, FigureExtent, Study, ViewGroup, ViewSpec, spec},
    },
    ids::StackKind,
    text::counted,
};

/// The view.
pub const SPEC: ViewSpec = ViewSpec {
    kind: ViewKind::Dictionary,
    label: "Features",
    name: "features",
    former_names: &[],
    synonyms: &["SAE", "sparse autoencoder", "dictionary", "SAELens", "latents", "feature dashboard", "Neuronpedia"],
    help: "Features of a sparse autoencoder: a list, where each fires most, what it raises and lowers, what is near to it",
    group: ViewGroup::Corpus,
    pages: None,
    facts: Facts::studies(Study::Features),
    extent: FigureExtent::Stack,
    options: &["dictionary"],
    fields: |options, _, visit| options.dictionary.visit(visit),
    said: None,
    color_map: spec::color_map,
    needs: |_, _| vec![Site::Pattern],
    wants: &[],
    unavailable,
    question: |topic| match topic.options.shown_feature() {
        Some(feature) => format!("When does feature {feature} fire?"),
        None => "When does each feature fire?".to_owned(),
    },
    caveat: |_| FEATURES.caveat.trim_end_matches('.').to_owned(),
    sheet_text: |_| "Features of a dictionary",
    figures,
};

/// Dictionaries are of vectors of layers.
fn unavailable(capture: &Capture, stack: StackKind) -> Option<&'static str> {
    let layers = capture.model().stack(stack).map_or(0, |stack| stack.layers.len());
    (layers == 0).then_some("This model has no layers whose vectors a dictionary could take apart")
}

/// One figure of the feature that is chosen.
fn figures(resolved: &ResolvedSpec<'_>) -> Result<Vec<NamedScene>, FigureError> {
    resolved.not_of_planes()?;
    let failed = |what: &str| FigureError::Failed(what.to_owned());
    let Some(found) = resolved.measured.features.as_ref() else {
        return Err(failed("no features were counted: begin in the view, or name a --model, a --corpus and an --sae"));
    };
    let choices = resolved.spec.options.listed();
    let first = || found.listed(choices.order, "").first().copied();
    let Some(feature) = choices.feature.or_else(first) else {
        return Err(failed("no feature fires in any of the texts"));
    };
    found.check(feature).map_err(FigureError::Failed)?;
    let said = |report: &crate::analysis::explain::report::Report| {
        report.parameters.iter().any(|(name, value)| name == "feature" && *value == feature)
    };
    let reports = resolved.answers.iter().filter_map(|it| it.report.as_ref());
    let report = reports.into_iter().find(|report| report.method.name == "feature" && said(report)).cloned();
    let told = report.ok_or_else(|| "What it writes and reads was not asked for".to_owned());
    let fires_with = Arc::new(found.activations.correlated(feature, found.d_sae));
    let scene = FeatureScene::new(Arc::clone(found), (feature, Some(fires_with)), told, resolved.capture);
    let of_table = scene.clone();
    let name = format!("Feature {feature}, {}", counted(found.counts.n_tokens, "token"));
    Ok(vec![resolved.named(Box::new(scene), Box::new(move || table(&of_table)), name, None)])
}

/// A row for each number: activations of its texts by text and position, and what is near to it by id.
fn table(scene: &FeatureScene) -> Table {
    let CorpusFeatures { counts, activations, .. } = &*scene.found;
    let mut rows: Vec<PartRow> = Vec::new();
    let count = &counts.features[scene.feature];
    rows.push(("feature", "density".to_owned(), scene.feature, 0, scene.found.density(scene.feature)));
    rows.push(("feature", "mean".to_owned(), scene.feature, 0, count.mean()));
    for at in &count.texts {
        let of_text = activations.in_text(at.text, scene.feature).into_iter().filter(|(_, value)| *value != 0.0);
        rows.extend(of_text.map(|(position, value)| {
            let token = scene.found.texts.get(at.text).and_then(|text| text.get(position)).cloned();
            ("text", token.unwrap_or_default(), at.text, position, f64::from(value))
        }));
    }
    rows.extend(scene.correlated().iter().map(|(id, r)| ("correlated", "Pearson".to_owned(), *id, 0, *r)));
    let Ok(report) = &scene.told else { return data::parts(&rows) };
    for (part, id, number) in
        [("similar", "feature", "cosine"), ("neurons", "neuron", "cosine"), ("basis", "index", "share")]
    {
        let Some(Value::Table(columns)) = report.value(part) else { continue };
        let cells = |name: &str| columns.iter().find(|column| column.name == name).map(|column| &column.cells);
        if let (Some(ColumnValues::Index(ids)), Some(ColumnValues::Number(numbers))) = (cells(id), cells(number)) {
            rows.extend(ids.iter().zip(numbers).map(|(id, value)| (part, number.to_owned(), *id, 0, *value)));
        }
    }
    if let Some(Value::Tokens { values, .. }) = report.value("sources") {
        let of = |(at, value): (usize, &f32)| ("sources", String::new(), at, 0, f64::from(*value));
        rows.extend(values.iter().enumerate().map(of));
    }
    data::parts(&rows)
}
