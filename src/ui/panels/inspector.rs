//! The selected head and tokens in exact numbers, and the options of the view.

use eframe::egui::{self, RichText, Ui};

use crate::{
    analysis::{
        attention, detect,
        stats::{HeadStats, head_stats},
    },
    capture::{Capture, Matrix, RowMass, Token},
    ids::{CaptureId, HeadId},
    session::{Command, Focus},
    spec::LayerSpec,
    ui::{
        ViewCtx,
        memo::Memo,
        theme::GRID,
        views::{grouped, sharing_text},
        widgets::{BAR_ROW_PT, BarRow, field_ui, percent_text, section_ui, stepper_ui},
    },
};

/// Keys that are ranked for the focused query.
const N_TOP_KEYS: usize = 5;
/// Stands where there is no number.
const ABSENT: &str = "–";

/// The panel on the right.
#[derive(Default)]
pub struct Inspector {
    stats: Memo<(CaptureId, HeadId), Option<Stats>>,
}

impl Inspector {
    /// Draws everything but the view's options.
    pub fn ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>, pattern: Option<&Matrix>) {
        let Some(capture) = cx.document.latest_capture() else {
            ui.weak("Nothing to inspect yet");
            return;
        };
        ui.spacing_mut().item_spacing.y = GRID / 2.0;
        head_ui(ui, cx, capture);
        focus_ui(ui, cx, capture, pattern);
        let head = cx.pane.selection.head;
        let stats = self.stats.get_or_update((capture.id(), head), || Some(stats_of(capture, head, pattern?)));
        if let Some(stats) = stats {
            stats_ui(ui, cx, &stats);
        }
    }
}

fn stats_of(capture: &Capture, head: HeadId, pattern: &Matrix) -> Stats {
    let special: Vec<bool> = capture.key_tokens(head.stack).iter().map(|token| token.special).collect();
    let causal = capture.model().stack(head.stack).is_some_and(|stack| stack.causal);
    let square = head.stack.query_side() == head.stack.key_side();
    let rows = capture.row_mass(head.stack, head.layer);
    let mut stats = HeadStats { rows, ..head_stats(pattern, &special, causal, square) };
    let is_picture = square && capture.picture_side() == Some(head.stack.query_side());
    let patches = detect::patch_distance(capture, head.stack, pattern);
    if is_picture {
        // How far apart two patches stand in the row of tokens says nothing.
        (stats.distance, stats.on_previous) = (None, None);
    }
    Stats { stats, patches }
}

/// What is said about a head.
#[derive(Clone, Copy)]
struct Stats {
    stats: HeadStats,
    /// Mean distance between patches in pixels, where tokens are patches.
    patches: Option<f32>,
}

fn stats_ui(ui: &mut Ui, cx: &ViewCtx<'_>, Stats { stats, patches }: &Stats) {
    section_ui(ui, cx.theme, "This head, over all queries");
    let rows = [
        (
            "Entropy",
            Some(if stats.rows == RowMass::Full {
                format!("{:.2} nats ({})", stats.entropy, percent_text(stats.entropy_fraction))
            } else {
                "not told: rows are incomplete".to_owned()
            }),
            "How spread out the attention of a query is: 0 nats when one key gets everything, 100 % when all get the same",
        ),
        (
            "Distance",
            stats.distance.map(|it| format!("{it:.1} tokens")),
            "Between a query and the keys it attends to, on average",
        ),
        (
            "Distance",
            patches.map(|it| format!("{it:.0} px")),
            "Between a patch and the patches it attends to, in pixels of the picture as the model sees it, on average",
        ),
        ("On the first key", Some(percent_text(stats.on_first)), "Attention that goes to the first token, on average"),
        (
            "On the previous key",
            stats.on_previous.map(percent_text),
            "Attention that goes to the token before, on average",
        ),
        ("On itself", stats.on_self.map(percent_text), "Attention that stays on the query’s own token, on average"),
        (
            "On special keys",
            Some(percent_text(stats.on_special)),
            "Attention that goes to tokens such as CLS and SEP, on average",
        ),
        ("Largest weight", Some(format!("{:.3}", stats.max_weight)), "The largest weight of any pair"),
    ];
    for (name, value, meaning) in rows {
        if let Some(value) = value {
            field_ui(ui, cx.theme, name, value).on_hover_text(meaning);
        }
    }
}

