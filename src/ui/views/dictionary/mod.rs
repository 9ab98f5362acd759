//! Features of a dictionary over a corpus, in the window: a list, and the page of the one that is chosen.

mod list;

use std::sync::Arc;

use eframe::egui::{CursorIcon, Rect, RichText, Role, ScrollArea, Sense, Ui, UiBuilder, WidgetInfo, vec2};

use super::{Canvas, controls, display_list::ScenePainter, pending, scale::Footer, states, studies::Told, tooltip};
use crate::{
    analysis::{
        cloud_query::{CloudQuery, CloudResult, KnownFeatures},
        sae::CorpusFeatures,
    },
    figure::{
        Scene as _,
        views::{
            Study,
            dictionary::{FeatureScene, FiresWith, Spot},
        },
    },
    ids::CaptureId,
    session::{Command, CorpusCommand, FEATURE, Loadable, PaneCommand},
    text::counted,
    ui::{
        ViewCtx,
        commands::UiCommand,
        memo::{Memo, Same},
        theme::GRID,
    },
};

/// Width of the list.
const LIST_PT: f32 = 76.0 * GRID;
/// The most of the view that it takes.
const LIST_SHARE: f32 = 0.4;

/// Everything that the page depends on.
type PageKey = (
    Same<CorpusFeatures>,
    usize,
    Option<Same<Vec<(usize, f64)>>>,
    Result<Same<crate::analysis::explain::report::Report>, String>,
    CaptureId,
);

/// The view with what it remembers between frames.
#[derive(Default)]
pub struct FeaturesView {
    list: list::FeatureList,
    scene: Memo<PageKey, Arc<FeatureScene>>,
    painter: ScenePainter<PageKey>,
}

impl Canvas for FeaturesView {
    fn rest(&mut self) {
        *self = Self::default();
    }

    fn choosers_ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>) {
        // Of all heads: there is none to choose.
        ui.horizontal_wrapped(|ui| {
            told(cx).run_ui(ui, cx);
            if let Some(folder) = &cx.pane.options.dictionary.sae {
                controls::caption_ui(ui, cx.theme, format!("Dictionary {folder}"));
            }
        });
    }

    fn ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>) -> Option<Footer> {
        let told = told(cx);
        if cx.pane.options.dictionary.sae.is_none() {
            let what = "Features are those of a sparse autoencoder: open the folder that SAELens saved, or drop it";
            states::Nothing::from(what).by(UiCommand::OpenFolder).ui(ui, cx);
            return None;
        }
        told.recall(cx);
        let Some(studies) = cx.document.studies() else {
            told.nothing_ui(ui, cx);
            return None;
        };
        told.above_ui(ui, cx, studies);
        let Some(found) = studies.features.latest() else {
            told.nothing_ui(ui, cx);
            return None;
        };
        if !told.is_answered {
            let what = format!("These features are of {} over {}; Run counts anew", found.sae, found.corpus);
            ui.label(RichText::new(what).small().color(cx.theme.warning));
        }
        let chosen = self.list.chosen(cx, found);
        let whole = ui.available_rect_before_wrap();
        let wide = LIST_PT.min(LIST_SHARE * whole.width());
        let (left, right) = whole.split_left_right_at_x(whole.left() + wide);
        let part = |name, rect: Rect| UiBuilder::new().id_salt(name).max_rect(rect);
        ui.scope_builder(part("list", left.with_max_x(left.right() - 2.0 * GRID)), |ui| {
            self.list.ui(ui, cx, found, chosen);
        });
        ui.painter().vline(left.right(), whole.y_range(), (1.0, cx.theme.rule));
        ui.scope_builder(part("page", right.with_min_x(right.left() + 2.0 * GRID)), |ui| match chosen {
            Some(feature) => self.page_ui(ui, cx, found, feature),
            None => states::sentence_ui(ui, cx.theme, "No feature fires in any of the texts"),
        });
        ui.advance_cursor_after_rect(whole);
        let left_out = found.left_out.len();
        let left_out = if left_out > 0 { format!("; {} left out", counted(left_out, "input")) } else { String::new() };
        let words = format!(
            "{} of {} fire in {}{left_out}; click a text to open it",
            found.n_alive(),
            counted(found.d_sae, "feature"),
            counted(found.counts.n_tokens, "token")
        );
        Some(Footer { words, scales: Vec::new() })
    }
}

