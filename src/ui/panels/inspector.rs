//! The selected head and tokens in exact numbers, and the options of the view.

use std::sync::Arc;

use eframe::egui::{
    self, Align, FontId, Layout, RichText, Ui,
    text::{LayoutJob, TextFormat},
};

use super::{
    corpus::input_ui,
    kinds::UNASKED,
    ranking::{N_TOP_KEYS, Ranking},
};
use crate::{
    analysis::{
        attention,
        reading::{Axis, EFFECTIVE, ReadPattern, Refusal, store::stack_cost},
        stats::HeadStats,
    },
    capture::{Capture, RowMass, Token},
    figure::{
        DetailsPart, FigureExtent,
        data::{self, tab_separated},
    },
    glossary,
    ids::StackKind,
    session::{Command, Focus, SelectionCommand, ViewKind},
    spec::{LayerSpec, PatternKind},
    text::{capitalised, decimal_text, length_text, ordinal_text, share_text, weight_text, whole_text},
    ui::{
        ViewCtx,
        memo::{Memo, Same},
        theme::{GRID, text_size},
        views::{
            copy_menu_ui, grouped, head_page_button_ui, method_specs_ui, query_name, sharing_text, subject, what,
            why_button_ui,
        },
        widgets::{BAR_ROW_PT, BarRow, field_ui, section_title_ui, section_ui},
    },
};

/// Heads that are ranked for a pinned pair.
const N_LINKS: usize = 8;
/// Row, column and value of a few cells.
type Pairs = Arc<[(usize, usize, f32)]>;

/// Stands where there is no number.
const ABSENT: &str = "–";

/// What the views show of the selected head, and why they may show nothing; `None` while it is read.
pub type Shown = Option<Result<Arc<ReadPattern>, Refusal>>;

/// The panel on the right, without the view's options.
#[derive(Default)]
pub struct Inspector {
    strongest: Memo<Same<ReadPattern>, Pairs>,
}

