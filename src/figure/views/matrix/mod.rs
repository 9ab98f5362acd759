//! The planes of all heads of a stack, layers down and heads across, or of all other cells of a space.

use emath::{Rect, pos2};

use std::sync::Arc;

use self::layout::{CellTransform, MatrixLayout};
use super::{
    Pinned, joined,
    points::{self, MAX_SHAPES, MarkSize, Seen},
    scatter::legend,
};
use crate::{
    analysis::projection::{HeadProjection, Meaning, Projection, Sizing, Tints},
    figure::{
        list::faded,
        measure::GRID,
        page::{Captions, Scene},
        path::Path,
        pen::Pen,
    },
    ids::HeadId,
    text::capitalised,
};

pub mod around;
pub mod layout;
mod spec;

pub use spec::SPEC;

/// Opacity of a point, so that dense places are darker.
const POINT_OPACITY: f32 = 0.75;
/// Side that suits a cell.
const CELL_PT: f32 = 92.0;
/// Width that suits many heads.
const WIDE_PT: f32 = 640.0;
/// Room for the legend.
const LEGEND_PT: f32 = 26.0;

/// Columns of cells that are neither of layers nor of heads: a little wider than high.
pub fn columns(n_cells: usize) -> usize {
    let cols = (1.5 * n_cells as f32).sqrt().ceil().max(1.0) as usize;
    // As few as there can be without another row.
    n_cells.div_ceil(n_cells.div_ceil(cols).max(1)).max(1)
}

/// Number and kind of a column of heads, or of heads that share a cell.
pub fn column_name(col: usize, sharing: usize) -> (String, &'static str) {
    match sharing {
        0 | 1 => (col.to_string(), "Head"),
        _ => (format!("{}–{}", col * sharing, (col + 1) * sharing - 1), "Heads"),
    }
}

/// The Matrix view of one stack.
#[derive(Clone, Debug)]
pub struct MatrixScene {
    /// The points of every head.
    pub projection: Projection,
    /// Rows and columns of cells.
    pub grid: (usize, usize),
    /// Where cells are not of layers and heads, what each is called, in the order of the planes.
    pub names: Option<Vec<String>>,
    pub sharing: usize,
    /// Names of the kinds of points in the legend.
    pub kinds: [Option<&'static str>; 2],
    /// What colours mean, and which each point has: one entry per head, in the order of the planes.
    pub tints: Vec<Arc<Tints>>,
    /// The token that is marked in every plane.
    pub pinned: Pinned,
    pub subject: String,
}

impl MatrixScene {
    fn layout(&self, area: Rect) -> MatrixLayout {
        let viewport = MatrixLayout::viewport(area.with_max_y(area.bottom() - LEGEND_PT), self.grid);
        MatrixLayout { viewport, content: viewport, grid: self.grid }
    }

    fn cell_points(&self, layout: &MatrixLayout, pen: &mut Pen<'_>) {
        let heads = &self.projection.heads;
        let n_points: usize = heads.iter().map(|plane| plane.queries.len() + plane.keys.len()).sum();
        let cells: Vec<(&HeadProjection, &Tints, Seen, Rect)> = heads
            .iter()
            .zip(&self.tints)
            .enumerate()
            .map(|(nth, (plane, tints))| {
                let (row, col) = self.place(nth, plane.head);
                let cell = layout.cell(row, col);
                (&**plane, &**tints, Seen::of_figure(plane), cell)
            })
            .collect();
        if n_points > MAX_SHAPES {
            points::picture(layout.viewport, &cells, pen);
        }
        let radius = layout::point_radius(layout.cell(0, 0).size().min_elem());
        for (plane, tints, seen, cell) in cells {
            let transform = CellTransform::new(seen.bounds, cell);
            let at = |point: [f32; 3]| transform.apply(seen.place(point));
            let n = if n_points > MAX_SHAPES { 0 } else { plane.queries.len().max(plane.keys.len()) };
            for position in 0..n {
                if let Some(&point) = plane.queries.get(position) {
                    let color =
                        faded(legend::ink(&tints.queries, position, pen.palette.query, &pen.palette), POINT_OPACITY);
                    pen.fill(Path::circle(at(point), radius * tints.factor(0, position)), color);
                }
                if let Some(&point) = plane.keys.get(position) {
                    let color = faded(legend::ink(&tints.keys, position, pen.palette.key, &pen.palette), POINT_OPACITY);
                    pen.fill(Path::diamond(at(point), MarkSize::DIAMOND * radius * tints.factor(1, position)), color);
                }
            }
            let held = [
                (self.pinned.query.and_then(|at| plane.queries.get(at)), pen.palette.query),
                (self.pinned.key.and_then(|at| plane.keys.get(at)), pen.palette.key),
            ];
            for (point, tint) in held {
                if let Some(&point) = point {
                    pen.fill(Path::circle(at(point), radius + 2.0), tint);
                    pen.fill(Path::ring(at(point), radius + 3.0, 1.5), pen.palette.text);
                }
            }
        }
    }

