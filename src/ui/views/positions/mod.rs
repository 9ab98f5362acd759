//! How positions enter attention, in the window.

use std::sync::Arc;

use eframe::egui::{Rect, Ui};

use super::{Canvas, controls, display_list::ScenePainter, hover, parts::parts_ui, scale::Footer, selectors, tooltip};
use crate::{
    figure::{
        Scene as _,
        views::{
            cells,
            parts::{self, OfParts as _},
            positions::{Part, PositionFacts, PositionsOptions, PositionsScene},
        },
    },
    ids::{CaptureId, HeadId},
    session::Focus,
    text::norm_text,
    ui::{
        ViewCtx,
        memo::{Memo, Same},
    },
};

/// What the facts depend on: the run and the one beside it, a head, and how many positions are drawn.
type FactsKey = (CaptureId, Option<CaptureId>, HeadId, PositionsOptions);
/// Everything that the scene depends on.
type SceneKey = (Same<PositionFacts>, Focus);

/// The view with what it remembers between frames.
#[derive(Default)]
pub struct PositionsView {
    facts: Memo<FactsKey, Arc<PositionFacts>>,
    scene: Memo<SceneKey, Arc<PositionsScene>>,
    painter: ScenePainter<SceneKey>,
}

impl Canvas for PositionsView {
    fn rest(&mut self) {
        *self = Self::default();
    }

    fn choosers_ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>) {
        selectors::choosers_ui(ui, cx, selectors::HeadsIn::Row, None);
    }

    fn ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>) -> Option<Footer> {
        let capture = cx.document.latest_capture()?;
        let head = cx.pane.selection.head;
        let options = cx.pane.options.positions;
        let other = cx.unchanged.map(AsRef::as_ref);
        let of = (capture.id(), cx.unchanged.map(|other| other.id()), head, options);
        let facts = self.facts.get_or_update(of, || Arc::new(PositionFacts::of(capture, other, head, options)));
        let held = cx.pane.selection.pinned;
        let key = (Same(facts), held);
        let make = || Arc::new(PositionsScene::new(capture, Arc::clone(&key.0.0), [held.query, held.key], options));
        let scene = self.scene.get_or_update(key.clone(), make);
        let name = format!("Positions in {head}");
        parts_ui(ui, cx, (&mut self.painter, key), (scene.as_ref(), &name), |ui, response| {
            number_ui(ui, cx, &scene, response.rect);
        });
        Some(Footer { words: scene.captions().short, scales: Vec::new() })
    }
}

/// The number under the pointer, of the parts that are matrices.
fn number_ui(ui: &Ui, cx: &ViewCtx<'_>, scene: &PositionsScene, area: Rect) {
    let Some(table) = &scene.facts.table else { return };
    let under = ui.input(|input| input.pointer.hover_pos()).filter(|at| ui.clip_rect().contains(*at));
    let Some(under) = under else { return };
    for (part, rect) in scene.placed(area) {
        let (matrix, what) = match part {
            Part::Table => (&table.rows, "dimension"),
            Part::Cosines => (&table.cosines, "beside position"),
            Part::Sinusoids => match &table.sinusoids {
                Some(sinusoids) => (sinusoids, "dimension"),
                None => continue,
            },
            Part::Distance | Part::Turns | Part::Biases | Part::Order | Part::Reach => continue,
        };
        let shape = (matrix.n_rows(), matrix.n_cols());
        let Some((row, col)) = cells::cell_at(parts::data(rect), shape, under) else { continue };
        let Some(value) = matrix.row(row).and_then(|values| values.get(col)) else { continue };
        hover::report(cx, Focus::cell(row, if part == Part::Cosines { col } else { row }));
        tooltip::at_pointer(ui, |ui| {
            ui.strong(norm_text(*value));
            let name = table.names.get(row).map_or("", String::as_str);
            controls::caption_ui(ui, cx.theme, format!("position {name}, {what} {col}"));
        });
    }
}
