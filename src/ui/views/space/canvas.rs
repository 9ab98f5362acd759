//! The canvas: what the pointer does on it, and what lies on top of what.

use std::{collections::HashMap, sync::Arc};

use eframe::egui::{PointerButton, Rect, Response, Role, Sense, Ui, WidgetInfo};

use super::{
    Place, SpaceView, Tool,
    arrangement::Arrangement,
    camera::{Camera, Frame, WHEEL_PT},
    change, common_groups, draw, grid,
    hits::HitGrid,
    layout,
    outline::Outline,
    paint, picking, readout,
    state::Same,
    turned,
};
use crate::{
    analysis::{
        point_set::{PointSet, Spot},
        projection::Projection,
        reading::{ReadPattern, Refusal, store::CapturePair},
    },
    figure::views::matrix::{around, layout::MatrixLayout},
    ids::HeadId,
    session::{Command, Focus, PaneCommand, PickChange, SelectionCommand, ViewKind},
    text::sentence,
    ui::{
        ViewCtx,
        views::{hover, source},
    },
};

/// How near the pointer must be to a point: among all heads, and in one.
const REACH_PT: (f32, f32) = (10.0, 12.0);
/// Cells from this width on have their name inside, where rows and columns do not name it.
const NAME_FROM_PT: f32 = 36.0;
/// Radians by which a point of dragging turns a layout in space.
const TURN_PER_PT: f32 = 0.008;
/// An outline smaller than this is a click that shook.
const LEAST_OUTLINE_PT: f32 = 4.0;

