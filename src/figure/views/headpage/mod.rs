//! The page of a head: its numbers with ranks, inputs by activation as running text, strongest pairs, tokens, distances
//! and weights, over all inputs; what it writes, and what it does to the prediction of the open input.

use std::{borrow::Cow, sync::Arc};

use emath::{Rect, pos2, vec2};

use super::joined;
use crate::{
    analysis::{
        cloud_query::CloudResult,
        detect::Undefined,
        head_page::{DistanceMass, HeadPage, PageSequence, Snippet, Standing, TokenTable, TriedInput},
        head_statistics::{Metric, RankedStatistic, StackTable, Thresholds},
    },
    figure::{
        font::Align,
        list::Rgba,
        measure::{GRID, text_size::SMALL},
        page::{Captions, Scene},
        pen::Pen,
    },
    style::mixed,
    text::{counted, decimal_text, grouped, ordinal_text, share_text, weight_text},
};

mod folder_parts;
pub mod layout;
mod of_folder;
mod options;
pub mod parts;
mod spec;

pub use folder_parts::{norms_text, pair_text};
pub use layout::shown;
pub use of_folder::{Extremes, StoredLayout, StoredScene, mean_missing, plain_text};
pub use options::HeadPageOptions;
pub use spec::SPEC;

use layout::{HeadLayout, N_PAIRS, N_TOKENS, TITLE_PT, TextPlace, TokenPlace};
use parts::{EffectPart, WrittenPart, draw_effect, draw_written};

/// Numbers in the line of the head.
const N_NUMBERS: usize = 4;
/// Weights below this are as good as none for the scale of colours.
const LEAST_HIGH: f32 = 1e-3;

/// The page of one head.
#[derive(Clone, Debug)]
pub struct HeadScene {
    /// [`CloudResult::Page`].
    pub found: Arc<CloudResult>,
    /// [`CloudResult::Statistics`], where it is there already.
    pub statistics: Option<Arc<CloudResult>>,
    pub options: HeadPageOptions,
    /// The input that is open, held against the others.
    pub tried: Option<Arc<TriedInput>>,
    /// What it writes by its weights, or why that is not there.
    pub written: Result<Arc<WrittenPart>, Cow<'static, str>>,
    /// What it does to the prediction of the open input, likewise.
    pub effect: Result<Arc<EffectPart>, Cow<'static, str>>,
    /// The token that is asked about.
    pub hovered: Option<PageToken>,
}

/// A token of a sequence of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageToken {
    pub sequence: usize,
    pub is_key: bool,
    pub nth: usize,
}

impl HeadScene {
    /// What was found.
    pub fn page(&self) -> Option<&HeadPage> {
        match &*self.found {
            CloudResult::Page(page) => Some(page),
            _ => None,
        }
    }

    fn table(&self) -> Option<&StackTable> {
        match self.statistics.as_deref() {
            Some(CloudResult::Statistics(table)) => Some(table),
            _ => None,
        }
    }

    /// The interval that is shown, of those that there are.
    pub fn interval(&self) -> usize {
        let n = self.page().map_or(0, |page| page.intervals.of.len());
        self.options.interval.clamp(1, n.max(1))
    }

    /// Where everything stands in an area; `measure` is the width of a text.
    pub fn layout(&self, area: Rect, measure: &mut dyn FnMut(&str) -> f32) -> Option<HeadLayout> {
        let tried = self.tried.as_deref().map(|tried| &tried.sequence);
        Some(HeadLayout::of(area, (self.page()?, tried), self.interval(), measure))
    }

    /// A sequence by its place in the layout.
    pub fn sequence(&self, at: usize) -> Option<&PageSequence> {
        let sequences = &self.page()?.sequences;
        let tried = self.tried.as_deref().filter(|_| at == sequences.len()).map(|tried| &tried.sequence);
        sequences.get(at).or(tried)
    }

    /// The weight of full colour: the largest of all inputs that are kept, so that intervals compare.
    pub fn high(&self) -> f32 {
        let sequences = self.page().map_or(&[][..], |page| &page.sequences);
        let strongest = sequences.iter().filter_map(|of| Some(of.strongest?.weight));
        strongest.fold(LEAST_HIGH, f32::max)
    }

