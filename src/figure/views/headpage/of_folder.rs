//! The page of a head of a folder: its sequences with the stored part of their rows, the strongest pairs among them,
//! histograms and tables as the folder has them.

use std::sync::Arc;

use emath::{Rect, Vec2, pos2, vec2};

use super::{
    HeadPageOptions, draw_bars, draw_ends, draw_title,
    folder_parts::{own_heights, rows_height},
    layout::{HeadLayout, ROW_PT, TEXT_PT, TITLE_PT, TokenPlace, shown},
};
use crate::{
    analysis::head_folder::{HeadFile, HeadFolder, Histogram, StoredSequence, TokenWeight},
    figure::{
        font::Align,
        measure::{GRID, text_size::SMALL},
        pen::Pen,
    },
    ids::HeadId,
    style::mixed,
    text::{counted, decimal_text, weight_text, whole_text},
};

/// The texts get so much of the width.
const TEXTS: f32 = 0.58;
const GAP_PT: f32 = 6.0 * GRID;
const CHART_PT: f32 = 26.0 * GRID;
/// Rows of the tables of tokens, of the strongest pairs, and lines of a text.
const N_TOKENS: usize = 12;
const N_PAIRS: usize = 10;
const MOST_LINES: usize = 6;
/// Weights below this are as good as none for the scale of colours.
const LEAST_HIGH: f32 = 1e-3;

/// The page of a head of a folder.
#[derive(Clone, Debug)]
pub struct StoredScene {
    pub folder: Arc<HeadFolder>,
    pub head: HeadId,
    pub file: Arc<HeadFile>,
    /// [`Extremes::of`] the file.
    pub extremes: Arc<Extremes>,
    /// An interval above the strongest is the strongest.
    pub options: HeadPageOptions,
    /// The token that is asked about: the place of its sequence, and its own.
    pub hovered: Option<(usize, usize)>,
    /// The pair of the cloud that is asked about.
    pub asked_pair: Option<usize>,
}

/// The strongest weights of the sequences of a file, off the first token.
#[derive(Clone, Debug, PartialEq)]
pub struct Extremes {
    /// The weight of full colour: the largest one, so that intervals compare.
    pub high: f32,
    /// The strongest pairs off the diagonal: sequence, query, key and weight.
    pub pairs: Vec<(usize, usize, usize, f32)>,
}

impl Extremes {
    /// Finds them: once for a file, which has a million pairs or more.
    pub fn of(file: &HeadFile) -> Self {
        let mut high = LEAST_HIGH;
        let mut all = Vec::new();
        for (nth, of) in file.sequences.iter().enumerate() {
            for (query, key, weight) in of.rows.pairs().filter(|(query, key, _)| *query > 0 && *key > 0) {
                high = high.max(weight);
                if query != key {
                    all.push((nth, query, key, weight));
                }
            }
        }
        all.sort_by(|a, b| b.3.total_cmp(&a.3).then((a.0, a.1, a.2).cmp(&(b.0, b.1, b.2))));
        all.truncate(N_PAIRS);
        all.shrink_to_fit();
        Self { high, pairs: all }
    }
}

/// Where everything stands.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredLayout {
    pub line: Rect,
    pub texts_title: Rect,
    pub texts: Vec<StoredText>,
    pub pairs: Rect,
    pub activations: Rect,
    pub distances: Rect,
    /// Tables of queries and of keys.
    pub tokens: [Rect; 2],
    /// Plots and tables of the folder's own.
    pub plots: Vec<Rect>,
    pub tables: Vec<Rect>,
    /// Pairs that are attributed to features, and the cloud, where there are some.
    pub attributions: Option<Rect>,
    pub cloud: Option<Rect>,
    pub bottom: f32,
}

/// A sequence as running text.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredText {
    /// Its place in the file.
    pub sequence: usize,
    pub heading: Rect,
    pub tokens: Vec<TokenPlace>,
    /// Tokens that have no room.
    pub n_left_out: usize,
}

