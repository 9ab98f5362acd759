//! A head as lines in a cell: the strongest of those that the view of lines draws, as many as the cell has room for.

use emath::Rect;

use crate::figure::{
    legend::Legend,
    page::{Captions, Scene},
    pen::Pen,
    small::{Names, Scale, SmallMap},
    views::heads::HeadsScene,
};

/// Lines that a point of a cell's side has room for.
const LINES_PER_PT: f32 = 4.0;
/// Fewest and most lines of a cell.
const LINES: (f32, f32) = (64.0, 4000.0);

/// How many lines a cell has room for whose shorter side is so long, in points.
pub fn most_lines(side: f32) -> usize {
    (LINES_PER_PT * side).clamp(LINES.0, LINES.1) as usize
}

/// The lines of a head in a cell.
#[derive(Clone, Debug)]
pub struct CellLines {
    pub scene: HeadsScene,
    /// The strongest so many are drawn.
    pub most: usize,
}

impl Scene for CellLines {
    fn width(&self, pen: &mut Pen<'_>) -> f32 {
        self.scene.width(pen)
    }

    fn least_width(&self, pen: &mut Pen<'_>) -> f32 {
        self.scene.least_width(pen)
    }

    fn height(&self, width: f32, pen: &mut Pen<'_>) -> f32 {
        self.scene.height(width, pen)
    }

    fn least_height(&self, width: f32, pen: &mut Pen<'_>) -> f32 {
        self.scene.least_height(width, pen)
    }

    fn draw(&self, area: Rect, pen: &mut Pen<'_>) {
        self.scene.draw(area, pen);
    }

    fn legend(&self) -> Option<Legend> {
        self.scene.legend()
    }

    fn small(&self) -> Option<&dyn SmallMap> {
        Some(self)
    }

    fn captions(&self) -> Captions {
        self.scene.captions()
    }
}

impl SmallMap for CellLines {
    fn proportion(&self) -> f32 {
        1.0
    }

    fn names(&self) -> Names {
        self.scene.names()
    }

    fn draw_alone(&self, rect: Rect, pen: &mut Pen<'_>) {
        self.scene.draw_strongest(rect, self.most, pen);
    }

    fn scale(&self) -> Option<Scale> {
        self.scene.scale()
    }

    fn note(&self) -> &'static str {
        self.scene.note()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_larger_cell_has_room_for_more_lines() {
        assert_eq!([4.0, 16.0, 50.0, 150.0, 5000.0].map(most_lines), [64, 64, 200, 600, 4000]);
    }
}