fn head_ui(ui: &mut Ui, cx: &ViewCtx<'_>, capture: &Capture) {
    let head = cx.pane.selection.head;
    ui.horizontal(|ui| {
        ui.label(RichText::new(head.to_string()).heading());
        let heads = if cx.pane.selection.heads_on.is_only(head.head, cx.pane.n_heads(cx.document)) {
            "drawn alone"
        } else {
            ""
        };
        ui.label(RichText::new(heads).color(cx.theme.text_weak));
    });
    let Some(stack) = capture.model().stack(head.stack) else { return };
    if let Some(next) = stepper_ui(ui, cx.theme, "Head", head.head, cx.pane.n_heads(cx.document)) {
        cx.send(Command::SelectHead(HeadId { head: next, ..head }));
    }
    if let Some(layer) = stack.layers.get(head.layer) {
        layer_ui(ui, cx, layer, head.head, stack.causal);
    }
}

/// What is special about a layer's attention; nothing in an ordinary one.
fn layer_ui(ui: &mut Ui, cx: &ViewCtx<'_>, layer: &LayerSpec, head: usize, causal: bool) {
    let line = |ui: &mut Ui, text: String, meaning: &str| {
        ui.add(egui::Label::new(RichText::new(text).small().color(cx.theme.text_weak)).wrap()).on_hover_text(meaning);
    };
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
        line(ui, text, "Sliding-window attention: keys further away are ruled out");
    }
    if layer.biased {
        line(ui, "A bias by position is added to the scores".to_owned(), "Relative positions (T5, BEiT) or ALiBi");
    }
    if let Some(cap) = layer.softcap {
        line(ui, format!("Scores are soft-capped at ±{cap}"), "cap · tanh(score / cap), before the mask");
    }
}

/// The focused query, key, their numbers, and the strongest partners.
fn focus_ui(ui: &mut Ui, cx: &ViewCtx<'_>, capture: &Capture, pattern: Option<&Matrix>) {
    let selection = &cx.pane.selection;
    let stack = selection.stack();
    let (queries, keys) = (capture.query_tokens(stack), capture.key_tokens(stack));
    let focus = selection.focus();
    let title = match (focus.is_empty(), selection.hover.is_empty()) {
        (true, _) => "Hover a token or patch, click to hold it".to_owned(),
        // The view may draw other heads, too.
        (false, true) => format!("Pinned, in {}", selection.head),
        (false, false) => format!("Under the pointer, in {}", selection.head),
    };
    section_ui(ui, cx.theme, &title);
    // Every line is always there, so that a preview never moves what is under the pointer.
    token_ui(ui, cx, "Query", focus.query, queries, cx.theme.query);
    token_ui(ui, cx, "Key", focus.key, keys, cx.theme.key);
    cell_ui(ui, cx, capture, pattern, focus);
    let Some(pattern) = pattern else {
        ui.label(RichText::new("This head's pattern was not recorded").color(cx.theme.text_weak));
        return;
    };
    match (focus.query, focus.key) {
        (Some(query), key) => Ranking {
            title: "Top keys",
            weights: pattern.row(query).unwrap_or_default(),
            tokens: keys,
            color: cx.theme.key,
            chosen: key,
            // Without a pinned query the preview would end as soon as the pointer leaves the view.
            preview: selection.pinned.query == Some(query),
        }
        .ui(ui, cx, |found| Focus::cell(query, found)),
        (None, Some(key)) => Ranking {
            title: "Top queries",
            weights: &pattern.rows().map(|row| row.get(key).copied().unwrap_or(0.0)).collect::<Vec<_>>(),
            tokens: queries,
            color: cx.theme.query,
            chosen: None,
            // A previewed query would turn this list into its own top keys, under the pointer.
            preview: false,
        }
        .ui(ui, cx, |found| Focus::cell(found, key)),
        // As much room as the list takes, so that nothing below it moves when there is one.
        (None, None) => {
            Ranking { title: "Top keys", weights: &[], tokens: keys, color: cx.theme.key, chosen: None, preview: false }
                .ui(ui, cx, |_| Focus::NONE)
        }
    }
}

