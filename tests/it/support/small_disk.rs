//! A disk that is really full.

use std::{
    fs::{self, File},
    io::Write as _,
    path::{Path, PathBuf},
    process::Command,
};

/// The unit in which the file system hands out room, in bytes.
const BLOCK: usize = 4096;

/// A file system of its own, one megabyte large; it ends when dropped.
pub struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    /// Mounts one.
    ///
    /// # Errors
    /// Why not, where the system does not let this user.
    pub fn mount() -> Result<Self, String> {
        let folder = tempfile::tempdir().unwrap();
        let arguments = ["-t", "tmpfs", "-o", "size=1m", "tmpfs"];
        let mounted = Command::new("mount").args(arguments).arg(folder.path()).output();
        let output = mounted.map_err(|error| format!("skipped, nothing can be mounted: {error}"))?;
        if output.status.success() {
            return Ok(Self(folder));
        }
        Err(format!("skipped, nothing can be mounted: {}", String::from_utf8_lossy(&output.stderr).trim()))
    }

    /// A path on it.
    pub fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Leaves room for `n_blocks` blocks of 4 KB and no more.
    pub fn fill(&self, n_blocks: usize) {
        let mut ballast = File::create(self.ballast()).unwrap();
        let mut n_written = 0;
        while ballast.write_all(&[1; BLOCK]).is_ok() {
            n_written += 1;
        }
        assert!(n_written > n_blocks, "the disk was full before");
        ballast.set_len(((n_written - n_blocks) * BLOCK) as u64).unwrap();
    }

    /// Makes room again.
    pub fn empty(&self) {
        fs::remove_file(self.ballast()).unwrap();
    }

    fn ballast(&self) -> PathBuf {
        self.at("ballast")
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily: a thread that is on its way out may still have a file open.
        Command::new("umount").arg("-l").arg(self.0.path()).status().ok();
    }
}

/// Names of everything below a folder that was half written.
pub fn parts(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path());
    let below = entries.flat_map(|path| if path.is_dir() { parts(&path) } else { vec![path] });
    below.filter(|path| path.extension().is_some_and(|ending| ending == "part")).collect()
}
