//! State of a query about a whole cloud: its result, its progress, its failure.

use std::sync::Arc;

use eframe::egui::Ui;

use super::states;
use crate::{
    analysis::cloud_query::{CloudQuery, CloudResult},
    session::{Command, Loadable, PaneCommand},
    ui::ViewCtx,
};

/// What is known of a question; asks it if nothing is.
pub fn ask<'a>(cx: &ViewCtx<'a>, question: CloudQuery) -> Option<&'a Loadable<Arc<CloudResult>>> {
    let survey = cx.pane.survey(cx.document, question)?;
    let known = cx.pane.surveys.find(&survey);
    if known.is_none() {
        cx.send(Command::InPane(PaneCommand::Survey(survey.question)));
    }
    known
}

/// The newest answer; says what stands in its place where there is none.
pub fn asked(ui: &mut Ui, cx: &ViewCtx<'_>, question: CloudQuery, what: &str) -> Option<Arc<CloudResult>> {
    let known = ask(cx, question);
    if let Some(progress) = known.and_then(Loadable::progress) {
        states::progress_ui(ui, cx.theme, Some(progress), "Progress of the measurement");
    }
    if let Some(found) = known.and_then(Loadable::latest) {
        return Some(Arc::clone(found));
    }
    match known {
        Some(Loadable::Failed { failure, .. }) => {
            if states::error_card_ui(ui, cx.theme, failure, ("Try again", "Measure again")) {
                cx.send(Command::Project);
            }
        }
        Some(Loadable::Empty) => {
            if states::offer_ui(ui, cx.theme, "The measurement was stopped", ("Resume", "Go on measuring")) {
                cx.send(Command::Project);
            }
        }
        Some(Loadable::Pending { .. } | Loadable::Ready(_)) | None => states::sentence_ui(ui, cx.theme, what),
    }
    None
}