impl Inspector {
    /// Draws it: the selection, its top keys, the head.
    pub fn ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>, shown: &Shown) {
        let Some(capture) = cx.document.latest_capture() else {
            ui.weak("Nothing to inspect yet");
            return;
        };
        ui.spacing_mut().item_spacing.y = GRID / 2.0;
        self.contents_ui(ui, cx, (capture, shown));
    }

    fn contents_ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>, (capture, shown): (&Capture, &Shown)) {
        let details = cx.pane.view.facts().details;
        let has_head = details.contains(&DetailsPart::Head);
        if has_head {
            head_ui(ui, cx, capture);
        }
        if details.contains(&DetailsPart::Input) {
            input_ui(ui, cx);
        } else if cx.pane.shows_corpus(cx.document) {
            let text = format!("In this input only: “{}”", cx.document.input_name());
            let whole = "The view draws all inputs of the corpus; these numbers are of the input at the left alone";
            ui.add(egui::Label::new(RichText::new(text).small().color(cx.theme.warning)).wrap()).on_hover_text(whole);
        }
        if details.contains(&DetailsPart::Selection) {
            self.focus_ui(ui, cx, capture, shown);
        }
        if details.contains(&DetailsPart::Methods) {
            method_specs_ui(ui, cx);
        }
        let Some(subject) = subject(cx).filter(|_| has_head) else { return };
        if let Some(Ok(stats)) = cx.patterns.stats(&subject, cx.pane.selection.head) {
            let stack = cx.pane.selection.stack();
            let is_cheap = stack_cost(&subject.this, stack) <= UNASKED;
            let all = is_cheap.then(|| cx.patterns.stack_stats(&subject, stack)).flatten();
            stats_ui(ui, cx, &stats, &all.unwrap_or_default());
        }
        links_ui(ui, cx);
    }

    /// The focused query, key, their numbers, and the strongest partners.
    fn focus_ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>, capture: &Capture, shown: &Shown) {
        let selection = &cx.pane.selection;
        let stack = selection.stack();
        let (queries, keys) = (capture.query_tokens(stack), capture.key_tokens(stack));
        let mut focus = selection.focus();
        let pattern = shown.as_ref().and_then(|shown| shown.as_ref().ok());
        let what = pattern.map_or_else(|| selection.head.to_string(), |pattern| what(cx, pattern));
        let title = match (focus.is_empty(), selection.hover.is_empty()) {
            (true, _) => "Selection".to_owned(),
            // The view may draw other heads, too.
            (false, true) => format!("Pinned, in {what}"),
            (false, false) if cx.pane.view.spec().extent == FigureExtent::Stack => {
                format!("Under the pointer, in the selected head {what}")
            }
            (false, false) => format!("Under the pointer, in {what}"),
        };
        // Without a head it is the first heading.
        let has_head = cx.pane.view.facts().details.contains(&DetailsPart::Head);
        let heading_ui = if has_head { section_ui } else { section_title_ui };
        heading_ui(ui, cx.theme, &title);
        let one_row = pattern.is_some_and(|pattern| pattern.has_one_row());
        if one_row {
            // It stands for all queries.
            focus.query = Some(0);
        }
        // Every line is always there, so that a preview never moves what is under the pointer.
        let axes = [pattern.map(|pattern| &*pattern.rows), pattern.map(|pattern| &*pattern.cols)];
        let [query, key] = if one_row { ["Explained", "Token"] } else { [query_name(cx), "Key"] };
        if focus.is_empty() {
            rest_ui(ui, cx);
        } else {
            token_ui(ui, cx, (query, cx.theme.query), focus.query, (queries, axes[0]));
            token_ui(ui, cx, (key, cx.theme.key), focus.key, (keys, axes[1]));
            cell_ui(ui, cx, capture, pattern.map(AsRef::as_ref), focus);
        }
        if pattern.is_some_and(|pattern| pattern.explained().is_none()) {
            why_button_ui(ui, cx, selection.pinned);
        }
        let Some(pattern) = pattern else {
            if let Some(Err(refusal)) = shown {
                ui.label(RichText::new(refusal.to_string()).color(cx.theme.text_weak));
            }
            return;
        };
        if !cx.pane.view.facts().details.contains(&DetailsPart::Ranking) {
            return;
        }
        let row = focus.query.and_then(|query| pattern.rows.group_of(query));
        let col = focus.key.and_then(|key| pattern.cols.group_of(key));
        match (row, col) {
            (Some(row), col) => Ranking {
                words: one_row.then_some(keys),
                title: if one_row { "Top tokens" } else { "Top keys" },
                ranked: pattern.ranked_cols(row),
                of: pattern,
                axis: &pattern.cols,
                chosen: col,
                // Without a pinned query the preview would end as soon as the pointer leaves the view.
                preview: one_row
                    || selection.pinned.query.is_some_and(|query| pattern.rows.group_of(query) == Some(row)),
                table: &|| data::of_query(pattern, row),
            }
            .ui(ui, cx, |key| Focus { query: focus.query.filter(|_| !one_row), key }),
            (None, Some(_)) if pattern.is_part() => {
                section_ui(ui, cx.theme, "Top queries");
                let why = "Queries are not ranked in a text this long. Pin a query to see its top keys";
                ui.add(egui::Label::new(RichText::new(why).small().color(cx.theme.text_weak)).wrap());
            }
            (None, Some(col)) => Ranking {
                words: None,
                title: "Top queries",
                ranked: pattern.ranked_rows(col),
                of: pattern,
                axis: &pattern.rows,
                chosen: None,
                // A previewed query would turn this list into its own top keys, under the pointer.
                preview: false,
                table: &|| data::of_key(pattern, col),
            }
            .ui(ui, cx, |query| Focus { query, key: focus.key }),
            (None, None) => {
                let compute = || pattern.strongest(N_TOP_KEYS).into();
                let pairs = self.strongest.get_or_update(Same(Arc::clone(pattern)), compute);
                strongest_ui(ui, cx, pattern, &pairs);
            }
        }
    }
}

