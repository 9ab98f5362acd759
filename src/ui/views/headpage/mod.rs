//! The page of a head: a token under the pointer is a query and a key, a click opens its input with a pair that is held, a
//! bar of activations its interval.

mod of_folder;
mod tools;

use std::{borrow::Cow, sync::Arc};

use eframe::egui::{CursorIcon, Pos2, Rect, Response, Role, ScrollArea, Sense, Ui, WidgetInfo, vec2};

use super::{Canvas, controls, display_list::ScenePainter, menu::hold, pending, scale::Footer, text_width, tooltip};
use crate::{
    analysis::{
        PointCloud,
        cloud_query::{CloudQuery, CloudResult},
        explain::report::Report,
        head_page::{HeadPage, N_BARS, PageSequence, Passage, StrongPair, TriedInput},
    },
    capture::Capture,
    figure::{
        Scene as _,
        measure::text_size::SMALL,
        views::headpage::{
            HeadPageOptions, HeadScene, PageToken, distance_bins,
            layout::{HeadLayout, N_PAIRS},
            parts::{EffectPart, WrittenPart},
        },
    },
    ids::{CaptureId, HeadId},
    session::{Command, CorpusCommand, EFFECT, Focus, Loadable, PaneCommand, SelectionCommand, ViewKind, WRITTEN},
    text::{counted, weight_text},
    ui::{
        ViewCtx,
        memo::{Memo, Same},
    },
};

/// Weights of the open input that are looked through in a frame.
const MOST_WEIGHTS: usize = 1 << 20;
/// In a narrower pane the page is scrolled sideways.
const LEAST_PT: f32 = 420.0;

/// Everything that the scene depends on.
type SceneKey = (
    Same<CloudResult>,
    Option<Same<CloudResult>>,
    HeadPageOptions,
    Option<Same<TriedInput>>,
    [Told; 2],
    Option<PageToken>,
);

/// What the laboratory says, or why it does not.
type Told = Result<Same<Report>, Cow<'static, str>>;

/// Everything that the layout depends on: the result, the interval that is shown, the open input, and the size.
type LayoutKey = (Same<CloudResult>, usize, Option<Same<TriedInput>>, [u32; 2]);

/// Everything that the open input beside the others depends on.
type TriedKey = (Same<CloudResult>, CaptureId);
type EffectKey = (CaptureId, HeadId, Told);

/// The page with what it remembers between frames.
#[derive(Default)]
pub struct HeadView {
    layout: Memo<LayoutKey, Option<Arc<HeadLayout>>>,
    painter: ScenePainter<SceneKey>,
    hovered: Option<PageToken>,
    of_folder: of_folder::FolderPage,
    tried: Memo<TriedKey, Option<Arc<TriedInput>>>,
    written: Memo<Told, Result<Arc<WrittenPart>, Cow<'static, str>>>,
    effect: Memo<EffectKey, Result<Arc<EffectPart>, Cow<'static, str>>>,
}

impl Canvas for HeadView {
    fn rest(&mut self) {
        *self = Self::default();
    }

    fn ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>) -> Option<Footer> {
        if let Some(folder) = cx.document.folder() {
            return self.of_folder.ui(ui, cx, folder);
        }
        let head = cx.pane.selection.head;
        tools::ui(ui, cx);
        let found = pending::asked(ui, cx, CloudQuery::Page(head), "Looking at the head in every input")?;
        let statistics = pending::ask(cx, CloudQuery::Statistics).and_then(Loadable::latest).cloned();
        let capture = cx.document.latest_capture()?;
        let [written, effect] = told(cx, capture);
        let told = [written.clone(), effect.clone()];
        let written = self
            .written
            .get_or_update(written.clone(), || written.map(|Same(report)| Arc::new(WrittenPart::of(&report))));
        let effect = self.effect.get_or_update((capture.id(), head, effect.clone()), || {
            effect.map(|Same(report)| Arc::new(EffectPart::of(capture, head, &report)))
        });
        let options = cx.pane.options.headpage;
        let tried = self.tried.get_or_update((Same(Arc::clone(&found)), capture.id()), || tried(cx, capture, &found));
        let scene = HeadScene { found, statistics, options, tried, written, effect, hovered: self.hovered };
        ScrollArea::both().auto_shrink(false).id_salt("page").show(ui, |ui| self.page_ui(ui, cx, &scene, told));
        Some(Footer { words: scene.captions().short, scales: Vec::new() })
    }
}

