//! Results on disk that can be computed again: each under a key of everything it depends on.
//!
//! Whatever goes wrong here costs time and nothing else: what cannot be written is not kept, what is damaged is
//! computed again.

use std::{
    env, fmt, fs, io,
    path::{Path, PathBuf},
    process,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::SystemTime,
};

use ring::digest::{Context, SHA256};

use crate::{digest::hexadecimal, model::ModelFiles};

/// Where it is instead, if that is set; nothing is kept where it is empty.
const VARIABLE: &str = "ATTNSCOPE_CACHE";
/// What all kinds together may take.
const BUDGET_BYTES: u64 = 4 << 30;
/// How results are written; another number makes all old ones unknown.
const VERSION: u32 = 1;
/// Bytes of a checksum.
const CHECKSUM: usize = 32;
/// Endings of files that are being written.
const PARTIAL: &str = "part";

/// A folder of results.
#[derive(Clone, Debug)]
pub struct DiskCache {
    root: PathBuf,
    budget_bytes: u64,
    /// About what is there, once somebody has looked: other programs may write, too.
    n_bytes: Arc<Mutex<Option<u64>>>,
    trouble: Arc<Mutex<Trouble>>,
}

/// Whether results could be kept so far. The user is told once.
#[derive(Debug, Default)]
enum Trouble {
    #[default]
    None,
    /// Why not, and where.
    Untold(String),
    Told,
}

/// What a result depends on, on its way to become a [`CacheKey`]. Every part counts with its length, so that no two
/// lists of parts are alike.
#[derive(Clone)]
pub struct Fingerprint(Context);

/// The name of a result.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CacheKey(String);

impl Fingerprint {
    /// Of a kind of results.
    pub fn new(kind: &str) -> Self {
        Self(Context::new(&SHA256)).and(&VERSION.to_le_bytes()).and(kind.as_bytes())
    }

    /// Of what a model computes.
    pub fn of_model(files: &ModelFiles) -> Self {
        let mut parts = Vec::new();
        files.identify(&mut |part| parts.push(part.to_vec()));
        parts.iter().fold(Self::new("corpus"), |identity, part| identity.and(part))
    }

    /// With one more part.
    #[must_use]
    pub fn and(mut self, part: &[u8]) -> Self {
        self.0.update(&(part.len() as u64).to_le_bytes());
        self.0.update(part);
        self
    }

    /// The key of all of it.
    pub fn key(self) -> CacheKey {
        CacheKey(hexadecimal(self.0.finish().as_ref()))
    }
}

impl fmt::Display for CacheKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Fingerprint")
    }
}

impl DiskCache {
    /// The user's, in the system's folder for such files; `None` where there is none, or none is wanted.
    pub fn of_user() -> Option<Self> {
        let path = |name| env::var_os(name).filter(|path| !path.is_empty()).map(PathBuf::from);
        let root = match env::var_os(VARIABLE) {
            Some(root) => Some(PathBuf::from(root)).filter(|root| !root.as_os_str().is_empty()),
            None if cfg!(windows) => path("LOCALAPPDATA").map(|local| local.join("AttnScope").join("Cache")),
            None if cfg!(target_os = "macos") => {
                env::home_dir().map(|home| home.join("Library").join("Caches").join("AttnScope"))
            }
            None => path("XDG_CACHE_HOME")
                .or_else(|| env::home_dir().map(|home| home.join(".cache")))
                .map(|cache| cache.join("attnscope")),
        };
        Some(Self::at(root?, BUDGET_BYTES))
    }

    /// In a folder of one's own, with so many bytes at most.
    pub fn at(root: PathBuf, budget_bytes: u64) -> Self {
        Self { root, budget_bytes, n_bytes: Arc::default(), trouble: Arc::default() }
    }

    /// What was kept under a key; `None` when there is nothing, or when it is damaged.
    pub fn read(&self, key: &CacheKey) -> Option<Vec<u8>> {
        read_at(&self.file(key))
    }

    /// Keeps `bytes` under a key, and makes room for them.
    pub fn write(&self, key: &CacheKey, bytes: &[u8]) {
        self.write_at(&self.file(key), bytes);
    }