/// A number of a head.
struct HeadNumber {
    name: &'static str,
    /// In a table.
    column: &'static str,
    meaning: &'static str,
    of: fn(&HeadStats) -> Option<f32>,
    text: fn(&HeadStats, f32) -> String,
}

/// What is said of a mean over a row that is no distribution.
const NOT_DEFINED: &str = "not defined";

/// A mean over rows, where they are distributions.
fn of_shares(stats: &HeadStats, mean: Option<f32>) -> Option<f32> {
    mean.map(|mean| if stats.rows == RowMass::Free { f32::NAN } else { mean })
}

fn mean_text(stats: &HeadStats, mean: String) -> String {
    if stats.rows == RowMass::Free { NOT_DEFINED.to_owned() } else { mean }
}

/// A share of a row, or a sum of weights where rows are no distribution.
fn mass_text(stats: &HeadStats, mass: f32) -> String {
    if stats.rows == RowMass::Free { format!("weight {}", weight_text(mass)) } else { share_text(mass) }
}

const HEAD_NUMBERS: [HeadNumber; 8] = [
    HeadNumber {
        name: "Entropy",
        column: "entropy_nats",
        meaning: glossary::ENTROPY.meaning,
        of: |stats| Some(if matches!(stats.rows, RowMass::Full | RowMass::Sink) { stats.entropy } else { f32::NAN }),
        text: |stats, entropy| match stats.rows {
            RowMass::Partial => "rows are incomplete".to_owned(),
            RowMass::Free => NOT_DEFINED.to_owned(),
            RowMass::Full | RowMass::Sink => {
                format!("{} nats ({})", decimal_text(entropy), share_text(stats.entropy_fraction))
            }
        },
    },
    HeadNumber {
        name: "Mean distance",
        column: "distance_tokens",
        meaning: "Mean distance between a query and its keys, weighted by attention",
        of: |stats| of_shares(stats, stats.distance),
        text: |stats, distance| mean_text(stats, format!("{} tokens", length_text(distance))),
    },
    HeadNumber {
        name: "Mean distance",
        column: "distance_px",
        meaning: "Mean distance between a patch and the patches it attends to, weighted by attention, in pixels of the \
            model's input picture",
        of: |stats| of_shares(stats, stats.patch_distance),
        text: |stats, distance| mean_text(stats, format!("{} px", whole_text(distance))),
    },
    HeadNumber {
        name: "On the first key",
        column: "on_first",
        meaning: "Mean share of attention that goes to the first token",
        of: |stats| Some(stats.on_first),
        text: mass_text,
    },
    HeadNumber {
        name: "On the previous key",
        column: "on_previous",
        meaning: "Mean share of attention that goes to the previous token",
        of: |stats| stats.on_previous,
        text: mass_text,
    },
    HeadNumber {
        name: "On itself",
        column: "on_self",
        meaning: "Mean share of attention that stays on the query’s own token",
        of: |stats| stats.on_self,
        text: mass_text,
    },
    HeadNumber {
        name: "On special keys",
        column: "on_special",
        meaning: "Mean share of attention that goes to tokens such as [CLS] and [SEP]",
        of: |stats| Some(stats.on_special),
        text: mass_text,
    },
    HeadNumber {
        name: "Largest weight",
        column: "max_weight",
        meaning: "The largest weight of any pair",
        of: |stats| Some(stats.max_weight),
        text: |_, weight| weight_text(weight),
    },
];

impl HeadNumber {
    /// The place of a value among those of all heads, the largest first; `None` where that says nothing.
    fn rank_text(&self, value: f32, all: &[HeadStats]) -> Option<String> {
        let values: Vec<f32> = all.iter().filter_map(|stats| (self.of)(stats)).filter(|it| !it.is_nan()).collect();
        let differs = values.iter().any(|other| *other != value) && !value.is_nan();
        let place = 1 + values.iter().filter(|other| **other > value).count();
        differs.then(|| format!(" · {} of {}", ordinal_text(place), values.len()))
    }
}

