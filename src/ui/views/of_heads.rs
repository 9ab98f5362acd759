//! Views of numbers of all heads: the answer that they wait for, the area that they draw in, and the head under the pointer.

use std::sync::Arc;

use eframe::egui::{
    CornerRadius, CursorIcon, Painter, Rect, Response, Role, Sense, Stroke, StrokeKind, Ui, Vec2, WidgetInfo, vec2,
};

use super::{menu, pending};
use crate::{
    analysis::{
        PointCloud,
        cloud_query::{CloudQuery, CloudResult},
    },
    ids::HeadId,
    session::{Command, SelectionCommand, ViewKind},
    ui::ViewCtx,
};

/// Smaller than this nothing can be told apart.
pub const LEAST_PT: Vec2 = vec2(480.0, 320.0);

/// What is known of all heads of the stack that is looked at.
pub struct AllHeads {
    pub found: Arc<CloudResult>,
    pub cloud: PointCloud,
    /// Layers, and the largest number of heads of a layer.
    pub grid: (usize, usize),
    /// The head that is looked at.
    pub head: HeadId,
}

/// The answer to a question about all heads; says what stands in its place where there is none.
pub fn asked(ui: &mut Ui, cx: &ViewCtx<'_>, question: CloudQuery, what: &str) -> Option<AllHeads> {
    let found = pending::asked(ui, cx, question, what)?;
    let head = cx.pane.selection.head;
    let cloud = cx.pane.cloud(cx.document)?;
    let spec = cloud.model()?.stack(head.stack)?;
    let grid = (spec.layers.len(), spec.max_heads());
    Some(AllHeads { found, cloud, grid, head })
}

/// All of the area that is left, as one picture with a name.
pub fn canvas_ui(ui: &mut Ui, sense: Sense, label: &str) -> (Rect, Response, Painter) {
    let area = ui.available_rect_before_wrap();
    let (response, painter) = ui.allocate_painter(area.size(), sense);
    response.widget_info(|| WidgetInfo::labeled(Role::Image, true, label));
    (area, response, painter)
}

/// Frames what stands for the head under the pointer.
pub fn mark(painter: &Painter, cx: &ViewCtx<'_>, places: impl IntoIterator<Item = Rect>) {
    let stroke = Stroke::new(1.0, cx.theme.text_weak);
    for place in places {
        painter.rect_stroke(place, CornerRadius::ZERO, stroke, StrokeKind::Inside);
    }
}

/// A click selects the head under the pointer, a double click opens it in a view.
pub fn chosen(ui: &Ui, cx: &ViewCtx<'_>, response: &Response, head: HeadId, view: ViewKind) {
    ui.ctx().set_cursor_icon(CursorIcon::PointingHand);
    menu::point_at_head(response, cx, head);
    let opens = response.double_clicked();
    if opens || response.clicked() {
        cx.send(Command::Select(SelectionCommand::Head(head)));
    }
    if opens {
        cx.send(Command::Select(SelectionCommand::ShowView(view)));
    }
}
