//! The points of one head: what the view is, and its figures.

use super::ScatterScene;
use crate::{
    analysis::{projection, reading::Heads},
    figure::{
        ViewKind, data,
        order::{Choice, Drawn, OrderError},
        views::{About, FigureExtent, Group, ViewSpec, spec},
    },
    ids::HeadId,
    raster::ColorMap,
    text::capitalised,
};

/// The view.
pub const SPEC: ViewSpec = ViewSpec {
    kind: ViewKind::Scatter,
    label: "Q–K map",
    name: "scatter",
    help: "Queries and keys of one head as points: near means a high score",
    key: '4',
    group: Group::Heads,
    about: About::Points,
    extent: FigureExtent::Head,
    features: &[],
    color_map: ColorMap::Viridis,
    needs: spec::vectors,
    unavailable: spec::without_vectors,
    sheet_text: spec::space_text,
    figures,
};

fn figures(choice: &Choice<'_>) -> Result<Vec<Drawn>, OrderError> {
    choice.not_of_planes()?;
    let space = choice.space();
    let figure = |id: HeadId| {
        let plane = choice.plane(id)?;
        let scene = ScatterScene {
            plane: plane.clone(),
            // Of many inputs nobody has the patterns.
            read: if choice.cloud.n_inputs() == 1 && space.is_joint() {
                choice.read(Heads::One(id)).ok()
            } else {
                None
            },
            names: choice.names(),
            space,
            stack: choice.stack,
            tints: projection::looks(choice.cloud, space, id, choice.order.color_by, choice.order.size_by),
            pinned: choice.pinned(),
            subject: choice.cell_text(id),
            origin: choice.origin.clone(),
        };
        let (cloud, stack) = (choice.cloud.clone(), choice.stack);
        let table = Box::new(move || data::points([&plane], &cloud, (stack, space)));
        Ok(choice.drawn(Box::new(scene), table, capitalised(&choice.cell_text(id)), Some(id)))
    };
    choice.cells()?.into_iter().map(figure).collect()
}
