//! How a text was written, in the window: steps are read, held and played, and a token that was nearly written is where
//! another text begins.

use std::sync::Arc;

use eframe::egui::{
    CursorIcon, EventFilter, Key, Modifiers, Rect, RectAlign, Response, RichText, Role, ScrollArea, Sense, Ui,
    WidgetInfo, vec2,
};

use super::{
    Canvas, controls,
    display_list::ScenePainter,
    scale::Footer,
    selectors::{self, HeadsIn},
    states::Nothing,
    text_width, tooltip,
};
use crate::{
    analysis::written::{Origin, WrittenText},
    figure::{
        Scene as _,
        views::writing::{BeamTree, StepCell, StepsOptions, WritingScene},
    },
    ids::CaptureId,
    session::{Command, Focus, PaneCommand, SelectionCommand, can_continue},
    text::{ordinal_text, share_text},
    ui::{
        ViewCtx,
        memo::{Memo, Same},
    },
};

mod samples;

/// How long a step is held while they are played, in seconds.
const PLAYED_SECS: f64 = 0.6;
const GOES_ON: &str = "Click lets the model go on from here";

/// Everything that the scene depends on.
type SceneKey = (Same<WrittenText>, Option<usize>, StepsOptions);

/// The view with what it remembers between frames.
#[derive(Default)]
pub struct WritingView {
    text: Memo<CaptureId, Option<Arc<WrittenText>>>,
    scene: Memo<SceneKey, Arc<WritingScene>>,
    painter: ScenePainter<SceneKey>,
    samples: samples::Samples,
    /// When the next step is held, while they are played.
    next_at: Option<f64>,
}

impl Canvas for WritingView {
    fn rest(&mut self) {
        *self = Self::default();
    }

    fn choosers_ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>) {
        selectors::choosers_ui(ui, cx, HeadsIn::Row, None);
    }

    fn ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>) -> Option<Footer> {
        let Some(scene) = self.scene(cx) else {
            nothing(cx).ui(ui, cx);
            return None;
        };
        self.play(ui, cx, &scene);
        ui.horizontal_wrapped(|ui| self.steps_ui(ui, cx, &scene));
        ScrollArea::both().id_salt("steps").auto_shrink(false).show(ui, |ui| {
            self.samples.ui(ui, cx, &scene);
            self.scene_ui(ui, cx, &scene);
        });
        Some(Footer { words: scene.captions().short, scales: Vec::new() })
    }
}

/// Why there is no text, and what makes one.
fn nothing(cx: &ViewCtx<'_>) -> Nothing {
    let continues = cx.document.model.latest().is_some_and(|model| can_continue(&model.spec));
    if continues && cx.document.unchangeable().is_none() {
        let nothing = Nothing::from("The model has written nothing yet: let it go on with the text");
        return nothing.with("Continue", "Lets the model continue the text", Command::Continue);
    }
    "The steps of this text were not recorded".into()
}

impl WritingView {
    /// The steps, with the one that is held.
    fn scene(&mut self, cx: &ViewCtx<'_>) -> Option<Arc<WritingScene>> {
        let capture = cx.document.latest_capture()?;
        let text = self.text.get_or_update(capture.id(), || WrittenText::of(capture).map(Arc::new))?;
        let query = cx.pane.selection.pinned.query.filter(|_| is_here(cx, &text));
        let key = (Same(text), query, cx.pane.options.writing);
        let make = || Arc::new(WritingScene::new(Arc::clone(&key.0.0), query, key.2));
        Some(self.scene.get_or_update(key.clone(), make))
    }