    /// The nth part that was kept under a key; `None` when it is missing or damaged.
    pub fn read_part(&self, key: &CacheKey, nth: usize) -> Option<Vec<u8>> {
        read_at(&part(&self.folder(key), nth))
    }

    /// Keeps the nth part of a result that grows; those before it stay.
    pub fn write_part(&self, key: &CacheKey, nth: usize, bytes: &[u8]) {
        self.write_at(&part(&self.folder(key), nth), bytes);
    }

    fn file(&self, key: &CacheKey) -> PathBuf {
        self.root.join(&key.0[..2]).join(&key.0[2..])
    }

    fn folder(&self, key: &CacheKey) -> PathBuf {
        self.file(key).with_extension("parts")
    }

    fn write_at(&self, path: &Path, bytes: &[u8]) {
        let n_bytes = bytes.len() as u64;
        if n_bytes > self.budget_bytes {
            return;
        }
        if let Err(error) = self.make_room(n_bytes).and_then(|()| publish(path, bytes)) {
            log::warn!("a result is not kept: {error}: {}", path.display());
            let mut trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
            if matches!(*trouble, Trouble::None) {
                *trouble = Trouble::Untold(format!("{error}: {}", self.root.display()));
            }
        }
    }

    /// Why something could not be kept, and where, the first time that anybody asks.
    pub fn trouble(&self) -> Option<String> {
        let mut trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        if !matches!(*trouble, Trouble::Untold(_)) {
            return None;
        }
        match std::mem::replace(&mut *trouble, Trouble::Told) {
            Trouble::Untold(text) => Some(text),
            Trouble::None | Trouble::Told => None,
        }
    }

    /// Removes what was not used for the longest time until there is room. Lists the folder only at first, and when it
    /// seems full.
    fn make_room(&self, n_bytes: u64) -> io::Result<()> {
        let mut known = self.n_bytes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(size) = known.as_mut().filter(|size| **size + n_bytes <= self.budget_bytes) {
            *size += n_bytes;
            return Ok(());
        }
        fs::create_dir_all(&self.root)?;
        let mut files = Vec::new();
        list(&self.root, 0, &mut files);
        let mut size: u64 = files.iter().map(|(_, n_bytes, _)| n_bytes).sum::<u64>() + n_bytes;
        files.sort();
        for (_, n_bytes, path) in files {
            if size <= self.budget_bytes {
                break;
            }
            fs::remove_file(&path).ok();
            size -= n_bytes;
        }
        *known = Some(size);
        Ok(())
    }
}

/// The content of a file; one that is damaged is removed.
fn read_at(path: &Path) -> Option<Vec<u8>> {
    let mut bytes = fs::read(path).ok()?;
    let content = bytes.len().checked_sub(CHECKSUM)?;
    if checksum(&bytes[..content]).as_ref() != &bytes[content..] {
        log::warn!("what was kept is damaged and is computed again: {}", path.display());
        fs::remove_file(path).ok();
        return None;
    }
    bytes.truncate(content);
    // What was used last goes last.
    if let Ok(file) = fs::File::options().append(true).open(path) {
        file.set_modified(SystemTime::now()).ok();
    }
    Some(bytes)
}

fn checksum(bytes: &[u8]) -> ring::digest::Digest {
    ring::digest::digest(&SHA256, bytes)
}

fn part(folder: &Path, nth: usize) -> PathBuf {
    folder.join(format!("{nth:06}"))
}

/// The whole file or none: a killed program leaves a part with another ending, which the next one removes.
fn publish(path: &Path, bytes: &[u8]) -> io::Result<()> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let name = format!("{}-{}.{PARTIAL}", process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let temporary = folder.join(name);
    let written = (|| {
        use io::Write as _;
        let mut file = fs::File::create(&temporary)?;
        file.write_all(bytes)?;
        file.write_all(checksum(bytes).as_ref())?;
        drop(file);
        fs::rename(&temporary, path)
    })();
    if written.is_err() {
        fs::remove_file(&temporary).ok();
    }
    written
}