/// The numbers of the selected head, with their ranks among `all` heads, where these are known.
fn stats_ui(ui: &mut Ui, cx: &ViewCtx<'_>, stats: &HeadStats, all: &[HeadStats]) {
    let is_some = cx.pane.selection.stack() == StackKind::Chosen;
    let title = match (cx.pane.explained(), is_some) {
        (None, false) => "This head, over all queries and keys",
        (None, true) => "This head, over the queries that were kept, and all keys",
        (Some(_), false) => "Attention of this head, over all queries and keys",
        (Some(_), true) => "Attention of this head, over the queries that were kept, and all keys",
    };
    section_ui(ui, cx.theme, title);
    let numbers = || HEAD_NUMBERS.iter().filter_map(|number| Some((number, (number.of)(stats)?)));
    let line = |(number, value): (&HeadNumber, f32)| format!("{}\t{value}\n", number.column);
    let table = || numbers().map(line).collect::<Vec<_>>().concat();
    for (number, value) in numbers() {
        let mut text = LayoutJob::default();
        let mut append = |part: &str, size: f32, color: egui::Color32| {
            text.append(
                part,
                0.0,
                TextFormat { valign: Align::Center, ..TextFormat::simple(FontId::proportional(size), color) },
            );
        };
        append(&(number.text)(stats, value), text_size::BODY, cx.theme.text);
        if let Some(rank) = number.rank_text(value, all) {
            append(&rank, text_size::SMALL, cx.theme.text_weak);
        }
        let response = field_ui(ui, cx.theme, number.name, text).on_hover_text(number.meaning);
        copy_menu_ui(&response, cx, "the numbers of this head", table);
    }
}

fn head_ui(ui: &mut Ui, cx: &ViewCtx<'_>, capture: &Capture) {
    let head = cx.pane.selection.head;
    ui.horizontal(|ui| {
        ui.label(RichText::new(head.to_string()).heading());
        let n_drawn = cx.pane.selection.heads_on().iter(cx.pane.n_heads(cx.document)).count();
        let heads = match n_drawn {
            1 => "shown alone".to_owned(),
            n => format!("1 of {n} heads"),
        };
        let heads = if cx.pane.view.spec().extent == FigureExtent::Layer { heads } else { String::new() };
        ui.label(RichText::new(heads).color(cx.theme.text_weak));
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            head_page_button_ui(ui, cx, ViewKind::OF_ONE_HEAD.label());
        });
    });
    let Some(stack) = capture.model().stack(head.stack) else { return };
    if let Some(layer) = stack.layers.get(head.layer) {
        layer_ui(ui, cx, layer, head.head, stack.causal);
    }
}

/// What is special about a layer's attention; nothing in an ordinary one.
fn layer_ui(ui: &mut Ui, cx: &ViewCtx<'_>, layer: &LayerSpec, head: usize, causal: bool) {
    let line = |ui: &mut Ui, text: String, meaning: &str| {
        ui.add(egui::Label::new(RichText::new(text).small().color(cx.theme.text_weak)).wrap()).on_hover_text(meaning);
    };
    let mixer = capitalised(layer.mixer.title());
    match layer.mixer.pattern() {
        PatternKind::Distribution => {}
        PatternKind::Effective => {
            line(ui, format!("{mixer}: its pattern is {EFFECTIVE}"), glossary::EFFECTIVE_PATTERN.meaning);
        }
        PatternKind::None => {
            let meaning = "Each channel has factors of its own, so no one pattern of all channels would be exact";
            line(ui, format!("{mixer}: it has no pattern"), meaning);
        }
    }
    if let Some(text) = sharing_text(layer, head) {
        line(ui, text, "Grouped-query attention: fewer sets of keys and values than heads");
    }
    if let Some(reach) = layer.window {
        let (n, before) = (grouped(reach), grouped(reach.saturating_sub(1)));
        let text = if causal {
            format!("Window {n}: sees at most itself and the {before} tokens before")
        } else {
            format!("Window {n}: sees at most the {before} tokens on either side")
        };
        line(ui, text, "Sliding-window attention: keys further away are masked");
    }
    if layer.global {
        let text = "Some tokens see all others, and all others see them".to_owned();
        line(ui, text, "Global attention: these tokens use separate query, key and value maps");
    }
    if layer.biased {
        line(ui, "A position bias is added to the scores".to_owned(), "Relative positions (T5, BEiT) or ALiBi");
    }
    if let Some(cap) = layer.softcap {
        line(ui, format!("Scores are soft-capped at ±{cap}"), "cap · tanh(score / cap), before the mask");
    }
}

