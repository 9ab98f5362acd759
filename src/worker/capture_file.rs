//! Capture files among the paths that a user opens: our own, and attention of other programs.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Read, Seek, SeekFrom},
    path::Path,
    sync::Arc,
};

use super::{JobControl, Stop};
use crate::{
    analysis::{
        by_hand::{self, Numbers},
        laws,
    },
    capture::{
        Capture,
        file::{self, FileError, Format},
    },
    json_file,
    model::{self, Progress, Stage},
    protocol::{CaptureFile, Failure},
    tensor_file::Header,
};

/// Headers of captures are far smaller.
const MAX_HEADER_BYTES: u64 = 100 << 20;
/// How often progress is told, in bytes.
const STEP_BYTES: u64 = 1 << 20;

/// The format of a file with captures; `None` for weights, folders and everything else.
///
/// Weights have the same container as our captures, so what is inside tells, not the name.
pub(super) fn format(path: &Path) -> Option<Format> {
    if !path.is_file() {
        return None;
    }
    match path.file_name().and_then(|name| Format::of_name(name.to_str()?)) {
        Some(Format::Json) if belongs_to_model(path) => None,
        Some(format @ (Format::Json | Format::JsonGz | Format::Npy | Format::Npz)) => Some(format),
        Some(Format::Safetensors) | None => holds_captures(path).then_some(Format::Safetensors),
    }
}

/// Whether a JSON file is a part of a checkpoint, to judge by its name.
fn belongs_to_model(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name == "config.json" || name.ends_with(".index.json")
}

/// Whether a safetensors file holds captures rather than weights.
fn holds_captures(path: &Path) -> bool {
    // Of any length: a capture that was cut short is to be told so as a capture.
    let read = |mut file| Header::read(&mut file, u64::MAX, MAX_HEADER_BYTES).map_err(io::Error::other);
    File::open(path).and_then(read).is_ok_and(|header| {
        let format = header.metadata.get("format").and_then(|format| format.as_str());
        format == Some("attnscope-capture") || header.tensors.iter().any(|tensor| tensor.name.ends_with(".pattern"))
    })
}

/// Reads every capture of a file.
pub(super) fn open(path: &Path, format: Format, control: &JobControl) -> Result<CaptureFile, Stop> {
    let name = path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy();
    let read = File::open(path)
        .and_then(|file| Ok((file.metadata()?.len(), file)))
        .map_err(|error| FileError::from(error).to_string());
    let read = read.and_then(|(n_bytes, source)| {
        let mut source = BufReader::new(Watched { source, n_bytes, n_read: 0, control });
        let numbers = read_numbers(&mut source, format)?;
        let captures = match &numbers {
            Some(numbers) => vec![computed(numbers, &name)?],
            None => read_captures(&mut source, format, &name)?,
        };
        Ok((captures, numbers))
    });
    control.check()?;
    let (captures, numbers) =
        read.map_err(|summary| Stop::Failed(Failure { summary, details: path.display().to_string() }))?;
    let captures = captures.into_iter().map(checked).map(Arc::new).collect();
    Ok(CaptureFile { path: path.to_owned(), captures, numbers: numbers.map(Arc::new), folder: None })
}

/// Reads every capture of a file, or computes the one of numbers that were typed.
///
/// # Errors
/// One sentence: why that is not possible.
pub fn read_captures(source: &mut (impl BufRead + Seek), format: Format, name: &str) -> Result<Vec<Capture>, String> {
    match read_numbers(source, format)? {
        Some(numbers) => Ok(vec![computed(&numbers, name)?]),
        None => file::read(source, format, name, &mut model::next_capture_id).map_err(|error| error.to_string()),
    }
}

/// The numbers that somebody typed into a file; `None` for a file of another kind, which is not read then.
fn read_numbers(source: &mut impl BufRead, format: Format) -> Result<Option<Numbers>, String> {
    if format != Format::Json || !by_hand::begins(source.fill_buf().unwrap_or(&[])) {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    let most = json_file::MAX_BYTES as u64 + 1;
    source.take(most).read_to_end(&mut bytes).map_err(|error| FileError::from(error).to_string())?;
    Numbers::from_json(&bytes).map(Some).map_err(|error| error.to_string())
}

fn computed(numbers: &Numbers, name: &str) -> Result<Capture, String> {
    numbers.capture(name, model::next_capture_id()).map_err(|error| error.to_string())
}

/// With a note when q and k do not give the patterns beside them.
fn checked(capture: Capture) -> Capture {
    let Some((head, worst)) = laws::unexplained_pattern(&capture) else { return capture };
    let kind = head.stack.name();
    capture.with_note(format!(
        "q and k of {kind} {head} do not give its pattern (off by up to {worst:.2}): the file lacks a scale, bias \
        or rotation, so distances in query–key maps may not follow its attention"
    ))
}

/// Tells how far reading is, and fails when the job was told to stop.
struct Watched<'a> {
    source: File,
    n_bytes: u64,
    n_read: u64,
    control: &'a JobControl,
}

impl Read for Watched<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.control.check().map_err(io::Error::other)?;
        let n = self.source.read(buffer)?;
        let before = self.n_read / STEP_BYTES;
        self.n_read += n as u64;
        let done = self.n_read / STEP_BYTES;
        if done != before {
            let total = (self.n_bytes / STEP_BYTES).max(done) as usize;
            self.control
                .report(Progress { stage: Stage::Open, done: done as usize, total })
                .map_err(io::Error::other)?;
        }
        Ok(n)
    }
}

impl Seek for Watched<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.source.seek(to)
    }
}