impl FeaturesView {
    fn page_ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>, found: &Arc<CorpusFeatures>, feature: usize) {
        let Some(capture) = cx.document.latest_capture() else { return };
        let (told, fires_with) = (asked(cx), fires_with(cx, found, feature));
        let with = fires_with.clone().map(Same);
        let key = (Same(Arc::clone(found)), feature, with, told.clone().map(Same), capture.id());
        let make = || Arc::new(FeatureScene::new(Arc::clone(found), (feature, fires_with), told.clone(), capture));
        let scene = self.scene.get_or_update(key.clone(), make);
        ScrollArea::both().id_salt("page of a feature").auto_shrink(false).show(ui, |ui| {
            let wide = ui.available_width().max(FeatureScene::least_width_pt());
            let (area, response) = ui.allocate_exact_size(vec2(wide, scene.height_in(wide)), Sense::hover());
            response.widget_info(|| WidgetInfo::labeled(Role::Image, true, scene.facts()));
            self.painter.paint(ui.painter(), cx.theme, key, area, &|pen| scene.draw(area, pen));
            for (nth, (rect, spot)) in scene.spots(area).into_iter().enumerate() {
                spot_ui(ui, cx, (rect, spot), nth);
            }
        });
    }
}

/// A place of the page that leads elsewhere.
fn spot_ui(ui: &Ui, cx: &ViewCtx<'_>, (rect, spot): (Rect, Spot), nth: usize) {
    let name = match spot {
        Spot::Text(input) => format!("Open input {}", input + 1),
        Spot::Feature(feature) => format!("Show feature {feature}"),
    };
    let place = ui.interact(rect, ui.scope_id().with(("spot", nth)), Sense::click());
    place.widget_info(|| WidgetInfo::labeled(Role::Button, true, &name));
    if place.hovered() {
        ui.painter().rect_filled(rect, 0.0, cx.theme.text.gamma_multiply(0.06));
    }
    if place.on_hover_cursor(CursorIcon::PointingHand).clicked() {
        match spot {
            Spot::Text(input) => cx.send(Command::Corpus(CorpusCommand::Show(input))),
            Spot::Feature(feature) => controls::edit_options(cx, |options| options.dictionary.feature = Some(feature)),
        }
    } else if ui.rect_contains_pointer(rect) {
        tooltip::at_pointer(ui, |ui| drop(ui.label(name)));
    }
}

/// Features that fire where one does; none until they are found, beside the window's thread.
fn fires_with(cx: &ViewCtx<'_>, found: &Arc<CorpusFeatures>, feature: usize) -> Option<FiresWith> {
    let question = CloudQuery::FiresWith(KnownFeatures(Arc::clone(found)), feature);
    let answer = pending::ask(cx, question)?.latest()?;
    if let CloudResult::FiresWith(all) = &**answer { Some(Arc::clone(all)) } else { None }
}

/// What the laboratory says of the feature in the input that is shown; it is asked where it was not.
fn asked(cx: &ViewCtx<'_>) -> Result<Arc<crate::analysis::explain::report::Report>, String> {
    let waits = || "It is worked out".to_owned();
    let capture = cx.document.latest_capture().ok_or_else(waits)?;
    let (_, ask) = cx.pane.asked(capture).into_iter().find(|(column, _)| *column == FEATURE).ok_or_else(waits)?;
    let target = cx.pane.options.target;
    let answer = cx.pane.explanations.find(capture.id(), FEATURE, &ask, target);
    if answer.is_none() {
        cx.send(Command::InPane(PaneCommand::Explain(FEATURE, ask, target)));
    }
    if let Some(failure) = answer.and_then(Loadable::failure) {
        return Err(failure.summary.clone());
    }
    answer.and_then(Loadable::latest).cloned().ok_or_else(waits)
}

/// What is said of the features as they are to be counted now.
fn told(cx: &ViewCtx<'_>) -> Told {
    let choices = &cx.pane.options.dictionary;
    Told {
        study: Study::Features,
        what: "Run every input and count where each feature of the dictionary fires",
        begin: "Count the features",
        lacks: choices.sae.is_none().then_some("Open the folder of a dictionary first"),
        is_answered: cx.document.is_counted(choices),
    }
}
