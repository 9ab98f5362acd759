//! Atlas of heads: points, cells and table of all heads, with one head under the pointer.

use std::sync::Arc;

use eframe::egui::{Id, Sense, Ui};
use egui_plot::Corner;

use super::{
    Canvas,
    chart::{ChartUi, Plotted},
    controls,
    display_list::ScenePainter,
    frame, hover, of_heads,
    scale::{Footer, ScaleBar},
    tooltip,
};
use crate::{
    analysis::{
        cloud_query::{CloudQuery, CloudResult},
        head_statistics::StackTable,
    },
    figure::{
        pen::Medium,
        views::{
            atlas::{AtlasOptions, AtlasScene, kinds_text, layout::AtlasLayout, number_text},
            regions::Pointed,
        },
    },
    ids::HeadId,
    raster::ColorMap,
    session::ViewKind,
    text::{counted, grouped},
    ui::{ViewCtx, memo::Same},
};

/// A narrower plot has no legend.
const LEGEND_PT: f32 = 360.0;

/// Everything that the scene depends on.
type SceneKey = (Same<CloudResult>, HeadId, AtlasOptions, ColorMap);

/// The Atlas view with what it remembers between frames.
#[derive(Default)]
pub struct AtlasView {
    painter: ScenePainter<SceneKey>,
}

impl Canvas for AtlasView {
    fn rest(&mut self) {
        *self = Self::default();
    }

    fn ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>) -> Option<Footer> {
        let what = "Adding up the attention of every head";
        let of_heads::AllHeads { found, grid, head, .. } = of_heads::asked(ui, cx, CloudQuery::Statistics, what)?;
        let options = &cx.pane.options;
        let scene = AtlasScene { found, grid, head, options: options.atlas, color_map: options.color_map() };
        frame::at_least_ui(ui, of_heads::LEAST_PT, |ui| self.scene_ui(ui, cx, &scene));
        let palette = &cx.theme.palette;
        let ticks = [scene.tick(0.0), String::new(), scene.tick(1.0)];
        let title = scene.options.color.title().to_owned();
        let scale = ScaleBar::of_colors(|share| scene.color(share, palette), ticks, title);
        Some(Footer { words: words(&scene), scales: vec![scale] })
    }
}

impl AtlasView {
    /// Draws points, cells and table; the head under the pointer is marked in all of them.
    fn scene_ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>, scene: &AtlasScene) {
        let Some(table) = scene.table() else { return };
        let (area, response, painter) = of_heads::canvas_ui(ui, Sense::click(), "Numbers of all heads");
        let key = (Same(Arc::clone(&scene.found)), scene.head, scene.options, scene.color_map);
        self.painter.paint(&painter, cx.theme, key, area, &|pen| scene.draw_heads(area, pen));
        let layout = scene.layout(area, Medium::Screen);
        let mut chart = scene.chart(&cx.theme.palette);
        if layout.plot.width() < LEGEND_PT {
            // The table has the colours, and a legend would lie over the points.
            chart.series.iter_mut().for_each(|series| series.name.clear());
        }
        let subject = Id::unique((scene.head.stack, scene.options.across.name(), scene.options.up.name()));
        let charts = ChartUi { chart: &chart, salt: 0, subject, legend: Corner::RightTop, moves: true };
        let plotted = charts.show(ui, cx.theme, layout.chart());
        let rows = scene.rows();
        let in_chart = head_in_chart(scene, &plotted);
        let in_cells = || {
            let Some(Pointed::Head(layer, number)) = hover::under(&response, &[layout.heads()]) else { return None };
            Some(HeadId { layer, head: number, ..scene.head })
        };
        let under = in_chart.or_else(in_cells).or_else(|| head_in_table(&response, &layout, &rows));
        let Some(under) = under.filter(|head| table.heads.contains(head)) else { return };
        let row = rows.iter().position(|head| *head == under).filter(|row| *row < layout.n_rows());
        let marked = [Some(layout.heads().cell(under.layer, under.head)), row.map(|row| layout.row(row + 1))];
        of_heads::mark(&painter, cx, marked.into_iter().flatten());
        let series = scene.series();
        let point = series.iter().find_map(|series| {
            let at = series.heads.iter().position(|head| *head == under)?;
            Some(series.points[at])
        });
        plotted.ring(ui, cx.theme, point);
        readout_ui(ui, cx, scene, table, under);
        let side = under.stack.query_side();
        let has_picture = cx.pane.cloud(cx.document).is_some_and(|cloud| cloud.has_patches(side));
        let pressed = if in_chart.is_some() { &plotted.response } else { &response };
        of_heads::chosen(ui, cx, pressed, under, ViewKind::of_input(has_picture));
    }
}

fn head_in_chart(scene: &AtlasScene, plotted: &Plotted<'_>) -> Option<HeadId> {
    let (series, nth, _) = plotted.nearest()?;
    scene.series().get(series)?.heads.get(nth).copied()
}

fn head_in_table(response: &eframe::egui::Response, layout: &AtlasLayout, rows: &[HeadId]) -> Option<HeadId> {
    let at = response.hover_pos()?;
    let row = (1..=layout.n_rows()).find(|row| layout.row(*row).contains(at))?;
    rows.get(row - 1).copied()
}

fn readout_ui(ui: &Ui, cx: &ViewCtx<'_>, scene: &AtlasScene, table: &StackTable, head: HeadId) {
    tooltip::at_pointer(ui, |ui| {
        ui.strong(format!("{head}: {}", kinds_text(table, head)));
        let AtlasOptions { across, up, color } = scene.options;
        for metric in [color, across, up] {
            let cell = table.cell(metric, head);
            let n = cell.map_or_else(String::new, |cell| {
                format!("; {}", counted(cell.statistic.n_rows as usize, metric.counts()))
            });
            controls::caption_ui(ui, cx.theme, format!("{}: {}{n}", metric.title(), number_text(cell)));
        }
    });
}

fn words(scene: &AtlasScene) -> String {
    let Some(table) = scene.table() else { return String::new() };
    let queries = grouped(table.n_queries as usize);
    let inputs = counted(table.n_inputs, "input");
    format!("{inputs}, {queries} queries; {}; click a head, double-click opens it", scene.named_text())
}
