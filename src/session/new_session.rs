//! A new session: everything that is shown is closed, and can be had again.

use std::sync::Arc;

use super::{
    Document, Documents, Keeping, Settings,
    autosave::{Doing, OpenState, Origin, SessionOutcome},
    jobs::Jobs,
    saved::{Saved, SavedDocument, SavedPane},
};
use crate::protocol::{SessionAnswer, SessionRequest};

/// On the way to a new session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anew {
    /// Ask first where what is shown is in no file, or is another one there.
    Ask,
    Save,
    /// Begin; what is shown is the session that was closed last.
    Begin,
    Stay,
}

impl Keeping {
    pub(super) fn on_new(
        &mut self,
        anew: Anew,
        shown: OpenState<'_>,
        settings: &Settings,
        jobs: &mut Jobs,
    ) -> SessionOutcome {
        match anew {
            Anew::Ask if self.is_unsaved(shown) => self.anew = Some(anew),
            Anew::Stay => self.anew = None,
            Anew::Save => {
                let effects = self.save(shown, jobs);
                self.anew = Some(anew);
                return effects.into();
            }
            Anew::Ask | Anew::Begin if self.is_blank(shown.documents) => {
                return self.close_everything(shown.documents, settings);
            }
            // Only when it can be had again it is closed.
            Anew::Ask | Anew::Begin => {
                self.anew = None;
                let json = Some(Arc::new(self.to_keep(shown).to_json()));
                return self.ask(Doing::Closing, SessionRequest::SetAside { json, is_end: false }, jobs).into();
            }
        }
        SessionOutcome::default()
    }

    /// Whether nothing is shown and nothing was written down.
    pub(super) fn is_blank(&self, documents: &Documents) -> bool {
        let is_blank = |document: &Document| {
            let experiment = &document.experiment;
            experiment.model.is_none()
                && document.expected.is_none()
                && document.opened.is_none()
                && document.corpus.is_none()
                && experiment.text.is_empty()
                && experiment.image.is_none()
        };
        let is_noted = !self.notes.is_empty() || !self.head_notes.is_empty();
        documents.iter().all(is_blank) && self.bookmarks.is_empty() && !is_noted
    }

    /// Whether somebody has done something that is in no file of theirs.
    fn is_unsaved(&self, shown: OpenState<'_>) -> bool {
        match &self.written {
            Some(written) => *written != self.saved(shown),
            None => self.kept.is_some() && !self.is_blank(shown.documents),
        }
    }

    /// Takes note of where the session is that was closed last.
    pub(super) fn took_aside(&mut self, answer: &SessionAnswer) {
        if let SessionAnswer::PutAside(path) = answer {
            self.last = Some(path.clone());
        }
    }

    /// Shows nothing, in one pane with the options of the user.
    pub(super) fn close_everything(&self, documents: &Documents, settings: &Settings) -> SessionOutcome {
        let document = SavedDocument { writing: settings.writing, ..SavedDocument::default() };
        let pane = SavedPane { active: true, options: settings.views.clone(), ..SavedPane::default() };
        let blank = Saved { documents: vec![document], panes: vec![pane], ..Saved::default() };
        let origin = Origin::New { was_blank: self.is_blank(documents) };
        SessionOutcome { effects: Vec::new(), replacement: Some((blank, origin)) }
    }
}
