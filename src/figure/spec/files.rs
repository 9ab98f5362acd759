//! From scenes to figures and files.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{Captions, FigureError, FigureInput, FigureSpec, NamedScene, Page, ResolvedSpec, Sheet, Typesetter};
use crate::{
    analysis::{
        PointCloud,
        explain::report::Report,
        reading::{Explained, Whose},
    },
    capture::Capture,
    figure::{
        self, Figure, Item, Scene, paper,
        small::{SmallSheet, Titled},
        views::heads_text,
    },
    spec::ModelSpec,
};

/// Pictures of a sheet of words that stand side by side.
const STRIP_COLUMNS: usize = 4;

/// A figure, with which layer and head it is of where it is one.
pub struct Drawing {
    pub figure: Figure,
    /// Which layer, where it is one.
    pub layer: Option<usize>,
    /// Which head, where it is one.
    pub head: Option<usize>,
}

/// Draws everything: one figure each, or one sheet.
///
/// # Errors
/// When the paper makes no figure, or the sheet has too few places.
pub fn draw(
    mut drawn: Vec<NamedScene>,
    spec: &FigureSpec,
    subject: FigureInput<'_>,
    type_: &mut Typesetter,
) -> Result<Vec<Drawing>, FigureError> {
    let page = spec.paper.page()?;
    let resolved = ResolvedSpec::new(spec, subject)?;
    let strip = || [drawn.len().clamp(1, STRIP_COLUMNS), drawn.len().div_ceil(STRIP_COLUMNS).max(1)];
    let Some([n_cols, n_rows]) = spec.sheet.or_else(|| spec.each.query.then(strip)) else {
        let one = |it: &NamedScene| {
            let page = Page { about: resolved.about(resolved.heads_of(it)), ..page.clone() };
            let figure = finished(&*it.scene, &page, std::slice::from_ref(&it.label), spec, subject, type_);
            Drawing { figure, layer: it.layer, head: it.head }
        };
        return drawn.iter().map(one).map(unless_empty).collect();
    };
    if drawn.len() > n_cols * n_rows {
        let (n, room) = (drawn.len(), n_cols * n_rows);
        return Err(FigureError::Usage(format!(
            "{n} figures do not fit on a sheet of {n_cols}x{n_rows}, which has room for {room}: name fewer with --layer \
             and --head, or choose a larger sheet"
        )));
    }
    let page = Page { about: resolved.about(resolved.ids().unwrap_or_default()), ..page };
    let captions = sheet_captions(&drawn, &resolved);
    let heads: Vec<String> = drawn.iter().map(|it| it.label.clone()).collect();
    let titled = |it: NamedScene| Titled { title: it.label, place: it.layer.zip(it.head), scene: it.scene };
    let figure = match SmallSheet::new(drawn.drain(..).map(titled).collect(), n_cols, captions.clone()) {
        Ok(sheet) => finished(&sheet, &page, &heads, spec, subject, type_),
        Err(maps) => {
            let scenes = maps.into_iter().map(|map| (map.title, map.scene)).collect();
            finished(&Sheet::new(scenes, n_cols, captions), &page, &heads, spec, subject, type_)
        }
    };
    Ok(vec![unless_empty(Drawing { figure, layer: None, head: None })?])
}

/// A figure without a mark is none.
fn unless_empty(drawing: Drawing) -> Result<Drawing, FigureError> {
    if drawing.figure.is_empty {
        return Err(FigureError::Failed(
            "nothing is drawn with these options, so there is no figure to write".to_owned(),
        ));
    }
    Ok(drawing)
}

fn finished(
    scene: &dyn Scene,
    page: &Page,
    heads: &[String],
    spec: &FigureSpec,
    subject: FigureInput<'_>,
    type_: &mut Typesetter,
) -> Figure {
    let title = format!("{} of {}, {}", spec.view.label(), heads.join(", "), subject.captures.this.model().name);
    let mut figure = figure::figure(&Page { title, ..page.clone() }, scene, type_);
    if spec.paper.pages {
        figure.cuts = paper::cuts(&figure);
    }
    figure.provenance = provenance(spec, subject, heads, Some((&figure, type_))).to_string();
    figure
}

