//! Linear probes: what the view is, and its figure.

use std::sync::Arc;

use super::ProbeScene;
use crate::{
    analysis::probe::{PROBE, SiteProbe},
    capture::{Capture, Site},
    figure::{
        ViewKind,
        data::{DataValues, Table},
        spec::{FigureError, NamedScene, ResolvedSpec},
        views::{Facts, FigureExtent, Study, ViewGroup, ViewSpec, spec},
    },
    ids::StackKind,
    text::counted,
};

/// The view.
pub const SPEC: ViewSpec = ViewSpec {
    kind: ViewKind::Probe,
    label: "Probe",
    name: "probe",
    former_names: &[],
    synonyms: &["linear probe", "linear classifier", "diagnostic classifier", "probing", "control task", "selectivity"],
    help: "In which layer labels of a corpus can be told from the vectors by a linear classifier, beside random labels",
    group: ViewGroup::Corpus,
    pages: None,
    facts: Facts::studies(Study::Probe),
    extent: FigureExtent::Stack,
    options: &["probe"],
    fields: |options, _, visit| options.probe.visit(visit),
    said: None,
    color_map: spec::color_map,
    needs: |_, _| vec![Site::Pattern],
    wants: &[],
    unavailable,
    question: |topic| match topic.n_inputs {
        0 | 1 => "In which layer can labels be told?".to_owned(),
        n => format!("In which layer can the labels of {} be told?", counted(n, "input")),
    },
    caveat: |_| PROBE.caveat.trim_end_matches('.').to_owned(),
    sheet_text: |_| "Linear probes",
    figures,
};

/// A capture without attention or states has no layers to probe.
fn unavailable(capture: &Capture, stack: StackKind) -> Option<&'static str> {
    let layers = capture.model().stack(stack).map_or(0, |stack| stack.layers.len());
    (layers == 0).then_some("This model has no layers whose vectors could be probed")
}

/// One figure of all layers.
fn figures(resolved: &ResolvedSpec<'_>) -> Result<Vec<NamedScene>, FigureError> {
    resolved.not_of_planes()?;
    let Some(probe) = &resolved.measured.probe else {
        let what = "no probe was fitted: begin it in the view, or name a --model and a --corpus with labels";
        return Err(FigureError::Failed(what.to_owned()));
    };
    let of_table = Arc::clone(probe);
    let name = counted(probe.summary.n_texts, "text");
    let scene = Box::new(ProbeScene(Arc::clone(probe)));
    Ok(vec![resolved.named(scene, Box::new(move || rows(&of_table.summary.sites)), name, None)])
}

/// A row for each layer.
pub fn rows(sites: &[SiteProbe]) -> Table {
    let number =
        |of: &dyn Fn(&SiteProbe) -> f64| DataValues::Number(sites.iter().map(|site| of(site) as f32).collect());
    Table::of([
        ("site", DataValues::Text(sites.iter().map(|site| site.name.clone()).collect())),
        ("accuracy", number(&|of| of.accuracy.value)),
        ("accuracy_low", number(&|of| of.accuracy.low)),
        ("accuracy_high", number(&|of| of.accuracy.high)),
        ("control", number(&|of| of.control.value)),
        ("control_low", number(&|of| of.control.low)),
        ("control_high", number(&|of| of.control.high)),
        ("selectivity", number(&|of| of.selectivity.value)),
        ("selectivity_low", number(&|of| of.selectivity.low)),
        ("selectivity_high", number(&|of| of.selectivity.high)),
        ("learnt", number(&|of| of.learnt)),
    ])
}
