//! Views of what is learnt or counted over a corpus: the button that begins, how far it is, what is missing, what went
//! wrong.

use eframe::egui::{Button, Ui};

use super::states;
use crate::{
    figure::views::Study,
    session::{Command, PaneCommand, Studies},
    text::sentence,
    ui::{ViewCtx, commands::UiCommand, theme::GRID},
};

/// A study as a view tells it.
#[derive(Clone, Copy)]
pub struct Told {
    pub study: Study,
    /// What it does, as a sentence without its full stop.
    pub what: &'static str,
    /// The button that begins it.
    pub begin: &'static str,
    /// What it is to be begun with that is missing, as a sentence.
    pub lacks: Option<&'static str>,
    /// Whether what is there answers the options.
    pub is_answered: bool,
}

impl Told {
    /// Why it cannot be begun now, as a sentence.
    fn obstacle(&self, cx: &ViewCtx<'_>) -> Option<String> {
        let pending = cx.document.studies().filter(|studies| studies.is_pending(self.study));
        if let Some(studies) = pending {
            let told = studies.progress(self.study).filter(|progress| progress.total > 0);
            return Some(told.map_or_else(
                || "It begins as soon as nothing else runs".to_owned(),
                |progress| sentence(&format!("{} {} of {}", progress.stage.label(), progress.done, progress.total)),
            ));
        }
        let obstacle = cx.document.study_obstacle().or(self.lacks);
        obstacle.or_else(|| self.is_answered.then_some("What is shown was made with these options")).map(str::to_owned)
    }

    /// The button that begins it anew; where there is nothing yet, [`Self::nothing_ui`] offers to begin.
    pub fn run_ui(&self, ui: &mut Ui, cx: &ViewCtx<'_>) {
        if !cx.document.studies().is_some_and(|studies| studies.is_there(self.study)) {
            return;
        }
        let obstacle = self.obstacle(cx);
        let button = ui.add_enabled(obstacle.is_none(), Button::new("Run"));
        let button = button.on_hover_text(self.what).on_disabled_hover_text(obstacle.unwrap_or_default());
        if button.clicked() {
            cx.send(Command::InPane(PaneCommand::Study));
        }
        ui.add_space(GRID);
    }

    /// How far it is, and what went wrong, above what is there.
    pub fn above_ui(&self, ui: &mut Ui, cx: &ViewCtx<'_>, studies: &Studies) {
        if studies.is_pending(self.study) {
            states::progress_ui(ui, cx.theme, studies.progress(self.study), self.study.doing());
        }
        if let Some(failure) = studies.failure(self.study)
            && states::error_card_ui(ui, cx.theme, failure, ("Try again", self.what))
        {
            cx.send(Command::InPane(PaneCommand::Study));
        }
    }

    /// Looks once whether an earlier run of the program has kept it.
    pub fn recall(&self, cx: &ViewCtx<'_>) {
        if self.lacks.is_none() && cx.document.wants_study_recall(self.study) {
            cx.send(Command::InPane(PaneCommand::RecallStudy));
        }
    }

    /// What stands in place of what is not there yet.
    pub fn nothing_ui(&self, ui: &mut Ui, cx: &ViewCtx<'_>) {
        let Some(studies) = cx.document.studies() else {
            let what = format!("{}: open a corpus, such as demo:reviews, beside this model", self.what);
            states::Nothing::from(what).by(UiCommand::Open).ui(ui, cx);
            return;
        };
        if studies.is_pending(self.study) {
            states::sentence_ui(ui, cx.theme, self.study.doing());
        } else if let Some(obstacle) = cx.document.study_obstacle().or(self.lacks) {
            states::sentence_ui(ui, cx.theme, obstacle);
        } else if studies.failure(self.study).is_none()
            && states::offer_ui(ui, cx.theme, self.what, (self.begin, "Run the model on each input; it can be stopped"))
        {
            cx.send(Command::InPane(PaneCommand::Study));
        }
    }
}
