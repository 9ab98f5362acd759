//! Atlas of heads: points, cells and table of all heads, with one head under the pointer.

mod of_folder;

use std::sync::Arc;

use eframe::egui::{CursorIcon, Grid, Id, Response, RichText, Sense, Ui, vec2};
use egui_plot::Corner;

use super::{
    Canvas,
    chart::{ChartUi, Plotted},
    controls,
    display_list::ScenePainter,
    frame, hover, of_heads, pending,
    scale::{Footer, ScaleBar},
    states, tooltip,
};
use crate::{
    analysis::{
        cloud_query::{CloudQuery, CloudResult, KnownTable, OtherCloud},
        head_statistics::{Families, Fingerprints, Metric, MetricColumn, RankedStatistic, Similar, StackTable},
    },
    figure::{
        pen::Medium,
        views::{
            atlas::{
                AtlasOptions, AtlasScene, ContrastOrder, PointSeries, column_text, contrast_text, layout::AtlasLayout,
                number_text,
            },
            regions::Pointed,
        },
    },
    ids::HeadId,
    raster::ColorMap,
    session::{ViewKind, note_of},
    text::{counted, decimal_text, grouped},
    ui::{
        ViewCtx,
        memo::Same,
        theme::{GRID, text_size},
    },
};

/// Similar heads that are named.
const N_SIMILAR: usize = 3;

/// A narrower plot has no legend.
const LEGEND_PT: f32 = 360.0;

/// Everything that the scene depends on.
type SceneKey = (Same<CloudResult>, Option<Same<Families>>, Option<[String; 2]>, HeadId, AtlasOptions, ColorMap);

/// The Atlas view with what it remembers between frames.
#[derive(Default)]
pub struct AtlasView {
    painter: ScenePainter<SceneKey>,
    /// Names beside the points, by what is seen of the chart.
    names: ScenePainter<(SceneKey, [u64; 4])>,
    fingerprints: Option<(Same<CloudResult>, Fingerprints)>,
    of_folder: ScenePainter<of_folder::SceneKey>,
}

impl Canvas for AtlasView {
    fn rest(&mut self) {
        *self = Self::default();
    }

    fn ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>) -> Option<Footer> {
        if let Some(folder) = cx.document.folder() {
            return Some(of_folder::folder_ui(ui, cx, folder, &mut self.of_folder));
        }
        let what = "Adding up the attention of every head";
        let options = &cx.pane.options;
        let against = match cx.against.map(|other| cx.pane.held_against(cx.document, other)) {
            Some(None) => {
                states::sentence_ui(
                    ui,
                    cx.theme,
                    "The other side has no inputs yet: they are run, or are to be opened",
                );
                return None;
            }
            against => against.flatten(),
        };
        let question = against.as_ref().map_or(CloudQuery::Statistics, |against| {
            CloudQuery::Contrast(OtherCloud(against.cloud.clone()), options.atlas.correction)
        });
        let of_heads::AllHeads { found, cloud, grid, head } = of_heads::asked(ui, cx, question, what)?;
        let sides = against.map(|against| against.names);
        let atlas = options.atlas;
        let mut scene =
            AtlasScene { found, sides, families: None, grid, head, options: atlas, color_map: options.color_map() };
        if atlas.shows_families() {
            scene.families = families(cx, &scene);
        }
        let scene = scene;
        frame::at_least_ui(ui, of_heads::LEAST_PT, |ui| self.scene_ui(ui, cx, &scene));
        let palette = &cx.theme.palette;
        let ticks = [scene.tick(0.0), String::new(), scene.tick(1.0)];
        let ticks =
            if scene.contrast().is_some() { [ticks[0].clone(), "0".to_owned(), ticks[2].clone()] } else { ticks };
        let mut scales =
            vec![ScaleBar::of_colors(|share| scene.cell_color(share, palette), ticks, scene.cells_title())];
        let own = |metric: &Metric| *metric != scene.options.color || scene.contrast().is_some();
        if let Some(metric) = scene.options.point_color.metric().filter(own) {
            let ticks = [scene.tick_of(metric, 0.0), String::new(), scene.tick_of(metric, 1.0)];
            let title = format!("points: {}", metric.title());
            scales.push(ScaleBar::of_colors(|share| scene.color(share, palette), ticks, title));
        }
        Some(Footer { words: words(&scene, cloud.n_inputs()), scales })
    }
}

impl AtlasView {
    /// The standardised numbers of all heads, worked out once for each table.
    fn fingerprints(&mut self, scene: &AtlasScene, table: &StackTable) -> &Fingerprints {
        let found = Same(Arc::clone(&scene.found));
        let kept = self.fingerprints.take().filter(|(of, _)| *of == found);
        let (_, fingerprints) = self.fingerprints.insert(kept.unwrap_or_else(|| (found, Fingerprints::of(table))));
        fingerprints
    }