    /// One step back or forward, how far one is, whether they are played, and a text that the model begins itself.
    fn steps_ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>, scene: &WritingScene) {
        let n = scene.text.steps.len();
        if selectors::step_button(ui, "‹", "Previous step", true).clicked() {
            step(cx, scene, false);
        }
        let place = scene.selected.map_or_else(|| "–".to_owned(), |nth| (nth + 1).to_string());
        ui.label(RichText::new(format!("Step {place} of {n}")).color(cx.theme.text_weak));
        if selectors::step_button(ui, "›", "Next step", true).clicked() {
            step(cx, scene, true);
        }
        let (name, meaning) = match self.next_at {
            None => ("Play", "Holds one step after the other (Space, after a click on the steps)"),
            Some(_) => ("Stop", "Stays at the step that is held (Space or Esc)"),
        };
        if ui.button(name).on_hover_text(meaning).clicked() {
            self.toggle(ui, cx, scene);
        }
        if scene.text.is_branch() && cx.document.was_written_otherwise() {
            let meaning = "Opens the text as it was before beside it";
            if ui.button("Compare with before").on_hover_text(meaning).clicked() {
                cx.send(Command::ShowBefore);
            }
        }
        if scene.text.is_branch() && ui.button("Write anew").on_hover_text("The model begins the text itself").clicked()
        {
            let continues = cx.document.experiment.continued;
            cx.send(if continues { Command::Continue } else { Command::Run });
        }
    }

    /// Begins to play, from the beginning where the last step is held or none; or stops.
    fn toggle(&mut self, ui: &Ui, cx: &ViewCtx<'_>, scene: &WritingScene) {
        if self.next_at.take().is_some() {
            return;
        }
        if scene.selected.is_none_or(|nth| nth + 1 == scene.text.steps.len()) {
            hold(cx, scene, 0);
        }
        self.next_at = Some(ui.input(|input| input.time) + PLAYED_SECS);
    }

    /// Holds the next step when it is time for it.
    fn play(&mut self, ui: &Ui, cx: &ViewCtx<'_>, scene: &WritingScene) {
        let Some(next_at) = self.next_at else { return };
        let now = ui.input(|input| input.time);
        let nth = scene.selected.map_or(0, |nth| nth + 1);
        let is_due = now >= next_at;
        self.next_at = match is_due {
            true if nth >= scene.text.steps.len() => None,
            true => Some(now + PLAYED_SECS),
            false => Some(next_at),
        };
        if is_due && self.next_at.is_some() {
            hold(cx, scene, nth);
        }
        if let Some(next_at) = self.next_at {
            ui.ctx().request_repaint_after_secs((next_at - now).max(0.0) as f32);
        }
    }

    fn scene_ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>, scene: &WritingScene) {
        let width = ui.available_width().max(scene.narrowest());
        let size = vec2(width, scene.height_in(width).max(ui.available_height()));
        let (response, painter) = ui.allocate_painter(size, Sense::click());
        let area = response.rect;
        let key = (Same(Arc::clone(&scene.text)), scene.selected, scene.options);
        self.painter.paint(&painter, cx.theme, key, area, &|pen| scene.draw_written(area, pen));
        response.widget_info(|| WidgetInfo {
            current_text_value: scene.selected.map(|nth| scene.text.steps[nth].text.clone()),
            ..WidgetInfo::labeled(Role::ListBox, true, "Steps of the text")
        });
        self.keys(ui, cx, &response, scene);
        if response.clicked() {
            response.request_focus();
        }
        for nth in 0..scene.text.steps.len() {
            if ui.is_rect_visible(scene.column(area, nth)) {
                for (cell, rect) in scene.cells(area, nth) {
                    cell_ui(ui, cx, scene, cell, rect, &response);
                }
            }
        }
        if let Some(tree) = &scene.tree {
            let corner = scene.corner_of_tree(area);
            for node in 0..tree.places.len() {
                let rect = tree.cell(corner, node);
                if ui.is_rect_visible(rect) {
                    kept_ui(ui, cx, scene, (tree, node), rect, &response);
                }
            }
        }
    }

    /// The arrows step, Space plays, Esc ends that, while the steps have the focus.
    fn keys(&mut self, ui: &Ui, cx: &ViewCtx<'_>, response: &Response, scene: &WritingScene) {
        if !response.has_focus() {
            return;
        }
        let filter = EventFilter { horizontal_arrows: true, escape: self.next_at.is_some(), ..EventFilter::default() };
        ui.memory_mut(|memory| memory.set_focus_lock_filter(response.id, filter));
        let pressed = |key: Key| ui.input_mut(|input| input.consume_key(Modifiers::NONE, key));
        for (key, forward) in [(Key::ArrowLeft, false), (Key::ArrowRight, true)] {
            if pressed(key) {
                step(cx, scene, forward);
            }
        }
        if pressed(Key::Space) || self.next_at.is_some() && pressed(Key::Escape) {
            self.toggle(ui, cx, scene);
        }
    }
}

/// Whether the queries of the pane are the tokens of the text.
fn is_here(cx: &ViewCtx<'_>, text: &WrittenText) -> bool {
    cx.pane.selection.stack().query_side() == text.side
}

/// Holds the step before or after the one that is held; without one the first.
fn step(cx: &ViewCtx<'_>, scene: &WritingScene, forward: bool) {
    let n = scene.text.steps.len();
    let nth = match (scene.selected, forward) {
        (None, _) => 0,
        (Some(nth), true) => (nth + 1) % n,
        (Some(nth), false) => (nth + n - 1) % n,
    };
    hold(cx, scene, nth);
}