impl StoredScene {
    /// The interval that is shown; none where the file has no intervals.
    pub fn shown_interval(&self) -> Option<u64> {
        let intervals = self.file.intervals();
        let asked = self.options.interval as u64;
        intervals.iter().copied().find(|interval| *interval <= asked).or(intervals.last().copied())
    }

    /// Places of the sequences of the interval that is shown.
    fn sequences(&self) -> impl Iterator<Item = (usize, &StoredSequence)> {
        let interval = self.shown_interval();
        self.file.sequences.iter().enumerate().filter(move |(_, of)| interval.is_none() || of.interval == interval)
    }

    /// Lays it out from the top of an area on; `measure` is the width of a text.
    pub fn layout(&self, area: Rect, measure: &mut dyn FnMut(&str) -> f32) -> StoredLayout {
        let line = area.with_max_y(area.top() + 12.0 * GRID);
        let left = Rect::from_min_size(line.left_bottom(), vec2(TEXTS * area.width() - GAP_PT, 0.0));
        let right = Rect::from_min_max(pos2(left.right() + GAP_PT, line.bottom()), area.right_bottom());
        let texts_title = left.with_max_y(left.top() + TITLE_PT);
        let mut top = texts_title.bottom();
        let mut texts = Vec::new();
        for (sequence, of) in self.sequences() {
            let heading = Rect::from_min_size(pos2(left.left(), top), vec2(left.width(), ROW_PT));
            let mut place = StoredText { sequence, heading, tokens: Vec::new(), n_left_out: 0 };
            top = heading.bottom();
            let (mut x, mut n_lines) = (left.left(), 1);
            for (nth, text) in of.pieces().iter().enumerate() {
                let width = measure(&shown(text)).min(left.width());
                if x + width > left.right() && x > left.left() {
                    x = left.left();
                    n_lines += 1;
                }
                if n_lines > MOST_LINES {
                    place.n_left_out = of.tokens.len() - nth;
                    n_lines = MOST_LINES;
                    break;
                }
                let at = pos2(x, top + (n_lines - 1) as f32 * TEXT_PT);
                place.tokens.push(TokenPlace {
                    is_key: false,
                    nth,
                    rect: Rect::from_min_size(at, vec2(width, TEXT_PT - GRID)),
                });
                x += width;
            }
            top += n_lines as f32 * TEXT_PT + 2.0 * GRID;
            texts.push(place);
        }
        let height = TITLE_PT + self.extremes.pairs.len() as f32 * ROW_PT;
        let pairs = Rect::from_min_size(pos2(left.left(), top + 2.0 * GRID), vec2(left.width(), height));
        let mut y = right.top();
        let mut part = |height: f32| {
            let rect = Rect::from_min_size(pos2(right.left(), y), vec2(right.width(), height));
            y = rect.bottom() + 2.0 * GRID;
            rect
        };
        let [activations, distances] = [part(CHART_PT), part(CHART_PT)];
        let tables = part(TITLE_PT + N_TOKENS as f32 * ROW_PT);
        let (queries, keys) = tables.split_left_right_at_fraction(0.5);
        let tokens = [queries.with_max_x(queries.right() - 2.0 * GRID), keys.with_min_x(keys.left() + 2.0 * GRID)];
        let [plots, own] = own_heights(&self.file, [CHART_PT, rows_height(N_TOKENS)]);
        let [plots, own]: [Vec<Rect>; 2] = [plots, own].map(|heights| heights.into_iter().map(&mut part).collect());
        let right_bottom = own.last().or(plots.last()).unwrap_or(&tables).bottom();
        let n_rows = self.attributed_rows().len();
        let below = pairs.left_bottom() + vec2(0.0, 2.0 * GRID);
        let attributions = (n_rows > 0).then(|| Rect::from_min_size(below, vec2(left.width(), rows_height(n_rows))));
        let left_bottom = attributions.unwrap_or(pairs).bottom();
        let mut bottom = left_bottom.max(right_bottom);
        let cloud = self
            .cloud_height(area.width())
            .map(|height| Rect::from_min_size(pos2(area.left(), bottom + 2.0 * GRID), vec2(area.width(), height)));
        bottom = cloud.map_or(bottom, |cloud| cloud.bottom());
        let (plots, tables) = (plots, own);
        StoredLayout {
            line,
            texts_title,
            texts,
            pairs,
            activations,
            distances,
            tokens,
            plots,
            tables,
            attributions,
            cloud,
            bottom,
        }
    }