    /// Draws points, cells and table; the head under the pointer is marked in all of them.
    fn scene_ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>, scene: &AtlasScene) {
        let Some(table) = scene.table() else { return };
        let (area, response, painter) = of_heads::canvas_ui(ui, Sense::click(), "Numbers of all heads");
        let families = scene.families.clone().map(Same);
        let key =
            (Same(Arc::clone(&scene.found)), families, scene.sides.clone(), scene.head, scene.options, scene.color_map);
        self.painter.paint(&painter, cx.theme, key.clone(), area, &|pen| scene.draw_heads(area, pen));
        let layout = scene.layout(area, Medium::Screen);
        let mut chart = scene.chart(&cx.theme.palette);
        if layout.plot.width() < LEGEND_PT {
            // The table has the colours, and a legend would lie over the points.
            chart.series.iter_mut().for_each(|series| series.name.clear());
        }
        let subject = Id::unique((scene.head.stack, scene.options.across.name(), scene.options.up.name()));
        heading_ui(ui, cx, scene, &layout, &response);
        let charts = ChartUi { chart: &chart, salt: 0, subject, legend: Corner::RightTop, moves: true };
        let plotted = charts.show(ui, cx.theme, layout.chart());
        let (frame, axes) = plotted.frame();
        let bounds = [axes.x.from, axes.x.to, axes.y.from, axes.y.to].map(f64::to_bits);
        self.names.paint(ui.painter(), cx.theme, (key, bounds), frame, &|pen| scene.draw_names(frame, &axes, pen));
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
        let point_of = |head: HeadId| {
            let at = |series: &PointSeries| Some(series.points[series.heads.iter().position(|known| *known == head)?]);
            series.iter().find_map(at)
        };
        let similar = self.fingerprints(scene, table).similar_to(under, N_SIMILAR);
        let ringed = [under].into_iter().chain(similar.iter().map(|similar| similar.head));
        plotted.ring(ui, cx.theme, ringed.filter_map(point_of));
        readout_ui(ui, cx, scene, (table, under, &similar));
        let pressed = if in_chart.is_some() { &plotted.response } else { &response };
        of_heads::chosen(ui, cx, pressed, under, ViewKind::OF_ONE_HEAD);
    }
}

/// The families of all heads; none until they are found.
fn families(cx: &ViewCtx<'_>, scene: &AtlasScene) -> Option<Arc<Families>> {
    let known = KnownTable(Arc::clone(&scene.found));
    let found = pending::ask(cx, CloudQuery::Families(known, scene.options.families))?.latest()?;
    if let CloudResult::Families(families) = &**found { Some(Arc::clone(families)) } else { None }
}

fn head_in_chart(scene: &AtlasScene, plotted: &Plotted<'_>) -> Option<HeadId> {
    let (series, nth, _) = plotted.nearest()?;
    if scene.contrast().is_none() {
        return scene.series().get(series)?.heads.get(nth).copied();
    }
    // Arrows lie behind the points, and have two ends each.
    let arrows = scene.arrows();
    match arrows.get(series) {
        Some(arrows) => arrows.heads.get(nth / 2).copied(),
        None => scene.series().get(series - arrows.len())?.heads.get(nth).copied(),
    }
}

fn head_in_table(response: &eframe::egui::Response, layout: &AtlasLayout, rows: &[HeadId]) -> Option<HeadId> {
    let at = response.hover_pos()?;
    let row = (1..=layout.n_rows()).find(|row| layout.row(*row).contains(at))?;
    rows.get(row - 1).copied()
}

/// A click on the name of a column orders the rows by it, a second one the other way round.
fn heading_ui(ui: &Ui, cx: &ViewCtx<'_>, scene: &AtlasScene, layout: &AtlasLayout, response: &Response) {
    let Some(at) = response.hover_pos().filter(|at| layout.row(0).contains(*at)) else { return };
    let Some((column, _)) = scene.columns(layout).into_iter().find(|(_, place)| place.contains(at.x)) else { return };
    ui.ctx().set_cursor_icon(CursorIcon::PointingHand);
    tooltip::at_pointer(ui, |ui| {
        ui.strong(scene.column_title(column));
        let meaning = scene.column_meaning(column);
        if !meaning.is_empty() {
            ui.label(meaning);
        }
        let turned = scene.options.is_ordered_by(column.order());
        let click = if turned { "Click: the other way round" } else { "Click: order the rows by it" };
        controls::caption_ui(ui, cx.theme, click);
    });
    if response.clicked() {
        controls::edit_options(cx, |options| options.atlas.order_by(column.order()));
    }
}

