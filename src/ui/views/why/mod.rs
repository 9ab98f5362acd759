//! One weight step by step in the window: strips that can be read, pinned and walked.

use std::sync::Arc;

use eframe::egui::{
    Button, CursorIcon, EventFilter, Key, Modifiers, Rect, RectAlign, Response, RichText, Role, ScrollArea, Sense, Ui,
    WidgetInfo, vec2,
};

use super::{
    Canvas, controls,
    display_list::ScenePainter,
    hover,
    menu::hold,
    scale::Footer,
    selectors::{self, HeadsIn},
    states, tooltip,
};
use crate::{
    analysis::{
        chain::{Against, Chain, Over},
        explain::report::Report,
    },
    figure::{
        Scene as _,
        pen::Medium,
        views::why::{WhyOptions, WhyScene, layout::WhyLayout, parts::Parts},
    },
    ids::{CaptureId, HeadId},
    lab::{EdgeOptions, MethodCall},
    raster::ColorMap,
    session::{Command, Focus, Loadable, PARTS, PaneCommand, SelectionCommand, ViewKind},
    text::{norm_text, sentence, weight_text},
    ui::{
        ViewCtx,
        memo::{Memo, Same},
    },
};

/// Everything that a pair, or a chain of one, depends on.
type PairKey = (CaptureId, HeadId, [Option<usize>; 2]);
type ChainKey = (CaptureId, HeadId, (usize, usize), Against);

/// Everything that the scene depends on: the last is the answer that the score is taken apart by, or what is said of it.
type SceneKey = (Same<Chain>, ColorMap, WhyOptions, Option<Result<Same<Report>, String>>);

/// The view with what it remembers between frames.
#[derive(Default)]
pub struct WhyView {
    pair: Memo<PairKey, Option<(usize, usize)>>,
    chain: Memo<ChainKey, Option<Arc<Chain>>>,
    scene: Memo<SceneKey, Arc<WhyScene>>,
    painter: ScenePainter<SceneKey>,
}

impl Canvas for WhyView {
    fn rest(&mut self) {
        *self = Self::default();
    }

    fn choosers_ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>) {
        let n_steps = self.chain(cx).map_or(0, |chain| chain.steps.len());
        let mut own = |ui: &mut Ui| steps_ui(ui, cx, n_steps);
        selectors::choosers_ui(ui, cx, HeadsIn::Row, Some(&mut own));
    }

    fn ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>) -> Option<Footer> {
        let capture = cx.document.latest_capture()?;
        let Some(chain) = self.chain(cx) else {
            states::sentence_ui(ui, cx.theme, "No attention of this head was recorded");
            return None;
        };
        let (colors, options) = (cx.pane.options.color_map(), cx.pane.options.why);
        let answer = parts_of(cx, capture.id(), &chain);
        let key = (Same(Arc::clone(&chain)), colors, options, answer.clone());
        let make = || {
            let scene = WhyScene::new(capture, Arc::clone(&chain), colors, options);
            let title = scene.parts_title(options.parts);
            let parts = answer.map(|answer| match answer {
                Ok(Same(report)) => Parts::of(&title, capture, chain.head, &report),
                Err(said) => Parts::saying(&title, said),
            });
            Arc::new(scene.with_parts(parts))
        };
        let scene = self.scene.get_or_update(key.clone(), make);
        ScrollArea::both().id_salt("steps").auto_shrink(false).show(ui, |ui| self.scene_ui(ui, cx, &scene, key));
        Some(Footer { words: scene.captions().short, scales: Vec::new() })
    }
}

