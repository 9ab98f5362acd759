//! Keeping a session: its file, what is kept for the case of a crash, what other windows left behind, and models that
//! are no longer where they were.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use serde_json::{Map, Value};

use super::{
    Address, Anew, Bookmark, BookmarkCommand, Cause, Documents, Effect, HeadNote, Lecture, Notices, Panes, Settings,
    head_notes::set_note,
    jobs::Jobs,
    saved::{EXTENSION, MAX_HEAD_NOTES, MAX_NOTES, Saved, SavedAs},
};
use crate::{
    ids::JobId,
    protocol::{Failure, LeftBehind, Request, SessionAnswer, SessionRequest, Update},
    text::{counted, sentence},
};

/// What is kept of a session besides what is shown.
#[derive(Debug, Default)]
pub struct Keeping {
    /// The file that it was opened from or saved as.
    pub file: Option<SavedAs>,
    /// Whether it differs from that file, as far as somebody has looked.
    pub is_changed: bool,
    pub bookmarks: Vec<Bookmark>,
    /// What the user wrote down.
    pub notes: String,
    /// What the user wrote down about heads.
    pub head_notes: Vec<HeadNote>,
    /// How far the lecture was walked through.
    pub lecture: Lecture,
    /// What windows showed that did not end well, the newest first.
    pub left: Vec<Left>,
    /// Where the session is that was closed last.
    pub last: Option<PathBuf>,
    /// Models that are not where they were, or are others now.
    pub lost_models: Vec<super::LostModel>,
    /// How far the user is on the way to a new session: asked about it, or saving first.
    pub(super) anew: Option<Anew>,
    pub(super) unknown: Map<String, Value>,
    /// What was read from the file, or written to it, last.
    pub(super) written: Option<Saved>,
    /// What is kept for the case of a crash.
    pub(super) kept: Option<Saved>,
    /// Whether the user knows that it cannot be kept.
    is_told: bool,
    jobs: Vec<(JobId, Doing)>,
}

/// What a window showed that did not end well.
#[derive(Clone, Debug)]
pub struct Left {
    number: u64,
    /// How long ago it was kept, in seconds.
    pub age_secs: u64,
    saved: Saved,
}

/// What a job does.
#[derive(Debug)]
pub(super) enum Doing {
    Beginning,
    Keeping(Box<Saved>),
    Discarding,
    /// What is shown is put aside, and then closed.
    Closing,
    Opening,
    Saving(Box<Saved>),
}

/// Something to do with the session as a whole.
#[derive(Clone, Debug, PartialEq)]
pub enum SessionCommand {
    /// Look for what other windows left behind; asked for once, when the window opens.
    Begin,
    /// Keep what is shown for the case of a crash, if it has changed.
    Keep,
    /// Keep it as the session that was closed last: the window closes.
    End {
        /// Whether anybody has done anything that is worth keeping.
        has_work: bool,
    },
    /// Write it to its file, or ask for one.
    Save,
    /// Close everything, after asking where it would be in no file.
    New(Anew),
    SaveAs,
    /// Write it to this file, whatever is there.
    SaveTo(PathBuf),
    Open(PathBuf),
    /// Take up what a window left behind, by its place in the list.
    Recover(usize),
    Discard(usize),
    SetNotes(String),
    /// Write something down about a head; nothing takes it away.
    NoteHead(HeadNote),
    /// Something to do with bookmarks.
    Bookmark(BookmarkCommand),
    /// Put the address of what the active pane shows on the clipboard.
    CopyAddress,
    /// Show a place in the active pane.
    GoTo(Box<Address>),
    /// The first lost model is here.
    ModelIsAt(PathBuf),
    /// The first lost model is this one now.
    UseModel,
    /// Go on without the first lost model.
    LeaveModel,
}

impl Left {
    /// What it was, in a few words: `2 panes · demo:gpt · Once upon a time`.
    pub fn title(&self) -> String {
        const INPUT_CHARS: usize = 40;
        let first = self.saved.documents.first();
        let read = first.map(|document| document.text.trim()).unwrap_or_default();
        let start: String = read.chars().take(INPUT_CHARS).collect();
        let more = if read.chars().nth(INPUT_CHARS).is_some() { "…" } else { "" };
        let file = self.saved.saved_as.as_ref().map(|file| file_name(&file.path));
        let parts =
            [file.unwrap_or_default(), counted(self.saved.panes.len().max(1), "pane"), format!("{start}{more}")];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" · ")
    }
}

impl Keeping {
    /// Whether a file is being read or written that the user asked for.
    pub fn is_busy(&self) -> bool {
        self.jobs.iter().any(|(_, doing)| matches!(doing, Doing::Opening | Doing::Saving(_)))
    }

    /// Whether it cannot be kept for the case of a crash.
    pub const fn is_troubled(&self) -> bool {
        self.is_told
    }

