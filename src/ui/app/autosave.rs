//! Autosave: a crash loses seconds of work and no more.

use eframe::egui;

use super::App;
use crate::session::{Command, CorpusCommand, Effect, PaneCommand, SessionCommand};

/// From a change to its being kept, in seconds. Changes in between are kept together.
const KEEP_AFTER_SECS: f64 = 2.0;
/// When it is tried again where it cannot be kept.
const TRY_AGAIN_SECS: f64 = 15.0;

/// When what is shown is kept next.
#[derive(Debug, Default)]
pub struct Autosave {
    has_begun: bool,
    /// Somebody has done something that is worth keeping.
    has_work: bool,
    /// In egui's seconds.
    due_secs: Option<f64>,
}

impl App {
    /// Something was asked for.
    pub(super) fn note_work(&mut self, ctx: &egui::Context, command: &Command) {
        if is_work(command) {
            self.autosave.has_work = true;
            self.note_change(ctx);
        }
    }

    /// Something may be different from what is kept.
    pub(super) fn note_change(&mut self, ctx: &egui::Context) {
        if self.autosave.has_work {
            let now_secs = ctx.input(|input| input.time);
            self.autosave.due_secs.get_or_insert(now_secs + KEEP_AFTER_SECS);
        }
    }

    /// Keeps what is shown when it is time to, and looks for what others left behind when the window opens.
    pub(super) fn keep(&mut self, ctx: &egui::Context) {
        // A picture for documentation is nobody's work.
        if self.automation.is_some() {
            return;
        }
        if !std::mem::replace(&mut self.autosave.has_begun, true) {
            let effects = self.session.apply(Command::Session(SessionCommand::Begin));
            self.perform(ctx, effects);
        }
        let Some(due_secs) = self.autosave.due_secs else { return };
        let now_secs = ctx.input(|input| input.time);
        if now_secs < due_secs {
            ctx.request_repaint_after_secs((due_secs - now_secs) as f32);
            return;
        }
        self.autosave.due_secs = None;
        let effects = self.session.apply(Command::Session(SessionCommand::Keep));
        self.perform(ctx, effects);
        if self.session.keeping.is_troubled() {
            self.autosave.due_secs = Some(now_secs + TRY_AGAIN_SECS);
        }
    }

    /// The window closes well: nothing has to be recovered.
    pub(super) fn end(&mut self) {
        if self.automation.is_some() {
            return;
        }
        let has_work = self.autosave.has_work;
        for effect in self.session.apply(Command::Session(SessionCommand::End { has_work })) {
            if let Effect::Submit(job, request) = effect {
                self.jobs.submit(job, request);
            }
        }
    }
}

/// Whether something was asked for that changes what is written down of a session.
const fn is_work(command: &Command) -> bool {
    !matches!(
        command,
        Command::InPane(
            PaneCommand::Hover(_)
                | PaneCommand::HoverPoint(_)
                | PaneCommand::Survey(_)
                | PaneCommand::Explain(..)
                | PaneCommand::ExplainAnyway(..)
                | PaneCommand::ExplainAgain(_)
        ) | Command::Notify(_)
            | Command::DismissNotice(_)
            | Command::Download(_)
            | Command::Figure(_)
            | Command::SaveScreenshot
            | Command::Pick(_)
            | Command::Copy { .. }
            | Command::SetAppearance(_)
            | Command::UnfoldOptions(_)
            | Command::CloseFirstSteps
            | Command::ShowCards(_)
            | Command::Corpus(CorpusCommand::Ask(_))
            | Command::Session(
                SessionCommand::Begin
                    | SessionCommand::Keep
                    | SessionCommand::End { .. }
                    | SessionCommand::Save
                    | SessionCommand::SaveAs
                    | SessionCommand::Discard(_)
                    | SessionCommand::CopyAddress
            )
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::{ChangeCommand, Focus};

    #[test]
    fn looking_is_no_work_and_typing_is() {
        assert!(!is_work(&Command::InPane(PaneCommand::Hover(Focus::NONE))));
        assert!(is_work(&Command::SetText("a".to_owned())));
        assert!(is_work(&Command::Change(ChangeCommand::Clear)));
        assert!(is_work(&Command::Session(SessionCommand::SetNotes("a".to_owned()))));
    }
}
