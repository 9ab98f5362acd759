//! Texts that were sampled, side by side above the steps of the first: a click takes one, or goes on from a token of it.

use std::sync::Arc;

use eframe::egui::{CursorIcon, Rect, RectAlign, Role, Sense, Ui, WidgetInfo, vec2};

use super::{GOES_ON, controls, go_on, pin, text_width, tooltip};
use crate::{
    analysis::written::WrittenText,
    figure::{
        measure::text_size::BODY,
        views::writing::{SamplePlace, SamplesLayout, WritingScene},
    },
    text::{decimal_text, share_text},
    ui::{
        ViewCtx,
        memo::{Memo, Same},
        views::display_list::ScenePainter,
    },
};

const TAKES_IT: &str = "Click takes this text";
const IS_READ: &str = "The text that is read, with its steps below";

/// Everything that the layout depends on.
type LayoutKey = (Same<WrittenText>, [u32; 2]);

/// The texts with where they stand.
#[derive(Default)]
pub struct Samples {
    layout: Memo<LayoutKey, Arc<SamplesLayout>>,
    painter: ScenePainter<LayoutKey>,
}

impl Samples {
    /// Draws them, where there are several.
    pub fn ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>, scene: &WritingScene) {
        if scene.text.samples.is_empty() {
            return;
        }
        let width = ui.available_width();
        let key = (Same(Arc::clone(&scene.text)), [width, ui.pixels_per_point()].map(f32::to_bits));
        let layout = self.layout.get_or_update(key.clone(), || {
            let mut measure = |text: &str| text_width::width(ui.painter(), text, BODY);
            Arc::new(SamplesLayout::compute(&scene.text, width, &mut measure))
        });
        let (response, painter) = ui.allocate_painter(vec2(width, layout.size.y), Sense::hover());
        let area = response.rect;
        self.painter.paint(&painter, cx.theme, key, area, &|pen| layout.draw(&scene.text, area.min, pen));
        for place in &layout.places {
            let rect = place.rect.translate(area.min.to_vec2());
            if ui.is_rect_visible(rect) {
                place_ui(ui, cx, scene, *place, rect);
            }
        }
    }
}

/// A token of a text, or the head of its column.
fn place_ui(ui: &Ui, cx: &ViewCtx<'_>, scene: &WritingScene, place: SamplePlace, rect: Rect) {
    let SamplePlace { text: nth, token, .. } = place;
    let Some(tokens) = scene.text.samples.get(nth) else { return };
    let response = ui.interact(rect, ui.scope_id().with(("sample", nth, token)), Sense::CLICK);
    let (name, title) = if let Some(item) = token.and_then(|token| tokens.get(token)) {
        let probability = share_text(item.value);
        let name = format!("Text {} {}, probability {probability}", nth + 1, item.label);
        (name, format!("{}  {probability}", item.label))
    } else {
        let log_probability = decimal_text(scene.text.log_probability(nth));
        let name = format!("Text {}, log probability {log_probability}", nth + 1);
        (name, format!("Text {}  log p {log_probability}", nth + 1))
    };
    response.widget_info(|| WidgetInfo::labeled(Role::Button, true, &name));
    let response = response.on_hover_cursor(CursorIcon::PointingHand);
    let obstacle = cx.document.unchangeable();
    if response.hovered() || response.has_focus() {
        tooltip::beside(ui, rect, RectAlign::RIGHT_START, |ui| {
            ui.strong(title);
            let what = match (nth, token) {
                (0, None) => IS_READ,
                (0, Some(_)) => "Click pins the step",
                (_, None) => obstacle.unwrap_or(TAKES_IT),
                (_, Some(_)) => obstacle.unwrap_or(GOES_ON),
            };
            controls::caption_ui(ui, cx.theme, what);
        });
    }
    if !response.clicked() {
        return;
    }
    match (nth, token) {
        (0, None) => {}
        (0, Some(token)) => pin(cx, scene, scene.text.n_given() + token),
        _ if obstacle.is_some() => {}
        _ => {
            let last = token.unwrap_or_else(|| tokens.len().saturating_sub(1));
            if let Some(ids) = scene.text.with_sample(nth, last) {
                go_on(cx, ids, &response);
            }
        }
    }
}