    /// Whether the user is asked before everything is closed.
    pub fn asks_before_new(&self) -> bool {
        self.anew == Some(Anew::Ask)
    }

    /// What the file is called; `None` before there is one.
    pub fn name(&self) -> Option<String> {
        self.file.as_ref().map(|file| file_name(&file.path))
    }
}

pub(super) fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// What a session can be written down from.
#[derive(Clone, Copy, Debug)]
pub(super) struct OpenState<'a> {
    pub documents: &'a Documents,
    pub panes: &'a Panes,
}

/// What follows from a command or an answer about the session as a whole.
#[derive(Debug, Default)]
pub(super) struct SessionOutcome {
    pub effects: Vec<Effect>,
    /// What is shown from now on, instead of all that is open, and where it came from.
    pub replacement: Option<(Saved, Origin)>,
}

/// Where a session came from that is shown instead of what was open.
#[derive(Debug)]
pub(super) enum Origin {
    File(SavedAs),
    /// It was kept as the session that was closed last.
    Closed(Option<SavedAs>),
    /// A window left it behind, under this number.
    Left(Option<SavedAs>, u64),
    /// It is a new one.
    New {
        /// Whether there was nothing to close.
        was_blank: bool,
    },
}

impl From<Vec<Effect>> for SessionOutcome {
    fn from(effects: Vec<Effect>) -> Self {
        Self { effects, replacement: None }
    }
}

impl Keeping {
    /// Does what concerns the session as a whole. Whoever has its parts opens models and places, and makes bookmarks.
    pub(super) fn on_command(
        &mut self,
        command: SessionCommand,
        shown: OpenState<'_>,
        settings: &Settings,
        jobs: &mut Jobs,
    ) -> SessionOutcome {
        if !matches!(command, SessionCommand::Keep | SessionCommand::SaveTo(_)) {
            self.anew = None;
        }
        let effects = match command {
            SessionCommand::New(anew) => return self.on_new(anew, shown, settings, jobs),
            SessionCommand::Recover(idx) => return self.recover(idx, shown, jobs),
            SessionCommand::Begin => self.ask(Doing::Beginning, SessionRequest::Begin, jobs),
            SessionCommand::Keep => self.keep_if_changed(shown, jobs),
            SessionCommand::End { has_work } => {
                let has_work = has_work && !self.is_blank(shown.documents);
                let json = has_work.then(|| Arc::new(self.to_keep(shown).to_json()));
                self.ask(Doing::Discarding, SessionRequest::SetAside { json, is_end: true }, jobs)
            }
            SessionCommand::Save => self.save(shown, jobs),
            SessionCommand::SaveAs => self.save_as(),
            SessionCommand::SaveTo(path) => self.save_to(path, None, shown, jobs),
            SessionCommand::Open(path) => self.open(path, jobs),
            SessionCommand::Discard(idx) if idx < self.left.len() => {
                let number = self.left.remove(idx).number;
                self.ask(Doing::Discarding, SessionRequest::Discard(number), jobs)
            }
            SessionCommand::NoteHead(note) => {
                set_note(&mut self.head_notes, note, MAX_HEAD_NOTES);
                Vec::new()
            }
            SessionCommand::SetNotes(notes) => {
                if notes.len() <= MAX_NOTES {
                    self.notes = notes;
                }
                Vec::new()
            }
            // The session does the others: it has the panes and the documents.
            SessionCommand::Discard(_)
            | SessionCommand::Bookmark(_)
            | SessionCommand::CopyAddress
            | SessionCommand::GoTo(_)
            | SessionCommand::ModelIsAt(_)
            | SessionCommand::UseModel
            | SessionCommand::LeaveModel => Vec::new(),
        };
        effects.into()
    }

    /// Reads a session file; what is shown is kept as the session that was closed last.
    pub(super) fn open(&mut self, path: PathBuf, jobs: &mut Jobs) -> Vec<Effect> {
        self.ask(Doing::Opening, SessionRequest::Read(path), jobs)
    }

    pub(super) fn ask(&mut self, doing: Doing, request: SessionRequest, jobs: &mut Jobs) -> Vec<Effect> {
        let job = jobs.next();
        self.jobs.push((job, doing));
        vec![Effect::Submit(job, Request::Session(request))]
    }

    /// What is shown, as it can be written down.
    pub(super) fn saved(&self, shown: OpenState<'_>) -> Saved {
        Saved::of(shown.documents, shown.panes, self)
    }

    /// What is kept for the case of a crash: it knows its file, too.
    pub(super) fn to_keep(&self, shown: OpenState<'_>) -> Saved {
        Saved { saved_as: self.file.clone(), ..self.saved(shown) }
    }