fn token_ui(
    ui: &mut Ui,
    cx: &ViewCtx<'_>,
    name: &str,
    position: Option<usize>,
    tokens: &[Token],
    color: egui::Color32,
) {
    let found = position.and_then(|position| Some((position, tokens.get(position)?)));
    ui.horizontal(|ui| {
        ui.label(RichText::new(name).color(cx.theme.text_weak));
        ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| match found {
            Some((position, token)) => {
                ui.label(RichText::new(format!("#{position}")).monospace().color(cx.theme.text_weak));
                ui.add(egui::Label::new(RichText::new(&token.text).color(color).strong()).truncate());
            }
            None => {
                ui.label(RichText::new(ABSENT).color(cx.theme.text_weak));
            }
        });
    });
}

/// Weight, score and rank of a pair of tokens.
fn cell_ui(ui: &mut Ui, cx: &ViewCtx<'_>, capture: &Capture, pattern: Option<&Matrix>, focus: Focus) {
    let pair = focus.query.zip(focus.key);
    let row = pair.and_then(|(query, _)| pattern?.row(query));
    let weight = pair.and_then(|(_, key)| row?.get(key).copied());
    let or_absent = |text: Option<String>| text.unwrap_or_else(|| ABSENT.to_owned());

    let text = weight.map(|weight| format!("{weight:.5}  ({})", percent_text(weight)));
    field_ui(ui, cx.theme, "Weight", or_absent(text));
    let head = cx.pane.selection.head;
    let score = pair.and_then(|(query, key)| attention::score(capture, head, query, key));
    let text = score
        .map(|score| if score.is_finite() { format!("{score:.4}").replace('-', "−") } else { "masked".to_owned() });
    field_ui(ui, cx.theme, "Score", or_absent(text))
        .on_hover_text("q · k times the head's scale, with cap, bias and mask, before softmax");
    let visible = pair.zip(row).and_then(|((query, key), row)| {
        let stack = capture.model().stack(head.stack)?;
        let mask = stack.layers.get(head.layer)?.mask(stack.causal);
        let visible = mask.visible(query, capture.query_tokens(head.stack).len(), row.len());
        visible.contains(&key).then(|| row.get(visible)).flatten()
    });
    let rank = weight.zip(visible).map(|(weight, row)| {
        let rank = 1 + row.iter().filter(|&&other| other > weight).count();
        format!("{rank} of {}", row.len())
    });
    field_ui(ui, cx.theme, "Rank", or_absent(rank))
        .on_hover_text("Place of the weight among the keys that the query can see");
}

/// The strongest entries of a row or column as bars; click pins.
struct Ranking<'a> {
    title: &'a str,
    weights: &'a [f32],
    tokens: &'a [Token],
    color: egui::Color32,
    chosen: Option<usize>,
    /// Whether hovering a bar previews the pair.
    preview: bool,
}

impl Ranking<'_> {
    fn ui(&self, ui: &mut Ui, cx: &ViewCtx<'_>, meant: impl Fn(usize) -> Focus) {
        section_ui(ui, cx.theme, self.title);
        ui.spacing_mut().item_spacing.y = GRID / 2.0;
        let strongest = strongest(self.weights, N_TOP_KEYS);
        let n_empty = N_TOP_KEYS - strongest.len();
        for (position, weight) in strongest {
            let Some(token) = self.tokens.get(position) else { continue };
            let row = BarRow {
                label: &format!("{}  #{position}", token.text),
                fraction: weight,
                value: &percent_text(weight),
                color: self.color,
                selected: self.chosen == Some(position),
            };
            let response = row.ui(ui, cx.theme);
            if self.preview && response.hovered() {
                cx.send(Command::Hover(meant(position)));
            }
            if response.clicked() {
                cx.send(Command::Pin(meant(position)));
            }
        }
        for _ in 0..n_empty {
            ui.allocate_space(egui::vec2(ui.available_width(), BAR_ROW_PT));
        }
    }
}

/// Positions and weights of the `n` largest entries, largest first; ties in order of position.
fn strongest(weights: &[f32], n: usize) -> Vec<(usize, f32)> {
    let mut ranked: Vec<(usize, f32)> = weights.iter().copied().enumerate().filter(|(_, w)| *w > 0.0).collect();
    ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    ranked.truncate(n);
    ranked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_strongest_come_first_and_ties_in_order() {
        assert_eq!(strongest(&[0.1, 0.4, 0.0, 0.4], 3), [(1, 0.4), (3, 0.4), (0, 0.1)]);
        assert!(strongest(&[], 3).is_empty());
    }
}
