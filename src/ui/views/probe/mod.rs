//! Linear probes of a corpus, in the window.

use std::{ops::RangeInclusive, sync::Arc};

use eframe::egui::{ComboBox, DragValue, RichText, Role, Sense, Stroke, StrokeKind, Ui, WidgetInfo, vec2};

use super::{Canvas, controls, display_list::ScenePainter, scale::Footer, studies::Told, tooltip};
use crate::{
    analysis::probe::{CorpusProbe, Labelling, LayerSpan, probed_sites},
    figure::{
        Scene as _,
        views::{Study, probe::ProbeScene},
    },
    text::counted,
    ui::{ViewCtx, memo::Same, theme::GRID},
};

/// The view with what it remembers between frames.
#[derive(Default)]
pub struct ProbeView {
    painter: ScenePainter<Same<CorpusProbe>>,
}

impl Canvas for ProbeView {
    fn rest(&mut self) {
        *self = Self::default();
    }

    fn choosers_ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>) {
        // Of all heads: there is none to choose.
        ui.horizontal_wrapped(|ui| {
            what_ui(ui, cx);
            told(cx).run_ui(ui, cx);
        });
    }

    fn ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>) -> Option<Footer> {
        let told = told(cx);
        told.recall(cx);
        let Some(studies) = cx.document.studies() else {
            told.nothing_ui(ui, cx);
            return None;
        };
        told.above_ui(ui, cx, studies);
        let Some(found) = studies.probe.latest() else {
            told.nothing_ui(ui, cx);
            return None;
        };
        if !told.is_answered {
            let of = &found.question;
            let what = format!("These results are of {} for {}; Run probes anew", of.site_text(), of.column);
            ui.label(RichText::new(what).small().color(cx.theme.warning));
        }
        self.chart_ui(ui, cx, found);
        let left_out = found.left_out.len();
        let left_out = if left_out > 0 { format!("; {} left out", counted(left_out, "input")) } else { String::new() };
        let words = format!("{}{left_out}", ProbeScene(Arc::clone(found)).captions().short);
        Some(Footer { words, scales: Vec::new() })
    }
}

impl ProbeView {
    fn chart_ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>, found: &Arc<CorpusProbe>) {
        let scene = ProbeScene(Arc::clone(found));
        let [wide, high] = ProbeScene::LEAST;
        let room = ui.available_size();
        let (area, response) = ui.allocate_exact_size(room.max(vec2(wide, high)), Sense::hover());
        let name = format!("Linear probes of {}, {}", found.question.column, counted(found.summary.n_texts, "text"));
        response.widget_info(|| WidgetInfo::labeled(Role::Image, true, &name));
        self.painter.paint(ui.painter(), cx.theme, Same(Arc::clone(found)), area, &|pen| scene.draw(area, pen));
        let Some((site, column)) = response.hover_pos().and_then(|at| scene.at(area, at)) else { return };
        ui.painter().rect_stroke(column, 0.0, Stroke::new(1.0, cx.theme.text_weak), StrokeKind::Inside);
        tooltip::at_pointer(ui, |ui| {
            let mut lines = scene.lines(site).into_iter();
            if let Some(first) = lines.next() {
                ui.strong(first);
            }
            lines.for_each(|line| drop(ui.label(line)));
        });
    }
}

/// What is said of the probe as it is to be fitted now.
fn told(cx: &ViewCtx<'_>) -> Told {
    let choices = &cx.pane.options.probe;
    let column = cx.document.probe_question(choices).map(|question| question.column);
    let list = cx.document.corpus.as_deref().and_then(|corpus| corpus.data.latest()).map(|so_far| &so_far.list);
    let has_columns = list.is_none_or(|list| !list.columns.is_empty());
    let lacks = if !has_columns {
        Some("The inputs have no labels: open a table with a column of labels, such as demo:reviews")
    } else if column.is_some_and(|column| column.is_empty()) {
        Some("Choose the column with the labels above")
    } else {
        None
    };
    Told {
        study: Study::Probe,
        what: "Fit a linear classifier of the labels in every layer, and one of random labels beside it",
        begin: "Fit the probes",
        lacks,
        is_answered: cx.document.is_probed(choices),
    }
}

/// The choosers of what is probed: site, layers, labels.
fn what_ui(ui: &mut Ui, cx: &ViewCtx<'_>) {
    let corpus = cx.document.corpus.as_deref();
    let list = corpus.and_then(|corpus| corpus.data.latest()).map(|so_far| &so_far.list);
    let columns = list.map_or(&[][..], |list| &list.columns);
    let likely = corpus.and_then(|corpus| corpus.likely_labels()).unwrap_or_default();
    let n_layers = cx
        .document
        .latest_capture()
        .map_or(0, |capture| capture.model().stack(cx.pane.selection.stack()).map_or(0, |stack| stack.layers.len()));
    controls::edit_options(cx, |options| {
        let choices = &mut options.probe;
        let sites: Vec<_> = probed_sites().map(|site| (site, site.name())).collect();
        controls::choice_ui(ui, "Site", &mut choices.site, &sites);
        let chosen = choices.label_column.clone().unwrap_or_else(|| likely.to_owned());
        let shown = if chosen.is_empty() { "Labels" } else { &chosen };
        let labels = ComboBox::new("labels of the probe", "").selected_text(shown).show_ui(ui, |ui| {
            for column in columns {
                if ui.selectable_label(*column == chosen, column).clicked() {
                    choices.label_column = Some(column.clone());
                }
            }
        });
        labels.response.accessible_name("Labels").on_hover_text("Column of the corpus with the labels");
        let of = Labelling::CHOICES.map(|(of, _, title)| (of, title));
        controls::choice_ui(ui, "Labels of", &mut choices.labelling, &of);
        layers_ui(ui, &mut choices.layers, n_layers);
    });
}

/// The first and the last layer.
fn layers_ui(ui: &mut Ui, layers: &mut Option<LayerSpan>, n_layers: usize) {
    let Some(end) = n_layers.checked_sub(1).filter(|end| *end > 0) else { return };
    let whole = LayerSpan { first: 0, last: end };
    let LayerSpan { mut first, mut last } = layers.unwrap_or(whole);
    (first, last) = (first.min(end), last.min(end));
    ui.add_space(GRID);
    ui.label("Layers");
    ui.add(layer_drag(&mut first, 0..=last)).accessible_name("First layer");
    ui.label("to");
    ui.add(layer_drag(&mut last, first..=end)).accessible_name("Last layer");
    ui.add_space(GRID);
    *layers = Some(LayerSpan { first, last }).filter(|span| *span != whole);
}

fn layer_drag(layer: &mut usize, range: RangeInclusive<usize>) -> DragValue<'_> {
    DragValue::new(layer).range(range).update_while_editing(false)
}
