//! Tests of attention as explanation over the inputs of a corpus: charts of which each point is an input.

use std::sync::Arc;

use eframe::egui::{
    Button, CornerRadius, CursorIcon, RichText, Role, ScrollArea, Sense, Stroke, StrokeKind, Ui, WidgetInfo, vec2,
};

use super::{Canvas, controls, display_list::ScenePainter, scale::Footer, selectors, states, tooltip};
use crate::{
    analysis::debate::CorpusDebate,
    corpus::list::InputList,
    figure::{
        Scene as _,
        views::debate::{ChartReading, DebateChoices, DebateScene},
    },
    model::Progress,
    session::{Command, CorpusCommand, DebateProgress, OpenCorpus, PaneCommand},
    text::{counted, share_text},
    ui::{
        ViewCtx,
        commands::UiCommand,
        memo::{Memo, Same},
        theme::GRID,
    },
};

/// Characters of a text in a tooltip.
const MOST_CHARS: usize = 120;
/// What the tests come to, in a sentence below their title.
const WHAT: &str = "Four published tests compare attention with other measures of importance, with shuffled and with other \
                    weights, and with weights erased one after the other, on every input";

/// All that how far it is depends on.
type ProgressKey = (Option<Same<CorpusDebate>>, bool, Option<Same<InputList>>, usize, DebateChoices);

/// The view with what it remembers between frames.
#[derive(Default)]
pub struct DebateView {
    progress: Memo<ProgressKey, (DebateProgress, usize)>,
    scene: Memo<Same<CorpusDebate>, Arc<DebateScene>>,
    painter: ScenePainter<Same<CorpusDebate>>,
}

impl Canvas for DebateView {
    fn rest(&mut self) {
        *self = Self::default();
    }

    fn choosers_ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>) {
        let known = cx.document.corpus.as_deref().map(|corpus| (corpus, self.progress(cx, corpus)));
        let mut own = |ui: &mut Ui| {
            if let Some((corpus, (progress, _))) = known {
                run_ui(ui, cx, corpus, progress);
            }
        };
        selectors::choosers_ui(ui, cx, selectors::HeadsIn::Row, Some(&mut own));
    }

    fn ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>) -> Option<Footer> {
        let Some(corpus) = cx.document.corpus.as_deref() else {
            let what = "The tests go over many inputs: open a corpus, such as demo:reviews, beside this model";
            states::Nothing::from(what).by(UiCommand::Open).ui(ui, cx);
            return None;
        };
        let (progress, n_inputs) = self.progress(cx, corpus);
        if cx.document.wants_recall() {
            cx.send(Command::InPane(PaneCommand::RecallDebate));
        }
        if let DebateProgress::OfOthers { is_known: true } = progress
            && !corpus.debate.is_pending()
            && corpus.debate.failure().is_none()
        {
            // Nothing has to be run for it.
            cx.send(Command::InPane(PaneCommand::Debate));
        }
        if let Some(done) = corpus.debate.progress() {
            states::progress_ui(ui, cx.theme, Some(done), "Progress of the tests");
        }
        if let Some(failure) = corpus.debate.failure()
            && states::error_card_ui(ui, cx.theme, failure, ("Try again", "Make the tests again"))
        {
            cx.send(Command::InPane(PaneCommand::Debate));
        }
        let found = corpus.debate.latest().filter(|found| !found.instances.is_empty());
        let Some(found) = found else {
            nothing_ui(ui, cx, corpus, n_inputs);
            return None;
        };
        if matches!(progress, DebateProgress::OfOthers { .. }) && !corpus.debate.is_pending() {
            let of = counted(found.instances.len(), "input");
            let what = format!("These results are of other options ({of}); Run makes the tests anew");
            ui.label(RichText::new(what).small().color(cx.theme.warning));
        }
        let scene = self.scene.get_or_update(Same(Arc::clone(found)), || Arc::new(DebateScene::of(found)));
        ScrollArea::both().id_salt("tests").auto_shrink(false).show(ui, |ui| self.charts_ui(ui, cx, found, &scene));
        let left_out = found.left_out.len();
        let left_out = if left_out > 0 { format!("; {left_out} left out") } else { String::new() };
        let part = if found.is_whole() { String::new() } else { format!(" of {}", found.inputs.len()) };
        let labelled = scene.summary.labelled.as_ref().map_or_else(String::new, |of| format!("; {}", of.text()));
        let words = format!("{}{part}{labelled}{left_out}; click a point to open its input", scene.inputs_text());
        Some(Footer { words, scales: Vec::new() })
    }
}

impl DebateView {
    /// How far what was found answers the options, and how many inputs they are about.
    fn progress(&mut self, cx: &ViewCtx<'_>, corpus: &OpenCorpus) -> (DebateProgress, usize) {
        let choices = &cx.pane.options.debate;
        let found = corpus.debate.latest().cloned().map(Same);
        let list = corpus.data.latest().map(|so_far| Same(Arc::clone(&so_far.list)));
        let key = (found, corpus.debate.is_pending(), list, corpus.n_removed().0, choices.clone());
        let document = cx.document;
        self.progress.get_or_update(key, || (document.debate_progress(choices), document.tested_inputs(choices).len()))
    }

