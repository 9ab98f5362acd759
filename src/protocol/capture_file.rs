//! Captures that were read from a file.

use std::{borrow::Cow, path::PathBuf, sync::Arc};

use crate::{
    analysis::{by_hand::Numbers, head_folder::HeadFolder},
    capture::Capture,
};

/// A capture file that was read. Reading it again gives another one.
#[derive(Clone, Debug)]
pub struct CaptureFile {
    pub path: PathBuf,
    /// One per input, in the file's order; never empty.
    pub captures: Vec<Arc<Capture>>,
    /// The numbers that its capture is computed of, where those were typed.
    pub numbers: Option<Arc<Numbers>>,
    /// A folder of heads, where that was opened in place of a file; its one capture has no patterns.
    pub folder: Option<Arc<HeadFolder>>,
}

impl PartialEq for CaptureFile {
    fn eq(&self, other: &Self) -> bool {
        let ids = |file: &Self| file.captures.iter().map(|capture| capture.id()).collect::<Vec<_>>();
        self.path == other.path && ids(self) == ids(other)
    }
}

impl CaptureFile {
    /// What to call it: the file's name.
    pub fn name(&self) -> Cow<'_, str> {
        self.path.file_name().unwrap_or(self.path.as_os_str()).to_string_lossy()
    }
}