    /// Draws all of it.
    pub fn draw(&self, layout: &StoredLayout, pen: &mut Pen<'_>) {
        self.draw_line(layout, pen);
        let interval = match self.shown_interval() {
            Some(interval) => format!("Sequences of interval {interval} of {}", self.file.intervals().len()),
            None => "Sequences".to_owned(),
        };
        draw_title(&format!("{interval}: the stored part of their rows"), layout.texts_title, pen);
        let high = self.extremes.high;
        for place in &layout.texts {
            self.draw_text(place, high, pen);
        }
        self.draw_pairs(layout.pairs, pen);
        draw_histogram("Inputs by activation", self.file.activations.as_ref(), layout.activations, pen);
        draw_histogram("Weight by distance in tokens", self.file.distances.as_ref(), layout.distances, pen);
        draw_table("Queries, by stored weight", &self.file.top_queries, layout.tokens[0], pen);
        draw_table("Keys, by stored weight", &self.file.top_keys, layout.tokens[1], pen);
        self.draw_own([&layout.plots, &layout.tables], pen);
        if let Some(rect) = layout.attributions {
            self.draw_attributions(rect, pen);
        }
        if let Some(rect) = layout.cloud {
            self.draw_cloud(rect, pen);
        }
    }

    /// The head, whose folder it is, and its other numbers.
    fn draw_line(&self, layout: &StoredLayout, pen: &mut Pen<'_>) {
        let (text, weak) = (pen.palette.text, pen.palette.text_weak);
        let at = layout.line.left_top() + vec2(0.0, 2.5 * GRID);
        let width = pen.text(&self.head.to_string(), SMALL, text, at, Align::Left);
        let from = self.from_text();
        let from = pen.type_.fit(&from, SMALL, layout.line.width() - width - 2.0 * GRID).into_owned();
        pen.text(&from, SMALL, weak, at + vec2(width + 2.0 * GRID, 0.0), Align::Left);
        let index = &self.folder.index;
        let number = |(name, value): &(String, f64)| format!("{}: {}", shown(index.label(name)), plain_text(*value));
        let said: Vec<String> = self.file.statistics.iter().map(number).collect();
        let mut words = said.join(" · ");
        if !self.file.refused.is_empty() {
            words = format!("{} refused · {words}", counted(self.file.refused.len(), "sequence"));
        }
        let words = pen.type_.fit(&words, SMALL, layout.line.width()).into_owned();
        pen.text(&words, SMALL, weak, at + vec2(0.0, 5.0 * GRID), Align::Left);
    }

    /// Whose folder it is.
    pub fn from_text(&self) -> String {
        let index = &self.folder.index;
        let of = index.dataset.as_ref().map(|dataset| format!(" over {}", shown(dataset))).unwrap_or_default();
        format!("{}{of}, from the folder {}", shown(&index.model), self.folder.name())
    }

