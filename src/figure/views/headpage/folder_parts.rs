//! What a folder has of a head beside its sequences: the cloud of its strong pairs, pairs that are attributed to features, and
//! plots and tables of the folder's own.

use emath::{Pos2, Rect, pos2, vec2};

use super::{
    draw_title,
    layout::{HeadLayout, ROW_PT, TITLE_PT, shown},
    of_folder::{StoredScene, draw_histogram, draw_table},
};
use crate::{
    analysis::head_folder::{Attribution, CloudLayout, CloudPair, CloudPanel, HeadCloud, HeadFile},
    figure::{
        font::Align,
        list::{Line, Rgba},
        measure::{GRID, text_size::SMALL},
        pen::Pen,
    },
    style::mixed,
    text::{counted, decimal_text, grouped, weight_text},
};

/// Points of a panel that are drawn; of more every so many.
const MOST_POINTS: usize = 2000;
/// Side of the square of a pair, and of the one that is asked about.
const POINT_PT: f32 = 2.5;
const ASKED_PT: f32 = 7.0;
/// The most that a panel is wide.
const PANEL_PT: f32 = 64.0 * GRID;
const PANEL_GAP_PT: f32 = 4.0 * GRID;
/// Around the panels, so that no frame is cut off.
const EDGE_PT: f32 = 1.0;
/// Within this distance a pair is pointed at.
const NEAR_PT: f32 = 8.0;
/// Attributed pairs, and features of each.
const N_ATTRIBUTED: usize = 8;
const N_FEATURES: usize = 3;
/// Height of a sentence in place of what cannot be shown.
const SENTENCE_PT: f32 = 10.0 * GRID;

/// What kind of vectors a panel has: those of the query are the first two of all.
const fn is_of_query(panel: &CloudPanel) -> bool {
    panel.kind < 2
}

impl StoredScene {
    /// The cloud, where there is one that can be shown.
    pub fn cloud(&self) -> Option<&HeadCloud> {
        self.file.cloud.as_ref()?.as_ref().ok()
    }

    /// The layout of the cloud that is shown.
    pub fn cloud_layout(&self) -> Option<&CloudLayout> {
        let layouts = &self.cloud()?.layouts;
        layouts.get(self.options.cloud_layout.saturating_sub(1)).or(layouts.last())
    }

    /// Height of the cloud, or of the sentence in its place, in this width; none without either.
    pub(super) fn cloud_height(&self, width: f32) -> Option<f32> {
        match self.file.cloud.as_ref()? {
            Ok(_) => {
                let panels = self.cloud_layout().map_or(1, |layout| layout.panels.len());
                Some(2.0 * TITLE_PT + panel_side(width, panels) + 2.0 * EDGE_PT)
            }
            Err(_) => Some(TITLE_PT + SENTENCE_PT),
        }
    }

    /// Draws the cloud.
    pub(super) fn draw_cloud(&self, rect: Rect, pen: &mut Pen<'_>) {
        let (cloud, layout) = match (&self.file.cloud, self.cloud_layout()) {
            (Some(Ok(cloud)), Some(layout)) => (cloud, layout),
            (Some(Err(reason)), _) => {
                draw_title("Vectors of strong pairs", rect, pen);
                return draw_refused(&format!("This cloud cannot be shown: {reason}"), rect, pen);
            }
            _ => return,
        };
        let n = cloud.pairs.len();
        let step = n.div_ceil(MOST_POINTS).max(1);
        let drawn = if step > 1 { format!(", {} of them drawn", grouped(n.div_ceil(step))) } else { String::new() };
        let colors = if cloud.clusters.is_empty() {
            "full colour: long vectors".to_owned()
        } else {
            cloud.clusters.iter().map(|of| shown(&of.name)).collect::<Vec<_>>().join(", ")
        };
        let title = format!("Vectors of {}{drawn}, {}; {colors}", cloud.pairs_text(), layout.name);
        draw_title(&title, rect, pen);
        for (panel, area) in layout.panels.iter().zip(panel_rects(rect, layout.panels.len())) {
            let title = area.left_top() - vec2(0.0, TITLE_PT / 2.0);
            pen.text(panel.title(), SMALL, pen.palette.text_weak, title, Align::Left);
            pen.frame(area, 0.75, pen.palette.rule);
            let colors = pair_colors(cloud, panel, pen);
            let at = places(panel, area);
            let square = |pair: usize, side: f32, color: Rgba| {
                let half = vec2(side / 2.0, 0.0);
                Line { from: at(pair) - half, to: at(pair) + half, width: side, color }
            };
            let all = (0..n).step_by(step).map(|pair| square(pair, POINT_PT, colors[pair]));
            pen.lines(all.collect());
            if let Some(pair) = self.asked_pair.filter(|pair| *pair < n) {
                pen.frame(Rect::from_center_size(at(pair), vec2(ASKED_PT, ASKED_PT)), 1.5, pen.palette.text);
            }
        }
    }