impl SpaceView {
    pub(super) fn canvas_ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>, projection: &Arc<Projection>) {
        let area = ui.available_rect_before_wrap();
        let arrangement = self.arrangement(cx, projection);
        let frame = self.look_through(ui, cx, projection, &arrangement, area);
        let response = ui.interact(frame.viewport, ui.scope_id().with("canvas"), Sense::click_and_drag());
        let single = cx.pane.view == ViewKind::Scatter;
        let name = readout::canvas_name(projection, single.then(|| cx.pane.cell(cx.document)));
        response.widget_info(|| WidgetInfo::labeled(Role::Image, true, &name));
        let moved = self.move_camera(ui, &response, &frame, projection, &arrangement);
        if moved {
            self.tell(cx, &frame, &arrangement);
        }
        let layout = layout(&self.camera, &frame);
        let places = self.places(projection, &arrangement, &layout);
        let painter = ui.painter().with_clip_rect(frame.viewport.expand(1.0).intersect(ui.clip_rect()));
        let overview = Self::frame_at(area, &arrangement, 1.0).cell(1.0);
        self.points(&painter, cx, projection, &places, (frame.viewport, overview));
        self.around(ui, &painter, cx, (layout, &frame), &arrangement);

        let at = response.hover_pos();
        let cell = at.and_then(|at| layout.heads().cell_at(at));
        let head = cell.and_then(|cell| arrangement.head(cell));
        let under = head.and_then(|head| places.iter().find(|place| place.plane.head == head));
        let busy = response.dragged() || self.outline.is_some();
        let spot = at.zip(under).filter(|_| !busy).and_then(|(at, place)| {
            let turn = turned(projection, self.turn);
            let key = (Same(Arc::clone(&place.plane)), turn);
            let hits = self.hits.get_or_update(key, || Arc::new(HitGrid::new(&place.plane, &place.seen)));
            let reach = if single { REACH_PT.1 } else { REACH_PT.0 };
            hits.nearest(place.transform().unapply(at), reach / place.transform().scale())
        });
        let focus = spot.map_or(Focus::NONE, |spot| draw::focus_of(cx, projection, spot));
        hover::report(cx, focus);
        if let Some(spot) = spot {
            cx.send(Command::InPane(PaneCommand::HoverPoint(Some(spot))));
        }
        self.pick(ui, cx, &response, &places, (head, spot, focus));
        let pattern = (single && projection.options.space.is_joint()).then(|| pattern(cx)).flatten();
        if let (Some(cell), Some(_), false) = (cell, under, single) {
            grid::frame(&painter, layout.cell(cell.0, cell.1), cx.theme.text_weak);
        }
        self.on_points(&painter, cx, projection, &places, pattern.as_deref());
        if let Some((_, outline)) = &self.outline {
            paint::outline(&painter, outline, cx.theme);
        }
        if let Some(turn) = turned(projection, self.turn).filter(|_| single) {
            let corner = frame.viewport.left_bottom() + eframe::egui::vec2(36.0, -36.0);
            paint::axes(&painter, corner, turn, cx.theme);
        }
        if let Some(head) = head.filter(|_| at.is_some() && !busy) {
            let lines = pattern.as_deref().filter(|_| !focus.is_empty()).map(|pattern| (pattern, focus));
            readout::under_pointer_ui(ui, cx, projection, (head, under.is_some()), spot, lines);
        }
        ui.allocate_rect(area, Sense::hover());
    }

    /// What the canvas looks through in this frame, the camera being where the pane wants it.
    fn look_through(
        &mut self,
        ui: &Ui,
        cx: &ViewCtx<'_>,
        projection: &Projection,
        arrangement: &Arrangement,
        area: Rect,
    ) -> Frame {
        let mut frame = Self::frame_at(area, arrangement, self.camera.zoom);
        self.refit(&frame);
        let space = projection.options.space;
        let ground = (projection.cloud.id(), space, projection.stack, cx.pane.options.scatter.order);
        self.follow(ui, cx, &frame, arrangement, ground);
        if let Some(flight) = &self.flight {
            let (camera, arrived) = flight.at(&frame, ui.input(|input| input.time));
            self.camera = camera;
            if arrived {
                self.flight = None;
            } else {
                ui.ctx().request_repaint();
            }
        }
        // The names of rows and columns give way, or come back.
        frame = Self::frame_at(area, arrangement, self.camera.zoom);
        self.refit(&frame);
        frame
    }

    /// The camera keeps its place when what it looks through changes.
    fn refit(&mut self, frame: &Frame) {
        if let Some(known) = self.frame.replace(*frame).filter(|known| known != frame) {
            self.camera.refit(&known, frame);
            if let Some(flight) = &mut self.flight {
                flight.refit(&known, frame);
            }
        }
    }

    /// Wheel, pinch and dragging; whether the camera was moved by hand.
    fn move_camera(
        &mut self,
        ui: &Ui,
        response: &Response,
        frame: &Frame,
        projection: &Projection,
        arrangement: &Arrangement,
    ) -> bool {
        let before = self.camera;
        if let Some(pointer) = response.hover_pos() {
            let (scroll, pinch) = ui.input(|input| (input.smooth_scroll_delta().y, input.zoom_delta()));
            let factor = (scroll / WHEEL_PT).exp() * pinch;
            if factor != 1.0 {
                self.camera.zoom_about(frame, pointer, factor);
            }
        }
        let (modifiers, is_space) = (ui.input(|input| input.modifiers), turned(projection, self.turn).is_some());
        if response.drag_started_by(PointerButton::Primary)
            && let Some(start) = ui.input(|input| input.pointer.press_origin())
        {
            let lassos = modifiers.shift && !is_space && self.tool == Tool::Move;
            let tool = if modifiers.alt {
                Tool::Box
            } else if lassos {
                Tool::Lasso
            } else {
                self.tool
            };
            let cell = layout(&self.camera, frame).heads().cell_at(start).and_then(|cell| arrangement.head(cell));
            self.outline = cell.and_then(|head| match tool {
                Tool::Box => Some((head, Outline::Box(start, start))),
                Tool::Lasso => Some((head, Outline::Lasso(vec![start]))),
                Tool::Move => None,
            });
        }
        if let Some((_, outline)) = &mut self.outline {
            if let Some(at) = response.interact_pointer_pos() {
                outline.extend(at);
            }
        } else if response.dragged() {
            let single = self.camera.single(frame, true).is_some();
            if is_space && single && !modifiers.shift && response.dragged_by(PointerButton::Primary) {
                let delta = response.drag_delta() * TURN_PER_PT;
                self.turn.yaw += delta.x;
                self.turn.pitch = (self.turn.pitch + delta.y).clamp(-1.5, 1.5);
            } else {
                self.camera.pan(frame, response.drag_delta());
            }
        }
        let moved = self.camera != before;
        if moved {
            self.flight = None;
        }
        moved
    }

    /// Tells the pane what is in sight: one head, or all of them.
    fn tell(&mut self, cx: &ViewCtx<'_>, frame: &Frame, arrangement: &Arrangement) {
        // A single cell is both.
        if frame.one() < 1.001 {
            return;
        }
        let was_single = cx.pane.view == ViewKind::Scatter;
        match self.camera.single(frame, was_single).and_then(|place| arrangement.head(place)) {
            Some(head) if !was_single => {
                cx.send(Command::Select(SelectionCommand::Head(head)));
                cx.send(Command::Select(SelectionCommand::ShowView(ViewKind::Scatter)));
                self.shown = Some((ViewKind::Scatter, head));
            }
            None if was_single => {
                cx.send(Command::Select(SelectionCommand::ShowView(ViewKind::Matrix)));
                self.shown = Some((ViewKind::Matrix, cx.pane.cell(cx.document)));
            }
            _ => {}
        }
    }

    /// The cells in sight that have points.
    fn places(&mut self, projection: &Arc<Projection>, arrangement: &Arrangement, layout: &MatrixLayout) -> Vec<Place> {
        let planes: HashMap<HeadId, usize> =
            projection.heads.iter().enumerate().map(|(idx, plane)| (plane.head, idx)).collect();
        let turn = turned(projection, self.turn);
        let [rows, cols] = layout.visible();
        let mut places = Vec::new();
        for (row, col) in rows.flat_map(|row| cols.clone().map(move |col| (row, col))) {
            let Some(idx) = arrangement.head((row, col)).and_then(|head| planes.get(&head)) else { continue };
            let plane = &projection.heads[*idx];
            let seen = self.seen(plane, turn);
            places.push(Place { plane: Arc::clone(plane), seen, cell: layout.cell(row, col) });
        }
        places
    }

    /// Lines between cells and the names around them, as far as more than one cell is meant.
    fn around(
        &mut self,
        ui: &Ui,
        painter: &eframe::egui::Painter,
        cx: &ViewCtx<'_>,
        (layout, frame): (MatrixLayout, &Frame),
        arrangement: &Arc<Arrangement>,
    ) {
        let apart = 1.0 - frame.held(self.camera.zoom);
        if apart <= 0.0 {
            return;
        }
        let mut around = ui.painter().clone();
        around.multiply_opacity(apart);
        let mut lines = painter.clone();
        lines.multiply_opacity(apart);
        let key = (layout, Same(Arc::clone(arrangement)));
        self.static_parts.paint(&around, cx.theme, key, ui.clip_rect(), &|pen| {
            around::lines(&layout, pen);
            if arrangement.by_layer {
                around::labels(&layout, arrangement.sharing, pen);
            } else if layout.cell(0, 0).width() >= NAME_FROM_PT {
                pen.clip(layout.viewport, |pen| around::cell_names(&layout, |place| arrangement.name(place), pen));
            }
        });
        let groups = common_groups(cx, cx.pane.selection.stack()).filter(|_| arrangement.sharing == 1);
        if let Some(groups) = groups.filter(|_| arrangement.by_layer) {
            grid::groups(&around, &layout, groups, cx.theme);
        }
        if let Some((row, col)) = arrangement.place(cx.pane.cell(cx.document)) {
            grid::frame(&lines, layout.cell(row, col), cx.theme.text);
        }
    }

    /// Clicks, and the end of an outline.
    fn pick(
        &mut self,
        ui: &Ui,
        cx: &ViewCtx<'_>,
        response: &Response,
        places: &[Place],
        (head, spot, focus): (Option<HeadId>, Option<Spot>, Focus),
    ) {
        if !response.dragged()
            && let Some((head, outline)) = self.outline.take()
            && outline.bounds().size().max_elem() >= LEAST_OUTLINE_PT
            && let Some(place) = places.iter().find(|place| place.plane.head == head)
        {
            let points = picking::inside(place, &outline);
            let add = ui.input(|input| input.modifiers.command)
                || self.tool != Tool::Move && ui.input(|input| input.modifiers.shift);
            cx.send(Command::Select(SelectionCommand::PickPoints(
                points,
                if add { PickChange::Add } else { PickChange::Replace },
            )));
        }
        let single = cx.pane.view == ViewKind::Scatter;
        if response.double_clicked() {
            match head {
                Some(head) if !single => {
                    cx.send(Command::Select(SelectionCommand::Head(head)));
                    cx.send(Command::Select(SelectionCommand::ShowView(ViewKind::Scatter)));
                }
                _ => {
                    if let (Some(frame), Some(cell)) = (self.frame, self.camera.cell) {
                        self.fly(ui, Camera::at_cell(&frame, cell));
                    }
                }
            }
            return;
        }
        if !response.clicked() {
            return;
        }
        match spot {
            Some(spot) if change(ui) == PickChange::Add => {
                let one: PointSet = [spot].into_iter().collect();
                let known = cx.pane.picked(cx.document).is_some_and(|picked| picked.contains(spot));
                cx.send(Command::Select(SelectionCommand::PickPoints(
                    one,
                    if known { PickChange::Remove } else { PickChange::Add },
                )));
            }
            Some(_) if !focus.is_empty() => cx.send(Command::Select(SelectionCommand::Pin(focus))),
            // Of another input, which opens beside this.
            Some(Spot::Query(point)) if single => cx.send(Command::OpenPoint { is_key: false, point }),
            Some(Spot::Key(point)) if single => cx.send(Command::OpenPoint { is_key: true, point }),
            Some(_) => {}
            None => {
                if cx.pane.picked(cx.document).is_some() {
                    cx.send(Command::Select(SelectionCommand::PickPoints(PointSet::default(), PickChange::Replace)));
                }
                if let Some(head) = head.filter(|head| !single && *head != cx.pane.cell(cx.document)) {
                    cx.send(Command::Select(SelectionCommand::Head(head)));
                }
            }
        }
    }
}

/// Why no lines can be drawn from all queries now, in words; `None` when they can.
pub fn no_lines(cx: &ViewCtx<'_>) -> Option<String> {
    if cx.pane.view == ViewKind::Matrix {
        return Some("They are shown for one head: zoom into it, or double-click it".to_owned());
    }
    if cx.pane.shown_input(cx.document).is_none() {
        return Some("None of these inputs is shown: click one of their points or a row in the list".to_owned());
    }
    weights(cx)?.err().map(|refusal| sentence(&refusal.to_string()))
}

/// The selected head's weights, for lines between points.
fn pattern(cx: &ViewCtx<'_>) -> Option<Arc<ReadPattern>> {
    cx.pane.shown_input(cx.document)?;
    weights(cx)?.ok()
}

/// The same, or why there are none; `None` while they are being read.
fn weights(cx: &ViewCtx<'_>) -> Option<Result<Arc<ReadPattern>, Refusal>> {
    let capture = cx.document.latest_capture()?;
    // The points are one head's, whatever else is taken together.
    let subject = CapturePair::one(Arc::clone(capture));
    cx.patterns.pattern(&subject, &source::of_head(cx, capture, cx.pane.selection.head))
}