impl HeadView {
    fn page_ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>, scene: &HeadScene, told: [Told; 2]) {
        let Some(page) = scene.page() else { return };
        let width = ui.available_width().max(LEAST_PT);
        let screen = [width, ui.pixels_per_point()].map(f32::to_bits);
        // Laid out from the corner, and moved to where the page is scrolled to.
        let tried = scene.tried.clone().map(Same);
        let layout = (Same(Arc::clone(&scene.found)), scene.interval(), tried, screen);
        let layout = self.layout.get_or_update(layout, || {
            let area = Rect::from_min_size(Pos2::ZERO, vec2(width, 0.0));
            scene.layout(area, &mut |text| text_width::width(ui.painter(), text, SMALL)).map(Arc::new)
        });
        let Some(layout) = layout else { return };
        let (area, response) = ui.allocate_exact_size(layout.size(), Sense::click());
        response.widget_info(|| WidgetInfo::labeled(Role::Image, true, format!("Page of {}", page.head)));
        let hovered = response.hover_pos().and_then(|at| token_at(&layout, at - area.min.to_vec2()));
        self.hovered = hovered;
        let scene = &HeadScene { hovered, ..scene.clone() };
        let statistics = scene.statistics.clone().map(Same);
        let tried = scene.tried.clone().map(Same);
        let key = (Same(Arc::clone(&scene.found)), statistics, scene.options, tried, told, hovered);
        let moved = layout.moved(area.min.to_vec2());
        self.painter.paint(ui.painter(), cx.theme, key, area, &|pen| scene.draw_page(&moved, pen));
        let said = |told: Result<String, &Cow<'static, str>>| told.unwrap_or_else(ToString::to_string);
        for (name, rect, words) in [
            ("written", moved.written, said(scene.written.as_ref().map(|of| of.spoken()))),
            ("effect", moved.effect, said(scene.effect.as_ref().map(|of| of.spoken()))),
        ] {
            let part = ui.interact(rect, response.id.with(name), Sense::hover());
            part.widget_info(|| WidgetInfo::labeled(Role::Image, true, words.replace('\n', "; ")));
            part.on_hover_text(words);
        }
        if let Some(token) = hovered {
            token_ui(ui, cx, scene, token, &response);
        } else if let Some(opens) = opened_at(scene, &moved, &response) {
            tooltip::at_pointer(ui, |ui| {
                ui.strong(opens.text);
                opens_text_ui(ui, cx);
            });
            clicked(ui, cx, &response, (opens.input, opens.focus));
        } else {
            bars_ui(ui, cx, page, &moved, &response);
        }
    }
}

/// What the laboratory says of the head: what it writes, and what it does to the prediction. What is not there is asked for.
fn told(cx: &ViewCtx<'_>, capture: &Capture) -> [Told; 2] {
    let asked = cx.pane.asked(capture);
    let target = cx.pane.options.target;
    [WRITTEN, EFFECT].map(|column| {
        let waits = Err(Cow::Borrowed("It is being worked out …"));
        let Some((_, ask)) = asked.iter().find(|(known, _)| *known == column) else { return waits };
        let answer = cx.pane.explanations.find(capture.id(), column, ask, target);
        if answer.is_none() {
            cx.send(Command::InPane(PaneCommand::Explain(column, ask.clone(), target)));
        }
        match answer.and_then(Loadable::latest) {
            Some(report) => Ok(Same(Arc::clone(report))),
            None => match answer.and_then(Loadable::failure) {
                Some(failure) => Err(Cow::Owned(format!("Not there: {}", failure.summary))),
                None => waits,
            },
        }
    })
}

/// The open input beside those of a corpus; none where its pattern was not kept, or is large.
fn tried(cx: &ViewCtx<'_>, capture: &Capture, found: &CloudResult) -> Option<Arc<TriedInput>> {
    if !matches!(cx.pane.cloud(cx.document), Some(PointCloud::Inputs(_))) {
        return None;
    }
    let CloudResult::Page(page) = found else { return None };
    let size = capture.query_tokens(page.head.stack).len() * capture.key_tokens(page.head.stack).len();
    let pattern = capture.stored_pattern(page.head).filter(|_| size <= MOST_WEIGHTS)?;
    TriedInput::of(page, capture, &pattern).map(Arc::new)
}

