//! One comparable table of bars per token, with how far methods agree; pictures show patches.

use std::sync::Arc;

use eframe::egui::{Align, Grid, Label, Layout, RichText, Sense, Ui, Vec2};

use super::{
    answers::answer_ui,
    bars::{ROW_PT, Scale, bar_ui},
    is_of_tokens,
    methods::{Column, methods},
    patches::patches_ui,
};
use crate::{
    analysis::explain::{
        rank::kendall,
        report::{Leaf, Question, ROW_NAMES, Report, Value},
    },
    capture::Capture,
    ids::Side,
    session::{Command, Focus, Loadable},
    ui::{
        ViewCtx,
        theme::GRID,
        views::{controls, empty},
    },
};

/// Widths of the column of tokens and of a method.
const TOKEN_PT: f32 = 15.0 * GRID;
const LEAST_COLUMN_PT: f32 = 12.0 * GRID;
const MOST_COLUMN_PT: f32 = 24.0 * GRID;

/// A method with what is known of it.
struct Shown<'a> {
    column: Column,
    answer: Option<&'a Loadable<Arc<Report>>>,
}

impl Shown<'_> {
    fn report(&self) -> Option<&Report> {
        self.answer.and_then(Loadable::latest).map(|report| &**report)
    }

    /// What the method says about each token of a side.
    fn scores(&self, side: Side) -> Option<Vec<f32>> {
        let leaves: Vec<Leaf<'_>> = self.report()?.leaves();
        let of = |name: &str| {
            leaves.iter().find_map(|leaf| match leaf.value {
                Value::Tokens { axis, values } if axis.side == side && leaf.name.split('.').next() == Some(name) => {
                    Some(values.clone())
                }
                _ => None,
            })
        };
        of("gained").or_else(|| of("scores")).or_else(|| of("logit")).or_else(|| of("prefix"))
    }
}

/// Draws what methods say about tokens.
pub fn depends_ui(ui: &mut Ui, cx: &ViewCtx<'_>, capture: &Arc<Capture>, question: Question) {
    let target = cx.pane.options.lab.target;
    let known = &cx.pane.explanations;
    let shown: Vec<Shown<'_>> = methods(cx, question)
        .into_iter()
        .map(|column| {
            let answer = known.find(capture.id(), &column.ask, target);
            if answer.is_none() {
                cx.send(Command::Explain(column.ask.clone(), target));
            }
            Shown { column, answer }
        })
        .collect();
    if shown.is_empty() {
        empty::sentence_ui(ui, cx.theme, "No method answers this for this model");
        return;
    }
    if shown.iter().any(|shown| shown.report().is_some()) && ui.small_button("Copy all numbers").clicked() {
        cx.send(Command::Copy { what: "the numbers of all methods".to_owned(), text: numbers(capture, &shown) });
    }
    if !is_of_tokens(question) {
        for shown in &shown {
            one_ui(ui, cx, capture, shown);
        }
        if question == Question::Fact && cx.pane.selection.pinned.query.is_none() {
            let hint = "Click a token to trace it: it is destroyed by noise, and layer by layer restored";
            controls::caption_ui(ui, cx.theme, hint);
        }
        return;
    }
    failures_ui(ui, cx, &shown);
    // A side about which nobody says anything is left out; before anything is known, the one that is read.
    let told = |side: &Side| shown.iter().any(|shown| shown.scores(*side).is_some());
    let there: Vec<Side> = Side::ALL.into_iter().filter(|side| !capture.tokens(*side).is_empty()).collect();
    let mut sides: Vec<Side> = there.iter().copied().filter(told).collect();
    if sides.is_empty() {
        sides.extend(there.first());
    }
    for &side in &sides {
        if sides.len() > 1 {
            controls::heading_ui(ui, cx.theme, side.name());
        }
        if capture.picture_side() == Some(side) && capture.image().is_some() {
            let maps: Vec<(&str, Option<Vec<f32>>)> =
                shown.iter().map(|shown| (shown.column.title, shown.scores(side))).collect();
            patches_ui(ui, cx, capture, &maps);
        } else {
            table_ui(ui, cx, capture, side, &shown);
        }
        agreement_ui(ui, cx, side, &shown);
    }
}