    fn keep_if_changed(&mut self, shown: OpenState<'_>, jobs: &mut Jobs) -> Vec<Effect> {
        if self.is_blank(shown.documents) {
            return Vec::new();
        }
        let saved = self.to_keep(shown);
        let as_written = Saved { saved_as: None, ..saved.clone() };
        self.is_changed = self.written.as_ref().is_some_and(|written| *written != as_written);
        let is_on_its_way = |doing: &Doing| matches!(doing, Doing::Keeping(on_its_way) if **on_its_way == saved);
        if self.kept.as_ref() == Some(&saved) || self.jobs.iter().any(|(_, it)| is_on_its_way(it)) {
            return Vec::new();
        }
        self.keep(saved, None, jobs)
    }

    fn keep(&mut self, saved: Saved, instead_of: Option<u64>, jobs: &mut Jobs) -> Vec<Effect> {
        let json = Arc::new(saved.to_json());
        self.ask(Doing::Keeping(Box::new(saved)), SessionRequest::Keep(json, instead_of), jobs)
    }

    /// Writes it to its file, or asks for one.
    pub(super) fn save(&mut self, shown: OpenState<'_>, jobs: &mut Jobs) -> Vec<Effect> {
        match self.file.clone() {
            Some(SavedAs { path, checksum }) => self.save_to(path, checksum, shown, jobs),
            None => self.save_as(),
        }
    }

    fn save_as(&self) -> Vec<Effect> {
        let name = self.name().unwrap_or_else(|| format!("session.{EXTENSION}"));
        vec![Effect::SaveSession { name }]
    }

    fn save_to(
        &mut self,
        path: PathBuf,
        replaces: Option<String>,
        shown: OpenState<'_>,
        jobs: &mut Jobs,
    ) -> Vec<Effect> {
        let saved = self.saved(shown);
        let json = Arc::new(saved.to_json());
        self.ask(Doing::Saving(Box::new(saved)), SessionRequest::Write { path, json, replaces }, jobs)
    }

    /// What is shown now can be had again as the session that was closed last.
    fn set_aside(&mut self, shown: OpenState<'_>, jobs: &mut Jobs) -> Vec<Effect> {
        let json = Some(Arc::new(self.to_keep(shown).to_json()));
        self.ask(Doing::Discarding, SessionRequest::SetAside { json, is_end: false }, jobs)
    }

    fn recover(&mut self, idx: usize, shown: OpenState<'_>, jobs: &mut Jobs) -> SessionOutcome {
        if idx >= self.left.len() {
            return SessionOutcome::default();
        }
        let Left { number, mut saved, .. } = self.left.remove(idx);
        let effects = if self.kept.is_some() { self.set_aside(shown, jobs) } else { Vec::new() };
        let file = saved.saved_as.take();
        SessionOutcome { effects, replacement: Some((saved, Origin::Left(file, number))) }
    }

    pub(super) fn on_event(
        &mut self,
        job: JobId,
        update: Update<Box<SessionAnswer>>,
        shown: OpenState<'_>,
        settings: &mut Settings,
        notices: &mut Notices,
        jobs: &mut Jobs,
    ) -> SessionOutcome {
        let Some(at) = self.jobs.iter().position(|(waiting, _)| *waiting == job) else {
            return SessionOutcome::default();
        };
        if matches!(update, Update::Progress(_)) {
            return SessionOutcome::default();
        }
        let (_, doing) = self.jobs.remove(at);
        match (update, doing) {
            (Update::Answer(answer), Doing::Closing) => {
                self.took_aside(&answer);
                return self.close_everything(shown.documents, settings);
            }
            (Update::Answer(answer), doing) => match (*answer, doing) {
                (SessionAnswer::Read { path, json, checksum, is_kept }, _) => {
                    let read = Saved::from_json(json, path.parent().unwrap_or(Path::new("")));
                    match read {
                        Ok(saved) => {
                            return self.show_read(
                                saved,
                                SavedAs { path, checksum: Some(checksum) },
                                is_kept,
                                shown,
                                jobs,
                            );
                        }
                        Err(error) => {
                            let (summary, details) = (sentence(&error.to_string()), path.display().to_string());
                            notices.fail(Cause::File(path), Failure { summary, details });
                        }
                    }
                }
                (SessionAnswer::Written { path, checksum }, Doing::Saving(saved)) => {
                    settings.remember_session(&path);
                    let details = [
                        vec![path.to_string_lossy().into_owned()],
                        Saved::left_out(shown.documents, shown.panes).iter().map(|it| (*it).to_owned()).collect(),
                    ];
                    notices.inform(Cause::File(path.clone()), "Session saved", details.concat().join("\n"));
                    self.file = Some(SavedAs { path, checksum: Some(checksum) });
                    (self.written, self.is_changed) = (Some(*saved), false);
                    if self.anew.take() == Some(Anew::Save) {
                        return self.on_new(Anew::Begin, shown, settings, jobs);
                    }
                }
                (answer, doing) => self.on_answer(answer, doing, notices),
            },
            (Update::Failed(failure), Doing::Closing) => {
                let summary = "Nothing was closed, because the session could not be saved for later".to_owned();
                let details = format!("{} Save the session to a file first. {}", failure.summary, failure.details);
                notices.fail(Cause::Job(job), Failure { summary, details: details.trim_end().to_owned() });
            }
            (Update::Failed(failure), Doing::Beginning | Doing::Keeping(_) | Doing::Discarding) => {
                self.tell_not_kept(&failure, notices);
            }
            (Update::Failed(failure), Doing::Opening | Doing::Saving(_)) => notices.fail(Cause::Job(job), failure),
            (Update::Progress(_) | Update::Cancelled, _) => {}
        }
        SessionOutcome::default()
    }

