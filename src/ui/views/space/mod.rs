//! The spaces of all heads, or of all layers, on one canvas, from all of them down into one and back.
//!
//! [`ViewKind::Matrix`] and [`ViewKind::Scatter`] are its two ends: which of them a pane has follows from the camera,
//! and asking for the other moves the camera there.

use std::{collections::HashMap, sync::Arc};

use eframe::egui::{Button, Pos2, Rect, Role, Ui, Vec2, WidgetInfo, vec2};

use self::{
    arrangement::Arrangement,
    camera::{Camera, Flight, Frame},
    hits::HitGrid,
    marks::Marks,
    outline::Outline,
    patches::PatchPictures,
    pictures::Pictures,
    state::Same,
};
pub use canvas::no_lines;

use super::{
    Canvas,
    display_list::ScenePainter,
    groups::HeadGroups,
    scale::Footer,
    selectors::{self, HeadsIn},
    states,
};
use crate::{
    analysis::{
        Space,
        point_set::PointSet,
        projection::{Dims, HeadProjection, Projection},
    },
    figure::views::{
        matrix::layout::{COL_LABEL_PT, MatrixLayout, ROW_LABEL_PT},
        points::{Seen, Turn},
    },
    ids::{CloudId, HeadId, StackKind},
    session::{Command, HeadOrder, PickChange, SelectionCommand, ViewKind},
    spec::LayerSpec,
    ui::{ViewCtx, memo::Memo},
};

mod arrangement;
mod camera;
mod canvas;
mod draw;
mod drawing;
pub mod grid;
mod hits;
mod labels;
mod legend;
mod looks;
mod marks;
mod outline;
mod paint;
mod partners;
mod patches;
mod picking;
mod pictures;
mod readout;
mod state;
mod texts;

/// How long the camera takes to another head or to all of them, as a part of the animation time of the style.
const FLIGHT: f32 = 1.4;

/// What dragging does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Tool {
    /// It moves what is in sight, or turns it.
    #[default]
    Move,
    /// It draws a box around points.
    Box,
    /// It draws a line around points.
    Lasso,
}

/// What is on the canvas: when it changes, nothing that was seen before has a place on it.
type Ground = (CloudId, Space, StackKind, HeadOrder);

/// The canvas with what it remembers between frames.
#[derive(Default)]
pub struct SpaceView {
    camera: Camera,
    flight: Option<Flight>,
    /// What the camera looked through in the last frame.
    frame: Option<Frame>,
    ground: Option<Ground>,
    /// The view and the head that the camera shows, or flies to.
    shown: Option<(ViewKind, HeadId)>,
    arrangement: Memo<ArrangementKey, Arc<Arrangement>>,
    /// Lines between cells, and names.
    static_parts: ScenePainter<(MatrixLayout, Same<Arrangement>)>,
    pictures: Pictures,
    marks: Marks,
    seen: HashMap<HeadId, (Same<HeadProjection>, Option<Turn>, Seen)>,
    /// Of the head under the pointer.
    hits: Memo<(Same<HeadProjection>, Option<Turn>), Arc<HitGrid>>,
    both: picking::Both,
    /// The points that stand out in this frame.
    marked: Option<Arc<PointSet>>,
    few: Memo<draw::FewKey, Arc<eframe::egui::Mesh>>,
    /// Whether patches stood in for marks in this frame.
    are_patches: bool,
    patches: Memo<CloudId, Option<PatchPictures>>,
    repeated: texts::Repeated,
    clusters: texts::Clusters,
    turn: Turn,
    tool: Tool,
    outline: Option<(HeadId, Outline)>,
}

type ArrangementKey = (Same<Projection>, HeadOrder, Option<Same<std::collections::BTreeMap<HeadId, f32>>>);

impl Canvas for SpaceView {
    fn rest(&mut self) {
        let Self { camera, flight, frame, ground, shown, turn, tool, .. } = std::mem::take(self);
        *self = Self { camera, flight, frame, ground, shown, turn, tool, ..Self::default() };
    }

