//! The page of a head: a token under the pointer is a query and a key, a click opens its input, a bar of activations its
//! interval.

mod of_folder;

use std::sync::Arc;

use eframe::egui::{CursorIcon, Pos2, Rect, Response, Role, ScrollArea, Sense, Ui, WidgetInfo, vec2};

use super::{Canvas, controls, display_list::ScenePainter, pending, scale::Footer, text_width, tooltip};
use crate::{
    analysis::{
        PointCloud,
        cloud_query::{CloudQuery, CloudResult},
        head_page::{HeadPage, N_BARS},
    },
    figure::{
        Scene as _,
        measure::text_size::SMALL,
        views::headpage::{HeadPageOptions, HeadScene, PageToken, distance_bins, layout::HeadLayout},
    },
    session::{Command, CorpusCommand, Loadable},
    text::{counted, weight_text},
    ui::{
        ViewCtx,
        memo::{Memo, Same},
    },
};

/// In a narrower pane the page is scrolled sideways.
const LEAST_PT: f32 = 640.0;

/// Everything that the scene depends on.
type SceneKey = (Same<CloudResult>, Option<Same<CloudResult>>, HeadPageOptions, Option<PageToken>);

/// Everything that the layout depends on: the result, the interval that is shown, and the size.
type LayoutKey = (Same<CloudResult>, usize, [u32; 2]);

/// The page with what it remembers between frames.
#[derive(Default)]
pub struct HeadView {
    layout: Memo<LayoutKey, Option<Arc<HeadLayout>>>,
    painter: ScenePainter<SceneKey>,
    hovered: Option<PageToken>,
    of_folder: of_folder::FolderPage,
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
        let found = pending::asked(ui, cx, CloudQuery::Page(head), "Looking at the head in every input")?;
        let statistics = pending::ask(cx, CloudQuery::Statistics).and_then(Loadable::latest).cloned();
        let scene = HeadScene { found, statistics, options: cx.pane.options.headpage, hovered: self.hovered };
        ScrollArea::both().auto_shrink(false).id_salt("page").show(ui, |ui| self.page_ui(ui, cx, &scene));
        Some(Footer { words: scene.captions().short, scales: Vec::new() })
    }
}

impl HeadView {
    fn page_ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>, scene: &HeadScene) {
        let Some(page) = scene.page() else { return };
        let width = ui.available_width().max(LEAST_PT);
        let screen = [width, ui.pixels_per_point()].map(f32::to_bits);
        // Laid out from the corner, and moved to where the page is scrolled to.
        let layout = self.layout.get_or_update((Same(Arc::clone(&scene.found)), scene.interval(), screen), || {
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
        let key = (Same(Arc::clone(&scene.found)), statistics, scene.options, hovered);
        let moved = layout.moved(area.min.to_vec2());
        self.painter.paint(ui.painter(), cx.theme, key, area, &|pen| scene.draw_page(&moved, pen));
        if let Some(token) = hovered {
            token_ui(ui, cx, (scene, page), token, &response);
        } else {
            bars_ui(ui, cx, page, &moved, &response);
        }
    }
}

fn token_at(layout: &HeadLayout, at: Pos2) -> Option<PageToken> {
    layout.texts.iter().find_map(|place| {
        let token = place.tokens.iter().find(|token| token.rect.contains(at))?;
        Some(PageToken { sequence: place.sequence, is_key: token.is_key, nth: token.nth })
    })
}

/// The strongest keys and queries of a token; a click opens its input.
fn token_ui(ui: &Ui, cx: &ViewCtx<'_>, (scene, page): (&HeadScene, &HeadPage), token: PageToken, response: &Response) {
    let Some(of) = page.sequences.get(token.sequence) else { return };
    let is_query = of.is_one || !token.is_key;
    let is_key = of.is_one || token.is_key;
    let named = |passage: &crate::analysis::head_page::Passage, nth: usize| {
        format!("{} {}", passage.start + nth, passage.texts.get(nth).map_or("", |text| text.trim()))
    };
    tooltip::at_pointer(ui, |ui| {
        ui.strong(named(if token.is_key { &of.keys } else { &of.queries }, token.nth));
        if is_query {
            let row = of.pattern.row(token.nth).unwrap_or_default().iter().copied();
            let top = strongest(row);
            let words = top.iter().map(|(key, weight)| format!("{} {}", named(&of.keys, *key), weight_text(*weight)));
            ui.colored_label(cx.theme.query, format!("as a query: {}", words.collect::<Vec<_>>().join(", ")));
        }
        if is_key {
            let column = of.pattern.rows().map(|row| row.get(token.nth).copied().unwrap_or(0.0));
            let top = strongest(column);
            let words =
                top.iter().map(|(query, weight)| format!("{} {}", named(&of.queries, *query), weight_text(*weight)));
            ui.colored_label(cx.theme.key, format!("as a key: {}", words.collect::<Vec<_>>().join(", ")));
        }
        controls::caption_ui(
            ui,
            cx.theme,
            format!("Full colour at {}; a click opens the input", weight_text(scene.high())),
        );
    });
    let source = cx.pane.cloud(cx.document).and_then(|cloud| match cloud {
        PointCloud::Inputs(view) => view.input(of.input).map(|input| input.source),
        PointCloud::Input(_) | PointCloud::Positions(_) => None,
    });
    if let Some(source) = source {
        ui.ctx().set_cursor_icon(CursorIcon::PointingHand);
        if response.clicked() {
            cx.send(Command::Corpus(CorpusCommand::Show(source)));
        }
    }
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