/// Files with when they were used and how large they are; what a killed program left half written counts as
/// unused for ever.
fn list(folder: &Path, depth: usize, files: &mut Vec<(SystemTime, u64, PathBuf)>) {
    const MAX_DEPTH: usize = 3;
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        let Ok(metadata) = entry.metadata() else { continue };
        if metadata.is_dir() {
            if depth < MAX_DEPTH {
                list(&path, depth + 1, files);
            }
            continue;
        }
        let is_partial = path.extension().is_some_and(|ending| ending == PARTIAL);
        let used = if is_partial { None } else { metadata.modified().ok() };
        files.push((used.unwrap_or(SystemTime::UNIX_EPOCH), metadata.len(), path));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn key(name: &str) -> CacheKey {
        Fingerprint::new("test").and(name.as_bytes()).key()
    }

    #[test]
    fn what_is_kept_comes_back_and_what_is_damaged_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let scratch = DiskCache::at(folder.path().to_owned(), 1 << 20);
        assert_eq!(scratch.read(&key("a")), None);
        scratch.write(&key("a"), b"one");
        scratch.write(&key("a"), b"two");
        assert_eq!(scratch.read(&key("a")).as_deref(), Some(&b"two"[..]));
        let mut bytes = fs::read(scratch.file(&key("a"))).unwrap();
        bytes[0] ^= 1;
        fs::write(scratch.file(&key("a")), &bytes).unwrap();
        assert_eq!(scratch.read(&key("a")), None);
        fs::write(scratch.file(&key("b")), b"short").unwrap_or(());
        assert_eq!(scratch.read(&key("b")), None);

        for (nth, bytes) in [b"1", b"2", b"3"].into_iter().enumerate() {
            scratch.write_part(&key("c"), nth, bytes);
        }
        let there = || [0, 1, 2, 3].map(|nth| scratch.read_part(&key("c"), nth));
        let some = |bytes: &[u8]| Some(bytes.to_vec());
        assert_eq!(there(), [some(b"1"), some(b"2"), some(b"3"), None]);
        fs::write(part(&scratch.folder(&key("c")), 1), b"").unwrap();
        assert_eq!(there(), [some(b"1"), None, some(b"3"), None]);
    }

    #[test]
    fn the_longest_unused_goes_first_and_no_folder_is_no_failure() {
        let folder = tempfile::tempdir().unwrap();
        let scratch = DiskCache::at(folder.path().to_owned(), 3 * 132);
        let ago = |name, secs| {
            let file = fs::File::options().append(true).open(scratch.file(&key(name))).unwrap();
            file.set_modified(SystemTime::now() - Duration::from_secs(secs)).unwrap();
        };
        for (name, secs) in [("a", 30), ("b", 20), ("c", 10)] {
            scratch.write(&key(name), &[0; 100]);
            ago(name, secs);
        }
        // Reading is use.
        assert!(scratch.read(&key("a")).is_some());
        scratch.write(&key("d"), &[0; 100]);
        let there = ["a", "b", "c", "d"].map(|name| scratch.read(&key(name)).is_some());
        assert_eq!(there, [true, false, true, true]);
        scratch.write(&key("e"), &[0; 1000]);
        assert_eq!(scratch.read(&key("e")), None, "larger than all there may be");

        let blocked = folder.path().join("file");
        fs::write(&blocked, b"").unwrap();
        let scratch = DiskCache::at(blocked, 1000);
        assert_eq!(scratch.trouble(), None);
        let clone = scratch.clone();
        clone.write(&key("a"), b"one");
        assert_eq!(scratch.read(&key("a")), None);
        assert!(scratch.trouble().is_some_and(|text| text.ends_with("file")), "whoever shares it is told");
        clone.write(&key("a"), b"one");
        assert_eq!((scratch.trouble(), clone.trouble()), (None, None), "and once is enough");
    }

    #[test]
    fn parts_of_a_key_do_not_run_into_each_other() {
        let of = |parts: &[&str]| parts.iter().fold(Fingerprint::new("k"), |f, part| f.and(part.as_bytes())).key();
        assert_ne!(of(&["ab", "c"]), of(&["a", "bc"]));
        assert_ne!(of(&["ab"]), Fingerprint::new("kab").key());
    }
}
