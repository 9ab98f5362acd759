//! A content while it arrives: the `.incomplete` file, with its checksum computed alongside.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read as _, Seek as _, SeekFrom, Write as _},
    path::{Path, PathBuf},
};

use super::checksum::{Checksum, Hasher};

const CHUNK_BYTES: usize = 1 << 20;

/// Bytes from the start of a content, on disk.
pub struct Partial {
    file: File,
    path: PathBuf,
    len: u64,
    size_bytes: u64,
    checksum: Option<Checksum>,
    hasher: Option<Hasher>,
    /// Whether some bytes are from an earlier run, about which nothing is known.
    resumed: bool,
}

impl Partial {
    /// Opens what an earlier run left, or starts anew. `None` when `go_on` said no, which is asked
    /// while what is there is read for the checksum.
    pub fn open(
        path: PathBuf,
        size_bytes: u64,
        checksum: Option<&Checksum>,
        go_on: &dyn Fn() -> bool,
    ) -> io::Result<Option<Self>> {
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path)?;
        let there = file.metadata()?.len();
        let checksum = checksum.cloned();
        let hasher = checksum.as_ref().map(|checksum| checksum.start(size_bytes));
        let mut partial = Self { file, path, len: 0, size_bytes, checksum, hasher, resumed: false };
        if there > size_bytes {
            partial.restart()?;
        }
        Ok(partial.take_over(there.min(size_bytes), go_on)?.then_some(partial))
    }

    /// Bytes that are here.
    pub const fn len(&self) -> u64 {
        self.len
    }

    /// Whether some bytes are from an earlier run.
    pub const fn is_resumed(&self) -> bool {
        self.resumed
    }

    /// Adds the next bytes.
    pub fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)?;
        self.len += bytes.len() as u64;
        if let Some(hasher) = &mut self.hasher {
            hasher.update(bytes);
        }
        Ok(())
    }

    /// Forgets everything that arrived.
    pub fn restart(&mut self) -> io::Result<()> {
        self.file.set_len(0)?;
        self.file.rewind()?;
        self.len = 0;
        self.resumed = false;
        self.hasher = self.checksum.as_ref().map(|checksum| checksum.start(self.size_bytes));
        Ok(())
    }

    /// Whether all bytes are here and are the announced ones.
    pub fn is_right(&self) -> bool {
        let right = match (&self.checksum, &self.hasher) {
            (Some(checksum), Some(hasher)) => checksum.matches(hasher.clone()),
            _ => true,
        };
        self.len == self.size_bytes && right
    }

    /// Gives the content its name.
    pub fn publish(self, blob: &Path) -> io::Result<()> {
        // A name must not outlive a power cut that the bytes did not.
        self.file.sync_all()?;
        // Windows cannot rename a file that is open.
        drop(self.file);
        fs::rename(self.path, blob)
    }

    /// Removes what arrived.
    pub fn discard(self) -> io::Result<()> {
        drop(self.file);
        fs::remove_file(self.path)
    }

    fn take_over(&mut self, there: u64, go_on: &dyn Fn() -> bool) -> io::Result<bool> {
        let mut buffer = vec![0; CHUNK_BYTES];
        while self.hasher.is_some() && self.len < there {
            if !go_on() {
                return Ok(false);
            }
            let n = self.file.read(&mut buffer)?;
            let Some(bytes) = buffer.get(..n).filter(|bytes| !bytes.is_empty()) else { break };
            if let Some(hasher) = &mut self.hasher {
                hasher.update(bytes);
            }
            self.len += n as u64;
        }
        if self.hasher.is_none() {
            self.len = there;
        }
        self.file.seek(SeekFrom::Start(self.len))?;
        self.resumed = self.len > 0;
        Ok(true)
    }
}