    fn draw_text(&self, place: &StoredText, high: f32, pen: &mut Pen<'_>) {
        let Some(of) = self.file.sequences.get(place.sequence) else { return };
        let weak = pen.palette.text_weak;
        let activation = of.max_activation.map(|of| format!(", activation {}", weight_text(of))).unwrap_or_default();
        let more = if place.n_left_out > 0 {
            format!(", {} not shown", counted(place.n_left_out, "token"))
        } else {
            String::new()
        };
        let missing = mean_missing(of);
        let heading = format!("sequence {}{activation}; {} of a row missing{more}", of.id, weight_text(missing));
        let heading = pen.type_.fit(&heading, SMALL, place.heading.width()).into_owned();
        pen.text(&heading, SMALL, weak, place.heading.left_center(), Align::Left);
        let [received, given] = self.weights(place.sequence, of);
        let pieces = of.pieces();
        for TokenPlace { nth, rect, .. } in &place.tokens {
            let (upper, lower) = rect.split_top_bottom_at_fraction(0.5);
            let halves = [(upper, received[*nth], pen.palette.key), (lower, given[*nth], pen.palette.query)];
            let mut grounds = [pen.palette.canvas; 2];
            for ((half, weight, own), ground) in halves.into_iter().zip(&mut grounds) {
                if weight > 0.0 {
                    *ground = mixed(pen.palette.canvas, own, 0.85 * (weight / high).clamp(0.0, 1.0));
                    pen.rect(half, *ground);
                }
            }
            let ink = pen.palette.legible(pen.palette.text, mixed(grounds[0], grounds[1], 0.5));
            pen.text(&shown(&pieces[*nth]), SMALL, ink, rect.left_center(), Align::Left);
            if self.hovered == Some((place.sequence, *nth)) {
                pen.frame(*rect, 1.0, pen.palette.text);
            }
        }
    }

    /// By token, the weight that it receives and that it gives: to and from the token that is asked about, else the
    /// largest ones off the first token and itself.
    fn weights(&self, sequence: usize, of: &StoredSequence) -> [Vec<f32>; 2] {
        let n = of.tokens.len();
        let (mut received, mut given) = (vec![0.0f32; n], vec![0.0f32; n]);
        if let Some((_, nth)) = self.hovered.filter(|(known, _)| *known == sequence) {
            of.rows.row(nth).for_each(|(key, weight)| received[key] = weight);
            of.rows.column(nth).filter(|(query, _)| *query != nth).for_each(|(query, weight)| given[query] = weight);
            return [received, given];
        }
        for (query, key, weight) in of.rows.pairs().filter(|(query, key, _)| *query > 0 && *key > 0 && query != key) {
            received[key] = received[key].max(weight);
            given[query] = given[query].max(weight);
        }
        [received, given]
    }

    fn draw_pairs(&self, rect: Rect, pen: &mut Pen<'_>) {
        draw_title("Strongest pairs of the stored sequences: query and key", rect, pen);
        let (text, weak) = (pen.palette.text, pen.palette.text_weak);
        let around = |pieces: &[String], at: usize| {
            let range = |from: usize, to: usize| {
                pieces
                    .get(from..to.min(pieces.len()))
                    .unwrap_or_default()
                    .iter()
                    .map(|text| shown(text))
                    .collect::<String>()
            };
            [range(at.saturating_sub(4), at), range(at, at + 1), range(at + 1, at + 4)]
        };
        let number_pt = 10.0 * GRID;
        let half = (rect.width() - number_pt) / 2.0;
        for (nth, (sequence, query, key, weight)) in self.extremes.pairs.iter().copied().enumerate() {
            let row = HeadLayout::row(rect, nth);
            pen.text(&weight_text(weight), SMALL, text, row.left_center(), Align::Left);
            let pieces = self.file.sequences[sequence].pieces();
            for (at, own, left) in [(query, pen.palette.query, 0.0), (key, pen.palette.key, half)] {
                let [before, token, after] = around(&pieces, at);
                let token = pen.type_.fit(&token, SMALL, 0.5 * half).into_owned();
                let width = pen.type_.width(&token, SMALL);
                let side = (half - width) / 2.0 - GRID;
                let mut before = before;
                while !before.is_empty() && pen.type_.width(&before, SMALL) > side {
                    before.remove(0);
                }
                let x = row.left() + number_pt + left + side;
                let after = pen.type_.fit(&after, SMALL, side).into_owned();
                pen.text(&before, SMALL, weak, pos2(x, row.center().y), Align::Right);
                pen.text(&token, SMALL, own, pos2(x, row.center().y), Align::Left);
                pen.text(&after, SMALL, weak, pos2(x + width, row.center().y), Align::Left);
            }
        }
    }

