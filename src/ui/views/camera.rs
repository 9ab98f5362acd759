//! Pan and zoom of a view. Pure geometry: content in its own units, fitted into a
//! viewport in points.

use eframe::egui::{Pos2, Rect, Response, Ui, Vec2};

/// Points of wheel movement that zoom by a factor of e.
const WHEEL_PT: f32 = 240.0;

/// A zoom and the content's point in the middle of the viewport, as a fraction of the content.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Camera {
    /// 1 shows everything.
    pub zoom: f32,
    /// Content point in the middle, `0..=1` along each axis.
    pub center: Vec2,
}

impl Default for Camera {
    fn default() -> Self {
        Self { zoom: 1.0, center: Vec2::splat(0.5) }
    }
}

impl Camera {
    /// Where the whole content lies on screen, most of it possibly outside `viewport`.
    pub fn content_rect(&self, viewport: Rect) -> Rect {
        let size = viewport.size() * self.zoom;
        Rect::from_min_size(viewport.center() - size * self.center, size)
    }

    /// Zooms by `factor` so that what is under `pointer` stays there.
    pub fn zoom_about(&mut self, viewport: Rect, pointer: Pos2, factor: f32, max_zoom: f32) {
        let zoom = (self.zoom * factor).clamp(1.0, max_zoom.max(1.0));
        let anchor = (pointer - self.content_rect(viewport).min) / (viewport.size() * self.zoom);
        self.center = anchor - (pointer - viewport.center()) / (viewport.size() * zoom);
        self.zoom = zoom;
        self.clamp();
    }

    /// Moves the content by `delta` points.
    pub fn pan(&mut self, viewport: Rect, delta: Vec2) {
        self.center -= delta / (viewport.size() * self.zoom);
        self.clamp();
    }

    /// Brings a point of the content, as far as it is given, into the middle where it is not in sight.
    pub fn reveal(&mut self, at: [Option<f32>; 2]) {
        for (axis, at) in at.into_iter().enumerate() {
            if let Some(at) = at.filter(|at| (at - self.center[axis]).abs() > 0.5 / self.zoom) {
                self.center[axis] = at;
            }
        }
        self.clamp();
    }

    /// Handles wheel, pinch, drag and double click of `response`, which covers `viewport`. Returns
    /// whether the user zoomed out although everything is shown already.
    pub fn interact(&mut self, ui: &Ui, response: &Response, viewport: Rect, max_zoom: f32) -> bool {
        let beyond = self.zoom_by_wheel(ui, response, viewport, max_zoom);
        if response.dragged() {
            self.pan(viewport, response.drag_delta());
        }
        if response.double_clicked() {
            *self = Self::default();
        }
        beyond
    }

    /// Handles wheel and pinch alone, where a drag means something else.
    pub fn zoom_by_wheel(&mut self, ui: &Ui, response: &Response, viewport: Rect, max_zoom: f32) -> bool {
        let mut beyond = false;
        if let Some(pointer) = response.hover_pos() {
            let (scroll, pinch) = ui.input(|input| (input.smooth_scroll_delta().y, input.zoom_delta()));
            let factor = (scroll / WHEEL_PT).exp() * pinch;
            if factor != 1.0 {
                beyond = factor < 1.0 && self.zoom <= 1.0;
                self.zoom_about(viewport, pointer, factor, max_zoom);
            }
        }
        beyond
    }

    /// Keeps the viewport inside the content.
    fn clamp(&mut self) {
        let half = 0.5 / self.zoom;
        self.center = self.center.clamp(Vec2::splat(half), Vec2::splat(1.0 - half));
    }
}

#[cfg(test)]
mod tests {
    use eframe::egui::{pos2, vec2};

    use super::*;

    fn viewport() -> Rect {
        Rect::from_min_size(pos2(100.0, 50.0), vec2(400.0, 200.0))
    }

    #[test]
    fn zooming_keeps_what_is_under_the_pointer() {
        let mut camera = Camera::default();
        let pointer = pos2(180.0, 120.0);
        let under = |camera: &Camera| {
            let content = camera.content_rect(viewport());
            (pointer - content.min) / content.size()
        };
        let before = under(&camera);
        camera.zoom_about(viewport(), pointer, 3.0, 50.0);
        assert!((under(&camera) - before).length() < 1e-5);
        assert_eq!(camera.zoom, 3.0);
        camera.zoom_about(viewport(), pointer, 0.01, 50.0);
        assert_eq!(camera, Camera::default(), "zooming out ends with everything in sight");
    }

    #[test]
    fn panning_stops_at_the_edge_of_the_content() {
        let mut camera = Camera { zoom: 2.0, ..Camera::default() };
        camera.pan(viewport(), vec2(9000.0, -9000.0));
        let content = camera.content_rect(viewport());
        assert!((content.left() - viewport().left()).abs() < 1e-3);
        assert!((content.bottom() - viewport().bottom()).abs() < 1e-3);
    }

    #[test]
    fn what_is_revealed_comes_into_the_middle_unless_it_is_in_sight() {
        let mut camera = Camera { zoom: 10.0, center: vec2(0.5, 0.5) };
        camera.reveal([Some(0.52), None]);
        assert_eq!(camera.center, vec2(0.5, 0.5));
        camera.reveal([Some(0.2), Some(0.99)]);
        assert_eq!(camera.center, vec2(0.2, 0.95), "and stays inside");
    }
}