    /// The weights of a token as a key and as a query: with the token that is asked about where it is of the same input,
    /// else the largest ones, `rest`.
    fn weights(&self, of: &PageSequence, token: PageToken, rest: &[Vec<f32>; 2]) -> [Option<f32>; 2] {
        let roles = if of.is_one { [true, true] } else { [token.is_key, !token.is_key] };
        let nth = token.nth;
        let pair = |row: Option<usize>, col: Option<usize>| of.pattern.get(row?, col?);
        let [as_key, as_query] = match self.hovered.filter(|asked| asked.sequence == token.sequence) {
            Some(asked) => {
                let query = (of.is_one || !asked.is_key).then_some(asked.nth);
                let key = (of.is_one || asked.is_key).then_some(asked.nth);
                // The weight on the token itself is told once.
                let is_itself = of.is_one && asked.nth == nth;
                [pair(query, Some(nth)), if is_itself { None } else { pair(Some(nth), key) }]
            }
            None => [rest[0].get(nth).copied(), rest[1].get(nth).copied()],
        };
        [as_key.filter(|_| roles[0]), as_query.filter(|_| roles[1])]
    }

    /// Draws all of it.
    pub fn draw_page(&self, layout: &HeadLayout, pen: &mut Pen<'_>) {
        let Some(page) = self.page() else { return };
        self.draw_line(page, layout, pen);
        self.draw_texts(page, layout, pen);
        draw_pairs(page, layout.pairs, pen);
        self.draw_activations(page, layout.activations, pen);
        draw_distances(&page.distances, layout.distances, pen);
        draw_weights(page, layout.weights, pen);
        for (table, title, rect) in [
            (&page.queries, "Queries, by largest weight", layout.tokens[0]),
            (&page.keys, "Keys, by weight", layout.tokens[1]),
        ] {
            draw_tokens(table, title, rect, pen);
        }
        draw_written(&self.written, layout.written, pen);
        draw_effect(&self.effect, layout.effect, pen);
    }

    /// The numbers with the best ranks.
    fn draw_line(&self, page: &HeadPage, layout: &HeadLayout, pen: &mut Pen<'_>) {
        let (text, weak) = (pen.palette.text, pen.palette.text_weak);
        let at = layout.line.left_top() + vec2(0.0, 2.5 * GRID);
        let kinds = self
            .table()
            .map_or_else(String::new, |table| super::atlas::kinds_text(table, page.head, &Thresholds::default()));
        let width = pen.text(&page.head.to_string(), SMALL, text, at, Align::Left);
        pen.text(&kinds, SMALL, weak, at + vec2(width + 2.0 * GRID, 0.0), Align::Left);
        let column = layout.line.width() / N_NUMBERS as f32;
        for (nth, (metric, cell)) in self.best_numbers(page).into_iter().enumerate() {
            let at = pos2(layout.line.left() + nth as f32 * column, at.y + 5.0 * GRID);
            let title = pen.type_.fit(metric.title(), SMALL, column - 2.0 * GRID).into_owned();
            pen.text(&title, SMALL, weak, at, Align::Left);
            let number = super::atlas::number_text(Some(cell));
            let number = pen.type_.fit(&number, SMALL, column - 2.0 * GRID).into_owned();
            pen.text(&number, SMALL, text, at + vec2(0.0, 4.0 * GRID), Align::Left);
        }
    }

    /// Numbers in which the head stands out most, the highest ranks first.
    pub fn best_numbers(&self, page: &HeadPage) -> Vec<(Metric, RankedStatistic)> {
        let Some(table) = self.table() else { return Vec::new() };
        let mut numbers: Vec<_> =
            Metric::ALL.into_iter().filter_map(|metric| Some((metric, table.cell(metric, page.head)?))).collect();
        numbers.sort_by_key(|(metric, cell)| (cell.rank, metric.slot()));
        numbers.truncate(N_NUMBERS);
        numbers
    }

    fn draw_texts(&self, page: &HeadPage, layout: &HeadLayout, pen: &mut Pen<'_>) {
        let interval = self.interval();
        let of = page.intervals.of.iter().find(|of| of.number == interval);
        let range = of.map_or_else(String::new, |of| {
            let [low, high] = of.range.map(weight_text);
            format!(", activation {low} to {high}, {}", counted(of.n_inputs, "input"))
        });
        let title = format!("Inputs of interval {interval} of {}{range}", page.intervals.of.len());
        draw_title(&title, layout.texts_title, pen);
        for place in &layout.texts {
            if let Some(of) = self.sequence(place.sequence) {
                self.draw_text(page, of, place, pen);
            }
        }
    }