    /// What stands below the page.
    pub fn words(&self) -> String {
        let kept = self.folder.index.kept;
        format!(
            "Upper half of a token: as a key, lower half: as a query, full colour at {}; of each row the strongest {} weights from {} on, which do not sum to 1",
            weight_text(self.extremes.high),
            kept.most,
            weight_text(kept.least)
        )
    }
}

impl StoredLayout {
    /// Everything.
    pub fn size(&self) -> Vec2 {
        vec2(self.line.width(), self.bottom - self.line.top())
    }

    /// The same somewhere else.
    #[must_use]
    pub fn moved(&self, by: Vec2) -> Self {
        let mut all = self.clone();
        let [queries, keys] = &mut all.tokens;
        let rects = [&mut all.line, &mut all.texts_title, &mut all.pairs, &mut all.activations, &mut all.distances];
        let own = all.plots.iter_mut().chain(&mut all.tables).chain(&mut all.attributions).chain(&mut all.cloud);
        for rect in rects.into_iter().chain([queries, keys]).chain(own) {
            *rect = rect.translate(by);
        }
        for place in &mut all.texts {
            place.heading = place.heading.translate(by);
            place.tokens.iter_mut().for_each(|token| token.rect = token.rect.translate(by));
        }
        all.bottom += by.y;
        all
    }

    /// The token at a place.
    pub fn token_at(&self, at: emath::Pos2) -> Option<(usize, usize)> {
        self.texts.iter().find_map(|place| {
            let token = place.tokens.iter().find(|token| token.rect.contains(at))?;
            Some((place.sequence, token.nth))
        })
    }
}

/// How much of a row of a sequence is not there, on average.
pub fn mean_missing(of: &StoredSequence) -> f64 {
    let n = of.tokens.len();
    (0..n).map(|query| of.rows.missing(query)).sum::<f64>() / n.max(1) as f64
}

/// A number of a folder, which may be a count.
pub fn plain_text(value: f64) -> String {
    if value.fract() == 0.0 { whole_text(value) } else { decimal_text(value) }
}

pub(super) fn draw_histogram(title: &str, of: Option<&Histogram>, rect: Rect, pen: &mut Pen<'_>) {
    draw_title(title, rect, pen);
    let Some(of) = of.filter(|of| !of.bin_values.is_empty()) else {
        let at = rect.left_top() + vec2(0.0, TITLE_PT);
        pen.paragraph("The folder has none", SMALL, pen.palette.text_weak, at, rect.width());
        return;
    };
    let most = of.bin_values.iter().copied().fold(1e-9, f64::max);
    let shares: Vec<f64> = of.bin_values.iter().map(|value| value / most).collect();
    draw_bars(rect, &shares, pen.palette.bar, pen);
    let ends = [0, of.bin_edges.len() - 1].map(|at| plain_text(of.bin_edges[at]));
    draw_ends(rect, [&ends[0], &format!("highest bar {}", plain_text(most)), &ends[1]], pen);
}

pub(super) fn draw_table(title: &str, rows: &[TokenWeight], rect: Rect, pen: &mut Pen<'_>) {
    draw_title(title, rect, pen);
    let (text, weak) = (pen.palette.text, pen.palette.text_weak);
    if rows.is_empty() {
        pen.text("The folder has none", SMALL, weak, HeadLayout::row(rect, 0).left_center(), Align::Left);
    }
    for (nth, token) in rows.iter().take(N_TOKENS).enumerate() {
        let row = HeadLayout::row(rect, nth);
        let width = pen.text(&decimal_text(token.weight), SMALL, weak, row.right_center(), Align::Right);
        let name =
            pen.type_.fit(&shown(token.token.trim_start()), SMALL, row.width() - width - 2.0 * GRID).into_owned();
        pen.text(&name, SMALL, text, row.left_center(), Align::Left);
    }
}
