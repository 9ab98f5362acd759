//! The cache that all Hugging Face programs share, and the only place that knows its layout:
//!
//! ```text
//! models--owner--name/refs/main               the commit that a branch or tag meant last
//!                    /snapshots/COMMIT/FILE   a link to the blob
//!                    /blobs/ETAG              the content; ETAG.incomplete while it arrives
//! .locks/models--owner--name/ETAG.lock        held by whoever fetches that blob
//! ```

use std::{
    fs::{self, File, TryLockError},
    io::{self, ErrorKind, Read as _},
    path::{Path, PathBuf},
};

use super::{RepoId, id::is_plain};

const PREFIX: &str = "models--";
/// A ref holds a commit; whatever is longer is something else.
const MAX_REF_BYTES: u64 = 256;

/// The folder with everybody's models.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cache(PathBuf);

impl Cache {
    /// The cache in `folder`, which need not exist yet.
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        Self(folder.into())
    }

    /// The folder with a model's files, if that revision was fetched completely at some time.
    pub fn snapshot(&self, id: &RepoId) -> Option<PathBuf> {
        let repo = self.repo(id);
        let named = repo.commit_of(id.revision()).and_then(|commit| repo.existing_snapshot(&commit));
        named.or_else(|| repo.existing_snapshot(id.revision()))
    }

    /// Every model in the cache by name, `ID` or `ID@REVISION`, with the folder of its files.
    pub fn models(&self) -> Vec<(String, PathBuf)> {
        let mut models: Vec<_> = names_in(&self.0).iter().flat_map(|folder| self.models_in(folder)).collect();
        models.sort();
        models
    }

    /// The revisions of the model in `folder`; a commit that was fetched by itself is one, too.
    fn models_in(&self, folder: &str) -> Vec<(String, PathBuf)> {
        let Some(name) = folder.strip_prefix(PREFIX).map(|name| name.replace("--", "/")) else { return Vec::new() };
        let root = self.0.join(folder);
        let mut revisions = names_in(&root.join("refs"));
        if revisions.is_empty() {
            revisions = names_in(&root.join("snapshots"));
        }
        let ids = revisions.into_iter().filter_map(|revision| RepoId::parse(&format!("{name}@{revision}")));
        ids.filter_map(|id| Some((id.to_string(), self.snapshot(&id)?))).collect()
    }

    pub(super) fn repo(&self, id: &RepoId) -> RepoFolder {
        let name = format!("{PREFIX}{}", id.name().replace('/', "--"));
        RepoFolder { locks: self.0.join(".locks").join(&name), root: self.0.join(name) }
    }
}

fn names_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect()
}

/// One model's part of the cache. Names of contents, commits and files were checked before they come here.
#[derive(Clone, Debug)]
pub(super) struct RepoFolder {
    root: PathBuf,
    locks: PathBuf,
}

impl RepoFolder {
    /// Where everything of the model is, for messages.
    pub fn folder(&self) -> &Path {
        &self.root
    }

    /// Where a content is, once it is complete.
    pub fn blob(&self, etag: &str) -> PathBuf {
        self.root.join("blobs").join(etag)
    }

    /// Where a content is while it arrives.
    pub fn incomplete(&self, etag: &str) -> PathBuf {
        self.root.join("blobs").join(format!("{etag}.incomplete"))
    }

    /// Bytes of a content that are here, complete or not, of `size_bytes` in all.
    pub fn have_bytes(&self, etag: &str, size_bytes: u64) -> u64 {
        let len = |path: PathBuf| fs::metadata(path).map_or(0, |metadata| metadata.len());
        if len(self.blob(etag)) == size_bytes { size_bytes } else { len(self.incomplete(etag)).min(size_bytes) }
    }

    /// Keeps other programs from fetching the same content; `None` when one is at it already.
    pub fn lock(&self, etag: &str) -> io::Result<Option<File>> {
        fs::create_dir_all(&self.locks)?;
        let file = File::create(self.locks.join(format!("{etag}.lock")))?;
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => Ok(None),
            // Some network file systems know no locks; Python goes on without, too.
            Ok(()) | Err(TryLockError::Error(_)) => Ok(Some(file)),
        }
    }

    /// Shows a content under its file's name in a snapshot.
    pub fn link(&self, commit: &str, name: &str, etag: &str) -> io::Result<()> {
        let folder = self.root.join("snapshots").join(commit);
        let pointer = folder.join(name);
        let target = Path::new("..").join("..").join("blobs").join(etag);
        if fs::read_link(&pointer).is_ok_and(|found| found == target) || is_copy(&pointer, &self.blob(etag)) {
            return Ok(());
        }
        fs::create_dir_all(&folder)?;
        match fs::remove_file(&pointer) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        // Windows allows links to some users only.
        symlink(&target, &pointer).or_else(|_| fs::copy(self.blob(etag), &pointer).map(drop))
    }

    /// Notes what a branch or tag means. Last, so that a model is listed only when it is whole.
    pub fn set_ref(&self, revision: &str, commit: &str) -> io::Result<()> {
        if revision == commit || self.commit_of(revision).as_deref() == Some(commit) {
            return Ok(());
        }
        let path = self.ref_file(revision);
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        fs::write(path, commit)
    }

    fn commit_of(&self, revision: &str) -> Option<String> {
        let mut commit = String::new();
        File::open(self.ref_file(revision)).ok()?.take(MAX_REF_BYTES).read_to_string(&mut commit).ok()?;
        Some(commit.trim().to_owned())
    }

    fn ref_file(&self, revision: &str) -> PathBuf {
        revision.split('/').fold(self.root.join("refs"), |path, part| path.join(part))
    }

    fn existing_snapshot(&self, commit: &str) -> Option<PathBuf> {
        let folder = is_plain(commit).then(|| self.root.join("snapshots").join(commit))?;
        folder.is_dir().then_some(folder)
    }
}

fn is_copy(pointer: &Path, blob: &Path) -> bool {
    let len = |path: &Path| fs::symlink_metadata(path).ok().filter(fs::Metadata::is_file).map(|file| file.len());
    len(pointer).is_some_and(|found| Some(found) == len(blob))
}

#[cfg(unix)]
fn symlink(target: &Path, pointer: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(target, pointer)
}

#[cfg(windows)]
fn symlink(target: &Path, pointer: &Path) -> io::Result<()> {
    std::os::windows::fs::symlink_file(target, pointer)
}

#[cfg(not(any(unix, windows)))]
fn symlink(_: &Path, _: &Path) -> io::Result<()> {
    Err(ErrorKind::Unsupported.into())
}
