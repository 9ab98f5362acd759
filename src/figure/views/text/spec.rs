//! The text itself: what the view is, and its figures.

use std::sync::Arc;

use super::{Parts, Passages, TextScene, TextUnit, Tint, sentence_weights};
use crate::{
    capture::Capture,
    figure::{
        ViewKind,
        data::{DataColumn, DataValues, Table},
        spec::{FigureError, NamedScene, OnePattern, ResolvedSpec},
        views::{Facts, FigureExtent, ViewGroup, ViewSpec, spec},
    },
    ids::StackKind,
    text::capitalised,
};

/// The view.
pub const SPEC: ViewSpec = ViewSpec {
    kind: ViewKind::Text,
    label: "Text",
    name: "text",
    former_names: &[],
    synonyms: &["highlight", "saliency text", "reading view", "tinted text", "document", "sentences", "paragraphs"],
    help: "The text itself, each token on the colour of the weight that it gives or receives",
    group: ViewGroup::Look,
    pages: None,
    facts: Facts { names_tokens: true, has_color_scale: true, is_on_pages: true, ..Facts::PATTERNS },
    extent: FigureExtent::Head,
    options: &["text"],
    fields: |options, _, visit| {
        options.text.visit(visit);
        options.visit_scale(visit);
    },
    said: None,
    color_map: spec::color_map,
    needs: spec::patterns,
    wants: &[],
    unavailable,
    question: |topic| topic.reads(),
    caveat: |topic| topic.of_weights(),
    sheet_text: |resolved| resolved.pattern_text("Attention on the text"),
    figures,
};

fn unavailable(capture: &Capture, stack: StackKind) -> Option<&'static str> {
    let is_picture = |side| capture.picture_side() == Some(side);
    if is_picture(stack.query_side()) || is_picture(stack.key_side()) {
        return Some("Patches of a picture are no text: Picture shows them");
    }
    spec::available(capture, stack)
}

fn figures(resolved: &ResolvedSpec<'_>) -> Result<Vec<NamedScene>, FigureError> {
    if let Some(why) = unavailable(resolved.capture, resolved.stack) {
        return Err(FigureError::Failed(why.to_owned()));
    }
    let patterns = resolved.patterns()?;
    let is_mass = resolved.spec.options.text.unit == TextUnit::Mass;
    if is_mass && patterns.iter().any(|(read, _)| sentence_weights(resolved.capture, read).is_none()) {
        let message = "--tint mass is of attention to the words of sentences: choose --stack words of a model that attends \
                       to sentences, or another --tint";
        return Err(FigureError::Usage(message.to_owned()));
    }
    // The scale of several is that of weights, which masses do not reach.
    let high = resolved.shared_high(&patterns).filter(|_| !is_mass);
    let figure = |(read, id): OnePattern| {
        let subject = resolved.subject(&read.heads);
        let passages = Arc::new(Passages::of(resolved.capture, resolved.stack, [&read.rows, &read.cols]));
        let pinned = resolved.pinned();
        let masses = is_mass.then(|| sentence_weights(resolved.capture, &read)).flatten();
        let scene = TextScene {
            tint: Arc::new(Tint::of(&read, pinned.in_pattern(&read), masses.as_deref())),
            read,
            passages,
            subject: subject.clone(),
            options: resolved.spec.options.text,
            color_map: resolved.spec.options.color_map(),
            pinned,
            high,
        };
        let of_table = scene.clone();
        resolved.named(Box::new(scene), Box::new(move || table(&of_table)), capitalised(&subject), id)
    };
    Ok(patterns.into_iter().map(figure).collect())
}

/// One row per token that has a number, its sentence and its paragraph counted from 0; those that are not in the text have none.
fn table(scene: &TextScene) -> Table {
    let tint = &scene.tint;
    let axis = if tint.on_keys { &scene.read.cols } else { &scene.read.rows };
    let passage = scene.passages.side(tint.on_keys);
    let n = passage.pieces.len();
    let side = if tint.on_keys { "key" } else { "query" };
    let parts = |parts: &Parts| {
        let number = |of: &Option<usize>| of.map_or_else(String::new, |of| of.to_string());
        DataValues::Text(parts.of.iter().map(number).collect())
    };
    let value = if tint.is_mass { "mass".into() } else { scene.read.value_name() };
    Table::of([
        DataColumn::new("side", DataValues::Text(vec![side.to_owned(); n])),
        DataColumn::new(
            "position",
            DataValues::Index((0..n).map(|at| axis.position(at).unwrap_or(at) as u32).collect()),
        ),
        DataColumn::new("token", DataValues::Text((0..n).map(|at| axis.text(at).to_owned()).collect())),
        DataColumn::new("sentence", parts(&passage.sentences)),
        DataColumn::new("paragraph", parts(&passage.paragraphs)),
        DataColumn::new(value, DataValues::Number(tint.values[..n].to_vec())),
    ])
}
