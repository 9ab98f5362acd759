//! The points of every head: what the view is, and its figure.

use super::{MatrixScene, columns};
use crate::{
    analysis::{Space, projection},
    figure::{
        ViewKind, data,
        spec::{FigureError, NamedScene, ResolvedSpec, refined},
        views::{Facts, FigureExtent, ViewGroup, ViewSpec, spec},
    },
    ids::{HeadId, StackKind},
    text::capitalised,
};

/// The view.
pub const SPEC: ViewSpec = ViewSpec {
    kind: ViewKind::Matrix,
    label: "Query–key maps",
    name: "qk-maps",
    former_names: &["matrix"],
    synonyms: &["all heads matrix", "grid of heads", "small multiples"],
    help: "The query–key map of every head, side by side",
    group: ViewGroup::Heads,
    pages: None,
    facts: Facts::POINTS,
    extent: FigureExtent::Stack,
    options: &["scatter"],
    fields: |options, scope, visit| options.scatter.visit(scope, visit),
    said: Some(|options| options.scatter.said()),
    color_map: spec::color_map,
    needs: spec::vectors,
    wants: &[],
    unavailable: spec::without_vectors,
    question: |topic| topic.are_near(),
    caveat: |topic| topic.of_points(),
    sheet_text: spec::space_text,
    figures,
};

fn figures(resolved: &ResolvedSpec<'_>) -> Result<Vec<NamedScene>, FigureError> {
    resolved.not_of_planes()?;
    let options = resolved.spec.options.scatter;
    options.check_told(resolved.cloud, resolved.stack)?;
    let Some(spec) = resolved.capture.model().stack(resolved.stack) else { return Ok(Vec::new()) };
    let projected = projection::project(resolved.cloud, resolved.stack, options.projection, &mut |_, _| true);
    let Some(projection) = projected else {
        let message = match resolved.cloud.lacks(resolved.stack, resolved.space()) {
            Some(reason) if !resolved.space().is_joint() => reason,
            _ => format!("the queries and keys of the {} stack were not recorded", resolved.stack),
        };
        return Err(FigureError::Failed(message));
    };
    let projection = refined(projection)?;
    let planes = projection.heads.clone();
    let heads: Vec<HeadId> = planes.iter().map(|plane| plane.head).collect();
    let (space, model) = (resolved.space(), resolved.capture.model());
    let what = match space {
        Space::QueriesKeys => "all heads",
        Space::Values => "values of all heads",
        Space::Residual => "residual stream",
        Space::Positions => "position embeddings",
    };
    let subject = match resolved.stack {
        StackKind::SelfAttention => what.to_owned(),
        stack => format!("{what} of the {stack} stack"),
    };
    let shared = spec.layers.first().map_or(1, |layer| layer.n_heads / layer.n_kv_heads.max(1));
    let sharing = if space == Space::Values { shared.max(1) } else { 1 };
    let columns = columns(heads.len());
    let scene = MatrixScene {
        grid: if space.is_per_head() {
            (spec.layers.len(), spec.max_heads().div_ceil(sharing))
        } else {
            (heads.len().div_ceil(columns), columns)
        },
        names: (!space.is_per_head()).then(|| heads.iter().map(|cell| space.cell_name(*cell, model)).collect()),
        sharing,
        projection,
        kinds: space.kinds(resolved.stack),
        tints: options.tints(resolved.cloud, space, &heads),
        pinned: resolved.pinned(),
        subject: subject.clone(),
    };
    let (cloud, stack) = (resolved.cloud.clone(), resolved.stack);
    let table = Box::new(move || data::points(planes.iter().map(|plane| &**plane), &cloud, (stack, space)));
    Ok(vec![resolved.named(Box::new(scene), table, capitalised(&subject), None)])
}
