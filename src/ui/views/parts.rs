//! A scene of parts in the window: side by side where there is room, scrolled where there is not.

use eframe::egui::{Align, Response, Role, ScrollArea, Sense, Ui, WidgetInfo, vec2};

use super::display_list::ScenePainter;
use crate::{
    figure::{
        Scene as _,
        views::parts::{OfParts, least_height, width},
    },
    session::gallery::EXAMPLES,
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
        if let Some(part) = first_part(ui, cx) {
            let place = scene.placed(response.rect).get(part).map(|(_, place)| *place);
            ui.scroll_to_rect(place.unwrap_or(response.rect), Some(Align::Min));
        }
        painter.paint(&canvas, cx.theme, key, response.rect, &|pen| scene.draw(response.rect, pen));
        over(ui, &response)
    });
    painted.inner
}

/// The part that the example of a pane begins with; `None` once it was shown.
fn first_part(ui: &Ui, cx: &ViewCtx<'_>) -> Option<usize> {
    let example = cx.document.example_run().map(|idx| &EXAMPLES[idx]).filter(|it| it.view == cx.pane.view)?;
    let shown = cx.document.latest_capture()?.id();
    let seen = ui.scope_id().with("first part");
    if ui.data(|data| data.get_temp(seen)) == Some(shown) {
        return None;
    }
    ui.data_mut(|data| data.insert_temp(seen, shown));
    Some(example.part)
}
