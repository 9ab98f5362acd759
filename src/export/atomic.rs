//! Whole files or none: bytes go to a temporary name beside the target, which is then renamed.

use std::{
    borrow::Cow,
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, BufWriter, ErrorKind, Write},
    path::{Path, PathBuf},
};

use super::ExportError;

/// How names of temporary files begin.
const PREFIX: &str = ".attnscope-";
/// How they end.
const SUFFIX: &str = ".part";

/// Calls `write` with a buffered writer and, when it succeeded, puts what it wrote at `path`.
///
/// A reader of `path` sees the old file or the new one, never a part; when anything fails, or the program
/// is killed, the old file stays. A link leads to the file that is written, and stays a link; what is no file, such as
/// a device or a pipe, is never replaced.
///
/// # Errors
/// A missing folder, a place that is no file, a full disk, missing permission, or what `write` returned.
pub fn atomic_write(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), ExportError> {
    if path.file_name().is_none() || path.is_dir() {
        return Err(ExportError::IsFolder(path.to_owned()));
    }
    if fs::metadata(path).is_ok_and(|there| !there.is_file()) {
        return Err(ExportError::NoFile(path.to_owned()));
    }
    let behind = fs::symlink_metadata(path).is_ok_and(|there| there.is_symlink()).then(|| fs::canonicalize(path).ok());
    let path = behind.flatten().map_or(Cow::Borrowed(path), Cow::Owned);
    let path = path.as_ref();
    let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !folder.is_dir() {
        return Err(ExportError::NoFolder(folder.to_owned()));
    }
    remove_abandoned(folder);
    let written = create_beside(path).and_then(|(file, temporary)| {
        let mut out = Remembering { out: BufWriter::with_capacity(1 << 20, file), failed: None };
        let written = write(&mut out).and_then(|()| out.flush());
        written.map_err(|error| io::Error::new(out.failed.unwrap_or(error.kind()), error))?;
        // Some file systems report a full disk only now; without it the rename could publish a short file.
        out.out.get_ref().sync_all()?;
        // Windows cannot rename a file that is open.
        drop(out);
        temporary.publish(path)
    });
    written.map_err(|source| explain(source, path))
}

/// Removes what killed programs had half written in a folder. Whoever writes holds a lock, of which the system lets go
/// with the process.
pub fn remove_abandoned(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let is_part = |name: &str| name.starts_with(PREFIX) && name.ends_with(SUFFIX);
        if entry.file_name().to_str().is_some_and(is_part)
            && entry.file_type().is_ok_and(|kind| kind.is_file())
            && let Ok(file) = OpenOptions::new().write(true).open(entry.path())
            && file.try_lock().is_ok()
        {
            // Nobody needs to know if it cannot be: the next one tries again.
            fs::remove_file(entry.path()).ok();
        }
    }
}

fn explain(source: io::Error, path: &Path) -> ExportError {
    let path = path.to_owned();
    match source.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => ExportError::DiskFull(path),
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => ExportError::NotAllowed(path),
        _ => ExportError::Io { source, path },
    }
}

/// Knows why writing failed: encoders make texts of errors, and a full disk is no longer told from anything else.
struct Remembering {
    out: BufWriter<File>,
    failed: Option<ErrorKind>,
}

impl Remembering {
    fn remember<T>(&mut self, answer: io::Result<T>) -> io::Result<T> {
        if let Err(error) = &answer
            && error.kind() != ErrorKind::Interrupted
        {
            self.failed.get_or_insert(error.kind());
        }
        answer
    }
}

impl Write for Remembering {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let answer = self.out.write(bytes);
        self.remember(answer)
    }

    fn flush(&mut self) -> io::Result<()> {
        let answer = self.out.flush();
        self.remember(answer)
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
        let temporary = path.with_file_name(format!("{PREFIX}{}-{attempt}{SUFFIX}", std::process::id()));
        match OpenOptions::new().write(true).create_new(true).open(&temporary) {
            // Whoever cleans up may have been faster than the lock.
            Ok(file) if !matches!(file.try_lock(), Err(TryLockError::WouldBlock)) && temporary.exists() => {
                return Ok((file, Temporary(Some(temporary))));
            }
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::new(ErrorKind::AlreadyExists, "no free temporary name"))
}