/// One sentence in the room of query, key, weight, score and rank, so that nothing below moves when they come.
fn rest_ui(ui: &mut Ui, cx: &ViewCtx<'_>) {
    const N_LINES: f32 = 5.0;
    let spacing = ui.spacing();
    let line = spacing.interact_size.y.max(ui.text_style_height(&egui::TextStyle::Body));
    let height = N_LINES * line + (N_LINES - 1.0) * spacing.item_spacing.y;
    let size = egui::vec2(ui.available_width(), height);
    ui.allocate_ui(size, |ui| {
        ui.set_min_size(size);
        let said = "Hover a token or patch to see its numbers; click to pin it";
        ui.add(egui::Label::new(RichText::new(said).color(cx.theme.text_weak)).wrap());
    });
}

/// The strongest pairs of the head; a click pins one. A preview would turn this list into another, under the pointer.
fn strongest_ui(ui: &mut Ui, cx: &ViewCtx<'_>, pattern: &ReadPattern, pairs: &[(usize, usize, f32)]) {
    let is_part = pattern.is_part();
    section_ui(ui, cx.theme, if is_part { "Top keys" } else { "Strongest pairs" });
    ui.spacing_mut().item_spacing.y = GRID / 2.0;
    let room = ui.available_rect_before_wrap();
    let height = N_TOP_KEYS as f32 * (BAR_ROW_PT + GRID / 2.0) - GRID / 2.0;
    if is_part {
        let why = "Pairs are not ranked in a text this long. Pin a query to see its top keys";
        ui.add(egui::Label::new(RichText::new(why).small().color(cx.theme.text_weak)).wrap());
    } else {
        for &(row, col, weight) in pairs {
            let value = pattern.value_text(weight);
            let name = format!("{} → {}", pattern.rows.text(row), pattern.cols.text(col));
            let bar = BarRow { label: &name, fraction: pattern.strength(weight), value: &value, selected: false };
            let whole = format!("{} → {}\nClick pins the pair", pattern.rows.numbered(row), pattern.cols.numbered(col));
            if bar.ui(ui, cx.theme).on_hover_text(whole).clicked() {
                let pair = Focus { query: pattern.rows.position(row), key: pattern.cols.position(col) };
                cx.send(Command::Select(SelectionCommand::Pin(pair)));
            }
        }
    }
    // The place of what is below does not depend on how many there are.
    ui.advance_cursor_after_rect(room.with_max_y(room.top() + height));
}

fn token_ui(
    ui: &mut Ui,
    cx: &ViewCtx<'_>,
    (name, color): (&str, egui::Color32),
    position: Option<usize>,
    (tokens, axis): (&[Token], Option<&Axis>),
) {
    let text = |position: usize| match axis {
        Some(axis) => axis.text_at(position),
        None => tokens.get(position).map_or("", |token| &token.text),
    };
    ui.horizontal(|ui| {
        ui.label(RichText::new(name).color(cx.theme.text_weak));
        ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| match position {
            Some(position) => {
                // What stands for all positions has none.
                let is_token = axis.is_none_or(|axis| position < axis.n_tokens());
                let number = if name == "Explained" || !is_token {
                    String::new()
                } else {
                    axis.map_or_else(|| format!("#{position}"), |axis| axis.number(position))
                };
                ui.label(RichText::new(number).color(cx.theme.text_weak));
                ui.add(egui::Label::new(RichText::new(text(position)).color(color).strong()).truncate());
            }
            None => {
                ui.label(RichText::new(ABSENT).color(cx.theme.text_weak));
            }
        });
    });
}

