//! What a recurrence carries, in the window: hovering reads a step, a click selects its token.

use std::sync::Arc;

use eframe::egui::{CursorIcon, Pos2, Rect, Sense, Ui};

use super::{Canvas, controls, display_list::ScenePainter, hover, parts::parts_ui, scale::Footer, selectors, tooltip};
use crate::{
    figure::{
        Scene as _,
        views::{
            cells,
            parts::OfParts as _,
            states::{StatesFacts, StatesOf, StatesOptions, StatesPart, StatesScene, cells as units},
        },
    },
    ids::{CaptureId, StackKind},
    session::{Command, Focus, SelectionCommand},
    text::norm_text,
    ui::{
        ViewCtx,
        memo::{Memo, Same},
    },
};

/// Everything that the scene depends on.
type SceneKey = (Same<StatesFacts>, StackKind, Focus, StatesOptions);

/// The view with what it remembers between frames.
#[derive(Default)]
pub struct StatesView {
    facts: Memo<(CaptureId, StatesOf), Option<Arc<StatesFacts>>>,
    scene: Memo<SceneKey, Arc<StatesScene>>,
    painter: ScenePainter<SceneKey>,
}

impl Canvas for StatesView {
    fn rest(&mut self) {
        *self = Self::default();
    }

    fn choosers_ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>) {
        selectors::choosers_ui(ui, cx, selectors::HeadsIn::Row, None);
    }

    fn ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>) -> Option<Footer> {
        let capture = cx.document.latest_capture()?;
        let (options, stack) = (cx.pane.options.states, cx.pane.selection.head.stack);
        let make = || StatesFacts::of(capture, options.of).map(Arc::new);
        let facts = self.facts.get_or_update((capture.id(), options.of), make)?;
        let key = (Same(facts), stack, cx.pane.selection.pinned, options);
        let make = || {
            let Focus { query, key: held } = key.2;
            Arc::new(StatesScene::new(Arc::clone(&key.0.0), stack, [query, held], options))
        };
        let scene = self.scene.get_or_update(key.clone(), make);
        let name = format!("States of the {}", scene.facts.side.name());
        parts_ui(ui, cx, (&mut self.painter, key), (scene.as_ref(), &name), |ui, response| {
            step_ui(ui, cx, &scene, response.rect);
        });
        Some(Footer { words: scene.captions().short, scales: Vec::new() })
    }
}

/// The step under the pointer: its numbers, and its token for whoever clicks.
fn step_ui(ui: &Ui, cx: &ViewCtx<'_>, scene: &StatesScene, area: Rect) {
    let under = ui.input(|input| input.pointer.hover_pos()).filter(|at| ui.clip_rect().contains(*at));
    let Some(under) = under else { return };
    let Some((part, token, unit)) = at(scene, area, under) else { return };
    let (facts, stack) = (&scene.facts, cx.pane.selection.head.stack);
    let here = if stack.key_side() == facts.side { Focus::key(token) } else { Focus::query(token) };
    hover::report(cx, here);
    tooltip::at_pointer(ui, |ui| {
        let lines = scene.lines(part);
        if let Some(value) = scene.steps().states.row(token).and_then(|row| row.get(unit)).filter(|_| lines.is_empty())
        {
            ui.strong(norm_text(*value));
            controls::caption_ui(ui, cx.theme, format!("unit {unit}"));
        }
        for (name, values) in lines {
            let value = values.get(token).copied().flatten().map_or_else(|| "–".to_owned(), norm_text);
            ui.label(format!("{value} {name}"));
        }
        controls::caption_ui(ui, cx.theme, format!("after “{}”", facts.names[token]));
    });
    let response =
        ui.interact(area, ui.scope_id().with("steps"), Sense::click()).on_hover_cursor(CursorIcon::PointingHand);
    if response.clicked() {
        let pinned = cx.pane.selection.pinned;
        let was_pinned = scene.held == Some(token);
        cx.send(Command::Select(SelectionCommand::Pin(hover::clicked(pinned, here, was_pinned))));
    }
}

/// The part over tokens, the token and the unit at a place.
fn at(scene: &StatesScene, area: Rect, under: Pos2) -> Option<(StatesPart, usize, usize)> {
    let [n, n_units] = scene.steps().states.shape();
    scene.placed(area).into_iter().filter(|(part, _)| *part != StatesPart::Path).find_map(|(part, rect)| {
        let (unit, token) = cells::cell_at(units(rect), (n_units, n), under)?;
        Some((part, token, unit))
    })
}
