//! Fidelity of distance to the dot product: mosaics of all heads, the pairs of one, and the scale.

use std::sync::Arc;

use eframe::egui::{CursorIcon, Id, PointerButton, Sense, Ui};
use egui_plot::Corner;

use super::{
    Canvas,
    chart::{ChartUi, Plotted},
    controls,
    display_list::ScenePainter,
    frame, hover, of_heads, pending,
    scale::{Footer, ScaleBar},
    tooltip,
};
use crate::{
    analysis::{
        cloud_query::{CloudQuery, CloudResult},
        distance_fidelity::{self, HeadPlot, HeadProxy},
        projection::ScaleChoice,
    },
    figure::{
        pen::Medium,
        views::{
            distance::{DistanceScene, Mosaic, ShownCorrelation, layout::DistanceLayout, number, ramp},
            regions::Pointed,
        },
    },
    ids::HeadId,
    projection::correlation::Pair,
    session::{Loadable, ViewKind},
    text::{decimal_text, norm_text},
    ui::{ViewCtx, memo::Same},
};

/// Everything that the scene depends on.
type SceneKey = (Same<CloudResult>, Option<Same<CloudResult>>, HeadId, ShownCorrelation);

/// The Distance view with what it remembers between frames.
#[derive(Default)]
pub struct DistanceView {
    painter: ScenePainter<SceneKey>,
}

impl Canvas for DistanceView {
    fn rest(&mut self) {
        *self = Self::default();
    }

    fn ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>) -> Option<Footer> {
        let what = "Measuring the queries and keys of every head";
        let of_heads::AllHeads { found, cloud, grid, head } = of_heads::asked(ui, cx, CloudQuery::Proxies, what)?;
        let plot = pending::ask(cx, CloudQuery::Plot(head)).and_then(Loadable::latest).cloned();
        let scene = DistanceScene {
            proxies: found,
            plot,
            grid,
            head,
            shown: cx.pane.options.distance,
            caveat: distance_fidelity::caveat(&cloud, head),
        };
        frame::at_least_ui(ui, of_heads::LEAST_PT, |ui| self.scene_ui(ui, cx, &scene));
        let scales = scene.mosaics().map(|mosaic| scale(cx, &mosaic)).into();
        Some(Footer { words: caption(&scene), scales })
    }
}

impl DistanceView {
    /// Draws the maps of all heads and the charts of one.
    fn scene_ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>, scene: &DistanceScene) {
        let head = scene.head;
        let label = format!("Distance and dot product of all heads and of {head}");
        let (area, response, painter) = of_heads::canvas_ui(ui, Sense::click_and_drag(), &label);
        let found = (Same(Arc::clone(&scene.proxies)), scene.plot.clone().map(Same));
        let key = (found.0, found.1, head, scene.shown);
        self.painter.paint(&painter, cx.theme, key, area, &|pen| scene.draw_mosaics(area, pen));
        let layout = scene.layout(area, Medium::Screen);
        if let Some(plot) = scene.of_head() {
            pairs_ui(ui, cx, (scene, plot), &layout);
            curve_ui(ui, cx, (scene, plot), &layout);
        }
        if let Some(Pointed::Head(layer, number)) = hover::under(&response, &layout.heads()) {
            let under = HeadId { layer, head: number, ..head };
            if let Some(proxy) = scene.all().iter().find(|proxy| proxy.head == under) {
                of_heads::mark(&painter, cx, layout.heads().map(|heads| heads.cell(layer, number)));
                head_readout_ui(ui, cx, proxy);
                of_heads::chosen(ui, cx, &response, under, ViewKind::Scatter);
            }
        }
    }
}

/// The colours of one mosaic, with its name between the ends.
fn scale(cx: &ViewCtx<'_>, mosaic: &Mosaic<'_>) -> ScaleBar {
    let ticks = [(mosaic.tick)(0.0), mosaic.short.to_owned(), (mosaic.tick)(1.0)];
    ScaleBar::of_colors(|share| ramp(&cx.theme.palette, share), ticks, mosaic.title.clone())
}

