//! The exact numbers beside the pointer.

use eframe::egui::{Color32, Grid, Rect, RectAlign, RichText, Ui};

use super::{Scene, lines::HeadLines};
use crate::{
    analysis::reading::ReadPattern,
    session::Focus,
    ui::{
        ViewCtx,
        theme::{GRID, text_size},
        views::{source, tooltip},
    },
};

/// Heads or tokens that are listed.
const MAX_ROWS: usize = 8;

/// Shows what `focus` means: the weight of each head for a cell, the strongest partners for a token; at a side of
/// `place`, or else beside the pointer.
pub fn tooltip_ui(ui: &Ui, cx: &ViewCtx<'_>, scene: &Scene<'_>, focus: Focus, place: Option<(Rect, RectAlign)>) {
    let contents = |ui: &mut Ui| {
        ui.set_max_width(280.0);
        let focus = scene.rows_of(focus);
        let [rows, cols] = scene.axes;
        title_ui(ui, cx, scene, focus);
        match (focus.query, focus.key) {
            (Some(query), Some(key)) => heads_ui(ui, cx, scene, query, key),
            (Some(query), None) => {
                let partners = ranked(scene, cols.len(), |pattern, key| pattern.value(query, key));
                partners_ui(ui, scene, &partners, |key| cols.numbered(key));
            }
            (None, Some(key)) => {
                let partners = ranked(scene, rows.len(), |pattern, query| pattern.value(query, key));
                partners_ui(ui, scene, &partners, |query| rows.numbered(query));
            }
            (None, None) => {}
        }
        let mut drawn: Vec<usize> = scene.heads.iter().map(|head| head.head).collect();
        drawn.dedup();
        drawn.sort_unstable();
        drawn.dedup();
        if focus.query.is_some() != focus.key.is_some() && drawn.len() > 1 {
            let text = format!("mean of the {} heads drawn", drawn.len());
            ui.label(RichText::new(text).size(text_size::SMALL).color(cx.theme.text_weak));
        }
        tooltip::weights_ui(ui, cx, &shown(scene).map(|head| &*head.lines.pattern));
    };
    match place {
        Some((about, side)) => tooltip::beside(ui, about, side, contents),
        None => tooltip::at_pointer(ui, contents),
    }
}

fn title_ui(ui: &mut Ui, cx: &ViewCtx<'_>, scene: &Scene<'_>, focus: Focus) {
    ui.horizontal(|ui| {
        ui.spacing_mut().item_spacing.x = GRID;
        let colored = |text: String, color: Color32| RichText::new(text).color(color).strong();
        if let Some(query) = focus.query {
            ui.label(colored(scene.axes[0].numbered(query), cx.theme.query));
        }
        let explained = cx.pane.explained().is_some();
        let arrow = match (focus.query, focus.key) {
            (Some(_), Some(_)) => "›",
            _ if explained => "and",
            (Some(_), None) => "attends to",
            _ => "is attended by",
        };
        if focus.query.is_some() {
            ui.label(RichText::new(arrow).color(cx.theme.text_weak));
        }
        if let Some(key) = focus.key {
            ui.label(colored(scene.axes[1].numbered(key), cx.theme.key));
        }
        if focus.query.is_none() {
            ui.label(RichText::new(arrow).color(cx.theme.text_weak));
        }
    });
}

fn heads_ui(ui: &mut Ui, cx: &ViewCtx<'_>, scene: &Scene<'_>, query: usize, key: usize) {
    let mut weights: Vec<(usize, f32)> =
        shown(scene).filter_map(|head| Some((head.head, head.lines.pattern.value(query, key)?))).collect();
    let one = shown(scene).next().filter(|head| {
        let pattern = &head.lines.pattern;
        let is_one = pattern.signed || pattern.explained().is_some() || cx.pane.options.reading.together.is_some();
        is_one && weights.len() == 1
    });
    // Those that may be below 0 are drawn by their sign.
    let by_head = one.is_none() && shown(scene).all(|head| !head.lines.pattern.signed);
    weights.sort_by(|a, b| b.1.total_cmp(&a.1));
    Grid::new("weights").num_columns(2).spacing([4.0 * GRID, 2.0]).show(ui, |ui| {
        for &(head, weight) in weights.iter().take(MAX_ROWS) {
            let name = one.map_or_else(|| format!("Head {head}"), |one| source::what(cx, &one.lines.pattern));
            let color = match cx.pane.explained() {
                Some(_) if !by_head => cx.theme.text_weak,
                _ => cx.theme.head_color(head),
            };
            ui.label(RichText::new(name).color(color));
            ui.label(value_text(scene, weight));
            ui.end_row();
        }
    });
    rest_ui(ui, cx, weights.len(), "heads");
}

fn partners_ui(ui: &mut Ui, scene: &Scene<'_>, partners: &[(usize, f32)], text: impl Fn(usize) -> String) {
    Grid::new("partners").num_columns(2).spacing([4.0 * GRID, 2.0]).show(ui, |ui| {
        for &(position, weight) in partners.iter().take(MAX_ROWS) {
            ui.label(text(position));
            ui.label(value_text(scene, weight));
            ui.end_row();
        }
    });
}

/// A number as its pattern says it: all of a scene are of one kind.
fn value_text(scene: &Scene<'_>, value: f32) -> String {
    shown(scene).next().map_or_else(String::new, |head| head.lines.pattern.value_text(value))
}

fn rest_ui(ui: &mut Ui, cx: &ViewCtx<'_>, n: usize, what: &str) {
    if n > MAX_ROWS {
        let text = format!("and {} weaker {what}", n - MAX_ROWS);
        ui.label(RichText::new(text).size(text_size::SMALL).color(cx.theme.text_weak));
    }
}

/// Positions by mean weight over the heads that are on, strongest first.
fn ranked(scene: &Scene<'_>, n: usize, weight: impl Fn(&ReadPattern, usize) -> Option<f32>) -> Vec<(usize, f32)> {
    let mean = |position| {
        // Of a long text each pattern holds some of the rows.
        let weights = shown(scene).filter_map(|head| weight(&head.lines.pattern, position));
        let (sum, n) = weights.fold((0.0, 0usize), |(sum, n), weight| (sum + weight, n + 1));
        sum / n.max(1) as f32
    };
    let mut ranked: Vec<_> = (0..n).map(|position| (position, mean(position))).filter(|(_, w)| *w != 0.0).collect();
    ranked.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
    ranked
}

/// Each pattern once: a difference has lines in two colours.
fn shown<'a>(scene: &'a Scene<'_>) -> impl Iterator<Item = &'a HeadLines> + Clone {
    scene.heads.iter().filter(|head| !head.below)
}
