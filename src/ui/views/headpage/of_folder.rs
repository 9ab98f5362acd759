//! The page of a head of a folder: a token under the pointer is a query and a key, with what is missing of its row.

use std::sync::Arc;

use eframe::egui::{Pos2, Rect, RichText, Role, ScrollArea, Sense, Ui, WidgetInfo, vec2};

use super::{
    super::{controls, display_list::ScenePainter, pending, scale::Footer, states, text_width, tooltip},
    LEAST_PT, strongest,
};
use crate::{
    analysis::{
        cloud_query::{CloudQuery, CloudResult, StoredHead},
        head_folder::HeadFolder,
    },
    figure::{
        measure::text_size::SMALL,
        views::headpage::{
            Extremes, HeadPageOptions, StoredLayout, StoredScene, layout::HeadLayout, norms_text, pair_text,
            plain_text, shown,
        },
    },
    text::weight_text,
    ui::{ViewCtx, memo::Same},
};

/// Tokens of a sequence that are told around those of a pair.
const AROUND: usize = 8;
/// Less than this is missing of a row by rounding alone.
const LEAST_MISSING: f64 = 5e-4;

/// Everything that the scene depends on.
type SceneKey = (Same<CloudResult>, HeadPageOptions, Option<(usize, usize)>, Option<usize>);

/// Everything that the layout depends on: the file, what is asked for, and the size.
type LayoutKey = (Same<CloudResult>, HeadPageOptions, [u32; 2]);

/// What the page remembers between frames.
#[derive(Default)]
pub struct FolderPage {
    painter: ScenePainter<SceneKey>,
    layout: Option<(LayoutKey, Arc<StoredLayout>)>,
    extremes: Option<(Same<CloudResult>, Arc<Extremes>)>,
    hovered: Option<(usize, usize)>,
    asked_pair: Option<usize>,
}

impl FolderPage {
    /// Draws the page of the head that is looked at.
    pub fn ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>, folder: &Arc<HeadFolder>) -> Option<Footer> {
        let head = cx.pane.selection.head;
        if let Some(reason) = folder.lacks(head) {
            states::sentence_ui(ui, cx.theme, &reason);
            return None;
        }
        let question = CloudQuery::Stored(StoredHead { folder: Arc::clone(folder), head });
        let found = pending::asked(ui, cx, question, "Reading the file of the head")?;
        let CloudResult::Stored(file) = &*found else { return None };
        let known = self.extremes.take().filter(|(of, _)| *of == Same(Arc::clone(&found)));
        let of_file = || (Same(Arc::clone(&found)), Arc::new(Extremes::of(file)));
        let (_, extremes) = self.extremes.insert(known.unwrap_or_else(of_file));
        let scene = StoredScene {
            extremes: Arc::clone(extremes),
            folder: Arc::clone(folder),
            head,
            file: Arc::clone(file),
            options: cx.pane.options.headpage,
            hovered: self.hovered,
            asked_pair: self.asked_pair,
        };
        if file.sequences.is_empty() && file.refused.is_empty() {
            states::sentence_ui(ui, cx.theme, &format!("The file of {head} has no sequences"));
            return None;
        }
        ScrollArea::both().auto_shrink(false).id_salt("stored page").show(ui, |ui| {
            refused_ui(ui, cx, &scene);
            self.page_ui(ui, cx, &found, &scene);
        });
        Some(Footer { words: scene.words(), scales: Vec::new() })
    }

    fn page_ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>, found: &Arc<CloudResult>, scene: &StoredScene) {
        let width = ui.available_width().max(LEAST_PT);
        let key = (Same(Arc::clone(found)), scene.options, [width, ui.pixels_per_point()].map(f32::to_bits));
        let kept = self.layout.take().filter(|(known, _)| *known == key);
        let (_, layout) = self.layout.insert(kept.unwrap_or_else(|| {
            let area = Rect::from_min_size(Pos2::ZERO, vec2(width, 0.0));
            let layout = scene.layout(area, &mut |text| text_width::width(ui.painter(), text, SMALL));
            (key, Arc::new(layout))
        }));
        let (area, response) = ui.allocate_exact_size(layout.size(), Sense::hover());
        let label = format!("Page of {} from {}", scene.head, scene.folder.name());
        response.widget_info(|| WidgetInfo::labeled(Role::Image, true, label.clone()));
        let moved = layout.moved(area.min.to_vec2());
        self.hovered = response.hover_pos().and_then(|at| moved.token_at(at));
        let over = |rect: Rect| response.hover_pos().and_then(|at| scene.pair_at(rect, at));
        self.asked_pair = moved.cloud.and_then(over);
        let scene = &StoredScene { hovered: self.hovered, asked_pair: self.asked_pair, ..scene.clone() };
        let key = (Same(Arc::clone(found)), scene.options, self.hovered, self.asked_pair);
        self.painter.paint(ui.painter(), cx.theme, key, area, &|pen| scene.draw(&moved, pen));
        if let Some(token) = self.hovered {
            token_ui(ui, cx, scene, token);
        } else if let Some(pair) = self.asked_pair {
            pair_ui(ui, cx, scene, pair);
        } else if let Some(at) = response.hover_pos() {
            bars_ui(ui, scene, &moved, at);
        }
    }
}

