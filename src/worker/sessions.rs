//! The thread that reads and writes session files, and keeps what a window shows for the case that it does not end well.
//!
//! In a folder beside the settings each window has a file of its own with what it shows (`window-N.attnscope`), and a
//! lock on another one (`window-N.lock`) for as long as it lives, however it ends: the system lets go of it. So another
//! window knows what was left behind, and two windows never write to one file. What a window showed that was closed is
//! `last.attnscope`.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read as _},
    path::{Path, PathBuf},
    time::SystemTime,
};

use serde_json::Value;

use super::{JobControl, Stop, thread::Engine};
use crate::{
    digest::sha256,
    export::{atomic_write, remove_abandoned},
    json_file::{self, MAX_BYTES},
    protocol::{EventKind, Failure, LeftBehind, Request, SessionAnswer, SessionRequest},
    text::{sentence, unreadable},
};

/// Session of the window that was closed last.
const LAST: &str = "last.attnscope";
/// Held for moments, while windows agree about who has which file.
const TURN: &str = "turn.lock";
/// Windows at a time.
const MAX_WINDOWS: usize = 64;

/// Reads and writes session files.
#[derive(Debug, Default)]
pub struct SessionEngine {
    /// Where things are kept; `None` where nothing is to be.
    folder: Option<PathBuf>,
    own: Option<LockedFile>,
    /// What others have left behind, with their numbers.
    left: Vec<(u64, LockedFile)>,
}

/// A file of a window, and the lock that says whose it is.
#[derive(Debug)]
struct LockedFile {
    file: PathBuf,
    lock: PathBuf,
    /// Held for as long as this lives.
    held: File,
}

impl LockedFile {
    /// `None` when somebody else has it.
    fn take(folder: &Path, number: usize) -> io::Result<Option<Self>> {
        let [file, lock] = ["attnscope", "lock"].map(|ending| folder.join(format!("window-{number}.{ending}")));
        let held = OpenOptions::new().create(true).truncate(false).write(true).open(&lock)?;
        match held.try_lock() {
            Ok(()) => Ok(Some(Self { file, lock, held })),
            Err(fs::TryLockError::WouldBlock) => Ok(None),
            Err(fs::TryLockError::Error(error)) => Err(error),
        }
    }