/// Weight, score and rank of a pair of tokens.
fn cell_ui(ui: &mut Ui, cx: &ViewCtx<'_>, capture: &Capture, pattern: Option<&ReadPattern>, focus: Focus) {
    let pair = focus.query.zip(focus.key);
    let cell = pair.zip(pattern).and_then(|((query, key), pattern)| {
        Some((pattern, pattern.rows.group_of(query)?, pattern.cols.group_of(key)?))
    });
    let or_absent = |text: Option<String>| text.unwrap_or_else(|| ABSENT.to_owned());
    let weight = cell.and_then(|(pattern, row, col)| {
        if let Some(blank) = pattern.blank(row, col) {
            return Some(blank.text().to_owned());
        }
        let weight = pattern.value(row, col)?;
        Some(pattern.value_text(weight))
    });
    let name = pattern.map_or("Weight", ReadPattern::value_label);
    let copy = |response: &egui::Response| {
        if let Some((pattern, row, col)) = cell {
            let text = || tab_separated(&data::pair(pattern, capture, (row, col)));
            copy_menu_ui(response, cx, "the numbers of this pair", text);
        }
    };
    copy(&field_ui(ui, cx.theme, name, or_absent(weight)));
    let score = match (cell, pattern) {
        (Some((pattern, row, col)), _) => pattern.score(capture, (row, col)),
        (None, None) => pair.and_then(|(query, key)| attention::score(capture, cx.pane.selection.head, query, key)),
        (None, Some(_)) => None,
    };
    let text = score.map(|score| if score.is_finite() { decimal_text(score) } else { "masked".to_owned() });
    let meaning = glossary::SCORE.meaning;
    copy(&field_ui(ui, cx.theme, "Score", or_absent(text)).on_hover_text(meaning));
    let rank = cell.and_then(|(pattern, row, col)| pattern.rank(row, col));
    let meaning = glossary::RANK.meaning;
    let text = rank.map(|(rank, n)| format!("{rank} of {n}"));
    copy(&field_ui(ui, cx.theme, "Rank", or_absent(text)).on_hover_text(meaning));
}

/// Every head by what it gives to the pinned pair; a click goes there.
fn links_ui(ui: &mut Ui, cx: &ViewCtx<'_>) {
    let pinned = cx.pane.selection.pinned;
    let (Some(query), Some(key), Some(subject)) = (pinned.query, pinned.key, subject(cx)) else { return };
    let selected = cx.pane.selection.head;
    let reading = cx.pane.options.reading.of_head(&subject.this, selected);
    let title = match cx.pane.explained() {
        None => "Heads that link these two",
        Some(_) => "Heads that link these two, by attention",
    };
    section_ui(ui, cx.theme, title);
    let links = match cx.patterns.links(&subject, selected.stack, &reading, (query, key)) {
        Some(Ok(links)) => links,
        Some(Err(refusal)) => {
            ui.label(RichText::new(refusal.to_string()).color(cx.theme.text_weak));
            return;
        }
        None => {
            ui.label(RichText::new("Ranking the heads …").color(cx.theme.text_weak));
            return;
        }
    };
    ui.spacing_mut().item_spacing.y = GRID / 2.0;
    for link in links.heads.iter().take(N_LINKS) {
        let row = BarRow {
            label: &format!("{}   rank {} of {}", link.head, link.rank, link.n_keys),
            fraction: link.weight,
            value: &weight_text(link.weight),
            selected: link.head == selected,
        };
        let response = row.ui(ui, cx.theme).on_hover_text(links.sentence(link));
        copy_menu_ui(&response, cx, "this ranking of all heads", || tab_separated(&data::links(&links)));
        if response.clicked() {
            cx.send(Command::Select(SelectionCommand::ShowHead(link.head)));
        }
    }
}
