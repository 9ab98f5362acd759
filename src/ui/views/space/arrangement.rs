//! Which head stands where on the canvas: layers down and heads across, or all in the order of a number.

use std::collections::BTreeMap;

use crate::{
    analysis::projection::Projection,
    ids::{HeadId, StackKind},
    session::HeadOrder,
    spec::StackSpec,
};

/// The places of heads on a grid.
#[derive(Clone, Debug, PartialEq)]
pub struct Arrangement {
    /// Rows and columns.
    pub grid: (usize, usize),
    /// Whether rows are layers and columns heads.
    pub by_layer: bool,
    stack: StackKind,
    /// By rank, where they are not by layer.
    order: Vec<HeadId>,
}

impl Arrangement {
    /// Layers down and heads across.
    pub fn by_layer(stack: StackKind, spec: Option<&StackSpec>) -> Self {
        let grid = spec.map_or((1, 1), |spec| (spec.layers.len().max(1), spec.max_heads().max(1)));
        Self { grid, by_layer: true, stack, order: Vec::new() }
    }

    /// The heads of a projection in the order of `by`; `ranking` is that of [`HeadOrder::Hits`].
    pub fn of(
        projection: &Projection,
        by: HeadOrder,
        ranking: Option<&BTreeMap<HeadId, f32>>,
        spec: Option<&StackSpec>,
    ) -> Self {
        let plain = Self::by_layer(projection.stack, spec);
        // Smallest first; what has no number comes last.
        let number = |at: usize| -> f32 {
            let plane = &projection.heads[at];
            match by {
                HeadOrder::Layer => 0.0,
                HeadOrder::Correlation => plane.correlation_after,
                HeadOrder::Explained => -plane.explained.iter().sum::<f32>(),
                HeadOrder::Scale => -plane.c.ln().abs(),
                HeadOrder::Hits => {
                    ranking.and_then(|ranking| ranking.get(&plane.head)).map_or(f32::NAN, |score| -score)
                }
            }
        };
        if by == HeadOrder::Layer || by == HeadOrder::Hits && ranking.is_none() {
            return plain;
        }
        let mut order: Vec<(f32, HeadId)> =
            projection.heads.iter().enumerate().map(|(at, plane)| (number(at), plane.head)).collect();
        order.sort_by(|a, b| a.0.is_nan().cmp(&b.0.is_nan()).then(a.0.total_cmp(&b.0)).then(a.1.cmp(&b.1)));
        let cols = plain.grid.1;
        let grid = (order.len().div_ceil(cols).max(1), cols);
        Self { grid, by_layer: false, order: order.into_iter().map(|(_, head)| head).collect(), ..plain }
    }

    /// Row and column of a head.
    pub fn place(&self, head: HeadId) -> Option<(usize, usize)> {
        if self.by_layer {
            let inside = head.stack == self.stack && head.layer < self.grid.0 && head.head < self.grid.1;
            return inside.then_some((head.layer, head.head));
        }
        let rank = self.order.iter().position(|known| *known == head)?;
        Some((rank / self.grid.1, rank % self.grid.1))
    }

    /// The head at a place; by layer also one that is not there.
    pub fn head(&self, (row, col): (usize, usize)) -> Option<HeadId> {
        if self.by_layer {
            return Some(HeadId { stack: self.stack, layer: row, head: col });
        }
        self.order.get(row * self.grid.1 + col).copied()
    }
}