    /// The pair of the cloud at a place.
    pub fn pair_at(&self, rect: Rect, pointer: Pos2) -> Option<usize> {
        let layout = self.cloud_layout()?;
        let areas = panel_rects(rect, layout.panels.len());
        let (panel, area) = layout.panels.iter().zip(areas).find(|(_, area)| area.contains(pointer))?;
        let at = places(panel, area);
        let away = (0..panel.points.len()).map(|pair| (at(pair).distance(pointer), pair));
        away.min_by(|a, b| a.0.total_cmp(&b.0)).filter(|(far, _)| *far <= NEAR_PT).map(|(_, pair)| pair)
    }

    /// The tokens of the sequence of a pair, where the folder has them.
    pub fn pair_tokens(&self, pair: CloudPair) -> Option<&[String]> {
        let own = || self.file.sequences.iter().find(|of| of.id.to_string() == pair.sequence.to_string());
        let known = self.cloud()?.texts.get(&pair.sequence);
        known.or_else(|| own().map(|of| &of.tokens)).map(Vec::as_slice)
    }

    /// Rows of attributed pairs: the words of each row, and whether it is a heading.
    pub(super) fn attributed_rows(&self) -> Vec<(String, bool)> {
        let mut rows = Vec::new();
        for Attribution { place, features } in self.file.attributions.iter().take(N_ATTRIBUTED) {
            let of = self.file.sequences.iter().find(|of| of.id.to_string() == place.sequence);
            let token = |at: usize| of.and_then(|of| of.tokens.get(at)).map(|text| format!(" {}", shown(text.trim())));
            let [query, key] = [place.query, place.key].map(|at| format!("{at}{}", token(at).unwrap_or_default()));
            rows.push((format!("{}, sequence {}: {query} → {key}", place.circuit.title(), place.sequence), true));
            match features {
                Ok(all) => rows.extend(all.iter().take(N_FEATURES).map(|of| {
                    let words = |nth: usize| match &*of.descriptions[nth] {
                        "" => shown(&of.features[nth]),
                        known => format!("{} {}", shown(&of.features[nth]), shown(known)),
                    };
                    let [query, key] = [0, 1].map(words);
                    (format!("{}  {query} → {key}", decimal_text(of.attribution)), false)
                })),
                Err(reason) => rows.push((format!("cannot be shown: {reason}"), false)),
            }
        }
        let n = self.file.attributions.len().saturating_sub(N_ATTRIBUTED);
        if n > 0 {
            rows.push((format!("… and {} more", counted(n, "pair")), true));
        }
        rows
    }

    pub(super) fn draw_attributions(&self, rect: Rect, pen: &mut Pen<'_>) {
        draw_title("Pairs attributed to features, by the folder", rect, pen);
        for (nth, (words, is_heading)) in self.attributed_rows().into_iter().enumerate() {
            let row = HeadLayout::row(rect, nth);
            let (left, color) = if is_heading { (0.0, pen.palette.text) } else { (3.0 * GRID, pen.palette.text_weak) };
            let words = pen.type_.fit(&words, SMALL, row.width() - left).into_owned();
            pen.text(&words, SMALL, color, row.left_center() + vec2(left, 0.0), Align::Left);
        }
    }

    /// Draws plots and tables of the folder's own.
    pub(super) fn draw_own(&self, [plots, tables]: [&[Rect]; 2], pen: &mut Pen<'_>) {
        for (plot, rect) in self.file.plots.iter().zip(plots) {
            match &plot.part {
                Ok(of) => draw_histogram(&shown(&plot.label), Some(of), *rect, pen),
                Err(reason) => {
                    draw_title(&shown(&plot.label), *rect, pen);
                    draw_refused(&format!("This plot cannot be shown: {reason}"), *rect, pen);
                }
            }
        }
        for (table, rect) in self.file.tables.iter().zip(tables) {
            match &table.part {
                Ok(rows) => draw_table(&shown(&table.label), rows, *rect, pen),
                Err(reason) => {
                    draw_title(&shown(&table.label), *rect, pen);
                    draw_refused(&format!("This table cannot be shown: {reason}"), *rect, pen);
                }
            }
        }
    }