/// Holds the query that wrote a step, in every pane that follows.
fn hold(cx: &ViewCtx<'_>, scene: &WritingScene, nth: usize) {
    if scene.selected != Some(nth) {
        pin(cx, scene, nth);
    }
}

/// Holds the query that wrote a step, or lets it go where it is held alone.
fn pin(cx: &ViewCtx<'_>, scene: &WritingScene, nth: usize) {
    if !is_here(cx, &scene.text) {
        cx.send(Command::Select(SelectionCommand::Stack(scene.text.side.writing_stack())));
    }
    cx.send(Command::Select(SelectionCommand::Pin(Focus::query(scene.text.steps[nth].query))));
}

/// One token of a text that a beam search kept: a click lets the model go on from there.
fn kept_ui(
    ui: &Ui,
    cx: &ViewCtx<'_>,
    scene: &WritingScene,
    (tree, node): (&BeamTree, usize),
    rect: Rect,
    steps: &Response,
) {
    let path = tree.beams.path(node);
    let Some(token) = path.last() else { return };
    let number = share_text(token.value);
    let response = ui.interact(rect, steps.id.with(("kept", node)), Sense::CLICK);
    let text: String = path.iter().map(|token| token.label.as_str()).collect();
    response.widget_info(|| WidgetInfo::labeled(Role::Button, true, format!("Kept {text}, probability {number}")));
    let response = response.on_hover_cursor(CursorIcon::PointingHand);
    let obstacle = cx.document.unchangeable();
    if response.hovered() {
        tooltip::beside(ui, rect, RectAlign::RIGHT_START, |ui| {
            ui.strong(format!("{}  {number}", token.label));
            controls::caption_ui(ui, cx.theme, obstacle.unwrap_or(GOES_ON));
        });
    }
    if let Some(ids) = scene.text.with_kept(node).filter(|_| response.clicked() && obstacle.is_none()) {
        go_on(cx, ids, steps);
    }
}

/// Lets the model go on from some tokens. Keys undo it at once.
fn go_on(cx: &ViewCtx<'_>, ids: Vec<u32>, steps: &Response) {
    steps.surrender_focus();
    cx.send(Command::WriteFrom(ids));
}

/// One token: what it is, and what a click on it does.
fn cell_ui(ui: &Ui, cx: &ViewCtx<'_>, scene: &WritingScene, cell: StepCell, rect: Rect, steps: &Response) {
    let step = &scene.text.steps[cell.step];
    let rival = cell.rival.and_then(|rival| step.rivals.get(rival));
    let (text, probability) = rival.map_or((&step.text, step.probability), |rival| (&rival.label, Some(rival.value)));
    let number = probability.map_or_else(|| "not recorded".to_owned(), share_text);
    let response = ui.interact(rect, steps.id.with((cell.step, cell.rival)), Sense::CLICK);
    let place = cell.step + 1;
    let name = match rival {
        None => format!("Step {place} {text}, probability {number}"),
        Some(_) => format!("Instead of step {place} {text}, probability {number}"),
    };
    response.widget_info(|| WidgetInfo::selected(Role::Button, true, scene.selected == Some(cell.step), &name));
    let response = response.on_hover_cursor(CursorIcon::PointingHand);
    let obstacle = cx.document.unchangeable();
    if response.hovered() {
        if is_here(cx, &scene.text) {
            cx.send(Command::InPane(PaneCommand::Hover(Focus::query(step.query))));
        }
        tooltip::beside(ui, rect, RectAlign::RIGHT_START, |ui| {
            ui.strong(format!("{text}  {number}"));
            let n_above = step.rivals.iter().filter(|other| probability.is_some_and(|own| other.value > own)).count();
            let what = match (rival, step.origin) {
                (Some(_), _) => obstacle.unwrap_or(GOES_ON).to_owned(),
                (None, Origin::Given) => "Given".to_owned(),
                (None, Origin::End) => "The model ended the text".to_owned(),
                (None, Origin::Chosen) if n_above > 0 => format!("Chosen, {} most probable", ordinal_text(n_above + 1)),
                (None, Origin::Chosen) => "Chosen, most probable".to_owned(),
            };
            controls::caption_ui(ui, cx.theme, what);
        });
    }
    if !response.clicked() {
        return;
    }
    match rival.map(|rival| scene.text.with_rival(cell.step, rival.id)) {
        None => {
            steps.request_focus();
            pin(cx, scene, cell.step);
        }
        Some(Some(ids)) if obstacle.is_none() => go_on(cx, ids, steps),
        Some(_) => {}
    }
}