/// All numbers of a head with their ranks: those that are shown first, with what they are means over.
fn readout_ui(
    ui: &Ui,
    cx: &ViewCtx<'_>,
    scene: &AtlasScene,
    (table, head, similar): (&StackTable, HeadId, &[Similar]),
) {
    tooltip::at_pointer(ui, |ui| {
        ui.strong(format!("{head}: {}", scene.kinds_of(head)));
        let model = cx.document.latest_capture().map_or("", |capture| &capture.model().name);
        let note = note_of(cx.notes, model, head);
        if !note.is_empty() {
            ui.label(format!("Note: {note}"));
        }
        let shown = scene.options.columns();
        if scene.contrast().is_some() {
            controls::caption_ui(ui, cx.theme, format!("{} → {}", scene.side_name(0), scene.side_name(1)));
        }
        for metric in &shown {
            if scene.contrast().is_some() {
                let text = contrast_text(scene.contrast_cell(*metric, head));
                controls::caption_ui(ui, cx.theme, format!("{}: {text}", metric.title()));
                continue;
            }
            let cell = table.cell(*metric, head);
            let n = cell.map_or_else(String::new, |cell| {
                format!("; {}", counted(cell.statistic.n_rows as usize, metric.counts()))
            });
            controls::caption_ui(ui, cx.theme, format!("{}: {}{n}", metric.title(), number_text(cell)));
        }
        let others: Vec<&MetricColumn> =
            table.columns.iter().filter(|column| !shown.contains(&column.metric)).collect();
        ui.add_space(GRID);
        let n_lines = others.len().div_ceil(2);
        Grid::new("numbers").num_columns(4).spacing(vec2(2.0 * GRID, 0.5 * GRID)).show(ui, |ui| {
            for line in 0..n_lines {
                for column in [others.get(line), others.get(n_lines + line)].into_iter().flatten() {
                    let small = |text: String| RichText::new(text).size(text_size::SMALL);
                    ui.label(small(column.metric.title().to_owned()).color(cx.theme.text_weak));
                    let number = match scene.contrast() {
                        Some(_) => moved_text(scene, column.metric, head),
                        None => table.cell(column.metric, head).map_or_else(|| "not defined".to_owned(), rank_text),
                    };
                    ui.label(small(number));
                }
                ui.end_row();
            }
        });
        if let Some((families, nth)) = scene.families.as_ref().zip(scene.family(head)) {
            let silhouette = families.silhouette(head).map_or_else(String::new, decimal_text);
            ui.add_space(GRID);
            let n = families.all().len();
            let text = format!("Family {} of {n}; silhouette of this head {silhouette}", families.text(nth));
            controls::caption_ui(ui, cx.theme, text);
        }
        if !similar.is_empty() {
            ui.add_space(GRID);
            controls::caption_ui(ui, cx.theme, "Similar heads, by the cosine of standardised numbers");
            for similar in similar {
                controls::caption_ui(ui, cx.theme, similar.text());
            }
        }
    });
}

/// A number with its rank: `0.41, 3rd of 144`.
fn rank_text(cell: RankedStatistic) -> String {
    format!("{}, {}", decimal_text(cell.statistic.value), cell.rank_text())
}

/// Both means and the size of the effect, a star where the head differs: `0.41 → 0.55, d 1.20*`.
fn moved_text(scene: &AtlasScene, metric: Metric, head: HeadId) -> String {
    let cell = scene.contrast_cell(metric, head);
    let text = |of: ContrastOrder| column_text(cell, of);
    if cell.is_none() {
        return "not on both sides".to_owned();
    }
    let star = if cell.is_some_and(|cell| cell.differs()) { "*" } else { "" };
    let (a, b, d) = (text(ContrastOrder::First), text(ContrastOrder::Second), text(ContrastOrder::Effect));
    format!("{a} → {b}, d {d}{star}")
}

fn words(scene: &AtlasScene, n_inputs: usize) -> String {
    let Some(table) = scene.table() else { return String::new() };
    if let Some(contrast) = scene.contrast() {
        let side = |nth: usize| format!("{} ({})", scene.side_name(nth), counted(contrast.n_inputs[nth], "input"));
        return format!("{} → {}: {}", side(0), side(1), scene.differing_text());
    }
    let queries = grouped(table.n_queries as usize);
    // A first table comes before the whole one.
    let inputs = if table.n_inputs < n_inputs {
        format!("the first {} of {}", table.n_inputs, counted(n_inputs, "input"))
    } else {
        counted(table.n_inputs, "input")
    };
    format!("{inputs}, {queries} queries; {}; click a head, double-click opens its page", scene.named_text())
}