/// The edges and the number of the bar under the pointer.
fn bars_ui(ui: &Ui, scene: &StoredScene, layout: &StoredLayout, at: Pos2) {
    let charts = [
        ("activation", scene.file.activations.as_ref(), layout.activations),
        ("distance", scene.file.distances.as_ref(), layout.distances),
    ];
    let own =
        scene.file.plots.iter().zip(&layout.plots).map(|(plot, rect)| (&*plot.label, plot.part.as_ref().ok(), *rect));
    for (name, of, chart) in charts.into_iter().chain(own) {
        let Some(of) = of else { continue };
        let n = of.bin_values.len();
        if let Some(nth) = (0..n).find(|nth| HeadLayout::bar(chart, *nth, n).contains(at)) {
            let [from, to] = [nth, nth + 1].map(|edge| plain_text(of.bin_edges[edge]));
            let words = format!("{name} from {from} to {to}: {}", plain_text(of.bin_values[nth]));
            tooltip::at_pointer(ui, |ui| drop(ui.label(words)));
        }
    }
}

/// A pair of the cloud: its sequence with both tokens, and the lengths of its vectors.
fn pair_ui(ui: &Ui, cx: &ViewCtx<'_>, scene: &StoredScene, nth: usize) {
    let Some(pair) = scene.cloud().and_then(|cloud| cloud.pairs.get(nth)).copied() else { return };
    let tokens = scene.pair_tokens(pair);
    tooltip::at_pointer(ui, |ui| {
        ui.strong(pair_text(tokens, pair));
        if let Some(tokens) = tokens {
            ui.horizontal_wrapped(|ui| {
                ui.spacing_mut().item_spacing.x = 0.0;
                let (query, key) = (pair.query as usize, pair.key as usize);
                let first = query.min(key).saturating_sub(AROUND);
                for (at, token) in tokens.iter().enumerate().take(query.max(key) + AROUND).skip(first) {
                    let text = RichText::new(shown(token));
                    ui.label(match at {
                        at if at == query => text.color(cx.theme.query).strong(),
                        at if at == key => text.color(cx.theme.key).strong(),
                        _ => text.color(cx.theme.text_weak),
                    });
                }
            });
        }
        if let Some(layout) = scene.cloud_layout() {
            controls::caption_ui(ui, cx.theme, format!("Lengths: {}", norms_text(layout, nth)));
        }
    });
}

/// Sequences and other parts that are not shown, each with the reason.
fn refused_ui(ui: &mut Ui, cx: &ViewCtx<'_>, scene: &StoredScene) {
    const MOST: usize = 3;
    for refused in scene.file.refused.iter().take(MOST) {
        let text = format!("⚠ Sequence {} is not shown: {}", refused.name, refused.reason);
        ui.colored_label(cx.theme.warning, text);
    }
    for words in scene.left_out().iter().take(MOST) {
        ui.colored_label(cx.theme.warning, format!("⚠ {words}"));
    }
    let n = scene.file.refused.len().saturating_sub(MOST) + scene.left_out().len().saturating_sub(MOST);
    if n > 0 {
        ui.colored_label(cx.theme.warning, format!("⚠ … and {n} more"));
    }
}

/// The strongest keys and queries of a token, and what is missing of its row.
fn token_ui(ui: &Ui, cx: &ViewCtx<'_>, scene: &StoredScene, (sequence, nth): (usize, usize)) {
    let Some(of) = scene.file.sequences.get(sequence) else { return };
    let named =
        |nth: usize| format!("{nth} {}", of.tokens.get(nth).map_or_else(String::new, |text| shown(text.trim())));
    let list = |weights: &mut dyn Iterator<Item = (usize, f32)>| {
        let mut dense = vec![0.0; of.tokens.len()];
        weights.for_each(|(at, weight)| dense[at] = weight);
        let words = strongest(dense.into_iter())
            .into_iter()
            .map(|(at, weight)| format!("{} {}", named(at), weight_text(weight)));
        words.collect::<Vec<_>>().join(", ")
    };
    tooltip::at_pointer(ui, |ui| {
        ui.strong(named(nth));
        ui.colored_label(cx.theme.query, format!("as a query: {}", list(&mut of.rows.row(nth))));
        let most = of.rows.most_omitted(nth, scene.folder.index.kept);
        let missing = of.rows.missing(nth);
        let words = if missing < LEAST_MISSING {
            "nothing of its row is missing".to_owned()
        } else {
            format!("{} of its row is missing, on keys with at most {} each", weight_text(missing), weight_text(most))
        };
        controls::caption_ui(ui, cx.theme, words);
        ui.colored_label(cx.theme.key, format!("as a key: {}", list(&mut of.rows.column(nth))));
    });
}
