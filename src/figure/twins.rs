//! Twins of a classifier as a figure: how far their outputs and their attention are from the model's, and how well
//! attention guides a model of words alone.

use std::f64::consts::LN_2;

use emath::{Pos2, Rect, Vec2, pos2, vec2};

use super::{
    apart,
    chart::Scale,
    font::Align,
    list::{Line, Rgba, faded},
    measure::{GRID, text_size::SMALL},
    multiples::{Around, axes, grid, interval, named_below, numbers_below, square, upright},
    page::{Captions, Scene},
    palette::Dash,
    pen::Pen,
    views::{axes::Axis, joined},
};
use crate::{
    analysis::debate::twins::{GuideRow, PUBLISHED, TwinKind, TwinPoint, TwinSummary},
    text::{counted, decimal_text, share_text, weight_text},
};

const PANEL_PT: [f32; 2] = [420.0, 330.0];
const GUIDES_PT: f32 = 300.0;
const LEAST_WIDTH_PT: f32 = 520.0;
/// Room below the chart, without the legend.
const BELOW_PT: f32 = 13.0 * GRID;
/// Height of a line of the legend and of the guides.
const LINE_PT: f32 = 5.0 * GRID;
const MARK_PT: f32 = 7.0;
/// Height of the name of a point.
const NAME_PT: f32 = 3.5 * GRID;

/// Twins of one model over a data set.
#[derive(Clone, Debug)]
pub struct TwinScene {
    /// What the model and its texts are called.
    pub model: String,
    pub corpus: String,
    pub summary: TwinSummary,
}

impl TwinScene {
    /// Distances of one twin in words.
    pub fn point_text(point: &TwinPoint) -> String {
        let accuracy = point.accuracy.map_or_else(String::new, |of| format!(", accuracy {}", interval(of, share_text)));
        let falls = if point.has_settled() == Some(false) { ", its loss still fell" } else { "" };
        format!(
            "TVD {}, JSD {}{accuracy}, decides alike in {}{falls}",
            interval(point.tvd, weight_text),
            interval(point.jsd, decimal_text),
            share_text(point.agrees),
        )
    }

    /// Whether trainings had come to their end, in words.
    pub fn settled_text(&self) -> String {
        let trained = || self.summary.points.iter().filter_map(|point| Some((point, point.has_settled()?)));
        let still: Vec<&str> =
            trained().filter(|(_, settled)| !settled).map(|(point, _)| point.title.as_str()).collect();
        let (n, n_epochs) = (trained().count(), trained().map(|(point, _)| point.losses.len()).max().unwrap_or(0));
        match still.len() {
            _ if n == 0 => "No twin was trained".to_owned(),
            0 => format!("The losses of all {} had settled within {}", counted(n, "twin"), counted(n_epochs, "epoch")),
            of => format!(
                "The losses of {of} of {} still fell after {}, so that their distances are not final (--epochs trains                  longer): {}",
                counted(n, "twin"),
                counted(n_epochs, "epoch"),
                still.join("; ")
            ),
        }
    }

    /// A guide in words.
    pub fn guide_text(row: &GuideRow) -> String {
        format!(
            "accuracy {}, macro F1 {} ± {} over {}",
            interval(row.accuracy, share_text),
            decimal_text(row.f1),
            decimal_text(row.f1_std),
            counted(row.n_seeds, "seed")
        )
    }

    fn legend_height(&self) -> f32 {
        LINE_PT * TwinKind::ALL.iter().filter(|kind| self.has(**kind)).count() as f32
    }

    fn has(&self, kind: TwinKind) -> bool {
        self.summary.points.iter().any(|point| point.kind == kind)
    }

    fn guides_height(&self) -> f32 {
        LINE_PT * (self.summary.guides.len() + 4) as f32
    }
}

fn color(kind: TwinKind, pen: &Pen<'_>) -> Rgba {
    match kind {
        TwinKind::Adversary => pen.palette.head(0),
        TwinKind::Seed => pen.palette.head(1),
        TwinKind::Uniform | TwinKind::EvenInPlace => pen.palette.head(2),
        TwinKind::Checkpoint => pen.palette.head(3),
        TwinKind::Random => pen.palette.text_weak,
    }
}

