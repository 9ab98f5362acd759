//! A model as boxes: what the view is, and its figure.

use emath::{Pos2, Rect, vec2};

use super::{DiagramScene, layout};
use crate::{
    analysis::stream_norms::NormsAt,
    capture::{Capture, Site, stack_prefix},
    figure::{
        ViewKind,
        data::{DataValues, Table},
        spec::{FigureError, NamedScene, ResolvedSpec},
        views::{Facts, FigureExtent, ViewGroup, ViewSpec, heads_text, spec},
    },
    ids::{HeadId, StackKind},
    text::capitalised,
};

/// The view.
pub const SPEC: ViewSpec = ViewSpec {
    kind: ViewKind::Diagram,
    label: "Diagram",
    name: "diagram",
    former_names: &[],
    synonyms: &["architecture", "blocks", "transformer block", "residual stream", "encoder decoder", "shapes"],
    help: "The model as boxes along its residual stream, the selected layer open, with the shapes of this input",
    group: ViewGroup::Works,
    pages: None,
    facts: Facts::STEPS,
    extent: FigureExtent::Head,
    options: &[],
    fields: |_, _, _| {},
    said: None,
    color_map: spec::color_map,
    needs: |_, _| vec![Site::Pattern],
    wants: &[Site::ResidPre, Site::AttnOut, Site::ResidMid, Site::ResidFinal],
    unavailable,
    question: |topic| topic.is_made_of(),
    caveat: |_| "Boxes are those of this checkpoint; their size says nothing".to_owned(),
    sheet_text: |_| "Diagrams",
    figures,
};

/// Why there is no diagram; `None` where there is.
fn unavailable(capture: &Capture, _: StackKind) -> Option<&'static str> {
    match capture.architecture() {
        None => Some("What a model is made of is part of it: open it and run it to see that"),
        Some(architecture) if architecture.towers.is_empty() => {
            Some("The diagram is of transformers: this model is none")
        }
        Some(_) => None,
    }
}

/// One figure per head: that of its layer.
fn figures(resolved: &ResolvedSpec<'_>) -> Result<Vec<NamedScene>, FigureError> {
    resolved.not_of_planes()?;
    let figure = |id: HeadId| {
        let refuse = || FigureError::Failed(unavailable(resolved.capture, id.stack).unwrap_or_default().to_owned());
        let scene = DiagramScene::new(resolved.capture, id).ok_or_else(refuse)?;
        let of_table = scene.clone();
        let label = capitalised(&heads_text(&[id]));
        Ok(resolved.named(Box::new(scene), Box::new(move || table(&of_table)), label, Some(id)))
    };
    resolved.ids()?.into_iter().map(figure).collect()
}

/// One row per box, from the bottom up, and one per place of the stream whose norms were recorded.
fn table(scene: &DiagramScene) -> Table {
    let area = Rect::from_min_size(Pos2::ZERO, vec2(layout::width(2), 0.0));
    let boxes = scene.boxes(area);
    let norms: Vec<&NormsAt> = scene.norms.iter().flat_map(|norms| norms.all()).collect();
    let names = boxes.iter().map(|it| it.label.clone());
    let places = norms.iter().map(|at| match at.site {
        Site::ResidFinal => format!("{}{}", stack_prefix(at.stack), at.site.name()),
        site => format!("{}{}.L{}", stack_prefix(at.stack), site.name(), at.layer),
    });
    let shapes = boxes.iter().map(|it| it.shape.clone()).chain(norms.iter().map(|_| String::new()));
    let number = |of: fn(&NormsAt) -> f64| {
        DataValues::Number(boxes.iter().map(|_| f32::NAN).chain(norms.iter().map(|at| of(at) as f32)).collect())
    };
    Table::of([
        ("box", DataValues::Text(names.chain(places).collect())),
        ("shape", DataValues::Text(shapes.collect())),
        ("norm_mean", number(NormsAt::mean)),
        ("norm_least", number(NormsAt::least)),
        ("norm_most", number(NormsAt::most)),
    ])
}
