//! One pattern as a matrix of colours: what the view is, and its figures.

use std::sync::Arc;

use super::HeatmapScene;
use crate::{
    figure::{
        ViewKind, data,
        spec::{FigureError, NamedScene, OnePattern, ResolvedSpec},
        views::{Facts, FigureExtent, ViewGroup, ViewSpec, spec},
    },
    text::capitalised,
};

/// The view.
pub const SPEC: ViewSpec = ViewSpec {
    kind: ViewKind::Heatmap,
    label: "Heatmap",
    name: "heatmap",
    former_names: &[],
    synonyms: &["attention map", "attention matrix", "attention pattern", "attention weights"],
    help: "Attention of one head as a matrix: rows are queries, columns are keys",
    group: ViewGroup::Look,
    pages: None,
    facts: Facts {
        names_tokens: true,
        has_color_scale: true,
        has_log_colors: true,
        is_on_pages: true,
        has_rest_columns: true,
        ..Facts::PATTERNS
    },
    extent: FigureExtent::Head,
    options: &["heatmap"],
    fields: |options, scope, visit| {
        options.heatmap.visit(scope, visit);
        options.visit_scale(visit);
    },
    said: Some(|options| options.heatmap.said()),
    color_map: spec::color_map,
    needs: spec::patterns,
    wants: &[],
    unavailable: spec::available,
    question: |topic| topic.looks(),
    caveat: |topic| topic.of_weights(),
    sheet_text: |resolved| resolved.pattern_text("Attention patterns (rows: queries, columns: keys)"),
    figures,
};

fn figures(resolved: &ResolvedSpec<'_>) -> Result<Vec<NamedScene>, FigureError> {
    let patterns = resolved.patterns()?;
    let high = resolved.shared_high(&patterns);
    let figure = |(read, id): OnePattern| {
        let subject = resolved.subject(&read.heads);
        let scene = HeatmapScene {
            read: Arc::clone(&read),
            subject: subject.clone(),
            options: resolved.spec.options.heatmap,
            high,
            pinned: resolved.pinned(),
        };
        resolved.named(Box::new(scene), Box::new(move || data::heatmap(&read)), capitalised(&subject), id)
    };
    Ok(patterns.into_iter().map(figure).collect())
}
