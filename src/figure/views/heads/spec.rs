//! Attention as lines: what the view is, and its figures.

use super::{HeadLines, HeadsScene};
use crate::{
    analysis::reading::{Aggregate, Heads},
    figure::{
        ViewKind, data,
        spec::{FigureError, NamedScene, ResolvedSpec},
        views::{Facts, FigureExtent, Pinned, ViewGroup, ViewSpec, heads_text, spec},
    },
    ids::HeadId,
    text::capitalised,
};

/// The view.
pub const SPEC: ViewSpec = ViewSpec {
    kind: ViewKind::Heads,
    label: "Lines",
    name: "lines",
    former_names: &["heads"],
    synonyms: &["head view", "attention lines", "bertviz"],
    help: "Attention of one or more heads, as lines from queries to keys",
    group: ViewGroup::Look,
    pages: None,
    facts: Facts { names_tokens: true, has_frames: true, is_on_pages: true, has_rest_columns: true, ..Facts::PATTERNS },
    extent: FigureExtent::Layer,
    options: &["heads"],
    fields: |options, scope, visit| options.heads.visit(scope, visit),
    said: Some(|options| options.heads.said()),
    color_map: spec::color_map,
    needs: spec::patterns,
    wants: &[],
    unavailable: spec::available,
    question: |topic| topic.looks(),
    caveat: |topic| topic.of_weights(),
    sheet_text: |resolved| resolved.pattern_text("Attention lines"),
    figures,
};

fn figures(resolved: &ResolvedSpec<'_>) -> Result<Vec<NamedScene>, FigureError> {
    let options = &resolved.spec.options.heads;
    let filter = options.filter;
    // Attention has a scale for all: up to 1.
    let has_own_scale = resolved.spec.reading.source.explained().is_some() || resolved.spec.minus.is_some();
    let high = if has_own_scale { resolved.shared_high(&resolved.patterns()?) } else { None };
    let figure = |heads: Vec<HeadLines>, ids: &[HeadId], id: Option<HeadId>, pinned: Pinned| {
        let subject = resolved.subject(ids);
        let explained = resolved.spec.reading.source.explained();
        let label = if resolved.spec.minus.is_some() || id.is_none() || explained.is_some() {
            subject.clone()
        } else {
            heads_text(ids)
        };
        let scene = HeadsScene { heads, subject, options: options.clone(), high, pinned, has_legend: true };
        let lines = scene.heads.clone();
        let table = Box::new(move || data::heads(&lines));
        let mut drawn = resolved.named(Box::new(scene), table, capitalised(&label), id);
        if ids.len() > 1 {
            drawn.head = None;
        }
        drawn
    };
    if let Some(together) = resolved.together() {
        let read = resolved.read(together)?;
        let ids = read.heads.clone();
        let lines = HeadLines::new(0, together_name(resolved.spec.together), read, filter);
        return Ok(frames(resolved, |pinned| figure(vec![lines.clone()], &ids, None, pinned)));
    }
    let lines = |id: HeadId, name: String| -> Result<HeadLines, FigureError> {
        Ok(HeadLines::new(id.head, name, resolved.read(Heads::One(id))?, filter))
    };
    // One figure per head where files are asked for by head or a sheet has room for all of them, else one per layer.
    let n_heads = resolved.ids()?.len();
    let has_room = resolved.spec.sheet.is_some_and(|[n_cols, n_rows]| n_cols * n_rows >= n_heads);
    if resolved.spec.each.head || has_room {
        let one = |id: HeadId| {
            let lines = lines(id, format!("Head {}", id.head))?;
            Ok(frames(resolved, |pinned| figure(vec![lines.clone()], &[id], Some(id), pinned)))
        };
        return flat(resolved.ids()?.into_iter().map(one));
    }
    let of_layer = |&layer: &usize| {
        let ids: Vec<HeadId> = resolved
            .head_numbers(layer)
            .into_iter()
            .map(|head| HeadId { stack: resolved.stack, layer, head })
            .collect();
        let name = |id: &HeadId| match resolved.spec.reading.source.explained() {
            Some(explained) if ids.len() == 1 => explained.label(),
            None if ids.len() == 1 => format!("Head {}", id.head),
            _ => id.head.to_string(),
        };
        let mut heads: Vec<HeadLines> = ids.iter().map(|id| lines(*id, name(id))).collect::<Result<_, _>>()?;
        if let (Some(first), true) = (heads.first_mut(), ids.len() > 1) {
            first.name = format!("Head {}", first.name);
        }
        Ok(frames(resolved, |pinned| figure(heads.clone(), &ids, ids.first().copied(), pinned)))
    };
    flat(resolved.layers.iter().map(of_layer))
}

fn flat(figures: impl Iterator<Item = Result<Vec<NamedScene>, FigureError>>) -> Result<Vec<NamedScene>, FigureError> {
    Ok(figures.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
}

/// One figure with what is held, or one with each word held where a strip of them is asked for.
fn frames(resolved: &ResolvedSpec<'_>, figure: impl Fn(Pinned) -> NamedScene) -> Vec<NamedScene> {
    if !resolved.spec.each.query {
        return vec![figure(resolved.pinned())];
    }
    let frame = |(query, word): (usize, String)| {
        let pinned = Pinned { query: Some(query), key: None };
        // Called by its word, not by the head that all have.
        NamedScene { label: word, layer: None, head: None, ..figure(pinned) }
    };
    resolved.words().into_iter().map(frame).collect()
}

/// What the legend calls several heads taken together.
fn together_name(how: Option<Aggregate>) -> String {
    how.map_or_else(String::new, |how| capitalised(how.name()))
}