const fn focus_of(pair: &StrongPair) -> Focus {
    Focus::cell(pair.query.position, pair.key.position)
}

/// Makes an input the document's own and holds a pair of it, in another view where one is given.
fn open(cx: &ViewCtx<'_>, (input, focus): (usize, Focus), view: Option<ViewKind>) {
    let listed = match cx.pane.cloud(cx.document) {
        Some(PointCloud::Inputs(inputs)) => inputs.input(input).map(|input| input.source),
        Some(PointCloud::Input(_) | PointCloud::Positions(_)) | None => None,
    };
    if let Some(source) = listed {
        cx.send(Command::Corpus(CorpusCommand::ShowTokens(source, focus, view)));
        return;
    }
    // It is the open one.
    hold(cx, focus);
    if let Some(view) = view {
        cx.send(Command::Select(SelectionCommand::ShowView(view)));
    }
}

/// A click opens an input with its pair, a double click in the view that inputs are read in.
fn clicked(ui: &Ui, cx: &ViewCtx<'_>, response: &Response, what: (usize, Focus)) {
    ui.ctx().set_cursor_icon(CursorIcon::PointingHand);
    if response.double_clicked() {
        open(cx, what, Some(reading(cx)));
    } else if response.clicked() {
        open(cx, what, None);
    }
}

/// The view that inputs are read in.
fn reading(cx: &ViewCtx<'_>) -> ViewKind {
    let side = cx.pane.selection.stack().query_side();
    ViewKind::of_input(cx.pane.cloud(cx.document).is_some_and(|cloud| cloud.has_patches(side)))
}

/// Says below a readout where clicks lead.
fn opens_text_ui(ui: &mut Ui, cx: &ViewCtx<'_>) {
    let text = format!("A click opens the input with this pair, a double click in {}", reading(cx).label());
    controls::caption_ui(ui, cx.theme, text);
}

/// A pair that the pointer is on.
struct PairLink {
    text: String,
    input: usize,
    focus: Focus,
}

/// The heading of an input stands for its strongest pair, a row of the strongest pairs for that pair.
fn opened_at(scene: &HeadScene, layout: &HeadLayout, response: &Response) -> Option<PairLink> {
    let page = scene.page()?;
    let at = response.hover_pos()?;
    if let Some(place) = layout.texts.iter().find(|place| place.heading.contains(at)) {
        let of = scene.sequence(place.sequence)?;
        let pair = of.strongest?;
        let text = format!("{} ← {}: {}", of_queries(of, pair.query), of_keys(of, pair.key), weight_text(pair.weight));
        return Some(PairLink { text, input: of.input, focus: Focus::cell(pair.query, pair.key) });
    }
    let row = (0..page.pairs.len().min(N_PAIRS)).find(|row| HeadLayout::row(layout.pairs, *row).contains(at))?;
    let pair = &page.pairs[row];
    let (query, key) = (pair.query.token.trim(), pair.key.token.trim());
    let text = format!("input {}: {query} ← {key}: {}", pair.input, weight_text(pair.weight));
    Some(PairLink { text, input: pair.input, focus: focus_of(pair) })
}

/// A token of an input by its position there.
fn of_queries(of: &PageSequence, position: usize) -> String {
    named(&of.queries, position.saturating_sub(of.queries.start))
}

fn of_keys(of: &PageSequence, position: usize) -> String {
    named(&of.keys, position.saturating_sub(of.keys.start))
}

/// A token of a passage with its position in the input.
fn named(passage: &Passage, nth: usize) -> String {
    format!("{} {}", passage.start + nth, passage.texts.get(nth).map_or("", |text| text.trim()))
}

fn token_at(layout: &HeadLayout, at: Pos2) -> Option<PageToken> {
    layout.texts.iter().find_map(|place| {
        let token = place.tokens.iter().find(|token| token.rect.contains(at))?;
        Some(PageToken { sequence: place.sequence, is_key: token.is_key, nth: token.nth })
    })
}