    fn draw_text(&self, page: &HeadPage, of: &PageSequence, place: &TextPlace, pen: &mut Pen<'_>) {
        let weak = pen.palette.text_weak;
        let activation = page.activations.get(of.input).map_or_else(String::new, |weight| weight_text(*weight));
        let n_more = place.n_left_out + of.queries.n_tokens - of.queries.texts.len();
        let more = if n_more > 0 { format!(", {} not shown", counted(n_more, "token")) } else { String::new() };
        let (heading, ink) = match &self.tried {
            Some(tried) if place.sequence == page.sequences.len() => {
                (format!("{}{more}", tried_text(tried)), pen.palette.text)
            }
            _ => (format!("input {}: {activation}{more}", of.input), weak),
        };
        let heading = pen.type_.fit(&heading, SMALL, place.heading.width()).into_owned();
        pen.text(&heading, SMALL, ink, place.heading.left_center(), Align::Left);
        let high = self.high();
        let pieces = [of.queries.pieces(), of.keys.pieces()];
        let rest = [of.largest_received(), of.largest_given()];
        for TokenPlace { is_key, nth, rect } in &place.tokens {
            let token = PageToken { sequence: place.sequence, is_key: *is_key, nth: *nth };
            let [as_key, as_query] = self.weights(of, token, &rest);
            let (upper, lower) = rect.split_top_bottom_at_fraction(0.5);
            let tint = |own: Rgba, weight: f32| mixed(pen.palette.canvas, own, 0.85 * (weight / high).clamp(0.0, 1.0));
            let halves = [(upper, as_key, pen.palette.key), (lower, as_query, pen.palette.query)];
            let grounds = halves.map(|(_, weight, own)| tint(own, weight.unwrap_or(0.0)));
            for ((half, weight, _), ground) in halves.iter().zip(grounds) {
                if weight.is_some_and(|weight| weight > 0.0) {
                    pen.rect(*half, ground);
                }
            }
            let ink = pen.palette.legible(pen.palette.text, mixed(grounds[0], grounds[1], 0.5));
            pen.text(&shown(&pieces[usize::from(*is_key)][*nth]), SMALL, ink, rect.left_center(), Align::Left);
            if self.hovered == Some(token) {
                pen.frame(*rect, 1.0, pen.palette.text);
            }
        }
    }

    fn draw_activations(&self, page: &HeadPage, rect: Rect, pen: &mut Pen<'_>) {
        let tied = match page.intervals.n_tied {
            0 | 1 => String::new(),
            n => format!("; {n} share the highest"),
        };
        draw_title(&format!("Inputs by activation{tied}"), rect, pen);
        let all = page.activation_bars(None).map(|n| n as f64);
        let own = page.activation_bars(Some(self.interval())).map(|n| n as f64);
        let most = all.iter().copied().fold(1.0, f64::max);
        let accent = pen.palette.text_weak;
        draw_bars(rect, &all.map(|n| n / most), pen.palette.bar, pen);
        draw_bars(rect, &own.map(|n| n / most), accent, pen);
        let end = counted(most as usize, "input");
        draw_ends(rect, ["0", &format!("interval {} dark, highest bar {end}", self.interval()), "1"], pen);
    }
}

/// Where the open input stands among those of the page.
fn tried_text(tried: &TriedInput) -> String {
    match tried.place {
        Some(Standing { activation, rank, n_ranked, interval }) => {
            let (place, activation) = (ordinal_text(rank), weight_text(activation));
            format!("The open input: {activation}, {place} beside {n_ranked} inputs, as interval {interval}")
        }
        None => "The open input: it has no pair that counts".to_owned(),
    }
}

fn draw_title(title: &str, rect: Rect, pen: &mut Pen<'_>) {
    let title = pen.type_.fit(title, SMALL, rect.width()).into_owned();
    pen.text(&title, SMALL, pen.palette.text, rect.left_top() + vec2(0.0, TITLE_PT / 2.0), Align::Left);
}

