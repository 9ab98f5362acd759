//! Camera over the canvas of all heads: one zoom, from all heads down into one. Pure geometry.
//!
//! At zoom 1 the whole grid is in sight; at [`Frame::one`] one cell fills the viewport. In between cells change
//! their proportions from those that suit the grid to those of the viewport, so that both ends use all the room.
//! Near the end the viewport is held within one cell: what is in sight is then one head, without a jump.

use eframe::egui::{Pos2, Rect, Vec2, vec2};

use crate::figure::views::matrix::layout::MatrixLayout;

/// Points of wheel movement that zoom by a factor of e.
pub const WHEEL_PT: f32 = 240.0;
/// How far one head can be enlarged beyond the viewport.
const MAX_IN_CELL: f32 = 60.0;
/// From this part of the way (in zoom) on, the viewport is held within a cell.
const HOLD_FROM: f32 = 0.45;
/// How far off the middle a cell can lie that begins to be held, in cells.
const OFF_CELLS: f32 = 1.8;
/// Zoomed in beyond this part of a cell's full size one head is meant, and zoomed out below that all of them.
const ENTER_LEAVE: (f32, f32) = (0.9, 0.72);

/// What does not change while the camera moves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Frame {
    /// What is looked through, in points.
    pub viewport: Rect,
    pub grid: (usize, usize),
}

impl Frame {
    /// The size of a cell when all are in sight.
    fn small(&self) -> Vec2 {
        let (rows, cols) = (self.grid.0.max(1) as f32, self.grid.1.max(1) as f32);
        MatrixLayout::fitted(self.viewport.size(), (rows as usize, cols as usize)) / vec2(cols, rows)
    }

    /// The zoom at which one cell is as large as the viewport.
    pub fn one(&self) -> f32 {
        let ratio = self.viewport.size() / self.small();
        ratio.max_elem().max(1.0)
    }

    /// The size of a cell.
    pub fn cell(&self, zoom: f32) -> Vec2 {
        let (small, full, one) = (self.small(), self.viewport.size(), self.one());
        if zoom >= one || one < 1.001 {
            return full * (zoom / one).max(1.0);
        }
        let way = zoom.max(1.0).ln() / one.ln();
        let along = |small: f32, full: f32| small * (full / small).powf(way);
        vec2(along(small.x, full.x), along(small.y, full.y))
    }

    /// The size of all cells.
    fn content(&self, zoom: f32) -> Vec2 {
        self.cell(zoom) * vec2(self.grid.1.max(1) as f32, self.grid.0.max(1) as f32)
    }

    /// How far the viewport is held within one cell, `0..=1`.
    pub fn held(&self, zoom: f32) -> f32 {
        let from = (HOLD_FROM * self.one()).max(1.0);
        if self.one() <= from * 1.001 {
            return 1.0;
        }
        ((zoom.max(1.0) / from).ln() / (self.one() / from).ln()).clamp(0.0, 1.0)
    }
}

/// A zoom, the place in the middle of the viewport, and the cell that is entered.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Camera {
    /// 1 shows everything.
    pub zoom: f32,
    /// Place in the middle of the viewport, `0..=1` of all cells along each axis.
    pub center: Vec2,
    /// Row and column of the cell that fills the viewport, or is about to.
    pub cell: Option<(usize, usize)>,
}

impl Default for Camera {
    fn default() -> Self {
        Self { zoom: 1.0, center: Vec2::splat(0.5), cell: None }
    }
}

impl Camera {
    /// One cell as large as the viewport.
    pub fn at_cell(frame: &Frame, cell: (usize, usize)) -> Self {
        Self { zoom: frame.one(), center: middle(frame, cell), cell: Some(cell) }
    }

    /// Where all cells lie on screen, most of them possibly outside the viewport.
    pub fn content_rect(&self, frame: &Frame) -> Rect {
        let size = frame.content(self.zoom);
        Rect::from_min_size(frame.viewport.center() - size * self.center, size)
    }

    /// The cell that is meant alone; `single` is whether one was before.
    pub fn single(&self, frame: &Frame, single: bool) -> Option<(usize, usize)> {
        let (enter, leave) = ENTER_LEAVE;
        self.cell.filter(|_| self.zoom >= frame.one() * if single { leave } else { enter })
    }

