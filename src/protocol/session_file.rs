//! Requests about session files, and the answers.

use std::{path::PathBuf, sync::Arc};

use serde_json::Value;

/// Something to do with files of sessions.
#[derive(Clone, Debug)]
pub enum SessionRequest {
    /// Take a file for what this window shows, and look what others have left behind.
    Begin,
    /// Keep what the window shows now; then what another window left, whose work this is now, is no longer needed.
    Keep(Arc<Value>, Option<u64>),
    /// Keep this as the session that was closed last.
    SetAside {
        /// What; nothing where nobody has done anything.
        json: Option<Arc<Value>>,
        /// Whether the window is closed with it.
        is_end: bool,
    },
    /// Throw away what another window left behind.
    Discard(u64),
    Read(PathBuf),
    Write {
        path: PathBuf,
        json: Arc<Value>,
        /// The checksum of what may be replaced; `None` for whatever is there.
        replaces: Option<String>,
    },
}

/// What came of it.
#[derive(Clone, Debug)]
pub enum SessionAnswer {
    /// What others have left behind, the newest first, and where the session that was closed last is.
    Begun(Vec<LeftBehind>, Option<PathBuf>),
    /// It is kept, or was thrown away.
    Done,
    /// It is kept here as the session that was closed last.
    PutAside(PathBuf),
    Read {
        path: PathBuf,
        json: Value,
        /// SHA-256 of its bytes.
        checksum: String,
        /// Whether it is one of those that are kept here, and nobody's file.
        is_kept: bool,
    },
    /// A session file was written.
    Written {
        path: PathBuf,
        /// SHA-256 of its bytes.
        checksum: String,
    },
    /// Somebody else has written to the file, so nothing was written.
    ChangedElsewhere(PathBuf),
}

/// What a window showed that did not end well.
#[derive(Clone, Debug, PartialEq)]
pub struct LeftBehind {
    pub number: u64,
    /// How long ago it was kept, in seconds.
    pub age_secs: u64,
    pub json: Value,
}
