//! What makes scores weights, in the window: the point of softmax can be dragged, the others follow.

use std::sync::Arc;

use eframe::egui::{
    Button, CursorIcon, EventFilter, Key, Modifiers, Pos2, Rect, Response, Role, Sense, Ui, Vec2, WidgetInfo,
};

use super::{
    Canvas, controls, display_list::ScenePainter, hover, parts::parts_ui, scale::Footer, selectors, states, tooltip,
};
use crate::{
    analysis::{
        chain::Chain,
        simplex::{Rule, ScoreRow, Spread},
    },
    figure::{
        Scene as _,
        views::{
            cells,
            simplex::{
                SimplexOptions, SimplexScene, Spreads,
                layout::{self, Part, Triangle},
            },
        },
    },
    ids::{CaptureId, HeadId},
    session::{ChangeCommand, Command, Focus},
    style::size::{CONTROL_PT, GRID},
    text::{decimal_text, norm_text, weight_text},
    ui::{
        ViewCtx,
        memo::{Memo, Same},
    },
};

/// What three scores are of: a run, a head, a query, and the key that is held.
type RowKey = (CaptureId, HeadId, [Option<usize>; 2]);

/// Everything that the scene depends on.
type SceneKey = (Same<ScoreRow>, SimplexOptions, Option<[f64; 3]>);

/// The view with what it remembers between frames.
#[derive(Default)]
pub struct SimplexView {
    row: Memo<RowKey, Option<Arc<ScoreRow>>>,
    spreads: Memo<(CaptureId, HeadId), Option<Arc<Spreads>>>,
    /// Scores that the point was dragged to.
    moved: Option<(RowKey, [f64; 3])>,
    scene: Memo<SceneKey, Arc<SimplexScene>>,
    painter: ScenePainter<SceneKey>,
}

impl Canvas for SimplexView {
    fn rest(&mut self) {
        *self = Self::default();
    }

    fn choosers_ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>) {
        let mut own = |ui: &mut Ui| {
            let reset = ui.add_enabled(self.moved.is_some(), Button::new("Reset"));
            if reset.on_hover_text("Puts the point of softmax where the scores of the run put it").clicked() {
                self.moved = None;
            }
            run_with_ui(ui, cx);
        };
        selectors::choosers_ui(ui, cx, selectors::HeadsIn::Row, Some(&mut own));
    }

    fn ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>) -> Option<Footer> {
        let capture = cx.document.latest_capture()?;
        let head = cx.pane.selection.head;
        let Focus { query, key } = cx.pane.selection.pinned;
        let of = (capture.id(), head, [query, key]);
        let compute = || {
            let (query, _) = Chain::pair(capture, head, [query, key])?;
            ScoreRow::of(capture, head, query, key).map(Arc::new)
        };
        let Some(row) = self.row.get_or_update(of, compute) else {
            states::sentence_ui(ui, cx.theme, "No scores of this head were recorded");
            return None;
        };
        let spreads = self.spreads.get_or_update((of.0, head), || Spread::around_scale(capture, head).map(Arc::new));
        self.moved = self.moved.filter(|(moved, _)| *moved == of);
        let moved = self.moved.map(|(_, scores)| scores);
        let options = cx.pane.options.simplex;
        let key = (Same(Arc::clone(&row)), options, moved);
        let make = || Arc::new(SimplexScene::new(capture, row, spreads, options, moved));
        let scene = self.scene.get_or_update(key.clone(), make);
        let name = format!("Normalisers of {}", scene.row.head);
        let dragged = parts_ui(ui, cx, (&mut self.painter, key), (scene.as_ref(), &name), |ui, response| {
            over_ui(ui, cx, &scene, response)
        });
        if let Some(scores) = dragged {
            self.moved = Some((of, scores));
        }
        Some(Footer { words: scene.captions().short, scales: Vec::new() })
    }
}

