//! The points of one head: what the view is, and its figures.

use super::ScatterScene;
use crate::{
    analysis::{projection, reading::Heads},
    figure::{
        ViewKind, data,
        spec::{FigureError, NamedScene, ResolvedSpec},
        views::{Facts, FigureExtent, ViewGroup, ViewSpec, spec},
    },
    ids::HeadId,
    text::capitalised,
};

/// The view.
pub const SPEC: ViewSpec = ViewSpec {
    kind: ViewKind::Scatter,
    label: "Query–key map",
    name: "qk-map",
    former_names: &["scatter"],
    synonyms: &["embedding", "joint space", "pca", "projection", "scatter plot", "tsne", "umap"],
    help: "Queries and keys of one head as points: near means a high score",
    group: ViewGroup::Heads,
    pages: None,
    facts: Facts::POINTS,
    extent: FigureExtent::Head,
    options: &["scatter"],
    fields: |options, scope, visit| options.scatter.visit(scope, visit),
    said: Some(|options| options.scatter.said()),
    color_map: spec::color_map,
    needs: spec::vectors,
    wants: &[],
    unavailable: spec::without_vectors,
    question: |topic| topic.is_near(),
    caveat: |topic| topic.of_points(),
    sheet_text: spec::space_text,
    figures,
};

fn figures(resolved: &ResolvedSpec<'_>) -> Result<Vec<NamedScene>, FigureError> {
    resolved.not_of_planes()?;
    let options = resolved.spec.options.scatter;
    options.check_told(resolved.cloud, resolved.stack)?;
    let space = resolved.space();
    let figure = |id: HeadId| {
        let plane = resolved.plane(id)?;
        let scene = ScatterScene {
            plane: plane.clone(),
            // Of many inputs nobody has the patterns.
            read: if resolved.cloud.n_inputs() == 1 && space.is_joint() {
                resolved.read(Heads::One(id)).ok()
            } else {
                None
            },
            names: resolved.names(),
            space,
            stack: resolved.stack,
            tints: projection::looks(resolved.cloud, space, id, options.color, options.size),
            pinned: resolved.pinned(),
            subject: resolved.cell_text(id),
        };
        let (cloud, stack) = (resolved.cloud.clone(), resolved.stack);
        let table = Box::new(move || data::points([&plane], &cloud, (stack, space)));
        Ok(resolved.named(Box::new(scene), table, capitalised(&resolved.cell_text(id)), Some(id)))
    };
    resolved.cells()?.into_iter().map(figure).collect()
}