/// Bars from 0 to 1.
fn draw_bars(rect: Rect, shares: &[f64], color: Rgba, pen: &mut Pen<'_>) {
    for (nth, share) in shares.iter().enumerate().filter(|(_, share)| **share > 0.0) {
        let bar = HeadLayout::bar(rect, nth, shares.len());
        pen.rect(bar.with_min_y(bar.bottom() - bar.height() * *share as f32).shrink2(vec2(0.5, 0.0)), color);
    }
    let plot = HeadLayout::plot(rect);
    pen.line(plot.left_bottom(), plot.right_bottom(), 0.75, pen.palette.rule);
}

/// Words below the left end, the middle and the right end of bars.
fn draw_ends(rect: Rect, [left, middle, right]: [&str; 3], pen: &mut Pen<'_>) {
    let (weak, y) = (pen.palette.text_weak, rect.bottom() - 1.5 * GRID);
    pen.text(left, SMALL, weak, pos2(rect.left(), y), Align::Left);
    pen.text(middle, SMALL, weak, pos2(rect.center().x, y), Align::Center);
    pen.text(right, SMALL, weak, pos2(rect.right(), y), Align::Right);
}

fn draw_reason(reason: Undefined, rect: Rect, pen: &mut Pen<'_>) {
    let words = format!("Not defined: {reason}");
    pen.paragraph(&words, SMALL, pen.palette.text_weak, rect.left_top() + vec2(0.0, TITLE_PT), rect.width());
}

fn draw_pairs(page: &HeadPage, rect: Rect, pen: &mut Pen<'_>) {
    draw_title("Strongest pairs: query and key in their texts", rect, pen);
    let (text, weak, query, key) = (pen.palette.text, pen.palette.text_weak, pen.palette.query, pen.palette.key);
    let number_pt = 10.0 * GRID;
    let half = (rect.width() - number_pt) / 2.0;
    for (nth, pair) in page.pairs.iter().take(N_PAIRS).enumerate() {
        let row = HeadLayout::row(rect, nth);
        pen.text(&weight_text(pair.weight), SMALL, text, row.left_center(), Align::Left);
        let of = |pen: &mut Pen<'_>, snippet: &Snippet, color: Rgba, left: f32| {
            let token = pen.type_.fit(&shown(&snippet.token), SMALL, 0.5 * half).into_owned();
            let width = pen.type_.width(&token, SMALL);
            let side = (half - width) / 2.0 - GRID;
            // The end of what stands before is next to the token.
            let mut before = shown(&snippet.before);
            while !before.is_empty() && pen.type_.width(&before, SMALL) > side {
                before.remove(0);
            }
            let at = left + side;
            let after = pen.type_.fit(&shown(&snippet.after), SMALL, side).into_owned();
            pen.text(&before, SMALL, weak, pos2(at, row.center().y), Align::Right);
            pen.text(&token, SMALL, color, pos2(at, row.center().y), Align::Left);
            pen.text(&after, SMALL, weak, pos2(at + width, row.center().y), Align::Left);
        };
        of(pen, &pair.query, query, row.left() + number_pt);
        of(pen, &pair.key, key, row.left() + number_pt + half);
    }
}

fn draw_distances(of: &Result<DistanceMass, Undefined>, rect: Rect, pen: &mut Pen<'_>) {
    draw_title("Weight by distance in tokens, and of uniform attention (lines)", rect, pen);
    let mass = match of {
        Ok(mass) => mass,
        Err(reason) => return draw_reason(*reason, rect, pen),
    };
    let bins = distance_bins(mass);
    let most = bins.iter().flat_map(|(_, sums)| *sums).fold(1e-6, f64::max);
    let shares: Vec<f64> = bins.iter().map(|(_, [mass, _])| mass / most).collect();
    draw_bars(rect, &shares, pen.palette.bar, pen);
    for (nth, (name, [_, even])) in bins.iter().enumerate() {
        let bar = HeadLayout::bar(rect, nth, bins.len());
        let y = bar.bottom() - bar.height() * (even / most) as f32;
        pen.line(pos2(bar.left(), y), pos2(bar.right(), y), 1.25, pen.palette.text);
        if pen.type_.width(name, SMALL) < bar.width() {
            let at = pos2(bar.center().x, rect.bottom() - 1.5 * GRID);
            pen.text(name, SMALL, pen.palette.text_weak, at, Align::Center);
        }
    }
}

