//! Mean attention of a head over all inputs of the corpus.

use std::sync::Arc;

use eframe::egui::{Id, Painter, Role, Sense, Stroke, StrokeKind, Ui, WidgetInfo};
use egui_plot::Corner;

use super::{
    Canvas,
    chart::{ChartUi, Plotted},
    controls,
    display_list::ScenePainter,
    hover, pending,
    scale::{Footer, ScaleBar},
    tooltip,
};
use crate::{
    analysis::{
        PointCloud,
        cloud_query::{Average, CloudQuery, CloudResult},
    },
    figure::{
        Scene as _,
        pen::Medium,
        views::{
            average::{AverageOptions, AverageScene, PairsShow, layout::AverageLayout, near},
            cells::RuledOut,
            regions::Pointed,
        },
    },
    raster::{ColorMap, ColorRange},
    text::{counted, weight_text},
    ui::{ViewCtx, memo::Same},
};

/// The Average view with what it remembers between frames.
#[derive(Default)]
pub struct AverageView {
    painter: ScenePainter<(Same<CloudResult>, PairsShow, ColorMap)>,
}

impl Canvas for AverageView {
    fn rest(&mut self) {
        *self = Self::default();
    }

    fn ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>) -> Option<Footer> {
        let cloud = cx.pane.cloud(cx.document)?;
        let annotation = annotation(cx, &cloud);
        let question = CloudQuery::Average(cx.pane.selection.head, annotation.clone());
        let what = "Averaging the attention of every input";
        let found = pending::asked(ui, cx, question, what)?;
        let scene = AverageScene {
            found,
            n_inputs: cloud.n_inputs(),
            options: AverageOptions { annotation, ..cx.pane.options.average.clone() },
            color_map: cx.pane.options.color_map(),
            mask: cx
                .document
                .latest_capture()
                .and_then(|capture| capture.model().mask_of(cx.pane.selection.head))
                .unwrap_or_default(),
        };
        let colors = cx.pane.options.color_map().on(cx.theme.palette.ground);
        let scale = ScaleBar::of_range(colors, ColorRange::linear(0.0, scene.high()));
        let footer = Some(Footer { words: scene.captions().short, scales: vec![scale] });
        let area = ui.available_rect_before_wrap();
        let (response, painter) = ui.allocate_painter(area.size(), Sense::hover());
        response.widget_info(|| {
            let label = format!("Mean attention of {} over all inputs", cx.pane.selection.head);
            WidgetInfo::labeled(Role::Image, true, label)
        });
        let key = (Same(Arc::clone(&scene.found)), scene.options.pairs, cx.pane.options.color_map());
        self.painter.paint(&painter, cx.theme, key, area, &|pen| scene.draw_grid(area, pen));
        let Some(average) = scene.average() else { return footer };
        let (layout, chart) = (scene.layout(area, Medium::Screen), scene.chart(&cx.theme.palette));
        let subject = Id::unique((cx.pane.selection.head, &scene.options.annotation));
        let charts = ChartUi { chart: &chart, salt: 0, subject, legend: Corner::LeftTop, moves: true };
        let plotted = charts.show(ui, cx.theme, layout.chart());
        offset_readout_ui(ui, cx, (&scene, average), &plotted);
        if let Some(offset) = pointed_offset(&plotted) {
            diagonal_ui(&painter, cx, &layout, offset);
        }
        if let Some(Pointed::Pair(query, key)) = hover::under(&response, &[layout.pairs()]) {
            let cell = layout.pairs().cell(query, key);
            painter.rect_stroke(cell, 0.0, Stroke::new(1.5, cx.theme.text), StrokeKind::Outside);
            cell_readout_ui(ui, cx, (&scene, average), query, key);
            let offset = key as f64 - query as f64;
            plotted.ring(
                ui,
                cx.theme,
                chart.series[..1].iter().flat_map(|all| all.points().filter(|it| (it[0] - offset).abs() < 0.5)),
            );
        }
        footer
    }
}