/// A button that shows how the weights of what is held came about; grey where no query is, and nothing in that view.
pub fn why_button_ui(ui: &mut Ui, cx: &ViewCtx<'_>, held: Focus) {
    let why = ViewKind::Why;
    if cx.pane.view == why {
        return;
    }
    let obstacle = match held.query {
        None => Some("Click a token or a weight first: its steps are shown"),
        Some(_) => cx.view_unavailable(why),
    };
    let button = ui.add_enabled(obstacle.is_none(), Button::new(why.label()));
    let button = button.on_hover_text(why.spec().help).on_disabled_hover_text(obstacle.unwrap_or_default());
    if button.clicked() {
        hold(cx, held);
        cx.send(Command::Select(SelectionCommand::ShowView(why)));
        ui.close();
    }
}

/// The answer that the score is taken apart by, asked for where it is not there yet, or what is to be said in its place;
/// `None` where the steps alone take it apart.
fn parts_of(cx: &ViewCtx<'_>, capture: CaptureId, chain: &Chain) -> Option<Result<Same<Report>, String>> {
    let ask = MethodCall::Edges(EdgeOptions::beside(chain, cx.pane.options.why.parts)?);
    let target = cx.pane.options.target;
    let answer = cx.pane.explanations.find(capture, PARTS, &ask, target);
    if answer.is_none() {
        cx.send(Command::InPane(PaneCommand::Explain(PARTS, ask, target)));
    }
    let failure = answer.and_then(Loadable::failure).map(|failure| sentence(&failure.summary));
    let report = answer.and_then(Loadable::latest).map(|report| Same(Arc::clone(report)));
    Some(match (failure, report) {
        (Some(failure), _) => Err(failure),
        (None, Some(report)) => Ok(report),
        (None, None) => Err("The score is being taken apart …".to_owned()),
    })
}

impl WhyView {
    /// The steps of the selected head, from what is held or else from its strongest weight.
    fn chain(&mut self, cx: &ViewCtx<'_>) -> Option<Arc<Chain>> {
        let capture = cx.document.latest_capture()?;
        let (head, against) = (cx.pane.selection.head, cx.pane.options.why.against);
        let Focus { query, key } = cx.pane.selection.pinned;
        let held = [query, key];
        let pair = self.pair.get_or_update((capture.id(), head, held), || Chain::pair(capture, head, held))?;
        let compute = || Chain::of(capture, head, pair.0, pair.1, against).map(Arc::new);
        self.chain.get_or_update((capture.id(), head, pair, against), compute)
    }

    fn scene_ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>, scene: &WhyScene, key: SceneKey) {
        let n_steps = scene.chain.steps.len();
        let width = ui.available_width().max(WhyLayout::least(n_steps).x);
        let size = vec2(width, scene.height_in(width, Medium::Screen).max(ui.available_height()));
        let (response, painter) = ui.allocate_painter(size, Sense::click());
        let area = response.rect;
        let layout = scene.layout(area, Medium::Screen);
        self.painter.paint(&painter, cx.theme, key, area, &|pen| scene.draw(area, pen));
        let at = scene.walked - 1;
        response.widget_info(|| WidgetInfo {
            current_text_value: scene.chain.steps.get(at).map(|step| scene.name(step)),
            ..WidgetInfo::labeled(Role::ListBox, true, format!("Steps of {}", scene.chain.head))
        });
        if walk_by_keys(ui, cx, &response, n_steps) {
            let next = cx.pane.options.why.walked(n_steps);
            if let Some(strip) = layout.strips.get(next.min(n_steps - 1)) {
                ui.scroll_to_rect(strip.rect, None);
            }
        }
        if response.clicked() {
            response.request_focus();
        }
        if let Some(parts) = &scene.parts {
            parts_ui(ui, parts, scene.halves(area, Medium::Screen).parts, &response);
        }
        let Some((nth, column)) = response.hover_pos().and_then(|at| layout.at(at)) else { return };
        if scene.chain.steps[nth].over == Over::Keys {
            let focus = Focus::cell(scene.chain.query, column);
            hover::report(cx, focus);
            ui.ctx().set_cursor_icon(CursorIcon::PointingHand);
            if response.clicked() {
                cx.send(Command::Select(SelectionCommand::Pin(focus)));
            }
        }
        cell_readout_ui(ui, cx, scene, (nth, column), layout.strips[nth].rect);
    }
}