/// What is said below several scenes: of which heads.
fn sheet_captions(drawn: &[NamedScene], resolved: &ResolvedSpec<'_>) -> Captions {
    let (Some(first), Some(last)) = (drawn.first(), drawn.last()) else { return Captions::default() };
    let which = match drawn.len() {
        _ if resolved.spec.each.query => {
            format!("{}, {}", heads_text(&resolved.ids().unwrap_or_default()), resolved.words_text())
        }
        1 => first.label.clone(),
        _ => format!("{} to {}", first.label, last.label),
    };
    Captions::both(format!("{}: {which}.", first.view_text))
}

/// Where a file came from.
pub fn provenance(
    spec: &FigureSpec,
    subject: FigureInput<'_>,
    heads: &[String],
    figure: Option<(&Figure, &Typesetter)>,
) -> Value {
    let capture = subject.captures.this;
    let model = capture.model();
    let input = match subject.cloud {
        PointCloud::Positions(_) => Value::Null,
        PointCloud::Inputs(view) if view.selection().inputs().len() != 1 => {
            let names: Vec<&str> = (0..subject.cloud.n_inputs()).map(|nth| subject.cloud.input_name(nth)).collect();
            json!({ "corpus": names })
        }
        _ => read(capture),
    };
    let mut value = json!({
        "program": concat!("AttnScope ", env!("CARGO_PKG_VERSION")),
        "view": spec.view.name(),
        "model": { "name": model.name, "family": model.family, "checkpoint": checkpoint(model) },
        "input": input,
        "heads": heads,
        "options": spec.record(),
        "changes": changes(capture),
        "notes": capture.notes(),
    });
    if let Some(explained) = spec.reading.source.explained() {
        value["explanation"] = explanation(explained);
    }
    if let Some(other) = subject.captures.other.filter(|_| spec.minus.is_some_and(|minus| minus.of == Whose::Other)) {
        let model = &other.model().name;
        value["subtracted"] = json!({ "model": model, "checkpoint": checkpoint(other.model()), "input": read(other), "changes": changes(other) });
    }
    let reports = subject.answers.iter().filter_map(|answer| answer.report.as_deref());
    let methods: Vec<Value> = reports.map(method).collect();
    if !methods.is_empty() {
        value["methods"] = json!(methods);
    }
    if let Some((figure, type_)) = figure {
        let mut used = BTreeSet::new();
        faces(&figure.items, &mut used);
        let fonts: Vec<&str> = used.iter().filter_map(|face| Some(figure.faces.get(*face)?.name())).collect();
        value["fonts"] = json!(fonts);
        let missing: Vec<&str> = type_.missing().collect();
        if !missing.is_empty() {
            value["characters_without_font"] = json!(missing);
        }
    }
    value
}

/// Which files a model was read from.
fn checkpoint(model: &ModelSpec) -> Value {
    let id = model.checkpoint.as_ref();
    id.map_or(Value::Null, |id| json!({ "revision": id.revision, "checksum": id.checksum }))
}

/// What a model read or saw.
fn read(capture: &Capture) -> Value {
    let input = capture.input();
    let part = input.part.map(|part| part.to_string());
    json!({
        "text": input.text, "text_b": input.text_b, "image": input.image, "target": input.target, "part": part,
    })
}

/// What the run was changed by, all of it.
fn changes(capture: &Capture) -> Vec<String> {
    capture.computation().edits.iter().map(ToString::to_string).collect()
}

/// What stands in place of attention, with every option of the method and what must be known of it.
fn explanation(explained: &Explained) -> Value {
    let mut value = method(explained.report());
    value["title"] = json!(explained.title());
    value["value"] = json!(explained.name());
    value
}

/// A method with its options and what must be known of it.
fn method(report: &Report) -> Value {
    let parameters: serde_json::Map<String, Value> =
        report.parameters.iter().map(|(name, value)| (name.to_string(), value.clone())).collect();
    json!({
        "method": report.method.name,
        "parameters": parameters,
        "caveat": report.method.caveat,
        "notes": report.notes,
    })
}

/// Which faces some text uses.
fn faces(items: &[Item], used: &mut BTreeSet<usize>) {
    for item in items {
        match item {
            Item::Text(text) => used.extend(text.runs.iter().map(|run| run.face)),
            Item::Clip(_, inner) => faces(inner, used),
            Item::Fill(..) | Item::Lines(_) | Item::Cells(_) => {}
        }
    }
}