    fn choosers_ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>) {
        let space = cx.pane.space();
        let single = cx.pane.view == ViewKind::Scatter;
        let mut own = |ui: &mut Ui| {
            let away = single || self.camera.zoom > 1.001;
            let all = if space.is_per_head() { "heads" } else { "layers" };
            let back = ui.add_enabled(away && space != Space::Positions, Button::new(format!("‹ All {all}")));
            if back.on_hover_text(format!("Back to the maps of all {all}")).clicked() {
                if single {
                    cx.send(Command::Select(SelectionCommand::ShowView(ViewKind::Matrix)));
                } else {
                    self.fly(ui, Camera::default());
                }
            }
            self.tools_ui(ui);
        };
        selectors::choosers_ui(ui, cx, HeadsIn::Row, Some(&mut own));
    }

    fn ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>) -> Option<Footer> {
        let cell = cx.pane.cell(cx.document);
        let single = cx.pane.view == ViewKind::Scatter;
        let Some(projection) = cx.pane.shown_projection(cx.document).cloned() else {
            state::placeholder_ui(ui, cx);
            return None;
        };
        let plane = projection.heads.iter().find(|plane| plane.head == cell);
        let caption = match plane.filter(|_| single) {
            Some(plane) => readout::head_caption(&projection, plane),
            None => readout::caption(&projection),
        };
        state::state_ui(ui, cx, &projection);
        if single && plane.is_none() {
            states::sentence_ui(ui, cx.theme, "Nothing of this layer was recorded");
            return None;
        }
        let above = ui.available_rect_before_wrap();
        self.canvas_ui(ui, cx, &projection);
        picking::picked_ui(ui, cx, (&projection, above));
        let most = self.pictures.most(cell);
        let scales = legend::scale(ui, cx, self.pictures.looks(), most).into_iter().collect();
        Some(Footer { words: caption, scales })
    }

    fn legend_ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>) {
        legend::legend_ui(ui, cx, self.pictures.looks());
    }
}

impl SpaceView {
    /// What dragging does.
    fn tools_ui(&mut self, ui: &mut Ui) {
        for (tool, name, meaning) in [
            (Tool::Move, "Move", "Dragging moves the view, or turns a 3-D layout"),
            (Tool::Box, "Box", "Dragging draws a box around points to pick them (any time: Alt and drag)"),
            (
                Tool::Lasso,
                "Lasso",
                "Dragging draws a line around points to pick them (any time in the plane: Shift and drag)",
            ),
        ] {
            let response = ui.add(Button::selectable(self.tool == tool, name));
            let chosen = self.tool == tool;
            response.widget_info(|| WidgetInfo::selected(Role::RadioButton, true, chosen, format!("Drag {name}")));
            let more = "\nCtrl adds to the picked points, or takes one point";
            let text = if tool == Tool::Move { meaning.to_owned() } else { format!("{meaning}{more}") };
            if response.on_hover_text(text).clicked() {
                self.tool = tool;
            }
        }
    }

    /// Which head stands where.
    fn arrangement(&mut self, cx: &ViewCtx<'_>, projection: &Arc<Projection>) -> Arc<Arrangement> {
        let spec = projection.cloud.model().and_then(|model| model.stack(projection.stack));
        let order = cx.pane.options.scatter.order;
        // While layouts are on their way heads stay where they are.
        let ranking = cx.pane.ranking(cx.document).cloned();
        let key = (Same(Arc::clone(projection)), order, ranking.clone().map(Same));
        self.arrangement.get_or_update(key, || Arc::new(Arrangement::of(projection, order, ranking.as_deref(), spec)))
    }

    /// Moves the camera in a short while, or at once where nothing is to move by itself.
    fn fly(&mut self, ui: &Ui, to: Camera) {
        let seconds = f64::from(FLIGHT * ui.style().animation_time);
        if seconds <= 0.0 {
            (self.camera, self.flight) = (to, None);
        } else {
            let time = ui.input(|input| input.time);
            self.flight = Some(Flight::new(self.camera, to, time, seconds));
        }
        ui.ctx().request_repaint();
    }