/// What lies over the parts; the scores that the point is dragged to.
fn over_ui(ui: &mut Ui, cx: &ViewCtx<'_>, scene: &SimplexScene, response: &Response) -> Option<[f64; 3]> {
    let area = response.rect;
    jacobian_ui(ui, cx, scene, area);
    let at = scene.mark(area, Rule::Softmax)?;
    let handle = Rect::from_center_size(at, Vec2::splat(CONTROL_PT));
    let handle = ui.interact(handle, response.id.with("softmax"), Sense::drag());
    handle.widget_info(|| WidgetInfo::labeled(Role::Slider, true, "Point of softmax"));
    let handle = handle.on_hover_cursor(CursorIcon::Grab);
    let under = response.hover_pos().or_else(|| handle.hover_pos());
    let mut on_mark = Rule::ALL
        .into_iter()
        .filter(|rule| under.zip(scene.mark(area, *rule)).is_some_and(|(under, mark)| Triangle::is_near(under, mark)));
    if let (Some(first), Some(scores)) = (on_mark.next(), scene.three()) {
        let rules: Vec<Rule> = [first].into_iter().chain(on_mark).collect();
        marks_ui(ui, cx, scene, &rules, scores);
    }
    let dragged = handle.interact_pointer_pos().filter(|_| handle.dragged());
    let to = dragged.or_else(|| stepped_by_keys(ui, &handle, at))?;
    Some(Triangle::of(layout::part(area, Part::Simplex)).scores(to))
}

/// The run with a rule in the head that is shown.
fn run_with_ui(ui: &mut Ui, cx: &ViewCtx<'_>) {
    let (options, head, obstacle) = (cx.pane.options.simplex, cx.pane.selection.head, cx.document.unchangeable());
    let menu = |ui: &mut Ui| {
        for rule in Rule::ALL {
            if ui.button(options.title(rule)).clicked() {
                let edit = rule.edit(options.alpha, head).into();
                cx.send(Command::Change(ChangeCommand::Add(vec![edit])));
                ui.close();
            }
        }
    };
    let button = ui.add_enabled_ui(obstacle.is_none(), |ui| ui.menu_button("Run with ⏷", menu).response).inner;
    let meaning = "Runs the model with one of them in place of the softmax of this head";
    button.on_hover_text(meaning).on_disabled_hover_text(obstacle.unwrap_or_default());
}

/// Where the arrow keys move a handle that has the focus.
fn stepped_by_keys(ui: &Ui, handle: &Response, at: Pos2) -> Option<Pos2> {
    if !handle.has_focus() {
        return None;
    }
    let filter = EventFilter { horizontal_arrows: true, vertical_arrows: true, ..EventFilter::default() };
    ui.memory_mut(|memory| memory.set_focus_lock_filter(handle.id, filter));
    let steps = [
        (Key::ArrowLeft, Vec2::LEFT),
        (Key::ArrowRight, Vec2::RIGHT),
        (Key::ArrowUp, Vec2::UP),
        (Key::ArrowDown, Vec2::DOWN),
    ];
    let pressed = |key: Key| ui.input_mut(|input| input.consume_key(Modifiers::NONE, key));
    let by = steps.into_iter().filter(|(key, _)| pressed(*key)).fold(Vec2::ZERO, |sum, (_, by)| sum + GRID * by);
    (by != Vec2::ZERO).then(|| at + by)
}

/// The weights of the marks under the pointer.
fn marks_ui(ui: &Ui, cx: &ViewCtx<'_>, scene: &SimplexScene, rules: &[Rule], scores: [f64; 3]) {
    tooltip::at_pointer(ui, |ui| {
        for rule in rules {
            ui.strong(scene.options.title(*rule));
            let weights = scene.of_three(*rule, scores);
            for (key, weight) in scene.row.keys.iter().zip(weights) {
                ui.label(format!("{} {}", scene.key_name(*key), weight_text(weight)));
            }
        }
        let scores = scores.map(decimal_text).join(", ");
        controls::caption_ui(ui, cx.theme, format!("of the scores {scores}"));
    });
}

/// The cell of the Jacobian under the pointer.
fn jacobian_ui(ui: &Ui, cx: &ViewCtx<'_>, scene: &SimplexScene, area: Rect) {
    let block = &scene.jacobian;
    let n = block.keys.len();
    let grid = layout::matrix(layout::part(area, Part::Jacobian), n);
    let under = ui.input(|input| input.pointer.hover_pos()).filter(|at| ui.clip_rect().contains(*at));
    let Some((row, col)) = under.and_then(|at| cells::cell_at(grid, (n, n), at)) else { return };
    hover::report(cx, Focus::cell(scene.row.query, block.keys[row]));
    tooltip::at_pointer(ui, |ui| {
        let [weight, score] = [row, col].map(|at| scene.key_name(block.keys[at]));
        ui.strong(norm_text(block.values[row][col]));
        controls::caption_ui(ui, cx.theme, format!("weight of “{weight}” by the score of “{score}”"));
    });
}