/// A mark: filled where it was trained here, a frame where not.
fn mark(kind: TwinKind, at: Pos2, pen: &mut Pen<'_>) {
    let color = color(kind, pen);
    match kind {
        TwinKind::Random | TwinKind::EvenInPlace => {
            pen.frame(Rect::from_center_size(at, vec2(MARK_PT, MARK_PT)), 1.25, color);
        }
        _ => square(at, MARK_PT, color, pen),
    }
}

fn curve(summary: &TwinSummary, rect: Rect, pen: &mut Pen<'_>) {
    let top = summary.points.iter().map(|point| point.tvd.high).fold(0.0, f64::max);
    let axes = axes([[0.0, LN_2 * 1.03], [0.0, (1.08 * top).max(0.02)]], rect);
    let weak = pen.palette.text_weak;
    grid(&axes, rect, &|value, _| decimal_text(value), pen);
    numbers_below(&axes, rect, Scale::Linear, pen);
    upright(&axes, summary.reachable, rect, Dash::Dotted, weak, pen);
    let mut adversaries: Vec<&TwinPoint> =
        summary.points.iter().filter(|point| point.kind == TwinKind::Adversary).collect();
    adversaries.sort_by(|a, b| a.lambda.unwrap_or(0.0).total_cmp(&b.lambda.unwrap_or(0.0)));
    let at = |point: &TwinPoint| pos2(axes.x.at(point.jsd.value), axes.y.at(point.tvd.value));
    let adversary = color(TwinKind::Adversary, pen);
    let links =
        adversaries.windows(2).map(|pair| Line { from: at(pair[0]), to: at(pair[1]), width: 1.25, color: adversary });
    pen.lines(links.collect());
    for point in &summary.points {
        let color = faded(color(point.kind, pen), 0.7);
        let (x, y) = (axes.x.at(point.jsd.value), axes.y.at(point.tvd.value));
        let bars = [
            (pos2(axes.x.at(point.jsd.low), y), pos2(axes.x.at(point.jsd.high), y)),
            (pos2(x, axes.y.at(point.tvd.low)), pos2(x, axes.y.at(point.tvd.high))),
        ];
        pen.lines(bars.map(|(from, to)| Line { from, to, width: 1.0, color }).to_vec());
        mark(point.kind, pos2(x, y), pen);
    }
    let named = summary.points.iter().filter_map(|point| Some((at(point), name_of(point)?)));
    let named: Vec<(Pos2, String)> = named.collect();
    let sized = named.iter().map(|(at, name)| (*at, vec2(pen.type_.width(name, SMALL) + GRID, NAME_PT)));
    let sized: Vec<(Pos2, Vec2)> = sized.collect();
    let marks = summary.points.iter().map(|point| Rect::from_center_size(at(point), Vec2::splat(MARK_PT + 2.0)));
    let places = apart::beside(&sized, &marks.collect::<Vec<Rect>>(), rect);
    for ((at, name), place) in named.iter().zip(places) {
        let end = place.clamp(*at);
        if at.distance(end) > apart::LED_PT {
            pen.line(*at, end, 0.5, weak);
        }
        pen.text(name, SMALL, pen.palette.text, place.left_center() + vec2(GRID / 2.0, 0.0), Align::Left);
    }
}

/// What stands beside a point: λ of an adversary, the name of a checkpoint; other kinds are told by their marks.
fn name_of(point: &TwinPoint) -> Option<String> {
    match (point.kind, point.lambda) {
        (TwinKind::Adversary, Some(lambda)) => Some(format!("λ {lambda}")),
        (TwinKind::Checkpoint, _) => Some(point.title.clone()),
        _ => None,
    }
}