    /// What of the files of the head is left out, a sentence each.
    pub fn left_out(&self) -> Vec<String> {
        let of_cloud = self.cloud().map_or(&[][..], |cloud| &cloud.notes).iter();
        let of_cloud = of_cloud.map(|note| format!("The cloud is not shown whole: {note}"));
        self.file.notes.iter().map(|note| crate::text::capitalised(note)).chain(of_cloud).collect()
    }
}

/// Heights of the plots and tables of a file that are the folder's own.
pub fn own_heights(file: &HeadFile, [chart, table]: [f32; 2]) -> [Vec<f32>; 2] {
    let plots = file.plots.iter().map(|of| if of.part.is_ok() { chart } else { TITLE_PT + SENTENCE_PT });
    let tables = file.tables.iter().map(|of| if of.part.is_ok() { table } else { TITLE_PT + SENTENCE_PT });
    [plots.collect(), tables.collect()]
}

/// Height of so many rows with their title.
pub fn rows_height(n: usize) -> f32 {
    TITLE_PT + n as f32 * ROW_PT
}

/// What stands in place of something that cannot be shown.
fn draw_refused(words: &str, rect: Rect, pen: &mut Pen<'_>) {
    pen.paragraph(words, SMALL, pen.palette.text_weak, rect.left_top() + vec2(0.0, TITLE_PT), rect.width());
}

fn panel_side(width: f32, n: usize) -> f32 {
    let n = n.max(1) as f32;
    ((width - 2.0 * EDGE_PT - (n - 1.0) * PANEL_GAP_PT) / n).min(PANEL_PT)
}

/// The frames of the panels, side by side below their titles.
fn panel_rects(rect: Rect, n: usize) -> Vec<Rect> {
    let side = panel_side(rect.width(), n);
    let at =
        |nth: usize| rect.left_top() + vec2(EDGE_PT + nth as f32 * (side + PANEL_GAP_PT), 2.0 * TITLE_PT + EDGE_PT);
    (0..n).map(|nth| Rect::from_min_size(at(nth), vec2(side, side))).collect()
}

/// Where each pair lies in a panel: both directions have one scale.
fn places(panel: &CloudPanel, area: Rect) -> impl Fn(usize) -> Pos2 {
    let ends = |axis: usize| {
        let all = || panel.points.iter().map(move |point| point[axis]);
        (all().fold(f32::INFINITY, f32::min), all().fold(f32::NEG_INFINITY, f32::max))
    };
    let ((left, right), (low, high)) = (ends(0), ends(1));
    let widest = (right - left).max(high - low).max(f32::MIN_POSITIVE);
    let inner = area.shrink(2.0 * GRID);
    let middle = [f32::midpoint(left, right), f32::midpoint(low, high)];
    move |pair| {
        let [x, y, _] = panel.points.get(pair).copied().unwrap_or_default();
        let share = |value: f32, middle: f32| (value - middle) / widest * inner.width();
        pos2(inner.center().x + share(x, middle[0]), inner.center().y - share(y, middle[1]))
    }
}

/// The colour of each pair: of its cluster, or by the length of its vector.
fn pair_colors(cloud: &HeadCloud, panel: &CloudPanel, pen: &Pen<'_>) -> Vec<Rgba> {
    let palette = &pen.palette;
    let n = cloud.pairs.len();
    if !cloud.clusters.is_empty() {
        let mut colors = vec![palette.text_weak; n];
        for (nth, cluster) in cloud.clusters.iter().enumerate() {
            cluster.pairs.iter().for_each(|pair| colors[*pair] = palette.head(nth));
        }
        return colors;
    }
    let own = if is_of_query(panel) { palette.query } else { palette.key };
    let ranks = panel.ranks().unwrap_or_else(|| vec![1.0; n]);
    ranks.into_iter().map(|rank| mixed(palette.canvas, own, 0.3 + 0.7 * rank)).collect()
}

/// A pair of a cloud in words: its tokens among those around them, or their places.
pub fn pair_text(tokens: Option<&[String]>, pair: CloudPair) -> String {
    let CloudPair { sequence, query, key } = pair;
    let named = |at: u32| {
        let token = tokens.and_then(|tokens| tokens.get(at as usize)).map(|text| shown(text.trim()));
        token.map_or_else(|| at.to_string(), |token| format!("{at} {token}"))
    };
    format!("sequence {sequence}: query {}, key {}", named(query), named(key))
}

/// Lengths of the vectors of a pair, by panel.
pub fn norms_text(layout: &CloudLayout, pair: usize) -> String {
    let of = |panel: &CloudPanel| {
        let norm = panel.norms.as_ref()?.get(pair)?;
        Some(format!("{} {}", panel.title().to_lowercase(), weight_text(*norm)))
    };
    layout.panels.iter().filter_map(of).collect::<Vec<_>>().join(", ")
}