    /// Takes in answers after which the same is shown.
    fn on_answer(&mut self, answer: SessionAnswer, doing: Doing, notices: &mut Notices) {
        match (answer, doing) {
            (SessionAnswer::Begun(left, last), _) => {
                let read = |LeftBehind { number, age_secs, json }| {
                    let saved = Saved::from_json(json, Path::new("")).ok()?;
                    Some(Left { number, age_secs, saved })
                };
                self.left = left.into_iter().filter_map(read).collect();
                self.last = last;
            }
            (SessionAnswer::Done, Doing::Keeping(saved)) => {
                (self.kept, self.is_told) = (Some(*saved), false);
            }
            (answer @ SessionAnswer::PutAside(_), _) => self.took_aside(&answer),
            (SessionAnswer::ChangedElsewhere(path), _) => {
                let summary = format!("{} was not replaced: another window has saved it since", file_name(&path));
                let details = format!(
                    "Save this session under another name, or open the file to see what is there now\n{}",
                    path.display()
                );
                notices.fail(Cause::File(path), Failure { summary, details });
            }
            (SessionAnswer::Done | SessionAnswer::Written { .. } | SessionAnswer::Read { .. }, _) => {}
        }
    }

    /// Shows a session that was read.
    fn show_read(
        &mut self,
        mut saved: Saved,
        from: SavedAs,
        is_kept: bool,
        shown: OpenState<'_>,
        jobs: &mut Jobs,
    ) -> SessionOutcome {
        // Nothing that was not saved is lost by looking at something else; what was only opened needs no keeping.
        let effects = if self.kept.is_some() && !is_kept { self.set_aside(shown, jobs) } else { Vec::new() };
        let file = saved.saved_as.take();
        let origin = if is_kept { Origin::Closed(file) } else { Origin::File(from) };
        SessionOutcome { effects, replacement: Some((saved, origin)) }
    }

    /// Takes note of where the session came from that is shown now.
    pub(super) fn took_up(
        &mut self,
        origin: Origin,
        shown: OpenState<'_>,
        settings: &mut Settings,
        notices: &mut Notices,
        jobs: &mut Jobs,
    ) -> Vec<Effect> {
        match origin {
            Origin::File(file) => {
                settings.remember_session(&file.path);
                notices.inform(Cause::File(file.path.clone()), "Session opened", file.path.to_string_lossy());
                self.file = Some(file);
                (self.written, self.is_changed) = (Some(self.saved(shown)), false);
            }
            Origin::Closed(file) => {
                self.differs_from(file);
                notices.inform(Cause::Command, "The closed session is open again", "");
            }
            Origin::Left(file, number) => {
                self.differs_from(file);
                notices.inform(Cause::Command, "The session is restored", "");
                // Only when it is kept here it is no longer needed there.
                return self.keep(self.to_keep(shown), Some(number), jobs);
            }
            Origin::New { was_blank } => {
                (self.file, self.written, self.kept) = (None, None, None);
                self.is_changed = false;
                if !was_blank && self.last.is_some() {
                    let where_it_is = "It is under Session › Recent sessions";
                    notices.inform(Cause::Command, "The session was closed", where_it_is);
                }
            }
        }
        Vec::new()
    }

    /// It has a file, or none; what it differs by from that is not known, and is not to be lost.
    fn differs_from(&mut self, file: Option<SavedAs>) {
        (self.written, self.is_changed) = (Some(Saved::default()), file.is_some());
        self.file = file;
    }

    /// Once, until it can be kept again.
    fn tell_not_kept(&mut self, failure: &Failure, notices: &mut Notices) {
        if std::mem::replace(&mut self.is_told, true) {
            return;
        }
        let summary = "The session cannot be saved automatically".to_owned();
        let details = format!("Save the session yourself now and then. {} {}", failure.summary, failure.details);
        notices.fail(Cause::Autosave, Failure { summary, details: details.trim_end().to_owned() });
    }
}
