//! Messages to the user.

use std::ops::Deref;

use super::BookmarkCommand;
use crate::protocol::Failure;

/// Messages kept for the history panel.
const MAX_NOTICES: usize = 50;

/// Messages, oldest first.
#[derive(Debug, Default)]
pub struct Notices {
    list: Vec<Notice>,
    newest: u64,
}

/// A message to the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// Identity, for dismissing.
    pub id: u64,
    pub kind: NoticeKind,
    pub text: Failure,
    /// What takes back what it tells of, if anything does.
    pub undo: Option<BookmarkCommand>,
}

/// How serious a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoticeKind {
    /// Good to know: a truncation, a saved file.
    Info,
    /// Something did not work.
    Error,
}

impl Notices {
    /// Adds a message, unless it would repeat the last one.
    pub(super) fn notify(&mut self, kind: NoticeKind, text: Failure) {
        if self.last().is_none_or(|last| last.kind != kind || last.text != text) {
            self.add(kind, text, None);
        }
    }

    /// Adds a message that something did not work.
    pub(super) fn fail(&mut self, failure: Failure) {
        self.notify(NoticeKind::Error, failure);
    }

    /// Adds a message that is good to know.
    pub(super) fn inform(&mut self, summary: String, details: String) {
        self.notify(NoticeKind::Info, Failure { summary, details });
    }

    /// Adds a message with a button that undoes what it tells of: another one of the same words can be undone as well.
    pub(super) fn inform_undoable(&mut self, summary: String, undo: BookmarkCommand) {
        self.add(NoticeKind::Info, Failure { summary, details: String::new() }, Some(undo));
    }

    /// Takes a message away.
    pub(super) fn dismiss(&mut self, id: u64) {
        self.list.retain(|notice| notice.id != id);
    }

    /// Takes the messages away that offer to undo something.
    pub(super) fn forget_undoable(&mut self) {
        self.list.retain(|notice| notice.undo.is_none());
    }

    fn add(&mut self, kind: NoticeKind, text: Failure, undo: Option<BookmarkCommand>) {
        self.newest += 1;
        self.list.push(Notice { id: self.newest, kind, text, undo });
        if self.list.len() > MAX_NOTICES {
            self.list.remove(0);
        }
    }
}

impl Deref for Notices {
    type Target = [Notice];

    fn deref(&self) -> &[Notice] {
        &self.list
    }
}