/// Bins from the farthest back to the farthest ahead, with their names and numbers.
pub fn distance_bins(mass: &DistanceMass) -> Vec<(String, [f64; 2])> {
    let named = |sign: &str, bin: usize, sums: &[f64; 2]| {
        let sign = if bin == 0 { "" } else { sign };
        (format!("{sign}{}", DistanceMass::bin_text(bin)), *sums)
    };
    let back = mass.back.iter().enumerate().map(|(bin, sums)| named("−", bin, sums)).rev();
    back.chain(mass.ahead.iter().enumerate().skip(1).map(|(bin, sums)| named("+", bin, sums))).collect()
}

fn draw_weights(page: &HeadPage, rect: Rect, pen: &mut Pen<'_>) {
    draw_title("Pairs by weight, logarithm of their number", rect, pen);
    let logs = page.weights.map(|n| (n as f64).ln_1p());
    let most = logs.iter().copied().fold(1e-6, f64::max);
    draw_bars(rect, &logs.map(|log| log / most), pen.palette.bar, pen);
    let total: u64 = page.weights.iter().sum();
    draw_ends(rect, ["0", &format!("{} pairs", grouped(total as usize)), "1"], pen);
}

fn draw_tokens(of: &Result<TokenTable, Undefined>, title: &str, rect: Rect, pen: &mut Pen<'_>) {
    draw_title(title, rect, pen);
    let table = match of {
        Ok(table) => table,
        Err(reason) => return draw_reason(*reason, rect, pen),
    };
    let (text, weak) = (pen.palette.text, pen.palette.text_weak);
    for (nth, token) in table.tokens.iter().take(N_TOKENS).enumerate() {
        let row = HeadLayout::row(rect, nth);
        let [share, times] = table.share(token);
        let numbers = format!("{}, {}×", share_text(share), decimal_text(times));
        let width = pen.text(&numbers, SMALL, weak, row.right_center(), Align::Right);
        let name = shown(token.text.trim_start());
        let name = pen.type_.fit(&name, SMALL, row.width() - width - 2.0 * GRID).into_owned();
        pen.text(&name, SMALL, text, row.left_center(), Align::Left);
    }
    let row = HeadLayout::row(rect, N_TOKENS);
    let words = format!("{} nats from chance (×)", decimal_text(table.concentration));
    pen.text(&words, SMALL, weak, row.left_center(), Align::Left);
}

impl Scene for HeadScene {
    fn width(&self, _: &mut Pen<'_>) -> f32 {
        860.0
    }

    fn least_width(&self, _: &mut Pen<'_>) -> f32 {
        640.0
    }

    fn height(&self, width: f32, pen: &mut Pen<'_>) -> f32 {
        let area = Rect::from_min_size(pos2(0.0, 0.0), vec2(width, 0.0));
        let layout = self.layout(area, &mut |text| pen.type_.width(text, SMALL));
        layout.map_or(0.0, |layout| layout.size().y)
    }

    fn least_height(&self, width: f32, pen: &mut Pen<'_>) -> f32 {
        self.height(width, pen)
    }

    fn draw(&self, area: Rect, pen: &mut Pen<'_>) {
        let layout = self.layout(area, &mut |text| pen.type_.width(text, SMALL));
        if let Some(layout) = layout {
            self.draw_page(&layout, pen);
        }
    }

    fn captions(&self) -> Captions {
        let Some(page) = self.page() else { return Captions::default() };
        let (inputs, queries) = (counted(page.n_inputs, "input"), grouped(page.n_queries as usize));
        let what = format!("{} over {inputs}, {queries} queries", page.head);
        let tint = format!(
            "Upper half of a token: its largest weight as a key, lower half: as a query, full colour at {}",
            weight_text(self.high())
        );
        let how = "Activation is the largest weight off the first query, the first key, the diagonal and special keys; the \
            strongest interval shows its most active inputs, the others inputs at even steps of their ranks";
        Captions { short: joined([what.as_str(), &tint]), full: joined([what.as_str(), &tint, how]) }
    }
}
