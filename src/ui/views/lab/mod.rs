//! The laboratory: questions about a prediction, each answered by several methods side by side.

mod alignment;
mod asked;
mod index;
mod options;
mod outcome;
mod pieces;
mod rank_one;
mod show;
mod specs;
mod target;

use std::sync::Arc;

use eframe::egui::{
    Align, Button, Label, Layout, PopupCloseBehavior, RichText, ScrollArea, Ui,
    containers::menu::{MenuButton, MenuConfig},
};

use self::{asked::LabColumns, pieces::Pieces};
pub use self::{
    outcome::{OutcomeChoice, outcome_label},
    specs::method_specs_ui,
    target::explained_output,
};
use super::{Canvas, controls, scale::Footer};
use crate::{
    analysis::explain::report::LabQuestion,
    capture::Capture,
    ids::StackKind,
    lab::MethodPreset,
    session::{Command, FigureCommand},
    text::{counted, sentence},
    ui::{
        ViewCtx,
        theme::GRID,
        widgets::{follow_focus, scrolled_menu_ui, text_button_width},
    },
};

/// What the buttons say that have to do with all answers.
const COPY: &str = "Copy all numbers";
const EXPORT: &str = "Export…";
const METHODS: &str = "Methods ⏷";

/// The Lab view with what it has painted.
#[derive(Default)]
pub struct LabView {
    pieces: Pieces,
}

impl Canvas for LabView {
    fn rest(&mut self) {
        *self = Self::default();
    }

    fn ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>) -> Option<Footer> {
        let capture = cx.document.latest_capture()?;
        let question = cx.pane.options.lab.question;
        let asked = asked::ask(ui, cx, capture);
        let needed: f32 = [COPY, EXPORT, METHODS].map(|text| text_button_width(ui, text) + 2.0 * GRID).iter().sum();
        let has_room = ui.horizontal_wrapped(|ui| {
            questions_ui(ui, cx, capture);
            let has_room = ui.available_size_before_wrap().x > needed;
            if has_room {
                let layout = Layout::right_to_left(Align::Center);
                ui.with_layout(layout, |ui| tools_ui(ui, cx, capture, &asked));
            }
            has_room
        });
        if !has_room.inner {
            ui.horizontal_wrapped(|ui| tools_ui(ui, cx, capture, &asked));
        }
        ui.add_space(GRID / 2.0);
        if target::is_about_output(question) {
            ui.horizontal_wrapped(|ui| target::target_ui(ui, cx, capture, cx.pane.options.target));
        }
        if question == LabQuestion::Aligns {
            alignment::directions_ui(ui, cx, capture, &asked);
        }
        index::hear(ui, cx);
        index::index_ui(ui, cx, capture);
        ui.separator();
        let salt = ("answers", question.name());
        ScrollArea::both().id_salt(salt).auto_shrink(false).show(ui, |ui| {
            self.pieces.ui(ui, cx, capture, &asked);
            rank_one::add_ui(ui, cx, &asked);
            follow_focus(ui);
        });
        let n_answered = asked.columns.iter().filter(|column| column.answer.report.is_some()).count();
        let n_methods = MethodPreset::under(question).count();
        let words = format!("{n_answered} of {}", counted(n_methods, "method"));
        Some(Footer { words, scales: Vec::new() })
    }

    /// Which methods there are, and what their numbers are worth.
    fn legend_ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>) {
        let Some(capture) = cx.document.latest_capture() else { return };
        controls::heading_ui(ui, cx.theme, "Methods");
        methods_ui(ui, cx, capture);
        ui.add_space(GRID);
        let small = |text: &str| Label::new(RichText::new(text).small().color(cx.theme.text_weak)).wrap();
        ui.add(small("A method’s options are behind the ⏷ beside its name."));
    }
}

/// The question in a few words, as it suits the input.
fn short_text(capture: &Capture, question: LabQuestion) -> &'static str {
    if question == LabQuestion::Depends && capture.image().is_some() { "Which patches" } else { question.short() }
}

fn question_text(capture: &Capture, question: LabQuestion) -> &'static str {
    match question {
        LabQuestion::Depends if capture.image().is_some() => "Which patches does this output depend on?",
        question => question.text(),
    }
}

/// Why a question makes no sense here.
fn unsuited(capture: &Capture, question: LabQuestion) -> Option<&'static str> {
    let crosses = capture.stack(StackKind::Cross).is_some_and(|stack| !stack.layers.is_empty());
    (question == LabQuestion::Aligns && !crosses)
        .then_some("Word alignment needs attention from one text to another, which this model does not have")
}

fn questions_ui(ui: &mut Ui, cx: &ViewCtx<'_>, capture: &Capture) {
    ui.spacing_mut().item_spacing.x = GRID / 2.0;
    let chosen = cx.pane.options.lab.question;
    for question in LabQuestion::ALL {
        let reason = unsuited(capture, question);
        let text = RichText::new(short_text(capture, question));
        let response = ui.add_enabled(reason.is_none(), Button::selectable(question == chosen, text));
        let response = response.on_hover_text(question_text(capture, question));
        if response.on_disabled_hover_text(reason.unwrap_or_default()).clicked() {
            controls::edit_options(cx, |options| options.lab.question = question);
        }
    }
}

/// What can be done with the answers: others shown, saved, copied.
fn tools_ui(ui: &mut Ui, cx: &ViewCtx<'_>, capture: &Arc<Capture>, asked: &LabColumns) {
    let has_answers = asked.columns.iter().any(|column| column.answer.report.is_some());
    let copy = ui.add_enabled(has_answers, Button::new(COPY));
    if copy.on_hover_text("Copy all results as a table for a spreadsheet").clicked() {
        let (what, text) = ("the numbers of all methods".to_owned(), asked.numbers(capture));
        cx.send(Command::Copy { what, text });
    }
    let export = ui.add_enabled(has_answers, Button::new(EXPORT));
    if export.on_hover_text("As a figure (SVG, PDF, PNG) or as numbers (CSV, JSON, NPZ)").clicked() {
        cx.send(Command::Figure(FigureCommand::Open));
    }
    let config = MenuConfig::new().close_behavior(PopupCloseBehavior::CloseOnClickOutside);
    let (response, _) = MenuButton::from_button(Button::new(METHODS)).config(config).ui(ui, |ui| {
        scrolled_menu_ui(ui, |ui| methods_ui(ui, cx, capture));
    });
    response.on_hover_text("Choose the methods to compare");
}

/// A box for each method that answers the question.
fn methods_ui(ui: &mut Ui, cx: &ViewCtx<'_>, capture: &Capture) {
    let (lab, focus) = (&cx.pane.options.lab, cx.pane.lab_focus(capture));
    for column in MethodPreset::under(lab.question) {
        let ask = column.ask(&focus, &lab.turned(column));
        let mut shown = lab.shows(column);
        let response = ui.add_enabled(ask.is_ok() || shown, eframe::egui::Checkbox::new(&mut shown, column.title));
        let caveat = column.method.caveat;
        let response = response
            .on_disabled_hover_text(ask.as_ref().err().map_or_else(String::new, |unasked| sentence(&unasked.why)));
        if response.on_hover_text(caveat).changed() {
            asked::show(cx, column, shown);
        }
    }
}
