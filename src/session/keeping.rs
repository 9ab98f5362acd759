//! Keeping a session: its file, what is kept for the case of a crash, what other windows left behind, and models that
//! are no longer where they were.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use serde_json::{Map, Value};

use super::{
    Address, Anew, Bookmark, BookmarkCommand, Effect, NoticeKind, Session,
    saved::{EXTENSION, MAX_NOTES, Saved, SavedAs},
};
use crate::{
    ids::JobId,
    protocol::{EventKind, Failure, LeftBehind, Request, SessionAnswer, SessionRequest},
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
    /// Whether a job is about the session as a whole.
    pub(super) fn waits_for(&self, job: JobId) -> bool {
        self.jobs.iter().any(|(waiting, _)| *waiting == job)
    }

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

impl Session {
    pub(super) fn on_session_command(&mut self, command: SessionCommand) -> Vec<Effect> {
        if !matches!(command, SessionCommand::Keep | SessionCommand::SaveTo(_)) {
            self.keeping.anew = None;
        }
        match command {
            SessionCommand::New(anew) => return self.on_new(anew),
            SessionCommand::Begin => return self.ask_for(Doing::Beginning, SessionRequest::Begin),
            SessionCommand::Keep => return self.keep_if_changed(),
            SessionCommand::End { has_work } => {
                let json = (has_work && !self.is_blank()).then(|| Arc::new(self.to_keep().to_json()));
                return self.ask_for(Doing::Discarding, SessionRequest::SetAside { json, is_end: true });
            }
            SessionCommand::Save => {
                return match self.keeping.file.clone() {
                    Some(SavedAs { path, checksum }) => self.save_to(path, checksum),
                    None => self.on_session_command(SessionCommand::SaveAs),
                };
            }
            SessionCommand::SaveAs => {
                let name = self.keeping.name().unwrap_or_else(|| format!("session.{EXTENSION}"));
                return vec![Effect::SaveSession { name }];
            }
            SessionCommand::SaveTo(path) => return self.save_to(path, None),
            SessionCommand::Open(path) => return self.open_session(path),
            SessionCommand::Recover(idx) => return self.recover(idx),
            SessionCommand::Discard(idx) => {
                if idx < self.keeping.left.len() {
                    let number = self.keeping.left.remove(idx).number;
                    return self.ask_for(Doing::Discarding, SessionRequest::Discard(number));
                }
            }
            SessionCommand::SetNotes(notes) => {
                if notes.len() <= MAX_NOTES {
                    self.keeping.notes = notes;
                }
            }
            SessionCommand::Bookmark(command) => return self.on_bookmark_command(command),
            SessionCommand::CopyAddress => match self.address(self.pane()) {
                Ok((address, left_out)) => {
                    self.inform("Link copied".to_owned(), left_out.unwrap_or_default().to_owned());
                    return vec![Effect::CopyText(address.to_string())];
                }
                Err(failure) => self.notify(NoticeKind::Error, failure),
            },
            SessionCommand::GoTo(address) => return self.go_to_address(*address),
            SessionCommand::ModelIsAt(path) => return self.model_is_at(path),
            SessionCommand::UseModel => self.use_model(),
            SessionCommand::LeaveModel => self.leave_model(),
        }
        Vec::new()
    }

    /// Reads a session file; what is shown is kept as the session that was closed last.
    pub(super) fn open_session(&mut self, path: PathBuf) -> Vec<Effect> {
        self.ask_for(Doing::Opening, SessionRequest::Read(path))
    }

    pub(super) fn ask_for(&mut self, doing: Doing, request: SessionRequest) -> Vec<Effect> {
        let job = self.new_job();
        self.keeping.jobs.push((job, doing));
        vec![Effect::Submit(job, Request::Session(request))]
    }

    /// What is kept for the case of a crash: it knows its file, too.
    pub(super) fn to_keep(&self) -> Saved {
        Saved { saved_as: self.keeping.file.clone(), ..self.saved() }
    }

    fn keep_if_changed(&mut self) -> Vec<Effect> {
        if self.is_blank() {
            return Vec::new();
        }
        let saved = self.to_keep();
        let as_written = Saved { saved_as: None, ..saved.clone() };
        self.keeping.is_changed = self.keeping.written.as_ref().is_some_and(|written| *written != as_written);
        let is_on_its_way = |doing: &Doing| matches!(doing, Doing::Keeping(on_its_way) if **on_its_way == saved);
        if self.keeping.kept.as_ref() == Some(&saved) || self.keeping.jobs.iter().any(|(_, it)| is_on_its_way(it)) {
            return Vec::new();
        }
        self.keep(saved, None)
    }

    fn keep(&mut self, saved: Saved, instead_of: Option<u64>) -> Vec<Effect> {
        let json = Arc::new(saved.to_json());
        self.ask_for(Doing::Keeping(Box::new(saved)), SessionRequest::Keep(json, instead_of))
    }

    fn save_to(&mut self, path: PathBuf, replaces: Option<String>) -> Vec<Effect> {
        let saved = self.saved();
        let json = Arc::new(saved.to_json());
        self.ask_for(Doing::Saving(Box::new(saved)), SessionRequest::Write { path, json, replaces })
    }

    /// What is shown now can be had again as the session that was closed last.
    fn set_aside(&mut self) -> Vec<Effect> {
        let json = Some(Arc::new(self.to_keep().to_json()));
        self.ask_for(Doing::Discarding, SessionRequest::SetAside { json, is_end: false })
    }

    fn recover(&mut self, idx: usize) -> Vec<Effect> {
        if idx >= self.keeping.left.len() {
            return Vec::new();
        }
        let Left { number, mut saved, .. } = self.keeping.left.remove(idx);
        let mut effects = if self.keeping.kept.is_some() { self.set_aside() } else { Vec::new() };
        let file = saved.saved_as.take();
        effects.extend(self.open_saved(saved));
        // What it differs by from its file is not known, and is not to be lost.
        (self.keeping.written, self.keeping.is_changed) = (Some(Saved::default()), file.is_some());
        self.keeping.file = file;
        self.inform("The session is restored".to_owned(), String::new());
        // Only when it is kept here it is no longer needed there.
        let kept = self.to_keep();
        effects.extend(self.keep(kept, Some(number)));
        effects
    }

    pub(super) fn on_session_event(&mut self, job: JobId, kind: EventKind) -> Vec<Effect> {
        let Some(at) = self.keeping.jobs.iter().position(|(waiting, _)| *waiting == job) else { return Vec::new() };
        if matches!(kind, EventKind::Progress(_)) {
            return Vec::new();
        }
        let (_, doing) = self.keeping.jobs.remove(at);
        match (kind, doing) {
            (EventKind::Session(answer), Doing::Closing) => {
                self.took_aside(&answer);
                self.close_everything()
            }
            (EventKind::Session(answer), doing) => self.on_session_answer(*answer, doing),
            (EventKind::Failed(failure), Doing::Closing) => {
                let summary = "Nothing was closed, because the session could not be saved for later".to_owned();
                let details = format!("{} Save the session to a file first. {}", failure.summary, failure.details);
                self.notify(NoticeKind::Error, Failure { summary, details: details.trim_end().to_owned() });
                Vec::new()
            }
            (EventKind::Failed(failure), Doing::Beginning | Doing::Keeping(_) | Doing::Discarding) => {
                self.tell_not_kept(&failure);
                Vec::new()
            }
            (EventKind::Failed(failure), _) => {
                self.notify(NoticeKind::Error, failure);
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    fn on_session_answer(&mut self, answer: SessionAnswer, doing: Doing) -> Vec<Effect> {
        match (answer, doing) {
            (SessionAnswer::Begun(left, last), _) => {
                let read = |LeftBehind { number, age_secs, json }| {
                    let saved = Saved::from_json(json, Path::new("")).ok()?;
                    Some(Left { number, age_secs, saved })
                };
                self.keeping.left = left.into_iter().filter_map(read).collect();
                self.keeping.last = last;
            }
            (SessionAnswer::Done, Doing::Keeping(saved)) => {
                (self.keeping.kept, self.keeping.is_told) = (Some(*saved), false);
            }
            (SessionAnswer::Read { path, json, checksum, is_kept }, _) => {
                return self.show_read(path, json, checksum, is_kept);
            }
            (SessionAnswer::Written { path, checksum }, Doing::Saving(saved)) => {
                self.settings.remember_session(&path);
                let details = [
                    vec![path.to_string_lossy().into_owned()],
                    self.unwritten().iter().map(|it| (*it).to_owned()).collect(),
                ];
                self.inform("Session saved".to_owned(), details.concat().join("\n"));
                self.keeping.file = Some(SavedAs { path, checksum: Some(checksum) });
                (self.keeping.written, self.keeping.is_changed) = (Some(*saved), false);
                if self.keeping.anew.take() == Some(Anew::Save) {
                    return self.on_new(Anew::Begin);
                }
            }
            (answer @ SessionAnswer::PutAside(_), _) => self.took_aside(&answer),
            (SessionAnswer::Done | SessionAnswer::Written { .. }, _) => {}
            (SessionAnswer::ChangedElsewhere(path), _) => {
                let summary = format!("{} was not replaced: another window has saved it since", file_name(&path));
                let details = format!(
                    "Save this session under another name, or open the file to see what is there now\n{}",
                    path.display()
                );
                self.notify(NoticeKind::Error, Failure { summary, details });
            }
        }
        Vec::new()
    }

    /// Shows a session that was read.
    fn show_read(&mut self, path: PathBuf, json: Value, checksum: String, is_kept: bool) -> Vec<Effect> {
        let folder = path.parent().unwrap_or(Path::new(""));
        let mut saved = match Saved::from_json(json, folder) {
            Ok(saved) => saved,
            Err(error) => {
                let summary = sentence(&error.to_string());
                self.notify(NoticeKind::Error, Failure { summary, details: path.display().to_string() });
                return Vec::new();
            }
        };
        // Nothing that was not saved is lost by looking at something else; what was only opened needs no keeping.
        let mut effects = if self.keeping.kept.is_some() && !is_kept { self.set_aside() } else { Vec::new() };
        let file = saved.saved_as.take();
        effects.extend(self.open_saved(saved));
        if is_kept {
            (self.keeping.written, self.keeping.is_changed) = (Some(Saved::default()), file.is_some());
            self.keeping.file = file;
            self.inform("The closed session is open again".to_owned(), String::new());
        } else {
            self.settings.remember_session(&path);
            self.inform("Session opened".to_owned(), path.to_string_lossy().into_owned());
            self.keeping.file = Some(SavedAs { path, checksum: Some(checksum) });
            (self.keeping.written, self.keeping.is_changed) = (Some(self.saved()), false);
        }
        effects
    }

    /// Once, until it can be kept again.
    fn tell_not_kept(&mut self, failure: &Failure) {
        if std::mem::replace(&mut self.keeping.is_told, true) {
            return;
        }
        let summary = "The session cannot be saved automatically".to_owned();
        let details = format!("Save the session yourself now and then. {} {}", failure.summary, failure.details);
        self.notify(NoticeKind::Error, Failure { summary, details: details.trim_end().to_owned() });
    }
}