/// Everything that methods answered as a table for the clipboard, with the options they were asked with.
fn numbers(capture: &Capture, shown: &[Shown<'_>]) -> String {
    let token = |side: Side, at: usize| capture.tokens(side).get(at).map_or_else(String::new, |it| it.text.clone());
    let mut lines = vec![format!("method\toptions\t{}", ROW_NAMES.join("\t"))];
    for shown in shown {
        let Some(report) = shown.report() else { continue };
        let options: Vec<String> = report.parameters.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let start = format!("{}\t{}", report.method.name(), options.join(" "));
        let rows = report.rows();
        lines.extend(rows.iter().map(|row| format!("{start}\t{}", row.cells(token).join("\t"))));
    }
    lines.join("\n") + "\n"
}

/// Draws one method with all that it answered.
fn one_ui(ui: &mut Ui, cx: &ViewCtx<'_>, capture: &Arc<Capture>, shown: &Shown<'_>) {
    let method = shown.column.ask.method();
    ui.add_space(GRID);
    ui.label(RichText::new(shown.column.title).strong());
    ui.label(RichText::new(method.caveat()).small().color(cx.theme.text_weak));
    match (shown.answer, shown.report()) {
        (Some(Loadable::Failed { failure, .. }), _) => drop(ui.label(&failure.summary)),
        (_, Some(report)) => answer_ui(ui, cx, capture, report),
        _ => drop(controls::caption_ui(ui, cx.theme, "On its way")),
    }
    ui.separator();
}

fn column_width(ui: &Ui, n: usize) -> f32 {
    ((ui.available_width() - TOKEN_PT) / n.max(1) as f32 - GRID).clamp(LEAST_COLUMN_PT, MOST_COLUMN_PT)
}

/// What went wrong, each in a sentence.
fn failures_ui(ui: &mut Ui, cx: &ViewCtx<'_>, shown: &[Shown<'_>]) {
    let failed = shown.iter().filter_map(|shown| Some((shown.column.title, shown.answer?.failure()?)));
    for (title, failure) in failed {
        controls::caption_ui(ui, cx.theme, format!("{title}: {}", failure.summary));
    }
}

fn table_ui(ui: &mut Ui, cx: &ViewCtx<'_>, capture: &Capture, side: Side, shown: &[Shown<'_>]) {
    let width = column_width(ui, shown.len());
    let scores: Vec<Option<Vec<f32>>> = shown.iter().map(|shown| shown.scores(side)).collect();
    Grid::new(("explained tokens", side)).spacing(Vec2::new(GRID, 0.0)).show(ui, |ui| {
        ui.allocate_ui(Vec2::new(TOKEN_PT, ROW_PT), |ui| ui.label(RichText::new("token").color(cx.theme.text_weak)));
        for shown in shown {
            let method = shown.column.ask.method();
            ui.allocate_ui_with_layout(Vec2::new(width, ROW_PT), Layout::top_down(Align::Center), |ui| {
                let running = shown.answer.is_none_or(Loadable::is_pending);
                let text = RichText::new(shown.column.title).strong().small();
                let text = if running { text.color(cx.theme.text_weak).italics() } else { text };
                let hover = if running { "On its way" } else { method.caveat() };
                ui.add(Label::new(text).truncate()).on_hover_text(hover);
            });
        }
        ui.end_row();
        for (position, token) in capture.tokens(side).iter().enumerate() {
            let label = ui.allocate_ui(Vec2::new(TOKEN_PT, ROW_PT), |ui| {
                ui.add(Label::new(&token.text).truncate().sense(Sense::click()))
            });
            let label = label.inner.on_hover_text(format!("{position} {}", token.text));
            if label.hovered() {
                cx.send(Command::Hover(Focus::query(position)));
            }
            if label.clicked() {
                cx.send(Command::Pin(Focus::query(position)));
            }
            for (shown, values) in shown.iter().zip(&scores) {
                match values {
                    Some(values) => {
                        let value = values.get(position).copied().unwrap_or(f32::NAN);
                        bar_ui(ui, cx, width, value, Scale::of(values), shown.column.title);
                    }
                    None => drop(ui.allocate_space(Vec2::new(width, ROW_PT))),
                }
            }
            ui.end_row();
        }
    });
}

/// Rank correlations between all pairs of methods.
fn agreement_ui(ui: &mut Ui, cx: &ViewCtx<'_>, side: Side, shown: &[Shown<'_>]) {
    let scored: Vec<(&str, Vec<f32>)> =
        shown.iter().filter_map(|shown| Some((shown.column.title, shown.scores(side)?))).collect();
    if scored.len() < 2 {
        return;
    }
    ui.add_space(GRID);
    controls::heading_ui(ui, cx.theme, "Do they agree?");
    controls::caption_ui(
        ui,
        cx.theme,
        "Kendall’s τ between the sizes that two methods give the tokens: 1 is the same order, 0 none, −1 the opposite",
    );
    Grid::new(("agreement of methods", side)).striped(true).show(ui, |ui| {
        ui.label("");
        for (title, _) in &scored[1..] {
            ui.label(RichText::new(*title).small());
        }
        ui.end_row();
        for (row, (title, values)) in scored.iter().enumerate().take(scored.len() - 1) {
            ui.label(RichText::new(*title).small());
            for (column, (_, others)) in scored.iter().enumerate().skip(1) {
                if column <= row {
                    ui.label("");
                    continue;
                }
                let pairs = values.iter().zip(others).filter(|(a, b)| a.is_finite() && b.is_finite());
                let (a, b): (Vec<f64>, Vec<f64>) = pairs.map(|(a, b)| (f64::from(a.abs()), f64::from(b.abs()))).unzip();
                let text = kendall(&a, &b).map_or_else(|| "–".to_owned(), |found| format!("{:.2}", found.tau));
                ui.label(text);
            }
            ui.end_row();
        }
    });
}
