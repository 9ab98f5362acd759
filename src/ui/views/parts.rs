//! A scene of parts in the window: side by side where there is room, scrolled where there is not.

use eframe::egui::{Response, Role, ScrollArea, Sense, Ui, WidgetInfo, vec2};

use super::display_list::ScenePainter;
use crate::{
    figure::{
        Scene as _,
        views::parts::{OfParts, least_height, width},
    },
    ui::ViewCtx,
};

/// Paints a scene that is called `name`; `over` does what its own view does over it.
pub fn parts_ui<S: OfParts, K: PartialEq, R>(
    ui: &mut Ui,
    cx: &ViewCtx<'_>,
    (painter, key): (&mut ScenePainter<K>, K),
    (scene, name): (&S, &str),
    over: impl FnOnce(&mut Ui, &Response) -> R,
) -> R {
    let scroll = ScrollArea::both().id_salt("parts").auto_shrink(false);
    let painted = scroll.show(ui, |ui| {
        let room = ui.available_size();
        let wide = room.x.max(width(1));
        let size = vec2(wide, least_height(wide, scene.parts().len()).max(room.y));
        let (response, canvas) = ui.allocate_painter(size, Sense::hover());
        response.widget_info(|| WidgetInfo::labeled(Role::Image, true, name));
        painter.paint(&canvas, cx.theme, key, response.rect, &|pen| scene.draw(response.rect, pen));
        over(ui, &response)
    });
    painted.inner
}
