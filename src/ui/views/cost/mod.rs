//! What attention costs, in the window.

use std::sync::Arc;

use eframe::egui::{Button, Rect, Ui};

use super::{Canvas, controls, display_list::ScenePainter, hover, parts::parts_ui, scale::Footer, selectors, tooltip};
use crate::{
    analysis::timing::Timing,
    figure::{
        Scene as _,
        views::{
            cells,
            cost::{CostFacts, CostOptions, CostPart, CostScene, maps},
            parts::OfParts as _,
        },
    },
    ids::{CaptureId, HeadId},
    raster::ColorMap,
    session::{Command, Focus},
    text::weight_text,
    ui::{
        ViewCtx,
        commands::UiCommand,
        memo::{Memo, Same},
    },
};

/// Everything that the scene depends on.
type SceneKey = (Same<CostFacts>, Option<Same<Timing>>, CostOptions, ColorMap);

/// The view with what it remembers between frames.
#[derive(Default)]
pub struct CostView {
    facts: Memo<(CaptureId, HeadId), Arc<CostFacts>>,
    scene: Memo<SceneKey, Arc<CostScene>>,
    painter: ScenePainter<SceneKey>,
}

impl Canvas for CostView {
    fn rest(&mut self) {
        *self = Self::default();
    }

    fn choosers_ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>) {
        let mut own = |ui: &mut Ui| measure_ui(ui, cx);
        selectors::choosers_ui(ui, cx, selectors::HeadsIn::Row, Some(&mut own));
    }

    fn ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>) -> Option<Footer> {
        let capture = cx.document.latest_capture()?;
        let head = cx.pane.selection.head;
        let facts = self.facts.get_or_update((capture.id(), head), || Arc::new(CostFacts::of(capture, head)));
        let options = &cx.pane.options;
        let timing = cx.document.shown_timing().cloned();
        let key = (Same(facts), timing.clone().map(Same), options.cost, options.color_map());
        let make = || Arc::new(CostScene::new(Arc::clone(&key.0.0), timing, key.2, key.3));
        let scene = self.scene.get_or_update(key.clone(), make);
        let name = format!("Cost of {head}");
        parts_ui(ui, cx, (&mut self.painter, key), (scene.as_ref(), &name), |ui, response| {
            weight_ui(ui, cx, &scene, response.rect);
        });
        Some(Footer { words: scene.captions().short, scales: Vec::new() })
    }
}

/// The button that has times measured.
fn measure_ui(ui: &mut Ui, cx: &ViewCtx<'_>) {
    let obstacle = cx.document.timing_obstacle();
    let button = ui.add_enabled(obstacle.is_none(), Button::new("Measure"));
    let button =
        button.on_hover_text(UiCommand::MeasureTimes.tooltip()).on_disabled_hover_text(obstacle.unwrap_or_default());
    if button.clicked() {
        cx.send(Command::MeasureTimes);
    }
}

/// The weight under the pointer, in the pattern and in its approximation.
fn weight_ui(ui: &Ui, cx: &ViewCtx<'_>, scene: &CostScene, area: Rect) {
    let Ok((patterns, _)) = &scene.patterns else { return };
    let under = ui.input(|input| input.pointer.hover_pos()).filter(|at| ui.clip_rect().contains(*at));
    let place = scene.placed(area).into_iter().find(|(part, _)| *part == CostPart::Patterns);
    let (Some(under), Some((_, rect))) = (under, place) else { return };
    let shape @ [n_query, n_key] = patterns[0].shape();
    let cell = maps(rect, shape).into_iter().find_map(|map| cells::cell_at(map, (n_query, n_key), under));
    let Some((query, key)) = cell else { return };
    hover::report(cx, Focus::cell(query, key));
    let [exact, found] =
        patterns.each_ref().map(|matrix| matrix.row(query).and_then(|row| row.get(key)).copied().unwrap_or(0.0));
    tooltip::at_pointer(ui, |ui| {
        ui.strong(weight_text(exact));
        controls::caption_ui(ui, cx.theme, format!("approximated {}", weight_text(found)));
    });
}
