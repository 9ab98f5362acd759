//! Panels around the view: bars above and below, the input on the left, the inspector on the right.
//!
//! Panels read a [`ViewCtx`] and push commands, as views do; each keeps only its own widget state.

mod against;
mod bookmarks;
mod chat;
mod compare;
mod corpus;
mod direction;
mod drop_overlay;
mod editor;
mod effect;
mod figures;
mod first_steps;
mod gallery;
mod help;
mod input_chooser;
mod input_panel;
mod inspector;
mod kinds;
mod language_tags;
mod lecture;
mod model_panel;
mod notices;
mod numbers;
mod open_sheet;
mod palette;
mod path_sheet;
mod prediction;
mod ranking;
mod recovery;
mod search;
mod session_menu;
mod start;
mod status_bar;
mod subtract;
mod target;
mod too_long;
mod top_bar;
mod undrawn;
mod views_sheet;
mod what_if;
mod written;

use eframe::egui::{self, RichText, Ui};

use crate::{
    protocol::Failure,
    ui::{
        PanelCtx, ViewCtx,
        commands::UiCommand,
        stale::{veil, veiled_ui},
        theme::{GRID, SCROLLBAR_PT},
        widgets::follow_focus,
    },
};

pub use against::against_ui;
pub use bookmarks::BookmarkSheet;
pub use corpus::{CorpusDialog, CorpusDrawer, cloud_choice_ui};
pub use drop_overlay::drop_overlay_ui;
pub use effect::effect_text;
pub use figures::FigureSheet;
pub use first_steps::{FIRST_STEPS_PT, first_steps_ui};
pub use gallery::Gallery;
pub use help::HelpSheet;
pub use inspector::{Inspector, Shown};
pub use kinds::kinds_ui;
pub use lecture::{lecture_height, lecture_ui};
pub use notices::Notices;
pub use open_sheet::OpenSheet;
pub use palette::{Chosen, Palette};
pub use path_sheet::{PathFor, PathSheet};
pub use prediction::run_line_ui;
pub use recovery::{left_behind_ui, lost_model_ui, new_session_ui};
pub use search::{focus_search, search_ui};
pub use start::start_ui;
pub use status_bar::{StatusFacts, status_bar_ui};
pub use subtract::subtract_ui;
pub use too_long::too_long_ui;
pub use top_bar::{HEADER_PT, top_bar_ui};
pub use views_sheet::ViewsSheet;

/// Least height at which the answer is docked; in a lower panel it scrolls with the rest.
const LEAST_WITH_DOCK_PT: f32 = 70.0 * GRID;

/// The panel on the left, the same in all views: model, input, changes, and the answer docked below.
#[derive(Default)]
pub struct LeftPanel {
    model: model_panel::ModelPanel,
    input: input_panel::InputPanel,
    effect: effect::EffectPanel,
}

impl LeftPanel {
    /// Draws the panel: what does not fit scrolls between the model and the answer.
    pub fn ui(&mut self, ui: &mut Ui, cx: &PanelCtx<'_>) {
        let is_docked = ui.available_height() >= LEAST_WITH_DOCK_PT;
        let answer_ui = |ui: &mut Ui| veiled_ui(ui, cx, |ui| prediction::prediction_ui(ui, cx));
        if is_docked && cx.document.latest_capture().is_some() {
            let frame = egui::Frame::new().inner_margin(egui::Margin { top: GRID as i8, ..egui::Margin::ZERO });
            let dock = egui::Panel::bottom("answer").frame(frame).resizable(false);
            dock.exact_size(prediction::ANSWER_PT).show(ui, answer_ui);
        }
        failures_ui(ui, cx);
        if is_docked {
            self.model.card_ui(ui, cx);
        }
        scrolled_ui(ui, "left panel", |ui| {
            if !is_docked {
                self.model.card_ui(ui, cx);
            }
            self.model.details_ui(ui, cx);
            self.input.ui(ui, cx);
            what_if::what_if_ui(ui, cx);
            veiled_ui(ui, cx, |ui| self.effect.ui(ui, cx));
            if let Some(veil) = veil(ui, cx) {
                ui.label(RichText::new(veil.said).small().color(cx.theme.text_weak));
            }
            if !is_docked {
                answer_ui(ui);
            }
            ui.add_space(2.0 * GRID);
        });
    }

    /// Puts the cursor into the text in the next frame.
    pub const fn focus_text(&mut self) {
        self.input.focus_text();
    }
}

/// What a side panel holds below what stays in sight; its scrollbar lies in the margin, so that nothing shifts.
pub fn scrolled_ui(ui: &mut Ui, name: &str, contents: impl FnOnce(&mut Ui)) {
    let rect = ui.available_rect_before_wrap();
    let with_bar = egui::Rect::from_min_max(rect.min, rect.max + egui::vec2(SCROLLBAR_PT, 0.0));
    let mut outer = ui.new_child(egui::UiBuilder::new().max_rect(with_bar));
    egui::ScrollArea::vertical().id_salt(name).auto_shrink([false, false]).show(&mut outer, |ui| {
        ui.set_max_width(rect.width());
        contents(ui);
        follow_focus(ui);
    });
    ui.advance_cursor_after_rect(rect);
}

/// What went wrong and is not said in the pane, above the answer, where it moves none of the buttons: a model that did not
/// take the place of the one that is shown, and a text that is too long, with what can be read of it. A pane that shows
/// nothing, or what a run that failed was to follow, says why itself.
fn failures_ui(ui: &mut Ui, cx: &ViewCtx<'_>) {
    let shows = cx.document.latest_capture().is_some();
    let failure = cx.document.model.failure().filter(|_| shows);
    if failure.is_none() && !(shows && cx.document.too_long.is_some()) {
        return;
    }
    let most = 0.4 * ui.available_height();
    egui::Panel::bottom("failures").frame(egui::Frame::new()).resizable(false).max_size(most).show(ui, |ui| {
        let scroll = egui::ScrollArea::vertical().id_salt("failures").max_height(most).min_scrolled_height(most);
        scroll.auto_shrink([false, true]).show(ui, |ui| {
            if let Some(failure) = failure {
                failure_ui(ui, cx, failure);
                if let Some(model) = cx.document.open_model() {
                    ui.label(RichText::new(format!("{} stays open", model.name)).small().color(cx.theme.text_weak));
                }
            }
            too_long_ui(ui, cx);
        });
    });
}

/// What went wrong: the sentence, and what to do about it below.
pub fn failure_ui(ui: &mut Ui, cx: &ViewCtx<'_>, failure: &Failure) {
    ui.add_space(GRID);
    ui.label(RichText::new(format!("⚠ {}", failure.summary)).color(cx.theme.error));
    if !failure.details.is_empty() {
        ui.label(RichText::new(&failure.details).small().color(cx.theme.text_weak));
    }
}

/// What a panel asks of the window rather than of the session.
pub type WindowRequests = Vec<UiCommand>;