/// The pairs before and after scaling.
fn pairs_ui(ui: &mut Ui, cx: &ViewCtx<'_>, (scene, plot): (&DistanceScene, &HeadPlot), layout: &DistanceLayout) {
    let charts = [0, 1].map(|which| scene.pairs_chart(which, &cx.theme.palette));
    let subject = Id::unique(plot.proxy.head);
    let shown = charts.iter().enumerate().map(|(which, chart)| {
        let charts = ChartUi { chart, salt: which, subject, legend: Corner::RightTop, moves: true };
        charts.show(ui, cx.theme, layout.chart(which))
    });
    let plotted: Vec<_> = shown.collect();
    let Some((_, nth, _)) = plotted.iter().find_map(Plotted::nearest) else { return };
    // The pair is marked as given and after scaling.
    for (plotted, chart) in plotted.iter().zip(&charts) {
        plotted.ring(ui, cx.theme, chart.series.iter().filter_map(|series| series.points().nth(nth)));
    }
    pair_readout_ui(ui, cx, &plot.pairs[nth]);
}

/// The correlation by scale, over which dragging chooses the scale.
fn curve_ui(ui: &mut Ui, cx: &ViewCtx<'_>, (scene, plot): (&DistanceScene, &HeadPlot), layout: &DistanceLayout) {
    let chart = scene.curve_chart(&cx.theme.palette);
    let subject = Id::unique(plot.proxy.head);
    let charts = ChartUi { chart: &chart, salt: 2, subject, legend: Corner::RightBottom, moves: false };
    let plotted = charts.show(ui, cx.theme, layout.chart(2));
    let response = &plotted.response;
    let chosen = response.dragged_by(PointerButton::Primary) || response.clicked();
    if let Some(at) = response.interact_pointer_pos().filter(|_| chosen) {
        // Three digits are enough, and a still pointer asks for nothing new.
        let c = ((plotted.x_at(at) * 20.0).round() / 20.0).exp2() as f32;
        controls::edit_options(cx, |options| options.projection_mut().scale = ScaleChoice::Fixed(c));
    }
    let beside = plotted.beside_pointer();
    let Some((_, [power, _])) = beside.first().copied() else { return };
    ui.ctx().set_cursor_icon(CursorIcon::ResizeHorizontal);
    plotted.ring(ui, cx.theme, beside.iter().map(|(_, values)| *values));
    tooltip::at_pointer(ui, |ui| {
        ui.strong(format!("c = {}", norm_text(power.exp2())));
        for (nth, [_, correlation]) in &beside {
            let name = &chart.series[*nth].name;
            controls::caption_ui(ui, cx.theme, format!("{name}: {}", number(Some(*correlation))));
        }
    });
}

fn head_readout_ui(ui: &Ui, cx: &ViewCtx<'_>, proxy: &HeadProxy) {
    tooltip::at_pointer(ui, |ui| {
        ui.strong(proxy.head.to_string());
        let (before, after) = (proxy.correlations.before, proxy.correlations.after);
        for (name, before, after) in [
            ("all pairs", before.pooled.pearson, after.pooled.pearson),
            ("all pairs, ranks", before.pooled.spearman, after.pooled.spearman),
            ("mean of queries", before.per_query.pearson, after.per_query.pearson),
            ("mean of queries, ranks", before.per_query.spearman, after.per_query.spearman),
        ] {
            controls::caption_ui(ui, cx.theme, format!("{name}: {} as given, {} after", number(before), number(after)));
        }
        let norms = [proxy.norms.queries, proxy.norms.keys, proxy.c].map(norm_text);
        let norms = format!("mean ‖q‖ {}, mean ‖k‖ {}; c = {}", norms[0], norms[1], norms[2]);
        controls::caption_ui(ui, cx.theme, norms);
    });
}

fn pair_readout_ui(ui: &Ui, cx: &ViewCtx<'_>, pair: &Pair) {
    let Some(cloud) = cx.pane.cloud(cx.document) else { return };
    let stack = cx.pane.selection.stack();
    let text = |side, point: u32| {
        cloud
            .token(side, point as usize)
            .map_or_else(String::new, |token| crate::capture::words::shown(token.text, token.position))
    };
    tooltip::at_pointer(ui, |ui| {
        ui.horizontal(|ui| {
            ui.colored_label(cx.theme.query, text(stack.query_side(), pair.query));
            ui.weak("→");
            ui.colored_label(cx.theme.key, text(stack.key_side(), pair.key));
        });
        let [dot, before, after] = [pair.dot, pair.before, pair.after].map(decimal_text);
        let numbers = format!("q·k {dot}; distance {before} as given, {after} after scaling");
        controls::caption_ui(ui, cx.theme, numbers);
    });
}

fn caption(scene: &DistanceScene) -> String {
    let how = "the nearer to −1, the better distance predicts attention";
    let caveat = scene.caveat.map_or_else(String::new, |caveat| format!(". {caveat}"));
    format!("{}: {how}; click a head, drag over the curve to choose c{caveat}", scene.head)
}