/// What the pointer finds among the parts, and what they say aloud.
fn parts_ui(ui: &Ui, parts: &Parts, place: Rect, response: &Response) {
    let spoken = ui.interact(place, response.id.with("parts"), Sense::hover());
    spoken.widget_info(|| WidgetInfo::labeled(Role::Image, true, parts.spoken()));
    if let Some(hit) = spoken.hover_pos().and_then(|at| parts.at(place, at)) {
        let about = hit.rect.intersect(ui.clip_rect());
        tooltip::beside(ui, about, RectAlign::BOTTOM, |ui| {
            ui.label(&hit.text);
        });
    }
}

/// Walks the steps by the arrow keys while the steps have the focus; whether one was taken.
fn walk_by_keys(ui: &Ui, cx: &ViewCtx<'_>, response: &Response, n_steps: usize) -> bool {
    if !response.has_focus() {
        return false;
    }
    let filter = EventFilter { horizontal_arrows: true, ..EventFilter::default() };
    ui.memory_mut(|memory| memory.set_focus_lock_filter(response.id, filter));
    for (key, forward) in [(Key::ArrowLeft, false), (Key::ArrowRight, true)] {
        if ui.input_mut(|input| input.consume_key(Modifiers::NONE, key)) {
            walk(cx, n_steps, forward);
            return true;
        }
    }
    false
}

fn walk(cx: &ViewCtx<'_>, n_steps: usize, forward: bool) {
    controls::edit_options(cx, |options| options.why = options.why.stepped(n_steps, forward));
}

/// One step back or forward, and how far one is.
fn steps_ui(ui: &mut Ui, cx: &ViewCtx<'_>, n_steps: usize) {
    if n_steps == 0 {
        return;
    }
    let walked = cx.pane.options.why.walked(n_steps);
    if selectors::step_button(ui, "‹", "Previous step", true).clicked() {
        walk(cx, n_steps, false);
    }
    ui.label(RichText::new(format!("Step {walked} of {n_steps}")).color(cx.theme.text_weak));
    if selectors::step_button(ui, "›", "Next step", true).clicked() {
        walk(cx, n_steps, true);
    }
    let all = ui.add_enabled(walked < n_steps, Button::new("All"));
    if all.on_hover_text("Shows all steps").clicked() {
        controls::edit_options(cx, |options| options.why = WhyOptions { steps: 0, ..options.why });
    }
}

/// What stands beside the pointer over one cell: the value, and the two that it is the product of.
fn cell_readout_ui(ui: &Ui, cx: &ViewCtx<'_>, scene: &WhyScene, (nth, column): (usize, usize), about: Rect) {
    let step = &scene.chain.steps[nth];
    let value = step.values[column];
    tooltip::beside(ui, about, RectAlign::BOTTOM, |ui| {
        let name = scene.column_name(step.over, column);
        let what = match step.over {
            Over::Keys => format!("Key “{name}” at position {column}"),
            Over::Heads => name,
            Over::Vector | Over::Hidden | Over::Value | Over::Stream => format!("Dimension {name}"),
        };
        ui.strong(scene.name(step));
        let number = match value {
            f32::NEG_INFINITY => "hidden by the mask".to_owned(),
            value if step.is_weights() => weight_text(value),
            value => norm_text(value),
        };
        ui.label(format!("{what}: {number}"));
        if let Some([query, key]) = scene.chain.factors(step, column) {
            controls::caption_ui(ui, cx.theme, format!("q {} × k {}", norm_text(query), norm_text(key)));
        }
        if let Some(deviation) = step.deviation {
            let text = match deviation {
                0.0 => "equal to the recorded value".to_owned(),
                some => format!("{} from the recorded values at most", norm_text(some)),
            };
            controls::caption_ui(ui, cx.theme, text);
        }
    });
}
