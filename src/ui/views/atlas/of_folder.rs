//! Atlas of the heads of a folder: its numbers, chosen by the names that it has.

use std::sync::Arc;

use eframe::egui::{ComboBox, CursorIcon, Id, Response, Sense, Ui};
use egui_plot::Corner;

use super::super::{
    chart::{ChartUi, Plotted},
    controls,
    display_list::ScenePainter,
    frame, hover, of_heads,
    scale::{Footer, ScaleBar},
    tooltip,
};
use crate::{
    analysis::head_folder::HeadFolder,
    figure::{
        pen::Medium,
        views::{
            atlas::{FolderAxes, FolderScene, layout::AtlasLayout},
            regions::Pointed,
        },
    },
    ids::HeadId,
    raster::ColorMap,
    session::ViewKind,
    text::counted,
    ui::ViewCtx,
};

/// A narrower plot has no legend.
const LEGEND_PT: f32 = 360.0;

/// Everything that the scene depends on.
pub type SceneKey = (std::path::PathBuf, HeadId, FolderAxes, ColorMap);

/// Draws the heads of a folder.
pub fn folder_ui(
    ui: &mut Ui,
    cx: &ViewCtx<'_>,
    folder: &Arc<HeadFolder>,
    painter: &mut ScenePainter<SceneKey>,
) -> Footer {
    let options = &cx.pane.options;
    let scene = FolderScene {
        folder: Arc::clone(folder),
        head: cx.pane.selection.head,
        axes: options.atlas.of_folder,
        color_map: options.color_map(),
    };
    choices_ui(ui, cx, &scene);
    frame::at_least_ui(ui, of_heads::LEAST_PT, |ui| scene_ui(ui, cx, &scene, painter));
    let palette = &cx.theme.palette;
    let ticks = [scene.tick(0.0), String::new(), scene.tick(1.0)];
    let bar = ScaleBar::of_colors(|share| scene.color(share, palette), ticks, scene.name(scene.color_number()));
    Footer { words: words(folder), scales: vec![bar] }
}

/// Which numbers are shown, each by its name in the folder.
fn choices_ui(ui: &mut Ui, cx: &ViewCtx<'_>, scene: &FolderScene) {
    let [across, up] = scene.across_and_up();
    ui.horizontal_wrapped(|ui| {
        let mut choice = |label: &str, chosen: usize, put: fn(&mut FolderAxes, usize)| {
            ui.label(label);
            let shown = ComboBox::from_id_salt(label).selected_text(scene.name(chosen)).show_ui(ui, |ui| {
                for number in 0..scene.n_numbers() {
                    let is_chosen = number == chosen;
                    let entry = ui.selectable_label(is_chosen, scene.name(number));
                    if entry.on_hover_text(scene.description(number)).clicked() && !is_chosen {
                        controls::edit_options(cx, |options| put(&mut options.atlas.of_folder, number));
                    }
                }
            });
            shown.response.accessible_name(label).on_hover_text(scene.description(chosen));
        };
        choice("Across", across, |axes, number| axes.across = Some(number));
        choice("Up", up, |axes, number| axes.up = Some(number));
        choice("Cells", scene.color_number(), |axes, number| axes.color = Some(number));
    });
}

fn scene_ui(ui: &mut Ui, cx: &ViewCtx<'_>, scene: &FolderScene, scenes: &mut ScenePainter<SceneKey>) {
    let (area, response, painter) = of_heads::canvas_ui(ui, Sense::click(), "Numbers of the heads of a folder");
    let layout = scene.layout(area, Medium::Screen);
    let key = (scene.folder.path.clone(), scene.head, scene.axes, scene.color_map);
    scenes.paint(&painter, cx.theme, key, area, &|pen| scene.draw_heads(&layout, pen));
    heading_ui(ui, cx, scene, &layout, &response);
    let mut chart = scene.chart(&cx.theme.palette);
    if layout.plot.width() < LEGEND_PT {
        chart.series.iter_mut().for_each(|series| series.name.clear());
    }
    let subject = Id::unique(("folder", &scene.folder.path, scene.across_and_up()));
    let charts = ChartUi { chart: &chart, salt: 0, subject, legend: Corner::RightTop, moves: true };
    let plotted = charts.show(ui, cx.theme, layout.chart());
    let rows = scene.rows();
    let in_chart = in_chart(scene, &plotted);
    let index = &scene.folder.index;
    let in_cells = || {
        let Some(Pointed::Head(layer, head)) = hover::under(&response, &[layout.heads()]) else { return None };
        index.heads.binary_search(&HeadId::single(layer, head)).ok()
    };
    let in_table = || {
        let at = response.hover_pos()?;
        let row = (1..=layout.n_rows()).find(|row| layout.row(*row).contains(at))?;
        rows.get(row - 1).copied()
    };
    let Some(under) = in_chart.or_else(in_cells).or_else(in_table) else { return };
    let head = index.heads[under];
    let row = rows.iter().position(|at| *at == under).filter(|row| *row < layout.n_rows());
    let marked = [Some(layout.heads().cell(head.layer, head.head)), row.map(|row| layout.row(row + 1))];
    of_heads::mark(&painter, cx, marked.into_iter().flatten());
    plotted.ring(ui, cx.theme, scene.point(under));
    tooltip::at_pointer(ui, |ui| {
        ui.strong(head.to_string());
        for number in 2..scene.n_numbers() {
            controls::caption_ui(ui, cx.theme, format!("{}: {}", scene.name(number), scene.number_text(number, under)));
        }
        if let Some(reason) = scene.folder.lacks(head) {
            controls::caption_ui(ui, cx.theme, reason);
        }
    });
    let pressed = if in_chart.is_some() { &plotted.response } else { &response };
    of_heads::chosen(ui, cx, pressed, head, ViewKind::OF_ONE_HEAD);
}

fn in_chart(scene: &FolderScene, plotted: &Plotted<'_>) -> Option<usize> {
    let (.., values) = plotted.nearest()?;
    (0..scene.folder.index.heads.len()).find(|at| scene.point(*at) == Some(values))
}

/// A click on the name of a column orders the rows by it, a second one the other way round.
fn heading_ui(ui: &Ui, cx: &ViewCtx<'_>, scene: &FolderScene, layout: &AtlasLayout, response: &Response) {
    let Some(at) = response.hover_pos().filter(|at| layout.row(0).contains(*at)) else { return };
    let Some((number, _)) = scene.places(layout).into_iter().find(|(_, place)| place.contains(at.x)) else { return };
    ui.ctx().set_cursor_icon(CursorIcon::PointingHand);
    let turned = scene.order_number() == number;
    tooltip::at_pointer(ui, |ui| {
        ui.strong(scene.name(number));
        ui.label(scene.description(number));
        let click = if turned { "Click: the other way round" } else { "Click: order the rows by it" };
        controls::caption_ui(ui, cx.theme, click);
    });
    if response.clicked() {
        controls::edit_options(cx, |options| {
            let axes = &mut options.atlas.of_folder;
            (axes.order, axes.lowest_first) = (Some(number), turned && !axes.lowest_first);
        });
    }
}

fn words(folder: &HeadFolder) -> String {
    let index = &folder.index;
    let absent = match folder.absent.len() {
        0 => String::new(),
        n => format!(", {n} without a file"),
    };
    let of = index.dataset.as_ref().map(|dataset| format!(" over {dataset}")).unwrap_or_default();
    format!(
        "{} of {}{of}{absent}, with the numbers of the folder {}; click a head, double-click opens its page",
        counted(index.heads.len(), "head"),
        index.model,
        folder.name()
    )
}