    /// Zooms by `factor` so that what is under `pointer` stays there, as far as the edges allow. The cell under the
    /// pointer is the one that is entered.
    pub fn zoom_about(&mut self, frame: &Frame, pointer: Pos2, factor: f32) {
        let before = self.content_rect(frame);
        let zoom = (self.zoom * factor).clamp(1.0, frame.one() * MAX_IN_CELL);
        let place = (pointer - before.min) / before.size();
        self.center = place - (pointer - frame.viewport.center()) / frame.content(zoom);
        self.zoom = zoom;
        let cell_at = |part: f32, n: usize| ((part * n as f32).max(0.0) as usize).min(n.max(1) - 1);
        if frame.held(zoom) == 0.0 {
            self.cell = None;
        } else if self.cell.is_none() {
            self.cell = Some((cell_at(place.y, frame.grid.0), cell_at(place.x, frame.grid.1)));
        }
        self.clamp(frame);
    }

    /// Moves what is in sight by `delta` points.
    pub fn pan(&mut self, frame: &Frame, delta: Vec2) {
        self.center -= delta / frame.content(self.zoom);
        self.clamp(frame);
    }

    /// Keeps the viewport on the cells, and near the end within one.
    pub fn clamp(&mut self, frame: &Frame) {
        self.zoom = self.zoom.clamp(1.0, frame.one() * MAX_IN_CELL);
        let half = frame.viewport.size() / frame.content(self.zoom) / 2.0;
        // What is free around all cells stays free, so that what is under the pointer can stay there, too.
        let margin = (frame.viewport.size() - frame.content(1.0)) / 2.0 / frame.content(self.zoom);
        let held = frame.held(self.zoom);
        let grid = [frame.grid.1.max(1), frame.grid.0.max(1)];
        let cell = self.cell.map(|(row, col)| [col.min(grid[0] - 1), row.min(grid[1] - 1)]);
        self.cell = cell.map(|[col, row]| (row, col));
        for axis in 0..2 {
            let within = |low: f32, high: f32| {
                let half = half[axis].min((high - low) / 2.0);
                (low + half, high - half)
            };
            let all = within(-margin[axis], 1.0 + margin[axis]);
            let n = grid[axis] as f32;
            let (mut low, mut high) = all;
            if let Some(cell) = cell {
                let one = within(cell[axis] as f32 / n, (cell[axis] + 1) as f32 / n);
                // As far off as a cell can be when it is entered, and nearer and nearer.
                let off = OFF_CELLS * (1.0 - held) / n;
                (low, high) = (low.min(one.0).max(one.0 - off), high.max(one.1).min(one.1 + off));
            }
            self.center[axis] = self.center[axis].clamp(low.min(high), high.max(low));
        }
    }

    /// Keeps what is in sight when the viewport or the grid changes.
    pub fn refit(&mut self, from: &Frame, to: &Frame) {
        let (before, now) = (from.one(), to.one());
        self.zoom = if self.zoom >= before || before < 1.001 {
            now * (self.zoom / before).max(1.0)
        } else {
            now.powf(self.zoom.ln() / before.ln())
        };
        self.clamp(to);
    }

    /// A place on the way from here to `to`, `part` of `0..=1` of it: what stays in sight moves evenly.
    pub fn towards(&self, frame: &Frame, to: &Self, part: f32) -> Self {
        let zoom = (self.zoom.ln() + (to.zoom.ln() - self.zoom.ln()) * part).exp();
        let [from_size, at_size, to_size] = [self.zoom, zoom, to.zoom].map(|zoom| frame.content(zoom));
        let way = |axis: usize| {
            let (from, at, to) = (1.0 / from_size[axis], 1.0 / at_size[axis], 1.0 / to_size[axis]);
            if (from - to).abs() < 1e-4 * from { part } else { (from - at) / (from - to) }
        };
        let center = self.center + (to.center - self.center) * vec2(way(0), way(1));
        Self { zoom, center, cell: to.cell.or(self.cell) }
    }
}

/// The middle of a cell, as a part of all.
fn middle(frame: &Frame, (row, col): (usize, usize)) -> Vec2 {
    vec2((col as f32 + 0.5) / frame.grid.1.max(1) as f32, (row as f32 + 0.5) / frame.grid.0.max(1) as f32)
}

/// A camera on its way somewhere.
#[derive(Clone, Copy, Debug)]
pub struct Flight {
    from: Camera,
    to: Camera,
    started: f64,
    seconds: f64,
}

impl Flight {
    /// Sets out at a time in seconds.
    pub const fn new(from: Camera, to: Camera, started: f64, seconds: f64) -> Self {
        Self { from, to, started, seconds }
    }

    /// See [`Camera::refit`].
    pub fn refit(&mut self, from: &Frame, to: &Frame) {
        self.from.refit(from, to);
        self.to.refit(from, to);
    }

    /// Where it is at a time, and whether it has arrived.
    pub fn at(&self, frame: &Frame, time: f64) -> (Camera, bool) {
        let part = ((time - self.started) / self.seconds.max(1e-6)).clamp(0.0, 1.0) as f32;
        if part >= 1.0 {
            return (self.to, true);
        }
        let eased = part * part * (3.0 - 2.0 * part);
        (self.from.towards(frame, &self.to, eased), false)
    }
}

