//! A new session: everything that is shown is closed, and can be had again.

use std::sync::Arc;

use super::{
    Effect, Session,
    keeping::Doing,
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

impl Session {
    pub(super) fn on_new(&mut self, anew: Anew) -> Vec<Effect> {
        match anew {
            Anew::Ask if self.is_unsaved() => self.keeping.anew = Some(anew),
            Anew::Stay => self.keeping.anew = None,
            Anew::Save => {
                let effects = self.on_session_command(super::SessionCommand::Save);
                self.keeping.anew = Some(anew);
                return effects;
            }
            Anew::Ask | Anew::Begin if self.is_blank() => return self.close_everything(),
            // Only when it can be had again it is closed.
            Anew::Ask | Anew::Begin => {
                self.keeping.anew = None;
                let json = Some(Arc::new(self.to_keep().to_json()));
                return self.ask_for(Doing::Closing, SessionRequest::SetAside { json, is_end: false });
            }
        }
        Vec::new()
    }

    /// Whether nothing is shown and nothing was written down.
    pub(super) fn is_blank(&self) -> bool {
        let is_blank = |document: &super::Document| {
            let experiment = &document.experiment;
            experiment.model.is_none()
                && document.expected.is_none()
                && document.opened.is_none()
                && document.corpus.is_none()
                && experiment.text.is_empty()
                && experiment.image.is_none()
        };
        self.documents.iter().all(is_blank) && self.keeping.bookmarks.is_empty() && self.keeping.notes.is_empty()
    }

    /// Whether somebody has done something that is in no file of theirs.
    fn is_unsaved(&self) -> bool {
        match &self.keeping.written {
            Some(written) => *written != self.saved(),
            None => self.keeping.kept.is_some() && !self.is_blank(),
        }
    }

    /// Takes note of where the session is that was closed last.
    pub(super) fn took_aside(&mut self, answer: &SessionAnswer) {
        if let SessionAnswer::PutAside(path) = answer {
            self.keeping.last = Some(path.clone());
        }
    }

    /// Shows nothing, in one pane with the options of the user.
    pub(super) fn close_everything(&mut self) -> Vec<Effect> {
        let was_blank = self.is_blank();
        let document = SavedDocument { writing: self.settings.writing, ..SavedDocument::default() };
        let pane = SavedPane { active: true, options: self.settings.views.clone(), ..SavedPane::default() };
        let effects = self.open_saved(Saved { documents: vec![document], panes: vec![pane], ..Saved::default() });
        (self.keeping.file, self.keeping.written, self.keeping.kept) = (None, None, None);
        self.keeping.is_changed = false;
        if !was_blank && self.keeping.last.is_some() {
            let where_it_is = "It is under Session › Recent sessions".to_owned();
            self.inform("The session was closed".to_owned(), where_it_is);
        }
        effects
    }
}