/// The strongest keys and queries of a token; a click opens its input with the strongest pair that the token is the query
/// of, or the key where it is no query.
fn token_ui(ui: &Ui, cx: &ViewCtx<'_>, scene: &HeadScene, token: PageToken, response: &Response) {
    let Some(of) = scene.sequence(token.sequence) else { return };
    let is_query = of.is_one || !token.is_key;
    let is_key = of.is_one || token.is_key;
    let as_query = strongest(of.pattern.row(token.nth).filter(|_| is_query).unwrap_or_default().iter().copied());
    let as_key = strongest(of.pattern.rows().filter(|_| is_key).map(|row| row.get(token.nth).copied().unwrap_or(0.0)));
    tooltip::at_pointer(ui, |ui| {
        ui.strong(named(if token.is_key { &of.keys } else { &of.queries }, token.nth));
        let list = |passage: &Passage, top: &[(usize, f32)]| {
            let words = top.iter().map(|(nth, weight)| format!("{} {}", named(passage, *nth), weight_text(*weight)));
            words.collect::<Vec<_>>().join(", ")
        };
        if is_query {
            ui.colored_label(cx.theme.query, format!("as a query: {}", list(&of.keys, &as_query)));
        }
        if is_key {
            ui.colored_label(cx.theme.key, format!("as a key: {}", list(&of.queries, &as_key)));
        }
        controls::caption_ui(ui, cx.theme, format!("Full colour at {}", weight_text(scene.high())));
        opens_text_ui(ui, cx);
    });
    let (queries, keys) = (of.queries.start, of.keys.start);
    let pair = match (as_query.first(), as_key.first()) {
        (Some((key, _)), _) => Focus::cell(queries + token.nth, keys + key),
        (None, Some((query, _))) => Focus::cell(queries + query, keys + token.nth),
        (None, None) if token.is_key => Focus::key(keys + token.nth),
        (None, None) => Focus::query(queries + token.nth),
    };
    clicked(ui, cx, response, (of.input, pair));
}

/// At most five weights above 0, the largest first.
fn strongest(weights: impl Iterator<Item = f32>) -> Vec<(usize, f32)> {
    let mut all: Vec<(usize, f32)> = weights.enumerate().filter(|(_, weight)| *weight > 0.0).collect();
    all.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    all.truncate(5);
    all
}

/// The numbers of the bar under the pointer; a bar of activations opens the interval of its inputs.
fn bars_ui(ui: &Ui, cx: &ViewCtx<'_>, page: &HeadPage, layout: &HeadLayout, response: &Response) {
    let Some(at) = response.hover_pos() else { return };
    let bar = |chart: Rect, n: usize| (0..n).find(|nth| HeadLayout::bar(chart, *nth, n).contains(at));
    let range = |nth: usize| {
        let [from, to] = [nth, nth + 1].map(|edge| edge as f64 / N_BARS as f64);
        format!("{} to {}", weight_text(from), weight_text(to))
    };
    if let Some(nth) = bar(layout.activations, N_BARS) {
        let n = page.activation_bars(None)[nth];
        let interval = page.intervals.of.iter().find(|of| page.activation_bars(Some(of.number))[nth] > 0);
        tooltip::at_pointer(ui, |ui| {
            ui.label(format!("activation {}: {}", range(nth), counted(n as usize, "input")));
            if let Some(interval) = interval {
                controls::caption_ui(ui, cx.theme, format!("A click shows interval {}", interval.number));
            }
        });
        if let Some(interval) = interval.filter(|_| response.clicked()) {
            // The strongest is always the strongest, however many there are.
            let strongest = page.intervals.of.len();
            let number =
                if interval.number == strongest { HeadPageOptions::default().interval } else { interval.number };
            controls::edit_options(cx, |options| options.headpage.interval = number);
        }
    } else if let Some(nth) = bar(layout.weights, N_BARS) {
        let n = counted(page.weights[nth] as usize, "pair");
        tooltip::at_pointer(ui, |ui| drop(ui.label(format!("weight {}: {n}", range(nth)))));
    } else if let Ok(mass) = &page.distances {
        let bins = distance_bins(mass);
        if let Some(nth) = bar(layout.distances, bins.len()) {
            let (name, [mass, even]) = &bins[nth];
            let words = format!("distance {name}: {} of a row, uniform {}", weight_text(*mass), weight_text(*even));
            tooltip::at_pointer(ui, |ui| drop(ui.label(words)));
        }
    }
}
