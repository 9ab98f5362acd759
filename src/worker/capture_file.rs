//! Capture files among the paths that a user opens.

use std::{
    collections::HashMap,
    fs::File,
    io::{self, BufReader, Read, Seek, SeekFrom},
    path::Path,
    sync::Arc,
};

use serde_json::Value;

use super::{EventKind, Failure, JobControl, Progress, Stage, Stop};
use crate::{
    capture::file::{self, FileError},
    model,
};

/// Headers of captures are far smaller.
const MAX_HEADER_BYTES: u64 = 100 << 20;

/// Whether a file says in its header that it is a capture, or holds patterns as captures do. Weights
/// have the same container, so the name does not tell.
pub(super) fn is_capture(path: &Path) -> bool {
    path.is_file() && read_header(path).is_ok_and(|header| describes_capture(&header))
}

/// The header of a safetensors file: JSON, behind its length as eight bytes.
fn read_header(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let mut length = [0; 8];
    file.read_exact(&mut length)?;
    let length = u64::from_le_bytes(length);
    if length > MAX_HEADER_BYTES {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut header = Vec::new();
    file.take(length).read_to_end(&mut header)?;
    Ok(header)
}

fn describes_capture(header: &[u8]) -> bool {
    let Ok(entries) = serde_json::from_slice::<HashMap<String, Value>>(header) else { return false };
    let format = entries.get("__metadata__").and_then(|metadata| metadata.get("format")?.as_str());
    format == Some("attnscope-capture") || entries.keys().any(|name| name.ends_with(".pattern"))
}

/// Reads the first capture of a file.
pub(super) fn open(path: &Path, control: &JobControl) -> Result<EventKind, Stop> {
    control.report(Progress { stage: Stage::Load, done: 0, total: 1 })?;
    let name = path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy();
    let read = File::open(path).map_err(FileError::from).and_then(|file| {
        let mut source = Interruptible { source: BufReader::new(file), control };
        file::read(&mut source, &name, &mut model::next_capture_id)
    });
    control.check()?;
    let captures = read
        .map_err(|error| Stop::Failed(Failure { summary: error.to_string(), details: path.display().to_string() }))?;
    let n_captures = captures.len();
    if n_captures > 1 {
        log::info!("the first of {n_captures} captures is shown");
    }
    let capture = captures.into_iter().next().ok_or_else(|| {
        let summary = FileError::NoAttention.to_string();
        Stop::Failed(Failure { summary, details: path.display().to_string() })
    })?;
    Ok(EventKind::Captured(Arc::new(capture)))
}

/// Reading from it fails when the job was told to stop.
struct Interruptible<'a, R> {
    source: R,
    control: &'a JobControl,
}

impl<R: Read> Read for Interruptible<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.control.check().map_err(io::Error::other)?;
        self.source.read(buffer)
    }
}

impl<R: Seek> Seek for Interruptible<'_, R> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.source.seek(to)
    }
}
