//! Of a long text: where the mass of the selected head lies, and which queries are in sight. A click or a drag goes
//! there.

use std::ops::Range;

use eframe::egui::{CursorIcon, Pos2, Rect, Role, Sense, Stroke, StrokeKind, Ui, WidgetInfo, pos2};

use crate::{
    analysis::reading::{ReadPattern, long::Pool},
    text::{grouped, share_text},
    ui::{
        ViewCtx,
        theme::{GRID, radius},
        views::{
            overview::{Look, Overview},
            source,
        },
    },
};

/// Room that it takes beside the lines.
pub const WIDTH_PT: f32 = 26.0 * GRID;
/// The mark of a short window is no lower than this.
const LEAST_MARK_PT: f32 = 4.0;

/// The picture, and where it was clicked.
#[derive(Default)]
pub struct Minimap {
    overview: Overview,
    /// The part of the text that was clicked, `0..=1`; taken by the next frame.
    clicked: Option<f32>,
}

impl Minimap {
    /// The offset that brings what was clicked into the middle of `seen` points of `height`.
    pub fn scroll_to(&mut self, height: f32, seen: f32) -> Option<f32> {
        self.clicked.take().map(|part| (part * height - seen / 2.0).clamp(0.0, (height - seen).max(0.0)))
    }

    /// Draws it in `area`.
    pub fn ui(&mut self, ui: &Ui, cx: &ViewCtx<'_>, area: Rect, in_sight: &Range<usize>) {
        let Some(capture) = cx.document.latest_capture() else { return };
        let Some(subject) = source::subject(cx) else { return };
        let reading = source::shown(cx, capture);
        let Some(Ok(whole)) = cx.patterns.part(&subject, &reading, 0..0) else { return };
        let look = Look { map: cx.pane.options.color_map().on(cx.theme.palette.ground), log: true, pool: Pool::Mean };
        self.overview.update(ui, cx, (&subject, &reading), &whole, look);

        let content = area.shrink2([2.0 * GRID, GRID].into());
        let response = ui.interact(area, ui.scope_id().with("minimap"), Sense::click_and_drag());
        let name = self.name(cx, &whole, in_sight);
        response.widget_info(|| WidgetInfo::labeled(Role::Image, true, &name));
        if let Some(at) = response.interact_pointer_pos().filter(|_| response.dragged() || response.clicked()) {
            self.clicked = Some(part_of(content, at));
            ui.ctx().request_repaint();
        }
        let painter = ui.painter().with_clip_rect(content.expand(2.0).intersect(ui.clip_rect()));
        painter.rect_filled(content, 0, cx.theme.raised);
        self.overview.paint(&painter.with_clip_rect(content.intersect(ui.clip_rect())), &whole, content);
        painter.rect_stroke(content, 0, Stroke::new(1.0, cx.theme.rule), StrokeKind::Outside);
        let mark = mark(content, in_sight, whole.rows.len());
        for (width, color) in [(3.0, cx.theme.canvas), (1.5, cx.theme.text)] {
            painter.rect_stroke(mark, radius::MARK, Stroke::new(width, color), StrokeKind::Middle);
        }
        response.on_hover_cursor(CursorIcon::PointingHand).on_hover_text(name);
    }

    fn name(&self, cx: &ViewCtx<'_>, whole: &ReadPattern, in_sight: &Range<usize>) -> String {
        let [first, last, n] = [in_sight.start, in_sight.end.saturating_sub(1), whole.rows.len()].map(grouped);
        let read = match self.overview.progress() {
            progress if progress < 1.0 => format!(", {} read", share_text(progress)),
            _ => String::new(),
        };
        format!(
            "Attention of {}, mean weights on a logarithmic scale{read}\nShown: queries {first} to {last} of {n}; \
            click or drag to move",
            source::what(cx, whole)
        )
    }
}

fn part_of(content: Rect, at: Pos2) -> f32 {
    ((at.y - content.top()) / content.height().max(1.0)).clamp(0.0, 1.0)
}

/// Where the queries in sight are.
fn mark(content: Rect, in_sight: &Range<usize>, n_rows: usize) -> Rect {
    let y = |row: usize| content.top() + content.height() * row as f32 / n_rows.max(1) as f32;
    let (top, bottom) = (y(in_sight.start), y(in_sight.end));
    let missing = (LEAST_MARK_PT - (bottom - top)).max(0.0) / 2.0;
    Rect::from_min_max(pos2(content.left(), top - missing), pos2(content.right(), bottom + missing))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_click_brings_its_place_into_the_middle_and_stays_inside() {
        let mut map = Minimap { clicked: Some(0.5), ..Minimap::default() };
        assert_eq!(map.scroll_to(10_000.0, 400.0), Some(4_800.0));
        assert_eq!(map.scroll_to(10_000.0, 400.0), None, "once");
        for (part, top) in [(0.0, 0.0), (1.0, 9_600.0)] {
            map.clicked = Some(part);
            assert_eq!(map.scroll_to(10_000.0, 400.0), Some(top));
        }
    }

    #[test]
    fn a_short_window_is_still_seen() {
        let content = Rect::from_min_max(pos2(0.0, 0.0), pos2(80.0, 500.0));
        let mark = mark(content, &(8_000..8_040), 16_000);
        assert_eq!(mark.height(), LEAST_MARK_PT);
        assert!((mark.center().y - 250.6).abs() < 0.1);
    }
}