#[cfg(test)]
mod tests {
    use eframe::egui::pos2;

    use super::*;

    fn frame() -> Frame {
        Frame { viewport: Rect::from_min_size(pos2(60.0, 30.0), vec2(800.0, 500.0)), grid: (12, 10) }
    }

    fn cell_rect(camera: &Camera, frame: &Frame, row: usize, col: usize) -> Rect {
        let (content, size) = (camera.content_rect(frame), frame.cell(camera.zoom));
        Rect::from_min_size(content.min + size * vec2(col as f32, row as f32), size)
    }

    /// From all cells into one and out again in small steps: nothing ever moves far in one of them.
    #[test]
    fn zooming_is_continuous_from_the_whole_into_one_cell_and_back() {
        let frame = frame();
        for (row, col) in [(0, 0), (5, 4), (11, 9)] {
            let mut camera = Camera::default();
            let target = cell_rect(&camera, &frame, row, col);
            let pointer = target.lerp_inside(vec2(0.7, 0.4));
            let mut before = target;
            let mut single = false;
            for factor in [1.02f32, 1.0 / 1.02] {
                for _ in 0..200 {
                    camera.zoom_about(&frame, pointer, factor);
                    let now = cell_rect(&camera, &frame, row, col);
                    let moved = (now.min - before.min).length().max((now.max - before.max).length());
                    // Along an edge of 800 points a step of 2 % is 16 points; being held adds to that.
                    assert!(moved < 60.0 || camera.zoom > frame.one(), "{moved} at {}", camera.zoom);
                    before = now;
                    if camera.single(&frame, single).is_some() != single {
                        single = !single;
                        assert_eq!(camera.cell, Some((row, col)), "the head under the pointer is meant");
                    }
                    if camera.zoom >= frame.one() {
                        let inside = frame.viewport.expand(0.5);
                        assert!(now.expand(0.5).contains_rect(frame.viewport), "{now:?} fills {inside:?}");
                    }
                }
                assert_eq!(single, factor > 1.0);
            }
            assert_eq!(camera, Camera::default(), "all in sight again");
        }
    }

    #[test]
    fn what_is_under_the_pointer_stays_there() {
        let (frame, mut camera) = (frame(), Camera::default());
        let pointer = pos2(400.0, 260.0);
        let under = |camera: &Camera| {
            let content = camera.content_rect(&frame);
            (pointer - content.min) / content.size()
        };
        let before = under(&camera);
        camera.zoom_about(&frame, pointer, 3.0);
        assert!((under(&camera) - before).length() < 1e-4 && camera.zoom == 3.0 && camera.cell.is_none());
        camera.pan(&frame, vec2(9000.0, -9000.0));
        let content = camera.content_rect(&frame);
        let free = (frame.viewport.size() - frame.content(1.0)) / 2.0;
        assert!((content.left() - frame.viewport.left() - free.x).abs() < 1e-2);
        assert!((content.bottom() - frame.viewport.bottom() + free.y).abs() < 1e-2);
    }

    #[test]
    fn grids_of_any_shape_fit_and_one_cell_fills_the_room() {
        for grid in [(1, 1), (2, 16), (24, 4), (1, 8)] {
            let frame = Frame { grid, ..frame() };
            let content = Camera::default().content_rect(&frame);
            assert!(frame.viewport.expand(0.6).contains_rect(content), "{grid:?} {content:?}");
            let camera = Camera::at_cell(&frame, (grid.0 - 1, 0));
            let cell = cell_rect(&camera, &frame, grid.0 - 1, 0);
            assert!((cell.min - frame.viewport.min).length() < 0.1 && (cell.max - frame.viewport.max).length() < 0.1);
            assert_eq!(camera.single(&frame, false), Some((grid.0 - 1, 0)));
        }
    }

    #[test]
    fn a_flight_leads_from_here_to_there() {
        let frame = frame();
        let (from, to) = (Camera::default(), Camera::at_cell(&frame, (3, 2)));
        let flight = Flight::new(from, to, 10.0, 0.3);
        assert_eq!(flight.at(&frame, 10.0).0.zoom, 1.0);
        assert_eq!(flight.at(&frame, 10.4), (to, true));
        let mut width = 0.0;
        for step in 0..=30 {
            let camera = flight.at(&frame, 10.0 + f64::from(step) * 0.01).0;
            let cell = cell_rect(&camera, &frame, 3, 2);
            assert!(cell.width() >= width && frame.viewport.expand(1.0).contains(cell.center()), "{cell:?}");
            width = cell.width();
        }
    }
}