    /// Nothing of it is needed any more.
    fn remove(self) -> io::Result<()> {
        let removed = fs::remove_file(&self.file);
        // The name goes first where that can be, so that nobody takes what is let go of.
        let first = fs::remove_file(&self.lock);
        drop(self.held);
        if first.is_err() {
            fs::remove_file(&self.lock).ok();
        }
        match removed {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

impl SessionEngine {
    /// Keeps things in `folder`; nowhere without one.
    pub const fn new(folder: Option<PathBuf>) -> Self {
        Self { folder, own: None, left: Vec::new() }
    }

    /// Takes a file for this window, and what others have left behind.
    fn begin(&mut self) -> io::Result<SessionAnswer> {
        let Some(folder) = self.folder.clone() else { return Ok(SessionAnswer::Begun(Vec::new(), None)) };
        let _turn = turn(&folder)?;
        for number in 0..MAX_WINDOWS {
            let left_before = folder.join(format!("window-{number}.attnscope")).is_file();
            if self.own.is_some() && !left_before {
                continue;
            }
            let Some(place) = LockedFile::take(&folder, number)? else { continue };
            if left_before {
                self.left.push((number as u64, place));
            } else {
                self.own = Some(place);
            }
        }
        remove_abandoned(&folder);
        let last = Some(folder.join(LAST)).filter(|last| last.is_file());
        let mut left: Vec<LeftBehind> = self.left.iter().filter_map(|(number, place)| look(*number, place)).collect();
        left.sort_by_key(|left| left.age_secs);
        Ok(SessionAnswer::Begun(left, last))
    }

    /// Keeps what the window shows now.
    fn keep(&mut self, json: &Value, instead_of: Option<u64>) -> Result<SessionAnswer, Failure> {
        if self.folder.is_none() {
            return Ok(SessionAnswer::Done);
        }
        if self.own.is_none() {
            // There was no room, or no folder, when the window was opened.
            self.begin().map_err(|error| not_kept(&error))?;
        }
        let Some(own) = &self.own else { return Err(not_kept(&io::Error::other("too many windows are open"))) };
        write(&own.file, json)?;
        if let Some(number) = instead_of {
            self.discard(number).map_err(|error| not_kept(&error))?;
        }
        Ok(SessionAnswer::Done)
    }

    /// Keeps a session that is closed, where the next window finds it.
    fn set_aside(&mut self, json: Option<&Value>, is_end: bool) -> Result<SessionAnswer, Failure> {
        let Some(folder) = self.folder.clone() else { return Ok(SessionAnswer::Done) };
        let _turn = turn(&folder).map_err(|error| not_kept(&error))?;
        let last = folder.join(LAST);
        if let Some(json) = json {
            write(&last, json)?;
        }
        if let Some(own) = self.own.take_if(|_| is_end) {
            own.remove().map_err(|error| not_kept(&error))?;
        }
        Ok(if json.is_some() { SessionAnswer::PutAside(last) } else { SessionAnswer::Done })
    }

    fn discard(&mut self, number: u64) -> io::Result<()> {
        match self.left.iter().position(|(known, _)| *known == number) {
            Some(at) => {
                let _turn = self.folder.as_deref().map(turn).transpose()?;
                self.left.swap_remove(at).1.remove()
            }
            None => Ok(()),
        }
    }

    fn read(&self, path: PathBuf) -> Result<SessionAnswer, Failure> {
        let bytes = read_bounded(&path)?;
        let json = json_file::read(&bytes)
            .map_err(|error| failure(&format!("this session file cannot be read: {error}"), &path))?;
        let is_kept = self.folder.as_deref().is_some_and(|folder| path.parent() == Some(folder));
        Ok(SessionAnswer::Read { path, json, checksum: sha256(&bytes), is_kept })
    }

    fn write(&self, path: PathBuf, json: &Value, replaces: Option<&str>) -> Result<SessionAnswer, Failure> {
        // Without the folder there is nobody to agree with.
        let _turn = self.folder.as_deref().and_then(|folder| turn(folder).ok());
        if let Some(known) = replaces
            && path.exists()
            && sha256(&read_bounded(&path)?) != known
        {
            return Ok(SessionAnswer::ChangedElsewhere(path));
        }
        let checksum = write(&path, json)?;
        Ok(SessionAnswer::Written { path, checksum })
    }
}

impl Engine for SessionEngine {
    const THREAD: &'static str = "session-worker";

    fn answer(&mut self, request: Request, _: &JobControl) -> Result<EventKind, Stop> {
        let Request::Session(request) = request else {
            let details = format!("Please report this: {:?}", request.lane());
            return Err(Stop::Failed(Failure { summary: "This is not a session".to_owned(), details }));
        };
        let answer = match request {
            SessionRequest::Begin => self.begin().map_err(|error| not_kept(&error)),
            SessionRequest::Keep(json, instead_of) => self.keep(&json, instead_of),
            SessionRequest::SetAside { json, is_end } => self.set_aside(json.as_deref(), is_end),
            SessionRequest::Discard(number) => {
                self.discard(number).map(|()| SessionAnswer::Done).map_err(|error| not_kept(&error))
            }
            SessionRequest::Read(path) => self.read(path),
            SessionRequest::Write { path, json, replaces } => self.write(path, &json, replaces.as_deref()),
        };
        answer.map(|answer| EventKind::Session(Box::new(answer))).map_err(Stop::Failed)
    }
}

/// Waits until no other window is deciding about files.
fn turn(folder: &Path) -> io::Result<File> {
    fs::create_dir_all(folder)?;
    let file = OpenOptions::new().create(true).truncate(false).write(true).open(folder.join(TURN))?;
    file.lock()?;
    Ok(file)
}

/// What a window left behind; `None` when it is of no use to anybody.
fn look(number: u64, place: &LockedFile) -> Option<LeftBehind> {
    let kept = fs::metadata(&place.file).and_then(|metadata| metadata.modified());
    let age = kept.ok().and_then(|kept| SystemTime::now().duration_since(kept).ok());
    let json = json_file::read(&read_bounded(&place.file).ok()?).ok()?;
    Some(LeftBehind { number, age_secs: age.unwrap_or_default().as_secs(), json })
}

/// All bytes of a file that may be a session; a pipe or a device is none.
fn read_bounded(path: &Path) -> Result<Vec<u8>, Failure> {
    let cannot = |error: &io::Error| failure(&format!("this session file cannot be read: {}", unreadable(error)), path);
    let metadata = fs::metadata(path).map_err(|error| cannot(&error))?;
    if !metadata.is_file() {
        return Err(failure("this is not a session file: it is a folder or a device", path));
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(|error| cannot(&error))?;
    // One byte more than is read tells a file that is too large, whatever its metadata claim.
    file.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(|error| cannot(&error))?;
    Ok(bytes)
}

fn write(path: &Path, json: &Value) -> Result<String, Failure> {
    let text = serde_json::to_vec_pretty(json).map_err(|error| failure(&error.to_string(), path))?;
    if text.len() > MAX_BYTES {
        let mb = MAX_BYTES >> 20;
        let why = format!("this session is larger than {mb} MB, mostly because of weights edited by hand or patched");
        return Err(failure(&format!("{why}, so it could not be opened again: remove some of its changes"), path));
    }
    atomic_write(path, |out| out.write_all(&text))
        .map_err(|error| Failure { summary: error.to_string(), details: String::new() })?;
    Ok(sha256(&text))
}

fn failure(clause: &str, path: &Path) -> Failure {
    Failure { summary: sentence(clause), details: path.display().to_string() }
}

fn not_kept(error: &io::Error) -> Failure {
    Failure { summary: sentence(&unreadable(error)), details: String::new() }
}
