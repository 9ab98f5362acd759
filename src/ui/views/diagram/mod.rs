//! A model as boxes, in the window: a click opens a layer or selects a head.

use std::sync::Arc;

use eframe::egui::{CursorIcon, Role, ScrollArea, Sense, Ui, WidgetInfo, vec2};

use super::{Canvas, display_list::ScenePainter, scale::Footer, selectors, states};
use crate::{
    figure::{
        Scene as _,
        views::diagram::{DiagramScene, layout::Target},
    },
    ids::{CaptureId, HeadId},
    session::{Command, SelectionCommand},
    ui::{ViewCtx, memo::Memo},
};

/// What the scene depends on.
type SceneKey = (CaptureId, HeadId, Option<usize>);

/// The view with what it remembers between frames.
#[derive(Default)]
pub struct DiagramView {
    scene: Memo<SceneKey, Option<Arc<DiagramScene>>>,
    painter: ScenePainter<SceneKey>,
}

impl Canvas for DiagramView {
    fn rest(&mut self) {
        *self = Self::default();
    }

    fn choosers_ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>) {
        selectors::choosers_ui(ui, cx, selectors::HeadsIn::Row, None);
    }

    fn ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>) -> Option<Footer> {
        let capture = cx.document.latest_capture()?;
        let key = (capture.id(), cx.pane.selection.head, cx.pane.selection.pinned.query);
        let make = || Some(Arc::new(DiagramScene::new(capture, key.1)?.with_token(capture, key.2)));
        let Some(scene) = self.scene.get_or_update(key, make) else {
            states::sentence_ui(ui, cx.theme, "The diagram is of transformers: this model is none");
            return None;
        };
        let scroll = ScrollArea::both().id_salt("diagram").auto_shrink(false);
        scroll.show(ui, |ui| {
            let room = ui.available_size();
            let width = room.x.max(scene.narrowest());
            let size = vec2(width, room.y.max(scene.least_height_in(width)));
            let (response, painter) = ui.allocate_painter(size, Sense::click());
            let area = response.rect;
            response.widget_info(|| WidgetInfo::labeled(Role::Image, true, format!("Diagram of {}", scene.model)));
            self.painter.paint(&painter, cx.theme, key, area, &|pen| scene.draw(area, pen));
            let Some(target) = response.hover_pos().and_then(|at| scene.target(area, at)) else { return };
            ui.ctx().set_cursor_icon(CursorIcon::PointingHand);
            if response.clicked() {
                let head = match target {
                    Target::Head(head) => head,
                    Target::Layer(stack, layer) => HeadId { stack, layer, head: 0 },
                };
                cx.send(Command::Select(SelectionCommand::Head(head)));
            }
        });
        Some(Footer { words: scene.captions().short, scales: Vec::new() })
    }
}
