//! Arrangement of cells on the canvas: layers down and heads across, or all in a row that is broken into lines.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    analysis::{Space, projection::Projection},
    figure::views::matrix::columns,
    ids::{HeadId, StackKind},
    session::HeadOrder,
    spec::StackSpec,
};

/// The places of cells on a grid.
#[derive(Clone, Debug, PartialEq)]
pub struct Arrangement {
    pub grid: (usize, usize),
    /// Whether rows are layers and columns heads.
    pub by_layer: bool,
    /// Heads that share a cell and stand for one column.
    pub sharing: usize,
    stack: StackKind,
    /// By rank, where they are not by layer, with their names.
    order: Vec<(HeadId, String)>,
}

impl Arrangement {
    /// Layers down and heads across; heads that share their values share a column where these are the points.
    fn by_layer(stack: StackKind, space: Space, spec: Option<&StackSpec>) -> Self {
        let layer = spec.and_then(|spec| spec.layers.first()).filter(|_| space == Space::Values);
        let sharing = layer.map_or(1, |layer| layer.n_heads / layer.n_kv_heads.max(1)).max(1);
        let n_heads = spec.map_or(1, |spec| spec.max_heads().div_ceil(sharing).max(1));
        let grid = (spec.map_or(1, |spec| spec.layers.len().max(1)), n_heads);
        Self { grid, by_layer: true, sharing, stack, order: Vec::new() }
    }

    /// The cells of a projection in the order of `by`; `ranking` is that of [`HeadOrder::Hits`].
    pub fn of(
        projection: &Projection,
        by: HeadOrder,
        ranking: Option<&BTreeMap<HeadId, f32>>,
        spec: Option<&StackSpec>,
    ) -> Self {
        let space = projection.options.space;
        let plain = Self::by_layer(projection.stack, space, spec);
        // Smallest first; what has no number comes last.
        let number = |at: usize| -> f32 {
            let plane = &projection.heads[at];
            match by {
                HeadOrder::Correlation if space.is_joint() => plane.correlation_after,
                HeadOrder::Scale if space.is_joint() => -plane.c.ln().abs(),
                HeadOrder::Layer | HeadOrder::Correlation | HeadOrder::Scale => 0.0,
                HeadOrder::Explained => -plane.explained.iter().sum::<f32>(),
                HeadOrder::Hits => {
                    ranking.and_then(|ranking| ranking.get(&plane.head)).map_or(f32::NAN, |score| -score)
                }
            }
        };
        let is_plain = match by {
            HeadOrder::Layer => true,
            HeadOrder::Hits => ranking.is_none(),
            HeadOrder::Correlation | HeadOrder::Scale => !space.is_joint(),
            HeadOrder::Explained => false,
        };
        if is_plain && space.is_per_head() {
            return plain;
        }
        // Cells that are still to come have their place, so that nothing moves when they do.
        let there = projection.heads.iter().enumerate().map(|(at, plane)| (number(at), plane.head));
        let mut order: Vec<(f32, HeadId)> = there.collect();
        let known: BTreeSet<HeadId> = projection.heads.iter().map(|plane| plane.head).collect();
        let to_come = projection.cloud.cells(projection.stack, space).into_iter().filter(|cell| !known.contains(cell));
        order.extend(to_come.map(|cell| (if is_plain { 0.0 } else { f32::NAN }, cell)));
        order.sort_by(|a, b| a.0.is_nan().cmp(&b.0.is_nan()).then(a.0.total_cmp(&b.0)).then(a.1.cmp(&b.1)));
        let cols = if space.is_per_head() { plain.grid.1 } else { columns(order.len()) };
        let grid = (order.len().div_ceil(cols).max(1), cols);
        let name = |cell: HeadId| {
            let model = projection.cloud.model();
            model.map_or_else(|| cell.to_string(), |model| space.cell_name(cell, model))
        };
        Self { grid, by_layer: false, order: order.into_iter().map(|(_, cell)| (cell, name(cell))).collect(), ..plain }
    }

    /// Row and column of a cell.
    pub fn place(&self, cell: HeadId) -> Option<(usize, usize)> {
        if self.by_layer {
            let col = cell.head / self.sharing;
            let inside = cell.stack == self.stack && cell.layer < self.grid.0 && col < self.grid.1;
            return inside.then_some((cell.layer, col));
        }
        let rank = self.order.iter().position(|(known, _)| *known == cell)?;
        Some((rank / self.grid.1, rank % self.grid.1))
    }

    /// The cell at a place; by layer also one that is not there.
    pub fn head(&self, (row, col): (usize, usize)) -> Option<HeadId> {
        if self.by_layer {
            return Some(HeadId { stack: self.stack, layer: row, head: col * self.sharing });
        }
        self.order.get(row * self.grid.1 + col).map(|(cell, _)| *cell)
    }

    /// What the cell at a place is called, where rows and columns do not name it.
    pub fn name(&self, (row, col): (usize, usize)) -> Option<&str> {
        self.order.get(row * self.grid.1 + col).map(|(_, name)| name.as_str())
    }
}
