//! Experts of a layer, in the window: hovering reads a cell, a click holds its token or selects its layer.

use std::sync::Arc;

use eframe::egui::{CursorIcon, Pos2, Rect, Sense, Ui};

use super::{
    Canvas, controls, display_list::ScenePainter, hover, menu, parts::parts_ui, scale::Footer, selectors, tooltip,
};
use crate::{
    figure::{
        Scene as _,
        views::{
            cells::cell_at,
            experts::{ExpertsFacts, ExpertsOptions, ExpertsPart, ExpertsScene, cells},
            parts::OfParts as _,
        },
    },
    ids::{CaptureId, ExpertId, StackKind},
    raster::ColorMap,
    session::{Command, Focus, SelectionCommand},
    text::{norm_text, share_text},
    ui::{
        ViewCtx,
        memo::{Memo, Same},
    },
};

/// Everything that the scene depends on: facts, layer, token that is held, looks.
type SceneKey = (Same<ExpertsFacts>, usize, Option<usize>, (ExpertsOptions, ColorMap));

/// The view with what it remembers between frames.
#[derive(Default)]
pub struct ExpertsView {
    facts: Memo<(CaptureId, StackKind), Option<Arc<ExpertsFacts>>>,
    scene: Memo<SceneKey, Arc<ExpertsScene>>,
    painter: ScenePainter<SceneKey>,
}

impl Canvas for ExpertsView {
    fn rest(&mut self) {
        *self = Self::default();
    }

    fn choosers_ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>) {
        selectors::choosers_ui(ui, cx, selectors::HeadsIn::Row, None);
    }

    fn ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>) -> Option<Footer> {
        let capture = cx.document.latest_capture()?;
        let (options, head) = (&cx.pane.options, cx.pane.selection.head);
        let make = || ExpertsFacts::of(capture, head.stack).map(Arc::new);
        let facts = self.facts.get_or_update((capture.id(), head.stack), make)?;
        let looks = (options.experts, options.color_map());
        let key = (Same(facts), head.layer, cx.pane.selection.pinned.query, looks);
        let scene = self
            .scene
            .get_or_update(key.clone(), || Arc::new(ExpertsScene::new(Arc::clone(&key.0.0), key.1, key.2, key.3)));
        let name = format!("Experts of layer {}", scene.routing().layer);
        parts_ui(ui, cx, (&mut self.painter, key), (scene.as_ref(), &name), |ui, response| {
            cell_ui(ui, cx, &scene, response.rect);
        });
        Some(Footer { words: scene.captions().short, scales: Vec::new() })
    }
}

/// The cell under the pointer: its numbers, and its token or layer for whoever clicks.
fn cell_ui(ui: &Ui, cx: &ViewCtx<'_>, scene: &ExpertsScene, area: Rect) {
    let under = ui.input(|input| input.pointer.hover_pos()).filter(|at| ui.clip_rect().contains(*at));
    let Some((part, row, col)) = under.and_then(|under| at(scene, area, under)) else { return };
    let command = match part {
        ExpertsPart::Tokens => {
            let here = Focus::query(col);
            hover::report(cx, here);
            Some(SelectionCommand::Pin(hover::clicked(cx.pane.selection.pinned, here, scene.held == Some(col))))
        }
        ExpertsPart::Load => None,
        ExpertsPart::Layers | ExpertsPart::Path => Some(SelectionCommand::Layer(scene.facts.layers[row].layer)),
    };
    let (place, expert) = match part {
        ExpertsPart::Tokens => (scene.place, row),
        ExpertsPart::Load => (scene.place, col),
        ExpertsPart::Layers | ExpertsPart::Path => (row, col),
    };
    let layer = scene.facts.layers[place].layer;
    menu::point_at_expert(ui, cx, ExpertId { stack: scene.facts.stack, layer, expert });
    tooltip::at_pointer(ui, |ui| {
        let [value, caption] = told(scene, part, (row, col));
        ui.strong(value);
        controls::caption_ui(ui, cx.theme, caption);
    });
    let Some(command) = command else { return };
    let response =
        ui.interact(area, ui.scope_id().with("cells"), Sense::click()).on_hover_cursor(CursorIcon::PointingHand);
    if response.clicked() {
        cx.send(Command::Select(command));
    }
}

/// The number of a cell, and what it is of.
fn told(scene: &ExpertsScene, part: ExpertsPart, (row, col): (usize, usize)) -> [String; 2] {
    let facts = &scene.facts;
    let weight = |place: usize, token: usize, expert: usize| {
        let routing = &facts.layers[place];
        let number = |values: Option<&[f32]>| values.and_then(|row| row.get(expert)).copied().map(norm_text);
        let score = number(routing.scores.as_ref().and_then(|scores| scores.row(token)));
        let score = score.map_or_else(String::new, |score| format!(", score {score}"));
        match number(routing.weights.row(token)).filter(|_| routing.is_chosen(token, expert)) {
            Some(weight) => format!("weight {weight}{score}"),
            None => format!("not chosen{score}"),
        }
    };
    let share = |place: usize, expert: usize| {
        let load = &facts.loads[place];
        let of = load.tokens.get(expert).copied().unwrap_or(0);
        let share = of as f64 / load.n_tokens.max(1) as f64;
        [
            format!("{} of the tokens ({of} of {})", share_text(share), load.n_tokens),
            format!("expert {expert} of layer {}; even: {}", facts.layers[place].layer, share_text(load.even())),
        ]
    };
    match part {
        ExpertsPart::Tokens => [weight(scene.place, col, row), format!("expert {row} for “{}”", facts.names[col])],
        ExpertsPart::Load => share(scene.place, col),
        ExpertsPart::Layers => share(row, col),
        ExpertsPart::Path => {
            let value = scene.held.map_or_else(String::new, |held| weight(row, held, col));
            [value, format!("expert {col} of layer {}", facts.layers[row].layer)]
        }
    }
}

/// The part, the row and the column at a place.
fn at(scene: &ExpertsScene, area: Rect, under: Pos2) -> Option<(ExpertsPart, usize, usize)> {
    scene.placed(area).into_iter().find_map(|(part, rect)| {
        let (row, col) = cell_at(cells(rect), scene.grid(part), under)?;
        Some((part, row, col))
    })
}