    /// The camera follows what the pane shows, when something else than the camera has changed that.
    fn follow(&mut self, ui: &Ui, cx: &ViewCtx<'_>, frame: &Frame, arrangement: &Arrangement, ground: Ground) {
        let wanted = (cx.pane.view, cx.pane.cell(cx.document));
        let to = |camera: &Camera| {
            let place = arrangement.place(wanted.1).filter(|_| wanted.0 == ViewKind::Scatter);
            let Some(place) = place else { return Camera::default() };
            let there = Camera::at_cell(frame, place);
            match camera.cell {
                // From one head to the next the same part of it stays in sight.
                Some(here) if camera.zoom >= frame.one() => Camera {
                    zoom: camera.zoom,
                    center: there.center + camera.center - Camera::at_cell(frame, here).center,
                    ..there
                },
                Some(_) | None => there,
            }
        };
        if self.ground != Some(ground) {
            let fresh = self.ground.replace(ground).is_none_or(|known| known.3 == ground.3);
            self.shown = Some(wanted);
            let camera = to(&Camera::default());
            if fresh {
                (self.camera, self.flight) = (camera, None);
            } else {
                self.fly(ui, camera);
            }
            return;
        }
        // All heads are in sight, or were left somewhere between.
        let stays = |known: (ViewKind, HeadId)| known == wanted || [known.0, wanted.0] == [ViewKind::Matrix; 2];
        if !self.shown.replace(wanted).is_some_and(stays) {
            let camera = to(&self.camera);
            self.fly(ui, camera);
        }
    }

    /// What the canvas looks through: less the names of rows and columns, which one head alone does without.
    fn frame_at(area: Rect, arrangement: &Arrangement, zoom: f32) -> Frame {
        let grid = arrangement.grid;
        let held = Frame { viewport: area, grid }.held(zoom);
        let names = if arrangement.by_layer { vec2(ROW_LABEL_PT, COL_LABEL_PT) } else { Vec2::ZERO };
        let min = area.min + names * (1.0 - held);
        Frame { viewport: Rect::from_min_max(min.min(area.max), area.max), grid }
    }

    /// Where a head's points fall before they are fitted into its cell.
    fn seen(&mut self, plane: &Arc<HeadProjection>, turn: Option<Turn>) -> Seen {
        match self.seen.get(&plane.head) {
            Some((Same(known), of, seen)) if Arc::ptr_eq(known, plane) && *of == turn => *seen,
            _ => {
                let seen = Seen::new(plane, turn);
                self.seen.insert(plane.head, (Same(Arc::clone(plane)), turn, seen));
                seen
            }
        }
    }
}

/// Where a layout in space is looked at from; `None` in the plane.
fn turned(projection: &Projection, turn: Turn) -> Option<Turn> {
    (projection.options.layout.dims == Dims::Space).then_some(turn)
}

/// Where all cells are.
fn layout(camera: &Camera, frame: &Frame) -> MatrixLayout {
    MatrixLayout { viewport: frame.viewport, content: camera.content_rect(frame), grid: frame.grid }
}

/// How heads share their keys, where all layers of the stack do it alike.
fn common_groups(cx: &ViewCtx<'_>, stack: StackKind) -> Option<HeadGroups> {
    let capture = cx.document.latest_capture()?;
    let layers = &capture.model().stack(stack)?.layers;
    let shape = |layer: &LayerSpec| (layer.n_heads, layer.n_kv_heads);
    let first = layers.first().map(shape)?;
    let alike = layers.iter().all(|layer| shape(layer) == first);
    alike.then(|| HeadGroups::of(capture, HeadId { stack, layer: 0, head: 0 }))
}

/// How a click or a drag changes what is picked.
fn change(ui: &Ui) -> PickChange {
    if ui.input(|input| input.modifiers.command) { PickChange::Add } else { PickChange::Replace }
}

/// A place on the canvas with what is there.
#[derive(Clone)]
struct Place {
    plane: Arc<HeadProjection>,
    seen: Seen,
    cell: Rect,
}

impl Place {
    fn transform(&self) -> crate::figure::views::matrix::layout::CellTransform {
        crate::figure::views::matrix::layout::CellTransform::new(self.seen.bounds, self.cell)
    }

    /// A query, or a key, on screen.
    fn at(&self, spot: crate::analysis::point_set::Spot) -> Option<Pos2> {
        use crate::analysis::point_set::Spot;
        let point = match spot {
            Spot::Query(query) => self.plane.queries.get(query),
            Spot::Key(key) => self.plane.keys.get(key),
        };
        let at = self.transform().apply(self.seen.place(*point?));
        at.is_finite().then_some(at)
    }
}