/// Names of the annotations of what is shown.
fn annotations(cloud: &PointCloud) -> Vec<String> {
    match cloud {
        PointCloud::Input(_) | PointCloud::Positions(_) => Vec::new(),
        PointCloud::Inputs(view) => view.corpus().annotations().to_vec(),
    }
}

/// The annotation that was chosen, if the inputs have it.
fn annotation(cx: &ViewCtx<'_>, cloud: &PointCloud) -> Option<String> {
    cx.pane.options.average.annotation.clone().filter(|name| annotations(cloud).contains(name))
}

fn cell_readout_ui(ui: &Ui, cx: &ViewCtx<'_>, (scene, average): (&AverageScene, &Average), query: usize, key: usize) {
    let Some(weight) = average.positions.pattern.row(query).and_then(|row| row.get(key)) else { return };
    tooltip::at_pointer(ui, |ui| {
        ui.horizontal(|ui| {
            ui.colored_label(cx.theme.query, format!("query {query}"));
            ui.weak("→");
            ui.colored_label(cx.theme.key, format!("key {key}"));
            ui.strong(match scene.ruled_out(average, (query, key)) {
                Some(RuledOut::Later) => "masked".to_owned(),
                Some(RuledOut::OutOfWindow) => "outside the window".to_owned(),
                None => weight_text(*weight),
            });
        });
        let n = average.positions.n_inputs.get(query).copied().unwrap_or(0);
        let inputs = counted(n as usize, "input");
        controls::caption_ui(ui, cx.theme, format!("Mean of {inputs} with a query at this position"));
        if let Some(deviation) = average.positions.deviation.get(query, key).filter(|_| n > 1) {
            controls::caption_ui(ui, cx.theme, format!("Standard deviation over them: {}", weight_text(deviation)));
        }
    });
}

/// The offset under the pointer.
fn pointed_offset(plotted: &Plotted<'_>) -> Option<i32> {
    plotted.pointer().map(|[x, _]| x.round() as i32)
}

/// Marks the pairs of positions whose key is `offset` after the query.
fn diagonal_ui(painter: &Painter, cx: &ViewCtx<'_>, layout: &AverageLayout, offset: i32) {
    let (n_query, n_key) = layout.grid;
    let key = |query: usize| query.checked_add_signed(offset as isize).filter(|key| *key < n_key);
    let pairs = (0..n_query).filter_map(|query| Some((query, key(query)?)));
    let stroke = Stroke::new(1.5, cx.theme.text);
    for (query, key) in pairs {
        let cell = layout.pairs().cell(query, key);
        painter.rect_stroke(cell, 0.0, stroke, StrokeKind::Inside);
    }
}

fn offset_readout_ui(ui: &Ui, cx: &ViewCtx<'_>, (scene, average): (&AverageScene, &Average), plotted: &Plotted<'_>) {
    let Some(offset) = pointed_offset(plotted) else { return };
    let curves = scene.curves(average);
    let seen = curves.iter().enumerate().filter(|(nth, _)| !plotted.hides(*nth));
    let (points, lines): (Vec<[f64; 2]>, Vec<String>) = seen
        .filter_map(|(_, (name, mean))| {
            let (_, weight) = near(mean).find(|(known, _)| *known == offset)?;
            let place = mean.offsets.iter().position(|known| *known == offset)?;
            let pairs = mean.n_pairs.get(place).copied().unwrap_or(0);
            let line = format!("{name}: {} over {} pairs", weight_text(weight), controls::grouped(pairs as usize));
            Some(([f64::from(offset), f64::from(weight)], line))
        })
        .unzip();
    plotted.ring(ui, cx.theme, points);
    if lines.is_empty() {
        return;
    }
    tooltip::at_pointer(ui, |ui| {
        ui.strong(match offset {
            0 => "The token itself".to_owned(),
            -1 => "The token before".to_owned(),
            1 => "The token after".to_owned(),
            back if back < 0 => format!("{} tokens before", -back),
            ahead => format!("{ahead} tokens after"),
        });
        for line in lines {
            controls::caption_ui(ui, cx.theme, line);
        }
    });
}
