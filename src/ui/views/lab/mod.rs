//! The laboratory: questions about a prediction, each answered by several methods side by side.

mod answers;
mod bars;
mod depends;
mod methods;
mod patches;
mod target;

use eframe::egui::{CollapsingHeader, Label, RichText, ScrollArea, Ui};

use super::{choosers, controls};
use crate::{analysis::explain::report::Question, session::LabOptions, ui::ViewCtx};

/// The Lab view; it remembers nothing between frames.
pub struct LabView;

impl LabView {
    /// Draws the view over all the space that is left in `ui`.
    pub fn ui(ui: &mut Ui, cx: &ViewCtx<'_>) {
        let Some(capture) = cx.document.latest_capture() else { return };
        let LabOptions { question, target } = cx.pane.options.lab;
        ui.horizontal_wrapped(|ui| {
            for other in methods::questions() {
                if ui.selectable_label(other == question, other.text()).clicked() {
                    controls::edit_options(cx, |options| options.lab.question = other);
                }
            }
        });
        ui.add_space(2.0);
        target::target_ui(ui, cx, capture, target);
        if !is_of_tokens(question) {
            ui.horizontal_wrapped(|ui| {
                choosers::stack_and_layer_ui(ui, cx);
                choosers::heads_ui(ui, cx, capture);
            });
        }
        ui.separator();
        ScrollArea::both().id_salt(question.text()).auto_shrink(false).show(ui, |ui| {
            depends::depends_ui(ui, cx, capture, question);
        });
    }

    /// Draws the options: what the numbers are worth.
    pub fn options_ui(ui: &mut Ui, cx: &ViewCtx<'_>) {
        controls::heading_ui(ui, cx.theme, "Methods");
        let mut methods: Vec<_> =
            methods::methods(cx, cx.pane.options.lab.question).into_iter().map(|column| column.ask.method()).collect();
        methods.dedup();
        for method in methods {
            ui.strong(method.title());
            let small = |text: &str| Label::new(RichText::new(text).small().color(cx.theme.text_weak)).wrap();
            ui.add(small(method.caveat()));
            CollapsingHeader::new("Formula").id_salt(method.name()).show(ui, |ui| {
                ui.add(Label::new(RichText::new(method.formula()).monospace().small()).wrap());
                ui.add(small(method.source()));
            });
        }
    }
}

/// Whether a question is about tokens, and answered in bars.
const fn is_of_tokens(question: Question) -> bool {
    matches!(question, Question::Depends)
}