    fn charts_ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>, found: &Arc<CorpusDebate>, scene: &DebateScene) {
        let room = ui.available_size();
        let wide = room.x.max(DebateScene::least_chart_width());
        let (area, response) = ui.allocate_exact_size(vec2(wide, scene.height_in(wide)), Sense::click());
        let name = format!("Tests of attention as explanation, {}", counted(found.instances.len(), "input"));
        response.widget_info(|| WidgetInfo::labeled(Role::Image, true, &name));
        self.painter.paint(ui.painter(), cx.theme, Same(Arc::clone(found)), area, &|pen| scene.draw(area, pen));
        let under = response.hover_pos().and_then(|at| scene.reading(area, at));
        let Some(reading) = under else { return };
        mark(ui, cx, &reading);
        reading_ui(ui, cx, found, &reading);
        if let Some(input) = reading.input {
            ui.ctx().set_cursor_icon(CursorIcon::PointingHand);
            if response.clicked() {
                cx.send(Command::Corpus(CorpusCommand::Show(input)));
            }
        }
    }
}

/// Frames the part of a chart that is under the pointer, or rings a point.
fn mark(ui: &Ui, cx: &ViewCtx<'_>, reading: &ChartReading) {
    let stroke = Stroke::new(1.0, cx.theme.text_weak);
    if reading.input.is_some() {
        ui.painter().circle_stroke(reading.place.center(), reading.place.width() / 2.0, stroke);
    } else {
        ui.painter().rect_stroke(reading.place, CornerRadius::ZERO, stroke, StrokeKind::Inside);
    }
}

/// The numbers at the pointer, and the input that they are of.
fn reading_ui(ui: &Ui, cx: &ViewCtx<'_>, found: &CorpusDebate, reading: &ChartReading) {
    tooltip::at_pointer(ui, |ui| {
        let mut lines = reading.lines.iter();
        if let Some(first) = lines.next() {
            ui.strong(first);
        }
        lines.for_each(|line| drop(ui.label(line)));
        let Some(input) = reading.input else { return };
        if let Some(of) = found.instances.iter().find(|of| of.input == input) {
            ui.label(format!("{} {}", of.class, share_text(of.probability)));
        }
        let list = cx.document.corpus.as_deref().and_then(|corpus| corpus.data.latest()).map(|so_far| &so_far.list);
        let text = list.and_then(|list| list.items.get(input)?.content.text());
        if let Some(text) = text {
            let short: String = text.chars().take(MOST_CHARS).collect();
            let rest = if short.len() < text.len() { "…" } else { "" };
            ui.label(RichText::new(format!("“{short}{rest}”")).color(cx.theme.text_weak));
        }
        controls::caption_ui(ui, cx.theme, format!("Input {}; a click opens it", input + 1));
    });
}

/// What stands in place of the charts.
fn nothing_ui(ui: &mut Ui, cx: &ViewCtx<'_>, corpus: &OpenCorpus, n_inputs: usize) {
    if corpus.debate.is_pending() {
        states::sentence_ui(ui, cx.theme, "The first results come after 20 inputs");
    } else if let Some(obstacle) = cx.document.debate_obstacle() {
        states::sentence_ui(ui, cx.theme, obstacle);
    } else if corpus.data.latest().is_none() {
        states::sentence_ui(ui, cx.theme, "The inputs of the corpus are being read");
    } else if corpus.debate.failure().is_none() {
        let what = format!("{WHAT}: {}", counted(n_inputs, "input"));
        let begin = ("Run the tests", "Run the model on each input several times; it can be stopped and gone on with");
        if states::offer_ui(ui, cx.theme, &what, begin) {
            cx.send(Command::InPane(PaneCommand::Debate));
        }
    }
}

/// The button that begins, goes on or begins anew.
fn run_ui(ui: &mut Ui, cx: &ViewCtx<'_>, corpus: &OpenCorpus, progress: DebateProgress) {
    let (name, meaning) = match progress {
        DebateProgress::Stopped => ("Go on", "Test the inputs that are missing"),
        DebateProgress::OfOthers { .. } => ("Run", "Make the tests with these options"),
        DebateProgress::NotBegun | DebateProgress::Answered => ("Run", "Make the tests on every input"),
    };
    let obstacle = if corpus.debate.is_pending() {
        Some(told(corpus.debate.progress()))
    } else if progress == DebateProgress::Answered {
        Some("All inputs are tested with these options".to_owned())
    } else {
        cx.document.debate_obstacle().map(str::to_owned)
    };
    let button = ui.add_enabled(obstacle.is_none(), Button::new(name));
    let button = button.on_hover_text(meaning).on_disabled_hover_text(obstacle.unwrap_or_default());
    if button.clicked() {
        cx.send(Command::InPane(PaneCommand::Debate));
    }
    ui.add_space(GRID);
}

fn told(progress: Option<Progress>) -> String {
    let told = progress.filter(|progress| progress.total > 0);
    told.map_or_else(
        || "The tests begin".to_owned(),
        |Progress { done, total, .. }| format!("{done} of {total} inputs are tested"),
    )
}
