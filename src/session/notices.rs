//! Messages to the user. Each says what it is about, and goes with that.

use std::{ops::Deref, path::PathBuf};

use super::{BookmarkCommand, Document, Documents, Experiment, Keeping, Panes};
use crate::{
    capture::Capture,
    ids::{CaptureId, DocumentId, JobId},
    protocol::{CorpusSource, Failure, ModelSource},
};

/// Messages kept for the list.
const MAX_NOTICES: usize = 50;

/// Messages, oldest first.
#[derive(Debug, Default)]
pub struct Notices {
    list: Vec<Notice>,
    newest: u64,
}

/// A message to the user.
#[derive(Clone, Debug, PartialEq)]
pub struct Notice {
    /// Identity, for dismissing.
    pub id: u64,
    pub kind: NoticeKind,
    pub cause: Cause,
    pub text: Failure,
}

/// How serious a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoticeKind {
    /// Good to know: a truncation, a saved file.
    Info,
    /// Something did not work.
    Error,
}

/// The thing that a message is about.
#[derive(Clone, Debug, PartialEq)]
pub enum Cause {
    /// A model that a document has, or is about to have.
    Model(DocumentId, Option<ModelSource>),
    /// A model that did not open in a document.
    Load(DocumentId),
    /// The input of a document and its changes.
    Run(DocumentId, Box<Experiment>),
    /// A run that was closed with its changes, and what the one beside it, which stays, reads.
    Closed(DocumentId, DocumentId, Box<Experiment>),
    /// A capture that is shown.
    Shown(CaptureId),
    /// A corpus of a document, and the model that reads it.
    Corpus(DocumentId, CorpusSource, Option<ModelSource>),
    /// The points of a pane.
    Projection,
    /// There are as many as there can be.
    Full(Limited),
    /// The session is not kept for the case of a crash.
    Autosave,
    /// A bookmark that was added: its place in the list, and where it leads.
    Bookmark(usize, String),
    /// A file that was written, or not.
    File(PathBuf),
    /// A job that is over.
    Job(JobId),
    /// What somebody has just done, and nothing that lasts.
    Command,
}

/// Things of which there can be so many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limited {
    Panes,
    Runs,
    Bookmarks,
}

/// What causes are looked for in.
#[derive(Clone, Copy)]
pub(super) struct Causes<'a> {
    pub documents: &'a Documents,
    pub panes: &'a Panes,
    pub keeping: &'a Keeping,
}

impl Cause {
    /// What a document reads now, with its changes.
    pub(super) fn run(document: &Document) -> Self {
        Self::Run(document.id, Box::new(document.experiment.clone()))
    }

    /// The model that a document asks for.
    pub(super) fn model(document: &Document) -> Self {
        Self::Model(document.id, document.experiment.model.clone())
    }

    /// The corpus that a document has; its model where it has none.
    pub(super) fn corpus(document: &Document) -> Self {
        let model = document.experiment.model.clone();
        match &document.corpus {
            Some(corpus) => Self::Corpus(document.id, corpus.source.clone(), model),
            None => Self::Model(document.id, model),
        }
    }

    /// Whether it is over as soon as it is told: the message goes by itself.
    pub const fn is_over(&self) -> bool {
        matches!(self, Self::Bookmark(..) | Self::File(_) | Self::Job(_) | Self::Command)
    }
}

impl Notice {
    /// What takes back what it tells of, if anything does.
    pub const fn undo(&self) -> Option<BookmarkCommand> {
        if let Cause::Bookmark(idx, _) = self.cause { Some(BookmarkCommand::Remove(idx)) } else { None }
    }

    /// Whether what it is about is still there, and still so.
    fn stands(&self, Causes { documents, panes, keeping }: Causes<'_>) -> bool {
        let is_error = self.kind == NoticeKind::Error;
        let failed = |failure: Option<&Failure>| failure == Some(&self.text);
        match &self.cause {
            Cause::Model(document, source) => {
                documents.find(*document).is_some_and(|it| it.experiment.model == *source)
            }
            Cause::Load(document) => documents.find(*document).is_some_and(|it| failed(it.model.failure())),
            Cause::Run(document, experiment) => documents
                .find(*document)
                .is_some_and(|it| it.experiment == **experiment && (!is_error || failed(it.capture.failure()))),
            Cause::Closed(changed, plain, experiment) => {
                documents.find(*changed).is_none()
                    && documents.find(*plain).is_some_and(|it| it.experiment == **experiment)
            }
            Cause::Shown(capture) => {
                let is_it = |it: &Capture| it.id() == *capture;
                documents.iter().any(|document| {
                    let of_file = document.opened.iter().flat_map(|file| &file.captures);
                    document.latest_capture().into_iter().chain(of_file).any(|capture| is_it(capture))
                })
            }
            Cause::Corpus(document, source, model) => documents.find(*document).is_some_and(|it| {
                let corpus = it.corpus.as_deref().filter(|corpus| corpus.source == *source);
                it.experiment.model == *model && corpus.is_some_and(|corpus| !is_error || failed(corpus.data.failure()))
            }),
            Cause::Projection => panes.iter().any(|pane| failed(pane.projection.failure())),
            Cause::Full(Limited::Panes) => panes.is_full(),
            Cause::Full(Limited::Runs) => !documents.has_room(),
            Cause::Full(Limited::Bookmarks) => keeping.is_full(),
            Cause::Autosave => keeping.is_troubled(),
            Cause::Bookmark(idx, address) => keeping.bookmarks.get(*idx).is_some_and(|it| it.address == *address),
            Cause::File(_) | Cause::Job(_) | Cause::Command => true,
        }
    }
}

impl Notices {
    /// Adds a message that something did not work.
    pub(super) fn fail(&mut self, cause: Cause, failure: Failure) {
        self.add(NoticeKind::Error, cause, failure);
    }

    /// Adds a message that is good to know.
    pub(super) fn inform(&mut self, cause: Cause, summary: impl Into<String>, details: impl Into<String>) {
        self.add(NoticeKind::Info, cause, Failure { summary: summary.into(), details: details.into() });
    }

    /// Takes a message away.
    pub(super) fn dismiss(&mut self, id: u64) {
        self.list.retain(|notice| notice.id != id);
    }

    /// Takes the messages away whose cause is gone.
    pub(super) fn retain(&mut self, causes: Causes<'_>) {
        self.list.retain(|notice| notice.stands(causes));
    }

    /// Adds a message; one of the same words takes the place of the last, and what is new of a file that of what was.
    fn add(&mut self, kind: NoticeKind, cause: Cause, text: Failure) {
        self.list.retain(|it| !matches!(it.cause, Cause::File(_)) || it.cause != cause);
        if let Some(last) = self.list.last_mut().filter(|last| last.kind == kind && last.text == text) {
            last.cause = cause;
            return;
        }
        self.newest += 1;
        self.list.push(Notice { id: self.newest, kind, cause, text });
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