    /// Row and column of a plane.
    fn place(&self, nth: usize, cell: HeadId) -> (usize, usize) {
        match self.names {
            Some(_) => (nth / self.grid.1.max(1), nth % self.grid.1.max(1)),
            None => (cell.layer, cell.head / self.sharing.max(1)),
        }
    }

    fn labels(&self, layout: &MatrixLayout, pen: &mut Pen<'_>) {
        match &self.names {
            Some(names) => {
                let name = |(row, col)| names.get(row * self.grid.1.max(1) + col).map(String::as_str);
                around::cell_names(layout, name, pen);
            }
            None => around::labels(layout, self.sharing, pen),
        }
    }

    /// What colours mean: where each head has a scale of its own, no numbers stand at its ends.
    fn meaning(&self) -> Meaning {
        let first = self.tints.first().map_or(&Meaning::Type, |tints| &tints.meaning);
        match first {
            Meaning::Scale(_) if self.tints.iter().any(|tints| tints.meaning != *first) => {
                Meaning::Scale(["least of each head", "most of each head"].map(str::to_owned))
            }
            first => first.clone(),
        }
    }

    /// What sizes mean, as a sentence; empty where all points are alike.
    fn sizes(&self) -> String {
        match self.tints.first().map(|tints| &tints.sizes) {
            Some(Sizing::Steps { name, .. }) => {
                format!("Sizes show the {}, from the least to the most of each head", name.to_lowercase())
            }
            _ => String::new(),
        }
    }

    fn legend(&self, layout: &MatrixLayout, pen: &mut Pen<'_>) {
        let at = pos2(layout.viewport.left() + GRID, layout.viewport.bottom() + LEGEND_PT / 2.0 + 2.0);
        legend::legend(self.kinds, &self.meaning(), at, layout.viewport.right(), pen);
    }
}

impl Scene for MatrixScene {
    fn width(&self, _: &mut Pen<'_>) -> f32 {
        layout::ROW_LABEL_PT + (self.grid.1.max(1) as f32 * CELL_PT).clamp(240.0, WIDE_PT)
    }

    fn least_width(&self, pen: &mut Pen<'_>) -> f32 {
        let cells = layout::ROW_LABEL_PT + 180.0;
        match self.meaning() {
            Meaning::Type | Meaning::Scale(_) => cells,
            meaning => legend::width(self.kinds, &meaning, layout::ROW_LABEL_PT + GRID, pen).max(cells),
        }
    }

    fn height(&self, width: f32, _: &mut Pen<'_>) -> f32 {
        let cell = (width - layout::ROW_LABEL_PT) / self.grid.1.max(1) as f32;
        layout::COL_LABEL_PT + cell * self.grid.0.max(1) as f32 + LEGEND_PT
    }

    fn least_height(&self, _: f32, _: &mut Pen<'_>) -> f32 {
        layout::COL_LABEL_PT + 80.0 + LEGEND_PT
    }

    fn draw(&self, area: Rect, pen: &mut Pen<'_>) {
        let layout = self.layout(area);
        self.cell_points(&layout, pen);
        around::lines(&layout, pen);
        self.labels(&layout, pen);
        self.legend(&layout, pen);
    }

    fn captions(&self) -> Captions {
        let n_heads = self.projection.heads.len();
        let first = self.projection.heads.first();
        let (n_query, n_key) = first.map_or((0, 0), |plane| (plane.queries.len(), plane.keys.len()));
        let space = self.projection.options.space;
        if !space.is_joint() {
            let planes = if n_heads == 1 { "1 map".to_owned() } else { format!("{n_heads} maps") };
            let subject = format!("{}: {planes} of {} points", capitalised(&self.subject), n_query + n_key);
            let how = first.map_or_else(String::new, |plane| capitalised(&super::scatter::laid_out(plane)));
            let full = joined([subject.as_str(), space.meaning(), &how]);
            return Captions { short: joined([subject.as_str()]), full };
        }
        let what = format!("{n_heads} heads, {n_query} queries and {n_key} keys each");
        let sizes = self.sizes();
        let short = joined([format!("{}: {what}", capitalised(&self.subject)).as_str(), &sizes]);
        let laid_out = first.map_or_else(String::new, |plane| super::scatter::laid_out(plane));
        let how = format!("Each map shows the queries and keys of one head, {laid_out}, both to the same scale");
        let subject = format!("Query–key maps of {}: {what}", self.subject);
        Captions { short, full: joined([subject.as_str(), &how, &sizes]) }
    }
}
