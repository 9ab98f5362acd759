//! Whole files or none: bytes go to a temporary name beside the target, which is then renamed.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, BufWriter, ErrorKind, Write},
    path::{Path, PathBuf},
};

use super::ExportError;

/// Calls `write` with a buffered writer and, when it succeeded, puts what it wrote at `path`.
///
/// A reader of `path` sees the old file or the new one, never a part; when anything fails, or the program
/// is killed, the old file stays.
///
/// # Errors
/// A missing folder, a full disk, missing permission, or what `write` returned.
pub fn atomic_write(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), ExportError> {
    if path.file_name().is_none() || path.is_dir() {
        return Err(ExportError::IsFolder(path.to_owned()));
    }
    let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !folder.is_dir() {
        return Err(ExportError::NoFolder(folder.to_owned()));
    }
    let written = create_beside(path).and_then(|(file, temporary)| {
        let mut out = BufWriter::with_capacity(1 << 20, file);
        write(&mut out)?;
        out.flush()?;
        // Some file systems report a full disk only now; without it the rename could publish a short file.
        out.get_ref().sync_all()?;
        // Windows cannot rename a file that is open.
        drop(out);
        temporary.publish(path)
    });
    written.map_err(|source| explain(source, path))
}

fn explain(source: io::Error, path: &Path) -> ExportError {
    let path = path.to_owned();
    match source.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => ExportError::DiskFull(path),
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => ExportError::NotAllowed(path),
        _ => ExportError::Io { source, path },
    }
}

/// A file that is removed unless it is published.
struct Temporary(Option<PathBuf>);

impl Temporary {
    fn publish(mut self, path: &Path) -> io::Result<()> {
        if let Some(temporary) = &self.0 {
            fs::rename(temporary, path)?;
        }
        self.0 = None;
        Ok(())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            // Nothing more can be done about it, and the first error is the one to report.
            fs::remove_file(path).ok();
        }
    }
}

fn create_beside(path: &Path) -> io::Result<(File, Temporary)> {
    for attempt in 0..100 {
        // Not derived from the target's name, which may already be as long as the file system allows.
        let temporary = path.with_file_name(format!(".attnscope-{}-{attempt}.part", std::process::id()));
        match OpenOptions::new().write(true).create_new(true).open(&temporary) {
            Ok(file) => return Ok((file, Temporary(Some(temporary)))),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::new(ErrorKind::AlreadyExists, "no free temporary name"))
}