fn guides(summary: &TwinSummary, area: Rect, pen: &mut Pen<'_>) {
    let names_width = 0.46 * area.width();
    let chart = Rect::from_min_max(
        pos2(area.left() + names_width, area.top() + 2.0 * LINE_PT),
        pos2(area.right() - 12.0 * GRID, area.top() + LINE_PT * (summary.guides.len() + 2) as f32),
    );
    let weak = pen.palette.text_weak;
    let lows = summary.guides.iter().map(|row| row.accuracy.low);
    let from = (lows.fold(0.5, f64::min) * 10.0).floor() / 10.0;
    let axis = Axis { from, to: 1.0, points: chart.x_range() };
    for value in [from, f64::midpoint(from, 1.0), 1.0] {
        let x = axis.at(value);
        pen.line(pos2(x, chart.top()), pos2(x, chart.bottom()), 0.5, faded(pen.palette.rule, 0.6));
        pen.text(&share_text(value), SMALL, weak, pos2(x, chart.bottom() + 3.0 * GRID), Align::Center);
    }
    if let Some(base) = summary.base_accuracy {
        let x = axis.at(base.value);
        pen.lines(Dash::Dotted.lines([pos2(x, chart.top()), pos2(x, chart.bottom())], 1.0, weak).collect());
    }
    for (nth, row) in summary.guides.iter().enumerate() {
        let y = chart.top() + LINE_PT * (nth as f32 + 0.5);
        pen.text(&row.guide, SMALL, pen.palette.text, pos2(chart.left() - 2.0 * GRID, y), Align::Right);
        let color = pen.palette.head(0);
        pen.line(pos2(axis.at(row.accuracy.low), y), pos2(axis.at(row.accuracy.high), y), 1.25, faded(color, 0.7));
        pen.rect(Rect::from_center_size(pos2(axis.at(row.accuracy.value), y), vec2(MARK_PT, MARK_PT)), color);
        let f1 = format!("F1 {}", decimal_text(row.f1));
        pen.text(&f1, SMALL, weak, pos2(area.right(), y), Align::Right);
    }
}

impl Scene for TwinScene {
    fn width(&self, _: &mut Pen<'_>) -> f32 {
        PANEL_PT[0] + if self.summary.guides.is_empty() { 0.0 } else { GUIDES_PT }
    }

    fn least_width(&self, _: &mut Pen<'_>) -> f32 {
        if self.summary.guides.is_empty() { 0.6 * LEAST_WIDTH_PT } else { LEAST_WIDTH_PT }
    }

    fn height(&self, _: f32, _: &mut Pen<'_>) -> f32 {
        (PANEL_PT[1] + self.legend_height()).max(self.guides_height())
    }

    fn least_height(&self, _: f32, _: &mut Pen<'_>) -> f32 {
        (0.7 * PANEL_PT[1] + self.legend_height()).max(self.guides_height())
    }

    fn draw(&self, area: Rect, pen: &mut Pen<'_>) {
        let width = if self.summary.guides.is_empty() {
            area.width()
        } else {
            area.width() * PANEL_PT[0] / (PANEL_PT[0] + GUIDES_PT)
        };
        let panel = Rect::from_min_size(area.min, vec2(width, area.height()));
        let around = Around([10.0 * GRID, 8.0 * GRID, 4.0 * GRID, BELOW_PT + self.legend_height()]);
        let text = pen.palette.text;
        let rect = around.titled("Change of the output (TVD) by change of attention", panel, pen);
        curve(&self.summary, rect, pen);
        named_below("attention’s distance from the model’s (JSD, nats)", rect, 8.0 * GRID, pen);
        let mut y = rect.bottom() + BELOW_PT;
        for kind in TwinKind::ALL.into_iter().filter(|kind| self.has(*kind)) {
            mark(kind, pos2(rect.left() + MARK_PT / 2.0, y), pen);
            pen.text(kind.title(), SMALL, text, pos2(rect.left() + 3.0 * GRID, y), Align::Left);
            y += LINE_PT;
        }
        if !self.summary.guides.is_empty() {
            let side = Rect::from_min_max(pos2(panel.right() + 2.0 * GRID, area.top()), area.max);
            let title = pos2(side.left(), side.top() + 2.0 * GRID);
            pen.text("Accuracy of a model of words alone, guided by", SMALL, text, title, Align::Left);
            guides(&self.summary, side, pen);
        }
    }

    fn captions(&self) -> Captions {
        let TwinSummary { n_trained, n_held_out, .. } = self.summary;
        let short = format!(
            "{}, {}: means over {} that no twin was trained on ({} to train on)",
            self.model,
            self.corpus,
            counted(n_held_out, "text"),
            counted(n_trained, "text"),
        );
        let how = "Bars are 95 % of the texts drawn anew. The dotted line is the largest distance that the model’s rows \
                   allow; on the right it is the accuracy of the model itself";
        let settled = self.settled_text();
        let mut full: Vec<&str> = vec![&short, how, &settled];
        for kind in TwinKind::ALL.into_iter().filter(|kind| self.has(*kind)) {
            full.push(kind.shows());
        }
        full.push(PUBLISHED);
        Captions { full: joined(full), short: joined([short.as_str(), how, &settled]) }
    }
}
